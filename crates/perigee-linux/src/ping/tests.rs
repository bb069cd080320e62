// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults that a ping must detect: each is put into an otherwise correct network or host.

use super::*;
use crate::frames::frame;
use perigee_guest::job::Host;
use perigee_sim::{Outside, Scheme};
use perigee_timeline::{
    App, Change, Chunk, Delay, Link, LinkId, Node, NodeClass, NodeId, OutageMode, Pair, Port, PortId,
    PortSpec, Timed,
};
use perigee_units::BitRate;
use std::sync::Arc;

/// Links of the test network, in order.
const WAYS: [(u32, u32); 6] = [(0, 1), (1, 2), (2, 1), (1, 0), (0, 3), (3, 2)];

/// s → r → d and back at 10 Mbit/s, with an unused route through x.
fn header() -> Header {
    let node = |name: &str| Node { name: name.into(), class: NodeClass::Router, place: None };
    let port = |(from, to): (u32, u32)| Port {
        name: format!("{from}-{to}"),
        node: NodeId(from),
        spec: PortSpec { framing: 14, ..PortSpec::packets(BitRate::from_mbit(10), 100) },
    };
    let link = |(i, (_, to)): (usize, (u32, u32))| Link {
        port: PortId(i as u32),
        to: NodeId(to),
        delay: Delay::constant(Nanos::from_millis(5)),
        // Random loss is not a fault: pings exclude it.
        loss: 0.9,
        up: true,
        order: Default::default(),
    };
    Header {
        duration: Nanos::from_secs(1),
        nodes: ["s", "r", "d", "x"].map(node).into(),
        ports: WAYS.map(port).into(),
        links: WAYS.into_iter().enumerate().map(link).collect(),
        pairs: vec![Pair { from: NodeId(0), to: NodeId(2) }, Pair { from: NodeId(2), to: NodeId(0) }],
        ..Header::default()
    }
}

fn path(at: Nanos, pair: u32, links: &[u32]) -> Timed {
    Timed { at, change: Change::Path(PairId(pair), Some(links.iter().map(|l| LinkId(*l)).collect())) }
}

fn beginning(more: &[Timed]) -> Beginning {
    let mut changes = vec![path(Nanos::ZERO, 0, &[0, 1]), path(Nanos::ZERO, 1, &[2, 3])];
    changes.extend(more.iter().cloned());
    Beginning(vec![Arc::new(Chunk { end: Nanos::from_secs(1), changes, ..Chunk::default() })])
}

fn setup() -> FlowSetup {
    let info = perigee_cc::info("newreno").unwrap();
    FlowSetup {
        name: "f".into(),
        forward: PairId(0),
        reverse: PairId(1),
        start: Nanos::ZERO,
        stop: Nanos::from_secs(1),
        app: App::Programs,
        scheme: Scheme::Builtin(info, info.params(Default::default()).unwrap()),
        tcp: perigee_tcp::Config::default(),
        notices: None,
        leg: None,
        outside: Outside { source: true, destination: true },
    }
}

fn plan() -> HostPlan {
    let host = |name: &str| Host { name: name.into(), ..Host::default() };
    HostPlan {
        nodes: vec![NodeId(0), NodeId(2)],
        ends: vec![Some((0, 1))],
        names: vec!["f".into()],
        job: Job { hosts: vec![host("s"), host("d")], end: Nanos::from_secs(1), ..Job::default() },
        ..HostPlan::default()
    }
}

/// Message of a ping as sent by a host.
fn echo(version: usize, number: u16, answer: bool, from: usize, to: usize) -> Box<[u8]> {
    let mut packet = vec![0; HEADERS[version] + 64];
    packet[0] = [0x45, 0x60][version];
    match version {
        0 => (packet[3], packet[9]) = (84, ICMP),
        _ => (packet[5], packet[6]) = (64, ICMP6),
    }
    let at = HEADERS[version];
    packet[at] = if answer { ECHO[version].1 } else { ECHO[version].0 };
    packet[at + 4..at + 6].copy_from_slice(&number.to_be_bytes());
    frame(&packet, from, to)
}

/// Two hosts and their faults.
#[derive(Default)]
struct TwoHosts {
    answered: BTreeSet<u16>,
    swapped_interfaces: bool,
    wrong_neighbour: bool,
    silent: bool,
    deaf: bool,
    without_ipv6: bool,
}

impl TwoHosts {
    fn interface(&self, host: usize) -> usize {
        if self.swapped_interfaces {
            1 - host
        } else {
            host
        }
    }
}

impl Hosts for TwoHosts {
    fn ask(&mut self) -> Result<Vec<HostFrame>, BackendError> {
        let to = if self.wrong_neighbour { 0 } else { 1 };
        let versions = if self.without_ipv6 { 1 } else { 2 };
        let ask = |v: usize| HostFrame { host: self.interface(0), bytes: echo(v, v as u16, false, 0, to) };
        Ok((0..versions).map(ask).collect())
    }

    fn exchange(&mut self, arrived: Vec<HostFrame>) -> Result<Vec<HostFrame>, BackendError> {
        let mut seen = Vec::new();
        for frame in arrived {
            let (version, message) = message(&frame.bytes).expect("nothing else is sent");
            if message.answer && !self.deaf {
                self.answered.insert(message.number);
            }
            if !message.answer && !self.silent {
                let bytes = echo(version, message.number, true, frame.host, 1 - frame.host);
                seen.push(HostFrame { host: self.interface(frame.host), bytes });
            }
        }
        Ok(seen)
    }

    fn answered(&mut self) -> Result<BTreeSet<u16>, BackendError> {
        Ok(self.answered.clone())
    }
}

/// Messages if the network differs from the timeline, or the hosts are faulty.
fn check(network: &[Timed], mut hosts: TwoHosts) -> Result<Vec<String>, String> {
    let (plan, setups) = (plan(), [setup()]);
    let pings = Pings::of(&plan, &setups);
    let source = || beginning(network).reader();
    pings.check(&header(), &beginning(&[]), &source, &mut hosts).map_err(|e| e.to_string())
}

#[test]
fn what_is_right_is_accepted() {
    assert_eq!(check(&[], TwoHosts::default()), Ok(vec![]));
    let (plan, setups) = (plan(), [setup()]);
    assert_eq!(Pings::of(&plan, &setups).job.pings.len(), 2);
}

#[test]
fn another_delay_names_its_hop() {
    let at = Nanos::ZERO;
    let slow =
        |link| Timed { at, change: Change::Delay(LinkId(link), Delay::constant(Nanos::from_millis(15))) };
    let said = check(&[slow(1)], TwoHosts::default()).unwrap_err();
    // 84 + 14 bytes at 10 Mbit/s are 78.4 us.
    let expected = "takes 15.078 ms instead of the timeline's 5.078 ms at the hop from r to d (port \"1-2\", hop 2 of 2)";
    assert!(said.contains(expected) && said.contains("flow \"f\" from s to d"), "{said}");
    // The return path uses other ports.
    let said = check(&[slow(3)], TwoHosts::default()).unwrap_err();
    assert!(said.contains("at the hop from r to s (port \"1-0\", hop 2 of 2)"), "{said}");
    // A rate that differs is also detected, from a microsecond on.
    let rate = Timed { at, change: Change::Rate(PortId(0), BitRate::from_mbit(9)) };
    let said = check(&[rate], TwoHosts::default()).unwrap_err();
    assert!(said.contains("at the hop from s to r"), "{said}");
}

#[test]
fn another_way_and_none_name_their_hop() {
    let at = Nanos::ZERO;
    let said = check(&[path(at, 0, &[4, 5])], TwoHosts::default()).unwrap_err();
    assert!(said.contains("takes link 4 instead of link 0 at the hop from s to r"), "{said}");
    let none = Timed { at, change: Change::Path(PairId(1), None) };
    let said = check(&[none], TwoHosts::default()).unwrap_err();
    assert!(said.contains("is lost at the hop from d to r"), "{said}");
    let down = Timed { at, change: Change::Down(LinkId(1), OutageMode::Flush) };
    let said = check(&[down], TwoHosts::default()).unwrap_err();
    assert!(said.contains("is dropped (outage) at the hop from r to d"), "{said}");
}

#[test]
fn hosts_that_are_connected_wrongly_are_named() {
    let said = |hosts: TwoHosts| check(&[], hosts).unwrap_err();
    let swapped = said(TwoHosts { swapped_interfaces: true, ..TwoHosts::default() });
    assert!(swapped.contains("s sends through the interface of d"), "{swapped}");
    let neighbour = said(TwoHosts { wrong_neighbour: true, ..TwoHosts::default() });
    assert!(neighbour.contains("s sends to s instead of d"), "{neighbour}");
    let silent = said(TwoHosts { silent: true, ..TwoHosts::default() });
    assert!(silent.contains("d does not answer"), "{silent}");
    let deaf = said(TwoHosts { deaf: true, ..TwoHosts::default() });
    assert!(deaf.contains("the answer is not accepted at s"), "{deaf}");
    let half = said(TwoHosts { without_ipv6: true, ..TwoHosts::default() });
    assert!(half.contains("by IPv6: s sends nothing"), "{half}");
}

/// Messages for a network that starts with these changes, which are also in the timeline.
fn skipped(changes: &[Timed]) -> Vec<String> {
    let (plan, setups) = (plan(), [setup()]);
    let timeline = beginning(changes);
    let pings = Pings::of(&plan, &setups);
    pings.check(&header(), &timeline, &|| timeline.reader(), &mut TwoHosts::default()).unwrap()
}

#[test]
fn what_nobody_can_tell_is_skipped_and_said() {
    let timed = |ms, change| Timed { at: Nanos::from_millis(ms), change };
    let said = skipped(&[timed(0, Change::Path(PairId(0), None))]);
    assert!(said[0].contains("no path at the beginning"), "{said:?}");
    let said = skipped(&[timed(0, Change::Down(LinkId(1), OutageMode::Hold))]);
    assert!(said[0].contains("outage at the beginning"), "{said:?}");
    let said = skipped(&[timed(7, Change::Down(LinkId(1), OutageMode::Flush))]);
    assert!(said[0].contains("changes while"), "{said:?}");
    let said = skipped(&[timed(3, Change::Path(PairId(0), Some(Arc::new([LinkId(4), LinkId(5)]))))]);
    assert!(said[0].contains("changes while"), "{said:?}");
    // Delays may vary, and links may change after the packets have crossed them.
    assert!(skipped(&[timed(
        3,
        Change::Delay(LinkId(1), Delay { base: Nanos::from_millis(9), slope: 1_000 })
    )])
    .is_empty());
    assert!(skipped(&[timed(15, Change::Down(LinkId(0), OutageMode::Flush))]).is_empty());
}
