// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names and other short texts in files: one line of visible characters. Line breaks would split
//! lines of scripts and tables, escape sequences would control terminals, and bidirectional
//! controls make one text look like another.

use std::fmt::Write;

/// Whether a character is not allowed in a name.
pub fn is_unfit(c: char) -> bool {
    // Line and paragraph separators, bidirectional embeddings, overrides and isolates, the byte
    // order mark, interlinear annotation marks.
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Rejects a text that cannot be a name.
///
/// # Errors
/// A message that names the first character that is not allowed, and what to do.
pub fn check(text: &str) -> Result<(), String> {
    match text.chars().find(|&c| is_unfit(c)) {
        None => Ok(()),
        Some(c) => Err(format!(
            "contains the control character U+{:04X}; only one line of visible characters is allowed: remove it",
            u32::from(c)
        )),
    }
}

/// The text with such characters escaped, for messages.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unfit(c) {
            true => write!(out, "{}", c.escape_default()).expect("a String takes all"),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line_of_visible_characters() {
        for good in ["", "london", "São Paulo", "東京", "a->b", "e\u{301}", "👩\u{200d}🚀", "שלום", "x y"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "a\nb",
            "\u{1b}[2J",
            "a\tb",
            "a\rb",
            "\0",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{202e}",
            "\u{feff}",
        ] {
            let why = check(&format!("ab{bad}")).unwrap_err();
            assert!(why.starts_with("contains the control character U+"), "{why}");
            assert!(!escaped(bad).chars().any(is_unfit), "{bad:?}");
        }
        assert_eq!(escaped("a\nb\u{1b}c"), "a\\nb\\u{1b}c");
    }
}
