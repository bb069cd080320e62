// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "request"`.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::rows::ANY_TIME;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Law};
use perigee_units::Nanos;

parameters! {
    /// `app = "request"`.
    Request = "request", "The receiver requests one object after another over one connection.";
    object: Law = required(Notation::DataLaw, "size of an object");
    think: Law = key(Notation::TimeLaw, "0 s", "think time: from the end of an object to the next request");
    period: Nanos = key(ANY_TIME, "0 s", "minimum interval between two requests (as for video segments)");
    objects: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "number of objects; default: unlimited");
}

impl Request {
    pub(super) fn spec(self, _: &mut Vec<Problem>) -> Spec {
        let count = self.objects.unwrap_or(u64::MAX);
        App::Request { size: self.object, think: self.think, period: self.period, count }.into()
    }
}
