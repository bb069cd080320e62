// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of a scenario: place, key, value found, values allowed, and a suggestion.

use serde::Serialize;
use std::fmt::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A scenario file: its name as given, and its folder (paths in the file are relative to it).
    File {
        /// Name as given by the user.
        name: String,
        /// Folder of the file.
        folder: PathBuf,
        /// Number of files between it and the one that was loaded, along `extends`.
        depth: usize,
    },
    /// `--set key=value`, or a keyword argument in Python; the text is `key=value`.
    Override(String),
    /// A default of this transport profile.
    Profile(&'static str),
}

/// A place in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file or override.
    pub origin: Arc<Origin>,
    /// Line from 1; `None` for overrides.
    pub line: Option<usize>,
}

impl Place {
    /// Whether values at this place take precedence over those at `other`: overrides over files, a
    /// file over the one it extends.
    pub fn is_above(&self, other: &Place) -> bool {
        let rank = |origin: &Origin| match origin {
            Origin::Override(_) => 0,
            Origin::File { depth, .. } => 1 + depth,
            Origin::Profile(_) => usize::MAX,
        };
        rank(&self.origin) < rank(&other.origin)
    }

    /// Whether the value comes from a profile, not from the user.
    pub fn is_default(&self) -> bool {
        matches!(self.origin.as_ref(), Origin::Profile(_))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.origin.as_ref(), self.line) {
            (Origin::File { name, .. }, Some(line)) => write!(f, "{name}:{line}"),
            (Origin::File { name, .. }, None) => f.write_str(name),
            (Origin::Override(text), _) => write!(f, "--set {}", shortened(text)),
            (Origin::Profile(id), _) => write!(f, "profile {id}"),
        }
    }
}

/// Characters of an override that messages show; `perigee check --json` has all.
const SHOWN: usize = 80;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}

/// A single error.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Place, if it can be located.
    pub place: Option<Place>,
    /// Dotted key, such as `port.bottleneck.rate`; empty for the entire file.
    pub key: String,
    /// The problem, as text.
    pub message: String,
    /// The value found, as written.
    pub found: Option<String>,
    /// Allowed values.
    pub allowed: Option<String>,
    /// Probable intention, or a remedy.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with a message only.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Problem {
            place: None,
            key: key.into(),
            message: message.into(),
            found: None,
            allowed: None,
            hint: None,
        }
    }
    /// Sets the place.
    pub fn at(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }
    /// Sets the value found.
    pub fn found(mut self, text: impl Into<String>) -> Self {
        self.found = Some(text.into());
        self
    }
    /// Sets the allowed values.
    pub fn allowed(mut self, text: impl Into<String>) -> Self {
        self.allowed = Some(text.into());
        self
    }
    /// Sets the remedy.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }
}

impl fmt::Display for Problem {
    /// One line of visible characters, whatever the names of keys and files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        if let Some(place) = &self.place {
            write!(line, "{place}: ")?;
        }
        if !self.key.is_empty() {
            write!(line, "{}: ", self.key)?;
        }
        line.push_str(&self.message);
        // Messages of parsers quote the value themselves.
        let quoted = |found: &&String| found.starts_with('"') && self.message.contains(found.as_str());
        if let Some(found) = self.found.as_ref().filter(|found| !quoted(found)) {
            write!(line, "; found {found}")?;
        }
        if let Some(allowed) = &self.allowed {
            write!(line, "; allowed: {allowed}")?;
        }
        if let Some(hint) = &self.hint {
            write!(line, "; {hint}")?;
        }
        f.write_str(&perigee_units::names::escaped(&line))
    }
}

/// Machine-readable form of a [`Problem`] (`perigee check --json`).
#[derive(Serialize)]
struct Flat<'a> {
    file: Option<&'a str>,
    line: Option<usize>,
    set: Option<&'a str>,
    key: &'a str,
    message: &'a str,
    found: Option<&'a str>,
    allowed: Option<&'a str>,
    hint: Option<&'a str>,
}

impl Serialize for Problem {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (file, set) = match self.place.as_ref().map(|p| p.origin.as_ref()) {
            Some(Origin::File { name, .. }) => (Some(name.as_str()), None),
            Some(Origin::Override(text)) => (None, Some(text.as_str())),
            Some(Origin::Profile(_)) | None => (None, None),
        };
        Flat {
            file,
            line: self.place.as_ref().and_then(|p| p.line),
            set,
            key: &self.key,
            message: &self.message,
            found: self.found.as_deref(),
            allowed: self.allowed.as_deref(),
            hint: self.hint.as_deref(),
        }
        .serialize(s)
    }
}

/// All errors of a scenario; never empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ScenarioError(pub Vec<Problem>);

impl From<Problem> for ScenarioError {
    fn from(p: Problem) -> Self {
        ScenarioError(vec![p])
    }
}

/// Number of entries of a list with the same problem from which it is printed once.
const ALIKE: usize = 3;
/// Number of other entries that are named then.
const NAMED: usize = 3;

impl Problem {
    /// Origin, key and text without numbers: equal for entries of a list that have the same problem.
    fn pattern(&self) -> (Option<&Origin>, String, String) {
        let plain = |text: &str| text.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
        (self.place.as_ref().map(|p| p.origin.as_ref()), plain(&self.key), plain(&self.message))
    }
}

impl fmt::Display for ScenarioError {
    /// A line per problem; one that several entries of a list have is printed for the first, with
    /// the keys of the others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns: Vec<_> = self.0.iter().map(Problem::pattern).collect();
        let mut separator = "";
        for (i, problem) in self.0.iter().enumerate() {
            let alike: Vec<usize> = (0..self.0.len()).filter(|&k| patterns[k] == patterns[i]).collect();
            let once = alike.len() >= ALIKE && problem.key.contains(|c: char| c.is_ascii_digit());
            if once && alike[0] != i {
                continue;
            }
            write!(f, "{separator}{problem}")?;
            separator = "\n";
            if once {
                let others: Vec<&str> = alike[1..].iter().map(|&k| self.0[k].key.as_str()).collect();
                let named = others[..others.len().min(NAMED)].join(", ");
                let more = others.len().saturating_sub(NAMED);
                let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
                f.write_str(&perigee_units::names::escaped(&format!("; the same for {named}{rest}")))?;
            }
        }
        Ok(())
    }
}
impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(n: usize, origin: &Arc<Origin>) -> Problem {
        let place = Place { origin: origin.clone(), line: None };
        let why = format!("the flow would start at {n}.5 s, after the end of the run at 5 s");
        Problem::new(format!("flow.{n}.start"), why).at(&place).hint("start it earlier")
    }

    #[test]
    fn a_problem_of_many_entries_is_printed_once_and_a_long_override_is_cut() {
        let origin = Arc::new(Origin::Override("x".repeat(5000)));
        let other =
            Problem::new("run.duration", "too short").at(&Place { origin: origin.clone(), line: None });
        let mut problems: Vec<Problem> = (0..14).map(|n| late(n, &origin)).collect();
        problems.insert(3, other);
        let text = ScenarioError(problems).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].ends_with(
            "start it earlier; the same for flow.1.start, flow.2.start, flow.3.start and 10 more"
        ));
        assert!(lines[0].starts_with(&format!("--set {} …: flow.0.start: ", "x".repeat(SHOWN))));
        assert!(lines[1].ends_with("run.duration: too short"));
    }

    #[test]
    fn two_entries_with_the_same_problem_have_a_line_each() {
        let origin = Arc::new(Origin::Override("run.duration=5s".into()));
        let text = ScenarioError(vec![late(0, &origin), late(1, &origin)]).to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
