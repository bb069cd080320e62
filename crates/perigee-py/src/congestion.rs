// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion controls as Python classes.
//!
//! The class receives three objects, created once per connection and refilled for every call: the
//! state of the host, the window, which it may change, and the ACK. Only methods that it defines
//! are called. Its first exception ends the run: it is stored with the simulated time, and all
//! later calls are skipped.

use perigee_run::Plugins;
use perigee_scenario::cc::{
    AckEvent, Caps, CongestionControl, ConnInit, Cx, Hop, LossEvent, LossKind, Signal, Telemetry,
    TelemetryNeed, Transition, Window, INFINITE_SSTHRESH,
};
use perigee_scenario::units::{BitRate, Nanos};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Windows and rates above this are mistakes: a terabyte, or a terabit per second.
const TOO_MUCH: f64 = 1e12;

/// State of the host at the time of a call; read-only, and valid only during the call. Each field is
/// documented below with its unit: sizes in bytes, times in nanoseconds of the run.
#[pyclass(name = "Cx", module = "perigee_lab._core")]
#[derive(Default)]
pub struct PyCx(Cx);

#[pymethods]
impl PyCx {
    /// Simulated time, in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.0
    }
    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }
    /// Bytes in flight.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }
    /// Bytes delivered since the connection started.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Bytes marked lost since the connection started.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// Smoothed RTT, in ns; None before the first sample.
    #[getter]
    fn srtt_ns(&self) -> Option<u64> {
        (self.0.srtt > Nanos::ZERO).then_some(self.0.srtt.0)
    }
    /// Lowest RTT of the last 300 s, in ns; None before the first sample.
    #[getter]
    fn min_rtt_ns(&self) -> Option<u64> {
        (self.0.min_rtt < Nanos::MAX).then_some(self.0.min_rtt.0)
    }
    /// First unacknowledged byte of the stream, a number of bytes.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }
    /// Next new byte to be sent, a number of bytes.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }
    /// State of the transport: "open", "disorder", "cwr", "recovery" or "loss".
    #[getter]
    fn state(&self) -> &'static str {
        self.0.ca.name()
    }
    /// Whether the window limited sending in the current round; Linux's schemes grow only then.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }
    /// Whether the application limited sending.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
}

/// Decisions of the scheme, which may be set at any call. The transport also modifies them
/// (recovery, undo, timeout). Each field is documented below with its unit.
#[pyclass(name = "Window", module = "perigee_lab._core")]
pub struct PyWindow(Window);

#[pymethods]
impl PyWindow {
    /// Congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }
    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.cwnd = size("cwnd", value)?;
        Ok(())
    }
    /// Slow start threshold in bytes; None = no threshold yet.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        (self.0.ssthresh < INFINITE_SSTHRESH).then_some(self.0.ssthresh)
    }
    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.ssthresh = if value.is_none() { INFINITE_SSTHRESH } else { size("ssthresh", value)? };
        Ok(())
    }
    /// Pacing rate in bits per second; None = the transport decides.
    #[getter]
    fn pacing_bps(&self) -> Option<u64> {
        self.0.pacing.map(|r| r.0)
    }
    #[setter]
    fn set_pacing_bps(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.pacing = if value.is_none() { None } else { Some(BitRate(size("pacing_bps", value)?)) };
        Ok(())
    }
    /// Time of the next call to `on_timer`, in ns of the run; None = never.
    #[getter]
    fn next_timer_ns(&self) -> Option<u64> {
        self.0.next_timer.map(|t| t.0)
    }
    #[setter]
    fn set_next_timer_ns(&mut self, value: Option<u64>) {
        self.0.next_timer = value.map(Nanos);
    }
}

/// A plausible number of bytes, or of bits per second: at least 1.
fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number: f64 = value
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a number, not {}", shown(value))))?;
    // Written such that NaN also fails.
    if !(1.0..=TOO_MUCH).contains(&number) {
        return Err(PyValueError::new_err(format!(
            "{name} must be from 1 to {TOO_MUCH:.0}, not {}",
            shown(value)
        )));
    }
    Ok(number as u64)
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".into(), |r| r.to_string())
}

/// An ACK; read-only, and valid only during the call. Each field is documented below with its unit:
/// sizes in bytes, times in nanoseconds.
#[pyclass(name = "Ack", module = "perigee_lab._core", get_all)]
#[derive(Default)]
pub struct PyAck {
    /// Bytes newly delivered, cumulatively or selectively.
    newly_acked: u64,
    /// Bytes newly marked lost.
    newly_lost: u64,
    /// RTT of the newest packet delivered, in ns; None if that packet was retransmitted.
    rtt_ns: Option<u64>,
    /// Delivery rate in bits per second; None if the sample is not usable.
    delivery_rate_bps: Option<u64>,
    /// Whether the sample was taken while the application limited sending.
    app_limited: bool,
    /// Whether growth may happen on this ACK by Linux's rules.
    may_grow: bool,
    /// Bytes newly marked with congestion experienced.
    ece: u64,
    /// Departure of the newest packet that the receiver had, in ns of the sender's clock; None if the
    /// peer does not report it.
    sent_ns: Option<i64>,
    /// Its arrival, in ns of the receiver's clock, which has an unknown offset; None if the peer
    /// does not report it.
    received_ns: Option<i64>,
    /// One-way delay plus the offset of the clocks, received_ns - sent_ns, in ns; None if the peer does
    /// not report it.
    one_way_ns: Option<i64>,
    /// Telemetry of each hop, in path order; empty unless the class requests it and the path
    /// provides it.
    hops: Vec<PyHop>,
}

/// Telemetry of one switch (with `telemetry = True`).
#[pyclass(name = "Hop", module = "perigee_lab._core", get_all, frozen)]
#[derive(Clone)]
pub struct PyHop {
    /// Rate of the outgoing link, in bit/s.
    rate_bps: u64,
    /// Bytes queued after this packet was removed.
    queue: u64,
    /// Bytes sent by the port, modulo 2^31.
    tx_bytes: u64,
    /// Time of the dequeue, in ns of the switch's clock, modulo 2^24 microseconds.
    time_ns: u64,
    /// Number of flows that use the port.
    flows: u32,
}

impl PyHop {
    fn of(hop: &Hop) -> Self {
        PyHop {
            rate_bps: hop.bw.0,
            queue: hop.q_out,
            tx_bytes: hop.tx_bytes,
            time_ns: hop.ts.0,
            flows: hop.flows,
        }
    }
}

impl PyAck {
    fn fill(&mut self, ev: &AckEvent<'_>) {
        self.newly_acked = ev.newly_acked;
        self.newly_lost = ev.newly_lost;
        self.rtt_ns = ev.rtt.map(|r| r.0);
        let usable = ev.rs.valid && ev.rs.interval > Nanos::ZERO;
        self.delivery_rate_bps = usable.then(|| BitRate::of(ev.rs.delivered, ev.rs.interval).0);
        self.app_limited = ev.rs.is_app_limited;
        self.may_grow = ev.may_grow;
        self.ece = ev.ece;
        self.sent_ns = ev.arrival.map(|a| a.sent_ns);
        self.received_ns = ev.arrival.map(|a| a.received_ns);
        self.one_way_ns = ev.arrival.map(|a| a.one_way_ns());
        self.hops.clear();
        if let Some(Telemetry::Stack { hops, .. }) = ev.telemetry {
            self.hops.extend(hops.iter().map(PyHop::of));
        }
    }
}

/// The first exception of any scheme of a run.
#[derive(Default)]
pub struct Failure {
    happened: AtomicBool,
    first: Mutex<Option<(String, Nanos, PyErr)>>,
}

impl Failure {
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }
    fn note(&self, scheme: &str, now: Nanos, error: PyErr) {
        let mut first = self.first.lock().expect("nobody panics while holding it");
        first.get_or_insert((scheme.to_string(), now, error));
        self.happened.store(true, Ordering::Relaxed);
    }
    /// Error of the run, if a scheme failed, with the time; its cause is the exception of the
    /// scheme. An interrupt during a call of a scheme is not an error of the scheme.
    pub fn take(&self, py: Python<'_>) -> Option<PyErr> {
        let (scheme, now, cause) = self.first.lock().expect("nobody panics while holding it").take()?;
        if cause.is_instance_of::<PyKeyboardInterrupt>(py) {
            return Some(cause);
        }
        let error = super::runs::RunError::new_err(format!(
            "congestion control {scheme} failed at {:.6} s of simulated time: {cause}",
            now.as_secs_f64()
        ));
        error.set_cause(py, Some(cause));
        Some(error)
    }
}

/// Plug-ins from classes, by name.
pub fn plugins(classes: &Bound<'_, PyDict>, failure: &Arc<Failure>) -> PyResult<Plugins> {
    let mut found = Plugins::default();
    for (name, class) in classes {
        let name: String = name.extract()?;
        let class = Arc::new(Class::of(&name, &class)?);
        let failure = failure.clone();
        found.insert(name, Arc::new(move |init| Box::new(PyScheme::new(&class, &failure, init))));
    }
    Ok(found)
}

/// Names of the methods, in the order of [`Method`].
const METHODS: [&str; 7] =
    ["on_start", "on_ack", "ssthresh", "on_loss", "on_transition", "on_timer", "on_signal"];

#[derive(Clone, Copy)]
enum Method {
    Start,
    Ack,
    Ssthresh,
    Loss,
    Transition,
    Timer,
    Signal,
}

/// Properties of a class, known before there is a connection.
struct Class {
    name: String,
    class: Py<PyAny>,
    caps: Caps,
    /// Methods that it defines, and whether it reports internals.
    defines: [bool; METHODS.len()],
    internals: bool,
    states: bool,
}

impl Class {
    fn of(name: &str, class: &Bound<'_, PyAny>) -> PyResult<Self> {
        let base = class.py().import("perigee_lab.extensions.congestion")?.getattr("CongestionControl")?;
        let own = |method: &str| -> PyResult<bool> {
            Ok(class.hasattr(method)? && !class.getattr(method)?.is(&base.getattr(method)?))
        };
        let mut defines = [false; METHODS.len()];
        for (is, method) in defines.iter_mut().zip(METHODS) {
            *is = own(method)?;
        }
        let kind: String = class.getattr("kind")?.extract()?;
        let mut caps = match kind.as_str() {
            "window" => Caps::WINDOW,
            "model" => Caps::MODEL,
            other => {
                let why = format!("{name}: kind is \"window\" or \"model\", not {other:?}");
                return Err(PyValueError::new_err(why));
            }
        };
        if class.getattr("telemetry")?.is_truthy()? {
            caps.telemetry = TelemetryNeed::Stack;
        }
        caps.per_loss = defines[Method::Loss as usize];
        let (internals, states) = (own("internals")?, own("state")?);
        Ok(Class { name: name.into(), class: class.clone().unbind(), caps, defines, internals, states })
    }
}

/// Instance for one connection.
struct PyScheme {
    class: Arc<Class>,
    failure: Arc<Failure>,
    init: ConnInit,
    /// Created when the connection starts, as hosts also create controllers merely to query their
    /// requirements.
    live: Option<Live>,
}

struct Live {
    methods: [Option<Py<PyAny>>; METHODS.len()],
    instance: Py<PyAny>,
    cx: Py<PyCx>,
    window: Py<PyWindow>,
    ack: Py<PyAck>,
}

impl Live {
    fn new(py: Python<'_>, class: &Class, init: &ConnInit) -> PyResult<Self> {
        let instance = class.class.bind(py).call0()?;
        let mut methods = [const { None }; METHODS.len()];
        for (i, name) in METHODS.iter().enumerate() {
            if class.defines[i] {
                methods[i] = Some(instance.getattr(*name)?.unbind());
            }
        }
        Ok(Live {
            methods,
            instance: instance.unbind(),
            cx: Py::new(py, PyCx::default())?,
            window: Py::new(py, PyWindow(init.window()))?,
            ack: Py::new(py, PyAck::default())?,
        })
    }
}

/// Arguments common to all methods.
struct Arguments<'py> {
    py: Python<'py>,
    cx: Bound<'py, PyCx>,
    window: Bound<'py, PyWindow>,
}

impl PyScheme {
    fn new(class: &Arc<Class>, failure: &Arc<Failure>, init: &ConnInit) -> Self {
        PyScheme { class: class.clone(), failure: failure.clone(), init: *init, live: None }
    }

    /// Calls a method: `how` adds the arguments of that method to the host's state and the window.
    /// Reads the window back; `read` converts the return value. None if the class has no such
    /// method, or failed.
    fn call<R>(
        &mut self,
        method: Method,
        cx: &Cx,
        w: &mut Window,
        how: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Live, Arguments<'py>) -> PyResult<Bound<'py, PyAny>>,
        read: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<R>,
    ) -> Option<R> {
        if !self.class.defines[method as usize] || self.failure.happened() {
            return None;
        }
        let live = self.live.as_ref()?;
        let answer = Python::attach(|py| -> PyResult<R> {
            live.cx.borrow_mut(py).0 = *cx;
            live.window.borrow_mut(py).0 = *w;
            let arguments =
                Arguments { py, cx: live.cx.bind(py).clone(), window: live.window.bind(py).clone() };
            let callee = live.methods[method as usize].as_ref().expect("defined");
            let answer = how(callee.bind(py), live, arguments)?;
            *w = live.window.borrow(py).0;
            if let Some(at) = w.next_timer.filter(|&at| at <= cx.now) {
                let why = format!("next_timer_ns must lie after now ({}), not {}", cx.now.0, at.0);
                return Err(PyValueError::new_err(why));
            }
            read(&answer)
        });
        answer.map_err(|e| self.failure.note(&self.class.name, cx.now, e)).ok()
    }

    /// Calls a method without further arguments, ignoring the return value.
    fn tell(&mut self, method: Method, cx: &Cx, w: &mut Window) {
        self.call(method, cx, w, |f, _, t| f.call1((t.cx, t.window)), |_| Ok(()));
    }
}

fn intern<'py>(py: Python<'py>, word: &str) -> Bound<'py, PyString> {
    PyString::intern(py, word)
}

impl CongestionControl for PyScheme {
    fn caps(&self) -> Caps {
        self.class.caps
    }

    fn on_start(&mut self, cx: &Cx, w: &mut Window) {
        match Python::attach(|py| Live::new(py, &self.class, &self.init)) {
            Ok(live) => self.live = Some(live),
            Err(e) => self.failure.note(&self.class.name, cx.now, e),
        }
        self.tell(Method::Start, cx, w);
    }

    fn on_ack(&mut self, cx: &Cx, w: &mut Window, ev: &AckEvent<'_>) {
        self.call(
            Method::Ack,
            cx,
            w,
            |f, live, t| {
                live.ack.borrow_mut(t.py).fill(ev);
                f.call1((t.cx, t.window, live.ack.bind(t.py)))
            },
            |_| Ok(()),
        );
    }

    fn ssthresh(&mut self, cx: &Cx, w: &Window) -> u64 {
        let mut window = *w;
        let answer = self.call(
            Method::Ssthresh,
            cx,
            &mut window,
            |f, _, t| f.call1((t.cx, t.window)),
            |answer| size("what ssthresh() returns", answer),
        );
        answer.unwrap_or_else(|| (w.cwnd / 2).max(2 * cx.mss as u64))
    }

    fn on_loss(&mut self, cx: &Cx, w: &mut Window, ev: &LossEvent) {
        let kind = match ev.kind {
            LossKind::Rack => "rack",
            LossKind::Rto => "rto",
        };
        self.call(
            Method::Loss,
            cx,
            w,
            |f, _, t| f.call1((t.cx, t.window, ev.bytes, intern(t.py, kind))),
            |_| Ok(()),
        );
    }

    fn on_transition(&mut self, cx: &Cx, w: &mut Window, t: Transition) {
        let name = match t {
            Transition::EnterRecovery => "enter recovery",
            Transition::ExitRecovery => "exit recovery",
            Transition::EnterRto => "enter rto",
            Transition::ExitRto => "exit rto",
            Transition::EnterCwr => "enter cwr",
            Transition::ExitCwr => "exit cwr",
            Transition::Undo(_) => "undo",
            Transition::TlpRepaired { .. } => "tlp repaired",
        };
        self.call(
            Method::Transition,
            cx,
            w,
            |f, _, t| f.call1((t.cx, t.window, intern(t.py, name))),
            |_| Ok(()),
        );
    }

    fn on_timer(&mut self, cx: &Cx, w: &mut Window) {
        self.tell(Method::Timer, cx, w);
    }

    fn on_signal(&mut self, cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        let (name, value) = match s {
            Signal::HandoverBegin { expected_end } => ("handover begin", expected_end.map(|t| t.0)),
            Signal::HandoverEnd => ("handover end", None),
            Signal::PathChange { id } => ("path change", Some(*id)),
            Signal::ProbeRtt { rtt, .. } => ("probe rtt", Some(rtt.0)),
            Signal::MssChanged(mss) => ("mss changed", Some(*mss as u64)),
            Signal::Decision { cwnd, .. } => ("decision", Some(*cwnd)),
            Signal::Custom(_) => return,
        };
        self.call(
            Method::Signal,
            cx,
            w,
            |f, _, t| f.call1((t.cx, t.window, intern(t.py, name), value)),
            |_| Ok(()),
        );
    }

    fn mode(&self, w: &Window) -> &'static str {
        if let (true, false, Some(live)) = (self.class.states, self.failure.happened(), &self.live) {
            let state = Python::attach(|py| -> PyResult<String> {
                live.instance.bind(py).call_method0("state")?.extract()
            });
            match state {
                Ok(name) => return interned(&name),
                Err(e) => self.failure.note(&self.class.name, self.init.now, e),
            }
        }
        if w.cwnd < w.ssthresh {
            "slow start"
        } else {
            "congestion avoidance"
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (true, false, Some(live)) = (self.class.internals, self.failure.happened(), &self.live) else {
            return;
        };
        let internals = Python::attach(|py| -> PyResult<Vec<(String, f64)>> {
            let found = live.instance.bind(py).call_method0("internals")?;
            found.cast::<PyDict>()?.iter().map(|(k, v)| Ok((k.extract()?, v.extract()?))).collect()
        });
        match internals {
            Ok(values) => values.into_iter().for_each(|(name, value)| out(interned(&name), value)),
            Err(e) => self.failure.note(&self.class.name, self.init.now, e),
        }
    }
}

/// Names of internals must live as long as the program: each is stored once.
fn interned(name: &str) -> &'static str {
    static KNOWN: Mutex<std::collections::BTreeSet<&'static str>> =
        Mutex::new(std::collections::BTreeSet::new());
    let mut known = KNOWN.lock().expect("nobody panics while holding it");
    if let Some(name) = known.get(name) {
        return name;
    }
    let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
    known.insert(kept);
    kept
}
