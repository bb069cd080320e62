// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a discipline is told of packets and its port, and what it decides.

use perigee_units::params::{ParamError, ParamSpec, Params, Value};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// One full Ethernet frame without its checksum, in bytes: with no more waiting, no discipline drops.
pub const MTU: u64 = 1514;

/// The ECN field of the IP header (RFC 3168 section 5, RFC 9331 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: it can only be dropped.
    #[default]
    NotEct,
    /// Capable, of a classic transport.
    Ect0,
    /// Capable, of a scalable (L4S) transport.
    Ect1,
    /// Congestion experienced: it was marked.
    Ce,
}

impl Ecn {
    /// The two bits of the header.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
}

/// A packet as a discipline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet {
    /// The host's name for it.
    pub id: u32,
    /// Bytes that it takes of the queue and on the line, framing included.
    pub bytes: u32,
    /// Bytes of the IP packet.
    pub ip_bytes: u32,
    /// When it came to the port.
    pub arrived: Nanos,
    /// A hash of its flow and direction.
    pub flow: u64,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The link that it leaves on: a port may serve several.
    pub link: u32,
    /// A random number in 0..1 of its own: the same in every run with the same seed.
    pub draw: f64,
    /// It carries telemetry, to which ports add theirs.
    pub telemetry: bool,
}

impl Packet {
    /// Tells the sender of congestion: by a mark where the packet can carry one, else by its loss.
    pub fn notify(&self) -> Verdict {
        match self.ecn {
            Ecn::NotEct => Verdict::Drop,
            _ => Verdict::Mark,
        }
    }

    /// Time that it has waited by `now`.
    pub fn sojourn(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.arrived)
    }
}

/// The port at the moment of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Port {
    /// Now.
    pub now: Nanos,
    /// Present rate of the transmitter; zero = blocked.
    pub rate: BitRate,
    /// Bytes that wait in all of its queues, framing included: without a packet that arrives, with one that is about to
    /// leave.
    pub bytes: u64,
}

/// What packets with telemetry have of a port at which they wait by themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Those that wait.
    pub packets: u64,
    /// Their bytes, framing included.
    pub bytes: u64,
    /// Their share of the rate while others wait too, in 0..1.
    pub share: f64,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on with its ECN field set to congestion experienced. Only for packets that are not [`Ecn::NotEct`].
    Mark,
    /// It is lost.
    Drop,
}

/// A queue discipline: a pure state machine.
///
/// The host's order for a packet that comes: [`on_arrival`](Discipline::on_arrival); unless that drops it, it joins the
/// port's queue where there is room (else it is lost), or the discipline's own queues by [`Queues::push`].
///
/// For each packet to be sent: the head of the port's queue, or [`Queues::head`]; then
/// [`on_dequeue`](Discipline::on_dequeue) with it; then it is taken out ([`Queues::take`]) and sent, or lost and the next
/// one asked for. Where nothing waits, [`on_empty`](Discipline::on_empty). A head whose link is held by an outage stays
/// where it is, unasked.
pub trait Discipline: Debug + Send {
    /// A packet comes.
    fn on_arrival(&mut self, _port: &Port, _packet: &Packet) -> Verdict {
        Verdict::Pass
    }

    /// A packet is about to leave the queue. `again`: another one was dropped at this opportunity already.
    fn on_dequeue(&mut self, _port: &Port, _packet: &Packet, _again: bool) -> Verdict {
        Verdict::Pass
    }

    /// A packet could be sent, but the port's queue is empty.
    fn on_empty(&mut self) {}

    /// What telemetry tells of in place of the whole port; `None` = all packets wait together, or their turns are not by
    /// telemetry.
    fn own(&self) -> Option<Own> {
        None
    }

    /// Queues of its own; `None` = its packets wait in the port's one queue.
    fn queues(&self) -> Option<&dyn Queues> {
        None
    }

    /// The same, to be changed.
    fn queues_mut(&mut self) -> Option<&mut dyn Queues> {
        None
    }
}

/// Queues that a discipline keeps itself.
pub trait Queues {
    /// Takes a packet at `now`. Where the port has no room for it (`fits` is false), `lost` gets the packets that go
    /// instead: this one or others.
    fn push(&mut self, now: Nanos, packet: Packet, fits: bool, lost: &mut Vec<Packet>);

    /// The packet whose turn it is; `None` = nothing waits. Asked twice without a change between, it is the same one.
    fn head(&mut self) -> Option<Packet>;

    /// Takes out what [`head`](Queues::head) named.
    fn take(&mut self) -> Option<Packet>;

    /// The link goes down and loses what waits for it: moves that into `lost`.
    fn flush(&mut self, now: Nanos, link: u32, lost: &mut Vec<Packet>);

    /// Shows every packet that waits.
    fn for_each(&self, show: &mut dyn FnMut(&Packet));
}

/// What a discipline is told of its port when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Limit of the port's queue in bytes; a limit in packets counts full ones.
    pub queue_bytes: u64,
}

/// IP bytes of the packets that fill a queue whose limit counts packets.
const FULL_PACKET: u64 = 1500;

impl Setup {
    /// Of a queue with a limit in bytes.
    pub fn bytes(n: u64) -> Self {
        Setup { queue_bytes: n }
    }
    /// Of a queue with a limit in packets, at a port that adds `framing` bytes to each.
    pub fn packets(n: u64, framing: u32) -> Self {
        Setup { queue_bytes: n.saturating_mul(FULL_PACKET + u64::from(framing)) }
    }
}

/// Makes the state of one port.
pub type Build = fn(&Params, &Setup) -> Box<dyn Discipline>;

/// What is known of a discipline without running it.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineInfo {
    /// Identifier: scenario value, name in saved timelines.
    pub id: &'static str,
    /// Display label.
    pub label: &'static str,
    /// One line for the reference.
    pub summary: &'static str,
    /// Parameter table.
    pub params: &'static [ParamSpec],
    /// Makes it; `None` = the port drops what does not fit, and nothing else.
    pub make: Option<Build>,
}

impl DisciplineInfo {
    /// The row of a parameter.
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

    /// The state of one port; `None` = drop-tail.
    pub fn build(&self, params: &Params, setup: &Setup) -> Option<Box<dyn Discipline>> {
        self.make.map(|make| make(params, setup))
    }

    /// Its packets wait in queues of its own, not in the port's.
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
        // What was resolved once stays as it is.
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
