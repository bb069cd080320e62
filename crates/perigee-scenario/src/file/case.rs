// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[case]`: facts on a test case of a catalogue. They do not change results.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[case]`.
    Case = "case", "A scenario as a test case of a catalogue, for `perigee judge`: where it comes from, and for what.";
    source: Option<String> = optional(Notation::Text, "document and section that the case is from, or \"ours\"");
    purpose: Option<String> = optional(Notation::Text, "what the case shows, in a sentence or two");
    quick: bool = key(Notation::Bool, "false", "it is one of those of --quick");
    states: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "names of all states of the schemes that expectations on states and variables are about; those of a scheme with others are not observable");
}
