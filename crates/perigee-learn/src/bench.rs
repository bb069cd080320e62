// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Benchmark of agent decisions: identical traffic with and without an agent per flow, for the
//! caller to time in turn.

use crate::draw::Draws;
use crate::env::{Env, Rules};
use crate::world::{Episode, Worlds};
use crate::LearnError;
use perigee_cc::astraea::desk::Decision;
use perigee_cc::astraea::desk::Seen;
use perigee_cc::astraea::guard::Guard;
use perigee_cc::astraea::policy::Policy;
use perigee_cc::astraea::REPRODUCTION_TEXT;
use perigee_cc::ConnInit;
use perigee_units::Nanos;
use std::path::Path;

/// Agent of each flow in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// No agents: the simulation runs to its end in one step.
    None,
    /// Keeps the window without evaluating a policy.
    Idle,
    /// Evaluates the bundled policy, but keeps the window.
    Policy,
}

/// Number of flows on the path.
const FLOWS: usize = 4;
/// Number of decision steps after which the windows of all flows are constant.
const WARMUP_STEPS: usize = 20;

fn episode(mbps: f64, seconds: f64) -> Result<Episode, LearnError> {
    let text = format!(
        "rate_mbps = {mbps}\nrtt_ms = 40\nbuffer_bdp = 1\nflows = {FLOWS}\nduration_s = {seconds}\ntogether = 1.0\n\
         exploring = 1.0\nwindow = 1.0\n"
    );
    let worlds: Worlds = toml::from_str(&text).map_err(|e| LearnError::Input(e.to_string()))?;
    worlds.episode(Path::new(""), Draws::new(1, 1).bits(), 0)
}

/// Runs four flows with constant windows for `seconds` of simulated time over a path of `mbps`
/// Mbit/s and 40 ms. The packets are the same for all agents. Returns the number of decisions after
/// the warm-up, zero without agents.
///
/// # Errors
/// If the world cannot be built (for instance from a rate of zero), or the run fails.
pub fn run(mbps: f64, seconds: f64, agent: Agent) -> Result<u64, LearnError> {
    let mut env = Env::new(&episode(mbps, seconds)?, &Rules::default())?;
    let policy = Policy::parse(REPRODUCTION_TEXT).map_err(|e| LearnError::Input(e.to_string()))?;
    let mut scratch = policy.scratch();
    let mut decisions = vec![Decision::Step(0.0); FLOWS];
    for _ in 0..WARMUP_STEPS {
        env.step(&decisions)?;
    }
    if agent == Agent::None {
        env.finish()?;
        return Ok(0);
    }
    let mut count = 0;
    while !env.over() {
        for (i, decision) in decisions.iter_mut().enumerate() {
            let view = env.view(i);
            let output = match agent {
                Agent::Policy => policy.evaluate(view.history.as_flattened(), &mut scratch),
                _ => view.history[0][0],
            };
            // Keeps the evaluation from being optimised away, and the window constant.
            *decision = Decision::Step(0.0 * f64::from(output));
        }
        env.step(&decisions)?;
        count += FLOWS as u64;
    }
    Ok(count)
}

/// Evaluates the bundled policy `count` times. Returns the sum of its outputs.
///
/// # Errors
/// If the bundled policy does not parse, which tests exclude.
pub fn evaluations(count: u32) -> Result<f32, LearnError> {
    let policy = Policy::parse(REPRODUCTION_TEXT).map_err(|e| LearnError::Input(e.to_string()))?;
    let mut scratch = policy.scratch();
    let mut inputs = [1.0f32; perigee_cc::astraea::INPUTS];
    let mut sum = 0.0;
    for k in 0..count {
        inputs[1] = 1.0 + (k % 100) as f32 * 0.01;
        sum += std::hint::black_box(policy.evaluate(&inputs, &mut scratch));
    }
    Ok(sum)
}

/// Passes `count` observations, one per 30 ms, to the safety guard. Returns the number of faults it
/// reports.
pub fn looks(count: u64) -> u64 {
    let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 1, hz: 1000 };
    let mut guard = Guard::new(&init);
    let mut seen =
        Seen { throughput: 1e7, rtt_us: 33e3, min_rtt_us: 3e4, max_throughput: 1.2e7, ..Seen::default() };
    for k in 0..count {
        (seen.loss, seen.cwnd) = ((k % 7) as f64, (100 + k % 300) as f64);
        let seen = std::hint::black_box(&seen);
        std::hint::black_box(guard.look(Nanos::from_millis(30 * k), seen));
        std::hint::black_box(Guard::bounded(k, seen));
    }
    guard.faults()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_and_without_agents_have_the_same_packets() {
        let episode = episode(5.0, 5.0).unwrap();
        let mut envs = [0, 1].map(|_| Env::new(&episode, &Rules::default()).unwrap());
        let decisions = [Decision::Step(0.0); FLOWS];
        envs.iter_mut().for_each(|e| (0..WARMUP_STEPS).for_each(|_| e.step(&decisions).unwrap()));
        envs[0].finish().unwrap();
        while !envs[1].over() {
            envs[1].step(&decisions).unwrap();
        }
        for i in 0..FLOWS as u32 {
            assert_eq!(envs[0].delivered(i), envs[1].delivered(i));
            assert!(envs[0].delivered(i) > 0);
        }
    }
}
