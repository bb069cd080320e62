// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Echo of telemetry from the receiver to the sender.
//!
//! *Full* echo returns the stack of the data packet that triggered the ACK. *Bottleneck* echo
//! returns 16 bytes: the receiver stores the last stack of each path, compares it with the new one
//! by the sender's equations ([`perigee_cc::utilisation`]) and reports the hop with the highest
//! utilisation. A first stack, a stale one or one that was overtaken yields a baseline record,
//! which only updates the sender's notion of the path.

use crate::uf16;
use crate::wire::{rate_code, rtt_code, WireCompact, WireHop, BASELINE_HOP, FLOWS_MAX, MAX_HOPS, TS_MASK};
use perigee_cc::utilisation::{bottleneck, queue_delay, Bottleneck, STACK_LIFETIME};
use perigee_cc::{Caps, Carrier, Hop, Law, Nanos, Telemetry, TelemetryNeed};

/// Bytes that telemetry adds to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overhead {
    /// Telemetry travels out of band, as in the authors' simulator.
    None,
    /// Data packets and ACKs carry it.
    Wire,
}

/// Telemetry that an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoMode {
    /// The full stack.
    Full,
    /// The bottleneck's record.
    Bottleneck,
    /// The record of fixed size that ports overwrite.
    Pint,
    /// The bottleneck's record, derived from what this carrier holds of the ports.
    Carrier(Carrier),
    /// The feedback that ports reduce by this law.
    Law(Law),
}

impl Overhead {
    /// Overhead of the telemetry required by a controller.
    pub fn of(caps: &Caps) -> Self {
        if caps.telemetry_on_wire {
            Overhead::Wire
        } else {
            Overhead::None
        }
    }

    /// Telemetry bytes in a data packet with room for `hops` records.
    pub fn data_bytes(self, echo: EchoMode, hops: usize) -> u32 {
        match (self, echo) {
            (Overhead::None, _) => 0,
            (Overhead::Wire, EchoMode::Pint) => crate::pint::record_bytes(),
            (Overhead::Wire, EchoMode::Law(_)) => crate::laws::header_bytes(),
            (Overhead::Wire, EchoMode::Carrier(carrier)) => crate::carrier::data_bytes(carrier, hops),
            (Overhead::Wire, _) => crate::wire::stack_bytes(hops),
        }
    }

    /// Telemetry bytes in an ACK that echoes `hops` records.
    pub fn ack_bytes(self, echo: EchoMode, hops: usize) -> u32 {
        match (self, echo) {
            (Overhead::None, _) => 0,
            (Overhead::Wire, EchoMode::Full) => crate::wire::stack_bytes(hops),
            // Marks return in flags of the TCP header.
            (Overhead::Wire, EchoMode::Carrier(Carrier::Ecn)) => 0,
            (Overhead::Wire, EchoMode::Bottleneck | EchoMode::Carrier(_)) => {
                crate::wire::compact_echo_bytes()
            }
            (Overhead::Wire, EchoMode::Pint) => crate::pint::record_bytes(),
            (Overhead::Wire, EchoMode::Law(_)) => crate::laws::header_bytes(),
        }
    }
}

impl EchoMode {
    /// Echo mode required by a controller; `None` if it uses no telemetry.
    pub fn of(caps: &Caps) -> Option<Self> {
        match caps.telemetry {
            TelemetryNeed::None => None,
            TelemetryNeed::Stack if caps.pint => Some(EchoMode::Pint),
            TelemetryNeed::Stack => Some(EchoMode::Full),
            TelemetryNeed::Bottleneck if caps.carrier != Carrier::Records => {
                Some(EchoMode::Carrier(caps.carrier))
            }
            TelemetryNeed::Bottleneck => Some(EchoMode::Bottleneck),
            TelemetryNeed::Law(law) => Some(EchoMode::Law(law)),
        }
    }
}

/// Decodes echoed stacks at the sender into a reused buffer.
#[derive(Clone, Debug, Default)]
pub struct StackDecoder {
    hops: Vec<Hop>,
}

impl StackDecoder {
    /// The stack in the units of controllers, valid until the next call.
    #[inline]
    pub fn decode(&mut self, path_id: u16, hops: &[WireHop], covered: u32, partial: bool) -> Telemetry<'_> {
        self.hops.clear();
        // Allocated at first use: most flows never have a stack.
        self.hops.reserve(MAX_HOPS);
        self.hops.extend(hops.iter().map(WireHop::decode));
        Telemetry::Stack { path_id: path_id as u64, hops: &self.hops, covered, partial }
    }
}

/// Number of paths with a stored last stack: the current one, the previous one, and room for
/// flapping.
const PATHS: usize = 4;

/// Receiver side of the bottleneck echo, one per connection.
#[derive(Clone, Debug, Default)]
pub struct BottleneckEcho {
    paths: Vec<LastStack>,
    scratch: Vec<Hop>,
}

#[derive(Clone, Debug)]
struct LastStack {
    path_id: u16,
    at: Nanos,
    hops: Vec<Hop>,
}

impl BottleneckEcho {
    /// An echo without stored stacks.
    pub fn new() -> Self {
        BottleneckEcho::default()
    }

    /// Processes a data packet; returns the record that its ACK echoes.
    pub fn on_data(&mut self, now: Nanos, path_id: u16, hops: &[WireHop]) -> WireCompact {
        self.scratch.clear();
        self.scratch.extend(hops.iter().map(WireHop::decode));
        let Some(last) = self.paths.iter_mut().find(|p| p.path_id == path_id) else {
            self.remember(now, path_id);
            return baseline(path_id, &self.scratch);
        };
        let comparable =
            last.hops.len() == self.scratch.len() && now.saturating_sub(last.at) <= STACK_LIFETIME;
        let found = if comparable { bottleneck(&last.hops, &self.scratch, |h| h.avg_rtt) } else { None };
        if found.is_some() || !comparable {
            std::mem::swap(&mut last.hops, &mut self.scratch);
            last.at = now;
            let stack = &last.hops;
            return found.map_or_else(|| baseline(path_id, stack), |b| record(path_id, stack, &b));
        }
        // The stack was overtaken, or the port has no mean RTT yet: the older stack stays the
        // reference.
        baseline(path_id, &self.scratch)
    }

    /// Stores the first stack of a path, in a free slot or that of the least recently seen path.
    fn remember(&mut self, now: Nanos, path_id: u16) {
        if self.paths.len() < PATHS {
            self.paths.push(LastStack { path_id, at: now, hops: self.scratch.clone() });
        } else if let Some(oldest) = self.paths.iter_mut().min_by_key(|p| p.at) {
            (oldest.path_id, oldest.at) = (path_id, now);
            oldest.hops.clone_from(&self.scratch);
        }
    }
}

pub(crate) fn baseline(path_id: u16, stack: &[Hop]) -> WireCompact {
    WireCompact { path_id, hop: BASELINE_HOP, queue_delay: queue_delay_code(stack), ..WireCompact::default() }
}

pub(crate) fn record(path_id: u16, stack: &[Hop], b: &Bottleneck) -> WireCompact {
    let hop = &stack[b.hop];
    WireCompact {
        path_id,
        hop: b.hop as u8,
        u: (b.u * 4096.0 + 0.5) as u16,
        tau: b.tau.as_micros().min(TS_MASK as u64) as u32,
        bw: rate_code(hop.bw),
        avg_rtt: rtt_code(hop.avg_rtt),
        flows: hop.flows.min(FLOWS_MAX as u32) as u16,
        queue_delay: queue_delay_code(stack),
    }
}

fn queue_delay_code(stack: &[Hop]) -> u16 {
    uf16::encode(queue_delay(stack).0.saturating_add(500) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::BitRate;

    fn hop(ts_us: u64, tx_bytes: u64, q: u64) -> WireHop {
        WireHop::encode(&Hop {
            ts: Nanos::from_micros(ts_us),
            bw: BitRate::from_mbit(100),
            q_out: q,
            q_in: q,
            tx_bytes,
            avg_rtt: Nanos::from_millis(50),
            flows: 3,
        })
    }

    #[test]
    fn the_receiver_reports_the_busiest_hop() {
        let mut echo = BottleneckEcho::new();
        let first = echo.on_data(Nanos::ZERO, 5, &[hop(0, 0, 0), hop(10, 0, 0)]);
        assert_eq!((first.hop, first.u), (BASELINE_HOP, 0));
        let later = Nanos::from_millis(1);
        let second = echo.on_data(later, 5, &[hop(1000, 6000, 0), hop(1010, 12_000, 25_000)]);
        assert_eq!((second.hop, second.flows, second.tau), (1, 3, 1000));
        assert!((second.u as f64 / 4096.0 - 0.96).abs() < 2e-4, "min of the queues was 0: {}", second.u);
        let Telemetry::Bottleneck { queue_delay, bw, .. } = second.decode(1, false) else { panic!() };
        assert_eq!((queue_delay, bw), (Nanos::from_millis(2), BitRate::from_mbit(100)));
    }

    #[test]
    fn a_queue_that_never_drains_has_the_longest_delay() {
        let slow = WireHop { bw: 1, ..WireHop::encode(&Hop { q_in: u64::MAX, ..Hop::default() }) };
        let echoed = BottleneckEcho::new().on_data(Nanos::ZERO, 5, &[slow; 16]);
        assert_eq!(echoed.queue_delay, u16::MAX);
    }

    #[test]
    fn a_stack_that_was_overtaken_is_a_baseline_and_changes_nothing() {
        let mut echo = BottleneckEcho::new();
        let at = Nanos::from_millis;
        echo.on_data(at(0), 5, &[hop(0, 0, 0)]);
        echo.on_data(at(2), 5, &[hop(2000, 24_000, 0)]);
        assert_eq!(echo.on_data(at(3), 5, &[hop(1000, 12_000, 0)]).hop, BASELINE_HOP);
        assert_eq!(echo.on_data(at(4), 5, &[hop(3000, 36_000, 0)]).tau, 1000);
    }

    #[test]
    fn each_path_has_its_own_reference_and_the_oldest_is_forgotten() {
        let mut echo = BottleneckEcho::new();
        for path in 0..6u16 {
            assert_eq!(echo.on_data(Nanos(path as u64), path, &[hop(0, 0, 0)]).hop, BASELINE_HOP);
        }
        assert_eq!(echo.on_data(Nanos(9), 5, &[hop(1000, 12_000, 0)]).hop, 0);
        assert_eq!(echo.on_data(Nanos(9), 2, &[hop(1000, 12_000, 0)]).hop, 0);
        assert_eq!(echo.on_data(Nanos(9), 1, &[hop(1000, 12_000, 0)]).hop, BASELINE_HOP, "forgotten");
    }

    #[test]
    fn a_stack_older_than_4_s_is_no_reference() {
        let mut echo = BottleneckEcho::new();
        echo.on_data(Nanos::ZERO, 5, &[hop(0, 0, 0)]);
        assert_eq!(echo.on_data(Nanos::from_secs(17), 5, &[hop(222_784, 99, 0)]).hop, BASELINE_HOP);
        assert_eq!(echo.on_data(Nanos::from_secs(18), 5, &[hop(1_222_784, 12_500_099, 0)]).hop, 0);
    }

    #[test]
    fn overhead_follows_the_controllers_wishes() {
        let caps = Caps { telemetry: TelemetryNeed::Stack, telemetry_on_wire: true, ..Caps::MODEL };
        assert_eq!(Overhead::of(&caps).data_bytes(EchoMode::Full, 3), 64);
        assert_eq!(Overhead::of(&caps).data_bytes(EchoMode::Pint, 3), 24);
        assert_eq!(EchoMode::of(&Caps { pint: true, ..caps }), Some(EchoMode::Pint));
        assert_eq!(EchoMode::of(&caps), Some(EchoMode::Full));
        assert_eq!(Overhead::Wire.ack_bytes(EchoMode::Bottleneck, 3), 24);
        assert_eq!(Overhead::None.ack_bytes(EchoMode::Full, 3), 0);
    }
}
