// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "web"`: pages of objects.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Law};

parameters! {
    /// `app = "web"`.
    Web = "web", "Web pages, one after another over one connection: the receiver requests a document, then all objects of the page at once (as with HTTP/2); a page is complete with the last byte of its last object.";
    document: Law = key(Notation::DataLaw, "30 kB", "size of the document");
    objects: u64 = key(Notation::Int(1, 1000), "70", "number of objects of a page, in addition to its document");
    object: Law = key(Notation::DataLaw, "pareto(28 kB, 1.5)", "size of an object");
    think: Law = key(Notation::TimeLaw, "exponential(5 s)", "think time: from the end of a page to the next request");
    pages: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "number of pages; default: unlimited");
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
