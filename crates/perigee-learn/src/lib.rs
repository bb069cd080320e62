// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reinforcement learning for congestion control: scenarios stepped from decision to decision, and
//! learners.
//!
//! Layers:
//! * [`draw`]: random numbers and distributions; [`world`]: scenarios drawn from them, or from a
//!   custom file.
//! * [`mod@env`]: one scenario with windows set from outside; [`vector`]: many of them in parallel;
//!   [`reward`].
//! * [`net`]: dense networks and their gradients; [`replay`]: the replay buffer; [`td3`], [`ppo`]:
//!   the learners.
//! * [`recipe`]: the file that describes a training; [`train`]: rounds, evaluations, checkpoints;
//!   [`evaluate`]: the table of published results on Astraea.
//!
//! Simulator and transport are those of any run; flows are controlled through the scheme `astraea`
//! ([`perigee_cc::astraea::desk`]), which measures as in ordinary runs.

// A problem carries its place and text; it is rare and not in a hot path.
#![allow(clippy::result_large_err)]

pub mod bench;
pub mod draw;
pub mod env;
pub mod evaluate;
pub mod net;
pub mod ppo;
pub mod recipe;
pub mod replay;
pub mod reward;
pub mod td3;
pub mod train;
pub mod vector;
pub mod world;

pub use perigee_cc::astraea::desk::{Decision, Seen};
pub use perigee_cc::astraea::{FEATURES, HISTORY, INPUTS};

/// Errors of scenarios, simulations and trainings.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// A scenario is wrong.
    #[error("{0}")]
    Scenario(Box<perigee_scenario::ScenarioError>),
    /// The simulator failed, or a scenario has no flow to control.
    #[error("{0}")]
    Run(String),
    /// A recipe, policy or checkpoint is invalid, as a human-readable message.
    #[error("{0}")]
    Input(String),
}

impl From<perigee_scenario::ScenarioError> for LearnError {
    fn from(e: perigee_scenario::ScenarioError) -> Self {
        LearnError::Scenario(Box::new(e))
    }
}
