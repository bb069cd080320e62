// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[schedule] file`: changes from a file.

use crate::file::change::{Changes, When};
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;

parameters! {
    /// `[schedule] file`.
    File = "file", "A line of a table for each change.";
    file: Named = required(Notation::File, "CSV with the columns t_s, rate_mbps, rtt_ms, outage_ms, loss_pct (any of them)");
}

impl File {
    pub(super) fn changes(self, _: &mut Vec<Problem>) -> (When, Changes) {
        (When::File(self.file.path), Changes::default())
    }
}
