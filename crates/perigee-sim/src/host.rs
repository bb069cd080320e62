// SPDX-License-Identifier: Apache-2.0 OR MIT
//! End hosts: a TCP connection or a ping, both ends of it.

use crate::apps::Work;
use crate::net::aqm::CE;
use crate::net::Net;
use crate::observe::{show, FlowTotals, Observer, SimEvent};
use crate::packet::*;
use crate::routes::{BaseRtt, Routes};
use crate::setup::FlowSetup;
use perigee_cc::{CongestionControl, Probes, Signal, SignalScope, TelemetryNeed};
use perigee_tcp::{Ack, AckBlocks, Receiver, Sender, Transmit};
use perigee_telemetry::{BottleneckEcho, EchoMode, Overhead, StackDecoder, Stamp, WirePint};
use perigee_timeline::App;
use perigee_units::Nanos;

/// IP bytes of SYN and SYN-ACK with their options.
pub(crate) const SYN_BYTES: u32 = 60;
/// Linux repeats the SYN four times before it doubles the timeout.
const SYN_LINEAR: u32 = 4;

/// IP and ICMP header of a probe, IP and UDP header of a datagram.
pub(crate) const PROBE_HEADER: u32 = 28;

/// One flow, both ends.
pub struct Flow {
    pub id: u32,
    /// Node of its source.
    pub source: u32,
    pub setup: FlowSetup,
    pub base: BaseRtt,
    pub totals: FlowTotals,
    pub capacity: Capacity,
    ordinals: [u32; 2],
    /// Sum and number of the RTT samples since the latest sampling instant.
    pub rtt_sum: u128,
    pub rtt_count: u64,
    pub end: End,
    pub seed: u64,
    pub active: bool,
    /// When the schedule wakes it: not after [`Flow::next_due`].
    wakes_at: Nanos,
}

/// The slowest port's rate, integrated over the time in which a route exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    pub since: Nanos,
    /// Bits per second; `None` = no route.
    pub rate: Option<f64>,
}

/// What runs at the ends.
pub enum End {
    Ping { next: u64, at: Nanos },
    Tcp(Box<Tcp>),
}

/// A TCP connection, both ends.
pub struct Tcp {
    pub sender: Option<Sender>,
    pub receiver: Option<Receiver>,
    pub(crate) syn_sent: Option<Nanos>,
    pub(crate) syn_at: Nanos,
    pub(crate) syn_tries: u32,
    pub(crate) stopped: bool,
    /// Telemetry: what the scheme wants, and both ends' parts of it.
    echo: Option<EchoMode>,
    overhead: Overhead,
    bottleneck: BottleneckEcho,
    decoder: StackDecoder,
    max_hops: usize,
    /// Segments of a limited transfer, and the bytes of its last one.
    segments: Option<(u64, u32)>,
    /// An application that does not send all the time.
    pub(crate) work: Option<Box<Work>>,
    out: Vec<Transmit>,
    mode: &'static str,
    /// The prober beside the flow, for schemes that want one: what they want, the next probe, the latest reply.
    probes: Option<Probes>,
    scope: SignalScope,
    probe_at: Nanos,
    probe_number: u64,
    reply_at: Option<Nanos>,
}

impl Flow {
    pub fn new(id: u32, setup: FlowSetup, start: Nanos, seed: u64, max_hops: usize, source: u32) -> Self {
        let end = match setup.app {
            App::Ping { .. } | App::Cbr { .. } => End::Ping { next: 0, at: start },
            App::Bulk { bytes } => End::Tcp(Box::new(Tcp::new(&setup, bytes, start, max_hops))),
            App::OnOff { .. } | App::Request { .. } => {
                End::Tcp(Box::new(Tcp::new(&setup, None, start, max_hops)))
            }
        };
        Flow {
            id,
            source,
            setup,
            base: BaseRtt::default(),
            totals: FlowTotals::default(),
            capacity: Capacity::default(),
            ordinals: [0; 2],
            rtt_sum: 0,
            rtt_count: 0,
            end,
            seed,
            active: false,
            wakes_at: Nanos::MAX,
        }
    }

    /// When something is due at either end.
    pub fn next_due(&self) -> Nanos {
        match &self.end {
            End::Ping { at, .. } if *at >= self.setup.stop => Nanos::MAX,
            End::Ping { at, .. } => *at,
            End::Tcp(t) => t.next_due(self.setup.stop),
        }
    }

    pub(crate) fn packet(&mut self, now: Nanos, kind: Kind, ip_bytes: u32, seq: u64) -> Packet {
        let ordinal = &mut self.ordinals[!kind.is_forward() as usize];
        *ordinal += 1;
        Packet {
            enqueued: now,
            sent: now,
            seq,
            flow: self.id,
            route: 0,
            link: NONE,
            ordinal: *ordinal,
            ack: NONE,
            telemetry: NONE,
            ip_bytes: ip_bytes as u16,
            kind,
            hops: 0,
            push: false,
        }
    }

    /// Puts a packet on its way.
    pub(crate) fn send(&mut self, now: Nanos, packet: Packet, net: &mut Net, routes: &Routes) {
        self.totals.sent += 1;
        let pair = if packet.kind.is_forward() { self.setup.forward } else { self.setup.reverse };
        match routes.first(pair) {
            Some((link, route)) => {
                let h = net.packets.insert(Packet { route, ..packet });
                net.enqueue(now, h, link, routes);
            }
            None => {
                let h = net.packets.insert(packet);
                net.discard(h, crate::observe::DropCause::NoRoute);
            }
        }
    }

    fn take_rtt<O: Observer>(&mut self, now: Nanos, rtt: Nanos, obs: &mut O) {
        let sent = now.saturating_sub(rtt);
        self.rtt_sum += rtt.0 as u128;
        self.rtt_count += 1;
        obs.rtt(self.id, sent, rtt, self.base.at(sent));
    }

    /// A timer of the flow is due, or was when the flow was scheduled.
    pub fn on_timer<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        if self.next_due() <= now {
            self.act(now, net, routes, obs);
        }
        self.wakes_at = self.next_due();
        net.schedule.set_flow(self.id, self.wakes_at);
    }

    fn act<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        match &mut self.end {
            End::Ping { next, at } => {
                let (kind, interval, size) = match self.setup.app {
                    App::Ping { interval, size } => (Kind::Ping, interval, size),
                    App::Cbr { interval, size } => (Kind::Datagram, interval, size),
                    _ => unreachable!("an app without TCP"),
                };
                let number = *next;
                *next += 1;
                *at = now + interval;
                self.note_start(now, obs);
                let packet = self.packet(now, kind, size, number);
                show(obs, now, true, &packet, 0, &AckBlocks::default(), None, &[]);
                self.totals.data_sent += 1;
                self.send(now, packet, net, routes);
            }
            End::Tcp(_) => self.tcp_timer(now, net, routes, obs),
        }
    }

    pub(crate) fn note_start<O: Observer>(&mut self, now: Nanos, obs: &mut O) {
        if self.totals.started.is_none() {
            self.totals.started = Some(now);
            self.active = true;
            self.capacity.since = now;
            obs.event(now, &SimEvent::FlowStart(self.id));
        }
    }

    /// Something that may be due earlier. What is due later than it was wakes the flow too early, once, instead of
    /// costing a change of the schedule at every ACK.
    pub(crate) fn reschedule(&mut self, net: &mut Net) {
        let due = self.next_due();
        if due < self.wakes_at {
            self.wakes_at = due;
            net.schedule.set_flow(self.id, due);
        }
    }

    /// Meters look at its data, and at its ACKs.
    pub fn metered_data(&self) -> (bool, bool) {
        match &self.end {
            End::Tcp(t) => (t.echo.is_some(), t.echo == Some(EchoMode::Pint)),
            End::Ping { .. } => (false, false),
        }
    }

    /// Whose signals it is told.
    pub fn scope(&self) -> SignalScope {
        match &self.end {
            End::Tcp(t) => t.scope,
            End::Ping { .. } => SignalScope::Path,
        }
    }

    /// Tells its congestion control something.
    pub fn signal(&mut self, now: Nanos, signal: &Signal<'_>, net: &mut Net) {
        if let End::Tcp(t) = &mut self.end {
            if let Some(sender) = &mut t.sender {
                sender.signal(now, signal);
                self.reschedule(net);
            }
        }
    }

    fn send_probe(&mut self, now: Nanos, probes: Probes, net: &mut Net, routes: &Routes) {
        let t = self.tcp();
        t.probe_at = now + probes.interval.max(Nanos(1));
        t.probe_number += 1;
        let number = t.probe_number;
        let probe = self.packet(now, Kind::Ping, PROBE_HEADER + probes.payload_bytes, number);
        self.send(now, probe, net, routes);
    }

    pub(crate) fn tcp(&mut self) -> &mut Tcp {
        match &mut self.end {
            End::Tcp(t) => t,
            End::Ping { .. } => unreachable!("only TCP flows carry TCP packets"),
        }
    }

    fn tcp_timer<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        let (stop, syn_timeout) = (self.setup.stop, self.setup.tcp.initial_rto);
        let linear = if self.setup.tcp.rto.rfc6298_gain.is_none() { SYN_LINEAR } else { 1 };
        let t = self.tcp();
        if t.sender.is_none() {
            if now >= t.syn_at {
                t.syn_tries += 1;
                t.syn_sent.get_or_insert(now);
                let doublings = t.syn_tries.saturating_sub(linear).min(6);
                t.syn_at = now + syn_timeout * (1 << doublings);
                self.note_start(now, obs);
                let syn = self.packet(now, Kind::Syn, SYN_BYTES, 0);
                self.send(now, syn, net, routes);
            }
            return;
        }
        if let Some(ack) = t.receiver.as_mut().and_then(|r| r.on_timer(now)) {
            self.send_ack(now, ack, NONE, net, routes, obs);
        }
        let t = self.tcp();
        if let (Some(probes), true, false) = (t.probes, now >= t.probe_at, t.stopped) {
            self.send_probe(now, probes, net, routes);
        }
        if self.tcp().work.as_ref().is_some_and(|w| w.due() <= now) {
            self.app_timer(now, net, routes);
        }
        let t = self.tcp();
        let mut out = std::mem::take(&mut t.out);
        let sender = t.sender.as_mut().expect("checked above");
        if now >= stop && !t.stopped {
            t.stopped = true;
            t.work.iter_mut().for_each(|w| w.stop());
            sender.limit(0);
        }
        if sender.next_timer() <= now && sender.on_timer(now, &mut out) {
            obs.event(now, &SimEvent::Timeout { flow: self.id });
        }
        self.tcp().out = out;
        self.pump(now, net, routes, obs);
    }

    /// Sends whatever the sender may send.
    pub(crate) fn pump<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        let t = self.tcp();
        let mut out = std::mem::take(&mut t.out);
        t.sender.as_mut().expect("an established connection").transmit(now, &mut out);
        for tx in out.drain(..) {
            self.send_data(now, &tx, net, routes, obs);
        }
        self.tcp().out = out;
    }

    fn send_data<O: Observer>(
        &mut self,
        now: Nanos,
        tx: &Transmit,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) {
        let (mss, header) = (self.setup.tcp.mss, self.setup.tcp.header);
        let t = self.tcp();
        let payload = match t.segments {
            Some((segments, last)) if tx.seg + 1 == segments => last,
            _ => t.work.as_ref().map_or(mss, |w| w.payload(tx.seg, mss)),
        };
        let mut ip_bytes = payload + header;
        let mut telemetry = NONE;
        if let Some(echo) = t.echo {
            ip_bytes += t.overhead.data_bytes(echo, t.max_hops);
            telemetry = net.stacks.insert(Stamp::new(tx.stamp, payload), payload);
            if echo == EchoMode::Pint {
                net.stacks.head_mut(telemetry).form = Form::Pint(WirePint::default());
            }
        }
        self.totals.data_sent += 1;
        self.totals.retrans += tx.retrans as u64;
        let mut packet = self.packet(now, Kind::Data, ip_bytes, tx.seg);
        packet.telemetry = telemetry;
        packet.push = tx.push;
        if O::PACKETS {
            let block = self.stamp_block(net, telemetry);
            show(obs, now, true, &packet, payload, &AckBlocks::default(), Some((tx.retrans, mss)), &block);
        }
        self.send(now, packet, net, routes);
    }

    /// A packet's telemetry block as it is now, where captures show it: on the wire.
    fn stamp_block(&mut self, net: &Net, telemetry: u32) -> Vec<u8> {
        let on_wire = telemetry != NONE && matches!(self.tcp().overhead, Overhead::Wire);
        if on_wire {
            net.stacks.block(telemetry)
        } else {
            Vec::new()
        }
    }

    pub(crate) fn send_ack<O: Observer>(
        &mut self,
        now: Nanos,
        blocks: AckBlocks,
        telemetry: u32,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) {
        let count = blocks.count as u32 + blocks.dsack.is_some() as u32;
        let options = if count > 0 { 8 * count + 4 } else { 0 };
        let t = self.tcp();
        let echo_bytes = match t.echo {
            Some(echo) if telemetry != NONE => {
                t.overhead.ack_bytes(echo, net.stacks.head(telemetry).count as usize)
            }
            _ => 0,
        };
        let ip_bytes = self.setup.tcp.header + options + echo_bytes;
        if telemetry != NONE {
            net.stacks.head_mut(telemetry).covered = blocks.covered;
        }
        let mss = self.setup.tcp.mss;
        let mut packet = self.packet(now, Kind::Ack, ip_bytes, blocks.ack);
        packet.telemetry = telemetry;
        packet.ack = net.acks.insert(blocks);
        self.stamp_window(packet.ordinal);
        if O::PACKETS {
            let block = self.stamp_block(net, telemetry);
            show(obs, now, true, &packet, 0, &blocks, Some((false, mss)), &block);
        }
        self.send(now, packet, net, routes);
    }

    /// A packet reached its destination. Returns what a probe's reply metered_data.
    pub fn receive<O: Observer>(
        &mut self,
        now: Nanos,
        h: u32,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) -> Option<Signal<'static>> {
        self.totals.delivered += 1;
        let packet = *net.packets.get(h);
        match packet.kind {
            Kind::Ping => {
                net.release(h);
                let pong = Packet {
                    sent: packet.sent,
                    ..self.packet(now, Kind::Pong, packet.ip_bytes as u32, packet.seq)
                };
                show(obs, now, false, &packet, 0, &AckBlocks::default(), None, &[]);
                show(obs, now, true, &pong, 0, &AckBlocks::default(), None, &[]);
                self.send(now, pong, net, routes);
            }
            Kind::Pong if matches!(self.end, End::Tcp(_)) => {
                net.release(h);
                let gap = self.tcp().reply_at.replace(now).map(|last| now - last);
                return Some(Signal::ProbeRtt { rtt: now - packet.sent, gap });
            }
            Kind::Pong => {
                net.release(h);
                show(obs, now, false, &packet, 0, &AckBlocks::default(), None, &[]);
                self.totals.goodput_bytes += packet.ip_bytes as u64;
                self.take_rtt(now, now - packet.sent, obs);
            }
            Kind::Syn => {
                net.release(h);
                self.receive_syn(now, net, routes);
            }
            Kind::SynAck => {
                net.release(h);
                self.establish(now, net, routes, obs);
            }
            Kind::Request => {
                net.release(h);
                self.receive_request(now, packet.seq, net, routes, obs);
            }
            Kind::Datagram => {
                net.release(h);
                self.totals.goodput_bytes += u64::from((packet.ip_bytes as u32).saturating_sub(PROBE_HEADER));
            }
            Kind::Data => self.receive_data(now, h, packet, net, routes, obs),
            Kind::Ack => self.receive_ack(now, h, packet, net, routes, obs),
        }
        None
    }

    pub(crate) fn establish<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        let (scheme, mut cfg, seed) = (self.setup.scheme.clone(), self.setup.tcp.clone(), self.seed);
        let t = self.tcp();
        if t.sender.is_some() {
            return;
        }
        // Karn: a repeated SYN gives no RTT, and it costs the initial window (RFC 6298 section 5.7).
        let rtt = (t.syn_tries == 1).then(|| now - t.syn_sent.unwrap_or(now));
        if t.syn_tries > 2 {
            cfg.init_cwnd = 1;
        }
        let mut sender = Sender::new(cfg.clone(), |init| scheme.build(init), now, rtt, seed);
        let caps = *sender.caps();
        if let Some((segments, _)) = t.segments {
            sender.limit(segments);
        }
        if let Some(work) = &mut t.work {
            match &**work {
                Work::Leg(relay) => relay.limit(&mut sender),
                _ => sender.limit(0),
            }
            work.begin(now);
        }
        t.echo = EchoMode::of(&caps);
        t.overhead = Overhead::of(&caps);
        net.stacks.pint |= t.echo == Some(EchoMode::Pint);
        t.probes = caps.probes;
        t.probe_at = if caps.probes.is_some() { now } else { Nanos::MAX };
        let ack_every = caps.ack_every.unwrap_or(cfg.delayed_ack);
        let mut receiver = Receiver::new(&cfg, ack_every);
        // Who wants an answer to each packet gets it also where packets are missing.
        if cfg.sack_compression && ack_every > 1 {
            receiver.compress_sacks(rtt);
        }
        t.receiver = Some(receiver);
        t.mode = sender.controller().mode(sender.window());
        t.sender = Some(sender);
        net.tx_units[self.id as usize] = caps.tx_bytes_unit;
        self.pump(now, net, routes, obs);
        self.reschedule(net);
    }

    fn receive_data<O: Observer>(
        &mut self,
        now: Nanos,
        h: u32,
        packet: Packet,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) {
        let (mss, header) = (self.setup.tcp.mss, self.setup.tcp.header);
        if O::PACKETS {
            let block = self.stamp_block(net, packet.telemetry);
            let room = self.tcp().telemetry_room();
            let payload = packet.ip_bytes as u32 - header - room;
            show(obs, now, false, &packet, payload, &AckBlocks::default(), Some((false, mss)), &block);
        }
        let ts = (packet.sent.0 / 1_000_000) as u32 + 1;
        if self.setup.leg.is_some() && self.answer_probe(now, packet.ip_bytes as u32, net, routes, obs) {
            return net.release(h);
        }
        let t = self.tcp();
        // A data packet that overtakes nothing arrives after the handshake; the receiver exists.
        let Some(receiver) = t.receiver.as_mut() else { return net.release(h) };
        let before = receiver.next();
        if packet.ordinal & CE != 0 {
            receiver.on_mark();
        }
        let ack = receiver.on_data(now, packet.seq, ts, packet.push);
        let next = receiver.next();
        let segments = t.segments;
        if packet.telemetry != NONE {
            let head = net.stacks.head_mut(packet.telemetry);
            head.partial |= head.count < packet.hops;
            if t.echo == Some(EchoMode::Bottleneck) {
                let path = head.path_id;
                let compact = t.bottleneck.on_data(now, path, net.stacks.hops(packet.telemetry));
                net.stacks.head_mut(packet.telemetry).form = Form::Compact(compact);
            }
        }
        self.totals.goodput_bytes += (next - before) * mss as u64;
        if next > before && self.tcp().work.is_some() {
            self.take_objects(now, next, obs);
            self.reschedule(net);
        }
        if let Some((n, last)) = segments {
            if next == n && before < n {
                self.totals.goodput_bytes -= (mss - last) as u64;
                self.totals.completed = Some(now);
                obs.event(now, &SimEvent::FlowComplete(self.id));
                self.report_completion(now, (n - 1) * mss as u64 + last as u64, obs);
            }
        }
        match ack {
            Some(blocks) => {
                // The ACK takes the stack of the packet that triggered it.
                net.packets.get_mut(h).telemetry = NONE;
                net.release(h);
                self.send_ack(now, blocks, packet.telemetry, net, routes, obs);
            }
            None => net.release(h),
        }
        // Only the delayed-ACK timer can have moved.
        if ack.is_none() {
            self.reschedule(net);
        }
    }

    fn receive_ack<O: Observer>(
        &mut self,
        now: Nanos,
        h: u32,
        packet: Packet,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) {
        let blocks = net.acks.get(packet.ack);
        if O::PACKETS {
            let block = self.stamp_block(net, packet.telemetry);
            let mss = self.setup.tcp.mss;
            show(obs, now, false, &packet, 0, blocks, Some((false, mss)), &block);
        }
        self.read_window(packet.ordinal);
        let t = self.tcp();
        let Some(sender) = t.sender.as_mut() else { return net.release(h) };
        let state = sender.ca_state();
        let undos = sender.stats.undos;
        let telemetry = if packet.telemetry != NONE {
            let head = net.stacks.head(packet.telemetry);
            Some(match head.form {
                Form::Compact(compact) => compact.decode(head.covered, head.partial),
                Form::Pint(record) => record.decode(head.covered, head.partial),
                Form::Stack => t.decoder.decode(
                    head.path_id,
                    net.stacks.hops(packet.telemetry),
                    head.covered,
                    head.partial,
                ),
            })
        } else {
            None
        };
        let carried = u64::from(packet.telemetry != NONE && net.stacks.head(packet.telemetry).count > 0);
        let rtt = sender.on_ack(now, &Ack { blocks, telemetry });
        let new_state = sender.ca_state();
        let undone = sender.stats.undos > undos;
        let mode = sender.controller().mode(sender.window());
        let before = std::mem::replace(&mut t.mode, mode);
        // Nearly always the same constant: its address metered_data without a comparison of text.
        let mode_changed = !std::ptr::eq(mode, before) && mode != before;
        net.release(h);
        self.totals.telemetry_acks += carried;
        if let Some(rtt) = rtt {
            self.take_rtt(now, rtt, obs);
        }
        if state != new_state {
            obs.event(now, &SimEvent::CaState { flow: self.id, state: new_state });
        }
        if undone {
            obs.event(now, &SimEvent::Undo { flow: self.id });
        }
        if mode_changed {
            obs.event(now, &SimEvent::Mode { flow: self.id, mode });
        }
        self.pump(now, net, routes, obs);
        self.reschedule(net);
    }

    /// IP bytes of its largest data packet and of a plain ACK, telemetry included. Base RTTs are those of these two.
    pub fn packet_bytes(&self) -> (u32, u32) {
        match (&self.end, self.setup.app) {
            (_, App::Ping { size, .. } | App::Cbr { size, .. }) => (size, size),
            (End::Tcp(t), _) => {
                let header = self.setup.tcp.header;
                let echo = match t.echo {
                    Some(echo) => t.overhead.ack_bytes(echo, t.max_hops),
                    None => 0,
                };
                (self.setup.payload_bytes() + header + t.telemetry_room(), header + echo)
            }
            (End::Ping { .. }, _) => unreachable!("an app without TCP"),
        }
    }
}

impl Tcp {
    fn new(setup: &FlowSetup, bytes: Option<u64>, start: Nanos, max_hops: usize) -> Self {
        let mss = setup.tcp.mss as u64;
        let segments = bytes.map(|b| {
            let segments = b.div_ceil(mss).max(1);
            (segments, (b.saturating_sub((segments - 1) * mss)).max(1) as u32)
        });
        let mut t = Tcp {
            sender: None,
            receiver: None,
            syn_sent: None,
            syn_at: if setup.leg.is_some_and(|l| l.before.is_some()) { Nanos::MAX } else { start },
            syn_tries: 0,
            stopped: false,
            echo: None,
            overhead: Overhead::None,
            bottleneck: BottleneckEcho::new(),
            decoder: StackDecoder::default(),
            max_hops,
            segments,
            work: Work::of(setup, segments.map(|s| s.0)).map(Box::new),
            out: Vec::new(),
            mode: "",
            probes: None,
            scope: SignalScope::Path,
            probe_at: Nanos::MAX,
            probe_number: 0,
            reply_at: None,
        };
        // Known before the handshake, because capacity and base RTT depend on the packet's size, and signals on who listens.
        let init = perigee_cc::ConnInit {
            now: start,
            mss: setup.tcp.mss,
            init_cwnd: mss,
            srtt: None,
            seed: 0,
            hz: setup.tcp.controller_hz(),
        };
        let caps = setup.scheme.build(&init).caps();
        t.scope = caps.signal_scope;
        if caps.telemetry != TelemetryNeed::None {
            t.echo = EchoMode::of(&caps);
            t.overhead = Overhead::of(&caps);
        }
        t
    }

    fn telemetry_room(&self) -> u32 {
        match self.echo {
            Some(echo) => self.overhead.data_bytes(echo, self.max_hops),
            None => 0,
        }
    }

    fn next_due(&self, stop: Nanos) -> Nanos {
        let Some(sender) = &self.sender else { return self.syn_at };
        let mut due = sender.next_timer();
        if let Some(r) = &self.receiver {
            due = due.min(r.deadline());
        }
        if !self.stopped {
            due = due.min(stop).min(self.probe_at);
            if let Some(work) = &self.work {
                due = due.min(work.due());
            }
        }
        due
    }
}
