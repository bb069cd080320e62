// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Environment: one scenario with externally set windows, stepped from decision to decision.

use crate::reward::{FlowFacts, Reward};
use crate::world::Episode;
use crate::LearnError;
use perigee_cc::astraea::desk::{Decision, Desk, Seen, ACT, OBSERVE};
use perigee_cc::astraea::{Astraea, FEATURES, HISTORY, PARAMS};
use perigee_cc::{ConnInit, Params, Signal};
use perigee_run::backend::Backend as _;
use perigee_run::simulator::Simulator;
use perigee_scenario::World;
use perigee_sim::{CustomScheme, Options, Scheme, Silent, Simulation};
use perigee_timeline::QueueLimit;
use perigee_units::Nanos;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Global features, for critics.
pub const GLOBALS: usize = 12;
/// Scheme of flows with externally set windows in workloads.
const AGENT: &str = "astraea";
/// Bytes of a packet on the wire.
const WIRE_BYTES: f64 = 1500.0;

/// Rules of observation and reward.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Time between decisions.
    pub step: Nanos,
    /// Time between decisions of a flow in smoothed RTTs, if that is longer than a step; zero: all
    /// flows decide at every step.
    pub step_rtts: f64,
    /// Astraea's parameter `lifetime`.
    pub lifetime: String,
    /// Astraea's parameter `module`.
    pub module: String,
    /// Astraea's parameter `below`.
    pub below: String,
    /// The reward.
    pub reward: Reward,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            step: Nanos::from_millis(30),
            step_rtts: 0.0,
            lifetime: "forever".into(),
            module: "bypass".into(),
            below: "nothing".into(),
            reward: Reward::default(),
        }
    }
}

/// A flow with an externally set window.
struct Agent {
    flow: u32,
    desk: Arc<Mutex<Desk>>,
    stop: Nanos,
    /// Initial window in fair shares, applied once the flow is established.
    start: Option<f64>,
    windows: [f64; HISTORY],
    reward: f64,
    /// Whether the flow is present and due for a decision.
    active: bool,
    /// Whether the flow is present.
    present: bool,
    /// Earliest time of the next decision.
    due: Nanos,
    /// Time of the last decision.
    observed: Nanos,
    history: [[f32; FEATURES]; HISTORY],
    seen: Seen,
    base_rtt_ms: f64,
    delivered: u64,
    goodput: f64,
}

/// A learner's view of a flow.
pub struct View<'a> {
    /// Whether the flow is present and due for a decision.
    pub active: bool,
    /// Whether the flow is present.
    pub present: bool,
    /// Features of the latest steps, oldest first; zero before the first step.
    pub history: &'a [[f32; FEATURES]; HISTORY],
    /// Reward for the latest step.
    pub reward: f64,
    /// Measurements.
    pub seen: &'a Seen,
    /// RTT of its route without queues, in milliseconds.
    pub base_rtt_ms: f64,
    /// Payload delivered since the latest step, in bytes/s.
    pub goodput: f64,
}

/// The state of a scenario between two decisions.
pub struct Env {
    simulation: Simulation<'static>,
    /// Kept alive, as its timeline is computed lazily.
    _world: World,
    agents: Vec<Agent>,
    rules: Rules,
    /// Rate of the slowest port on the agents' routes, in bytes/s.
    capacity: f64,
    buffer_bytes: f64,
    globals: [f32; GLOBALS],
    facts: Vec<FlowFacts>,
    rewards: Vec<f64>,
}

impl Env {
    /// Starts an episode.
    ///
    /// # Errors
    /// If the scenario is invalid, or has no flow with an externally set window.
    pub fn new(episode: &Episode, rules: &Rules) -> Result<Self, LearnError> {
        let world = World::build(episode.scenario.clone(), episode.seed)?;
        world.timeline.expect_one_reader();
        let workload = world.workload(AGENT, &|_| false)?;
        let simulator = Simulator::default();
        let setups = simulator.setups(&world.header, &workload);
        let mut setups = setups.map_err(|e| LearnError::Run(e.to_string()))?;
        let given = [("lifetime", &rules.lifetime), ("module", &rules.module), ("below", &rules.below)]
            .map(|(name, word)| (name.to_string(), perigee_cc::Value::Text(word.clone())));
        let params =
            Params::new(PARAMS, BTreeMap::from(given)).map_err(|e| LearnError::Input(e.to_string()))?;
        let mut agents = Vec::new();
        for (i, (flow, setup)) in workload.flows.iter().zip(&mut setups).enumerate() {
            if flow.compared && flow.app.is_tcp() {
                let desk = Arc::new(Mutex::new(Desk::default()));
                setup.scheme = Scheme::Custom(told(&params, &desk));
                let start = episode.windows.get(i).copied().flatten();
                agents.push(Agent::new(i as u32, desk, setup.stop, start));
            }
        }
        let Some(first) = agents.first() else {
            return Err(LearnError::Run(
                "the scenario has no flow with cc = \"*\": nobody to decide for".into(),
            ));
        };
        let bottleneck = workload.flows[first.flow as usize].bottleneck as usize;
        let buffer_bytes = world.header.ports.get(bottleneck).map_or(0.0, |p| match p.spec.queue.limit {
            QueueLimit::Bytes(b) => b as f64,
            QueueLimit::Packets(n) => n as f64 * WIRE_BYTES,
        });
        let options = Options {
            seed: episode.seed,
            sample: Nanos::ZERO,
            start_jitter: world.scenario.run.start_jitter,
            host_jitter: world.scenario.run.host_jitter,
            max_hops: world.max_hops,
            ..Options::default()
        };
        let source = Box::new(world.timeline.reader());
        let simulation = Simulation::new(&world.header, source, setups, options).map_err(failed)?;
        Ok(Env {
            simulation,
            _world: world,
            agents,
            rules: rules.clone(),
            capacity: 0.0,
            buffer_bytes,
            globals: [0.0; GLOBALS],
            facts: Vec::new(),
            rewards: Vec::new(),
        })
    }

    /// Number of flows with externally set windows.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// Time that has passed.
    pub fn now(&self) -> Nanos {
        self.simulation.reached()
    }

    /// Whether the episode is over.
    pub fn over(&self) -> bool {
        self.now() >= self._world.header.duration
    }

    /// The twelve global features for Astraea's critics.
    pub fn globals(&self) -> &[f32; GLOBALS] {
        &self.globals
    }

    /// Rate of the slowest port on the agents' routes, in bytes/s.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The view of agent `i`.
    pub fn view(&self, i: usize) -> View<'_> {
        let a = &self.agents[i];
        View {
            active: a.active,
            present: a.present,
            history: &a.history,
            reward: a.reward,
            seen: &a.seen,
            base_rtt_ms: a.base_rtt_ms,
            goodput: a.goodput,
        }
    }

    /// Applies the decisions to the active agents, and runs to the next decisions.
    ///
    /// # Errors
    /// If the simulation fails.
    pub fn step(&mut self, decisions: &[Decision]) -> Result<(), LearnError> {
        for (agent, decision) in self.agents.iter().zip(decisions).filter(|(a, _)| a.active) {
            lock(&agent.desk).decision = *decision;
            self.simulation.signal_flow(agent.flow, &Signal::Custom(ACT), &mut Silent).map_err(failed)?;
        }
        let next = Nanos(self.now().0 + self.rules.step.0);
        self.simulation.advance(next, &mut Silent).map_err(failed)?;
        for i in 0..self.agents.len() {
            self.observe(i)?;
        }
        self.pay();
        self.begin_windows()
    }

    /// Runs to the end without further decisions.
    ///
    /// # Errors
    /// If the simulation fails.
    pub fn finish(&mut self) -> Result<(), LearnError> {
        let end = self._world.header.duration;
        self.simulation.advance(end, &mut Silent).map_err(failed)
    }

    /// Payload that a flow of the scenario has delivered, in bytes.
    pub fn delivered(&self, flow: u32) -> u64 {
        self.simulation.flow_totals(flow).map_or(0, |t| t.goodput_bytes)
    }

    fn observe(&mut self, i: usize) -> Result<(), LearnError> {
        let now = self.simulation.reached();
        let agent = &mut self.agents[i];
        agent.reward = 0.0;
        agent.active = false;
        if now < agent.due && now < agent.stop {
            return Ok(());
        }
        agent.active = now < agent.stop
            && self
                .simulation
                .signal_flow(agent.flow, &Signal::Custom(OBSERVE), &mut Silent)
                .map_err(failed)?;
        agent.present = agent.active;
        if !agent.active {
            return Ok(());
        }
        {
            let desk = lock(&agent.desk);
            (agent.history, agent.seen) = (desk.history, desk.seen);
        }
        let pause = Nanos((agent.seen.srtt_us * 1e3 * self.rules.step_rtts) as u64);
        agent.due = now.saturating_add(pause);
        let elapsed = match agent.observed {
            Nanos(0) => self.rules.step,
            before => now.saturating_sub(before),
        };
        agent.observed = now;
        agent.windows.rotate_left(1);
        agent.windows[HISTORY - 1] = agent.seen.cwnd;
        if let Some(rtt) = self.simulation.base_rtt(agent.flow, now) {
            agent.base_rtt_ms = rtt.as_secs_f64() * 1e3;
        }
        let delivered = self.simulation.flow_totals(agent.flow).map_or(0, |t| t.goodput_bytes);
        agent.goodput = delivered.saturating_sub(agent.delivered) as f64 / elapsed.as_secs_f64();
        agent.delivered = delivered;
        Ok(())
    }

    /// Computes the rewards and global features of all flows present, including those not due for a
    /// decision.
    fn pay(&mut self) {
        let present = || self.agents.iter().filter(|a| a.present);
        let rates = present().filter_map(|a| self.simulation.path_rate(a.flow));
        self.capacity = rates.map(|r| r.bytes_per_s()).fold(f64::INFINITY, f64::min);
        if !self.capacity.is_finite() {
            self.capacity = 0.0;
        }
        self.facts.clear();
        self.facts.extend(present().map(Agent::facts));
        let n = self.facts.len().max(1) as f64;
        let delay_ms = self.facts.iter().map(|f| f.base_rtt_ms).sum::<f64>() / n / 2.0;
        self.rules.reward.of(&self.facts, self.capacity, delay_ms, &mut self.rewards);
        for (agent, reward) in self.agents.iter_mut().filter(|a| a.present).zip(&self.rewards) {
            agent.reward = if agent.active { *reward } else { 0.0 };
        }
        self.globals = self.whole(delay_ms);
    }

    fn whole(&self, delay_ms: f64) -> [f32; GLOBALS] {
        let (mut throughput, mut cwnd) = (Spread::default(), Spread::default());
        let (mut n, mut rtt_us, mut loss) = (0.0, 0.0, 0.0);
        for seen in self.agents.iter().filter(|a| a.present).map(|a| &a.seen) {
            n += 1.0;
            throughput.add(seen.throughput);
            cwnd.add(seen.cwnd);
            rtt_us += seen.rtt_us;
            loss += seen.loss;
        }
        if n == 0.0 {
            return [0.0; GLOBALS];
        }
        let bdp = self.capacity * 2.0 * delay_ms * 1e-3;
        [
            throughput.sum / 5e7,
            throughput.least / 5e7,
            throughput.most / 5e7,
            rtt_us / n / 5e5,
            cwnd.least / 1e3,
            cwnd.most / 1e3,
            cwnd.sum / n / 1e3,
            loss / n / 1e6,
            n / 10.0,
            delay_ms / 500.0,
            if bdp > 0.0 { self.buffer_bytes / bdp / 10.0 } else { 0.0 },
            self.capacity * 8e-6 / 500.0,
        ]
        .map(|x| x as f32)
    }

    /// Applies the drawn initial windows to flows that have just started.
    fn begin_windows(&mut self) -> Result<(), LearnError> {
        let active = self.agents.iter().filter(|a| a.present).count().max(1) as f64;
        for agent in self.agents.iter_mut().filter(|a| a.active) {
            let Some(share) = agent.start.take() else { continue };
            let bdp = self.capacity * agent.base_rtt_ms * 1e-3 / WIRE_BYTES;
            let cwnd = libm::round(share * bdp / active).max(4.0) as u64;
            lock(&agent.desk).decision = Decision::Set { cwnd, pacing: None };
            self.simulation.signal_flow(agent.flow, &Signal::Custom(ACT), &mut Silent).map_err(failed)?;
        }
        Ok(())
    }
}

/// Sum and extremes of a non-negative quantity.
struct Spread {
    sum: f64,
    least: f64,
    most: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { sum: 0.0, least: f64::INFINITY, most: 0.0 }
    }
}

impl Spread {
    fn add(&mut self, x: f64) {
        self.sum += x;
        self.least = self.least.min(x);
        self.most = self.most.max(x);
    }
}

impl Agent {
    fn new(flow: u32, desk: Arc<Mutex<Desk>>, stop: Nanos, start: Option<f64>) -> Self {
        Agent {
            flow,
            desk,
            stop,
            start,
            windows: [0.0; HISTORY],
            reward: 0.0,
            active: false,
            present: false,
            due: Nanos::ZERO,
            observed: Nanos::ZERO,
            history: [[0.0; FEATURES]; HISTORY],
            seen: Seen::default(),
            base_rtt_ms: 0.0,
            delivered: 0,
            goodput: 0.0,
        }
    }

    fn facts(&self) -> FlowFacts {
        let n = HISTORY as f64;
        let mean = self.windows.iter().sum::<f64>() / n;
        let variance = self.windows.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / n;
        FlowFacts {
            throughput: self.seen.throughput,
            rtt_ms: self.seen.rtt_us * 1e-3,
            base_rtt_ms: self.base_rtt_ms,
            pacing: self.seen.pacing,
            loss: self.seen.loss,
            cwnd_deviation: libm::sqrt(variance),
        }
    }
}

fn told(params: &Params, desk: &Arc<Mutex<Desk>>) -> CustomScheme {
    let (params, desk) = (params.clone(), desk.clone());
    Arc::new(move |init: &ConnInit| Box::new(Astraea::told(&params, init, desk.clone())))
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(e: impl std::fmt::Display) -> LearnError {
    LearnError::Run(e.to_string())
}
