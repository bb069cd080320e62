// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recipes: the files that describe a training.

use crate::env::Rules;
use crate::evaluate::Subject;
use crate::reward::Reward;
use crate::td3::Settings;
use crate::vector::Ground;
use crate::world::Worlds;
use crate::LearnError;
use perigee_cc::Value;
use perigee_units::Nanos;
use serde::Deserialize;
use std::path::Path;

/// Bundled recipes: name, text.
pub const RECIPES: &[(&str, &str)] = &[
    ("astraea", include_str!("../recipes/astraea.toml")),
    ("astraea-leo", include_str!("../recipes/astraea-leo.toml")),
    ("cubic-corrected", include_str!("../recipes/cubic-corrected.toml")),
    ("smoke", include_str!("../recipes/smoke.toml")),
];

/// A training recipe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// One line for tables.
    pub title: String,
    /// Scenarios of the episodes.
    pub world: Worlds,
    /// Rules of observation.
    #[serde(default)]
    pub agent: Agents,
    /// The reward.
    #[serde(default)]
    pub reward: Reward,
    /// Multi-agent TD3, the learner unless there is a section `[ppo]`.
    #[serde(default)]
    pub td3: Settings,
    /// Settings of PPO, which is used instead of TD3 if present.
    #[serde(default)]
    pub ppo: Option<crate::ppo::Settings>,
    /// Curriculum: other worlds for the first parts of the training.
    #[serde(default)]
    pub stage: Vec<Stage>,
    /// Length of the training, and exploration.
    pub train: TrainingPlan,
}

/// A part of a curriculum.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Fraction of the training at which the stage ends; stages are in order of this value. After
    /// the last stage the recipe's world is used.
    pub until: f64,
    /// World of the stage.
    pub world: Worlds,
}

/// Rules of observation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agents {
    /// Time between decisions.
    step_ms: f64,
    /// Time between decisions of a flow in smoothed RTTs, if that is longer than a step; zero: all
    /// flows decide at every step.
    step_rtts: f64,
    lifetime: String,
    /// Astraea's parameter `module`: whether the transport reduces windows in recovery while flows
    /// learn.
    module: Option<String>,
    /// Astraea's parameter `below`: the scheme that decisions correct.
    below: String,
}

impl Default for Agents {
    fn default() -> Self {
        Agents {
            step_ms: 30.0,
            step_rtts: 0.0,
            lifetime: "forever".into(),
            module: None,
            below: "nothing".into(),
        }
    }
}

/// Length of the training, and exploration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingPlan {
    /// Total number of transitions.
    pub transitions: u64,
    /// Number of episodes between updates.
    #[serde(default = "four")]
    pub episodes: u64,
    /// Number of steps for which a random decision is kept: shorter ones average out over a round
    /// trip.
    #[serde(default = "ten")]
    pub hold: u64,
    /// Fraction of random decisions at the end of `explore`.
    #[serde(default = "little")]
    pub random: f64,
    /// Number of transitions over which that fraction falls from 1.
    pub explore: u64,
    /// Initial and final standard deviation of the noise on the other decisions.
    #[serde(default = "noise")]
    pub noise: [f64; 2],
    /// Number of rounds between evaluations.
    #[serde(default = "ten")]
    pub evaluate: u64,
    /// Number of episodes of an evaluation, which are the same each time.
    #[serde(default = "sixteen")]
    pub evaluation_episodes: u64,
    /// Table by which the best policy is selected, "astraea" or "satellite": by the number of rows
    /// that pass, then by reward. Without a table, by reward.
    #[serde(default)]
    pub table: Option<String>,
}

fn four() -> u64 {
    4
}
fn ten() -> u64 {
    10
}
fn sixteen() -> u64 {
    16
}
fn little() -> f64 {
    0.05
}
fn noise() -> [f64; 2] {
    [0.3, 0.1]
}

impl Recipe {
    /// Reads and checks a recipe; files are relative to `folder`.
    ///
    /// # Errors
    /// The error, with its line if the text cannot be parsed.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, LearnError> {
        let recipe: Recipe = toml::from_str(text).map_err(|e| LearnError::Input(e.to_string()))?;
        recipe.check(folder)?;
        Ok(recipe)
    }

    fn check(&self, folder: &Path) -> Result<(), LearnError> {
        let s = &self.td3;
        let widths = s.actor.iter().chain(&s.critic);
        let stages = self.stage.iter().map(|s| s.until);
        let table = self.train.table.as_deref();
        let module = self.agent.module.as_deref();
        let rules: [(bool, &str); 19] = [
            (
                ["normal", "bypass"].contains(&module.unwrap_or("bypass")),
                "agent.module: allowed are \"normal\", \"bypass\"",
            ),
            (
                module.is_none() || self.agent.below == "nothing",
                "agent.module: no effect without agent.below = \"nothing\"; remove it",
            ),
            (
                ["nothing", "cubic"].contains(&self.agent.below.as_str()),
                "agent.below: allowed are \"nothing\", \"cubic\"",
            ),
            ((0.0..=100.0).contains(&self.agent.step_rtts), "agent.step_rtts: allowed are 0 to 100"),
            (
                stages.clone().all(|u| (0.0..=1.0).contains(&u)) && stages.is_sorted_by(|a, b| a < b),
                "stage.until: allowed are shares from 0 to 1 that grow from stage to stage",
            ),
            (
                table.is_none_or(|t| crate::evaluate::RowSet::named(t).is_some()),
                "train.table: allowed are \"astraea\", \"satellite\"",
            ),
            (
                self.ppo
                    .as_ref()
                    .is_none_or(|p| p.batch > 0 && p.epochs > 0 && p.deviation > 0.0 && !p.critic.is_empty()),
                "ppo.batch, epochs, deviation, critic: above zero",
            ),
            ((1.0..=10_000.0).contains(&self.agent.step_ms), "agent.step_ms: allowed are 1 to 10000"),
            (
                ["forever", "window", "on_hint"].contains(&self.agent.lifetime.as_str()),
                "agent.lifetime: allowed are \"forever\", \"window\", \"on_hint\"",
            ),
            (widths.clone().all(|w| (1..=4096).contains(w)), "td3.actor, td3.critic: widths from 1 to 4096"),
            (s.average > 0.0 && s.average <= 1.0, "td3.average: allowed are above 0 to 1"),
            (!s.critic.is_empty(), "td3.critic: at least one hidden layer"),
            ((1..=65_536).contains(&s.batch), "td3.batch: allowed are 1 to 65536"),
            ((0.0..1.0).contains(&s.gamma), "td3.gamma: allowed are 0 to below 1"),
            ((100..=100_000_000).contains(&s.replay), "td3.replay: allowed are 100 to 100000000 frames"),
            (s.updates > 0.0 && s.updates <= 100.0, "td3.updates: allowed are above 0 to 100"),
            ((0.0..=1.0).contains(&self.train.random), "train.random: allowed are 0 to 1"),
            (self.train.transitions > 0, "train.transitions: at least 1"),
            (
                self.train.episodes > 0
                    && self.train.hold > 0
                    && self.train.evaluate > 0
                    && self.train.evaluation_episodes > 0,
                "train.episodes, hold, evaluate, evaluation_episodes: at least 1",
            ),
        ];
        if let Some((_, why)) = rules.iter().find(|(fine, _)| !fine) {
            return Err(LearnError::Input((*why).into()));
        }
        self.stage.iter().try_for_each(|s| s.world.check(folder))?;
        self.world.check(folder)
    }

    /// The scheme with a policy, observed as in this recipe.
    pub fn subject(&self, policy: &str) -> Subject {
        let words = [("lifetime", &self.agent.lifetime), ("below", &self.agent.below)];
        let params = words.map(|(key, word)| (key.to_string(), Value::Text(word.clone()))).into();
        Subject { cc: "astraea".into(), params, policy: Some(policy.into()) }
    }

    /// World in use after this fraction of the training.
    pub fn world_at(&self, share: f64) -> &Worlds {
        self.stage.iter().find(|s| share < s.until).map_or(&self.world, |s| &s.world)
    }

    /// Source of its episodes.
    pub fn ground(&self, folder: &Path, seed: u64) -> Ground {
        let rules = Rules {
            step: Nanos((self.agent.step_ms * 1e6) as u64),
            step_rtts: self.agent.step_rtts,
            lifetime: self.agent.lifetime.clone(),
            module: self.agent.module.clone().unwrap_or_else(|| "bypass".into()),
            below: self.agent.below.clone(),
            reward: self.reward.clone(),
        };
        Ground { worlds: self.world.clone(), folder: folder.into(), rules, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_that_comes_along_can_be_read() {
        for (name, text) in RECIPES {
            Recipe::parse(text, Path::new("")).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let smoke = RECIPES.iter().find(|r| r.0 == "smoke").unwrap().1;
        for (from, to, said) in [
            ("[world]", "[world]\nrate = 3", "rate"),
            ("[train]", "[train]\nrandom = 2.0", "train.random"),
            ("rtt_ms = ", "rtt_ms = -1 # ", "rtt_ms"),
            (
                "[train]",
                "[agent]\nbelow = \"cubic\"\nmodule = \"normal\"\n[train]",
                "agent.module: no effect",
            ),
        ] {
            let e = Recipe::parse(&smoke.replace(from, to), Path::new("")).unwrap_err().to_string();
            assert!(e.contains(said) || e.contains("world"), "{e}");
        }
    }
}
