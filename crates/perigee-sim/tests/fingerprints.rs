// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every congestion control over the same few networks, with each of its choices in turn, and so for the choices of the
//! transport; of each run a fingerprint of all that an observer sees of it: windows, RTTs,
//! internals, events, queues, totals. Runs are the same to the bit on every machine and in every build, so a fingerprint
//! changes where behaviour does. Whoever means to change that writes the table anew (`PERIGEE_BLESS=1 cargo test -p
//! perigee-sim --test fingerprints`) and says what moved; everybody else has found a mistake.

mod support;
use perigee_cc::Params;
use perigee_cc::{Domain, ParamSpec, SchemeInfo, Value, SCHEMES};
use perigee_sim::*;
use perigee_sources::topology::{chain, ChainSpec};
use perigee_tcp::Config;
use perigee_timeline::*;
use perigee_units::BitRate;
use std::fmt::Write;
use support::*;

/// FNV-1a.
struct Fingerprint(u64);

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        Ok(())
    }
}

fn fingerprint(out: &Outcome, log: &Log) -> String {
    let mut print = Fingerprint(0xCBF2_9CE4_8422_2325);
    let totals = (&out.flows, &out.links, out.packet_hops, out.conserved);
    write!(print, "{totals:?}{:?}{:?}{:?}", log.flows, log.internals, log.queues).unwrap();
    write!(print, "{:?}{:?}", log.rtts, log.events).unwrap();
    format!("{:016x}", print.0)
}

/// Two flows of a scheme and a ping over a bottleneck whose rate, delay and state change, with random loss at the end.
fn changing(scheme: &'static SchemeInfo, given: &[(&str, Value)]) -> (Outcome, Log) {
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

/// A limited transfer and one that pauses, beside a flow without end, over three hops that lose and reorder.
fn lossy(cc: &str, given: &[(&str, Value)]) -> (Outcome, Log) {
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

/// Values other than the default of what is a choice, yes or no.
fn others(spec: &ParamSpec) -> Vec<Value> {
    match spec.domain {
        Domain::Bool(default) => vec![Value::Bool(!default)],
        Domain::Choice(words) => words[1..].iter().map(|w| Value::Text(w.to_string())).collect(),
        _ => vec![],
    }
}

#[test]
fn every_scheme_and_every_choice_behaves_as_it_did() {
    let mut now = String::new();
    let mut add = |what: &str, (out, log): (Outcome, Log)| {
        writeln!(now, "{what} {}", fingerprint(&out, &log)).unwrap();
    };
    for scheme in SCHEMES {
        let id = scheme.id;
        add(&format!("{id} changing"), changing(scheme, &[]));
        add(&format!("{id} lossy"), lossy(id, &[]));
        for (spec, value) in scheme.params.iter().flat_map(|p| others(p).into_iter().map(move |v| (p, v))) {
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
    }
    let known = std::fs::read_to_string(TABLE).expect("the table of fingerprints");
    let moved: Vec<_> = now.lines().filter(|line| !known.lines().any(|k| k == *line)).collect();
    assert!(moved.is_empty() && now.lines().count() == known.lines().count(), "{moved:#?}");
}
