// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of ports over the complete transport: what XCP and RCP promise for full runs.

mod support;
use perigee_sim::*;
use perigee_sources::topology::Built;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use support::*;

/// Port of the data in a reference dumbbell.
const BOTTLENECK: u32 = 0;

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

/// Bulk flows of one scheme, one per pair, each started 200 ms after the one before.
fn flows(built: &Built, cc: &str) -> Vec<FlowSetup> {
    let of = |i| FlowSetup { start: ms(200 * i as u64), ..flow(built, i, cc) };
    (0..built.flows.len()).map(of).collect()
}

fn rates(log: &Log, n: usize, from: Nanos, to: Nanos) -> Vec<f64> {
    (0..n as u32).map(|f| log.goodput_mbit(f, from, to)).collect()
}

fn queues(log: &Log, from: Nanos, to: Nanos) -> Vec<u64> {
    log.queues.iter().filter(|q| q.1 == BOTTLENECK && q.0 >= from && q.0 < to).map(|q| q.2).collect()
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64
}

#[test]
fn flows_converge_to_equal_shares_whatever_their_rtts_and_leave_no_queue() {
    for cc in ["xcp", "rcp"] {
        for rtts in [&[50][..], &[20, 100], &[40, 80, 40, 80, 160], &[40; 20]] {
            let built = net(100, 625_000, rtts);
            let (out, log) = run(&built.clone().timeline(s(20), Vec::new()), flows(&built, cc), 1);
            let rates = rates(&log, rtts.len(), s(8), s(20));
            assert!(jain(&rates) > 0.999, "{cc} {rtts:?}: {rates:?}");
            // 1448 of 1524 bytes: headers and the header of the law.
            assert!((94.2..95.1).contains(&rates.iter().sum::<f64>()), "{cc} {rtts:?}: {rates:?}");
            let queue = queues(&log, s(8), s(20));
            // A millisecond.
            assert!(mean(&queue) < 12_500.0, "{cc} {rtts:?}: {}", mean(&queue));
            assert!(out.flows.iter().all(|f| f.telemetry_acks > 0), "{cc}");
        }
    }
}

#[test]
fn a_rate_that_halves_and_returns_is_followed_within_some_rtts() {
    for cc in ["xcp", "rcp"] {
        let built = net(100, 1_250_000, &[50, 50]);
        let rate =
            |at: u64, mbit: u64| change(s(at), Change::Rate(PortId(BOTTLENECK), BitRate::from_mbit(mbit)));
        let timeline = built.clone().timeline(s(20), vec![rate(8, 50), rate(14, 100)]);
        let (_, log) = run(&timeline, flows(&built, cc), 1);
        let total = |from, to| rates(&log, 2, from, to).iter().sum::<f64>();
        assert!((47.0..47.6).contains(&total(s(10), s(14))), "{cc}: {}", total(s(10), s(14)));
        assert!((94.0..95.1).contains(&total(s(16), s(20))), "{cc}: {}", total(s(16), s(20)));
        let drained = queues(&log, s(10), s(14));
        assert!(mean(&drained) < 8_000.0, "{cc}: {}", mean(&drained));
    }
}

#[test]
fn short_flows_finish_as_with_processor_sharing_over_rcp_only() {
    // Four long flows and a transfer of 1 MB, which has a fifth of the capacity from its start.
    let finished = |cc: &str| {
        let built = net(100, 625_000, &[50; 5]);
        let mut flows = flows(&built, cc);
        (flows[4].start, flows[4].app) = (s(8), App::Bulk { bytes: Some(1_000_000) });
        let (out, _) = run(&built.clone().timeline(s(20), Vec::new()), flows, 1);
        (out.flows[4].completed.expect("it completes") - s(8)).as_secs_f64()
    };
    // A round trip for the handshake, half of one for the last packet, 1 MB at 19 Mbit/s.
    let shared = 0.075 + 8.0 / 19.0;
    let [rcp, xcp, cubic] = ["rcp", "xcp", "cubic"].map(finished);
    assert!((0.95..1.25).contains(&(rcp / shared)), "{rcp}, with processor sharing {shared}");
    assert!(rcp < xcp && rcp < cubic, "{rcp} {xcp} {cubic}");
}

#[test]
fn traffic_without_the_law_counts() {
    for cc in ["xcp", "rcp"] {
        let built = net(100, 625_000, &[50, 50]);
        let mut flows = flows(&built, cc);
        flows[1].app = App::Cbr { interval: Nanos::from_micros(200), size: 1000 };
        let (_, log) = run(&built.clone().timeline(s(12), Vec::new()), flows, 1);
        let rate = log.goodput_mbit(0, s(6), s(12));
        assert!((55.0..57.3).contains(&rate), "{cc}: {rate}");
        let queue = queues(&log, s(6), s(12));
        assert!(mean(&queue) < 10_000.0, "{cc}: {}", mean(&queue));
    }
}

#[test]
fn without_a_metered_port_the_initial_window_stays() {
    for cc in ["xcp", "rcp"] {
        let mut built = net(100, 625_000, &[50]);
        built.header.ports.iter_mut().for_each(|p| p.spec.metered = false);
        let flows = flows(&built, cc);
        let (out, log) = run(&built.timeline(s(5), Vec::new()), flows, 1);
        assert_eq!(out.flows[0].telemetry_acks, 0, "{cc}");
        let rate = log.goodput_mbit(0, s(2), s(5));
        assert!((2.0..2.5).contains(&rate), "{cc}: 10 packets per RTT, not {rate}");
    }
}

#[test]
fn results_do_not_depend_on_the_fast_path() {
    for cc in ["xcp", "rcp"] {
        let [fast, slow] = [true, false].map(|lookahead| {
            let built = net(20, 100_000, &[20, 60, 40]);
            let mut flows = flows(&built, cc);
            flows[2] = flow(&built, 2, "cubic");
            let options = Options { lookahead, max_hops: 3, ..Options::default() };
            run_with(&built.timeline(s(6), Vec::new()), flows, options).1
        });
        assert!(fast == slow, "{cc}");
    }
}

#[test]
fn a_header_of_a_law_has_the_size_of_the_options_in_ipv6() {
    use perigee_telemetry::{EchoMode, Overhead};
    let law = EchoMode::Law(perigee_cc::Law::Xcp);
    assert_eq!((Overhead::Wire.data_bytes(law, 3), Overhead::Wire.ack_bytes(law, 3)), (24, 24));
    assert_eq!(Overhead::None.data_bytes(law, 3), 0);
}

#[test]
fn a_flow_table_with_room_changes_nothing_and_one_that_is_too_small_slows_growth() {
    let of = |cc: &str, flow_table: u32| {
        let mut built = net(100, 1_250_000, &[50; 20]);
        let limits = TelemetryFaults { flow_table, ..TelemetryFaults::default() };
        built.header.ports[BOTTLENECK as usize].spec.telemetry_faults = Some(Box::new(limits));
        let (out, log) = run(&built.clone().timeline(s(8), Vec::new()), flows(&built, cc), 1);
        let sum: f64 = rates(&log, 20, s(5), s(8)).iter().sum();
        (out.flow_tables, sum, log)
    };
    let (none, plain, all) = of("orbcc", 0);
    let (roomy, _, same) = of("orbcc", 1000);
    assert!(none.is_empty() && all == same);
    let port = BOTTLENECK;
    assert_eq!(roomy, [FlowTableTotals { port, entries: 1000, ..FlowTableTotals::default() }]);
    let (tiny, slow, _) = of("orbcc", 2);
    let [tiny] = tiny[..] else { panic!("one table: {tiny:?}") };
    assert!(tiny.evictions > 10_000 && tiny.evictions_in_use > tiny.evictions / 2, "{tiny:?}");
    assert!(slow < plain, "{slow} {plain}");
    // Windows in use need no table.
    assert!(of("orbcc-next", 2).2 == of("orbcc-next", 0).2);
    assert_eq!(of("cubic", 2).0[0].evictions, 0);
}

#[test]
fn wrong_telemetry_changes_what_orbcc_does_and_no_other_scheme() {
    let of = |cc: &str, faults: Option<TelemetryFaults>, max_hops: usize| {
        let mut built = net(50, 500_000, &[40, 80]);
        built.header.ports[BOTTLENECK as usize].spec.telemetry_faults = faults.map(Box::new);
        let flows = flows(&built, cc);
        run_with(&built.timeline(s(8), Vec::new()), flows, Options { max_hops, ..Options::default() }).1
    };
    let fast = TelemetryFaults { clock_ppm: 60_000.0, ..TelemetryFaults::default() };
    let queue = |faults| mean(&queues(&of("orbcc", faults, 3), s(4), s(8)));
    // 6 % of the bandwidth-delay product of 60 ms, less the 5 % that OrbCC leaves free at most.
    assert!(queue(Some(fast)) > 10_000.0 + queue(None), "{} {}", queue(Some(fast)), queue(None));
    let faults = [
        TelemetryFaults { delay: ms(30), ..TelemetryFaults::default() },
        TelemetryFaults { error: 0.3, ..TelemetryFaults::default() },
        TelemetryFaults { flow_count_error: 1.0, ..TelemetryFaults::default() },
        fast,
    ];
    for fault in faults {
        assert!(of("orbcc", Some(fault), 3) != of("orbcc", None, 3), "{fault:?}");
        assert!(of("cubic", Some(fault), 3) == of("cubic", None, 3), "{fault:?}");
        // The first record of a stack that holds one is the access port's.
        assert!(of("orbcc", Some(fault), 1) == of("orbcc", None, 1), "{fault:?}");
    }
    assert!(of("orbcc", Some(TelemetryFaults::default()), 3) == of("orbcc", None, 3));
}
