// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::closed_loop::{Loop, Path, MSS};

fn start(id: &str, given: &[(&str, Value)]) -> Start {
    let info = start_info(id).unwrap();
    let given = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    Start::new(info, info.params(given).unwrap(), None)
}

fn text(t: &str) -> Value {
    Value::Text(t.into())
}

fn flow(scheme: &str, start: &Start, path: Path) -> Loop<Controller> {
    let info = crate::info(scheme).unwrap();
    let params = info.params(BTreeMap::new()).unwrap();
    Loop::new(path, |init| start.build(info, &params, init))
}

fn plain(scheme: &str, given: &[(&str, Value)], path: Path) -> Loop<Controller> {
    let info = crate::info(scheme).unwrap();
    let given = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let params = info.params(given).unwrap();
    Loop::new(path, |init| info.build(&params, init))
}

fn windows(mut f: Loop<Controller>, seconds: f64) -> Vec<(Nanos, u64, u64)> {
    let mut seen = vec![];
    f.run(Nanos::from_secs_f64(seconds), |f| seen.push((f.cx.now, f.w.cwnd, f.w.ssthresh)));
    seen
}

/// States of a flow in their order, each once per stay.
fn states(f: &mut Loop<Controller>, seconds: f64) -> Vec<&'static str> {
    let mut seen = vec![f.cc.mode(&f.w)];
    f.run(Nanos::from_secs_f64(seconds), |f| {
        let now = f.cc.mode(&f.w);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    });
    seen
}

fn value(f: &Loop<Controller>, name: &str) -> f64 {
    let mut found = f64::NAN;
    f.cc.probe(&mut |n, v| {
        if n == name {
            found = v;
        }
    });
    found
}

#[test]
fn the_starts_of_today_are_those_of_the_schemes_ack_for_ack() {
    let path = Path { loss: 0.001, ..Path::new(20, 60) };
    let off = [("hystart", Value::Bool(false))];
    for (scheme, start_id, given) in
        [("newreno", "classic", &[][..]), ("cubic", "classic", &off), ("cubic", "hystart", &[])]
    {
        let with = windows(flow(scheme, &start(start_id, &[]), path), 20.0);
        let own = windows(plain(scheme, given, path), 20.0);
        assert!(with == own, "{scheme} {start_id}");
    }
}

#[test]
fn every_window_scheme_fills_a_clean_path_with_every_start() {
    let saved = [("saved_window", text("125 kB")), ("saved_rtt", text("50 ms"))];
    for scheme in SCHEMES.iter().filter(|s| !s.starts().is_empty()) {
        for id in scheme.starts() {
            let given = if id == "careful" { &saved[..] } else { &[] };
            let mut f = flow(scheme.id, &start(id, given), Path::new(20, 50));
            f.run_s(20.0);
            let goodput = f.run_s(20.0);
            assert!(goodput > 0.75 * 20.0, "{} {id}: {goodput}", scheme.id);
        }
    }
}

#[test]
fn schemes_without_a_slow_start_of_windows_have_no_starts() {
    let of = |id| crate::info(id).unwrap().starts();
    assert_eq!(of("bbr3"), ["careful"]);
    assert_eq!(of("orbcc"), [] as [&str; 0]);
    assert_eq!(of("newreno").len(), STARTS.len());
}

#[test]
fn hystart_plus_plus_leaves_before_a_loss_and_after_conservative_rounds() {
    let path = Path { buffer: 8 * Path::new(50, 100).bdp(), ..Path::new(50, 100) };
    let mut f = flow("newreno", &start("hystart++", &[]), path);
    let seen = states(&mut f, 4.0);
    assert_eq!(seen[..2], ["slow start", "conservative slow start"]);
    assert_eq!((seen.last(), value(&f, "start_left_by_loss")), (Some(&"congestion avoidance"), 0.0));
    assert!(value(&f, "start_left_cwnd_bytes") >= (path.bdp() * MSS) as f64);
}

#[test]
fn search_leaves_a_deep_queue_before_a_loss_where_slow_start_does_not() {
    let path = Path { buffer: 8 * Path::new(50, 100).bdp(), ..Path::new(50, 100) };
    for rule in ["draft", "linux"] {
        let mut f = flow("newreno", &start("search", &[("rule", text(rule))]), path);
        f.run_s(5.0);
        assert_eq!((value(&f, "start_left_by_loss"), f.lost), (0.0, 0), "{rule}");
        assert!(value(&f, "start_left_s") > 1.0, "{rule}");
    }
    let mut f = flow("newreno", &start("classic", &[]), path);
    f.run_s(5.0);
    assert!(f.lost > 0);
}

#[test]
fn search_hands_over_at_what_a_round_delivers_if_it_shall() {
    let path = Path { buffer: 8 * Path::new(50, 100).bdp(), ..Path::new(50, 100) };
    for (after, between) in [("drain", Some("drain")), ("reset", None)] {
        let mut f = flow("newreno", &start("search", &[("after", text(after))]), path);
        let expected: Vec<_> =
            ["slow start"].into_iter().chain(between).chain(["congestion avoidance"]).collect();
        assert_eq!(states(&mut f, 5.0), expected);
        let left = value(&f, "start_left_cwnd_bytes") / (path.bdp() * MSS) as f64;
        assert!((0.9..1.3).contains(&left), "{after}: {left}");
    }
}

#[test]
fn rapid_start_triples_and_returns_to_the_path_after_its_loss() {
    let path = Path::new(50, 100);
    let fills = |id: &str| {
        let mut f = flow("newreno", &start(id, &[]), path);
        let mut at = f64::MAX;
        f.run(Nanos::from_secs(3), |f| {
            if f.cwnd() >= path.bdp() {
                at = at.min(f.seconds());
            }
        });
        (at, f)
    };
    let ((rapid, mut f), (classic, _)) = (fills("rapid"), fills("classic"));
    assert!(rapid < 0.75 * classic, "{rapid} {classic}");
    f.run_s(2.0);
    let goodput = f.run_s(2.0);
    assert!(goodput > 45.0, "{goodput}");
}

/// A flow that resumes on a path with a capacity of 50 Mbit/s and 100 ms, a queue of that product.
fn resumes(scheme: &str, window: &str, rtt: &str, more: &[(&str, Value)]) -> Loop<Controller> {
    let mut given = vec![("saved_window", text(window)), ("saved_rtt", text(rtt))];
    given.extend(more.iter().cloned());
    flow(scheme, &start("careful", &given), Path::new(50, 100))
}

#[test]
fn careful_resume_goes_through_its_phases_and_saves_rounds() {
    let mut f = resumes("newreno", "625 kB", "100 ms", &[("then", text("saved"))]);
    let seen = states(&mut f, 2.0);
    assert_eq!(seen[..4], ["reconnaissance", "unvalidated", "validating", "slow start"]);
    assert_eq!(seen.last(), Some(&"congestion avoidance"));
    assert_eq!((value(&f, "jump_bytes"), f.lost), (312_500.0, 0));
    assert!(f.run_s(1.0) > 45.0);
}

#[test]
fn saved_values_of_another_path_or_too_old_are_not_used() {
    for (rtt, age) in [("300 ms", "0 s"), ("9 ms", "0 s"), ("100 ms", "301 s")] {
        let mut f = resumes("newreno", "625 kB", rtt, &[("saved_age", text(age))]);
        let seen = states(&mut f, 1.0);
        assert!(!seen.contains(&"unvalidated"), "{rtt} {age}: {seen:?}");
        assert_eq!(seen[0], "reconnaissance", "{rtt} {age}");
        assert_eq!(value(&f, "jump_bytes"), 0.0);
    }
}

#[test]
fn a_path_ten_times_smaller_makes_it_retreat_below_half_of_what_was_delivered() {
    for scheme in ["newreno", "cubic"] {
        let mut f = resumes(scheme, "6250 kB", "100 ms", &[]);
        let mut above = 0;
        let mut seen = vec![];
        f.run(Nanos::from_secs(6), |f| {
            let now = f.cc.mode(&f.w);
            if seen.last() != Some(&now) {
                seen.push(now);
            }
            let pipe = value(f, "pipe_bytes") as u64;
            if now == "safe retreat" && f.w.cwnd > (pipe / 2).max(f.cx.in_flight + 2 * MSS) {
                above += 1;
            }
        });
        assert!(seen.contains(&"safe retreat"), "{scheme}: {seen:?}");
        assert_eq!(above, 0, "{scheme}");
        assert!(f.run_s(3.0) > 30.0, "{scheme}");
    }
}

#[test]
fn a_scheme_that_paces_does_so_while_nothing_is_remembered() {
    let info = start_info("careful").unwrap();
    let nothing = Start::new(info, info.params(BTreeMap::new()).unwrap(), Some(Memory::default()));
    let mut f = flow("prague", &nothing, Path::new(20, 50));
    f.run_s(10.0);
    let goodput = f.run_s(5.0);
    assert!(goodput > 15.0, "{goodput}");
}

#[test]
fn later_flows_resume_with_what_an_earlier_one_has_observed() {
    let info = start_info("careful").unwrap();
    let memory = Memory::default();
    let shared = Start::new(info, info.params(BTreeMap::new()).unwrap(), Some(memory.clone()));
    let path = Path::new(50, 100);
    let mut first = flow("cubic", &shared, path);
    assert!(!states(&mut first, 20.0).contains(&"unvalidated"));
    let mut second = flow("cubic", &shared, path);
    // The clock of the second starts again: what was observed is in its future.
    assert!(states(&mut second, 2.0).contains(&"validating"));
    let jump = value(&second, "jump_bytes") / (path.bdp() * MSS) as f64;
    assert!((0.45..0.55).contains(&jump), "{jump}");
}

#[test]
fn bbr_jumps_within_its_own_startup() {
    for scheme in ["bbr", "bbr3"] {
        let fills = |f: &mut Loop<Controller>| f.run_s(1.0);
        let with = fills(&mut resumes(scheme, "625 kB", "100 ms", &[]));
        let own = fills(&mut plain(scheme, &[], Path::new(50, 100)));
        assert!(with > 1.1 * own, "{scheme}: {with} {own}");
    }
}

#[test]
fn a_saved_window_needs_its_rtt() {
    let info = start_info("careful").unwrap();
    let given = BTreeMap::from([("saved_window".to_string(), text("1 MB"))]);
    assert!(info.params(given).unwrap_err().contains("saved_rtt"));
}
