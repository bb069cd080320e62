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
    JitterKeys = "jitter", "RTT of a path drawn repeatedly from a measured distribution, and rare loss events. Requires a chain, dumbbell or parking lot.";
    preset: Option<String> = optional(Notation::Word(&["geo"]), "built-in distribution: geo = RTT of a geostationary service; exactly one of preset, rtt and added is required");
    rtt: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "quantiles of the RTT: \"50 % 598 ms\", from 0 % to 100 %; exactly one of preset, rtt and added is required");
    added: Vec<String> = optional(Notation::OneOrMany(&Notation::Text), "quantiles of a delay added to the RTT of the path; exactly one of preset, rtt and added is required");
    on: String = key(Notation::Text, "bottleneck", "port with the jitter: bottleneck = the first bottleneck, or the name of one");
    direction: Direction = key(Notation::Word(&["forward", "reverse"]), "forward", "direction with the jitter (forward = data, reverse = ACKs)");
    step: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "200 ms", "interval between draws");
    correlation: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "2 s", "correlation time of the draws (exponential autocorrelation)");
    loss_every: Option<Nanos> = optional(SOME_TIME, "mean time between loss events (exponential); default: no loss events");
    loss_single: f64 = key(Notation::Share(0.0, 1.0), "0.91", "fraction of loss events that drop a single packet"), only LOSS_EVENTS;
    loss_mean: f64 = key(Notation::Number(2.0, 1000.0), "3.2", "mean duration of the other loss events, in slots"), only LOSS_EVENTS;
    loss_longest: u64 = key(Notation::Int(2, 100_000), "11", "maximum duration of a loss event, in slots"), only LOSS_EVENTS;
    loss_slot: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(60)), "200 ms", "duration of a slot; packets that leave the queue during a loss event are lost"), only LOSS_EVENTS;
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
                let why = "exactly one of preset, rtt and added is required";
                problems.push(c.problem("preset", why));
                return None;
            }
        };
        match quantiles(rows) {
            Ok(quantiles) => Some(Jitter { keys, quantiles }),
            Err(why) => {
                let hint = "write quantiles such as \"50 % 598 ms\" in ascending order, from 0 % to 100 %";
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
        let share: f64 =
            share.trim().parse().map_err(|_| format!("{text:?} does not start with a number"))?;
        let time = parse_time(time.trim()).map_err(|e| format!("{text:?}: {}", e.0))?;
        Ok((share / 100.0, time))
    };
    let found = rows.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let whole = found.first().is_some_and(|q| q.0 == 0.0) && found.last().is_some_and(|q| q.0 == 1.0);
    if !whole {
        return Err("quantiles must range from 0 % to 100 %".into());
    }
    if found.windows(2).any(|w| w[0].0 >= w[1].0 || w[0].1 > w[1].1) {
        return Err("quantiles must be in ascending order".into());
    }
    Ok(found)
}
