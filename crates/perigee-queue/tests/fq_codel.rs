// SPDX-License-Identifier: Apache-2.0 OR MIT
//! fq_codel against RFC 8290: rounds, deficits, drops.

mod support;
use perigee_queue::{Discipline, Ecn, Packet, Verdict};
use perigee_units::params::Value;
use perigee_units::Nanos;
use support::*;

/// A port with fq_codel, and its number of waiting bytes.
struct Fq {
    d: Box<dyn Discipline>,
    bytes: u64,
    next_id: u32,
}

impl Fq {
    fn new(given: &[(&str, Value)]) -> Fq {
        Fq { d: made("fq_codel", given), bytes: 0, next_id: 0 }
    }

    /// Adds a packet of `ip` bytes; returns the packets dropped for it.
    fn push(&mut self, now: Nanos, flow: u64, ip: u32, fits: bool) -> Vec<Packet> {
        self.next_id += 1;
        let p =
            Packet { id: self.next_id, bytes: ip + 14, ip_bytes: ip, flow, ..packet(0, now, Ecn::NotEct) };
        self.bytes += u64::from(p.bytes);
        let mut lost = Vec::new();
        self.d.queues_mut().unwrap().push(now, p, fits, &mut lost);
        self.bytes -= lost.iter().map(|p| u64::from(p.bytes)).sum::<u64>();
        lost
    }

    /// Sends one packet; returns its flow.
    fn send(&mut self, now: Nanos) -> Option<u64> {
        let mut again = false;
        loop {
            let head = self.d.queues_mut().unwrap().head()?;
            let verdict = self.d.on_dequeue(&port(now, self.bytes), &head, again);
            let taken = self.d.queues_mut().unwrap().take().unwrap();
            assert_eq!(taken, head);
            self.bytes -= u64::from(head.bytes);
            if verdict != Verdict::Drop {
                return Some(head.flow);
            }
            again = true;
        }
    }

    fn sent(&mut self, now: Nanos, n: usize) -> Vec<u64> {
        (0..n).map_while(|_| self.send(now)).collect()
    }

    fn waiting(&self) -> Vec<u32> {
        let mut ids = Vec::new();
        self.d.queues().unwrap().for_each(&mut |p| ids.push(p.id));
        ids
    }
}

const T: Nanos = ms(1);

#[test]
fn a_flow_sends_its_quantum_of_ip_bytes_per_turn() {
    let mut fq = Fq::new(&[("quantum", Value::Int(1500))]);
    for _ in 0..6 {
        fq.push(T, 1, 1500, true);
        fq.push(T, 2, 500, true);
        fq.push(T, 3, 500, true);
    }
    // One packet of flow 1, three of the others; the framing of 14 bytes does not count.
    assert_eq!(fq.sent(T, 14), [1, 2, 2, 2, 3, 3, 3, 1, 2, 2, 2, 3, 3, 3]);
    assert_eq!(fq.sent(T, 99), [1, 1, 1, 1]);
}

#[test]
fn a_turn_ends_when_the_deficit_is_used_up_and_what_was_overdrawn_is_paid_back() {
    let mut fq = Fq::new(&[("quantum", Value::Int(1000))]);
    for _ in 0..8 {
        fq.push(T, 1, 1500, true);
        fq.push(T, 2, 1000, true);
    }
    // Deficits of flow 1: 1000, -500 | 500, -1000 | 0: skipped | 1000, ...
    assert_eq!(fq.sent(T, 10), [1, 2, 1, 2, 2, 1, 2, 1, 2, 2]);
}

#[test]
fn a_new_flow_is_served_before_the_old_ones_for_one_turn() {
    let mut fq = Fq::new(&[("quantum", Value::Int(1500))]);
    for _ in 0..20 {
        fq.push(T, 1, 1500, true);
        fq.push(T, 2, 1500, true);
    }
    assert_eq!(fq.sent(T, 4), [1, 2, 1, 2]);
    for _ in 0..3 {
        fq.push(T, 3, 1500, true);
    }
    // At first at once, then in turn. (Flow 2 is found to have used up its turn after flow 3 has
    // joined the round.)
    assert_eq!(fq.sent(T, 7), [3, 1, 3, 2, 1, 3, 2]);
}

#[test]
fn a_new_flow_that_falls_silent_passes_through_the_old_round_before_it_is_new_again() {
    let mut fq = Fq::new(&[("quantum", Value::Int(1500))]);
    for _ in 0..20 {
        fq.push(T, 1, 1500, true);
        fq.push(T, 2, 1500, true);
    }
    fq.sent(T, 2);
    fq.push(T, 3, 100, true);
    assert_eq!(fq.sent(T, 1), [3]);
    // The flow is found empty at the next dequeue and joins the old round; a packet that arrives
    // then waits for its turn there.
    assert_eq!(fq.sent(T, 1), [1]);
    fq.push(T, 3, 100, true);
    assert_eq!(fq.sent(T, 3), [2, 3, 1]);
    // If found empty in the list of old flows, it is removed and counts as new afterwards.
    assert_eq!(fq.sent(T, 2), [2, 1]);
    fq.push(T, 3, 100, true);
    assert_eq!(fq.sent(T, 1), [3]);
}

#[test]
fn a_full_port_drops_half_of_the_fattest_flow_oldest_first_but_64_packets_at_most() {
    let mut fq = Fq::new(&[]);
    for _ in 0..5 {
        fq.push(T, 1, 1000, true);
    }
    for _ in 0..10 {
        fq.push(T, 2, 1000, true);
    }
    // Flow 2 has 10 packets: its five oldest are dropped, and the packet of flow 3 stays.
    let lost = fq.push(T, 3, 1000, false);
    assert_eq!(lost.iter().map(|p| p.id).collect::<Vec<_>>(), [6, 7, 8, 9, 10]);
    // With an odd number, the larger half is dropped.
    fq.push(T, 2, 1000, true);
    fq.push(T, 2, 1000, true);
    assert_eq!(fq.push(T, 3, 1000, false).len(), 4);

    let mut fq = Fq::new(&[]);
    for _ in 0..199 {
        fq.push(T, 1, 1000, true);
    }
    assert_eq!(fq.push(T, 1, 1000, false).len(), 64);
    assert_eq!(fq.waiting().len(), 136);
    // The fattest flow is determined by bytes, not packets; of equal flows the first is chosen.
    let mut fq = Fq::new(&[]);
    (0..4).for_each(|_| drop(fq.push(T, 7, 100, true)));
    (0..2).for_each(|_| drop(fq.push(T, 5, 1500, true)));
    (0..2).for_each(|_| drop(fq.push(T, 6, 1500, true)));
    let lost = fq.push(T, 7, 100, false);
    assert_eq!(lost.iter().map(|p| p.flow).collect::<Vec<_>>(), [5]);
}

#[test]
fn flows_are_hashed_over_the_queues() {
    let mut fq = Fq::new(&[("queues", Value::Int(4)), ("quantum", Value::Int(1500))]);
    for flow in [1, 2, 1, 5, 2, 5] {
        fq.push(T, flow, 1500, true);
    }
    // Flows 1 and 5 share one of the four queues, in order of arrival.
    assert_eq!(fq.sent(T, 6), [1, 2, 1, 2, 5, 5]);
}

#[test]
fn each_flow_has_its_own_codel() {
    // Flow 1 has a standing queue; flow 2 sends single packets that leave at once.
    let mut fq = Fq::new(&[]);
    let (mut sent, mut now) = ([0, 0], ms(1));
    for step in 0..2000u64 {
        now += ms(1);
        for _ in fq.waiting().len()..40 {
            fq.push(now, 1, 1500, true);
        }
        if step % 3 == 0 {
            fq.push(now, 2, 100, true);
        }
        match fq.send(now) {
            Some(flow) => sent[flow as usize - 1] += 1,
            None => panic!("packets wait"),
        }
    }
    assert_eq!(sent[1], 667, "none of the thin flow's is lost");
    // Packets of flow 1 wait for some 55 ms: the first drop is after 100 ms, then at intervals of
    // 100 ms / sqrt(n): by 1.9 s ((19 + 1.46) / 2)^2 = 105.
    let dropped = fq.next_id as usize - fq.waiting().len() - sent[0] - sent[1];
    assert!((95..=110).contains(&dropped), "{dropped}");
}

#[test]
fn a_flow_with_one_full_packet_behind_its_head_loses_nothing() {
    for (behind, drops) in [(1500, false), (1501, true)] {
        let mut fq = Fq::new(&[]);
        fq.push(T, 1, behind, true);
        let mut seen = false;
        for i in 0..300 {
            // Each packet has waited for 20 ms when its turn comes.
            let now = ms(100 + 10 * i);
            fq.push(now - ms(20), 1, behind, true);
            let head = fq.d.queues_mut().unwrap().head().unwrap();
            let head = Packet { arrived: now - ms(20), ..head };
            seen |= fq.d.on_dequeue(&port(now, fq.bytes), &head, false) == Verdict::Drop;
            fq.d.queues_mut().unwrap().take();
        }
        assert_eq!(seen, drops, "{behind}");
    }
}

#[test]
fn what_is_marked_counts_against_the_turn_and_what_is_dropped_does_not() {
    // Both flows are late from the start; a mark uses up the turn, whereas a drop leaves it to the
    // next packet.
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let mut fq = Fq::new(&[("quantum", Value::Int(1000)), ("interval", text("1 ms"))]);
        for flow in [1, 2] {
            for i in 0..6 {
                let id = (flow - 1) * 10 + i + 1;
                let p = Packet { flow: flow.into(), bytes: 1000, ip_bytes: 1000, ..packet(id, T, ecn) };
                fq.bytes += 1000;
                fq.d.queues_mut().unwrap().push(T, p, true, &mut Vec::new());
            }
        }
        // Start of the time above the target.
        assert_eq!(fq.sent(ms(50), 2), [1, 2]);
        let first = fq.d.queues_mut().unwrap().head().unwrap();
        let verdict = fq.d.on_dequeue(&port(ms(52), fq.bytes), &first, false);
        fq.d.queues_mut().unwrap().take();
        let next = fq.d.queues_mut().unwrap().head().unwrap();
        match ecn {
            Ecn::NotEct => assert_eq!((verdict, first.flow, next.flow), (Verdict::Drop, 1, 1)),
            _ => assert_eq!((verdict, first.flow, next.flow), (Verdict::Mark, 1, 2)),
        }
    }
}

#[test]
fn what_waits_for_a_link_that_goes_down_is_lost_and_the_rest_keeps_its_order() {
    let mut fq = Fq::new(&[]);
    for id in 1..=6 {
        let p = Packet { flow: u64::from(id % 2), link: id % 3, ..packet(id, T, Ecn::NotEct) };
        fq.d.queues_mut().unwrap().push(T, p, true, &mut Vec::new());
        fq.bytes += 1500;
    }
    let mut lost = Vec::new();
    fq.d.queues_mut().unwrap().flush(T, 1, &mut lost);
    let mut ids: Vec<u32> = lost.iter().map(|p| p.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 4]);
    assert_eq!(fq.waiting(), [2, 6, 3, 5]);
    fq.bytes -= 3000;
    // Half of the fattest flow's 3,000 bytes is one packet: the byte counts are correct.
    assert_eq!(fq.push(T, 0, 1486, false).iter().map(|p| p.id).collect::<Vec<_>>(), [2, 6]);
    assert_eq!(fq.sent(T, 9).len(), 3);
    assert_eq!(fq.bytes, 0);
}

#[test]
fn the_flow_that_loses_is_always_the_one_with_the_most_bytes() {
    const FLOWS: usize = 16;
    let mut fq = Fq::new(&[("queues", Value::Int(FLOWS as i64))]);
    let mut bytes = [0u64; FLOWS];
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut losses = 0;
    for i in 0..20_000u64 {
        // Alternates between calm times, in which the search is abandoned, and crowded ones.
        let crowded = i / 1000 % 2 == 0;
        let (flow, ip) = (draw(FLOWS as u64), 100 + draw(1400) as u32);
        bytes[flow as usize] += u64::from(ip + 14);
        let fattest = (0..FLOWS).rev().max_by_key(|&f| bytes[f]).unwrap() as u64;
        let lost = fq.push(Nanos(i), flow, ip, !crowded || draw(3) > 0);
        assert!(lost.iter().all(|p| p.flow == fattest), "{lost:?} {bytes:?}");
        losses += lost.len();
        lost.iter().for_each(|p| bytes[p.flow as usize] -= u64::from(p.bytes));
        if draw(2) == 0 {
            let before: u64 = fq.bytes;
            if let Some(flow) = fq.send(Nanos(i)) {
                bytes[flow as usize] -= before - fq.bytes;
            }
        }
    }
    assert!(losses > 1000, "{losses}");
}
