// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sender of the OrbCC authors' simulator, ACK by ACK.

use crate::sender::{Ack, Sender, Transmit};
use crate::{AckBlocks, Config, Seg, OPTIONS};
use perigee_cc::*;
use std::sync::{Arc, Mutex};

const MSS: u64 = 1448;
const RTT: u64 = 100;
const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// Calls received by the scheme.
#[derive(Default)]
struct Log {
    /// Newly acknowledged, lost and previously in flight, in packets; and whether a packet was
    /// retransmitted at once.
    acks: Vec<(u64, u64, u64, bool)>,
    transitions: Vec<Transition>,
    samples: Vec<RateSample>,
    rtts: Vec<Nanos>,
}

/// A controller with a constant window and rate.
struct Still {
    log: Arc<Mutex<Log>>,
    packets: u64,
    rate: Option<BitRate>,
}

impl CongestionControl for Still {
    fn caps(&self) -> Caps {
        Caps { stack: Stack::Inet { smooths_from_zero: false }, ..Caps::MODEL }
    }
    fn on_start(&mut self, _cx: &Cx, w: &mut Window) {
        (w.cwnd, w.pacing) = (self.packets * MSS, self.rate);
    }
    fn on_ack(&mut self, _cx: &Cx, _w: &mut Window, ev: &AckEvent<'_>) {
        let mut log = self.log.lock().unwrap();
        let packets = |bytes| bytes / MSS;
        log.acks.push((
            packets(ev.newly_acked),
            packets(ev.newly_lost),
            packets(ev.prior_in_flight),
            ev.resent,
        ));
        log.samples.push(ev.rs);
        log.rtts.extend(ev.rtt);
    }
    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.ssthresh
    }
    fn on_transition(&mut self, _cx: &Cx, _w: &mut Window, t: Transition) {
        self.log.lock().unwrap().transitions.push(t);
    }
}

struct Script {
    now: Nanos,
    sender: Sender,
    log: Arc<Mutex<Log>>,
}

impl Script {
    /// A connection with a window of `packets`, established at `now` and opened a round trip
    /// earlier.
    fn new(packets: u64, rate: Option<BitRate>, now: Nanos) -> Self {
        let log = Arc::new(Mutex::new(Log::default()));
        let given = [("rto_rule".to_string(), Value::Text("rfc6298".into()))].into();
        let cfg = Config::new(&Params::new(OPTIONS, given).unwrap());
        let cc = Still { log: log.clone(), packets, rate };
        let build = |_: &ConnInit| Controller::Custom(Box::new(cc));
        Script { now, sender: Sender::new(cfg, build, now, Some(MS(RTT)), 1), log }
    }

    fn collect(&mut self) -> Vec<Seg> {
        let mut out: Vec<Transmit> = vec![];
        self.sender.transmit(self.now, &mut out);
        out.iter().map(|t| t.seg).collect()
    }

    /// All segments released by timers until `end`, with the times.
    fn run_until(&mut self, end: Nanos) -> Vec<(Nanos, Seg)> {
        let mut sent: Vec<_> = self.collect().into_iter().map(|seg| (self.now, seg)).collect();
        while self.sender.next_timer() <= end {
            self.now = self.sender.next_timer();
            let mut out = vec![];
            self.sender.on_timer(self.now, &mut out);
            self.sender.transmit(self.now, &mut out);
            sent.extend(out.iter().map(|t| (self.now, t.seg)));
        }
        self.now = end;
        sent
    }

    fn ack(&mut self, ack: Seg, sacks: &[(Seg, Seg)], echo: Nanos) -> Vec<Seg> {
        let mut blocks = AckBlocks {
            ack,
            count: sacks.len() as u8,
            ts_ecr: (echo.0 / 1_000_000) as u32 + 1,
            ..AckBlocks::default()
        };
        blocks.sacks[..sacks.len()].copy_from_slice(sacks);
        self.sender.on_ack(self.now, &Ack { blocks: &blocks, telemetry: None });
        self.collect()
    }
}

/// One packet gave an RTT sample; of the ten outstanding packets the first is lost, and five
/// duplicate ACKs have arrived.
fn in_recovery() -> Script {
    let mut s = Script::new(10, None, MS(500));
    s.run_until(MS(501));
    s.now = MS(600);
    s.ack(1, &[], MS(500));
    for end in 3..=7 {
        s.now += Nanos(1000);
        s.ack(1, &[(2, end)], MS(500));
    }
    s
}

#[test]
fn a_packet_leaves_per_gap_and_fractions_of_a_nanosecond_are_not_lost() {
    // 1,448 bytes at 66.6 Mbit/s: 173,933.9339… ns.
    let rate = BitRate(66_600_000);
    let mut s = Script::new(2000, Some(rate), MS(500));
    let sent = s.run_until(MS(700));
    let gap = MSS as f64 * 8e9 / rate.0 as f64;
    for (n, (at, seg)) in sent.iter().enumerate() {
        assert_eq!(*seg, n as Seg);
        assert!((((*at - MS(500)).0 as f64) - n as f64 * gap).abs() <= 0.51, "{n}: {at:?}");
    }
    assert_eq!(sent.len(), 1150);
}

#[test]
fn time_lost_to_a_full_window_is_not_made_up_for() {
    let mut s = Script::new(4, Some(BitRate(11_584_000)), MS(500));
    assert_eq!(s.run_until(MS(600)).len(), 4);
    // The full window is acknowledged: a packet is sent at once, then one per millisecond.
    assert_eq!(s.ack(4, &[], MS(503)), [4]);
    assert_eq!(s.run_until(MS(603)).iter().map(|s| s.1).collect::<Vec<_>>(), [5, 6, 7]);
}

#[test]
fn a_timer_of_the_same_instant_runs_before_the_ack() {
    let mut s = Script::new(3, Some(BitRate(11_584_000)), MS(500));
    assert_eq!(s.collect(), [0]);
    s.now = MS(501);
    // The timer is due now: the second packet is sent first, and the timer is restarted.
    assert_eq!(s.ack(1, &[], MS(500)), [1]);
}

#[test]
fn rtts_are_differences_of_millisecond_clocks() {
    let mut s = Script::new(4, None, Nanos(500_900_000));
    s.collect();
    s.now = Nanos(600_100_000);
    s.ack(1, &[], Nanos(500_900_000));
    assert_eq!(s.log.lock().unwrap().rtts, [MS(100)]);
    assert_eq!(s.sender.srtt(), MS(100));
    // The variance starts at 750 ms and decreases by an eighth with the first sample.
    assert_eq!(s.sender.rto(), MS(100 + 4 * 3 * 750 / 4));
}

#[test]
fn what_is_selectively_acknowledged_is_no_news_to_the_window() {
    let mut s = in_recovery();
    let acks = s.log.lock().unwrap().acks.clone();
    assert_eq!(acks.iter().map(|a| a.0).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 0]);
    // Selectively acknowledged data does count in the rate samples.
    assert_eq!(s.log.lock().unwrap().samples.last().unwrap().delivered / MSS, 6);
    s.now = MS(700);
    s.ack(7, &[], MS(600));
    // Of the six packets only the retransmitted one is new.
    assert_eq!(s.log.lock().unwrap().acks.last().unwrap().0, 1);
}

#[test]
fn losses_are_the_change_of_what_is_marked_in_either_direction() {
    let mut s = in_recovery();
    let losses = |s: &Script| s.log.lock().unwrap().acks.iter().map(|a| a.1).collect::<Vec<_>>();
    // The third duplicate's SACK marks the head.
    assert_eq!(losses(&s), [0, 0, 0, 1, 0, 0]);
    s.now = MS(700);
    s.ack(7, &[], MS(600));
    assert_eq!(losses(&s).last(), Some(&1), "and its delivery counts again");
}

#[test]
fn a_packet_that_was_sent_again_counts_until_it_is_acknowledged_cumulatively() {
    let mut s = Script::new(10, None, MS(500));
    s.run_until(MS(501));
    s.now = MS(600);
    for end in 3..=8 {
        s.ack(0, &[(2, end)], MS(500));
        s.now += Nanos(1000);
    }
    s.run_until(MS(601));
    assert_eq!(s.sender.in_flight(), 10, "six arrived, two repairs and six new ones left");
    // The second retransmission arrives, the first does not.
    s.now = MS(700);
    let before = s.sender.in_flight();
    s.ack(0, &[(1, 8)], MS(500));
    // Delivered and no longer lost, but still counted as retransmitted.
    assert_eq!(s.sender.in_flight(), before);
}

#[test]
fn a_partial_ack_sends_the_head_again_whatever_the_pacer_says() {
    let mut s = Script::new(12, Some(BitRate(11_584_000)), MS(500));
    s.run_until(MS(520));
    s.now = MS(600);
    let mut sent = vec![];
    // Packets 0 and 2 are lost.
    for sacks in [&[(1, 2)][..], &[(1, 2), (3, 4)], &[(1, 2), (3, 5)], &[(1, 2), (3, 6)]] {
        sent.extend(s.ack(0, sacks, MS(500)));
        s.now += Nanos(10_000);
    }
    assert_eq!(sent.iter().filter(|&&seg| seg == 0).count(), 1, "{sent:?}");
    s.now = Nanos(s.now.0 + 5_000);
    // The pacer's timer is running, and packet 2 has not been retransmitted.
    let sent = s.ack(2, &[(3, 6)], MS(600));
    assert_eq!(sent, [2]);
    assert!(s.log.lock().unwrap().acks.last().unwrap().3, "the event says so");
    let transitions = s.log.lock().unwrap().transitions.clone();
    assert_eq!(transitions, [Transition::EnterRecovery]);
}

#[test]
fn after_a_timeout_without_any_selective_acknowledgement_new_data_goes_first() {
    let mut s = Script::new(4, None, MS(500));
    let sent = s.run_until(MS(4000));
    let segments: Vec<Seg> = sent.iter().map(|s| s.1).collect();
    // The initial timeout is 3 s in INET's profile, 1 s by default.
    assert_eq!(segments[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(s.sender.ca_state(), CaState::Loss);
    let at = s.now;
    // The first duplicate ACK exposes the hole below it.
    let sent = s.ack(0, &[(4, 5)], at);
    assert_eq!(sent, [0]);
    assert_eq!(s.sender.ca_state(), CaState::Recovery);
}

#[test]
fn a_sample_lasts_until_a_packet_is_delivered_that_was_sent_after_more_had_been() {
    let mut s = Script::new(3, None, MS(500));
    s.run_until(MS(501));
    let intervals = |s: &Script| {
        let log = s.log.lock().unwrap();
        log.samples.iter().map(|r| (r.delivered / MSS, r.interval.0 / 1_000_000)).collect::<Vec<_>>()
    };
    s.now = MS(600);
    s.ack(3, &[], MS(500));
    s.run_until(MS(601));
    for (at, ack) in [(700, 4), (701, 5), (702, 6)] {
        s.now = MS(at);
        s.ack(ack, &[], MS(600));
    }
    // The three packets were sent together: all are counted over the interval of the first.
    assert_eq!(intervals(&s)[1..], [(1, 100), (2, 100), (3, 100)]);
}

#[test]
fn a_connection_that_opens_at_time_zero_has_no_sample_in_its_first_round_trip() {
    let mut s = Script::new(3, None, MS(RTT));
    s.run_until(MS(101));
    s.now = MS(200);
    s.ack(1, &[], MS(100));
    assert!(!s.log.lock().unwrap().samples[0].valid);
}
