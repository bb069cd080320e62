// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of a backend by name, such as the folder of a kernel.

use perigee_backend::BackendError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names of the options of Linux hosts in virtual time.
pub(super) const LINUX: &[&str] = &["kernel", "modules"];
/// Names of the options of hosts in real time.
pub(super) const EMULATION: &[&str] = &["command", "all_flows", "apart"];

/// Value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// True or false.
    Flag(bool),
    /// A file or a folder.
    Path(PathBuf),
    /// Any number of words.
    List(Vec<String>),
    /// A number of things.
    Number(usize),
}

/// Options by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, OptionValue>);

impl Options {
    /// The same options and another one.
    pub fn with(mut self, name: &str, value: OptionValue) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    /// A flag; `None` = not given.
    ///
    /// # Errors
    /// If the option has another type.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, BackendError> {
        self.read(name, "true or false", |v| if let OptionValue::Flag(flag) = v { Some(*flag) } else { None })
    }

    /// A file or a folder; `None` = not given.
    ///
    /// # Errors
    /// If the option has another type.
    pub fn path(&self, name: &str) -> Result<Option<&Path>, BackendError> {
        self.read(
            name,
            "a path",
            |v| if let OptionValue::Path(path) = v { Some(path.as_path()) } else { None },
        )
    }

    /// A list of words; empty if not given.
    ///
    /// # Errors
    /// If the option has another type.
    pub fn list(&self, name: &str) -> Result<Vec<String>, BackendError> {
        let found = self.read(name, "a list of texts", |v| {
            if let OptionValue::List(list) = v {
                Some(list)
            } else {
                None
            }
        })?;
        Ok(found.cloned().unwrap_or_default())
    }

    /// A number; `None` = not given.
    ///
    /// # Errors
    /// Another type.
    pub fn number(&self, name: &str) -> Result<Option<usize>, BackendError> {
        let number = |v: &OptionValue| if let OptionValue::Number(n) = v { Some(*n) } else { None };
        self.read(name, "a number", number)
    }

    /// Rejects options that a backend does not have.
    pub(super) fn check(&self, backend: &str, known: &[&str]) -> Result<(), BackendError> {
        let Some(name) = self.0.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let list = if known.is_empty() { "none".into() } else { known.join(", ") };
        Err(BackendError::Failed(format!("backend {backend} has no option {name:?}; it has {list}")))
    }

    fn read<'a, T>(
        &'a self,
        name: &str,
        wanted: &str,
        value: impl Fn(&'a OptionValue) -> Option<T>,
    ) -> Result<Option<T>, BackendError> {
        let wrong = |given| {
            BackendError::Failed(format!("option {name:?} of the backend is {given:?}, not {wanted}"))
        };
        self.0.get(name).map(|given| value(given).ok_or_else(|| wrong(given))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_types() {
        let options = Options::default().with("kernel", OptionValue::Flag(true));
        assert_eq!(options.flag("kernel"), Ok(Some(true)));
        assert_eq!((options.path("other"), options.list("other")), (Ok(None), Ok(vec![])));
        let why = options.path("kernel").unwrap_err().to_string();
        assert_eq!(why, "option \"kernel\" of the backend is Flag(true), not a path");
    }
}
