// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counter-based random numbers, and distributions in the notation of recipes.

use perigee_units::draw::{mix, unit};
use serde::{Deserialize, Serialize};

/// A generator: its key and the number of draws so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draws {
    key: u64,
    count: u64,
}

impl Draws {
    /// Generator whose draws depend only on these numbers.
    pub fn new(seed: u64, stream: u64) -> Self {
        Draws { key: mix(mix(seed) ^ stream), count: 0 }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.count += 1;
        mix(self.key ^ mix(self.count))
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Uniform between two numbers.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in `0..n`, for n > 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// A distribution of numbers: `7`, `"uniform(40, 160)"`, `"log-uniform(0.3, 8)"` or
/// `"choice(1, 2, 5)"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub enum Distribution {
    /// A constant.
    Constant(f64),
    /// Uniform between two numbers.
    Uniform(f64, f64),
    /// Uniform on a logarithmic scale.
    LogUniform(f64, f64),
    /// One of these values.
    Choice(Vec<f64>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl TryFrom<Written> for Distribution {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(x) if x.is_finite() => Ok(Distribution::Constant(x)),
            Written::Number(x) => Err(format!("{x} is not finite")),
            Written::Text(text) => parse(&text).ok_or_else(|| {
                format!(
                    "{text:?} is no distribution: write a number, \"uniform(LOW, HIGH)\", \"log-uniform(LOW, HIGH)\" \
                     with LOW above zero, or \"choice(A, B, …)\""
                )
            }),
        }
    }
}

fn parse(text: &str) -> Option<Distribution> {
    let (name, rest) = text.trim().split_once('(')?;
    let inner = rest.strip_suffix(')')?;
    let numbers: Vec<f64> = inner.split(',').map(|x| x.trim().parse().ok()).collect::<Option<_>>()?;
    let finite = numbers.iter().all(|x: &f64| x.is_finite());
    match (name.trim(), numbers.as_slice()) {
        ("uniform", &[low, high]) if finite && low <= high => Some(Distribution::Uniform(low, high)),
        ("log-uniform", &[low, high]) if finite && low > 0.0 && low <= high => {
            Some(Distribution::LogUniform(low, high))
        }
        ("choice", [_, ..]) if finite => Some(Distribution::Choice(numbers)),
        _ => None,
    }
}

impl Distribution {
    /// A draw.
    pub fn draw(&self, draws: &mut Draws) -> f64 {
        match self {
            Distribution::Constant(x) => *x,
            Distribution::Uniform(low, high) => draws.uniform(*low, *high),
            Distribution::LogUniform(low, high) => {
                libm::exp(draws.uniform(libm::log(*low), libm::log(*high)))
            }
            Distribution::Choice(all) => all[draws.below(all.len())],
        }
    }

    /// The values of a choice or constant; empty for a range.
    pub fn listed(&self) -> &[f64] {
        match self {
            Distribution::Constant(x) => std::slice::from_ref(x),
            Distribution::Choice(all) => all,
            Distribution::Uniform(..) | Distribution::LogUniform(..) => &[],
        }
    }

    /// The minimum and the maximum of the draws.
    pub fn range(&self) -> (f64, f64) {
        match self {
            Distribution::Constant(x) => (*x, *x),
            Distribution::Uniform(low, high) | Distribution::LogUniform(low, high) => (*low, *high),
            Distribution::Choice(all) => {
                all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_their_range_and_repeat_themselves() {
        for text in ["uniform(40, 160)", "log-uniform(0.3, 8)", "choice(1, 2, 5)"] {
            let d = parse(text).unwrap();
            let (low, high) = d.range();
            let draw = || {
                let mut draws = Draws::new(7, 1);
                (0..1000).map(|_| d.draw(&mut draws)).collect::<Vec<_>>()
            };
            assert!(draw().iter().all(|x| (low..=high).contains(x)), "{text}");
            assert_eq!(draw(), draw());
        }
    }

    #[test]
    fn a_normal_draw_has_the_moments_of_its_name() {
        let mut draws = Draws::new(1, 2);
        let all: Vec<f64> = (0..20_000).map(|_| draws.normal()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "uniform(3)",
            "uniform(2, 1)",
            "log-uniform(0, 1)",
            "choice()",
            "normal(0, 1)",
            "uniform(a, b)",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
