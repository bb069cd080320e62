// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Utilisation of a path's hops, computed from two consecutive telemetry stacks: by senders from
//! full echoes, and by receivers for the bottleneck record.
//!
//! ```text
//! (1)  u_i = min(qLen_i, qLen'_i) / (bw_i · T) + txRate_i / bw_i   T: reference, usually avgRTT_i
//! (2)  txRate_i = (txBytes_i − txBytes'_i) / (ts_i − ts'_i)        prime: the previous stack
//! ```
//!
//! Clocks and counters wrap; a difference above half their range means that the stack is older than
//! the reference.

use crate::{Hop, Nanos};

/// Wrap-around period of hop clocks.
pub const TS_WRAP: Nanos = Nanos::from_micros(1 << 24);
/// Wrap-around period of counters of transmitted bytes.
pub const TX_WRAP: u64 = 1 << 31;
/// Age beyond which a stack is no reference: because clocks wrap, after 8 s every later stack would
/// appear older, and after 17 s a long gap would appear short.
pub const STACK_LIFETIME: Nanos = Nanos::from_secs(4);

/// The hop of a path with the highest utilisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Index in the path.
    pub hop: usize,
    /// Utilisation of the hop, equation (1).
    pub u: f64,
    /// Time between its two samples.
    pub tau: Nanos,
}

/// Time between two readings of one hop's clock; `None` unless `after` is later.
#[inline]
pub fn elapsed(before: Nanos, after: Nanos) -> Option<Nanos> {
    let d = if after >= before { after.0 - before.0 } else { (after.0 + TS_WRAP.0).saturating_sub(before.0) };
    (d > 0 && d <= TS_WRAP.0 / 2).then_some(Nanos(d))
}

/// Equations (1) and (2) for one hop; `None` if there is no reference time or no rate, or if the
/// sample is not newer.
#[inline]
fn hop_load(before: &Hop, after: &Hop, reference: Nanos) -> Option<(f64, Nanos)> {
    if after.bw.0 == 0 || reference == Nanos::ZERO {
        return None;
    }
    let tau = elapsed(before.ts, after.ts)?;
    let queue = after.q_out.min(before.q_out) as f64;
    let sent = (after.tx_bytes.wrapping_sub(before.tx_bytes) & (TX_WRAP - 1)) as f64;
    // One division for both terms; 8e9 converts bits and nanoseconds.
    let (t, tau_ns) = (reference.0 as f64, tau.0 as f64);
    Some(((queue * tau_ns + sent * t) * 8e9 / (t * tau_ns * after.bw.0 as f64), tau))
}

/// First hop with the maximum utilisation; `reference` returns T, or zero to skip a hop. `None` if
/// no hop has a usable pair of samples.
#[inline]
pub fn bottleneck(before: &[Hop], after: &[Hop], reference: impl Fn(&Hop) -> Nanos) -> Option<Bottleneck> {
    let mut best: Option<Bottleneck> = None;
    for (hop, (b, a)) in before.iter().zip(after).enumerate() {
        if let Some((u, tau)) = hop_load(b, a, reference(a)) {
            if best.is_none_or(|best| u > best.u) {
                best = Some(Bottleneck { hop, u, tau });
            }
        }
    }
    best
}

/// Queueing delay of the packet along its path: Σ rxQlen/bw.
#[inline]
pub fn queue_delay(stack: &[Hop]) -> Nanos {
    let ns: f64 =
        stack.iter().filter(|h| h.q_in > 0 && h.bw.0 > 0).map(|h| h.q_in as f64 / h.bw.0 as f64).sum();
    Nanos((ns * 8e9 + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitRate;

    fn hop(ts: Nanos, tx_bytes: u64, q_out: u64) -> Hop {
        Hop {
            ts,
            bw: BitRate::from_mbit(100),
            q_out,
            q_in: q_out,
            tx_bytes,
            avg_rtt: Nanos::from_millis(50),
            flows: 1,
        }
    }

    fn u(before: Hop, after: Hop) -> Option<f64> {
        bottleneck(&[before], &[after], |h| h.avg_rtt).map(|b| b.u)
    }

    #[test]
    fn the_published_formula_vector_is_met() {
        let got = u(hop(Nanos::ZERO, 0, 45_000), hop(Nanos::from_micros(12_056), 144_800, 30_000)).unwrap();
        assert!((got - 1.00884).abs() < 1e-4, "{got}");
    }

    #[test]
    fn wrap_around_of_clock_and_counter_has_no_effect() {
        let plain = u(hop(Nanos::ZERO, 0, 0), hop(Nanos::from_millis(1), 12_000, 0)).unwrap();
        let end = Nanos(TS_WRAP.0 - 400_000);
        let wrapped = u(hop(end, TX_WRAP - 8, 0), hop(Nanos(600_000), 11_992, 0)).unwrap();
        assert_eq!(plain, wrapped);
    }

    #[test]
    fn older_equal_and_unmeasured_samples_are_refused() {
        let at = |us| hop(Nanos::from_micros(us), 0, 0);
        assert_eq!(u(at(1000), at(1000)), None);
        assert_eq!(u(at(1001), at(1000)), None);
        assert_eq!(u(at(0), Hop { avg_rtt: Nanos::ZERO, ..at(1000) }), None);
        assert_eq!(u(at(0), Hop { bw: BitRate(0), ..at(1000) }), None);
    }

    #[test]
    fn of_two_equally_busy_hops_the_first_is_the_bottleneck() {
        let (b, a) = (hop(Nanos::ZERO, 0, 0), hop(Nanos::from_millis(1), 12_000, 0));
        assert_eq!(bottleneck(&[b, b], &[a, a], |h| h.avg_rtt).unwrap().hop, 0);
        let busier = Hop { tx_bytes: 12_008, ..a };
        assert_eq!(bottleneck(&[b, b], &[a, busier], |h| h.avg_rtt).unwrap().hop, 1);
    }

    #[test]
    fn the_queueing_delay_of_a_path_is_the_sum_over_its_hops() {
        assert_eq!(queue_delay(&[hop(Nanos::ZERO, 0, 12_500); 3]), Nanos::from_millis(3));
    }
}
