// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets spread over parallel paths: by flow, flowlet and packet, and by turns.

mod support;
use perigee_sim::*;
use perigee_sources::parallel::{parallel, ParallelSpec};
use perigee_timeline::*;
use perigee_units::Nanos;
use support::*;

/// Flows over two paths of 20 Mbit/s for 4 s, with queues for all of it, the second path longer by `more`: totals, and packets
/// over each path.
fn run_over(n: usize, by: SpreadBy, more: Nanos, cc: &str) -> (RunOutcome, [u64; 2]) {
    let spec = ParallelSpec {
        rtts: vec![ms(40); n],
        path_delays: vec![Nanos::ZERO, more],
        by,
        bottleneck: bytes_port(20, 20_000_000, 0),
        ..ParallelSpec::default()
    };
    let built = parallel(&spec).expect("a valid network");
    let flows = (0..n).map(|i| flow(&built, i, cc)).collect();
    let (out, _) = run(&built.clone().timeline(s(4), Vec::new()), flows, 1);
    assert_eq!(out.conserved, Some(true));
    let crossed = [0, 1].map(|k| out.links[built.bottlenecks[k].forward.link.ix()].crossed);
    (out, crossed)
}

fn share(crossed: [u64; 2]) -> f64 {
    crossed[0] as f64 / crossed.iter().sum::<u64>() as f64
}

#[test]
fn a_flow_keeps_its_path_and_packets_do_not() {
    let (_, one) = run_over(1, SpreadBy::Flow, Nanos::ZERO, "cubic");
    assert!(one.contains(&0) && one[0] + one[1] > 5000, "{one:?}");
    let (_, many) = run_over(16, SpreadBy::Flow, Nanos::ZERO, "cubic");
    assert!(many.iter().all(|&n| n > 5000), "{many:?}");
    let (_, by_packet) = run_over(1, SpreadBy::Packet, Nanos::ZERO, "cubic");
    assert!((0.45..0.55).contains(&share(by_packet)), "{by_packet:?}");
}

#[test]
fn packets_over_paths_of_unequal_delay_arrive_out_of_order() {
    // No queue is ever full: whatever is retransmitted was only late.
    let retrans = |by, more| run_over(2, by, more, "newreno").0.flows.iter().map(|f| f.retrans).sum::<u64>();
    assert_eq!(retrans(SpreadBy::Flow, ms(15)), 0);
    assert!(retrans(SpreadBy::Packet, ms(15)) > 50);
}

#[test]
fn turns_use_each_path_for_its_time() {
    let (_, crossed) = run_over(2, SpreadBy::Turns(s(1)), Nanos::ZERO, "cubic");
    assert!((0.4..0.6).contains(&share(crossed)), "{crossed:?}");
    let (_, first_only) = run_over(2, SpreadBy::Turns(s(100)), Nanos::ZERO, "cubic");
    assert_eq!(first_only[1], 0);
}

#[test]
fn a_flowlet_ends_with_a_gap() {
    // Before the first packet, no gap of ten seconds; one of a nanosecond after almost every packet.
    let (_, whole) = run_over(2, SpreadBy::Flowlet(s(10)), Nanos::ZERO, "cubic");
    let (_, by_flow) = run_over(2, SpreadBy::Flow, Nanos::ZERO, "cubic");
    assert_eq!(whole, by_flow);
    let (_, split) = run_over(2, SpreadBy::Flowlet(Nanos(1)), Nanos::ZERO, "bbr");
    assert!(split.iter().all(|&n| n > 1000), "{split:?}");
}

#[test]
fn ports_of_every_path_write_telemetry() {
    let (out, _) = run_over(2, SpreadBy::Packet, Nanos::ZERO, "orbcc");
    for f in &out.flows {
        assert!(f.telemetry_acks * 10 > f.delivered / 2 * 9, "{} of {}", f.telemetry_acks, f.delivered);
    }
}
