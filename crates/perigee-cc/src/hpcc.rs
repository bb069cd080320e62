// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HPCC (Li et al. 2019), and its control law inside TCP (Avian688/hpcc 2023), from which OrbCC is
//! derived.
//!
//! Idea: every port reports its queue length and its bytes sent. From them the sender computes the
//! utilisation of the busiest port, data in flight over BDP, and scales its window by the ratio of
//! the target to it: relative to a reference window that is updated once per RTT, so that ACKs in
//! between react at once without correcting twice.
//!
//! ```text
//! u_i = min(qLen_i, qLen'_i) / (bw_i · T) + txRate_i / bw_i        u = max over hops,
//!                                                                  τ = time between its samples
//! U   ← (1 − τ/T) U + (τ/T) u                                      η = 0.95
//! W   = Wc · η/U + W_AI    if U ≥ η or stage ≥ maxStage            stage := 0 at a commit
//!       Wc + W_AI          otherwise                               stage += 1 at a commit
//! commit (Wc := W) on the first ACK beyond the data sent at the last commit;
//! all other ACKs start from the old Wc
//!
//!                        hpcc                                       hpcc_tcp
//! T                      configured                                 mean RTT reported by the port
//! τ                      at most T                                  any
//! W_AI                   W_init · (1 − η) / expected flows          0.05 · bw · sRTT / flow count
//! maxStage               5                                          500
//! start                  W_init = line rate · T                     10000 bytes
//! pacing                 W / T                                      W / sRTT
//! loss                   none (its network drops nothing)           halves
//!
//!  additive stages ──U ≥ η or maxStage──► multiplicative ──commit──► additive stages
//! ```
//!
//! Differs from the papers in parameters only. The line rate is an option; by default it is the
//! rate of the slowest port in the first telemetry stack, and the transport's initial window
//! applies until then. T is an option; by default it is the RTT of the handshake.

use crate::utilisation::{bottleneck, STACK_LIFETIME};
use crate::*;

/// Parameters; the profiles `hpcc` and `hpcc_tcp` set them.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "reference",
        domain: Domain::Choice(&["fixed", "avg_rtt"]),
        unit: "",
        source: "SIGCOMM 2019; Avian688/hpcc",
        help: "reference RTT T: fixed = configured; avg_rtt = the mean RTT reported by the port",
    },
    ParamSpec {
        name: "base_rtt",
        domain: Domain::Time { default: Nanos::ZERO, min: Nanos::ZERO, max: Nanos::from_secs(10) },
        unit: "",
        source: "choice",
        help: "T with reference = fixed; 0 = RTT of the handshake",
    },
    ParamSpec {
        name: "line_rate",
        domain: Domain::Float { default: 0.0, min: 0.0, max: 1e6 },
        unit: "Mbit/s",
        source: "choice",
        help: "rate of the sender's link; 0 = that of the narrowest port in the first telemetry stack",
    },
    ParamSpec {
        name: "eta",
        domain: Domain::Float { default: 0.95, min: 0.1, max: 1.0 },
        unit: "fraction",
        source: "SIGCOMM 2019",
        help: "target utilisation",
    },
    ParamSpec {
        name: "max_stage",
        domain: Domain::Int { default: 5, min: 0, max: 1_000_000 },
        unit: "rounds",
        source: "SIGCOMM 2019; 500 in Avian688/hpcc",
        help: "additive rounds before the next multiplicative one",
    },
    ParamSpec {
        name: "expected_flows",
        domain: Domain::Int { default: 10, min: 1, max: 1_000_000 },
        unit: "flows",
        source: "choice",
        help: "number of flows that share the headroom, with reference = fixed",
    },
    ParamSpec {
        name: "additive_increase",
        domain: Domain::Float { default: 0.05, min: 0.0, max: 1.0 },
        unit: "fraction",
        source: "Avian688/hpcc",
        help: "increase, as a fraction of the flow's share of the BDP, with reference = avg_rtt",
    },
];

/// Options of the data-centre scheme.
pub fn datacentre() -> Vec<(&'static str, Value)> {
    Vec::new()
}

/// Options of the scheme inside TCP.
pub fn tcp() -> Vec<(&'static str, Value)> {
    vec![("reference", Value::Text("avg_rtt".into())), ("max_stage", Value::Int(500))]
}

const TCP_INITIAL_BYTES: u64 = 10_000;
/// Bounds the effect of a pair of stacks that spans an outage. Its weight is far above 1 unless
/// clamped.
const MAX_U: f64 = 1e3;
const TYPICAL_MAX_HOPS: usize = 14;

/// Telemetry of an ACK about the busiest port.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    u: f64,
    tau_s: f64,
    t_s: f64,
    bytes_per_s: f64,
    flows: u32,
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Hpcc {
    tcp: bool,
    eta: f64,
    max_stage: u64,
    expected_flows: f64,
    additive_increase: f64,
    base_rtt: Nanos,
    line_bytes_per_s: f64,
    u: f64,
    /// Window at the last commit, in bytes.
    committed: f64,
    /// Window that sends at line rate.
    full: f64,
    stage: u64,
    /// End of the data sent at the last commit.
    commit_seq: u64,
    stack: Vec<Hop>,
    stack_at: Option<Nanos>,
    path_id: u64,
    port: Port,
    /// Copy of the window for headers.
    cwnd: u64,
    srtt: Nanos,
}

impl Hpcc {
    /// A controller for a new connection.
    pub fn new(params: &Params, init: &ConnInit) -> Self {
        let configured = params.time("base_rtt");
        let handshake = init.srtt.unwrap_or(Nanos::ZERO);
        Hpcc {
            tcp: params.choice("reference") == "avg_rtt",
            eta: params.float("eta"),
            max_stage: params.int("max_stage") as u64,
            expected_flows: params.int("expected_flows") as f64,
            additive_increase: params.float("additive_increase"),
            base_rtt: if configured > Nanos::ZERO { configured } else { handshake },
            line_bytes_per_s: params.float("line_rate") * 1e6 / 8.0,
            u: 1.0,
            committed: 0.0,
            full: 0.0,
            stage: 0,
            commit_seq: 0,
            stack: Vec::with_capacity(TYPICAL_MAX_HOPS),
            stack_at: None,
            path_id: 0,
            port: Port::default(),
            cwnd: 0,
            srtt: Nanos::ZERO,
        }
    }

    /// Compares the echoed stack with the last one and stores it.
    fn read(&mut self, cx: &Cx, path_id: u64, hops: &[Hop]) -> Option<Port> {
        let fresh = self.stack_at.is_some_and(|at| cx.now.saturating_sub(at) <= STACK_LIFETIME);
        let comparable = fresh && path_id == self.path_id && hops.len() == self.stack.len();
        let (tcp, base_rtt) = (self.tcp, self.base_rtt);
        let reference = |hop: &Hop| if tcp { hop.avg_rtt } else { base_rtt };
        let found = comparable.then(|| bottleneck(&self.stack, hops, reference)).flatten();
        if !comparable || found.is_some() {
            self.stack.clear();
            self.stack.extend_from_slice(hops);
            (self.stack_at, self.path_id) = (Some(cx.now), path_id);
        }
        let b = found?;
        let hop = &hops[b.hop];
        Some(Port {
            u: b.u,
            tau_s: b.tau.as_secs_f64(),
            t_s: reference(hop).as_secs_f64(),
            bytes_per_s: hop.bw.bytes_per_s(),
            flows: hop.flows,
        })
    }

    /// Determines the window at line rate, from the option or from the first stack.
    fn learn_line_rate(&mut self, w: &mut Window, hops: &[Hop]) {
        if self.tcp || self.full > 0.0 || self.base_rtt == Nanos::ZERO {
            return;
        }
        if self.line_bytes_per_s == 0.0 {
            let narrowest = hops.iter().map(|h| h.bw.0).filter(|bw| *bw > 0).min();
            self.line_bytes_per_s = narrowest.unwrap_or(0) as f64 / 8.0;
        }
        self.start_at_line_rate(w);
    }

    fn start_at_line_rate(&mut self, w: &mut Window) {
        self.full = self.line_bytes_per_s * self.base_rtt.as_secs_f64();
        if self.full > 0.0 {
            self.committed = self.full;
            w.cwnd = w.cwnd.max(self.full as u64);
        }
    }

    fn average(&mut self, port: &Port) {
        let tau = if self.tcp { port.tau_s } else { port.tau_s.min(port.t_s) };
        let weight = tau / port.t_s;
        self.u = ((1.0 - weight) * self.u + weight * port.u).clamp(0.0, MAX_U);
    }

    fn increase(&self, port: &Port) -> f64 {
        match self.tcp {
            true => {
                let share = port.bytes_per_s * self.srtt.as_secs_f64() / port.flows.max(1) as f64;
                self.additive_increase * share
            }
            false => self.full * (1.0 - self.eta) / self.expected_flows,
        }
    }

    fn steer(&mut self, cx: &Cx, w: &mut Window, port: &Port) {
        self.average(port);
        let commits = cx.snd_una > self.commit_seq;
        let multiplies = self.u >= self.eta || self.stage >= self.max_stage;
        let base = match multiplies {
            true => self.committed * self.eta / self.u.max(f64::MIN_POSITIVE),
            false => self.committed,
        };
        let most = if self.full > 0.0 { self.full } else { f64::MAX };
        let window = (base + self.increase(port)).min(most).clamp(cx.mss as f64, u64::MAX as f64 / 1e6);
        if commits {
            self.committed = window;
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.commit_seq = cx.snd_nxt;
        }
        w.cwnd = window as u64;
    }

    fn set_pacing(&mut self, cx: &Cx, w: &mut Window) {
        self.cwnd = w.cwnd;
        let rtt = if self.tcp || self.base_rtt == Nanos::ZERO { cx.srtt } else { self.base_rtt };
        let rtt = if rtt > Nanos::ZERO { rtt } else { Nanos::from_millis(1) };
        w.pacing = Some(BitRate((w.cwnd as f64 * 8.0 / rtt.as_secs_f64()).max(1.0) as u64));
    }

    fn take_window(&mut self, cx: &Cx, w: &mut Window) {
        self.committed = w.cwnd as f64;
        self.stage = 0;
        self.set_pacing(cx, w);
    }
}

impl CongestionControl for Hpcc {
    fn caps(&self) -> Caps {
        Caps {
            telemetry: TelemetryNeed::Stack,
            telemetry_on_wire: true,
            on_rto: if self.tcp { OnRto::InFlightPlusOne } else { OnRto::Keep },
            ack_every: Some(1),
            min_cwnd: 1,
            unpaced_start: 0,
            ..Caps::MODEL
        }
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        if self.tcp {
            w.cwnd = TCP_INITIAL_BYTES.max(cx.mss as u64);
        } else if self.base_rtt > Nanos::ZERO {
            self.start_at_line_rate(w);
        }
        w.quantum = 1;
        self.srtt = cx.srtt;
        self.take_window(cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.srtt = cx.srtt;
        if self.base_rtt == Nanos::ZERO {
            self.base_rtt = ev.rtt.unwrap_or(Nanos::ZERO);
        }
        if let Some(Telemetry::Stack { path_id, hops, .. }) = ev.telemetry {
            self.learn_line_rate(w, hops);
            if let Some(port) = self.read(cx, path_id, hops) {
                self.port = port;
                self.steer(cx, w, &port);
            }
        }
        self.set_pacing(cx, w);
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        if self.tcp {
            (w.cwnd / 2).max(cx.mss as u64)
        } else {
            w.ssthresh
        }
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        if !self.tcp {
            return;
        }
        match t {
            Transition::EnterRecovery | Transition::EnterCwr => {
                w.cwnd = w.cwnd.min(w.ssthresh).max(cx.mss as u64);
                self.take_window(cx, w);
            }
            Transition::EnterRto => self.take_window(cx, w),
            _ => {}
        }
    }

    fn stamp(&self) -> HeaderStamp {
        let base_rtt = if self.tcp { self.srtt } else { self.base_rtt };
        HeaderStamp { base_rtt, cwnd: self.cwnd, ..HeaderStamp::default() }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        if self.u >= self.eta || self.stage >= self.max_stage {
            "multiplicative"
        } else {
            "additive"
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("U", self.u);
        out("u", self.port.u);
        out("committed_bytes", self.committed);
        out("stage", self.stage as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const T: Nanos = Nanos::from_millis(10);

    fn hpcc(profile: Vec<(&'static str, Value)>) -> (Hpcc, Window, Cx) {
        let init = ConnInit {
            now: Nanos::ZERO,
            mss: MSS as u32,
            init_cwnd: 10 * MSS,
            srtt: Some(T),
            seed: 1,
            hz: 1000,
        };
        let mut c = Hpcc::new(&Params::defaults(PARAMS).with_profile(&profile), &init);
        let mut w = init.window();
        let cx = Cx { mss: MSS as u32, srtt: T, ..Cx::default() };
        c.on_start(&cx, &mut w);
        (c, w, cx)
    }

    /// A port of 100 Mbit/s after `ms`, with `tx_bytes` sent and `queue` bytes queued.
    fn hop(ms: u64, tx_bytes: u64, queue: u64) -> Hop {
        Hop {
            ts: Nanos::from_millis(ms),
            bw: BitRate::from_mbit(100),
            q_out: queue,
            q_in: queue,
            tx_bytes,
            avg_rtt: T,
            flows: 2,
        }
    }

    fn ack(c: &mut Hpcc, w: &mut Window, cx: &Cx, hops: &[Hop]) {
        let telemetry = Some(Telemetry::Stack { path_id: 1, hops, covered: 1, partial: false });
        c.on_ack(cx, w, &AckEvent { newly_acked: MSS, telemetry, ..AckEvent::default() });
    }

    #[test]
    fn it_starts_at_line_rate_with_the_first_stack() {
        let (mut c, mut w, cx) = hpcc(datacentre());
        assert_eq!(w.cwnd, 10 * MSS);
        ack(&mut c, &mut w, &cx, &[hop(0, 0, 0)]);
        assert_eq!((w.cwnd, w.pacing), (125_000, Some(BitRate::from_mbit(100))));
        let (c, w, _) = hpcc(vec![("line_rate", Value::Float(1000.0))]);
        assert_eq!((w.cwnd, c.committed), (1_250_000, 1_250_000.0));
    }

    #[test]
    fn an_overloaded_port_divides_the_window_by_its_utilisation() {
        let (mut c, mut w, cx) = hpcc(datacentre());
        ack(&mut c, &mut w, &cx, &[hop(0, 0, 125_000)]);
        // One T at line rate with a BDP queued: u = 2, with full weight.
        ack(&mut c, &mut w, &Cx { snd_una: 1, snd_nxt: 100, ..cx }, &[hop(10, 125_000, 125_000)]);
        assert!((c.u - 2.0).abs() < 1e-9);
        let w_ai = 125_000.0 * 0.05 / 10.0;
        assert_eq!(w.cwnd, (125_000.0 * 0.95 / 2.0 + w_ai) as u64);
        assert_eq!(c.committed as u64, w.cwnd);
    }

    #[test]
    fn acks_within_a_round_react_from_the_same_reference() {
        let (mut c, mut w, cx) = hpcc(datacentre());
        ack(&mut c, &mut w, &cx, &[hop(0, 0, 125_000)]);
        let first = Cx { snd_una: 1, snd_nxt: 100, ..cx };
        ack(&mut c, &mut w, &first, &[hop(10, 125_000, 125_000)]);
        let committed = c.committed;
        ack(&mut c, &mut w, &Cx { snd_una: 50, snd_nxt: 150, ..cx }, &[hop(20, 250_000, 125_000)]);
        assert_eq!(c.committed, committed, "100 was sent at the commit");
        assert!(w.cwnd < committed as u64);
        ack(&mut c, &mut w, &Cx { snd_una: 101, snd_nxt: 200, ..cx }, &[hop(30, 375_000, 125_000)]);
        assert_eq!(c.committed as u64, w.cwnd);
    }

    #[test]
    fn after_five_additive_rounds_it_multiplies_whatever_the_load() {
        let (mut c, mut w, cx) = hpcc(datacentre());
        c.full = 125_000.0;
        c.committed = 20_000.0;
        c.u = 0.5;
        let mut grown = vec![];
        for i in 0..8u64 {
            let cx = Cx { snd_una: 100 * i + 1, snd_nxt: 100 * i + 50, ..cx };
            ack(&mut c, &mut w, &cx, &[hop(10 * i, 62_500 * i, 0)]);
            grown.push(c.mode(&w));
        }
        assert_eq!(grown[5], "multiplicative", "{grown:?}");
        // U = 0.5: the sixth round nearly doubles.
        assert!(w.cwnd > 35_000, "{}", w.cwnd);
    }

    #[test]
    fn inside_tcp_it_starts_with_ten_thousand_bytes_and_halves_on_loss() {
        let (mut c, mut w, cx) = hpcc(tcp());
        assert_eq!(w.cwnd, 10_000);
        ack(&mut c, &mut w, &cx, &[hop(0, 0, 0)]);
        ack(&mut c, &mut w, &Cx { snd_una: 1, snd_nxt: 100, ..cx }, &[hop(10, 12_500, 0)]);
        // 0.05 · 12.5 MB/s · 10 ms / 2 flows.
        assert_eq!(w.cwnd, 10_000 + 3125);
        w.ssthresh = c.ssthresh(&cx, &w);
        c.on_transition(&cx, &mut w, Transition::EnterRecovery);
        assert_eq!((w.cwnd, c.committed as u64), (6562, 6562));
    }

    #[test]
    fn another_path_or_an_old_stack_is_a_baseline() {
        let (mut c, mut w, cx) = hpcc(tcp());
        ack(&mut c, &mut w, &cx, &[hop(0, 0, 0)]);
        let later = Cx { now: Nanos::from_secs(5), ..cx };
        ack(&mut c, &mut w, &later, &[hop(5000, 125_000, 0)]);
        assert_eq!(c.u, 1.0);
        ack(&mut c, &mut w, &later, &[hop(5010, 0, 0), hop(5010, 0, 0)]);
        assert_eq!((c.u, c.stack.len()), (1.0, 2));
    }
}
