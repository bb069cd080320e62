// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[[change]]` and `[schedule]` → changes of a timeline.
//!
//! Draws are hashed from (seed, entry, event, quantity), so that adding an entry does not change
//! the values of others. During an outage, a new delay and loss apply from its start and a new rate
//! from its end, as in the testbeds that are modelled (the shaper is changed when the interface is
//! up again).

use crate::file::change::{ChangeSpec, Direction, When};
use crate::file::error::{Problem, ScenarioError};
use crate::file::notation::Draw;
use crate::file::scenario::Scenario;
use crate::file::suggestions;
use perigee_sources::schedule::{self, Application, Effect, Step, Ways};
use perigee_sources::topology::{Built, Duplex};
use perigee_timeline::{Change, Delay, Timed};
use perigee_units::draw::finalise;
use perigee_units::files;
use perigee_units::{BitRate, Nanos};

/// Number of changes of one schedule above which it is considered a mistake.
const MAX_STEPS: u64 = 1_000_000;

/// Maximum number of changes of single links and ports, so that they fit in memory.
const MAX_CHANGES: usize = 20_000_000;

/// All changes of a scenario, for a topology that is built.
///
/// # Errors
/// Unknown ports, RTTs that are too short, unreadable files.
pub fn expand(scenario: &Scenario, built: &Built, seed: u64) -> Result<Vec<Timed>, ScenarioError> {
    let mut out = Vec::new();
    // Entries with the same application are applied together, so that their overlapping outages are
    // merged.
    let mut alike: Vec<(Application, Vec<Step>, &ChangeSpec)> = Vec::new();
    for (entry, spec) in scenario.changes.iter().enumerate() {
        let how = application(spec, built)?;
        let draw = Drawing { spec, seed, entry: entry as u64 };
        let steps = draw.steps(scenario.run.duration)?;
        out.extend(steps.iter().enumerate().flat_map(|(k, s)| draw.delays(built, &how, k as u64, s.at)));
        match alike.iter_mut().find(|(other, ..)| *other == how) {
            Some((_, all, _)) => all.extend(steps),
            None => alike.push((how, steps, spec)),
        }
    }
    for (how, mut steps, spec) in alike {
        few_enough(&steps, built, spec)?;
        steps.sort_by_key(|s| s.at);
        let changes = schedule::apply(built, &steps, &how);
        out.extend(changes.map_err(|e| Problem::new("rtt", e.0).at(&spec.place))?);
    }
    Ok(out)
}

/// A recorded schedule is considered to end early if more than this number of its usual steps are
/// missing.
const MISSING_STEPS: u64 = 2;

/// Warnings about files of changes that end long before the run does.
pub fn early_ends(scenario: &Scenario) -> Vec<String> {
    let ends = |path: &std::path::PathBuf| {
        let steps = schedule::read_csv(&files::read(path).ok()?).ok()?;
        let last = steps.last()?.at;
        let usual = last / (steps.len() as u64 - 1).max(1);
        let missing = scenario.run.duration.saturating_sub(last);
        let early = steps.len() > 1 && missing > usual * MISSING_STEPS;
        let (file, run) = (path.display(), scenario.run.duration);
        early.then(|| {
            format!("{file} ends at {last}, before the run ({run}): its last values apply until then")
        })
    };
    let of_file = |c: &ChangeSpec| if let When::File(path) = &c.when { ends(path) } else { None };
    scenario.changes.iter().filter_map(of_file).collect()
}

/// Checks the number of changes: a step that sets the round-trip time changes every link.
fn few_enough(steps: &[Step], built: &Built, spec: &ChangeSpec) -> Result<(), ScenarioError> {
    let (ports, links) = (built.bottlenecks.len(), built.header.links.len());
    let n: usize = steps.iter().map(|s| if s.rtt.is_some() { links } else { ports }).sum();
    if n <= MAX_CHANGES {
        return Ok(());
    }
    let why = format!("{} steps on {links} links make {n} changes", steps.len());
    let p = Problem::new("schedule", why).at(&spec.place).allowed(format!("at most {MAX_CHANGES}"));
    Err(p.hint("reduce the number of pairs, or increase the time between changes").into())
}

fn application(spec: &ChangeSpec, built: &Built) -> Result<Application, ScenarioError> {
    let ways = |default| match spec.direction {
        None => default,
        Some(Direction::Both) => Ways::Both,
        Some(Direction::Forward) => Ways::Forward,
        Some(Direction::Reverse) => Ways::Reverse,
    };
    let as_orbcc = matches!(&spec.when, When::Recipe { study, .. } if study == "orbcc");
    Ok(Application {
        bottleneck: bottleneck(spec, built)?,
        rate: ways(Ways::Forward),
        loss: ways(Ways::Forward),
        outage: ways(Ways::Both),
        mode: spec.mode,
        effect: if as_orbcc { Effect::AfterOutage } else { Effect::DelayFirst },
    })
}

fn bottleneck(spec: &ChangeSpec, built: &Built) -> Result<Option<usize>, ScenarioError> {
    if spec.on == "bottleneck" {
        return Ok(None);
    }
    let name = |d: &Duplex| built.header.ports[d.forward.port.ix()].name.as_str();
    let found = built.bottlenecks.iter().position(|d| name(d) == spec.on);
    found.map(Some).ok_or_else(|| {
        let mut p = Problem::new("change.on", format!("no such bottleneck: {:?}", spec.on)).at(&spec.place);
        let some: Vec<&str> = built.bottlenecks.iter().take(5).map(name).collect();
        p.hint = suggestions::hint(&spec.on, some.iter().copied());
        p.allowed(format!("bottleneck, {}", some.join(", "))).into()
    })
}

/// Draws of the values of one entry.
struct Drawing<'a> {
    spec: &'a ChangeSpec,
    seed: u64,
    entry: u64,
}

/// Drawn quantity, which is part of the hash.
#[derive(Clone, Copy)]
enum What {
    Rate,
    Rtt,
    Loss,
    Outage,
    Delay,
}

impl Drawing<'_> {
    fn steps(&self, duration: Nanos) -> Result<Vec<Step>, ScenarioError> {
        let spec = self.spec;
        let mut steps = match &spec.when {
            When::At(at) => vec![self.step(0, *at)],
            When::Every(first, every) => {
                let n = duration.saturating_sub(*first).0.div_ceil(every.0.max(1));
                if n > MAX_STEPS {
                    let p = Problem::new("schedule.every", format!("{n} changes in a run of {duration}"));
                    return Err(p.at(&spec.place).allowed(format!("at most {MAX_STEPS}")).into());
                }
                (0..n).map(|k| self.step(k, *first + *every * k)).collect()
            }
            When::File(path) => {
                let wrong = |why: String| Problem::new("schedule.file", why).at(&spec.place);
                let text = files::read(path).map_err(wrong)?;
                let damaged = |e| wrong(format!("{}: {e}", path.display()));
                schedule::read_csv(&text).map_err(damaged)?
            }
            When::Recipe { study, loss } => match study.as_str() {
                "orbcc" => schedule::orbcc(self.seed, duration, *loss),
                "leotcp" => schedule::leotcp(self.seed, duration, *loss),
                _ => schedule::leo_cc(self.seed, 10, duration, *loss),
            },
        };
        steps.retain(|s| s.at < duration);
        Ok(steps)
    }

    fn step(&self, k: u64, at: Nanos) -> Step {
        let spec = self.spec;
        Step {
            at,
            rate: spec.to.rate.map(|d| BitRate(self.whole(k, What::Rate, d.low.0, d.high.0))),
            rtt: spec.to.rtt.map(|d| self.time(k, What::Rtt, &d)),
            loss: spec.to.loss.map(|d| d.low + self.unit(k, What::Loss) * (d.high - d.low)),
            outage: spec.to.outage.map(|d| self.time(k, What::Outage, &d)),
        }
    }

    /// Changes of the bottlenecks' propagation delay, which is not a quantity of schedule steps.
    fn delays(&self, built: &Built, how: &Application, k: u64, at: Nanos) -> Vec<Timed> {
        let Some(draw) = &self.spec.to.delay else { return Vec::new() };
        let delay = Delay::constant(self.time(k, What::Delay, draw));
        let chosen =
            built.bottlenecks.iter().enumerate().filter(|(i, _)| how.bottleneck.is_none_or(|b| b == *i));
        chosen
            .flat_map(|(_, d)| match self.spec.direction {
                Some(Direction::Forward) => vec![d.forward],
                Some(Direction::Reverse) => vec![d.reverse],
                _ => vec![d.forward, d.reverse],
            })
            .map(|hop| Timed { at, change: Change::Delay(hop.link, delay) })
            .collect()
    }

    fn time(&self, k: u64, what: What, d: &Draw<Nanos>) -> Nanos {
        Nanos(self.whole(k, what, d.low.0, d.high.0))
    }

    fn whole(&self, k: u64, what: What, low: u64, high: u64) -> u64 {
        low + (self.unit(k, what) * (high - low) as f64 + 0.5) as u64
    }

    /// Uniform in 0..1 (SplitMix64's finaliser applied to each number in turn).
    fn unit(&self, event: u64, what: What) -> f64 {
        let mut h = 0x9E37_79B9_7F4A_7C15;
        for x in [self.seed, self.entry, event, what as u64] {
            h = finalise(h ^ finalise(x.wrapping_add(0x9E37_79B9_7F4A_7C15)));
        }
        (h >> 11) as f64 / (1_u64 << 53) as f64
    }
}
