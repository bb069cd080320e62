// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mutation of valid inputs.

use perigee_units::draw::mix;

/// Strings that break parsers: numbers at their limits, signs, quotes, line ends, multi-byte
/// characters.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "1e-308",
    "NaN",
    "inf",
    "-0.0",
    "18446744073709551616",
    "9223372036854775807",
    "4294967296",
    "0x",
    "1_0",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    ",",
    "$",
    "\n",
    "\r\n",
    "\0",
    "\t",
    " ",
    "é",
    "\u{202e}",
    "\u{1f6f0}",
    "null",
    "true",
    "10 s",
    "1 bdp",
    "99999999 Gbit",
    "-5 ms",
    "*",
];

/// Maximum number of mutations per input: most inputs stay close to a valid one.
const MOST: u64 = 6;

/// Maximum length of an input; longer ones are truncated.
const LONGEST: usize = 1 << 14;

/// Generator of damaged inputs.
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    /// Generator from valid inputs; `seed` determines all draws.
    pub fn new(seeds: Vec<Vec<u8>>, seed: u64) -> Self {
        assert!(!seeds.is_empty());
        Mutator { seeds, state: mix(seed) }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(1);
        (mix(mix(self.state)) % below.max(1) as u64) as usize
    }

    /// The next input.
    pub fn next(&mut self) -> Vec<u8> {
        let seed = self.draw(self.seeds.len());
        let mut input = self.seeds[seed].clone();
        for _ in 0..=self.draw(MOST as usize) {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.draw(input.len() + 1);
        let end = (at + 1 + self.draw(24)).min(input.len());
        match self.draw(8) {
            0 if at < input.len() => input[at] ^= 1 << self.draw(8),
            1 if at < input.len() => input[at] = self.draw(256) as u8,
            2 => drop(input.drain(at.min(end)..end)),
            3 => {
                let word = WORDS[self.draw(WORDS.len())].as_bytes();
                input.splice(at..at, word.iter().copied());
            }
            4 => {
                let word = WORDS[self.draw(WORDS.len())].as_bytes();
                input.splice(at.min(end)..end, word.iter().copied());
            }
            5 => {
                let copy = input[at.min(end)..end].to_vec();
                let to = self.draw(input.len() + 1);
                input.splice(to..to, copy);
            }
            6 => input.truncate(at),
            _ => {
                // Insert a piece of another valid input.
                let other = self.draw(self.seeds.len());
                let from = self.draw(self.seeds[other].len() + 1);
                let to = (from + self.draw(64)).min(self.seeds[other].len());
                let piece = self.seeds[other][from..to].to_vec();
                input.splice(at..at, piece);
            }
        }
    }
}
