// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]`, `[schedule]` and `[handover]`: what happens to links, and when.

use crate::file::error::{Place, Problem};
use crate::file::grammar::Checked;
use crate::file::kind::Draw;
use crate::file::tree;
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
    Recipe(String),
}

/// `[[change]]` or `[schedule]`.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // keys::CHANGE and keys::SCHEDULE document each
pub struct ChangeSpec {
    pub when: When,
    pub on: String,
    pub direction: Option<Direction>,
    pub rate: Option<Draw<BitRate>>,
    pub delay: Option<Draw<Nanos>>,
    pub rtt: Option<Draw<Nanos>>,
    pub loss: Option<Draw<f64>>,
    pub outage: Option<Draw<Nanos>>,
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
        problems.push(c.problem("at", format!("not before the end of the run at {}", duration)));
    }
    some_effect(c, problems, &["rate", "delay", "rtt", "loss", "outage"]);
    let delay = c.opt_time_draw("delay");
    change(c, When::At(at), delay)
}

/// Reads `[schedule]`.
pub fn read_schedule(c: &Checked, problems: &mut Vec<Problem>) -> Option<ChangeSpec> {
    let when = match (c.opt_text("file"), c.opt_time("every"), c.opt_text("recipe")) {
        (Some(file), None, None) => When::File(tree::resolve(c.place_of("file"), &file)),
        (None, None, Some(recipe)) => When::Recipe(recipe),
        (None, Some(every), None) => {
            some_effect(c, problems, &["rate", "rtt", "loss", "outage"]);
            When::Every(c.time("first"), every)
        }
        _ => {
            problems.push(c.problem("every", "give one of file, recipe and every"));
            return None;
        }
    };
    Some(change(c, when, None))
}

fn some_effect(c: &Checked, problems: &mut Vec<Problem>, keys: &[&str]) {
    if !keys.iter().any(|k| c.has(k)) {
        let p = c.problem(keys[0], "nothing changes").hint(format!("give one of {}", keys.join(", ")));
        problems.push(p);
    }
}

fn change(c: &Checked, when: When, delay: Option<Draw<Nanos>>) -> ChangeSpec {
    let direction = c.has("direction").then(|| match c.text("direction").as_str() {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        _ => Direction::Both,
    });
    ChangeSpec {
        when,
        on: c.text("on"),
        direction,
        rate: c.opt_rate_draw("rate"),
        delay,
        rtt: c.opt_time_draw("rtt"),
        loss: c.opt_loss_draw("loss"),
        outage: c.opt_time_draw("outage"),
        mode: outage_mode(&c.text("mode")),
        place: c.place.clone(),
    }
}
