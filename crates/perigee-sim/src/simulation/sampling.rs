// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples of flows and links while a simulation runs, and its totals at the end.

use super::Simulation;
use crate::host::{FlowFacts, ReceivingEnd, SendingEnd, TcpReceiver};
use crate::net::BeamCounts;
use crate::observe::{
    CarrierRow, DropCause, FlowRow, FlowTotals, LimitRow, LinkRow, LinkTotals, Observer, RunOutcome,
    SimEvent, CAUSES,
};
use crate::schedule::Source;
use perigee_cc::{CaState, CongestionControl, INFINITE_SSTHRESH};
use perigee_record::ByteRate;
use perigee_units::Nanos;

/// State of a link at its latest sampled row.
#[derive(Clone, Copy, Default)]
pub(super) struct LinkBefore {
    rate: ByteRate,
    /// Background bytes carried: an expectation, which later losses may correct downwards.
    background: u64,
    dropped: [u64; CAUSES],
}

/// State of a shared carrier at its latest row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CarrierBefore {
    counts: BeamCounts,
    /// Waits of the port's packets that have left, and their number.
    wait_ns: u128,
    waited: u64,
}

/// Checks that packets are conserved, and counts link crossings.
pub(crate) fn balanced(outcome: RunOutcome) -> RunOutcome {
    let of_flow = |t: &FlowTotals| t.sent == t.delivered + t.dropped.iter().sum::<u64>() + t.under_way;
    let of_link = |l: &LinkTotals| l.entered == l.crossed + l.dropped.iter().sum::<u64>() + l.under_way;
    RunOutcome {
        conserved: Some(outcome.flows.iter().all(of_flow) && outcome.links.iter().all(of_link)),
        packet_hops: Some(outcome.links.iter().map(|l| l.crossed).sum()),
        ..outcome
    }
}

impl Simulation<'_> {
    pub(super) fn sample<O: Observer>(&mut self, now: Nanos, obs: &mut O) {
        self.next_sample += self.options.sample;
        self.net.schedule.set(Source::Sampler, self.next_sample);
        for i in 0..self.facts.len() {
            self.sample_flow(i, now, obs);
        }
        for link in 0..self.net.links.len() as u32 {
            self.sample_link(link, now, obs);
        }
        obs.sampled(now);
    }

    /// Reports the state of a flow, if it is active.
    pub(crate) fn sample_flow<O: Observer>(&mut self, i: usize, now: Nanos, obs: &mut O) {
        // A complete transfer is recorded once more.
        let over = |done: Nanos| done + self.options.sample < now;
        if !self.ends.sending[i].active || self.ends.receiving[i].completed.is_some_and(over) {
            return;
        }
        let delivered_bytes = self.delivered_bytes(i);
        let flow = &mut self.ends.sending[i];
        let base_rtt_ns = flow.way.base.at(now).map(|rtt| rtt.0);
        let rtt_ns = (flow.rtt_count > 0).then(|| (flow.rtt_sum / flow.rtt_count as u128) as u64);
        flow.rtt_sum = 0;
        flow.rtt_count = 0;
        let mut row = FlowRow {
            t_ns: now.0,
            flow: i as u32,
            goodput_bps: flow.goodput.next_bps(now, delivered_bytes),
            delivered_bytes,
            cwnd_bytes: None,
            ssthresh_bytes: None,
            pacing_bps: None,
            in_flight_bytes: None,
            srtt_ns: None,
            rtt_ns,
            base_rtt_ns,
            path_rate_bps: flow.way.capacity.rate.map(|r| r as u64),
            delivery_rate_bps: None,
            sent_packets: flow.counts.data,
            retransmits: flow.counts.retrans,
            lost_packets: Some(0),
            timeouts: 0,
            ca_state: CaState::Open.name(),
            mode: "",
        };
        self.internals.clear();
        if let Some(sender) = flow.sender().and_then(|s| s.tcp.as_ref()) {
            let internals = &mut self.internals;
            sender.controller().probe(&mut |name, value| internals.push((name, value)));
            let w = sender.window();
            row.lost_packets = Some(sender.lost());
            row.timeouts = sender.stats().timeouts;
            row.cwnd_bytes = Some(w.cwnd);
            row.ssthresh_bytes = (w.ssthresh < INFINITE_SSTHRESH / 2).then_some(w.ssthresh);
            row.pacing_bps = sender.pacing_rate().map(|r| r.0);
            row.in_flight_bytes = Some(sender.in_flight() * self.facts[i].setup.tcp.mss as u64);
            row.srtt_ns = (sender.srtt() > Nanos::ZERO).then(|| sender.srtt().0);
            row.delivery_rate_bps = sender.delivery_rate().map(|r| r.0);
            row.ca_state = sender.ca_state().name();
            row.mode = sender.controller().mode(w);
        }
        obs.flow(&row, &self.internals);
        if let Some(sender) = self.ends.sending[i].sender_mut().and_then(|s| s.tcp.as_mut()) {
            let [application, receive_window, send_buffer, congestion_window, pacing] =
                sender.take_limits(now).map(|t| t.0);
            obs.limits(&LimitRow {
                t_ns: now.0,
                flow: i as u32,
                application_ns: application,
                receive_window_ns: receive_window,
                send_buffer_ns: send_buffer,
                congestion_window_ns: congestion_window,
                pacing_ns: Some(pacing),
            });
        }
    }

    /// Reports the state of a link, if it carried or held packets.
    pub(crate) fn sample_link<O: Observer>(&mut self, link: u32, now: Nanos, obs: &mut O) {
        if self.links_before.len() < self.net.links.len() {
            self.links_before.resize(self.net.links.len(), LinkBefore::default());
        }
        let p = self.net.links[link as usize].port;
        self.net.advance(p, now);
        let (queue_bytes, queue_packets) = self.net.queued(p, now);
        let rate = self.net.ports[p as usize].rate;
        let totals = self.net.totals(link, now);
        self.sample_carrier(link, now, obs);
        if !self.net.take_activity(link) && queue_packets == 0 {
            return;
        }
        let l = &self.net.links[link as usize];
        let before = &mut self.links_before[link as usize];
        before.background = before.background.max(self.net.background_bytes(p, now));
        let used_bps = before.rate.next_bps(now, totals.tx_bytes + before.background);
        let [drops_queue, drops_random, drops_outage, drops_no_route] = totals.dropped;
        obs.link(&LinkRow {
            t_ns: now.0,
            link,
            port: p,
            queue_bytes,
            queue_packets,
            utilisation: if rate.0 == 0 { 0.0 } else { used_bps / rate.0 as f64 },
            rate_bps: rate.0,
            delay_ns: l.delay_at(now).0,
            up: l.up,
            tx_packets: totals.tx_packets,
            tx_bytes: totals.tx_bytes,
            drops_queue,
            drops_random,
            drops_outage,
            drops_no_route,
        });
        let before = std::mem::replace(&mut before.dropped, totals.dropped);
        for cause in [DropCause::Queue, DropCause::Random, DropCause::Outage] {
            let packets = totals.dropped[cause as usize] - before[cause as usize];
            if packets > 0 {
                obs.event(now, &SimEvent::LossBurst { link, packets, cause });
            }
        }
    }

    /// Reports the carrier of the port that feeds a link, with the first link of the port.
    fn sample_carrier<O: Observer>(&mut self, link: u32, now: Nanos, obs: &mut O) {
        let p = self.net.links[link as usize].port;
        let Some(beam) = self.net.beam(p).filter(|_| self.net.is_first_of_port(link)) else { return };
        let (wait_ns, waited) = self.net.waits(p);
        let after = CarrierBefore { counts: beam.counts, wait_ns, waited };
        let before = self.carriers_before.entry(p).or_default();
        let before = std::mem::replace(before, after);
        let (c, b) = (&after.counts, &before.counts);
        let carried = c.carried - b.carried;
        let packets = waited - before.waited;
        obs.carrier(&CarrierRow {
            t_ns: now.0,
            port: p,
            rate_bps: beam.rate().0,
            neighbour_share: (c.frames > b.frames)
                .then(|| carried / beam.capacity((c.frames - b.frames) as f64)),
            neighbour_bytes: c.carried as u64,
            neighbour_lost_bytes: c.lost as u64,
            neighbour_queue_bytes: beam.waiting() as u64,
            neighbour_wait_ns: (carried > 0.0).then(|| (c.waiting_ns - b.waiting_ns) / carried),
            granted_bytes: c.granted,
            wait_ns: (packets > 0).then(|| (wait_ns - before.wait_ns) as f64 / packets as f64),
        });
    }

    pub(super) fn close(&mut self, end: Nanos, stopped: bool) -> RunOutcome {
        let mut under_way = vec![0; self.facts.len()];
        self.net.count_under_way(end, &mut under_way);
        let mut flows = Vec::with_capacity(self.facts.len());
        for (f, under_way) in under_way.into_iter().enumerate() {
            let dropped = self.net.flow_drops[f];
            flows.push(FlowTotals { dropped, under_way, ..self.close_flow(f, end) });
        }
        balanced(RunOutcome {
            end,
            stopped,
            events: Some(self.events),
            memory_per_flow_bytes: Some(self.memory_per_flow() as u64),
            flows,
            applications: self.ends.receiving.iter().map(|f| f.application_totals(end)).collect(),
            links: (0..self.net.links.len() as u32).map(|l| self.net.totals(l, end)).collect(),
            flow_tables: self.flow_tables(),
            ..RunOutcome::default()
        })
    }

    /// Totals of a flow at the end, except packets dropped and in flight.
    pub(crate) fn close_flow(&mut self, f: usize, end: Nanos) -> FlowTotals {
        self.ends.sending[f].close_capacity(end, self.ends.receiving[f].completed);
        let tcp = self.ends.sending[f].sender().and_then(|s| s.tcp.as_ref());
        let stats = tcp.map(|tcp| *tcp.stats()).unwrap_or_default();
        FlowTotals {
            timeouts: stats.timeouts,
            undos: Some(stats.undos),
            recoveries: Some(stats.recoveries),
            ..self.totals_of(f)
        }
    }

    /// Memory used by the connections, in bytes (for the benchmark).
    pub fn memory_per_flow(&self) -> usize {
        let behind = self.ends.sending.iter().map(|f| {
            let tcp = f.sender().map_or(0, |s| {
                let board = s.tcp.as_ref().map_or(0, |tcp| tcp.memory_bytes());
                std::mem::size_of_val(s) + std::mem::size_of::<TcpReceiver>() + board
            });
            tcp + f.way.base.memory_bytes()
        });
        let each = std::mem::size_of::<(FlowFacts, SendingEnd, ReceivingEnd)>();
        behind.sum::<usize>() / self.facts.len().max(1) + each
    }
}
