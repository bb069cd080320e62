// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background traffic of a port that is not simulated as packets.

use perigee_units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// Background traffic of a port from some instant on: many users as a fluid, which shares queue and
/// transmitter with the packets of the simulated flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Background {
    /// Mean rate of the traffic that does not respond to congestion, framing included.
    pub inelastic: BitRate,
    /// Bytes in which this traffic arrives at once: a packet for independent packets, more for bursty
    /// sources. The variance of the bytes in a time is their mean times this.
    #[serde(default)]
    pub burst: u32,
    /// Traffic that responds to congestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic: Option<Elastic>,
}

/// Flows that respond to congestion, as an aggregate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Elastic {
    /// Number of flows.
    pub flows: u32,
    /// Their RTT without the queue of this port.
    pub rtt: Nanos,
    /// Rate of all of them at the start.
    pub start: BitRate,
    /// Rate that one of them does not exceed; `None` = no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<BitRate>,
    /// RTTs in which a flow regains the rate that a loss cost it; `None` = as long as Cubic takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<f64>,
    /// Bytes of a packet, framing included.
    pub packet: u32,
}

impl Background {
    /// # Errors
    /// A message, if a value is out of range.
    pub fn check(&self) -> Result<(), String> {
        let Some(e) = &self.elastic else { return Ok(()) };
        if e.flows == 0 || e.packet == 0 {
            return Err("elastic background without flows, or with packets of no bytes".into());
        }
        if e.rtt < Nanos::from_micros(1) {
            return Err(format!("elastic background with an RTT of {}: at least 1 µs", e.rtt));
        }
        match e.recovery {
            Some(r) if !(r.is_finite() && r > 0.0) => {
                Err(format!("elastic background that recovers in {r} RTTs: more than 0"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_rejected() {
        let elastic = Elastic {
            flows: 10,
            rtt: Nanos::from_millis(50),
            start: BitRate::from_mbit(1),
            most: None,
            recovery: Some(30.0),
            packet: 1500,
        };
        let of = |e: Elastic| Background { elastic: Some(e), ..Background::default() }.check();
        assert_eq!(of(elastic.clone()), Ok(()));
        assert!(of(Elastic { flows: 0, ..elastic.clone() }).is_err());
        assert!(of(Elastic { rtt: Nanos::ZERO, ..elastic.clone() }).is_err());
        assert!(of(Elastic { recovery: Some(f64::NAN), ..elastic.clone() }).is_err());
        assert!(of(Elastic { recovery: Some(0.0), ..elastic }).is_err());
    }
}
