// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP applications that do not always have data to send: on/off sources, and clients that request
//! one object after the other (pages, video segments).
//!
//! Random draws depend on the flow's seed and the index of the draw, not on the network: requests
//! have the same sizes and think times under every congestion control.

use super::player::Player;
use super::relay::{LegReceiver, LegSender};
use super::{Cx, ReceivingEnd, SendingEnd};
use crate::observe::{ApplicationTotals, CompletionRow, Observer, SimEvent, VideoEvent, VideoTotals};
use crate::setup::FlowSetup;
use perigee_record::PacketKind;
use perigee_tcp::Sender;
use perigee_timeline::workload::{self, SHORTEST};
use perigee_timeline::{answer_bytes, App, Law};
use perigee_units::Nanos;

/// IP bytes of a request: headers and one line of text.
const REQUEST_BYTES: u32 = 200;

/// An object requested by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Index of the object, from 0.
    pub number: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the client's request.
    pub requested: Nanos,
    /// Arrival of its first segment.
    pub first: Option<Nanos>,
    /// End of the object in segments of the flow (exclusive).
    end: u64,
    /// Payload bytes of its last segment.
    last: u32,
}

/// Source of a TCP sender's data, where the application does not always have data to send.
#[derive(Clone, Debug)]
pub enum Supply {
    /// Alternates between periods with unlimited data and periods without data.
    OnOff(OnOff),
    /// Answers requests.
    Server(Server),
    /// Forwards data received by a proxy.
    Leg(LegSender),
}

/// Consumer of a TCP receiver's data, where the application does more than read.
#[derive(Clone, Debug)]
pub enum Demand {
    /// Requests an object, waits for its last segment and for a think time, and requests the next.
    Client(Box<Client>),
    /// A proxy that forwards the data over the next leg.
    Leg(LegReceiver),
}

/// An on/off source.
#[derive(Clone, Debug)]
pub struct OnOff {
    /// Duration of the on periods in seconds.
    on: Law,
    /// Duration of the off periods in seconds.
    off: Law,
    sending: bool,
    /// Whether the source is off and all of its data has been delivered.
    silent: bool,
    /// Number of on and off periods so far.
    turns: u64,
    /// Time of the next change.
    at: Nanos,
}

/// Client of an application with requests: the receiving end.
#[derive(Clone, Debug)]
pub struct Client {
    app: App,
    mss: u64,
    /// Object being requested.
    now: Option<Object>,
    /// Document of the page being loaded, once it is complete.
    page: Option<Object>,
    /// Player of the video.
    player: Option<Box<Player>>,
    /// Video quality of the current request, as an index of the ladder.
    quality: usize,
    /// Segment after the latest complete object.
    end: u64,
    /// Number of distinct requests sent.
    requested: u64,
    /// Number of times that the current request was sent.
    tries: u32,
    /// Time of the next request or repetition.
    pub at: Nanos,
}

/// Server of an application with requests: the sending end. It draws object sizes from the same laws
/// and seed as the client, as if requests contained the size.
#[derive(Clone, Debug)]
pub struct Server {
    app: App,
    mss: u64,
    /// Number of distinct requests received, repetitions excluded.
    requests: u64,
    /// End segment (exclusive) and payload bytes of the last segment, for the latest object and for
    /// the one before it, since that segment may still be retransmitted.
    objects: [(u64, u32); 2],
}

/// Timeout after which an unanswered request is repeated; it doubles each time.
const REPEAT: Nanos = Nanos::from_secs(1);

impl Supply {
    /// Supply of a flow of `total` segments; `None` = the application always has data to send.
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
            app if app.has_client() => Some(Supply::Server(Server::new(app, mss))),
            _ => None,
        }
    }

    /// Time of the next timer event; [`Nanos::MAX`] = never.
    pub fn due(&self) -> Nanos {
        match self {
            Supply::OnOff(source) => source.at,
            Supply::Server(_) => Nanos::MAX,
            Supply::Leg(leg) => leg.due(),
        }
    }

    /// Starts the application. Must be called when the connection is established.
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

    /// Stops the application. Must be called when the flow stops.
    pub fn stop(&mut self) {
        match self {
            Supply::OnOff(source) => source.at = Nanos::MAX,
            Supply::Server(_) => {}
            Supply::Leg(leg) => leg.stop(),
        }
    }

    /// Payload bytes of a segment.
    pub fn payload(&self, seg: u64, mss: u32) -> u32 {
        let Supply::Server(server) = self else { return mss };
        server.objects.iter().find(|o| o.0 == seg + 1).map_or(mss, |o| o.1)
    }
}

impl Demand {
    /// Demand of a flow; `None` = the application only reads.
    pub fn of(setup: &FlowSetup) -> Option<Demand> {
        if let Some(leg) = setup.leg {
            return Some(Demand::Leg(LegReceiver::new(leg, setup.tcp.mss)));
        }
        Client::of(&setup.app, setup.tcp.mss).map(|client| Demand::Client(Box::new(client)))
    }

    /// Time of the next timer event; [`Nanos::MAX`] = never.
    pub fn due(&self) -> Nanos {
        match self {
            Demand::Client(client) => client.at,
            Demand::Leg(_) => Nanos::MAX,
        }
    }

    /// Starts the application. Must be called when the connection is established.
    pub fn begin(&mut self, now: Nanos) {
        if let Demand::Client(client) = self {
            client.at = now;
        }
    }
}

impl OnOff {
    /// Switches between on and off; true if the source is on from now on.
    fn turn(&mut self, now: Nanos, seed: u64) -> bool {
        self.sending = !self.sending;
        self.at = now + workload::turn(&self.on, &self.off, seed, self.turns);
        self.turns += 1;
        self.sending
    }
}

/// Size of the answer to the `n`-th request in bytes and in segments, and payload bytes of its last
/// segment.
fn answer_size(app: &App, mss: u64, seed: u64, n: u64, quality: usize) -> (u64, u64, u32) {
    let bytes = answer_bytes(app, seed, n, quality);
    let segments = bytes.div_ceil(mss);
    (bytes, segments, (bytes - (segments - 1) * mss) as u32)
}

/// Position of the quality in a request's number; the bits below are its index.
const QUALITY: u32 = 56;

impl Server {
    fn new(app: App, mss: u32) -> Self {
        Server { app, mss: u64::from(mss), requests: 0, objects: [(0, 0); 2] }
    }

    /// Handles a request. Returns the segment up to which the sender has data now (exclusive); `None`
    /// if the request is a repetition.
    pub fn on_request(&mut self, request: u64, seed: u64) -> Option<u64> {
        let (number, quality) = (request & ((1 << QUALITY) - 1), (request >> QUALITY) as usize);
        if number < self.requests {
            return None;
        }
        let (_, segments, last) = answer_size(&self.app, self.mss, seed, number, quality);
        let end = self.objects[0].0 + segments;
        self.objects = [(end, last), self.objects[0]];
        self.requests = number + 1;
        Some(end)
    }
}

/// Result of the completion of an object at a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The object, page or video segment to report, if any: the document of a page is not reported.
    pub reported: Option<Object>,
    /// Number of bytes by which the last TCP segment is shorter than a full one.
    pub short: u32,
    /// Length of the stall after which the player resumes.
    pub stalled: Option<Nanos>,
}

impl Client {
    fn of(app: &App, mss: u32) -> Option<Client> {
        let player = match app {
            App::Video(video) => Some(Box::new(Player::new(*video))),
            _ => None,
        };
        app.has_client().then(|| Client {
            app: *app,
            mss: u64::from(mss),
            now: None,
            page: None,
            player,
            quality: 0,
            end: 0,
            requested: 0,
            tries: 0,
            at: Nanos::MAX,
        })
    }

    /// Number of requests of the entire run.
    fn wanted(&self) -> u64 {
        match self.app {
            App::Request { count, .. } => count,
            App::Web(web) => web.pages.saturating_mul(2),
            App::Video(video) => video.segments,
            _ => 0,
        }
    }

    /// Sends the next request, or repeats the current one. Returns its number, and the video's new rate
    /// in bit/s if the quality changed.
    pub fn send_request(&mut self, now: Nanos, seed: u64) -> (u64, Option<u64>) {
        let mut changed = None;
        if self.now.is_none() {
            if let (Some(player), App::Video(video)) = (&mut self.player, &self.app) {
                let before = std::mem::replace(&mut self.quality, player.choose());
                let other = self.requested == 0 || before != self.quality;
                changed = other.then(|| video.ladder.rates_bps()[self.quality]);
            }
            let (bytes, segments, last) =
                answer_size(&self.app, self.mss, seed, self.requested, self.quality);
            let end = self.end + segments;
            self.now = Some(Object { number: self.requested, bytes, requested: now, first: None, end, last });
            self.requested += 1;
            self.tries = 0;
        }
        self.at = now + REPEAT * (1 << self.tries.min(6));
        self.tries += 1;
        ((self.requested - 1) | ((self.quality as u64) << QUALITY), changed)
    }

    /// Handles in-order delivery of all data below segment `next`; `None` = no object is complete.
    pub fn delivered(&mut self, now: Nanos, next: u64, seed: u64) -> Option<Completed> {
        let object = self.now.as_mut()?;
        if object.first.is_none() {
            object.first = Some(now);
            // The answer has started to arrive: no need to repeat the request.
            self.at = Nanos::MAX;
        }
        if next < object.end {
            return None;
        }
        let done = *object;
        self.now = None;
        self.end = done.end;
        let last = self.requested >= self.wanted();
        let (next_request, reported, stalled) = self.after(now, done, seed, last);
        self.at = if last { Nanos::MAX } else { next_request };
        Some(Completed { reported, short: self.mss as u32 - done.last, stalled })
    }

    /// Computes the time of the request after `done`, the object to report, and the length of the stall
    /// that ends with it.
    fn after(
        &mut self,
        now: Nanos,
        done: Object,
        seed: u64,
        last: bool,
    ) -> (Nanos, Option<Object>, Option<Nanos>) {
        match &self.app {
            App::Web(_) if done.number % 2 == 0 => {
                self.page = Some(done);
                (now, None, None)
            }
            App::Web(web) => {
                let document = self.page.take().unwrap_or(done);
                let number = done.number / 2;
                let page = Object { number, bytes: document.bytes + done.bytes, ..document };
                (now + workload::think_time(&web.think, seed, number).max(SHORTEST), Some(page), None)
            }
            App::Request { think, period, .. } => {
                let thought = now + workload::think_time(think, seed, done.number);
                (thought.max(done.requested + (*period).max(SHORTEST)), Some(done), None)
            }
            _ => {
                let player = self.player.as_mut().map(|p| p.segment(now, done.requested, done.bytes, last));
                let (next_request, stalled) = player.unwrap_or((now, None));
                (next_request.max(now + SHORTEST), Some(done), stalled)
            }
        }
    }
}

impl SendingEnd {
    /// Runs the timer of the sending application, or of a proxy's sender. True if the caller must check
    /// whether an on/off source has become idle ([`Self::note_silence`]).
    pub(super) fn supply_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) -> bool {
        let (now, flow) = (cx.now, self.egress.flow);
        let seed = cx.facts[flow as usize].seed;
        let Some(s) = self.sender_mut() else { return false };
        match (s.supply.as_deref_mut(), &mut s.tcp) {
            (Some(Supply::OnOff(source)), Some(tcp)) => {
                let sending = source.turn(now, seed);
                tcp.limit(if sending { u64::MAX } else { 0 });
                if sending && std::mem::take(&mut source.silent) {
                    cx.obs.event(now, &SimEvent::Busy(flow));
                    return false;
                }
                true
            }
            (Some(Supply::Leg(_)), _) => {
                self.probe_window(cx);
                false
            }
            _ => false,
        }
    }

    /// Reports an on/off source as idle if it is off and the receiver has all of its data, which is
    /// that below segment `next`.
    pub fn note_silence<O: Observer>(&mut self, next: u64, cx: &mut Cx<'_, O>) {
        let flow = self.egress.flow;
        let Some(s) = self.sender_mut() else { return };
        let (Some(Supply::OnOff(source)), Some(tcp)) = (s.supply.as_deref_mut(), &s.tcp) else { return };
        if !source.sending && !source.silent && next >= tcp.una_nxt().1 {
            source.silent = true;
            cx.obs.event(cx.now, &SimEvent::Idle(flow));
        }
    }

    /// Handles a client's request at the server.
    pub(super) fn receive_request<O: Observer>(&mut self, number: u64, cx: &mut Cx<'_, O>) {
        let seed = cx.facts[self.egress.flow as usize].seed;
        let Some(s) = self.sender_mut().filter(|s| !s.stopped) else { return };
        let (Some(Supply::Server(server)), Some(tcp)) = (s.supply.as_deref_mut(), &mut s.tcp) else { return };
        if let Some(end) = server.on_request(number, seed) {
            tcp.limit(end);
            self.pump(cx);
            self.reschedule(cx);
        }
    }
}

impl ReceivingEnd {
    /// Runs the client's timer if it has expired.
    pub(super) fn demand_timer<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        let (now, flow) = (cx.now, self.egress.flow);
        let due = self.receiver_mut().filter(|r| !r.stopped && r.tcp.is_some());
        let Some(Demand::Client(client)) = due.and_then(|r| r.demand.as_deref_mut()) else { return };
        if client.at <= now {
            if client.now.is_none() && client.page.is_none() {
                cx.obs.event(now, &SimEvent::Busy(flow));
            }
            let (number, changed) = client.send_request(now, cx.facts[flow as usize].seed);
            if let Some(rate_bps) = changed {
                let what = VideoEvent::Quality(rate_bps);
                cx.obs.event(now, &SimEvent::Video { flow, what });
            }
            let request = self.egress.packet(now, PacketKind::Request, REQUEST_BYTES, number);
            self.egress.send(request, cx);
        }
    }

    /// Passes data up to segment `next` to the receiving application.
    pub(super) fn take_objects<O: Observer>(&mut self, next: u64, cx: &mut Cx<'_, O>) {
        let (now, flow) = (cx.now, self.egress.flow);
        let demand = self.receiver_mut().and_then(|r| r.demand.as_deref_mut());
        let Some(Demand::Client(client)) = demand else { return };
        let Some(done) = client.delivered(now, next, cx.facts[flow as usize].seed) else { return };
        self.goodput_bytes -= u64::from(done.short);
        if let Some(stalled) = done.stalled {
            cx.obs.event(now, &SimEvent::Video { flow, what: VideoEvent::Stalled(stalled) });
        }
        if let Some(o) = done.reported {
            cx.obs.event(now, &SimEvent::Idle(flow));
            cx.obs.completion(&CompletionRow {
                flow,
                object: o.number,
                bytes: o.bytes,
                asked_ns: o.requested.0,
                first_ns: o.first.map(|t| t.0),
                done_ns: now.0,
            });
        }
    }

    /// Totals of the application up to `end`.
    pub fn application_totals(&self, end: Nanos) -> ApplicationTotals {
        ApplicationTotals { reached: self.reached, video: self.video_totals(end) }
    }

    fn video_totals(&self, end: Nanos) -> Option<VideoTotals> {
        let Some(Demand::Client(client)) = self.receiver()?.demand.as_deref() else { return None };
        client.player.as_ref().map(|p| p.totals(end.min(self.stop)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::{Abr, Ladder, Video, Web};
    use perigee_units::BitRate;

    #[test]
    fn draws_of_zero_still_advance_time() {
        let zero = Law::Fixed(0.0);
        let mut source =
            OnOff { on: zero, off: zero, sending: false, silent: false, turns: 0, at: Nanos::ZERO };
        for _ in 0..1000 {
            source.turn(source.at, 0);
        }
        assert_eq!(source.at, Nanos::from_millis(1));
        let app = App::Request { size: Law::Fixed(1.0), think: zero, period: Nanos::ZERO, count: 9 };
        let mut c = Client::of(&app, 1000).unwrap();
        c.send_request(Nanos::ZERO, 0);
        c.delivered(Nanos::ZERO, 1, 0).unwrap();
        assert_eq!(c.at, SHORTEST);
    }

    #[test]
    fn a_client_requests_one_object_after_the_other() {
        let app =
            App::Request { size: Law::Fixed(2500.0), think: Law::Fixed(1.0), period: Nanos::ZERO, count: 2 };
        let mut c = Client::of(&app, 1000).unwrap();
        let mut server = Server::new(app, 1000);
        let s = Nanos::from_secs;
        assert_eq!(c.send_request(s(1), 0), (0, None));
        assert_eq!(c.at, s(2), "a lost request is repeated");
        assert_eq!(server.on_request(0, 0), Some(3));
        assert_eq!(server.on_request(0, 0), None, "a repeated request changes nothing");
        let supply = Supply::Server(server.clone());
        assert_eq!((supply.payload(1, 1000), supply.payload(2, 1000)), (1000, 500));
        assert_eq!(c.delivered(s(2), 2, 0), None);
        let completed = c.delivered(s(3), 3, 0).unwrap();
        let done = completed.reported.unwrap();
        assert_eq!((done.bytes, done.first, completed.short, c.at), (2500, Some(s(2)), 500, s(4)));
        assert_eq!(c.send_request(s(4), 0), (1, None));
        assert_eq!(server.on_request(1, 0), Some(6));
        c.delivered(s(5), 6, 0).unwrap();
        assert_eq!(c.at, Nanos::MAX, "the last of two requests is complete");
    }

    #[test]
    fn a_page_is_complete_with_the_last_of_its_objects() {
        let law = Law::Fixed;
        let (document, object, think) = (law(1500.0), law(500.0), law(2.0));
        let app = App::Web(Web { document, objects: 3, object, think, pages: 1 });
        let mut c = Client::of(&app, 1000).unwrap();
        let s = Nanos::from_secs;
        assert_eq!(c.send_request(s(1), 0), (0, None));
        // The document's 1500 bytes take two segments, and three objects of 1500 bytes take two
        // each.
        assert_eq!(c.delivered(s(2), 2, 0).unwrap().reported, None);
        assert_eq!(c.at, s(2), "the objects of the page are requested immediately");
        assert_eq!(c.send_request(s(2), 0), (1, None));
        let page = c.delivered(s(4), 4, 0).unwrap().reported.unwrap();
        assert_eq!((page.number, page.bytes, page.requested, page.first), (0, 3000, s(1), Some(s(2))));
        assert_eq!(c.at, Nanos::MAX, "the only page is complete");
    }

    #[test]
    fn requests_contain_their_quality() {
        let ladder = Ladder::new(&[1, 2].map(BitRate::from_mbit)).unwrap();
        let (segment, buffer) = (Nanos::from_secs(1), Nanos::from_secs(10));
        let video = Video { ladder, segment, buffer, start_up: segment, abr: Abr::Rate, segments: u64::MAX };
        let app = App::Video(video);
        let (mut c, mut server) = (Client::of(&app, 125_000).unwrap(), Server::new(app, 125_000));
        let s = Nanos::from_secs;
        assert_eq!(c.send_request(s(1), 0), (0, Some(1_000_000)));
        assert_eq!(server.on_request(0, 0), Some(1));
        // 1 Mbit in a tenth of a second.
        c.delivered(s(1) + Nanos::from_millis(100), 1, 0).unwrap();
        let (request, changed) = c.send_request(s(2), 0);
        assert_eq!((request, changed), (1 | 1 << QUALITY, Some(2_000_000)));
        assert_eq!(server.on_request(request, 0), Some(3), "two megabits are two segments");
    }
}
