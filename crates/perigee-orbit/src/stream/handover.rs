// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hard handovers: link changes of a terminal when its satellite changes.
//!
//! At the change the links to the old satellite go down; those to the new one stay down until the
//! end of the outage. A change during an outage extends it: there is one `OutageBegin`, one
//! `OutageEnd`, and a `Handover` for each change.

use crate::frames::light_time;
use crate::motion::positions::Positions;
use crate::sky::config::Outage;
use crate::sky::Sky;
use crate::stream::network::{StreamedNetwork, Vertex};
use perigee_timeline::*;
use perigee_units::draw::mix;
use perigee_units::Nanos;

/// State of a terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminal {
    /// Satellite that serves the terminal.
    pub serving: Option<u32>,
    /// Number of handovers so far.
    events: u64,
    /// End of the current outage.
    off_until: Option<Nanos>,
    /// Links that come up at the end of the outage.
    waiting: Vec<LinkId>,
}

impl Terminal {
    /// Sets the first satellite, at the start of the run, without a handover.
    pub fn begin(&mut self, serving: Option<u32>) {
        self.serving = serving;
    }

    /// Applies a change of satellite at `t`.
    pub fn change(&mut self, h: &mut Hand<'_>, t: Nanos, to: Option<u32>) {
        let from = std::mem::replace(&mut self.serving, to);
        let mode = h.sky.spec.handover.mode;
        if let Some(old) = from {
            let links = h.links(old, t);
            for link in links {
                h.down(link, t, mode);
            }
            // Held packets are released at the end of the outage; in the other modes the old links
            // stay down.
            if mode == OutageMode::Hold {
                self.waiting.extend(links);
            } else {
                self.waiting.clear();
            }
        }
        match to {
            Some(new) => self.acquire(h, t, from, new),
            None => self.lose(h, t, from),
        }
    }

    fn acquire(&mut self, h: &mut Hand<'_>, t: Nanos, from: Option<u32>, new: u32) {
        let outage = draw(h.sky, h.ground, self.events) + h.signalling(from, new);
        self.events += 1;
        let links = h.links(new, t);
        let running = self.off_until.is_some();
        let end = self.off_until.unwrap_or(t).max(t + outage);
        let sats = &h.sky.constellation.names;
        let old = from.map_or("no satellite", |s| &sats[s as usize]);
        let prolongs = if running { ", during an outage" } else { "" };
        h.note(
            t,
            NoteKind::Handover,
            outage.as_secs_f64(),
            format!("{old} -> {}{prolongs}", sats[new as usize]),
        );
        self.waiting.extend(links);
        if end == t {
            self.raise(h, t);
            return;
        }
        for link in links {
            h.down(link, t, h.sky.spec.handover.mode);
        }
        if !running {
            h.note(t, NoteKind::OutageBegin, outage.as_secs_f64(), String::new());
        }
        self.off_until = Some(end);
    }

    fn lose(&mut self, h: &mut Hand<'_>, t: Nanos, from: Option<u32>) {
        let old = from.map_or("", |s| &h.sky.constellation.names[s as usize]);
        h.note(t, NoteKind::Handover, 0.0, format!("{old} -> no satellite"));
        if self.off_until.take().is_some() {
            h.note(t, NoteKind::OutageEnd, 0.0, "no satellite".into());
        }
    }

    /// Ends the outage if its end is before `limit`.
    pub fn tick(&mut self, h: &mut Hand<'_>, limit: Nanos) {
        if let Some(end) = self.off_until.filter(|&end| end < limit) {
            self.off_until = None;
            self.raise(h, end);
            h.note(end, NoteKind::OutageEnd, 0.0, String::new());
        }
    }

    fn raise(&mut self, h: &mut Hand<'_>, t: Nanos) {
        for link in std::mem::take(&mut self.waiting) {
            if h.net.set_up(link, true) {
                h.out.push(Timed { at: t, change: Change::Up(link) });
            }
        }
    }
}

/// Context of a terminal's changes.
pub(crate) struct Hand<'a> {
    pub sky: &'a Sky,
    pub net: &'a mut StreamedNetwork,
    pub out: &'a mut Vec<Timed>,
    /// Number of the ground point.
    pub ground: usize,
    /// Positions of the satellites, at a change.
    pub at: Option<&'a Positions>,
}

impl Hand<'_> {
    /// Part of an outage that grows with the propagation delays to the old and the new satellite.
    fn signalling(&self, old: Option<u32>, new: u32) -> Nanos {
        let per_delay = self.sky.spec.handover.per_delay;
        let Some(at) = self.at.filter(|_| per_delay > 0.0) else { return Nanos::ZERO };
        let delay = |sat: u32| light_time(self.sky.ground[self.ground].ecef, at.get(sat as usize));
        let sum = old.map_or(Nanos::ZERO, delay) + delay(new);
        Nanos::from_secs_f64(sum.as_secs_f64() * per_delay)
    }

    /// Uplink and downlink.
    fn links(&mut self, sat: u32, t: Nanos) -> [LinkId; 2] {
        let me: Vertex = self.net.ground(self.ground);
        let pair = [self.net.link(self.sky, me, sat), self.net.link(self.sky, sat, me)];
        pair.iter().for_each(|&l| self.net.touch(l, t));
        pair
    }

    fn down(&mut self, link: LinkId, t: Nanos, mode: OutageMode) {
        if self.net.set_up(link, false) {
            self.out.push(Timed { at: t, change: Change::Down(link, mode) });
        }
    }

    fn note(&mut self, at: Nanos, kind: NoteKind, value: f64, text: String) {
        let me = self.net.ground(self.ground);
        let node = Some(self.net.node(self.sky, me));
        let note = Note { kind, node, pair: None, value, text };
        self.out.push(Timed { at, change: Change::Note(note) });
    }
}

/// Outage of a terminal's n-th handover: a hash of seed, name and n, so that it depends neither on
/// other terminals nor on the scheme under test.
fn draw(sky: &Sky, ground: usize, event: u64) -> Nanos {
    let below = |width: u128| {
        let mut h = mix(sky.spec.seed);
        for byte in sky.spec.ground[ground].name.bytes() {
            h = mix(h ^ u64::from(byte));
        }
        ((u128::from(mix(h ^ event)) * width) >> 64) as u64
    };
    match &sky.spec.handover.outage {
        Outage::Fixed(t) => *t,
        Outage::Uniform(a, b) => Nanos(a.0 + below(u128::from(b.0 - a.0) + 1)),
        Outage::Recorded(all) => all[below(all.len() as u128) as usize],
    }
}
