// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python functions that replace decisions of a sky: attachment, routing and ISLs. Their arguments
//! are the classes below, which docs/how-to/plugins.md documents for users.

use perigee_scenario::orbit::sky::plugin::{self, AttachFunction, IslFunction, NetView, RouteFunction};
use perigee_scenario::sources::{Function, Source, IN_MEMORY};
use perigee_scenario::units::Nanos;
use perigee_scenario::{Problem, ScenarioError};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyClass, PyClassInitializer};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A satellite in view of a ground point.
#[pyclass(frozen, get_all, module = "perigee_lab._core")]
pub struct SeenSatellite {
    number: u32,
    name: String,
    shell: Option<u32>,
    plane: Option<u32>,
    slot: Option<u32>,
    range_km: f64,
    elevation_deg: f64,
    ascending: bool,
    visible_for_s: f64,
}

/// Arguments of an attachment policy.
#[pyclass(frozen, get_all, module = "perigee_lab._core")]
pub struct AttachView {
    t_s: f64,
    node: String,
    peers: Vec<String>,
    holding: Option<u32>,
    satellites: Vec<Py<SeenSatellite>>,
}

/// Arguments of a routing function.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct RouteView(Arc<plugin::RouteView>);

/// Arguments of a function that selects ISLs.
#[pyclass(frozen, module = "perigee_lab._core")]
pub struct IslView {
    net: Arc<NetView>,
    #[pyo3(get)]
    t_s: f64,
}

/// Index of a satellite. Raises IndexError if the number is out of range.
fn satellite(net: &NetView, number: u32) -> PyResult<usize> {
    let sat = number as usize;
    match sat < net.at.len() {
        true => Ok(sat),
        false => Err(PyIndexError::new_err(format!(
            "there is no satellite {number}: numbers are below {}",
            net.at.len()
        ))),
    }
}

/// Earth-fixed position in kilometres.
fn position(net: &NetView, number: u32) -> PyResult<[f64; 3]> {
    Ok(net.at.get(satellite(net, number)?).map(|m| m / 1e3))
}

/// Shell, plane and slot; `None` for a satellite outside a grid.
type GridPlace = Option<(u32, u32, u32)>;

fn grid_place(net: &NetView, number: u32) -> PyResult<GridPlace> {
    Ok(net.places[satellite(net, number)?].map(|p| (p.shell, p.plane, p.slot)))
}

#[pymethods]
impl RouteView {
    /// Simulated time in seconds.
    #[getter]
    fn t_s(&self) -> f64 {
        self.0.t.as_secs_f64()
    }
    /// Name of the sending end.
    #[getter]
    fn origin(&self) -> &str {
        &self.0.ends[0]
    }
    /// Name of the receiving end.
    #[getter]
    fn target(&self) -> &str {
        &self.0.ends[1]
    }
    /// Satellites that the origin may use.
    #[getter]
    fn first(&self) -> Vec<u32> {
        self.0.gates[0].iter().map(|a| a.sat).collect()
    }
    /// Satellites that the target may use.
    #[getter]
    fn last(&self) -> Vec<u32> {
        self.0.gates[1].iter().map(|a| a.sat).collect()
    }
    /// The path that packets take without the function; `None` = no path.
    #[getter]
    fn shortest(&self) -> Option<Vec<u32>> {
        self.0.shortest.clone()
    }
    /// Number of satellites.
    #[getter]
    fn satellites(&self) -> usize {
        self.0.net.at.len()
    }
    /// Up to `k` paths without a common satellite, shortest first.
    fn disjoint(&self, k: usize) -> Vec<Vec<u32>> {
        self.0.disjoint(k)
    }
    /// Satellites linked to a satellite, each with the delay of the link in milliseconds. Raises
    /// IndexError.
    fn neighbours(&self, number: u32) -> PyResult<Vec<(u32, f64)>> {
        satellite(&self.0.net, number)?;
        Ok(self.0.net.neighbours(number).into_iter().map(|(s, d)| (s, d.as_millis_f64())).collect())
    }
    /// Earth-fixed position in kilometres. Raises IndexError.
    fn position_km(&self, number: u32) -> PyResult<[f64; 3]> {
        position(&self.0.net, number)
    }
    /// Shell, plane and slot; `None` for a satellite outside a grid. Raises IndexError.
    fn place(&self, number: u32) -> PyResult<GridPlace> {
        grid_place(&self.0.net, number)
    }
}

#[pymethods]
impl IslView {
    /// Number of satellites.
    #[getter]
    fn satellites(&self) -> usize {
        self.net.at.len()
    }
    /// Earth-fixed position in kilometres. Raises IndexError.
    fn position_km(&self, number: u32) -> PyResult<[f64; 3]> {
        position(&self.net, number)
    }
    /// Shell, plane and slot; `None` for a satellite outside a grid. Raises IndexError.
    fn place(&self, number: u32) -> PyResult<GridPlace> {
        grid_place(&self.net, number)
    }
}

/// Gate of calls into Python, closed before the interpreter shuts down. A timeline is generated
/// ahead in a separate thread, which is never joined; if that thread entered Python during the
/// shutdown, the process would abort.
struct Gate {
    calls: Mutex<Calls>,
    /// Notified at the end of each call.
    left: Condvar,
}

struct Calls {
    /// Python's thread identifier of each call in progress; zero until it is known.
    threads: Vec<u64>,
    closed: bool,
}

static GATE: Gate =
    Gate { calls: Mutex::new(Calls { threads: Vec::new(), closed: false }), left: Condvar::new() };

/// Maximum time for which the shutdown of the interpreter waits for calls in progress.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Exit code of the process if a call is still in progress after [`SHUTDOWN_TIMEOUT`]; by default
/// that of an interrupt.
static EXIT_CODE: AtomicI32 = AtomicI32::new(130);

impl Gate {
    /// Locks the calls. A panic elsewhere leaves them consistent, as each change is a single step.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the interpreter attached, unless it is shutting down.
    fn call<R>(&self, f: impl FnOnce(Python<'_>) -> Result<R, String>) -> Result<R, String> {
        // Zero in the first call of a thread; Python's identifiers are nonzero.
        let known = THREAD.get();
        {
            let mut calls = self.calls();
            if calls.closed {
                return Err("the Python interpreter is shutting down".into());
            }
            calls.threads.push(known);
        }
        let leave = Leave(self);
        let result = Python::attach(|py| {
            if known == 0 {
                self.name_thread(py)?;
            }
            f(py)
        });
        drop(leave);
        result
    }

    /// Records Python's identifier of this thread.
    fn name_thread(&self, py: Python<'_>) -> Result<(), String> {
        let number = py.import("threading").and_then(|m| m.call_method0("get_ident")?.extract());
        let number: u64 = number.map_err(|e| e.to_string())?;
        THREAD.set(number);
        if let Some(mine) = self.calls().threads.iter_mut().find(|n| **n == 0) {
            *mine = number;
        }
        Ok(())
    }
}

thread_local! {
    /// Python's identifier of this thread; zero until it is known.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Guard that ends a call, even in case of a panic.
struct Leave<'a>(&'a Gate);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut calls = self.0.calls();
        let mine = THREAD.get();
        if let Some(place) = calls.threads.iter().position(|&n| n == mine) {
            calls.threads.swap_remove(place);
        }
        drop(calls);
        self.0.left.notify_all();
    }
}

/// Prevents further calls of functions of a sky and waits for those in progress. Called when the
/// interpreter shuts down. A call that does not return in time would abort the shutdown; the
/// process exits here instead.
#[pyfunction]
pub fn close_plugins(py: Python<'_>) {
    let stuck = py.detach(|| {
        let mut calls = GATE.calls();
        calls.closed = true;
        let waited = GATE.left.wait_timeout_while(calls, SHUTDOWN_TIMEOUT, |c| !c.threads.is_empty());
        waited.map_or(true, |(_, timeout)| timeout.timed_out())
    });
    if stuck {
        for stream in ["stdout", "stderr"] {
            // Output that cannot be flushed is lost either way.
            let _ = py.import("sys").and_then(|sys| sys.getattr(stream)?.call_method0("flush"));
        }
        std::process::exit(EXIT_CODE.load(Ordering::Relaxed));
    }
}

/// Sets the exit code of a process that ends while a function is still in progress.
#[pyfunction]
pub fn ends_with(code: i32) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

/// Threads (by `threading.get_ident`) in which a function of a sky is in progress.
#[pyfunction]
pub fn plugin_threads() -> Vec<u64> {
    GATE.calls().threads.iter().copied().filter(|&n| n != 0).collect()
}

/// A Python function, with its name in reports.
struct Call {
    function: Py<PyAny>,
    name: String,
}

impl Call {
    /// Calls the function with a view. `expected` describes valid results, for errors.
    ///
    /// # Errors
    /// The exception with its line, or a result of another type.
    fn invoke<'py, V, T>(&self, py: Python<'py>, view: V, expected: &str) -> Result<T, String>
    where
        V: Into<PyClassInitializer<V>> + PyClass,
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let view = Py::new(py, view).map_err(|e| e.to_string())?;
        let result = self.function.bind(py).call1((view,)).map_err(|e| raised(py, &e))?;
        let shown = result.repr().map_or("a value".to_string(), |r| r.to_string());
        result.extract().map_err(|_| format!("it returned {shown}; expected {expected}"))
    }
}

/// Text of an exception, with the last line of the user-supplied file in its traceback.
fn raised(py: Python<'_>, e: &PyErr) -> String {
    let value = e.value(py);
    let at = e.traceback(py).map_or(Ok(()), |tb| value.setattr("__traceback__", tb));
    let line = at
        .and_then(|()| py.import("perigee_lab.extensions.plugins"))
        .and_then(|m| m.call_method1("where_raised", (value,)))
        .and_then(|w| w.extract::<String>());
    format!("it raised {e}{}", line.unwrap_or_default())
}

impl AttachFunction for Call {
    fn name(&self) -> &str {
        &self.name
    }
    fn choose(&self, v: plugin::AttachView) -> Result<Option<u32>, String> {
        GATE.call(|py| {
            let seen = |s: plugin::VisibleSatellite| {
                let satellite = SeenSatellite {
                    number: s.sat,
                    name: s.name,
                    shell: s.place.map(|p| p.shell),
                    plane: s.place.map(|p| p.plane),
                    slot: s.place.map(|p| p.slot),
                    range_km: s.range_m / 1e3,
                    elevation_deg: s.elevation_deg,
                    ascending: s.ascending,
                    visible_for_s: s.visible_for.as_secs_f64(),
                };
                Py::new(py, satellite)
            };
            let satellites: PyResult<Vec<_>> = v.seen.into_iter().map(seen).collect();
            let view = AttachView {
                t_s: v.t.as_secs_f64(),
                node: v.node,
                peers: v.peers,
                holding: v.holding,
                satellites: satellites.map_err(|e| e.to_string())?,
            };
            let choice: Choice =
                self.invoke(py, view, "a satellite of view.satellites, its number, or None")?;
            Ok(match choice {
                Choice::Satellite(s) => Some(s.get().number),
                Choice::Number(n) => n,
            })
        })
    }
}

/// Results that an attachment policy may return.
#[derive(FromPyObject)]
enum Choice {
    Satellite(Py<SeenSatellite>),
    Number(Option<u32>),
}

impl RouteFunction for Call {
    fn name(&self) -> &str {
        &self.name
    }
    fn route(&self, view: &Arc<plugin::RouteView>) -> Result<Option<Vec<u32>>, String> {
        let expected = "a list of satellite numbers from origin to target, or None";
        GATE.call(|py| self.invoke(py, RouteView(view.clone()), expected))
    }
}

impl IslFunction for Call {
    fn name(&self) -> &str {
        &self.name
    }
    fn links(&self, t: Nanos, net: &Arc<NetView>) -> Result<Vec<(u32, u32)>, String> {
        let view = IslView { net: net.clone(), t_s: t.as_secs_f64() };
        GATE.call(|py| self.invoke(py, view, "a list of pairs of satellite numbers"))
    }
}

/// Loads the functions that a scenario names. `given` has those that exist only in memory, by key
/// (`attach`, `route`, `isls`).
///
/// # Errors
/// A function that its file does not define, a file that cannot be loaded, or a function in memory
/// that `given` lacks; with the key and its place in the scenario.
pub fn load(
    py: Python<'_>,
    mut scenario: perigee_scenario::Scenario,
    given: Option<&Bound<'_, PyDict>>,
) -> Result<perigee_scenario::Scenario, ScenarioError> {
    let Source::Constellation(c) = &scenario.source else { return Ok(scenario) };
    for f in c.functions() {
        let call = Arc::new(load_one(py, &f, given)?);
        match f.key {
            "attach" => scenario.plugins.attach = Some(call),
            "route" => scenario.plugins.route = Some(call),
            _ => scenario.plugins.isls = Some(call),
        }
    }
    Ok(scenario)
}

fn load_one(py: Python<'_>, f: &Function, given: Option<&Bound<'_, PyDict>>) -> Result<Call, ScenarioError> {
    let key = format!("source.constellation.{}", f.key);
    let in_memory = given.and_then(|g| g.get_item(f.key).ok().flatten());
    if let Some(call) = in_memory {
        return Ok(Call { function: call.unbind(), name: f.name.clone() });
    }
    let wrong = |why: String| ScenarioError::from(Problem::new(key.clone(), why).at(&f.place));
    if f.file.ends_with(IN_MEMORY) {
        return Err(wrong(format!(
            "function {} was defined in memory: pass it to perigee.load() again",
            f.name
        )));
    }
    let found = py
        .import("perigee_lab.extensions.plugins")
        .and_then(|m| m.call_method1("function", (f.file.display().to_string(), f.name.as_str())));
    let call = found.map_err(|e| wrong(e.value(py).to_string()))?;
    let file = f.file.file_name().unwrap_or_default().to_string_lossy();
    Ok(Call { function: call.unbind(), name: format!("{file}:{}", f.name) })
}
