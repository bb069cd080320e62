// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparison of the reference and the core, event by event.

use crate::core::{Core, Input, Output, Profile, Trust};
use crate::wire::Wire;
use perigee_cc::*;
use std::sync::{Arc, Mutex};

/// Relative difference above which results are counted as different.
pub const TOLERANCE: f64 = 0.001;

/// Results of the comparisons of any number of connections.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of connections.
    pub connections: u64,
    /// ACKs at which both had control.
    pub compared: u64,
    /// ACKs at which a fallback had control.
    pub fallback: u64,
    /// ACKs with windows that differ by more than the tolerance (and one byte).
    pub windows_apart: u64,
    /// ACKs with pacing rates that differ by more than the tolerance.
    pub pacing_apart: u64,
    /// ACKs at which only one of the two had handed over to the fallback.
    pub handovers_apart: u64,
    /// Largest relative differences of windows and of pacing rates.
    pub worst: [f64; 2],
    /// The first differences.
    pub examples: Vec<String>,
    /// Handovers to the fallback and back.
    pub handovers: u64,
    /// Records that the core ignored.
    pub implausible: u64,
}

impl Report {
    /// Adds another report.
    pub fn add(&mut self, other: &Report) {
        self.connections += other.connections;
        self.compared += other.compared;
        self.fallback += other.fallback;
        self.windows_apart += other.windows_apart;
        self.pacing_apart += other.pacing_apart;
        self.handovers_apart += other.handovers_apart;
        self.handovers += other.handovers;
        self.implausible += other.implausible;
        self.worst = [0, 1].map(|i| self.worst[i].max(other.worst[i]));
        self.examples.extend(other.examples.iter().take(5usize.saturating_sub(self.examples.len())).cloned());
    }

    /// Whether no difference exceeds the tolerance.
    pub fn agrees(&self) -> bool {
        self.windows_apart + self.pacing_apart + self.handovers_apart == 0
    }

    /// One line of a table.
    pub fn line(&self) -> String {
        format!(
            "{:>12} {:>10} {:>9} {:>9} {:>9} {:>12.2e} {:>12.2e}",
            self.compared,
            self.fallback,
            self.windows_apart,
            self.pacing_apart,
            self.handovers_apart,
            self.worst[0],
            self.worst[1]
        )
    }

    /// Head of the table.
    pub fn head() -> String {
        format!(
            "{:>12} {:>10} {:>9} {:>9} {:>9} {:>12} {:>12}",
            "ACKs", "fallback", "windows", "pacing", "handovers", "worst window", "worst pacing"
        )
    }
}

/// The reference of OrbCC, which has control; the core receives the same events.
pub struct Lockstep<C> {
    reference: C,
    core: Core,
    output: Output,
    report: Report,
    in_fallback: bool,
    into: Arc<Mutex<Report>>,
}

impl<C: CongestionControl> Lockstep<C> {
    /// Creates the comparison for a connection; its results are added to `into` at the end.
    pub fn new(reference: C, init: &ConnInit, profile: Profile, into: Arc<Mutex<Report>>) -> Self {
        Lockstep {
            reference,
            core: Core::new(init.now.0, init.mss, profile, Trust::Trusted),
            output: Output::default(),
            report: Report { connections: 1, ..Report::default() },
            in_fallback: false,
            into,
        }
    }

    fn compare(&mut self, cx: &Cx, w: &Window) {
        let r = &mut self.report;
        r.implausible = u64::from(self.output.implausible);
        let fallback = self.reference.mode(w) == "fallback";
        r.handovers += u64::from(fallback != self.in_fallback);
        self.in_fallback = fallback;
        if fallback != self.output.fallback() {
            r.handovers_apart += 1;
            if r.examples.len() < 5 {
                r.examples.push(format!("handover at {} ns: reference {fallback}", cx.now.0));
            }
            return;
        }
        if fallback {
            r.fallback += 1;
            return;
        }
        r.compared += 1;
        let (window, core) = (w.cwnd as f64, self.output.cwnd as f64);
        let apart = ((window - core).abs() - 1.0).max(0.0) / window;
        r.worst[0] = r.worst[0].max(apart);
        if apart > TOLERANCE {
            r.windows_apart += 1;
            if r.examples.len() < 5 {
                let mut named = String::new();
                self.reference.probe(&mut |name, value| named += &format!(" {name}={value}"));
                r.examples.push(format!("window at {} ns: {window} and {:?};{named}", cx.now.0, self.output));
            }
        }
        let Some(rate) = w.pacing else { return };
        let core = self.core.pacing(self.output.cwnd, cx.in_flight) as f64;
        if core == 0.0 {
            return; // before the first RTT sample
        }
        let rate = rate.0 as f64 / 8.0;
        let apart = ((rate - core).abs() - 2.0).max(0.0) / rate;
        r.worst[1] = r.worst[1].max(apart);
        r.pacing_apart += u64::from(apart > TOLERANCE);
    }
}

impl<C: CongestionControl> CongestionControl for Lockstep<C> {
    fn caps(&self) -> Caps {
        self.reference.caps()
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        self.reference.on_start(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        let rate = match ev.rs.valid {
            true => (ev.rs.delivered as f64 / ev.rs.interval.as_secs_f64()) as u64,
            false => 0,
        };
        let input = Input {
            now_ns: cx.now.0,
            rtt_ns: ev.rtt.or(ev.seq_rtt).unwrap_or(Nanos::ZERO).0,
            cwnd: w.cwnd,
            delivered: cx.delivered,
            rate,
            cum_acked: ev.newly_cum_acked.min(1 << 30) as u32,
            mss: cx.mss,
            ..Input::default()
        };
        self.reference.on_ack(cx, w, ev);
        self.output = self.core.on_ack(input, &Wire::of(ev.telemetry.as_ref()));
        self.compare(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        self.reference.ssthresh(cx, w)
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        self.reference.on_transition(cx, w, t);
    }

    fn on_tx_start(&mut self, cx: &Cx, w: &mut Window) {
        self.reference.on_tx_start(cx, w);
        if cx.outstanding == 0 {
            self.core.on_restart(cx.now.0, cx.last_sent.0, cx.mss);
        }
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        self.reference.on_timer(cx, w);
        self.core.on_timer(cx.now.0, cx.outstanding > 0);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        self.reference.on_signal(cx, w, s);
    }

    fn stamp(&self) -> HeaderStamp {
        self.reference.stamp()
    }

    fn mode(&self, w: &Window) -> &'static str {
        self.reference.mode(w)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.reference.probe(out);
    }
}

impl<C> Drop for Lockstep<C> {
    fn drop(&mut self) {
        if let Ok(mut all) = self.into.lock() {
            all.add(&self.report);
        }
    }
}
