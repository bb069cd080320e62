// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split connections: proxies that terminate a transport connection and forward its data over
//! another one, each leg with its own congestion control (performance-enhancing proxies; RFC 3135
//! section 4.1).
//!
//! Each leg is a flow. The sender of a leg may send the data that the receiver of the previous leg
//! has received in order. The proxy keeps these data until the next leg has acknowledged them, and
//! its ACKs advertise the rest of its buffer as the receive window of the previous leg. A window
//! that reopens is announced by Linux's rule (when it has at least doubled, to a sixteenth of the
//! buffer or more); a sender stopped by the window probes it as in RFC 9293 section 3.8.6.1.
//!
//! The SYN of a leg opens the next leg. A proxy answers the SYN at once (spoofed) or when the next
//! leg is established. A leg between two proxies may be a permanent connection, established from
//! the start.

use super::apps::{Demand, Supply};
use super::{Cx, Ends, ReceivingEnd, SendingEnd, SYN_BYTES};
use crate::observe::Observer;
use crate::packet::NONE;
use crate::setup::FlowSetup;
use perigee_record::PacketKind;
use perigee_tcp::{Seg, Sender};
use perigee_timeline::Leg;
use perigee_units::Nanos;

/// A window is announced again only if it is at least this fraction of the buffer.
const WINDOW_UPDATE_SHARE: Seg = 16;

/// The receiving end of a leg: a proxy, or the destination.
#[derive(Clone, Debug)]
pub struct LegReceiver {
    leg: Leg,
    /// Start of the first leg.
    requested: Option<Nanos>,
    /// Segments that the proxy's buffer can hold.
    room: Seg,
    /// Segments that the next leg's receiver has acknowledged.
    passed: Seg,
    /// Right edge of the window as last advertised.
    window_end: Seg,
    /// A SYN has arrived; it is answered once the next leg is established.
    syn_arrived: bool,
    answered: bool,
}

/// The sending end of a leg: the source, or a proxy.
#[derive(Clone, Debug)]
pub struct LegSender {
    /// Segments available to send, and the right edge of the window.
    fed: Seg,
    window_end: Seg,
    /// Time of the next window probe of a sender stopped by the window.
    probe_at: Nanos,
    probes: u32,
}

/// Segments of `mss` bytes that the proxy at the end of a leg can hold.
fn room(leg: &Leg, mss: u32) -> Seg {
    leg.after.map_or(Seg::MAX, |_| (leg.buffer / u64::from(mss)).max(1))
}

impl LegReceiver {
    pub fn new(leg: Leg, mss: u32) -> Self {
        let room = room(&leg, mss);
        LegReceiver {
            leg,
            requested: None,
            room,
            passed: 0,
            window_end: room,
            syn_arrived: false,
            answered: false,
        }
    }

    /// Right edge of the window that the proxy can advertise now; it never moves back.
    fn offered(&self) -> Seg {
        self.window_end.max(self.passed.saturating_add(self.room))
    }

    /// Whether the window has opened enough to justify a separate ACK (Linux: `tcp_cleanup_rbuf`).
    fn needs_window_update(&self, received: Seg) -> bool {
        let (old, new) = (self.window_end.saturating_sub(received), self.offered().saturating_sub(received));
        old <= self.room / 2 && new >= 2 * old && new >= (self.room / WINDOW_UPDATE_SHARE).max(1)
    }
}

impl LegSender {
    /// `total`: segments of a limited transfer.
    pub fn new(leg: Leg, mss: u32, total: Option<Seg>) -> Self {
        LegSender {
            fed: if leg.before.is_none() { total.unwrap_or(Seg::MAX) } else { 0 },
            window_end: room(&leg, mss),
            probe_at: Nanos::MAX,
            probes: 0,
        }
    }

    /// Time of the sender's next window probe.
    pub fn due(&self) -> Nanos {
        self.probe_at
    }

    /// Stops probing when the connection ends.
    pub fn stop(&mut self) {
        self.probe_at = Nanos::MAX;
        self.fed = 0;
    }

    /// Sets the limit up to which the sender may send.
    pub fn limit(&self, sender: &mut Sender) {
        sender.offer(self.fed, self.window_end);
    }
}

impl ReceivingEnd {
    fn leg(&self) -> Option<&LegReceiver> {
        match self.receiver()?.demand.as_deref() {
            Some(Demand::Leg(leg)) => Some(leg),
            _ => None,
        }
    }

    fn leg_mut(&mut self) -> Option<&mut LegReceiver> {
        match self.receiver_mut()?.demand.as_deref_mut() {
            Some(Demand::Leg(leg)) => Some(leg),
            _ => None,
        }
    }

    /// Handles a SYN: it is answered at once, except by a proxy that waits until the next leg is
    /// established.
    pub(super) fn receive_syn<O: Observer>(&mut self, telemetry: u32, cx: &mut Cx<'_, O>) {
        if let Some(leg) = self.leg_mut() {
            leg.syn_arrived = true;
            if leg.leg.after.is_some() && !leg.leg.spoof && !leg.answered {
                if telemetry != NONE {
                    cx.net.stacks.remove(telemetry);
                }
                return;
            }
        }
        if cx.facts[self.egress.flow as usize].setup.outside.source {
            self.begin(None, cx);
        }
        self.answer_syn(telemetry, cx);
    }

    /// Sends the SYN-ACK, which takes over the telemetry stack of the SYN.
    fn answer_syn<O: Observer>(&mut self, telemetry: u32, cx: &mut Cx<'_, O>) {
        let echo_bytes = match telemetry {
            NONE => 0,
            stack => self.telemetry.ack_bytes(cx.net.stacks.head(stack).count as usize),
        };
        let mut syn_ack = self.egress.packet(cx.now, PacketKind::SynAck, SYN_BYTES + echo_bytes, 0);
        syn_ack.telemetry = telemetry;
        self.egress.send(syn_ack, cx);
    }

    fn answer_held_syn<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let Some(leg) = self.leg_mut() else { return };
        if !leg.answered && leg.syn_arrived {
            leg.answered = true;
            if !leg.leg.spoof {
                self.answer_syn(NONE, cx);
            }
        }
    }

    /// Right edge of the window to advertise in an ACK; 0 = unlimited.
    #[inline]
    pub(super) fn offered_window(&mut self) -> Seg {
        self.leg_mut().map_or(0, |leg| {
            leg.window_end = leg.offered();
            leg.window_end
        })
    }

    /// Answers a header without data, which is a window probe, by an ACK with the current window.
    /// False if the packet is not a probe.
    pub(super) fn answer_probe<O: Observer>(&mut self, ip_bytes: u32, cx: &mut Cx<'_, O>) -> bool {
        if ip_bytes != self.header {
            return false;
        }
        self.send_window_update(cx);
        true
    }

    fn send_window_update<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        if let Some(ack) = self.receiver_mut().and_then(|r| r.tcp.as_mut()).map(|tcp| tcp.tell()) {
            self.send_ack(ack, NONE, cx);
        }
    }

    /// Releases data that the next leg has delivered: the proxy at the end of this leg has room
    /// again.
    fn release<O: Observer>(&mut self, passed: Seg, cx: &mut Cx<'_, O>) {
        let received = self.received().unwrap_or(0);
        let Some(leg) = self.leg_mut() else { return };
        leg.passed = leg.passed.max(passed);
        if received > 0 && leg.needs_window_update(received) {
            self.send_window_update(cx);
            self.reschedule(cx);
        }
    }

    /// Start of the first leg of its split connection, if known.
    pub fn requested(&self) -> Option<Nanos> {
        self.leg().and_then(|leg| leg.requested)
    }
}

impl SendingEnd {
    /// Reads the window's right edge from an ACK that reached the sender.
    #[inline]
    pub(super) fn read_window(&mut self, window_end: Seg) {
        if window_end == 0 {
            return;
        }
        let Some(s) = self.sender_mut().filter(|s| !s.stopped) else { return };
        let (Some(Supply::Leg(leg)), Some(tcp)) = (s.supply.as_deref_mut(), &mut s.tcp) else { return };
        if window_end > leg.window_end {
            leg.window_end = window_end;
            leg.limit(tcp);
        }
    }

    /// Sends a window probe: a header without data.
    pub(super) fn probe_window<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let now = cx.now;
        let Some(s) = self.sender_mut() else { return };
        let (Some(Supply::Leg(leg)), Some(tcp)) = (s.supply.as_deref_mut(), &s.tcp) else { return };
        leg.probes += 1;
        leg.probe_at = now + tcp.rto() * (1 << leg.probes.min(6));
        let old = tcp.una_nxt().0.saturating_sub(1);
        let probe = self.egress.packet(now, PacketKind::Data, self.header, old);
        self.egress.send(probe, cx);
    }

    /// Segments acknowledged by the receiver.
    fn acknowledged(&self) -> Seg {
        self.sender().and_then(|s| s.tcp.as_ref()).map_or(0, |tcp| tcp.una_nxt().0)
    }

    /// Makes more data of the proxy available to its sender.
    fn feed<O: Observer>(&mut self, segments: Seg, cx: &mut Cx<'_, O>) {
        let Some(s) = self.sender_mut() else { return };
        let Some(Supply::Leg(leg)) = s.supply.as_deref_mut() else { return };
        if segments <= leg.fed {
            return;
        }
        leg.fed = segments;
        if let (Some(tcp), false) = (&mut s.tcp, s.stopped) {
            leg.limit(tcp);
            self.pump(cx);
            self.reschedule(cx);
        }
    }

    /// Starts or stops the timer that probes a closed window.
    fn update_persist_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let now = cx.now;
        let Some(s) = self.sender_mut() else { return };
        let (Some(Supply::Leg(leg)), Some(tcp)) = (s.supply.as_deref_mut(), &s.tcp) else { return };
        let (una, nxt) = tcp.una_nxt();
        let stuck = una == nxt && nxt >= leg.window_end && nxt < leg.fed && !s.stopped;
        if stuck == (leg.probe_at < Nanos::MAX) {
            return;
        }
        leg.probes = 0;
        leg.probe_at = if stuck { now + tcp.rto() } else { Nanos::MAX };
        self.reschedule(cx);
    }

    /// Opens the connection unless it is open: with a SYN, or as if a SYN had been answered now.
    fn open(&mut self, now: Nanos, standing: bool) -> bool {
        let rtt = self.way.base.at(now).unwrap_or(Nanos::ZERO);
        let Some(s) = self.sender_mut().filter(|s| s.tcp.is_none() && s.syn_at == Nanos::MAX) else {
            return false;
        };
        s.syn_at = now;
        if standing {
            (s.syn_sent, s.syn_tries) = (Some(now.saturating_sub(rtt)), 1);
        }
        true
    }
}

/// Opens the connection of leg `f` unless it is open. True if it is established at once.
fn open<O: Observer>(ends: &mut Ends, f: usize, requested: Option<Nanos>, cx: &mut Cx<'_, O>) -> bool {
    let standing = cx.facts[f].setup.leg.is_some_and(|l| l.standing);
    let (sending, receiving) = (&mut ends.sending[f], &mut ends.receiving[f]);
    if !sending.open(cx.now, standing) {
        return false;
    }
    if let Some(leg) = receiving.leg_mut() {
        (leg.requested, leg.syn_arrived) = (requested, standing);
    }
    if standing {
        sending.note_start(cx.now, cx.obs);
        let established = sending.establish(NONE, cx);
        receiving.begin(established, cx);
    }
    sending.reschedule(cx);
    standing
}

/// Propagates an arrival at leg `f` to the previous and the next leg. A proxy is the receiving end
/// of one leg and the sending end of the next.
pub(crate) fn pass_on<O: Observer>(ends: &mut Ends, f: usize, cx: &mut Cx<'_, O>) {
    let Some(leg) = cx.facts[f].setup.leg else { return };
    let delivered = ends.receiving[f].received().unwrap_or(0);
    let acked = ends.sending[f].acknowledged();
    if let Some(after) = leg.after.map(|n| n as usize) {
        let opens = ends.receiving[f].leg().is_some_and(|r| r.syn_arrived);
        let requested = ends.receiving[f].requested().or(ends.sending[f].counts.started);
        if opens && open(ends, after, requested, cx) {
            pass_on(ends, after, cx);
        }
        ends.sending[after].feed(delivered, cx);
        ends.sending[after].update_persist_timer(cx);
    }
    if let Some(before) = leg.before {
        let established = ends.sending[f].sender().is_some_and(|s| s.tcp.is_some());
        let before = &mut ends.receiving[before as usize];
        if established {
            before.answer_held_syn(cx);
        }
        before.release(acked, cx);
    }
    ends.sending[f].update_persist_timer(cx);
}

/// Checks that legs reference each other and use the same segment size.
pub(crate) fn check(flows: &[FlowSetup]) -> Result<(), String> {
    for (i, flow) in flows.iter().enumerate() {
        let Some(next) = flow.leg.and_then(|l| l.after) else { continue };
        let next = flows.get(next as usize).filter(|n| n.leg.is_some_and(|l| l.before == Some(i as u32)));
        let Some(next) = next else {
            return Err(format!("flow {:?} is continued by a flow that does not continue it", flow.name));
        };
        if flow.tcp.mss != next.tcp.mss {
            let (a, b) = (flow.tcp.mss, next.tcp.mss);
            return Err(format!(
                "the legs {:?} and {:?} have segments of {a} and {b} bytes",
                flow.name, next.name
            ));
        }
    }
    Ok(())
}
