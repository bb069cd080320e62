// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Utility functions of Vivace: the value of a rate, given the resulting losses and slope of the
//! RTT.
//!
//! ```text
//! published   u = x^0.9 − b x g − 11.35 x L          x in Mbit/s, g = dRTT/dt, b = 900
//! newer       negative g counts as 0
//! UDT         x in Mibit/s; losses up to 3 % cost 1 x L only; b = 11330 and g truncated to
//!             multiples of 0.02
//!             START: the first 50 lost packets and |g| < 0.2 are forgiven
//! ```

const EXPONENT: f64 = 0.9;
const LOSS_COST: f64 = 11.35;
const LATENCY_COST: f64 = 900.0;

const UDT_LATENCY_COST: f64 = 11_330.0;
const UDT_LIGHT_LOSS: f64 = 0.03;
const UDT_LIGHT_LOSS_COST: f64 = 1.0;
const UDT_GRADIENT_STEP: f64 = 0.02;
const UDT_START_GRADIENT: f64 = 0.2;
const UDT_START_LOSSES: u32 = 50;

/// Measurements of one monitor interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Requested rate, in Mbit/s.
    pub target_mbps: f64,
    /// Rate at which packets were sent, in Mbit/s.
    pub mbps: f64,
    pub sent: u32,
    pub lost: u32,
    /// dRTT/dt, dimensionless.
    pub gradient: f64,
    pub mean_rtt_s: f64,
    /// From the first to the last packet sent.
    pub duration_s: f64,
}

impl Sample {
    pub fn loss(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            self.lost as f64 / self.sent as f64
        }
    }
}

/// Utility of the newer program; `latency`: whether the RTT's slope has a cost.
pub(super) fn newer(s: &Sample, latency: bool) -> f64 {
    let x = s.mbps;
    let slope = if latency { s.gradient.max(0.0) } else { 0.0 };
    libm::pow(x, EXPONENT) - LATENCY_COST * x * slope - LOSS_COST * x * s.loss()
}

/// Utility of the UDT program. `common_loss` replaces the sample's own loss ratio; `start`:
/// tolerance during startup.
pub(super) fn udt(s: &Sample, latency: bool, start: bool, common_loss: Option<f64>) -> f64 {
    const MIBI: f64 = 1e6 / (1024.0 * 1024.0);
    let x = s.mbps * MIBI;
    let mut loss = common_loss.unwrap_or_else(|| s.loss());
    let mut slope = libm::trunc(s.gradient / UDT_GRADIENT_STEP) * UDT_GRADIENT_STEP;
    if start {
        loss = s.lost.saturating_sub(UDT_START_LOSSES) as f64 / s.sent.max(1) as f64;
        if slope.abs() < UDT_START_GRADIENT {
            slope = 0.0;
        }
    }
    if !latency {
        slope = 0.0;
    }
    let cost = if loss > UDT_LIGHT_LOSS { LOSS_COST } else { UDT_LIGHT_LOSS_COST };
    libm::pow(x, EXPONENT) - UDT_LATENCY_COST * x * slope - cost * x * loss
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mbps: f64, gradient: f64, lost: u32) -> Sample {
        Sample { target_mbps: mbps, mbps, sent: 1000, lost, gradient, mean_rtt_s: 0.05, duration_s: 0.05 }
    }

    #[test]
    fn published_values() {
        let u = |g, lost| newer(&sample(100.0, g, lost), true);
        assert!((u(0.0, 0) - 63.096).abs() < 1e-3);
        assert!((u(0.0, 50) - 6.35).abs() < 0.01);
        assert!((u(0.01, 0) - -836.9).abs() < 0.05);
        assert_eq!(u(-0.01, 0), u(0.0, 0));
        assert_eq!(newer(&sample(100.0, 0.5, 0), false), u(0.0, 0));
    }

    #[test]
    fn five_percent_of_loss_is_what_100_mbit_tolerates() {
        let slope = |lost| newer(&sample(101.0, 0.0, lost), true) - newer(&sample(100.0, 0.0, lost), true);
        assert!(slope(40) > 0.0 && slope(60) < 0.0);
    }

    #[test]
    fn light_losses_cost_the_udt_program_little() {
        let hundred_mibit = 100.0 * 1024.0 * 1024.0 / 1e6;
        let u = udt(&sample(hundred_mibit, 0.0, 20), true, false, None);
        assert!((u - 61.10).abs() < 0.01, "{u}");
        let heavy = udt(&sample(hundred_mibit, 0.0, 40), true, false, None);
        assert!((heavy - (63.096 - 45.4)).abs() < 0.01, "{heavy}");
        assert!((udt(&sample(hundred_mibit, 0.0, 40), true, false, Some(0.0)) - 63.096).abs() < 1e-3);
    }

    #[test]
    fn the_udt_program_sees_slopes_in_steps_of_two_percent() {
        let slope = |g| {
            let base = udt(&sample(100.0, 0.0, 0), true, false, None);
            (base - udt(&sample(100.0, g, 0), true, false, None))
                / (UDT_LATENCY_COST * 100.0 * 0.95367431640625)
        };
        for (g, seen) in [(0.0199, 0.0), (0.0201, 0.02), (0.059, 0.04), (-0.05, -0.04)] {
            assert!((slope(g) - seen).abs() < 1e-9, "{g}: {}", slope(g));
        }
    }

    #[test]
    fn the_start_forgives_fifty_packets_and_gentle_slopes() {
        let base = udt(&sample(10.0, 0.0, 0), true, true, None);
        assert_eq!(udt(&sample(10.0, 0.15, 50), true, true, None), base);
        assert!(udt(&sample(10.0, 0.3, 0), true, true, None) < base);
        assert!(udt(&sample(10.0, 0.0, 60), true, true, None) < base);
    }
}
