// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Corpus: inputs with distinct coverage, one file per target (`corpus/TARGET`). An input is its
//! length, four bytes little-endian, and its bytes.

use std::path::{Path, PathBuf};

/// File of a target's corpus.
pub fn file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Splits a corpus file into inputs; an incomplete one at the end is left out.
pub fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let Some((input, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else { break };
        found.push(input.to_vec());
        bytes = rest;
    }
    found
}

/// Joins inputs into a corpus file.
pub fn join(inputs: &[Vec<u8>]) -> Vec<u8> {
    inputs.iter().flat_map(|i| [&(i.len() as u32).to_le_bytes()[..], i].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_split_as_it_was_joined_and_a_cut_one_loses_its_last_input() {
        let inputs = vec![vec![], vec![1, 2, 3], vec![0; 300]];
        let bytes = join(&inputs);
        assert_eq!(split(&bytes), inputs);
        assert_eq!(split(&bytes[..bytes.len() - 1]), inputs[..2]);
    }
}
