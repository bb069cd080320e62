// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A training ground for congestion control: scenarios that are stepped from decision to decision, and a learner.
//!
//! Floors:
//! * [`draw`]: random numbers and distributions; [`world`]: scenarios drawn from them, or a file of one's own.
//! * [`mod@env`]: one scenario with windows set from outside; [`vector`]: many of them side by side; [`reward`].
//! * [`net`]: dense networks and their gradients; [`replay`]: what has been experienced; [`td3`], [`ppo`]: the learners.
//! * [`recipe`]: the file that describes a training; [`train`]: rounds, evaluations, checkpoints; [`evaluate`]: the table of
//!   what is known of Astraea.
//!
//! The simulator and its transport are those of any run; flows are steered through the controller of the scheme `astraea`
//! ([`perigee_cc::astraea::desk`]), which measures as it does on its own.

// A problem carries its place and words; it is made once per mistake, never in a loop that matters.
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

/// Why something cannot be made or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// A scenario is wrong.
    #[error("{0}")]
    Scenario(Box<perigee_scenario::ScenarioError>),
    /// The simulator failed, or a scenario has nothing to steer.
    #[error("{0}")]
    Run(String),
    /// A recipe, policy or checkpoint is wrong; in words for a person.
    #[error("{0}")]
    Input(String),
}

impl From<perigee_scenario::ScenarioError> for LearnError {
    fn from(e: perigee_scenario::ScenarioError) -> Self {
        LearnError::Scenario(Box::new(e))
    }
}
