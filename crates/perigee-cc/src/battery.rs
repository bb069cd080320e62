// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Acceptance tests that every scheme of the list must pass.

use crate::closed_loop::{Loop, Path};
use crate::schemes::{Controller, SchemeInfo, SCHEMES};
use crate::*;
use std::collections::BTreeMap;

/// Schemes with a rule-based window on the default TCP. Policies are tested along with their
/// training, schemes on another TCP along with that TCP (`perigee-sim`, tests/inet.rs), and those
/// that obey a law of ports along with the ports (tests/laws.rs there).
fn active() -> impl Iterator<Item = &'static SchemeInfo> {
    let hosted = |s: &SchemeInfo| {
        let caps = flow(s, Path::new(20, 50)).cc.caps();
        caps.stack == Stack::Host && !matches!(caps.telemetry, TelemetryNeed::Law(_))
    };
    SCHEMES.iter().filter(move |s| s.files().is_empty() && hosted(s))
}

fn flow(scheme: &SchemeInfo, path: Path) -> Loop<Controller> {
    let params = scheme.params(BTreeMap::new()).expect("defaults");
    Loop::new(path, |init| scheme.build(&params, init))
}

#[test]
fn every_scheme_fills_a_clean_link() {
    for s in active() {
        let mut f = flow(s, Path::new(20, 50));
        f.run_s(20.0);
        let goodput = f.run_s(20.0);
        assert!(goodput > 0.75 * 20.0, "{}: {goodput}", s.id);
    }
}

#[test]
fn every_scheme_comes_back_after_an_outage() {
    for s in active() {
        let mut f = flow(s, Path::new(20, 50));
        f.run_s(5.0);
        f.path.down = true;
        f.run_s(1.5);
        f.path.down = false;
        f.run_s(20.0);
        let goodput = f.run_s(10.0);
        assert!(goodput > 0.5 * 20.0, "{}: {goodput}", s.id);
    }
}

#[test]
fn every_scheme_gets_something_through_a_lossy_link() {
    for s in active() {
        let goodput = flow(s, Path { loss: 0.05, ..Path::new(20, 50) }).run_s(20.0);
        assert!(goodput > 0.2, "{}: {goodput}", s.id);
    }
}

#[test]
fn a_notice_of_nothing_does_not_stop_a_scheme() {
    for s in active() {
        let mut f = flow(s, Path::new(20, 50));
        f.run_s(10.0);
        f.signal(&Signal::HandoverBegin { expected_end: None });
        f.signal(&Signal::HandoverEnd);
        f.signal(&Signal::PathChange { id: 5 });
        f.run_s(10.0);
        let goodput = f.run_s(10.0);
        assert!(goodput > 0.7 * 20.0, "{}: {goodput}", s.id);
    }
}
