// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "web"`: pages of objects.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Law};

parameters! {
    /// `app = "web"`.
    Web = "web", "Pages, one after the other over one connection: the receiver asks for a document, then for all objects that it names at once (as with HTTP/2), and is done with the last byte of the last.";
    document: Law = key(Notation::DataLaw, "30 kB", "size of the document");
    objects: u64 = key(Notation::Int(1, 1000), "70", "objects of a page beside its document");
    object: Law = key(Notation::DataLaw, "pareto(28 kB, 1.5)", "size of each");
    think: Law = key(Notation::TimeLaw, "exponential(5 s)", "time from the end of a page to the next");
    pages: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "how many; default: until the flow stops");
}

impl Web {
    pub(super) fn spec(self, _: &mut Vec<Problem>) -> Spec {
        App::Web(perigee_timeline::Web {
            document: self.document,
            objects: self.objects,
            object: self.object,
            think: self.think,
            pages: self.pages.unwrap_or(u64::MAX),
        })
        .into()
    }
}
