// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[jitter]`: the RTT of a path drawn from a measured distribution, and rare loss events.
//!
//! Each step draws the RTT again: a stationary Gaussian process with an exponential autocorrelation
//! is mapped by its own distribution function and then by the measured quantiles. Each value thus
//! has exactly the measured distribution, and successive values are correlated over the correlation
//! time. Delayed packets are released in order, unless the source specifies that a shrinking delay
//! reorders packets.

use crate::file::change::Direction;
use crate::file::error::{Problem, ScenarioError};
use crate::file::jitter::{Jitter, JitterKeys};
use crate::file::scenario::Scenario;
use perigee_sources::topology::{Built, Duplex};
use perigee_timeline::{Change, Delay, LinkId, OutageMode, Timed};
use perigee_units::Nanos;

/// Number of steps of a run above which the interval is considered a mistake.
const MAX_STEPS: u64 = 10_000_000;
/// End of the body of a distribution, as a fraction of the samples. The body is interpolated
/// linearly; the tail above it linearly in the logarithm of the fraction that exceeds the value.
const BODY: f64 = 0.999;

impl Jitter {
    /// RTT at quantile `u`.
    fn quantile(&self, u: f64) -> f64 {
        let q = &self.quantiles;
        let above = q.iter().position(|&(share, _)| share >= u).unwrap_or(q.len() - 1).max(1);
        let (low, high) = (q[above - 1], q[above]);
        let (from, to) = (low.1.as_secs_f64(), high.1.as_secs_f64());
        if u <= BODY || low.0 < BODY {
            return from + (to - from) * (u - low.0) / (high.0 - low.0);
        }
        let decades = |share: f64| -libm::log10(1.0 - share);
        if high.0 < 1.0 {
            return from + (to - from) * (decades(u) - decades(low.0)) / (decades(high.0) - decades(low.0));
        }
        // The last segment continues the slope of the previous one, up to the maximum.
        let before = q[above.max(2) - 2];
        let slope = (from - before.1.as_secs_f64()) / (decades(low.0) - decades(before.0)).max(1e-9);
        (from + slope * (decades(u) - decades(low.0))).min(to)
    }
}

/// An unknown port; an RTT below the sum of the other links' delays; too many steps.
///
/// # Errors
/// An unknown port, an RTT below the sum of the other links' delays, or too many steps.
pub fn expand(scenario: &Scenario, built: &Built, seed: u64) -> Result<Vec<Timed>, ScenarioError> {
    let Some(jitter) = &scenario.jitter else { return Ok(Vec::new()) };
    let duration = scenario.run.duration;
    let steps = duration.0.div_ceil(jitter.keys.step.0.max(1));
    if steps > MAX_STEPS {
        let p = Problem::new("jitter.step", format!("{steps} steps in a run of {duration}"))
            .at(jitter.keys.place());
        return Err(p.allowed(format!("at most {MAX_STEPS}")).into());
    }
    let events = jitter.keys.loss_every.map_or(0, |every| duration.0 / every.0.max(1));
    if events > MAX_STEPS {
        let why = format!("about {events} loss events in a run of {duration}");
        let p = Problem::new("jitter.loss_every", why).at(jitter.keys.place());
        return Err(p
            .allowed(format!("at most {MAX_STEPS}"))
            .hint("use the source's key loss for random loss")
            .into());
    }
    let duplex = chosen(jitter, built)?;
    let hop = if jitter.keys.direction == Direction::Reverse { duplex.reverse } else { duplex.forward };
    let rest = others(built, hop.link)
        .ok_or_else(|| Problem::new("jitter.on", "no flow uses this link").at(jitter.keys.place()))?;
    let own = built.header.links[hop.link.ix()].delay.base;
    if !jitter.is_added() && jitter.quantiles[0].1 < rest {
        let why = format!("the smallest RTT is below the delay of the other links, {rest}");
        return Err(Problem::new("jitter.rtt", why)
            .at(jitter.keys.place())
            .hint("reduce the source's rtt")
            .into());
    }
    let mut out = Vec::with_capacity(steps as usize);
    let keep = libm::exp(-jitter.keys.step.as_secs_f64() / jitter.keys.correlation.as_secs_f64().max(1e-9));
    let fresh = libm::sqrt(1.0 - keep * keep);
    let mut state = normal(seed, 0);
    for k in 0..steps {
        let u = 0.5 * libm::erfc(-state / std::f64::consts::SQRT_2);
        let drawn = Nanos::from_secs_f64(jitter.quantile(u));
        let delay = if jitter.is_added() { own + drawn } else { drawn.saturating_sub(rest) };
        out.push(Timed { at: jitter.keys.step * k, change: Change::Delay(hop.link, Delay::constant(delay)) });
        state = keep * state + fresh * normal(seed, k + 1);
    }
    if let Some(every) = jitter.keys.loss_every {
        losses(&jitter.keys, every, hop.link, duration, seed, &mut out);
    }
    out.sort_by_key(|t| t.at);
    Ok(out)
}

fn losses(j: &JitterKeys, every: Nanos, link: LinkId, duration: Nanos, seed: u64, out: &mut Vec<Timed>) {
    let mut at = Nanos::ZERO;
    for event in 0.. {
        let draw = |what: u64| unit(seed ^ LOSSES, event * 4 + what);
        at += Nanos::from_secs_f64(-every.as_secs_f64() * libm::log(1.0 - draw(0)));
        if at >= duration {
            return;
        }
        if draw(1) < j.loss_single {
            out.push(Timed { at, change: Change::Lose(link, 1) });
            continue;
        }
        // Two or more: geometric above two, so that the mean is the given one.
        let more = (j.loss_mean - 2.0).max(0.0);
        let n = 2.0 + libm::floor(libm::log(1.0 - draw(2)) / libm::log(more / (1.0 + more)).min(-1e-12));
        let length = j.loss_slot * (n as u64).min(j.loss_longest.max(2));
        out.push(Timed { at, change: Change::Down(link, OutageMode::Blackhole) });
        at += length;
        out.push(Timed { at, change: Change::Up(link) });
    }
}

fn chosen<'a>(jitter: &Jitter, built: &'a Built) -> Result<&'a Duplex, ScenarioError> {
    let name = |d: &Duplex| built.header.ports[d.forward.port.ix()].name.as_str();
    let found =
        built.bottlenecks.iter().find(|d| jitter.keys.on == "bottleneck" || name(d) == jitter.keys.on);
    found.ok_or_else(|| {
        let p = Problem::new("jitter.on", "no such bottleneck").at(jitter.keys.place());
        p.found(format!("{:?}", jitter.keys.on)).into()
    })
}

/// Round-trip propagation delay of a flow over `link`, without that link.
fn others(built: &Built, link: perigee_timeline::LinkId) -> Option<Nanos> {
    let flow = built.flows.iter().find(|f| f.hops.iter().flatten().any(|h| h.link == link))?;
    let links = flow.hops.iter().flatten().map(|h| h.link).filter(|l| *l != link);
    Some(links.fold(Nanos::ZERO, |sum, l| sum + built.header.links[l.ix()].delay.base))
}

/// Makes the draws of loss events independent of those of delays.
const LOSSES: u64 = 0x6c6f_7373_6576_6e74;

/// The `n`-th draw of a standard normal variable (Box and Muller).
fn normal(seed: u64, n: u64) -> f64 {
    let (a, b) = (unit(seed, 2 * n), unit(seed, 2 * n + 1));
    libm::sqrt(-2.0 * libm::log(1.0 - a)) * libm::cos(2.0 * std::f64::consts::PI * b)
}

fn unit(seed: u64, n: u64) -> f64 {
    let mix = |mut z: u64| {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (mix(mix(seed ^ 0x6a69_7474_6572) ^ n) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use std::path::Path;
    use std::sync::Arc;

    fn changes(duration: &str, jitter: &str) -> Vec<Timed> {
        let text = format!(
            "[run]\nduration = \"{duration}\"\nsample = \"1 h\"\n[source.dumbbell]\nrtt = \"500 ms\"\n\
             rtt_at = \"even\"\n[jitter]\n{jitter}\n[[flow]]\ncc = \"cubic\"\n"
        );
        let scenario = Scenario::parse(&text, "t.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        let world = World::build(Arc::new(scenario), 1).unwrap_or_else(|e| panic!("{e}"));
        let timeline = world.whole_timeline().unwrap();
        timeline.chunks.iter().flat_map(|c| c.changes.clone()).collect()
    }

    #[test]
    fn samples_have_the_measured_distribution() {
        let all = changes("100 h", "preset = \"geo\"");
        let rest = Nanos::from_millis(500 / 6 * 5);
        let mut ms: Vec<f64> = all
            .iter()
            .filter_map(|t| match &t.change {
                Change::Delay(_, d) => Some((d.base + rest).as_millis_f64()),
                _ => None,
            })
            .collect();
        let n = ms.len() as f64;
        let share = |f: &dyn Fn(f64) -> bool| ms.iter().filter(|x| f(**x)).count() as f64 / n;
        let body = share(&|x| (558.0..=627.0).contains(&x));
        assert!((0.985..=0.9965).contains(&body), "{body}");
        let tail = share(&|x| x > 627.0);
        assert!((0.0005..=0.002).contains(&tail), "{tail}");
        assert!(share(&|x| x > 1500.0) > 0.0);
        ms.sort_by(f64::total_cmp);
        assert!((ms[ms.len() / 2] - 598.0).abs() < 3.0);
        assert!(ms[0] > 540.0 && ms[ms.len() - 1] < 2205.0);
    }

    #[test]
    fn what_is_added_stands_on_the_delay_of_the_link() {
        let all = changes("1 h", "added = [\"0 % 0 ms\", \"50 % 2 ms\", \"100 % 10 ms\"]");
        let mut ms: Vec<f64> = all
            .iter()
            .filter_map(|t| match &t.change {
                Change::Delay(_, d) => Some(d.base.as_millis_f64() - 500.0 / 6.0),
                _ => None,
            })
            .collect();
        ms.sort_by(f64::total_cmp);
        assert!(ms[0] >= -0.001 && ms[ms.len() - 1] <= 10.001, "{} to {}", ms[0], ms[ms.len() - 1]);
        assert!((ms[ms.len() / 2] - 2.0).abs() < 0.2, "{}", ms[ms.len() / 2]);
    }

    #[test]
    fn losses_come_at_their_rate_and_mostly_one_by_one() {
        let all = changes("160 h", "preset = \"geo\"\nstep = \"10 s\"\nloss_every = \"3 min\"");
        let singles = all.iter().filter(|t| matches!(t.change, Change::Lose(..))).count() as f64;
        let longer = all.iter().filter(|t| matches!(t.change, Change::Down(..))).count() as f64;
        assert!((2980.0..3420.0).contains(&(singles + longer)), "{}", singles + longer);
        assert!((0.89..0.93).contains(&(singles / (singles + longer))));
    }

    #[test]
    fn quantiles_must_be_whole_and_rise() {
        let text = |rtt: &str| {
            let base = "[run]\nduration = \"1 s\"\n[source.dumbbell]\n[[flow]]\ncc = \"cubic\"\n";
            let text = format!("{base}[jitter]\nrtt = {rtt}\n");
            match Scenario::parse(&text, "t.toml", Path::new(""), &[]) {
                Err(e) => e.to_string(),
                Ok(s) => World::build(Arc::new(s), 1).err().map_or(String::new(), |e| e.to_string()),
            }
        };
        assert_eq!(text("[\"0 % 100 ms\", \"100 % 200 ms\"]"), "");
        assert!(text("[\"0 % 100 ms\", \"90 % 200 ms\"]").contains("100 %"));
        assert!(text("[\"0 % 300 ms\", \"100 % 200 ms\"]").contains("ascending"));
        assert!(text("[\"0 300 ms\"]").contains("no %"));
        assert!(text("[\"0 % 1 ms\", \"100 % 200 ms\"]").contains("other links"));
    }
}
