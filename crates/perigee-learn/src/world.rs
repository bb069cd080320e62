// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios of episodes: generated for each episode as the text of a scenario file, or a custom
//! file with draws for some of its keys.

use crate::draw::{Distribution, Draws};
use crate::LearnError;
use perigee_scenario::Scenario;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Scenarios of the episodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum Worlds {
    /// A scenario file, with draws for some of its keys.
    File(FileWorlds),
    /// Bottlenecks shared by some flows.
    Dumbbells(Box<Dumbbells>),
}

/// A scenario file, with draws for some of its keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWorlds {
    /// The file, relative to the recipe.
    pub file: PathBuf,
    /// Keys and their draws: `"port.bottleneck.rate" = { draw = "uniform(40, 160)", unit = "Mbit"
    /// }`.
    #[serde(default)]
    pub set: BTreeMap<String, DrawnKey>,
}

/// A key with drawn values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnKey {
    draw: Distribution,
    #[serde(default)]
    unit: String,
}

fn constant(x: f64) -> Distribution {
    Distribution::Constant(x)
}
fn zero() -> Distribution {
    constant(0.0)
}
fn one() -> Distribution {
    constant(1.0)
}

/// Bottlenecks shared by some flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dumbbells {
    /// Rate of the bottleneck.
    pub rate_mbps: Distribution,
    /// Base RTT common to all flows.
    pub rtt_ms: Distribution,
    /// Additional RTT of each flow.
    #[serde(default = "zero")]
    pub extra_rtt_ms: Distribution,
    /// Queue of the bottleneck, in bandwidth-delay products.
    pub buffer_bdp: Distribution,
    /// Number of flows; a draw from a range is rounded.
    #[serde(default = "one")]
    pub flows: Distribution,
    /// Length of an episode.
    pub duration_s: Distribution,
    /// Fraction of the episodes in which all flows start together; otherwise flows start within the
    /// first half.
    #[serde(default)]
    pub together: f64,
    /// Fraction of the episodes with random loss.
    #[serde(default)]
    pub lossy: f64,
    /// Probability of loss in those episodes.
    #[serde(default = "zero")]
    pub loss: Distribution,
    /// Fraction of the flows that start with a drawn window.
    #[serde(default)]
    pub exploring: f64,
    /// That window, in fair shares of the bandwidth-delay product.
    #[serde(default = "one")]
    pub window: Distribution,
    /// Fraction of the episodes with changes of the path.
    #[serde(default)]
    pub changing: f64,
    /// Time between changes in those episodes.
    #[serde(default = "zero")]
    pub change_s: Distribution,
    /// Fraction of the changes with a new RTT, from the distribution of `rtt_ms`.
    #[serde(default)]
    pub change_rtt: f64,
    /// Fraction of the changes with a new rate, from the distribution of `rate_mbps`.
    #[serde(default)]
    pub change_rate: f64,
    /// Length of the outage at a change.
    #[serde(default = "zero")]
    pub outage_ms: Distribution,
}

/// One episode.
#[derive(Clone)]
pub struct Episode {
    /// Scenario.
    pub scenario: Arc<Scenario>,
    /// Seed of the scenario's draws.
    pub seed: u64,
    /// Initial window by flow, in fair shares of the bandwidth-delay product.
    pub windows: Vec<Option<f64>>,
}

impl Worlds {
    /// Checks that episodes can be drawn.
    ///
    /// # Errors
    /// The first value that is out of range, or an error of the file.
    pub fn check(&self, folder: &Path) -> Result<(), LearnError> {
        match self {
            Worlds::File(_) => self.episode(folder, 0, 0).map(|_| ()),
            Worlds::Dumbbells(d) => d.check(),
        }
    }

    /// Episode `index` under `seed`, which is always the same.
    ///
    /// # Errors
    /// If the scenario is invalid.
    pub fn episode(&self, folder: &Path, seed: u64, index: u64) -> Result<Episode, LearnError> {
        let mut draws = Draws::new(seed, index);
        let seed = draws.bits() >> 1;
        match self {
            Worlds::File(f) => {
                let set =
                    |(key, k): (&String, &DrawnKey)| format!("{key}={} {}", k.draw.draw(&mut draws), k.unit);
                let sets: Vec<String> = f.set.iter().map(set).map(|s| s.trim_end().to_string()).collect();
                let scenario = Scenario::load(&folder.join(&f.file), &sets)?;
                Ok(Episode { scenario: Arc::new(scenario), seed, windows: Vec::new() })
            }
            Worlds::Dumbbells(d) => {
                let (text, windows) = d.draw(&mut draws);
                let scenario = Scenario::parse(&text, "episode", Path::new(""), &[])?;
                Ok(Episode { scenario: Arc::new(scenario), seed, windows })
            }
        }
    }
}

impl Dumbbells {
    fn check(&self) -> Result<(), LearnError> {
        let within = |name: &str, d: &Distribution, low: f64, high: f64| {
            let (l, h) = d.range();
            if l >= low && h <= high {
                return Ok(());
            }
            Err(LearnError::Input(format!(
                "world.{name}: draws from {l} to {h}, allowed are {low} to {high}"
            )))
        };
        within("rate_mbps", &self.rate_mbps, 0.1, 100_000.0)?;
        within("rtt_ms", &self.rtt_ms, 0.1, 10_000.0)?;
        within("extra_rtt_ms", &self.extra_rtt_ms, 0.0, 10_000.0)?;
        within("buffer_bdp", &self.buffer_bdp, 0.01, 1000.0)?;
        within("flows", &self.flows, 1.0, 1000.0)?;
        if let Some(part) = self.flows.listed().iter().find(|x| x.fract() != 0.0) {
            return Err(LearnError::Input(format!("world.flows: {part} is no whole number of flows")));
        }
        within("duration_s", &self.duration_s, 1.0, 3600.0)?;
        within("loss", &self.loss, 0.0, 1.0)?;
        within("window", &self.window, 0.001, 1000.0)?;
        within("outage_ms", &self.outage_ms, 0.0, 60_000.0)?;
        let shares = [
            ("together", self.together),
            ("lossy", self.lossy),
            ("exploring", self.exploring),
            ("changing", self.changing),
            ("change_rtt", self.change_rtt),
            ("change_rate", self.change_rate),
        ];
        shares.iter().try_for_each(|(name, p)| within(name, &constant(*p), 0.0, 1.0))?;
        if self.changing > 0.0 {
            within("change_s", &self.change_s, 0.1, 3600.0)?;
        }
        Ok(())
    }

    /// Scenario of an episode, and the windows of its flows.
    fn draw(&self, draws: &mut Draws) -> (String, Vec<Option<f64>>) {
        let duration = self.duration_s.draw(draws);
        let (rate, rtt) = (self.rate_mbps.draw(draws), self.rtt_ms.draw(draws));
        let flows = libm::round(self.flows.draw(draws)).max(1.0) as usize;
        let rtts: Vec<String> =
            (0..flows).map(|_| format!("\"{:.3} ms\"", rtt + self.extra_rtt_ms.draw(draws))).collect();
        let lossy = draws.chance(self.lossy);
        let loss = if lossy { self.loss.draw(draws) } else { 0.0 };
        let mut text = format!(
            "[run]\nduration = \"{duration:.3} s\"\n[source.dumbbell]\npairs = {flows}\nrtt = [{}]\nloss = {loss:.5}\n\
             [port.bottleneck]\nrate = \"{rate:.3} Mbit\"\nqueue = \"{:.3} bdp\"\n",
            rtts.join(", "),
            self.buffer_bdp.draw(draws),
        );
        let together = draws.chance(self.together);
        for i in 1..=flows {
            let start = if together { 0.0 } else { draws.uniform(0.0, duration / 2.0) };
            let _ = write!(text, "[[flow]]\nfrom = \"s{i}\"\nto = \"d{i}\"\nstart = \"{start:.3} s\"\n");
        }
        if draws.chance(self.changing) {
            self.changes(draws, duration, &mut text);
        }
        let window = |_| draws.chance(self.exploring).then(|| self.window.draw(draws));
        (text, (0..flows).map(window).collect())
    }

    fn changes(&self, draws: &mut Draws, duration: f64, text: &mut String) {
        let mut at = self.change_s.draw(draws);
        while at < duration {
            let rtt = draws.chance(self.change_rtt).then(|| self.rtt_ms.draw(draws));
            let rate = draws.chance(self.change_rate).then(|| self.rate_mbps.draw(draws));
            let outage = self.outage_ms.draw(draws);
            if rtt.is_some() || rate.is_some() || outage > 0.0 {
                let _ = write!(text, "[[change]]\nat = \"{at:.3} s\"\n");
                if let Some(x) = rtt {
                    let _ = writeln!(text, "rtt = \"{x:.3} ms\"");
                }
                if let Some(x) = rate {
                    let _ = writeln!(text, "rate = \"{x:.3} Mbit\"");
                }
                if outage > 0.0 {
                    let _ = writeln!(text, "outage = \"{outage:.3} ms\"");
                }
            }
            at += self.change_s.draw(draws);
        }
    }
}
