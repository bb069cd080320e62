// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[background]]`: many users as a fluid at ports.

use crate::file::error::Problem;
use crate::file::field::Bytes;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use perigee_sources::background::{read_steps, Amount, Step, StepsOf};
use perigee_units::{files, BitRate, Nanos};
use std::path::PathBuf;

const FLOWS: &[Only] = &[Only::Given(&["flows", "file"])];
const NO_FILE: &[Only] = &[Only::Absent("file")];

parameters! {
    /// `[[background]]`.
    Background = "background", "Many users as a fluid, which shares queue and transmitter of ports with the packets of the flows. It is carried by the simulator at a cost that does not depend on the number of users.";
    on: Vec<String> = key(Notation::OneOrMany(&Notation::Text), "bottleneck", "ports by name (* stands for any text), each of which carries all of it; bottleneck = the slowest port of each flow's path at time zero");
    rate: Option<BitRate> = optional(Notation::Rate, "mean rate of traffic that does not respond to congestion"), only NO_FILE;
    load: Option<f64> = optional(Notation::Number(0.0, 10.0), "the same as a share of the port's rate"), only NO_FILE;
    burst: Bytes = key(Notation::Data, "1500 B", "burstiness of this traffic: what arrives at once. The variance of the bytes in a time is their mean times this; 1500 B = independent packets");
    flows: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "flows that respond to congestion, as Cubic does: they share what the rest leaves, as one rate that is updated once per RTT"), only NO_FILE;
    rtt: Nanos = key(Notation::Time(Nanos::from_micros(10), Nanos::from_secs(100)), "50 ms", "round-trip time of these flows without the queue of the port"), only FLOWS;
    flow_rate: Option<BitRate> = optional(Notation::Rate, "rate that one of these flows does not exceed, such as that of its access; default: no such limit"), only FLOWS;
    recovery: Option<f64> = optional(Notation::Number(1.0, 1e6), "RTTs in which one of these flows regains the rate that a loss took from it, the time constant of their response; default: as Cubic, from the window"), only FLOWS;
    start: Nanos = key(ANY_TIME, "0 s", "when it starts"), only NO_FILE;
    stop: Option<Nanos> = optional(ANY_TIME, "when it stops; default: the end"), only NO_FILE;
    file: Option<PathBuf> = optional(Notation::File, "amounts over time instead: CSV with the columns t_s, rate_mbps and, if wanted, flows; each row holds until the next one. With a column port before them it has the amounts of many ports, in place of on");
}

impl Background {
    /// Amounts over time; with the name of a port, if the file has those of many.
    pub(crate) fn steps(&self) -> Result<Vec<StepsOf>, Problem> {
        let c = &self.written;
        if let Some(file) = &self.file {
            let wrong = |why: String| c.problem("file", why);
            let text = files::read(file).map_err(wrong)?;
            return read_steps(&text).map_err(|why| wrong(format!("{}: {why}", file.display())));
        }
        let amount = match (self.rate, self.load) {
            (Some(_), Some(_)) => return Err(c.problem("load", "give either a rate or a load")),
            (Some(rate), None) => Amount::Rate(rate),
            (None, load) => Amount::Load(load.unwrap_or(0.0)),
        };
        if self.rate.is_none() && self.load.is_none() && self.flows.is_none() {
            let p = c.problem("rate", "there is no background");
            return Err(p.hint("give one of rate, load, flows, file"));
        }
        let flows = self.flows.unwrap_or(0) as u32;
        let mut steps = vec![Step { at: self.start, amount, flows }];
        if let Some(stop) = self.stop {
            if stop <= self.start {
                return Err(c.problem("stop", format!("not after the start at {}", self.start)));
            }
            steps.push(Step { at: stop, amount: Amount::Rate(BitRate(0)), flows: 0 });
        }
        Ok(vec![(None, steps)])
    }
}
