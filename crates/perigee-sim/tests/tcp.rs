// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Behaviour of TCP flows: comparison with kernel measurements, and invariants of every run.

mod support;
use perigee_sim::*;
use perigee_tcp::config::TsoDefer;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use support::*;

/// Tolerances of the validation: goodput 2 %, mean queueing delay 10 % or 1.5 ms.
fn assert_kernel(name: &str, goodput: f64, queue_ms: f64, goodput_ref: f64, queue_ref_ms: f64) {
    let g = goodput / goodput_ref - 1.0;
    assert!(g.abs() <= 0.02, "{name}: goodput {goodput:.3}, kernel {goodput_ref} ({:+.2} %)", g * 100.0);
    let q = (queue_ms - queue_ref_ms).abs();
    assert!(q <= (0.1 * queue_ref_ms).max(1.5), "{name}: queue {queue_ms:.2} ms, kernel {queue_ref_ms} ms");
}

#[test]
fn static_goodput_and_queue_are_those_of_the_kernel_at_20_mbit() {
    // Own measurement of kernel 6.18: 20 Mbit/s, 50 ms, 125 000 B, 40 s.
    for (cc, goodput, queue) in [("cubic", 19.22, 37.0), ("bbr", 18.87, 5.9)] {
        let built = net(20, 125_000, &[50]);
        let f = flow(&built, 0, cc);
        let link = built.bottlenecks[0].forward.link.ix();
        let timeline = built.timeline(s(40), Vec::new());
        let (out, _) = run(&timeline, vec![f], 1);
        let l = out.links[link];
        let wait_ms = l.wait_ns as f64 * 1e-6 / l.waited as f64;
        assert_kernel(cc, out.flows[0].goodput_bytes as f64 * 8e-6 / 40.0, wait_ms, goodput, queue);
    }
}

#[test]
fn static_goodput_and_queue_are_those_of_the_kernel_at_100_mbit() {
    // Kernel 6.12 in virtual time, 100 Mbit/s, 50 ms, 625 000 B, 14 B framing, 5-60 s: (goodput,
    // mean queue in bytes).
    let cases = [("newreno", 95.6316, 348_925.0), ("cubic", 95.6407, 446_784.0), ("bbr", 92.9848, 36_529.0)];
    for (cc, goodput, queue) in cases {
        let mut built = net(100, 625_000, &[50]);
        let port = built.bottlenecks[0].forward.port;
        built.header.ports[port.ix()].spec.framing = 14;
        let f = flow(&built, 0, cc);
        let timeline = built.timeline(s(60), Vec::new());
        let (_, log) = run(&timeline, vec![f], 1);
        let queues: Vec<f64> =
            log.queues.iter().filter(|q| q.1 == port.0 && q.0 > s(5)).map(|q| q.2 as f64).collect();
        let mean = queues.iter().sum::<f64>() / queues.len() as f64;
        let ms = |bytes: f64| bytes * 8.0 / 100e6 * 1e3;
        assert_kernel(cc, log.goodput_mbit(0, s(5), s(60)), ms(mean), goodput, ms(queue));
    }
}

#[test]
fn a_short_outage_is_repaired_without_a_timeout_where_the_smoothed_rtt_exceeds_it() {
    // Own measurement of the kernel: Cubic, 100 ms outages every 15 s at 20 Mbit/s, 50 ms: 18.91
    // Mbit/s.
    let built = net(20, 125_000, &[50]);
    let link = built.bottlenecks[0].forward.link;
    let f = flow(&built, 0, "cubic");
    let changes = [15, 30].iter().flat_map(|&t| {
        [change(s(t), Change::Down(link, OutageMode::Flush)), change(s(t) + ms(100), Change::Up(link))]
    });
    let timeline = built.clone().timeline(s(40), changes.collect());
    let (out, _) = run(&timeline, vec![f], 1);
    let goodput = out.flows[0].goodput_bytes as f64 * 8e-6 / 40.0;
    assert!((goodput / 18.91 - 1.0).abs() < 0.02, "{goodput}");
    assert!(out.flows[0].dropped[DropCause::Outage as usize] > 50);
}

#[test]
fn a_long_blackout_ends_with_a_stall_until_the_backed_off_timeout() {
    // Oracle 11: after 6 s of blackout the flow resumes seconds late.
    let built = net(10, 62_500, &[50]);
    let link = built.bottlenecks[0].forward.link;
    let f = flow(&built, 0, "cubic");
    let changes = vec![change(s(10), Change::Down(link, OutageMode::Flush)), change(s(16), Change::Up(link))];
    let timeline = built.timeline(s(30), changes);
    let (out, log) = run(&timeline, vec![f], 1);
    let resumed =
        log.flows.iter().find(|x| x.0 > s(16) && x.3 > log.flows.iter().find(|y| y.0 == s(16)).unwrap().3);
    let late = (resumed.expect("it resumes").0 - s(16)).as_secs_f64();
    assert!((1.0..6.0).contains(&late), "{late}");
    assert!(out.flows[0].timeouts >= 4);
    assert!(log.goodput_mbit(0, s(25), s(30)) > 9.0);
}

#[test]
fn goodput_over_line_rate_is_the_payload_share() {
    let built = net(10, 125_000, &[20]);
    let f = flow(&built, 0, "newreno");
    let timeline = built.timeline(s(30), Vec::new());
    let (out, log) = run(&timeline, vec![f], 1);
    assert!((log.goodput_mbit(0, s(10), s(30)) / 10.0 - 1448.0 / 1500.0).abs() < 0.003);
    assert_eq!(out.flows[0].payload_share, 1448.0 / 1500.0);
}

#[test]
fn a_limited_transfer_completes_to_the_byte() {
    for bytes in [1, 1448, 1449, 14_480, 1_000_000] {
        for cc in ["newreno", "cubic", "bbr", "orbcc"] {
            let built = net(20, 125_000, &[50]);
            let mut f = flow(&built, 0, cc);
            f.app = App::Bulk { bytes: Some(bytes) };
            let timeline = built.timeline(s(20), Vec::new());
            let (out, _) = run(&timeline, vec![f], 1);
            assert_eq!(out.flows[0].goodput_bytes, bytes, "{cc}");
            let time = out.flows[0].completed.expect("complete").as_secs_f64();
            assert!(time > 0.07 && time < 2.0, "{cc} {bytes} B: {time} s");
        }
    }
}

#[test]
fn even_the_last_packet_is_repaired() {
    // Random loss with short transfers: tail losses must be found by probe or timeout.
    for seed in 0..40 {
        let mut built = net(20, 125_000, &[50]);
        built.header.links[built.bottlenecks[0].forward.link.ix()].loss = 0.2;
        let mut f = flow(&built, 0, "cubic");
        f.app = App::Bulk { bytes: Some(30_000) };
        let timeline = built.timeline(s(120), Vec::new());
        let (out, _) = run(&timeline, vec![f], seed);
        assert_eq!(out.flows[0].goodput_bytes, 30_000, "seed {seed}");
    }
}

#[test]
fn a_flow_stops_when_told_and_everything_sent_arrives() {
    let built = net(20, 125_000, &[50]);
    let mut f = flow(&built, 0, "cubic");
    f.stop = s(5);
    let timeline = built.timeline(s(10), Vec::new());
    let (out, log) = run(&timeline, vec![f], 1);
    assert_eq!(out.flows[0].under_way, 0);
    assert!(log.goodput_mbit(0, s(6), s(10)) == 0.0);
}

#[test]
fn a_lost_handshake_is_repeated() {
    let built = net(20, 125_000, &[50]);
    let link = built.bottlenecks[0].forward.link;
    let f = flow(&built, 0, "cubic");
    let changes =
        vec![change(Nanos::ZERO, Change::Down(link, OutageMode::Flush)), change(ms(2500), Change::Up(link))];
    let timeline = built.timeline(s(10), changes);
    let (_, log) = run(&timeline, vec![f], 1);
    assert_eq!(log.goodput_mbit(0, Nanos::ZERO, s(3)), 0.0);
    assert!(log.goodput_mbit(0, s(4), s(10)) > 15.0);
}

/// CoDel stops dropping when a packet has waited less than its target; a prioritised probe, which
/// bypasses the queue, must not count.
#[test]
fn probes_that_go_first_do_not_calm_the_queue_behind_them() {
    let drops = |pings: bool| {
        let mut built = net(10, 1_000_000, &[50]);
        let port = built.bottlenecks[0].forward.port;
        let queue = &mut built.header.ports[port.ix()].spec.queue;
        queue.discipline = std::sync::Arc::new(Discipline { name: "codel".into(), ..Discipline::default() });
        queue.probe_priority = true;
        let mut flows = vec![flow(&built, 0, "cubic")];
        if pings {
            let app = App::Ping { interval: ms(10), size: 64 };
            flows.push(FlowSetup { app, ..flows[0].clone() });
        }
        let (out, _) = run(&built.timeline(s(10), Vec::new()), flows, 1);
        out.flows[0].dropped[DropCause::Queue as usize]
    };
    let (alone, beside) = (drops(false), drops(true));
    assert!(
        alone > 5 && beside.abs_diff(alone) <= alone / 4,
        "{alone} packets dropped, {beside} beside probes"
    );
}

#[test]
fn reordering_by_a_shorter_path_costs_next_to_nothing() {
    // RTT 50 -> 65 -> 50 ms every 5 s with reordering at each decrease (kernel: 19.15 Mbit/s).
    let mut built = net(20, 125_000, &[50]);
    for l in &mut built.header.links {
        l.order = LinkOrder::Reorder;
    }
    let steps =
        (1..8u64).flat_map(|k| built.set_rtts(s(5 * k), &[ms(if k % 2 == 1 { 65 } else { 50 })]).unwrap());
    let steps: Vec<_> = steps.collect();
    let f = flow(&built, 0, "cubic");
    let timeline = built.timeline(s(40), steps);
    let (out, _) = run(&timeline, vec![f], 1);
    let goodput = out.flows[0].goodput_bytes as f64 * 8e-6 / 40.0;
    assert!((goodput / 19.15 - 1.0).abs() < 0.02, "{goodput}");
}

#[test]
fn a_delay_spike_makes_a_spurious_retransmission_that_is_undone_and_learnt_from() {
    // For 3 ms of each second, packets are delayed by 40 ms more and overtaken by dozens of others:
    // spurious losses until the reordering window has grown.
    let mut built = net(20, 250_000, &[50]);
    let link = built.bottlenecks[0].forward.link;
    built.header.links[link.ix()].order = LinkOrder::Reorder;
    let delay = |at, d| change(at, Change::Delay(link, Delay::constant(d)));
    let spikes =
        |from: u64, to: u64| (from..to).flat_map(move |t| [delay(s(t), ms(65)), delay(s(t) + ms(3), ms(25))]);
    let go = |dsack: bool| {
        let mut f = flow(&built, 0, "cubic");
        f.tcp.dsack = dsack;
        let timeline = built.clone().timeline(s(40), spikes(5, 40).collect());
        run(&timeline, vec![f], 1).0.flows.remove(0)
    };
    let (with, without) = (go(true), go(false));
    assert!(with.undos >= Some(2), "{with:?}");
    assert!(with.timeouts == 0);
    // Only duplicate reports widen the reordering window: without them spurious retransmissions
    // continue (kernel: 2.5 x).
    assert!(
        without.retrans as f64 > 1.5 * with.retrans as f64,
        "{} against {}",
        without.retrans,
        with.retrans
    );
}

#[test]
fn two_runs_are_identical_and_seeds_matter_only_to_chance() {
    let go = |seed: u64, cc: &str| {
        let mut built = net(50, 312_500, &[50]);
        built.header.links[built.bottlenecks[0].forward.link.ix()].loss = 0.001;
        let f = flow(&built, 0, cc);
        run(&built.timeline(s(10), Vec::new()), vec![f], seed)
    };
    for cc in ["newreno", "cubic", "bbr", "orbcc"] {
        let (a, b, c) = (go(3, cc), go(3, cc), go(4, cc));
        assert!(a.0 == b.0 && a.1 == b.1, "{cc}");
        assert!(a.0 != c.0, "{cc}: another seed loses other packets");
    }
}

#[test]
fn competing_flows_of_one_kind_share() {
    for cc in ["newreno", "cubic", "bbr", "orbcc"] {
        let built = net(100, 625_000, &[50, 50]);
        let flows = vec![flow(&built, 0, cc), flow(&built, 1, cc)];
        let timeline = built.timeline(s(60), Vec::new());
        let (_, log) = run(&timeline, flows, 1);
        let (a, b) = (log.goodput_mbit(0, s(30), s(60)), log.goodput_mbit(1, s(30), s(60)));
        assert!(a + b > 80.0, "{cc}: {a} + {b}");
        assert!(a.min(b) / a.max(b) > 0.5, "{cc}: {a} and {b}");
    }
}

mod any_network {
    use super::*;
    use proptest::prelude::*;

    fn any_change() -> impl Strategy<Value = (u64, u8, u64)> {
        (0u64..6000, 0u8..8, 0u64..1000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// On any network: no panics, monotonic time, conservation of packets, windows above their
        /// minimum, and a delivered count that never decreases.
        #[test]
        fn every_run_obeys_the_rules(
            mbit in 1u64..200,
            queue in 1600u64..400_000,
            rtts in proptest::collection::vec(1u64..300, 1..4),
            loss in 0.0f64..0.2,
            reorder in any::<bool>(),
            changes in proptest::collection::vec(any_change(), 0..30),
            scheme in 0usize..perigee_cc::SCHEMES.len(),
            seed in any::<u64>(),
        ) {
            let mut built = net(mbit, queue, &rtts);
            let hop = built.bottlenecks[0].forward;
            built.header.links[hop.link.ix()].loss = loss;
            for l in &mut built.header.links {
                l.order = if reorder { LinkOrder::Reorder } else { LinkOrder::Fifo };
            }
            let modes = [OutageMode::Flush, OutageMode::Hold, OutageMode::Blackhole];
            let changes = changes.iter().map(|&(at, what, x)| change(ms(at), match what {
                0 => Change::Rate(hop.port, BitRate::from_mbit(x % 100)),
                1 => Change::Delay(hop.link, Delay { base: ms(x % 200), slope: (x as i64 - 500) * 10_000 }),
                2 => Change::Loss(hop.link, x as f64 / 4000.0),
                3 | 4 => Change::Down(hop.link, modes[x as usize % 3]),
                _ => Change::Up(hop.link),
            })).collect();
            let id = perigee_cc::SCHEMES[scheme].id;
            let flows: Vec<_> = (0..rtts.len()).map(|i| {
                let mut f = flow(&built, i, id);
                f.start = ms(i as u64 * 300);
                f
            }).collect();
            let timeline = built.timeline(s(7), changes);
            let (_, log) = run(&timeline, flows, seed);
            let mut delivered = vec![0; rtts.len()];
            for &(_, f, cwnd, bytes, _) in &log.flows {
                let established = cwnd > 0;
                prop_assert!(!established || cwnd >= 1448, "window of {cwnd} bytes");
                prop_assert!(bytes >= delivered[f as usize]);
                delivered[f as usize] = bytes;
            }
        }
    }
}

#[test]
fn a_controller_that_asks_to_be_called_for_ever_ends_the_run_with_its_name() {
    use perigee_cc::{AckEvent, Caps, CongestionControl, Cx, Window};
    struct Restless;
    impl CongestionControl for Restless {
        fn caps(&self) -> Caps {
            Caps::WINDOW
        }
        fn on_start(&mut self, cx: &Cx, w: &mut Window) {
            w.next_timer = Some(cx.now);
        }
        fn on_ack(&mut self, _: &Cx, _: &mut Window, _: &AckEvent<'_>) {}
        fn ssthresh(&mut self, _: &Cx, w: &Window) -> u64 {
            w.cwnd
        }
        fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
            w.next_timer = Some(cx.now);
        }
    }
    let built = net(20, 125_000, &[50]);
    let mut f = flow(&built, 0, "newreno");
    f.scheme = Scheme::Custom(std::sync::Arc::new(|_| Box::new(Restless)));
    let timeline = built.timeline(s(1), Vec::new());
    let mut sim =
        Simulation::new(&timeline.header, Box::new(timeline.reader()), vec![f], Options::default()).unwrap();
    let error = sim.run(&mut Silent, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("newreno0") && error.contains("at 50.0"), "{error}");
}

mod signals {
    use super::*;
    use perigee_cc::*;
    use std::sync::{Arc, Mutex};

    type Heard = Arc<Mutex<Vec<(u64, String)>>>;

    /// Controller with a fixed window that records its signals.
    struct Listener {
        heard: Heard,
        probes: bool,
        scope: SignalScope,
    }

    impl CongestionControl for Listener {
        fn caps(&self) -> Caps {
            let probes = self.probes.then_some(Probes { interval: ms(10), payload_bytes: 56 });
            Caps { probes, signal_scope: self.scope, ..Caps::WINDOW }
        }
        fn on_ack(&mut self, _: &Cx, _: &mut Window, _: &AckEvent<'_>) {}
        fn ssthresh(&mut self, _: &Cx, w: &Window) -> u64 {
            w.cwnd
        }
        fn on_signal(&mut self, cx: &Cx, _: &mut Window, s: &Signal<'_>) {
            self.heard.lock().unwrap().push((cx.now.0 / 1_000_000, format!("{s:?}")));
        }
    }

    fn listen(
        i: usize,
        built: &perigee_sources::topology::Built,
        probes: bool,
        scope: SignalScope,
    ) -> (FlowSetup, Heard) {
        let heard = Heard::default();
        let mut f = flow(built, i, "newreno");
        let kept = heard.clone();
        f.scheme =
            Scheme::Custom(Arc::new(move |_| Box::new(Listener { heard: kept.clone(), probes, scope })));
        (f, heard)
    }

    #[test]
    fn notices_come_ahead_of_their_event_and_end_after_the_hold_time() {
        let built = net(20, 125_000, &[50]);
        let (mut f, heard) = listen(0, &built, false, SignalScope::Path);
        f.notices = Some(Notices { lead: ms(500), hold: ms(2300), ..Notices::default() });
        let note =
            Note { kind: NoteKind::OutageBegin, node: None, pair: None, value: 0.1, text: String::new() };
        let timeline = built.timeline(s(20), vec![change(s(15), Change::Note(note))]);
        run(&timeline, vec![f], 1);
        let heard = heard.lock().unwrap();
        assert_eq!(heard.iter().map(|h| h.0).collect::<Vec<_>>(), [14_500, 16_800]);
        assert!(heard[0].1.contains("HandoverBegin") && heard[1].1.contains("HandoverEnd"), "{heard:?}");
    }

    #[test]
    fn probes_measure_the_path_and_an_outage_is_a_gap_in_their_replies() {
        let built = net(20, 125_000, &[50]);
        let link = built.bottlenecks[0].forward.link;
        let (f, heard) = listen(0, &built, true, SignalScope::Path);
        let changes =
            vec![change(s(2), Change::Down(link, OutageMode::Flush)), change(ms(2060), Change::Up(link))];
        let (out, _) = run(&built.timeline(s(4), changes), vec![f], 1);
        let heard = heard.lock().unwrap();
        // 395 sent, five in flight at the end, eight or nine lost: those sent within 60 ms of
        // outage plus 25 ms on the path before the link.
        assert!((380..=383).contains(&heard.len()), "{}", heard.len());
        let gaps: Vec<u64> = heard.windows(2).map(|w| w[1].0 - w[0].0).filter(|&g| g > 45).collect();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert_eq!(out.conserved, Some(true));
    }

    #[test]
    fn who_listens_to_the_host_hears_the_probes_of_its_neighbours() {
        // Two flows from one source.
        let built = net(20, 125_000, &[50]);
        let (a, _) = listen(0, &built, true, SignalScope::Path);
        let (mut b, heard) = listen(0, &built, false, SignalScope::Host);
        let (mut c, deaf) = listen(0, &built, false, SignalScope::Path);
        b.name = "b".into();
        c.name = "c".into();
        run(&built.timeline(s(1), Vec::new()), vec![a, b, c], 1);
        assert!(heard.lock().unwrap().len() > 80);
        assert!(deaf.lock().unwrap().is_empty());
    }
}

#[test]
fn a_sender_that_defers_sends_in_bursts_and_loses_no_goodput() {
    let go = |tso_defer: TsoDefer| {
        let mut built = net(100, 625_000, &[50]);
        // At the sender's access link, ten times as fast as the bottleneck, bursts appear as
        // queueing delay.
        let access = built.flows[0].hops[0][0];
        built.header.ports[access.port.ix()].spec.rate = BitRate::from_mbit(1000);
        let mut f = flow(&built, 0, "newreno");
        f.tcp.tso_defer = tso_defer;
        let (out, log) = run(&built.timeline(s(20), Vec::new()), vec![f], 1);
        let l = out.links[access.link.ix()];
        (log.goodput_mbit(0, s(5), s(20)), l.wait_ns / l.waited as u128)
    };
    let (plain, deferred) = (go(TsoDefer::Off), go(TsoDefer::Linux));
    assert!((deferred.0 / plain.0 - 1.0).abs() < 0.01, "{plain:?} and {deferred:?}");
    assert!(deferred.1 > 3 * plain.1, "{plain:?} and {deferred:?}");
}
