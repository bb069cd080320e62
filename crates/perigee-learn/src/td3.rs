// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Twin delayed deterministic policy gradients (Fujimoto et al. 2018) for flows that share one
//! policy: actors receive the observations of a flow, critics also the global features (Lowe et al.
//! 2017).

use crate::draw::Draws;
use crate::env::GLOBALS;
use crate::net::{columns_from, Net};
use crate::replay::{Batch, Replay};
use ndarray::{concatenate, Array2, Axis};
use perigee_cc::astraea::derived::{derive, DERIVED};
use perigee_cc::astraea::{FEATURES, HISTORY, INPUTS};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Typical value and scale of features: `(x - a) * b` is about -1 to 1. Part of the exported
/// weights.
const SCALES: [(f32, f32); FEATURES] = [
    (0.8, 4.0),
    (1.3, 4.0),
    (1.3, 4.0),
    (1.0, 2.0),
    (0.8, 1.5),
    (0.15, 7.0),
    (0.0, 10.0),
    (0.9, 3.0),
    (1.1, 2.5),
    (0.0, 5.0),
];
/// The same for derived features.
const DERIVED_SCALES: [(f32, f32); DERIVED] = [(-1.0, 0.6), (-4.5, 0.35), (-2.5, 0.6)];
/// Number of inputs of networks with derived features.
const WITH_LOGS: usize = INPUTS + HISTORY * DERIVED;
/// Maximum norm of a gradient.
const MOST: f32 = 1.0;

/// Hyperparameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether the networks also receive the logarithms of throughput, queueing delay and lowest
    /// RTT ([`perigee_cc::astraea::derived`]), so that products of features are sums.
    pub logs: bool,
    /// Widths of the actor's hidden layers.
    pub actor: Vec<usize>,
    /// Widths of the critics' hidden layers.
    pub critic: Vec<usize>,
    /// Number of transitions per update.
    pub batch: usize,
    /// Discount per decision.
    pub gamma: f32,
    /// Fraction by which the target networks follow at each update.
    pub tau: f32,
    /// Fraction by which the policy that is evaluated and kept follows the actor at its updates
    /// (Polyak and Juditsky 1992): this averages out the actor's latest steps and their random
    /// effect on fairness. 1 = the actor itself.
    pub average: f32,
    /// Step size of the actor.
    pub actor_rate: f32,
    /// Step size of the critics.
    pub critic_rate: f32,
    /// Final value of both step sizes relative to the initial one; linear in between.
    pub final_rate: f32,
    /// Number of critic updates per update of the actor.
    pub delay: u64,
    /// Standard deviation of the noise on target actions, clipped at twice that value.
    pub smoothing: f32,
    /// Factor applied to rewards.
    pub reward_scale: f32,
    /// Weight of the squared input of the actor's tanh, which prevents saturation.
    pub restraint: f32,
    /// Number of frames in the replay buffer.
    pub replay: usize,
    /// Number of updates per transition.
    pub updates: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            logs: false,
            actor: vec![64, 32],
            critic: vec![128, 64],
            batch: 256,
            gamma: 0.98,
            tau: 0.005,
            average: 1.0,
            actor_rate: 3e-4,
            critic_rate: 1e-3,
            final_rate: 0.1,
            delay: 2,
            smoothing: 0.05,
            reward_scale: 10.0,
            restraint: 1e-3,
            replay: 400_000,
            updates: 0.1,
        }
    }
}

/// The learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learner {
    settings: Settings,
    actor: Net,
    actor_target: Net,
    average: Net,
    critics: [Net; 2],
    critic_targets: [Net; 2],
    updates: u64,
    draws: Draws,
}

impl Learner {
    /// An untrained learner.
    pub fn new(settings: Settings, seed: u64) -> Self {
        let mut draws = Draws::new(seed, u64::MAX);
        let inputs = if settings.logs { WITH_LOGS } else { INPUTS };
        let actor = Net::with_hidden(inputs, &settings.actor, &mut draws);
        let critics = [(); 2].map(|()| Net::with_hidden(inputs + GLOBALS + 1, &settings.critic, &mut draws));
        Learner {
            actor_target: actor.clone(),
            average: actor.clone(),
            critic_targets: critics.clone(),
            settings,
            actor,
            critics,
            updates: 0,
            draws,
        }
    }

    /// Number of updates so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Whether all values are finite.
    pub fn is_finite(&self) -> bool {
        self.actor.is_finite() && self.critics.iter().all(Net::is_finite)
    }

    /// Updates the critics and, every `delay` updates, the actor; `left`: remaining fraction of the
    /// training. False if there are too few transitions.
    pub fn update(&mut self, replay: &Replay, left: f32) -> bool {
        let Some(mut batch) = replay.batch(self.settings.batch, &mut self.draws) else { return false };
        for seen in [&mut batch.local, &mut batch.next_local] {
            *seen = prepared(std::mem::take(seen), self.settings.logs);
        }
        let rate = self.settings.final_rate + (1.0 - self.settings.final_rate) * left.clamp(0.0, 1.0);
        let goals = self.goals(&batch);
        self.teach_critics(&batch, &goals, rate);
        self.updates += 1;
        if self.updates % self.settings.delay.max(1) == 0 {
            self.teach_actor(&batch, rate);
            let tau = self.settings.tau;
            self.actor_target.follow(&self.actor, tau);
            self.average.follow(&self.actor, self.settings.average);
            self.critic_targets.iter_mut().zip(&self.critics).for_each(|(t, c)| t.follow(c, tau));
        }
        true
    }

    /// Target values of the critics.
    fn goals(&mut self, batch: &Batch) -> Vec<f32> {
        let s = &self.settings;
        let mut actions = self.actor_target.forward(batch.next_local.clone()).output().mapv(libm::tanhf);
        for a in &mut actions {
            let noise = self.draws.normal() as f32 * s.smoothing;
            *a = (*a + noise.clamp(-2.0 * s.smoothing, 2.0 * s.smoothing)).clamp(-1.0, 1.0);
        }
        let inputs = joined(&batch.next_local, &batch.next_globals, &actions);
        let values: Vec<_> = self.critic_targets.iter().map(|c| c.forward(inputs.clone())).collect();
        let least = values[0].output().iter().zip(values[1].output()).map(|(a, b)| a.min(*b));
        batch.rewards.iter().zip(least).map(|(r, v)| r * s.reward_scale + s.gamma * v).collect()
    }

    fn teach_critics(&mut self, batch: &Batch, goals: &[f32], rate: f32) {
        let n = goals.len() as f32;
        let actions = Array2::from_shape_vec((goals.len(), 1), batch.actions.clone()).expect("a column");
        let inputs = joined(&batch.local, &batch.globals, &actions);
        for critic in &mut self.critics {
            let pass = critic.forward(inputs.clone());
            let mut slope = pass.output().clone();
            // Huber loss: errors beyond one count linearly.
            slope.iter_mut().zip(goals).for_each(|(y, goal)| *y = (*y - goal).clamp(-1.0, 1.0) / n);
            let (gradients, _) = critic.backward(&pass, slope);
            critic.descend(&gradients, self.settings.critic_rate * rate, MOST);
        }
    }

    fn teach_actor(&mut self, batch: &Batch, rate: f32) {
        let pass = self.actor.forward(batch.local.clone());
        let before = pass.output();
        let actions = before.mapv(libm::tanhf);
        let n = actions.len() as f32;
        let critic = &self.critics[0];
        let value = critic.forward(joined(&batch.local, &batch.globals, &actions));
        let (_, inputs) = critic.backward(&value, Array2::from_elem(before.raw_dim(), -1.0 / n));
        let mut slope = columns_from(&inputs, batch.local.ncols() + GLOBALS);
        slope.zip_mut_with(&actions, |g, a| *g *= 1.0 - a * a);
        slope.zip_mut_with(before, |g, z| *g += 2.0 * self.settings.restraint * z / n);
        let (gradients, _) = self.actor.backward(&pass, slope);
        self.actor.descend(&gradients, self.settings.actor_rate * rate, MOST);
    }

    /// Policy in the form of a file, with `head` as comment.
    pub fn policy(&self, head: &str) -> String {
        export(&self.average, head)
    }

    /// Actor in the form of a file: the behaviour policy.
    pub fn actor(&self) -> String {
        export(&self.actor, "actor")
    }
}

/// An actor in the form of a file, with `head` as comment.
pub(crate) fn export(actor: &Net, head: &str) -> String {
    let mut text = String::new();
    for line in head.lines() {
        let _ = writeln!(text, "# {line}");
    }
    let _ = writeln!(text, "perigee-policy 1\ninput {INPUTS}");
    if actor.widths()[0] == WITH_LOGS {
        text.push_str("logs\n");
    }
    let count = actor.values().count();
    for (i, (inputs, outputs, values)) in actor.values().enumerate() {
        let (mut weights, mut biases) =
            (values[..inputs * outputs].to_vec(), values[inputs * outputs..].to_vec());
        if i == 0 {
            fold(&mut weights, &mut biases, inputs);
        }
        let _ = writeln!(text, "dense {outputs}");
        for row in weights.chunks_exact(inputs).chain([biases.as_slice()]) {
            let words: Vec<String> = row.iter().map(|x| x.to_string()).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
        let after =
            if i + 1 == count { "tanh".to_string() } else { format!("leaky_relu {}", crate::net::SLOPE) };
        let _ = writeln!(text, "{after}");
    }
    text.push_str("end\n");
    text
}

/// Normalises features for the networks.
pub(crate) fn normalise(observations: &mut Array2<f32>) {
    for mut row in observations.rows_mut() {
        for (x, (shift, scale)) in row.iter_mut().zip(SCALES.iter().cycle()) {
            *x = (*x - shift) * scale;
        }
    }
}

/// Inputs of the networks, with or without logarithms.
fn prepared(mut observations: Array2<f32>, logs: bool) -> Array2<f32> {
    let derived = logs.then(|| logarithms(&observations));
    normalise(&mut observations);
    match derived {
        Some(logs) => concatenate(Axis(1), &[observations.view(), logs.view()]).expect("as many rows"),
        None => observations,
    }
}

/// Normalised derived features of the steps of observations.
fn logarithms(observations: &Array2<f32>) -> Array2<f32> {
    let mut logs = Array2::zeros((observations.nrows(), HISTORY * DERIVED));
    for (row, mut to) in observations.rows().into_iter().zip(logs.rows_mut()) {
        let row = row.to_slice().expect("rows lie in one piece");
        let derived = row.chunks_exact(FEATURES).flat_map(derive);
        for ((to, x), (shift, scale)) in to.iter_mut().zip(derived).zip(DERIVED_SCALES.iter().cycle()) {
            *to = (x - shift) * scale;
        }
    }
    logs
}

/// Folds the normalisation into the first layer, which has `inputs` inputs.
fn fold(weights: &mut [f32], biases: &mut [f32], inputs: usize) {
    let scales = SCALES.iter().cycle().take(INPUTS).chain(DERIVED_SCALES.iter().cycle());
    for (row, bias) in weights.chunks_exact_mut(inputs).zip(biases) {
        for (w, (shift, scale)) in row.iter_mut().zip(scales.clone()) {
            *w *= scale;
            *bias -= *w * shift;
        }
    }
}

fn joined(local: &Array2<f32>, globals: &Array2<f32>, actions: &Array2<f32>) -> Array2<f32> {
    concatenate(Axis(1), &[local.view(), globals.view(), actions.view()]).expect("as many rows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Frame;
    use perigee_cc::astraea::policy::Policy;

    #[test]
    fn the_exported_policy_is_the_actor() {
        for logs in [false, true] {
            exported(Settings { logs, ..Settings::default() });
        }
    }

    fn exported(settings: Settings) {
        let learner = Learner::new(settings, 5);
        let policy = Policy::parse(&learner.policy("of a test")).unwrap();
        let mut draws = Draws::new(9, 9);
        for _ in 0..20 {
            let x: Vec<f32> = (0..INPUTS).map(|_| draws.uniform(0.0, 2.0) as f32).collect();
            let row = Array2::from_shape_vec((1, INPUTS), x.clone()).unwrap();
            let row = prepared(row, learner.settings.logs);
            let expected = libm::tanhf(learner.actor.forward(row).output()[[0, 0]]);
            let got = policy.evaluate(&x, &mut policy.scratch());
            assert!((got - expected).abs() < 1e-4, "{got} {expected}");
        }
    }

    /// The reward is highest if the action is half of the first feature.
    #[test]
    fn it_learns_what_is_rewarded() {
        let mut draws = Draws::new(2, 2);
        let mut replay = Replay::new(20_000);
        for _ in 0..200 {
            let frames: Vec<Frame> = (0..50)
                .map(|_| {
                    let (x, a) = (draws.uniform(-1.0, 1.0), draws.uniform(-1.0, 1.0));
                    let reward = -0.1 * (a - x / 2.0) * (a - x / 2.0);
                    let features = [(x / 4.0 + 0.8) as f32; FEATURES];
                    Frame { features, globals: [0.0; GLOBALS], action: a as f32, reward: reward as f32 }
                })
                .collect();
            replay.push(&frames);
        }
        let settings =
            Settings { gamma: 0.0, batch: 64, actor: vec![32], critic: vec![64, 32], ..Settings::default() };
        let mut learner = Learner::new(settings, 1);
        (0..3000).for_each(|_| assert!(learner.update(&replay, 1.0)));
        let policy = Policy::parse(&learner.policy("")).unwrap();
        for x in [-0.8f32, 0.0, 0.8] {
            let inputs = [x / 4.0 + 0.8; INPUTS];
            let a = policy.evaluate(&inputs, &mut policy.scratch());
            assert!((a - x / 2.0).abs() < 0.2, "{x}: {a}");
        }
    }
}
