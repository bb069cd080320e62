// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Split connections: proxies that end a transport connection and carry its data on over another one, each leg with its
//! own congestion control (performance-enhancing proxies; RFC 3135 section 4.1).
//!
//! Each leg is a flow of its own. What the receiver of one has in order is what the sender of the next may send; the
//! proxy keeps it until the next leg has acknowledged it, and offers the leg before it the rest of its buffer as receive
//! window. The window travels with the ACKs: a table per leg remembers the edge that each ACK under way carries, so that
//! packets of other flows stay as they are. A window that opens again is announced by Linux's rule (when it has at least
//! doubled, and by a sixteenth of the buffer); a sender that it stopped probes it like RFC 9293 section 3.8.6.1.
//!
//! The SYN of a leg opens the next one. A proxy answers it at once (spoofed) or when the next leg is established. A leg
//! between two proxies may be a standing connection, which is there at once.

use crate::apps::Work;
use crate::host::{Flow, SYN_BYTES};
use crate::net::aqm::CE;
use crate::net::Net;
use crate::observe::{Completion, Observer};
use crate::packet::{Kind, NONE};
use crate::routes::Routes;
use crate::setup::FlowSetup;
use perigee_tcp::{Seg, Sender};
use perigee_units::Nanos;
use std::collections::VecDeque;

/// A flow's place among the legs of a split connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The flow whose data this one carries on; `None` = the first leg.
    pub before: Option<u32>,
    /// The flow that carries on this one's data; `None` = the last leg.
    pub after: Option<u32>,
    /// What the proxy at this leg's end may hold, in bytes (the last leg has no proxy).
    pub buffer: u64,
    /// The proxy answers the SYN of this leg before the next leg is established.
    pub spoof: bool,
    /// The leg is a standing connection between two proxies: no handshake, its RTT is known.
    pub standing: bool,
}

/// Announce a window again when it grew by this part of the buffer.
const WINDOW_UPDATE_SHARE: Seg = 16;

/// What a leg keeps, at both of its ends.
#[derive(Clone, Debug)]
pub struct Relay {
    leg: Leg,
    /// When the first leg began.
    asked: Option<Nanos>,
    /// Segments that the proxy behind this leg may hold.
    room: Seg,
    /// Segments that the next leg's receiver has acknowledged.
    passed: Seg,
    /// Right edge of the window as last sent.
    promised: Seg,
    /// Ordinals of ACKs under way, with the edges that they carry.
    edges: VecDeque<(u32, Seg)>,
    /// The SYN arrived; its answer was sent once the next leg was established.
    syn_arrived: bool,
    answered: bool,
    /// What the sender has been fed, and the right edge that it knows.
    fed: Seg,
    edge: Seg,
    /// When a sender stopped by the window probes it.
    probe_at: Nanos,
    probes: u32,
}

impl Relay {
    /// The state of a leg whose segments have `mss` bytes; `total` = segments of a limited transfer.
    pub fn new(leg: Leg, mss: u32, total: Option<Seg>) -> Self {
        let room = match leg.after {
            Some(_) => (leg.buffer / mss as u64).max(1),
            None => Seg::MAX,
        };
        let all = total.unwrap_or(Seg::MAX);
        Relay {
            leg,
            asked: None,
            room,
            passed: 0,
            promised: room,
            edges: VecDeque::new(),
            syn_arrived: false,
            answered: false,
            fed: if leg.before.is_none() { all } else { 0 },
            edge: room,
            probe_at: Nanos::MAX,
            probes: 0,
        }
    }

    /// When the sender wants to probe the window.
    pub fn due(&self) -> Nanos {
        self.probe_at
    }

    /// The connection ends.
    pub fn stop(&mut self) {
        self.probe_at = Nanos::MAX;
        self.fed = 0;
    }

    /// Tells the sender how far it may send.
    pub fn limit(&self, sender: &mut Sender) {
        sender.offer(self.fed, self.edge);
    }

    /// The edge of the window that the proxy can offer now; it never moves back.
    fn offered(&self) -> Seg {
        self.promised.max(self.passed.saturating_add(self.room))
    }

    /// The window has opened enough to be worth an ACK of its own (Linux: `tcp_cleanup_rbuf`).
    fn needs_window_update(&self, received: Seg) -> bool {
        let (old, new) = (self.promised.saturating_sub(received), self.offered().saturating_sub(received));
        old <= self.room / 2 && new >= 2 * old && new >= (self.room / WINDOW_UPDATE_SHARE).max(1)
    }

    /// An ACK leaves: it carries the edge.
    fn promise(&mut self, ordinal: u32) {
        if self.room != Seg::MAX {
            self.promised = self.offered();
            self.edges.push_back((ordinal, self.promised));
        }
    }

    /// An ACK arrived. True if the window is another one now.
    fn learn(&mut self, ordinal: u32) -> bool {
        let before = self.edge;
        while let Some(&(sent, edge)) = self.edges.front() {
            if sent > ordinal {
                break;
            }
            self.edge = self.edge.max(edge);
            self.edges.pop_front();
        }
        self.edge > before
    }
}

/// The leg that a work is.
fn relay_of(work: &mut Option<Box<Work>>) -> Option<&mut Relay> {
    match work.as_deref_mut() {
        Some(Work::Leg(relay)) => Some(relay),
        _ => None,
    }
}

impl Flow {
    /// A SYN arrived: it is answered at once, but by a proxy that waits until the next leg is established.
    pub(crate) fn receive_syn(&mut self, now: Nanos, net: &mut Net, routes: &Routes) {
        if let Some(relay) = relay_of(&mut self.tcp().work) {
            relay.syn_arrived = true;
            if relay.leg.after.is_some() && !relay.leg.spoof && !relay.answered {
                return;
            }
        }
        self.answer_syn(now, net, routes);
    }

    fn answer_syn(&mut self, now: Nanos, net: &mut Net, routes: &Routes) {
        let syn_ack = self.packet(now, Kind::SynAck, SYN_BYTES, 0);
        self.send(now, syn_ack, net, routes);
    }

    /// An ACK leaves the receiver.
    #[inline]
    pub(crate) fn stamp_window(&mut self, ordinal: u32) {
        if let Some(relay) = relay_of(&mut self.tcp().work) {
            relay.promise(ordinal & !CE);
        }
    }

    /// An ACK reached the sender.
    #[inline]
    pub(crate) fn read_window(&mut self, ordinal: u32) {
        let t = self.tcp();
        let (Some(relay), Some(sender), false) = (relay_of(&mut t.work), &mut t.sender, t.stopped) else {
            return;
        };
        if relay.learn(ordinal & !CE) {
            relay.limit(sender);
        }
    }

    /// When the transfer began: of a split connection, when its first leg did.
    fn asked(&mut self) -> Option<Nanos> {
        let started = self.totals.started;
        relay_of(&mut self.tcp().work).and_then(|r| r.asked).or(started)
    }

    /// Everything arrived. Of a split connection the last leg's end counts, from the first leg's beginning.
    pub(crate) fn report_completion<O: Observer>(&mut self, now: Nanos, bytes: u64, obs: &mut O) {
        if self.setup.leg.is_none_or(|l| l.after.is_none()) {
            let asked = self.asked().unwrap_or(now);
            obs.completion(&Completion { flow: self.id, object: 0, bytes, asked, first: None, done: now });
        }
    }

    /// The sender, stopped by the window, asks whether it is open again: a header without data.
    pub(crate) fn probe_window(&mut self, now: Nanos, net: &mut Net, routes: &Routes) {
        let header = self.setup.tcp.header;
        let t = self.tcp();
        let (Some(relay), Some(sender)) = (relay_of(&mut t.work), &t.sender) else { return };
        relay.probes += 1;
        relay.probe_at = now + sender.rto() * (1 << relay.probes.min(6));
        let old = sender.una_nxt().0.saturating_sub(1);
        let probe = self.packet(now, Kind::Data, header, old);
        self.send(now, probe, net, routes);
    }

    /// A header without data arrived: the answer is an ACK with the present window. False if it is no such probe.
    pub(crate) fn answer_probe<O: Observer>(
        &mut self,
        now: Nanos,
        ip_bytes: u32,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) -> bool {
        if ip_bytes != self.setup.tcp.header {
            return false;
        }
        self.send_window_update(now, net, routes, obs);
        true
    }

    fn send_window_update<O: Observer>(&mut self, now: Nanos, net: &mut Net, routes: &Routes, obs: &mut O) {
        if let Some(ack) = self.tcp().receiver.as_mut().map(|r| r.tell()) {
            self.send_ack(now, ack, NONE, net, routes, obs);
        }
    }

    /// Segments delivered in order to the receiver, and acknowledged to the sender.
    fn progress(&mut self) -> (Seg, Seg) {
        let t = self.tcp();
        let delivered = t.receiver.as_ref().map_or(0, |r| r.next());
        (delivered, t.sender.as_ref().map_or(0, |s| s.una_nxt().0))
    }

    /// The proxy at this leg's beginning has more data for it.
    fn feed<O: Observer>(&mut self, now: Nanos, segments: Seg, net: &mut Net, routes: &Routes, obs: &mut O) {
        let t = self.tcp();
        let Some(relay) = relay_of(&mut t.work) else { return };
        if segments <= relay.fed {
            return;
        }
        relay.fed = segments;
        if let (Some(sender), false) = (&mut t.sender, t.stopped) {
            relay.limit(sender);
            self.pump(now, net, routes, obs);
            self.reschedule(net);
        }
    }

    /// The next leg has delivered so much: the proxy at this leg's end has room again.
    fn release<O: Observer>(&mut self, now: Nanos, passed: Seg, net: &mut Net, routes: &Routes, obs: &mut O) {
        let received = self.progress().0;
        let Some(relay) = relay_of(&mut self.tcp().work) else { return };
        relay.passed = relay.passed.max(passed);
        if received > 0 && relay.needs_window_update(received) {
            self.send_window_update(now, net, routes, obs);
            self.reschedule(net);
        }
    }

    /// Starts or stops the timer that probes a closed window.
    fn update_persist_timer(&mut self, now: Nanos, net: &mut Net) {
        let t = self.tcp();
        let (Some(relay), Some(sender)) = (relay_of(&mut t.work), &t.sender) else { return };
        let (una, nxt) = sender.una_nxt();
        let stuck = una == nxt && nxt >= relay.edge && nxt < relay.fed && !t.stopped;
        if stuck == (relay.probe_at < Nanos::MAX) {
            return;
        }
        relay.probes = 0;
        relay.probe_at = if stuck { now + sender.rto() } else { Nanos::MAX };
        self.reschedule(net);
    }
}

/// After something reached flow `f`: what it means for the legs before and after it.
pub(crate) fn pass_on<O: Observer>(
    flows: &mut [Flow],
    f: usize,
    now: Nanos,
    net: &mut Net,
    routes: &Routes,
    obs: &mut O,
) {
    let Some(leg) = flows[f].setup.leg else { return };
    let (delivered, acked) = flows[f].progress();
    if let Some(after) = leg.after.map(|n| n as usize) {
        let opens = relay_of(&mut flows[f].tcp().work).is_some_and(|r| r.syn_arrived);
        let asked = flows[f].asked();
        if opens && flows[after].open(now, asked, net, routes, obs) {
            pass_on(flows, after, now, net, routes, obs);
        }
        flows[after].feed(now, delivered, net, routes, obs);
        flows[after].update_persist_timer(now, net);
    }
    if let Some(before) = leg.before {
        let established = flows[f].tcp().sender.is_some();
        let before = &mut flows[before as usize];
        if established {
            before.answer_held_syn(now, net, routes);
        }
        before.release(now, acked, net, routes, obs);
    }
    flows[f].update_persist_timer(now, net);
}

/// Legs must name each other, and carry segments of one size.
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

impl Flow {
    /// The connection begins, if it has not. True if it stands at once.
    fn open<O: Observer>(
        &mut self,
        now: Nanos,
        asked: Option<Nanos>,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) -> bool {
        let standing = self.setup.leg.is_some_and(|l| l.standing);
        let rtt = self.base.at(now).unwrap_or(Nanos::ZERO);
        let t = self.tcp();
        if t.sender.is_some() || t.syn_at < Nanos::MAX {
            return false;
        }
        t.syn_at = now;
        relay_of(&mut t.work).iter_mut().for_each(|r| (r.asked, r.syn_arrived) = (asked, standing));
        if standing {
            // As if its SYN had been answered now.
            (t.syn_sent, t.syn_tries) = (Some(now.saturating_sub(rtt)), 1);
            self.note_start(now, obs);
            self.establish(now, net, routes, obs);
        }
        self.reschedule(net);
        standing
    }

    fn answer_held_syn(&mut self, now: Nanos, net: &mut Net, routes: &Routes) {
        let Some(relay) = relay_of(&mut self.tcp().work) else { return };
        if !relay.answered && relay.syn_arrived {
            relay.answered = true;
            if !relay.leg.spoof {
                self.answer_syn(now, net, routes);
            }
        }
    }
}
