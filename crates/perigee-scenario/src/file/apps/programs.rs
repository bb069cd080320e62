// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "programs"`: traffic of programs on real hosts.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::parameters::parameters;
use perigee_timeline::App;

parameters! {
    /// `app = "programs"`.
    Programs = "programs", "Traffic of programs on real hosts between its nodes, in both directions (see [[program]]). Its cc is the default of their connections; programs may select another.";
}

impl Programs {
    pub(super) fn spec(self, _problems: &mut Vec<Problem>) -> Spec {
        App::Programs.into()
    }
}
