// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Proximal policy optimisation (PPO, Schulman et al. 2017) for flows that share one policy. The
//! actor's input is the observations of a flow, the critic's also the global features. Actions are
//! normally distributed around the hyperbolic tangent of the actor's output, with a learned
//! standard deviation.

use crate::draw::Draws;
use crate::env::GLOBALS;
use crate::net::Net;
use crate::replay::Frame;
use crate::td3::{export, normalise};
use ndarray::{concatenate, Array2, Axis};
use perigee_cc::astraea::{FEATURES, HISTORY, INPUTS};
use serde::{Deserialize, Serialize};

/// Norm to which gradients are clipped.
const MAX_GRADIENT_NORM: f32 = 0.5;
/// Lower and upper bound of the standard deviation of actions.
const DEVIATION: (f32, f32) = (0.05, 1.0);

/// Hyperparameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Widths of the actor's hidden layers.
    pub actor: Vec<usize>,
    /// Widths of the critic's hidden layers.
    pub critic: Vec<usize>,
    /// Number of transitions per minibatch.
    pub batch: usize,
    /// Number of passes over a round's transitions.
    pub epochs: u64,
    /// Discount per decision.
    pub gamma: f32,
    /// Discount of later errors in the advantage (generalised advantage estimation).
    pub lambda: f32,
    /// Clipping range of the probability ratio.
    pub clip: f32,
    /// Learning rate of the actor.
    pub actor_rate: f32,
    /// Learning rate of the critic.
    pub critic_rate: f32,
    /// Final value of both learning rates, relative to the initial one; the decay is linear.
    pub final_rate: f32,
    /// Initial standard deviation of actions.
    pub deviation: f32,
    /// Weight of the entropy bonus.
    pub entropy: f32,
    /// Factor applied to rewards.
    pub reward_scale: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            actor: vec![64, 32],
            critic: vec![128, 64],
            batch: 512,
            epochs: 4,
            gamma: 0.98,
            lambda: 0.95,
            clip: 0.2,
            actor_rate: 3e-4,
            critic_rate: 1e-3,
            final_rate: 0.1,
            deviation: 0.5,
            entropy: 1e-3,
            reward_scale: 5.0,
        }
    }
}

/// PPO learner: networks, standard deviation and random state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ppo {
    settings: Settings,
    actor: Net,
    critic: Net,
    log_deviation: f32,
    updates: u64,
    draws: Draws,
}

/// The n transitions of a round; the lists have one element per transition.
struct Rollout {
    /// Inputs of the actor, n × `INPUTS`.
    local: Array2<f32>,
    /// Inputs of the critic, n × (`INPUTS` + `GLOBALS`).
    joined: Array2<f32>,
    actions: Vec<f32>,
    /// Log-densities of the actions under the policy that took them.
    densities: Vec<f32>,
    /// Advantages, normalised to mean 0 and variance 1.
    advantages: Vec<f32>,
    returns: Vec<f32>,
}

impl Ppo {
    /// Creates an untrained learner.
    pub fn new(settings: Settings, seed: u64) -> Self {
        let mut draws = Draws::new(seed, u64::MAX);
        let actor = Net::with_hidden(INPUTS, &settings.actor, &mut draws);
        let critic = Net::with_hidden(INPUTS + GLOBALS, &settings.critic, &mut draws);
        let log_deviation = libm::logf(settings.deviation);
        Ppo { settings, actor, critic, log_deviation, updates: 0, draws }
    }

    /// Number of gradient steps so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Current standard deviation of actions.
    pub fn deviation(&self) -> f32 {
        libm::expf(self.log_deviation)
    }

    /// Whether all weights are finite.
    pub fn is_finite(&self) -> bool {
        self.actor.is_finite() && self.critic.is_finite() && self.log_deviation.is_finite()
    }

    /// Contents of a policy file with the actor's weights, and `head` as its comment.
    pub fn policy(&self, head: &str) -> String {
        export(&self.actor, head)
    }

    /// Trains on one round: one stream of frames per flow, recorded with the current policy.
    /// Without at least two transitions nothing changes. `left` is the remaining fraction of the
    /// training, by which the learning rates decay.
    pub fn learn(&mut self, streams: &[&[Frame]], left: f32) {
        let Some(rollout) = self.rollout(streams) else { return };
        let rate = self.settings.final_rate + (1.0 - self.settings.final_rate) * left.clamp(0.0, 1.0);
        let n = rollout.actions.len();
        let mut order: Vec<usize> = (0..n).collect();
        for _ in 0..self.settings.epochs {
            for i in (1..n).rev() {
                order.swap(i, self.draws.below(i + 1));
            }
            for part in order.chunks(self.settings.batch) {
                self.update(&rollout, part, rate);
            }
        }
    }

    /// Transitions of all streams, with advantages by generalised advantage estimation; `None` for
    /// fewer than two transitions.
    fn rollout(&self, streams: &[&[Frame]]) -> Option<Rollout> {
        let s = &self.settings;
        let (mut local, mut joined) = (Vec::new(), Vec::new());
        let (mut actions, mut advantages, mut returns) = (Vec::new(), Vec::new(), Vec::new());
        for stream in streams.iter().filter(|x| x.len() > 1) {
            let (inputs, both) = observations(stream);
            let values = self.critic.forward(both.clone()).output().clone();
            let n = stream.len() - 1;
            let mut later = 0.0;
            let mut own = vec![0.0; n];
            for t in (0..n).rev() {
                let error = stream[t].reward * s.reward_scale + s.gamma * values[[t + 1, 0]] - values[[t, 0]];
                later = error + s.gamma * s.lambda * later;
                own[t] = later;
            }
            returns.extend((0..n).map(|t| own[t] + values[[t, 0]]));
            advantages.extend(own);
            actions.extend(stream[..n].iter().map(|f| f.action));
            // Row by row, whatever the memory layout of the arrays.
            local.extend(inputs.iter().take(n * INPUTS));
            joined.extend(both.iter().take(n * (INPUTS + GLOBALS)));
        }
        let n = actions.len();
        if n < 2 {
            return None;
        }
        let mean = advantages.iter().sum::<f32>() / n as f32;
        let variance = advantages.iter().map(|a| (a - mean) * (a - mean)).sum::<f32>() / n as f32;
        advantages.iter_mut().for_each(|a| *a = (*a - mean) / (variance.sqrt() + 1e-6));
        let local = Array2::from_shape_vec((n, INPUTS), local).ok()?;
        let joined = Array2::from_shape_vec((n, INPUTS + GLOBALS), joined).ok()?;
        let means = self.actor.forward(local.clone()).output().mapv(libm::tanhf);
        let densities = means.iter().zip(&actions).map(|(m, a)| self.density(*m, *a)).collect();
        Some(Rollout { local, joined, actions, densities, advantages, returns })
    }

    /// Logarithm of the density of an action, up to a constant.
    fn density(&self, mean: f32, action: f32) -> f32 {
        let z = (action - mean) / self.deviation();
        -0.5 * z * z - self.log_deviation
    }

    /// Performs one gradient step of actor and critic on the transitions `part`. `rate` scales both
    /// learning rates.
    fn update(&mut self, rollout: &Rollout, part: &[usize], rate: f32) {
        let n = part.len() as f32;
        let pass = self.critic.forward(rollout.joined.select(Axis(0), part));
        let mut slope = pass.output().clone();
        slope.iter_mut().zip(part).for_each(|(y, i)| *y = (*y - rollout.returns[*i]).clamp(-1.0, 1.0) / n);
        let (gradients, _) = self.critic.backward(&pass, slope);
        self.critic.descend(&gradients, self.settings.critic_rate * rate, MAX_GRADIENT_NORM);
        let pass = self.actor.forward(rollout.local.select(Axis(0), part));
        let deviation = self.deviation();
        let mut slope = pass.output().clone();
        let mut widen = 0.0;
        for (y, &i) in slope.iter_mut().zip(part) {
            let mean = libm::tanhf(*y);
            let ratio = libm::expf(self.density(mean, rollout.actions[i]) - rollout.densities[i]);
            let advantage = rollout.advantages[i];
            let clip = self.settings.clip;
            let counts = if advantage > 0.0 { ratio < 1.0 + clip } else { ratio > 1.0 - clip };
            let pull = if counts { ratio * advantage } else { 0.0 };
            let z = (rollout.actions[i] - mean) / deviation;
            *y = -pull * z / deviation * (1.0 - mean * mean) / n;
            widen += pull * (z * z - 1.0) / n;
        }
        let (gradients, _) = self.actor.backward(&pass, slope);
        self.actor.descend(&gradients, self.settings.actor_rate * rate, MAX_GRADIENT_NORM);
        let (least, most) = (libm::logf(DEVIATION.0), libm::logf(DEVIATION.1));
        let moved =
            self.log_deviation + self.settings.actor_rate * rate * 10.0 * (widen + self.settings.entropy);
        self.log_deviation = moved.clamp(least, most);
        self.updates += 1;
    }
}

/// Inputs of actor and critic: one row per frame, with `INPUTS` and `INPUTS` + `GLOBALS` columns.
fn observations(stream: &[Frame]) -> (Array2<f32>, Array2<f32>) {
    let mut local = Array2::zeros((stream.len(), INPUTS));
    let mut globals = Array2::zeros((stream.len(), GLOBALS));
    for (t, frame) in stream.iter().enumerate() {
        for k in 0..HISTORY.min(t + 1) {
            let at = (HISTORY - 1 - k) * FEATURES;
            for (i, x) in stream[t - k].features.iter().enumerate() {
                local[[t, at + i]] = *x;
            }
        }
        for (i, x) in frame.globals.iter().enumerate() {
            globals[[t, i]] = *x;
        }
    }
    normalise(&mut local);
    let joined = concatenate(Axis(1), &[local.view(), globals.view()]).expect("both have one row per frame");
    (local, joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::astraea::policy::Policy;

    /// The reward is highest if the action is half of the first feature.
    #[test]
    fn the_policy_approaches_the_rewarded_action() {
        let mut draws = Draws::new(2, 2);
        let settings = Settings {
            gamma: 0.0,
            actor: vec![32],
            critic: vec![32],
            actor_rate: 1e-3,
            ..Settings::default()
        };
        let mut learner = Ppo::new(settings, 1);
        for _ in 0..80 {
            let policy = Policy::parse(&learner.policy("")).unwrap();
            let streams: Vec<Vec<Frame>> = (0..20)
                .map(|_| {
                    let x = draws.uniform(-1.0, 1.0);
                    let frame = |_| {
                        let features = [(x / 4.0 + 0.8) as f32; FEATURES];
                        let inputs = [features[0]; INPUTS];
                        let mean = f64::from(policy.evaluate(&inputs, &mut policy.scratch()));
                        let a = mean + draws.normal() * f64::from(learner.deviation());
                        let reward = -0.5 * (a - x / 2.0) * (a - x / 2.0);
                        Frame { features, globals: [0.0; GLOBALS], action: a as f32, reward: reward as f32 }
                    };
                    (0..30).map(frame).collect()
                })
                .collect();
            let streams: Vec<&[Frame]> = streams.iter().map(Vec::as_slice).collect();
            learner.learn(&streams, 1.0);
        }
        let policy = Policy::parse(&learner.policy("")).unwrap();
        for x in [-0.8f32, 0.0, 0.8] {
            let a = policy.evaluate(&[x / 4.0 + 0.8; INPUTS], &mut policy.scratch());
            assert!((a - x / 2.0).abs() < 0.25, "{x}: {a}");
        }
        assert!(learner.deviation() < 0.5, "exploration decreases");
    }
}
