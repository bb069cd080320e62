// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz targets: policies, recipes of trainings, and the experience in checkpoints.

use perigee_cc::astraea::policy::Policy;
use perigee_learn::draw::Draws;
use perigee_learn::env::GLOBALS;
use perigee_learn::recipe::{Recipe, RECIPES};
use perigee_learn::replay::{Frame, Replay};
use perigee_learn::{FEATURES, HISTORY};
use std::path::Path;

/// A small network with every kind of layer, and one with logarithms.
pub fn policies() -> Vec<Vec<u8>> {
    let small = "perigee-policy 1\ninput 2\ndense 2  # two neurons\n 1 2\n 3 4\n 0.5 -0.5\nbatch_norm 0.0\n 1 1\n 4 0.25\n \
                 10 20\n leaky_relu 0.2\ndense 1\n 0.1 -0.1\n 0\n tanh\n end\n";
    vec![small.into()]
}

/// Parses a policy, and evaluates it.
pub fn policy(bytes: &[u8]) -> bool {
    let Some(Ok(policy)) = std::str::from_utf8(bytes).ok().map(Policy::parse) else { return false };
    policy.evaluate(&[0.5; FEATURES], &mut policy.scratch());
    true
}

/// The recipes that come along.
pub fn recipes() -> Vec<Vec<u8>> {
    RECIPES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

/// Parses a recipe.
pub fn recipe(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| Recipe::parse(t, Path::new("")).is_ok())
}

/// A full ring and one with room.
pub fn experiences() -> Vec<Vec<u8>> {
    let frame = |i: usize| Frame {
        features: [i as f32; FEATURES],
        globals: [1.0; GLOBALS],
        action: 0.5,
        reward: -0.5,
    };
    let stream: Vec<Frame> = (0..13).map(frame).collect();
    [2 * HISTORY, 20]
        .map(|room| {
            let mut replay = Replay::new(room);
            replay.push(&stream);
            replay.save()
        })
        .into()
}

/// Loads experience, draws from it and adds to it.
pub fn experience(bytes: &[u8]) -> bool {
    let Ok(mut replay) = Replay::load(bytes) else { return false };
    let _ = replay.batch(2, &mut Draws::new(1, 1));
    let frame = Frame { features: [0.0; FEATURES], globals: [0.0; GLOBALS], action: 0.0, reward: 0.0 };
    replay.push(&[frame, frame]);
    let _ = replay.batch(2, &mut Draws::new(1, 2));
    true
}
