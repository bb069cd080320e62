// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Demand-assignment (DAMA) keys of ports, and their checks.

use super::ports::Settled;
use crate::file::error::Problem;
use crate::file::port::Port;
use perigee_timeline::Dama;
use perigee_units::{BitRate, Nanos};
use serde::Serialize;

/// Keys other than `dama_delay`, which enables demand assignment.
const FURTHER: [&str; 6] = ["dama_frame", "dama_cra", "dama_rbdc", "dama_by_volume", "dama_vbdc", "dama_fca"];

/// Keys of the tables that apply to a port, merged so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DamaKeys {
    delay: Option<Nanos>,
    frame: Option<Nanos>,
    cra: Option<BitRate>,
    rbdc: Option<BitRate>,
    by_volume: Option<bool>,
    vbdc: Option<BitRate>,
    fca: Option<BitRate>,
}

impl DamaKeys {
    /// Overrides the keys with those of a more specific table.
    pub(crate) fn apply(&mut self, port: &Port) {
        self.delay = port.dama_delay.or(self.delay);
        self.frame = port.dama_frame.or(self.frame);
        self.cra = port.dama_cra.or(self.cra);
        self.rbdc = port.dama_rbdc.or(self.rbdc);
        self.by_volume = port.dama_by_volume.or(self.by_volume);
        self.vbdc = port.dama_vbdc.or(self.vbdc);
        self.fca = port.dama_fca.or(self.fca);
    }

    /// Demand assignment of the port; `None` without `dama_delay`: the port sends at any time.
    pub(crate) fn resolved(&self) -> Option<Dama> {
        let none = BitRate(0);
        Some(Dama {
            delay: self.delay?,
            frame: self.frame.unwrap_or(DEFAULT_FRAME),
            cra: self.cra.unwrap_or(none),
            rbdc: self.rbdc.unwrap_or(none),
            vbdc: if self.by_volume == Some(false) { Some(none) } else { self.vbdc },
            fca: self.fca.unwrap_or(none),
        })
    }
}

/// Default of `dama_frame`.
const DEFAULT_FRAME: Nanos = Nanos::from_micros(26_500);

/// Problems of the table `[port.OWN]`. `concerned`: the ports to which it applies; `rate_is_set`:
/// whether tables set their rates, as opposed to a trace or a row of a network.
pub(crate) fn problems(
    own: &str,
    section: &Port,
    concerned: impl Iterator<Item = Settled>,
    rate_is_set: bool,
) -> Vec<Problem> {
    let concerned: Vec<Settled> = concerned.collect();
    let on: Vec<Dama> = concerned.iter().filter_map(|s| s.dama().resolved()).collect();
    let problem = |key: &str, why: &str| Problem::new(format!("port.{own}.{key}"), why).at(section.place());
    let mut found = Vec::new();
    if on.is_empty() {
        let without = FURTHER.iter().filter(|key| section.written.has(key));
        let why = "no effect: no port of this table has demand assignment";
        found.extend(without.map(|key| problem(key, why).hint("set dama_delay, or remove it")));
    }
    if on.is_empty() || on.len() < concerned.len() {
        return found;
    }
    if section.burst.is_some() {
        let why = "no effect: a port with demand assignment sends in slots, not from a token bucket";
        found.push(problem("burst", why).hint("remove it, or remove dama_delay"));
    }
    if section.count_in_service.is_some() {
        let why = "no effect: a packet that waits for slots always counts";
        found.push(problem("count_in_service", why).hint("remove it, or remove dama_delay"));
    }
    if concerned.iter().all(|s| s.dama().by_volume == Some(false)) && section.dama_vbdc.is_some() {
        let why = "no effect: the port does not request volume";
        found.push(problem("dama_vbdc", why).hint("remove it, or remove dama_by_volume"));
    }
    let no_category = on.iter().find_map(|dama| dama.check().err());
    if let (Some(why), true) = (no_category, section.dama_delay.is_some() || section.dama_by_volume.is_some())
    {
        let without_volume = concerned.iter().all(|s| s.dama().by_volume == Some(false));
        let or = if without_volume { "remove dama_by_volume = false" } else { "increase dama_frame" };
        found.push(problem("dama_delay", &why).hint(format!("set dama_cra, dama_rbdc or dama_fca, or {or}")));
    }
    let rates = [
        ("dama_cra", section.dama_cra),
        ("dama_rbdc", section.dama_rbdc),
        ("dama_vbdc", section.dama_vbdc),
        ("dama_fca", section.dama_fca),
    ];
    let rates = rates.into_iter().filter_map(|(key, rate)| Some((key, rate?)));
    for (key, rate) in rates.filter(|(_, rate)| on.iter().all(|dama| dama.per_frame(*rate) == 0)) {
        let why = format!("no effect: {rate} is less than one byte per frame of {}", on[0].frame);
        found.push(problem(key, &why).hint("increase it or dama_frame, or remove it"));
    }
    let fastest = concerned.iter().map(|s| s.rate).max().filter(|_| rate_is_set);
    if let (Some(cra), Some(rate)) = (section.dama_cra, fastest) {
        if cra > rate {
            let why = format!("{cra} exceeds the rate of the port, {rate}");
            found.push(problem("dama_cra", &why).hint("reduce it, or remove dama_delay"));
        }
    }
    found
}

/// Description for the manifest.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct DamaReport {
    pub delay_ns: u64,
    pub frame_ns: u64,
    pub cra_bps: u64,
    pub rbdc_bps: u64,
    /// Absent: up to the capacity of the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vbdc_bps: Option<u64>,
    pub fca_bps: u64,
}

impl From<&Dama> for DamaReport {
    fn from(d: &Dama) -> Self {
        DamaReport {
            delay_ns: d.delay.0,
            frame_ns: d.frame.0,
            cra_bps: d.cra.0,
            rbdc_bps: d.rbdc.0,
            vbdc_bps: d.vbdc.map(|rate| rate.0),
            fca_bps: d.fca.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, World};
    use perigee_timeline::Dama;
    use perigee_units::{BitRate, Nanos};
    use std::path::Path;
    use std::sync::Arc;

    fn world(ports: &str) -> Result<World, String> {
        let text = format!("[run]\nduration = \"1 s\"\n[source.dumbbell]\nrtt = \"540 ms\"\n{ports}\n[[flow]]\ncc = \"cubic\"\n");
        let s = Scenario::parse(&text, "t.toml", Path::new(""), &[]).map_err(|e| e.to_string())?;
        World::build(Arc::new(s), 1).map_err(|e| e.to_string())
    }

    fn error(ports: &str) -> String {
        world(ports).err().unwrap_or_else(|| panic!("accepted: {ports}"))
    }

    #[test]
    fn keys_apply_to_the_named_ports_only() {
        let keys =
            "[port.reverse]\ndama_delay = \"600 ms\"\ndama_cra = \"64 kbit\"\ndama_rbdc = \"5 Mbit\"\n";
        let w = world(keys).unwrap();
        let found: Vec<_> =
            w.header.ports.iter().filter_map(|p| p.spec.dama.as_deref().map(|d| (&p.name, *d))).collect();
        let expected = Dama {
            frame: Nanos::from_micros(26_500),
            delay: Nanos::from_millis(600),
            cra: BitRate(64_000),
            rbdc: BitRate(5_000_000),
            vbdc: None,
            fca: BitRate(0),
        };
        assert_eq!(found.iter().map(|(_, d)| *d).collect::<Vec<_>>(), [expected], "{found:?}");
        assert_eq!(found[0].0, "r2->r1");
    }

    #[test]
    fn keys_without_an_effect_are_rejected_with_a_remedy() {
        let alone = error("[port.reverse]\ndama_cra = \"64 kbit\"\n");
        assert!(alone.contains("port.reverse.dama_cra") && alone.contains("dama_delay"), "{alone}");
        let on = "[port.reverse]\ndama_delay = \"600 ms\"\n";
        assert!(error(&format!("{on}burst = \"9 kB\"\n")).contains("not from a token bucket"));
        assert!(error(&format!("{on}count_in_service = true\n")).contains("always counts"));
        let silent = error(&format!("{on}dama_by_volume = false\n"));
        assert!(silent.contains("no category"), "{silent}");
        assert!(silent.contains("remove dama_by_volume = false"), "{silent}");
        let little = error(&format!("{on}dama_cra = \"300 bit\"\n"));
        assert!(
            little.contains("port.reverse.dama_cra") && little.contains("less than one byte"),
            "{little}"
        );
        let much = error(&format!("[port.bottleneck]\nrate = \"2 Mbit\"\n{on}dama_cra = \"3 Mbit\"\n"));
        assert!(much.contains("exceeds the rate") && much.contains("2 Mbit"), "{much}");
        assert!(world(&format!("[port.bottleneck]\nrate = \"2 Mbit\"\n{on}dama_cra = \"2 Mbit\"\n")).is_ok());
        let both =
            error(&format!("{on}dama_cra = \"1 Mbit\"\ndama_by_volume = false\ndama_vbdc = \"1 Mbit\"\n"));
        assert!(both.contains("does not request volume"), "{both}");
        assert!(error("[port.reverse]\ndama_delay = \"0 s\"\n").contains("dama_delay"));
    }

    #[test]
    fn a_more_specific_table_adds_to_a_general_one() {
        let keys = "[port.bottleneck]\ndama_delay = \"500 ms\"\n[port.reverse]\ndama_fca = \"1 Mbit\"\n";
        let w = world(keys).unwrap();
        let fca: Vec<_> =
            w.header.ports.iter().filter_map(|p| p.spec.dama.as_deref().map(|d| d.fca.0)).collect();
        assert_eq!(fca, [0, 1_000_000]);
    }
}
