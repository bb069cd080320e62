// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.timeline]`.

use crate::file::notation::Notation;
use crate::file::field::Named;
use crate::file::parameters::parameters;
use crate::file::sources::SourceSpec;
use std::path::PathBuf;

parameters! {
    /// `[source.timeline]`.
    Timeline = "timeline", "A timeline saved by `perigee timeline SCENARIO --out FILE`, with its nodes, ports, links and changes.";
    file: Named = required(Notation::File, "saved timeline");
}

impl SourceSpec for Timeline {
    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.path.clone()]
    }
}
