// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counter-based random draws: a draw is a hash of its purpose, so that it is independent of
//! earlier draws. The functions are those of SplitMix64 (Steele, Lea and Flood, "Fast splittable
//! pseudorandom number generators", 2014) and FNV-1a.

/// Increment of SplitMix64.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser.
#[inline]
pub fn finalise(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Mixes 64 bits: one step of SplitMix64 from state `x`.
#[inline]
pub fn mix(x: u64) -> u64 {
    finalise(x.wrapping_add(GAMMA))
}

/// A key that depends only on a name (FNV-1a), so that it does not change when other names are
/// added.
pub fn name_key(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// 53 random bits as a number in 0..1.
#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_are_those_that_were_published() {
        // First outputs of SplitMix64 with seed 1234567, and FNV-1a of "foobar".
        let mut state = 1_234_567u64;
        let first: Vec<u64> = (0..3)
            .map(|_| {
                let out = mix(state);
                state = state.wrapping_add(GAMMA);
                out
            })
            .collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(name_key("foobar"), 0x85944171f73967e8);
        assert_eq!((unit(0), unit(1 << 63)), (0.0, 0.5));
        assert!(unit(u64::MAX) < 1.0);
    }
}
