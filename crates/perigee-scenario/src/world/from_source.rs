// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Construction of a network from the source of a scenario.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::world::network::Network;
use crate::world::small::{self, micro, no_more};
use crate::world::{background, beam, fading, fibre, own_network, replay, saved, sky};
use perigee_sources::{crossing, parallel, topology};
use perigee_units::names;

/// Builds the network of a scenario for one seed.
///
/// # Errors
/// If the source cannot be built, or a node is unknown.
pub fn build(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    let net = bare(scenario, seed)?;
    // Readers of files reject such names with their line numbers; this check covers every other
    // source.
    let h = &net.header;
    let named = h.nodes.iter().map(|n| &n.name).chain(h.ports.iter().map(|p| &p.name)).chain([&h.title]);
    for name in named {
        names::check(name).map_err(|why| Problem::new("source", format!("the name {name:?} {why}")))?;
    }
    background::apply(scenario, beam::apply(scenario, fading::apply(scenario, net, seed)?)?)
}

fn bare(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    match &scenario.source {
        Source::Chain(c) => micro(scenario, topology::chain(&small::chain(c)), seed, no_more),
        Source::Dumbbell(f) => micro(scenario, topology::dumbbell(&small::dumbbell(f)), seed, no_more),
        Source::ParkingLot(f) => {
            micro(scenario, topology::parking_lot(&small::parking_lot(f)), seed, no_more)
        }
        Source::Crossing(c) => micro(scenario, crossing::crossing(&small::crossing(c)), seed, no_more),
        Source::Parallel(p) => micro(scenario, parallel::parallel(&small::parallel(p)), seed, no_more),
        Source::Constellation(c) if !c.fibres.is_empty() => fibre::build(scenario, c, seed),
        Source::Constellation(c) => sky::build(scenario, c, seed),
        Source::PathLog(p) => replay::path_log(scenario, p, seed),
        Source::Trace(t) => replay::trace(scenario, t, seed),
        Source::Network(n) => own_network::build(scenario, n, seed),
        Source::Timeline(t) => saved::build(scenario, t),
    }
}
