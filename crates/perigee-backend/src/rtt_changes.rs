// SPDX-License-Identifier: Apache-2.0 OR MIT
//! First RTT samples of each flow that differ from the previous one, as kept by a recorder that
//! omits repeated values (OMNeT++: `removeRepeats`). With timestamps of one millisecond, most
//! samples of a steady path repeat.

use perigee_units::Nanos;

/// Per flow: the last sample, and the number of samples kept.
#[derive(Debug, Default)]
pub struct RttChanges {
    limit: u32,
    flows: Vec<(Option<Nanos>, u32)>,
}

impl RttChanges {
    /// Filter for `flows` flows that keeps at most `limit` samples of each; 0 = none.
    pub fn new(limit: u32, flows: usize) -> Self {
        RttChanges { limit, flows: vec![(None, 0); flows] }
    }

    /// Processes a sample; true if it is to be kept.
    pub fn is_new(&mut self, flow: u32, rtt: Nanos) -> bool {
        if self.limit == 0 {
            return false;
        }
        let (last, kept) = &mut self.flows[flow as usize];
        if *kept == self.limit || *last == Some(rtt) {
            return false;
        }
        (*last, *kept) = (Some(rtt), *kept + 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_left_out_and_the_limit_is_per_flow() {
        let mut changes = RttChanges::new(3, 2);
        let samples = [(0, 100), (0, 100), (1, 100), (0, 101), (0, 100), (0, 102), (1, 100), (1, 102)];
        let kept = samples.map(|(flow, ms)| changes.is_new(flow, Nanos::from_millis(ms)));
        assert_eq!(kept, [true, false, true, true, true, false, false, true]);
    }

    #[test]
    fn nothing_is_kept_unless_it_is_asked_for() {
        assert!(!RttChanges::new(0, 1).is_new(0, Nanos::from_millis(100)));
        assert!(!RttChanges::default().is_new(0, Nanos::from_millis(100)));
    }
}
