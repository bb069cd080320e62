// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[schedule] recipe`: changes as drawn in a published study.

use crate::file::change::{Changes, When};
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;

parameters! {
    /// `[schedule] recipe`.
    Recipe = "recipe", "The random schedule of a published study, drawn as it was; its run number is the seed.";
    recipe: String = required(Notation::Word(&["leo-cc", "orbcc", "leotcp"]), "the study: of LEO congestion control in Mininet, of OrbCC, of LeoTCP");
    loss: bool = key(Notation::Bool, "false", "its random losses are drawn, too");
}

impl Recipe {
    pub(super) fn changes(self, _: &mut Vec<Problem>) -> (When, Changes) {
        (When::Recipe { study: self.recipe, loss: self.loss }, Changes::default())
    }
}
