// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Safety guard around a policy: bounds of its decisions, and a temporary takeover by Cubic when it
//! starves or floods.
//!
//! ```text
//! bounds      a finite, in [−1, 1];  4 ≤ cwnd ≤ max(40, 20 own BDP) packets
//! starving    for 3 s: ACKs arrive, no loss, rtt ≤ 1.1 min_rtt, the window is used,
//!             and thr < max_tput / 10 or cwnd ≤ the initial window: the path is idle
//!             and unused by the policy
//! flooding    over 2 s: bytes lost > a fifth of bytes delivered
//! then        Cubic for 10 s, twice as long each time (at most 320 s), in slow start after
//!             starving, from half an own BDP after a flood; then the policy again
//! ```
//!
//! A step without an ACK is not judged: with an RTT much longer than a step, most steps of a
//! starving flow have none. Silence of more than two SRTTs is an outage, after which the timers
//! restart.
//!
//! Random loss of a few percent, a long queue, and a window that is too small because min_rtt is
//! outdated (the published weakness) are out of scope: these are criteria for comparing policies.

use super::classic::{pace, Classic};
use super::desk::Seen;
use super::MIN_CWND;
use crate::*;

/// Time for which a policy may starve.
const STARVING_TIMEOUT: Nanos = Nanos::from_secs(3);
/// Period over which losses are counted.
const FLOOD_TIME: Nanos = Nanos::from_secs(2);
/// Ratio of lost to delivered bytes above which a flow floods.
const FLOOD: f64 = 0.2;
/// Ratio of the rate to the highest rate below which a flow on an empty path starves.
const LITTLE: f64 = 0.1;
/// Ratio of the RTT to the lowest RTT below which a path is empty.
const EMPTY: f64 = 1.1;
/// Duration of the first takeover by Cubic; doubles with each further one.
const REST: Nanos = Nanos::from_secs(10);
/// Maximum number of doublings.
const DOUBLINGS: u64 = 5;
/// Maximum window in bandwidth-delay products of the flow.
const MOST_BDP: f64 = 20.0;
const LEAST_BOUND: u64 = 40;
/// Packet size in the computation of BDPs.
const PACKET_BYTES: f64 = 1460.0;

/// Reason of a takeover by Cubic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The path is idle because the policy leaves it unused.
    Starving,
    /// A large fraction of the packets is lost.
    Flooding,
}

/// The guard of one connection.
#[derive(Clone, Debug)]
pub struct Guard {
    init: ConnInit,
    cubic: Classic,
    /// End of the takeover by Cubic.
    until: Option<Nanos>,
    starving_since: Option<Nanos>,
    /// Latest time at which a step was found idle.
    idle_at: Nanos,
    flood_since: Nanos,
    lost: f64,
    delivered: f64,
    before: Nanos,
    faults: u64,
}

impl Guard {
    /// A guard for a new connection.
    pub fn new(init: &ConnInit) -> Self {
        Guard {
            init: *init,
            cubic: Classic::new(init),
            until: None,
            starving_since: None,
            idle_at: init.now,
            flood_since: init.now,
            lost: 0.0,
            delivered: 0.0,
            before: init.now,
            faults: 0,
        }
    }

    /// Whether Cubic has taken over.
    pub fn active(&self) -> bool {
        self.until.is_some()
    }

    /// Number of takeovers.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Evaluates a step; returns a fault that has lasted too long.
    pub fn look(&mut self, now: Nanos, seen: &Seen) -> Option<Fault> {
        if self.until.is_some_and(|until| now < until) {
            return None;
        }
        if self.until.take().is_some() {
            self.begin_watch(now);
        }
        let fault = self.judge(now, seen)?;
        self.until = Some(now.saturating_add(REST * (1 << self.faults.min(DOUBLINGS))));
        self.faults += 1;
        Some(fault)
    }

    fn begin_watch(&mut self, now: Nanos) {
        (self.starving_since, self.flood_since, self.before) = (None, now, now);
        (self.lost, self.delivered) = (0.0, 0.0);
    }

    fn judge(&mut self, now: Nanos, seen: &Seen) -> Option<Fault> {
        let elapsed_s = now.saturating_sub(self.before).as_secs_f64();
        self.before = now;
        self.lost += seen.loss * elapsed_s;
        self.delivered += seen.throughput * elapsed_s;
        if now.saturating_sub(self.flood_since) >= FLOOD_TIME {
            let flood = self.lost > FLOOD * self.delivered && self.delivered > 0.0;
            (self.lost, self.delivered, self.flood_since) = (0.0, 0.0, now);
            if flood {
                return Some(Fault::Flooding);
            }
        }
        if seen.throughput == 0.0 && seen.loss == 0.0 {
            let silence_us = now.saturating_sub(self.idle_at).as_micros() as f64;
            if silence_us > 2.0 * seen.srtt_us {
                self.starving_since = None;
            }
            return None;
        }
        let idle = seen.throughput > 0.0
            && seen.loss == 0.0
            && seen.rtt_us <= EMPTY * seen.min_rtt_us
            && 2.0 * seen.out >= seen.cwnd;
        let little = seen.throughput < LITTLE * seen.max_throughput
            || seen.cwnd * f64::from(self.init.mss) <= self.init.init_cwnd as f64;
        if !(idle && little) {
            self.starving_since = None;
            return None;
        }
        self.idle_at = now;
        let since = *self.starving_since.get_or_insert(now);
        (now.saturating_sub(since) >= STARVING_TIMEOUT).then_some(Fault::Starving)
    }

    /// Clamps a window in packets to the bounds.
    pub fn bounded(cwnd: u64, seen: &Seen) -> u64 {
        let most = match own_bdp(seen) {
            Some(bdp) => ((MOST_BDP * bdp) as u64).max(LEAST_BOUND),
            None => u64::MAX,
        };
        cwnd.clamp(MIN_CWND, most.max(MIN_CWND))
    }

    /// Hands over to a new Cubic, which starts near the known BDP of the path.
    pub fn take_over(&mut self, cx: &Cx, w: &mut Window, seen: &Seen, fault: Fault) {
        self.cubic = Classic::new(&ConnInit { now: cx.now, ..self.init });
        self.cubic.start(cx, w);
        // The BDP of an idle path is unknown, but there is capacity.
        w.ssthresh = INFINITE_SSTHRESH;
        if fault == Fault::Flooding {
            let bdp = own_bdp(seen).map_or(10, |b| b as u64).max(10);
            w.ssthresh = cx.bytes(bdp);
            w.cwnd = w.cwnd.min(cx.bytes((bdp / 2).max(MIN_CWND)));
        }
        pace(cx, w);
    }

    /// Scheme that replaces the policy, if any.
    pub fn stand_in(&mut self) -> Option<&mut Classic> {
        self.until.is_some().then_some(&mut self.cubic)
    }
}

/// Product of the highest throughput and the lowest RTT, in packets.
fn own_bdp(seen: &Seen) -> Option<f64> {
    let known = seen.max_throughput > 0.0 && seen.min_rtt_us > 0.0;
    known.then(|| seen.max_throughput * seen.min_rtt_us * 1e-6 / PACKET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(&ConnInit {
            now: Nanos::ZERO,
            mss: 1448,
            init_cwnd: 14_480,
            srtt: None,
            seed: 1,
            hz: 1000,
        })
    }

    fn fine() -> Seen {
        Seen {
            throughput: 12e6,
            rtt_us: 33_000.0,
            min_rtt_us: 30_000.0,
            max_throughput: 12.5e6,
            cwnd: 250.0,
            out: 250.0,
            ..Seen::default()
        }
    }

    /// The first fault within `seconds` of identical steps.
    fn after(seen: Seen, seconds: u64) -> Option<(u64, Fault)> {
        let mut g = guard();
        (1..=seconds * 1000 / 30).find_map(|k| Some((k * 30, g.look(Nanos::from_millis(k * 30), &seen)?)))
    }

    #[test]
    fn nothing_is_wrong_with_a_full_link_with_loss_at_random_or_with_an_old_minimum() {
        assert_eq!(after(fine(), 60), None);
        assert_eq!(after(Seen { loss: 0.06 * 12e6, ..fine() }, 60), None);
        let old = Seen { throughput: 1e6, rtt_us: 45_000.0, ..fine() };
        assert_eq!(after(old, 60), None, "a longer path is not for the guard");
    }

    #[test]
    fn starving_is_found_after_three_seconds_and_flooding_after_two() {
        let starving = Seen { throughput: 0.4e6, cwnd: 9.0, out: 9.0, rtt_us: 30_100.0, ..fine() };
        let (at, fault) = after(starving, 10).unwrap();
        assert!(fault == Fault::Starving && (3000..3100).contains(&at), "{at}");
        let (at, fault) = after(Seen { loss: 4e6, ..fine() }, 10).unwrap();
        assert!(fault == Fault::Flooding && (2000..2100).contains(&at), "{at}");
    }

    #[test]
    fn silent_steps_of_a_long_path_do_not_hide_that_it_starves() {
        let long = Seen {
            throughput: 0.03e6,
            max_throughput: 0.03e6,
            rtt_us: 562_000.0,
            srtt_us: 562_000.0,
            min_rtt_us: 560_000.0,
            cwnd: 10.0,
            out: 10.0,
            ..Seen::default()
        };
        let silent = Seen { throughput: 0.0, rtt_us: 0.0, ..long };
        // Two of every twelve steps of 30 ms have an ACK.
        let first = |pause: u64| {
            let mut g = guard();
            let seen = |k: u64| if k % pause < 2 { &long } else { &silent };
            (1..=400).find(|k| g.look(Nanos::from_millis(k * 30), seen(*k)).is_some())
        };
        let at = first(12).unwrap() * 30;
        assert!((3000..3500).contains(&at), "{at}");
        assert_eq!(first(60), None, "1.7 s without an ACK is an outage, not a path that is idle");
    }

    #[test]
    fn the_rest_is_longer_each_time() {
        let mut g = guard();
        let flood = Seen { loss: 4e6, ..fine() };
        let begins: Vec<u64> = (1..=4000)
            .filter(|k| g.look(Nanos::from_millis(k * 30), &flood).is_some())
            .map(|k| k * 30)
            .collect();
        let gaps: Vec<u64> = begins.windows(2).map(|w| (w[1] - w[0]) / 1000).collect();
        assert_eq!(gaps[..3], [12, 22, 42]);
    }

    #[test]
    fn after_its_rest_the_policy_gets_another_chance() {
        let mut g = guard();
        let flood = Seen { loss: 4e6, ..fine() };
        let ms = Nanos::from_millis;
        assert!((1..=70).any(|k| g.look(ms(k * 30), &flood).is_some()));
        assert!(g.active());
        assert!((71..400).all(|k| g.look(ms(k * 30), &flood).is_none()));
        g.look(ms(12_200), &fine());
        assert!(!g.active() && g.faults() == 1);
    }

    #[test]
    fn windows_stay_within_twenty_own_bandwidth_delay_products() {
        // 12.5 MB/s · 30 ms = 256.8 packets.
        assert_eq!(Guard::bounded(1_000_000, &fine()), 5136);
        assert_eq!(Guard::bounded(0, &fine()), 4);
        assert_eq!(Guard::bounded(70, &Seen::default()), 70);
    }
}
