// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts: the initial slow start as a part of its own, combined with any window scheme.
//!
//! Idea: how a connection finds the capacity of a path is independent of how it follows it later.
//! Until the first reduction, or until the start decides that the path is full, the start owns the
//! window and the scheme only observes; then the scheme has the connection for good.
//!
//! ```text
//! classic     doubles each round until a loss (RFC 5681)
//! hystart     as Linux's Cubic: leaves at the signs of a full path (see `hystart`)
//! hystart++   RFC 9406: a slower start at a rise of the RTT, left after five rounds
//! search      draft-chung-ccwg-search: leaves when deliveries fall behind what was sent
//! careful     RFC 9959: half of a remembered window at once, checked, or a safe retreat
//! rapid       draft-kazuho-ccwg-rapid-start: triples each round while there is no queue
//!
//! start ── path full, or a reduction ──► scheme
//! ```
//!
//! Without a start a scheme runs its own, and the results are those of the scheme alone. BBR and its
//! relatives measure the path in their own STARTUP; of the starts only `careful` applies to them.

pub mod careful;
pub mod growth;
pub mod hystart_plus_plus;
pub mod memory;
pub mod rapid;
pub mod search;
pub mod started;

use crate::*;
use memory::Memory;
use started::{Machine, Started};
use std::collections::BTreeMap;

/// Static description of a start.
#[derive(Clone, Copy, Debug)]
pub struct StartInfo {
    /// Identifier: value of `slow_start` in scenarios.
    pub id: &'static str,
    /// One line for `perigee schemes`.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Parameter table.
    pub params: &'static [ParamSpec],
}

/// All starts, in the order in which tables print them.
pub const STARTS: &[StartInfo] = &[
    StartInfo {
        id: "classic",
        summary: "doubles the window each round until a loss",
        source: "RFC 5681",
        params: &[growth::REFERENCE_RTT],
    },
    StartInfo {
        id: "hystart",
        summary: "ends at long trains of ACKs or a rise of the RTT, as in Linux's Cubic",
        source: "Linux; Ha, Rhee 2011",
        params: &[],
    },
    StartInfo {
        id: "hystart++",
        summary: "grows at a quarter of the pace after a rise of the RTT, and ends after five such rounds",
        source: "RFC 9406",
        params: hystart_plus_plus::PARAMS,
    },
    StartInfo {
        id: "search",
        summary: "ends when less is delivered than was sent a round earlier",
        source: "draft-chung-ccwg-search-09; its authors' module for Linux",
        params: search::PARAMS,
    },
    StartInfo {
        id: "careful",
        summary: "sends half of a saved window in one paced round, and validates it",
        source: "RFC 9959",
        params: careful::PARAMS,
    },
    StartInfo {
        id: "rapid",
        summary: "triples the window each round while there is no queue; after a loss, returns to the amount delivered",
        source: "draft-kazuho-ccwg-rapid-start-02; h2o/quicly",
        params: rapid::PARAMS,
    },
];

/// Description of start `id`.
pub fn start_info(id: &str) -> Option<&'static StartInfo> {
    STARTS.iter().find(|s| s.id == id)
}

/// What a scheme leaves to a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The window until the first reduction.
    Window,
    /// A jump within its own start, which measures the path.
    Model,
}

impl Family {
    /// Family of a scheme; `None` = it has only its own start.
    fn of(scheme: &str) -> Option<Family> {
        match scheme {
            "newreno" | "cubic" | "vegas" | "hybla" | "prague" | "satcp" | "starquic_cubic" => {
                Some(Family::Window)
            }
            "bbr" | "bbr3" | "bbr3_hint" => Some(Family::Model),
            _ => None,
        }
    }
}

impl SchemeInfo {
    /// Starts that can be combined with the scheme.
    pub fn starts(&self) -> Vec<&'static str> {
        STARTS.iter().filter(|s| s.suits(self)).map(|s| s.id).collect()
    }
}

impl StartInfo {
    /// Whether the start can be combined with a scheme.
    pub fn suits(&self, scheme: &SchemeInfo) -> bool {
        match Family::of(scheme.id) {
            Some(Family::Window) => true,
            Some(Family::Model) => self.id == "careful",
            None => false,
        }
    }

    /// Checks parameters against the start's table.
    ///
    /// # Errors
    /// See [`Params::new`]; also parameters that need another one.
    pub fn params(&self, given: BTreeMap<String, Value>) -> Result<Params, String> {
        let params = Params::new(self.params, given).map_err(|e| e.to_string())?;
        match self.id {
            "careful" => careful::check(&params)?,
            "hystart++" => hystart_plus_plus::HyStartPlusPlus::check(&params)?,
            _ => {}
        }
        Ok(params)
    }
}

/// Start of a flow, with checked parameters.
#[derive(Clone, Debug)]
pub struct Start {
    info: &'static StartInfo,
    params: Params,
    memory: Option<Memory>,
}

impl Start {
    /// A start; `memory` is shared by the flows of a path, for [`Start::remembers`].
    pub fn new(info: &'static StartInfo, params: Params, memory: Option<Memory>) -> Self {
        Start { info, params, memory }
    }

    /// Its description.
    pub fn info(&self) -> &'static StartInfo {
        self.info
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Whether it takes what an earlier flow of the same path has saved, so that the host must give
    /// both the same memory.
    pub fn remembers(info: &StartInfo, params: &Params) -> bool {
        info.id == "careful" && !params.is_given("saved_window")
    }

    /// Whether flows share a memory through it.
    pub fn is_shared(&self) -> bool {
        self.memory.is_some()
    }

    /// Builds the controller of one connection: a scheme with this start. A scheme that cannot be
    /// combined with it keeps its own.
    pub fn build(&self, scheme: &SchemeInfo, params: &Params, init: &ConnInit) -> Controller {
        let Some(family) = Family::of(scheme.id).filter(|_| self.info.suits(scheme)) else {
            return scheme.build(params, init);
        };
        let own = without_hystart(scheme, params, self.info.id);
        let inner = scheme.build(own.as_ref().unwrap_or(params), init);
        if inner.caps().stack != Stack::Host {
            return inner;
        }
        let machine = match self.info.id {
            "hystart" => Machine::hystart(init),
            "hystart++" => Machine::Conservative(hystart_plus_plus::HyStartPlusPlus::new(&self.params)),
            "search" => Machine::Search(Box::new(search::Search::new(&self.params))),
            "careful" => {
                let c =
                    careful::Careful::new(&self.params, self.memory.clone(), init, family == Family::Model);
                Machine::Careful(Box::new(c))
            }
            "rapid" => Machine::Rapid(rapid::Rapid::new(init)),
            _ => Machine::Classic(growth::Growth::new(&self.params)),
        };
        Controller::Custom(Box::new(Started::new(inner, machine, family)))
    }
}

/// The parameters of a scheme without its own HyStart, which would act in slow starts after a
/// timeout; `None` = it has none, or the file requests it.
fn without_hystart(scheme: &SchemeInfo, params: &Params, start: &str) -> Option<Params> {
    let has = scheme.params.iter().any(|p| p.name == "hystart");
    (has && start != "hystart").then(|| params.clone().with_profile(&[("hystart", Value::Bool(false))]))
}

#[cfg(test)]
mod tests;
