// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[case]`: facts on a test case of a catalogue. They do not change results.

use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[case]`.
    Case = "case", "Description of a test case of a catalogue, for `perigee judge`.";
    source: Option<String> = optional(Notation::Text, "document and section that define the case, or \"ours\"");
    purpose: Option<String> = optional(Notation::Text, "purpose of the case, in one or two sentences");
    quick: bool = key(Notation::Bool, "false", "include the case in --quick");
    states: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "names of all states of the congestion controls for which expectations on states and variables are written; these expectations are not observable for a congestion control with other states");
}
