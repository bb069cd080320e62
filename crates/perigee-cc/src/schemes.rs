// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registry of schemes. A scheme in this list is available in scenarios, on the command line, in
//! Python and in the documentation, and is subject to the tests that every scheme must pass.

use crate::*;
use std::collections::BTreeMap;

/// Static description of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Identifier: file name, scenario value, column value.
    pub id: &'static str,
    /// Display label.
    pub label: &'static str,
    /// One line for `perigee schemes`.
    pub summary: &'static str,
    /// Parameter table.
    pub params: &'static [ParamSpec],
    /// Named option set of this identifier (`leotcp` is `orbcc` with other options).
    pub profile: fn() -> Vec<(&'static str, Value)>,
}

/// Condition on another parameter for a parameter to have an effect.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The parameter.
    pub name: &'static str,
    /// The other parameter, a choice.
    pub other: &'static str,
    /// Values of the other parameter with which this one has an effect.
    pub words: &'static [&'static str],
}

fn no_profile() -> Vec<(&'static str, Value)> {
    Vec::new()
}

/// Defines the list of schemes, and the type that dispatches to their controllers.
macro_rules! schemes {
    ($($variant:ident($ty:ty), $params:expr => { $($id:literal, $label:literal, $profile:expr, $summary:literal;)+ })*) => {
        /// All schemes, in the order in which tables print them.
        pub const SCHEMES: &[SchemeInfo] = &[
            $($(SchemeInfo { id: $id, label: $label, summary: $summary, params: $params, profile: $profile },)+)*
        ];

        fn build(id: &str, params: &Params, init: &ConnInit) -> Option<Controller> {
            match id {
                $($($id)|+ => Some(Controller::$variant(<$ty>::new(params, init))),)*
                _ => None,
            }
        }

        /// Controller of any scheme: static dispatch for built-in ones, a box for plug-ins.
        #[allow(clippy::large_enum_variant)]
        pub enum Controller {
            $(#[allow(missing_docs)] $variant($ty),)*
            /// Controller of a plug-in, or a model of the OrbCC study's simulator.
            Custom(Box<dyn CongestionControl>),
        }

        macro_rules! dispatch {
            ($self:ident, $c:ident => $body:expr) => {
                match $self {
                    $(Controller::$variant($c) => $body,)*
                    Controller::Custom($c) => $body,
                }
            };
        }

        impl CongestionControl for Controller {
            fn caps(&self) -> Caps { dispatch!(self, c => c.caps()) }
            fn on_start(&mut self, cx: &Cx, w: &mut Window) { dispatch!(self, c => c.on_start(cx, w)) }
            fn on_handshake(&mut self, cx: &Cx, w: &mut Window, t: &Telemetry<'_>) { dispatch!(self, c => c.on_handshake(cx, w, t)) }
            fn on_sent(&mut self, cx: &Cx, w: &mut Window, p: &SentPkt) -> u32 { dispatch!(self, c => c.on_sent(cx, w, p)) }
            #[inline]
            fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) { dispatch!(self, c => c.on_ack(cx, w, ev)) }
            fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 { dispatch!(self, c => c.ssthresh(cx, w)) }
            fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) { dispatch!(self, c => c.on_loss(cx, w, ev)) }
            fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) { dispatch!(self, c => c.on_transition(cx, w, t)) }
            fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) { dispatch!(self, c => c.on_tx_start(cx, w)) }
            fn on_timer(&mut self, cx: &Cx, w: &mut Window) { dispatch!(self, c => c.on_timer(cx, w)) }
            fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) { dispatch!(self, c => c.on_signal(cx, w, s)) }
            #[inline]
            fn stamp(&self) -> HeaderStamp { dispatch!(self, c => c.stamp()) }
            fn mode(&self, w: &Window) -> &'static str {
                match self {
                    Controller::Custom(c) => c.mode(w),
                    _ => crate::states::listed(dispatch!(self, c => c.mode(w))),
                }
            }
            fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) { dispatch!(self, c => c.probe(out)) }
        }
    };
}

// Each entry: a controller with its parameter table, then its identifiers with label, profile and
// summary.
schemes! {
    NewReno(newreno::NewReno), newreno::PARAMS => {
        "newreno", "NewReno", no_profile, "halves the window on loss, adds one packet per round (RFC 5681 as implemented in Linux)";
    }
    Cubic(cubic::Cubic), cubic::PARAMS => {
        "cubic", "Cubic", no_profile, "returns to the window of the last loss along a cubic function of time (RFC 9438 as implemented in Linux)";
    }
    Vegas(vegas::Vegas), vegas::PARAMS => {
        "vegas", "Vegas", no_profile, "keeps a few packets queued, as estimated from the RTT";
    }
    Copa(copa::Copa), copa::PARAMS => {
        "copa", "Copa", no_profile, "sends at a rate inversely proportional to the queueing delay; aggressive only alongside loss-based flows";
    }
    Hybla(hybla::Hybla), hybla::PARAMS => {
        "hybla", "Hybla", no_profile, "NewReno with rate growth independent of the RTT, for satellite paths";
    }
    Bbr(bbr::Bbr), bbr::PARAMS => {
        "bbr", "BBR", no_profile, "paces at the measured bandwidth, with two bandwidth-delay products in flight (version 1)";
    }
    Bbr3(bbr3::Bbr3), bbr3::PARAMS => {
        "bbr3", "BBRv3", no_profile, "BBR with loss-based bounds on bandwidth and data in flight (version 3)";
        "bbr3_hint", "BBRv3 + hint", bbr3::hint, "BBRv3 that restarts its path model after a notification of a path change";
    }
    Prague(prague::Prague), prague::PARAMS => {
        "prague", "Prague", no_profile, "responds in proportion to the fraction of marked packets, for the short queues of L4S (DualPI2)";
    }
    LedbatPp(ledbatpp::LedbatPp), ledbatpp::PARAMS => {
        "ledbatpp", "LEDBAT++", no_profile, "low-priority background traffic: keeps the one-way delay 60 ms above its minimum, and empties the queue periodically";
    }
    C4(c4::C4), c4::PARAMS => {
        "c4", "C4", no_profile, "sends at a measured rate over the largest RTT without a queue, for real-time media over paths with jitter";
    }
    LeoCc(leocc::LeoCc), leocc::PARAMS => {
        "leocc", "LeoCC", no_profile, "BBR that restarts its path model at each reconfiguration of the satellite network";
        "leocc_omnet", "LeoCC (OMNeT++)", leocc::omnet, "LeoCC as modelled in the simulator of the OrbCC study";
    }
    Ppb(ppb::Ppb), ppb::PARAMS => {
        "ppb", "PPB", no_profile, "any scheme (BBRv3), whose filters start afresh at each reconfiguration of the satellite network";
    }
    SaTcp(satcp::SaTcp), satcp::PARAMS => {
        "satcp", "SaTCP", no_profile, "Cubic that keeps its state over reported handovers";
    }
    LeoCubic(leo::LeoCubic), leo::CUBIC_PARAMS => {
        "leo-cubic", "TCP LEO (Cubic)", no_profile, "Cubic that stops sending around the reallocation instants of the satellite network";
    }
    LeoBbr(leo::LeoBbr), leo::BBR_PARAMS => {
        "leo-bbr", "TCP LEO (BBR)", no_profile, "BBR that stops sending around the reallocation instants of the satellite network";
    }
    SatPipe(satpipe::SatPipe), satpipe::PARAMS => {
        "satpipe", "SatPipe", no_profile, "BBR that empties the path at the reallocation instants of the satellite network";
    }
    StarCubic(starquic::StarCubic), starquic::CUBIC_PARAMS => {
        "starquic_cubic", "StarQUIC (Cubic)", no_profile, "Cubic that ignores losses around the reallocation instants of the satellite network";
    }
    StarBbr3(starquic::StarBbr3), starquic::BBR3_PARAMS => {
        "starquic_bbr3", "StarQUIC (BBRv3)", no_profile, "BBRv3 that ignores ACKs around the reallocation instants of the satellite network";
    }
    Hpcc(hpcc::Hpcc), hpcc::PARAMS => {
        "hpcc", "HPCC", hpcc::datacentre, "keeps the busiest port of the path at 95 % utilisation, from its telemetry and a configured RTT";
        "hpcc_tcp", "HPCC (TCP)", hpcc::tcp, "HPCC's control law in TCP, with the mean RTT and flow count reported by ports";
    }
    Xcp(xcp::Xcp), xcp::PARAMS => {
        "xcp", "XCP", no_profile, "changes its window as the ports of the path compute it: spare rate and fairness apart, per packet";
    }
    Rcp(rcp::Rcp), rcp::PARAMS => {
        "rcp", "RCP", no_profile, "sends at the one rate that each port of the path gives to all of its flows";
    }
    Vivace(vivace::Vivace), vivace::PARAMS => {
        "vivace", "PCC Vivace", no_profile, "tests rates around the current one and follows the gradient of their utility";
    }
    Astraea(astraea::Astraea), astraea::PARAMS => {
        "astraea", "Astraea", no_profile, "adjusts its window every 30 ms by a small trained neural network";
        "astraea_leo", "Astraea (LEO)", astraea::leo, "Astraea that discards its measurements after a notification of a path change";
        "policy", "Policy", astraea::own, "adjusts its window by the neural network in a file (--cc policy:FILE)";
    }
    OrbCc(orbcc::OrbCc), orbcc::PARAMS => {
        "orbcc", "OrbCC", orbcc::paper, "follows the telemetry of the busiest port on the path, as described in the papers";
        "orbcc-repro", "OrbCC (repro)", orbcc::repro, "OrbCC as in the authors' simulator behind the papers' figures";
        "orbcc-head", "OrbCC (head)", orbcc::head, "OrbCC as in the authors' simulator of August 2026";
        "orbcc-pint", "OrbCC (PINT)", orbcc::pint, "OrbCC with one telemetry record of fixed size per packet";
        "leotcp", "LeoTCP", orbcc::repro, "OrbCC under its former name, with the same options: the sources before both papers (Avian688/orbtcp 594be42 and 75bceed) differ only in a comment";
    }
    OrbCcNext(orbcc_next::OrbCcNext), orbcc_next::PARAMS => {
        "orbcc-next", "OrbCC next", no_profile, "OrbCC with a gain per RTT, a start from the first record, and windows that follow rates and free capacity immediately";
    }
}

/// Description of scheme `id`.
pub fn info(id: &str) -> Option<&'static SchemeInfo> {
    SCHEMES.iter().find(|s| s.id == id)
}

impl SchemeInfo {
    /// Checks parameters against the scheme's table and profile.
    ///
    /// # Errors
    /// See [`Params::new`].
    pub fn params(&self, given: BTreeMap<String, Value>) -> Result<Params, ParamError> {
        let params = Params::new(self.params, given)?.with_profile(&(self.profile)());
        inet::check(self.id, &params)?;
        Ok(params)
    }

    /// All parameters, with their defaults under this identifier.
    pub fn defaults(&self) -> Vec<(&'static str, Value)> {
        Params::defaults(self.params).with_profile(&(self.profile)()).resolved()
    }

    /// Files of the scheme, for [`Params::attach`].
    pub fn files(&self) -> &'static [FileSpec] {
        match self.id {
            "astraea" | "astraea_leo" | "policy" => astraea::FILES,
            _ => &[],
        }
    }

    /// First of the given parameters that has no effect in combination with the others.
    pub fn idle(&self, given: &BTreeMap<String, Value>) -> Option<&'static Needs> {
        let needs: &[Needs] = match self.id {
            "astraea" | "astraea_leo" | "policy" => astraea::NEEDS,
            "orbcc" | "orbcc-repro" | "orbcc-head" | "orbcc-pint" | "leotcp" => orbcc::NEEDS,
            _ => return None,
        };
        let params = self.params(given.clone()).ok()?;
        needs
            .iter()
            .find(|n| given.contains_key(n.name) && !n.words.contains(&params.choice(n.other).as_str()))
    }

    /// Whether it runs without a file; only such schemes are part of "all".
    pub fn is_whole(&self) -> bool {
        self.id != "policy"
    }

    /// Builds the controller of one connection.
    pub fn build(&self, params: &Params, init: &ConnInit) -> Controller {
        if let Some(model) = inet::model(self.id, params, init) {
            return Controller::Custom(model);
        }
        build(self.id, params, init).expect("every scheme of the list can be built")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_of_the_list_can_be_built_with_its_defaults() {
        let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14480, srtt: None, seed: 1, hz: 1000 };
        for s in SCHEMES {
            let params = s.params(BTreeMap::new()).unwrap();
            let c = s.build(&params, &init);
            let pauses = s.id.starts_with("leo-");
            assert!(c.caps().min_cwnd >= 1 || pauses, "{}", s.id);
        }
    }

    #[test]
    fn every_profile_fits_the_table_of_its_scheme() {
        for s in SCHEMES {
            let given = (s.profile)().into_iter().map(|(name, value)| (name.to_string(), value)).collect();
            assert!(Params::new(s.params, given).is_ok(), "{}", s.id);
        }
    }

    #[test]
    fn a_parameter_without_effect_is_noticed_beside_the_profile() {
        let idle = |id: &str, given: &[(&str, &str)]| {
            let text = |(k, v): &(&str, &str)| (k.to_string(), Value::Text(v.to_string()));
            info(id).unwrap().idle(&given.iter().map(text).collect()).map(|n| n.name)
        };
        assert_eq!(idle("astraea", &[("module", "normal"), ("below", "cubic")]), Some("module"));
        assert_eq!(idle("policy", &[("guard", "on"), ("below", "cubic")]), Some("guard"));
        assert_eq!(idle("astraea", &[("module", "normal"), ("guard", "off")]), None);
        assert_eq!(idle("astraea", &[("window", "5 s")]), Some("window"));
        assert_eq!(idle("astraea_leo", &[("window", "5 s"), ("lifetime", "window")]), None);
        assert_eq!(idle("cubic", &[("below", "cubic")]), None);
        for (carrier, key, value, dead) in [
            ("ioam", "t_ref", "own_rtt", true),
            ("ioam_rate", "tx_bytes_unit", "payload", true),
            ("ioam_snapshot", "tx_bytes_unit", "payload", false),
            ("utilisation", "queue_delay", "previous_ack", true),
            ("ioam", "queue_delay", "previous_ack", false),
            ("ecn", "overhead", "none", true),
            ("none", "md", "half", true),
            ("ecn", "md", "half", false),
            ("none", "fallback", "leocc", false),
            ("records", "t_ref", "own_rtt", false),
        ] {
            let found = idle("orbcc", &[("carrier", carrier), (key, value)]);
            assert_eq!(found, dead.then_some(key), "{carrier}");
        }
        assert_eq!(idle("orbcc", &[("fixed_rtt", "50 ms")]), Some("fixed_rtt"));
    }

    /// Defaults in the rows of a page in docs/reference/cc: `| name | default unit | …`.
    fn printed_defaults(page: &str) -> Vec<(String, String)> {
        let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains("` | `"));
        rows.map(|row| {
            let words: Vec<&str> = row.split('`').collect();
            (words[1].to_string(), words[3].to_string())
        })
        .collect()
    }

    #[test]
    fn every_page_of_the_reference_prints_the_defaults_that_a_run_uses() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cc");
        let mut wrong = Vec::new();
        for s in SCHEMES {
            let page = std::fs::read_to_string(format!("{folder}/{}.md", s.id)).unwrap();
            let shown = |value: Value| match value {
                Value::Bool(true) => "True".to_string(),
                Value::Bool(false) => "False".to_string(),
                Value::Int(i) => i.to_string(),
                Value::Float(x) => format!("{x:?}"),
                Value::Text(text) => text,
            };
            let used = s.params(BTreeMap::new()).unwrap().resolved();
            let used: Vec<_> =
                used.into_iter().map(|(name, value)| (name.to_string(), shown(value))).collect();
            let printed = printed_defaults(&page);
            wrong.extend(
                used.iter().filter(|row| !printed.contains(row)).map(|row| format!("{} {row:?}", s.id)),
            );
            assert_eq!(printed.len(), used.len(), "rows of {}.md; `make docs` writes it", s.id);
        }
        assert!(wrong.is_empty(), "pages differ from runs (`make docs` writes them): {wrong:#?}");
    }

    #[test]
    fn identifiers_are_unique() {
        for (i, a) in SCHEMES.iter().enumerate() {
            assert!(SCHEMES[..i].iter().all(|b| a.id != b.id && a.label != b.label), "{}", a.id);
        }
    }
}
