// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receiving end of a TCP connection: data in, ACKs out, and delivery to the receiving application.

use super::apps::Demand;
use super::{ts_ms, Cx, Delivered, Established, ReceivingEnd};
use crate::net::Net;
use crate::observe::{show, Observer, SimEvent, MILESTONES};
use crate::packet::{Form, Packet, CE, NONE};
use crate::setup::FlowSetup;
use perigee_cc::Carrier;
use perigee_queue::Ecn;
use perigee_record::PacketKind;
use perigee_tcp::{AckBlocks, Receiver};
use perigee_telemetry::{BottleneckEcho, CarrierReader, EchoMode};
use perigee_units::Nanos;

/// The receiving end of a TCP connection.
pub struct TcpReceiver {
    /// The connection, once the handshake is over.
    pub tcp: Option<Receiver>,
    bottleneck: BottleneckEcho,
    /// With a carrier other than records.
    reader: Option<Box<CarrierReader>>,
    pub(super) stopped: bool,
    /// Consumer of the data, where the application does more than read.
    pub(super) demand: Option<Box<Demand>>,
}

impl TcpReceiver {
    pub fn new(setup: &FlowSetup) -> Self {
        TcpReceiver {
            tcp: None,
            bottleneck: BottleneckEcho::new(),
            reader: None,
            stopped: false,
            demand: Demand::of(setup).map(Box::new),
        }
    }

    pub fn begin(&mut self, now: Nanos, tcp: Receiver) {
        self.tcp = Some(tcp);
        self.demand.iter_mut().for_each(|d| d.begin(now));
    }

    #[inline]
    pub fn next_due(&self, stop: Nanos) -> Nanos {
        let Some(tcp) = &self.tcp else { return Nanos::MAX };
        match &self.demand {
            Some(demand) if !self.stopped => tcp.deadline().min(demand.due()).min(stop),
            _ => tcp.deadline(),
        }
    }
}

impl ReceivingEnd {
    /// Starts the connection: at the end of the handshake, or with an external sender at its SYN.
    pub fn begin<O: Observer>(&mut self, established: Option<Established>, cx: &mut Cx<'_, O>) {
        let facts = &cx.facts[self.egress.flow as usize];
        let cfg = facts.tcp();
        let mut tcp = Receiver::new(&cfg, facts.ack_every, cx.now);
        // For schemes that require an ACK per packet, out-of-order packets are also acknowledged
        // individually.
        if let Some(Established { rtt }) = established.filter(|_| cfg.sack_compression && facts.ack_every > 1)
        {
            tcp.compress_sacks(rtt);
        }
        if let Some(r) = self.receiver_mut().filter(|r| r.tcp.is_none()) {
            r.begin(cx.now, tcp);
            self.reschedule(cx);
        }
    }

    /// Sends a delayed ACK, or the application's next request.
    pub fn on_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (now, stop) = (cx.now, self.stop);
        let Some(r) = self.receiver_mut() else { return };
        if let Some(ack) = r.tcp.as_mut().and_then(|tcp| tcp.on_timer(now)) {
            self.send_ack(ack, NONE, cx);
        }
        self.demand_timer(cx);
        if let Some(r) = self.receiver_mut().filter(|r| r.tcp.is_some()) {
            r.stopped |= now >= stop;
        }
    }

    pub(super) fn receive_data<O: Observer>(
        &mut self,
        h: u32,
        packet: Packet,
        cx: &mut Cx<'_, O>,
    ) -> Delivered {
        let (now, mss, header) = (cx.now, self.mss, self.header);
        if O::PACKETS {
            let block = self.telemetry.shown_data(cx.net, packet.telemetry, now);
            let payload = (packet.ip_bytes as u32).saturating_sub(header + self.telemetry.data_bytes());
            let shown = Some((false, mss, cx.net.ecn[packet.flow as usize]));
            show(cx.obs, now, false, &packet, payload, &AckBlocks::default(), shown, &block);
        }
        let ts = ts_ms(packet.sent);
        if self.is_leg && self.answer_probe(packet.ip_bytes as u32, cx) {
            cx.net.release(h);
            return Delivered::Nothing;
        }
        // Data that overtakes no packet arrives after the handshake, so the receiver exists.
        let echo = self.telemetry.echo;
        let Some(TcpReceiver { tcp: Some(tcp), bottleneck, reader, .. }) = self.receiver_mut() else {
            cx.net.release(h);
            return Delivered::Nothing;
        };
        let before = tcp.next();
        if packet.ordinal & CE != 0 {
            tcp.on_mark();
        }
        tcp.on_echo(now, packet.echo_ms);
        tcp.on_arrival(now, packet.sent);
        let ack = tcp.on_data(now, packet.seq, ts, packet.push);
        let next = tcp.next();
        if packet.telemetry != NONE {
            let head = cx.net.stacks.head_mut(packet.telemetry);
            head.partial |= head.count < packet.hops;
            // Without a port's record there is nothing to echo, and the sender must detect this.
            let has_records = head.count > 0;
            match echo {
                Some(EchoMode::Bottleneck | EchoMode::Carrier(Carrier::IoamSnapshot)) if has_records => {
                    let path = head.path_id;
                    let compact = bottleneck.on_data(now, path, cx.net.stacks.hops(packet.telemetry));
                    cx.net.stacks.head_mut(packet.telemetry).form = Form::Compact(compact);
                }
                Some(EchoMode::Carrier(_)) => {
                    derive(reader.get_or_insert_default(), now, packet.telemetry, cx.net)
                }
                _ => {}
            }
        }
        let delivered = self.take_in_order(before, next, cx);
        match ack {
            Some(blocks) => {
                // The ACK takes over the telemetry stack of the packet that triggered it.
                cx.net.packets.get_mut(h).telemetry = NONE;
                cx.net.release(h);
                self.send_ack(blocks, packet.telemetry, cx);
            }
            None => {
                cx.net.release(h);
                self.reschedule(cx);
            }
        }
        delivered
    }

    /// Delivers the segments from `before` to `next` to the application.
    fn take_in_order<O: Observer>(&mut self, before: u64, next: u64, cx: &mut Cx<'_, O>) -> Delivered {
        let (now, mss) = (cx.now, u64::from(self.mss));
        self.goodput_bytes += (next - before) * mss;
        if next > before {
            self.note_milestones(now);
        }
        if next > before && self.receiver().is_some_and(|r| r.demand.is_some()) {
            self.take_objects(next, cx);
            self.reschedule(cx);
        }
        if self.is_on_off {
            return Delivered::UpTo(next);
        }
        match self.segments {
            Some((segments, last)) if next == segments && before < segments => {
                self.goodput_bytes -= mss - u64::from(last);
                self.completed = Some(now);
                cx.obs.event(now, &SimEvent::FlowComplete(self.egress.flow));
                Delivered::All { bytes: (segments - 1) * mss + u64::from(last) }
            }
            _ => Delivered::Nothing,
        }
    }

    /// Records milestones reached by the data delivered so far.
    fn note_milestones(&mut self, now: Nanos) {
        let reached =
            |nth: u32, bytes: u64| MILESTONES.get(nth as usize).is_some_and(|&amount| bytes >= amount);
        while reached(self.milestones, self.goodput_bytes) {
            self.reached[self.milestones as usize] = Some(now);
            self.milestones += 1;
        }
    }

    pub(super) fn send_ack<O: Observer>(
        &mut self,
        mut blocks: AckBlocks,
        telemetry: u32,
        cx: &mut Cx<'_, O>,
    ) {
        let count = blocks.count as u32 + blocks.dsack.is_some() as u32;
        let options = if count > 0 { 8 * count + self.sack_padding } else { 0 };
        let echo_bytes = match telemetry {
            NONE => 0,
            stack => self.telemetry.ack_bytes(cx.net.stacks.head(stack).count as usize),
        };
        let ip_bytes = self.header + options + echo_bytes;
        if telemetry != NONE {
            cx.net.stacks.head_mut(telemetry).covered = blocks.covered;
        }
        let mss = self.mss;
        if let Some(tcp) = self.receiver().and_then(|r| r.tcp.as_ref()) {
            tcp.stamp(cx.now, &mut blocks);
        }
        if self.is_leg {
            blocks.window_end = self.offered_window();
        }
        let mut packet = self.egress.packet(cx.now, PacketKind::Ack, ip_bytes, blocks.ack);
        packet.telemetry = telemetry;
        packet.content = cx.net.acks.insert(blocks);
        if O::PACKETS {
            let block = self.telemetry.shown_block(cx.net, telemetry);
            show(cx.obs, cx.now, true, &packet, 0, &blocks, Some((false, mss, Ecn::NotEct)), &block);
        }
        self.egress.send(packet, cx);
    }
}

/// Replaces what a carrier holds by the bottleneck record derived from it; without one, the ACK
/// carries no telemetry.
#[cold]
#[inline(never)]
fn derive(reader: &mut CarrierReader, now: Nanos, telemetry: u32, net: &mut Net) {
    let head = *net.stacks.head(telemetry);
    let Form::Carried(carried) = head.form else { return };
    let record = reader.read(now, &carried, head.path_id, net.stacks.hops(telemetry), &head.stamp);
    let head = net.stacks.head_mut(telemetry);
    // Neither names the ports that wrote, so that a missing one is not noticed.
    head.partial &= !matches!(carried.carrier, Carrier::Utilisation | Carrier::Ecn);
    match record {
        Some(compact) => head.form = Form::Compact(compact),
        None => (head.form, head.count) = (Form::Stack, 0),
    }
}
