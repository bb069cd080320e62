// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Elements of a grammar: sections, their kinds, and keys.

use crate::file::notation::Notation;
use crate::file::shape::Shape;
use std::fmt;

/// A table of the file.
#[derive(Debug)]
pub struct Section {
    /// Key of the table.
    pub name: &'static str,
    /// One line for the reference.
    pub help: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Kinds of the section, mutually exclusive, each with additional keys.
    pub kinds: Option<&'static Kinds>,
}

impl Section {
    /// Keys of the section and of all its kinds.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<'_> {
        self.keys.iter().chain(self.kinds.iter().flat_map(|k| k.of).flat_map(|kind| kind.keys))
    }
}

/// Kinds of a section.
#[derive(Debug)]
pub struct Kinds {
    /// How a kind is selected.
    pub by: By,
    /// Names, descriptions and keys of the kinds.
    pub of: &'static [&'static Section],
}

/// Selection of a kind.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// By the value of this key.
    Word(&'static str),
    /// By the presence of a key with the name of the kind.
    Presence,
}

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// Name in files, with underscores; hyphens are accepted in their place.
    pub name: &'static str,
    /// Its content.
    pub content: Content,
    /// Value if the key is absent.
    pub default: Option<&'static str>,
    /// Whether the key must be given.
    pub required: bool,
    /// One line for the reference.
    pub help: &'static str,
    /// Conditions, all of which must hold for the key to have an effect.
    pub only: &'static [Only],
}

impl Key {
    /// The same key with conditions for having an effect.
    pub const fn only(self, only: &'static [Only]) -> Key {
        Key { only, ..self }
    }
}

/// Condition on another key of the section for a key to have an effect.
#[derive(Clone, Copy, Debug)]
pub enum Only {
    /// That key has one of these values; [`A_FUNCTION`] stands for any Python function.
    With(&'static str, &'static [&'static str]),
    /// That key has none of these values.
    Without(&'static str, &'static [&'static str]),
    /// One of those keys is given.
    Given(&'static [&'static str]),
    /// That key is not given.
    Absent(&'static str),
}

/// Placeholder for the name of a function in a list of words.
pub const A_FUNCTION: &str = "file.py:name";

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Only::With(key, words) => write!(f, "with {key} = {}", quoted(words)),
            Only::Without(key, words) => write!(f, "not with {key} = {}", quoted(words)),
            Only::Given(keys) => write!(f, "with {}", keys.join(" or ")),
            Only::Absent(key) => write!(f, "without {key}"),
        }
    }
}

impl Only {
    /// Description of the cases in which the key has no effect.
    pub(crate) fn where_not(&self) -> String {
        match self {
            Only::With(key, words) => format!("without {key} = {}", quoted(words)),
            Only::Without(key, words) => format!("with {key} = {}", quoted(words)),
            Only::Given(keys) => format!("without {}", keys.join(" or ")),
            Only::Absent(key) => format!("together with {key}"),
        }
    }
}

/// Words in quotes, as written in a file.
pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(" or ")
}

/// Content of a key.
#[derive(Debug)]
pub enum Content {
    /// A value.
    Value(Notation),
    /// Name of a queue discipline. Its parameters are keys of the same section.
    Discipline(Notation),
    /// A section.
    One(&'static Section),
    /// Sections with user-defined names.
    Named(&'static Section),
    /// A list of sections.
    List(&'static Section),
    /// Transport options.
    Tcp,
    /// A profile, transport options, and tables of them by scheme.
    TcpOfAll,
    /// Tables of scheme parameters, by scheme.
    ByScheme,
    /// Keys of the scenario, each with a list of values.
    Sweep,
    /// Parameters of the scheme named by another key of the section.
    SchemeOf(&'static str),
    /// Tables of parameters of starts, by start.
    ByStart,
    /// Parameters of the start named by another key of the section.
    StartOf(&'static str),
}

impl Content {
    /// [`Shape`] of the values.
    pub(crate) const fn shape(&self) -> u64 {
        match self {
            Content::Value(notation) | Content::Discipline(notation) => notation.shape(),
            Content::One(_) => Shape::Section as u64,
            Content::Named(_) => Shape::Named as u64,
            Content::List(_) => (Shape::Section as u64) << Shape::MANY,
            Content::Tcp | Content::SchemeOf(_) | Content::StartOf(_) => Shape::Params as u64,
            Content::TcpOfAll => Shape::Tcp as u64,
            Content::ByScheme | Content::ByStart => Shape::ByScheme as u64,
            Content::Sweep => Shape::Sweep as u64,
        }
    }

    /// Whether it is a section without required keys, which may be omitted.
    pub(crate) const fn is_all_optional(&self) -> bool {
        let Content::One(section) = self else { return false };
        let mut i = 0;
        while i < section.keys.len() && !section.keys[i].required {
            i += 1;
        }
        i == section.keys.len()
    }
}

/// Key under which a section stores the parameters of its queue discipline.
pub const DISCIPLINE_PARAMS: &str = "parameters of the discipline";
