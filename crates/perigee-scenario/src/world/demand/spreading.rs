// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Distribution of cells' terminals over satellites, and of satellites' traffic over gateways.

/// Number of passes of [`Shares::balance`].
const PASSES: usize = 12;

/// Distribution of items over options (cells over satellites, satellites over gateways): the
/// options of each item, with the fraction of the item that each gets. The shares of an item add up
/// to one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// `rows[i]..rows[i + 1]` are the options of item `i`.
    pub rows: Vec<u32>,
    /// Index of each option.
    pub option: Vec<u32>,
    /// Share of each option.
    pub share: Vec<f64>,
}

impl Shares {
    /// Even shares; `options` lists the options of each item.
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

    /// Options of an item, each with its share.
    pub fn of(&self, item: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.row(item);
        self.option[row.clone()].iter().copied().zip(self.share[row].iter().copied())
    }

    fn row(&self, item: usize) -> std::ops::Range<usize> {
        self.rows[item] as usize..self.rows[item + 1] as usize
    }

    /// Load of each of `options` options, from the amount of each item. Summed in the order of the
    /// items.
    pub fn amounts(&self, amount: &[f64], options: usize) -> Vec<f64> {
        let mut load = vec![0.0; options];
        for (item, a) in amount.iter().enumerate() {
            for (option, share) in self.of(item) {
                load[option as usize] += a * share;
            }
        }
        load
    }

    /// Equalises the load per size of the options: each pass divides the shares of an option by its
    /// load relative to its `size`, then normalises the shares of each item. After the fixed number
    /// of passes the avoidable imbalance is small.
    pub fn balance(&mut self, amount: &[f64], size: &[f64]) {
        for _ in 0..PASSES {
            let load = self.amounts(amount, size.len());
            for item in 0..amount.len() {
                let row = self.row(item);
                let mut sum = 0.0;
                for i in row.clone() {
                    let option = self.option[i] as usize;
                    if load[option] > 0.0 {
                        self.share[i] *= size[option] / load[option];
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
    fn items_with_alternatives_leave_room_for_items_without() {
        let mut s = Shares::even([vec![0], vec![0, 1], vec![1, 2]]);
        let amount = [6.0, 4.0, 2.0];
        s.balance(&amount, &[1.0; 3]);
        let load = s.amounts(&amount, 3);
        assert!((load[0] - 6.0).abs() < 0.1 && (load[1] - 3.9).abs() < 0.2, "{load:?}");
        for item in 0..3 {
            assert!((s.of(item).map(|o| o.1).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!((load.iter().sum::<f64>() - 12.0).abs() < 1e-12);
    }

    #[test]
    fn larger_options_get_more() {
        let mut s = Shares::even([vec![0, 1]]);
        s.balance(&[10.0], &[3.0, 1.0]);
        assert!((s.share[0] - 0.75).abs() < 1e-9);
    }
}
