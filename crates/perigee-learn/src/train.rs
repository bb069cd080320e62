// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Training loop. Each round runs a number of complete episodes in parallel, and then the updates
//! that are due for their transitions. A checkpoint between two rounds holds the complete state: a
//! resumed training gives the same results as an uninterrupted one.

use crate::draw::Draws;
use crate::env::{Env, GLOBALS};
use crate::evaluate::{merit, RowSet};
use crate::ppo::Ppo;
use crate::recipe::Recipe;
use crate::replay::{Frame, Replay};
use crate::td3::Learner;
use crate::vector::Ground;
use crate::LearnError;
use perigee_cc::astraea::desk::Decision;
use perigee_cc::astraea::policy::Policy;
use perigee_cc::astraea::{FEATURES, HISTORY};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Index of the first evaluation episode, above those of all training episodes.
const EVALUATION: u64 = 1 << 48;
/// Magic number at the start of a checkpoint.
const MAGIC: &[u8; 8] = b"perilrn2";
/// Length of the SHA-256 digest of the rest of the file.
const CHECK_BYTES: usize = 32;

/// Performance of a policy: means over the second halves of the evaluation episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Number of transitions before the evaluation.
    pub transitions: u64,
    /// Number of updates before the evaluation.
    pub updates: u64,
    /// Mean reward per step of a flow.
    pub reward: f64,
    /// Ratio of the goodput of all flows to the capacity.
    pub utilisation: f64,
    /// Ratio of the RTT to the base RTT.
    pub inflation: f64,
    /// Jain's index of the flows' goodputs.
    pub fairness: f64,
    /// Number of rows of the recipe's table that pass; `None` without a table, or if too many fail
    /// for the policy to be the best.
    pub passed: Option<usize>,
}

/// The learning algorithm.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Algorithm {
    Td3(Box<Learner>),
    Ppo(Box<Ppo>),
}

impl Algorithm {
    fn of(recipe: &Recipe, seed: u64) -> Self {
        match &recipe.ppo {
            Some(settings) => Algorithm::Ppo(Box::new(Ppo::new(settings.clone(), seed))),
            None => Algorithm::Td3(Box::new(Learner::new(recipe.td3.clone(), seed))),
        }
    }

    fn policy(&self, head: &str) -> String {
        match self {
            Algorithm::Td3(l) => l.policy(head),
            Algorithm::Ppo(l) => l.policy(head),
        }
    }

    /// The policy that collects experience; with TD3 it may differ from the one that is stored.
    fn behaviour(&self) -> String {
        match self {
            Algorithm::Td3(l) => l.actor(),
            Algorithm::Ppo(l) => l.policy("actor"),
        }
    }

    fn updates(&self) -> u64 {
        match self {
            Algorithm::Td3(l) => l.updates(),
            Algorithm::Ppo(l) => l.updates(),
        }
    }

    fn is_finite(&self) -> bool {
        match self {
            Algorithm::Td3(l) => l.is_finite(),
            Algorithm::Ppo(l) => l.is_finite(),
        }
    }
}

/// The best policy so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Best {
    passed: usize,
    reward: f64,
    text: String,
}

/// State of a training between two rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    /// Recipe as text, to compare at resumption.
    recipe: String,
    seed: u64,
    round: u64,
    transitions: u64,
    /// Number of updates due for past transitions, with fractions.
    owed: f64,
    learner: Algorithm,
    scores: Vec<Score>,
    best: Option<Best>,
}

/// A training: recipe, state and replay buffer.
pub struct Training {
    state: State,
    recipe: Recipe,
    ground: Ground,
    replay: Replay,
    /// Whether the recipe's table selects the best policy; otherwise the reward does.
    tables: bool,
}

/// Summary of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Round {
    /// Number of the round, from 1.
    pub round: u64,
    /// Number of transitions so far.
    pub transitions: u64,
    /// Number of transitions at which the training ends.
    pub of: u64,
    /// Number of updates so far.
    pub updates: u64,
    /// Mean reward of the round's episodes, exploration included.
    pub reward: f64,
    /// Evaluation after the round, if there was one.
    pub score: Option<Score>,
}

impl Training {
    /// Starts a training. `text`: the recipe; `folder`: base of its relative paths.
    ///
    /// # Errors
    /// If the recipe is invalid.
    pub fn new(text: &str, folder: &Path, seed: u64) -> Result<Self, LearnError> {
        let recipe = Recipe::parse(text, folder)?;
        let learner = Algorithm::of(&recipe, seed);
        let state = State {
            recipe: text.into(),
            seed,
            round: 0,
            transitions: 0,
            owed: 0.0,
            learner,
            scores: Vec::new(),
            best: None,
        };
        let (ground, replay) = (recipe.ground(folder, seed), Replay::new(recipe.td3.replay));
        Ok(Training { state, recipe, ground, replay, tables: true })
    }

    /// Resumes a training from its checkpoint.
    ///
    /// # Errors
    /// If the file is not a checkpoint of this training, or is damaged.
    pub fn resume(text: &str, folder: &Path, seed: u64, checkpoint: &Path) -> Result<Self, LearnError> {
        let named = |why: String| LearnError::Input(format!("{}: {why}", checkpoint.display()));
        let bytes = std::fs::read(checkpoint).map_err(|e| named(e.to_string()))?;
        let damaged = || named("not a checkpoint, or damaged; remove it to start from scratch".into());
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
        let (check, rest) = rest.split_at_checked(CHECK_BYTES).ok_or_else(damaged)?;
        if Sha256::digest(rest).as_slice() != check {
            return Err(damaged());
        }
        let (length, rest) = rest.split_at_checked(8).ok_or_else(damaged)?;
        let length = u64::from_le_bytes(length.try_into().map_err(|_| damaged())?);
        let (json, replay) = rest.split_at_checked(length as usize).ok_or_else(damaged)?;
        let state: State = serde_json::from_slice(json).map_err(|_| damaged())?;
        if state.recipe != text || state.seed != seed {
            return Err(named("checkpoint of another recipe or seed; choose another folder".into()));
        }
        let recipe = Recipe::parse(text, folder)?;
        let ground = recipe.ground(folder, seed);
        let replay = Replay::load(replay).map_err(|_| damaged())?;
        Ok(Training { state, recipe, ground, replay, tables: true })
    }

    /// From now on, selects the best policy by its reward instead of the recipe's table, which would
    /// need additional runs.
    pub fn without_tables(&mut self) {
        self.tables = false;
    }

    /// Writes a checkpoint atomically: if the process is killed, the previous one remains.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, checkpoint: &Path) -> Result<(), LearnError> {
        let json = serde_json::to_vec(&self.state).map_err(|e| LearnError::Run(e.to_string()))?;
        let mut body = (json.len() as u64).to_le_bytes().to_vec();
        body.extend(json);
        body.extend(self.replay.save());
        let bytes = [MAGIC.as_slice(), Sha256::digest(&body).as_slice(), &body].concat();
        perigee_units::files::write(checkpoint, &bytes).map_err(LearnError::Run)
    }

    /// Whether the training is complete.
    pub fn over(&self) -> bool {
        self.state.transitions >= self.recipe.train.transitions
    }

    /// All evaluations so far.
    pub fn scores(&self) -> &[Score] {
        &self.state.scores
    }

    /// Text of the best policy of all evaluations; without evaluations, of the current policy.
    pub fn best(&self) -> String {
        self.state.best.as_ref().map_or_else(|| self.policy(), |b| b.text.clone())
    }

    /// Text of the current policy.
    pub fn policy(&self) -> String {
        let s = &self.state;
        self.state.learner.policy(&format!(
            "{}, seed {}: {} transitions, {} updates",
            self.recipe.title,
            s.seed,
            s.transitions,
            s.learner.updates()
        ))
    }

    /// Runs one round.
    ///
    /// # Errors
    /// If a simulation fails, or the weights have diverged (NaN).
    pub fn round(&mut self) -> Result<Round, LearnError> {
        let policy =
            Policy::parse(&self.state.learner.behaviour()).map_err(|e| LearnError::Run(e.to_string()))?;
        let first = self.state.round * self.recipe.train.episodes;
        let indices = first..first + self.recipe.train.episodes;
        let explore = self.exploration();
        let done = self.state.transitions as f64 / self.recipe.train.transitions as f64;
        let ground = Ground { worlds: self.recipe.world_at(done).clone(), ..self.ground.clone() };
        let episodes: Vec<_> = indices
            .into_par_iter()
            .map(|index| run_episode(&ground, index, &policy, Some(&explore)))
            .collect::<Result<_, LearnError>>()?;
        let (mut sum, mut count) = (0.0, 0u64);
        let off_policy = matches!(self.state.learner, Algorithm::Td3(_));
        for stream in episodes.iter().flat_map(|e| &e.streams) {
            if off_policy {
                self.replay.push(stream);
            }
            // The last frame of a stream has no reward yet.
            let transitions = stream.len().saturating_sub(1);
            count += transitions as u64;
            sum += stream[..transitions].iter().map(|f| f64::from(f.reward)).sum::<f64>();
        }
        self.state.transitions += count;
        self.state.round += 1;
        self.learn(count, &episodes);
        if !self.state.learner.is_finite() {
            return Err(LearnError::Run("weights diverged (NaN); reduce the learning rates".into()));
        }
        let last = self.over();
        let score = (last || self.state.round % self.recipe.train.evaluate == 0)
            .then(|| self.evaluate())
            .transpose()?;
        Ok(Round {
            round: self.state.round,
            transitions: self.state.transitions,
            of: self.recipe.train.transitions,
            updates: self.state.learner.updates(),
            reward: sum / count.max(1) as f64,
            score,
        })
    }

    /// Runs the updates that are due after `transitions` more transitions.
    fn learn(&mut self, transitions: u64, episodes: &[Episode]) {
        let remaining = (1.0 - self.state.transitions as f64 / self.recipe.train.transitions as f64) as f32;
        match &mut self.state.learner {
            Algorithm::Td3(learner) => {
                self.state.owed += transitions as f64 * self.recipe.td3.updates;
                while self.state.owed >= 1.0 {
                    self.state.owed -= 1.0;
                    learner.update(&self.replay, remaining);
                }
            }
            Algorithm::Ppo(learner) => {
                let streams: Vec<&[Frame]> =
                    episodes.iter().flat_map(|e| &e.streams).map(Vec::as_slice).collect();
                learner.learn(&streams, remaining);
            }
        }
    }

    fn exploration(&self) -> Exploration {
        if let Algorithm::Ppo(learner) = &self.state.learner {
            return Exploration { hold: 1, random: 0.0, noise: learner.deviation().into(), bounded: false };
        }
        let plan = &self.recipe.train;
        let done = self.state.transitions as f64;
        let share = 1.0 - done / plan.explore.max(1) as f64 * (1.0 - plan.random);
        let progress = (done / plan.transitions as f64).min(1.0);
        Exploration {
            hold: plan.hold,
            random: share.max(plan.random),
            noise: plan.noise[0] + (plan.noise[1] - plan.noise[0]) * progress,
            bounded: true,
        }
    }

    fn evaluate(&mut self) -> Result<Score, LearnError> {
        let text = self.policy();
        let policy = Policy::parse(&text).map_err(|e| LearnError::Run(e.to_string()))?;
        let n = self.recipe.train.evaluation_episodes;
        // Evaluation episodes are the same for all seeds of the training.
        let ground = Ground { seed: 1, ..self.ground.clone() };
        let episodes: Vec<_> = (EVALUATION..EVALUATION + n)
            .into_par_iter()
            .map(|index| run_episode(&ground, index, &policy, None))
            .collect::<Result<_, LearnError>>()?;
        let mean = |f: &dyn Fn(&Episode) -> f64| episodes.iter().map(f).sum::<f64>() / n as f64;
        let score = Score {
            transitions: self.state.transitions,
            updates: self.state.learner.updates(),
            reward: mean(&|e| e.reward),
            utilisation: mean(&|e| e.utilisation),
            inflation: mean(&|e| e.inflation),
            fairness: mean(&|e| e.fairness),
            passed: self.passed(&text)?,
        };
        self.state.scores.push(score);
        let passed = score.passed.unwrap_or(0);
        let better = |b: &Best| (passed, score.reward) > (b.passed, b.reward);
        if self.state.best.as_ref().is_none_or(better) {
            self.state.best = Some(Best { passed, reward: score.reward, text });
        }
        Ok(score)
    }

    /// Number of rows of the recipe's table that a policy passes; `None` without a table, or if more
    /// fail than with the best policy so far (at first: more than half).
    fn passed(&self, policy: &str) -> Result<Option<usize>, LearnError> {
        let kind = self.recipe.train.table.as_deref().and_then(RowSet::named);
        let Some(kind) = kind.filter(|_| self.tables) else { return Ok(None) };
        let rows = kind.rows().len();
        let best = self.state.best.as_ref().map_or(0, |b| b.passed).max(rows / 2);
        merit(&self.recipe.subject(policy), kind, rows - best)
    }
}

/// Exploration in an episode: random actions, and noise on those of the policy.
struct Exploration {
    /// Number of steps for which a draw applies.
    hold: u64,
    /// Probability of a uniformly random action.
    random: f64,
    /// Standard deviation of the noise on the policy's action.
    noise: f64,
    /// Whether actions are clipped to -1..1.
    bounded: bool,
}

/// Result of an episode. All but the streams are means over its second half.
struct Episode {
    /// Frames of each flow that made at least two decisions.
    streams: Vec<Vec<Frame>>,
    reward: f64,
    utilisation: f64,
    inflation: f64,
    fairness: f64,
}

/// Sums over the second half of an episode.
#[derive(Default)]
struct Sums {
    steps: f64,
    flow_steps: f64,
    reward: f64,
    used: f64,
    inflation: f64,
}

/// Runs one episode under a policy, with exploration if given.
fn run_episode(
    ground: &Ground,
    index: u64,
    policy: &Policy,
    explore: Option<&Exploration>,
) -> Result<Episode, LearnError> {
    let episode = ground.worlds.episode(&ground.folder, ground.seed, index)?;
    let half = episode.scenario.run.duration / 2;
    let mut env = Env::new(&episode, &ground.rules)?;
    let mut draws = Draws::new(ground.seed ^ 0x5eed, index);
    let mut scratch = policy.scratch();
    let agents = env.agents();
    let mut streams: Vec<Vec<Frame>> = vec![Vec::new(); agents];
    // By flow: number of steps until the next draw, the random action if one was drawn, and the noise
    // on the policy's action.
    let mut drawn = vec![(0u64, None::<f64>, 0.0); agents];
    let mut decisions = vec![Decision::Step(0.0); agents];
    let mut goodputs = vec![0.0; agents];
    let mut sums = Sums::default();
    while !env.over() {
        env.step(&decisions)?;
        let counted = env.now() > half;
        let mut used = 0.0;
        for i in 0..agents {
            let view = env.view(i);
            used += if view.present { view.goodput } else { 0.0 };
            if !view.active {
                continue;
            }
            if let Some(before) = streams[i].last_mut() {
                before.reward = view.reward as f32;
            }
            let mut action = f64::from(policy.evaluate(view.history.as_flattened(), &mut scratch));
            if let Some(explore) = explore {
                action = explore.apply(action, &mut drawn[i], &mut draws);
            }
            streams[i].push(Frame {
                features: view.history[HISTORY - 1],
                globals: *env.globals(),
                action: action as f32,
                reward: 0.0,
            });
            decisions[i] = Decision::Step(action);
            if counted {
                goodputs[i] += view.goodput;
                sums.flow_steps += 1.0;
                sums.reward += view.reward;
                if view.seen.rtt_us > 0.0 && view.base_rtt_ms > 0.0 {
                    sums.inflation += view.seen.rtt_us * 1e-3 / view.base_rtt_ms;
                }
            }
        }
        if counted && env.capacity() > 0.0 {
            sums.steps += 1.0;
            sums.used += used / env.capacity();
        }
    }
    streams.retain(|s| s.len() > 1);
    let (sum, square) = goodputs.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    let flow_steps = sums.flow_steps.max(1.0);
    Ok(Episode {
        streams,
        reward: sums.reward / flow_steps,
        utilisation: sums.used / sums.steps.max(1.0),
        inflation: sums.inflation / flow_steps,
        fairness: if square > 0.0 { sum * sum / square / agents as f64 } else { 1.0 },
    })
}

impl Exploration {
    /// Action to take in place of the policy's; `drawn` is the state of the flow.
    fn apply(&self, action: f64, drawn: &mut (u64, Option<f64>, f64), draws: &mut Draws) -> f64 {
        if drawn.0 == 0 {
            let random = draws.chance(self.random).then(|| draws.uniform(-1.0, 1.0));
            *drawn = (self.hold, random, draws.normal() * self.noise);
        }
        drawn.0 -= 1;
        let action = drawn.1.unwrap_or(action + drawn.2);
        if self.bounded {
            action.clamp(-1.0, 1.0)
        } else {
            action
        }
    }
}

const _: () = assert!(FEATURES > 0 && GLOBALS > 0);

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = r#"
title = "tiny"
[world]
rate_mbps = "uniform(2, 4)"
rtt_ms = 30
buffer_bdp = 1
flows = "choice(1, 2)"
duration_s = 3
exploring = 1.0
[td3]
actor = [8]
critic = [8]
batch = 16
[train]
transitions = 2000
explore = 1000
episodes = 2
evaluate = 2
evaluation_episodes = 2
"#;

    fn tiny(seed: u64) -> Training {
        Training::new(TINY, Path::new(""), seed).unwrap()
    }

    #[test]
    fn a_resumed_training_equals_an_uninterrupted_one() {
        let folder = std::env::temp_dir().join(format!("perigee-learn-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("checkpoint");
        let mut whole = tiny(3);
        let mut parts = tiny(3);
        for round in 0..4 {
            let expected = whole.round().unwrap();
            assert_eq!(parts.round().unwrap(), expected, "{round}");
            parts.save(&file).unwrap();
            parts = Training::resume(TINY, Path::new(""), 3, &file).unwrap();
        }
        assert_eq!(parts.policy(), whole.policy());
        assert!(Training::resume(TINY, Path::new(""), 4, &file).is_err());
        let good = std::fs::read(&file).unwrap();
        for at in [0, 9, 50, good.len() / 2, good.len() - 1] {
            let mut damaged = good.clone();
            damaged[at] ^= 1;
            for wrong in [&damaged[..], &good[..at]] {
                std::fs::write(&file, wrong).unwrap();
                let error = Training::resume(TINY, Path::new(""), 3, &file).err().unwrap();
                assert!(error.to_string().contains("damaged"), "{at}: {error}");
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_resumed_training_by_ppo_in_stages_equals_an_uninterrupted_one() {
        let folder = std::env::temp_dir().join(format!("perigee-learn-ppo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let stage = "\n[ppo]\nactor = [8]\ncritic = [8]\nbatch = 64\n[[stage]]\nuntil = 0.3\n[stage.world]\n\
            rate_mbps = 3\nrtt_ms = 20\nbuffer_bdp = 1\nduration_s = 2\n";
        let text = format!("{TINY}{stage}");
        let file = folder.join("checkpoint");
        let mut whole = Training::new(&text, Path::new(""), 3).unwrap();
        let mut parts = Training::new(&text, Path::new(""), 3).unwrap();
        for round in 0..4 {
            let expected = whole.round().unwrap();
            assert_eq!(parts.round().unwrap(), expected, "{round}");
            parts.save(&file).unwrap();
            parts = Training::resume(&text, Path::new(""), 3, &file).unwrap();
        }
        assert_eq!(parts.policy(), whole.policy());
        let plain = Training::new(&text.replace("until = 0.3", "until = 0.0"), Path::new(""), 3).unwrap();
        assert_ne!(
            plain.recipe.world_at(0.1).episode(Path::new(""), 1, 1).unwrap().scenario.run.duration,
            whole.recipe.world_at(0.1).episode(Path::new(""), 1, 1).unwrap().scenario.run.duration
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn seeds_differ() {
        let (mut a, mut b) = (tiny(1), tiny(2));
        a.round().unwrap();
        b.round().unwrap();
        assert_ne!(a.policy(), b.policy());
    }
}
