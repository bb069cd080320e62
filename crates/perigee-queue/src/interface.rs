// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue-discipline interface: packets and port state in, verdicts out.

use perigee_units::params::{ParamError, ParamSpec, Params, Value};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Size of a full Ethernet frame without its checksum, in bytes: no discipline drops below this
/// backlog.
pub const MTU: u64 = 1514;

/// The ECN field of the IP header (RFC 3168 section 5, RFC 9331 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: the packet can only be dropped.
    #[default]
    NotEct,
    /// ECN-capable, of a classic transport.
    Ect0,
    /// ECN-capable, of a scalable (L4S) transport.
    Ect1,
    /// Congestion experienced: the packet was marked.
    Ce,
}

impl Ecn {
    /// Bits in the header.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
}

/// Properties of a packet that a discipline may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// Identifier assigned by the host.
    pub id: u32,
    /// Size in the queue and on the link in bytes, framing included.
    pub bytes: u32,
    /// Size of the IP packet in bytes.
    pub ip_bytes: u32,
    /// Arrival at the port.
    pub arrived: Nanos,
    /// Hash of its flow and direction.
    pub flow: u64,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Outgoing link: a port may serve several.
    pub link: u32,
    /// Random number in 0..1 drawn for this packet, reproducible from the seed.
    pub draw: f64,
    /// Whether the packet carries telemetry, which ports extend.
    pub telemetry: bool,
}

impl Packet {
    /// Signals congestion: by a mark if the packet can carry one, by a drop otherwise.
    pub fn notify(&self) -> Verdict {
        match self.ecn {
            Ecn::NotEct => Verdict::Drop,
            _ => Verdict::Mark,
        }
    }

    /// Time in the queue at `now`.
    pub fn sojourn(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.arrived)
    }
}

/// State of the port at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Port {
    /// Current time.
    pub now: Nanos,
    /// Current rate of the transmitter; zero = blocked.
    pub rate: BitRate,
    /// Backlog of all queues of the port in bytes, framing included: without an arriving packet,
    /// but with one that is about to leave.
    pub bytes: u64,
}

/// Share of a port that packets with telemetry get if they wait in a separate queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Number of packets queued.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Share of the rate while other packets are also backlogged, in 0..1.
    pub share: f64,
}

/// Verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward.
    Pass,
    /// Forward with the ECN field set to congestion experienced. Only for packets that are not
    /// [`Ecn::NotEct`].
    Mark,
    /// Drop.
    Drop,
}

/// A queue discipline: a pure state machine.
///
/// Order of calls for an arriving packet: [`on_arrival`](Discipline::on_arrival); unless that drops
/// the packet, it joins the port's queue if there is room (otherwise it is lost), or the
/// discipline's internal queues by [`Queues::push`].
///
/// For each packet to be sent: the head of the port's queue, or [`Queues::head`]; then
/// [`on_dequeue`](Discipline::on_dequeue) with that packet; then it is removed ([`Queues::take`])
/// and either sent, or dropped and followed by the next. If no packet waits:
/// [`on_empty`](Discipline::on_empty). If an outage holds its link, the head stays in the queue
/// without a call.
pub trait Discipline: Debug + Send {
    /// A packet arrives.
    fn on_arrival(&mut self, _port: &Port, _packet: &Packet) -> Verdict {
        Verdict::Pass
    }

    /// A packet is about to leave the queue. `again`: another packet has already been dropped at
    /// this transmission opportunity.
    fn on_dequeue(&mut self, _port: &Port, _packet: &Packet, _again: bool) -> Verdict {
        Verdict::Pass
    }

    /// A packet could be sent, but the port's queue is empty.
    fn on_empty(&mut self) {}

    /// Part of the port that telemetry describes; `None` = the entire port, as all packets share a
    /// queue or the queues do not depend on telemetry.
    fn own(&self) -> Option<Own> {
        None
    }

    /// Internal queues; `None` = packets wait in the port's single queue.
    fn queues(&self) -> Option<&dyn Queues> {
        None
    }

    /// Like [`queues`](Discipline::queues), but mutable.
    fn queues_mut(&mut self) -> Option<&mut dyn Queues> {
        None
    }
}

/// Internal queues of a discipline.
pub trait Queues {
    /// Enqueues a packet at `now`. If the port has no room for it (`fits` is false), the packets
    /// dropped in consequence, this one or others, are added to `lost`.
    fn push(&mut self, now: Nanos, packet: Packet, fits: bool, lost: &mut Vec<Packet>);

    /// Next packet to send; `None` = no packet waits. Repeated calls without a change in between
    /// return the same packet.
    fn head(&mut self) -> Option<Packet>;

    /// Removes the packet returned by [`head`](Queues::head).
    fn take(&mut self) -> Option<Packet>;

    /// Moves the packets that wait for a link into `lost`, as the link goes down.
    fn flush(&mut self, now: Nanos, link: u32, lost: &mut Vec<Packet>);

    /// Calls `show` for every waiting packet.
    fn for_each(&self, show: &mut dyn FnMut(&Packet));
}

/// Configuration of the port that a discipline is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Limit of the port's queue in bytes; a limit in packets is converted with full-size packets.
    pub queue_bytes: u64,
}

/// IP bytes of a full-size packet, used to convert a limit in packets.
const FULL_PACKET: u64 = 1500;

impl Setup {
    /// Setup for a queue with a limit in bytes.
    pub fn bytes(n: u64) -> Self {
        Setup { queue_bytes: n }
    }
    /// Setup for a queue with a limit in packets, at a port that adds `framing` bytes to each
    /// packet.
    pub fn packets(n: u64, framing: u32) -> Self {
        Setup { queue_bytes: n.saturating_mul(FULL_PACKET + u64::from(framing)) }
    }
}

/// Constructor of the state of a port.
pub type Build = fn(&Params, &Setup) -> Box<dyn Discipline>;

/// Static description of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Identifier: scenario value, name in saved timelines.
    pub id: &'static str,
    /// Display label.
    pub label: &'static str,
    /// One-line summary for the reference.
    pub summary: &'static str,
    /// Parameter table.
    pub params: &'static [ParamSpec],
    /// Constructor; `None` = drop-tail at the port.
    pub make: Option<Build>,
}

impl DisciplineInfo {
    /// Table entry of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&'static ParamSpec> {
        self.params.iter().find(|p| p.name == name)
    }

    /// All parameters with their values at a port, checked.
    ///
    /// # Errors
    /// An unknown name, or a value of the wrong type or outside its range.
    pub fn resolve(
        &self,
        given: BTreeMap<String, Value>,
        setup: &Setup,
    ) -> Result<BTreeMap<String, Value>, ParamError> {
        let params = Params::new(self.params, given)?;
        Ok(params.resolved_of(setup.queue_bytes).into_iter().map(|(name, v)| (name.to_string(), v)).collect())
    }

    /// State of a port; `None` = drop-tail.
    pub fn build(&self, params: &Params, setup: &Setup) -> Option<Box<dyn Discipline>> {
        self.make.map(|make| make(params, setup))
    }

    /// Whether packets wait in internal queues instead of that of the port.
    pub fn has_own_queues(&self) -> bool {
        let built = self.build(&Params::defaults(self.params), &Setup { queue_bytes: 0 });
        built.is_some_and(|d| d.queues().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_carry_a_mark_is_marked() {
        let told = |ecn| Packet { ecn, ..Packet::default() }.notify();
        assert_eq!(told(Ecn::NotEct), Verdict::Drop);
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(told(ecn), Verdict::Mark);
        }
    }

    #[test]
    fn a_limit_in_packets_counts_full_ones_with_their_framing() {
        assert_eq!(Setup::packets(100, 14).queue_bytes, 151_400);
        assert_eq!(Setup::bytes(5).queue_bytes, 5);
    }

    #[test]
    fn values_at_a_port_are_complete_and_checked() {
        let red = crate::info("red").unwrap();
        let given = BTreeMap::from([("red_p".to_string(), Value::Float(0.25))]);
        let all = red.resolve(given, &Setup { queue_bytes: 100_001 }).unwrap();
        assert_eq!(all.len(), red.params.len());
        assert_eq!(
            (&all["red_min"], &all["red_max"]),
            (&Value::Text("50000 B".into()), &Value::Text("100001 B".into()))
        );
        assert_eq!(all["red_p"], Value::Float(0.25));
        // Resolving the result again changes nothing.
        assert_eq!(red.resolve(all.clone(), &Setup { queue_bytes: 7 }).unwrap(), all);
        let wrong = BTreeMap::from([("target".to_string(), Value::Text("5 ms".into()))]);
        assert!(red.resolve(wrong, &Setup { queue_bytes: 1 }).is_err());
    }

    #[test]
    fn fq_codel_keeps_its_own_queues_and_codel_does_not() {
        assert!(crate::info("fq_codel").unwrap().has_own_queues());
        assert!(!crate::info("codel").unwrap().has_own_queues());
        assert!(!crate::info("drop-tail").unwrap().has_own_queues());
    }
}
