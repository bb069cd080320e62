// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Second controller in parallel with OrbCC, with a separate window, for paths on which some ports
//! lack telemetry.
//!
//! ```text
//! rule      telemetry complete      partial                           none for 2 sRTT
//!           for 1 sRTT
//! smaller   OrbCC                   the smaller of both windows       second controller
//! partial   OrbCC                   second controller                 second controller
//! blind     OrbCC                   OrbCC, until `fallback` detects   second controller
//!                                   a queue without telemetry
//! ```
//!
//! The queue of a port without telemetry may be full from the first packet on. The RTT then does
//! not rise, `fallback` detects nothing, and a window computed from the other ports alone is
//! unbounded. The minimum of both windows needs no detection: it is bounded by the busiest port
//! with telemetry, and by losses and delays at the others.

use super::fallback::{Coverage, Fallback, Switch, WatchInput};
use crate::cubic::{self, Cubic};
use crate::leocc::{self, LeoCc};
use crate::*;

/// Upper bound of OrbCC's reference window under `smaller`, as a multiple of the second window,
/// so that the reference is close to the window in effect when a port with telemetry fills.
const LEAD: f64 = 1.25;

/// Use of the second controller while telemetry is partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The smaller of both windows.
    Smaller,
    /// The second controller alone.
    Partial,
    /// The second controller alone once a queue without telemetry is detected.
    Blind,
}

/// Scheme of the second controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    Cubic,
    LeoCc,
}

#[derive(Clone, Debug)]
enum Inner {
    Cubic(Box<Cubic>),
    LeoCc(Box<LeoCc>),
}

/// Controller that sets the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    OrbCc,
    /// Both: the smaller window applies.
    Smaller,
    /// The second controller.
    Alone,
}

/// Second controller with its window.
#[derive(Clone, Debug)]
pub(super) struct SecondController {
    inner: Inner,
    rule: Rule,
    state: State,
    own: Window,
    /// Window of OrbCC's law in bytes, kept while `own` is smaller.
    law: u64,
    /// Start of the current period without telemetry.
    bare_since: Option<Nanos>,
    /// Start of the current period of complete telemetry.
    complete_since: Option<Nanos>,
    watch: Fallback,
    /// Whether the second controller has been active before. Its first activation counts as the
    /// start of the connection.
    activated: bool,
    /// Window and threshold before the last reduction, in bytes, for undo.
    prior: (u64, u64),
}

impl SecondController {
    pub fn new(second: Second, rule: Rule, init: &ConnInit) -> Self {
        let inner = match second {
            Second::Cubic => Inner::Cubic(Box::new(Cubic::new(&Params::defaults(cubic::PARAMS), init))),
            Second::LeoCc => {
                // Notices instead of probes, which would add a flow of packets.
                let notices = [("signal", Value::Text("notices".into()))];
                let params = Params::defaults(leocc::PARAMS).with_profile(&notices);
                Inner::LeoCc(Box::new(LeoCc::new(&params, init)))
            }
        };
        SecondController {
            inner,
            rule,
            state: State::OrbCc,
            own: init.window(),
            law: 0,
            bare_since: None,
            complete_since: None,
            watch: Fallback::new(init),
            activated: false,
            prior: (0, INFINITE_SSTHRESH),
        }
    }

    /// Whether OrbCC's law is suspended.
    pub fn alone(&self) -> bool {
        self.state == State::Alone
    }

    /// Whether the second controller's window is in effect.
    pub fn binds(&self) -> bool {
        match self.state {
            State::OrbCc => false,
            State::Smaller => self.own.cwnd < self.law,
            State::Alone => true,
        }
    }

    pub fn on_path_change(&mut self) {
        self.watch.on_path_change();
    }

    pub fn on_start(&mut self, cx: &Cx, w: &Window) {
        self.own.cwnd = w.cwnd;
        self.with_own(|scheme, own| scheme.on_start(cx, own));
    }

    /// Processes an ACK. Returns whether OrbCC has to resume from the current window.
    pub fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>, seen: &WatchInput) -> bool {
        let before = self.state;
        self.state = self.next_state(cx.now, seen);
        if before == State::OrbCc && self.state != State::OrbCc {
            self.activate(w);
        }
        let resumes = before == State::Alone && self.state != State::Alone;
        if self.state == State::Smaller && before != State::Smaller {
            self.law = w.cwnd;
        }
        let limited = cx.cwnd_limited && self.binds();
        self.with_own(|scheme, own| scheme.on_ack(&Cx { cwnd_limited: limited, ..*cx }, own, ev));
        if self.state == State::Smaller {
            // OrbCC's law continues from its own window; `settle` applies the smaller one.
            w.cwnd = self.law;
        }
        resumes
    }

    /// Starts the second controller at the current window: in slow start at the start of the
    /// connection, later in congestion avoidance.
    fn activate(&mut self, w: &Window) {
        if matches!(self.inner, Inner::Cubic(_)) {
            self.own.cwnd = w.cwnd;
            self.own.ssthresh = if self.activated { w.cwnd } else { INFINITE_SSTHRESH };
        }
        self.activated = true;
    }

    fn next_state(&mut self, now: Nanos, seen: &WatchInput) -> State {
        if seen.srtt == Nanos::ZERO {
            return self.state;
        }
        let lasts = |since: &mut Option<Nanos>, holds: bool| {
            if !holds {
                *since = None;
            }
            holds.then(|| now.saturating_sub(*since.get_or_insert(now)))
        };
        let bare = lasts(&mut self.bare_since, seen.coverage == Coverage::None);
        let complete = lasts(&mut self.complete_since, seen.coverage == Coverage::Complete);
        let partial = match self.rule {
            Rule::Smaller => State::Smaller,
            Rule::Partial => State::Alone,
            Rule::Blind => match self.watch.watch(now, seen) {
                Some(Switch::ToFallback) => {
                    self.watch.set_active();
                    State::Alone
                }
                Some(Switch::ToOrbCc) => {
                    self.watch.hand_back(&mut self.own);
                    State::OrbCc
                }
                None => self.state,
            },
        };
        match seen.coverage {
            Coverage::None if bare.is_some_and(|t| t >= seen.srtt * 2) => State::Alone,
            Coverage::Partial => partial,
            Coverage::Complete if complete.is_some_and(|t| t >= seen.srtt) => State::OrbCc,
            _ => self.state,
        }
    }

    /// Sets the window in effect after a step of OrbCC's law. `share` is the target of OrbCC's
    /// initial phase, in bytes. Returns the upper bound of OrbCC's reference window, in bytes.
    pub fn settle(&mut self, cx: &Cx, w: &mut Window, share: f64) -> f64 {
        if self.state != State::Alone {
            self.law = w.cwnd;
        }
        if self.binds() {
            w.cwnd = self.own.cwnd.max(cx.mss as u64);
        }
        match self.state {
            State::Smaller => share.max(LEAD * self.own.cwnd as f64),
            _ => f64::INFINITY,
        }
    }

    /// Sets the pacing rate if the second controller uses pacing.
    pub fn pace(&mut self, w: &mut Window) {
        let mark = std::mem::take(&mut self.own.mark_app_limited);
        if self.state == State::OrbCc {
            return;
        }
        w.mark_app_limited |= mark;
        if let (Inner::LeoCc(_), Some(own)) = (&self.inner, self.own.pacing) {
            let alone = self.state == State::Alone;
            w.pacing = Some(w.pacing.filter(|_| !alone).map_or(own, |law| law.min(own)));
        }
    }

    pub fn ssthresh(&mut self, cx: &Cx) {
        self.prior = (self.own.cwnd, self.own.ssthresh);
        self.with_own(|scheme, own| own.ssthresh = scheme.ssthresh(cx, own));
    }

    /// Applies reductions at once: OrbCC's transport leaves them to the scheme, without PRR.
    pub fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.with_own(|scheme, own| scheme.on_transition(cx, own, t));
        let cubic = matches!(self.inner, Inner::Cubic(_));
        match t {
            Transition::EnterRecovery | Transition::EnterCwr if cubic => {
                self.own.cwnd = self.own.ssthresh.max(cx.mss as u64);
            }
            Transition::EnterRto => self.own.cwnd = cx.in_flight + cx.mss as u64,
            Transition::Undo(_) if cubic => {
                self.own.cwnd = self.own.cwnd.max(self.prior.0);
                self.own.ssthresh = self.own.ssthresh.max(self.prior.1);
            }
            _ => {}
        }
        match self.state {
            State::OrbCc => {}
            State::Smaller => w.cwnd = self.law.min(self.own.cwnd).max(cx.mss as u64),
            State::Alone => w.cwnd = self.own.cwnd,
        }
    }

    pub fn on_tx_start(&mut self, cx: &Cx) {
        self.with_own(|scheme, own| scheme.on_tx_start(cx, own));
    }

    pub fn on_signal(&mut self, cx: &Cx, s: &Signal<'_>) {
        self.with_own(|scheme, own| scheme.on_signal(cx, own, s));
    }

    /// Time of the next call to [`Self::on_timer`].
    pub fn next_timer(&self) -> Option<Nanos> {
        self.own.next_timer
    }

    pub fn on_timer(&mut self, cx: &Cx) {
        if self.own.next_timer.is_some_and(|t| t <= cx.now) {
            self.own.next_timer = None;
            self.with_own(|scheme, own| scheme.on_timer(cx, own));
        }
    }

    fn with_own<R>(&mut self, f: impl FnOnce(&mut dyn CongestionControl, &mut Window) -> R) -> R {
        match &mut self.inner {
            Inner::Cubic(c) => f(c.as_mut(), &mut self.own),
            Inner::LeoCc(c) => f(c.as_mut(), &mut self.own),
        }
    }
}
