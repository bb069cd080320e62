// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python's `random.Random`, to reproduce published schedules from their seeds.
//!
//! The generator is Matsumoto and Nishimura's Mersenne Twister MT19937 (ACM TOMACS 8, 1998) with
//! its seeding by array; the conversion of its output to integers and reals is that of CPython's
//! `random` since 3.2.

const N: usize = 624;
const M: usize = 397;

/// State of `random.Random`.
#[derive(Clone, Debug)]
pub struct PythonRandom {
    state: [u32; N],
    next: usize,
}

impl PythonRandom {
    /// Generator seeded like `random.Random(seed)` with an integer.
    pub fn new(seed: u64) -> Self {
        let key = [seed as u32, (seed >> 32) as u32];
        let key = if key[1] == 0 { &key[..1] } else { &key[..] };
        let mut s = Self::from_word(19_650_218);
        let spread = |s: &[u32; N], i: usize| s[i - 1] ^ (s[i - 1] >> 30);
        let (mut i, mut j) = (1, 0);
        for _ in 0..N {
            s[i] = (s[i] ^ spread(&s, i).wrapping_mul(1_664_525)).wrapping_add(key[j]).wrapping_add(j as u32);
            j = (j + 1) % key.len();
            Self::step(&mut s, &mut i);
        }
        for _ in 0..N - 1 {
            s[i] = (s[i] ^ spread(&s, i).wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            Self::step(&mut s, &mut i);
        }
        s[0] = 0x8000_0000;
        PythonRandom { state: s, next: N }
    }

    fn from_word(word: u32) -> [u32; N] {
        let mut s = [0u32; N];
        s[0] = word;
        for i in 1..N {
            s[i] = 1_812_433_253u32.wrapping_mul(s[i - 1] ^ (s[i - 1] >> 30)).wrapping_add(i as u32);
        }
        s
    }

    fn step(s: &mut [u32; N], i: &mut usize) {
        *i += 1;
        if *i == N {
            s[0] = s[N - 1];
            *i = 1;
        }
    }

    fn word(&mut self) -> u32 {
        if self.next == N {
            for k in 0..N {
                let y = (self.state[k] & 0x8000_0000) | (self.state[(k + 1) % N] & 0x7fff_ffff);
                let twist = if y & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[k] = self.state[(k + M) % N] ^ (y >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `random.random()`: uniform in [0, 1), with 53 bits.
    pub fn random(&mut self) -> f64 {
        let (a, b) = (self.word() >> 5, self.word() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// `random.uniform(a, b)`.
    pub fn uniform(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.random()
    }

    /// `random.randint(a, b)`, both included. Draws as many bits as the width needs, and again until
    /// the result is in range.
    pub fn randint(&mut self, a: u32, b: u32) -> u32 {
        let width = b - a + 1;
        let bits = 32 - width.leading_zeros();
        loop {
            let drawn = self.word() >> (32 - bits);
            if drawn < width {
                return a + drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draws_equal_those_of_python() {
        let mut r = PythonRandom::new(1);
        assert_eq!(r.random(), 0.13436424411240122);
        assert_eq!(r.random(), 0.8474337369372327);
        let mut r = PythonRandom::new(42);
        assert_eq!([r.randint(1, 100), r.randint(1, 100), r.randint(1, 100)], [82, 15, 4]);
        assert_eq!(PythonRandom::new(1 << 40).randint(0, 9), PythonRandom::new(1 << 40).randint(0, 9));
    }
}
