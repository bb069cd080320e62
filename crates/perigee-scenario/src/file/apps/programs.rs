// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "programs"`: traffic of programs on real hosts.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::parameters::parameters;
use perigee_timeline::App;

parameters! {
    /// `app = "programs"`.
    Programs = "programs", "Whatever the programs between its nodes send, both ways, with real hosts: see [[program]]. Its cc is what their connections use, unless they choose.";
}

impl Programs {
    pub(super) fn spec(self, _problems: &mut Vec<Problem>) -> Spec {
        App::Programs.into()
    }
}
