// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Adapter between the disciplines of `perigee-queue` and ports: converts packets to the form that
//! disciplines receive, and executes their verdicts.
//!
//! A managed port is never predictable: its discipline decides when a packet arrives and when it is
//! dequeued, and the slow path computes both instants exactly. As for random losses, random draws
//! depend on the link, the flow and the packet's number in its flow.

use super::ring::Waiting;
use super::{Net, PortState};
use crate::observe::DropCause;
use crate::packet::{Packet, CE, NONE};
use perigee_queue::{self as queue, Discipline, DisciplineInfo, Ecn, Setup, Verdict};
use perigee_record::PacketKind;
use perigee_timeline::{OutageMode, Queue, QueueLimit};
use perigee_units::draw::mix;
use perigee_units::params::Params;
use perigee_units::{BitRate, Nanos};

/// Creates the discipline of a port, from the built-in list or from `more`; `None` = drop-tail.
///
/// # Errors
/// If the discipline does not exist or rejects its parameters.
pub fn build(
    q: &Queue,
    framing: u32,
    more: &[DisciplineInfo],
) -> Result<Option<Box<dyn Discipline>>, String> {
    let perigee_timeline::Discipline { name, params } = q.discipline.as_ref();
    let Some(info) = more.iter().find(|d| d.id == name).or_else(|| queue::info(name)) else {
        let known: Vec<&str> = queue::DISCIPLINES.iter().chain(more).map(|d| d.id).collect();
        return Err(format!("no such queue discipline: {name:?}; known: {}", known.join(", ")));
    };
    let params = Params::new(info.params, params.clone()).map_err(|e| format!("discipline {name}: {e}"))?;
    let setup = match q.limit {
        QueueLimit::Bytes(n) => Setup::bytes(n),
        QueueLimit::Packets(n) => Setup::packets(n, framing),
    };
    Ok(info.build(&params, &setup))
}

impl PortState {
    /// Discipline of a managed port with its queues, and the port state passed to it.
    fn managed(&mut self, now: Nanos) -> (&mut dyn Discipline, queue::Port) {
        let bytes = self.load.as_ref().map_or(self.bytes, |load| load.at(now).0);
        let port = queue::Port { now, rate: self.rate, bytes };
        (self.aqm.as_deref_mut().expect("only managed ports come here"), port)
    }

    /// Queue state that telemetry reports: the rate and the waiting bytes, without framing; of the
    /// entire port, or of the share of it that packets with telemetry get.
    pub(super) fn reported(&self, now: Nanos) -> (u64, BitRate) {
        let framing = u64::from(self.framing);
        if let Some(load) = &self.load {
            return (load.at(now).0, self.rate);
        }
        match self.aqm.as_ref().and_then(|d| d.own()) {
            Some(own) => {
                let rate = (self.rate.0 as f64 * own.share).round() as u64;
                (own.bytes - own.packets * framing, BitRate(rate))
            }
            None => (self.bytes - self.packets * framing, self.rate),
        }
    }

    /// Packets waiting in the discipline's internal queues.
    pub(super) fn waiting_apart(&self) -> Vec<u32> {
        let mut all = Vec::new();
        if let Some(queues) = self.aqm.as_ref().and_then(|d| d.queues()) {
            queues.for_each(&mut |p| all.push(p.id));
        }
        all
    }

    fn has_own_queues(&self) -> bool {
        self.aqm.as_ref().is_some_and(|d| d.queues().is_some())
    }
}

impl Net {
    /// Handles an arrival at a managed port. `held`: an outage holds arrivals.
    pub(super) fn enqueue_managed(&mut self, now: Nanos, h: u32, link: u32, held: bool) {
        let p = self.links[link as usize].port;
        let mut seen = self.seen(h);
        let (discipline, port) = self.ports[p as usize].managed(now);
        match discipline.on_arrival(&port, &seen) {
            Verdict::Pass => {}
            Verdict::Mark => {
                self.mark(h, link);
                seen.ecn = Ecn::Ce;
            }
            Verdict::Drop => return self.drop_at(h, link, DropCause::Queue),
        }
        let port = &mut self.ports[p as usize];
        let serving = match port.serving {
            NONE => 0,
            s => self.packets.get(s).ip_bytes as u64 + port.framing as u64,
        };
        let fits =
            port.load.is_some() || port.has_room(self.packets.get(h).kind, u64::from(seen.bytes), serving);
        if port.has_own_queues() {
            port.packets += 1;
            port.bytes += u64::from(seen.bytes);
            let mut lost = Vec::new();
            let queues = port.aqm.as_mut().and_then(|d| d.queues_mut()).expect("asked above");
            queues.push(now, seen, fits, &mut lost);
            self.lose(p, &lost, DropCause::Queue);
        } else if fits {
            port.append(Waiting { since: now, packet: h, bytes: seen.bytes }, self.packets.get(h).kind);
        } else {
            return self.drop_at(h, link, DropCause::Queue);
        }
        if self.ports[p as usize].serving == NONE && !held {
            self.serve_managed(p, now);
            self.reschedule_port(p);
        }
    }

    /// Starts the next packet of a managed port at `at`, unless its link is held.
    pub(super) fn serve_managed(&mut self, p: u32, at: Nanos) {
        let mut again = false;
        while let Some(seen) = self.head_of(p) {
            let (h, link) = (seen.id, seen.link);
            let l = &self.links[link as usize];
            if !l.up && l.mode == OutageMode::Hold {
                return;
            }
            let lost = !l.up && l.mode == OutageMode::Flush;
            if lost {
                self.take_head(p);
                self.drop_at(h, link, DropCause::Outage);
                continue;
            }
            // Probes with priority wait in a separate queue: their short waits are not
            // representative of the managed queue.
            let goes_first = self.ports[p as usize].serves_probe();
            let (discipline, port) = self.ports[p as usize].managed(at);
            let verdict = match goes_first && discipline.queues_mut().is_none() {
                true => Verdict::Pass,
                false => discipline.on_dequeue(&port, &seen, again),
            };
            self.take_head(p);
            match verdict {
                Verdict::Pass => {}
                Verdict::Mark => self.mark(h, link),
                Verdict::Drop => {
                    again = true;
                    self.drop_at(h, link, DropCause::Queue);
                    continue;
                }
            }
            return self.begin_service(p, h, at);
        }
    }

    /// Next packet to serve.
    fn head_of(&mut self, p: u32) -> Option<queue::Packet> {
        let port = &mut self.ports[p as usize];
        let discipline = port.aqm.as_deref_mut()?;
        if let Some(queues) = discipline.queues_mut() {
            return queues.head();
        }
        let Some(h) = port.first_waiting() else {
            port.aqm.as_deref_mut()?.on_empty();
            return None;
        };
        Some(self.seen(h))
    }

    fn take_head(&mut self, p: u32) {
        let port = &mut self.ports[p as usize];
        match port.aqm.as_deref_mut().and_then(|d| d.queues_mut()) {
            Some(queues) => {
                if let Some(packet) = queues.take() {
                    port.packets -= 1;
                    port.bytes -= u64::from(packet.bytes);
                }
            }
            None => drop(port.take_next()),
        }
    }

    /// Drops packets that the discipline has removed from its internal queues.
    fn lose(&mut self, p: u32, lost: &[queue::Packet], cause: DropCause) {
        for packet in lost {
            let port = &mut self.ports[p as usize];
            port.packets -= 1;
            port.bytes -= u64::from(packet.bytes);
            self.drop_at(packet.id, packet.link, cause);
        }
    }

    /// Drops the packets that wait in internal queues for a link of a managed port that goes down.
    pub(super) fn flush_managed(&mut self, now: Nanos, p: u32, link: u32) {
        let mut lost = Vec::new();
        let queues = self.ports[p as usize].aqm.as_mut().and_then(|d| d.queues_mut());
        if let Some(queues) = queues {
            queues.flush(now, link, &mut lost);
        }
        self.lose(p, &lost, DropCause::Outage);
    }

    /// Converts a packet to the form that disciplines receive.
    fn seen(&self, h: u32) -> queue::Packet {
        let packet = self.packets.get(h);
        let ip_bytes = u32::from(packet.ip_bytes);
        let ecn = match packet.kind {
            PacketKind::Data | PacketKind::Frame | PacketKind::FrameBack if packet.ordinal & CE != 0 => {
                Ecn::Ce
            }
            PacketKind::Data => self.ecn[packet.flow as usize],
            PacketKind::Frame | PacketKind::FrameBack => ecn_of(self.frames.get(packet.content)),
            _ => Ecn::NotEct,
        };
        queue::Packet {
            id: h,
            bytes: ip_bytes + self.ports[self.links[packet.link as usize].port as usize].framing,
            ip_bytes,
            arrived: packet.enqueued,
            flow: mix(self.flow_keys[packet.flow as usize] ^ direction(packet)),
            ecn,
            link: packet.link,
            draw: self.draw(packet),
            telemetry: packet.telemetry != NONE,
        }
    }

    fn mark(&mut self, h: u32, link: u32) {
        self.packets.get_mut(h).ordinal |= CE;
        self.links[link as usize].marked += 1;
    }

    /// A number in 0..1 that depends only on the link, the flow and the packet's number in its
    /// flow.
    fn draw(&self, packet: &Packet) -> f64 {
        let key = mix(self.seed ^ self.links[packet.link as usize].key ^ EARLY_DROPS);
        let ordinal = u64::from(packet.ordinal & !CE) * 2 + direction(packet);
        let draw = mix(mix(key ^ self.flow_keys[packet.flow as usize]) ^ ordinal);
        (draw >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Makes these draws independent of those for random losses.
const EARLY_DROPS: u64 = 0x6561_726c_7964_726f;

fn direction(packet: &Packet) -> u64 {
    packet.kind.is_forward() as u64
}

/// ECN field of an IP packet (RFC 3168 section 5): in the second byte of IPv4, in the traffic class
/// of IPv6.
fn ecn_of(packet: &[u8]) -> Ecn {
    let field = match packet {
        [first, second, ..] if first >> 4 == 4 => second & 3,
        [first, second, ..] if first >> 4 == 6 => second >> 4 & 3,
        _ => 0,
    };
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(field)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Discipline as Chosen;
    use std::sync::Arc;

    fn of(name: &str) -> Queue {
        let chosen = Chosen { name: name.into(), ..Chosen::default() };
        Queue { discipline: Arc::new(chosen), ..Queue::drop_tail(QueueLimit::Packets(10)) }
    }

    #[test]
    fn frames_say_in_their_header_whether_they_may_be_marked() {
        let v4 = |ecn: u8| ecn_of(&[0x45, 0xb8 | ecn, 0, 20]);
        assert_eq!([v4(0), v4(1), v4(2), v4(3)], [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
        let v6 = |ecn: u8| ecn_of(&[0x6b, 0x80 | ecn << 4, 0, 0]);
        assert_eq!([v6(0), v6(1), v6(2), v6(3)], [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
        assert_eq!((ecn_of(&[0x45]), ecn_of(&[7; 20])), (Ecn::NotEct, Ecn::NotEct));
    }

    #[test]
    fn a_name_that_nobody_knows_is_refused() {
        assert!(build(&of("drop-tail"), 0, &[]).unwrap().is_none());
        assert!(build(&of("codel"), 0, &[]).unwrap().is_some());
        let refused = build(&of("coddle"), 0, &[]).unwrap_err();
        assert!(refused.contains("coddle") && refused.contains("fq_codel"), "{refused}");
    }
}
