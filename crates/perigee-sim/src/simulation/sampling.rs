// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples of flows and links while a simulation runs, and its totals at the end.

use super::Simulation;
use crate::host::{Flow, TcpReceiver};
use crate::observe::{DropCause, FlowSample, LinkSample, LinkTotals, Observer, Outcome, SimEvent, CAUSES};
use crate::schedule::Source;
use perigee_cc::{CongestionControl, INFINITE_SSTHRESH};
use perigee_units::Nanos;

impl Simulation<'_> {
    pub(super) fn sample<O: Observer>(&mut self, now: Nanos, obs: &mut O) {
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
        obs.sampled(now);
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
            lost_packets: Some(0),
            timeouts: 0,
            cwnd: None,
            ssthresh: None,
            pacing: None,
            in_flight: None,
            srtt: None,
            rtt_mean,
            base_rtt,
            path_rate: flow.capacity.rate.map(|r| perigee_units::BitRate(r as u64)),
            delivery_rate: None,
            ca: perigee_cc::CaState::Open,
            mode: "",
            internals: &[],
        };
        if let Some(sender) = flow.sender().and_then(|s| s.tcp.as_ref()) {
            self.internals.clear();
            let internals = &mut self.internals;
            sender.controller().probe(&mut |name, value| internals.push((name, value)));
            let w = sender.window();
            s.lost_packets = Some(sender.lost());
            s.timeouts = sender.stats.timeouts;
            s.cwnd = Some(w.cwnd);
            s.ssthresh = (w.ssthresh < INFINITE_SSTHRESH / 2).then_some(w.ssthresh);
            s.pacing = sender.pacing_rate();
            s.in_flight = Some(sender.in_flight() * flow.setup.tcp.mss as u64);
            s.srtt = (sender.srtt() > Nanos::ZERO).then(|| sender.srtt());
            s.delivery_rate = sender.delivery_rate();
            s.ca = sender.ca_state();
            s.mode = sender.controller().mode(w);
            s.internals = &self.internals;
        }
        obs.flow(&s);
    }

    fn sample_link<O: Observer>(&mut self, link: u32, now: Nanos, obs: &mut O) {
        let p = self.net.links[link as usize].port;
        self.net.advance(p, now);
        let (queue_bytes, queue_packets) = self.net.queued(p, now);
        let rate = self.net.ports[p as usize].rate;
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

    pub(super) fn close(&mut self, end: Nanos, stopped: bool) -> Outcome {
        let mut under_way = vec![0; self.flows.len()];
        self.net.count_under_way(end, &mut under_way);
        let mut conserved = true;
        for (flow, under_way) in self.flows.iter_mut().zip(under_way) {
            close_capacity(flow, end);
            let stats = flow.sender().and_then(|s| s.tcp.as_ref()).map(|tcp| tcp.stats);
            let t = &mut flow.totals;
            t.dropped = self.net.flow_drops[flow.id as usize];
            t.under_way = under_way;
            t.timeouts = stats.map_or(t.timeouts, |s| s.timeouts);
            t.undos = Some(stats.map_or(0, |s| s.undos));
            t.recoveries = Some(stats.map_or(0, |s| s.recoveries));
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
            applications: self.flows.iter().map(|f| f.application_totals(end)).collect(),
            links,
            conserved,
        }
    }

    /// Bytes of memory behind the connections (for the benchmark).
    pub fn memory_per_flow(&self) -> usize {
        let tcp = self.flows.iter().map(|f| {
            let ends =
                f.sender().map_or(0, |s| std::mem::size_of_val(s) + std::mem::size_of::<TcpReceiver>());
            let board = f.sender().and_then(|s| s.tcp.as_ref()).map_or(0, |tcp| tcp.memory_bytes());
            ends + board + f.base.memory_bytes()
        });
        (tcp.sum::<usize>() + self.flows.len() * std::mem::size_of::<Flow>()) / self.flows.len().max(1)
    }
}

/// Adds the time since the latest change of a flow's way to its capacity.
pub(super) fn close_capacity(flow: &mut Flow, now: Nanos) {
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
