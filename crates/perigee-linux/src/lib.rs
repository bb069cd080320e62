// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real Linux hosts as a backend: the flows' ends are kernels, the network is the simulator's, in
//! virtual time.
//!
//! Layers:
//! * [`plan`]: selection of real flows, and the jobs of their hosts; [`options`]: transport
//!   options;
//! * [`guests`]: their kernels;
//! * [`applications`]: draws made in advance for those that do not send all the time;
//! * [`programs`]: state of programs, and how they ended; `ending`: their time to exit;
//! * [`frames`]: frames of hosts ↔ packets of the network; [`meter`], [`arrivals`]: measurements
//!   from packets; [`conversations`]: those of programs;
//! * [`ping`]: check before a run that hosts and network are connected as configured;
//! * [`carrier`]: carrier loss of interfaces;
//! * [`border`]: frame ingress and egress; [`notices`]: notices of handovers to programs;
//! * [`real_time`]: the same network driven by wall-clock time, for namespaces instead of guests;
//! * [`observe`]: reports of hosts, merged with those of the simulator.
//!
//! Simulator and kernel take turns. The network reports the packets that are certain to arrive at
//! hosts, which are those on their last links, and the time up to which this is complete. The
//! kernel runs freely until then, followed by the network, with the packets that the kernel has
//! sent. Packets from the kernel enter the network at the nanosecond of their kick; packets
//! delivered by the network at an instant reach the kernel one nanosecond later, when all events of
//! that instant have been executed.

pub mod applications;
pub mod arrivals;
pub mod border;
pub mod carrier;
pub mod conversations;
mod ending;
pub mod frames;
pub mod guests;
pub mod meter;
pub mod notices;
pub mod observe;
pub mod options;
pub mod pace;
pub mod ping;
pub mod plan;
pub mod probes;
pub mod programs;
pub mod real_time;

use border::{Border, Strays};
use carrier::{Carriers, Listener as CarrierListener};
use guests::{Guests, Sent};
use observe::Hosted;
use pace::{Keyboard, Pace, Waited};
use perigee_backend::recorder::FrameTap;
use perigee_backend::recording::{begin_record, failed, run_and_record, simulator_options, Records};
use perigee_backend::routes::RouteListener;
use perigee_backend::setups::Plugins;
use perigee_backend::{Backend, BackendError, Inputs, RunOptions};
use perigee_guest::job::{Job, EPOCH, MTU};
use perigee_guest::report::Report;
use perigee_guest::{report, Busy, GuestError, Offer};
use perigee_record::RecordSink;
use perigee_sim::{FlowSetup, RunOutcome, Simulation};
use perigee_telemetry::wire::stack_bytes;
use perigee_timeline::{Header, Workload};
use perigee_units::Nanos;
use ping::{Beginning, Pings};
pub use plan::HostPrograms;
use plan::{HostPlan, Program, Schemes, LONGER_HEADER};
use programs::Programs;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Scheme of flows that carry the traffic of programs.
pub const PROGRAMS: &str = "programs";

/// Wall-clock time between two calls of the progress callback.
const LOOK: Duration = Duration::from_millis(50);

/// Delay from the delivery of a packet by the network to its arrival at a host.
const HAND_OVER: Nanos = Nanos(1);

/// CPU seconds per frame of a real host, in total (design/performance.md).
pub const FRAME_CPU_S: f64 = 7e-6;

/// Linux hosts.
#[derive(Clone, Default)]
pub struct LinuxHosts {
    /// Folder with the kernel's binary (`linux`) and the agent (`agent`), as created by `perigee
    /// kernel build`.
    pub kernel: PathBuf,
    /// Congestion controls of that kernel in addition to those of the default configuration.
    pub modules: Vec<String>,
    /// Schemes of simulated flows.
    pub plugins: Plugins,
    /// Programs on the hosts.
    pub programs: Vec<Program>,
    /// Folders of this machine that programs may modify.
    pub writable: Vec<PathBuf>,
    /// Whether each host has its own kernel.
    pub own_kernels: bool,
    /// Whether interfaces segment large TCP packets.
    pub offload: bool,
    /// Nodes with interfaces that lose their carrier in outages.
    pub carrier: Vec<String>,
    /// Time that programs have to exit after the end of the run; zero = none.
    pub grace: Nanos,
    /// Bytes kept of each output stream of a program.
    pub output_limit: u64,
    /// Receives reports about programs, in order of simulated time.
    pub listener: Option<Listener>,
    /// Keyboard of a program with a terminal.
    pub keyboard: Option<Keyboard>,
}

/// Receiver of reports about programs: start, output, exit.
pub type Listener = Arc<Mutex<dyn FnMut(&Report) + Send>>;

impl Backend for LinuxHosts {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn has_scheme(&self, name: &str) -> bool {
        self.plugins.contains_key(name) || (perigee_cc::info(name).is_none() && self.has(name))
    }

    fn setups(&self, header: &Header, workload: &Workload) -> Result<Vec<FlowSetup>, BackendError> {
        Ok(self.plan(header, workload)?.1)
    }

    fn check(&self, header: &Header, workload: &Workload) -> Result<(), BackendError> {
        for file in ["linux", "agent"] {
            if !self.kernel.join(file).is_file() {
                let folder = self.kernel.display();
                let why =
                    format!("{folder} has no file {file:?}: build a kernel with `perigee kernel build`");
                return Err(BackendError::Failed(why));
            }
        }
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
}

impl Records for LinuxHosts {
    fn record<const PACKETS: bool>(
        &self,
        inputs: Inputs<'_>,
        sink: &mut dyn RecordSink,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(), BackendError> {
        let Inputs { header, changes, workload, options } = inputs;
        self.check(header, workload)?;
        let (plan, setups) = self.plan(header, workload)?;
        let (beginning, changes) = Beginning::of(changes, ping::LENGTH)?;
        let pinged = self.ping(header, &beginning, &plan, &setups, options.seed)?;
        let watched = CarrierListener::new(changes, header, &plan.nodes, &plan.carrier);
        let carriers = watched.carriers();
        let mut source = RouteListener::new(watched, header);
        let about = (self.name(), header, workload, &options);
        let recorder = begin_record::<PACKETS>(about, &setups, &source, sink)?;
        let simulated = simulator_options(&options);
        let job = Job {
            writable: self.writable.clone(),
            output_limit: Some(self.output_limit),
            ..drawn(&plan, &setups, &simulated, &options)?
        };
        let simulation = Simulation::new(header, Box::new(&mut source), setups, simulated);
        let simulation = simulation.map_err(failed)?;
        let sink_failed = recorder.failed();
        let guests = Guests::boot(&self.kernel, &job, &plan.kernels, options.seed, self.offer())?;
        let observer = Hosted::new(recorder, &plan, workload);
        let programs = Programs::new(&self.programs, self.listener.as_ref());
        let end = header.duration;
        let mut turns = Turns {
            plan: &plan,
            guests,
            carriers,
            simulation,
            observer,
            programs,
            pace: self.keyboard.clone().map(Pace::new),
            end,
            outgoing: VecDeque::new(),
            given_until: Nanos::ZERO,
            ran_until: Nanos::ZERO,
            given: 0,
            looked: perigee_guest::wall_clock::now(),
            strays: Strays::new(),
        };
        turns.set_up()?;
        let mut progress = |now| !sink_failed.get() && progress(now);
        let went = turns.run(&mut progress);
        let ended =
            if matches!(went, Ok(false)) { turns.end_programs(self.grace, &mut progress) } else { None };
        let mut remarks: Vec<String> = pinged.into_iter().chain(turns.remarks()).chain(ended).collect();
        remarks.extend(turns.carriers.remarks(&plan));
        if !self.programs.is_empty() {
            remarks.extend(plan.host_name_notes(header));
        }
        let (observer, mut outcome) = turns.finish();
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

impl LinuxHosts {
    /// Pings between the hosts of all flows, over the network at time zero. Returns the pings of
    /// unknown outcome.
    fn ping(
        &self,
        header: &Header,
        beginning: &Beginning,
        plan: &HostPlan,
        setups: &[FlowSetup],
        seed: u64,
    ) -> Result<Vec<String>, BackendError> {
        let pings = Pings::of(plan, setups);
        if plan.kernels.is_empty() {
            return Ok(Vec::new());
        }
        let mut hosts = pings.boot(&self.kernel, seed)?;
        pings.check(header, beginning, &|| beginning.reader(), &mut hosts)
    }

    fn offer(&self) -> Offer {
        Offer { offload: self.offload, carrier: !self.carrier.is_empty() }
    }

    /// Congestion controls of the kernel, by their names in the kernel.
    pub fn schemes(&self) -> Vec<String> {
        plan::IN_KERNEL.iter().map(|s| s.to_string()).chain(self.modules.iter().cloned()).collect()
    }

    /// Whether the kernel has a congestion control, by Perigee's name or its own; with programs,
    /// [`PROGRAMS`] represents whatever they use.
    pub fn has(&self, scheme: &str) -> bool {
        let theirs = scheme == PROGRAMS && !self.programs.is_empty();
        theirs || Schemes::Built(&self.modules).find(scheme).is_ok()
    }

    /// Plan of the real flows, and all flows as set up for the simulator.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    pub fn plan(
        &self,
        header: &Header,
        workload: &Workload,
    ) -> Result<(HostPlan, Vec<FlowSetup>), BackendError> {
        let mut plan = HostPlan::new(header, workload, &Schemes::Built(&self.modules), &self.programs)?;
        plan.kernels = guests::divide(plan.nodes.len(), self.own_kernels)?;
        plan.check_kernels(workload)?;
        plan.set_carrier(&self.carrier)?;
        let setups = plan.setups(header, workload, &self.plugins)?;
        Ok((plan, setups))
    }
}

/// Rejects flows with more draws than a job can hold.
///
/// # Errors
/// See [`drawn`].
fn check_draws(plan: &HostPlan, setups: &[FlowSetup]) -> Result<(), BackendError> {
    // The number of draws hardly depends on the seed.
    let options = RunOptions::default();
    drawn(plan, setups, &simulator_options(&options), &options).map(|_| ())
}

/// Job of the plan with all draws made for a run.
///
/// # Errors
/// If a flow draws more values than a job can hold.
fn drawn(
    plan: &HostPlan,
    setups: &[FlowSetup],
    simulated: &perigee_sim::Options,
    options: &RunOptions,
) -> Result<Job, BackendError> {
    let mut job = plan.job.clone();
    job.sample = options.sample;
    make_room(&mut job, options.max_hops);
    for p in &mut job.probes {
        p.start = simulated.start_of(&setups[p.flow as usize]);
    }
    for t in &mut job.transfers {
        let setup = &setups[t.flow as usize];
        t.start = simulated.start_of(setup);
        let time = t.stop.saturating_sub(t.start);
        let drawn = applications::of(&setup.app, simulated.seed_of(setup), time);
        t.application = drawn.map_err(|why| BackendError::Unsupported { flow: setup.name.clone(), why })?;
    }
    Ok(job)
}

/// Reason if a run ended early; its results until then are kept.
fn broken(went: &Result<bool, BackendError>) -> Option<String> {
    went.as_ref().err().map(|e| e.to_string().trim_end().to_owned())
}

/// Sizes the packets of hosts with transfers that carry telemetry of up to `hops` ports.
fn make_room(job: &mut Job, hops: usize) {
    let room = stack_bytes(hops) + u32::from(LONGER_HEADER);
    let ends: Vec<usize> = job.transfers.iter().filter(|t| t.ipv6).flat_map(|t| [t.from, t.to]).collect();
    for host in ends {
        job.hosts[host].mtu = Some(MTU + room);
        job.hosts[host].set("net.ipv4.tcp_orbcc_hops", hops.to_string());
    }
}

/// A kernel and a network that take turns.
struct Turns<'p, 's, O> {
    plan: &'p HostPlan,
    guests: Guests,
    carriers: Carriers,
    simulation: Simulation<'s>,
    observer: Hosted<'p, O>,
    programs: Programs<'p>,
    /// Pacing, if a user watches the run.
    pace: Option<Pace>,
    /// Last simulated instant.
    end: Nanos,
    /// Frames sent by the kernel that the network has not processed, in order of time.
    outgoing: VecDeque<Sent>,
    /// Hosts have received all arrivals before this instant.
    given_until: Nanos,
    /// No host has run, and no packet has been given to one, beyond this instant.
    ran_until: Nanos,
    /// Number of packets that hosts have received but the network has not delivered yet.
    given: u64,
    /// Time of the latest call of the progress callback.
    looked: Instant,
    strays: Strays,
}

impl<'p, O: FrameTap> Turns<'p, '_, O> {
    /// Runs to the end, or until `progress` returns false, in which case it returns true.
    fn run(&mut self, progress: &mut dyn FnMut(Nanos) -> bool) -> Result<bool, BackendError> {
        self.set_carriers();
        loop {
            let wakes_at = self.guests.wakes_at().map_or(Nanos::MAX, |at| at.saturating_sub(EPOCH));
            let due = self.simulation.next_event().min(wakes_at);
            if due > self.end {
                break;
            }
            match self.wait(due) {
                Waited::Due => {}
                Waited::Ended => return Ok(true),
                Waited::Keys(at, frame) => {
                    self.guests.tell(at + EPOCH, &frame);
                    continue;
                }
            }
            let horizon = self.foresee(wakes_at);
            if !self.let_guests_run(horizon, progress)? {
                return Ok(true);
            }
            self.let_network_run(horizon)?;
            if !self.goes_on(progress) {
                return Ok(true);
            }
            if self.given > 0 && self.simulation.reached() >= horizon {
                let at = self.simulation.reached();
                return Err(failed(format!(
                    "{} packets were foreseen and did not arrive by {at}",
                    self.given
                )));
            }
        }
        self.simulation.advance(self.end + Nanos(1), &mut self.observer).map_err(failed)?;
        Ok(false)
    }

    fn wait(&mut self, due: Nanos) -> Waited {
        let now = self.simulation.reached();
        self.pace.as_mut().map_or(Waited::Due, |pace| pace.wait(now, due))
    }

    /// Passes packets to hosts that are certain to be delivered to them; no other packet can reach
    /// them before the returned instant.
    fn foresee(&mut self, wakes_at: Nanos) -> Nanos {
        let Turns { plan, guests, simulation, pace, given, ran_until, .. } = self;
        // Notices are delivered when the network reaches them.
        let notice = if plan.job.commands.is_empty() { Nanos::MAX } else { simulation.next_notice() };
        let limit = pace.as_ref().map_or(Nanos::MAX, Pace::limit).min(notice);
        let certain = simulation.foresee(simulation.reached(), wakes_at, &mut |frame| {
            if let (Some((from, to)), true) = (plan.way_to(frame.endpoint), frame.at < limit) {
                let bytes = frames::delivered(frame.bytes, from, to, frame.marked, frame.telemetry.as_ref());
                guests.deliver(to, frame.at + HAND_OVER + EPOCH, bytes);
                *ran_until = (*ran_until).max(frame.at + HAND_OVER);
                *given += 1;
            }
        });
        let certain = certain.min(limit);
        self.given_until = certain;
        let horizon = certain.min(self.end) + HAND_OVER;
        self.ran_until = self.ran_until.max(horizon);
        horizon
    }

    /// Calls the progress callback at intervals and returns its result.
    fn goes_on(&mut self, progress: &mut dyn FnMut(Nanos) -> bool) -> bool {
        if self.looked.elapsed() < LOOK {
            return true;
        }
        self.looked = perigee_guest::wall_clock::now();
        progress(self.simulation.reached())
    }

    /// Runs the kernels up to an instant and stores the frames they send. Returns false if
    /// `progress` does.
    fn let_guests_run(
        &mut self,
        until: Nanos,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<bool, BackendError> {
        let reached = self.simulation.reached();
        let Turns { guests, outgoing, programs, pace, .. } = self;
        let mut go_on = |busy: Option<Busy>| {
            // In a shell, the user sees it.
            if let (Some(busy), None) = (busy, &pace) {
                programs.report_busy(reached, &busy);
            }
            progress(reached)
        };
        match guests.run(until + EPOCH, &mut go_on, outgoing) {
            Ok(()) => Ok(true),
            Err(GuestError::Stopped) => Ok(false),
            Err(e) => {
                self.take_last_reports();
                Err(self.blamed(e))
            }
        }
    }

    /// Drains pending agent reports; unreadable ones are dropped.
    fn take_last_reports(&mut self) {
        for frame in std::mem::take(&mut self.outgoing).iter().filter(|sent| sent.host.is_none()) {
            let _ = self.take_report(&frame.bytes);
        }
    }

    /// Runs the network up to an instant, with all frames that the kernel has sent until then.
    fn let_network_run(&mut self, until: Nanos) -> Result<(), BackendError> {
        loop {
            let next = self.simulation.next_event();
            let sent = self.outgoing.front().map_or(Nanos::MAX, |frame| frame.at.saturating_sub(EPOCH));
            if next.min(sent) >= until.min(self.end + Nanos(1)) {
                break;
            }
            if sent <= next {
                self.simulation.advance(sent, &mut self.observer).map_err(failed)?;
                let frame = self.outgoing.pop_front().expect("there is one");
                self.leave_host(&frame)?;
            } else {
                self.simulation.advance(next + Nanos(1), &mut self.observer).map_err(failed)?;
                self.reach_hosts()?;
                self.notify();
                self.set_carriers();
            }
        }
        self.simulation.advance(until.min(self.end + Nanos(1)), &mut self.observer).map_err(failed)
    }

    /// Warnings about packets that were not carried.
    fn remarks(&self) -> Vec<String> {
        let lost = match self.guests.overruns() {
            0 => None,
            n => Some(format!("{n} packets were lost at hosts that gave their interfaces no buffers")),
        };
        border::remarks(self.plan, &self.strays).chain(lost).chain(self.programs.remarks()).collect()
    }

    /// Ends the guests; returns the observer and the network's outcome.
    fn finish(self) -> (Hosted<'p, O>, RunOutcome) {
        (self.observer, self.simulation.finish())
    }

    /// Lets the agents set up their hosts before time zero, when no packets are carried.
    fn set_up(&mut self) -> Result<(), BackendError> {
        let mut sent = VecDeque::new();
        self.guests.run(EPOCH, &mut |_| true, &mut sent).map_err(guests::refused)?;
        for report in sent.iter().filter(|s| s.host.is_none()) {
            self.take_report(&report.bytes)?;
        }
        self.guests.unlink();
        Ok(())
    }

    /// Passes delivered packets to the hosts that have not received them ahead of time.
    ///
    /// # Errors
    /// If the network delivers a packet that it had not announced, which is a bug: hosts would miss
    /// packets.
    fn reach_hosts(&mut self) -> Result<(), BackendError> {
        let Turns { plan, simulation, observer, strays, guests, given_until, given, .. } = self;
        let mut unforeseen = None;
        Border { plan, simulation, observer, strays }.leave(|at, to, frame| {
            if at >= *given_until {
                guests.deliver(to, at + HAND_OVER + EPOCH, frame());
            } else if *given == 0 {
                unforeseen = Some((at, to));
            } else {
                *given -= 1;
            }
        });
        let fault = |(at, to): (Nanos, usize)| {
            let name = &plan.job.hosts[to].name;
            Err(failed(format!("a packet reached {name} at {at} that was not foreseen")))
        };
        unforeseen.map_or(Ok(()), fault)
    }

    /// Passes notices of a flow to the programs at both of its ends.
    fn notify(&mut self) {
        let Turns { plan, guests, simulation, .. } = self;
        for received in simulation.take_notices().filter(|_| !plan.job.commands.is_empty()) {
            let Some((from, to)) = plan.ends.get(received.flow as usize).copied().flatten() else { continue };
            for host in [from, to] {
                let text =
                    notices::line(&received, &plan.job.hosts[host].name, &plan.names[received.flow as usize]);
                guests.notify(host, received.at + HAND_OVER + EPOCH, &text);
            }
        }
    }

    /// Applies carrier changes of the timeline to interfaces, which receive no frames beyond a
    /// change.
    fn set_carriers(&mut self) {
        let Turns { guests, simulation, carriers, .. } = self;
        for change in carriers.due(simulation.reached()) {
            guests.set_carrier(change.host, change.at + HAND_OVER + EPOCH, change.carrier);
        }
    }

    /// Handles a frame of a host: a report of the agent, or a packet that enters the network.
    fn leave_host(&mut self, frame: &Sent) -> Result<(), BackendError> {
        match frame.host {
            None => self.take_report(&frame.bytes),
            Some(host) => {
                let Turns { plan, simulation, observer, strays, .. } = self;
                let mut border = Border { plan, simulation, observer, strays };
                border.enter(host, frame.at.saturating_sub(EPOCH), &frame.bytes)
            }
        }
    }

    /// Adds the programs that run in a guest to its error.
    fn blamed(&self, e: GuestError) -> BackendError {
        match &self.programs.running()[..] {
            [] => failed(e),
            running => failed(format!("{e}\nrunning in it: {}", running.join("; "))),
        }
    }

    fn take_report(&mut self, frame: &[u8]) -> Result<(), BackendError> {
        let reports = report::read(frame).map_err(|e| failed(format!("the guest's agent: {e}")))?;
        for report in reports {
            if self.programs.update(&report) {
                // No awaited program is left: the run ends now.
                self.end = self.end.min(self.simulation.reached());
            }
            self.observer.take_report(report);
        }
        Ok(())
    }
}
