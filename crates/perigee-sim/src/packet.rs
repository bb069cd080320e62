// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets, in one arena. Queues, ports, links and hosts hold a packet's index in it, one of them at
//! a time: the queue of a port where it waits, the port that transmits it, the flight of a link, the
//! end of a flow.

use crate::cache::fetch_of;
use perigee_cc::Carrier;
use perigee_record::PacketKind;
use perigee_tcp::AckBlocks;
use perigee_telemetry::{ioam, wire, Carried, Feedback, Stamp, WireCompact, WireHop, WirePint};
use perigee_units::Nanos;

/// Sentinel: no packet, link or stack.
pub const NONE: u32 = u32::MAX;

/// Set in a packet's ordinal: congestion was experienced.
pub const CE: u32 = 1 << 31;

/// Length of the IP and ICMP headers of a probe, or the IP and UDP headers of a datagram.
pub(crate) const PROBE_HEADER: u32 = 28;

/// Whether packets of this kind can carry telemetry, into which ports write records.
#[inline]
pub fn has_stack(kind: PacketKind) -> bool {
    matches!(kind, PacketKind::Data | PacketKind::Syn | PacketKind::Frame | PacketKind::FrameBack)
}

/// A packet: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Packet {
    /// Time of arrival at its current port.
    pub enqueued: Nanos,
    /// Departure from its source.
    pub sent: Nanos,
    /// Segment number (Data) or probe number; the contents of an ACK or a frame are in `content`.
    pub seq: u64,
    pub flow: u32,
    /// Per-path routing: index of the current link in the list of paths. Per-hop: number of the
    /// destination.
    pub route: u32,
    /// Link that it crosses or waits for.
    pub link: u32,
    /// Number of this transmission in its flow and direction: random losses depend on it.
    pub ordinal: u32,
    /// Contents, in a separate arena: blocks of an ACK, bytes of a frame.
    pub content: u32,
    /// Telemetry stack, in a separate arena.
    pub telemetry: u32,
    /// Data: echoed timestamp in milliseconds; 0 = none.
    pub echo_ms: u32,
    /// At a port with background traffic: its bytes between the previous packet and this one.
    pub lead: u32,
    pub ip_bytes: u16,
    pub kind: PacketKind,
    /// Number of links crossed.
    pub hops: u8,
    /// PSH flag.
    pub push: bool,
}

/// Arena with a free list; the slot freed last is reused first, so that a busy simulation stays in
/// the cache.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Arena<T> {
    /// Removes and returns an item.
    pub fn take(&mut self, i: u32) -> T {
        let item = std::mem::take(&mut self.items[i as usize]);
        self.remove(i);
        item
    }
}

impl<T> Arena<T> {
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(i) => {
                self.items[i as usize] = item;
                i
            }
            None => {
                self.items.push(item);
                (self.items.len() - 1) as u32
            }
        }
    }
    #[inline]
    pub fn remove(&mut self, i: u32) {
        debug_assert!(!self.free.contains(&i) || self.free.len() > 64);
        self.free.push(i);
    }
    #[inline]
    pub fn get(&self, i: u32) -> &T {
        &self.items[i as usize]
    }
    /// Prefetches an item that will be needed soon.
    #[inline]
    pub fn fetch(&self, i: u32) {
        fetch_of(&self.items, i as usize, std::mem::size_of::<T>().div_ceil(64));
    }
    #[inline]
    pub fn get_mut(&mut self, i: u32) -> &mut T {
        &mut self.items[i as usize]
    }
    /// Number of items in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

/// Telemetry stacks: a header and room for `max_hops` records each.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    heads: Arena<StackHead>,
    hops: Vec<WireHop>,
    max_hops: usize,
    /// Whether packets carry anything else than stacks.
    pub other_forms: bool,
}

/// Fixed part of a stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackHead {
    pub stamp: Stamp,
    /// Payload bytes of the packet.
    pub payload: u32,
    /// rxQlen of the port where the packet waits.
    pub q_in: u16,
    pub path_id: u16,
    pub count: u8,
    /// Number of packets covered by the ACK that returns the telemetry.
    pub covered: u32,
    pub partial: bool,
    pub form: Form,
}

/// Telemetry of a packet that enters or leaves a simulation.
#[derive(Clone, Debug)]
pub struct TelemetryStack {
    pub(crate) head: StackHead,
    pub(crate) hops: Vec<WireHop>,
}

impl TelemetryStack {
    /// A stack without records, as created by the sender of a packet with `payload` bytes.
    pub fn new(stamp: Stamp, payload: u32) -> Self {
        TelemetryStack { head: StackHead { stamp, payload, ..StackHead::default() }, hops: Vec::new() }
    }

    /// Stamp written by the sender.
    pub fn stamp(&self) -> &Stamp {
        &self.head.stamp
    }

    /// XOR of the ids of the switches passed.
    pub fn path_id(&self) -> u16 {
        self.head.path_id
    }

    /// Records of the ports, in the order of the path.
    pub fn hops(&self) -> &[WireHop] {
        &self.hops
    }
}

/// Form in which the sender reads telemetry.
#[derive(Clone, Copy, Debug, Default)]
pub enum Form {
    /// The stack.
    #[default]
    Stack,
    /// The receiver's compact record of it.
    Compact(WireCompact),
    /// The record of fixed size that ports overwrite, in place of a stack.
    Pint(WirePint),
    /// The feedback that ports reduce by their law, in place of a stack.
    Feedback(Feedback),
    /// What a carrier holds in place of records; node data of IOAM are in the stack.
    Carried(Carried),
}

impl StackHead {
    /// Number of records in the stack.
    #[inline]
    fn records(&self) -> usize {
        match self.form {
            Form::Stack => usize::from(self.count),
            Form::Carried(carried) if ioam::has_trace(carried.carrier) => usize::from(self.count),
            _ => 0,
        }
    }
}

impl Stacks {
    pub fn new(max_hops: usize) -> Self {
        Stacks { max_hops, ..Stacks::default() }
    }
    pub fn insert(&mut self, stamp: Stamp, payload: u32) -> u32 {
        let i = self.heads.insert(StackHead { stamp, payload, ..StackHead::default() });
        let need = (i as usize + 1) * self.max_hops;
        if self.hops.len() < need {
            self.hops.resize(need, WireHop::default());
        }
        i
    }
    pub fn remove(&mut self, i: u32) {
        self.heads.remove(i);
    }
    #[inline]
    pub fn head(&self, i: u32) -> &StackHead {
        self.heads.get(i)
    }
    #[inline]
    pub fn head_mut(&mut self, i: u32) -> &mut StackHead {
        self.heads.get_mut(i)
    }
    /// Adds a hop's record; a full stack is left unchanged and marked partial.
    #[inline]
    pub fn push(&mut self, i: u32, hop: WireHop, switch: u16) {
        let head = self.heads.get_mut(i);
        head.path_id ^= switch;
        if (head.count as usize) < self.max_hops {
            self.hops[i as usize * self.max_hops + head.count as usize] = hop;
            head.count += 1;
        } else {
            head.partial = true;
        }
    }
    /// The last record, unless the stack has been full.
    pub fn written(&mut self, i: u32) -> Option<&mut WireHop> {
        let head = self.heads.get(i);
        let last = (i as usize * self.max_hops + head.count as usize).checked_sub(1)?;
        (!head.partial && head.count > 0).then(|| &mut self.hops[last])
    }
    /// Overwrites a record of fixed size.
    pub fn overwrite(&mut self, i: u32, port: WirePint, switch: u16, wait: Nanos) {
        let head = self.heads.get_mut(i);
        if let Form::Pint(record) = &mut head.form {
            record.pass(port, switch, wait);
            head.count = head.count.saturating_add(1);
        }
    }
    /// Telemetry bytes currently in the packet.
    pub fn block(&self, i: u32) -> Vec<u8> {
        let head = self.head(i);
        let mut block = Vec::new();
        match &head.form {
            Form::Stack => wire::write_stack(&mut block, head.path_id, &head.stamp, self.hops(i)),
            Form::Compact(echo) => block.extend_from_slice(&echo.to_bytes()),
            Form::Pint(record) => block.extend_from_slice(&record.to_bytes(&head.stamp)),
            Form::Feedback(f) => block.extend_from_slice(&f.to_bytes(&head.stamp, head.count)),
            // Traces are shown by `options`; the others have no block.
            Form::Carried(_) => {}
        }
        block
    }
    /// Options with the trace that the packet carries, of a carrier that has one.
    pub fn options(&self, i: u32, carrier: Carrier, now: Nanos, room: usize) -> Vec<u8> {
        let (head, hops) = (self.head(i), self.hops(i));
        let stamp = &head.stamp;
        let senders = wire::WireHeader {
            hops: head.count,
            path_id: head.path_id,
            base_rtt_us: stamp.base_rtt_us,
            cwnd: stamp.cwnd,
        };
        ioam::options(carrier, now, hops, room, &senders)
    }
    /// The records of a stack; packets of other forms count ports without records.
    #[inline]
    pub fn hops(&self, i: u32) -> &[WireHop] {
        let at = i as usize * self.max_hops;
        &self.hops[at..at + self.heads.get(i).records()]
    }
    /// Exports a stack with all its records, for a packet that leaves the simulation.
    pub fn export(&self, i: u32) -> TelemetryStack {
        TelemetryStack { head: *self.head(i), hops: self.hops(i).to_vec() }
    }
    /// Imports the stack of an external packet.
    pub fn import(&mut self, stack: &TelemetryStack) -> u32 {
        let i = self.insert(stack.head.stamp, stack.head.payload);
        let kept = stack.hops.len().min(self.max_hops);
        let at = i as usize * self.max_hops;
        self.hops[at..at + kept].copy_from_slice(&stack.hops[..kept]);
        let head = self.heads.get_mut(i);
        *head = stack.head;
        if kept < stack.hops.len() {
            (head.count, head.partial) = (kept as u8, true);
        }
        i
    }
    /// Number of stacks in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.heads.used()
    }
}

/// Contents of ACKs.
pub type Acks = Arena<AckBlocks>;
/// Bytes of frames.
pub type Frames = Arena<Box<[u8]>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 64);
    }

    #[test]
    fn a_stack_that_is_full_says_so() {
        let mut s = Stacks::new(2);
        let i = s.insert(Stamp::default(), 1448);
        for switch in [1, 2, 4] {
            s.push(i, WireHop::default(), switch);
        }
        assert_eq!((s.hops(i).len(), s.head(i).path_id, s.head(i).partial), (2, 7, true));
        s.remove(i);
        assert_eq!(s.used(), 0);
    }
}
