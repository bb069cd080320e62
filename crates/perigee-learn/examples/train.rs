// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Training of a recipe: `cargo run --release -p perigee-learn --example train -- RECIPE.toml SEED
//! FOLDER`.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_learn::train::Training;
use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, recipe, seed, folder] = words.as_slice() else { panic!("RECIPE.toml SEED FOLDER") };
    let text = std::fs::read_to_string(recipe).expect("a recipe");
    let at = Path::new(recipe).parent().expect("a folder");
    let (seed, folder) = (seed.parse().expect("a seed"), Path::new(folder));
    std::fs::create_dir_all(folder).expect("a folder");
    let checkpoint = folder.join("checkpoint");
    let mut training = match checkpoint.exists() {
        true => Training::resume(&text, at, seed, &checkpoint),
        false => Training::new(&text, at, seed),
    }
    .expect("a training");
    let began = std::time::Instant::now();
    while !training.over() {
        let round = training.round().expect("a round");
        if let Some(s) = round.score {
            training.save(&checkpoint).expect("a checkpoint");
            std::fs::write(folder.join("best.policy"), training.best()).expect("a policy");
            let name = format!("{:07}.policy", s.transitions);
            std::fs::write(folder.join(name), training.policy()).expect("a policy");
            println!(
                "{:5.0} s {} of {} transitions, {} updates: reward {:.4}, evaluation {:.4}, utilisation {:.3}, RTT/base {:.2}, Jain {:.3}",
                began.elapsed().as_secs_f64(), round.transitions, round.of, round.updates, round.reward, s.reward, s.utilisation, s.inflation, s.fairness
            );
        }
    }
}
