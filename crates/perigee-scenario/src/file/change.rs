// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]`, `[schedule]` and `[handover]`: what happens to links, and when.

use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::kind::Draw;
use perigee_timeline::OutageMode;
use perigee_units::{BitRate, Nanos};
use std::path::PathBuf;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    Both,
    /// That of the data.
    Forward,
    /// That of the ACKs.
    Reverse,
}

/// An outage: how long, and what it does.
#[derive(Clone, Debug)]
pub struct OutageSpec {
    /// Length.
    pub length: Draw<Nanos>,
    /// A recorded distribution instead, and where it was named.
    pub file: Option<(PathBuf, Place)>,
    /// And this many times the propagation delays to the old and the new satellite.
    pub per_delay: f64,
    /// What it does to packets.
    pub mode: OutageMode,
}

/// When changes happen.
#[derive(Clone, Debug)]
pub enum When {
    /// Once.
    At(Nanos),
    /// First time and distance; drawn anew each time.
    Every(Nanos, Nanos),
    /// As a file says.
    File(PathBuf),
    /// As a published study drew it.
    Recipe {
        /// Its name.
        study: String,
        /// With its random losses.
        loss: bool,
    },
}

/// What changes, and to what.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // keys::CHANGE documents each
pub struct Changes {
    pub rate: Option<Draw<BitRate>>,
    pub delay: Option<Draw<Nanos>>,
    pub rtt: Option<Draw<Nanos>>,
    pub loss: Option<Draw<f64>>,
    pub outage: Option<Draw<Nanos>>,
}

/// `[[change]]` or `[schedule]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CHANGE and keys::SCHEDULE document each
pub struct ChangeSpec {
    pub when: When,
    pub on: String,
    pub direction: Option<Direction>,
    pub to: Changes,
    pub mode: OutageMode,
    pub place: Place,
}

/// Outage modes by their word.
pub fn outage_mode(word: &str) -> OutageMode {
    match word {
        "hold" => OutageMode::Hold,
        "blackhole" => OutageMode::Blackhole,
        _ => OutageMode::Flush,
    }
}

/// Reads `[[change]]`.
pub fn read(c: &Checked, duration: Nanos, problems: &mut Vec<Problem>) -> ChangeSpec {
    let at = c.time("at");
    if at >= duration {
        problems.push(c.problem("at", format!("not before the end of the run at {duration}")));
    }
    some_effect(c, problems, &["rate", "delay", "rtt", "loss", "outage"]);
    let to = Changes {
        rate: c.opt_rate_draw("rate"),
        delay: c.opt_time_draw("delay"),
        rtt: c.opt_time_draw("rtt"),
        loss: c.opt_loss_draw("loss"),
        outage: c.opt_time_draw("outage"),
    };
    change(c, When::At(at), to)
}

/// For a `[[change]]` or `[schedule]` that says how to change, but not what.
pub(crate) fn some_effect(c: &Checked, problems: &mut Vec<Problem>, keys: &[&str]) {
    if !keys.iter().any(|k| c.has(k)) {
        let p = c.problem(keys[0], "nothing changes").hint(format!("give one of {}", keys.join(", ")));
        problems.push(p);
    }
}

/// A [`ChangeSpec`] with the keys that `[[change]]` and `[schedule]` share.
pub(crate) fn change(c: &Checked, when: When, to: Changes) -> ChangeSpec {
    let direction = c.has("direction").then(|| match c.text("direction").as_str() {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        _ => Direction::Both,
    });
    let mode = outage_mode(&c.text("mode"));
    ChangeSpec { when, on: c.text("on"), direction, to, mode, place: c.place.clone() }
}
