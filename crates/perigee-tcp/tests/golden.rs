// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arithmetic of the sender against the published equations, which are evaluated independently
//! here: by hand, and by references that use the documents' own variables on random inputs.

mod support;
use perigee_cc::CaState;
use perigee_tcp::config::{Reduction, RtoRule};
use perigee_tcp::rtt::Rtt;
use perigee_tcp::{AckBlocks, Config};
use perigee_units::Nanos;
use support::*;

/// Pseudo-random numbers (SplitMix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

// ---- Retransmission timeout ---------------------------------------------------------------------

/// The rules of RFC 6298, section 2, in milliseconds: the first sample R sets SRTT = R, RTTVAR =
/// R/2; each further sample R' sets RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, then SRTT = 7/8 SRTT +
/// 1/8 R'. RTO = SRTT + 4 RTTVAR, at least the minimum.
#[derive(Default)]
struct Rfc6298 {
    srtt: f64,
    rttvar: f64,
}

impl Rfc6298 {
    fn sample(&mut self, r: f64, beta: f64, least: f64) -> f64 {
        if self.srtt == 0.0 {
            (self.srtt, self.rttvar) = (r, r / 2.0);
        } else {
            self.rttvar = (1.0 - beta) * self.rttvar + beta * (self.srtt - r).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * r;
        }
        (self.srtt + 4.0 * self.rttvar).max(least)
    }
}

/// Linux's timeout as described in P. Sarolahti and A. Kuznetsov, "Congestion Control in Linux TCP"
/// (USENIX 2002), section 4: the deviation of RFC 6298, except that a sample below SRTT by more
/// than the deviation counts an eighth. The variance is the largest deviation of a round, at least
/// the minimum; it rises at once, and falls by a quarter of the difference at the end of a round.
/// RTO = SRTT + variance.
#[derive(Default)]
struct Linux {
    srtt: f64,
    /// Four times the mean deviation.
    dev: f64,
    largest: f64,
    variance: f64,
    round_end: u64,
}

impl Linux {
    fn sample(&mut self, r: f64, una: u64, nxt: u64, least: f64) -> f64 {
        if self.srtt == 0.0 {
            (self.srtt, self.dev) = (r, 2.0 * r);
            self.variance = self.dev.max(least);
            (self.largest, self.round_end) = (self.variance, nxt);
            return self.srtt + self.variance;
        }
        let error = r - self.srtt;
        let surplus = error.abs() - self.dev / 4.0;
        self.dev += if error < 0.0 && surplus > 0.0 { surplus / 8.0 } else { surplus };
        self.srtt += error / 8.0;
        self.largest = self.largest.max(self.dev);
        self.variance = self.variance.max(self.largest);
        if una > self.round_end {
            self.variance -= (self.variance - self.largest) / 4.0;
            (self.largest, self.round_end) = (least, nxt);
        }
        self.srtt + self.variance
    }
}

/// RTTs of a path in milliseconds: steady periods, steps up and down, queues, single outliers.
fn walk(draws: &mut Draws, length: usize) -> Vec<u64> {
    let (mut base, mut queue) = (20 + draws.below(200), 0);
    (0..length)
        .map(|_| {
            match draws.below(40) {
                0 => base = 5 + draws.below(600),
                1 => return base + 1000,
                2..=12 => queue += draws.below(8),
                13..=24 => queue -= queue.min(draws.below(8)),
                _ => {}
            }
            base + queue
        })
        .collect()
}

fn assert_close(what: Nanos, reference_ms: f64, context: &str) {
    // Fractions of a nanosecond dropped by the integers accumulate over some samples.
    assert!((what.0 as f64 - reference_ms * 1e6).abs() < 100.0, "{context}: {what:?}, not {reference_ms} ms");
}

#[test]
fn timeouts_are_those_of_linux_over_random_paths() {
    for seed in 0..20 {
        let mut draws = Draws(seed);
        let least = [1, 40, 200][seed as usize % 3];
        let (mut ours, mut reference) = (Rtt::new(RtoRule::linux(ms(least)), Nanos::ZERO), Linux::default());
        let (mut una, mut nxt) = (0, 10);
        for (i, r) in walk(&mut draws, 500).into_iter().enumerate() {
            ours.sample(ms(r), una, nxt);
            let expected = reference.sample(r as f64, una, nxt, least as f64);
            assert_close(ours.srtt(), reference.srtt, &format!("SRTT, seed {seed}, sample {i}"));
            assert_close(ours.rto(), expected, &format!("RTO, seed {seed}, sample {i}"));
            una += draws.below(4);
            nxt = nxt.max(una) + draws.below(4);
        }
    }
}

#[test]
fn timeouts_are_those_of_rfc_6298_over_random_paths() {
    for (seed, gain) in [(1, 4), (2, 4), (3, 8)] {
        let mut draws = Draws(seed);
        let rule = RtoRule { rfc6298_gain: Some(gain), ..RtoRule::linux(ms(1000)) };
        let (mut ours, mut reference) = (Rtt::new(rule, Nanos::ZERO), Rfc6298::default());
        for (i, r) in walk(&mut draws, 500).into_iter().enumerate() {
            ours.sample(ms(r), 0, 0);
            let expected = reference.sample(r as f64, 1.0 / gain as f64, 1000.0);
            assert_close(ours.srtt(), reference.srtt, &format!("SRTT, sample {i}"));
            assert_close(ours.rto(), expected, &format!("RTO, sample {i}"));
        }
    }
}

#[test]
fn a_step_of_the_rtt_by_hand() {
    // First sample 100 ms: deviation 200 ms, which is the floor. A round later 180 ms: the error is
    // 80, SRTT 110, and four deviations are 200 + 80 - 50 = 230, which the variance takes over at
    // once.
    let mut r = Rtt::new(RtoRule::linux(ms(200)), Nanos::ZERO);
    r.sample(ms(100), 0, 10);
    assert_eq!((r.srtt(), r.rto()), (ms(100), ms(300)));
    r.sample(ms(180), 5, 20);
    assert_eq!((r.srtt(), r.rto()), (ms(110), ms(340)));
    // 102 ms: error -8, less than the deviation: four deviations are 230 + 8 - 57.5 = 180.5; SRTT
    // 109. The round ends (11 > 10): its maximum was 230, so the variance stays.
    r.sample(ms(102), 11, 30);
    assert_eq!((r.srtt(), r.rto()), (ms(109), ms(339)));
    // 109 ms in the next round, which lasts until 31: 180.5 - 45.125 = 135.375, below the floor of
    // 200.
    r.sample(ms(109), 30, 40);
    assert_eq!(r.rto(), ms(109 + 230), "30 is not beyond the round's end");
    // The round ends: a quarter of the way from 230 to 200.
    r.sample(ms(109), 31, 50);
    assert_eq!(r.rto(), Nanos(109_000_000 + 222_500_000));
    // A fall by 80 ms: four deviations decay from 101.53 to 76.15, and an eighth of the excess 80 -
    // 25.38 counts.
    r.sample(ms(29), 32, 50);
    assert_eq!((r.srtt(), r.rto()), (ms(99), Nanos(99_000_000 + 222_500_000)));
}

#[test]
fn the_longest_timeout_and_whole_ticks_bound_it() {
    let mut r = Rtt::new(RtoRule { max: ms(500), ..RtoRule::linux(ms(200)) }, ms(10));
    r.sample(ms(95), 0, 1);
    assert_eq!(r.rto(), ms(300), "295 ms in ticks of 10 ms");
    r.sample(ms(900), 2, 3);
    assert_eq!(r.rto(), ms(500));
}

#[test]
fn the_minimum_of_the_rtt_slides_over_three_candidates() {
    // K. Nichols' filter over 300 s: the best sample, then the best of later parts of the window.
    let mut r = Rtt::new(RtoRule::linux(ms(200)), Nanos::ZERO);
    let mut minimum = |at_s: u64, rtt_ms: u64| {
        r.sample_min(Nanos::from_secs(at_s), ms(rtt_ms));
        r.min().0 / 1_000_000
    };
    assert_eq!(minimum(0, 10), 10);
    assert_eq!(minimum(50, 40), 10, "not yet a candidate: a quarter of the window must have passed");
    assert_eq!(minimum(76, 30), 10, "the second candidate from here on");
    assert_eq!(minimum(140, 20), 10, "a better one");
    assert_eq!(minimum(160, 25), 10, "half the window has passed: the third candidate");
    assert_eq!(minimum(300, 50), 10, "300 s old is not too old");
    assert_eq!(minimum(301, 50), 20, "the second candidate takes over");
    assert_eq!(minimum(441, 60), 25, "and the third");
    assert_eq!(minimum(442, 24), 24, "a new minimum counts at once");
    assert_eq!(minimum(743, 90), 90, "after a whole window without a sample nothing old is left");
}

#[test]
fn candidates_are_taken_from_later_parts_of_the_window_only_and_two_may_expire_at_once() {
    let minimum = |samples: &[(u64, u64)]| {
        let mut r = Rtt::new(RtoRule::linux(ms(200)), Nanos::ZERO);
        samples.iter().for_each(|&(at, rtt)| r.sample_min(Nanos::from_secs(at), ms(rtt)));
        r.min().0 / 1_000_000
    };
    // 20 ms fall within the first quarter and are no candidate, so 30 ms follow.
    assert_eq!(minimum(&[(0, 10), (50, 20), (80, 30), (301, 50)]), 30);
    // After an idle time the second candidate (from 76 s) has also expired, the third (from 160 s)
    // has not.
    assert_eq!(minimum(&[(0, 10), (76, 20), (160, 25), (400, 50)]), 25);
    assert_eq!(minimum(&[(0, 10), (76, 20), (160, 25), (376, 50)]), 20, "300 s are not too old");
}

// ---- Proportional rate reduction ----------------------------------------------------------------

/// PRR of RFC 9937 (and of RFC 6937 if `safe` is always true), section 6, in packets, with the
/// document's variable names.
struct Prr {
    recover_fs: u64,
    ssthresh: u64,
    prr_delivered: u64,
    prr_out: u64,
}

/// Progress reported by an ACK, counted by the test's own receiver.
#[derive(Clone, Copy)]
struct News {
    /// Packets newly reported to the sender as delivered.
    delivered: u64,
    /// Whether the cumulative ACK advances.
    advances: bool,
    /// Whether it reports new selective acknowledgements.
    sacks: bool,
    /// Whether the cumulative ACK covers a retransmitted packet.
    repaired: bool,
    /// Whether packets were found lost.
    losses: bool,
}

impl Prr {
    /// State at the start of a recovery with this number of packets outstanding: the window before
    /// it, or for ns-3 the packets in flight.
    fn begin(reduction: Reduction, window: u64, s: &Script) -> Prr {
        let recover_fs = match reduction {
            Reduction::Ns3 => s.sender.in_flight().max(1),
            _ => window,
        };
        Prr { recover_fs, ssthresh: s.ssthresh(), prr_delivered: 0, prr_out: 0 }
    }

    /// Window after an ACK; `None` if the ACK delivers nothing and so leaves the window unchanged.
    fn after(&mut self, reduction: Reduction, news: News, in_flight: u64) -> Option<u64> {
        let News { delivered, advances, sacks, repaired, losses } = news;
        match reduction {
            // ns-3 up to 3.48, TcpPrrRecovery::DoRecovery: an ACK with new SACKs counts one packet
            // more until a window is delivered. Its caller reports the delivered packets once for
            // the SACKs and, if the ACK also advances, a second time.
            Reduction::Ns3 => {
                let one = u64::from(sacks && self.prr_delivered < self.recover_fs);
                let times = if sacks && advances { 2 } else { 1 };
                let data = times * delivered + one;
                if data > 0 && in_flight > self.ssthresh {
                    return Some(self.ns3_cwnd(data, in_flight));
                }
                self.cwnd(data, in_flight, repaired, false)
            }
            // Linux 4.15, tcp_cwnd_reduction: slow start if a retransmission is acknowledged,
            // otherwise packet conservation.
            Reduction::Linux415 => self.cwnd(delivered, in_flight, repaired, !repaired),
            Reduction::Rfc6937 => self.cwnd(delivered, in_flight, true, false),
            _ => self.cwnd(delivered, in_flight, advances && !losses, false),
        }
    }

    /// Above the threshold, in bytes:
    /// `ceil (m_prrDelivered * m_ssThresh * 1.0 / m_recoveryFlightSize) - m_prrOut`,
    /// with the first product computed in uint32_t.
    fn ns3_cwnd(&mut self, delivered_data: u64, in_flight: u64) -> u64 {
        self.prr_delivered += delivered_data;
        let product = (self.prr_delivered * MSS * self.ssthresh * MSS) % (1 << 32);
        let share = (product as f64 / (self.recover_fs * MSS) as f64).ceil() as i64;
        let least = if self.prr_out == 0 { MSS as i64 } else { 0 };
        let count = (share - (self.prr_out * MSS) as i64).max(least);
        (in_flight * MSS + count as u64) / MSS
    }

    fn cwnd(&mut self, delivered_data: u64, in_flight: u64, safe: bool, conserve: bool) -> Option<u64> {
        if delivered_data == 0 {
            return None;
        }
        self.prr_delivered += delivered_data;
        let mut sndcnt = if in_flight > self.ssthresh {
            let target = (self.prr_delivered * self.ssthresh).div_ceil(self.recover_fs);
            target as i64 - self.prr_out as i64
        } else {
            let owed = self.prr_delivered as i64 - self.prr_out as i64;
            let bound = if conserve { 0 } else { owed }.max(delivered_data as i64);
            (bound + i64::from(safe)).min((self.ssthresh - in_flight) as i64)
        };
        if self.prr_out == 0 {
            sndcnt = sndcnt.max(1);
        }
        Some(in_flight + sndcnt.max(0) as u64)
    }
}

/// A receiver that acknowledges every arrival.
#[derive(Clone, Default)]
struct Received {
    got: Vec<bool>,
}

impl Received {
    fn take(&mut self, seg: u64) {
        self.got.resize(self.got.len().max(seg as usize + 1), false);
        self.got[seg as usize] = true;
    }
    fn next(&self) -> u64 {
        self.got.iter().position(|g| !g).unwrap_or(self.got.len()) as u64
    }
    /// Up to three ranges above the cumulative ACK, highest first.
    fn ranges(&self) -> Vec<(u64, u64)> {
        let (mut ranges, mut at) = (vec![], self.next() as usize);
        while at < self.got.len() {
            let begin = at;
            while at < self.got.len() && self.got[at] == self.got[begin] {
                at += 1;
            }
            if self.got[begin] {
                ranges.push((begin as u64, at as u64));
            }
        }
        ranges.reverse();
        ranges.truncate(3);
        ranges
    }
    fn count(&self) -> u64 {
        self.got.iter().filter(|g| **g).count() as u64
    }
}

/// One recovery over a path that loses some packets of a window, some ACKs and, rarely,
/// retransmissions, and that repeats ACKs; every window is compared with the reference. Returns the
/// number of ACKs compared.
fn compare_recovery(seed: u64, reduction: Reduction) -> usize {
    let mut draws = Draws(seed);
    let window = 10 + draws.below(60);
    let cfg = Config { init_cwnd: window as u32, reduction, tlp: false, ..plain() };
    let mut s = Script::new(["cubic", "newreno"][seed as usize % 2], cfg, 1 << 20);
    let mut path: Vec<u64> = s.send().iter().map(|x| x.0).collect();
    let loss = 2 + draws.below(20);
    path.retain(|&seg| seg != 0 && draws.below(loss) != 0);
    let (mut receiver, mut prr, mut compared) = (Received::default(), None::<Prr>, 0);
    // ACKs received by the sender, and segments it has retransmitted.
    let (mut told, mut repairs) = (Received::default(), vec![]);
    for _ in 0..4 {
        s.now += RTT;
        for seg in std::mem::take(&mut path) {
            receiver.take(seg);
            if receiver.ranges().len() == 3 {
                // Blocks that do not fit in a SACK option would be reported later than they arrive.
                return compared;
            }
            s.now += Nanos(1000);
            let copies = [0, 2, 1, 1, 1, 1, 1, 1][draws.below(8) as usize];
            for _ in 0..copies {
                let (cwnd, lost, episode) = (s.cwnd(), s.sender.lost(), s.sender.stats().recoveries);
                let blocks = acknowledgement(&receiver);
                s.sender.on_ack(s.now, &perigee_tcp::Ack { blocks: &blocks, telemetry: None });
                // A recovery that ends on the ACK that starts the next one leaves the window at its
                // threshold.
                let ended =
                    prr.take_if(|_| s.state() != CaState::Recovery || s.sender.stats().recoveries > episode);
                if s.state() == CaState::Recovery {
                    let news = news(&told, &receiver, &repairs, s.sender.lost() > lost);
                    let window = ended.map_or(cwnd, |old| old.ssthresh);
                    let p = prr.get_or_insert_with(|| Prr::begin(reduction, window, &s));
                    let expected = p.after(reduction, news, s.sender.in_flight()).unwrap_or(cwnd);
                    assert_eq!(s.cwnd(), expected, "seed {seed}, {reduction:?}, ACK {compared} for {seg}");
                    compared += 1;
                }
                told = receiver.clone();
                let sent = s.send();
                if let Some(p) = &mut prr {
                    p.prr_out += sent.len() as u64;
                }
                repairs.extend(sent.iter().filter(|x| x.1).map(|x| x.0));
                // Linux 4.15 also detects lost retransmissions, which the reference does not.
                let safe = |again: bool| again && reduction == Reduction::Linux415;
                path.extend(sent.iter().filter(|x| draws.below(30) != 0 || safe(x.1)).map(|x| x.0));
            }
        }
    }
    compared
}

fn news(told: &Received, now: &Received, repairs: &[u64], losses: bool) -> News {
    let (from, to) = (told.next(), now.next());
    let known = |seg: u64| told.got.get(seg as usize) == Some(&true);
    let sacks = (to..now.got.len() as u64).any(|seg| now.got[seg as usize] && !known(seg));
    News {
        delivered: now.count() - told.count(),
        advances: to > from,
        sacks,
        repaired: repairs.iter().any(|r| (from..to).contains(r)),
        losses,
    }
}

fn acknowledgement(receiver: &Received) -> AckBlocks {
    let ranges = receiver.ranges();
    let mut sacks = [(0, 0); 4];
    sacks[..ranges.len()].copy_from_slice(&ranges);
    AckBlocks { ack: receiver.next(), sacks, count: ranges.len() as u8, covered: 1, ..AckBlocks::default() }
}

#[test]
fn windows_in_recovery_are_those_of_the_documents_and_of_their_implementations_over_random_losses() {
    for reduction in [Reduction::Rfc9937, Reduction::Rfc6937, Reduction::Linux415, Reduction::Ns3] {
        let compared: usize = (0..400).map(|seed| compare_recovery(seed, reduction)).sum();
        assert!(compared > 5000, "{reduction:?}: {compared}");
    }
}
