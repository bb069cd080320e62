// SPDX-License-Identifier: Apache-2.0 OR MIT
//! L4S end to end: Prague alongside Cubic at a DualPI2 port; also a discipline and a scheme that
//! are not built in.

mod support;
use perigee_queue::{DisciplineInfo, Packet, Port, Setup, Verdict};
use perigee_sim::*;
use perigee_sources::topology::Built;
use perigee_timeline::Discipline;
use perigee_units::params::{Domain, ParamSpec, Params, Value};
use perigee_units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use support::*;

/// A dumbbell with the given discipline at its bottleneck.
fn managed(mbit: u64, queue: u64, rtts_ms: &[u64], name: &str, given: &[(&str, Value)]) -> Built {
    let mut built = net(mbit, queue, rtts_ms);
    let params: BTreeMap<String, Value> = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let port = built.bottlenecks[0].forward.port.ix();
    built.header.ports[port].spec.queue.discipline = Arc::new(Discipline { name: name.into(), params });
    built
}

/// Delays of data packets by flow, as (send time, one-way delay), and received marks.
#[derive(Default)]
struct Ways {
    leaving: HashMap<(u32, u32), Nanos>,
    delays: BTreeMap<u32, Vec<(Nanos, Nanos)>>,
    marked: BTreeMap<u32, u64>,
}

impl Observer for Ways {
    const PACKETS: bool = true;
    fn packet(&mut self, p: &PacketSeen<'_>) {
        if p.kind != PacketKind::Data {
            return;
        }
        if p.leaving {
            self.leaving.insert((p.flow, p.number), Nanos(p.at_ns));
        } else if let Some(sent) = self.leaving.remove(&(p.flow, p.number)) {
            self.delays.entry(p.flow).or_default().push((sent, Nanos(p.at_ns) - sent));
            *self.marked.entry(p.flow).or_default() += u64::from(p.ecn == Ecn::Ce.bits());
        }
    }
}

impl Ways {
    /// Sorted queueing delays in milliseconds of a flow's data sent from `from` on.
    fn waits_ms(&self, flow: u32, from: Nanos) -> Vec<f64> {
        let all = &self.delays[&flow];
        let least = all.iter().map(|d| d.1).min().unwrap();
        let mut waits: Vec<f64> =
            all.iter().filter(|d| d.0 >= from).map(|d| (d.1 - least).as_millis_f64()).collect();
        waits.sort_by(f64::total_cmp);
        waits
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}
fn percentile(x: &[f64], p: f64) -> f64 {
    x[((x.len() - 1) as f64 * p) as usize]
}

/// Runs flows over a network; returns the observations and the result.
fn watched(built: &Built, flows: Vec<FlowSetup>, length: Nanos) -> (RunOutcome, Ways) {
    let timeline = built.clone().timeline(length, Vec::new());
    let mut ways = Ways::default();
    let options = Options::default();
    let mut sim = Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, options).unwrap();
    let out = sim.run(&mut ways, &mut |_| true).unwrap();
    assert_eq!(out.conserved, Some(true));
    (out, ways)
}

#[test]
fn prague_waits_less_than_a_millisecond_beside_cubic_and_both_get_a_comparable_share() {
    // 40 and 100 Mbit/s with an RTT of 20 ms and a buffer of 250 ms; packets of Cubic are dropped,
    // or marked if ECT(0).
    for (mbit, ecn) in [(40, false), (100, false), (100, true)] {
        let built = managed(mbit, mbit * 31_250, &[20, 20], "dualpi2", &[]);
        let mut cubic = flow(&built, 1, "cubic");
        cubic.tcp.ecn = ecn;
        let (out, ways) = watched(&built, vec![flow(&built, 0, "prague"), cubic], s(60));
        let prague = ways.waits_ms(0, s(5));
        let classic = ways.waits_ms(1, s(5));
        let (l_mean, l_99) = (mean(&prague), percentile(&prague, 0.99));
        let goodput = |f: usize| out.flows[f].goodput_bytes as f64 * 8e-6 / 60.0;
        let told = format!(
            "{mbit} Mbit/s, ECT(0) {ecn}: L queue mean {l_mean:.3} ms, 99 % {l_99:.3} ms; C queue mean {:.1} ms; \
             Prague {:.1} Mbit/s, Cubic {:.1} Mbit/s; marks {:?}",
            mean(&classic),
            goodput(0),
            goodput(1),
            ways.marked
        );
        println!("{told}");
        assert!(l_mean < 0.5 && l_99 < 1.0, "{told}");
        assert!((5.0..30.0).contains(&mean(&classic)), "{told}");
        assert!((0.5..2.0).contains(&(goodput(0) / goodput(1))), "{told}");
        assert!(goodput(0) + goodput(1) > 0.9 * mbit as f64, "{told}");
        assert_eq!(out.flows[0].retrans, 0, "{told}");
        assert_eq!(ways.marked[&1] > 0, ecn, "{told}");
    }
}

#[test]
fn prague_alone_fills_the_link_over_a_queue_of_a_millisecond() {
    let built = managed(100, 3_125_000, &[20], "dualpi2", &[]);
    let (out, ways) = watched(&built, vec![flow(&built, 0, "prague")], s(30));
    let waits = ways.waits_ms(0, s(5));
    let goodput = out.flows[0].goodput_bytes as f64 * 8e-6 / 30.0;
    println!(
        "alone: mean {:.3} ms, 99 % {:.3} ms, {goodput:.1} Mbit/s",
        mean(&waits),
        percentile(&waits, 0.99)
    );
    assert!(
        mean(&waits) < 1.2 && percentile(&waits, 0.99) < 2.0,
        "{} {}",
        mean(&waits),
        percentile(&waits, 0.99)
    );
    assert!(goodput > 85.0, "{goodput}");
}

#[test]
fn flows_of_prague_with_short_rtts_share_a_queue_whatever_these_are() {
    let built = managed(100, 3_125_000, &[5, 20], "dualpi2", &[]);
    let (out, _) = watched(&built, vec![flow(&built, 0, "prague"), flow(&built, 1, "prague")], s(60));
    let ratio = out.flows[0].goodput_bytes as f64 / out.flows[1].goodput_bytes as f64;
    assert!((0.7..1.5).contains(&ratio), "{ratio}");
}

#[test]
fn without_a_queue_that_marks_prague_answers_losses() {
    let built = net(20, 125_000, &[50]);
    let (out, ways) = watched(&built, vec![flow(&built, 0, "prague")], s(40));
    assert_eq!(ways.marked[&0], 0);
    assert!(out.flows[0].retrans > 0);
    let goodput = out.flows[0].goodput_bytes as f64 * 8e-6 / 40.0;
    assert!(goodput > 16.0, "{goodput}");
}

/// A discipline that is not built in: marks or drops every n-th packet that arrives while others
/// wait.
#[derive(Debug)]
struct EveryNth {
    n: u64,
    seen: u64,
}

impl perigee_queue::Discipline for EveryNth {
    fn on_arrival(&mut self, port: &Port, packet: &Packet) -> Verdict {
        self.seen += u64::from(port.bytes > 0);
        if self.seen < self.n {
            return Verdict::Pass;
        }
        self.seen = 0;
        packet.notify()
    }
}

static TOY: [DisciplineInfo; 1] = [DisciplineInfo {
    id: "every-nth",
    label: "Every n-th",
    summary: "marks every n-th packet",
    params: &[ParamSpec {
        name: "n",
        domain: Domain::Int { default: 100, min: 1, max: 1_000_000 },
        unit: "packets",
        source: "a toy",
        help: "how many are left alone, and one",
    }],
    make: Some(|params: &Params, _: &Setup| Box::new(EveryNth { n: params.int("n") as u64, seen: 0 })),
}];

#[test]
fn a_discipline_outside_of_the_list_is_handed_to_the_simulator() {
    let run_toy = |given: &[(&str, Value)], ecn| {
        let built = managed(20, 250_000, &[50], "every-nth", given);
        let mut f = flow(&built, 0, "newreno");
        f.tcp.ecn = ecn;
        let timeline = built.clone().timeline(s(20), Vec::new());
        let (out, _) = run_with(&timeline, vec![f], Options { disciplines: &TOY, ..Options::default() });
        let link = out.links[built.bottlenecks[0].forward.link.ix()];
        (link.dropped[DropCause::Queue as usize], link.marked, link.entered)
    };
    let (dropped, marked, entered) = run_toy(&[], false);
    assert!(dropped > 5 && marked == 0 && dropped <= entered / 100, "{dropped} {marked} {entered}");
    // Slow start fills the queue once; afterwards packets are only marked.
    let (_, marked, entered) = run_toy(&[("n", Value::Int(500))], true);
    assert!(marked > 5 && marked <= entered / 500, "{marked} {entered}");
}

#[test]
fn an_unknown_discipline_or_parameter_is_an_error_not_drop_tail() {
    let refused = |name, given: &[(&str, Value)]| {
        let built = managed(20, 250_000, &[50], name, given);
        let timeline = built.clone().timeline(s(1), Vec::new());
        let flows = vec![flow(&built, 0, "newreno")];
        Simulation::new(&timeline.header, Box::new(timeline.reader()), flows, Options::default())
            .err()
            .map(|e| e.to_string())
    };
    let unknown = refused("every-nth", &[]).unwrap();
    assert!(
        unknown.contains("r1->r2") && unknown.contains("every-nth") && unknown.contains("fq_codel"),
        "{unknown}"
    );
    let wrong = refused("codel", &[("red_min", Value::Text("5 kB".into()))]).unwrap();
    assert!(wrong.contains("red_min") && wrong.contains("target"), "{wrong}");
    assert_eq!(refused("codel", &[]), None);
}

/// A scheme that is not built in: scalable, its window shrinks by a quarter at each ACK with marks.
struct Toy;

impl perigee_cc::CongestionControl for Toy {
    fn caps(&self) -> perigee_cc::Caps {
        perigee_cc::Caps { scalable: true, ..perigee_cc::Caps::WINDOW }
    }
    fn on_ack(&mut self, cx: &perigee_cc::Cx, w: &mut perigee_cc::Window, ev: &perigee_cc::AckEvent<'_>) {
        if ev.ece > 0 {
            w.cwnd = (w.cwnd * 3 / 4).max(2 * u64::from(cx.mss));
        } else if ev.may_grow {
            w.cwnd += u64::from(cx.mss) * ev.newly_acked / w.cwnd;
        }
    }
    fn ssthresh(&mut self, _: &perigee_cc::Cx, w: &perigee_cc::Window) -> u64 {
        w.cwnd / 2
    }
}

#[test]
fn a_scalable_scheme_outside_of_the_list_gets_the_low_latency_queue_and_every_mark() {
    let built = managed(20, 625_000, &[20, 20], "dualpi2", &[]);
    let mut toy = flow(&built, 0, "newreno");
    toy.scheme = Scheme::Custom(Arc::new(|_| Box::new(Toy)));
    let (out, ways) = watched(&built, vec![toy, flow(&built, 1, "cubic")], s(20));
    assert!(ways.marked[&0] > 100 && ways.marked[&1] == 0, "{:?}", ways.marked);
    assert!(mean(&ways.waits_ms(0, s(2))) < 2.0 && mean(&ways.waits_ms(1, s(2))) > 5.0);
    assert!(out.flows[0].goodput_bytes > 1_000_000);
}
