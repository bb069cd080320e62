// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two classes, packets with telemetry and all others, each with its own queue, served by weight
//! (deficit round robin, Shreedhar and Varghese 1996).
//!
//! * The class with telemetry gets the share w of the rate while both are backlogged; a class that
//!   is backlogged alone gets all of it.
//! * Per turn the deficits grow by `2 quantum w` and `2 quantum (1 - w)` bytes, framing included.
//!   An unused deficit carries over to the next turn, unless the queue runs empty.
//! * When the port is full, the class that exceeds its share of the buffer drops its newest packets
//!   until the arriving one fits.
//! * The port's telemetry describes the class: backlog of its own queue, and w times the rate.
//!   (Bytes sent count packets with telemetry only, at every port.) A sender that computes its rate
//!   from telemetry (OrbCC, HPCC) thus observes a dedicated port, and does not yield to packets that
//!   do not delay its own. Telemetry reports w times the rate even while the other class is idle: the
//!   rest of the port stays unused then.
//! * With w above 1/2 the packets of the class leave in bursts at the full rate of the port, so
//!   that most samples report a higher rate than the mean over time. OrbCC, which weights every ACK
//!   equally, stays below its share (`orbcc` by 15 %, `orbcc-repro` by 10 % with w = 0.8); with
//!   weights by time (`cc.orbcc.ewma = "hpcc_time"`) it reaches the share
//!   (`crates/perigee-sim/tests/classes.rs`).

use crate::{Discipline, DisciplineInfo, Own, Packet, Queues, Setup};
use perigee_units::params::{Domain, ParamSpec, Params};
use perigee_units::Nanos;
use std::collections::VecDeque;

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "classes",
    label: "Queue per class",
    summary: "packets with telemetry in a separate queue with a share of the rate, which telemetry reports",
    params: PARAMS,
    make: Some(|params, setup| Box::new(Classes::new(params, setup))),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "telemetry_share",
        domain: Domain::Float { default: 0.5, min: 0.01, max: 0.99 },
        unit: "",
        source: "choice",
        help: "share of the rate and of the buffer of packets with telemetry",
    },
    ParamSpec {
        name: "quantum",
        domain: Domain::Int { default: 1514, min: 1, max: 1_000_000 },
        unit: "bytes",
        source: "as RFC 8290 section 5.2.4",
        help: "half of the bytes that both classes together send per turn",
    },
];

/// Queue of one class.
#[derive(Clone, Debug, Default)]
struct Class {
    packets: VecDeque<Packet>,
    bytes: u64,
    weight: f64,
    quantum: i64,
    deficit: i64,
}

/// Deficits are in fractions of a byte, so that weights are exact even for small quanta.
const PARTS: f64 = 1e6;

fn parts(packet: &Packet) -> i64 {
    i64::from(packet.bytes) * PARTS as i64
}

impl Class {
    fn new(weight: f64, quantum: i64) -> Self {
        let quantum = (2.0 * quantum as f64 * weight * PARTS).round() as i64;
        Class { weight, quantum, deficit: quantum, ..Class::default() }
    }

    /// Number of further turns that do not suffice for the head: small turns are skipped at once.
    fn turns_in_vain(&self) -> Option<i64> {
        let first = self.packets.front()?;
        Some(((parts(first) - self.deficit - 1) / self.quantum).max(0))
    }

    /// Backlog divided by the weight.
    fn fullness(&self) -> f64 {
        self.bytes as f64 / self.weight
    }

    fn lose(&mut self, packet: Option<Packet>) -> Option<Packet> {
        self.bytes -= packet.map_or(0, |p| u64::from(p.bytes));
        packet
    }
}

/// State of one port.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The class with telemetry, and that of all other packets.
    classes: [Class; 2],
    turn: usize,
}

impl Classes {
    /// Empty queues.
    pub fn new(params: &Params, _setup: &Setup) -> Self {
        let (share, quantum) = (params.float("telemetry_share"), params.int("quantum"));
        Classes { classes: [Class::new(share, quantum), Class::new(1.0 - share, quantum)], turn: 0 }
    }
}

impl Discipline for Classes {
    fn own(&self) -> Option<Own> {
        let mine = &self.classes[0];
        Some(Own { packets: mine.packets.len() as u64, bytes: mine.bytes, share: mine.weight })
    }
    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }
    fn queues_mut(&mut self) -> Option<&mut dyn Queues> {
        Some(self)
    }
}

impl Queues for Classes {
    fn push(&mut self, _now: Nanos, packet: Packet, fits: bool, lost: &mut Vec<Packet>) {
        let class = &mut self.classes[usize::from(!packet.telemetry)];
        class.packets.push_back(packet);
        class.bytes += u64::from(packet.bytes);
        let mut wanted = if fits { 0 } else { packet.bytes };
        while wanted > 0 {
            let fuller = usize::from(self.classes[1].fullness() > self.classes[0].fullness());
            let class = &mut self.classes[fuller];
            let newest = class.packets.pop_back();
            let Some(newest) = class.lose(newest) else { return };
            wanted = wanted.saturating_sub(newest.bytes);
            lost.push(newest);
        }
    }

    fn head(&mut self) -> Option<Packet> {
        loop {
            let class = &mut self.classes[self.turn];
            match class.packets.front() {
                Some(first) if class.deficit >= parts(first) => return Some(*first),
                Some(_) => {}
                None => class.deficit = 0,
            }
            // Zero if the other class can send; `None` if no packet waits.
            let vain = self.classes.iter().filter_map(Class::turns_in_vain).min()?;
            for class in self.classes.iter_mut().filter(|c| !c.packets.is_empty()) {
                class.deficit += vain * class.quantum;
            }
            self.turn = 1 - self.turn;
            let next = &mut self.classes[self.turn];
            next.deficit += next.quantum;
        }
    }

    fn take(&mut self) -> Option<Packet> {
        let class = &mut self.classes[self.turn];
        let first = class.packets.pop_front();
        class.deficit -= first.as_ref().map_or(0, parts);
        class.lose(first)
    }

    fn flush(&mut self, _now: Nanos, link: u32, lost: &mut Vec<Packet>) {
        for class in &mut self.classes {
            lost.extend(class.packets.iter().filter(|p| p.link == link));
            class.packets.retain(|p| p.link != link);
            class.bytes = class.packets.iter().map(|p| u64::from(p.bytes)).sum();
        }
    }

    fn for_each(&self, show: &mut dyn FnMut(&Packet)) {
        self.classes.iter().flat_map(|c| &c.packets).for_each(show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::params::Value;
    use std::collections::BTreeMap;

    fn classes(share: f64) -> Classes {
        with_quantum(share, 1514)
    }

    fn with_quantum(share: f64, quantum: i64) -> Classes {
        let given = BTreeMap::from([
            ("telemetry_share".to_string(), Value::Float(share)),
            ("quantum".to_string(), Value::Int(quantum)),
        ]);
        Classes::new(&Params::new(PARAMS, given).unwrap(), &Setup::bytes(0))
    }

    fn packet(telemetry: bool, bytes: u32) -> Packet {
        Packet { telemetry, bytes, ip_bytes: bytes, link: u32::from(telemetry), ..Packet::default() }
    }

    fn push(q: &mut Classes, telemetry: bool, bytes: u32, fits: bool) -> Vec<Packet> {
        let mut lost = Vec::new();
        q.push(Nanos::ZERO, packet(telemetry, bytes), fits, &mut lost);
        lost
    }

    fn serve(q: &mut Classes) -> Option<Packet> {
        let head = q.head();
        assert_eq!(q.head(), head, "asked twice it is the same one");
        assert_eq!(q.take(), head);
        head
    }

    #[test]
    fn while_both_wait_each_has_its_share_whatever_its_packets_weigh() {
        for (share, quantum) in [(0.1, 1514), (0.5, 1514), (0.8, 1514), (0.01, 1), (0.1, 3)] {
            for (mine, other) in [(1500, 1500), (60, 1500), (1500, 60), (1514, 9000)] {
                let mut q = with_quantum(share, quantum);
                let mut sent = [0u64; 2];
                for _ in 0..100_000 {
                    while q.classes[0].packets.len() < 3 {
                        push(&mut q, true, mine, true);
                    }
                    while q.classes[1].packets.len() < 3 {
                        push(&mut q, false, other, true);
                    }
                    let p = serve(&mut q).unwrap();
                    sent[usize::from(!p.telemetry)] += u64::from(p.bytes);
                }
                let (total, most) = ((sent[0] + sent[1]) as f64, 2.0 * 9000.0 + 2.0 * 1514.0);
                let off = (sent[0] as f64 - share * total).abs();
                assert!(off <= most + 0.001 * total, "{share} {mine} {other}: {off} of {total}");
            }
        }
    }

    #[test]
    fn a_class_that_is_alone_has_all_and_saves_nothing_up() {
        let mut q = classes(0.5);
        for _ in 0..50 {
            push(&mut q, true, 1500, true);
        }
        (0..40).for_each(|_| assert!(serve(&mut q).unwrap().telemetry));
        // The other class becomes active: it gets turns from now on, but not those it missed.
        (0..20).for_each(|_| drop(push(&mut q, false, 1500, true)));
        let served: Vec<bool> = (0..20).map(|_| serve(&mut q).unwrap().telemetry).collect();
        let mine = served.iter().filter(|&&t| t).count();
        assert!((9..=10).contains(&mine), "{served:?}");
        while serve(&mut q).is_some() {}
        assert_eq!(q.own(), Some(Own { packets: 0, bytes: 0, share: 0.5 }));
    }

    #[test]
    fn telemetry_is_that_of_its_own_queue() {
        let mut q = classes(0.25);
        push(&mut q, false, 900, true);
        push(&mut q, true, 1000, true);
        push(&mut q, true, 500, true);
        assert_eq!(q.own(), Some(Own { packets: 2, bytes: 1500, share: 0.25 }));
    }

    #[test]
    fn where_the_port_is_full_who_has_more_than_its_weight_loses_its_newest() {
        let mut q = classes(0.5);
        (0..4).for_each(|_| drop(push(&mut q, false, 1500, true)));
        push(&mut q, true, 1500, true);
        assert_eq!(push(&mut q, true, 1400, false), [packet(false, 1500)], "the other class has more");
        (0..3).for_each(|_| drop(push(&mut q, true, 1500, true)));
        assert_eq!(push(&mut q, true, 1300, false), [packet(true, 1300)]);
        assert_eq!(q.own().unwrap().packets, 5);
    }

    #[test]
    fn a_full_packet_takes_the_room_of_as_many_small_ones_as_it_needs() {
        let mut q = classes(0.5);
        (0..100).for_each(|_| drop(push(&mut q, false, 60, true)));
        assert_eq!(push(&mut q, true, 1500, false).len(), 25);
        assert_eq!((q.classes[0].bytes, q.classes[1].bytes), (1500, 75 * 60));
        assert_eq!(push(&mut q, false, 60, false), [packet(false, 60)], "a small one takes that of one");
    }

    #[test]
    fn a_link_that_goes_down_takes_its_packets_along() {
        let mut q = classes(0.5);
        push(&mut q, true, 1500, true);
        push(&mut q, false, 700, true);
        let mut lost = Vec::new();
        q.flush(Nanos::ZERO, 1, &mut lost);
        assert_eq!(lost, [packet(true, 1500)]);
        assert_eq!(q.own(), Some(Own { packets: 0, bytes: 0, share: 0.5 }));
        let mut left = Vec::new();
        q.for_each(&mut |p| left.push(*p));
        assert_eq!(left, [packet(false, 700)]);
    }
}
