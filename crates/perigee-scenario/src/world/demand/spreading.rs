// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Terminals of cells over satellites, and traffic of satellites over gateways.

/// Passes of [`balance`].
const PASSES: usize = 12;

/// Options of each item, with the share of the item that each gets; shares of an item add up to one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// `rows[i]..rows[i + 1]` are the options of item `i`.
    pub rows: Vec<u32>,
    /// Number of each option.
    pub option: Vec<u32>,
    /// Its share.
    pub share: Vec<f64>,
}

impl Shares {
    /// Items without shares: `options` of each in turn, evenly shared.
    pub fn even(options: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut s = Shares { rows: vec![0], ..Shares::default() };
        for of in options {
            let share = 1.0 / of.len().max(1) as f64;
            s.share.extend(of.iter().map(|_| share));
            s.option.extend(of);
            s.rows.push(s.option.len() as u32);
        }
        s
    }

    /// Options of an item, and its shares.
    pub fn of(&self, item: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.row(item);
        self.option[row.clone()].iter().copied().zip(self.share[row].iter().copied())
    }

    fn row(&self, item: usize) -> std::ops::Range<usize> {
        self.rows[item] as usize..self.rows[item + 1] as usize
    }

    /// Amount on each option, in the order of the items.
    pub fn amounts(&self, amount: &[f64], options: usize) -> Vec<f64> {
        let mut on = vec![0.0; options];
        for (item, a) in amount.iter().enumerate() {
            for (option, share) in self.of(item) {
                on[option as usize] += a * share;
            }
        }
        on
    }

    /// Moves shares from options with much to those with little, per `size`: each pass divides the
    /// share of an option by what is on it. A fixed number of passes; the rest of the imbalance is
    /// small where it can be avoided at all.
    pub fn balance(&mut self, amount: &[f64], size: &[f64]) {
        for _ in 0..PASSES {
            let on = self.amounts(amount, size.len());
            for item in 0..amount.len() {
                let row = self.row(item);
                let mut sum = 0.0;
                for i in row.clone() {
                    let option = self.option[i] as usize;
                    if on[option] > 0.0 {
                        self.share[i] *= size[option] / on[option];
                    }
                    sum += self.share[i];
                }
                if sum > 0.0 {
                    row.for_each(|i| self.share[i] /= sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_a_choice_leaves_room_for_whoever_has_none() {
        let mut s = Shares::even([vec![0], vec![0, 1], vec![1, 2]]);
        let amount = [6.0, 4.0, 2.0];
        s.balance(&amount, &[1.0; 3]);
        let on = s.amounts(&amount, 3);
        assert!((on[0] - 6.0).abs() < 0.1 && (on[1] - 3.9).abs() < 0.2, "{on:?}");
        for item in 0..3 {
            assert!((s.of(item).map(|o| o.1).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!((on.iter().sum::<f64>() - 12.0).abs() < 1e-12);
    }

    #[test]
    fn larger_options_get_more() {
        let mut s = Shares::even([vec![0, 1]]);
        s.balance(&[10.0], &[3.0, 1.0]);
        assert!((s.share[0] - 0.75).abs() < 1e-9);
    }
}
