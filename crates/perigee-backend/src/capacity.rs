// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capacity of the network while a flow was active: the denominator of "of achievable".
//!
//! * The capacity of a *path* is the rate of its slowest port, and zero while there is no route or
//!   a link of it is down.
//! * A flow is *present* from its start (or the start of the goodput window, if that is later) to
//!   its stop, its completion or the end, excluding the silences of its application: times in which
//!   the application has nothing to send or request, and none of its data is in flight.
//! * The capacity of several flows is, at each instant, the smallest sum of rates found for a set
//!   of ports such that every flow present crosses one of them. No allocation carries more, and a
//!   port shared by several flows counts once.
//!
//! All of this is computed from the timeline and from notifications about flows, whatever carries
//! the packets.

use crate::min_port_sum::Cover;
use perigee_timeline::{Flow, LinkId, PairId, PortId};
use perigee_units::{BitRate, Nanos};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A change of ports, links or routes in the timeline; new ports and links have the next number.
#[derive(Clone, Debug)]
pub enum Step {
    /// A new port.
    Port(BitRate),
    /// A new link: its port, and whether it is up.
    Link(PortId, bool),
    /// A port's rate.
    Rate(PortId, BitRate),
    /// A link goes up or down.
    Up(LinkId, bool),
    /// The route of a pair.
    Route(PairId, Option<Vec<LinkId>>),
}

/// Pending steps, in order of time.
pub type Steps = Arc<Mutex<VecDeque<(Nanos, Step)>>>;

/// Capacity over a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    /// Time during which the flow (or any of the flows) was present.
    pub there: Nanos,
    /// Part of that time in which its path carried packets.
    pub open: Nanos,
    /// Integral of the capacity over that part, in bits.
    pub bits: f64,
}

/// Integral of a rate; `None` = no path.
#[derive(Clone, Copy, Debug, Default)]
struct Integral {
    rate: Option<f64>,
    since: Nanos,
    open: Nanos,
    bits: f64,
}

impl Integral {
    fn settle(&mut self, now: Nanos, begin: Nanos) {
        if let Some(rate) = self.rate {
            let time = now.saturating_sub(self.since.max(begin));
            self.open += time;
            self.bits += rate * time.as_secs_f64();
        }
        self.since = now;
    }
}

struct Member {
    pair: PairId,
    stop: Nanos,
    /// Whether it counts towards the capacity of all flows: over TCP, and no background.
    counts: bool,
    started: bool,
    over: bool,
    /// Start of its presence, and its path's integral at that time.
    there: Option<(Nanos, Integral)>,
    sum: Carried,
}

/// Computes capacities from the timeline and the flows.
pub struct Capacity {
    steps: Steps,
    /// Start of the window; earlier time does not count.
    begin: Nanos,
    now: Nanos,
    /// Rates in bit/s.
    ports: Vec<u64>,
    links: Vec<(PortId, bool)>,
    /// Links of each pair's route.
    routes: Vec<Option<Vec<LinkId>>>,
    /// Integrals by pair; only those of pairs with flows are kept up to date.
    ways: Vec<Integral>,
    used: Vec<bool>,
    /// Ports of each path that is open, as of the last refresh.
    open: Vec<Option<Vec<usize>>>,
    /// Number of present flows that count, by pair; and number of pairs with such flows.
    present: Vec<u32>,
    present_pairs: usize,
    /// Paths of these pairs.
    cover: Cover,
    flows: Vec<Member>,
    /// Flows by the time of their stop, the latest first.
    stops: Vec<u32>,
    all: Integral,
    all_there: Nanos,
    /// Pairs with a route change since the last refresh.
    rerouted: Vec<usize>,
    /// A rate or a link has changed since then: any path may have changed.
    all_ways_stale: bool,
    cover_stale: bool,
}

impl Capacity {
    /// Capacities of these flows; `begin`: start of the goodput window.
    pub fn new(flows: &[Flow], begin: Nanos, duration: Nanos, steps: Steps) -> Self {
        let pairs = flows.iter().map(|f| f.forward.ix() + 1).max().unwrap_or(0);
        let mut used = vec![false; pairs];
        flows.iter().for_each(|f| used[f.forward.ix()] = true);
        let members: Vec<Member> = flows.iter().map(|f| Member::of(f, duration)).collect();
        let mut stops: Vec<u32> = (0..flows.len() as u32).collect();
        stops.sort_by_key(|&f| Reverse(members[f as usize].stop));
        Capacity {
            steps,
            begin,
            now: Nanos::ZERO,
            ports: Vec::new(),
            links: Vec::new(),
            routes: vec![None; pairs],
            ways: vec![Integral::default(); pairs],
            used,
            open: vec![None; pairs],
            present: vec![0; pairs],
            present_pairs: 0,
            cover: Cover::default(),
            flows: members,
            stops,
            all: Integral::default(),
            all_there: Nanos::ZERO,
            rerouted: Vec::new(),
            all_ways_stale: false,
            cover_stale: false,
        }
    }

    /// Starts a flow.
    pub fn start(&mut self, at: Nanos, flow: u32) {
        self.advance(at);
        self.flows[flow as usize].started = true;
        self.enter(flow);
    }

    /// Sets whether the flow's application is silent.
    pub fn silence(&mut self, at: Nanos, flow: u32, silent: bool) {
        self.advance(at);
        if silent {
            self.leave(flow);
        } else {
            self.enter(flow);
        }
    }

    /// Completes a flow.
    pub fn complete(&mut self, at: Nanos, flow: u32) {
        self.advance(at);
        self.end(flow);
    }

    /// Latest time at which the flow stops.
    pub fn stop_of(&self, flow: u32) -> Nanos {
        self.flows[flow as usize].stop
    }

    /// Whether it counts towards the capacity of all flows.
    pub fn counts(&self, flow: u32) -> bool {
        self.flows[flow as usize].counts
    }

    /// Advances to `at`: no further event occurs before it.
    pub fn advance(&mut self, at: Nanos) {
        loop {
            let stop = self.stops.last().map(|&f| (self.flows[f as usize].stop, f)).filter(|s| s.0 <= at);
            let step = self.take_step(stop.map_or(at, |(t, _)| t.min(at)));
            match (step, stop) {
                (Some((t, step)), _) => {
                    self.go_to(t);
                    self.apply(step);
                }
                (None, Some((t, flow))) => {
                    self.stops.pop();
                    self.go_to(t);
                    self.end(flow);
                }
                (None, None) => break,
            }
        }
        self.go_to(at);
    }

    /// Capacities of the flows, and of all that count together.
    pub fn finish(mut self, end: Nanos) -> (Vec<Carried>, Carried) {
        self.advance(end);
        (0..self.flows.len() as u32).for_each(|f| self.end(f));
        let all = Carried { there: self.all_there, open: self.all.open, bits: self.all.bits };
        (self.flows.into_iter().map(|f| f.sum).collect(), all)
    }

    fn take_step(&mut self, until: Nanos) -> Option<(Nanos, Step)> {
        let mut steps = self.steps.lock().expect("nothing panics with it");
        steps.front().filter(|s| s.0 <= until)?;
        steps.pop_front()
    }

    /// Advances time.
    fn go_to(&mut self, at: Nanos) {
        if at <= self.now {
            return;
        }
        self.refresh();
        if self.present_pairs > 0 {
            self.all_there += at.saturating_sub(self.now.max(self.begin));
        }
        self.all.settle(at, self.begin);
        self.now = at;
    }

    /// Updates the paths and the capacity of all flows, after all steps of this instant.
    fn refresh(&mut self) {
        let rerouted = std::mem::take(&mut self.rerouted);
        if std::mem::take(&mut self.all_ways_stale) {
            self.refresh_all();
        } else {
            rerouted.into_iter().for_each(|pair| self.refresh_way(pair));
        }
        if std::mem::take(&mut self.cover_stale) {
            self.all.rate = self.cover.rate_bps(&self.ports);
        }
    }

    /// Updates everything after a change of rates, on which the cover also depends.
    fn refresh_all(&mut self) {
        self.cover = Cover::default();
        self.open.fill(None);
        (0..self.ways.len()).for_each(|pair| self.refresh_way(pair));
        self.cover_stale = true;
    }

    fn refresh_way(&mut self, pair: usize) {
        if !self.used[pair] {
            return;
        }
        let ports = self.open_ports(pair);
        let rate =
            ports.as_ref().and_then(|p| p.iter().map(|&p| self.ports[p]).min()).map(|rate| rate as f64);
        let way = &mut self.ways[pair];
        if way.rate != rate {
            way.settle(self.now, self.begin);
            way.rate = rate;
        }
        if self.present[pair] == 0 {
            self.open[pair] = ports;
            return;
        }
        self.uncover(pair);
        self.open[pair] = ports;
        self.cover(pair);
    }

    /// Adds the path of a pair to the capacity of all flows.
    fn cover(&mut self, pair: usize) {
        // Values that depend on former rates are recomputed before they are used.
        if let Some(path) = self.open[pair].as_ref().filter(|_| !self.all_ways_stale) {
            self.cover.add(path, &self.ports);
            self.cover_stale = true;
        }
    }

    fn uncover(&mut self, pair: usize) {
        if let Some(path) = self.open[pair].as_ref().filter(|_| !self.all_ways_stale) {
            self.cover.remove(path, &self.ports);
            self.cover_stale = true;
        }
    }

    /// Ports of a pair's route in ascending order; `None` without a route, or if a link of it is
    /// down.
    fn open_ports(&self, pair: usize) -> Option<Vec<usize>> {
        let links = self.routes[pair].as_ref().filter(|links| !links.is_empty())?;
        let port = |l: &LinkId| {
            let &(port, up) = self.links.get(l.ix())?;
            up.then_some(port.ix())
        };
        let mut ports: Vec<usize> = links.iter().map(port).collect::<Option<_>>()?;
        ports.sort_unstable();
        ports.dedup();
        Some(ports)
    }

    fn apply(&mut self, step: Step) {
        match step {
            // No route uses a new port or link yet.
            Step::Port(rate) => self.ports.push(rate.0),
            Step::Link(port, up) => self.links.push((port, up)),
            Step::Rate(port, rate) => {
                self.ports[port.ix()] = rate.0;
                self.all_ways_stale = true;
            }
            Step::Up(link, up) => {
                self.links[link.ix()].1 = up;
                self.all_ways_stale = true;
            }
            // Other pairs carry no flow's data.
            Step::Route(pair, links) if pair.ix() < self.routes.len() => {
                self.routes[pair.ix()] = links;
                self.rerouted.push(pair.ix());
            }
            Step::Route(..) => {}
        }
    }

    fn enter(&mut self, flow: u32) {
        let f = &self.flows[flow as usize];
        if f.over || !f.started || f.there.is_some() {
            return;
        }
        let (pair, counts) = (f.pair.ix(), f.counts);
        let so_far = self.way_now(pair);
        self.flows[flow as usize].there = Some((self.now, so_far));
        if counts {
            self.present[pair] += 1;
            if self.present[pair] == 1 {
                self.present_pairs += 1;
                self.cover(pair);
            }
        }
    }

    fn leave(&mut self, flow: u32) {
        let pair = self.flows[flow as usize].pair.ix();
        let now = self.way_now(pair);
        let f = &mut self.flows[flow as usize];
        let Some((since, before)) = f.there.take() else { return };
        f.sum.there += self.now.saturating_sub(since.max(self.begin));
        f.sum.open += now.open - before.open;
        f.sum.bits += now.bits - before.bits;
        if f.counts {
            self.present[pair] -= 1;
            if self.present[pair] == 0 {
                self.present_pairs -= 1;
                self.uncover(pair);
            }
        }
    }

    fn end(&mut self, flow: u32) {
        self.leave(flow);
        self.flows[flow as usize].over = true;
    }

    /// Integral of a path up to now.
    fn way_now(&mut self, pair: usize) -> Integral {
        let way = &mut self.ways[pair];
        way.settle(self.now, self.begin);
        *way
    }
}

impl Member {
    fn of(f: &Flow, duration: Nanos) -> Member {
        // A proxy continues to forward its buffered data after the application has stopped.
        let carries_on = f.leg.is_some_and(|l| l.before.is_some());
        Member {
            pair: f.forward,
            stop: if carries_on { duration } else { f.stop.min(duration) },
            counts: f.app.is_tcp() && !f.background && f.leg.is_none_or(|l| l.after.is_none()),
            started: false,
            over: false,
            there: None,
            sum: Carried::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::{App, Leg};

    const MBIT: u64 = 1_000_000;

    fn s(t: f64) -> Nanos {
        Nanos::from_secs_f64(t)
    }

    fn flow(pair: u32, start: f64, stop: f64) -> Flow {
        Flow {
            name: String::new(),
            forward: PairId(pair),
            reverse: PairId(9),
            start: s(start),
            stop: s(stop),
            app: App::Bulk { bytes: None },
            cc: "cubic".into(),
            compared: true,
            background: false,
            hosts: None,
            cc_params: Default::default(),
            cc_files: Default::default(),
            slow_start: None,
            tcp: Default::default(),
            buffer_bytes: 0,
            notices: None,
            leg: None,
            bottleneck: 0,
            base_rtt: None,
        }
    }

    /// Ports with these rates (Mbit/s), a link each; routes by pair.
    fn network(rates: &[u64], routes: &[&[u32]]) -> Vec<(Nanos, Step)> {
        let mut steps: Vec<(Nanos, Step)> =
            rates.iter().map(|r| (Nanos::ZERO, Step::Port(BitRate(r * MBIT)))).collect();
        steps.extend((0..rates.len()).map(|k| (Nanos::ZERO, Step::Link(PortId(k as u32), true))));
        let route = |(k, r): (usize, &&[u32])| {
            let links = r.iter().map(|&l| LinkId(l)).collect();
            (Nanos::ZERO, Step::Route(PairId(k as u32), Some(links)))
        };
        steps.extend(routes.iter().enumerate().map(route));
        steps
    }

    fn follow(flows: &[Flow], begin: f64, steps: Vec<(Nanos, Step)>) -> Capacity {
        Capacity::new(flows, s(begin), s(10.0), Arc::new(Mutex::new(steps.into())))
    }

    fn carried(there: f64, open: f64, mbit: f64) -> Carried {
        Carried { there: s(there), open: s(open), bits: mbit * 1e6 }
    }

    #[test]
    fn a_short_flow_beside_a_long_one_counts_for_its_own_time_only() {
        // 100 Mbit/s for 5 s, then 20: a long flow, and one present from 1 s to 2 s.
        let flows = [flow(0, 0.0, 10.0), flow(0, 1.0, 10.0)];
        let mut steps = network(&[100], &[&[0]]);
        steps.push((s(5.0), Step::Rate(PortId(0), BitRate(20 * MBIT))));
        let mut c = follow(&flows, 0.0, steps);
        c.start(s(0.0), 0);
        c.start(s(1.0), 1);
        c.complete(s(2.0), 1);
        let (each, all) = c.finish(s(10.0));
        assert_eq!(each, [carried(10.0, 10.0, 600.0), carried(1.0, 1.0, 100.0)]);
        assert_eq!(all, carried(10.0, 10.0, 600.0), "one port, counted once");
    }

    #[test]
    fn warm_up_and_stop_bound_the_window() {
        let flows = [flow(0, 0.0, 6.0)];
        let mut c = follow(&flows, 2.0, network(&[10], &[&[0]]));
        c.start(s(0.5), 0);
        let (each, all) = c.finish(s(10.0));
        assert_eq!((each[0], all), (carried(4.0, 4.0, 40.0), carried(4.0, 4.0, 40.0)));
    }

    #[test]
    fn silences_do_not_count_and_gaps_between_flows_neither() {
        let flows = [flow(0, 0.0, 10.0), flow(0, 0.0, 10.0)];
        let mut c = follow(&flows, 0.0, network(&[10], &[&[0]]));
        c.start(s(0.0), 0);
        c.silence(s(1.0), 0, true);
        c.silence(s(3.0), 0, false);
        c.start(s(3.5), 1);
        c.silence(s(4.0), 0, true);
        c.complete(s(4.5), 1);
        let (each, all) = c.finish(s(10.0));
        assert_eq!(each, [carried(2.0, 2.0, 20.0), carried(1.0, 1.0, 10.0)]);
        assert_eq!(all, carried(2.5, 2.5, 25.0));
    }

    #[test]
    fn no_route_and_a_link_that_is_down_carry_nothing() {
        let mut steps = network(&[10, 40], &[&[0, 1]]);
        steps.push((s(1.0), Step::Up(LinkId(1), false)));
        steps.push((s(2.0), Step::Up(LinkId(1), true)));
        steps.push((s(4.0), Step::Route(PairId(0), None)));
        steps.push((s(5.0), Step::Route(PairId(0), Some(vec![LinkId(1)]))));
        let mut c = follow(&[flow(0, 0.0, 10.0)], 0.0, steps);
        c.start(s(0.0), 0);
        let (each, all) = c.finish(s(6.0));
        // 1 s and 2 s at 10 Mbit/s, 1 s at 40.
        assert_eq!((each[0], all), (carried(6.0, 4.0, 70.0), carried(6.0, 4.0, 70.0)));
    }

    #[test]
    fn opposite_directions_have_a_port_each() {
        let flows = [flow(0, 0.0, 10.0), flow(1, 0.0, 10.0)];
        let mut c = follow(&flows, 0.0, network(&[10, 10], &[&[0], &[1]]));
        c.start(s(0.0), 0);
        c.start(s(0.0), 1);
        assert_eq!(c.finish(s(10.0)).1, carried(10.0, 10.0, 200.0));
    }

    #[test]
    fn accesses_that_share_a_faster_port_can_carry_no_more_than_that() {
        // Three access links of 10 Mbit/s into one port of 15.
        let flows = [flow(0, 0.0, 10.0), flow(1, 0.0, 10.0), flow(2, 0.0, 10.0)];
        let mut c = follow(&flows, 0.0, network(&[10, 10, 10, 15], &[&[0, 3], &[1, 3], &[2, 3]]));
        (0..3).for_each(|f| c.start(s(0.0), f));
        assert_eq!(c.finish(s(1.0)).1, carried(1.0, 1.0, 15.0));
    }

    #[test]
    fn a_parking_lot_carries_all_its_links() {
        let flows = [flow(0, 0.0, 10.0), flow(1, 0.0, 10.0), flow(2, 0.0, 10.0)];
        let mut c = follow(&flows, 0.0, network(&[10, 10], &[&[0, 1], &[0], &[1]]));
        (0..3).for_each(|f| c.start(s(0.0), f));
        assert_eq!(c.finish(s(1.0)).1, carried(1.0, 1.0, 20.0));
    }

    #[test]
    fn probes_and_inner_legs_are_not_among_all() {
        let leg = |before, after| Leg { before, after, buffer: 1, spoof: true, standing: false };
        let first = Flow { leg: Some(leg(None, Some(1))), ..flow(0, 0.0, 10.0) };
        let last = Flow { leg: Some(leg(Some(0), None)), ..flow(1, 0.0, 4.0) };
        let ping = App::Ping { interval: s(1.0), size: 64 };
        let flows = [first, last, Flow { app: ping, ..flow(0, 0.0, 10.0) }];
        let mut c = follow(&flows, 0.0, network(&[10, 20], &[&[0], &[1]]));
        (0..3).for_each(|f| c.start(s(0.0), f));
        let (each, all) = c.finish(s(10.0));
        assert_eq!(all, carried(10.0, 10.0, 200.0), "the last leg delivers after the application's stop");
        assert_eq!(each[0], carried(10.0, 10.0, 100.0));
    }
}
