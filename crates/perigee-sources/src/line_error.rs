// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors in recorded files, with the line.

/// Reason why a recorded file could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TraceError {
    /// Line number, from 1.
    pub line: usize,
    /// Description.
    pub reason: String,
}

impl TraceError {
    pub(crate) fn at(line: usize, reason: impl Into<String>) -> Self {
        TraceError { line, reason: reason.into() }
    }
}

/// Non-blank lines with their numbers.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, l)| (n + 1, l.trim())).filter(|(_, l)| !l.is_empty())
}

/// A finite, non-negative number.
pub(crate) fn number(line: usize, text: &str, what: &str) -> Result<f64, TraceError> {
    let value: f64 = text
        .trim()
        .parse()
        .map_err(|_| TraceError::at(line, format!("the {what} {text:?} is not a number")))?;
    if !value.is_finite() || value < 0.0 {
        return Err(TraceError::at(line, format!("the {what} {text} must be zero or more, and finite")));
    }
    Ok(value)
}
