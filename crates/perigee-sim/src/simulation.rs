// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The event loop.

use crate::host::{End, Flow};
use crate::net::{mix, name_key, Net};
use crate::notices::{Notice, NoticeQueue, Subscriber};
use crate::observe::*;
use crate::packet::Packet;
use crate::relay;
use crate::routes::{Next, Routes};
use crate::schedule::Source;
use crate::setup::{FlowSetup, Options, SimError};
use perigee_cc::{CongestionControl, Signal, SignalScope, INFINITE_SSTHRESH};
use perigee_timeline::{Change, Chunk, ChunkSource, Header, NoteKind, Routing};
use perigee_units::Nanos;
use std::sync::Arc;

/// How many events pass between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 13;

/// Events at one instant beyond which a source of events is taken to repeat for ever.
const STUCK: u64 = 20_000_000;

/// A simulation: a value that one owns; any number may run side by side.
pub struct Simulation {
    options: Options,
    duration: Nanos,
    net: Net,
    routes: Routes,
    /// By pair: meters look at its packets.
    metered_data: Vec<bool>,
    flows: Vec<Flow>,
    /// The chunk being applied, and the next change in it.
    chunk: Option<Arc<Chunk>>,
    cursor: usize,
    /// The chunk after it: notices must come before their events.
    ahead: Option<Arc<Chunk>>,
    notices: NoticeQueue,
    /// Some flow listens to everything that its host learns.
    others_listen: bool,
    /// Some flow is a leg of a split connection.
    legs: bool,
    next_sample: Nanos,
    events: u64,
    internals: Vec<(&'static str, f64)>,
    dropped_before: Vec<[u64; CAUSES]>,
}

impl Simulation {
    /// Puts a workload on a network.
    ///
    /// # Errors
    /// When a flow names a pair that the timeline does not have.
    pub fn new(header: &Header, flows: Vec<FlowSetup>, options: Options) -> Result<Self, SimError> {
        let mut net = Net::new(mix(options.seed), flows.len(), options.max_hops);
        net.extend(&header.ports, &header.links, Nanos::ZERO);
        let mut s = Simulation {
            duration: header.duration,
            routes: Routes::new(header.routing, &header.pairs),
            flows: Vec::with_capacity(flows.len()),
            chunk: None,
            cursor: 0,
            ahead: None,
            notices: NoticeQueue::default(),
            metered_data: vec![false; header.pairs.len()],
            others_listen: false,
            legs: flows.iter().any(|f| f.leg.is_some()),
            next_sample: Nanos::ZERO,
            events: 0,
            internals: Vec::new(),
            dropped_before: Vec::new(),
            net,
            options,
        };
        relay::check(&flows).map_err(SimError::Setup)?;
        for (id, setup) in flows.into_iter().enumerate() {
            s.add_flow(id as u32, setup, header)?;
        }
        for flow in &s.flows {
            let (data, acks) = flow.metered_data();
            s.metered_data[flow.setup.forward.ix()] |= data;
            s.metered_data[flow.setup.reverse.ix()] |= acks;
        }
        if header.routing == Routing::PerHop && s.metered_data.contains(&true) {
            s.net.expect_telemetry_anywhere();
        }
        Ok(s)
    }

    fn add_flow(&mut self, id: u32, mut setup: FlowSetup, header: &Header) -> Result<(), SimError> {
        for pair in [setup.forward, setup.reverse] {
            if pair.ix() >= header.pairs.len() {
                let reason =
                    format!("flow {:?} uses pair {}, which the timeline does not have", setup.name, pair.0);
                return Err(SimError::Setup(reason));
            }
        }
        let key = mix(name_key(&setup.name));
        let seed = mix(mix(self.options.seed) ^ key);
        let jitter = match self.options.start_jitter {
            Nanos::ZERO => Nanos::ZERO,
            most => Nanos(((seed as u128 * most.0 as u128) >> 64) as u64),
        };
        let start = setup.start + jitter;
        setup.stop = setup.stop.min(self.duration);
        self.net.flow_keys[id as usize] = key;
        self.net.ecn[id as usize] = setup.tcp.ecn && setup.app.is_tcp();
        if let Some(how) = setup.notices.clone() {
            let pair = header.pairs[setup.forward.ix()];
            let (pairs, ends) = ([setup.forward, setup.reverse], [pair.from.0, pair.to.0]);
            self.notices.subscribe(Subscriber::new(id, mix(seed), pairs, ends, how));
        }
        let source = header.pairs[setup.forward.ix()].from.0;
        let mut flow = Flow::new(id, setup, start, seed, self.options.max_hops, source);
        flow.reschedule(&mut self.net);
        self.others_listen |= flow.scope() != SignalScope::Path;
        self.flows.push(flow);
        Ok(())
    }

    /// Runs to the end of the timeline, or to the change or sample after `progress` (called with the simulated time) has
    /// returned false.
    ///
    /// # Errors
    /// When the source of the timeline fails.
    pub fn run<O: Observer>(
        &mut self,
        source: &mut dyn ChunkSource,
        obs: &mut O,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<Outcome, SimError> {
        self.check_horizon()?;
        self.ahead = self.read_ahead(source, Nanos::ZERO)?;
        self.fetch(source, Nanos::ZERO)?;
        if self.options.sample > Nanos::ZERO {
            self.next_sample = self.options.sample;
            self.net.schedule.set(Source::Sampler, self.next_sample);
        }
        self.net.lookahead_until = self.net.schedule.lookahead_until(self.duration);
        let mut now = Nanos::ZERO;
        let mut stopped = false;
        let mut at_this_instant = 0;
        loop {
            let (at, what) = self.net.schedule.next();
            if at > self.duration {
                now = self.duration;
                break;
            }
            debug_assert!(at >= now, "time runs back from {now} to {at}");
            at_this_instant = if at > now { 0 } else { at_this_instant + 1 };
            if at_this_instant > STUCK {
                return Err(SimError::Stuck { at, what: self.name_of(what) });
            }
            now = at;
            self.events += 1;
            match what {
                Source::Link(link) => self.arrival(now, link, obs),
                Source::Flow(f) => self.flows[f as usize].on_timer(now, &mut self.net, &self.routes, obs),
                Source::Port(p) => self.net.advance(p, now),
                Source::Notice => self.deliver_notices(now),
                Source::Timeline => self.apply_changes(now, source, obs)?,
                Source::Sampler => self.sample(now, obs),
            }
            stopped |= self.events % PROGRESS_EVERY == 0 && !progress(now);
            if matches!(what, Source::Timeline | Source::Sampler) {
                // Only here has nothing been arranged beyond now: a run that is stopped ends in a state that exists.
                if stopped {
                    break;
                }
                self.net.lookahead_until = self.net.schedule.lookahead_until(self.duration);
            }
        }
        Ok(self.finish(now, stopped))
    }

    /// # Errors
    /// When the schedule cannot tell all instants of so long a run apart from "never".
    fn check_horizon(&self) -> Result<(), SimError> {
        let horizon = self.net.schedule.horizon();
        if self.duration < horizon {
            return Ok(());
        }
        let (links, flows) = (self.net.links.len(), self.flows.len());
        let reason = format!(
            "a run of {} with {links} links and {flows} flows is too long: at most {horizon} are possible; \
             run it in parts",
            self.duration
        );
        Err(SimError::Setup(reason))
    }

    fn name_of(&self, source: Source) -> String {
        match source {
            Source::Flow(f) => format!("flow {:?}", self.flows[f as usize].setup.name),
            Source::Link(link) => format!("link {link}"),
            Source::Port(port) => format!("port {port}"),
            Source::Timeline => "the timeline".into(),
            Source::Notice => "a notice".into(),
            Source::Sampler => "the sampling".into(),
        }
    }

    #[inline]
    fn arrival<O: Observer>(&mut self, now: Nanos, link: u32, obs: &mut O) {
        let Some((h, node)) = self.net.arrive(now, link, &self.routes) else { return };
        let packet: &mut Packet = self.net.packets.get_mut(h);
        packet.hops = packet.hops.saturating_add(1);
        match self.routes.next(packet.route, node) {
            Next::Link(next, route) => {
                packet.route = route;
                self.net.enqueue(now, h, next, &self.routes);
            }
            Next::Arrived => {
                let flow = packet.flow;
                let reply = self.flows[flow as usize].receive(now, h, &mut self.net, &self.routes, obs);
                if let Some(reply) = reply {
                    self.signal(now, flow, &reply);
                }
                if self.legs {
                    relay::pass_on(&mut self.flows, flow as usize, now, &mut self.net, &self.routes, obs);
                }
            }
            Next::Lost => self.net.discard(h, DropCause::NoRoute),
        }
    }

    // ---- The timeline -----------------------------------------------------------------------------------------------

    /// Gets chunks until there is a change to wait for, and sets the timeline's next instant.
    fn fetch(&mut self, source: &mut dyn ChunkSource, now: Nanos) -> Result<(), SimError> {
        loop {
            if let Some(change) = self.chunk.as_ref().and_then(|c| c.changes.get(self.cursor)) {
                self.net.schedule.set(Source::Timeline, change.at);
                return Ok(());
            }
            self.cursor = 0;
            self.chunk = self.ahead.take();
            if self.chunk.is_some() {
                self.ahead = self.read_ahead(source, now)?;
            }
            match &self.chunk {
                Some(chunk) => {
                    self.net.extend(&chunk.ports, &chunk.links, now);
                    self.check_horizon()?;
                }
                None => {
                    self.net.schedule.set(Source::Timeline, Nanos::MAX);
                    return Ok(());
                }
            }
        }
    }

    fn read_ahead(
        &mut self,
        source: &mut dyn ChunkSource,
        now: Nanos,
    ) -> Result<Option<Arc<Chunk>>, SimError> {
        let chunk = source.next_chunk().map_err(|reason| SimError::Source { at: now, reason })?;
        if let (Some(chunk), false) = (&chunk, self.notices.is_idle()) {
            self.notices.read(chunk, now);
            self.net.schedule.set(Source::Notice, self.notices.next());
        }
        Ok(chunk)
    }

    /// Delivers the notices of this instant.
    fn deliver_notices(&mut self, now: Nanos) {
        while let Some((flow, told)) = self.notices.pop(now) {
            let signal = match told {
                Notice::Begin(end) => Signal::HandoverBegin { expected_end: Some(end) },
                Notice::End => Signal::HandoverEnd,
                Notice::Path(id) => Signal::PathChange { id },
            };
            self.signal(now, flow, &signal);
        }
        self.net.schedule.set(Source::Notice, self.notices.next());
    }

    /// Tells a flow something, and the other flows that listen to everything their host or machine learns.
    fn signal(&mut self, now: Nanos, flow: u32, signal: &Signal<'_>) {
        // Probes answer a hundred times a second for each flow: other flows are only looked at if one may listen.
        if !self.others_listen {
            return self.flows[flow as usize].signal(now, signal, &mut self.net);
        }
        let host = self.flows[flow as usize].source;
        for other in &mut self.flows {
            let listens = match other.scope() {
                SignalScope::Path => false,
                SignalScope::Host => other.source == host,
                SignalScope::Machine => true,
            };
            if listens || other.id == flow {
                other.signal(now, signal, &mut self.net);
            }
        }
    }

    /// Applies every change of this instant.
    fn apply_changes<O: Observer>(
        &mut self,
        now: Nanos,
        source: &mut dyn ChunkSource,
        obs: &mut O,
    ) -> Result<(), SimError> {
        let mut ways_moved = false;
        while let Some(chunk) = self.chunk.clone() {
            let due = chunk.changes[self.cursor..].iter().take_while(|c| c.at <= now);
            for timed in due {
                self.cursor += 1;
                ways_moved |= self.apply(now, &timed.change, obs);
            }
            if self.cursor < chunk.changes.len() {
                break;
            }
            self.fetch(source, now)?;
        }
        self.fetch(source, now)?;
        if ways_moved {
            self.update_ways(now);
        }
        Ok(())
    }

    /// Applies one change; true if a flow's way may have another delay or rate now.
    fn apply<O: Observer>(&mut self, now: Nanos, change: &Change, obs: &mut O) -> bool {
        match change {
            Change::Rate(p, rate) => self.net.set_rate(now, p.0, *rate),
            Change::Delay(l, delay) => self.net.set_delay(now, l.0, *delay),
            Change::Path(pair, links) => {
                self.routes.set_path(*pair, links.as_deref());
                if self.metered_data[pair.ix()] {
                    let links = links.as_deref().unwrap_or(&[]);
                    links.iter().for_each(|l| self.net.expect_telemetry(now, l.0));
                }
            }
            Change::NextHop { at, to, link } => self.routes.set_next_hop(*at, *to, *link),
            Change::Lose(l, n) => {
                self.net.set_drop_next(now, l.0, *n);
                return false;
            }
            Change::Loss(l, p) => {
                self.net.set_loss(now, l.0, *p);
                return false;
            }
            Change::Down(l, mode) => {
                self.net.set_down(now, l.0, *mode);
                return false;
            }
            Change::Up(l) => {
                self.net.set_up(now, l.0);
                return false;
            }
            Change::Note(note) => {
                self.count_note(note);
                obs.event(now, &SimEvent::Note(note));
                return false;
            }
        }
        true
    }

    fn count_note(&mut self, note: &perigee_timeline::Note) {
        let Some(pair) = note.pair else { return };
        for flow in self.flows.iter_mut().filter(|f| f.active && f.setup.forward == pair) {
            match note.kind {
                NoteKind::PathChange => flow.totals.path_changes += 1,
                NoteKind::Unreachable => flow.totals.unreachable += 1,
                _ => {}
            }
        }
    }

    /// Takes note of what each flow's way is from now on.
    fn update_ways(&mut self, now: Nanos) {
        for flow in &mut self.flows {
            let (data, ack) = flow.packet_bytes();
            let forward = self.routes.way(flow.setup.forward, &self.net, now, data);
            let reverse = self.routes.way(flow.setup.reverse, &self.net, now, ack);
            let rtt = forward.zip(reverse).map(|(f, r)| (f.delay + r.delay, f.slope + r.slope));
            flow.base.push(now, rtt);
            close_capacity(flow, now);
            flow.capacity.rate = forward.map(|w| w.rate.0 as f64);
            if let Some(way) = forward {
                let payload = flow.setup.payload_bytes();
                flow.totals.payload_share = f64::from(payload) / f64::from(data + way.framing);
            }
        }
    }

    // ---- Samples ----------------------------------------------------------------------------------------------------

    fn sample<O: Observer>(&mut self, now: Nanos, obs: &mut O) {
        self.next_sample += self.options.sample;
        self.net.schedule.set(Source::Sampler, self.next_sample);
        for i in 0..self.flows.len() {
            // A transfer that is complete is shown once more.
            let over = |done: Nanos| done + self.options.sample < now;
            if self.flows[i].active && !self.flows[i].totals.completed.is_some_and(over) {
                self.sample_flow(i, now, obs);
            }
        }
        self.dropped_before.resize(self.net.links.len(), [0; CAUSES]);
        for link in 0..self.net.links.len() as u32 {
            self.sample_link(link, now, obs);
        }
    }

    fn sample_flow<O: Observer>(&mut self, i: usize, now: Nanos, obs: &mut O) {
        let flow = &mut self.flows[i];
        let base_rtt = flow.base.at(now);
        let rtt_mean = (flow.rtt_count > 0).then(|| Nanos((flow.rtt_sum / flow.rtt_count as u128) as u64));
        flow.rtt_sum = 0;
        flow.rtt_count = 0;
        let mut s = FlowSample {
            at: now,
            flow: flow.id,
            delivered_bytes: flow.totals.goodput_bytes,
            sent_packets: flow.totals.data_sent,
            retrans_packets: flow.totals.retrans,
            lost_packets: 0,
            timeouts: 0,
            cwnd: 0,
            ssthresh: None,
            pacing: None,
            in_flight: 0,
            srtt: None,
            rtt_mean,
            base_rtt,
            path_rate: flow.capacity.rate.map(|r| perigee_units::BitRate(r as u64)),
            delivery_rate: perigee_units::BitRate(0),
            ca: perigee_cc::CaState::Open,
            mode: "",
            internals: &[],
        };
        if let End::Tcp(t) = &flow.end {
            if let Some(sender) = &t.sender {
                self.internals.clear();
                let internals = &mut self.internals;
                sender.controller().probe(&mut |name, value| internals.push((name, value)));
                let w = sender.window();
                s.lost_packets = sender.lost();
                s.timeouts = sender.stats.timeouts;
                s.cwnd = w.cwnd;
                s.ssthresh = (w.ssthresh < INFINITE_SSTHRESH / 2).then_some(w.ssthresh);
                s.pacing = sender.pacing_rate();
                s.in_flight = sender.in_flight() * flow.setup.tcp.mss as u64;
                s.srtt = (sender.srtt() > Nanos::ZERO).then(|| sender.srtt());
                s.delivery_rate = sender.delivery_rate();
                s.ca = sender.ca_state();
                s.mode = sender.controller().mode(w);
                s.internals = &self.internals;
            }
        }
        obs.flow(&s);
    }

    fn sample_link<O: Observer>(&mut self, link: u32, now: Nanos, obs: &mut O) {
        let p = self.net.links[link as usize].port;
        self.net.advance(p, now);
        let port = &self.net.ports[p as usize];
        let (queue_bytes, queue_packets, rate) = (port.bytes, port.packets, port.rate);
        let totals = self.net.totals(link, now);
        if !self.net.take_activity(link) && queue_packets == 0 {
            return;
        }
        let l = &self.net.links[link as usize];
        obs.link(&LinkSample {
            at: now,
            link,
            port: p,
            queue_bytes,
            queue_packets,
            tx_packets: totals.tx_packets,
            tx_bytes: totals.tx_bytes,
            drops: totals.dropped,
            rate,
            delay: l.delay_at(now),
            up: l.up,
        });
        let before = std::mem::replace(&mut self.dropped_before[link as usize], totals.dropped);
        for cause in [DropCause::Queue, DropCause::Random, DropCause::Outage] {
            let packets = totals.dropped[cause as usize] - before[cause as usize];
            if packets > 0 {
                obs.event(now, &SimEvent::LossBurst { link, packets, cause });
            }
        }
    }

    // ---- The end ----------------------------------------------------------------------------------------------------

    fn finish(&mut self, end: Nanos, stopped: bool) -> Outcome {
        let mut under_way = vec![0; self.flows.len()];
        self.net.count_under_way(end, &mut under_way);
        let mut conserved = true;
        for (flow, under_way) in self.flows.iter_mut().zip(under_way) {
            close_capacity(flow, end);
            let t = &mut flow.totals;
            t.dropped = self.net.flow_drops[flow.id as usize];
            t.under_way = under_way;
            if let End::Tcp(tcp) = &flow.end {
                if let Some(sender) = &tcp.sender {
                    t.timeouts = sender.stats.timeouts;
                    t.undos = sender.stats.undos;
                    t.recoveries = sender.stats.recoveries;
                }
            }
            conserved &= t.sent == t.delivered + t.dropped.iter().sum::<u64>() + t.under_way;
        }
        let links: Vec<LinkTotals> =
            (0..self.net.links.len() as u32).map(|l| self.net.totals(l, end)).collect();
        for l in &links {
            conserved &= l.entered == l.crossed + l.dropped.iter().sum::<u64>() + l.under_way;
        }
        Outcome {
            end,
            stopped,
            events: self.events,
            packet_hops: links.iter().map(|l| l.crossed).sum(),
            flows: self.flows.iter().map(|f| f.totals.clone()).collect(),
            links,
            conserved,
        }
    }

    /// Bytes of memory behind the connections (for the benchmark).
    pub fn memory_per_flow(&self) -> usize {
        let tcp = self.flows.iter().map(|f| match &f.end {
            End::Tcp(t) => t.sender.as_ref().map_or(0, |s| s.memory_bytes()),
            End::Ping { .. } => 0,
        });
        (tcp.sum::<usize>() + self.flows.len() * std::mem::size_of::<Flow>()) / self.flows.len().max(1)
    }
}

/// Adds the time since the latest change of a flow's way to its capacity.
fn close_capacity(flow: &mut Flow, now: Nanos) {
    if !flow.active {
        return;
    }
    let end = now.min(flow.totals.completed.unwrap_or(flow.setup.stop));
    let time = end.saturating_sub(flow.capacity.since);
    if let Some(rate) = flow.capacity.rate {
        flow.totals.routed += time;
        flow.totals.capacity_bits += rate * time.as_secs_f64();
    }
    flow.capacity.since = end.max(flow.capacity.since);
}
