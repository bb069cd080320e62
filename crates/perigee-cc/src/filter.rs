// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running maximum over a sliding window in constant memory (K. Nichols' three-sample filter, as
//! used by Linux's BBR).
//!
//! It keeps the best sample, the best one after that, and the best one after the second. The second
//! and third are replaced when a quarter and a half of the window have passed without a better one,
//! so that there is always a successor when the best one expires. The result may fall below the
//! true maximum, but never exceeds it.

/// A value and its time (rounds, as counted by the caller).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    at: u64,
    value: u64,
}

/// Windowed maximum.
#[derive(Clone, Debug)]
pub struct WindowedMax {
    window: u64,
    /// Best first; times do not decrease.
    samples: [Sample; 3],
}

impl WindowedMax {
    /// Filter over `window` units of time, with value zero.
    pub fn new(window: u64) -> Self {
        WindowedMax { window, samples: [Sample::default(); 3] }
    }

    /// The maximum.
    #[inline]
    pub fn get(&self) -> u64 {
        self.samples[0].value
    }

    /// Resets the filter to `value`.
    pub fn reset(&mut self, at: u64, value: u64) {
        self.samples = [Sample { at, value }; 3];
    }

    /// Adds a sample; `at` must not decrease.
    #[inline]
    pub fn update(&mut self, at: u64, value: u64) {
        let new = Sample { at, value };
        let [best, second, third] = self.samples;
        if value >= best.value || at.saturating_sub(third.at) > self.window {
            self.samples = [new; 3];
            return;
        }
        if value >= second.value {
            self.samples = [best, new, new];
        } else if value >= third.value {
            self.samples[2] = new;
        }
        self.expire(new);
    }

    fn expire(&mut self, new: Sample) {
        let [best, second, third] = self.samples;
        let age = new.at.saturating_sub(best.at);
        if age > self.window {
            self.samples = [second, third, new];
            if new.at.saturating_sub(second.at) > self.window {
                self.samples = [third, new, new];
            }
        } else if second.at == best.at && age > self.window / 4 {
            self.samples = [best, new, new];
        } else if third.at == second.at && age > self.window / 2 {
            self.samples[2] = new;
        }
    }
}

/// Windowed minimum of the same kind: the result may exceed the true minimum, but never falls below
/// it.
#[derive(Clone, Debug)]
pub struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// Filter over `window` units of time, without a sample.
    pub fn new(window: u64) -> Self {
        WindowedMin(WindowedMax::new(window))
    }

    /// The minimum; `u64::MAX` before the first sample.
    #[inline]
    pub fn get(&self) -> u64 {
        u64::MAX - self.0.get()
    }

    /// Changes the length of the window.
    pub fn set_window(&mut self, window: u64) {
        self.0.window = window;
    }

    /// Adds a sample; `at` must not decrease.
    #[inline]
    pub fn update(&mut self, at: u64, value: u64) {
        self.0.update(at, u64::MAX - value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_forgotten_after_the_window_and_not_before() {
        let mut f = WindowedMax::new(10);
        f.update(0, 100);
        for t in 1..=10 {
            f.update(t, 50);
            assert_eq!(f.get(), 100, "round {t}");
        }
        f.update(11, 50);
        assert_eq!(f.get(), 50);
    }

    #[test]
    fn the_answer_is_a_sample_of_the_window_and_at_least_the_newest() {
        let mut f = WindowedMax::new(10);
        let mut rng = crate::rng::Rng::new(3);
        let mut all = vec![];
        for t in 0..5000u64 {
            let v = rng.below(1000) as u64;
            all.push(v);
            f.update(t, v);
            let inside = &all[t.saturating_sub(10) as usize..];
            assert!(inside.contains(&f.get()) && f.get() >= v);
        }
    }

    #[test]
    fn a_long_silence_leaves_only_the_new_sample() {
        let mut f = WindowedMax::new(10);
        f.update(0, 100);
        f.update(50, 1);
        assert_eq!(f.get(), 1);
    }

    #[test]
    fn the_minimum_is_the_maximum_upside_down() {
        let mut f = WindowedMin::new(10);
        assert_eq!(f.get(), u64::MAX);
        for (at, value, min) in [(0, 50, 50), (1, 40, 40), (5, 60, 40), (11, 70, 40), (12, 70, 60)] {
            f.update(at, value);
            assert_eq!(f.get(), min, "at {at}");
        }
    }
}
