// SPDX-License-Identifier: Apache-2.0 OR MIT
//! LeoCC on simple paths; facts of its Linux module (SpaceNetLab/LeoCC).

use super::*;
use crate::closed_loop::{Loop, Path, MSS};
use std::collections::BTreeMap;

fn flow(path: Path, options: &[(&str, &str)]) -> Loop<LeoCc> {
    let given: BTreeMap<_, _> =
        options.iter().map(|(k, v)| (k.to_string(), Value::Text(v.to_string()))).collect();
    let params = Params::new(PARAMS, given).unwrap();
    Loop::new(path, |init| LeoCc::new(&params, init))
}

fn modes(flow: &mut Loop<LeoCc>, seconds: u64) -> Vec<(&'static str, f64)> {
    let mut seen: Vec<(&'static str, f64)> = vec![];
    flow.run(Nanos::from_secs(seconds), |f| {
        let mode = f.cc.mode(&f.w);
        if seen.last().is_none_or(|(last, _)| *last != mode) {
            seen.push((mode, f.seconds()));
        }
    });
    seen
}

fn names(seen: &[(&'static str, f64)]) -> Vec<&'static str> {
    seen.iter().map(|m| m.0).collect()
}

#[test]
fn gains_are_the_modules_constants() {
    assert_eq!((GENTLE_PROBE_GAIN, PROBE_GAIN), (268, 320));
}

#[test]
fn a_notice_in_cruise_visits_probe_rtt_and_starts_up_again() {
    let mut f = flow(Path::new(20, 50), &[("signal", "notices")]);
    f.run_s(5.0);
    f.signal(&Signal::HandoverEnd);
    assert!(f.cc.trigger);
    let mut seen: Vec<&'static str> = vec!["cruise"];
    f.run(Nanos::from_secs(5), |f| {
        let mode = f.cc.mode(&f.w);
        if *seen.last().unwrap() != mode {
            seen.push(mode);
        }
        assert!(mode != "drain" || !f.cc.trigger, "STARTUP discards it");
        assert!(!(f.cc.core.replaced_bw.is_some() && (f.cc.trigger || mode != "cruise")));
    });
    assert_eq!(seen, ["cruise", "probe_rtt", "startup", "drain", "cruise"]);
}

#[test]
fn probe_rtt_leaves_half_a_bdp() {
    let mut f = flow(Path::new(20, 50), &[]);
    f.run_s(5.0);
    let core = &mut f.cc.core;
    core.max_bw.reset(core.rounds, crate::bbr::units::bandwidth(833, 50_000));
    core.min_rtt_us = Some(50_000);
    assert_eq!(core.probe_rtt_cwnd(), 417);
}

#[test]
fn a_triggered_visit_takes_the_rtt_of_the_new_path_at_once() {
    let mut f = flow(Path::new(100, 30), &[("signal", "notices")]);
    f.run_s(5.0);
    f.path = Path { buffer: f.path.buffer, ..Path::new(100, 90) };
    f.signal(&Signal::PathChange { id: 2 });
    f.run_s(2.5);
    let min_rtt = f.cc.core.min_rtt_us.unwrap() / 1000;
    assert!((90..=95).contains(&min_rtt), "{min_rtt} ms");
    let goodput = f.run_s(2.0);
    assert!(goodput > 80.0, "{goodput}");
}

#[test]
fn without_a_trigger_the_minimum_is_measured_anew_after_20_s_and_the_bandwidth_kept() {
    let mut f = flow(Path::new(20, 50), &[]);
    let seen = modes(&mut f, 25);
    assert_eq!(names(&seen)[..5], ["startup", "drain", "cruise", "probe_rtt", "cruise"]);
    assert!((20.0..20.6).contains(&seen[3].1), "{seen:?}");
    let held = seen[4].1 - seen[3].1;
    assert!((0.2..0.5).contains(&held), "{held}");
    assert!(f.cc.core.max_bw.get() > 0);
}

#[test]
fn the_periodic_clock_triggers_once_per_period_in_the_100_ms_before_the_offset() {
    let mut f = flow(Path::new(20, 50), &[("signal", "periodic")]);
    let mut rises = vec![];
    let mut was = false;
    f.run(Nanos::from_secs(60), |f| {
        if f.cc.trigger && !was {
            rises.push(f.seconds());
        }
        was = f.cc.trigger;
    });
    assert_eq!(rises.len(), 4, "{rises:?}");
    assert!(rises.iter().all(|t| (11.9..=12.0).contains(&(t % 15.0))), "{rises:?}");
}

#[test]
fn probes_trigger_after_an_outage_and_their_spread_enables_the_filter() {
    let mut f = flow(Path::new(20, 50), &[]);
    f.run_s(4.0);
    let probe = |f: &mut Loop<LeoCc>, rtt_us: u64, gap_ms: u64| {
        f.run(Nanos::from_millis(gap_ms), |_| {});
        let (rtt, gap) = (Nanos::from_micros(rtt_us), Some(Nanos::from_millis(gap_ms)));
        f.signal(&Signal::ProbeRtt { rtt, gap });
    };
    probe(&mut f, 50_000, 10);
    assert_eq!(f.cc.fluctuation(), None);
    probe(&mut f, 50_000, 60);
    f.run_s(0.02);
    assert!(f.cc.trigger);
    for i in 0..110 {
        probe(&mut f, 50_000 + i % 20 * 100, 10);
    }
    assert_eq!(f.cc.fluctuation(), Some(Nanos::from_micros(1800)));
}

#[test]
fn a_raised_rtt_switches_to_the_filtered_bandwidth() {
    let mut f = flow(Path::new(20, 50), &[("signal", "periodic"), ("fluctuation", "5 ms")]);
    f.run_s(5.0);
    // The path becomes longer by 60 ms, without a trigger.
    f.path.rtt = Nanos::from_millis(110);
    let mut filtered = 0;
    f.run(Nanos::from_secs(3), |f| {
        if f.cc.core.replaced_bw.is_some() {
            filtered += 1;
            assert_eq!(f.cc.core.probe_gain, GENTLE_PROBE_GAIN);
        }
    });
    assert!(filtered > 100, "{filtered}");
}

#[test]
fn one_percent_of_random_loss_costs_little() {
    let clean = flow(Path::new(20, 50), &[]).run_s(20.0);
    let lossy = flow(Path { loss: 0.01, ..Path::new(20, 50) }, &[]).run_s(20.0);
    assert!(lossy > 0.95 * clean, "{lossy} of {clean}");
}

#[test]
fn the_simulators_version_takes_the_rtt_of_every_round_of_the_dwell() {
    let params = Params::defaults(PARAMS).with_profile(&omnet());
    let mut f = Loop::new(Path::new(20, 50), |init| LeoCc::new(&params, init));
    f.run_s(22.0);
    assert!(f.cc.core.min_rtt_us.unwrap() < 52_000);
    assert_eq!(f.cc.core.extra_acked(), 0);
    let goodput = f.run_s(3.0);
    assert!(goodput > 17.0, "{goodput}");
}

#[test]
fn host_scope_is_the_hosts_business() {
    let f = flow(Path::new(20, 50), &[("trigger_scope", "host")]);
    assert_eq!(f.caps.signal_scope, SignalScope::Host);
    assert!(f.caps.probes.is_some() && f.cwnd() * MSS == f.w.cwnd);
    assert!(flow(Path::new(20, 50), &[("signal", "notices")]).caps.probes.is_none());
}
