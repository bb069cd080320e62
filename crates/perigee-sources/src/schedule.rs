// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules of changes of rate, RTT and loss, with outages: read from a file, or drawn as in
//! published studies.

use crate::line_error::{lines, number, TraceError};
use crate::python_random::PythonRandom;
use crate::topology::{Built, Duplex, TopologyError};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};

/// Changes at one time. `None` leaves a value unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Time.
    pub at: Nanos,
    /// New rate; zero blocks the port.
    pub rate: Option<BitRate>,
    /// New round-trip time of all flows.
    pub rtt: Option<Nanos>,
    /// New probability of random loss, from 0 to 1.
    pub loss: Option<f64>,
    /// Duration of an outage that starts at `at`.
    pub outage: Option<Nanos>,
}

/// Time at which the new values of a step with an outage take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// All at the end of the outage (OrbCC study).
    AfterOutage,
    /// Delay and loss at its start, the rate at its end (LeoCC study, Linux reference curves).
    #[default]
    DelayFirst,
}

/// Directions to which a change applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// Direction of the data.
    Forward,
    /// Direction of the ACKs.
    Reverse,
    /// Both directions.
    #[default]
    Both,
}

/// Options for applying steps to the bottlenecks of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// Bottleneck that changes; `None` = all.
    pub bottleneck: Option<usize>,
    /// Directions in which the rate changes.
    pub rate: Ways,
    /// Directions in which the loss changes.
    pub loss: Ways,
    /// Directions of outages.
    pub outage: Ways,
    /// Effect of an outage on packets.
    pub mode: OutageMode,
    /// Time at which new values take effect.
    pub effect: Effect,
}

impl Default for Application {
    fn default() -> Self {
        Application {
            bottleneck: None,
            rate: Ways::Forward,
            loss: Ways::Forward,
            outage: Ways::Both,
            mode: OutageMode::Flush,
            effect: Effect::DelayFirst,
        }
    }
}

impl Ways {
    fn of(self, d: &Duplex) -> impl Iterator<Item = crate::topology::Hop> {
        let forward = (self != Ways::Reverse).then_some(d.forward);
        let reverse = (self != Ways::Forward).then_some(d.reverse);
        forward.into_iter().chain(reverse)
    }
}

/// Converts a schedule, with steps in order of time, to changes and notes of a built topology. An
/// outage that starts during another one extends it.
///
/// # Errors
/// If the bottleneck does not exist, or an RTT is shorter than the fixed delays.
pub fn apply(built: &Built, steps: &[Step], how: &Application) -> Result<Vec<Timed>, TopologyError> {
    let on: Vec<&Duplex> = match how.bottleneck {
        Some(i) => built.bottlenecks.get(i).into_iter().collect(),
        None => built.bottlenecks.iter().collect(),
    };
    if on.is_empty() {
        let n = built.bottlenecks.len();
        return Err(TopologyError(match how.bottleneck {
            Some(i) => format!("bottleneck {i} does not exist: the topology has {n}, numbered from 0"),
            None => "the topology has no bottleneck to change".into(),
        }));
    }
    let mut out = Vec::new();
    for step in steps {
        let end = step.at + step.outage.unwrap_or(Nanos::ZERO);
        let early = if how.effect == Effect::DelayFirst { step.at } else { end };
        let mut set = |at, change| out.push(Timed { at, change });
        for d in &on {
            for hop in how.rate.of(d) {
                step.rate.into_iter().for_each(|r| set(end, Change::Rate(hop.port, r)));
            }
            for hop in how.loss.of(d) {
                step.loss.into_iter().for_each(|p| set(early, Change::Loss(hop.link, p)));
            }
        }
        if let Some(rtt) = step.rtt {
            out.extend(built.set_rtts(early, &[rtt])?);
        }
        if step.rate.is_some() || step.rtt.is_some() || step.loss.is_some() {
            out.push(note(end, NoteKind::Reconfiguration, 0.0, step.text()));
        }
    }
    for (begin, end) in outages(steps) {
        out.push(note(begin, NoteKind::OutageBegin, (end - begin).as_secs_f64(), String::new()));
        out.push(note(end, NoteKind::OutageEnd, 0.0, String::new()));
        for hop in on.iter().flat_map(|d| how.outage.of(d)) {
            out.push(Timed { at: begin, change: Change::Down(hop.link, how.mode) });
            out.push(Timed { at: end, change: Change::Up(hop.link) });
        }
    }
    out.sort_by_key(|c| c.at);
    Ok(out)
}

fn note(at: Nanos, kind: NoteKind, value: f64, text: String) -> Timed {
    Timed { at, change: Change::Note(Note { kind, node: None, pair: None, value, text }) }
}

/// Start and end of each outage, with overlapping ones merged.
fn outages(steps: &[Step]) -> Vec<(Nanos, Nanos)> {
    let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
    for (at, length) in steps.iter().filter_map(|s| Some((s.at, s.outage.filter(|o| o.0 > 0)?))) {
        match spans.last_mut() {
            Some(last) if at <= last.1 => last.1 = last.1.max(at + length),
            _ => spans.push((at, at + length)),
        }
    }
    spans
}

impl Step {
    /// New values, for notes.
    fn text(&self) -> String {
        let parts = [
            self.rate.map(|r| format!("rate {r}")),
            self.rtt.map(|r| format!("RTT {r}")),
            self.loss.map(|p| format!("loss {:.3} %", p * 100.0)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Parses a schedule from CSV with a header. Columns: `t_s`, `rate_mbps`, `rtt_ms`, `outage_ms`,
/// and `loss_pct` with any suffix; lines that start with `#` are comments.
///
/// # Errors
/// The first line that is malformed, or not later than the previous one.
pub fn read_csv(text: &str) -> Result<Vec<Step>, TraceError> {
    let mut rows = lines(text).filter(|(_, l)| !l.starts_with('#'));
    let (n, header) = rows.next().ok_or_else(|| TraceError::at(1, "the file is empty"))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let known = |name: &&str| {
        ["t_s", "rate_mbps", "rtt_ms", "outage_ms"].contains(name) || name.starts_with("loss_pct")
    };
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(TraceError::at(
            n,
            format!("unknown column {name:?}: use t_s, rate_mbps, rtt_ms, outage_ms, loss_pct"),
        ));
    }
    if !names.contains(&"t_s") {
        return Err(TraceError::at(n, "the column t_s is missing"));
    }
    let mut steps: Vec<Step> = Vec::new();
    for (n, line) in rows {
        let step = read_row(n, &names, line)?;
        if steps.last().is_some_and(|last| last.at >= step.at) {
            return Err(TraceError::at(
                n,
                format!("time {} is not later than that of the previous line", step.at),
            ));
        }
        steps.push(step);
    }
    if steps.is_empty() {
        return Err(TraceError::at(n, "the file has no rows below its header"));
    }
    Ok(steps)
}

fn read_row(n: usize, names: &[&str], line: &str) -> Result<Step, TraceError> {
    let cells: Vec<&str> = line.split(',').collect();
    if cells.len() != names.len() {
        return Err(TraceError::at(n, format!("found {} values for {} columns", cells.len(), names.len())));
    }
    let mut step = Step::default();
    for (name, cell) in names.iter().zip(cells) {
        let v = number(n, cell, name)?;
        if v > 1e9 {
            return Err(TraceError::at(n, format!("{name} must be at most 1e9; found {v}")));
        }
        match *name {
            "t_s" => step.at = Nanos::from_secs_f64(v),
            "rate_mbps" => step.rate = Some(BitRate((v * 1e6 + 0.5) as u64)),
            "rtt_ms" => step.rtt = Some(Nanos::from_secs_f64(v * 1e-3)),
            "outage_ms" => step.outage = Some(Nanos::from_secs_f64(v * 1e-3)).filter(|o| o.0 > 0),
            _ if v <= 100.0 => step.loss = Some(v / 100.0),
            _ => return Err(TraceError::at(n, format!("{name} must be at most 100; found {v}"))),
        }
    }
    Ok(step)
}

/// One draw of the generator shared by the LeoCC and OrbCC studies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Draw {
    rate_mbit: u32,
    rtt_ms: u32,
    loss_pct: f64,
    /// Duration of the outage.
    outage_ms: u32,
}

/// Draws of run `run`, in the order of the studies' Python code.
fn draws(run: u64, low_rtt_ms: u32) -> impl Iterator<Item = Draw> {
    let mut r = PythonRandom::new(run);
    std::iter::repeat_with(move || Draw {
        rate_mbit: r.randint(50, 100),
        rtt_ms: r.randint(low_rtt_ms, 100),
        loss_pct: two_decimals(r.uniform(0.0, 1.0)),
        outage_ms: r.randint(45, 120),
    })
}

/// Rounds like Python's `round(x, 2)`, which is correctly rounded.
fn two_decimals(x: f64) -> f64 {
    format!("{x:.2}").parse().unwrap_or(x)
}

fn step(at: Nanos, d: &Draw, loss: bool, outage_ms: Option<u32>) -> Step {
    Step {
        at,
        rate: Some(BitRate::from_mbit(u64::from(d.rate_mbit))),
        rtt: Some(Nanos::from_millis(u64::from(d.rtt_ms))),
        loss: loss.then_some(d.loss_pct / 100.0),
        outage: outage_ms.map(|ms| Nanos::from_millis(u64::from(ms))),
    }
}

/// Schedule of the LeoCC study (its Fig. 3): every 15 s from 0 on, an outage of 45 to 120 ms and
/// new values. `low_rtt_ms` is the smallest RTT: 10 ms in the paper, 5 ms in its code. Apply with
/// [`Effect::DelayFirst`].
pub fn leo_cc(run: u64, low_rtt_ms: u32, duration: Nanos, loss: bool) -> Vec<Step> {
    let period = Nanos::from_secs(15);
    let n = duration.0.div_ceil(period.0);
    (0..n).zip(draws(run, low_rtt_ms)).map(|(k, d)| step(period * k, &d, loss, Some(d.outage_ms))).collect()
}

/// Schedule of experiments E1 and E2 of the OrbCC study: the first values at 0, then every 5 s an
/// outage, after which new values take effect. Apply with [`Effect::AfterOutage`].
pub fn orbcc(run: u64, duration: Nanos, loss: bool) -> Vec<Step> {
    let period = Nanos::from_secs(5);
    let n = duration.0 / period.0 + 1;
    let mut before: Option<Draw> = None;
    let next = |(k, d): (u64, Draw)| {
        // An outage is drawn after the values that precede it.
        let outage_ms = before.replace(d).map(|b| b.outage_ms);
        step(period * k, &d, loss, outage_ms)
    };
    (0..n).zip(draws(run, 1)).map(next).collect()
}

/// Schedule of the LeoTCP study: new values every 15 s, RTTs from 5 ms. Its generator is older and
/// draws no outages.
pub fn leotcp(run: u64, duration: Nanos, loss: bool) -> Vec<Step> {
    let mut r = PythonRandom::new(run);
    let period = Nanos::from_secs(15);
    let mut next = |k| {
        let (rate_mbit, rtt_ms) = (r.randint(50, 100), r.randint(5, 100));
        let loss_pct = two_decimals(r.uniform(0.0, 1.0));
        step(period * k, &Draw { rate_mbit, rtt_ms, loss_pct, outage_ms: 0 }, loss, None)
    };
    (0..=duration.0 / period.0).map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testdata;
    use crate::topology::{dumbbell, DumbbellSpec};
    use perigee_timeline::store::check;
    use std::collections::BTreeMap;

    fn row(s: &Step) -> (u64, u64, u64, u32, u64) {
        let ms = |t: Option<Nanos>| t.map_or(0, |t| t.0 / 1_000_000);
        let loss = (s.loss.unwrap_or(0.0) * 1e4 + 0.5) as u32;
        (s.at.0 / 1_000_000_000, s.rate.unwrap().0 / 1_000_000, ms(s.rtt), loss, ms(s.outage))
    }

    #[test]
    fn schedules_of_the_leocc_study_are_those_of_its_testbed() {
        let s = leo_cc(1, 5, Nanos::from_secs(300), true);
        let first = [(0, 58, 77, 85, 53), (15, 66, 20, 50, 102), (30, 80, 88, 38, 71), (45, 56, 67, 3, 94)];
        assert_eq!(s.iter().take(4).map(row).collect::<Vec<_>>(), first);
        assert_eq!(s.len(), 20);
        let s = leo_cc(2, 5, Nanos::from_secs(300), true);
        let later = [(45, 93, 25, 100, 95), (60, 96, 70, 95, 114), (75, 78, 69, 27, 49)];
        assert_eq!(s[3..6].iter().map(row).collect::<Vec<_>>(), later);
    }

    /// The files are JSON objects with a time and a number per line; the first draw of a run
    /// determines all others.
    #[test]
    #[cfg_attr(
        not(reference_data),
        ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
    )]
    fn schedules_of_the_orbcc_study_are_those_of_its_files() {
        for run in (1..50).step_by(2) {
            let name = |kind: &str| format!("orbtcp/{kind}/experiment1/run{run}.json");
            let rates = testdata::read(&name("bandwidths"));
            let rtts = testdata::read(&name("baseRtts"));
            let map = |text: &str| serde_json::from_str::<BTreeMap<String, f64>>(text).unwrap();
            let (rates, rtts) = (map(&rates), map(&rtts));
            let steps = orbcc(run, Nanos::from_secs(300), false);
            assert_eq!((steps.len(), rates.len()), (61, 61));
            for s in &steps {
                let at = (s.at + s.outage.unwrap_or_default()).as_millis_f64() / 1e3;
                let key = format!("{at}");
                assert_eq!(rates[&key], s.rate.unwrap().as_mbit(), "run {run} at {key}");
                assert_eq!(rtts[&key], s.rtt.unwrap().as_millis_f64(), "run {run} at {key}");
            }
        }
    }

    #[test]
    #[cfg_attr(
        not(reference_data),
        ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
    )]
    fn the_published_schedule_is_read_and_applied() {
        let text = testdata::read("linux/leo_schedule_s1.csv");
        let steps = read_csv(&text).unwrap();
        assert_eq!((steps.len(), steps[0].outage, steps[1].outage), (20, None, Some(Nanos(103_900_000))));
        let spec = DumbbellSpec::linux_reference(PortSpec::default(), vec![Nanos::from_millis(50)]);
        let built = dumbbell(&spec).unwrap();
        let changes = apply(&built, &steps, &Application::default()).unwrap();
        let t = built.timeline(Nanos::from_secs(300), changes);
        check(&t).unwrap();
        let downs = t.chunks[0].changes.iter().filter(|c| matches!(c.change, Change::Down(..))).count();
        assert_eq!(downs, 2 * 19);
    }

    #[test]
    fn an_outage_during_another_extends_it() {
        let at = |ms, outage| Step {
            at: Nanos::from_millis(ms),
            outage: Some(Nanos::from_millis(outage)),
            ..Step::default()
        };
        let spans = outages(&[at(100, 50), at(120, 100), at(500, 10), at(600, 0)]);
        assert_eq!(
            spans.iter().map(|s| (s.0 .0 / 1_000_000, s.1 .0 / 1_000_000)).collect::<Vec<_>>(),
            [(100, 220), (500, 510)]
        );
    }

    #[test]
    fn damaged_schedules_do_not_panic() {
        let built = dumbbell(&DumbbellSpec::default()).unwrap();
        let text = "t_s,rate_mbps,rtt_ms,outage_ms,loss_pct\n0,10,20,0,0.5\n1.5,20,30,50,1\n";
        for text in testdata::damaged(text) {
            if let Ok(steps) = read_csv(&text) {
                let changes = apply(&built, &steps, &Application::default()).unwrap();
                let end = changes.iter().map(|c| c.at).max().unwrap_or_default();
                check(&built.clone().timeline(end, changes)).unwrap();
            }
        }
    }

    #[test]
    fn malformed_schedules_are_rejected_with_their_line() {
        let error = |text| read_csv(text).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: the file is empty");
        assert_eq!(
            error("t_s,speed\n0,1\n"),
            "line 1: unknown column \"speed\": use t_s, rate_mbps, rtt_ms, outage_ms, loss_pct"
        );
        assert!(error("t_s,rtt_ms\n0,1\n0,2\n").starts_with("line 3: time 0 ns is not later"));
        assert_eq!(error("t_s,rtt_ms\n0\n"), "line 2: found 1 values for 2 columns");
        assert!(error("t_s,rtt_ms\n0,-1\n").contains("zero or more"));
        assert!(error("t_s,loss_pct\n0,101\n").contains("loss_pct must be at most 100; found 101"));
    }
}
