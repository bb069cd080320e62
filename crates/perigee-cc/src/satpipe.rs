// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SatPipe (dzhao99/SatPipe a8e19d5, a kernel module).
//!
//! Idea: the satellite network moves terminals on a fixed grid, at seconds 12, 27, 42 and 57 of
//! each minute. BBR version 1 enters PROBE_RTT just before each instant, with a nearly empty pipe
//! over the move, instead of at a time of its own.
//!
//! ```text
//! armed   := true    an ACK in (2 s, 1 s] before an instant
//! PROBE_RTT          an ACK in the `lead` (50 ms) before it, if armed; then armed := false
//!
//! window of min_rtt  20 s instead of 10 s
//! PROBE_RTT lasts    300 ms and a round, instead of 200 ms and a round
//! ```
//!
//! Everything else is [`bbr`], step by step; only ACKs with a rate sample count. The
//! clock is the simulation's: schedules and `phase` determine whether moves and probes coincide.
//!
//! A consequence of the published code: the end of PROBE_RTT counts as a new measurement, so that a
//! minimum that is renewed every 15 s never reaches its age of 20 s. While every instant finds
//! ACKs, the minimum RTT can only fall: after a move to a longer path, BBR keeps the window for the
//! shorter one. With `rtt_after_probe = "taken"`, the RTT at the end of PROBE_RTT replaces it.
//!
//! Over `scenarios/micro/leo-schedule.toml` (another path every 15 s, phase 0 s) this costs half of
//! the goodput: 31.2 Mbit/s, where BBR has 56.9 and Cubic 60.7; with `taken` it is 62.4 at a mean
//! RTT of 54 ms (BBR 50 ms). The published module on Linux 6.12 in virtual time, with its offset
//! set to that phase: 31.18 Mbit/s, mean RTT 23.3 ms and 62 retransmissions; here 31.19, 23.3 and
//! 66. `perigee judge satpipe --quick` passes 16 of the 22 cases that it observes (BBR 18); after a
//! change of path it uses 6 % of the new one.
//!
//! Differs from the published module, which keeps `armed` in one variable per machine: of several
//! connections only the one with the first ACK in the last 50 ms probes. Here each has its own.

use crate::bbr::core::{ProbeRttCwnd, ProbeRttRule, Sample};
use crate::bbr::Bbr;
use crate::grid::{self, Grid};
use crate::*;

const SOURCE: &str = "dzhao99/SatPipe";

/// Parameters, with the defaults of the published module.
pub const PARAMS: &[ParamSpec] = &[
    grid::PHASE,
    ParamSpec {
        name: "lead",
        domain: Domain::Time {
            default: Nanos::from_millis(50),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(1),
        },
        unit: "",
        source: SOURCE,
        help: "time before each instant in which an ACK starts PROBE_RTT",
    },
    ParamSpec {
        name: "min_rtt_window",
        domain: Domain::Time {
            default: Nanos::from_secs(20),
            min: Nanos::from_millis(100),
            max: Nanos::from_secs(3600),
        },
        unit: "",
        source: SOURCE,
        help: "age at which the minimum RTT is measured again",
    },
    ParamSpec {
        name: "probe_rtt_duration",
        domain: Domain::Time {
            default: Nanos::from_millis(300),
            min: Nanos::from_millis(1),
            max: Nanos::from_secs(10),
        },
        unit: "",
        source: SOURCE,
        help: "duration of PROBE_RTT with a nearly empty pipe",
    },
    ParamSpec {
        name: "rtt_after_probe",
        domain: Domain::Choice(&["lowest", "taken"]),
        unit: "",
        source: "dzhao99/SatPipe; own",
        help: "minimum RTT after PROBE_RTT: lowest = the lower one of the previous minimum and the RTTs of the probe; taken = the last RTT of the probe",
    },
];

/// Times before an instant between which an ACK arms the probe: the second but one.
const ARMED: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(2));

/// State of one connection.
#[derive(Clone, Debug)]
pub struct SatPipe {
    bbr: Bbr,
    grid: Grid,
    lead: Nanos,
    takes_rtt: bool,
    armed: bool,
}

impl SatPipe {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let rule = ProbeRttRule {
            min_rtt_window: params.time("min_rtt_window"),
            duration: params.time("probe_rtt_duration"),
            cwnd: ProbeRttCwnd::FourPackets,
        };
        SatPipe {
            bbr: Bbr::linux(init, rule),
            grid: Grid::new(params.time("phase")),
            lead: params.time("lead"),
            takes_rtt: params.choice("rtt_after_probe") == "taken",
            armed: false,
        }
    }

    /// Whether PROBE_RTT starts with an ACK at this time.
    fn probes_at(&mut self, now: Nanos) -> bool {
        let until = self.grid.until(now);
        self.armed |= until > ARMED.0 && until <= ARMED.1;
        self.armed && until <= self.lead && {
            self.armed = false;
            true
        }
    }
}

impl CongestionControl for SatPipe {
    fn caps(&self) -> Caps {
        self.bbr.caps()
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.bbr.on_start(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let s = Sample::new(cx, ev);
        self.bbr.sample(cx, &s);
        if s.rate.is_some() && self.probes_at(cx.now) {
            self.bbr.core.enter_probe_rtt(cx, w);
        }
        let over = self.bbr.follow(cx, w, &s);
        if let (true, true, Some(rtt)) = (over, self.takes_rtt, s.rtt_us) {
            self.bbr.core.set_min_rtt(cx, rtt);
        }
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.bbr.ssthresh(cx, w)
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.bbr.on_transition(cx, w, t);
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.bbr.on_tx_start(cx, w);
    }

    fn mode(&self, w: &Window) -> &'static str {
        self.bbr.mode(w)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.bbr.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_loop::{Loop, Path};
    use std::collections::BTreeMap;

    fn satpipe(given: &[(&str, &str)], path: Path) -> Loop<SatPipe> {
        let given: BTreeMap<_, _> =
            given.iter().map(|(k, v)| (k.to_string(), Value::Text((*v).into()))).collect();
        let params = Params::new(PARAMS, given).unwrap();
        Loop::new(path, |init| SatPipe::new(&params, init))
    }

    /// Times of the clock, in seconds, at which PROBE_RTT started and ended.
    fn probes(f: &mut Loop<SatPipe>, seconds: f64) -> Vec<(f64, f64)> {
        let (mut found, mut inside) = (Vec::new(), false);
        f.run(Nanos::from_secs_f64(seconds), |f| {
            let now = f.cx.now.as_secs_f64();
            let probing = f.cc.mode(&f.w) == "probe_rtt";
            if probing && !inside {
                found.push((now, now));
            }
            if let (true, Some(last)) = (probing, found.last_mut()) {
                last.1 = now;
            }
            inside = probing;
        });
        found
    }

    #[test]
    fn it_probes_in_the_last_50_ms_before_seconds_12_27_42_and_57_and_at_no_other_time() {
        let mut f = satpipe(&[], Path::new(20, 50));
        let found = probes(&mut f, 60.0);
        assert_eq!(found.len(), 4, "{found:?}");
        for ((from, to), instant) in found.into_iter().zip([12.0, 27.0, 42.0, 57.0]) {
            assert!(from >= instant - 0.05 && from < instant, "{from}");
            // 300 ms after the pipe has drained, and a round.
            assert!(to - from >= 0.3 && to - from < 0.6, "{from} {to}");
        }
    }

    #[test]
    fn between_the_probes_it_is_bbr_ack_for_ack() {
        let bbr = Params::defaults(bbr::PARAMS);
        let mut a = satpipe(&[], Path::new(20, 50));
        let mut b = Loop::new(Path::new(20, 50), |init| Bbr::new(&bbr, init));
        let (mut x, mut y) = (vec![], vec![]);
        // BBR's own PROBE_RTT would come 10 s after the last minimum.
        a.run(Nanos::from_secs(9), |f| x.push((f.cx.now, f.w.cwnd, f.w.pacing)));
        b.run(Nanos::from_secs(9), |f| y.push((f.cx.now, f.w.cwnd, f.w.pacing)));
        assert!(x == y);
    }

    #[test]
    fn without_an_ack_in_the_second_but_one_it_does_not_probe() {
        let mut c = satpipe(&[], Path::new(20, 50)).cc;
        let ms = Nanos::from_millis;
        for (at, probes) in [
            (9_999, false),
            (11_960, false),
            (26_960, false),
            (25_000, false),
            (26_949, false),
            (26_950, true),
        ] {
            assert_eq!(c.probes_at(ms(at)), probes, "{at}");
        }
        assert!(!c.probes_at(ms(26_951)), "once");
        assert!(!c.probes_at(ms(42_000 - 1000)) && !c.probes_at(ms(42_000 - 10)), "armed until 1 s before");
    }

    #[test]
    fn the_minimum_never_rises_while_probes_renew_it_and_does_where_the_last_rtt_is_taken() {
        let min_rtt = |given: &[(&str, &str)]| {
            let mut f = satpipe(given, Path::new(20, 50));
            f.run_s(19.0);
            f.path.rtt = Nanos::from_millis(90);
            f.run_s(50.0);
            let mut found = 0.0;
            f.cc.probe(&mut |name, value| {
                if name == "min_rtt_s" {
                    found = value;
                }
            });
            found
        };
        assert!(min_rtt(&[]) < 0.052, "{}", min_rtt(&[]));
        let taken = min_rtt(&[("rtt_after_probe", "taken")]);
        assert!((0.089..0.095).contains(&taken), "{taken}");
    }
}
