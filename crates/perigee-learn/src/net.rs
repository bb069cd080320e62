// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dense networks with leaky rectifiers between their layers, with gradients and the Adam
//! optimiser.

use crate::draw::Draws;
use ndarray::linalg::general_mat_mul;
use ndarray::{s, Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Slope of the negative side.
pub const SLOPE: f32 = 0.2;

/// An affine layer with Adam's moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    inputs: usize,
    outputs: usize,
    /// Rows of weights, one per output, then biases.
    values: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

/// A network: leaky rectifiers after all layers but the last, which is linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Net {
    layers: Vec<Layer>,
    steps: u64,
}

/// Gradients of a network's values, layer by layer.
pub type Gradients = Vec<Vec<f32>>;

/// Inputs of each layer, kept for the backward pass; the last entry is the output.
pub struct Pass {
    stages: Vec<Array2<f32>>,
}

impl Pass {
    /// The output: a row per sample.
    pub fn output(&self) -> &Array2<f32> {
        self.stages.last().expect("an output")
    }
}

impl Layer {
    fn new(inputs: usize, outputs: usize, last: bool, draws: &mut Draws) -> Self {
        // Uniform fan-in scaling (He et al. 2015); last layers start near zero, so that outputs do
        // not saturate.
        let bound = if last { 3e-3 } else { libm::sqrt(3.0 / inputs as f64) };
        let mut values: Vec<f32> =
            (0..inputs * outputs).map(|_| draws.uniform(-bound, bound) as f32).collect();
        values.resize(inputs * outputs + outputs, 0.0);
        let zeros = vec![0.0; values.len()];
        Layer { inputs, outputs, first: zeros.clone(), second: zeros, values }
    }

    fn weights(&self) -> ArrayView2<'_, f32> {
        let rows = &self.values[..self.inputs * self.outputs];
        ArrayView2::from_shape((self.outputs, self.inputs), rows).expect("rows of weights")
    }

    fn biases(&self) -> &[f32] {
        &self.values[self.inputs * self.outputs..]
    }
}

impl Net {
    /// Network with these hidden layers and one output.
    pub fn with_hidden(inputs: usize, hidden: &[usize], draws: &mut Draws) -> Self {
        Net::new(&[&[inputs], hidden, &[1]].concat(), draws)
    }

    /// Network with these layer widths, from inputs to outputs.
    pub fn new(widths: &[usize], draws: &mut Draws) -> Self {
        let last = widths.len() - 2;
        let layer = |(i, w): (usize, &[usize])| Layer::new(w[0], w[1], i == last, draws);
        Net { layers: widths.windows(2).enumerate().map(layer).collect(), steps: 0 }
    }

    /// Layer widths, from inputs to outputs.
    pub fn widths(&self) -> Vec<usize> {
        let first = self.layers.first().map(|l| l.inputs);
        first.into_iter().chain(self.layers.iter().map(|l| l.outputs)).collect()
    }

    /// Values layer by layer: rows of weights, then biases.
    pub fn values(&self) -> impl Iterator<Item = (usize, usize, &[f32])> {
        self.layers.iter().map(|l| (l.inputs, l.outputs, l.values.as_slice()))
    }

    /// Forward pass of samples, one per row.
    pub fn forward(&self, inputs: Array2<f32>) -> Pass {
        let mut stages = vec![inputs];
        for (i, layer) in self.layers.iter().enumerate() {
            let from = &stages[i];
            let mut to = Array2::zeros((from.nrows(), layer.outputs));
            general_mat_mul(1.0, from, &layer.weights().t(), 0.0, &mut to);
            let last = i + 1 == self.layers.len();
            for mut row in to.rows_mut() {
                for (x, b) in row.iter_mut().zip(layer.biases()) {
                    let y = *x + b;
                    *x = if last || y > 0.0 { y } else { SLOPE * y };
                }
            }
            stages.push(to);
        }
        Pass { stages }
    }

    /// Backward pass: gradients of the values and of the inputs, from those of the output.
    pub fn backward(&self, pass: &Pass, output: Array2<f32>) -> (Gradients, Array2<f32>) {
        let mut gradients = vec![Vec::new(); self.layers.len()];
        let mut behind = output;
        for (i, layer) in self.layers.iter().enumerate().rev() {
            if i + 1 < self.layers.len() {
                // The output of a rectifier has the sign of its input.
                behind.zip_mut_with(&pass.stages[i + 1], |g, y| *g *= if *y > 0.0 { 1.0 } else { SLOPE });
            }
            let from = &pass.stages[i];
            let mut weights = Array2::zeros((layer.outputs, layer.inputs));
            general_mat_mul(1.0, &behind.t(), from, 0.0, &mut weights);
            let biases: Array1<f32> = behind.sum_axis(Axis(0));
            let mut g = weights.into_raw_vec_and_offset().0;
            g.extend(biases);
            gradients[i] = g;
            let mut before = Array2::zeros(from.raw_dim());
            general_mat_mul(1.0, &behind, &layer.weights(), 0.0, &mut before);
            behind = before;
        }
        (gradients, behind)
    }

    /// A step of Adam (Kingma and Ba 2015) against the gradients, clipped to the norm `most`.
    pub fn descend(&mut self, gradients: &Gradients, rate: f32, most: f32) {
        const BETA: [f32; 2] = [0.9, 0.999];
        self.steps += 1;
        let square: f64 = gradients.iter().flatten().map(|g| f64::from(*g) * f64::from(*g)).sum();
        let norm = libm::sqrt(square) as f32;
        let cut = if norm > most { most / norm } else { 1.0 };
        let t = self.steps as f64;
        let correction = BETA.map(|b| (1.0 - libm::pow(f64::from(b), t)) as f32);
        let scale = rate * correction[1].sqrt() / correction[0];
        for (layer, gradients) in self.layers.iter_mut().zip(gradients) {
            let slots = layer.values.iter_mut().zip(&mut layer.first).zip(&mut layer.second);
            for (((value, m), v), g) in slots.zip(gradients) {
                let g = g * cut;
                *m = BETA[0] * *m + (1.0 - BETA[0]) * g;
                *v = BETA[1] * *v + (1.0 - BETA[1]) * g * g;
                *value -= scale * *m / (v.sqrt() + 1e-8);
            }
        }
    }

    /// Moves a fraction `tau` of the way towards another network of the same widths.
    pub fn follow(&mut self, other: &Net, tau: f32) {
        for (mine, theirs) in self.layers.iter_mut().zip(&other.layers) {
            mine.values.iter_mut().zip(&theirs.values).for_each(|(a, b)| *a += tau * (b - *a));
        }
    }

    /// Whether all values are finite.
    pub fn is_finite(&self) -> bool {
        self.layers.iter().all(|l| l.values.iter().all(|x| x.is_finite()))
    }
}

/// Columns `from..` of a matrix.
pub fn columns_from(matrix: &Array2<f32>, from: usize) -> Array2<f32> {
    matrix.slice(s![.., from..]).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(net: &Net, x: &Array2<f32>) -> f32 {
        net.forward(x.clone()).output().iter().map(|y| y * y / 2.0).sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        let mut draws = Draws::new(3, 0);
        let mut net = Net::new(&[4, 6, 5, 2], &mut draws);
        // The last layer is small initially, which would hide errors of the others.
        net.layers[2].values.iter_mut().for_each(|x| *x *= 200.0);
        let x = Array2::from_shape_fn((3, 4), |_| draws.uniform(-1.0, 1.0) as f32);
        let pass = net.forward(x.clone());
        let (gradients, inputs) = net.backward(&pass, pass.output().clone());
        let step = 1e-2;
        for (l, k) in [(0, 0), (0, 25), (1, 7), (1, 33), (2, 3), (2, 11)] {
            let at = |d: f32| {
                let mut net = net.clone();
                net.layers[l].values[k] += d;
                loss(&net, &x)
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            assert!(
                (slope - gradients[l][k]).abs() < 0.02 * slope.abs().max(0.1),
                "{l} {k}: {slope} {}",
                gradients[l][k]
            );
        }
        let at = |d: f32| {
            let mut x = x.clone();
            x[[1, 2]] += d;
            loss(&net, &x)
        };
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!((slope - inputs[[1, 2]]).abs() < 0.02 * slope.abs().max(0.1), "{slope} {}", inputs[[1, 2]]);
    }

    #[test]
    fn a_network_learns_a_function() {
        let mut draws = Draws::new(4, 0);
        let mut net = Net::new(&[1, 16, 16, 1], &mut draws);
        let x = Array2::from_shape_fn((64, 1), |(i, _)| i as f32 / 32.0 - 1.0);
        let mut error = f32::INFINITY;
        for _ in 0..2000 {
            let pass = net.forward(x.clone());
            let delta = pass.output() - &x.mapv(|x| x * x);
            error = delta.iter().map(|d| d * d).sum::<f32>() / 64.0;
            let (gradients, _) = net.backward(&pass, delta / 64.0);
            net.descend(&gradients, 3e-3, 1.0);
        }
        assert!(error < 1e-3, "{error}");
    }
}
