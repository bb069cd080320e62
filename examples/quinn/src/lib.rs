// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Perigee's congestion controls as controllers of quinn-proto.
//!
//! quinn reports sent datagrams in batches, acknowledged ones singly, and losses as one number after
//! the ACK. [`PerigeeController`] keeps what the controllers of Perigee need in addition: the
//! connection's state when a batch was sent, from which rate samples follow
//! (draft-cheng-iccrg-delivery-rate-estimation), and the recovery period (RFC 9002, section 7.3.2).

use perigee_cc::{
    AckEvent, AckedPkt, CaState, CongestionControl, ConnInit, Controller as Scheme, Cx, LossEvent, LossKind,
    Nanos, OnRto, Params, RateSample, Recovery, SchemeInfo, SentPkt, TelemetryNeed, Transition, TxSnapshot,
    Value, Window,
};
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Initial window of RFC 9002, section 7.2, in datagrams.
const INITIAL_DATAGRAMS: u64 = 10;
/// Minimum window of RFC 9002, section 7.2, in datagrams.
const MINIMUM_DATAGRAMS: u64 = 2;

/// Factory of controllers of one scheme, for `TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct PerigeeConfig {
    info: &'static SchemeInfo,
    params: Params,
    /// Seed of the controllers' private random numbers.
    pub seed: u64,
}

impl PerigeeConfig {
    /// A scheme by its name, such as "bbr3", with parameters that differ from their defaults.
    ///
    /// # Errors
    /// Unknown schemes and parameters, and schemes that need telemetry, which QUIC does not carry.
    pub fn new(scheme: &str, params: BTreeMap<String, Value>) -> Result<Self, String> {
        let info = perigee_cc::info(scheme).ok_or_else(|| {
            let all: Vec<&str> = perigee_cc::SCHEMES.iter().map(|s| s.id).collect();
            format!("unknown scheme {scheme:?}; there are {}", all.join(", "))
        })?;
        let params = info.params(params).map_err(|e| e.to_string())?;
        let config = PerigeeConfig { info, params, seed: 1 };
        if config.scheme(1200, INITIAL_DATAGRAMS * 1200).caps().telemetry != TelemetryNeed::None {
            return Err(format!("{scheme} needs telemetry of ports, which QUIC does not carry"));
        }
        Ok(config)
    }

    fn scheme(&self, mtu: u16, window: u64) -> Scheme {
        self.info.build(&self.params, &init(mtu, window, self.seed))
    }

    fn controller(&self, zero: Instant, mtu: u16, window: u64) -> PerigeeController {
        let mut scheme = self.scheme(mtu, window);
        let caps = scheme.caps();
        let mut w = init(mtu, window, self.seed).window();
        let cx = Cx { mss: u32::from(mtu), min_rtt: Nanos::MAX, ..Cx::default() };
        scheme.on_start(&cx, &mut w);
        PerigeeController {
            config: self.clone(),
            scheme: Mutex::new(scheme),
            caps,
            w,
            cx,
            zero,
            initial_window: w.cwnd,
            batches: VecDeque::new(),
            acked: Vec::new(),
            newest: None,
            newly_acked: 0,
            newly_lost: 0,
            recovery_start: None,
            first_sent: Nanos::ZERO,
        }
    }
}

impl ControllerFactory for PerigeeConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.controller(now, current_mtu, INITIAL_DATAGRAMS * u64::from(current_mtu)))
    }
}

fn init(mtu: u16, window: u64, seed: u64) -> ConnInit {
    ConnInit { now: Nanos::ZERO, mss: u32::from(mtu), init_cwnd: window, srtt: None, seed, hz: 0 }
}

/// The scheme of a controller that is borrowed exclusively.
fn exclusive(scheme: &mut Mutex<Scheme>) -> &mut Scheme {
    scheme.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Datagrams sent at one instant, with the connection's state before.
#[derive(Clone, Copy, Debug)]
struct Batch {
    tx: TxSnapshot,
    tag: u32,
}

/// A controller of one path.
pub struct PerigeeController {
    config: PerigeeConfig,
    /// Only for `Sync`, which quinn requires: nothing locks it but [`PerigeeController::mode`].
    scheme: Mutex<Scheme>,
    caps: perigee_cc::Caps,
    w: Window,
    cx: Cx,
    /// Time zero of the scheme's clock.
    zero: Instant,
    initial_window: u64,
    /// In order of their times; those older than all that can still be acknowledged are dropped.
    batches: VecDeque<Batch>,
    acked: Vec<AckedPkt>,
    /// Newest batch that the current ACK frame acknowledges.
    newest: Option<Batch>,
    newly_acked: u64,
    newly_lost: u64,
    /// When the latest reduction happened.
    recovery_start: Option<Nanos>,
    /// Send time of the newest packet acknowledged so far: the start of the next sending interval.
    first_sent: Nanos,
}

impl PerigeeController {
    /// The scheme's state by name, such as "startup".
    pub fn mode(&self) -> &'static str {
        self.scheme.lock().unwrap_or_else(PoisonError::into_inner).mode(&self.w)
    }

    fn time(&self, at: Instant) -> Nanos {
        Nanos(u64::try_from(at.saturating_duration_since(self.zero).as_nanos()).unwrap_or(u64::MAX))
    }

    /// Sets the scheme's clock, and calls a timer that has become due: quinn has no timers for
    /// controllers.
    fn advance(&mut self, now: Instant) {
        self.cx.now = self.time(now).max(self.cx.now);
        self.cx.edt = self.cx.now;
        if self.w.next_timer.is_some_and(|at| at <= self.cx.now) {
            self.w.next_timer = None;
            exclusive(&mut self.scheme).on_timer(&self.cx, &mut self.w);
        }
    }

    /// The batch that was sent at a time; quinn gives all its datagrams that time.
    fn batch(&self, sent: Nanos) -> Option<Batch> {
        let at = self.batches.binary_search_by_key(&sent, |b| b.tx.sent).ok()?;
        Some(self.batches[at])
    }

    /// Sample of the delivery rate from the newest batch that an ACK acknowledges.
    fn sample(&self, tx: &TxSnapshot) -> RateSample {
        let send_elapsed = tx.sent.saturating_sub(tx.first_sent);
        let ack_elapsed = self.cx.now.saturating_sub(tx.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        RateSample {
            valid: interval > Nanos::ZERO && interval >= self.cx.min_rtt,
            delivered: self.cx.delivered - tx.delivered,
            interval,
            prior_delivered: tx.delivered,
            has_prior: true,
            send_elapsed,
            ack_elapsed,
            lost_since_tx: self.cx.lost - tx.lost,
            tx_in_flight: tx.in_flight,
            is_app_limited: tx.app_limited,
            is_retrans: false,
        }
    }

    fn set_in_flight(&mut self, bytes: u64) {
        self.cx.in_flight = bytes;
        self.cx.outstanding = bytes;
        self.cx.snd_una = self.cx.snd_nxt.saturating_sub(bytes);
    }

    fn enter(&mut self, state: CaState, transition: Transition) {
        self.cx.ca = state;
        exclusive(&mut self.scheme).on_transition(&self.cx, &mut self.w, transition);
    }

    /// Ends a recovery period at the first ACK of a datagram that was sent in it.
    fn leave_recovery(&mut self, sent: Nanos) {
        if self.recovery_start.is_none_or(|start| sent <= start) {
            return;
        }
        match self.cx.ca {
            CaState::Loss => self.enter(CaState::Open, Transition::ExitRto),
            CaState::Cwr => self.enter(CaState::Open, Transition::ExitCwr),
            CaState::Recovery => self.enter(CaState::Open, Transition::ExitRecovery),
            CaState::Open | CaState::Disorder => {}
        }
    }

    fn reduce(&mut self, state: CaState) {
        self.w.ssthresh = exclusive(&mut self.scheme).ssthresh(&self.cx, &self.w);
        let minimum = MINIMUM_DATAGRAMS * u64::from(self.cx.mss);
        let transition = match state {
            CaState::Loss => Transition::EnterRto,
            CaState::Cwr => Transition::EnterCwr,
            _ => Transition::EnterRecovery,
        };
        match state {
            CaState::Loss if self.caps.on_rto == OnRto::InFlightPlusOne => self.w.cwnd = minimum,
            CaState::Loss => {}
            _ if self.caps.recovery == Recovery::Prr => self.w.cwnd = self.w.ssthresh.max(minimum),
            _ => {}
        }
        self.recovery_start = Some(self.cx.now);
        self.enter(state, transition);
    }
}

impl Controller for PerigeeController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.advance(now);
        if self.cx.in_flight == 0 {
            (self.first_sent, self.cx.delivered_time) = (self.cx.now, self.cx.now);
            exclusive(&mut self.scheme).on_tx_start(&self.cx, &mut self.w);
        }
        let packet = SentPkt { seq: self.cx.snd_nxt, bytes: bytes as u32, retrans: false };
        let tag = if self.caps.per_packet {
            exclusive(&mut self.scheme).on_sent(&self.cx, &mut self.w, &packet)
        } else {
            0
        };
        self.cx.snd_nxt += bytes;
        self.set_in_flight(self.cx.in_flight + bytes);
        self.cx.last_sent = self.cx.now;
        let tx = TxSnapshot {
            sent: self.cx.now,
            first_sent: self.first_sent,
            delivered_time: self.cx.delivered_time,
            delivered: self.cx.delivered,
            lost: self.cx.lost,
            in_flight: self.cx.in_flight,
            app_limited: self.cx.app_limited,
        };
        match self.batches.back_mut() {
            Some(last) if last.tx.sent == tx.sent => last.tx.in_flight = tx.in_flight,
            _ => self.batches.push_back(Batch { tx, tag }),
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.advance(now);
        self.cx.app_limited = app_limited;
        self.cx.delivered += bytes;
        self.newly_acked += bytes;
        // The estimator takes this ACK's sample only afterwards.
        self.cx.srtt = Nanos(rtt.get().as_nanos() as u64);
        let sent = self.time(sent);
        let Some(batch) = self.batch(sent) else { return };
        let sample = self.cx.now.saturating_sub(sent);
        self.cx.min_rtt = self.cx.min_rtt.min(sample);
        if self.caps.per_packet {
            let acked = AckedPkt { tag: batch.tag, sent, bytes: bytes as u32, rtt: Some(sample) };
            self.acked.push(acked);
        }
        if self.newest.is_none_or(|newest| newest.tx.sent < sent) {
            self.newest = Some(batch);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.advance(now);
        let prior_in_flight = self.cx.in_flight;
        self.set_in_flight(in_flight);
        self.cx.app_limited = app_limited;
        let Some(newest) = self.newest.take() else { return };
        self.cx.delivered_time = self.cx.now;
        // Between its pacer and the window, what limits is the window in the end, unless it is the application.
        self.cx.cwnd_limited = !app_limited;
        self.leave_recovery(newest.tx.sent);
        let rtt = self.cx.now.saturating_sub(newest.tx.sent);
        let event = AckEvent {
            newly_acked: self.newly_acked,
            newly_cum_acked: self.newly_acked,
            newly_lost: std::mem::take(&mut self.newly_lost),
            rtt: Some(rtt),
            seq_rtt: Some(rtt),
            prior_in_flight,
            rs: self.sample(&newest.tx),
            may_grow: self.cx.ca == CaState::Open,
            acked: &self.acked,
            ..AckEvent::default()
        };
        exclusive(&mut self.scheme).on_ack(&self.cx, &mut self.w, &event);
        if std::mem::take(&mut self.w.mark_app_limited) {
            self.cx.app_limited = true;
        }
        (self.newly_acked, self.first_sent) = (0, newest.tx.sent);
        self.acked.clear();
        // Datagrams of three round trips ago are acknowledged or lost (RFC 9002, section 6.1.2).
        let old = self.cx.now.saturating_sub(self.cx.srtt * 3);
        while self.batches.front().is_some_and(|b| b.tx.sent < old && b.tx.sent < newest.tx.sent) {
            self.batches.pop_front();
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.advance(now);
        let sent = self.time(sent);
        self.cx.lost += lost_bytes;
        self.newly_lost += lost_bytes;
        self.set_in_flight(self.cx.in_flight.saturating_sub(lost_bytes));
        if lost_bytes > 0 && self.caps.per_loss {
            if let Some(Batch { tx, tag }) = self.batch(sent) {
                let lost_total = self.cx.lost;
                let event = LossEvent { bytes: lost_bytes, tx, tag, lost_total, kind: LossKind::Rack };
                exclusive(&mut self.scheme).on_loss(&self.cx, &mut self.w, &event);
            }
        }
        if is_persistent_congestion {
            self.reduce(CaState::Loss);
        } else if self.recovery_start.is_none_or(|start| sent > start) {
            self.reduce(if lost_bytes == 0 { CaState::Cwr } else { CaState::Recovery });
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.cx.mss = u32::from(new_mtu);
        let signal = perigee_cc::Signal::MssChanged(self.cx.mss);
        exclusive(&mut self.scheme).on_signal(&self.cx, &mut self.w, &signal);
    }

    fn window(&self) -> u64 {
        self.w.cwnd.max(MINIMUM_DATAGRAMS * u64::from(self.cx.mss))
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = (self.w.ssthresh < perigee_cc::INFINITE_SSTHRESH).then_some(self.w.ssthresh);
        metrics.pacing_rate = self.w.pacing.map(|rate| rate.0);
        metrics
    }

    /// For a path to another port of the same peer: a new controller that starts with this window.
    fn clone_box(&self) -> Box<dyn Controller> {
        let zero = self.zero + std::time::Duration::from_nanos(self.cx.now.0);
        Box::new(self.config.controller(zero, self.cx.mss as u16, self.window()))
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MTU: u16 = 1200;

    fn controller(scheme: &str) -> (Instant, Box<dyn Controller>) {
        let zero = Instant::now();
        let config = PerigeeConfig::new(scheme, BTreeMap::new()).unwrap();
        (zero, Arc::new(config).build(zero, MTU))
    }

    #[test]
    fn every_scheme_without_telemetry_starts_with_ten_datagrams_or_its_own_window() {
        for scheme in ["newreno", "cubic", "bbr", "bbr3", "copa", "vegas"] {
            let (_, cc) = controller(scheme);
            assert_eq!((scheme, cc.window()), (scheme, 12_000));
            assert_eq!(cc.initial_window(), 12_000);
        }
    }

    #[test]
    fn unknown_schemes_and_those_with_telemetry_are_refused() {
        let why = |scheme| PerigeeConfig::new(scheme, BTreeMap::new()).unwrap_err();
        assert!(why("orbcc").contains("telemetry"), "{}", why("orbcc"));
        assert!(why("cubik").contains("there are"));
        let wrong = BTreeMap::from([("beta".to_string(), Value::Float(7.0))]);
        assert!(PerigeeConfig::new("cubic", wrong).unwrap_err().contains("beta"));
    }

    #[test]
    fn a_round_trip_has_one_reduction() {
        let (zero, mut cc) = controller("newreno");
        let ms = |n| zero + Duration::from_millis(n);
        (1..=8).for_each(|i| cc.on_sent(ms(i), 1200, i));
        cc.on_congestion_event(ms(40), ms(3), false, 1200);
        assert_eq!(cc.window(), 6_000);
        cc.on_congestion_event(ms(41), ms(5), false, 1200);
        assert_eq!(cc.window(), 6_000, "sent before the reduction");
        cc.on_sent(ms(50), 1200, 9);
        cc.on_congestion_event(ms(90), ms(50), false, 0);
        assert_eq!(cc.window(), 2_400, "a mark halves five packets to two");
    }

    #[test]
    fn persistent_congestion_leaves_two_datagrams() {
        let (zero, mut cc) = controller("cubic");
        let ms = |n| zero + Duration::from_millis(n);
        (1..=8).for_each(|i| cc.on_sent(ms(i), 1200, i));
        cc.on_congestion_event(ms(4000), ms(8), true, 9600);
        assert_eq!(cc.window(), 2_400);
        assert_eq!(cc.metrics().ssthresh, Some(8_400), "beta = 0.7");
    }

    #[test]
    fn a_copy_starts_with_the_same_window() {
        let (zero, mut cc) = controller("cubic");
        cc.on_sent(zero + Duration::from_millis(1), 1200, 1);
        cc.on_congestion_event(
            zero + Duration::from_millis(40),
            zero + Duration::from_millis(1),
            false,
            1200,
        );
        assert_eq!(cc.clone_box().window(), cc.window());
    }
}
