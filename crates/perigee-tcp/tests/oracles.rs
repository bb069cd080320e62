// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending side, ACK by ACK, against the kernel (the numbers are those of packetdrill scripts that
//! pass on a kernel).

mod support;
use perigee_cc::{CaState, CongestionControl};
use perigee_tcp::config::Reduction;
use perigee_tcp::{AckBlocks, Config};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use support::*;

#[test]
fn the_first_window_is_ten_full_packets_in_one_burst() {
    let mut s = Script::cubic(100);
    assert_eq!(s.send(), fresh(0..10));
    assert_eq!((s.cwnd(), s.sender.in_flight(), s.sender.pacing_rate()), (10, 10, None));
    let cfg = Config::default();
    assert_eq!(
        (cfg.mss, cfg.header, cfg.init_cwnd),
        (1448, 52, 10),
        "1500 bytes on the wire with timestamps"
    );
}

#[test]
fn the_first_window_measures_ten_packets_per_rtt() {
    let mut s = Script::cubic(100);
    s.send();
    assert_eq!(s.sender.delivery_rate(), None);
    s.now += RTT;
    s.ack(10);
    assert_eq!(s.sender.delivery_rate(), Some(BitRate(10 * 8 * MSS * 10)), "10 packets in 100 ms");
}

#[test]
fn the_third_sack_repairs_the_first_packet_and_the_window_ends_at_the_threshold() {
    let mut s = Script::cubic(10);
    s.send();
    s.now += RTT;
    assert_eq!(s.sacks(0, &[(1, 2)]), vec![]);
    assert_eq!(s.sacks(0, &[(1, 3)]), vec![]);
    assert_eq!(s.sacks(0, &[(1, 4)]), again(0..1));
    assert_eq!((s.state(), s.ssthresh()), (CaState::Recovery, 7));
    assert_eq!(s.sender.in_flight(), 7, "10 out, 3 selectively acknowledged, 1 lost and sent again");
    for end in 5..=10 {
        assert_eq!(s.sacks(0, &[(1, end)]), vec![]);
    }
    s.now += RTT;
    s.ack(10);
    assert_eq!((s.state(), s.cwnd(), s.ssthresh()), (CaState::Open, 7, 7));
    assert_eq!(s.write(30), fresh(10..17), "exactly the window");
}

#[test]
fn each_further_sack_releases_one_retransmission_in_order() {
    let mut s = Script::cubic(10);
    s.send();
    s.now += RTT;
    let sent: Vec<Sent> = (5..=10).map(|end| s.sacks(0, &[(4, end)])).collect();
    assert_eq!(sent[..2], [vec![], vec![]]);
    assert_eq!(sent[2..], [again(0..1), again(1..2), again(2..3), again(3..4)]);
    s.now += RTT;
    s.ack(10);
    assert_eq!((s.state(), s.cwnd()), (CaState::Open, 7));
    assert_eq!(s.write(30), fresh(10..17));
}

#[test]
fn lost_packets_go_before_new_ones() {
    let mut s = Script::cubic(1000);
    s.send();
    s.now += RTT;
    assert_eq!(s.sacks(0, &[(4, 5)]), fresh(10..11), "limited transmit");
    assert_eq!(s.sacks(0, &[(4, 6)]), fresh(11..12));
    let mut sent = vec![];
    for end in 7..=12 {
        s.now += ms(1);
        sent.extend(s.sacks(0, &[(4, end)]));
    }
    assert_eq!(sent[..4], again(0..4));
    assert!(sent[4..].iter().all(|(seg, again)| *seg >= 12 && !again), "{sent:?}");
}

#[test]
fn below_the_threshold_the_reduction_conserves_packets_and_adds_one_where_an_ack_advances() {
    // 20 segments sent; 0 to 3 and 10 to 15 are lost.
    let mut s = Script::new("cubic", Config { init_cwnd: 20, ..plain() }, 20);
    s.send();
    s.now += RTT;
    let sent: Vec<usize> = (5..=10).map(|end| s.sacks(0, &[(4, end)]).len()).collect();
    assert_eq!(s.ssthresh(), 14);
    // 3 delivered and 4 lost leave 13 in flight, one below the threshold: one packet for each
    // delivered.
    assert_eq!(sent, [0, 0, 1, 1, 1, 1]);
    // 4 delivered and 6 more lost: far below the threshold, but still as many packets as were
    // delivered.
    assert_eq!(s.sacks(0, &[(16, 20), (4, 10)]), again(10..14));
    assert_eq!(s.sender.in_flight(), 4 + 4);
    s.now += RTT;
    // The 4 retransmissions arrive, and the ACK advances without a new loss: one packet more than
    // were delivered.
    assert_eq!(s.sacks(10, &[(16, 20)]), again(14..16));
    assert_eq!(s.write(40), fresh(20..23));
    s.now += RTT;
    s.ack(23);
    assert_eq!((s.state(), s.cwnd()), (CaState::Open, 14));
}

/// A sender of 20 packets after 19 SACKs for the packets after a lost one, and the number of
/// packets sent meanwhile.
fn recovering(reduction: Reduction) -> (Script, usize) {
    let mut s = Script::new("cubic", Config { init_cwnd: 20, reduction, ..plain() }, 1000);
    s.send();
    s.now += RTT;
    let mut sent = 0;
    for end in 2..=20 {
        s.now += ms(1);
        sent += s.sacks(0, &[(1, end)]).len();
    }
    (s, sent)
}

#[test]
fn above_the_threshold_seven_packets_go_for_ten_delivered() {
    for reduction in [Reduction::Rfc9937, Reduction::Rfc6937] {
        let (s, sent) = recovering(reduction);
        // Two by limited transmit; then ⌈14 n / 20⌉ after the n-th of 17.
        assert_eq!((sent, s.ssthresh(), s.sender.in_flight()), (2 + 12, 14, 14), "{reduction:?}");
    }
}

#[test]
fn ns3_sends_more_than_is_delivered_because_sacks_count_double() {
    let (s, sent) = recovering(Reduction::Ns3);
    // 18 in flight at the start: nine SACKs count twice, the other eight once: 14 · 26 / 18 = 20.2.
    assert_eq!((sent, s.ssthresh()), (2 + 20, 14));
}

#[test]
fn ns3_stops_when_its_product_of_32_bits_wraps_around() {
    let cfg = Config { init_cwnd: 200, reduction: Reduction::Ns3, rmem: 0, ..plain() };
    let mut s = Script::new("cubic", cfg, 10_000);
    s.send();
    s.now += RTT;
    let mut sent = vec![];
    for end in 2..=90 {
        s.now += Nanos(1000);
        sent.push(s.sacks(0, &[(1, end)]).len());
    }
    // With a threshold of 140,000 bytes, 30.7 packets reach 2^32, and each SACK counts two: 15
    // SACKs send 140 * 30 / 198 = 21.2 packets; then the product wraps to zero, and nothing is sent
    // until the data in flight is down to the threshold.
    assert_eq!(s.ssthresh(), 140);
    assert_eq!(sent[..2], [1, 1], "limited transmit");
    assert_eq!(sent[2..17].iter().sum::<usize>(), 21);
    assert_eq!(sent[17..70].iter().sum::<usize>(), 0);
}

/// A sender of ten packets without a tail loss probe; 0, 2 and 4 are lost and retransmitted.
fn three_holes(impatient: bool) -> Script {
    let cfg = Config { impatient, tlp: false, frto: false, ..plain() };
    let mut s = Script::new("newreno", cfg, 10);
    s.send();
    s.now += RTT;
    s.sacks(0, &[(1, 2)]);
    s.sacks(0, &[(3, 4), (1, 2)]);
    for end in 6..=10 {
        s.now += ms(1);
        s.sacks(0, &[(5, end), (3, 4), (1, 2)]);
    }
    s
}

#[test]
fn who_is_impatient_restarts_the_timer_on_the_first_partial_ack_alone() {
    for (impatient, later) in [(false, ms(20)), (true, Nanos::ZERO)] {
        let mut s = three_holes(impatient);
        let before = s.sender.next_timer();
        s.now += ms(80);
        s.sacks(2, &[(5, 10), (3, 4)]);
        let first = s.sender.next_timer();
        assert!(first > before, "impatient: {impatient}");
        s.now += ms(20);
        s.sacks(4, &[(5, 10)]);
        assert_eq!((s.state(), s.sender.next_timer()), (CaState::Recovery, first + later));
    }
}

#[test]
fn without_samples_of_sacks_a_hole_keeps_the_smoothed_rtt() {
    for (sack_rtt, changes) in [(true, true), (false, false)] {
        let mut s = Script::new("newreno", Config { sack_rtt, ..plain() }, 100);
        s.send();
        s.now += ms(300);
        let before = s.sender.srtt();
        s.sacks(0, &[(1, 2)]);
        assert_eq!(s.sender.srtt() != before, changes);
    }
}

#[test]
fn a_reduction_by_a_mark_lasts_until_a_packet_sent_after_it_is_acknowledged() {
    // RFC 3168 section 6.1.2: once per window of data. Linux leaves CWR on the first ACK beyond the
    // data outstanding at its start.
    let begin = || {
        let mut s = Script::new("cubic", Config { ecn: true, ..plain() }, 1000);
        s.send();
        s.now += RTT;
        assert_eq!(s.told(marked(1)), fresh(10..11));
        assert_eq!((s.state(), s.ssthresh(), s.cwnd()), (CaState::Cwr, 7, 10));
        s
    };
    let mut s = begin();
    for ack in 2..=10 {
        s.told(marked(ack));
        assert_eq!(s.state(), CaState::Cwr, "{ack} of the ten packets of its window");
    }
    s.now += RTT;
    s.told(marked(11));
    assert_eq!((s.state(), s.cwnd()), (CaState::Open, 7));
    // Where one ACK ends it, the window has not been reduced step by step; a window's worth of
    // packets adds one.
    let mut s = begin();
    s.now += RTT;
    s.told(marked(11));
    assert_eq!((s.state(), s.cwnd()), (CaState::Open, 8));
}

fn marked(ack: u64) -> AckBlocks {
    AckBlocks { ack, marked: 1, covered: 1, ..AckBlocks::default() }
}

#[test]
fn a_retransmission_that_is_lost_is_found_without_a_timeout() {
    let mut s = Script::cubic(1000);
    s.send();
    s.now += RTT;
    for end in 2..=10 {
        s.sacks(0, &[(1, end)]);
    }
    assert!(s.sender.in_flight() > 1);
    let nxt = s.sender.una_nxt().1;
    s.now += RTT;
    // Segments sent after the retransmission arrive, the retransmission does not.
    let sent = s.sacks(0, &[(1, nxt)]);
    assert_eq!(sent.first(), Some(&(0, true)));
    assert_eq!((s.state(), s.sender.stats().timeouts), (CaState::Recovery, 0));
}

#[test]
fn reordering_releases_new_packets_and_heals_without_a_reduction() {
    let mut s = Script::cubic(1000);
    s.send();
    s.now += RTT;
    assert_eq!(s.sacks(0, &[(1, 2)]), fresh(10..11));
    assert_eq!(s.sacks(0, &[(1, 3)]), fresh(11..12));
    assert_eq!(s.state(), CaState::Disorder);
    s.ack(3);
    assert_eq!((s.state(), s.sender.stats().retrans), (CaState::Open, 0));
    assert!(s.cwnd() >= 10, "no moderation at the end of Disorder: {}", s.cwnd());
    // Reordering was observed: from now on, three SACKs indicate a loss only after a quarter of the
    // RTT.
    assert!(!s.sacks(3, &[(4, 9)]).contains(&(3, true)));
    let (waited, sent) = s.wait();
    assert_eq!(sent.first(), Some(&(3, true)));
    assert!((ms(25)..=ms(30)).contains(&waited), "{waited:?}");
}

#[test]
fn a_lone_packet_is_probed_at_its_timeout_and_timeouts_double() {
    let mut s = Script::cubic(1);
    s.send();
    s.now += RTT;
    s.ack(1);
    assert_eq!(s.sender.rto(), ms(300), "two samples of 100 ms");
    assert_eq!(s.write(2), fresh(1..2));
    // Two RTTs and 200 ms would be later than the timeout.
    let (waited, sent) = s.wait();
    assert_eq!((waited, sent), (ms(300), again(1..2)));
    assert_eq!((s.sender.stats().probes, s.sender.stats().timeouts), (1, 0));
    let waits: Vec<Nanos> = (0..3).map(|_| s.wait().0).collect();
    assert_eq!(s.sender.stats().timeouts, 3);
    assert_eq!(waits[1..], [2 * 300, 4 * 300].map(ms), "{waits:?}");
}

#[test]
fn a_tail_is_probed_after_two_rtts() {
    let mut s = Script::cubic(10);
    s.send();
    s.now += RTT;
    s.ack(8);
    let (waited, sent) = s.wait();
    assert_eq!(sent, again(9..10), "the last packet, as there is no new one");
    assert_eq!(waited, ms(202));
    assert_eq!(s.cwnd() * MSS, s.sender.window().cwnd, "a probe reduces nothing");
}

#[test]
fn after_a_timeout_slow_start_begins_with_one_packet() {
    let mut s = Script::new("cubic", Config { tlp: false, ..plain() }, 10);
    s.send();
    assert_eq!(s.wait(), (ms(300), again(0..1)));
    assert_eq!((s.state(), s.ssthresh(), s.cwnd(), s.sender.in_flight()), (CaState::Loss, 7, 1, 1));
    s.now += RTT;
    assert_eq!(s.ack(1), again(1..3), "from one to two");
    s.now += RTT;
    s.ack(3);
    assert_eq!(s.cwnd(), 4);
}

#[test]
fn a_timeout_whose_packets_arrive_after_all_is_taken_back() {
    let mut s = Script::new("cubic", Config { tlp: false, ..plain() }, 1000);
    s.send();
    s.wait();
    assert_eq!((s.state(), s.cwnd()), (CaState::Loss, 1));
    s.now += ms(1);
    // F-RTO: new data shows whether the path delays or loses.
    let sent = s.ack(1);
    assert!(!sent.is_empty() && sent.iter().all(|(seg, again)| *seg >= 10 && !again), "{sent:?}");
    s.now += ms(1);
    s.ack(2);
    assert_eq!(s.state(), CaState::Open);
    assert!(s.cwnd() >= 10 && s.ssthresh() > 1000, "{} {}", s.cwnd(), s.ssthresh());
    assert_eq!(s.sender.stats().undos, 1);
}

#[test]
fn a_duplicate_of_each_retransmission_takes_the_reduction_back() {
    let mut s = Script::cubic(10);
    s.send();
    s.now += RTT;
    s.sacks(0, &[(1, 2)]);
    s.sacks(0, &[(1, 3)]);
    s.sacks(0, &[(1, 4)]);
    assert_eq!((s.state(), s.ssthresh()), (CaState::Recovery, 7));
    s.now += ms(5);
    s.ack(4);
    s.now += RTT;
    s.dsack(4, 0);
    assert_eq!((s.state(), s.cwnd(), s.sender.stats().undos), (CaState::Open, 10, 1));
    assert!(s.ssthresh() > 1000);
}

#[test]
fn a_duplicate_above_the_cumulative_ack_is_delivered_though_its_first_report_was_lost() {
    let told = |by_dsack: bool| {
        let mut s = Script::cubic(200);
        s.send();
        s.now += RTT;
        let mut sent = s.sacks(0, &[(6, 9)]);
        s.now += ms(1);
        sent.extend(s.sacks(0, &[(6, 10)]));
        assert!(sent.contains(&(1, true)), "{sent:?}");
        s.now += RTT;
        let sent = if by_dsack { s.dsack(0, 1) } else { s.sacks(0, &[(1, 2), (6, 10)]) };
        // Room freed by the ACK itself: a duplicate also counts as delivered and releases one
        // packet.
        s.sender.in_flight() - sent.len() as u64
    };
    assert_eq!((told(true), told(false)), (2, 2));
}

#[test]
fn a_timestamp_from_before_the_retransmission_takes_the_reduction_back() {
    let mut s = Script::new("cubic", Config { timestamps: true, ..plain() }, 1000);
    s.send();
    let sent_ms = s.now.0 as u32 / 1_000_000 + 1;
    s.now += RTT;
    for end in 2..=4 {
        let mut sacks = [(0, 0); 4];
        sacks[0] = (1, end);
        s.told(AckBlocks { sacks, count: 1, ts_ecr: sent_ms, covered: 1, ..AckBlocks::default() });
    }
    assert_eq!((s.state(), s.cwnd() < 10), (CaState::Recovery, true));
    s.now += ms(10);
    s.told(AckBlocks { ack: 4, ts_ecr: sent_ms, covered: 1, ..AckBlocks::default() });
    assert_eq!((s.state(), s.sender.stats().undos), (CaState::Open, 1));
    assert!(s.cwnd() >= 10 && s.ssthresh() > 1000);
}

#[test]
fn what_is_taken_back_at_the_end_of_a_recovery_is_the_whole_window_and_a_threshold_of_three_quarters_of_it() {
    let cfg = Config { timestamps: true, init_cwnd: 20, init_ssthresh: 4, ..plain() };
    let mut s = Script::new("cubic", cfg, 20);
    s.send();
    let sent_ms = s.now.0 as u32 / 1_000_000 + 1;
    s.now += RTT;
    for end in 2..=4 {
        let mut sacks = [(0, 0); 4];
        sacks[0] = (1, end);
        s.told(AckBlocks { sacks, count: 1, ts_ecr: sent_ms, covered: 1, ..AckBlocks::default() });
    }
    assert_eq!((s.state(), s.ssthresh()), (CaState::Recovery, 14));
    s.now += ms(10);
    s.told(AckBlocks { ack: 20, ts_ecr: sent_ms, covered: 1, ..AckBlocks::default() });
    assert_eq!((s.state(), s.sender.stats().undos), (CaState::Open, 1));
    assert_eq!((s.cwnd(), s.ssthresh()), (20, 15));
}

#[test]
fn nothing_is_taken_back_for_one_hole_while_the_repair_of_another_is_under_way() {
    let cfg = Config { timestamps: true, ..plain() };
    let mut s = Script::new("cubic", cfg, 10);
    s.send();
    let sent_ms = s.now.0 as u32 / 1_000_000 + 1;
    s.now += RTT;
    let told = |s: &mut Script, ack, ranges: &[(u64, u64)]| {
        let mut sacks = [(0, 0); 4];
        sacks[..ranges.len()].copy_from_slice(ranges);
        let count = ranges.len() as u8;
        s.told(AckBlocks { ack, sacks, count, ts_ecr: sent_ms, covered: 1, ..AckBlocks::default() })
    };
    // 0 and 4 are lost and retransmitted; then 0 arrives late.
    told(&mut s, 0, &[(1, 4)]);
    assert_eq!(s.state(), CaState::Recovery);
    told(&mut s, 0, &[(5, 10), (1, 4)]);
    assert_eq!(s.sender.stats().retrans, 2);
    s.now += ms(10);
    told(&mut s, 4, &[(5, 10)]);
    assert_eq!((s.state(), s.sender.stats().undos), (CaState::Recovery, 0));
    s.now += ms(10);
    told(&mut s, 10, &[]);
    assert_eq!((s.state(), s.sender.stats().undos), (CaState::Open, 1));
}

#[test]
fn an_ack_without_news_leaves_the_window_of_a_reduction_alone() {
    // RFC 6937 section 3.1: the slow start reduction bound adds a packet on ACKs that deliver data.
    let cfg = Config { init_cwnd: 20, reduction: Reduction::Rfc6937, ..plain() };
    let mut s = Script::new("cubic", cfg, 1000);
    s.send();
    s.now += RTT;
    s.sacks(0, &[(10, 13)]);
    assert_eq!((s.state(), s.ssthresh()), (CaState::Recovery, 14));
    assert!(s.sender.in_flight() < 13, "{}", s.sender.in_flight());
    assert_eq!(s.sacks(0, &[(10, 13)]), vec![]);
    assert_eq!(s.sacks(0, &[(10, 14)]).len(), 2, "one that was delivered, one more");
}

#[test]
fn a_probe_with_new_data_is_no_retransmission_that_a_duplicate_would_have_to_answer() {
    let mut s = Script::cubic(10);
    s.send();
    s.write(11);
    assert_eq!(s.wait().1, fresh(10..11), "the tail loss probe");
    s.now += ms(1);
    assert_eq!(s.sacks(0, &[(1, 11)]), again(0..1));
    assert_eq!(s.state(), CaState::Recovery);
    s.now += ms(1);
    s.dsack(11, 0);
    assert_eq!((s.state(), s.sender.stats().undos), (CaState::Open, 1));
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut s = Script::cubic(2);
    s.send();
    for round in 1..10 {
        s.now += RTT;
        s.ack(2 * round);
        s.write(2 * round + 2);
    }
    assert_eq!(s.cwnd(), 10);
    // Half of the window, in slow start, is used.
    let mut s = Script::cubic(6);
    s.send();
    s.now += RTT;
    s.ack(6);
    assert_eq!(s.cwnd(), 16);
}

#[test]
fn idle_timeouts_halve_the_window_down_to_the_first_one() {
    for (restart, first) in [(true, 10), (false, 40)] {
        let mut s = Script::new("cubic", Config { slow_start_after_idle: restart, ..plain() }, 70);
        s.send();
        for ack in [10, 30, 70] {
            s.now += RTT;
            s.ack(ack);
        }
        let before = s.cwnd();
        assert!(before >= 40, "{before}");
        s.now += ms(5000);
        let sent = s.write(1000).len() as u64;
        assert_eq!(sent, if restart { first } else { before });
    }
}

/// Mode of BBR after 20 rounds over an unlimited path, with a cap of 20 segments in flight.
fn mode_under_a_cap(window_caps: bool) -> &'static str {
    let cfg = Config { buffer: 20 * MSS, window_caps, ..plain() };
    let mut s = Script::new("bbr", cfg, 1 << 40);
    s.send();
    for _ in 0..20 {
        let end = s.now + RTT;
        while s.sender.next_timer() < end {
            s.wait();
        }
        s.now = end;
        s.ack(s.sender.una_nxt().1);
    }
    s.sender.controller().mode(s.sender.window())
}

#[test]
fn a_receive_window_that_is_full_shows_the_path_and_a_full_send_buffer_the_application() {
    assert_ne!(
        mode_under_a_cap(true),
        "startup",
        "20 segments per round are what the path gives: the pipe is full"
    );
    assert_eq!(mode_under_a_cap(false), "startup", "samples limited by the application end no STARTUP");
}

#[test]
fn the_smaller_buffer_caps_and_a_smaller_receive_buffer_is_the_windows_doing() {
    let cap = |send: u64, receive: u64| {
        let mut given = BTreeMap::new();
        for (name, bytes) in [("send_buffer", send), ("receive_buffer", receive)] {
            given.insert(name.to_string(), perigee_cc::Value::Int(bytes as i64));
        }
        let cfg = Config::new(&perigee_cc::Params::new(perigee_tcp::OPTIONS, given).unwrap());
        (cfg.buffer, cfg.window_caps)
    };
    assert_eq!(cap(0, 0), (0, false));
    assert_eq!(cap(60, 30), (30, true));
    assert_eq!(cap(0, 30), (30, true));
    assert_eq!(cap(30, 60), (30, false));
    assert_eq!(cap(30, 30), (30, false), "an application that fills both writes no faster than it is read");
}

/// Below a hole the receiver keeps echoing one timestamp, older than any retransmission. A
/// selectively acknowledged retransmission still shows that an earlier one was lost.
#[test]
fn a_lost_repair_is_found_by_the_delivery_of_a_later_one() {
    let mut s = Script::new("cubic", Config { init_cwnd: 20, timestamps: true, ..plain() }, 20);
    s.send();
    let sent_ms = (s.now.0 / 1_000_000) as u32 + 1;
    let told = |s: &mut Script, sacks: &[(u64, u64)]| {
        let mut all = [(0, 0); 4];
        all[..sacks.len()].copy_from_slice(sacks);
        let count = sacks.len() as u8;
        s.told(AckBlocks { ack: 0, sacks: all, count, covered: 1, ts_ecr: sent_ms, ..AckBlocks::default() })
    };
    s.now += RTT;
    // 0 and 10 are lost, and both are retransmitted.
    let repairs: Vec<Sent> = [(1, 10), (1, 10)].map(|first| told(&mut s, &[(11, 20), first])).to_vec();
    let mut sent: Sent = repairs.concat();
    for _ in 0..4 {
        s.now += ms(2);
        sent.extend(s.send());
        sent.extend(told(&mut s, &[(11, 20), (1, 10)]));
    }
    assert_eq!(sent, [(0, true), (10, true)]);
    // The retransmission of 10 arrives, that of 0 does not.
    s.now += RTT + ms(60);
    assert_eq!(told(&mut s, &[(1, 20)]), [(0, true)]);
}

/// A burst is retransmitted as one burst; across a gap each piece waits for its turn.
#[test]
fn a_pacer_holds_repairs_of_different_pieces_apart() {
    let mut s = Script::new("bbr", Config { tso_segments: 4, ..plain() }, 2000);
    s.send();
    for _ in 0..4 {
        run_until(&mut s, RTT);
        let (_, end) = s.sender.una_nxt();
        s.ack(end);
    }
    run_until(&mut s, ms(60));
    let (una, end) = s.sender.una_nxt();
    assert!(end - una >= 12, "{una} to {end}");
    s.now += ms(60);
    // Of the first unit, the second and third segments arrive, and so do all segments after the
    // unit.
    let mut sent = s.sacks(una, &[(una + 4, end), (una + 1, una + 3)]);
    let mut turns = vec![];
    for _ in 0..3 {
        turns.push(sent.iter().filter(|t| t.1).map(|t| t.0 - una).collect::<Vec<_>>());
        sent = s.wait().1;
    }
    turns.retain(|t| !t.is_empty());
    assert_eq!(turns, [[0], [3]]);
}

/// Runs a paced sender for this time.
fn run_until(s: &mut Script, time: Nanos) {
    let end = s.now + time;
    while s.sender.next_timer() < end {
        s.wait();
    }
    s.now = end;
}
