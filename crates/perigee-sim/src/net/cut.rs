// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Links between partitions of a network: packets leave the partition of the near end, and enter
//! that of the far end, with the instant of their arrival.

use super::flight::Flying;
use super::{before, Net};
use crate::packet::{Packet, TelemetryStack, NONE};
use perigee_tcp::AckBlocks;
use perigee_units::Nanos;

/// A packet in flight on a link to another partition.
#[derive(Clone, Debug)]
pub struct Handed {
    pub link: u32,
    pub arrival: Nanos,
    packet: Packet,
    acks: Option<AckBlocks>,
    telemetry: Option<Box<TelemetryStack>>,
}

impl Net {
    /// Removes the packets that arrive over a link before `until` from its flight. All events
    /// before `now` have been executed.
    pub fn leave_partition(&mut self, now: Nanos, link: u32, until: Nanos, out: &mut Vec<Handed>) {
        let l = &self.links[link as usize];
        if l.entered == l.crossed + l.dropped.iter().sum::<u64>() {
            return;
        }
        self.advance(l.port, before(now));
        let mut moved = false;
        while let Some(f) = self.links[link as usize].flight.first().filter(|f| f.arrival < until) {
            let l = &mut self.links[link as usize];
            l.flight.drop_first();
            l.crossed += 1;
            moved = true;
            out.push(self.hand_over(f.packet, link, f.arrival));
        }
        if moved {
            self.reschedule_link(link);
        }
    }

    /// Takes a packet and its contents out of the arenas.
    pub fn hand_over(&mut self, h: u32, link: u32, arrival: Nanos) -> Handed {
        let packet = *self.packets.get(h);
        let acks = (packet.content != NONE).then(|| *self.acks.get(packet.content));
        let telemetry = (packet.telemetry != NONE).then(|| Box::new(self.stacks.export(packet.telemetry)));
        self.release(h);
        Handed { link, arrival, packet, acks, telemetry }
    }

    /// Puts a packet of another partition into the arenas.
    pub fn take_over(&mut self, handed: Handed) -> u32 {
        let Handed { mut packet, acks, telemetry, .. } = handed;
        packet.content = acks.map_or(NONE, |blocks| self.acks.insert(blocks));
        packet.telemetry = telemetry.map_or(NONE, |stack| self.stacks.import(&stack));
        self.packets.insert(packet)
    }

    /// Puts a packet of another partition in flight on its link.
    pub fn enter_partition(&mut self, handed: Handed) {
        let (link, arrival) = (handed.link, handed.arrival);
        let packet = self.take_over(handed);
        if self.links[link as usize].join(Flying { arrival, packet }) {
            self.schedule.set_link(link, arrival);
        }
    }
}
