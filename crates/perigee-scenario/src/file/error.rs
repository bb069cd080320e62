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
            (Origin::Override(text), _) => write!(f, "--set {text}"),
            (Origin::Profile(id), _) => write!(f, "profile {id}"),
        }
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
