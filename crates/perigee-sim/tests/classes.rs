// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Telemetry of a port with a queue per class: it covers only the class with telemetry.

mod support;
use perigee_cc::Value;
use perigee_timeline::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use support::*;

const RTT_MS: u64 = 50;
const MBIT: u64 = 100;

/// OrbCC for 20 s at a port of `mbit` with a queue of one BDP at 100 Mbit/s. With `share` the port
/// has classes and a competing Cubic flow from the start. Returns the goodput and mean RTT of OrbCC
/// and the goodput of Cubic, in Mbit/s and ms.
fn orbcc(mbit: u64, share: Option<f64>) -> (f64, f64, f64) {
    orbcc_with(mbit, share, &[])
}

fn orbcc_with(mbit: u64, share: Option<f64>, params: &[(&str, Value)]) -> (f64, f64, f64) {
    let rtts: &[u64] = if share.is_some() { &[RTT_MS, RTT_MS] } else { &[RTT_MS] };
    let mut built = net(mbit, MBIT * 1000 / 8 * RTT_MS, rtts);
    let mut flows = vec![flow_with(&built, 0, "orbcc-repro", params)];
    if let Some(share) = share {
        let params = BTreeMap::from([("telemetry_share".to_string(), Value::Float(share))]);
        let port = &mut built.header.ports[built.bottlenecks[0].forward.port.ix()];
        port.spec.queue.discipline = Arc::new(Discipline { name: "classes".into(), params });
        flows.push(flow(&built, 1, "cubic"));
    }
    let (_, log) = run(&built.timeline(s(20), Vec::new()), flows, 1);
    let beside = if share.is_some() { log.goodput_mbit(1, s(8), s(20)) } else { 0.0 };
    (log.goodput_mbit(0, s(8), s(20)), log.mean_rtt_ms(0, s(8), s(20)), beside)
}

#[test]
fn a_class_beside_one_that_always_waits_is_a_port_of_its_share() {
    for (share, mbit) in [(0.5, 50), (0.25, 25), (0.2, 20)] {
        let (alone, beside) = (orbcc(mbit, None), orbcc(MBIT, Some(share)));
        // Its queueing delay is at most that at a port of its share alone, plus the packets of the
        // other class in one round: one or two, 0.12 ms each. It may be less: when its queue is
        // empty, its packet is sent at the full rate of the port.
        let (goodput, rtt) = (beside.0 / alone.0, beside.1);
        assert!((0.99..=1.01).contains(&goodput), "{share}: {alone:?} {beside:?}");
        assert!((RTT_MS as f64..=alone.1 + 0.24).contains(&rtt), "{share}: {alone:?} {beside:?}");
        assert!(beside.0 + beside.2 > 0.93 * MBIT as f64, "{share}: {beside:?}");
    }
}

#[test]
fn above_half_of_the_port_a_class_has_no_more_than_its_share_and_the_rest_is_used() {
    let (alone, beside) = (orbcc(80, None), orbcc(MBIT, Some(0.8)));
    assert!((0.85..=1.0).contains(&(beside.0 / alone.0)), "{alone:?} {beside:?}");
    assert!(beside.0 + beside.2 > 0.93 * MBIT as f64, "{beside:?}");
}

/// The class is served in bursts: most gaps between its packets correspond to the full rate of the
/// port, a few are longer. The mean rate over samples then exceeds the mean over time, so OrbCC
/// stays below its share with the weights of its source code (equal per ACK) and reaches it with
/// those of HPCC (the duration of a sample).
#[test]
fn above_half_of_the_port_the_weights_of_samples_decide_whether_a_class_has_its_share() {
    let by_time = [("ewma", Value::Text("hpcc_time".into()))];
    for (share, mbit) in [(0.6, 60), (0.8, 80), (0.9, 90)] {
        let (alone, beside) = (orbcc(mbit, None), orbcc(MBIT, Some(share)));
        assert!(beside.0 < 0.985 * alone.0, "{share}, by ACK: {alone:?} {beside:?}");
        let (alone, beside) = (orbcc_with(mbit, None, &by_time), orbcc_with(MBIT, Some(share), &by_time));
        assert!((0.99..=1.01).contains(&(beside.0 / alone.0)), "{share}, by time: {alone:?} {beside:?}");
    }
}
