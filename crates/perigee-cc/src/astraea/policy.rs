// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Small feed-forward networks in a plain text format, for policies that control a window.
//!
//! ```text
//! perigee-policy 1        magic and version
//! input 50                number of inputs
//! logs                    optional: the features that [`super::derived`] derives from each step
//!                         of ten inputs are appended to them
//! dense 256               an affine layer: one row of weights per output (256 rows of 50),
//!                         then 256 biases
//! …numbers…
//! batch_norm 0.001        epsilon; then means, variances and offsets of the layer above (no scale)
//! …numbers…
//! leaky_relu 0.2          slope of the negative side
//! tanh
//! end
//! ```
//!
//! Words and numbers are separated by spaces or line ends; `#` starts a comment. Every `dense` may
//! be followed by one `batch_norm` and one of `leaky_relu` and `tanh`, in this order. Normalisation
//! is folded into the weights when the file is read; evaluation is in single precision and in a
//! fixed order, so that results are the same on every machine.

use super::derived::{derive, DERIVED};
use super::FEATURES;
use std::fmt;

/// Error of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Line, from 1; the last line if the file ends too early.
    pub line: usize,
    /// Description.
    pub reason: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}
impl std::error::Error for PolicyError {}

/// Maximum width of a layer: a typo must not allocate gigabytes.
const MAX_WIDTH: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Activation {
    None,
    LeakyRelu(f32),
    Tanh,
}

#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    /// Weights row by row, one row per output.
    weights: Vec<f32>,
    biases: Vec<f32>,
    activation: Activation,
}

/// A network.
#[derive(Clone, Debug)]
pub struct Policy {
    inputs: usize,
    /// Whether logarithms of steps are appended to the inputs.
    logs: bool,
    layers: Vec<Layer>,
}

impl Policy {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Any violation of the format, with its line.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        Parser::new(text).policy()
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether logarithms of each step's features are appended to the inputs before the first
    /// layer.
    pub fn logs(&self) -> bool {
        self.logs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(self.inputs, |l| l.biases.len())
    }

    /// Widths from the inputs to the outputs.
    pub fn widths(&self) -> Vec<usize> {
        std::iter::once(self.inputs).chain(self.layers.iter().map(|l| l.biases.len())).collect()
    }

    /// Number of weights and biases.
    pub fn count(&self) -> usize {
        self.layers.iter().map(|l| l.weights.len() + l.biases.len()).sum()
    }

    /// Scratch space for [`Policy::evaluate`].
    pub fn scratch(&self) -> Scratch {
        let first = self.layers.first().map_or(self.inputs, |l| l.inputs);
        let width = self.layers.iter().map(|l| l.biases.len()).max().unwrap_or(0).max(first);
        Scratch { from: vec![0.0; width], to: vec![0.0; width] }
    }

    /// First output for `inputs`; missing inputs are zero.
    pub fn evaluate(&self, inputs: &[f32], scratch: &mut Scratch) -> f32 {
        let Scratch { from, to } = scratch;
        from[..self.inputs].fill(0.0);
        let n = inputs.len().min(self.inputs);
        from[..n].copy_from_slice(&inputs[..n]);
        if self.logs {
            let (steps, logs) = from.split_at_mut(self.inputs);
            for (step, to) in steps.chunks_exact(FEATURES).zip(logs.chunks_exact_mut(DERIVED)) {
                to.copy_from_slice(&derive(step));
            }
        }
        for layer in &self.layers {
            layer.apply(&from[..layer.inputs], to);
            std::mem::swap(from, to);
        }
        from[0]
    }
}

/// Buffers of an evaluation, so that it does not allocate.
#[derive(Clone, Debug)]
pub struct Scratch {
    from: Vec<f32>,
    to: Vec<f32>,
}

/// Number of partial sums of a dot product: a fixed order without a chain of dependent additions.
const LANES: usize = 8;

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let (a8, b8) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    lanes.iter().sum::<f32>() + rest
}

impl Layer {
    fn apply(&self, from: &[f32], to: &mut [f32]) {
        let rows = self.weights.chunks_exact(self.inputs);
        for ((row, bias), out) in rows.zip(&self.biases).zip(to) {
            let x = dot(row, from) + bias;
            *out = match self.activation {
                Activation::None => x,
                Activation::LeakyRelu(slope) => x.max(slope * x),
                Activation::Tanh => libm::tanhf(x),
            };
        }
    }

    /// Folds the normalisation into weights and biases.
    fn fold(&mut self, epsilon: f64, mean: &[f32], variance: &[f32], offset: &[f32]) {
        for (i, row) in self.weights.chunks_exact_mut(self.inputs).enumerate() {
            let scale = 1.0 / libm::sqrt(variance[i] as f64 + epsilon);
            row.iter_mut().for_each(|w| *w = (*w as f64 * scale) as f32);
            let bias = (self.biases[i] as f64 - mean[i] as f64) * scale + offset[i] as f64;
            self.biases[i] = bias as f32;
        }
    }
}

struct Parser<'a> {
    words: Vec<(usize, &'a str)>,
    at: usize,
    lines: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        let mut lines = 0;
        for (i, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or("");
            words.extend(code.split_whitespace().map(|w| (i + 1, w)));
            lines = i + 1;
        }
        Parser { words, at: 0, lines }
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, PolicyError> {
        let line = self.words.get(self.at.saturating_sub(1)).map_or(self.lines, |w| w.0);
        Err(PolicyError { line, reason: reason.into() })
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|w| w.1)
    }

    fn next(&mut self, expected: &str) -> Result<&'a str, PolicyError> {
        let word = self.peek();
        self.at += 1;
        match word {
            Some(word) => Ok(word),
            None => Err(PolicyError {
                line: self.lines,
                reason: format!("the file ends where {expected} is expected"),
            }),
        }
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), PolicyError> {
        let found = self.next(&format!("{keyword:?}"))?;
        if found == keyword {
            return Ok(());
        }
        self.error(format!("{found:?} where {keyword:?} is expected"))
    }

    fn width(&mut self) -> Result<usize, PolicyError> {
        let word = self.next("a number of values")?;
        match word.parse() {
            Ok(n) if (1..=MAX_WIDTH).contains(&n) => Ok(n),
            _ => self.error(format!("{word:?} where a whole number from 1 to {MAX_WIDTH} is expected")),
        }
    }

    fn number(&mut self) -> Result<f32, PolicyError> {
        let word = self.next("a number")?;
        match word.parse::<f32>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => self.error(format!("{word:?} where a finite number is expected")),
        }
    }

    fn numbers(&mut self, n: usize) -> Result<Vec<f32>, PolicyError> {
        (0..n).map(|_| self.number()).collect()
    }

    fn policy(mut self) -> Result<Policy, PolicyError> {
        self.keyword("perigee-policy")?;
        self.keyword("1")?;
        self.keyword("input")?;
        let inputs = self.width()?;
        let logs = self.peek() == Some("logs");
        let mut first = inputs;
        if logs {
            self.at += 1;
            if inputs % FEATURES != 0 {
                return self.error(format!("\"logs\" needs steps of {FEATURES} inputs, there are {inputs}"));
            }
            first += inputs / FEATURES * DERIVED;
        }
        let mut layers: Vec<Layer> = Vec::new();
        while self.peek() == Some("dense") {
            let width = layers.last().map_or(first, |l| l.biases.len());
            layers.push(self.layer(width)?);
        }
        self.keyword("end")?;
        if layers.is_empty() {
            return self.error("no layer");
        }
        if self.peek().is_some() {
            self.at += 1;
            return self.error("something follows the end");
        }
        Ok(Policy { inputs, logs, layers })
    }

    fn layer(&mut self, inputs: usize) -> Result<Layer, PolicyError> {
        self.keyword("dense")?;
        let outputs = self.width()?;
        let weights = self.numbers(inputs * outputs)?;
        let biases = self.numbers(outputs)?;
        let mut layer = Layer { inputs, weights, biases, activation: Activation::None };
        if self.peek() == Some("batch_norm") {
            self.at += 1;
            let epsilon = self.number()? as f64;
            let (mean, variance) = (self.numbers(outputs)?, self.numbers(outputs)?);
            let offset = self.numbers(outputs)?;
            if variance.iter().any(|v| *v as f64 + epsilon <= 0.0) {
                return self.error("a variance is not positive");
            }
            layer.fold(epsilon, &mean, &variance, &offset);
        }
        match self.peek() {
            Some("leaky_relu") => {
                self.at += 1;
                layer.activation = Activation::LeakyRelu(self.number()?);
            }
            Some("tanh") => {
                self.at += 1;
                layer.activation = Activation::Tanh;
            }
            _ => {}
        }
        Ok(layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "perigee-policy 1\ninput 2\n\
        dense 2  # two neurons\n 1 2\n 3 4\n 0.5 -0.5\n\
        batch_norm 0.0\n 1 1\n 4 0.25\n 10 20\n leaky_relu 0.2\n\
        dense 1\n 0.1 -0.1\n 0\n tanh\n end\n";

    fn eval(p: &Policy, x: &[f32]) -> f32 {
        p.evaluate(x, &mut p.scratch())
    }

    #[test]
    fn a_small_network_is_what_paper_and_pencil_say() {
        let p = Policy::parse(SMALL).unwrap();
        assert_eq!((p.inputs(), p.outputs()), (2, 1));
        // x = (1, 1): affine 3.5, 6.5; normalised (3.5−1)/2+10 = 11.25, (6.5−1)/0.5+20 = 31;
        // tanh(1.125 − 3.1).
        assert!((eval(&p, &[1.0, 1.0]) - libm::tanhf(-1.975)).abs() < 1e-6);
        // x = (−10, −10): −29.5, −70.5; −5.25, −123; leaky −1.05, −24.6; tanh(−0.105 + 2.46).
        assert!((eval(&p, &[-10.0, -10.0]) - libm::tanhf(2.355)).abs() < 1e-6);
    }

    #[test]
    fn logarithms_of_each_step_follow_the_inputs() {
        // Two steps: 20 inputs and 6 logarithms; the output is the second step's ln thr minus the
        // first's.
        let mut row = vec!["0"; 26];
        (row[20], row[23]) = ("-1", "1");
        let text = format!("perigee-policy 1\ninput 20\nlogs\ndense 1\n{}\n0\nend\n", row.join(" "));
        let p = Policy::parse(&text).unwrap();
        assert!(p.logs() && p.inputs() == 20 && p.widths() == [20, 1]);
        let mut x = [0.5f32; 20];
        (x[0], x[4], x[10], x[14]) = (1.0, 0.5, 1.0, 1.0);
        let expected = libm::logf(1.001) - libm::logf(0.501);
        assert!((eval(&p, &x) - expected).abs() < 1e-6);
        let e = Policy::parse("perigee-policy 1\ninput 5\nlogs\n").unwrap_err();
        assert!(e.line == 3 && e.reason.contains("steps of 10"), "{e}");
    }

    #[test]
    fn missing_inputs_are_zero() {
        let p = Policy::parse(SMALL).unwrap();
        assert_eq!(eval(&p, &[1.0]), eval(&p, &[1.0, 0.0]));
    }

    #[test]
    fn broken_files_are_refused_with_their_line() {
        for (text, line, part) in [
            ("", 0, "ends"),
            ("hello", 1, "perigee-policy"),
            ("perigee-policy 2", 1, "\"1\""),
            ("perigee-policy 1\ninput 99999", 2, "from 1 to"),
            ("perigee-policy 1\ninput 2\ndense 1\n1 x", 4, "finite number"),
            ("perigee-policy 1\ninput 2\ndense 1\n1 nan 3", 4, "finite number"),
            ("perigee-policy 1\ninput 2\ndense 1\n1 2\n", 4, "ends"),
            ("perigee-policy 1\ninput 2\nend", 3, "no layer"),
            ("perigee-policy 1\ninput 1\ndense 1\n1 2 3\nend", 4, "\"end\""),
        ] {
            let e = Policy::parse(text).unwrap_err();
            assert!(e.line == line && e.reason.contains(part), "{text:?}: {e}");
        }
        assert!(Policy::parse(&format!("{SMALL} more")).is_err());
    }
}
