// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Partition of a network that is simulated in parallel: follows the entire timeline, but executes
//! only the events of ports and flow ends at its own nodes.
//!
//! A *cut* link leads to another partition. Its packets are handed over while in flight
//! ([`Simulation::export`], [`Simulation::import`]), and only if they arrive before the next change
//! of the timeline: an outage or a new delay thus applies to a packet in one partition only.

use super::Simulation;
use crate::host::Established;
use crate::net::Handed;
use crate::observe::{ApplicationTotals, FlowTableTotals, LinkTotals, Observer, CAUSES};
use crate::parallel::Log;
use crate::schedule::{End, Source};
use crate::setup::SimError;
use perigee_units::Nanos;

/// Owner of a node that has no links so far.
const NOWHERE: u16 = u16::MAX;

/// Assignment of nodes to partitions, and the cut links of this partition.
pub(crate) struct Partition {
    /// Partition of each node, or [`NOWHERE`].
    owners: Vec<u16>,
    me: u16,
    /// Links from this partition to others, among the first `links_seen`.
    cut: Vec<u32>,
    links_seen: usize,
}

impl Partition {
    pub fn new(owners: Vec<u16>, me: u16) -> Self {
        Partition { owners, me, cut: Vec::new(), links_seen: 0 }
    }

    /// Partition of a node.
    pub fn owner(&self, node: u32) -> u16 {
        self.owners.get(node as usize).copied().unwrap_or(0)
    }

    /// Assigns new nodes to the partition at the other end of their first link. All partitions do this
    /// in the same order, and thus agree.
    fn join(&mut self, near: u32, far: u32) {
        let known = |node: u32, owners: &[u16]| owners.get(node as usize).copied().filter(|&o| o != NOWHERE);
        let owner = known(near, &self.owners).or(known(far, &self.owners)).unwrap_or(0);
        for node in [near as usize, far as usize] {
            self.owners.resize(self.owners.len().max(node + 1), NOWHERE);
            if self.owners[node] == NOWHERE {
                self.owners[node] = owner;
            }
        }
    }

    pub fn has(&self, node: u32) -> bool {
        self.owner(node) == self.me
    }

    pub fn is_first(&self) -> bool {
        self.me == 0
    }
}

/// State of one end of a flow that its other end, in another partition, uses later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndUpdate {
    /// The handshake is over at the sender, which started at `started`: the receiver starts. It uses
    /// this when data arrive, which have left the sender later.
    Established { flow: u32, at: Nanos, started: Option<Nanos>, how: Established },
    /// All data of a limited transfer have arrived. The sending end uses this at the next change of
    /// the timeline, or sample.
    Completed { flow: u32, at: Nanos },
}

impl EndUpdate {
    /// The end that it is for.
    pub fn to(&self) -> End {
        match *self {
            EndUpdate::Established { flow, .. } => End::receiving(flow),
            EndUpdate::Completed { flow, .. } => End::sending(flow),
        }
    }
}

/// Counters of a receiving end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverCounts {
    sent: u64,
    received: u64,
    goodput_bytes: u64,
}

impl Simulation<'_> {
    fn part(&self) -> &Partition {
        self.partition.as_ref().expect("a partition")
    }

    /// Finds the cut links among links that were added since the last call.
    pub(super) fn find_cut_links(&mut self) {
        let Some(part) = &mut self.partition else { return };
        for link in part.links_seen as u32..self.net.links.len() as u32 {
            let [near, far] = self.net.ends_of(link);
            part.join(near, far);
            let [near, far] = [near, far].map(|node| part.owner(node));
            self.routes.cut.push(near != far);
            if near == part.me && near != far {
                part.cut.push(link);
            }
        }
        part.links_seen = self.net.links.len();
    }

    // ---- Links between partitions ---------------------------------------------------------------

    /// Lower bound on the delay of the cut links that may carry packets from `from` to `to`, provided
    /// that the timeline has no change in between; [`Nanos::MAX`] without such links.
    pub(crate) fn shortest_cut(&self, from: Nanos, to: Nanos) -> Nanos {
        let delay = |link: &u32| {
            let l = &self.net.links[*link as usize];
            l.delay_at(from).min(l.delay_at(to))
        };
        let usable = |link: &&u32| self.net.links[**link as usize].up && self.routes.may_use(**link);
        self.part().cut.iter().filter(usable).map(delay).min().unwrap_or(Nanos::MAX)
    }

    /// Moves the packets that arrive in other partitions before `until` to `out`, by partition.
    pub(crate) fn export(&mut self, until: Nanos, out: &mut [Vec<Handed>]) {
        let part = self.partition.as_ref().expect("a partition");
        for &link in &part.cut {
            let to = part.owner(self.net.links[link as usize].to);
            self.net.leave_partition(self.reached, link, until, &mut out[usize::from(to)]);
        }
    }

    /// Takes over packets in flight from other partitions.
    pub(crate) fn import(&mut self, handed: &mut Vec<Handed>) {
        handed.drain(..).for_each(|h| self.net.enter_partition(h));
    }

    // ---- Execution ------------------------------------------------------------------------------

    /// Sets the instant (exclusive) up to which transmissions may be computed in advance.
    pub(crate) fn look_ahead_until(&mut self, until: Nanos) {
        self.net.lookahead_until = until;
    }

    /// Time of the next change of the timeline.
    pub(crate) fn next_change(&self) -> Nanos {
        self.net.schedule.next_change()
    }

    /// Time and rank among simultaneous events of the next event.
    pub(crate) fn next_ranked(&self) -> (Nanos, u64) {
        let (at, source) = self.net.schedule.next();
        (at, self.rank(source))
    }

    /// Rank of an event among simultaneous ones of all partitions: by kind, then by number.
    fn rank(&self, source: Source) -> u64 {
        let (class, number) = match source {
            Source::Timeline => (0, 0),
            Source::Notice => (1, 0),
            Source::Port(p) => (2, p),
            Source::Link(l) => (3, l),
            Source::Injection => (4, 0),
            Source::End(end) => (5, end.0),
            Source::Sampler => (6, 0),
        };
        class << 40 | u64::from(number)
    }

    /// Executes all events before `until`.
    pub(crate) fn run_window<O: Observer>(&mut self, until: Nanos, log: &mut Log<O>) -> Result<(), SimError> {
        let wide = self.exceeds_cache();
        loop {
            let (at, what) = self.net.schedule.next();
            if at >= until {
                break;
            }
            log.enter(at, self.rank(what));
            self.step(log)?;
            if let (Source::Link(link), true) = (what, wide) {
                self.prefetch_upcoming(link);
            }
        }
        self.reached = until;
        Ok(())
    }

    /// Applies the changes of the timeline at `at`.
    pub(crate) fn run_changes<O: Observer>(&mut self, at: Nanos, obs: &mut O) -> Result<(), SimError> {
        while self.net.schedule.next() == (at, Source::Timeline) {
            self.step(obs)?;
        }
        Ok(())
    }

    /// Executes the next event. If it is the arrival of a packet in another partition, returns the
    /// packet.
    pub(crate) fn run_event<O: Observer>(&mut self, obs: &mut O) -> Result<Option<Handed>, SimError> {
        let (now, what) = self.net.schedule.next();
        let Source::Link(link) = what else { return self.step(obs).map(|_| None) };
        let near = self.net.ends_of(link)[0];
        if !self.routes.cut[link as usize] || !self.part().has(near) {
            return self.step(obs).map(|_| None);
        }
        (self.now, self.events) = (now, self.events + 1);
        let arrived = self.net.arrive(now, link, &self.routes);
        Ok(arrived.map(|(h, _)| self.net.hand_over(h, link, now)))
    }

    /// Executes the arrival of a packet that [`Self::run_event`] of another partition returned.
    pub(crate) fn run_arrival<O: Observer>(&mut self, handed: Handed, obs: &mut O) {
        self.now = handed.arrival;
        let node = self.net.links[handed.link as usize].to;
        let h = self.net.take_over(handed);
        self.onward(h, node, obs);
    }

    /// Marks all events before `until` as executed.
    pub(crate) fn reach(&mut self, until: Nanos) {
        self.reached = until;
    }

    // ---- Flows with ends in two partitions ------------------------------------------------------

    /// Whether an end runs in another partition.
    pub(super) fn is_elsewhere(&self, end: End) -> bool {
        self.partition.as_ref().is_some_and(|p| !p.has(self.node_of(end)))
    }

    fn node_of(&self, end: End) -> u32 {
        let facts = &self.facts[end.flow() as usize];
        match end.is_sending() {
            true => facts.source_node,
            false => self.routes.end_of(facts.setup.forward),
        }
    }

    /// Drains the updates for ends in other partitions.
    pub(crate) fn take_end_updates(&mut self) -> std::vec::Drain<'_, EndUpdate> {
        self.end_updates.drain(..)
    }

    /// Updates an end of this partition.
    pub(crate) fn update_end<O: Observer>(&mut self, update: EndUpdate, log: &mut Log<O>) {
        let flow = update.to().flow() as usize;
        match update {
            EndUpdate::Completed { at, .. } => self.ends.receiving[flow].completed = Some(at),
            EndUpdate::Established { at, started, how, .. } => {
                self.ends.sending[flow].counts.started = started;
                let (ends, mut cx) = self.cx(log);
                cx.now = at;
                ends.receiving[flow].begin(Some(how), &mut cx);
            }
        }
    }

    /// The flow that stops with the next event, if its sending end is in this partition.
    pub(crate) fn next_stop(&self) -> Option<usize> {
        let (now, source) = self.net.schedule.next();
        let Source::End(end) = source else { return None };
        let flow = end.flow() as usize;
        (end.is_sending() && self.ends.sending[flow].stops_by(now)).then_some(flow)
    }

    /// End of a flow's data.
    pub(crate) fn stop_of(&self, flow: usize) -> Nanos {
        self.facts[flow].setup.stop
    }

    /// Counters of a receiving end of this partition.
    pub(crate) fn receiver_counts(&self, flow: u32) -> ReceiverCounts {
        let end = &self.ends.receiving[flow as usize];
        let (sent, received) = (end.egress.sent, end.egress.received);
        ReceiverCounts { sent, received, goodput_bytes: end.goodput_bytes }
    }

    /// Sets the counters of a receiving end in another partition.
    pub(crate) fn set_receiver_counts(&mut self, flow: u32, counts: ReceiverCounts) {
        let end = &mut self.ends.receiving[flow as usize];
        (end.egress.sent, end.egress.received) = (counts.sent, counts.received);
        end.goodput_bytes = counts.goodput_bytes;
    }

    // ---- Results --------------------------------------------------------------------------------

    /// Adds this partition's packets in flight at `end` by flow, and its drops by flow and cause.
    pub(crate) fn count(&mut self, end: Nanos, in_flight: &mut [u64], drops: &mut [[u64; CAUSES]]) {
        self.net.count_under_way(end, in_flight);
        for (sum, here) in drops.iter_mut().zip(&self.net.flow_drops) {
            sum.iter_mut().zip(here).for_each(|(sum, n)| *sum += n);
        }
    }

    /// Totals of a link that starts in this partition.
    pub(crate) fn link_at_end(&self, link: u32, end: Nanos) -> LinkTotals {
        self.net.totals(link, end)
    }

    /// Bounded flow tables of the ports of this partition; without partitions, of all.
    pub(crate) fn flow_tables(&self) -> Vec<FlowTableTotals> {
        self.net.flow_tables(|node| self.partition.as_ref().is_none_or(|p| p.has(node)))
    }

    /// Application totals of a flow with its receiving end in this partition.
    pub(crate) fn application_at_end(&self, f: usize, end: Nanos) -> ApplicationTotals {
        self.ends.receiving[f].application_totals(end)
    }

    /// Partitions of the source and of the destination of a flow.
    pub(crate) fn owners_of_flow(&self, flow: usize) -> [usize; 2] {
        let ends = [End::sending(flow as u32), End::receiving(flow as u32)];
        ends.map(|end| self.part().owner(self.node_of(end)).into())
    }

    /// Partition of the near end of a link.
    pub(crate) fn owner_of_link(&self, link: u32) -> usize {
        self.part().owner(self.net.ends_of(link)[0]).into()
    }

    /// Partition of the far end of a link.
    pub(crate) fn far_owner(&self, link: u32) -> usize {
        self.part().owner(self.net.links[link as usize].to).into()
    }

    /// Number of flows, and number of links.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.facts.len(), self.net.links.len())
    }

    /// Number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }
}
