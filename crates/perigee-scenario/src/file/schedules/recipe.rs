// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[schedule] recipe`: changes as drawn in a published study.

use crate::file::change::{Changes, When};
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[schedule] recipe`.
    Recipe = "recipe", "The random schedule of a published study, reproduced draw by draw; the seed is the study's run number.";
    recipe: String = required(Notation::Word(&["leo-cc", "orbcc", "leotcp"]), "study: leo-cc = LEO congestion control in Mininet; orbcc = OrbCC; leotcp = LeoTCP");
    loss: bool = key(Notation::Bool, "false", "include the random losses of the study");
}

impl Recipe {
    pub(super) fn changes(self, _: &mut Vec<Problem>) -> (When, Changes) {
        (When::Recipe { study: self.recipe, loss: self.loss }, Changes::default())
    }
}
