// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[jitter]`: the RTT of a path as a measured distribution, and rare losses.

use crate::file::change::Direction;
use crate::file::checked::Checked;
use crate::file::error::{Place, Problem};
use crate::file::kind::Val;
use perigee_units::{parse_time, Nanos};

/// The geostationary service of a published week of pings: 99 % of RTTs in 560 to 625 ms, 0.1 % in 625 to 1500 ms,
/// 0.001 % in 1700 to 2200 ms.
const GEO: &[(f64, u64)] =
    &[(0.0, 545), (0.009, 560), (0.5, 598), (0.999, 625), (0.99999, 1500), (1.0, 2200)];

/// `[jitter]`, read.
#[derive(Clone, Debug)]
pub struct Jitter {
    /// The bottleneck that varies.
    pub on: String,
    /// Which of its directions.
    pub direction: Direction,
    /// (share of the samples, RTT), rising in both.
    pub quantiles: Vec<(f64, Nanos)>,
    /// The quantiles are of what is added to the RTT of the path, whatever that is.
    pub added: bool,
    /// Time between draws.
    pub step: Nanos,
    /// Time over which draws resemble each other.
    pub correlation: Nanos,
    /// Mean time between loss events; zero = none.
    pub loss_every: Nanos,
    /// Share of the events in which one packet is lost.
    pub loss_single: f64,
    /// Mean length of the others, in slots.
    pub loss_mean: f64,
    /// Their longest.
    pub loss_longest: u64,
    /// Length of a slot.
    pub loss_slot: Nanos,
    /// Where it was written.
    pub place: Place,
}

impl Jitter {
    /// From a checked section.
    pub fn read(c: &Checked, problems: &mut Vec<Problem>) -> Option<Self> {
        let added = c.opt_many("added");
        let is_added = added.is_some();
        let key = if is_added { "added" } else { "rtt" };
        let quantiles = match (c.opt_text("preset"), c.opt_many("rtt"), added) {
            (Some(_), None, None) => GEO.iter().map(|&(u, ms)| (u, Nanos::from_millis(ms))).collect(),
            (None, Some(rows), None) | (None, None, Some(rows)) => match quantiles(&rows) {
                Ok(found) => found,
                Err(why) => {
                    problems.push(
                        c.problem(key, why)
                            .hint("write \"50 % 598 ms\", shares and times rising from 0 % to 100 %"),
                    );
                    return None;
                }
            },
            _ => {
                let why = "give one of preset, rtt (quantiles of the RTT) and added (of what is added to it)";
                problems.push(c.problem("preset", why));
                return None;
            }
        };
        Some(Jitter {
            on: c.text("on"),
            direction: if c.text("direction") == "reverse" { Direction::Reverse } else { Direction::Forward },
            quantiles,
            added: is_added,
            step: c.time("step"),
            correlation: c.time("correlation"),
            loss_every: c.opt_time("loss_every").unwrap_or(Nanos::ZERO),
            loss_single: c.number("loss_single"),
            loss_mean: c.number("loss_mean"),
            loss_longest: c.int("loss_longest") as u64,
            loss_slot: c.time("loss_slot"),
            place: c.place.clone(),
        })
    }
}

fn quantiles(rows: &[Val]) -> Result<Vec<(f64, Nanos)>, String> {
    let one = |row: &Val| {
        let Val::Text(text) = row else { return Err("a quantile is a text".to_string()) };
        let (share, time) = text.split_once('%').ok_or(format!("{text:?} has no %"))?;
        let share: f64 = share.trim().parse().map_err(|_| format!("{text:?} begins with no number"))?;
        let time = parse_time(time.trim()).map_err(|e| format!("{text:?}: {}", e.0))?;
        Ok((share / 100.0, time))
    };
    let found = rows.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let whole = found.first().is_some_and(|q| q.0 == 0.0) && found.last().is_some_and(|q| q.0 == 1.0);
    if !whole {
        return Err("the quantiles do not reach from 0 % to 100 %".into());
    }
    if found.windows(2).any(|w| w[0].0 >= w[1].0 || w[0].1 > w[1].1) {
        return Err("shares and times must rise".into());
    }
    Ok(found)
}
