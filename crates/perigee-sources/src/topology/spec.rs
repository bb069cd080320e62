// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Specifications of the small networks: placement of round-trip times, chain, dumbbell, parking
//! lot.

use perigee_timeline::{LinkOrder, PortSpec};
use perigee_units::{BitRate, Nanos};

/// Links that have the delay of a flow. "Access" means the four links between its hosts and the
/// routers (two per direction).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// A quarter on each access link, after subtraction of the fixed delay of the bottlenecks
    /// (OrbCC study, E3 to E8).
    #[default]
    Access,
    /// A sixth on each link of the three-link path, in both directions (OrbCC study, E1). Only for
    /// a dumbbell with equal RTTs.
    Even,
    /// Half of the smallest RTT on the bottleneck, per direction; the excess of a flow on its
    /// access links (OrbCC study, E2).
    Bottleneck,
    /// Half of the smallest RTT on the forward bottleneck, the rest of each flow's RTT on the last
    /// link of its own ACK path (the Linux reference curves).
    AckPath,
    /// All of it on the first link of the data path (the Mininet testbed of the LeoCC study).
    Forward,
}

/// A row of routers between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainSpec {
    /// Number of links from host to host: one more than routers.
    pub links: usize,
    /// Number of independent parallel chains, each with its own pair of hosts.
    pub copies: usize,
    /// Round-trip time, spread evenly over all links and both directions.
    pub rtt: Nanos,
    /// All ports of the data direction.
    pub port: PortSpec,
    /// All ports of the ACK direction; `None` = as `port`.
    pub reverse: Option<PortSpec>,
    /// Random loss of each link of the data direction.
    pub loss: f64,
    /// Effect of a shrinking delay on packets in flight.
    pub order: LinkOrder,
}

impl Default for ChainSpec {
    fn default() -> Self {
        ChainSpec {
            links: 1,
            copies: 1,
            rtt: Nanos::from_millis(50),
            port: PortSpec::default(),
            reverse: None,
            loss: 0.0,
            order: LinkOrder::Fifo,
        }
    }
}

/// Senders `s1..`, routers `r1`, `r2`, receivers `d1..`: flow `i` goes from `si` to `di`.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellSpec {
    /// Round-trip time of each flow, which also determines the number of flows.
    pub rtts: Vec<Nanos>,
    /// Placement of the RTTs.
    pub placement: Placement,
    /// `r1 -> r2`.
    pub bottleneck: PortSpec,
    /// `r2 -> r1`; `None` = as `bottleneck`.
    pub reverse: Option<PortSpec>,
    /// All ports of and towards the hosts.
    pub access: PortSpec,
    /// Fixed one-way delay of the bottleneck with [`Placement::Access`]; ignored with other
    /// placements.
    pub bottleneck_delay: Nanos,
    /// Random loss on `r1 -> r2`.
    pub loss: f64,
    /// Effect of a shrinking delay on packets in flight.
    pub order: LinkOrder,
}

impl Default for DumbbellSpec {
    fn default() -> Self {
        DumbbellSpec {
            rtts: vec![Nanos::from_millis(50)],
            placement: Placement::Access,
            bottleneck: PortSpec::default(),
            reverse: None,
            access: PortSpec::packets(BitRate::from_mbit(10_000), 100_000),
            bottleneck_delay: Nanos::ZERO,
            loss: 0.0,
            order: LinkOrder::Fifo,
        }
    }
}

impl DumbbellSpec {
    /// The path of the Linux reference curves: a single rate, at the bottleneck; ACKs are never
    /// queued.
    pub fn linux_reference(bottleneck: PortSpec, rtts: Vec<Nanos>) -> Self {
        DumbbellSpec {
            rtts,
            placement: Placement::AckPath,
            bottleneck,
            reverse: Some(PortSpec::unlimited()),
            access: PortSpec::unlimited(),
            order: LinkOrder::Reorder,
            ..DumbbellSpec::default()
        }
    }
}

/// Routers in a row. Flow 0 (the spine) crosses all bottlenecks, flow `i` (a rib) only the `i`-th.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLotSpec {
    /// Number of links between the routers.
    pub bottlenecks: usize,
    /// Round-trip time of the spine, then of each rib; a single value applies to all.
    pub rtts: Vec<Nanos>,
    /// Placement of the RTTs: [`Placement::Access`] or [`Placement::Forward`].
    pub placement: Placement,
    /// All bottlenecks, data direction.
    pub bottleneck: PortSpec,
    /// All bottlenecks, ACK direction; `None` = as `bottleneck`.
    pub reverse: Option<PortSpec>,
    /// All ports of and towards the hosts.
    pub access: PortSpec,
    /// Fixed one-way delay of each bottleneck with [`Placement::Access`].
    pub bottleneck_delay: Nanos,
    /// Effect of a shrinking delay on packets in flight.
    pub order: LinkOrder,
}

impl Default for ParkingLotSpec {
    fn default() -> Self {
        let d = DumbbellSpec::default();
        ParkingLotSpec {
            bottlenecks: 3,
            rtts: d.rtts,
            placement: d.placement,
            bottleneck: d.bottleneck,
            reverse: d.reverse,
            access: d.access,
            bottleneck_delay: d.bottleneck_delay,
            order: d.order,
        }
    }
}
