// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Application of the timeline: changes of the network, and notices about them to flows.

use super::Simulation;
use crate::notices::{FlowNotice, Notice};
use crate::observe::{Observer, SimEvent};
use crate::schedule::{End, Source};
use crate::setup::SimError;
use perigee_cc::{Signal, SignalScope};
use perigee_timeline::{Change, Chunk, NoteKind};
use perigee_units::Nanos;
use std::sync::Arc;

impl Simulation<'_> {
    /// Fetches chunks until one has a pending change, and sets the timeline's next instant.
    pub(super) fn fetch(&mut self, now: Nanos) -> Result<(), SimError> {
        loop {
            if let Some(change) = self.chunk.as_ref().and_then(|c| c.changes.get(self.cursor)) {
                self.net.schedule.set(Source::Timeline, change.at);
                return Ok(());
            }
            self.cursor = 0;
            self.chunk = self.next_chunk.take();
            if self.chunk.is_some() {
                self.next_chunk = self.read_chunk(now)?;
            }
            match &self.chunk {
                Some(chunk) => {
                    let appeared = self.net.extend(&chunk.ports, &chunk.links, now);
                    appeared.map_err(|reason| SimError::Source { at: now, reason })?;
                    self.find_cut_links();
                    self.check_horizon()?;
                }
                None => {
                    self.net.schedule.set(Source::Timeline, Nanos::MAX);
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn read_chunk(&mut self, now: Nanos) -> Result<Option<Arc<Chunk>>, SimError> {
        let chunk = self.source.next_chunk().map_err(|reason| SimError::Source { at: now, reason })?;
        if let (Some(chunk), false) = (&chunk, self.notices.is_idle()) {
            self.notices.read(chunk, now);
            self.net.schedule.set(Source::Notice, self.notices.next());
        }
        Ok(chunk)
    }

    /// Delivers the notices due now.
    pub(super) fn deliver_notices(&mut self, now: Nanos) {
        while let Some((flow, notice)) = self.notices.pop(now) {
            if self.facts[flow as usize].setup.outside.source {
                self.flow_notices.push(FlowNotice { at: now, flow, notice });
            }
            let signal = match notice {
                Notice::Begin(end) => Signal::HandoverBegin { expected_end: Some(end) },
                Notice::End => Signal::HandoverEnd,
                Notice::Path(id) => Signal::PathChange { id },
            };
            self.signal(now, flow, &signal);
        }
        self.net.schedule.set(Source::Notice, self.notices.next());
    }

    /// Passes a signal to a flow, and to the other flows that subscribe to all signals of its host
    /// or machine.
    pub(super) fn signal(&mut self, now: Nanos, flow: u32, signal: &Signal<'_>) {
        // Each flow's probes are answered a hundred times a second: other flows are only searched
        // if one of them may subscribe.
        if !self.has_host_signals {
            return self.signal_one(now, flow, signal);
        }
        let host = self.facts[flow as usize].source_node;
        for other in 0..self.facts.len() as u32 {
            let facts = &self.facts[other as usize];
            let subscribed = match facts.scope {
                SignalScope::Path => false,
                SignalScope::Host => facts.source_node == host,
                SignalScope::Machine => true,
            };
            if subscribed || other == flow {
                self.signal_one(now, other, signal);
            }
        }
    }

    fn signal_one(&mut self, now: Nanos, flow: u32, signal: &Signal<'_>) {
        let sending = &mut self.ends.sending[flow as usize];
        if sending.signal(now, signal) {
            self.net.wake_by(End::sending(flow), sending.next_due());
        }
    }

    /// Applies all changes due now.
    pub(super) fn apply_changes<O: Observer>(&mut self, now: Nanos, obs: &mut O) -> Result<(), SimError> {
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
            self.fetch(now)?;
        }
        self.fetch(now)?;
        if ways_moved {
            self.update_ways(now);
        }
        Ok(())
    }

    /// Applies a change; true if the delay or rate of a flow's path may have changed.
    fn apply<O: Observer>(&mut self, now: Nanos, change: &Change, obs: &mut O) -> bool {
        match change {
            Change::Rate(p, rate) => self.net.set_rate(now, p.0, *rate),
            Change::Background(p, traffic) => {
                self.net.set_background(now, p.0, traffic);
                return false;
            }
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
                if self.partition.as_ref().is_none_or(|p| p.is_first()) {
                    obs.event(now, &SimEvent::Note(note));
                }
                return false;
            }
        }
        true
    }

    fn count_note(&mut self, note: &perigee_timeline::Note) {
        let Some(pair) = note.pair else { return };
        for flow in self.ends.sending.iter_mut().filter(|f| f.active && f.egress.pair == pair) {
            match note.kind {
                NoteKind::PathChange => flow.way.path_changes += 1,
                NoteKind::Unreachable => flow.way.unreachable += 1,
                _ => {}
            }
        }
    }

    /// Records the current path of each flow.
    fn update_ways(&mut self, now: Nanos) {
        let mut before = None;
        let ends = self.ends.sending.iter_mut().zip(&self.ends.receiving);
        for ((sending, receiving), facts) in ends.zip(&self.facts) {
            if self.partition.as_ref().is_some_and(|p| !p.has(facts.source_node)) {
                continue;
            }
            let (data, ack) = facts.packet_bytes();
            let key = (facts.setup.forward, facts.setup.reverse, data, ack);
            // With thousands of flows, most have the same path as the previous one.
            let (forward, reverse) = match before {
                Some((of, ways)) if of == key => ways,
                _ => (
                    self.routes.way(key.0, &self.net, now, data),
                    self.routes.way(key.1, &self.net, now, ack),
                ),
            };
            before = Some((key, (forward, reverse)));
            let rtt = forward.zip(reverse).map(|(f, r)| (f.delay + r.delay, f.slope + r.slope));
            sending.way.base.push(now, rtt);
            sending.close_capacity(now, receiving.completed);
            sending.way.capacity.rate = forward.map(|w| w.rate.0 as f64);
            if let Some(way) = forward {
                let payload = facts.setup.payload_bytes();
                sending.way.payload_share = f64::from(payload) / f64::from(data + way.framing);
            }
        }
    }
}
