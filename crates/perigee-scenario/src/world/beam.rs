// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[beam]`, applied to the ports of a network.

use crate::file::beam::Beam;
use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::world::network::Network;
use crate::world::ports::PortReport;
use perigee_timeline::{Carrier, Port, Sharing};
use serde::Serialize;

/// Adds the carriers of a beam to their ports, if the scenario has one.
///
/// # Errors
/// Names that no port or several have, ports that cannot be on a carrier, impossible loads.
pub fn apply(scenario: &Scenario, mut net: Network) -> Result<Network, ScenarioError> {
    let Some(beam) = &scenario.beam else { return Ok(net) };
    if beam.forward_rate.is_some() {
        let port = port(beam, "forward_port", &beam.forward_port, &mut net)?;
        if port.spec.dama.is_some() {
            let why =
                format!("port {:?} has demand assignment: a forward carrier needs no requests", port.name);
            return Err(beam.written.problem("forward_port", why).into());
        }
        let carrier = beam.forward(port.spec.rate);
        set(beam, "forward", port, carrier)?;
    }
    if beam.return_rate.is_some() {
        let port = port(beam, "return_port", &beam.return_port, &mut net)?;
        let Some(dama) = port.spec.dama.clone() else {
            let why = format!("port {:?} has no demand assignment", port.name);
            let p = beam.written.problem("return_rate", why);
            return Err(p.hint(format!("set port.{}.dama_delay", beam.return_port)).into());
        };
        if beam.request_slots > 0 && dama.per_frame(dama.cra) > 0 {
            let why = "no effect: every terminal sends its requests in its constant capacity";
            let p = beam.written.problem("request_slots", why);
            return Err(p.hint(format!("remove it, or remove port.{}.dama_cra", beam.return_port)).into());
        }
        let carrier = beam.back(dama.frame, port.spec.rate);
        set(beam, "return", port, carrier)?;
        let terminals = beam.neighbours + 1;
        let constant = u128::from(dama.cra.0) * u128::from(terminals);
        if beam.return_rate.is_some_and(|rate| constant > u128::from(rate.0)) {
            let why = format!("less than the constant capacity of {terminals} terminals, {} each", dama.cra);
            let p = beam.written.problem("return_rate", why);
            return Err(p.hint("increase it, or reduce dama_cra or neighbours").into());
        }
    }
    let specs = net.header.ports.iter().map(|p| (&p.name, &p.spec));
    for (name, spec) in specs.filter(|(_, spec)| spec.carrier.is_some()) {
        for report in net.ports.iter_mut().filter(|r| r.name == *name) {
            *report = PortReport::new(name, report.class, spec);
        }
    }
    Ok(net)
}

/// The one port of this name or class.
fn port<'n>(beam: &Beam, key: &str, name: &str, net: &'n mut Network) -> Result<&'n mut Port, Problem> {
    let of_class: Vec<&str> = net.ports.iter().filter(|r| r.class == name).map(|r| r.name.as_str()).collect();
    let found: Vec<usize> = (0..net.header.ports.len())
        .filter(|&i| {
            net.header.ports[i].name == name || of_class.contains(&net.header.ports[i].name.as_str())
        })
        .collect();
    match found[..] {
        [one] => Ok(&mut net.header.ports[one]),
        [] => {
            let names: Vec<&str> = net.header.ports.iter().take(8).map(|p| p.name.as_str()).collect();
            let p = beam.written.problem(key, format!("no port is called {name:?} at the start"));
            Err(p.allowed(format!("a class of ports, or one of {}", names.join(", "))))
        }
        [..] => {
            let names: Vec<&str> = found.iter().map(|&i| net.header.ports[i].name.as_str()).collect();
            let p = beam.written.problem(key, format!("{} ports are of the class {name:?}", names.len()));
            Err(p.allowed(format!("one of {}", names.join(", "))))
        }
    }
}

fn set(beam: &Beam, way: &str, port: &mut Port, carrier: Option<Carrier>) -> Result<(), Problem> {
    if port.spec.burst > 0 {
        let p =
            beam.written.problem(&format!("{way}_port"), format!("port {:?} has a token bucket", port.name));
        return Err(p.hint("remove burst: on a shared carrier a port sends in turns or slots"));
    }
    if let Some(why) = carrier.and_then(|c| c.check().err()) {
        return Err(beam.written.problem(&format!("{way}_rate"), why));
    }
    port.spec.carrier = carrier.map(Box::new);
    Ok(())
}

/// Description for the manifest.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CarrierReport {
    pub rate_bps: u64,
    pub frame_ns: u64,
    pub sharing: Sharing,
    pub floor_bps: u64,
    pub request_slots: u32,
    pub neighbours: u32,
    pub load_bps: u64,
    pub peak_bps: u64,
    pub burst_bytes: u64,
    pub burst_max_bytes: u64,
    pub burst_shape: f64,
    pub queue_bytes: u64,
}

impl From<&Carrier> for CarrierReport {
    fn from(c: &Carrier) -> Self {
        let n = &c.neighbours;
        CarrierReport {
            rate_bps: c.rate.0,
            frame_ns: c.frame.0,
            sharing: c.sharing,
            floor_bps: c.floor.0,
            request_slots: c.request_slots,
            neighbours: n.count,
            load_bps: n.load.0,
            peak_bps: n.peak.0,
            burst_bytes: n.burst,
            burst_max_bytes: n.burst_max,
            burst_shape: n.burst_shape,
            queue_bytes: n.queue,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use perigee_timeline::{Carrier, Sharing};
    use perigee_units::{BitRate, Nanos};
    use std::path::Path;
    use std::sync::Arc;

    fn world(text: &str) -> Result<World, String> {
        let base =
            "[run]\nduration = \"1 s\"\n[source.dumbbell]\nrtt = \"540 ms\"\n[[flow]]\ncc = \"cubic\"\n\
                    [port.bottleneck]\nrate = \"20 Mbit\"\n";
        let s = Scenario::parse(&format!("{base}{text}"), "t.toml", Path::new(""), &[])
            .map_err(|e| e.to_string())?;
        World::build(Arc::new(s), 1).map_err(|e| e.to_string())
    }

    fn carriers(text: &str) -> Vec<(String, Carrier)> {
        let w = world(text).unwrap();
        let of = w.header.ports.iter().filter_map(|p| Some((p.name.clone(), *p.spec.carrier.as_deref()?)));
        let found: Vec<_> = of.collect();
        let reported: Vec<_> =
            w.ports.iter().filter(|r| r.carrier.is_some()).map(|r| r.name.clone()).collect();
        assert_eq!(found.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), reported);
        found
    }

    #[test]
    fn each_carrier_is_on_its_port() {
        assert!(carriers("").is_empty());
        let found = carriers(
            "[port.reverse]\ndama_delay = \"600 ms\"\n[beam]\nneighbours = 40\nforward_rate = \"80 Mbit\"\n\
             forward_load = 0.3\nreturn_rate = \"10 Mbit\"\ngrant_floor = \"10 kbit\"\nreturn_peak = \"1 Mbit\"\n",
        );
        let [(forward_name, forward), (back_name, back)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((forward_name.as_str(), back_name.as_str()), ("r1->r2", "r2->r1"));
        assert_eq!((forward.sharing, back.sharing), (Sharing::RoundRobin, Sharing::Proportional));
        assert_eq!((forward.frame, back.frame), (Nanos::from_millis(10), Nanos::from_micros(26_500)));
        assert_eq!(
            (forward.neighbours.load, back.neighbours.load),
            (BitRate::from_mbit(24), BitRate::from_mbit(5))
        );
        assert_eq!(
            (forward.neighbours.peak, back.neighbours.peak),
            (BitRate::from_mbit(20), BitRate::from_mbit(1))
        );
        assert_eq!(back.floor, BitRate(10_000));
        let named = "[beam]\nforward_rate = \"80 Mbit\"\nforward_load = 0\nforward_port = \"r1->r2\"\n";
        assert_eq!(carriers(named).len(), 1);
    }

    #[test]
    fn beams_that_cannot_be_are_refused_with_a_remedy() {
        let forward = "[beam]\nforward_rate = \"80 Mbit\"\n";
        let back = "[port.reverse]\ndama_delay = \"600 ms\"\ndama_cra = \"1 Mbit\"\n[beam]\nreturn_rate = \"10 Mbit\"\n";
        for (text, says) in [
            ("[beam]\nneighbours = 3\n".into(), "set forward_rate, return_rate"),
            ("[beam]\nreturn_rate = \"10 Mbit\"\n".into(), "port.reverse.dama_delay"),
            (format!("{forward}return_load = 0.1\n"), "return_rate"),
            (format!("{forward}forward_port = \"r9\"\n"), "r1->r2"),
            (format!("{forward}forward_port = \"access\"\n"), "4 ports"),
            (format!("{forward}neighbours = 1\n"), "load of 40 Mbit/s for each neighbour"),
            (format!("{forward}forward_burst = \"2 GB\"\n"), "below the maximum"),
            (format!("[port.\"r1->r2\"]\nburst = \"9 kB\"\n{forward}"), "token bucket"),
            (format!("[port.\"r1->r2\"]\ndama_delay = \"1 s\"\n{forward}"), "needs no requests"),
            (back.into(), "constant capacity of 11 terminals"),
            (format!("{back}request_slots = 4\n"), "in its constant capacity"),
            (
                "[port.reverse]\ndama_delay = \"600 ms\"\n[beam]\nreturn_rate = \"10 Mbit\"\ngrants = \"round-robin\"\n\
                 grant_floor = \"1 Mbit\"\n"
                    .into(),
                "equal shares need no floor",
            ),
            (format!("{forward}[[background]]\nload = 0.1\n"), "neighbours of a [beam]"),
        ] {
            let why = world(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(why.contains(says), "{says}: {why}");
        }
    }
}
