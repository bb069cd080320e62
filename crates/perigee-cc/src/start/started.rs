// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scheme with a start: routes the events of a connection to the start, then to the scheme.

use super::careful::{Careful, Phase as Resume};
use super::growth::Growth;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rapid::Rapid;
use super::search::Search;
use super::Family;
use crate::hystart::{Detect, Flavour, HyStart};
use crate::*;

/// Decision of a start on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The start continues; it has changed the window as it wants to.
    Stay,
    /// The path is full: the scheme takes over at the current window.
    Leave,
}

/// Grows the window by acknowledged bytes, in whole packets, where growth is allowed.
pub(super) fn grow(cx: &Cx, w: &mut Window, ev: &AckEvent<'_>, bytes: u64) {
    if ev.may_grow && cx.cwnd_limited {
        w.cwnd = cx.bytes(cx.packets(w.cwnd).max(1) + cx.packets(bytes));
    }
}

/// The start of one connection.
pub enum Machine {
    /// Doubling.
    Classic(Growth),
    /// Linux's HyStart, with the lowest RTT so far.
    HyStart(HyStart, Nanos),
    /// HyStart++.
    Conservative(HyStartPlusPlus),
    /// SEARCH.
    Search(Box<Search>),
    /// Careful Resume.
    Careful(Box<Careful>),
    /// Rapid start.
    Rapid(Rapid),
}

impl Machine {
    /// HyStart as in Linux.
    pub fn hystart(init: &ConnInit) -> Self {
        let both = Detect { train: true, delay: true };
        Machine::HyStart(HyStart::new(both, Flavour::Linux, init.now), Nanos::MAX)
    }

    /// Whether it sets the pacing rate at times.
    fn paces(&self) -> bool {
        matches!(self, Machine::Careful(_) | Machine::Rapid(_))
    }

    /// Whether the rate now is its own, and not that of the scheme.
    fn sets_the_rate(&self) -> bool {
        match self {
            Machine::Careful(c) => c.phase() == Resume::Unvalidated,
            Machine::Rapid(_) => true,
            _ => false,
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        match self {
            Machine::HyStart(h, _) => h.restart(cx),
            Machine::Careful(c) => c.on_start(cx),
            Machine::Rapid(r) => r.on_start(cx, w),
            _ => {}
        }
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) -> Step {
        match self {
            Machine::Classic(growth) => {
                grow(cx, w, ev, growth.of(cx, ev.newly_acked));
                Step::Stay
            }
            Machine::HyStart(h, lowest) => {
                if let Some(rtt) = ev.rtt {
                    let rtt = rtt.max(Nanos(1));
                    *lowest = rtt.min(*lowest);
                    if h.on_sample(cx, w, rtt, *lowest) {
                        return Step::Leave;
                    }
                }
                grow(cx, w, ev, ev.newly_acked);
                Step::Stay
            }
            Machine::Conservative(h) => h.on_ack(cx, w, ev),
            Machine::Search(s) => s.on_ack(cx, w, ev),
            Machine::Careful(c) => c.on_ack(cx, w, ev),
            Machine::Rapid(r) => r.on_ack(cx, w, ev),
        }
    }
}

/// Who has the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    /// The transport repairs the loss that has ended the start.
    Repairing,
    Over,
}

/// The end of a start, for the record.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    at: Nanos,
    in_flight: u64,
    cwnd: u64,
    by_loss: bool,
}

/// A scheme with a start.
pub struct Started {
    scheme: Box<Controller>,
    machine: Machine,
    phase: Phase,
    family: Family,
    scalable: bool,
    end: Option<End>,
}

impl Started {
    /// A controller for a new connection.
    pub fn new(scheme: Controller, machine: Machine, family: Family) -> Self {
        let scalable = scheme.caps().scalable;
        Started { scheme: Box::new(scheme), machine, phase: Phase::Starting, family, scalable, end: None }
    }

    fn leave(&mut self, cx: &Cx, w: &mut Window, by_loss: bool) {
        self.phase = Phase::Over;
        self.stop_pacing(w);
        self.note_end(cx, w, by_loss);
    }

    /// Leaves the pacing rate to the scheme again.
    fn stop_pacing(&self, w: &mut Window) {
        if self.family == Family::Window && self.machine.paces() {
            w.pacing = None;
        }
    }

    fn note_end(&mut self, cx: &Cx, w: &Window, by_loss: bool) {
        let end = End { at: cx.now, in_flight: cx.in_flight, cwnd: w.cwnd, by_loss };
        self.end.get_or_insert(end);
    }

    /// An ACK of the start: the start moves the window, and the scheme observes.
    fn start_on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        if self.machine.on_ack(cx, w, ev) == Step::Leave {
            w.ssthresh = w.cwnd;
            self.leave(cx, w, false);
            return self.scheme.on_ack(cx, w, ev);
        }
        let mut seen = *w;
        self.scheme.on_ack(cx, &mut seen, ev);
        w.next_timer = seen.next_timer;
        if !self.machine.sets_the_rate() {
            (w.pacing, w.quantum) = (seen.pacing, seen.quantum);
        }
        if self.scalable && seen.ssthresh < w.ssthresh {
            // It has answered marks, which it counts itself.
            *w = seen;
            self.leave(cx, w, true);
        }
    }

    fn model_on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.scheme.on_ack(cx, w, ev);
        if let Machine::Careful(c) = &mut self.machine {
            c.on_ack(cx, w, ev);
            c.end_model_retreat(cx);
        }
    }

    fn repair_on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.scheme.on_ack(cx, w, ev);
        match &mut self.machine {
            Machine::Careful(c) => c.on_repair(cx, w, ev),
            Machine::Rapid(r) => r.on_repair(w, ev),
            _ => {}
        }
    }

    fn end_repair(&mut self, cx: &Cx, w: &mut Window) {
        if let Machine::Careful(c) = &mut self.machine {
            c.after_repair(cx, w);
        }
        self.phase = Phase::Over;
    }
}

impl CongestionControl for Started {
    fn caps(&self) -> Caps {
        let caps = self.scheme.caps();
        match self.machine.paces() {
            true => Caps { pacing: Pacing::Required, ..caps },
            false => caps,
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        let initial = w.cwnd;
        self.scheme.on_start(cx, w);
        if self.family == Family::Window {
            w.cwnd = initial;
        }
        self.machine.on_start(cx, w);
    }

    fn on_sent(&mut self, cx: &Cx, w: &mut Window, p: &SentPkt) -> u32 {
        self.scheme.on_sent(cx, w, p)
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        match (self.family, self.phase) {
            (Family::Model, _) => self.model_on_ack(cx, w, ev),
            (_, Phase::Starting) => self.start_on_ack(cx, w, ev),
            (_, Phase::Repairing) => self.repair_on_ack(cx, w, ev),
            (_, Phase::Over) => {
                self.scheme.on_ack(cx, w, ev);
                if let Machine::Careful(c) = &mut self.machine {
                    c.observe(cx, ev);
                }
            }
        }
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        if self.family == Family::Model || self.phase != Phase::Starting {
            return self.scheme.ssthresh(cx, w);
        }
        self.note_end(cx, w, true);
        self.phase = Phase::Over;
        match &mut self.machine {
            Machine::Careful(c) => {
                if let Some(threshold) = c.on_reduction(cx) {
                    self.phase = Phase::Repairing;
                    self.scheme.ssthresh(cx, &Window { cwnd: threshold, ..*w });
                    return threshold;
                }
            }
            Machine::Rapid(r) => {
                self.phase = Phase::Repairing;
                self.scheme.ssthresh(cx, &Window { cwnd: r.capacity(w), ..*w });
                return r.on_loss(w);
            }
            _ => {}
        }
        self.scheme.ssthresh(cx, w)
    }

    fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) {
        self.scheme.on_loss(cx, w, ev);
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.scheme.on_transition(cx, w, t);
        match t {
            Transition::EnterRto => {
                if let Machine::Careful(c) = &mut self.machine {
                    c.stop();
                }
                if self.phase == Phase::Starting && self.family == Family::Window {
                    self.note_end(cx, w, true);
                }
                self.phase = Phase::Over;
                self.stop_pacing(w);
            }
            Transition::EnterRecovery | Transition::EnterCwr => self.stop_pacing(w),
            Transition::ExitRecovery | Transition::ExitCwr | Transition::Undo(_)
                if self.phase == Phase::Repairing =>
            {
                self.end_repair(cx, w);
            }
            _ => {}
        }
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.scheme.on_tx_start(cx, w);
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        self.scheme.on_timer(cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        self.scheme.on_signal(cx, w, s);
        if let (Signal::PathChange { .. }, Machine::Careful(c)) = (s, &mut self.machine) {
            if c.phase() == Resume::Reconnaissance {
                c.stop();
            }
        }
    }

    fn stamp(&self) -> HeaderStamp {
        self.scheme.stamp()
    }

    fn mode(&self, w: &Window) -> &'static str {
        let own = |own: &'static str| if self.phase == Phase::Over { self.scheme.mode(w) } else { own };
        match &self.machine {
            Machine::Careful(c) => match c.phase() {
                Resume::Reconnaissance => "reconnaissance",
                Resume::Unvalidated => "unvalidated",
                Resume::Validating => "validating",
                Resume::SafeRetreat => "safe retreat",
                Resume::Normal if self.family == Family::Model => self.scheme.mode(w),
                Resume::Normal => own("slow start"),
            },
            Machine::Conservative(h) if h.is_conservative() => own("conservative slow start"),
            Machine::Search(s) if s.is_draining() => own("drain"),
            Machine::Rapid(_) if self.phase == Phase::Repairing => "repair",
            Machine::Rapid(r) if r.is_rapid() => own("rapid start"),
            _ => own("slow start"),
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.probe(out);
        let end = self.end.unwrap_or_default();
        out("start_left_s", end.at.as_secs_f64());
        out("start_left_in_flight_bytes", end.in_flight as f64);
        out("start_left_cwnd_bytes", end.cwnd as f64);
        out("start_left_by_loss", f64::from(u8::from(end.by_loss)));
        match &self.machine {
            Machine::Search(s) => {
                let (bin, acked, sent) = s.newest();
                out("search_bin", bin as f64);
                out("search_acked_bytes", acked as f64);
                out("search_sent_bytes", sent as f64);
                out("search_shortfall", s.shortfall());
            }
            Machine::Careful(c) => {
                let (saved, jump, pipe) = c.sizes();
                out("saved_window_bytes", saved as f64);
                out("jump_bytes", jump as f64);
                out("pipe_bytes", pipe as f64);
                out("retreat_share", c.retreat_share());
            }
            _ => {}
        }
    }
}
