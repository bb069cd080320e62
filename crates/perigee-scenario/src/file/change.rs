// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]`: timed changes of links.

use crate::file::checked::{Checked, Part};
use crate::file::error::{Place, Problem};
use crate::file::field::FromPart;
use crate::file::grammar::Only;
use crate::file::notation::{Draw, Notation};
use crate::file::parameters::parameters;
use crate::file::rows::{ANY_TIME, LONG_DRAW, SHORT_DRAW};
use crate::file::run::RunSpec;
use perigee_timeline::OutageMode;
use perigee_units::{BitRate, Nanos};
use std::path::PathBuf;
use std::sync::Arc;

/// Directions of a link affected by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both directions.
    Both,
    /// Direction of the data.
    Forward,
    /// Direction of the ACKs.
    Reverse,
}

impl FromPart for Direction {
    const SHAPES: u64 = <String as FromPart>::SHAPES;

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        Some(match String::from_part(part, place)?.as_str() {
            "forward" => Direction::Forward,
            "reverse" => Direction::Reverse,
            _ => Direction::Both,
        })
    }
}

/// Times of the changes.
#[derive(Clone, Debug)]
pub enum When {
    /// Once, at this time.
    At(Nanos),
    /// First time and interval; values are drawn again each time.
    Every(Nanos, Nanos),
    /// Times from a file.
    File(PathBuf),
    /// As drawn in a published study.
    Recipe {
        /// Name of the study.
        study: String,
        /// Whether to include its random losses.
        loss: bool,
    },
}

/// Changing quantities and their new values.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // the keys document each
pub struct Changes {
    pub rate: Option<Draw<BitRate>>,
    pub delay: Option<Draw<Nanos>>,
    pub rtt: Option<Draw<Nanos>>,
    pub loss: Option<Draw<f64>>,
    pub outage: Option<Draw<Nanos>>,
}

parameters! {
    /// `[[change]]`.
    Change = "change", "A change of links at a given time. Absent keys leave their quantity unchanged.";
    at: Nanos = required(ANY_TIME, "time of the change");
    on: String = key(Notation::Text, "bottleneck", "affected port: bottleneck = all bottlenecks, or the name of one; in a constellation, the name of the node that is out of service (required there; the only other keys are then at and outage, multiples of source.constellation.step)");
    direction: Option<Direction> = direction();
    rate: Option<Draw<BitRate>> = optional(Notation::RateDraw, "new transmission rate of the port; 0 blocks it");
    delay: Option<Draw<Nanos>> = optional(SHORT_DRAW, "new one-way propagation delay of the bottleneck");
    rtt: Option<Draw<Nanos>> = optional(SHORT_DRAW, "new round-trip time of all flows");
    loss: Option<Draw<f64>> = optional(Notation::LossDraw, "new probability of random loss");
    outage: Option<Draw<Nanos>> = optional(LONG_DRAW, "duration of an outage of the port or, in a constellation, of the node `on`, which has no satellite during it");
    mode: OutageMode = outage_mode(), only &[Only::Given(&["outage"])];
}

/// `[[change]]` or `[schedule]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the keys document each
pub struct ChangeSpec {
    pub when: When,
    pub on: String,
    pub direction: Option<Direction>,
    pub to: Changes,
    pub mode: OutageMode,
    pub place: Place,
    /// The section as it was written.
    pub written: Arc<Checked>,
}

impl Change {
    pub(crate) fn spec(self, run: &RunSpec, problems: &mut Vec<Problem>) -> ChangeSpec {
        run.check_before_end(self.at, &self.written, problems);
        some_effect(&self.written, problems, &["rate", "delay", "rtt", "loss", "outage"]);
        let Change { at, on, direction, rate, delay, rtt, loss, outage, mode, written } = self;
        let to = Changes { rate, delay, rtt, loss, outage };
        ChangeSpec { when: When::At(at), on, direction, to, mode, place: written.place.clone(), written }
    }
}

impl ChangeSpec {
    /// A warning about itself if the run was shortened at a higher level and ends before it.
    pub(crate) fn cut_off(&self, run: &RunSpec) -> Option<Problem> {
        match self.when {
            When::At(at) => run.cut_off(at, &self.written),
            _ => None,
        }
    }
}

/// Rejects a `[[change]]` or `[schedule]` that does not specify what to change.
pub(crate) fn some_effect(c: &Checked, problems: &mut Vec<Problem>, keys: &[&str]) {
    if !keys.iter().any(|k| c.has(k)) {
        let p = c.problem(keys[0], "no change is specified").hint(format!("give one of {}", keys.join(", ")));
        problems.push(p);
    }
}
