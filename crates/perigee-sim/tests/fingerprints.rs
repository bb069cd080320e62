// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fingerprints of every congestion control over the same few networks, with each of its options in
//! turn, and of the transport's options. A fingerprint covers all data that an observer receives
//! from a run: windows, RTTs, internals, events, queues, totals. Runs are identical to the bit on
//! every machine and in every build, so a fingerprint changes exactly when behaviour does.
//! `PERIGEE_BLESS=1 cargo test -p perigee-sim --test fingerprints` writes the table, in a commit
//! that states which results change; any other difference is a bug. `fingerprints-flows.txt` lists
//! goodput, RTT, window, retransmissions and timeouts of the same runs, so that a difference can be
//! interpreted.

mod support;
use perigee_cc::Params;
use perigee_cc::{Domain, ParamSpec, SchemeInfo, Value, SCHEMES};
use perigee_sim::*;
use perigee_sources::topology::{chain, ChainSpec};
use perigee_tcp::Config;
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use support::*;

/// FNV-1a hash.
struct Fingerprint(u64);

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        Ok(())
    }
}

fn fingerprint(out: &RunOutcome, log: &Log) -> String {
    let mut print = Fingerprint(0xCBF2_9CE4_8422_2325);
    let totals = (&out.flows, &out.links, out.packet_hops.unwrap(), out.conserved.unwrap());
    write!(print, "{totals:?}{:?}{:?}{:?}", log.flows, log.internals, log.queues).unwrap();
    write!(print, "{:?}{:?}", log.rtts, log.events).unwrap();
    format!("{:016x}", print.0)
}

/// Two flows of a scheme and a ping over a bottleneck with changes of rate and delay, an outage,
/// and random loss at the end.
fn changing(scheme: &'static SchemeInfo, given: &[(&str, Value)]) -> (RunOutcome, Log) {
    let built = net(8, 40_000, &[40, 90]);
    let hop = built.flows[0].hops[0][0];
    let far = built.flows[0].hops[0].last().copied().unwrap();
    let changes = vec![
        change(s(2), Change::Rate(hop.port, BitRate::from_mbit(3))),
        change(s(3), Change::Delay(far.link, Delay::constant(ms(35)))),
        change(s(4), Change::Down(hop.link, OutageMode::Flush)),
        change(ms(4150), Change::Up(hop.link)),
        change(s(5), Change::Rate(hop.port, BitRate::from_mbit(12))),
        change(s(6), Change::Down(hop.link, OutageMode::Hold)),
        change(ms(6800), Change::Up(hop.link)),
        change(s(7), Change::Lose(hop.link, 3)),
    ];
    let mut flows = vec![flow_with(&built, 0, scheme.id, given), flow_with(&built, 1, scheme.id, given)];
    flows[1].start = ms(1500);
    let mut ping = FlowSetup { name: "ping".into(), ..flow(&built, 0, "newreno") };
    ping.app = App::Ping { interval: ms(20), size: 64 };
    flows.push(ping);
    run(&built.timeline(s(9), changes), flows, 1)
}

/// A limited transfer and an on/off flow alongside an unlimited one, over three hops with loss and
/// reordering.
fn lossy(cc: &str, given: &[(&str, Value)]) -> (RunOutcome, Log) {
    let mut port = bytes_port(20, 60_000, 14);
    port.queue.limit = QueueLimit::Packets(30);
    let spec = ChainSpec {
        links: 3,
        rtt: ms(60),
        port,
        loss: 0.004,
        order: LinkOrder::Reorder,
        ..ChainSpec::default()
    };
    let built = chain(&spec).unwrap();
    let hop = built.flows[0].hops[0][1];
    let change =
        |i: u64| support::change(ms(500 * i), Change::Delay(hop.link, Delay::constant(ms(10 + i * 7 % 19))));
    let changes = (1..12).map(change).collect();
    let mut flows = vec![flow(&built, 0, cc); 3];
    (flows[1].name, flows[1].app) = ("limited".into(), App::Bulk { bytes: Some(300_000) });
    (flows[2].name, flows[2].app) =
        ("pauses".into(), App::OnOff { on: Law::Exponential(0.4), off: Law::Exponential(0.6) });
    flows[2].tcp.ecn = true;
    flows[0].tcp.timestamps = false;
    if let [(name, value)] = given {
        let options = Params::new(perigee_tcp::OPTIONS, [(name.to_string(), value.clone())].into()).unwrap();
        flows.iter_mut().for_each(|f| f.tcp = Config::new(&options));
    }
    run(&built.timeline(s(6), changes), flows, 7)
}

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.txt");
const FLOWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints-flows.txt");
const FLOWS_HEAD: &str =
    "# case | of each of two flows: Mbit/s, mean RTT in ms, mean window in kB, retransmissions, timeouts";

/// Totals of the first two flows.
fn totals(out: &RunOutcome, log: &Log) -> String {
    let of = |i: u32| {
        let flow = &out.flows[i as usize];
        let mbit = flow.goodput_bytes as f64 * 8e-6 / out.end.as_secs_f64();
        let rtt = log.mean_rtt_ms(i, Nanos::ZERO, Nanos::MAX);
        let window = log.mean_cwnd(i, Nanos::ZERO, Nanos::MAX) * 1e-3;
        format!("{mbit:.3} {rtt:.2} {window:.1} {} {}", flow.retrans, flow.timeouts)
    };
    format!("{} | {}", of(0), of(1))
}

/// Differing lines, keyed by the case before `separator`: old and new.
fn differing(known: &str, now: &str, separator: &str) -> Vec<String> {
    let of = |text: &'_ str| -> BTreeMap<String, String> {
        let split = |line: &str| line.rsplit_once(separator).map(|(a, b)| (a.to_string(), b.to_string()));
        text.lines().filter_map(split).collect()
    };
    let (known, now) = (of(known), of(now));
    let cases: BTreeSet<&String> = known.keys().chain(now.keys()).collect();
    let show =
        |of: &BTreeMap<String, String>, case: &String| of.get(case).map_or("absent".into(), |v| v.clone());
    let moved = cases.into_iter().filter(|case| known.get(*case) != now.get(*case));
    moved.map(|case| format!("{case}: {} is now {}", show(&known, case), show(&now, case))).collect()
}

/// Non-default values of a parameter that is a choice or a flag.
fn others(spec: &ParamSpec) -> Vec<Value> {
    match spec.domain {
        Domain::Bool(default) => vec![Value::Bool(!default)],
        Domain::Choice(words) => words[1..].iter().map(|w| Value::Text(w.to_string())).collect(),
        _ => vec![],
    }
}

#[test]
fn every_scheme_and_every_choice_behaves_as_it_did() {
    let (mut now, mut flows) = (String::new(), format!("{FLOWS_HEAD}\n"));
    let mut add = |what: &str, (out, log): (RunOutcome, Log)| {
        writeln!(now, "{what} {}", fingerprint(&out, &log)).unwrap();
        writeln!(flows, "{what} : {}", totals(&out, &log)).unwrap();
    };
    for scheme in SCHEMES {
        let id = scheme.id;
        add(&format!("{id} changing"), changing(scheme, &[]));
        add(&format!("{id} lossy"), lossy(id, &[]));
        for (spec, value) in scheme.params.iter().flat_map(|p| others(p).into_iter().map(move |v| (p, v))) {
            if scheme.params([(spec.name.to_string(), value.clone())].into()).is_err() {
                // Rejected: the simulator of the OrbCC study does not model every scheme.
                continue;
            }
            let what = format!("{id} {}={value:?}", spec.name);
            add(&what, changing(scheme, &[(spec.name, value)]));
        }
    }
    for (spec, value) in perigee_tcp::OPTIONS.iter().flat_map(|p| others(p).into_iter().map(move |v| (p, v)))
    {
        add(&format!("tcp {}={value:?}", spec.name), lossy("cubic", &[(spec.name, value)]));
    }
    if std::env::var_os("PERIGEE_BLESS").is_some() {
        std::fs::write(TABLE, &now).expect("the table can be written");
        std::fs::write(FLOWS, &flows).expect("the table can be written");
    }
    let read = |path| std::fs::read_to_string(path).expect("a table of the repository");
    let moved = [differing(&read(FLOWS), &flows, " : "), differing(&read(TABLE), &now, " ")].concat();
    assert!(moved.is_empty() && read(FLOWS) == flows && read(TABLE) == now, "{moved:#?}");
}

#[test]
fn a_difference_names_its_case_with_both_values() {
    let known = "cubic lossy : 1.0 2.0\nreno lossy : 1.0 2.0\nold : 1\n";
    let now = "cubic lossy : 1.0 2.0\nreno lossy : 1.1 2.0\nnew : 1\n";
    let expected = ["new: absent is now 1", "old: 1 is now absent", "reno lossy: 1.0 2.0 is now 1.1 2.0"];
    assert_eq!(differing(known, now, " : "), expected);
}
