// SPDX-License-Identifier: Apache-2.0 OR MIT
//! UDP flows of real hosts, measured from their packets: constant-rate datagrams, and pings.

use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Maximum number of packets with an outstanding reply; older ones count as lost.
const MOST_WAITING: usize = 10_000;
/// Length of the IPv4 and UDP headers.
const HEADERS: usize = 28;

/// Packets of one flow.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Number of packets sent.
    pub packets: u64,
    /// Payload bytes that have arrived at the receiver; for pings, bytes of the IP packets that
    /// came back.
    pub received_bytes: u64,
    /// Send times of the packets without a reply, by number.
    waiting: BTreeMap<u64, Nanos>,
}

impl Probes {
    /// Records a packet that leaves its sender.
    pub fn sent(&mut self, number: u64, at: Nanos) {
        self.packets += 1;
        self.waiting.insert(number, at);
        if self.waiting.len() > MOST_WAITING {
            self.waiting.pop_first();
        }
    }

    /// Records the arrival of a packet of a flow without replies.
    pub fn arrived(&mut self, ip_bytes: usize) {
        self.received_bytes += ip_bytes.saturating_sub(HEADERS) as u64;
    }

    /// Records a reply; returns the send time of its packet, if that is known and this is the first
    /// reply.
    pub fn answered(&mut self, number: u64, ip_bytes: usize) -> Option<Nanos> {
        let sent = self.waiting.remove(&number)?;
        self.received_bytes += ip_bytes as u64;
        Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_belong_to_their_packets() {
        let mut probes = Probes::default();
        for number in 0..3 {
            probes.sent(number, Nanos(10 * number));
        }
        assert_eq!(probes.answered(1, 64), Some(Nanos(10)));
        assert_eq!(probes.answered(1, 64), None, "it was answered");
        assert_eq!(probes.answered(9, 64), None, "nobody sent it");
        probes.arrived(1028);
        assert_eq!((probes.packets, probes.received_bytes), (3, 1064));
    }

    #[test]
    fn lost_packets_are_not_waited_for_without_end() {
        let mut probes = Probes::default();
        for number in 0..=MOST_WAITING as u64 {
            probes.sent(number, Nanos(number));
        }
        assert_eq!(probes.answered(0, 64), None);
        assert_eq!(probes.answered(1, 64), Some(Nanos(1)));
    }
}
