// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[jitter]`: the RTT of a path from a measured distribution, and rare losses.

use crate::file::change::Direction;
use crate::file::error::Problem;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::SOME_TIME;
use perigee_units::{parse_time, Nanos};

/// Geostationary service in a published week of pings: 99 % of RTTs in 560 to 625 ms, 0.1 % in 625
/// to 1500 ms, 0.001 % in 1700 to 2200 ms.
const GEO: &[(f64, u64)] =
    &[(0.0, 545), (0.009, 560), (0.5, 598), (0.999, 625), (0.99999, 1500), (1.0, 2200)];

/// Condition of the keys of loss events.
const LOSS_EVENTS: &[Only] = &[Only::Given(&["loss_every"])];

parameters! {
    /// `[jitter]`.
    JitterKeys = "jitter", "The RTT of a path as a measured distribution, drawn anew again and again, and rare losses. For chains, dumbbells and parking lots.";
    preset: Option<String> = optional(Notation::Word(&["geo"]), "a known distribution: the RTT of a geostationary service");
    rtt: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "quantiles of the RTT instead, as \"50 % 598 ms\", from 0 % to 100 %");
    added: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "quantiles of what is added to the RTT that the path has at the time, instead");
    on: String = bottleneck();
    direction: Direction = key(Notation::Word(&["forward", "reverse"]), "forward", "which direction varies");
    step: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "200 ms", "time between draws");
    correlation: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "2 s", "time over which draws resemble each other");
    loss_every: Option<Nanos> = optional(SOME_TIME, "mean time between loss events; default: none");
    loss_single: f64 = key(Notation::Number(0.0, 1.0), "0.91", "share of the events in which one packet is lost"), only LOSS_EVENTS;
    loss_mean: f64 = key(Notation::Number(2.0, 1000.0), "3.2", "mean length of the others, in slots"), only LOSS_EVENTS;
    loss_longest: u64 = key(Notation::Int(2, 100_000), "11", "their longest"), only LOSS_EVENTS;
    loss_slot: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(60)), "200 ms", "length of a slot: what leaves the queue during the event is lost"), only LOSS_EVENTS;
}

/// `[jitter]` with the quantiles named by its keys.
#[derive(Clone, Debug)]
pub struct Jitter {
    /// Keys as written.
    pub keys: JitterKeys,
    /// (fraction of samples, RTT), increasing in both.
    pub quantiles: Vec<(f64, Nanos)>,
}

impl Jitter {
    /// Builds the distribution from its keys.
    pub fn new(keys: JitterKeys, problems: &mut Vec<Problem>) -> Option<Self> {
        let c = &keys.written;
        let (key, rows) = match (&keys.preset, &keys.rtt[..], &keys.added[..]) {
            (Some(_), [], []) => {
                let quantiles = GEO.iter().map(|&(u, ms)| (u, Nanos::from_millis(ms))).collect();
                return Some(Jitter { keys, quantiles });
            }
            (None, rows @ [_, ..], []) => ("rtt", rows),
            (None, [], rows @ [_, ..]) => ("added", rows),
            _ => {
                let why = "give one of preset, rtt (quantiles of the RTT) and added (of what is added to it)";
                problems.push(c.problem("preset", why));
                return None;
            }
        };
        match quantiles(rows) {
            Ok(quantiles) => Some(Jitter { keys, quantiles }),
            Err(why) => {
                let hint = "write \"50 % 598 ms\", shares and times rising from 0 % to 100 %";
                problems.push(c.problem(key, why).hint(hint));
                None
            }
        }
    }

    /// Whether the quantiles are those of a delay added to the RTT of the path.
    pub fn is_added(&self) -> bool {
        !self.keys.added.is_empty()
    }
}

fn quantiles(rows: &[String]) -> Result<Vec<(f64, Nanos)>, String> {
    let one = |text: &String| -> Result<(f64, Nanos), String> {
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
