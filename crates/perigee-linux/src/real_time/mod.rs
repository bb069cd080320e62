// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network driven by wall-clock time, for programs that cannot run in virtual time: its hosts are
//! namespaces of this machine's kernel. Only the clock differs from virtual time: packets enter at
//! the instants at which the kernel received them, and are handed over when due or later; the
//! lateness is measured.

pub mod lateness;
mod ping;
mod plan;

use crate::border::{self, Border, Strays};
use crate::carrier::{Carriers, Listener as CarrierListener};
use crate::guests::refused;
use crate::observe::Hosted;
use crate::ping::{Beginning, Pings, LENGTH};
use crate::plan::{HostPlan, Program, Schemes, ENVIRONMENT};
use crate::programs::Programs;
use crate::{broken, check_draws, drawn, Listener, PROGRAMS};
use lateness::LATE;
pub use lateness::{Lateness, Measured, Summary};
use perigee_backend::recorder::FrameTap;
use perigee_backend::recording::{begin_record, failed, run_and_record, simulator_options, Records};
use perigee_backend::routes::RouteListener;
use perigee_backend::setups::Plugins;
use perigee_backend::{Backend, BackendError, Inputs};
use perigee_guest::live::Live;
use perigee_record::RecordSink;
use perigee_sim::{FlowSetup, RunOutcome, Simulation};
use perigee_timeline::{Header, Workload};
use perigee_units::Nanos;
use ping::Namespaces;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Lag beyond which the run counts as late.
const BEHIND: Nanos = Nanos::from_millis(20);
/// Timeout for the samples at the end of the run.
const LAST_SAMPLES: Nanos = Nanos::from_millis(500);
/// Maximum wait between calls of the progress callback and checks for Ctrl-C.
const LOOK: Nanos = Nanos::from_millis(100);
/// Events due within this time are waited for together, after which the clock is read again.
const TOGETHER: Nanos = Nanos(10_000);

/// Hosts in real time.
#[derive(Clone, Default)]
pub struct RealTimeHosts {
    /// Command that creates the namespaces.
    pub command: Vec<String>,
    /// Whether flows without `hosts` also have real hosts.
    pub all_flows: bool,
    /// Names of the hosts connected to interfaces of this machine.
    pub apart: Vec<String>,
    /// Nodes with interfaces that lose their carrier in outages.
    pub carrier: Vec<String>,
    /// Programs on the hosts.
    pub programs: Vec<Program>,
    /// Time that programs have to exit after the end of the run; zero = none.
    pub grace: Nanos,
    /// Bytes kept of each output stream of a program.
    pub output_limit: u64,
    /// Receives reports about the programs.
    pub listener: Option<Listener>,
    /// Schemes of simulated flows.
    pub plugins: Plugins,
    /// Timing of the run, available once it has ended.
    pub measured: Arc<Mutex<Measured>>,
}

impl Backend for RealTimeHosts {
    fn name(&self) -> &'static str {
        "real-time"
    }

    fn has_scheme(&self, name: &str) -> bool {
        self.plugins.contains_key(name) || (perigee_cc::info(name).is_none() && self.has(name))
    }

    fn setups(&self, header: &Header, workload: &Workload) -> Result<Vec<FlowSetup>, BackendError> {
        Ok(self.plan(header, workload)?.1)
    }

    fn check(&self, header: &Header, workload: &Workload) -> Result<(), BackendError> {
        let (plan, setups) = self.plan(header, workload)?;
        check_draws(&plan, &setups)
    }

    fn run(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        run_and_record(self, inputs, sink, progress)
    }

    fn manifest(&self) -> BTreeMap<&'static str, serde_json::Value> {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        BTreeMap::from([("real_time", json!(*measured))])
    }
}

impl Records for RealTimeHosts {
    fn record<const PACKETS: bool>(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        let Inputs { header, changes, workload, options } = inputs;
        let (plan, setups) = self.plan(header, workload)?;
        let (beginning, changes) = Beginning::of(changes, LENGTH)?;
        let watched = CarrierListener::new(changes, header, &plan.nodes, &plan.carrier);
        let carriers = watched.carriers();
        let mut source = RouteListener::new(watched, header);
        let about = (self.name(), header, workload, &options);
        let recorder = begin_record::<PACKETS>(about, &setups, &source, sink)?;
        let simulated = simulator_options(&options);
        let simulation = Simulation::new(header, Box::new(&mut source), setups.clone(), simulated);
        let simulation = simulation.map_err(failed)?;
        let sink_failed = recorder.failed();
        let mut job = drawn(&plan, &setups, &simulator_options(&options), &options)?;
        job.output_limit = Some(self.output_limit);
        for command in &mut job.commands {
            // The environment of guests is removed: in real time, programs have the user's
            // environment and the variables added to it.
            command.environment.drain(..ENVIRONMENT.len());
        }
        let pings = Pings::of(&plan, &setups);
        job.pings.clone_from(&pings.job.pings);
        let mut live = Live::make(&self.command, &job).map_err(refused)?;
        let mut hosts = Namespaces { live: &mut live, pings: job.pings.len(), arrived: Vec::new() };
        let pinged = pings.check(header, &beginning, &|| beginning.reader(), &mut hosts)?;
        let mut clocked = Clocked {
            live,
            carriers,
            simulation,
            observer: Hosted::new(recorder, &plan, workload),
            programs: Programs::new(&self.programs, self.listener.as_ref()),
            plan: &plan,
            end: header.duration,
            strays: Strays::new(),
            delivered: Lateness::default(),
            entered: Lateness::default(),
            refused: 0,
            stalls: 0,
            longest_stall: Nanos::ZERO,
        };
        let mut progress = |now| !sink_failed.get() && progress(now);
        let went = clocked.run(&mut progress);
        let ended =
            if matches!(went, Ok(false)) { clocked.end_programs(self.grace, &mut progress) } else { None };
        let measured = clocked.measured();
        let notes = border::remarks(&plan, &clocked.strays).chain(clocked.carriers.remarks(&plan));
        let remarks = pinged
            .into_iter()
            .chain(notes)
            .chain(measured.warnings())
            .chain(clocked.programs.remarks())
            .chain(ended)
            .collect();
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = measured;
        let (observer, mut outcome) = clocked.finish();
        let broken = broken(&went);
        if broken.is_none() {
            observer.check_connections(workload)?;
        }
        outcome.stopped = went.unwrap_or(true);
        let recorder = observer.finish(&mut outcome.flows);
        (outcome.remarks, outcome.broken) = (remarks, broken);
        recorder.finish(&source, outcome).map_err(failed)
    }
}

impl RealTimeHosts {
    /// Congestion controls of the kernel, by their names in the kernel.
    pub fn schemes(&self) -> Vec<String> {
        Schemes::of_machine().names().into_iter().map(String::from).collect()
    }

    /// Whether this machine's kernel has a congestion control, by Perigee's name or its own.
    pub fn has(&self, scheme: &str) -> bool {
        scheme == PROGRAMS || Schemes::of_machine().find(scheme).is_ok()
    }

    /// Plan of real flows and flows of programs, and all flows as set up for the simulator.
    ///
    /// # Errors
    /// The first flow that cannot be carried; programs at nodes without a flow.
    pub fn plan(
        &self,
        header: &Header,
        workload: &Workload,
    ) -> Result<(HostPlan, Vec<FlowSetup>), BackendError> {
        let schemes = Schemes::of_machine();
        let RealTimeHosts { programs, all_flows, apart, .. } = self;
        let mut plan = HostPlan::in_real_time(header, workload, &schemes, programs, *all_flows, apart)?;
        plan.set_carrier(&self.carrier)?;
        let setups = plan.setups(header, workload, &self.plugins)?;
        Ok((plan, setups))
    }
}

/// A network driven by wall-clock time.
struct Clocked<'p, 's, O> {
    plan: &'p HostPlan,
    live: Live,
    carriers: Carriers,
    simulation: Simulation<'s>,
    observer: Hosted<'p, O>,
    programs: Programs<'p>,
    /// Last simulated instant.
    end: Nanos,
    strays: Strays,
    delivered: Lateness,
    entered: Lateness,
    refused: u64,
    stalls: u64,
    longest_stall: Nanos,
}

impl<'p, O: FrameTap> Clocked<'p, '_, O> {
    /// Runs to the end, or until `progress` returns false, in which case it returns true.
    fn run(&mut self, progress: &mut dyn FnMut(Nanos) -> bool) -> Result<bool, BackendError> {
        self.live.start().map_err(refused)?;
        let mut due = Nanos::ZERO;
        loop {
            let now = self.live.now();
            self.note_stall(now.saturating_sub(due));
            self.let_packets_enter()?;
            // Packets that arrive from here on are not older than `now`.
            let until = now.min(self.end + Nanos(1));
            self.simulation.advance(until, &mut self.observer).map_err(failed)?;
            self.hand_over();
            self.set_carriers()?;
            self.take_reports()?;
            if self.simulation.reached() > self.end {
                self.await_last_samples()?;
                return Ok(false);
            }
            if !progress(self.simulation.reached()) {
                return Ok(true);
            }
            let next = self.simulation.next_event().min(self.end).max(now + TOGETHER);
            due = next.min(now + LOOK);
            self.live.wait(due).map_err(failed)?;
        }
    }

    fn note_stall(&mut self, late: Nanos) {
        if late > BEHIND {
            self.stalls += 1;
            self.longest_stall = self.longest_stall.max(late);
        }
    }

    fn let_packets_enter(&mut self) -> Result<(), BackendError> {
        for frame in self.live.receive().map_err(failed)? {
            let reached = self.simulation.reached();
            self.entered.add(reached.saturating_sub(frame.at));
            let at = frame.at.max(reached);
            if at > self.end {
                continue;
            }
            let Clocked { plan, simulation, observer, strays, .. } = self;
            Border { plan, simulation, observer, strays }.enter(frame.interface, at, &frame.bytes)?;
        }
        Ok(())
    }

    /// Hands delivered packets over to hosts.
    fn hand_over(&mut self) {
        let Clocked { plan, simulation, observer, strays, live, delivered, refused, .. } = self;
        Border { plan, simulation, observer, strays }.leave(|at, to, frame| {
            if live.deliver(to, &frame()) {
                delivered.add(live.now().saturating_sub(at));
            } else {
                *refused += 1;
            }
        });
    }

    /// Applies carrier changes of the timeline to interfaces.
    fn set_carriers(&mut self) -> Result<(), BackendError> {
        for change in self.carriers.due(self.simulation.reached()) {
            self.live.set_carrier(change.host, change.carrier).map_err(failed)?;
        }
        Ok(())
    }

    fn take_reports(&mut self) -> Result<(), BackendError> {
        for report in self.live.reports().map_err(|e| self.blamed(e))? {
            if self.programs.update(&report) {
                // No awaited program is left: the run ends now.
                self.end = self.end.min(self.simulation.reached());
            }
            self.observer.take_report(report);
        }
        Ok(())
    }

    /// Waits for samples of the end, which may arrive late on a busy machine: without them the
    /// totals would be those of an earlier sample.
    fn await_last_samples(&mut self) -> Result<(), BackendError> {
        let until = self.live.now() + LAST_SAMPLES;
        while self.observer.awaits_last_samples() && self.live.now() < until {
            self.live.wait(self.live.now() + TOGETHER * 100).map_err(failed)?;
            // Packets that arrive now are irrelevant, but would end every wait.
            drop(self.live.receive().map_err(failed)?);
            self.take_reports()?;
        }
        Ok(())
    }

    /// Lets programs exit for up to `grace` after the end, when no packets are carried. Returns a
    /// warning if the namespaces fail.
    fn end_programs(&mut self, grace: Nanos, progress: &mut dyn FnMut(Nanos) -> bool) -> Option<String> {
        if grace == Nanos::ZERO || self.plan.job.commands.is_empty() {
            return None;
        }
        self.programs.ending(self.end);
        self.wait_for_programs(self.live.now() + grace, progress)
            .err()
            .map(|e| format!("while programs were given time to exit: {e}"))
    }

    fn wait_for_programs(
        &mut self,
        until: Nanos,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        self.live.end_programs().map_err(failed)?;
        while self.live.now() < until && progress(self.end) {
            for report in self.live.reports().map_err(failed)? {
                if self.programs.update_after_end(&report) {
                    return Ok(());
                }
            }
            self.live.wait(until.min(self.live.now() + LOOK)).map_err(failed)?;
            // Packets that arrive now are irrelevant, but would end every wait.
            drop(self.live.receive().map_err(failed)?);
        }
        Ok(())
    }

    /// Adds the programs that ran to an error.
    fn blamed(&self, e: perigee_guest::GuestError) -> BackendError {
        match &self.programs.running()[..] {
            [] => failed(e),
            running => failed(format!("{e}\nrunning in them: {}", running.join("; "))),
        }
    }

    /// Ends hosts and network; returns the observer and the network's outcome.
    fn finish(self) -> (Hosted<'p, O>, RunOutcome) {
        (self.observer, self.simulation.finish())
    }

    fn measured(&self) -> Measured {
        let mut measured = Measured {
            delivered: self.delivered.summary(),
            entered: self.entered.summary(),
            stalls: self.stalls,
            longest_stall_us: self.longest_stall.0 as f64 / 1e3,
            lost: self.live.overruns(),
            refused: self.refused,
            late: false,
        };
        measured.late = self.delivered.percentile(0.99) > LATE || self.stalls > 0;
        measured
    }
}
