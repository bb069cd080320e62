// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The event loop.

mod changes;
mod flows;
mod horizon;
mod partition;
mod prefetch;
pub(crate) mod sampling;

pub use horizon::Foreseen;
pub(crate) use partition::{EndUpdate, Partition};

use crate::external_endpoint::{Delivery, EndpointId, Inbox, Outbox, OutsidePacket, Side};
use crate::host::{relay, Cx, Ends, FlowFacts, ReceivingEnd, SendingEnd};
use crate::net::{Net, Processing};
use crate::notices::{FlowNotice, NoticeQueue, Subscriber};
use crate::observe::{DropCause, FlowTotals, LinkTotals, Observer, RunOutcome};
use crate::packet::Packet;
use crate::routes::{Next, Routes};
use crate::schedule::{End, Source};
use crate::setup::{key_of, FlowSetup, Options, SimError};
use perigee_cc::{Signal, SignalScope};
use perigee_timeline::{Chunk, ChunkSource, Header, LinkId, Routing};
use perigee_units::draw::mix;
use perigee_units::{BitRate, Nanos};
use sampling::{CarrierBefore, LinkBefore};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of events between two calls of the progress callback.
const PROGRESS_EVERY: u64 = 1 << 13;

/// Minimum number of flows with more state than the second-level cache, so that prefetching for
/// upcoming events pays off.
const MANY_FLOWS: usize = 256;

/// Number of events at one instant beyond which a source of events is considered stuck.
const STUCK: u64 = 20_000_000;

/// A simulation: a self-contained value; any number may run in parallel.
///
/// [`run`](Simulation::run) executes it to the end. To step it, call
/// [`advance`](Simulation::advance) any number of times, then [`finish`](Simulation::finish); the
/// results do not depend on the steps.
pub struct Simulation<'s> {
    options: Options,
    duration: Nanos,
    source: Box<dyn ChunkSource + 's>,
    net: Net,
    routes: Routes,
    /// Per pair: whether meters count its packets.
    metered_data: Vec<bool>,
    facts: Vec<FlowFacts>,
    ends: Ends,
    /// The chunk being applied, and the index of the next change in it.
    chunk: Option<Arc<Chunk>>,
    cursor: usize,
    /// The following chunk, fetched early because notices precede their events.
    next_chunk: Option<Arc<Chunk>>,
    notices: NoticeQueue,
    /// Notices of flows with external ends.
    flow_notices: Vec<FlowNotice>,
    /// Whether a flow subscribes to all signals of its host.
    has_host_signals: bool,
    /// Whether a flow is a leg of a split connection.
    legs: bool,
    /// Links that lead to external ends, among the first `links_looked_at`.
    last_links: Vec<u32>,
    links_looked_at: usize,
    inbox: Inbox,
    outbox: Outbox,
    next_sample: Nanos,
    /// All events before this instant have been executed.
    reached: Nanos,
    /// Time of the latest event, and the number of events at that time.
    now: Nanos,
    at_this_instant: u64,
    events: u64,
    internals: Vec<(&'static str, f64)>,
    links_before: Vec<LinkBefore>,
    /// Shared carriers at their latest rows, by port.
    carriers_before: BTreeMap<u32, CarrierBefore>,
    /// Its part of a run on several threads; `None` = all of it.
    partition: Option<Box<Partition>>,
    /// Updates for ends of flows in other partitions.
    end_updates: Vec<EndUpdate>,
}

impl<'s> Simulation<'s> {
    /// Creates a simulation of a workload on a network that changes over time as `source`
    /// describes.
    ///
    /// # Errors
    /// If a flow uses a pair that the timeline does not have, or the source fails.
    pub fn new(
        header: &Header,
        source: Box<dyn ChunkSource + 's>,
        flows: Vec<FlowSetup>,
        options: Options,
    ) -> Result<Self, SimError> {
        Self::of_partition(header, source, flows, options, None)
    }

    /// As [`new`](Simulation::new), but executing only the events of a partition's nodes.
    pub(crate) fn of_partition(
        header: &Header,
        source: Box<dyn ChunkSource + 's>,
        flows: Vec<FlowSetup>,
        options: Options,
        partition: Option<Box<Partition>>,
    ) -> Result<Self, SimError> {
        let mut net = Net::new(mix(options.seed), flows.len(), options.max_hops);
        net.disciplines = options.disciplines;
        net.lookahead = options.lookahead;
        net.processing = Processing::new(options.host_jitter, mix(options.seed), flows.len());
        net.extend(&header.ports, &header.links, Nanos::ZERO).map_err(SimError::Setup)?;
        let mut s = Simulation {
            duration: header.duration,
            source,
            routes: Routes::new(header.routing, &header.pairs).with_spread(header.spread.as_deref()),
            facts: Vec::with_capacity(flows.len()),
            ends: Ends::default(),
            chunk: None,
            cursor: 0,
            next_chunk: None,
            notices: NoticeQueue::default(),
            flow_notices: Vec::new(),
            metered_data: vec![false; header.pairs.len()],
            has_host_signals: false,
            legs: flows.iter().any(|f| f.leg.is_some()),
            last_links: Vec::new(),
            links_looked_at: 0,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            next_sample: Nanos::ZERO,
            reached: Nanos::ZERO,
            now: Nanos::ZERO,
            at_this_instant: 0,
            events: 0,
            internals: Vec::new(),
            links_before: Vec::new(),
            carriers_before: BTreeMap::new(),
            partition,
            end_updates: Vec::new(),
            net,
            options,
        };
        s.find_cut_links();
        relay::check(&flows).map_err(SimError::Setup)?;
        for (id, setup) in flows.into_iter().enumerate() {
            s.add_flow(id as u32, setup, header)?;
        }
        for facts in &s.facts {
            let (data, acks) = facts.metered();
            s.metered_data[facts.setup.forward.ix()] |= data;
            for pair in s.routes.choices(facts.setup.forward) {
                s.metered_data[pair.ix()] |= data;
            }
            s.metered_data[facts.setup.reverse.ix()] |= acks;
        }
        if header.routing == Routing::PerHop && s.metered_data.contains(&true) {
            s.net.expect_telemetry_anywhere();
        }
        s.start()?;
        Ok(s)
    }

    fn start(&mut self) -> Result<(), SimError> {
        self.check_horizon()?;
        self.next_chunk = self.read_chunk(Nanos::ZERO)?;
        self.fetch(Nanos::ZERO)?;
        if self.options.sample > Nanos::ZERO && self.partition.is_none() {
            self.next_sample = self.options.sample;
            self.net.schedule.set(Source::Sampler, self.next_sample);
        }
        Ok(())
    }

    fn add_flow(&mut self, id: u32, mut setup: FlowSetup, header: &Header) -> Result<(), SimError> {
        for pair in [setup.forward, setup.reverse] {
            if pair.ix() >= header.pairs.len() {
                let reason =
                    format!("flow {:?} uses pair {}, which the timeline does not have", setup.name, pair.0);
                return Err(SimError::Setup(reason));
            }
        }
        if setup.outside.source != setup.outside.destination && setup.needs_both_ends() {
            let reason = format!(
                "flow {:?} cannot have one end outside: it is split, or requests objects",
                setup.name
            );
            return Err(SimError::Setup(reason));
        }
        let (key, seed) = (key_of(&setup), self.options.seed_of(&setup));
        let start = self.options.start_of(&setup);
        setup.stop = setup.stop.min(self.duration);
        self.net.flow_keys[id as usize] = key;
        let ends = setup_ends(&setup, header);
        let here = |node: u32| self.partition.as_ref().is_none_or(|p| p.has(node));
        let (sends, receives) = (here(ends[0]), here(ends[1]));
        if let Some(how) = setup.notices.clone().filter(|_| sends) {
            let pairs = [setup.forward, setup.reverse];
            self.notices.subscribe(Subscriber::new(id, mix(seed), pairs, ends, how));
        }
        let facts = FlowFacts::new(setup, start, seed, self.options.max_hops, ends[0]);
        let sending = SendingEnd::new(id, &facts, !sends);
        let receiving = ReceivingEnd::new(id, &facts, !receives);
        if self.partition.is_some() {
            // Its packets may pass ports of this partition before the sender sets them.
            self.net.tx_units[id as usize] = facts.tx_unit;
        }
        self.net.stacks.other_forms |= facts.has_other_form();
        self.net.counts_others |= facts.has_law();
        self.net.ecn[id as usize] = facts.ecn;
        self.net.set_wake(End::receiving(id), receiving.next_due());
        self.net.set_wake(End::sending(id), sending.next_due());
        self.has_host_signals |= sending.sender().is_some() && facts.scope != SignalScope::Path;
        self.ends.sending.push(sending);
        self.ends.receiving.push(receiving);
        self.facts.push(facts);
        Ok(())
    }

    /// Runs to the end of the timeline, or to the next change or sample after `progress` (called
    /// with the simulated time) has returned false.
    ///
    /// # Errors
    /// If the source of the timeline fails.
    pub fn run<O: Observer>(
        &mut self,
        obs: &mut O,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<RunOutcome, SimError> {
        let until = self.duration.saturating_add(Nanos(1));
        let mut stopped = false;
        self.look_ahead(until);
        let mut wide = self.exceeds_cache();
        while self.net.schedule.next().0 < until {
            let what = self.step(obs)?;
            if let (Source::Link(link), true) = (what, wide) {
                self.prefetch_upcoming(link);
            }
            stopped |= self.events % PROGRESS_EVERY == 0 && !progress(self.now);
            if matches!(what, Source::Timeline | Source::Sampler) {
                // Services are not arranged beyond this instant, so that a stopped run ends in a
                // consistent state.
                if stopped {
                    return Ok(self.close(self.now, true));
                }
                self.look_ahead(until);
                wide = self.exceeds_cache();
            }
        }
        Ok(self.close(self.duration, false))
    }

    /// Whether the state needed by the next events is usually outside the cache.
    fn exceeds_cache(&self) -> bool {
        self.facts.len() >= MANY_FLOWS && self.net.schedule.is_wide()
    }

    /// Time of the next event, or the end of the simulation if that comes first.
    pub fn next_event(&self) -> Nanos {
        self.net.schedule.next().0.min(self.end())
    }

    /// First instant that is not simulated.
    fn end(&self) -> Nanos {
        self.duration.saturating_add(Nanos(1))
    }

    /// Time of the next notice to a flow, as far as known: no other follows before the next change
    /// of the timeline.
    pub fn next_notice(&self) -> Nanos {
        self.notices.next()
    }

    /// Drains the notices to flows with external ends since the latest call.
    pub fn take_notices(&mut self) -> std::vec::Drain<'_, FlowNotice> {
        self.flow_notices.drain(..)
    }

    /// All events before this instant have been executed.
    pub fn reached(&self) -> Nanos {
        self.reached
    }

    /// Runs all events before `until` and arranges nothing at or beyond it, so that counters are
    /// those of that instant. Instants after the end of the timeline are limited to its end.
    ///
    /// # Errors
    /// If the source of the timeline fails, or time does not advance.
    pub fn advance<O: Observer>(&mut self, until: Nanos, obs: &mut O) -> Result<(), SimError> {
        let until = until.min(self.end());
        if until <= self.reached {
            return Ok(());
        }
        self.look_ahead(until);
        while self.net.schedule.next().0 < until {
            if let Source::Timeline | Source::Sampler = self.step(obs)? {
                self.look_ahead(until);
            }
        }
        self.reached = until;
        Ok(())
    }

    /// Ends a stepped simulation, with its totals up to [`reached`](Simulation::reached).
    pub fn finish(mut self) -> RunOutcome {
        let end = Nanos(self.reached.0.saturating_sub(1));
        let stopped = end < self.duration;
        self.close(end, stopped)
    }

    /// Allows services that start before the next change, sample or `until` to be arranged ahead of
    /// time.
    fn look_ahead(&mut self, until: Nanos) {
        self.net.lookahead_until = self.net.schedule.lookahead_until(self.duration).min(until);
    }

    /// Executes the next event. Inlined, since a call per event costs a few percent of a run.
    #[inline(always)]
    fn step<O: Observer>(&mut self, obs: &mut O) -> Result<Source, SimError> {
        let (now, what) = self.net.schedule.next();
        debug_assert!(now >= self.now, "time runs back from {} to {now}", self.now);
        self.at_this_instant = if now > self.now { 0 } else { self.at_this_instant + 1 };
        if self.at_this_instant > STUCK {
            return Err(SimError::Stuck { at: now, what: self.name_of(what) });
        }
        self.now = now;
        self.events += 1;
        match what {
            Source::Link(link) => self.arrival(link, obs),
            Source::End(end) => self.timer(end, obs),
            Source::Port(p) => self.net.advance(p, now),
            Source::Injection => self.take_in(obs),
            Source::Notice => self.deliver_notices(now),
            Source::Timeline => self.apply_changes(now, obs)?,
            Source::Sampler => self.sample(now, obs),
        }
        Ok(what)
    }

    /// The ends of flows, and the context in which they run now.
    #[inline]
    fn cx<'a, O>(&'a mut self, obs: &'a mut O) -> (&'a mut Ends, Cx<'a, O>) {
        let cx = Cx {
            now: self.now,
            net: &mut self.net,
            routes: &self.routes,
            obs,
            outbox: &mut self.outbox,
            facts: &self.facts,
        };
        (&mut self.ends, cx)
    }

    /// # Errors
    /// Fails if the run is too long for the schedule to distinguish all its instants from "never".
    fn check_horizon(&self) -> Result<(), SimError> {
        let horizon = self.net.schedule.horizon();
        if self.duration < horizon {
            return Ok(());
        }
        let (links, flows) = (self.net.links.len(), self.facts.len());
        let reason = format!(
            "a run of {} with {links} links and {flows} flows is too long: at most {horizon} are possible; \
             run it in parts",
            self.duration
        );
        Err(SimError::Setup(reason))
    }

    fn name_of(&self, source: Source) -> String {
        match source {
            Source::End(end) => format!("flow {:?}", self.facts[end.flow() as usize].setup.name),
            Source::Link(link) => format!("link {link}"),
            Source::Port(port) => format!("port {port}"),
            Source::Timeline => "the timeline".into(),
            Source::Notice => "a notice".into(),
            Source::Injection => "a packet from outside".into(),
            Source::Sampler => "the sampling".into(),
        }
    }

    #[inline(always)]
    fn arrival<O: Observer>(&mut self, link: u32, obs: &mut O) {
        let now = self.now;
        let Some((h, node)) = self.net.arrive(now, link, &self.routes) else { return };
        self.onward(h, node, obs);
    }

    /// Passes a packet that has arrived at a node on to its next link or its end.
    #[inline(always)]
    fn onward<O: Observer>(&mut self, h: u32, node: u32, obs: &mut O) {
        let now = self.now;
        let packet: &mut Packet = self.net.packets.get_mut(h);
        packet.hops = packet.hops.saturating_add(1);
        match self.routes.next(packet.route, node) {
            Next::Link(next, route) => {
                packet.route = route;
                self.net.enqueue(now, h, next, &self.routes);
            }
            Next::Arrived => self.reach_end(h, obs),
            Next::Lost => self.net.discard(h, DropCause::NoRoute),
        }
    }

    // ---- External ends --------------------------------------------------------------------------

    /// Drains the packets that have reached an external endpoint since the latest call, in order of
    /// arrival.
    pub fn egress(&mut self) -> impl Iterator<Item = Delivery> + '_ {
        self.outbox.drain(..)
    }

    /// Injects a packet of an external endpoint into the network at `at`. At the same instant,
    /// packets enter after arrivals and before transport timers, ordered by end and then by the
    /// order of these calls.
    ///
    /// # Errors
    /// If `at` is before [`reached`](Simulation::reached), or the endpoint does not exist, is not
    /// external, or cannot send such a packet.
    pub fn inject(&mut self, at: Nanos, from: EndpointId, packet: OutsidePacket) -> Result<(), SimError> {
        let wrong = |reason: String| Err(SimError::Setup(reason));
        if at < self.reached {
            return wrong(format!("a packet cannot enter at {at}: {} has been reached", self.reached));
        }
        let Some(facts) = self.facts.get(from.flow as usize) else {
            return wrong(format!(
                "a packet cannot enter from flow {}: there are {}",
                from.flow,
                self.facts.len()
            ));
        };
        let (outside, name) = match from.side {
            Side::Source => (facts.setup.outside.source, "source"),
            Side::Destination => (facts.setup.outside.destination, "destination"),
        };
        if !outside {
            return wrong(format!(
                "the {name} of flow {:?} is not outside of the simulation",
                facts.setup.name
            ));
        }
        if Side::of(packet.kind) != from.side {
            return wrong(format!("the {name} of a flow does not send {:?}", packet.kind));
        }
        if !packet.is_whole() {
            return wrong(format!("a packet of kind {:?} does not carry {:?}", packet.kind, packet.content));
        }
        self.inbox.push(at, from, packet);
        self.net.next_injection = self.inbox.next();
        self.net.schedule_injection();
        Ok(())
    }

    /// Injects the packets due now.
    fn take_in<O: Observer>(&mut self, obs: &mut O) {
        while let Some((from, packet)) = self.inbox.pop(self.now) {
            self.enter(from, packet, obs);
        }
        while let Some(h) = self.net.processing.pop(self.now) {
            let packet = self.net.packets.get(h);
            let (flow, forward) = (packet.flow as usize, packet.kind.is_forward());
            let (ends, mut cx) = self.cx(obs);
            match forward {
                true => ends.sending[flow].egress.depart(h, &mut cx),
                false => ends.receiving[flow].egress.depart(h, &mut cx),
            }
        }
        self.net.next_injection = self.inbox.next();
        self.net.schedule_injection();
    }

    /// Applies the decision of an external controller to a flow with the scheme
    /// [`External`](crate::External): its window in bytes, and its pacing rate (`None`: computed by
    /// the host). False if the connection is not established.
    ///
    /// # Errors
    /// If the simulation has no such flow, or its sender is outside.
    pub fn control<O: Observer>(
        &mut self,
        flow: u32,
        cwnd: u64,
        pacing: Option<BitRate>,
        obs: &mut O,
    ) -> Result<bool, SimError> {
        self.signal_flow(flow, &Signal::Decision { cwnd, pacing }, obs)
    }

    /// Passes a signal to the controller of a flow at the instant reached; data that may then be
    /// sent leave at once. False if the connection is not established.
    ///
    /// # Errors
    /// If the simulation has no such flow, or its sender is outside.
    pub fn signal_flow<O: Observer>(
        &mut self,
        flow: u32,
        signal: &Signal<'_>,
        obs: &mut O,
    ) -> Result<bool, SimError> {
        let Some(sender) = self.ends.sending.get(flow as usize).and_then(|f| f.sender()) else {
            return Err(SimError::Setup(format!("no TCP sender of flow {flow} is in the simulation")));
        };
        if sender.tcp.is_none() {
            return Ok(false);
        }
        // The decision applies at the instant reached, before any event at that instant.
        self.now = self.now.max(self.reached);
        let now = self.now;
        let (ends, mut cx) = self.cx(obs);
        let sending = &mut ends.sending[flow as usize];
        sending.signal(now, signal);
        sending.pump(&mut cx);
        sending.reschedule(&mut cx);
        Ok(true)
    }

    /// Counters of a link at the instant reached.
    pub fn link_totals(&mut self, link: LinkId) -> Option<LinkTotals> {
        let l = self.net.links.get(link.ix())?;
        let now = Nanos(self.reached.0.saturating_sub(1));
        let port = l.port;
        self.net.advance(port, now);
        Some(self.net.totals(link.0, now))
    }

    /// Base RTT of a flow's route at a recent instant; `None` = no route.
    pub fn base_rtt(&self, flow: u32, at: Nanos) -> Option<Nanos> {
        self.ends.sending.get(flow as usize)?.way.base.at(at)
    }

    /// Rate of the slowest port on a flow's current route; `None` = no route, or the flow has not
    /// started.
    pub fn path_rate(&self, flow: u32) -> Option<BitRate> {
        self.ends.sending.get(flow as usize)?.way.capacity.rate.map(|r| BitRate(r as u64))
    }

    /// Counters of a flow at the instant reached (packets in flight are not counted before the
    /// end).
    pub fn flow_totals(&self, flow: u32) -> Option<FlowTotals> {
        ((flow as usize) < self.facts.len()).then(|| self.totals_of(flow as usize))
    }
}

/// Nodes of the source and of the destination of a flow.
fn setup_ends(setup: &FlowSetup, header: &Header) -> [u32; 2] {
    let pair = header.pairs[setup.forward.ix()];
    [pair.from.0, pair.to.0]
}
