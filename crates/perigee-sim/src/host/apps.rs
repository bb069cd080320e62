// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Applications over TCP that do not send all the time: on/off sources, and clients that ask for one object after the
//! other (pages, video segments).
//!
//! Draws depend on the flow's seed and the number of the draw, so that they do not depend on how the network behaves:
//! every congestion control is asked for the same objects.

use super::relay::{LegReceiver, LegSender};
use super::{Cx, Flow};

use crate::observe::{Completion, Observer, SimEvent};
use crate::packet::Kind;
use crate::setup::FlowSetup;
use perigee_tcp::Sender;
use perigee_timeline::workload::{self, SHORTEST};
use perigee_timeline::{App, Law};
use perigee_units::Nanos;

/// IP bytes of a request: headers and a line of text.
const REQUEST_BYTES: u32 = 200;

/// An object that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// From 0.
    pub number: u64,
    /// Its size.
    pub bytes: u64,
    /// When the client asked.
    pub asked: Nanos,
    /// When its first segment arrived.
    pub first: Option<Nanos>,
    /// Segment after its last, and the bytes of its last.
    end: u64,
    last: u32,
}

/// Where the data of a TCP sender comes from, if not from an application that always has some.
#[derive(Clone, Debug)]
pub enum Supply {
    /// Sends as much as the transport takes, is silent, and so on.
    OnOff(OnOff),
    /// Answers requests.
    Server(Server),
    /// Carries on what a proxy has received.
    Leg(LegSender),
}

/// What takes the data of a TCP receiver, if not an application that only reads.
#[derive(Clone, Debug)]
pub enum Demand {
    /// Asks, waits until everything is there, thinks, asks again.
    Client(Client),
    /// A proxy that carries it on.
    Leg(LegReceiver),
}

/// An on/off source.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// Seconds of sending.
    on: Law,
    /// Seconds of silence.
    off: Law,
    sending: bool,
    /// It was told that nothing of it is under way.
    silent: bool,
    /// Draws so far.
    turns: u64,
    /// When it changes.
    at: Nanos,
}

/// The asking side.
#[derive(Clone, Debug)]
pub struct Client {
    size: Law,
    think: Law,
    period: Nanos,
    /// Objects to ask for.
    count: u64,
    mss: u64,
    /// The object asked for.
    now: Option<Object>,
    /// Segment after the latest complete object.
    end: u64,
    asked: u64,
    tries: u32,
    /// When to ask (again).
    pub at: Nanos,
}

/// The answering side. It draws the sizes of objects from the same law and seed as the client, as if requests named them.
#[derive(Clone, Debug)]
pub struct Server {
    size: Law,
    mss: u64,
    /// Requests that have arrived, repetitions not counted.
    requests: u64,
    /// Segment after the last and bytes of the last segment: of the latest object, and of the one before it, whose last
    /// segment may be sent again.
    objects: [(u64, u32); 2],
}

/// Time after which a request without answer is repeated, doubled each time.
const REPEAT: Nanos = Nanos::from_secs(1);

impl Supply {
    /// Of a flow of `total` segments; `None` = it sends all the time.
    pub fn of(setup: &FlowSetup, total: Option<u64>) -> Option<Supply> {
        let mss = setup.tcp.mss;
        if let Some(leg) = setup.leg {
            return Some(Supply::Leg(LegSender::new(leg, mss, total)));
        }
        match setup.app {
            App::OnOff { on, off } => Some(Supply::OnOff(OnOff {
                on,
                off,
                sending: false,
                silent: false,
                turns: 0,
                at: Nanos::MAX,
            })),
            App::Request { size, .. } => Some(Supply::Server(Server::new(size, mss))),
            _ => None,
        }
    }

    /// When it wants to be called; [`Nanos::MAX`] = never.
    pub fn due(&self) -> Nanos {
        match self {
            Supply::OnOff(source) => source.at,
            Supply::Server(_) => Nanos::MAX,
            Supply::Leg(leg) => leg.due(),
        }
    }

    /// The connection is established.
    pub fn begin(&mut self, now: Nanos, tcp: &mut Sender) {
        match self {
            Supply::OnOff(source) => {
                tcp.limit(0);
                source.at = now;
            }
            Supply::Server(_) => tcp.limit(0),
            Supply::Leg(leg) => leg.limit(tcp),
        }
    }

    /// The connection ends.
    pub fn stop(&mut self) {
        match self {
            Supply::OnOff(source) => source.at = Nanos::MAX,
            Supply::Server(_) => {}
            Supply::Leg(leg) => leg.stop(),
        }
    }

    /// Payload of a segment.
    pub fn payload(&self, seg: u64, mss: u32) -> u32 {
        let Supply::Server(server) = self else { return mss };
        server.objects.iter().find(|o| o.0 == seg + 1).map_or(mss, |o| o.1)
    }
}

impl Demand {
    /// Of a flow; `None` = its receiver only reads.
    pub fn of(setup: &FlowSetup) -> Option<Demand> {
        if let Some(leg) = setup.leg {
            return Some(Demand::Leg(LegReceiver::new(leg, setup.tcp.mss)));
        }
        Client::of(&setup.app, setup.tcp.mss).map(Demand::Client)
    }

    /// When it wants to be called; [`Nanos::MAX`] = never.
    pub fn due(&self) -> Nanos {
        match self {
            Demand::Client(client) => client.at,
            Demand::Leg(_) => Nanos::MAX,
        }
    }

    /// The connection is established.
    pub fn begin(&mut self, now: Nanos) {
        if let Demand::Client(client) = self {
            client.at = now;
        }
    }
}

impl OnOff {
    /// Its instant has come; true if it sends from now on.
    fn turn(&mut self, now: Nanos, seed: u64) -> bool {
        self.sending = !self.sending;
        self.at = now + workload::turn(&self.on, &self.off, seed, self.turns);
        self.turns += 1;
        self.sending
    }
}

/// Size of the `n`-th object in bytes, in segments, and bytes of its last segment.
fn object_size(law: &Law, mss: u64, seed: u64, n: u64) -> (u64, u64, u32) {
    let bytes = workload::object_bytes(law, seed, n);
    let segments = bytes.div_ceil(mss);
    (bytes, segments, (bytes - (segments - 1) * mss) as u32)
}

impl Server {
    fn new(size: Law, mss: u32) -> Self {
        Server { size, mss: u64::from(mss), requests: 0, objects: [(0, 0); 2] }
    }

    /// A request arrived: how far the sender may send; `None` = it came before.
    pub fn on_request(&mut self, number: u64, seed: u64) -> Option<u64> {
        if number < self.requests {
            return None;
        }
        let (_, segments, last) = object_size(&self.size, self.mss, seed, number);
        let end = self.objects[0].0 + segments;
        self.objects = [(end, last), self.objects[0]];
        self.requests = number + 1;
        Some(end)
    }
}

impl Client {
    fn of(app: &App, mss: u32) -> Option<Client> {
        let App::Request { size, think, period, count } = *app else { return None };
        let mss = u64::from(mss);
        Some(Client {
            size,
            think,
            period,
            count,
            mss,
            now: None,
            end: 0,
            asked: 0,
            tries: 0,
            at: Nanos::MAX,
        })
    }

    /// Asks for the next object, or for the same one again; returns the request's number.
    pub fn ask(&mut self, now: Nanos, seed: u64) -> u64 {
        if self.now.is_none() {
            let (bytes, segments, last) = object_size(&self.size, self.mss, seed, self.asked);
            let end = self.end + segments;
            self.now = Some(Object { number: self.asked, bytes, asked: now, first: None, end, last });
            self.asked += 1;
            self.tries = 0;
        }
        self.at = now + REPEAT * (1 << self.tries.min(6));
        self.tries += 1;
        self.asked - 1
    }

    /// In-order delivery reached segment `next`. Returns the object if it is complete, and by how many bytes its last
    /// segment was shorter than a full one.
    pub fn delivered(&mut self, now: Nanos, next: u64, seed: u64) -> Option<(Object, u32)> {
        let object = self.now.as_mut()?;
        if object.first.is_none() {
            object.first = Some(now);
            // The answer has begun: no need to ask again.
            self.at = Nanos::MAX;
        }
        if next < object.end {
            return None;
        }
        let done = *object;
        self.now = None;
        self.end = done.end;
        let thought = now + workload::think_time(&self.think, seed, done.number);
        self.at = if self.asked >= self.count {
            Nanos::MAX
        } else {
            thought.max(done.asked + self.period.max(SHORTEST))
        };
        Some((done, self.mss as u32 - done.last))
    }
}

impl Flow {
    /// The instant of the sending application, or of a proxy's sender, has come.
    pub(super) fn supply_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (now, seed) = (cx.now, self.seed);
        let Some(s) = self.sender_mut() else { return };
        match (s.supply.as_deref_mut(), &mut s.tcp) {
            (Some(Supply::OnOff(source)), Some(tcp)) => {
                let sending = source.turn(now, seed);
                tcp.limit(if sending { u64::MAX } else { 0 });
                let resumes = sending && std::mem::take(&mut source.silent);
                if resumes {
                    cx.obs.event(now, &SimEvent::Busy(self.id));
                } else if let Some(next) = self.received() {
                    self.note_silence(next, cx);
                }
            }
            (Some(Supply::Leg(_)), _) => self.probe_window(cx),
            _ => {}
        }
    }

    /// First segment that the receiver does not have.
    fn received(&mut self) -> Option<u64> {
        self.receiver_mut().and_then(|r| r.tcp.as_ref()).map(|tcp| tcp.next())
    }

    /// The receiver has everything below segment `next`: an on/off source that is off may have nothing under way now.
    pub(super) fn note_silence<O: Observer>(&mut self, next: u64, cx: &mut Cx<'_, O>) {
        let id = self.id;
        let Some(s) = self.sender_mut() else { return };
        let (Some(Supply::OnOff(source)), Some(tcp)) = (s.supply.as_deref_mut(), &s.tcp) else { return };
        if !source.sending && !source.silent && next >= tcp.una_nxt().1 {
            source.silent = true;
            cx.obs.event(cx.now, &SimEvent::Idle(id));
        }
    }

    /// The client's instant has come, if it has.
    pub(super) fn demand_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (now, seed, id) = (cx.now, self.seed, self.id);
        let due = self.receiver_mut().filter(|r| !r.stopped && r.tcp.is_some());
        let Some(Demand::Client(client)) = due.and_then(|r| r.demand.as_deref_mut()) else { return };
        if client.at <= now {
            if client.now.is_none() {
                cx.obs.event(now, &SimEvent::Busy(id));
            }
            let number = client.ask(now, seed);
            let request = self.packet(now, Kind::Request, REQUEST_BYTES, number);
            self.send(request, cx);
        }
    }

    /// A client's request reached the server.
    pub(super) fn receive_request<O: Observer>(&mut self, number: u64, cx: &mut Cx<'_, O>) {
        let seed = self.seed;
        let Some(s) = self.sender_mut().filter(|s| !s.stopped) else { return };
        let (Some(Supply::Server(server)), Some(tcp)) = (s.supply.as_deref_mut(), &mut s.tcp) else { return };
        if let Some(end) = server.on_request(number, seed) {
            tcp.limit(end);
            self.pump(cx);
            self.reschedule(cx.net);
        }
    }

    /// The receiving application has everything below segment `next`.
    pub(super) fn take_objects<O: Observer>(&mut self, now: Nanos, next: u64, obs: &mut O) {
        let (seed, flow) = (self.seed, self.id);
        let demand = self.receiver_mut().and_then(|r| r.demand.as_deref_mut());
        let Some(Demand::Client(client)) = demand else { return };
        if let Some((o, short)) = client.delivered(now, next, seed) {
            self.totals.goodput_bytes -= short as u64;
            obs.event(now, &SimEvent::Idle(flow));
            obs.completion(&Completion {
                flow,
                object: o.number,
                bytes: o.bytes,
                asked: o.asked,
                first: o.first,
                done: now,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_whatever_is_drawn() {
        let zero = Law::Fixed(0.0);
        let mut source =
            OnOff { on: zero, off: zero, sending: false, silent: false, turns: 0, at: Nanos::ZERO };
        for _ in 0..1000 {
            source.turn(source.at, 0);
        }
        assert_eq!(source.at, Nanos::from_millis(1));
        let app = App::Request { size: Law::Fixed(1.0), think: zero, period: Nanos::ZERO, count: 9 };
        let mut c = Client::of(&app, 1000).unwrap();
        c.ask(Nanos::ZERO, 0);
        c.delivered(Nanos::ZERO, 1, 0).unwrap();
        assert_eq!(c.at, SHORTEST);
    }

    #[test]
    fn a_client_asks_for_one_object_after_the_other() {
        let app =
            App::Request { size: Law::Fixed(2500.0), think: Law::Fixed(1.0), period: Nanos::ZERO, count: 2 };
        let mut c = Client::of(&app, 1000).unwrap();
        let mut server = Server::new(Law::Fixed(2500.0), 1000);
        let s = Nanos::from_secs;
        assert_eq!(c.ask(s(1), 0), 0);
        assert_eq!(c.at, s(2), "a lost request is repeated");
        assert_eq!(server.on_request(0, 0), Some(3));
        assert_eq!(server.on_request(0, 0), None, "a repeated request changes nothing");
        let supply = Supply::Server(server.clone());
        assert_eq!((supply.payload(1, 1000), supply.payload(2, 1000)), (1000, 500));
        assert_eq!(c.delivered(s(2), 2, 0), None);
        let (done, short) = c.delivered(s(3), 3, 0).unwrap();
        assert_eq!((done.bytes, done.first, short, c.at), (2500, Some(s(2)), 500, s(4)));
        assert_eq!(c.ask(s(4), 0), 1);
        assert_eq!(server.on_request(1, 0), Some(6));
        c.delivered(s(5), 6, 0).unwrap();
        assert_eq!(c.at, Nanos::MAX, "two were wanted");
    }
}
