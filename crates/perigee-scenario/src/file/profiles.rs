// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transport profiles: named sets of defaults, `[tcp] profile = "…"`. A profile fills in values
//! that the scenario does not set, before anything is interpreted; explicit values of the file or
//! an override are kept. The resolved scenario in the manifest contains the result.
//!
//! The default is `linux`: Linux 6.12, which is also the default of each option.

use crate::file::error::{Origin, Place, Problem, ScenarioError};
use crate::file::suggestions;
use crate::file::tree::{Entry, Item, Raw, Table};
use std::sync::Arc;

/// A value of a profile.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// On or off.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A word or a quantity.
    Text(&'static str),
}

/// A setting of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Dotted key of the scenario. Keys below `source.X` apply only if the scenario has that
    /// source.
    pub key: &'static str,
    /// Its value.
    pub value: Preset,
    /// Source of the value.
    pub source: &'static str,
}

/// A profile.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name in scenario files.
    pub id: &'static str,
    /// One-line description.
    pub help: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
    /// Profile that supplies the keys not set by this one.
    pub base: Option<&'static str>,
}

impl Profile {
    /// All settings, its own before those of its base.
    pub fn all(&self) -> impl Iterator<Item = &'static Setting> {
        let base = self.base.and_then(profile).map_or(&[] as &[Setting], |b| b.settings);
        let own = self.settings;
        own.iter().chain(base.iter().filter(move |b| own.iter().all(|s| s.key != b.key)))
    }
}

const fn on(key: &'static str, source: &'static str) -> Setting {
    Setting { key, value: Preset::Bool(true), source }
}
const fn off(key: &'static str, source: &'static str) -> Setting {
    Setting { key, value: Preset::Bool(false), source }
}
const fn int(key: &'static str, value: i64, source: &'static str) -> Setting {
    Setting { key, value: Preset::Int(value), source }
}
const fn text(key: &'static str, value: &'static str, source: &'static str) -> Setting {
    Setting { key, value: Preset::Text(value), source }
}

/// All profiles; the first is the default.
pub const PROFILES: &[Profile] = &[
    Profile { id: "linux", help: "Linux 6.12: the defaults of all options", settings: &[], base: None },
    Profile {
        id: "study-orbcc",
        help: "INET as configured by the OrbCC and LeoTCP studies",
        settings: STUDY_ORBCC,
        base: None,
    },
    Profile {
        id: "inet",
        help:
            "study-orbcc, with Cubic, BBRv1 and BBRv3 as modelled in its simulator (for LeoCC: leocc_omnet)",
        settings: INET_MODELS,
        base: Some("study-orbcc"),
    },
    Profile {
        id: "study-hypatia",
        help: "ns-3 as used by the Hypatia study",
        settings: STUDY_HYPATIA,
        base: None,
    },
    Profile {
        id: "study-geo",
        help: "Linux 4.15 with large buffers, as used by the study of a geostationary service",
        settings: STUDY_GEO,
        base: None,
    },
    Profile {
        id: "study-leo-cc",
        help: "Linux 6.4 in Mininet, as used by the study of LEO congestion control",
        settings: STUDY_LEO_CC,
        base: None,
    },
];

/// Source of most rows.
const ORBCC: &str = "Avian688/orbtcpExperiments";
const INET: &str = "INET 4.5: not implemented there";
const PACED: &str = "Avian688/tcpPaced 2b591cf: a timer of one interval per packet";
const RFC3390: &str = "Avian688/orbtcpExperiments (RFC 3390: 4380 bytes)";

const STUDY_ORBCC: &[Setting] = &[
    int("port.all.framing", 7, "Avian688/orbtcpExperiments: PPP adds 7 bytes"),
    on("port.all.probe_priority", "Avian688/orbtcpExperiments: separate queue for ICMP"),
    int("tcp.hz", 0, "a simulator's timers are exact"),
    int("tcp.delayed_ack", 1, ORBCC),
    text("tcp.rtt_granularity", "1 ms", ORBCC),
    text("tcp.rto_rule", "rfc6298", ORBCC),
    int("tcp.rttvar_gain", 8, ORBCC),
    text("tcp.min_rto", "200 ms", ORBCC),
    text("tcp.max_rto", "240 s", ORBCC),
    text("tcp.initial_rto", "3 s", ORBCC),
    off("tcp.tlp", ORBCC),
    off("tcp.frto", INET),
    off("tcp.undo", INET),
    off("tcp.sack_compression", INET),
    text("tcp.tso_defer", "off", INET),
    off("tcp.push_acks", INET),
    text("tcp.reduction", "rfc6675", "INET 4.5: the window falls to ssthresh at once"),
    off("tcp.slow_start_after_idle", "sources never idle"),
    on("tcp.pacing", ORBCC),
    int("tcp.tso_segments", 1, ORBCC),
    int("tcp.pacing_ss_ratio", 200, ORBCC),
    int("tcp.pacing_ca_ratio", 120, ORBCC),
    on("tcp.unpaced_first_window", ORBCC),
    int("tcp.receive_buffer", 200_000_000, ORBCC),
    int("tcp.init_cwnd", 3, RFC3390),
    int("tcp.init_ssthresh", 400, ORBCC),
    int("tcp.bbr.init_cwnd", 4, ORBCC),
    int("tcp.bbr.init_ssthresh", 4000, ORBCC),
    int("tcp.bbr3.init_cwnd", 4, ORBCC),
    int("tcp.bbr3.init_ssthresh", 4000, ORBCC),
    int("tcp.leocc.init_cwnd", 4, ORBCC),
    int("tcp.leocc.init_ssthresh", 4000, ORBCC),
    int("tcp.leocc_omnet.init_cwnd", 4, ORBCC),
    int("tcp.leocc_omnet.init_ssthresh", 4000, ORBCC),
    int("tcp.orbcc.init_cwnd", 5, ORBCC),
    int("tcp.orbcc.init_ssthresh", 4000, ORBCC),
    int("tcp.orbcc-repro.init_cwnd", 5, ORBCC),
    int("tcp.orbcc-repro.init_ssthresh", 4000, ORBCC),
    off("tcp.orbcc-repro.pacing_credit", PACED),
    int("tcp.orbcc-head.init_cwnd", 5, ORBCC),
    int("tcp.orbcc-head.init_ssthresh", 4000, ORBCC),
    int("tcp.orbcc-pint.init_cwnd", 5, ORBCC),
    int("tcp.orbcc-pint.init_ssthresh", 4000, ORBCC),
    int("tcp.leotcp.init_cwnd", 5, ORBCC),
    int("tcp.leotcp.init_ssthresh", 4000, ORBCC),
    off("tcp.leotcp.pacing_credit", PACED),
    text("cc.satcp.mode", "omnet", "Avian688/satcp"),
    text("cc.satcp.hold", "2.3 s", ORBCC),
    text("notices.hold", "2.3 s", ORBCC),
    text("cc.leocc.kalman", "real", "Avian688/leocc"),
    text("cc.leocc.rtt_overwrite", "each_round", "Avian688/leocc"),
    int("cc.leocc.probe_rtt_slack", 3, "Avian688/leocc"),
    off("cc.leocc.ack_aggregation", "Avian688/leocc"),
];

const INET_MODELS: &[Setting] = &[
    text("cc.cubic.variant", "inet", "Avian688/cubic 5366042"),
    off("cc.cubic.tcp_friendliness", "Avian688/cubic: TcpCubicState"),
    text("cc.bbr.variant", "inet", "Avian688/bbr 43c7ad8"),
    text("cc.bbr3.variant", "inet", "Avian688/bbr 43c7ad8"),
];

const HYPATIA: &str = "Barbosa et al.; snkas/hypatia";
const NS3: &str = "ns-3: not implemented there";

const STUDY_HYPATIA: &[Setting] = &[
    int("port.all.framing", 2, "snkas/hypatia: point-to-point links add a PPP header"),
    int("tcp.mss", 1380, HYPATIA),
    int("tcp.hz", 0, "a simulator's timers are exact"),
    int("tcp.init_cwnd", 10, HYPATIA),
    int("tcp.delayed_ack", 1, "fits the published Vegas; 2 is ns-3's default"),
    text("tcp.delayed_ack_timeout", "200 ms", HYPATIA),
    int("tcp.quickack", 1, "ns-3: TcpSocketBase::ProcessSynRcvd acknowledges the first segment immediately"),
    text("tcp.rtt_granularity", "1 ms", "ns-3: timestamps in milliseconds"),
    on("tcp.smoothed_samples", "ns-3: EstimateRtt keeps the estimate as the last RTT"),
    off(
        "tcp.bbr.smoothed_samples",
        "ns-3 3.48: TcpBbr::UpdateRTprop takes the last sample, TcpVegas the estimate",
    ),
    on("tcp.lasting_samples", "ns-3: TcpRateLinux::SkbDelivered"),
    off("tcp.pacing_credit", NS3),
    text("tcp.rto_rule", "rfc6298", "ns-3"),
    text("tcp.rto_granularity", "1 ms", "ns-3: ClockGranularity"),
    off("tcp.sack_rtt", "ns-3: TcpSocketBase::EstimateRtt"),
    on("tcp.impatient", "ns-3: TcpSocketBase::NewAck after the first partial ACK"),
    text("tcp.min_rto", "1 s", HYPATIA),
    text("tcp.initial_rto", "3 s", "ns-3 ConnTimeout"),
    text("tcp.loss_detection", "dupthresh", HYPATIA),
    text("tcp.reduction", "rfc6937", "ns-3 3.32 and later (3.31: rfc6675)"),
    off("tcp.tlp", NS3),
    off("tcp.frto", NS3),
    off("tcp.dsack", NS3),
    off("tcp.sack_compression", NS3),
    off("tcp.undo", NS3),
    off("tcp.slow_start_after_idle", NS3),
    int("tcp.tso_segments", 1, "ns-3 sends segment by segment"),
    text("tcp.tso_defer", "off", "ns-3 sends segment by segment"),
    off("tcp.push_acks", NS3),
    int("tcp.send_buffer", 33_554_432, HYPATIA),
    int("tcp.receive_buffer", 33_554_432, HYPATIA),
    text("cc.newreno.slow_start_by", "acks", NS3),
    text(
        "cc.newreno.avoidance_by",
        "acks",
        "ns-3: TcpNewReno::CongestionAvoidance adds mss * mss / cwnd per ACK",
    ),
    text("cc.newreno.reduce_from", "pipe", "ns-3: TcpSocketBase::EnterRecovery halves BytesInFlight"),
    text("cc.cubic.variant", "ns3", HYPATIA),
    text("cc.bbr.variant", "ns3", "ns-3: TcpBbr"),
    off("cc.bbr.long_term", NS3),
    text("cc.vegas.variant", "ns3", HYPATIA),
    int("cc.vegas.alpha", 4, HYPATIA),
    int("cc.vegas.beta", 4, HYPATIA),
    int("cc.vegas.gamma", 1, HYPATIA),
];

const GEO: &str = "Claypool et al.";

const STUDY_GEO: &[Setting] = &[
    int("tcp.init_cwnd", 10, GEO),
    int("tcp.hz", 250, "assumed: Ubuntu's configuration of 4.15"),
    text("tcp.loss_detection", "rack-4.15", "Linux 4.15: net/ipv4/tcp_recovery.c"),
    text("tcp.reduction", "linux-4.15", "Linux 4.15: net/ipv4/tcp_input.c"),
    off("tcp.sack_compression", "Linux 4.18 and later"),
    text("tcp.tso_defer", "linux-6.4", "Linux before 6.18"),
    off("tcp.push_acks", "Linux 6.6 and later"),
    int("tcp.send_buffer", 60_000_000, GEO),
    int("tcp.receive_buffer", 30_000_000, "half of 60 MB: tcp_adv_win_scale is 1 in Linux 4.15"),
    text("cc.cubic.hystart_rule", "linux-4.15", "Linux 4.15: net/ipv4/tcp_cubic.c"),
    off("cc.bbr.ack_aggregation", "Linux 5.1 and later"),
];

const LEO_CC: &str = "Mazilu et al.; Aruuni/mininettestbed";

const STUDY_LEO_CC: &[Setting] = &[
    int("port.all.framing", 14, "Aruuni/mininettestbed: tbf counts Ethernet frames"),
    text("source.dumbbell.rtt_at", "forward", "Aruuni/mininettestbed: entire RTT on the data path"),
    text("source.parking_lot.rtt_at", "forward", "Aruuni/mininettestbed"),
    on("source.dumbbell.reordering", "Aruuni/mininettestbed: netem"),
    on("source.parking_lot.reordering", "Aruuni/mininettestbed: netem"),
    Setting { key: "tcp.buffer_factor", value: Preset::Float(22.0), source: LEO_CC },
    int("tcp.hz", 250, "assumed: Ubuntu's configuration of 6.4"),
    text("tcp.tso_defer", "linux-6.4", "Linux before 6.18"),
    off("tcp.push_acks", "Linux 6.6 and later"),
    text("notices.lead", "0.5 s", LEO_CC),
    text("notices.hold", "2.3 s", LEO_CC),
    text("cc.satcp.mode", "linux", LEO_CC),
    text("cc.satcp.hold", "2.3 s", LEO_CC),
    text("cc.leocc.signal", "probes", LEO_CC),
    text("cc.leocc.probe_interval", "10 ms", LEO_CC),
    text("cc.leocc.gap_threshold", "45 ms", LEO_CC),
    text(
        "cc.leocc.trigger_scope",
        "machine",
        "SpaceNetLab/LeoCC: the trigger is a global variable of the kernel, shared by Mininet's hosts",
    ),
    text("cc.vivace.variant", "udt", "Aruuni/mininettestbed: user space over UDT"),
    on("cc.vivace.latency", "Aruuni/mininettestbed: flag 1"),
    text("cc.astraea.step", "20 ms", "Aruuni/mininettestbed"),
];

/// Profile with this name.
pub fn profile(id: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|p| p.id == id)
}

/// Fills in values that the scenario does not set; returns the profile's name.
///
/// # Errors
/// If `tcp.profile` is not the name of a profile.
pub fn apply(table: &mut Table) -> Result<&'static str, ScenarioError> {
    let Some(entry) = lookup(table, &["tcp", "profile"]) else { return Ok(PROFILES[0].id) };
    let ids = || PROFILES.iter().map(|p| p.id);
    let Raw::Text(id) = &entry.item.value else {
        let p = Problem::new("tcp.profile", "must be a name").at(&entry.item.place);
        return Err(p.found(entry.item.value.shown()).allowed(ids().collect::<Vec<_>>().join(", ")).into());
    };
    let Some(profile) = profile(id) else {
        let mut p = Problem::new("tcp.profile", "no such profile").at(&entry.item.place);
        p.hint = suggestions::hint(id, ids());
        return Err(p.found(format!("{id:?}")).allowed(ids().collect::<Vec<_>>().join(", ")).into());
    };
    let place = Place { origin: Arc::new(Origin::Profile(profile.id)), line: None };
    for setting in profile.all() {
        let keys: Vec<&str> = setting.key.split('.').collect();
        let has_source = keys[0] != "source" || lookup(table, &keys[..2]).is_some();
        if has_source && !is_said(table, &keys) {
            fill(table, &keys, setting.value, &place);
        }
    }
    Ok(profile.id)
}

fn same(written: &str, key: &str) -> bool {
    written.replace('-', "_") == key.replace('-', "_")
}

fn lookup<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Entry> {
    let (first, rest) = keys.split_first()?;
    let entry = table.0.iter().find(|e| same(&e.key, first))?;
    match (&entry.item.value, rest) {
        (_, []) => Some(entry),
        (Raw::Table(t), rest) => lookup(t, rest),
        _ => None,
    }
}

/// Whether the file sets this key. `[link.X]` is equivalent to `[port.X]`.
fn is_said(table: &Table, keys: &[&str]) -> bool {
    let link: Vec<&str> = std::iter::once("link").chain(keys[1..].iter().copied()).collect();
    lookup(table, keys).is_some() || (keys[0] == "port" && lookup(table, &link).is_some())
}

/// Inserts a default before the contents of the file: of two sections with the same name the later
/// one takes precedence.
fn fill(table: &mut Table, keys: &[&str], value: Preset, place: &Place) {
    let Some((first, rest)) = keys.split_first() else { return };
    if !table.0.iter().any(|e| same(&e.key, first)) {
        let value = if rest.is_empty() { raw(value) } else { Raw::Table(Table::default()) };
        let item = Item { place: place.clone(), value };
        table.0.insert(0, Entry { key: (*first).into(), place: place.clone(), item });
    }
    let entry = table.0.iter_mut().find(|e| same(&e.key, first));
    if let Some(Entry { item: Item { value: Raw::Table(t), .. }, .. }) = entry {
        fill(t, rest, value, place);
    }
}

fn raw(value: Preset) -> Raw {
    match value {
        Preset::Bool(b) => Raw::Bool(b),
        Preset::Int(i) => Raw::Int(i),
        Preset::Float(x) => Raw::Float(x),
        Preset::Text(t) => Raw::Text(t.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, World};
    use std::path::Path;

    fn scenario(text: &str, sets: &[&str]) -> Scenario {
        let base = "[run]\nduration = \"1 s\"\n[source.dumbbell]\n[[flow]]\ncc = \"cubic\"\n";
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        Scenario::parse(&format!("{base}{text}"), "t.toml", Path::new(""), &sets)
            .unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn every_profile_is_valid_and_has_sources() {
        for p in PROFILES {
            let s = scenario("", &[&format!("tcp.profile={}", p.id)]);
            assert_eq!(s.profile, p.id);
            World::build(Arc::new(s), 1).unwrap_or_else(|e| panic!("{}: {e}", p.id));
            for (i, row) in p.settings.iter().enumerate() {
                assert!(!row.source.is_empty(), "{}", row.key);
                assert!(p.settings[..i].iter().all(|r| r.key != row.key), "{} twice", row.key);
            }
        }
    }

    #[test]
    fn explicit_keys_override_a_profile_wherever_they_stand() {
        let text = "[tcp]\nprofile = \"study-hypatia\"\nmss = 1000\n[link.all]\nframing = 9\n";
        let world = World::build(Arc::new(scenario(text, &["tcp.delayed-ack=2"])), 1).unwrap();
        let tcp = world.transport_of(&world.flows[0], "cubic").unwrap().0;
        assert_eq!((tcp.mss, tcp.delayed_ack, tcp.tlp), (1000, 2, false));
        assert!(world.ports.iter().all(|p| p.framing_bytes == 9));
    }

    #[test]
    fn schemes_have_their_own_initial_windows() {
        let text = "[tcp]\nprofile = \"study-orbcc\"\n[tcp.bbr]\ninit_cwnd = 7\n[[flow]]\ncc = \"bbr\"\n";
        let world = World::build(Arc::new(scenario(text, &[])), 1).unwrap();
        let tcp = |i: usize| world.transport_of(&world.flows[i], "").unwrap().0;
        assert_eq!((tcp(0).init_cwnd, tcp(0).init_ssthresh), (3, 400));
        assert_eq!((tcp(1).init_cwnd, tcp(1).init_ssthresh), (7, 4000));
    }

    #[test]
    fn buffers_may_follow_the_path() {
        let text =
            "[tcp]\nprofile = \"study-leo-cc\"\n[port.bottleneck]\nrate = \"100 Mbit\"\nqueue = \"600 kB\"\n";
        let world = World::build(Arc::new(scenario(text, &["source.dumbbell.rtt=50 ms"])), 1).unwrap();
        let buffer = world.workload("", &|_| false).unwrap().flows[0].buffer_bytes as f64;
        assert!((buffer / (22.0 * (625e3 + 600e3)) - 1.0).abs() < 0.01, "{buffer}");
    }

    #[test]
    fn unknown_profiles_are_refused_with_the_known_ones() {
        let text = "[run]\nduration = \"1 s\"\n[source.dumbbell]\n[tcp]\nprofile = \"study-gea\"\n[[flow]]\n";
        let e = Scenario::parse(text, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(e.starts_with("t.toml:5: tcp.profile: no such profile") && e.contains("study-geo"), "{e}");
    }
}
