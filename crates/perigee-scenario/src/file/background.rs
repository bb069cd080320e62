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
    Background = "background", "Aggregate traffic of many users, modelled as a fluid that shares the queue and transmitter of ports with the packets of the flows. The cost of the simulation does not depend on the number of users.";
    on: Vec<String> = key(Notation::OneOrMany(&Notation::Text), "bottleneck", "ports by name (* matches any text), each with all of this traffic; bottleneck = the slowest port of each flow's path at time zero");
    rate: Option<BitRate> = optional(Notation::Rate, "mean rate of unresponsive traffic"), only NO_FILE;
    load: Option<f64> = optional(Notation::Share(0.0, 10.0), "rate of unresponsive traffic, as a fraction of the port's rate"), only NO_FILE;
    burst: Bytes = key(Notation::Data, "1500 B", "burst size of unresponsive traffic: the variance of the bytes that arrive in an interval is their mean times this; 1500 B = independent packets");
    flows: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "number of responsive flows (Cubic), which share the remaining capacity; modelled as one rate that is updated once per RTT"), only NO_FILE;
    rtt: Nanos = key(Notation::Time(Nanos::from_micros(10), Nanos::from_secs(100)), "50 ms", "RTT of the responsive flows without the queue of the port"), only FLOWS;
    flow_rate: Option<BitRate> = optional(Notation::Rate, "maximum rate of a responsive flow, such as that of its access link; default: no limit"), only FLOWS;
    recovery: Option<f64> = optional(Notation::Number(1.0, 1e6), "number of RTTs in which a responsive flow regains the rate that it had before a loss, the time constant of its response; default: that of Cubic at the current window"), only FLOWS;
    start: Nanos = key(ANY_TIME, "0 s", "start time"), only NO_FILE;
    stop: Option<Nanos> = optional(ANY_TIME, "stop time; default: the end of the run"), only NO_FILE;
    file: Option<PathBuf> = optional(Notation::File, "traffic over time, in place of constant amounts: CSV with the columns t_s, rate_mbps and optionally flows; each row applies until the next one. A column port before them gives the traffic of several ports, in place of `on`");
}

impl Background {
    /// Whether its file may name the ports, in place of `on`.
    pub(crate) fn has_own_ports(&self) -> bool {
        self.file.is_some() && !self.written.has("on")
    }

    /// Amounts over time; with the name of a port, if the file has those of many.
    pub(crate) fn steps(&self) -> Result<Vec<StepsOf>, Problem> {
        let c = &self.written;
        if let Some(file) = &self.file {
            let wrong = |why: String| c.problem("file", why);
            let text = files::read(file).map_err(wrong)?;
            return read_steps(&text).map_err(|why| wrong(format!("{}: {why}", file.display())));
        }
        let amount = match (self.rate, self.load) {
            (Some(_), Some(_)) => return Err(c.problem("load", "conflicts with rate: give one of them")),
            (Some(rate), None) => Amount::Rate(rate),
            (None, load) => Amount::Load(load.unwrap_or(0.0)),
        };
        if self.rate.is_none() && self.load.is_none() && self.flows.is_none() {
            let p = c.problem("rate", "no background traffic is specified");
            return Err(p.hint("give one of rate, load, flows, file"));
        }
        let flows = self.flows.unwrap_or(0) as u32;
        let mut steps = vec![Step { at: self.start, amount, flows }];
        if let Some(stop) = self.stop {
            if stop <= self.start {
                return Err(c.problem("stop", format!("must be after the start ({})", self.start)));
            }
            steps.push(Step { at: stop, amount: Amount::Rate(BitRate(0)), flows: 0 });
        }
        Ok(vec![(None, steps)])
    }
}
