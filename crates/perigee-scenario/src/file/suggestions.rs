// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Spelling suggestions ("did you mean …?").

use strsim::osa_distance;

/// Candidate nearest to `word`, if it is close enough to be a typing error.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (osa_distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit || (word.len() >= 3 && c.starts_with(word)))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// `did you mean "…"?`, if there is a near candidate.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|c| format!("did you mean {c:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let keys = ["duration", "seed", "sample"];
        assert_eq!(nearest("duratoin", keys), Some("duration"));
        assert_eq!(nearest("sede", keys), Some("seed"));
        assert_eq!(nearest("dur", keys), Some("duration"));
        assert_eq!(nearest("bandwidth", keys), None);
        assert_eq!(nearest("", keys), None);
    }
}
