// SPDX-License-Identifier: Apache-2.0 OR MIT
//! "Did you mean …?"

/// The candidate nearest to `word`, if one is near enough to be a slip of the fingers.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit || (word.len() >= 3 && c.starts_with(word)))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// `did you mean "…"?`, where there is a near candidate.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|c| format!("did you mean {c:?}?"))
}

/// Letters to insert, delete, change, or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = d[(i - 1) * width + j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let skip = d[(i - 1) * width + j].min(d[i * width + j - 1]) + 1;
                let swap = if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    d[(i - 2) * width + j - 2] + 1
                } else {
                    usize::MAX
                };
                change.min(skip).min(swap)
            };
        }
    }
    d[d.len() - 1]
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
