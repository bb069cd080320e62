// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Applications over TCP that do not send all the time: on/off sources, and clients that ask for one object after the
//! other (pages, video segments).
//!
//! Draws depend on the flow's seed and the number of the draw, so that they do not depend on how the network behaves:
//! every congestion control is asked for the same objects.

use crate::host::Flow;
use crate::net::{mix, Net};
use crate::observe::{Completion, Observer};
use crate::packet::Kind;
use crate::relay::Relay;
use crate::routes::Routes;
use crate::setup::FlowSetup;
use perigee_timeline::{App, Law};
use perigee_units::Nanos;

/// No draw is longer than this.
const LONGEST_S: f64 = 1e6;
/// No object is larger than this.
const LARGEST_BYTES: f64 = 1e15;

/// An application changes its mind no faster, whatever is drawn: time goes on and a run ends.
const SHORTEST: Nanos = Nanos::from_micros(1);

/// IP bytes of a request: headers and a line of text.
const REQUEST_BYTES: u32 = 200;

/// The value of a law at quantile `u` in 0..1.
pub fn quantile(law: &Law, u: f64) -> f64 {
    match *law {
        Law::Fixed(value) => value,
        Law::Uniform(low, high) => low + (high - low) * u,
        Law::Exponential(mean) => -mean * libm::log(1.0 - u),
        Law::Pareto { mean, shape } => mean * (shape - 1.0) / shape * libm::pow(1.0 - u, -1.0 / shape),
    }
}

/// The `n`-th draw of a law as a time.
pub fn time(law: &Law, seed: u64, n: u64) -> Nanos {
    Nanos::from_secs_f64(quantile(law, unit(seed, n)).clamp(0.0, LONGEST_S))
}

/// The `n`-th draw of a law as an amount of data, one byte at least.
pub fn bytes(law: &Law, seed: u64, n: u64) -> u64 {
    quantile(law, unit(seed, n)).clamp(1.0, LARGEST_BYTES) as u64
}

/// 53 random bits as a number in 0..1.
fn unit(seed: u64, n: u64) -> f64 {
    (mix(seed ^ mix(n)) >> 11) as f64 / (1u64 << 53) as f64
}

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

/// What an application over TCP does next.
#[derive(Clone, Debug)]
pub enum Work {
    /// Sends as much as the transport takes, is silent, and so on.
    OnOff {
        /// Seconds of sending.
        on: Law,
        /// Seconds of silence.
        off: Law,
        /// It sends now.
        sending: bool,
        /// Draws so far.
        turns: u64,
        /// When that changes.
        at: Nanos,
    },
    /// A client asks, waits until everything is there, thinks, asks again.
    Request(Client),
    /// A leg of a split connection.
    Leg(Relay),
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
    /// The object asked for, and the one before: its last segment may be sent again.
    now: Option<Object>,
    before: Option<Object>,
    asked: u64,
    /// The server has heard of this many requests.
    heard: u64,
    tries: u32,
    /// When to ask (again).
    pub at: Nanos,
}

/// Time after which a request without answer is repeated, doubled each time.
const REPEAT: Nanos = Nanos::from_secs(1);

impl Work {
    /// What the app of a TCP flow of `total` segments does; `None` = it sends all the time.
    pub fn of(setup: &FlowSetup, total: Option<u64>) -> Option<Work> {
        let mss = setup.tcp.mss;
        if let Some(leg) = setup.leg {
            return Some(Work::Leg(Relay::new(leg, mss, total)));
        }
        Work::of_app(&setup.app, mss)
    }

    fn of_app(app: &App, mss: u32) -> Option<Work> {
        match *app {
            App::OnOff { on, off } => Some(Work::OnOff { on, off, sending: false, turns: 0, at: Nanos::MAX }),
            App::Request { size, think, period, count } => Some(Work::Request(Client {
                size,
                think,
                period,
                count,
                mss: mss as u64,
                now: None,
                before: None,
                asked: 0,
                heard: 0,
                tries: 0,
                at: Nanos::MAX,
            })),
            _ => None,
        }
    }

    /// When it wants to be called; [`Nanos::MAX`] = never.
    pub fn due(&self) -> Nanos {
        match self {
            Work::OnOff { at, .. } => *at,
            Work::Request(client) => client.at,
            Work::Leg(relay) => relay.due(),
        }
    }

    /// The connection is established.
    pub fn begin(&mut self, now: Nanos) {
        match self {
            Work::OnOff { at, .. } => *at = now,
            Work::Request(client) => client.at = now,
            Work::Leg(_) => {}
        }
    }

    /// The connection ends.
    pub fn stop(&mut self) {
        match self {
            Work::OnOff { at, .. } => *at = Nanos::MAX,
            Work::Request(client) => client.at = Nanos::MAX,
            Work::Leg(relay) => relay.stop(),
        }
    }

    /// Payload of a segment.
    pub fn payload(&self, seg: u64, mss: u32) -> u32 {
        let Work::Request(client) = self else { return mss };
        let of = |o: &Option<Object>| o.filter(|o| o.end == seg + 1).map(|o| o.last);
        of(&client.now).or(of(&client.before)).unwrap_or(mss)
    }
}

/// What an on/off source does at its instant.
pub fn turn(work: &mut Work, now: Nanos, seed: u64) -> bool {
    let Work::OnOff { on, off, sending, turns, at } = work else { return false };
    *sending = !*sending;
    let law = if *sending { on } else { off };
    *at = now + time(law, seed, *turns).max(SHORTEST);
    *turns += 1;
    *sending
}

impl Client {
    /// Asks for the next object, or for the same one again; returns the request's number.
    pub fn ask(&mut self, now: Nanos, seed: u64) -> u64 {
        if self.now.is_none() {
            let bytes = bytes(&self.size, seed, 2 * self.asked);
            let segments = bytes.div_ceil(self.mss);
            let end = self.before.map_or(0, |o| o.end) + segments;
            let last = (bytes - (segments - 1) * self.mss) as u32;
            self.now = Some(Object { number: self.asked, bytes, asked: now, first: None, end, last });
            self.asked += 1;
            self.tries = 0;
        }
        self.at = now + REPEAT * (1 << self.tries.min(6));
        self.tries += 1;
        self.asked - 1
    }

    /// A request arrived: how far the server may send; `None` = it was heard before.
    pub fn hear(&mut self, request: u64) -> Option<u64> {
        let object = self.now.filter(|_| request >= self.heard)?;
        self.heard = request + 1;
        Some(object.end)
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
        self.before = self.now.take();
        let thought = now + time(&self.think, seed, 2 * done.number + 1);
        self.at = if self.asked >= self.count {
            Nanos::MAX
        } else {
            thought.max(done.asked + self.period.max(SHORTEST))
        };
        Some((done, self.mss as u32 - done.last))
    }
}

impl Flow {
    /// The application's instant has come.
    pub(crate) fn app_timer(&mut self, now: Nanos, net: &mut Net, routes: &Routes) {
        let seed = self.seed;
        let t = self.tcp();
        let Some(work) = t.work.as_deref_mut() else { return };
        if matches!(work, Work::Leg(_)) {
            return self.probe_window(now, net, routes);
        }
        if let Work::Request(client) = work {
            let number = client.ask(now, seed);
            let request = self.packet(now, Kind::Request, REQUEST_BYTES, number);
            return self.send(now, request, net, routes);
        }
        let sending = turn(work, now, seed);
        if let Some(sender) = &mut t.sender {
            sender.limit(if sending { u64::MAX } else { 0 });
        }
    }

    /// A client's request reached the server.
    pub(crate) fn receive_request<O: Observer>(
        &mut self,
        now: Nanos,
        number: u64,
        net: &mut Net,
        routes: &Routes,
        obs: &mut O,
    ) {
        let t = self.tcp();
        let (Some(Work::Request(client)), Some(sender), false) =
            (t.work.as_deref_mut(), &mut t.sender, t.stopped)
        else {
            return;
        };
        if let Some(end) = client.hear(number) {
            sender.limit(end);
            self.pump(now, net, routes, obs);
            self.reschedule(net);
        }
    }

    /// The receiving application has everything below segment `next`.
    pub(crate) fn take_objects<O: Observer>(&mut self, now: Nanos, next: u64, obs: &mut O) {
        let (seed, flow) = (self.seed, self.id);
        let Some(Work::Request(client)) = self.tcp().work.as_deref_mut() else { return };
        if let Some((o, short)) = client.delivered(now, next, seed) {
            self.totals.goodput_bytes -= short as u64;
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

    fn mean(law: Law) -> f64 {
        let n = 200_000;
        (0..n).map(|i| quantile(&law, unit(7, i))).sum::<f64>() / n as f64
    }

    #[test]
    fn laws_have_their_means() {
        assert_eq!(mean(Law::Fixed(3.0)), 3.0);
        assert!((mean(Law::Uniform(1.0, 2.0)) - 1.5).abs() < 0.01);
        assert!((mean(Law::Exponential(0.1)) - 0.1).abs() < 0.001);
        assert!((mean(Law::Pareto { mean: 100.0, shape: 2.5 }) - 100.0).abs() < 2.0);
    }

    #[test]
    fn a_pareto_law_never_falls_below_its_scale() {
        let law = Law::Pareto { mean: 100.0, shape: 2.0 };
        assert_eq!(quantile(&law, 0.0), 50.0);
        assert!((quantile(&law, 0.99) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn time_goes_on_whatever_is_drawn() {
        let zero = Law::Fixed(0.0);
        let mut work = Work::of_app(&App::OnOff { on: zero, off: zero }, 1000).unwrap();
        work.begin(Nanos::ZERO);
        for _ in 0..1000 {
            let now = work.due();
            turn(&mut work, now, 0);
        }
        assert_eq!(work.due(), Nanos::from_millis(1));
        let app = App::Request { size: Law::Fixed(1.0), think: zero, period: Nanos::ZERO, count: 9 };
        let Some(Work::Request(mut c)) = Work::of_app(&app, 1000) else { panic!() };
        c.ask(Nanos::ZERO, 0);
        c.delivered(Nanos::ZERO, 1, 0).unwrap();
        assert_eq!(c.at, SHORTEST);
    }

    #[test]
    fn a_client_asks_for_one_object_after_the_other() {
        let app =
            App::Request { size: Law::Fixed(2500.0), think: Law::Fixed(1.0), period: Nanos::ZERO, count: 2 };
        let Some(Work::Request(mut c)) = Work::of_app(&app, 1000) else { panic!() };
        let s = Nanos::from_secs;
        assert_eq!(c.ask(s(1), 0), 0);
        assert_eq!(c.at, s(2), "a lost request is repeated");
        assert_eq!(c.hear(0), Some(3));
        assert_eq!(c.hear(0), None, "a repeated request changes nothing");
        let work = Work::Request(c.clone());
        assert_eq!((work.payload(1, 1000), work.payload(2, 1000)), (1000, 500));
        assert_eq!(c.delivered(s(2), 2, 0), None);
        let (done, short) = c.delivered(s(3), 3, 0).unwrap();
        assert_eq!((done.bytes, done.first, short, c.at), (2500, Some(s(2)), 500, s(4)));
        assert_eq!(c.ask(s(4), 0), 1);
        assert_eq!(c.hear(1), Some(6));
        c.delivered(s(5), 6, 0).unwrap();
        assert_eq!(c.at, Nanos::MAX, "two were wanted");
    }
}
