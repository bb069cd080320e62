// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Demand assignment of a port: limits of its requests, and times of grants.

use perigee_units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// Demand assignment of a port, with the capacity categories of DVB-RCS2 (ETSI EN 301 545-2): the
/// terminal may send a request in each frame, which is granted for a frame that starts `delay`
/// later or with the next one after that. Each rate is the maximum of its category; the port's rate
/// limits their sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dama {
    /// Length of a frame.
    pub frame: Nanos,
    /// From a request to the frame of its grant: a round trip and the scheduler's time.
    pub delay: Nanos,
    /// Constant rate granted in each frame without a request (CRA).
    pub cra: BitRate,
    /// Maximum rate granted on request of a rate, the mean of arrivals in the latest `delay`
    /// (RBDC).
    pub rbdc: BitRate,
    /// Maximum rate granted on request of a volume, the waiting bytes not requested yet (VBDC).
    /// `None` = up to the port's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vbdc: Option<BitRate>,
    /// Maximum rate of free capacity, granted without a request from the rest of each frame (FCA).
    pub fca: BitRate,
}

impl Dama {
    /// Allowed range of the frame length.
    pub const FRAME: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_secs(10)];
    /// Allowed range of the delay.
    pub const DELAY: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_secs(60)];

    /// Number of frames from a request to its grant.
    pub fn frames(&self) -> u64 {
        self.delay.0.div_ceil(self.frame.0).max(1)
    }

    /// Bytes of a frame at this rate, rounded down.
    pub fn per_frame(&self, rate: BitRate) -> u64 {
        rate.bytes_in(self.frame)
    }

    /// # Errors
    /// A message, if a duration is out of range or no capacity could ever be granted.
    pub fn check(&self) -> Result<(), String> {
        let outside = |what: &str, t: Nanos, [least, most]: [Nanos; 2]| match least <= t && t <= most {
            true => Ok(()),
            false => Err(format!("a demand-assigned port with a {what} of {t}: {least} to {most}")),
        };
        outside("frame", self.frame, Self::FRAME)?;
        outside("delay", self.delay, Self::DELAY)?;
        let rates = [self.cra, self.rbdc, self.fca, self.vbdc.unwrap_or(BitRate(u64::MAX))];
        match rates.iter().any(|r| self.per_frame(*r) > 0) {
            true => Ok(()),
            false => {
                Err(format!("no category gives a demand-assigned port a byte in a frame of {}", self.frame))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Dama = Dama {
        frame: Nanos::from_micros(26_500),
        delay: Nanos::from_millis(600),
        cra: BitRate(64_000),
        rbdc: BitRate(0),
        vbdc: None,
        fca: BitRate(0),
    };

    #[test]
    fn a_grant_is_for_the_first_frame_after_the_delay() {
        assert_eq!((USUAL.frames(), USUAL.per_frame(USUAL.cra)), (23, 212));
        assert_eq!(Dama { delay: Nanos::from_millis(53), ..USUAL }.frames(), 2);
    }

    #[test]
    fn frames_without_end_and_ports_without_capacity_are_refused() {
        assert_eq!(USUAL.check(), Ok(()));
        let refused = |d: Dama| d.check().unwrap_err();
        assert!(refused(Dama { frame: Nanos::ZERO, ..USUAL }).contains("frame of 0 ns: 1 ms to 10 s"));
        assert!(refused(Dama { delay: Nanos::from_secs(61), ..USUAL }).contains("delay of 61 s"));
        let silent = Dama { cra: BitRate(100), vbdc: Some(BitRate(0)), ..USUAL };
        assert!(refused(silent).contains("no category"));
    }
}
