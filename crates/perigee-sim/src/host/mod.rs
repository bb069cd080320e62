// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows and their ends. A [`Flow`] is what both ends share: names, routes, counters. Each of its two ends is an
//! [`Endpoint`]: a TCP sender ([`tcp_sender`]), a TCP receiver ([`tcp_receiver`]), a source of probes and its responder, or
//! an end outside of the simulator ([`crate::external_endpoint`]).
//!
//! Two things are known at both ends at once, by construction and not by a packet: that the handshake is over (the
//! receiver begins when the sender has the SYN-ACK), and what the scheme asks of its receiver.

mod apps;
mod external;
mod player;
pub(crate) mod relay;
mod tcp_receiver;
mod tcp_sender;

pub(crate) use tcp_receiver::TcpReceiver;
pub(crate) use tcp_sender::TcpSender;

use crate::external_endpoint::Outbox;
use crate::net::Net;
use crate::observe::{show, DropCause, FlowTotals, Observer, SimEvent, MILESTONES};
use crate::packet::{Packet, NONE, PROBE_HEADER};
use crate::routes::{BaseRtt, Routes};
use crate::setup::FlowSetup;
use perigee_cc::{CongestionControl, Signal, SignalScope, TelemetryNeed};
use perigee_queue::Ecn;
use perigee_record::{ByteRate, PacketKind};
use perigee_tcp::AckBlocks;
use perigee_telemetry::{EchoMode, Overhead};
use perigee_timeline::workload::turn;
use perigee_timeline::{App, PairId};
use perigee_units::Nanos;

/// IP bytes of SYN and SYN-ACK with their options.
pub(crate) const SYN_BYTES: u32 = 60;

/// Linux aligns the SACK option by itself; INET lets it share the padding of the timestamps.
const SACK_PADDING: u32 = 4;

/// What an end works with at one instant.
pub(crate) struct Cx<'a, O> {
    pub now: Nanos,
    pub net: &'a mut Net,
    pub routes: &'a Routes,
    pub obs: &'a mut O,
    /// Packets that leave the simulation.
    pub outbox: &'a mut Outbox,
}

/// One flow. What each packet touches comes first, some of it copied from the setup: of ten thousand flows none is in the cache.
#[repr(C, align(64))]
pub struct Flow {
    pub id: u32,
    /// Ways of the data and of the ACKs.
    pub forward: PairId,
    pub reverse: PairId,
    mss: u32,
    header: u32,
    /// Bytes of padding beside the SACK option.
    sack_padding: u32,
    /// Transmissions so far, by direction.
    ordinals: [u32; 2],
    pub active: bool,
    /// ECN field of its data.
    pub ecn: Ecn,
    /// It is a leg of a split connection.
    is_leg: bool,
    /// Its data comes from an application that does not always have some.
    is_supplied: bool,
    /// When the schedule wakes it: not after [`Flow::next_due`].
    wakes_at: Nanos,
    stop: Nanos,
    /// Number of the RTT samples since the latest sampling instant.
    pub rtt_count: u64,
    milestones: u32,
    pub source: Endpoint,
    pub destination: Endpoint,
    /// Sum of the RTT samples since the latest sampling instant.
    pub rtt_sum: u128,
    /// Segments of a limited transfer, and the bytes of its last one.
    segments: Option<(u64, u32)>,
    telemetry: TelemetryPlan,
    pub base: BaseRtt,
    pub totals: FlowTotals,
    pub capacity: Capacity,
    /// Payload delivered, between its rows.
    pub goodput: ByteRate,
    /// When its milestones were reached, as far as they were.
    reached: [Option<Nanos>; MILESTONES.len()],
    pub seed: u64,
    /// Node of its source.
    pub source_node: u32,
    pub setup: FlowSetup,
}

/// The slowest port's rate, integrated over the time in which a route exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    pub since: Nanos,
    /// Bits per second; `None` = no route.
    pub rate: Option<f64>,
}

/// What runs at one end of a flow.
pub enum Endpoint {
    /// Sends probes or datagrams at fixed intervals.
    Probes {
        next: u64,
        at: Nanos,
        /// End of the talk spurt, of a call.
        until: Nanos,
    },
    /// Echoes probes, takes datagrams.
    Responder,
    TcpSender(Box<TcpSender>),
    TcpReceiver(Box<TcpReceiver>),
    /// Packets that arrive leave the simulation; what is injected comes from here.
    Outside,
}

/// Telemetry as both ends of a connection know it.
#[derive(Clone, Copy, Debug)]
struct TelemetryPlan {
    echo: Option<EchoMode>,
    overhead: Overhead,
    max_hops: usize,
}

impl TelemetryPlan {
    /// Bytes that it takes of a data packet.
    fn data_bytes(&self) -> u32 {
        self.echo.map_or(0, |echo| self.overhead.data_bytes(echo, self.max_hops))
    }
    /// Bytes that it takes of an ACK that echoes so many hops.
    fn ack_bytes(&self, hops: usize) -> u32 {
        self.echo.map_or(0, |echo| self.overhead.ack_bytes(echo, hops))
    }
}

impl Flow {
    pub fn new(id: u32, setup: FlowSetup, start: Nanos, seed: u64, max_hops: usize, node: u32) -> Self {
        let limit = match setup.app {
            App::Bulk { bytes } => bytes,
            _ => None,
        };
        let segments = limit.map(|bytes| segments_of(bytes, setup.tcp.mss));
        let mut telemetry = TelemetryPlan { echo: None, overhead: Overhead::None, max_hops };
        let mut ecn = Ecn::NotEct;
        let (mut source, mut destination) = (probes(&setup.app, start, seed), Endpoint::Responder);
        if setup.app.is_tcp() {
            // Known before the handshake: the packets' size decides capacity and base RTT, the scope who gets signals.
            let caps = setup.scheme.build(&first_init(&setup, start)).caps();
            ecn = match (caps.scalable, setup.tcp.ecn) {
                (true, _) => Ecn::Ect1,
                (false, true) => Ecn::Ect0,
                (false, false) => Ecn::NotEct,
            };
            if caps.telemetry != TelemetryNeed::None {
                telemetry.echo = EchoMode::of(&caps);
                telemetry.overhead = Overhead::of(&caps);
            }
            let total = segments.map(|s| s.0);
            let sender = TcpSender::new(&setup, total, start, caps.signal_scope);
            source = Endpoint::TcpSender(Box::new(sender));
            destination = Endpoint::TcpReceiver(Box::new(TcpReceiver::new(&setup)));
        }
        if setup.outside.source {
            source = Endpoint::Outside;
        }
        if setup.outside.destination {
            destination = Endpoint::Outside;
        }
        let is_supplied = matches!(&source, Endpoint::TcpSender(s) if s.supply.is_some());
        Flow {
            id,
            forward: setup.forward,
            reverse: setup.reverse,
            mss: setup.tcp.mss,
            header: setup.tcp.header,
            sack_padding: SACK_PADDING,
            ordinals: [0; 2],
            active: false,
            ecn,
            is_leg: setup.leg.is_some(),
            is_supplied,
            wakes_at: Nanos::MAX,
            stop: setup.stop,
            rtt_count: 0,
            milestones: 0,
            source,
            destination,
            rtt_sum: 0,
            segments,
            telemetry,
            base: BaseRtt::default(),
            totals: FlowTotals::default(),
            capacity: Capacity::default(),
            goodput: ByteRate::since(setup.start),
            reached: [None; MILESTONES.len()],
            seed,
            source_node: node,
            setup,
        }
    }

    /// When something is due at either end.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        let at_source = match &self.source {
            Endpoint::Probes { at, .. } if *at < self.stop => *at,
            Endpoint::TcpSender(s) => s.next_due(self.stop),
            _ => Nanos::MAX,
        };
        match &self.destination {
            Endpoint::TcpReceiver(r) => at_source.min(r.next_due()),
            _ => at_source,
        }
    }

    /// The TCP sender, if there is one in the simulation.
    pub fn sender(&self) -> Option<&TcpSender> {
        match &self.source {
            Endpoint::TcpSender(s) => Some(s),
            _ => None,
        }
    }

    fn sender_mut(&mut self) -> Option<&mut TcpSender> {
        match &mut self.source {
            Endpoint::TcpSender(s) => Some(s),
            _ => None,
        }
    }

    fn receiver_mut(&mut self) -> Option<&mut TcpReceiver> {
        match &mut self.destination {
            Endpoint::TcpReceiver(r) => Some(r),
            _ => None,
        }
    }

    /// A packet that leaves one of the ends now; it counts as a transmission of its direction.
    pub(crate) fn packet(&mut self, now: Nanos, kind: PacketKind, ip_bytes: u32, seq: u64) -> Packet {
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
            content: NONE,
            telemetry: NONE,
            echo_ms: 0,
            ip_bytes: ip_bytes as u16,
            kind,
            hops: 0,
            push: false,
        }
    }

    /// Puts a packet on its way.
    pub(crate) fn send<O>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) {
        self.totals.sent += 1;
        if cx.net.processing.is_on() {
            return self.hold(packet, cx);
        }
        match cx.routes.first(self.pair_of(&packet)) {
            Some((link, route)) => {
                let h = cx.net.packets.insert(Packet { route, ..packet });
                cx.net.enqueue(cx.now, h, link, cx.routes);
            }
            None => {
                let h = cx.net.packets.insert(packet);
                cx.net.discard(h, DropCause::NoRoute);
            }
        }
    }

    /// The pair of nodes between which a packet travels.
    #[inline]
    fn pair_of(&self, packet: &Packet) -> PairId {
        if packet.kind.is_forward() {
            self.forward
        } else {
            self.reverse
        }
    }

    /// A packet waits for its host to process it.
    #[inline(never)]
    fn hold<O>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) {
        let net = &mut *cx.net;
        let h = net.packets.insert(packet);
        net.processing.hold(cx.now, h, &packet, net.flow_keys[self.id as usize]);
        net.schedule_injection();
    }

    /// A packet that its host has processed takes the first link of the route that it has now.
    pub(crate) fn depart<O>(&self, h: u32, cx: &mut Cx<'_, O>) {
        let packet = cx.net.packets.get_mut(h);
        match cx.routes.first(self.pair_of(packet)) {
            Some((link, route)) => {
                packet.route = route;
                cx.net.enqueue(cx.now, h, link, cx.routes);
            }
            None => cx.net.discard(h, DropCause::NoRoute),
        }
    }

    fn take_rtt<O: Observer>(&mut self, now: Nanos, rtt: Nanos, obs: &mut O) {
        let sent = now.saturating_sub(rtt);
        self.rtt_sum += rtt.0 as u128;
        self.rtt_count += 1;
        obs.rtt(self.id, sent, rtt, self.base.at(sent));
    }

    /// A timer of the flow is due, or was when the flow was scheduled.
    pub fn on_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        if self.next_due() <= cx.now {
            match self.source {
                Endpoint::Probes { .. } => self.send_probe_of_app(cx),
                _ => self.tcp_timer(cx),
            }
        }
        self.wakes_at = self.next_due();
        cx.net.schedule.set_flow(self.id, self.wakes_at);
    }

    fn send_probe_of_app<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (kind, interval, size) = match self.setup.app {
            App::Ping { interval, size } => (PacketKind::Ping, interval, size),
            App::Cbr { interval, size } => (PacketKind::Datagram, interval, size),
            App::Voice(v) => (PacketKind::Datagram, v.interval, v.codec.packet_bytes(v.interval)),
            _ => unreachable!("an app without TCP"),
        };
        let Endpoint::Probes { next, at, until } = &mut self.source else { return };
        let number = *next;
        *next += 1;
        *at = cx.now + interval;
        if let (App::Voice(v), true) = (self.setup.app, *at >= *until) {
            let spurt = (number >> SPURT) + 1;
            *next = spurt << SPURT;
            *at = *until + turn(&v.talk, &v.silence, self.seed, 2 * spurt - 1);
            *until = *at + turn(&v.talk, &v.silence, self.seed, 2 * spurt);
        }
        self.note_start(cx.now, cx.obs);
        let packet = self.packet(cx.now, kind, size, number);
        show(cx.obs, cx.now, true, &packet, 0, &AckBlocks::default(), None, &[]);
        self.totals.data_sent += 1;
        self.send(packet, cx);
    }

    /// Timers of both ends of a connection, the receiver's first.
    fn tcp_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        if self.sender().is_some_and(|s| s.tcp.is_none()) {
            return self.handshake_timer(cx);
        }
        self.receiver_timer(cx);
        self.sender_timer(cx);
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

    /// The same where only the receiver can have moved: the sender's memory is not touched.
    fn reschedule_receiver(&mut self, net: &mut Net) {
        let due = self.receiver_mut().map_or(Nanos::MAX, |r| r.next_due());
        if due < self.wakes_at {
            self.wakes_at = due;
            net.schedule.set_flow(self.id, due);
        }
    }

    /// Meters look at its data, and at its ACKs.
    pub fn metered(&self) -> (bool, bool) {
        (self.telemetry.echo.is_some(), self.telemetry.echo == Some(EchoMode::Pint))
    }

    /// Whose signals its congestion control gets.
    pub fn scope(&self) -> SignalScope {
        self.sender().map_or(SignalScope::Path, |s| s.scope)
    }

    /// Gives its congestion control a signal.
    pub fn signal(&mut self, now: Nanos, signal: &Signal<'_>, net: &mut Net) {
        if self.hear(now, signal) {
            self.reschedule(net);
        }
    }

    /// The same for a caller that reschedules the flow. False where there is no connection.
    pub fn hear(&mut self, now: Nanos, signal: &Signal<'_>) -> bool {
        let tcp = self.sender_mut().and_then(|s| s.tcp.as_mut());
        tcp.map(|tcp| tcp.signal(now, signal)).is_some()
    }

    /// A packet reached its destination. Returns what a probe's reply tells.
    pub fn receive<O: Observer>(&mut self, h: u32, cx: &mut Cx<'_, O>) -> Option<Signal<'static>> {
        self.totals.delivered += 1;
        let packet = *cx.net.packets.get(h);
        let end = if packet.kind.is_forward() { &self.destination } else { &self.source };
        if let Endpoint::Outside = end {
            self.leave(h, packet, cx);
            return None;
        }
        match packet.kind {
            PacketKind::Data => self.receive_data(h, packet, cx),
            PacketKind::Ack => self.receive_ack(h, packet, cx),
            _ => {
                cx.net.release(h);
                return self.receive_small(packet, cx);
            }
        }
        None
    }

    /// A packet arrived that carries neither data nor an ACK; it is freed already.
    fn receive_small<O: Observer>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) -> Option<Signal<'static>> {
        match packet.kind {
            PacketKind::Ping => {
                let pong = self.packet(cx.now, PacketKind::Pong, packet.ip_bytes as u32, packet.seq);
                let pong = Packet { sent: packet.sent, ..pong };
                show(cx.obs, cx.now, false, &packet, 0, &AckBlocks::default(), None, &[]);
                show(cx.obs, cx.now, true, &pong, 0, &AckBlocks::default(), None, &[]);
                self.send(pong, cx);
            }
            PacketKind::Pong => return self.receive_reply(packet, cx),
            PacketKind::Syn => self.receive_syn(cx),
            PacketKind::SynAck => self.establish(cx),
            PacketKind::Request => self.receive_request(packet.seq, cx),
            PacketKind::Datagram => {
                self.totals.goodput_bytes += u64::from((packet.ip_bytes as u32).saturating_sub(PROBE_HEADER));
                cx.obs.datagram(self.id, packet.seq >> SPURT, packet.sent, cx.now);
            }
            // Frames belong to ends outside; here nobody reads them.
            PacketKind::Opened
            | PacketKind::Data
            | PacketKind::Ack
            | PacketKind::Frame
            | PacketKind::FrameBack => {}
        }
        None
    }

    /// The reply to a probe: of the prober beside a connection, or of a ping.
    fn receive_reply<O: Observer>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) -> Option<Signal<'static>> {
        let rtt = cx.now - packet.sent;
        if let Some(s) = self.sender_mut() {
            let gap = s.reply_at.replace(cx.now).map(|last| cx.now - last);
            return Some(Signal::ProbeRtt { rtt, gap });
        }
        show(cx.obs, cx.now, false, &packet, 0, &AckBlocks::default(), None, &[]);
        self.totals.goodput_bytes += packet.ip_bytes as u64;
        self.take_rtt(cx.now, rtt, cx.obs);
        None
    }

    /// A packet's telemetry block as it is now, where captures show it: on the wire.
    fn stamp_block(&self, net: &Net, telemetry: u32) -> Vec<u8> {
        let on_wire = telemetry != NONE && matches!(self.telemetry.overhead, Overhead::Wire);
        if on_wire {
            net.stacks.block(telemetry)
        } else {
            Vec::new()
        }
    }

    /// IP bytes of its largest data packet and of a plain ACK, telemetry included. Base RTTs are those of these two.
    pub fn packet_bytes(&self) -> (u32, u32) {
        match self.setup.app {
            App::Ping { size, .. } | App::Cbr { size, .. } => (size, size),
            App::Voice(v) => {
                let size = v.codec.packet_bytes(v.interval);
                (size, size)
            }
            _ => {
                let header = self.setup.tcp.header;
                let (data, ack) =
                    (self.telemetry.data_bytes(), self.telemetry.ack_bytes(self.telemetry.max_hops));
                (self.setup.payload_bytes() + header + data, header + ack)
            }
        }
    }
}

/// Packets of a call carry the number of their talk spurt above this bit, and count from 0 in each.
const SPURT: u32 = 32;

/// The source of a flow without TCP.
fn probes(app: &App, start: Nanos, seed: u64) -> Endpoint {
    let until = match app {
        App::Voice(v) => start + turn(&v.talk, &v.silence, seed, 0),
        _ => Nanos::MAX,
    };
    Endpoint::Probes { next: 0, at: start, until }
}

/// The clock of the timestamp option.
fn ts_ms(t: Nanos) -> u32 {
    (t.0 / 1_000_000) as u32 + 1
}

/// Segments of a transfer, and the bytes of the last one.
fn segments_of(bytes: u64, mss: u32) -> (u64, u32) {
    let mss = u64::from(mss);
    let segments = bytes.div_ceil(mss).max(1);
    (segments, (bytes.saturating_sub((segments - 1) * mss)).max(1) as u32)
}

/// A connection that does not exist yet, for asking a scheme what it needs.
fn first_init(setup: &FlowSetup, start: Nanos) -> perigee_cc::ConnInit {
    perigee_cc::ConnInit {
        now: start,
        mss: setup.tcp.mss,
        init_cwnd: u64::from(setup.tcp.mss),
        srtt: None,
        seed: 0,
        hz: setup.tcp.controller_hz(),
    }
}
