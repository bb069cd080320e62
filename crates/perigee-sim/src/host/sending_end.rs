// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending end of a flow: a TCP sender ([`super::tcp_sender`]), a source of probes or datagrams, or
//! an external endpoint.

use super::egress::Egress;
use super::external::leave;
use super::tcp_sender::TcpSender;
use super::{Cx, Established, FlowFacts, TelemetryPlan, SPURT};
use crate::external_endpoint::OutsidePacket;
use crate::observe::{show, Observer, SimEvent};
use crate::packet::Packet;
use crate::routes::BaseRtt;
use crate::schedule::End;
use perigee_cc::Signal;
use perigee_record::{ByteRate, PacketKind};
use perigee_tcp::AckBlocks;
use perigee_timeline::workload::turn;
use perigee_timeline::App;
use perigee_units::Nanos;

/// The sending end of a flow. Fields used for every packet come first, and some are copied from the
/// facts: with ten thousand flows none of them is in the cache.
#[repr(C, align(64))]
pub(crate) struct SendingEnd {
    pub egress: Egress,
    pub(super) mss: u32,
    pub(super) header: u32,
    /// Whether it has sent anything.
    pub active: bool,
    /// Whether the flow is a leg of a split connection.
    pub(super) is_leg: bool,
    /// Whether its data comes from an application that does not always have data to send.
    pub(super) is_supplied: bool,
    pub(super) stop: Nanos,
    /// RTT samples since the latest sampling instant: count and sum.
    pub rtt_count: u64,
    pub rtt_sum: u128,
    pub(super) telemetry: TelemetryPlan,
    /// Data packets sent since the last one with telemetry.
    pub(super) unstamped: u8,
    /// Segments of a limited transfer, and payload bytes of the last one.
    pub(super) segments: Option<(u64, u32)>,
    pub source: Origin,
    pub counts: SenderCounts,
    pub way: PathTotals,
    /// Rate of the payload delivered between the flow's rows.
    pub goodput: ByteRate,
}

/// Counters of a sending end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderCounts {
    /// Data packets sent, retransmissions included.
    pub data: u64,
    /// Retransmitted data packets.
    pub retrans: u64,
    /// ACKs received with telemetry.
    pub telemetry_acks: u64,
    /// Bytes received in echoes and frames.
    pub echoed_bytes: u64,
    /// Start time.
    pub started: Option<Nanos>,
}

/// Path of a flow's data and ACKs through the network, for the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTotals {
    pub base: BaseRtt,
    pub capacity: Capacity,
    /// Time with a route, and the integral over it of the rate of the slowest port, in bits.
    pub routed: Nanos,
    pub capacity_bits: f64,
    pub payload_share: f64,
    pub path_changes: u64,
    pub unreachable: u64,
}

/// State of the integral of the slowest port's rate over the time with a route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacity {
    pub since: Nanos,
    /// Bits per second; `None` = no route.
    pub rate: Option<f64>,
}

/// Component that runs at the sending end.
pub(crate) enum Origin {
    /// Sends probes or datagrams at fixed intervals.
    Probes {
        next: u64,
        at: Nanos,
        /// End of the talk spurt of a call.
        until: Nanos,
    },
    Tcp(Box<TcpSender>),
    /// Packets that arrive leave the simulation; injected packets enter here.
    Outside,
}

/// Effect of an arrival beyond the sending end.
pub(crate) enum Received {
    Nothing,
    /// A reply to a probe, which is also delivered to flows that subscribe to signals of the host
    /// or the machine.
    Reply(Signal<'static>),
    /// The connection is established, so the receiver starts.
    Established(Established),
}

impl SendingEnd {
    /// `elsewhere`: it runs outside of the simulation, or in another partition.
    pub fn new(id: u32, facts: &FlowFacts, elsewhere: bool) -> Self {
        let setup = &facts.setup;
        let source = match (setup.outside.source || elsewhere, setup.app.is_tcp()) {
            (true, _) => Origin::Outside,
            (false, true) => Origin::Tcp(Box::new(TcpSender::new(facts))),
            (false, false) => probes(&setup.app, facts.start, facts.seed),
        };
        SendingEnd {
            egress: Egress::new(id, setup.forward),
            mss: setup.tcp.mss,
            header: setup.tcp.header,
            active: false,
            is_leg: setup.leg.is_some(),
            is_supplied: matches!(&source, Origin::Tcp(s) if s.supply.is_some()),
            stop: setup.stop,
            rtt_count: 0,
            rtt_sum: 0,
            telemetry: facts.telemetry,
            unstamped: 0,
            segments: facts.segments,
            source,
            counts: SenderCounts::default(),
            way: PathTotals::default(),
            goodput: ByteRate::since(setup.start),
        }
    }

    /// Time of the next due event.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        match &self.source {
            Origin::Probes { at, .. } if *at < self.stop => *at,
            Origin::Tcp(s) => s.next_due(self.stop),
            _ => Nanos::MAX,
        }
    }

    /// The simulated TCP sender, if there is one.
    pub fn sender(&self) -> Option<&TcpSender> {
        match &self.source {
            Origin::Tcp(s) => Some(s),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn sender_mut(&mut self) -> Option<&mut TcpSender> {
        match &mut self.source {
            Origin::Tcp(s) => Some(s),
            _ => None,
        }
    }

    pub(super) fn take_rtt<O: Observer>(&mut self, now: Nanos, rtt: Nanos, obs: &mut O) {
        let sent = now.saturating_sub(rtt);
        self.rtt_sum += rtt.0 as u128;
        self.rtt_count += 1;
        obs.rtt(self.egress.flow, sent, rtt, self.way.base.at(sent));
    }

    /// Runs the timer that is due. True if an on/off source has fallen silent.
    pub fn on_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) -> bool {
        match &self.source {
            Origin::Probes { .. } => self.send_probe_of_app(cx),
            Origin::Tcp(s) if s.tcp.is_none() => self.handshake_timer(cx),
            Origin::Tcp(_) => return self.sender_timer(cx),
            Origin::Outside => {}
        }
        false
    }

    fn send_probe_of_app<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let facts = &cx.facts[self.egress.flow as usize];
        let (kind, interval, size) = match facts.setup.app {
            App::Ping { interval, size } => (PacketKind::Ping, interval, size),
            App::Cbr { interval, size } => (PacketKind::Datagram, interval, size),
            App::Voice(v) => (PacketKind::Datagram, v.interval, v.codec.packet_bytes(v.interval)),
            _ => unreachable!("an app without TCP"),
        };
        let Origin::Probes { next, at, until } = &mut self.source else { return };
        let number = *next;
        *next += 1;
        *at = cx.now + interval;
        if let (App::Voice(v), true) = (facts.setup.app, *at >= *until) {
            let spurt = (number >> SPURT) + 1;
            *next = spurt << SPURT;
            *at = *until + turn(&v.talk, &v.silence, facts.seed, 2 * spurt - 1);
            *until = *at + turn(&v.talk, &v.silence, facts.seed, 2 * spurt);
        }
        self.note_start(cx.now, cx.obs);
        let packet = self.egress.packet(cx.now, kind, size, number);
        show(cx.obs, cx.now, true, &packet, 0, &AckBlocks::default(), None, &[]);
        self.counts.data += 1;
        self.egress.send(packet, cx);
    }

    pub fn note_start<O: Observer>(&mut self, now: Nanos, obs: &mut O) {
        if self.counts.started.is_none() {
            self.counts.started = Some(now);
            self.active = true;
            self.way.capacity.since = now;
            obs.event(now, &SimEvent::FlowStart(self.egress.flow));
        }
    }

    /// Reschedules the end, as an event may now be due earlier. (A flow that has stopped during its
    /// handshake is due at once.)
    #[inline]
    pub fn reschedule<O>(&mut self, cx: &mut Cx<'_, O>) {
        cx.net.wake_by(End::sending(self.egress.flow), self.next_due().max(cx.now));
    }

    /// Passes a signal to the congestion control. False if there is no connection.
    pub fn signal(&mut self, now: Nanos, signal: &Signal<'_>) -> bool {
        let tcp = self.sender_mut().and_then(|s| s.tcp.as_mut());
        tcp.map(|tcp| tcp.signal(now, signal)).is_some()
    }

    /// Handles a packet that reached this end.
    #[inline]
    pub fn receive<O: Observer>(&mut self, h: u32, cx: &mut Cx<'_, O>) -> Received {
        self.egress.received += 1;
        let packet = *cx.net.packets.get(h);
        if let Origin::Outside = self.source {
            self.counts.echoed_bytes += leave(h, packet, cx);
            return Received::Nothing;
        }
        if packet.kind == PacketKind::Ack {
            self.receive_ack(h, packet, cx);
            return Received::Nothing;
        }
        if packet.kind == PacketKind::SynAck {
            let established = self.establish(packet.telemetry, cx);
            cx.net.release(h);
            return established.map_or(Received::Nothing, Received::Established);
        }
        cx.net.release(h);
        match packet.kind {
            PacketKind::Pong => return self.receive_reply(packet, cx),
            PacketKind::Request => self.receive_request(packet.seq, cx),
            // Frames belong to external endpoints; all other kinds travel in the other direction.
            _ => {}
        }
        Received::Nothing
    }

    /// Handles the reply to a probe: of the prober that accompanies a connection, or of a ping.
    fn receive_reply<O: Observer>(&mut self, packet: Packet, cx: &mut Cx<'_, O>) -> Received {
        let rtt = cx.now - packet.sent;
        if let Some(s) = self.sender_mut() {
            let gap = s.reply_at.replace(cx.now).map(|last| cx.now - last);
            return Received::Reply(Signal::ProbeRtt { rtt, gap });
        }
        show(cx.obs, cx.now, false, &packet, 0, &AckBlocks::default(), None, &[]);
        self.counts.echoed_bytes += packet.ip_bytes as u64;
        self.take_rtt(cx.now, rtt, cx.obs);
        Received::Nothing
    }

    /// Injects a packet of an external endpoint.
    pub fn enter<O: Observer>(&mut self, packet: OutsidePacket, cx: &mut Cx<'_, O>) {
        self.counts.data += 1;
        self.egress.enter(packet, cx);
    }

    /// Adds the time since the latest path change to the flow's capacity; the integral ends when
    /// the transfer is complete.
    pub fn close_capacity(&mut self, now: Nanos, completed: Option<Nanos>) {
        if !self.active {
            return;
        }
        let end = now.min(completed.unwrap_or(self.stop));
        let time = end.saturating_sub(self.way.capacity.since);
        if let Some(rate) = self.way.capacity.rate {
            self.way.routed += time;
            self.way.capacity_bits += rate * time.as_secs_f64();
        }
        self.way.capacity.since = end.max(self.way.capacity.since);
    }
}

/// Source of a flow without TCP.
fn probes(app: &App, start: Nanos, seed: u64) -> Origin {
    let until = match app {
        App::Voice(v) => start + turn(&v.talk, &v.silence, seed, 0),
        _ => Nanos::MAX,
    };
    Origin::Probes { next: 0, at: start, until }
}
