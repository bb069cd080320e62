// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Registry of backends. A backend is one file of this folder and one entry of [`SHIPPED`].

#[cfg(not(feature = "hosts"))]
mod absent;
#[cfg(feature = "hosts")]
mod emulation;
#[cfg(feature = "hosts")]
mod linux;
pub mod options;
pub mod simulator;

pub use options::{OptionValue, Options};

use perigee_backend::setups::Plugins;
use perigee_backend::{Backend, BackendError};
use perigee_scenario::World;

#[cfg(not(feature = "hosts"))]
pub use absent::HostPrograms;
#[cfg(not(feature = "hosts"))]
use absent::{emulation, linux};
#[cfg(feature = "hosts")]
pub use perigee_linux::HostPrograms;

/// All bundled backends; the first is the default.
pub const SHIPPED: [Entry; 3] = [simulator::ENTRY, linux::ENTRY, emulation::ENTRY];

/// A backend in the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line, for lists.
    pub summary: &'static str,
    /// Names of its options; others are rejected.
    pub options: &'static [&'static str],
    /// Congestion controls of its hosts; empty = those of `perigee-cc`.
    pub schemes: fn(&Options) -> Result<Vec<HostScheme>, BackendError>,
    /// CPU time per TCP packet in seconds, in addition to that of the simulated network; for
    /// estimates.
    pub cpu_s_per_tcp_packet: f64,
    /// Constructor.
    pub make: fn(&Setting<'_>) -> Result<Box<dyn Backend>, BackendError>,
}

/// A congestion control of a backend's hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostScheme {
    /// Name on the hosts.
    pub on_host: String,
    /// Name in scenarios and records.
    pub name: String,
}

/// Inputs of [`Entry::make`].
pub struct Setting<'a> {
    /// Network and flows.
    pub world: &'a World,
    /// Congestion controls in addition to the built-in ones.
    pub plugins: &'a Plugins,
    /// Options of the backend.
    pub options: &'a Options,
    /// Programs on its hosts in addition to those of the scenario.
    pub programs: &'a HostPrograms,
}

/// Available backends.
#[derive(Clone)]
pub struct Registry(Vec<Entry>);

impl Default for Registry {
    /// The backends of [`SHIPPED`].
    fn default() -> Self {
        Registry(SHIPPED.to_vec())
    }
}

impl Registry {
    /// All backends, the default first.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Adds a backend.
    ///
    /// # Errors
    /// If a backend has the same name.
    pub fn add(&mut self, entry: Entry) -> Result<(), BackendError> {
        if self.0.iter().any(|e| e.name == entry.name) {
            return Err(BackendError::Failed(format!(
                "backend {:?} already exists: choose another name",
                entry.name
            )));
        }
        self.0.push(entry);
        Ok(())
    }

    /// Selects a backend by name, with its options.
    ///
    /// # Errors
    /// If the name of the backend or of an option is unknown; the message lists the valid ones.
    pub fn choose(&self, name: &str, options: Options) -> Result<Choice, BackendError> {
        let Some(entry) = self.0.iter().find(|e| e.name == name) else {
            let names: Vec<_> = self.0.iter().map(|e| e.name).collect();
            let why = format!("unknown backend {name:?}: use one of {}", names.join(", "));
            return Err(BackendError::Failed(why));
        };
        options.check(name, entry.options)?;
        Ok(Choice { entry: *entry, options, programs: HostPrograms::default() })
    }
}

/// A backend with its options, for any number of runs.
#[derive(Clone)]
pub struct Choice {
    /// The backend.
    pub entry: Entry,
    /// Options of the backend.
    pub options: Options,
    /// Programs on its hosts in addition to those of the scenario.
    pub programs: HostPrograms,
}

impl Default for Choice {
    /// The simulator.
    fn default() -> Self {
        Choice { entry: simulator::ENTRY, options: Options::default(), programs: HostPrograms::default() }
    }
}

impl Choice {
    /// Creates the backend for runs of a world.
    ///
    /// # Errors
    /// If a required option is missing, an option has another type, or the backend is not in this
    /// build.
    pub fn make(&self, world: &World, plugins: &Plugins) -> Result<Box<dyn Backend>, BackendError> {
        let Choice { entry, options, programs } = self;
        (entry.make)(&Setting { world, plugins, options, programs })
    }

    /// Congestion controls of its hosts; empty = those of `perigee-cc`.
    ///
    /// # Errors
    /// If an option has another type, or the backend is not in this build.
    pub fn schemes(&self) -> Result<Vec<HostScheme>, BackendError> {
        (self.entry.schemes)(&self.options)
    }
}

/// [`Entry::schemes`] of backends that use the built-in schemes.
///
/// # Errors
/// Never.
pub fn no_schemes(_: &Options) -> Result<Vec<HostScheme>, BackendError> {
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_list_the_valid_names() {
        let error = |name, options| Registry::default().choose(name, options).err().unwrap().to_string();
        let why = error("linus", Options::default());
        let names = SHIPPED.map(|e| e.name).join(", ");
        assert_eq!(why, format!("unknown backend \"linus\": use one of {names}"));
        let options = Options::default().with("kernle", OptionValue::Flag(true));
        assert_eq!(
            error("linux", options.clone()),
            "backend linux has no option \"kernle\"; it has kernel, modules"
        );
        assert_eq!(error("simulator", options), "backend simulator has no option \"kernle\"; it has threads");
    }

    #[test]
    fn names_are_unique_and_summaries_are_lines() {
        let mut registry = Registry::default();
        for entry in SHIPPED {
            assert!(registry.add(entry).is_err(), "{} twice", entry.name);
            assert!(!entry.summary.is_empty() && !entry.summary.contains('\n'), "{}", entry.name);
        }
        assert_eq!(registry.entries().len(), SHIPPED.len());
        assert_eq!(Choice::default().entry.name, SHIPPED[0].name);
    }
}
