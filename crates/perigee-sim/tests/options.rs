// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transport options set by profiles: the effect of each on a complete connection.

mod support;
use perigee_sim::*;
use perigee_tcp::config::{LossDetection, Reduction, RtoRule};
use perigee_tcp::Config;
use perigee_timeline::*;
use perigee_units::Nanos;
use support::*;

/// A flow of 20 s over 20 Mbit/s and 50 ms with the given options.
fn run_under(cc: &str, loss: f64, tcp: Config) -> (RunOutcome, Log) {
    let mut built = net(20, 125_000, &[50]);
    let link = built.bottlenecks[0].forward.link.ix();
    built.header.links[link].loss = loss;
    let f = FlowSetup { tcp, ..flow(&built, 0, cc) };
    run(&built.timeline(s(20), Vec::new()), vec![f], 1)
}

#[test]
fn every_way_to_find_and_repair_losses_keeps_the_connection_going() {
    for loss_detection in [LossDetection::Rack, LossDetection::Rack415, LossDetection::DupThresh] {
        for reduction in [Reduction::Rfc9937, Reduction::Linux415, Reduction::Rfc6937, Reduction::Rfc6675] {
            let tcp = Config { loss_detection, reduction, ..Config::default() };
            let (out, _) = run_under("newreno", 0.001, tcp);
            let mbit = out.flows[0].goodput_bytes as f64 * 8e-6 / 20.0;
            let name = format!("{loss_detection:?} {reduction:?}");
            // 0.1 % loss at 50 ms: 1.22 MSS / (RTT sqrt(p)), about 9 Mbit/s.
            assert!((6.0..14.0).contains(&mbit), "{name}: {mbit}");
            assert_eq!(out.flows[0].timeouts, 0, "{name}");
        }
    }
}

#[test]
fn without_time_a_lost_retransmission_waits_for_the_timeout() {
    let tcp = |loss_detection| Config { loss_detection, tlp: false, frto: false, ..Config::default() };
    let rack = run_under("newreno", 0.05, tcp(LossDetection::Rack)).0;
    let dup = run_under("newreno", 0.05, tcp(LossDetection::DupThresh)).0;
    assert!(dup.flows[0].timeouts > 2 * rack.flows[0].timeouts.max(1), "{:?}", dup.flows[0].timeouts);
}

#[test]
fn a_buffer_caps_what_is_in_flight() {
    let tcp = Config { buffer: 20 * 1448, ..Config::default() };
    let (out, log) = run_under("cubic", 0.0, tcp);
    assert!(log.flows.iter().all(|f| f.4 <= 20 * 1448));
    let mbit = out.flows[0].goodput_bytes as f64 * 8e-6 / 20.0;
    let expected = 20.0 * 1448.0 * 8e-6 / 0.0512;
    assert!((mbit / expected - 1.0).abs() < 0.03, "{mbit} {expected}");
}

#[test]
fn coarse_timestamps_give_whole_milliseconds() {
    let tcp = Config { rtt_granularity: ms(1), ..Config::default() };
    let (_, log) = run_under("newreno", 0.0, tcp);
    assert!(log.rtts.len() > 1000);
    assert!(log.rtts.iter().all(|r| r.2 .0 % ms(1).0 == 0));
    let (_, exact) = run_under("newreno", 0.0, Config::default());
    assert!(exact.rtts.iter().any(|r| r.2 .0 % ms(1).0 != 0));
}

#[test]
fn an_initial_threshold_ends_slow_start_there() {
    let tcp = Config { init_ssthresh: 20, ..Config::default() };
    let (_, log) = run_under("newreno", 0.0, tcp);
    let early = log.flows.iter().filter(|f| f.0 <= ms(500)).map(|f| f.2).max().unwrap();
    assert!((20 * 1448..40 * 1448).contains(&early), "{early}");
}

#[test]
fn the_first_syn_waits_for_the_initial_timeout() {
    let built = net(20, 125_000, &[50]);
    let link = built.bottlenecks[0].forward.link;
    let changes =
        vec![change(Nanos::ZERO, Change::Down(link, OutageMode::Flush)), change(ms(500), Change::Up(link))];
    let first_byte = |tcp: Config| {
        let f = FlowSetup { tcp, ..flow(&built, 0, "newreno") };
        let (_, log) = run(&built.clone().timeline(s(6), changes.clone()), vec![f], 1);
        log.flows.iter().find(|f| f.3 > 0).expect("it starts").0
    };
    let rto = RtoRule { rfc6298_gain: Some(8), ..RtoRule::linux(ms(200)) };
    assert_eq!(first_byte(Config::default()), ms(1100));
    assert_eq!(first_byte(Config { initial_rto: s(3), rto, ..Config::default() }), ms(3100));
}

#[test]
fn a_paced_first_window_may_leave_as_a_burst() {
    let largest_queue = |unpaced_first_window| {
        let tcp = Config { pacing: true, tso_segments: 1, unpaced_first_window, ..Config::default() };
        let f = |built: &perigee_sources::topology::Built| FlowSetup { tcp, ..flow(built, 0, "newreno") };
        let built = net(20, 125_000, &[50]);
        let (setup, port) = (f(&built), built.bottlenecks[0].forward.port.0);
        let options = Options { sample: ms(1), max_hops: 3, ..Options::default() };
        let (_, log) = run_with(&built.timeline(ms(90), Vec::new()), vec![setup], options);
        log.queues.iter().filter(|q| q.1 == port).map(|q| q.2).max().unwrap_or(0)
    };
    assert!(largest_queue(true) > 5 * 1500 && largest_queue(false) <= 3000);
}
