// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[background]]`, applied to the network of a source.

use crate::file::background::Background;
use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::world::network::Network;
use perigee_queue::info;
use perigee_sources::background::{Entry, Loaded, Ports};
use perigee_timeline::Port;

/// Adds background traffic to a network, if the scenario has any.
///
/// # Errors
/// Names that no port has, ports that cannot have background, unreadable files.
pub fn apply(scenario: &Scenario, mut net: Network) -> Result<Network, ScenarioError> {
    if scenario.background.is_empty() {
        return Ok(net);
    }
    let entries = scenario.background.iter().map(|spec| entry(spec, &net)).collect::<Result<_, _>>()?;
    let first = &scenario.background[0].written;
    let loaded = Loaded::new(net.source, &net.header, entries, serves_in_order);
    let loaded = loaded.map_err(|why| first.problem("on", why))?;
    // Ports of a constellation appear over time.
    let unused = loaded.unused().into_iter().next();
    if let (Some(i), false) = (unused, matches!(scenario.source, Source::Constellation(_))) {
        let mut p = scenario.background[i].written.problem("on", "no port is called that");
        let names: Vec<&str> = net.header.ports.iter().take(8).map(|p| p.name.as_str()).collect();
        p = p.found(format!("{:?}", scenario.background[i].on));
        return Err(p.allowed(format!("bottleneck, {}", names.join(", "))).into());
    }
    net.source = Box::new(loaded);
    Ok(net)
}

fn entry(spec: &Background, net: &Network) -> Result<Entry, Problem> {
    let on = match spec.on.iter().any(|n| n == "bottleneck") {
        true => Ports::Numbered(net.bottlenecks.iter().copied().collect()),
        false => Ports::Named(spec.on.clone()),
    };
    Ok(Entry {
        on,
        burst: u32::try_from(spec.burst.0).unwrap_or(u32::MAX),
        rtt: spec.rtt,
        most: spec.flow_rate,
        recovery: spec.recovery,
        steps: spec.steps()?,
    })
}

/// Rejects ports that do not serve everything in order of arrival.
fn serves_in_order(port: &Port) -> Result<(), String> {
    let spec = &port.spec;
    let own_queues = info(&spec.queue.discipline.name).is_some_and(|d| d.has_own_queues());
    let what = match spec {
        _ if own_queues => "a discipline with queues of its own",
        _ if spec.queue.probe_priority => "pings that are served first",
        _ if spec.burst > 0 => "a token bucket",
        _ if spec.dama.is_some() => "capacity on request",
        _ => return Ok(()),
    };
    Err(format!("port {:?} has {what}: background needs a port that serves in order of arrival", port.name))
}
