// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vectorised environments: one call runs all of them to their next decision, on all cores. The
//! contents of slot `i` depend only on the seed and on `i`, not on the number of slots or threads.

use crate::env::{Env, Rules, GLOBALS};
use crate::world::Worlds;
use crate::LearnError;
use perigee_cc::astraea::desk::Decision;
use perigee_cc::astraea::{FEATURES, HISTORY, INPUTS};
use rayon::prelude::*;
use std::path::PathBuf;

/// Measurements of a flow in addition to the features.
pub const METRICS: [&str; 12] = [
    "throughput_bytes_per_s",
    "rtt_us",
    "srtt_us",
    "min_rtt_us",
    "max_throughput_bytes_per_s",
    "loss_bytes_per_s",
    "cwnd_packets",
    "out_packets",
    "pacing_bytes_per_s",
    "base_rtt_us",
    "goodput_bytes_per_s",
    "capacity_bytes_per_s",
];

/// Source of episodes.
#[derive(Clone)]
pub struct Ground {
    /// Scenarios of the episodes.
    pub worlds: Worlds,
    /// Folder to which file names are relative.
    pub folder: PathBuf,
    /// Rules of observation and reward.
    pub rules: Rules,
    /// Seed of all draws.
    pub seed: u64,
}

impl Ground {
    /// The `count`-th episode of slot `slot`.
    fn begin(&self, slot: u64, count: u64) -> Result<Env, LearnError> {
        let episode = self.worlds.episode(&self.folder, self.seed, (slot << 32) | count)?;
        Env::new(&episode, &self.rules)
    }
}

struct Slot {
    index: u64,
    episodes: u64,
    env: Env,
}

/// Vectorised environments.
pub struct VecEnv {
    ground: Ground,
    slots: Vec<Slot>,
    flows: usize,
}

/// Output arrays, filled row by row: environments, then flows.
pub struct Arrays<'a> {
    /// Features of the latest steps, oldest first: environments × flows × 50.
    pub observations: &'a mut [f32],
    /// Flows present and due for a decision: environments × flows.
    pub active: &'a mut [bool],
    /// Global features: environments × 12.
    pub globals: &'a mut [f32],
    /// Rewards: environments × flows.
    pub rewards: &'a mut [f32],
    /// Measurements: environments × flows × [`METRICS`].
    pub metrics: &'a mut [f32],
    /// Episodes that ended with this step; the arrays hold their final state, and the next step is
    /// the first of the next episode.
    pub ended: &'a mut [bool],
}

impl VecEnv {
    /// Creates `count` environments with at most `flows` flows each in the arrays.
    ///
    /// # Errors
    /// If a scenario is invalid.
    pub fn new(ground: Ground, count: usize, flows: usize) -> Result<Self, LearnError> {
        let begin = |i: usize| {
            let index = i as u64;
            Ok(Slot { index, episodes: 1, env: ground.begin(index, 0)? })
        };
        let slots = (0..count).into_par_iter().map(begin).collect::<Result<_, LearnError>>()?;
        Ok(VecEnv { ground, slots, flows })
    }

    /// Number of environments.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Number of flows of each environment.
    pub fn flows(&self) -> usize {
        self.flows
    }

    /// Applies a decision to each flow of each environment, runs to the next decisions, and fills
    /// the arrays.
    ///
    /// # Errors
    /// If a simulation fails.
    pub fn step(&mut self, decisions: &[Decision], to: Arrays<'_>) -> Result<(), LearnError> {
        let (flows, ground) = (self.flows, &self.ground);
        self.slots
            .par_iter_mut()
            .zip(decisions.par_chunks(flows))
            .zip(to.observations.par_chunks_mut(flows * INPUTS))
            .zip(to.active.par_chunks_mut(flows))
            .zip(to.globals.par_chunks_mut(GLOBALS))
            .zip(to.rewards.par_chunks_mut(flows))
            .zip(to.metrics.par_chunks_mut(flows * METRICS.len()))
            .zip(to.ended.par_iter_mut())
            .try_for_each(
                |(((((((slot, decisions), observations), active), globals), rewards), metrics), ended)| {
                    if slot.env.over() {
                        slot.env = ground.begin(slot.index, slot.episodes)?;
                        slot.episodes += 1;
                    }
                    slot.env.step(decisions)?;
                    globals.copy_from_slice(slot.env.globals());
                    for i in 0..flows.min(slot.env.agents()) {
                        let view = slot.env.view(i);
                        active[i] = view.active;
                        rewards[i] = view.reward as f32;
                        let history = &mut observations[i * INPUTS..(i + 1) * INPUTS];
                        history.copy_from_slice(view.history.as_flattened());
                        let row = &mut metrics[i * METRICS.len()..(i + 1) * METRICS.len()];
                        row.copy_from_slice(&measured(&slot.env, i));
                    }
                    let none = slot.env.agents().min(flows);
                    active[none..].fill(false);
                    *ended = slot.env.over();
                    Ok(())
                },
            )
    }
}

/// [`METRICS`] of a flow.
fn measured(env: &Env, i: usize) -> [f32; METRICS.len()] {
    let view = env.view(i);
    let s = view.seen;
    [
        s.throughput,
        s.rtt_us,
        s.srtt_us,
        s.min_rtt_us,
        s.max_throughput,
        s.loss,
        s.cwnd,
        s.out,
        s.pacing,
        view.base_rtt_ms * 1e3,
        view.goodput,
        env.capacity(),
    ]
    .map(|x| x as f32)
}

/// Number of values in an observation.
pub const OBSERVATION: usize = FEATURES * HISTORY;
