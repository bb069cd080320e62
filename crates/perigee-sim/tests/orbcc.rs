// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OrbCC over the complete transport: predictions of its equations for complete runs. They
//! complement the closed-form checks of the control law and the meter.

mod support;
use perigee_cc::Value;
use perigee_sim::*;
use perigee_sources::topology::{dumbbell, Built, DumbbellSpec};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use support::*;

/// Dumbbell of the studies: PPP framing, telemetry only at the bottleneck.
fn study(mbit: u64, packets: u64, rtts_ms: &[u64]) -> Built {
    let port = PortSpec { framing: 7, metered: true, ..PortSpec::packets(BitRate::from_mbit(mbit), packets) };
    let access = PortSpec { framing: 7, ..PortSpec::packets(BitRate::from_mbit(10_000), packets) };
    let spec = DumbbellSpec {
        rtts: rtts_ms.iter().map(|&r| ms(r)).collect(),
        bottleneck: port,
        access,
        bottleneck_delay: Nanos::from_micros(500),
        ..DumbbellSpec::default()
    };
    dumbbell(&spec).expect("a dumbbell")
}

fn word(w: &str) -> Value {
    Value::Text(w.into())
}

/// A flow without telemetry bytes and without the fallback: access ports are not metered in the
/// studies, so stacks are partial by design.
fn bare(built: &Built, i: usize, cc: &str, more: &[(&str, Value)]) -> FlowSetup {
    let mut params = vec![("overhead", word("none")), ("fallback", word("none"))];
    params.extend(more.iter().cloned());
    flow_with(built, i, cc, &params)
}

fn probe(log: &Log, flow: u32, name: &str) -> f64 {
    let last = log.internals.iter().rev().find(|x| x.1 == flow).expect("a sample");
    last.2.iter().find(|x| x.0 == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

#[test]
fn test_4_four_flows_settle_at_the_published_rtts_for_each_way_of_counting_bytes() {
    let cases =
        [("payload", [21.66, 51.64], 1.0021), ("ip", [20.43, 50.41], 1.0003), ("wire", [20.31, 50.30], 1.0)];
    for (unit, rtts, u) in cases {
        let built = study(100, 432, &[20, 20, 50, 50]);
        let flows = (0..4)
            .map(|i| {
                let mut f = bare(&built, i, "orbcc-repro", &[("tx_bytes_unit", word(unit))]);
                f.start = ms([0, 1300, 700, 1900][i]);
                f
            })
            .collect();
        let timeline = built.timeline(s(40), Vec::new());
        let (_, log) = run(&timeline, flows, 1);
        let rates: Vec<f64> = (0..4).map(|f| log.goodput_mbit(f, s(20), s(40))).collect();
        assert!(jain(&rates) >= 0.999, "{unit}: {rates:?}");
        assert!((95.8..96.2).contains(&rates.iter().sum::<f64>()), "{unit}: {rates:?}");
        for f in 0..4u32 {
            let expected = rtts[f as usize / 2];
            let rtt = log.mean_rtt_ms(f, s(20), s(40));
            // 0.1 ms, and the transport's share: an ACK's own transmission on three links.
            assert!((rtt - expected).abs() < 0.15, "{unit}: {rtt} ms, expected {expected}");
            assert!((probe(&log, f, "U") - u).abs() < 0.01, "{unit}");
        }
    }
}

#[test]
fn test_5_rates_are_equal_whatever_the_rtts_with_the_mean_rtt_and_not_with_the_own() {
    let ratio = |t_ref: &str| {
        let built = study(100, 1726, &[20, 200]);
        let flows = (0..2).map(|i| bare(&built, i, "orbcc-repro", &[("t_ref", word(t_ref))])).collect();
        let (_, log) = run(&built.timeline(s(80), Vec::new()), flows, 1);
        let rates = [0, 1].map(|f| log.goodput_mbit(f, s(50), s(80)));
        rates[0].min(rates[1]) / rates[0].max(rates[1])
    };
    let (mean, own) = (ratio("avg_rtt"), ratio("own_rtt"));
    assert!(mean >= 0.97, "{mean}");
    assert!(own <= 0.35, "{own}");
}

#[test]
fn without_a_port_that_reports_either_echo_leads_to_the_fallback() {
    for echo in ["full", "bottleneck"] {
        let port = PortSpec::packets(BitRate::from_mbit(20), 200);
        let spec = DumbbellSpec {
            rtts: vec![ms(40)],
            bottleneck: port,
            bottleneck_delay: ms(1),
            ..DumbbellSpec::default()
        };
        let built = dumbbell(&spec).expect("a dumbbell");
        let f = flow_with(&built, 0, "orbcc", &[("echo", word(echo))]);
        let (_, log) = run(&built.timeline(s(15), Vec::new()), vec![f], 1);
        let goodput = log.goodput_mbit(0, s(8), s(15));
        assert!(goodput > 15.0, "{echo}: {goodput}");
    }
}

#[test]
fn test_6_one_flow_has_the_full_rate_from_the_second_second_on() {
    let cases = [("orbcc-repro", "payload", 628.0), ("orbcc", "ip", 606.0), ("orbcc", "wire", 603.0)];
    for (cc, unit, cwnd_kb) in cases {
        let built = study(100, 432, &[50]);
        let f = bare(&built, 0, cc, &[("tx_bytes_unit", word(unit))]);
        let (out, log) = run(&built.timeline(s(20), Vec::new()), vec![f], 1);
        let goodput = log.goodput_mbit(0, s(2), s(20));
        assert!(goodput > 0.995 * 96.085, "{cc} {unit}: {goodput}");
        let cwnd = log.mean_cwnd(0, s(5), s(20)) * 1e-3;
        assert!((cwnd - cwnd_kb).abs() <= 7.0, "{cc} {unit}: {cwnd} kB");
        assert_eq!(out.flows[0].retrans, 0);
    }
}

#[test]
fn test_7_the_initial_phase_brings_the_51st_flow_to_its_share_at_once() {
    let join = |initial_phase: bool| {
        let built = study(200, 1726, &[100; 51]);
        let flows = (0..51)
            .map(|i| {
                let mut f = bare(&built, i, "orbcc-repro", &[("initial_phase", Value::Bool(initial_phase))]);
                f.start = if i < 50 { ms(20 * i as u64) } else { s(20) };
                f
            })
            .collect();
        let (_, log) = run(&built.timeline(s(25), Vec::new()), flows, 1);
        let share = 2.0 * 96.085 / 51.0;
        (0..8u64)
            .map(|k| log.goodput_mbit(50, s(20) + ms(500 * k), s(20) + ms(500 * k + 500)) / share)
            .collect::<Vec<_>>()
    };
    let (with, without) = (join(true), join(false));
    assert!(with[3..].iter().all(|&r| r >= 0.9), "within 1.5 s: {with:?}");
    assert!(without[..6].iter().all(|&r| r < 0.9), "not before 3 s: {without:?}");
}

#[test]
fn test_8_a_timeout_leaves_the_window_intact() {
    // Enough packets to fill the outage and more, so that the timeout fires: 300 ms without a
    // packet at an RTO of 250 ms.
    let built = study(100, 432, &[50]);
    let link = built.bottlenecks[0].forward.link;
    let back = built.bottlenecks[0].reverse.link;
    let f = bare(&built, 0, "orbcc", &[]);
    let mut changes = Vec::new();
    for l in [link, back] {
        changes.push(change(s(10), Change::Down(l, OutageMode::Flush)));
        changes.push(change(ms(10_300), Change::Up(l)));
    }
    let (out, log) = run(&built.timeline(s(15), changes), vec![f], 1);
    assert!(out.flows[0].timeouts >= 1);
    let (before, after) = (log.mean_cwnd(0, s(9), s(10)), log.mean_cwnd(0, ms(10_700), ms(11_500)));
    assert!((after / before - 1.0).abs() <= 0.05, "{before} B before, {after} B after");
    assert!(log.goodput_mbit(0, s(12), s(15)) > 95.0);
}

#[test]
fn test_9_both_echoes_steer_alike_while_the_bottleneck_moves() {
    let second = |echo: &str| {
        let port = |mbit| PortSpec { metered: true, ..PortSpec::packets(BitRate::from_mbit(mbit), 1000) };
        let spec = perigee_sources::topology::ChainSpec {
            links: 3,
            rtt: ms(50),
            port: port(100),
            ..Default::default()
        };
        let built = perigee_sources::topology::chain(&spec).unwrap();
        let hop = built.flows[0].hops[0][1].port;
        let rates = [(0, 120), (4, 80), (8, 120), (12, 60)];
        let changes =
            rates.map(|(t, mbit)| change(s(t), Change::Rate(hop, BitRate::from_mbit(mbit)))).to_vec();
        let f = flow_with(&built, 0, "orbcc", &[("overhead", word("none")), ("echo", word(echo))]);
        let options = Options { max_hops: 3, sample: ms(10), ..Options::default() };
        let (_, log) = run_with(&built.timeline(s(16), changes), vec![f], options);
        (0..16u64).map(|t| log.mean_cwnd(0, s(t), s(t + 1))).collect::<Vec<_>>()
    };
    let (full, compact) = (second("full"), second("bottleneck"));
    // The echo encodes u in steps of 1/4096, and the window oscillates by 0.6 % around its mean:
    // the phase of the oscillation differs, but the means over each phase of the path agree.
    for (t, (a, b)) in full.chunks(4).zip(compact.chunks(4)).enumerate() {
        let (a, b) = (a.iter().sum::<f64>() / 4.0, b.iter().sum::<f64>() / 4.0);
        assert!((a - b).abs() / a < 0.005, "seconds {} to {}: {a} and {b}", 4 * t, 4 * t + 4);
    }
    for (t, (a, b)) in full.iter().zip(&compact).enumerate() {
        assert!((a - b).abs() / a < 0.012, "second {t}: {a} and {b}");
    }
    assert!(full[7] < 0.9 * full[3], "the second hop steers when its rate falls: {full:?}");
}

#[test]
fn test_10_wrapping_counters_and_gaps_have_no_effect() {
    // The clock of the records wraps after 16.8 s, txBytes after 2.15 GB (172 s at 100 Mbit/s): a
    // window between wraps equals a window across one.
    let built = study(100, 432, &[50, 50]);
    let busy = bare(&built, 0, "orbcc", &[]);
    let (_, log) = run(&built.clone().timeline(s(200), Vec::new()), vec![busy.clone()], 1);
    let plain = log.mean_cwnd(0, s(20), s(30));
    for (from, to) in [(15, 19), (32, 35), (170, 176)] {
        let across = log.mean_cwnd(0, s(from), s(to));
        assert!((across / plain - 1.0).abs() < 0.01, "{from} - {to} s: {across} B, else {plain} B");
    }
    // Gaps of 5, 10 and 17 s in one flow while another keeps the port busy: outages of its own
    // access link.
    let access = built.flows[1].hops[0][0].link;
    let gaps = [(10, 15), (25, 35), (45, 62)];
    let changes = gaps.iter().flat_map(|&(a, b)| {
        [change(s(a), Change::Down(access, OutageMode::Flush)), change(s(b), Change::Up(access))]
    });
    let flows = vec![busy, bare(&built, 1, "orbcc", &[])];
    let (_, log) = run(&built.clone().timeline(s(90), changes.collect()), flows, 1);
    for (_, back) in gaps {
        // Recovered within the backed-off timeout and 20 RTTs; then an equal share.
        let late = s(back + if back == 62 { 20 } else { 8 });
        let rates = [0, 1].map(|f| log.goodput_mbit(f, late - s(1), late + s(1)));
        assert!(jain(&rates) > 0.99, "after the gap until {back} s: {rates:?}");
        assert!(rates.iter().sum::<f64>() > 95.0, "after the gap until {back} s: {rates:?}");
    }
}

#[test]
fn telemetry_on_the_wire_costs_what_its_bytes_cost() {
    let built = study(100, 432, &[50]);
    let f = flow_with(&built, 0, "orbcc", &[("fallback", word("none"))]);
    let (out, log) = run(&built.timeline(s(20), Vec::new()), vec![f], 1);
    // Three hops of room: ceil8(12 + 51) = 64 bytes on every packet.
    let share = 1448.0 / (1500.0 + 64.0 + 7.0);
    assert!((out.flows[0].payload_share - share).abs() < 1e-9);
    let goodput = log.goodput_mbit(0, s(5), s(20)) / 100.0;
    assert!((goodput / share - 1.0).abs() < 0.005, "{goodput}, possible {share}");
}

#[test]
fn next_starts_sooner_where_its_handshake_met_a_port_that_has_measured() {
    let seconds = |more: &[(&str, Value)]| {
        let built = study(100, 432, &[50, 50]);
        let flows = (0..2)
            .map(|i| {
                let mut f = flow_with(&built, i, "orbcc-next", more);
                f.start = s(3 * i as u64);
                f.app = App::Bulk { bytes: (i == 1).then_some(100_000) };
                f
            })
            .collect();
        let (out, _) = run(&built.timeline(s(5), Vec::new()), flows, 1);
        assert_eq!(out.conserved, Some(true));
        let f = &out.flows[1];
        (f.completed.expect("complete") - f.started.expect("started")).as_secs_f64()
    };
    let (with, without) = (seconds(&[]), seconds(&[("handshake", word("off"))]));
    assert!(with < 0.14, "{with} s, {without} s without");
    assert!(without > with + 0.008, "{with} and {without} s");
}

#[test]
fn next_carries_telemetry_in_one_packet_of_four_and_ports_count_all_of_them() {
    let of = |packets: f64| {
        let built = study(100, 432, &[50]);
        let f = flow_with(&built, 0, "orbcc-next", &[("packets_per_record", Value::Float(packets))]);
        let (out, log) = run(&built.timeline(s(10), Vec::new()), vec![f], 1);
        let records = out.flows[0].telemetry_acks as f64 / out.flows[0].data_sent as f64;
        (records, log.goodput_mbit(0, s(3), s(10)), probe(&log, 0, "U"))
    };
    let (each, fourth) = (of(1.0), of(4.0));
    assert!((0.98..=1.0).contains(&each.0) && (0.24..0.27).contains(&fourth.0), "{each:?} {fourth:?}");
    assert!(fourth.1 > each.1, "fewer bytes of telemetry: {each:?} {fourth:?}");
    assert!((fourth.2 - 1.0).abs() < 0.03, "ports count the packets without records: {fourth:?}");
}

/// Goodputs of two flows and their mean RTT, with every port metered.
fn over(carrier: &str) -> ([f64; 2], f64) {
    let port = PortSpec { metered: true, ..PortSpec::packets(BitRate::from_mbit(50), 400) };
    let access = PortSpec { metered: true, ..PortSpec::packets(BitRate::from_mbit(1000), 400) };
    let spec = DumbbellSpec {
        rtts: vec![ms(40), ms(40)],
        bottleneck: port,
        access,
        bottleneck_delay: ms(1),
        ..DumbbellSpec::default()
    };
    let built = dumbbell(&spec).expect("a dumbbell");
    let mut flows: Vec<_> =
        (0..2).map(|i| flow_with(&built, i, "orbcc", &[("carrier", word(carrier))])).collect();
    flows[1].start = s(6);
    let (_, log) = run(&built.timeline(s(30), Vec::new()), flows, 1);
    ([0, 1].map(|f| log.goodput_mbit(f, s(15), s(30))), log.mean_rtt_ms(0, s(15), s(30)))
}

#[test]
fn backlogs_and_times_of_arrival_are_enough_for_equal_shares_with_five_percent_of_queue_per_flow() {
    let ([one, two], exact) = over("records");
    assert!(one.min(two) > 22.5 && exact < 41.0, "{one} {two} {exact}");
    for carrier in ["ioam", "ioam_rate"] {
        let ([one, two], rtt) = over(carrier);
        assert!(one.min(two) > 22.0, "{carrier}: {one} {two}");
        // U = η / (1 - 0.05 · 2) = 1.056.
        assert!((rtt - exact - 0.056 * 40.0).abs() < 0.5, "{carrier}: {rtt} ms, records {exact} ms");
    }
    let ([one, two], rtt) = over("ioam_snapshot");
    assert!(one.min(two) > 22.0 && (rtt - exact).abs() < 0.2, "the snapshot: {one} {two} {rtt}");
}

#[test]
fn a_utilisation_or_a_mark_keeps_the_delay_and_lets_a_late_flow_starve() {
    for carrier in ["utilisation", "ecn"] {
        let ([one, two], rtt) = over(carrier);
        assert!(one > 40.0 && two < 5.0 && rtt < 42.0, "{carrier}: {one} {two} {rtt}");
    }
    let (_, rtt) = over("none");
    assert!(rtt > 80.0, "Cubic fills the queue: {rtt}");
}
