// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[flow]] matrix`: traffic demands between nodes, from a CSV file.

use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::rows::MAX_FLOWS;
use perigee_timeline::App;
use perigee_units::{files, names, BitRate, Nanos};
use std::path::Path;

/// A row of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Names of the nodes.
    pub ends: (String, String),
    /// Rate of a constant-rate flow, or
    pub rate: Option<BitRate>,
    /// number of flows of the entry's application.
    pub flows: u64,
    /// Start; default: that of the entry.
    pub start: Option<Nanos>,
    /// Stop.
    pub stop: Option<Nanos>,
}

/// Packet size of flows with a rate, in bytes.
const PACKET_BYTES: u32 = 1500;
/// Maximum rate; anything above is a typing error.
const MOST_MBPS: f64 = 1e7;

impl Demand {
    /// Application that sends at this rate.
    pub fn app(&self) -> Option<App> {
        let interval = u64::from(PACKET_BYTES) * 8_000_000_000 / self.rate?.0.max(1);
        Some(App::Cbr { interval: Nanos(interval.max(1)), size: PACKET_BYTES })
    }
}

/// Rows of the file named by a flow's `matrix`.
pub(crate) fn read(
    c: &Checked,
    path: &Path,
    duration: Nanos,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Demand>> {
    for key in ["from", "to", "pattern"].into_iter().filter(|key| c.has(key)) {
        problems
            .push(c.problem(key, "no effect: the matrix determines the ends of the flows").hint("remove it"));
    }
    let found = files::read(path).and_then(|text| {
        let rows = parse(&text, duration).map_err(|why| format!("{}: {why}", path.display()))?;
        let rated = rows.iter().any(|r| r.rate.is_some());
        match rated && (c.has("app") || c.has("cc")) {
            true => Err(
                "rows with rate_mbps are UDP flows at that rate: remove app and cc, or use the column flows"
                    .into(),
            ),
            false => Ok(rows),
        }
    });
    found.map_err(|why| problems.push(c.problem("matrix", why))).ok()
}

fn parse(text: &str, duration: Nanos) -> Result<Vec<Demand>, String> {
    const KNOWN: [&str; 6] = ["from", "to", "rate_mbps", "flows", "start_s", "stop_s"];
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let Some((_, head)) = lines.next() else { return Err("the file is empty".into()) };
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    if let Some(strange) = names.iter().find(|n| !KNOWN.contains(n)) {
        return Err(format!("line 1: unknown column {strange:?}; allowed: {}", KNOWN.join(", ")));
    }
    let has = |name: &str| names.contains(&name);
    if !has("from") || !has("to") || has("rate_mbps") == has("flows") {
        return Err("line 1: the columns from, to and one of rate_mbps and flows are required".into());
    }
    let mut rows = Vec::new();
    for (n, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let wrong = |why: String| format!("line {}: {why}", n + 1);
        if cells.len() != names.len() {
            return Err(wrong(format!("{} values for {} columns", cells.len(), names.len())));
        }
        let cell =
            |name: &str| names.iter().position(|c| *c == name).map(|i| cells[i]).filter(|c| !c.is_empty());
        let number = |name: &str, low: f64, high: f64| match cell(name).map(str::parse::<f64>) {
            None => Ok(None),
            Some(Ok(v)) if (low..=high).contains(&v) => Ok(Some(v)),
            _ => Err(wrong(format!(
                "{name} is {:?}; expected a number from {low} to {high}",
                cell(name).unwrap_or("")
            ))),
        };
        let text = |name: &str| cell(name).map(String::from).ok_or_else(|| wrong(format!("{name} is empty")));
        let ends = (text("from")?, text("to")?);
        for end in [&ends.0, &ends.1] {
            names::check(end).map_err(|why| wrong(format!("the name {end:?} {why}")))?;
        }
        if ends.0 == ends.1 {
            return Err(wrong(format!("{:?} is both sender and receiver", ends.0)));
        }
        let seconds = |name: &str| {
            Ok::<_, String>(number(name, 0.0, duration.as_secs_f64())?.map(Nanos::from_secs_f64))
        };
        let rate = number("rate_mbps", 1e-6, MOST_MBPS)?.map(|m| BitRate((m * 1e6) as u64));
        let flows = number("flows", 0.0, MAX_FLOWS as f64)?;
        if has("rate_mbps") && rate.is_none() || has("flows") && flows.is_none_or(|f| f.fract() != 0.0) {
            return Err(wrong("expected a rate above zero, or an integer number of flows".into()));
        }
        let (start, stop) = (seconds("start_s")?, seconds("stop_s")?);
        if stop.is_some_and(|stop| stop <= start.unwrap_or_default()) {
            return Err(wrong("stop_s is not after start_s".into()));
        }
        if flows != Some(0.0) {
            rows.push(Demand { ends, rate, flows: flows.map_or(1, |f| f as u64), start, stop });
        }
    }
    match rows.is_empty() {
        true => Err("no row has a flow".into()),
        false => Ok(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_rate_or_a_number_of_flows() {
        let end = Nanos::from_secs(10);
        let rows = parse("from,to,rate_mbps,start_s,stop_s\na,b,12,,\nb,a,0.5,1,2.5\n", end).unwrap();
        assert_eq!(rows[0].app(), Some(App::Cbr { interval: Nanos(1_000_000), size: 1500 }));
        assert_eq!(
            (rows[1].start, rows[1].stop),
            (Some(Nanos::from_secs(1)), Some(Nanos::from_millis(2500)))
        );
        let rows = parse("from,to,flows\na,b,3\nb,c,0\n", end).unwrap();
        assert_eq!((rows.len(), rows[0].flows, rows[0].app()), (1, 3, None));
        for (text, says) in [
            ("from,to\n", "one of rate_mbps and flows"),
            ("from,to,rate\n", "unknown column \"rate\""),
            ("from,to,flows\na,b,1.5\n", "line 2: expected a rate above zero, or an integer"),
            ("from,to,flows\na,a,1\n", "line 2: \"a\" is both"),
            ("from,to,flows,start_s\na,b,1,11\n", "start_s is \"11\""),
            ("from,to,flows\n", "no row"),
        ] {
            let e = parse(text, end).unwrap_err();
            assert!(e.contains(says), "{e}");
        }
    }
}
