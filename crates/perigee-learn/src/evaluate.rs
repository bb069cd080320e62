// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Evaluation of policies by two tables: rows A1 to A12 compare with published results on Astraea,
//! L8 and L9 are requirements on policies for satellites. Each row is a set of ordinary runs of the
//! scheme with the policy under test, and a pass/fail bound.

use crate::LearnError;
use perigee_cc::{Params, Value};
use perigee_run::backend::Backend as _;
use perigee_run::simulator::Simulator;
use perigee_scenario::{Scenario, World};
use perigee_sim::{FlowRow, Internals, Observer, Options, Scheme, Simulation};
use perigee_units::Nanos;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The scheme under test: `astraea` with a policy and options, or another of the list.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The scheme.
    pub cc: String,
    /// Parameters of the scheme.
    pub params: BTreeMap<String, Value>,
    /// Text of its policy; `None` = the scheme's default, if it has one.
    pub policy: Option<Arc<str>>,
}

impl Subject {
    /// A scheme with its defaults.
    pub fn named(cc: &str) -> Self {
        Subject { cc: cc.into(), params: BTreeMap::new(), policy: None }
    }

    fn scheme(&self) -> Result<Scheme, LearnError> {
        let wrong = |e: &dyn std::fmt::Display| LearnError::Input(format!("{}: {e}", self.cc));
        let info = perigee_cc::info(&self.cc).ok_or_else(|| wrong(&"no such congestion control"))?;
        let mut params: Params = info.params(self.params.clone()).map_err(|e| wrong(&e))?;
        if let Some(policy) = &self.policy {
            params.attach(info.files(), "weights", policy).map_err(|e| wrong(&e.reason))?;
        }
        Ok(Scheme::Builtin(info, params))
    }
}

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Id: A1 to A12, L8 or L9.
    pub id: &'static str,
    /// Test and requirement.
    pub what: &'static str,
    /// All measurements.
    pub values: Vec<(String, f64)>,
    /// Whether the requirement is met.
    pub pass: bool,
}

/// A flow over time, sampled each 100 ms.
#[derive(Clone, Debug, Default)]
struct Trace {
    delivered: Vec<u64>,
    inflation: Vec<f64>,
    sent: u64,
    dropped: u64,
}

#[derive(Default)]
struct Watch {
    flows: Vec<Trace>,
}

/// Samples per second.
const PER_S: usize = 10;

impl Observer for Watch {
    fn flow(&mut self, s: &FlowRow, _: &Internals) {
        let i = s.flow as usize;
        if self.flows.len() <= i {
            self.flows.resize(i + 1, Trace::default());
        }
        let row = (s.t_ns / (1_000_000_000 / PER_S as u64)) as usize;
        let t = &mut self.flows[i];
        let before = t.delivered.last().copied().unwrap_or(0);
        t.delivered.resize(row, before);
        t.delivered.push(s.delivered_bytes);
        let seconds = |ns| Nanos(ns).as_secs_f64();
        let inflation =
            s.rtt_ns.zip(s.base_rtt_ns).map_or(f64::NAN, |(rtt, base)| seconds(rtt) / seconds(base));
        t.inflation.resize(row, f64::NAN);
        t.inflation.push(inflation);
    }
}

impl Trace {
    /// Goodput between two instants, in Mbit/s.
    fn mbps(&self, from_s: usize, to_s: usize) -> f64 {
        let at = |s: usize| {
            let row = (s * PER_S).min(self.delivered.len().saturating_sub(1));
            self.delivered.get(row).copied().unwrap_or(0) as f64
        };
        (at(to_s) - at(from_s)) * 8e-6 / (to_s - from_s) as f64
    }

    /// Mean RTT over base RTT between two instants.
    fn inflation(&self, from_s: usize, to_s: usize) -> f64 {
        let part = self.inflation.iter().take(to_s * PER_S).skip(from_s * PER_S).filter(|x| x.is_finite());
        let (n, sum) = part.fold((0.0, 0.0), |(n, s), x| (n + 1.0, s + x));
        sum / n
    }
}

/// A path and its flows.
#[derive(Clone, Debug)]
struct Case {
    mbps: f64,
    rtts_ms: Vec<f64>,
    bdp: f64,
    loss: f64,
    seconds: usize,
    starts_s: Vec<f64>,
    tail: String,
}

impl Case {
    fn one(mbps: f64, rtt_ms: f64, seconds: usize) -> Self {
        Case {
            mbps,
            rtts_ms: vec![rtt_ms],
            bdp: 1.0,
            loss: 0.0,
            seconds,
            starts_s: vec![0.0],
            tail: String::new(),
        }
    }

    fn two(rtts_ms: [f64; 2], second_s: f64) -> Self {
        Case { rtts_ms: rtts_ms.to_vec(), starts_s: vec![0.0, second_s], ..Case::one(100.0, 0.0, 200) }
    }

    /// Adds outages of 80 ms every 15 s.
    fn with_outages(mut self) -> Self {
        self.tail.push_str("[schedule]\nevery = \"15 s\"\nfirst = \"15 s\"\noutage = \"80 ms\"\n");
        self
    }

    fn text(&self) -> String {
        let rtts: Vec<String> = self.rtts_ms.iter().map(|r| format!("\"{r} ms\"")).collect();
        let mut text = format!(
            "[run]\nduration = \"{} s\"\n[source.dumbbell]\npairs = {}\nrtt = [{}]\nloss = {}\n[port.bottleneck]\n\
             rate = \"{} Mbit\"\nqueue = \"{} bdp\"\n{}",
            self.seconds,
            rtts.len(),
            rtts.join(", "),
            self.loss,
            self.mbps,
            self.bdp,
            self.tail
        );
        for (i, start) in self.starts_s.iter().enumerate() {
            let k = i + 1;
            let _ = write!(text, "[[flow]]\nfrom = \"s{k}\"\nto = \"d{k}\"\nstart = \"{start} s\"\n");
        }
        text
    }

    fn run(&self, subject: &Subject) -> Result<Vec<Trace>, LearnError> {
        run_text(&self.text(), subject, 1)
    }
}

/// Runs a scenario, given as text, with a subject.
fn run_text(text: &str, subject: &Subject, seed: u64) -> Result<Vec<Trace>, LearnError> {
    let scenario = Scenario::parse(text, "evaluation", Path::new(""), &[])?;
    let world = World::build(Arc::new(scenario), seed)?;
    let failed = |e: &dyn std::fmt::Display| LearnError::Run(e.to_string());
    let workload = world.workload(&subject.cc, &|_| false)?;
    let mut setups = Simulator::default().setups(&world.header, &workload).map_err(|e| failed(&e))?;
    let scheme = subject.scheme()?;
    setups.iter_mut().for_each(|s| s.scheme = scheme.clone());
    let options = Options {
        seed,
        sample: Nanos::from_millis(1000 / PER_S as u64),
        max_hops: world.max_hops,
        ..Options::default()
    };
    let source = Box::new(world.timeline.reader());
    let mut simulation = Simulation::new(&world.header, source, setups, options).map_err(|e| failed(&e))?;
    let mut watch = Watch::default();
    let outcome = simulation.run(&mut watch, &mut |_| true).map_err(|e| failed(&e))?;
    for (trace, totals) in watch.flows.iter_mut().zip(&outcome.flows) {
        trace.sent = totals.data_sent;
        trace.dropped = totals.dropped[0];
    }
    Ok(watch.flows)
}

/// Payload share of a full-size packet on a link.
const SHARE: f64 = 1448.0 / 1500.0;

fn ratio(traces: &[Trace], from_s: usize, to_s: usize) -> f64 {
    let (a, b) = (traces[0].mbps(from_s, to_s), traces[1].mbps(from_s, to_s));
    a.min(b) / a.max(b).max(1e-9)
}

type Values = Vec<(String, f64)>;
type Check = fn(&Subject) -> Result<(Values, bool), LearnError>;

/// The rows: number, requirement, check.
const ROWS: &[(&str, &str, Check)] = &[
    ("A1", "one flow, 40-160 Mbit/s, 10-140 ms, 1 BDP: utilisation at least 0.95, RTT/base at most 1.45, drops below 0.1 %", a1),
    ("A2", "random loss of 1 % and 5 %: goodput at least 0.97 and 0.90 of that without", a2),
    ("A3", "two flows of the same RTT, outages every 15 s, 10-140 ms: ratio at least 0.90", a3),
    ("A4", "the same at 160 and 200 ms: lower than at 100 ms", a4),
    ("A5", "simultaneous start without outages, 10-200 ms: ratio at least 0.95", a5),
    ("A6", "20 ms beside 40-140 ms: ratio at least 0.6, and on average above cubic, bbr and vivace", a6),
    ("A7", "the rate changes every 15 s: at least 0.95 of the capacity", a7),
    ("A8", "the base RTT changes every 15 s: at most 0.6 of the capacity (the published weakness)", a8),
    ("A9", "the base RTT grows from 30 to 45 ms: below half of the rate from then on", a9),
    ("A10", "1, 5, 10, 20 flows at 50 ms, 5 BDP, outages: delay grows with the flows, utilisation at least 0.97", a10),
    ("A11", "variation of one flow's goodput per second after 10 s: at most 0.03", a11),
    ("A12", "a second flow has 80 % of its fair share within 10 s", a12),
    ("L8", "the base RTT changes every 15 s, alone and with the rate: at least 0.8 of the capacity", l8),
    ("L9", "the base RTT grows from 30 to 45 ms: 0.9 of the rate again from 3 s after", l9),
];

/// Sets of rows that recipes name as tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSet {
    /// Published results on Astraea's policy.
    Astraea,
    /// Requirements on a policy for satellites.
    Satellite,
}

impl RowSet {
    /// The table of this name in recipes.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "astraea" => Some(RowSet::Astraea),
            "satellite" => Some(RowSet::Satellite),
            _ => None,
        }
    }

    /// Ids of its rows, in order.
    pub fn rows(self) -> Vec<&'static str> {
        match self {
            RowSet::Astraea => ROWS[..12].iter().map(|r| r.0).collect(),
            RowSet::Satellite => vec!["A1", "A2", "A3", "A5", "A7", "L8", "L9", "A11", "A12"],
        }
    }
}

/// Evaluates the row with this id for a subject.
///
/// # Errors
/// If there is no such row, or the policy does not fit the scheme.
pub fn row(subject: &Subject, id: &str) -> Result<Row, LearnError> {
    let Some((id, what, check)) = ROWS.iter().find(|r| r.0 == id) else {
        let known: Vec<_> = ROWS.iter().map(|r| r.0).collect();
        return Err(LearnError::Input(format!("no row {id:?}; there are {}", known.join(", "))));
    };
    let (values, pass) = check(subject)?;
    Ok(Row { id, what, values, pass })
}

/// Evaluates all rows of a table, or those in `only`.
///
/// # Errors
/// When the policy does not fit the scheme.
pub fn table(subject: &Subject, kind: RowSet, only: &[String]) -> Result<Vec<Row>, LearnError> {
    let chosen = kind.rows().into_iter().filter(|id| only.is_empty() || only.iter().any(|o| o == id));
    chosen.collect::<Vec<_>>().par_iter().map(|id| row(subject, id)).collect()
}

/// Order of the rows when eliminating policies: cheap rows that often fail come first. A6 is
/// absent: it compares with other schemes and eliminates no policy.
const SIEVE: [&str; 13] = ["A9", "L9", "A11", "A12", "A1", "A2", "A5", "A3", "A4", "A7", "L8", "A8", "A10"];

/// Number of rows that pass; `None` if more than `allowed` fail.
///
/// # Errors
/// As [`row`].
pub fn merit(subject: &Subject, kind: RowSet, allowed: usize) -> Result<Option<usize>, LearnError> {
    let rows = kind.rows();
    let (mut passed, mut failed) = (0, 0);
    for id in SIEVE.iter().filter(|id| rows.contains(id)) {
        match row(subject, id)?.pass {
            true => passed += 1,
            false => failed += 1,
        }
        if failed > allowed {
            return Ok(None);
        }
    }
    Ok(Some(passed))
}

/// Runs cases in parallel.
fn each<T: Sync, R: Send>(
    all: &[T],
    f: impl Fn(&T) -> Result<R, LearnError> + Sync + Send,
) -> Result<Vec<R>, LearnError> {
    all.par_iter().map(f).collect()
}

fn a1(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let mut grid = Vec::new();
    for mbps in [40.0, 100.0, 160.0] {
        grid.extend([10.0, 30.0, 60.0, 100.0, 140.0].map(|rtt| (mbps, rtt)));
    }
    let found = each(&grid, |&(mbps, rtt)| {
        let t = &Case::one(mbps, rtt, 40).run(subject)?[0];
        Ok((t.mbps(15, 40) / mbps / SHARE, t.inflation(15, 40), t.dropped as f64 / t.sent.max(1) as f64))
    })?;
    let pass =
        found.iter().all(|(used, inflation, drops)| *used >= 0.95 && *inflation <= 1.45 && *drops < 1e-3);
    let named = grid.iter().zip(found).flat_map(|((mbps, rtt), (used, inflation, drops))| {
        let at = format!("{mbps} Mbit/s, {rtt} ms");
        [
            (format!("{at}: utilisation"), used),
            (format!("{at}: RTT/base"), inflation),
            (format!("{at}: drops"), drops),
        ]
    });
    Ok((named.collect(), pass))
}

fn a2(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let losses = [0.0, 0.01, 0.05];
    let found = each(&losses, |&loss| {
        let t = &Case { loss, ..Case::one(100.0, 30.0, 60) }.run(subject)?[0];
        Ok(t.mbps(15, 60))
    })?;
    let (one, five) = (found[1] / found[0], found[2] / found[0]);
    Ok((vec![("1 %".into(), one), ("5 %".into(), five)], one >= 0.97 && five >= 0.90))
}

fn same_rtt(subject: &Subject, rtts: &[f64]) -> Result<Values, LearnError> {
    let found =
        each(rtts, |&rtt| Ok(ratio(&Case::two([rtt, rtt], 50.0).with_outages().run(subject)?, 100, 200)))?;
    Ok(rtts.iter().map(|r| format!("{r} ms")).zip(found).collect())
}

fn a3(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let values = same_rtt(subject, &[10.0, 20.0, 30.0, 50.0, 80.0, 100.0, 140.0])?;
    let pass = values.iter().all(|v| v.1 >= 0.9);
    Ok((values, pass))
}

fn a4(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let values = same_rtt(subject, &[100.0, 160.0, 200.0])?;
    let pass = values[1].1 < values[0].1 && values[2].1 < values[0].1;
    Ok((values, pass))
}

fn a5(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let rtts = [10.0, 20.0, 30.0, 50.0, 80.0, 100.0, 140.0, 200.0];
    let found = each(&rtts, |&rtt| Ok(ratio(&Case::two([rtt, rtt], 0.0).run(subject)?, 100, 200)))?;
    let values: Values = rtts.iter().map(|r| format!("{r} ms")).zip(found).collect();
    let pass = values.iter().all(|v| v.1 >= 0.95);
    Ok((values, pass))
}

fn a6(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let rtts = [40.0, 60.0, 80.0, 100.0, 140.0];
    let mut values = Values::new();
    let mut means = Vec::new();
    let mut least: f64 = 1.0;
    for other in [None, Some("cubic"), Some("bbr"), Some("vivace")] {
        let found = match other {
            None => unlike(subject, &rtts)?,
            Some(name) => others()?.iter().find(|o| o.0 == name).map_or_else(Vec::new, |o| o.1.clone()),
        };
        means.push(found.iter().sum::<f64>() / found.len() as f64);
        if other.is_none() {
            least = found.iter().copied().fold(1.0, f64::min);
        }
        let name = other.unwrap_or("policy");
        values.extend(rtts.iter().zip(found).map(|(rtt, x)| (format!("{name}, 20 and {rtt} ms"), x)));
    }
    Ok((values, least >= 0.6 && means[1..].iter().all(|m| *m < means[0])))
}

/// Goodput ratios of two flows, one with an RTT of 20 ms and one with each of these.
fn unlike(subject: &Subject, rtts: &[f64]) -> Result<Vec<f64>, LearnError> {
    each(rtts, |&rtt| Ok(ratio(&Case::two([20.0, rtt], 50.0).run(subject)?, 100, 200)))
}

/// [`unlike`] of the schemes that A6 names; they do not change with the policy.
fn others() -> Result<&'static Vec<(&'static str, Vec<f64>)>, LearnError> {
    static FOUND: OnceLock<Vec<(&str, Vec<f64>)>> = OnceLock::new();
    if FOUND.get().is_none() {
        let rtts = [40.0, 60.0, 80.0, 100.0, 140.0];
        let of = |name| Ok((name, unlike(&Subject::named(name), &rtts)?));
        let found = ["cubic", "bbr", "vivace"].into_iter().map(of).collect::<Result<_, LearnError>>()?;
        // Another thread may have been first, with the same value.
        let _ = FOUND.set(found);
    }
    FOUND.get().ok_or_else(|| LearnError::Run("schemes to compare with could not be run".into()))
}

/// Goodput over the capacity on paths that change every 15 s according to `keys`.
fn changing(subject: &Subject, keys: &str) -> Result<f64, LearnError> {
    let seeds: Vec<u64> = (1..=5).collect();
    let found = each(&seeds, |&seed| {
        let mut case = Case { bdp: 1.0, ..Case::one(100.0, 50.0, 300) };
        case.tail = format!("[schedule]\nevery = \"15 s\"\nfirst = \"15 s\"\n{keys}");
        let text = case.text().replace("queue = \"1 bdp\"", "queue = \"1 bdp\"\nbdp_rtt = \"100 ms\"");
        let scenario = Scenario::parse(&text, "evaluation", Path::new(""), &[])?;
        let t = &run_text(&text, subject, seed)?[0];
        let capacity = mean_rate(scenario, seed)?;
        Ok(t.mbps(0, 300) / capacity / SHARE)
    })?;
    Ok(found.iter().sum::<f64>() / found.len() as f64)
}

/// Mean rate of the bottleneck over a run, in Mbit/s.
fn mean_rate(scenario: Scenario, seed: u64) -> Result<f64, LearnError> {
    let world = World::build(Arc::new(scenario), seed)?;
    let port = world.flows[0].bottleneck;
    let mut rate = world.header.ports[port as usize].spec.rate.0 as f64;
    let (mut since, mut bits) = (0.0, 0.0);
    for chunk in world.timeline.all().map_err(LearnError::Run)? {
        for timed in &chunk.changes {
            if let perigee_timeline::Change::Rate(p, new) = &timed.change {
                if p.0 == port {
                    let at = timed.at.as_secs_f64();
                    bits += rate * (at - since);
                    (rate, since) = (new.0 as f64, at);
                }
            }
        }
    }
    let end = world.header.duration.as_secs_f64();
    Ok((bits + rate * (end - since)) / end * 1e-6)
}

fn a7(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let used = changing(subject, "rate = \"uniform(50 Mbit, 100 Mbit)\"\n")?;
    Ok((vec![("goodput/capacity".into(), used)], used >= 0.95))
}

fn changing_rtt(subject: &Subject) -> Result<(f64, f64), LearnError> {
    let rtt = changing(subject, "rtt = \"uniform(10 ms, 100 ms)\"\n")?;
    let both =
        changing(subject, "rtt = \"uniform(10 ms, 100 ms)\"\nrate = \"uniform(50 Mbit, 100 Mbit)\"\n")?;
    Ok((rtt, both))
}

fn a8(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let (rtt, both) = changing_rtt(subject)?;
    Ok((vec![("RTT alone".into(), rtt), ("RTT and rate".into(), both)], rtt <= 0.6))
}

fn l8(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let (rtt, both) = changing_rtt(subject)?;
    Ok((vec![("RTT alone".into(), rtt), ("RTT and rate".into(), both)], rtt >= 0.8 && both >= 0.8))
}

fn step_up(subject: &Subject) -> Result<(f64, f64, f64), LearnError> {
    let mut case = Case::one(100.0, 30.0, 60);
    case.tail = "[[change]]\nat = \"30 s\"\nrtt = \"45 ms\"\n".into();
    let t = &case.run(subject)?[0];
    Ok((t.mbps(15, 30), t.mbps(33, 36), t.mbps(45, 60)))
}

fn l9(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let (before, after, later) = step_up(subject)?;
    let values = vec![
        ("before, Mbit/s".into(), before),
        ("3 to 6 s after".into(), after),
        ("15 to 30 s after".into(), later),
    ];
    Ok((values, after >= 0.9 * before && later >= 0.9 * before))
}

fn a9(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let mut case = Case::one(100.0, 30.0, 60);
    case.tail = "[[change]]\nat = \"30 s\"\nrtt = \"45 ms\"\n".into();
    let t = &case.run(subject)?[0];
    let (before, after, later) = (t.mbps(15, 30), t.mbps(33, 45), t.mbps(45, 60));
    let values = vec![
        ("before, Mbit/s".into(), before),
        ("3 to 15 s after".into(), after),
        ("15 to 30 s after".into(), later),
    ];
    Ok((values, later < before / 2.0))
}

fn a10(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let counts = [1usize, 5, 10, 20];
    let found = each(&counts, |&n| {
        let starts_s = (0..n).map(|i| i as f64 * 100.0 / n as f64).collect();
        let case = Case { bdp: 5.0, rtts_ms: vec![50.0; n], starts_s, ..Case::one(100.0, 50.0, 150) };
        let traces = case.with_outages().run(subject)?;
        let used = traces.iter().map(|t| t.mbps(100, 150)).sum::<f64>() / 100.0 / SHARE;
        Ok((used, traces.iter().map(|t| t.inflation(100, 150)).sum::<f64>() / n as f64))
    })?;
    let grows = found.windows(2).all(|w| w[1].1 > w[0].1);
    let pass = grows && found.iter().all(|f| f.0 >= 0.97);
    let named = counts.iter().zip(found).flat_map(|(n, (used, inflation))| {
        [(format!("{n} flows: utilisation"), used), (format!("{n} flows: RTT/base"), inflation)]
    });
    Ok((named.collect(), pass))
}

fn a11(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let t = &Case::one(100.0, 30.0, 60).run(subject)?[0];
    let each: Vec<f64> = (10..60).map(|s| t.mbps(s, s + 1)).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let variance = each.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / each.len() as f64;
    let variation = libm::sqrt(variance) / mean;
    Ok((vec![("variation".into(), variation)], variation <= 0.03))
}

fn a12(subject: &Subject) -> Result<(Values, bool), LearnError> {
    let traces = Case { seconds: 60, ..Case::two([30.0, 30.0], 20.0) }.run(subject)?;
    let goal = 0.8 * 50.0 * SHARE;
    let reached =
        (20..60).find(|&s| traces[1].mbps(s, s + 1) >= goal).map_or(f64::INFINITY, |s| (s + 1 - 20) as f64);
    Ok((vec![("seconds".into(), reached)], reached <= 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_fills_the_link_passes_what_asks_for_it_and_no_more() {
        let only = ["A9".to_string(), "A11".to_string()];
        let rows = table(&Subject::named("cubic"), RowSet::Astraea, &only).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(!rows[0].pass, "cubic does not mind another RTT: {:?}", rows[0].values);
        assert!(rows[0].values[0].1 > 80.0, "{:?}", rows[0].values);
    }

    #[test]
    fn the_sieve_stops_where_too_much_has_failed() {
        let cubic = Subject::named("cubic");
        assert_eq!(merit(&cubic, RowSet::Astraea, 0).unwrap(), None, "A9 fails first");
        assert!(row(&cubic, "A13").unwrap_err().to_string().contains("A12"));
        for kind in [RowSet::Astraea, RowSet::Satellite] {
            let sieved = kind.rows().into_iter().filter(|id| SIEVE.contains(id)).count();
            assert!(sieved + 1 >= kind.rows().len());
        }
    }
}
