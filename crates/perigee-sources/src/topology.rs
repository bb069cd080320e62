// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small networks of the micro-benchmarks: chain, dumbbell, parking lot.
//!
//! A builder takes a plain specification and returns [`Built`]: the header, the paths at time zero,
//! and the handles needed by schedules and flows (the bottlenecks, the pairs of each flow). The
//! effect of a change of a flow's round-trip time depends on the links that have its delay, which
//! is therefore an option ([`Placement`]); later changes by a schedule are placed by the same code
//! ([`Built::set_rtts`]).

mod delays;
mod spec;

pub use spec::{ChainSpec, DumbbellSpec, ParkingLotSpec, Placement};

use delays::DelayPlan;
use perigee_timeline::{
    Change, Delay, Header, Link, LinkId, LinkOrder, Node, NodeClass, NodeId, Pair, PairId, Port, PortId,
    PortSpec, Timed, Timeline,
};
use perigee_units::Nanos;
use std::sync::Arc;

/// Reason why a topology cannot be built, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TopologyError(pub String);

/// A directed link and the port that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The transmitter.
    pub port: PortId,
    /// The link.
    pub link: LinkId,
}

/// Both directions between two neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplex {
    /// Direction of the data.
    pub forward: Hop,
    /// Direction of the ACKs.
    pub reverse: Hop,
}

/// The path of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPath {
    /// Pair of the data.
    pub forward: PairId,
    /// Pair of the ACKs.
    pub reverse: PairId,
    /// Hops of the data, and of the ACKs.
    pub hops: [Vec<Hop>; 2],
}

/// A network at time zero, with the handles needed by schedules and flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// Nodes, ports, links and pairs. The duration is zero until [`Built::timeline`] sets it.
    pub header: Header,
    /// The path of each pair, at time zero.
    pub paths: Vec<Timed>,
    /// Bottleneck links, in the order in which the first flow crosses them.
    pub bottlenecks: Vec<Duplex>,
    /// The paths of the flows.
    pub flows: Vec<FlowPath>,
    plan: DelayPlan,
}

impl Built {
    /// The timeline with `changes` added (any order).
    pub fn timeline(mut self, duration: Nanos, changes: Vec<Timed>) -> Timeline {
        self.header.duration = duration;
        self.paths.extend(changes);
        Timeline::single(self.header, self.paths)
    }

    /// Adds paths that flows take later: the flow, and the hops of its data and its ACKs. They have
    /// the same round-trip time.
    ///
    /// # Errors
    /// If the round-trip time is shorter than the fixed delays.
    pub(crate) fn add_paths(&mut self, others: Vec<(usize, [Vec<Hop>; 2])>) -> Result<(), TopologyError> {
        self.plan.others = others;
        self.place_delays()
    }

    /// Adds fixed delays of links to those that follow from round-trip times.
    ///
    /// # Errors
    /// If a round-trip time is shorter than the fixed delays.
    pub(crate) fn add_delays(&mut self, added: Vec<(LinkId, Nanos)>) -> Result<(), TopologyError> {
        self.plan.added = added;
        self.place_delays()
    }

    fn place_delays(&mut self) -> Result<(), TopologyError> {
        let delays = self.plan.delays(&self.flows, self.header.links.len(), &self.plan.rtts)?;
        for (link, delay) in self.header.links.iter_mut().zip(delays) {
            link.delay = Delay::constant(delay);
        }
        Ok(())
    }

    /// Multiplies the round-trip time of each flow, now and after every later [`Built::set_rtts`],
    /// by `factor` of its number. Flows that share all of their delay use the factor of flow 0.
    ///
    /// # Errors
    /// If a round-trip time becomes shorter than the fixed delays.
    pub fn spread_rtts(&mut self, factor: impl Fn(usize) -> f64) -> Result<(), TopologyError> {
        let shared = self.plan.placement == Placement::Even
            && self.flows.windows(2).any(|f| f[0].hops[0].iter().any(|hop| f[1].hops[0].contains(hop)));
        let flows = 0..self.flows.len();
        self.plan.factors = flows.map(|flow| factor(if shared { 0 } else { flow })).collect();
        self.place_delays()
    }

    /// Changes that set the flows' round-trip times at `at`, placed as at the start. A single value
    /// applies to all flows.
    ///
    /// # Errors
    /// If the number of values is wrong, or one is shorter than the fixed delays.
    pub fn set_rtts(&self, at: Nanos, rtts: &[Nanos]) -> Result<Vec<Timed>, TopologyError> {
        let delays = self.plan.delays(&self.flows, self.header.links.len(), rtts)?;
        let change = |(i, d): (usize, Nanos)| Timed {
            at,
            change: Change::Delay(LinkId(i as u32), Delay::constant(d)),
        };
        Ok(delays.into_iter().enumerate().map(change).collect())
    }
}

/// Collects nodes, ports and links with dense ids.
#[derive(Default)]
pub(crate) struct Drawing {
    header: Header,
    paths: Vec<Timed>,
    pub(crate) flows: Vec<FlowPath>,
    pub(crate) bottlenecks: Vec<Duplex>,
}

impl Drawing {
    pub(crate) fn node(&mut self, name: String, class: NodeClass) -> NodeId {
        self.header.nodes.push(Node { name, class, place: None });
        NodeId(self.header.nodes.len() as u32 - 1)
    }

    fn hop(&mut self, from: NodeId, to: NodeId, spec: &PortSpec, loss: f64, order: LinkOrder) -> Hop {
        let h = &mut self.header;
        let name = format!("{}->{}", h.nodes[from.ix()].name, h.nodes[to.ix()].name);
        h.ports.push(Port { name, node: from, spec: spec.clone() });
        let port = PortId(h.ports.len() as u32 - 1);
        // The delay is set once all flows are known.
        h.links.push(Link { port, to, delay: Delay::default(), loss, up: true, order });
        Hop { port, link: LinkId(h.links.len() as u32 - 1) }
    }

    /// Without random loss on the reverse path: the studies have random loss only in the data
    /// direction.
    pub(crate) fn duplex(
        &mut self,
        (a, b): (NodeId, NodeId),
        forward: &PortSpec,
        reverse: &PortSpec,
        loss: f64,
        drop: LinkOrder,
    ) -> Duplex {
        Duplex { forward: self.hop(a, b, forward, loss, drop), reverse: self.hop(b, a, reverse, 0.0, drop) }
    }

    pub(crate) fn flow(&mut self, from: NodeId, to: NodeId, along: &[Duplex]) {
        let data: Vec<Hop> = along.iter().map(|d| d.forward).collect();
        let acks: Vec<Hop> = along.iter().rev().map(|d| d.reverse).collect();
        self.flow_over((from, to), data, acks);
    }

    /// Adds a flow over the given hops.
    pub(crate) fn flow_over(&mut self, (from, to): (NodeId, NodeId), data: Vec<Hop>, acks: Vec<Hop>) {
        let forward = self.pair(from, to, &data);
        let reverse = self.pair(to, from, &acks);
        self.flows.push(FlowPath { forward, reverse, hops: [data, acks] });
    }

    /// Sets the properties of a link.
    pub(crate) fn set_link(&mut self, link: LinkId, delay: Nanos, loss: f64) {
        let link = &mut self.header.links[link.ix()];
        (link.delay, link.loss) = (Delay::constant(delay), loss);
    }

    /// Finishes with the delays as set.
    pub(crate) fn finish_as_given(mut self, title: String) -> Built {
        self.header.title = title;
        let Drawing { header, paths, flows, bottlenecks } = self;
        let plan = DelayPlan::new(Placement::Forward, Nanos::ZERO, &[]);
        Built { header, paths, bottlenecks, flows, plan }
    }

    pub(crate) fn pair(&mut self, from: NodeId, to: NodeId, hops: &[Hop]) -> PairId {
        add_pair(&mut self.header, &mut self.paths, from, to, hops)
    }

    /// Finishes with delays computed from round-trip times and their placement.
    pub(crate) fn finish_placed(
        self,
        title: String,
        placement: Placement,
        bottleneck_delay: Nanos,
        rtts: &[Nanos],
    ) -> Result<Built, TopologyError> {
        self.finish(title, DelayPlan::new(placement, bottleneck_delay, rtts))
    }

    fn finish(mut self, title: String, plan: DelayPlan) -> Result<Built, TopologyError> {
        let delays = plan.delays(&self.flows, self.header.links.len(), &plan.rtts)?;
        for (link, delay) in self.header.links.iter_mut().zip(delays) {
            link.delay = Delay::constant(delay);
        }
        self.header.title = title;
        let Drawing { header, paths, flows, bottlenecks } = self;
        Ok(Built { header, paths, bottlenecks, flows, plan })
    }
}

fn some(what: &str, n: usize) -> Result<(), TopologyError> {
    if n == 0 {
        return Err(TopologyError(format!("a topology needs at least one {what}")));
    }
    Ok(())
}

/// Builds a chain. Every link is a bottleneck; flow `i` runs along copy `i`.
///
/// # Errors
/// If there are no links or copies.
pub fn chain(spec: &ChainSpec) -> Result<Built, TopologyError> {
    some("link", spec.links)?;
    some("copy", spec.copies)?;
    let mut d = Drawing::default();
    for copy in 1..=spec.copies {
        let suffix = if spec.copies == 1 { String::new() } else { format!(".{copy}") };
        let mut nodes = vec![d.node(format!("s{suffix}"), NodeClass::Host)];
        for r in 1..spec.links {
            nodes.push(d.node(format!("r{r}{suffix}"), NodeClass::Router));
        }
        nodes.push(d.node(format!("d{suffix}"), NodeClass::Host));
        let reverse = spec.reverse.as_ref().unwrap_or(&spec.port);
        let along: Vec<Duplex> = nodes
            .windows(2)
            .map(|w| d.duplex((w[0], w[1]), &spec.port, reverse, spec.loss, spec.order))
            .collect();
        d.flow(nodes[0], nodes[spec.links], &along);
        d.bottlenecks.extend(along);
    }
    let plan = DelayPlan::new(Placement::Even, Nanos::ZERO, &[spec.rtt]);
    d.finish(format!("chain of {} links", spec.links), plan)
}

/// Builds a dumbbell.
///
/// # Errors
/// If there are no flows, an RTT is shorter than the fixed delays, or RTTs differ under
/// [`Placement::Even`].
pub fn dumbbell(spec: &DumbbellSpec) -> Result<Built, TopologyError> {
    some("flow", spec.rtts.len())?;
    if spec.placement == Placement::Even && spec.rtts.iter().any(|&r| r != spec.rtts[0]) {
        return Err(TopologyError(
            "flows that share a bottleneck evenly must have the same round-trip time".into(),
        ));
    }
    let mut d = Drawing::default();
    let r1 = d.node("r1".into(), NodeClass::Router);
    let r2 = d.node("r2".into(), NodeClass::Router);
    let drop = spec.order;
    let middle = d.duplex(
        (r1, r2),
        &spec.bottleneck,
        spec.reverse.as_ref().unwrap_or(&spec.bottleneck),
        spec.loss,
        drop,
    );
    d.bottlenecks.push(middle);
    for i in 1..=spec.rtts.len() {
        let s = d.node(format!("s{i}"), NodeClass::Host);
        let t = d.node(format!("d{i}"), NodeClass::Host);
        let first = d.duplex((s, r1), &spec.access, &spec.access, 0.0, drop);
        let last = d.duplex((r2, t), &spec.access, &spec.access, 0.0, drop);
        d.flow(s, t, &[first, middle, last]);
    }
    let plan = DelayPlan::new(spec.placement, spec.bottleneck_delay, &spec.rtts);
    d.finish(format!("dumbbell of {} flows", spec.rtts.len()), plan)
}

/// Builds a parking lot. Flow 0 is the spine, flow `i` the rib over bottleneck `i - 1`.
///
/// # Errors
/// If there are no bottlenecks, the placement shares delays, or an RTT is shorter than the fixed
/// delays.
pub fn parking_lot(spec: &ParkingLotSpec) -> Result<Built, TopologyError> {
    some("bottleneck", spec.bottlenecks)?;
    if !matches!(spec.placement, Placement::Access | Placement::Forward) {
        return Err(TopologyError(
            "the round-trip times of a parking lot sit on access links or on the first link".into(),
        ));
    }
    let mut d = Drawing::default();
    let routers: Vec<NodeId> =
        (0..=spec.bottlenecks).map(|r| d.node(format!("r{r}"), NodeClass::Router)).collect();
    let reverse = spec.reverse.as_ref().unwrap_or(&spec.bottleneck);
    let row: Vec<Duplex> = routers
        .windows(2)
        .map(|w| d.duplex((w[0], w[1]), &spec.bottleneck, reverse, 0.0, spec.order))
        .collect();
    d.bottlenecks.clone_from(&row);
    for flow in 0..=spec.bottlenecks {
        let (enters, leaves) = if flow == 0 { (0, spec.bottlenecks) } else { (flow - 1, flow) };
        let s = d.node(format!("s{flow}"), NodeClass::Host);
        let t = d.node(format!("d{flow}"), NodeClass::Host);
        let mut along = vec![d.duplex((s, routers[enters]), &spec.access, &spec.access, 0.0, spec.order)];
        along.extend(&row[enters..leaves]);
        along.push(d.duplex((routers[leaves], t), &spec.access, &spec.access, 0.0, spec.order));
        d.flow(s, t, &along);
    }
    let plan = DelayPlan::new(spec.placement, spec.bottleneck_delay, &spec.rtts);
    d.finish(format!("parking lot of {} bottlenecks", spec.bottlenecks), plan)
}

/// Adds a pair with these hops as its initial path.
pub(crate) fn add_pair(
    header: &mut Header,
    paths: &mut Vec<Timed>,
    from: NodeId,
    to: NodeId,
    hops: &[Hop],
) -> PairId {
    let pair = PairId(header.pairs.len() as u32);
    header.pairs.push(Pair { from, to });
    let links: Arc<[LinkId]> = hops.iter().map(|h| h.link).collect();
    paths.push(Timed { at: Nanos::ZERO, change: Change::Path(pair, Some(links)) });
    pair
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::store::check;

    fn ms(v: u64) -> Nanos {
        Nanos::from_millis(v)
    }

    fn rtt_of(b: &Built, flow: usize) -> Nanos {
        let hops = b.flows[flow].hops.iter().flatten();
        hops.fold(Nanos::ZERO, |sum, h| sum + b.header.links[h.link.ix()].delay.base)
    }

    fn is_sound(b: Built) {
        check(&b.timeline(ms(1000), vec![])).unwrap();
    }

    #[test]
    fn a_chain_spreads_its_rtt_to_the_nanosecond() {
        let b = chain(&ChainSpec { links: 7, copies: 2, rtt: ms(20), ..ChainSpec::default() }).unwrap();
        assert_eq!(rtt_of(&b, 1), ms(20));
        assert_eq!((b.header.links.len(), b.header.nodes.len(), b.bottlenecks.len()), (28, 16, 14));
        is_sound(b);
    }

    #[test]
    fn every_placement_gives_each_flow_its_rtt() {
        use Placement::*;
        for placement in [Access, Bottleneck, AckPath, Forward] {
            let rtts = vec![ms(20), ms(101)];
            let spec = DumbbellSpec { rtts, placement, bottleneck_delay: ms(1), ..DumbbellSpec::default() };
            let b = dumbbell(&spec).unwrap();
            assert_eq!([rtt_of(&b, 0), rtt_of(&b, 1)], [ms(20), ms(101)], "{placement:?}");
            is_sound(b);
        }
    }

    #[test]
    fn the_linux_reference_delays_data_by_half_the_smallest_rtt() {
        let b = dumbbell(&DumbbellSpec::linux_reference(PortSpec::default(), vec![ms(30), ms(80)])).unwrap();
        let delay = |h: &Hop| b.header.links[h.link.ix()].delay.base;
        let [data, acks] = &b.flows[1].hops;
        assert_eq!(data.iter().map(delay).collect::<Vec<_>>(), [Nanos::ZERO, ms(15), Nanos::ZERO]);
        assert_eq!(acks.iter().map(delay).collect::<Vec<_>>(), [Nanos::ZERO, Nanos::ZERO, ms(65)]);
    }

    #[test]
    fn rtts_can_be_changed_later() {
        let b = dumbbell(&DumbbellSpec { placement: Placement::Even, ..DumbbellSpec::default() }).unwrap();
        let changes = b.set_rtts(ms(5), &[ms(90)]).unwrap();
        let sum = changes.iter().fold(Nanos::ZERO, |s, c| match c.change {
            Change::Delay(_, d) => s + d.base,
            _ => s,
        });
        assert_eq!(sum, ms(90));
        check(&b.timeline(ms(10), changes)).unwrap();
    }

    #[test]
    fn a_spread_holds_for_every_flow_and_after_later_changes() {
        let factor = |flow: usize| [1.01, 0.98][flow];
        let mut b =
            dumbbell(&DumbbellSpec { rtts: vec![ms(50), ms(100)], ..DumbbellSpec::default() }).unwrap();
        b.spread_rtts(factor).unwrap();
        assert_eq!([rtt_of(&b, 0), rtt_of(&b, 1)], [Nanos::from_micros(50_500), ms(98)]);
        let later = b.set_rtts(ms(5), &[ms(10), ms(20)]).unwrap();
        let sum = later.iter().fold(Nanos::ZERO, |s, c| match c.change {
            Change::Delay(_, d) => s + d.base,
            _ => s,
        });
        assert_eq!(sum, Nanos::from_micros(10_100 + 19_600));
        let even = DumbbellSpec { rtts: vec![ms(50); 2], placement: Placement::Even, ..Default::default() };
        let mut shared = dumbbell(&even).unwrap();
        shared.spread_rtts(factor).unwrap();
        assert_eq!([rtt_of(&shared, 0), rtt_of(&shared, 1)], [Nanos::from_micros(50_500); 2]);
    }

    #[test]
    fn the_spine_crosses_every_bottleneck_and_a_rib_one() {
        let spec = ParkingLotSpec { bottlenecks: 6, bottleneck_delay: ms(1), ..ParkingLotSpec::default() };
        let b = parking_lot(&spec).unwrap();
        assert_eq!(b.flows.iter().map(|f| f.hops[0].len()).collect::<Vec<_>>(), [8, 3, 3, 3, 3, 3, 3]);
        assert_eq!((rtt_of(&b, 0), rtt_of(&b, 3)), (ms(50), ms(50)));
        assert_eq!(b.flows[2].hops[0][1], b.bottlenecks[1].forward);
        is_sound(b);
    }

    #[test]
    fn impossible_specifications_are_refused_in_words() {
        let none = DumbbellSpec { rtts: vec![], ..DumbbellSpec::default() };
        assert!(dumbbell(&none).unwrap_err().0.contains("at least one flow"));
        let short =
            ParkingLotSpec { rtts: vec![ms(5)], bottleneck_delay: ms(1), ..ParkingLotSpec::default() };
        assert!(parking_lot(&short).unwrap_err().0.contains("shorter than"));
        let uneven = ParkingLotSpec { rtts: vec![ms(5), ms(6)], ..ParkingLotSpec::default() };
        assert!(parking_lot(&uneven).unwrap_err().0.contains("2 round-trip times for 4 flows"));
    }
}
