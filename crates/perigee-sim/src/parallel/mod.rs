// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One run on several threads, with the results of one thread to the bit.
//!
//! The network is divided into partitions, each a [`Simulation`] that executes the events of its
//! nodes. They advance together, window by window. A window is no longer than the shortest delay of
//! a link between partitions, so that each packet that arrives there within it has left its port
//! before it; these packets are exchanged between two windows. Windows end at changes of the
//! timeline and at samples. Where windows would have few events, as with a link without delay, the
//! partitions run in turn instead, event by event, in the order of one thread.
//!
//! The ends of a TCP connection may be in different partitions. What passes between them without a
//! packet is passed on after each window (`EndUpdate`), or is an event of the record at the instant
//! at which the flow stops, which is executed in turn.
//!
//! * `partitioning`: which node belongs to which partition;
//! * `log`: reports to the observer, merged in the order of one thread;
//! * `chunks`: one timeline for all partitions.

mod chunks;
mod log;
mod partitioning;

pub(crate) use log::Log;

use crate::host::FlowFacts;
use crate::net::Handed;
use crate::observe::{FlowTotals, Observer, RunOutcome, CAUSES};
use crate::setup::{FlowSetup, Options, Scheme, SimError};
use crate::simulation::sampling::balanced;
use crate::simulation::{EndUpdate, Partition, Simulation};
use perigee_cc::SignalScope;
use perigee_timeline::{ChunkSource, Header};
use perigee_units::Nanos;
use std::sync::mpsc::{channel, Receiver, Sender};

/// Longest time between two decisions for windows or for execution in turn.
const EPOCH: Nanos = Nanos::from_millis(20);

/// Threads that a run may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threads {
    /// Most threads.
    pub most: usize,
    /// Fewest events of a window, over all partitions, that are worth an exchange. Shorter windows
    /// are executed in turn, on one thread. Affects only speed.
    pub least_events: u64,
    /// Largest share of a partition in the load, relative to an even one, that is worth a division.
    pub most_uneven: f64,
}

impl Threads {
    /// Up to this number of threads.
    pub fn up_to(most: usize) -> Self {
        Threads { most, least_events: 300, most_uneven: 1.6 }
    }
}

/// How a run was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Number of partitions, each with a thread.
    pub threads: usize,
    /// Why it is fewer than allowed.
    pub limit: Option<String>,
    /// Number of windows.
    pub windows: u64,
    /// Flows with ends in two partitions.
    pub apart: usize,
    /// Packets exchanged between partitions.
    pub exchanged: u64,
    /// Events executed in turn: for a link without delay, in short windows, and where flows stop.
    pub in_turn: u64,
    /// Events of each partition.
    pub events: Vec<u64>,
    /// Events on the critical path: those of the busiest partition of each window, and those in turn.
    pub critical: u64,
}

impl Execution {
    fn on_one(limit: Option<String>) -> Self {
        Execution {
            threads: 1,
            limit,
            windows: 0,
            apart: 0,
            exchanged: 0,
            in_turn: 0,
            events: Vec::new(),
            critical: 0,
        }
    }
}

/// Runs a workload to the end of the timeline on several threads, or to the next change or sample
/// after `progress` has returned false. The results are those of [`Simulation::run`].
///
/// # Errors
/// See [`Simulation::new`] and [`Simulation::run`].
pub fn run_on_threads<'s, O: Observer>(
    header: &Header,
    source: Box<dyn ChunkSource + 's>,
    flows: Vec<FlowSetup>,
    options: Options,
    allowed: Threads,
    obs: &mut O,
    progress: &mut dyn FnMut(Nanos) -> bool,
) -> Result<(RunOutcome, Execution), SimError> {
    let threads = allowed.most;
    let limit = if threads > 1 { needs_one_thread(&flows) } else { None };
    if threads <= 1 || limit.is_some() {
        let outcome = Simulation::new(header, source, flows, options)?.run(obs, progress)?;
        return Ok((outcome, Execution::on_one(limit)));
    }
    let (mut readers, first) = chunks::readers(source, threads);
    let first = first.ok().flatten();
    let Some(owners) = partitioning::choose(header, first.as_deref(), &flows, allowed) else {
        readers.truncate(1);
        let source = Box::new(readers.remove(0));
        let outcome = Simulation::new(header, source, flows, options)?.run(obs, progress)?;
        let limit = "its flows and links cannot be divided evenly".to_string();
        return Ok((outcome, Execution::on_one(Some(limit))));
    };
    let create = |(me, reader)| {
        let partition = Some(Box::new(Partition::new(owners.clone(), me as u16)));
        let (flows, options) = (flows.clone(), options.clone());
        let simulation = Simulation::of_partition(header, Box::new(reader), flows, options, partition)?;
        Ok(Part::new(simulation, threads))
    };
    let parts: Result<Vec<_>, SimError> = std::thread::scope(|scope| {
        let each = readers.into_iter().enumerate().map(|part| scope.spawn(|| create(part)));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|part| part.join().expect("a thread that has not panicked")).collect()
    });
    let parts = parts?;
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for _ in 0..threads {
            let (to, tasks) = channel::<(Part<'s, O>, Task)>();
            let (done, from) = channel();
            scope.spawn(move || {
                for (mut part, task) in tasks {
                    part.perform(task);
                    if done.send(part).is_err() {
                        return;
                    }
                }
            });
            lanes.push((to, from));
        }
        Run::new(parts, lanes, header.duration, &options, allowed).run(obs, progress)
    })
}

/// Why a workload cannot be divided.
fn needs_one_thread(flows: &[FlowSetup]) -> Option<String> {
    let why = |flow: &FlowSetup| {
        if flow.outside.source || flow.outside.destination {
            return Some("has an end outside of the simulation");
        }
        match &flow.scheme {
            Scheme::Custom(_) => return Some("has a scheme that is a plug-in"),
            Scheme::Started(_, _, start) if start.is_shared() => {
                return Some("resumes with what an earlier flow has observed");
            }
            _ => {}
        }
        let facts = FlowFacts::new(flow.clone(), flow.start, 0, 0, 0);
        if facts.scope == SignalScope::Machine {
            return Some("has a scheme that listens to all flows of the machine");
        }
        facts.any_packet_times_meters.then_some("has a scheme whose start affects all ports at once")
    };
    flows.iter().find_map(|f| Some(format!("flow {:?} {}", f.name, why(f)?)))
}

/// A partition with its exchange.
struct Part<'s, O> {
    /// Boxed, since it moves from thread to thread.
    simulation: Box<Simulation<'s>>,
    log: Log<O>,
    /// Packets from and to each partition.
    incoming: Vec<Vec<Handed>>,
    outgoing: Vec<Vec<Handed>>,
    result: Result<(), SimError>,
}

/// What a partition executes by itself.
#[derive(Clone, Copy)]
enum Task {
    /// Events before an instant; then packets that arrive before a second one are handed over.
    Window(Nanos, Nanos),
    /// Changes of the timeline at an instant.
    Changes(Nanos),
}

impl<'s, O: Observer> Part<'s, O> {
    fn new(simulation: Simulation<'s>, count: usize) -> Self {
        let lists = || (0..count).map(|_| Vec::new()).collect();
        let simulation = Box::new(simulation);
        Part { simulation, log: Log::default(), incoming: lists(), outgoing: lists(), result: Ok(()) }
    }

    fn perform(&mut self, task: Task) {
        self.result = match task {
            Task::Window(until, export) => {
                self.incoming.iter_mut().for_each(|from| self.simulation.import(from));
                let result = self.simulation.run_window(until, &mut self.log);
                self.simulation.export(export, &mut self.outgoing);
                result
            }
            Task::Changes(at) => self.simulation.run_changes(at, &mut self.log),
        };
    }
}

/// Channels to a thread and back.
type Lane<'s, O> = (Sender<(Part<'s, O>, Task)>, Receiver<Part<'s, O>>);

/// A run in progress. All partitions have executed the events before one instant.
struct Run<'s, O> {
    parts: Vec<Part<'s, O>>,
    lanes: Vec<Lane<'s, O>>,
    /// Reports of the latest window of each partition, until they are passed on.
    logs: Vec<Log<O>>,
    duration: Nanos,
    sample: Nanos,
    least_events: u64,
    /// Partitions of the ends of each flow.
    ends: Vec<[usize; 2]>,
    /// Instants at which flows with ends in two partitions stop, the next one last.
    stops: Vec<Nanos>,
    execution: Execution,
}

impl<'s, O: Observer> Run<'s, O> {
    fn new(
        parts: Vec<Part<'s, O>>,
        lanes: Vec<Lane<'s, O>>,
        duration: Nanos,
        options: &Options,
        allowed: Threads,
    ) -> Self {
        let ends: Vec<_> =
            (0..parts[0].simulation.sizes().0).map(|f| parts[0].simulation.owners_of_flow(f)).collect();
        let apart: Vec<usize> = (0..ends.len()).filter(|&f| ends[f][0] != ends[f][1]).collect();
        let mut stops: Vec<_> = apart.iter().map(|&f| parts[0].simulation.stop_of(f)).collect();
        stops.sort_unstable_by(|a, b| b.cmp(a));
        stops.dedup();
        let execution = Execution { threads: parts.len(), apart: apart.len(), ..Execution::on_one(None) };
        let (sample, least_events) = (options.sample, allowed.least_events);
        let logs = parts.iter().map(|_| Log::default()).collect();
        Run { parts, lanes, logs, duration, sample, least_events, ends, stops, execution }
    }

    fn run(
        mut self,
        obs: &mut O,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<(RunOutcome, Execution), SimError> {
        let mut at = Nanos::ZERO;
        let mut next_sample = if self.sample > Nanos::ZERO { self.sample } else { Nanos::MAX };
        let mut stopped = false;
        // Events of the latest epoch, and its length; the first one is short, since it is executed in
        // turn.
        let (mut load, mut epoch) = ((0, Nanos(1)), EPOCH / 16);
        loop {
            if self.next_change() == at {
                self.change(at, obs)?;
                if stopped {
                    return Ok(self.close(at, true));
                }
            }
            let sampled = next_sample.min(self.duration).saturating_add(Nanos(1));
            let lookahead = self.next_change().min(sampled);
            let stop = self.stop_after(at);
            let stops = stop == at;
            let until = lookahead.min(at + epoch).min(if stops { at + Nanos(1) } else { stop });
            let delay = self.parts.iter().map(|p| p.simulation.shortest_cut(at, until)).min();
            let delay = delay.unwrap_or(Nanos::ZERO);
            self.parts.iter_mut().for_each(|p| p.simulation.look_ahead_until(lookahead));
            let before = self.events();
            let per_window = u128::from(load.0) * u128::from(delay.min(EPOCH).0) / u128::from(load.1 .0);
            if stops || delay == Nanos::ZERO || per_window < u128::from(self.least_events) {
                self.in_turn(until, obs)?;
                stopped |= !progress(at);
            } else {
                stopped |= !self.windows(at, until, delay, obs, progress)?;
            }
            if until - at >= epoch / 4 {
                (load, epoch) = ((self.events() - before, until - at), EPOCH);
            }
            at = until;
            if at > next_sample {
                self.take_sample(next_sample, obs);
                if stopped {
                    return Ok(self.close(next_sample, true));
                }
                next_sample += self.sample;
            }
            if at > self.duration {
                return Ok(self.close(self.duration, false));
            }
        }
    }

    fn events(&self) -> u64 {
        self.parts.iter().map(|p| p.simulation.events()).sum()
    }

    /// Next instant, from `at` on, at which a flow with ends in two partitions stops.
    fn stop_after(&mut self, at: Nanos) -> Nanos {
        while self.stops.last().is_some_and(|&stop| stop < at) {
            self.stops.pop();
        }
        self.stops.last().copied().unwrap_or(Nanos::MAX)
    }

    fn next_change(&self) -> Nanos {
        self.parts[0].simulation.next_change()
    }

    /// Lets all partitions perform a task, and passes the reports of the task before on meanwhile.
    fn perform(&mut self, task: Task, obs: &mut O) -> Result<(), SimError> {
        self.take_logs();
        for (part, (to, _)) in self.parts.drain(..).zip(&self.lanes) {
            to.send((part, task)).expect("a thread that waits for tasks");
        }
        log::merge(&mut self.logs, |at, report| report.show(at, obs));
        for (_, from) in &self.lanes {
            self.parts.push(from.recv().expect("a thread that has not panicked"));
        }
        self.parts.iter_mut().try_for_each(|part| std::mem::replace(&mut part.result, Ok(())))
    }

    /// Applies the changes at `at`, the first events of this instant. Annotations are reported by
    /// the first partition.
    fn change(&mut self, at: Nanos, obs: &mut O) -> Result<(), SimError> {
        self.parts[0].simulation.run_changes(at, obs)?;
        self.perform(Task::Changes(at), obs)
    }

    /// Runs from `at` until an instant, in windows. False if `progress` has returned false.
    fn windows(
        &mut self,
        at: Nanos,
        until: Nanos,
        delay: Nanos,
        obs: &mut O,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Result<bool, SimError> {
        let after = |t: Nanos| t.saturating_add(delay).min(until);
        let (mut end, mut goes_on) = (after(at), true);
        self.parts.iter_mut().for_each(|p| p.simulation.export(end, &mut p.outgoing));
        loop {
            self.exchange();
            let before: Vec<u64> = self.parts.iter().map(|p| p.simulation.events()).collect();
            self.perform(Task::Window(end, after(end)), obs)?;
            let busy = self.parts.iter().zip(before).map(|(p, before)| p.simulation.events() - before);
            self.execution.critical += busy.max().unwrap_or(0);
            self.execution.windows += 1;
            (0..self.parts.len()).for_each(|i| self.update_ends(i));
            goes_on &= progress(end);
            if end == until {
                self.report(obs);
                return Ok(goes_on);
            }
            end = after(end);
        }
    }

    /// Moves packets from the partitions that they leave to those that they enter.
    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                let handed = std::mem::take(&mut self.parts[from].outgoing[to]);
                self.execution.exchanged += handed.len() as u64;
                self.parts[from].outgoing[to] = std::mem::replace(&mut self.parts[to].incoming[from], handed);
            }
        }
    }

    /// Takes the reports of the latest window, in exchange for empty logs.
    fn take_logs(&mut self) {
        self.parts.iter_mut().zip(&mut self.logs).for_each(|(p, log)| std::mem::swap(&mut p.log, log));
    }

    /// Passes the reports of the latest window to the observer.
    fn report(&mut self, obs: &mut O) {
        self.take_logs();
        log::merge(&mut self.logs, |at, report| report.show(at, obs));
    }

    /// Runs until an instant, event by event.
    fn in_turn(&mut self, until: Nanos, obs: &mut O) -> Result<(), SimError> {
        loop {
            let next = |(i, part): (usize, &Part<'s, O>)| (part.simulation.next_ranked(), i);
            let first = self.parts.iter().enumerate().map(next).min();
            let Some((_, i)) = first.filter(|((at, _), _)| *at < until) else { break };
            self.execution.in_turn += 1;
            if let Some(flow) = self.parts[i].simulation.next_stop() {
                self.update_counts(flow);
            }
            if let Some(handed) = self.parts[i].simulation.run_event(obs)? {
                let to = self.parts[i].simulation.far_owner(handed.link);
                self.parts[to].simulation.run_arrival(handed, obs);
                self.update_ends(to);
            }
            self.update_ends(i);
        }
        self.parts.iter_mut().for_each(|p| p.simulation.reach(until));
        Ok(())
    }

    /// Passes on the updates of a partition for ends of flows in others.
    fn update_ends(&mut self, from: usize) {
        let updates: Vec<EndUpdate> = self.parts[from].simulation.take_end_updates().collect();
        for update in updates {
            let end = update.to();
            let part = &mut self.parts[self.ends[end.flow() as usize][usize::from(!end.is_sending())]];
            part.simulation.update_end(update, &mut part.log);
        }
    }

    /// Copies the counters of a receiving end to the partition of the sending end.
    fn update_counts(&mut self, flow: usize) {
        let [from, to] = self.ends[flow];
        if from != to {
            let counts = self.parts[to].simulation.receiver_counts(flow as u32);
            self.parts[from].simulation.set_receiver_counts(flow as u32, counts);
        }
    }

    fn take_sample(&mut self, at: Nanos, obs: &mut O) {
        let (flows, links) = self.parts[0].simulation.sizes();
        for flow in 0..flows {
            self.update_counts(flow);
            self.parts[self.ends[flow][0]].simulation.sample_flow(flow, at, obs);
        }
        for link in 0..links as u32 {
            let owner = self.parts[0].simulation.owner_of_link(link);
            self.parts[owner].simulation.sample_link(link, at, obs);
        }
        obs.sampled(at);
    }

    fn close(&mut self, end: Nanos, stopped: bool) -> (RunOutcome, Execution) {
        let (flows, links) = self.parts[0].simulation.sizes();
        let (mut under_way, mut drops) = (vec![0; flows], vec![[0; CAUSES]; flows]);
        for part in &mut self.parts {
            part.simulation.count(end, &mut under_way, &mut drops);
        }
        let mut totals = Vec::with_capacity(flows);
        let mut applications = Vec::with_capacity(flows);
        for flow in 0..flows {
            self.update_counts(flow);
            let [from, to] = self.ends[flow];
            let of_ends = self.parts[from].simulation.close_flow(flow, end);
            totals.push(FlowTotals { dropped: drops[flow], under_way: under_way[flow], ..of_ends });
            applications.push(self.parts[to].simulation.application_at_end(flow, end));
        }
        let owner = |link: u32| self.parts[0].simulation.owner_of_link(link);
        let links = (0..links as u32).map(|l| self.parts[owner(l)].simulation.link_at_end(l, end)).collect();
        let mut flow_tables: Vec<_> = self.parts.iter().flat_map(|p| p.simulation.flow_tables()).collect();
        flow_tables.sort_by_key(|t| t.port);
        self.execution.events = self.parts.iter().map(|p| p.simulation.events()).collect();
        self.execution.critical += self.execution.in_turn;
        let memory: usize = self.parts.iter().map(|p| p.simulation.memory_per_flow()).sum();
        let outcome = RunOutcome {
            end,
            stopped,
            events: Some(self.execution.events.iter().sum()),
            memory_per_flow_bytes: Some(memory as u64),
            flows: totals,
            applications,
            links,
            flow_tables,
            ..RunOutcome::default()
        };
        (balanced(outcome), self.execution.clone())
    }
}
