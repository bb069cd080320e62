// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[schedule] file`: changes from a file.

use crate::file::change::{Changes, When};
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;

parameters! {
    /// `[schedule] file`.
    File = "file", "Changes from a file, one per row.";
    file: Named = required(Notation::File, "CSV with the column t_s and any of rate_mbps, rtt_ms, outage_ms, loss_pct");
}

impl File {
    pub(super) fn changes(self, _: &mut Vec<Problem>) -> (When, Changes) {
        (When::File(self.file.path), Changes::default())
    }
}
