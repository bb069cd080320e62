// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending end of a TCP connection: handshake, timers, data out, ACKs in, and the prober that some
//! schemes run alongside the flow.

use super::apps::Supply;
use super::{ts_ms, Cx, Established, FlowFacts, SendingEnd, SYN_BYTES};
use crate::observe::{show, Observer, SimEvent};
use crate::packet::{Form, Packet, NONE, PROBE_HEADER};
use perigee_cc::{CongestionControl, Probes};
use perigee_queue::Ecn;
use perigee_record::PacketKind;
use perigee_tcp::{Ack, AckBlocks, Sender, Transmit};
use perigee_telemetry::{EchoMode, StackDecoder, Stamp};
use perigee_units::Nanos;

/// Linux repeats the SYN four times before it starts to double the timeout.
const SYN_LINEAR: u32 = 4;

/// The sending end of a TCP connection.
pub struct TcpSender {
    /// The connection, once the handshake is over.
    pub tcp: Option<Sender>,
    pub(super) syn_sent: Option<Nanos>,
    pub(super) syn_at: Nanos,
    pub(super) syn_tries: u32,
    pub(super) stopped: bool,
    decoder: StackDecoder,
    /// Source of the data, where the application does not always have data to send.
    pub(super) supply: Option<Box<Supply>>,
    out: Vec<Transmit>,
    mode: &'static str,
    /// Timestamp of the latest packet from the peer.
    peer_ts_ms: u32,
    /// Prober that accompanies the flow, for schemes that require one: its configuration, the next
    /// probe, the latest reply.
    probes: Option<Probes>,
    probe_at: Nanos,
    probe_number: u64,
    pub(super) reply_at: Option<Nanos>,
}

impl TcpSender {
    pub fn new(facts: &FlowFacts) -> Self {
        // A leg that continues another leg starts along with it.
        let continues = facts.setup.leg.is_some_and(|l| l.before.is_some());
        TcpSender {
            tcp: None,
            syn_sent: None,
            syn_at: if continues { Nanos::MAX } else { facts.start },
            syn_tries: 0,
            stopped: false,
            decoder: StackDecoder::default(),
            supply: Supply::of(&facts.setup, facts.segments.map(|s| s.0)).map(Box::new),
            out: Vec::new(),
            mode: "",
            peer_ts_ms: 0,
            probes: None,
            probe_at: Nanos::MAX,
            probe_number: 0,
            reply_at: None,
        }
    }

    #[inline]
    pub fn next_due(&self, stop: Nanos) -> Nanos {
        let Some(tcp) = &self.tcp else { return self.syn_at };
        let due = tcp.next_timer();
        if self.stopped {
            return due;
        }
        let due = due.min(stop).min(self.probe_at);
        self.supply.as_ref().map_or(due, |s| due.min(s.due()))
    }
}

impl SendingEnd {
    pub(super) fn handshake_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let cfg = &cx.facts[self.egress.flow as usize].setup.tcp;
        let timeout = cfg.initial_rto;
        let linear = if cfg.rto.rfc6298_gain.is_none() { SYN_LINEAR } else { 1 };
        let now = cx.now;
        let Some(s) = self.sender_mut().filter(|s| s.syn_at <= now) else { return };
        s.syn_tries += 1;
        s.syn_sent.get_or_insert(now);
        let doublings = s.syn_tries.saturating_sub(linear).min(6);
        s.syn_at = now + timeout * (1 << doublings);
        self.note_start(now, cx.obs);
        let facts = &cx.facts[self.egress.flow as usize];
        let (mut ip_bytes, mut telemetry) = (SYN_BYTES, NONE);
        if facts.telemetry_on_syn {
            ip_bytes += self.telemetry.data_bytes();
            telemetry = cx.net.stacks.insert(Stamp::new(facts.first_stamp, 0), 0);
            cx.net.stacks.head_mut(telemetry).form = facts.telemetry.form(&facts.first_stamp, 0);
        }
        let mut syn = self.egress.packet(now, PacketKind::Syn, ip_bytes, 0);
        syn.telemetry = telemetry;
        self.egress.send(syn, cx);
    }

    /// Whether it stops sending new data now.
    pub fn stops_by(&self, now: Nanos) -> bool {
        now >= self.stop && self.sender().is_some_and(|s| s.tcp.is_some() && !s.stopped)
    }

    /// Runs probes, the application, the end of sending and the retransmission timers, then
    /// transmits. True if the caller must check whether an on/off source has become idle.
    pub(super) fn sender_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) -> bool {
        let (now, stop, flow) = (cx.now, self.stop, self.egress.flow);
        let Some(s) = self.sender_mut() else { return false };
        if let (Some(probes), true, false) = (s.probes, now >= s.probe_at, s.stopped) {
            self.send_probe(probes, cx);
        }
        let due = |s: &TcpSender| s.supply.as_ref().is_some_and(|s| s.due() <= now);
        let silent = self.sender().is_some_and(due) && self.supply_timer(cx);
        let Some(s) = self.sender_mut() else { return false };
        let mut out = std::mem::take(&mut s.out);
        let tcp = s.tcp.as_mut().expect("an established connection");
        if now >= stop && !s.stopped {
            s.stopped = true;
            s.supply.iter_mut().for_each(|w| w.stop());
            tcp.limit(0);
        }
        if tcp.next_timer() <= now && tcp.on_timer(now, &mut out) {
            cx.obs.event(now, &SimEvent::Timeout { flow });
        }
        if let Some(s) = self.sender_mut() {
            s.out = out;
        }
        self.pump(cx);
        silent
    }

    fn send_probe<O: Observer>(&mut self, probes: Probes, cx: &mut Cx<'_, O>) {
        let Some(s) = self.sender_mut() else { return };
        s.probe_at = cx.now + probes.interval.max(Nanos(1));
        s.probe_number += 1;
        let number = s.probe_number;
        let probe = self.egress.packet(cx.now, PacketKind::Ping, PROBE_HEADER + probes.payload_bytes, number);
        self.egress.send(probe, cx);
    }

    /// Transmits all packets that the transport currently permits.
    pub(crate) fn pump<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let Some(s) = self.sender_mut() else { return };
        let mut out = std::mem::take(&mut s.out);
        s.tcp.as_mut().expect("an established connection").transmit(cx.now, &mut out);
        for tx in &out {
            self.send_data(tx, cx);
        }
        out.clear();
        if let Some(s) = self.sender_mut() {
            s.out = out;
        }
    }

    fn send_data<O: Observer>(&mut self, tx: &Transmit, cx: &mut Cx<'_, O>) {
        let (mss, header) = (self.mss, self.header);
        let payload = match self.segments {
            Some((segments, last)) if tx.seg + 1 == segments => last,
            _ => {
                let supplied = self.sender().filter(|_| self.is_supplied);
                let supply = supplied.and_then(|s| s.supply.as_deref());
                supply.map_or(mss, |w| w.payload(tx.seg, mss))
            }
        };
        let mut ip_bytes = payload + header;
        let mut telemetry = NONE;
        self.unstamped = self.unstamped.saturating_add(1);
        if let Some(echo) = self.telemetry.echo.filter(|_| self.unstamped >= tx.stamp.every) {
            ip_bytes += self.telemetry.data_bytes();
            let stamp = Stamp::new(tx.stamp, payload).covering(self.unstamped);
            self.unstamped = 0;
            telemetry = cx.net.stacks.insert(stamp, payload);
            if matches!(echo, EchoMode::Pint | EchoMode::Law(_) | EchoMode::Carrier(_)) {
                cx.net.stacks.head_mut(telemetry).form = self.telemetry.form(&tx.stamp, payload);
            }
        }
        self.counts.data += 1;
        self.counts.retrans += tx.retrans as u64;
        let mut packet = self.egress.packet(cx.now, PacketKind::Data, ip_bytes, tx.seg);
        packet.telemetry = telemetry;
        packet.push = tx.push;
        packet.echo_ms = self.sender().map_or(0, |s| s.peer_ts_ms);
        if O::PACKETS {
            let block = self.telemetry.shown_data(cx.net, telemetry, cx.now);
            let shown = Some((tx.retrans, mss, cx.net.ecn[self.egress.flow as usize]));
            show(cx.obs, cx.now, true, &packet, payload, &AckBlocks::default(), shown, &block);
        }
        self.egress.send(packet, cx);
    }

    /// Establishes the connection at the end of the handshake, unless it exists already.
    /// `telemetry`: stack of the SYN, if it carried one.
    pub(super) fn establish<O: Observer>(
        &mut self,
        telemetry: u32,
        cx: &mut Cx<'_, O>,
    ) -> Option<Established> {
        let facts = &cx.facts[self.egress.flow as usize];
        let (now, mut cfg) = (cx.now, facts.tcp());
        let s = self.sender_mut().filter(|s| s.tcp.is_none())?;
        // Karn: a repeated SYN gives no RTT sample, and reduces the initial window (RFC 6298
        // section 5.7).
        let rtt = (s.syn_tries == 1).then(|| now - s.syn_sent.unwrap_or(now));
        if s.syn_tries > 2 {
            cfg.init_cwnd = 1;
        }
        let mut tcp = Sender::new(cfg, |init| facts.setup.scheme.build(init), now, rtt, facts.seed);
        let caps = *tcp.caps();
        if telemetry != NONE {
            let head = cx.net.stacks.head(telemetry);
            let decoded = match head.form {
                Form::Feedback(f) => f.decode(u32::from(head.count), 1, head.partial),
                _ => {
                    let hops = cx.net.stacks.hops(telemetry);
                    s.decoder.decode(head.path_id, hops, 1, head.partial)
                }
            };
            tcp.on_handshake(now, &decoded);
        }
        s.probes = caps.probes;
        s.probe_at = if caps.probes.is_some() { now } else { Nanos::MAX };
        s.mode = tcp.controller().mode(tcp.window());
        match (&mut s.supply, facts.segments) {
            (Some(supply), _) => supply.begin(now, &mut tcp),
            (None, Some((segments, _))) => tcp.limit(segments),
            (None, None) => {}
        }
        s.tcp = Some(tcp);
        cx.net.tx_units[self.egress.flow as usize] = caps.tx_bytes_unit;
        cx.net.any_packet_times_meters |= caps.any_packet_times_meters;
        cx.net.counts_others |= caps.any_packet_times_meters;
        if facts.inet {
            let opened = self.egress.packet(now, PacketKind::Opened, self.header, 0);
            self.egress.send(opened, cx);
        }
        self.pump(cx);
        self.reschedule(cx);
        Some(Established { rtt })
    }

    pub(super) fn receive_ack<O: Observer>(&mut self, h: u32, packet: Packet, cx: &mut Cx<'_, O>) {
        let now = cx.now;
        let blocks = cx.net.acks.get(packet.content);
        if O::PACKETS {
            let block = self.telemetry.shown_block(cx.net, packet.telemetry);
            let mss = self.mss;
            show(cx.obs, now, false, &packet, 0, blocks, Some((false, mss, Ecn::NotEct)), &block);
        }
        if self.is_leg {
            self.read_window(blocks.window_end);
        }
        let Some(s) = self.sender_mut() else { return cx.net.release(h) };
        s.peer_ts_ms = s.peer_ts_ms.max(ts_ms(packet.sent));
        let Some(tcp) = s.tcp.as_mut() else { return cx.net.release(h) };
        let (state, undos) = (tcp.ca_state(), tcp.stats().undos);
        let mut carried = false;
        let telemetry = (packet.telemetry != NONE).then(|| {
            let head = cx.net.stacks.head(packet.telemetry);
            carried = head.count > 0;
            match head.form {
                Form::Compact(compact) => compact.decode(head.covered, head.partial),
                Form::Pint(record) => record.decode(head.covered, head.partial),
                Form::Feedback(f) => f.decode(u32::from(head.count), head.covered, head.partial),
                Form::Stack | Form::Carried(_) => {
                    let hops = cx.net.stacks.hops(packet.telemetry);
                    s.decoder.decode(head.path_id, hops, head.covered, head.partial)
                }
            }
        });
        let rtt = tcp.on_ack(now, &Ack { blocks, telemetry });
        let new_state = tcp.ca_state();
        let undone = tcp.stats().undos > undos;
        let mode = tcp.controller().mode(tcp.window());
        let before = std::mem::replace(&mut s.mode, mode);
        // Nearly always the same constant: comparing addresses first avoids comparing strings.
        let mode_changed = !std::ptr::eq(mode, before) && mode != before;
        cx.net.release(h);
        self.counts.telemetry_acks += u64::from(carried);
        if let Some(rtt) = rtt {
            self.take_rtt(now, rtt, cx.obs);
        }
        if state != new_state {
            cx.obs.event(now, &SimEvent::CaState { flow: self.egress.flow, state: new_state });
        }
        if undone {
            cx.obs.event(now, &SimEvent::Undo { flow: self.egress.flow });
        }
        if mode_changed {
            cx.obs.event(now, &SimEvent::Mode { flow: self.egress.flow, mode });
        }
        self.pump(cx);
        self.reschedule(cx);
    }
}
