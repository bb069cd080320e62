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
        /// As the user wrote it.
        name: String,
        /// Folder of the file.
        folder: PathBuf,
        /// Number of files that extend it, one the other.
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
    /// Values written here take precedence over those written at `other`: overrides over files, a
    /// file over the one it extends.
    pub fn is_above(&self, other: &Place) -> bool {
        let rank = |origin: &Origin| match origin {
            Origin::Override(_) => 0,
            Origin::File { depth, .. } => 1 + depth,
            Origin::Profile(_) => usize::MAX,
        };
        rank(&self.origin) < rank(&other.origin)
    }

    /// It was not written by the user: it is a profile's.
    pub fn is_default(&self) -> bool {
        matches!(self.origin.as_ref(), Origin::Profile(_))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.origin.as_ref(), self.line) {
            (Origin::File { name, .. }, Some(line)) => write!(f, "{name}:{line}"),
            (Origin::File { name, .. }, None) => f.write_str(name),
            (Origin::Override(text), _) => write!(f, "--set {text}"),
            (Origin::Profile(id), _) => write!(f, "profile {id}"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where, if it is at one place.
    pub place: Option<Place>,
    /// Dotted key, such as `port.bottleneck.rate`; empty for the entire file.
    pub key: String,
    /// The problem, as text.
    pub message: String,
    /// The value as written.
    pub found: Option<String>,
    /// Allowed values.
    pub allowed: Option<String>,
    /// Probable intention, or remedy.
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
    /// At `place`.
    pub fn at(mut self, place: &Place) -> Self {
        self.place = Some(place.clone());
        self
    }
    /// The value found.
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
    /// One line of visible characters, whatever keys and files are called.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        if let Some(place) = &self.place {
            write!(line, "{place}: ")?;
        }
        if !self.key.is_empty() {
            write!(line, "{}: ", self.key)?;
        }
        line.push_str(&self.message);
        if let Some(found) = &self.found {
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

/// A [`Problem`] as machines read it (`perigee check --json`).
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

/// Everything that is wrong with a scenario; never empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ScenarioError(pub Vec<Problem>);

impl From<Problem> for ScenarioError {
    fn from(p: Problem) -> Self {
        ScenarioError(vec![p])
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
impl std::error::Error for ScenarioError {}
