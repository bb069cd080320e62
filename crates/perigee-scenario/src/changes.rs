// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]` and `[schedule]` → changes of a timeline.
//!
//! Draws are hashed from (seed, entry, event, quantity), so that adding an entry changes no other entry's values. In
//! an outage a new delay and loss hold from its beginning and a new rate from its end, as in the testbeds that are
//! imitated (the shaper is changed when the interface is back).

use crate::error::{Problem, ScenarioError};
use crate::kind::Draw;
use crate::ports::select;
use crate::scenario::{ChangeSpec, Direction, Scenario, When};
use perigee_timeline::topology::Built;
use perigee_timeline::{Change, Delay, LinkId, Note, NoteKind, OutageMode, PortId, Timed};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::path::Path;

/// Changes of one schedule beyond which something is mistyped.
const MAX_STEPS: u64 = 1_000_000;

/// What happens at one time, drawn.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    at: Nanos,
    rate: Option<BitRate>,
    delay: Option<Nanos>,
    rtt: Option<Nanos>,
    loss: Option<f64>,
    outage: Option<Nanos>,
}

/// All changes of a scenario over a built topology.
///
/// # Errors
/// Unknown ports, RTTs that are too short, files that cannot be read.
pub fn expand(
    scenario: &Scenario,
    built: &Built,
    classes: &[&'static str],
    seed: u64,
) -> Result<Vec<Timed>, ScenarioError> {
    let mut out = Changes { built, classes, timed: Vec::new(), outages: BTreeMap::new() };
    for (entry, spec) in scenario.changes.iter().enumerate() {
        for step in steps(spec, entry as u64, scenario.run.duration, seed)? {
            out.apply(spec, &step)?;
        }
    }
    Ok(out.finish())
}

fn steps(spec: &ChangeSpec, entry: u64, duration: Nanos, seed: u64) -> Result<Vec<Step>, ScenarioError> {
    match &spec.when {
        When::At(at) => Ok(vec![drawn(spec, *at, &mut |what| unit(seed, entry, 0, what))]),
        When::File(path) => from_csv(path, spec, duration),
        When::Every(first, every) => {
            let n = duration.saturating_sub(*first).0.div_ceil(every.0.max(1));
            if n > MAX_STEPS {
                let p = Problem::new("schedule.every", format!("{n} changes in a run of {duration}"));
                return Err(p.at(&spec.place).allowed(format!("at most {MAX_STEPS}")).into());
            }
            let step = |k: u64| drawn(spec, *first + *every * k, &mut |what| unit(seed, entry, k, what));
            Ok((0..n).map(step).collect())
        }
    }
}

/// `u(what)` is uniform in 0..1 and independent for each `what`.
fn drawn(spec: &ChangeSpec, at: Nanos, u: &mut dyn FnMut(u64) -> f64) -> Step {
    let whole =
        |d: Option<(u64, u64)>, u: f64| d.map(|(low, high)| low + (u * (high - low) as f64 + 0.5) as u64);
    let time = |d: &Option<Draw<Nanos>>| d.map(|d| (d.low.0, d.high.0));
    Step {
        at,
        rate: whole(spec.rate.map(|d| (d.low.0, d.high.0)), u(0)).map(BitRate),
        rtt: whole(time(&spec.rtt), u(1)).map(Nanos),
        loss: spec.loss.map(|d| d.low + u(2) * (d.high - d.low)),
        outage: whole(time(&spec.outage), u(3)).map(Nanos),
        delay: whole(time(&spec.delay), u(4)).map(Nanos),
    }
}

/// A number in 0..1 from four numbers (SplitMix64's finaliser over each in turn).
fn unit(seed: u64, entry: u64, event: u64, what: u64) -> f64 {
    let mut h = 0x9E37_79B9_7F4A_7C15;
    for x in [seed, entry, event, what] {
        h = mix(h ^ mix(x.wrapping_add(0x9E37_79B9_7F4A_7C15)));
    }
    (h >> 11) as f64 / (1_u64 << 53) as f64
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn from_csv(path: &Path, spec: &ChangeSpec, duration: Nanos) -> Result<Vec<Step>, ScenarioError> {
    let fail = |line: usize, why: String| {
        let text = format!("{}:{line}: {why}", path.display());
        ScenarioError::from(Problem::new("schedule.file", text).at(&spec.place))
    };
    let text = std::fs::read_to_string(path).map_err(|e| fail(0, format!("cannot be read: {e}")))?;
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let header: Vec<&str> = lines.next().map_or(vec![], |(_, l)| l.split(',').map(str::trim).collect());
    let column = |prefix: &str| header.iter().position(|h| h.starts_with(prefix));
    let Some(t_column) = column("t_s") else {
        return Err(fail(1, "the first line must name the columns, t_s first".into()));
    };
    let mut steps: Vec<Step> = Vec::new();
    for (n, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |at: Option<usize>| -> Result<Option<f64>, ScenarioError> {
            let Some(at) = at else { return Ok(None) };
            let cell = cells.get(at).copied().unwrap_or("");
            let value: f64 = cell.parse().map_err(|_| fail(n + 1, format!("{cell:?} is not a number")))?;
            if !value.is_finite() || value < 0.0 {
                return Err(fail(n + 1, format!("{cell} is negative or not finite")));
            }
            Ok(Some(value))
        };
        let ms = |v: f64| Nanos::from_secs_f64(v * 1e-3);
        let step = Step {
            at: Nanos::from_secs_f64(number(Some(t_column))?.unwrap_or(0.0)),
            rate: number(column("rate_mbps"))?.map(|v| BitRate((v * 1e6 + 0.5) as u64)),
            rtt: number(column("rtt_ms"))?.map(ms),
            loss: number(column("loss_pct"))?.map(|v| v / 100.0),
            outage: number(column("outage_ms"))?.map(ms).filter(|o| o.0 > 0),
            delay: None,
        };
        if step.loss.is_some_and(|p| p > 1.0) {
            return Err(fail(n + 1, "a loss above 100 %".into()));
        }
        if steps.last().is_some_and(|last| last.at >= step.at) {
            return Err(fail(n + 1, format!("time {} does not follow the line above", step.at)));
        }
        steps.push(step);
    }
    steps.retain(|s| s.at < duration);
    Ok(steps)
}

/// An outage of some links: begin → end, so that overlapping ones can be joined.
type Spans = BTreeMap<(Vec<LinkId>, u8), Vec<(Nanos, Nanos)>>;

struct Changes<'a> {
    built: &'a Built,
    classes: &'a [&'static str],
    timed: Vec<Timed>,
    outages: Spans,
}

impl Changes<'_> {
    fn apply(&mut self, spec: &ChangeSpec, step: &Step) -> Result<(), ScenarioError> {
        let outage = step.outage.unwrap_or(Nanos::ZERO);
        let forward = select(self.classes, &self.built.header.ports, &spec.on, &spec.place)?;
        let reverse = self.opposite(&forward);
        let both = [forward.clone(), reverse.clone()].concat();
        let ports = |default: Direction| match spec.direction.unwrap_or(default) {
            Direction::Forward => &forward,
            Direction::Reverse => &reverse,
            Direction::Both => &both,
        };
        if let Some(rate) = step.rate {
            for &p in ports(Direction::Forward) {
                self.timed.push(Timed { at: step.at + outage, change: Change::Rate(p, rate) });
            }
        }
        if let Some(rtt) = step.rtt {
            let changes = self.built.set_rtts(step.at, &[rtt]);
            self.timed.extend(changes.map_err(|e| Problem::new("rtt", e.0).at(&spec.place))?);
        }
        for link in self.links(ports(Direction::Both)) {
            if let Some(d) = step.delay {
                self.timed.push(Timed { at: step.at, change: Change::Delay(link, Delay::constant(d)) });
            }
        }
        if let Some(loss) = step.loss {
            for link in self.links(ports(Direction::Forward)) {
                self.timed.push(Timed { at: step.at, change: Change::Loss(link, loss) });
            }
        }
        if step.rate.is_some() || step.rtt.is_some() || step.delay.is_some() || step.loss.is_some() {
            self.note(step.at, NoteKind::Reconfiguration, 0.0, words(step));
        }
        if outage.0 > 0 {
            let key = (self.links(ports(Direction::Both)), mode_code(spec.mode));
            self.outages.entry(key).or_default().push((step.at, step.at + outage));
        }
        Ok(())
    }

    /// The ports of the same neighbours' way back.
    fn opposite(&self, forward: &[PortId]) -> Vec<PortId> {
        let mut back = Vec::new();
        for b in &self.built.bottlenecks {
            for &p in forward {
                if b.forward.port == p {
                    back.push(b.reverse.port);
                } else if b.reverse.port == p {
                    back.push(b.forward.port);
                }
            }
        }
        back
    }

    fn links(&self, ports: &[PortId]) -> Vec<LinkId> {
        let links = self.built.header.links.iter().enumerate();
        let mut found: Vec<_> =
            links.filter(|(_, l)| ports.contains(&l.port)).map(|(i, _)| LinkId(i as u32)).collect();
        found.dedup();
        found
    }

    fn note(&mut self, at: Nanos, kind: NoteKind, value: f64, text: String) {
        let note = Note { kind, node: None, pair: None, value, text };
        self.timed.push(Timed { at, change: Change::Note(note) });
    }

    fn finish(mut self) -> Vec<Timed> {
        for ((links, mode), mut spans) in std::mem::take(&mut self.outages) {
            spans.sort_unstable();
            for (begin, end) in joined(spans) {
                self.note(begin, NoteKind::OutageBegin, (end - begin).as_secs_f64(), String::new());
                for &l in &links {
                    self.timed.push(Timed { at: begin, change: Change::Down(l, mode_of(mode)) });
                    self.timed.push(Timed { at: end, change: Change::Up(l) });
                }
                self.note(end, NoteKind::OutageEnd, 0.0, String::new());
            }
        }
        self.timed
    }
}

/// Overlapping spans become one: else the end of the first would end the second too.
fn joined(spans: Vec<(Nanos, Nanos)>) -> Vec<(Nanos, Nanos)> {
    let mut out: Vec<(Nanos, Nanos)> = Vec::new();
    for (begin, end) in spans {
        match out.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => out.push((begin, end)),
        }
    }
    out
}

fn words(s: &Step) -> String {
    let mut parts = Vec::new();
    parts.extend(s.rate.map(|r| format!("rate {r}")));
    parts.extend(s.rtt.map(|r| format!("RTT {r}")));
    parts.extend(s.delay.map(|d| format!("delay {d}")));
    parts.extend(s.loss.map(|p| format!("loss {:.4} %", p * 100.0)));
    parts.join(", ")
}

fn mode_code(mode: OutageMode) -> u8 {
    match mode {
        OutageMode::Flush => 0,
        OutageMode::Hold => 1,
        OutageMode::Blackhole => 2,
    }
}

fn mode_of(code: u8) -> OutageMode {
    [OutageMode::Flush, OutageMode::Hold, OutageMode::Blackhole][code as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_independent() {
        let n = 10_000;
        let mean = (0..n).map(|k| unit(1, 0, k, 0)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert_ne!(unit(1, 0, 0, 0), unit(1, 0, 0, 1));
        assert_ne!(unit(1, 0, 0, 0), unit(2, 0, 0, 0));
    }

    #[test]
    fn overlapping_outages_become_one() {
        let s = |a, b| (Nanos(a), Nanos(b));
        assert_eq!(joined(vec![s(0, 5), s(3, 9), s(9, 10), s(20, 21)]), vec![s(0, 10), s(20, 21)]);
    }
}
