// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receiving end of a TCP connection: data in, ACKs out, and what the receiving application does with the data.

use super::apps::Demand;
use super::{first_init, ts_ms, Cx, Flow};
use crate::observe::{show, Observer, SimEvent, MILESTONES};
use crate::packet::{Form, Packet, CE, NONE};
use crate::setup::FlowSetup;
use perigee_cc::CongestionControl;
use perigee_queue::Ecn;
use perigee_record::PacketKind;
use perigee_tcp::{AckBlocks, Receiver};
use perigee_telemetry::{BottleneckEcho, EchoMode};
use perigee_units::Nanos;

/// The receiving end.
pub struct TcpReceiver {
    /// The connection, once the handshake is over.
    pub tcp: Option<Receiver>,
    bottleneck: BottleneckEcho,
    pub(super) stopped: bool,
    /// What takes the data, if not an application that only reads.
    pub(super) demand: Option<Box<Demand>>,
}

impl TcpReceiver {
    pub fn new(setup: &FlowSetup) -> Self {
        TcpReceiver {
            tcp: None,
            bottleneck: BottleneckEcho::new(),
            stopped: false,
            demand: Demand::of(setup).map(Box::new),
        }
    }

    pub fn begin(&mut self, now: Nanos, tcp: Receiver) {
        self.tcp = Some(tcp);
        self.demand.iter_mut().for_each(|d| d.begin(now));
    }

    pub fn next_due(&self) -> Nanos {
        let Some(tcp) = &self.tcp else { return Nanos::MAX };
        match &self.demand {
            Some(demand) if !self.stopped => tcp.deadline().min(demand.due()),
            _ => tcp.deadline(),
        }
    }
}

impl Flow {
    /// The connection of a sender outside begins with its SYN.
    pub(super) fn begin_receiver(&mut self, now: Nanos) {
        let every = self.setup.scheme.build(&first_init(&self.setup, now)).caps().ack_every;
        let tcp = Receiver::new(&self.setup.tcp, every.unwrap_or(self.setup.tcp.delayed_ack), now);
        if let Some(r) = self.receiver_mut().filter(|r| r.tcp.is_none()) {
            r.begin(now, tcp);
        }
    }

    /// A delayed ACK, or the application's next request.
    pub(super) fn receiver_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (now, stop) = (cx.now, self.stop);
        let Some(r) = self.receiver_mut() else { return };
        if let Some(ack) = r.tcp.as_mut().and_then(|tcp| tcp.on_timer(now)) {
            self.send_ack(ack, NONE, cx);
        }
        self.demand_timer(cx);
        if let Some(r) = self.receiver_mut() {
            r.stopped |= now >= stop;
        }
    }

    pub(super) fn receive_data<O: Observer>(&mut self, h: u32, packet: Packet, cx: &mut Cx<'_, O>) {
        let (now, mss, header) = (cx.now, self.mss, self.header);
        if O::PACKETS {
            let block = self.stamp_block(cx.net, packet.telemetry);
            let payload = (packet.ip_bytes as u32).saturating_sub(header + self.telemetry.data_bytes());
            let shown = Some((false, mss, cx.net.ecn[packet.flow as usize]));
            show(cx.obs, now, false, &packet, payload, &AckBlocks::default(), shown, &block);
        }
        let ts = ts_ms(packet.sent);
        if self.is_leg && self.answer_probe(packet.ip_bytes as u32, cx) {
            return cx.net.release(h);
        }
        // A data packet that overtakes nothing arrives after the handshake; the receiver exists.
        let echo = self.telemetry.echo;
        let Some(r) = self.receiver_mut() else { return cx.net.release(h) };
        let Some(tcp) = r.tcp.as_mut() else { return cx.net.release(h) };
        let before = tcp.next();
        if packet.ordinal & CE != 0 {
            tcp.on_mark();
        }
        tcp.on_echo(now, packet.echo_ms);
        let ack = tcp.on_data(now, packet.seq, ts, packet.push);
        let next = tcp.next();
        if packet.telemetry != NONE {
            let head = cx.net.stacks.head_mut(packet.telemetry);
            head.partial |= head.count < packet.hops;
            if echo == Some(EchoMode::Bottleneck) {
                let path = head.path_id;
                let compact = r.bottleneck.on_data(now, path, cx.net.stacks.hops(packet.telemetry));
                cx.net.stacks.head_mut(packet.telemetry).form = Form::Compact(compact);
            }
        }
        self.take_in_order(before, next, cx);
        match ack {
            Some(blocks) => {
                // The ACK takes the stack of the packet that triggered it.
                cx.net.packets.get_mut(h).telemetry = NONE;
                cx.net.release(h);
                self.send_ack(blocks, packet.telemetry, cx);
            }
            None => {
                cx.net.release(h);
                self.reschedule_receiver(cx.net);
            }
        }
    }

    /// The segments from `before` to `next` have reached the application.
    fn take_in_order<O: Observer>(&mut self, before: u64, next: u64, cx: &mut Cx<'_, O>) {
        let (now, mss) = (cx.now, u64::from(self.mss));
        self.totals.goodput_bytes += (next - before) * mss;
        if next > before {
            self.note_milestones(now);
        }
        if next > before && self.receiver_mut().is_some_and(|r| r.demand.is_some()) {
            self.take_objects(now, next, cx.obs);
            self.reschedule_receiver(cx.net);
        }
        if self.is_supplied {
            self.note_silence(next, cx);
        }
        let Some((segments, last)) = self.segments else { return };
        if next == segments && before < segments {
            self.totals.goodput_bytes -= mss - u64::from(last);
            self.totals.completed = Some(now);
            cx.obs.event(now, &SimEvent::FlowComplete(self.id));
            self.report_completion(now, (segments - 1) * mss + u64::from(last), cx.obs);
        }
    }

    /// The receiving application has so much that one of the milestones may be reached.
    fn note_milestones(&mut self, now: Nanos) {
        let reached =
            |nth: u32, bytes: u64| MILESTONES.get(nth as usize).is_some_and(|&amount| bytes >= amount);
        while reached(self.milestones, self.totals.goodput_bytes) {
            self.reached[self.milestones as usize] = Some(now);
            self.milestones += 1;
        }
    }

    pub(crate) fn send_ack<O: Observer>(
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
        if self.is_leg {
            blocks.window_end = self.offered_window();
        }
        let mut packet = self.packet(cx.now, PacketKind::Ack, ip_bytes, blocks.ack);
        packet.telemetry = telemetry;
        packet.content = cx.net.acks.insert(blocks);
        if O::PACKETS {
            let block = self.stamp_block(cx.net, telemetry);
            show(cx.obs, cx.now, true, &packet, 0, &blocks, Some((false, mss, Ecn::NotEct)), &block);
        }
        self.send(packet, cx);
    }
}
