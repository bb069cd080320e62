// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recorded networks: `[source.path_log]` and `[source.trace]`.

use crate::file::error::{Problem, ScenarioError};
use crate::file::field::Named;
use crate::file::scenario::Scenario;
use crate::file::sources::{PathLog, Trace};
use crate::file::vary::Varied;
use crate::world::network::{refuse_changes, Network, PairPlace};
use crate::world::ports::{PortReport, PortTable, Settled};
use crate::world::small::micro;
use perigee_sources::leoem::{self, Hops, PathOptions};
use perigee_sources::leoem_outages::Breaks;
use perigee_sources::mahimahi::{AtEnd, DelayTrace, RateTrace};
use perigee_sources::topology::{chain, ChainSpec};
use perigee_timeline::Delay;
use perigee_units::files;
use perigee_units::{BitRate, Nanos};
use std::path::Path;

/// Names of the ends of a log, as in flows.
const ENDS: [&str; 2] = ["end1", "end2"];

fn read(key: &str, file: &Named) -> Result<String, ScenarioError> {
    Ok(files::read(&file.path).map_err(|why| Problem::new(key, why).at(&file.place))?)
}

/// Builds the network of a path log.
///
/// # Errors
/// A damaged file, or one too short for the run.
pub fn path_log(scenario: &Scenario, p: &PathLog, seed: u64) -> Result<Network, ScenarioError> {
    refuse_changes(scenario, "no effect: a recorded path has its own changes")?;
    let key = "source.path_log.file";
    let text = read(key, &p.file)?;
    let wrong =
        |why: String| Problem::new(key, format!("{}: {why}", p.file.path.display())).at(&p.file.place);
    let log = leoem::PathLog::parse(&text).map_err(|e| wrong(e.to_string()))?;
    of_log(scenario, &log, p, ENDS, seed).map_err(|e| match e {
        Unfit::Log(why) => wrong(why).into(),
        Unfit::Scenario(e) => e,
    })
}

/// Reason why a log cannot be used as a network.
pub(crate) enum Unfit {
    /// The log is too short, or has no path.
    Log(String),
    /// The scenario is inconsistent.
    Scenario(ScenarioError),
}

/// Network of a log in memory; the names are those of its ends.
pub(crate) fn of_log(
    scenario: &Scenario,
    log: &leoem::PathLog,
    p: &PathLog,
    ends: [&str; 2],
    seed: u64,
) -> Result<Network, Unfit> {
    let first = p.first.0.div_ceil(Nanos::from_secs(1).0) as usize;
    // The queue is sized at time zero, or at the first second with a path.
    let path = log.seconds.iter().skip(first).flatten().next();
    let at_start = log.seconds.get(first).is_some_and(Option::is_some);
    let hops = path.map_or(0, |path| path.delays.len());
    let table = PortTable::new(&scenario.ports, &["hop", "dish", "host"], &[]).map_err(Unfit::Scenario)?;
    table.refuse_loss("no effect: a recorded path has no random loss").map_err(Unfit::Scenario)?;
    let hop = table.settled("hop", "");
    let given = |class| table.names(class).then(|| table.settled(class, ""));
    let (dish, host) = (given("dish"), given("host"));
    // One full packet forward and its ACK back.
    let both = |at: &Settled| [1500, 52].iter().fold(Nanos::ZERO, |sum, bytes| sum + at.transmission(*bytes));
    let of_hosts = if host.is_some() { 2 } else { 0 };
    let serialisation = both(dish.as_ref().unwrap_or(&hop)) * u64::from(hops > 0)
        + both(&hop) * hops.saturating_sub(1) as u64
        + host.as_ref().map_or(Nanos::ZERO, both) * of_hosts as u64;
    let base = path.map_or(Nanos::ZERO, |path| path.rtt()) + serialisation;
    let port = hop.spec(base);
    let [dish, host] = [dish, host].map(|at| at.map(|at| at.spec(base)));
    let ports = [("hop", Some(&port)), ("dish", dish.as_ref()), ("host", host.as_ref())]
        .into_iter()
        .filter_map(|(class, spec)| Some(PortReport::new(class, class, spec?)))
        .collect();
    let options = PathOptions {
        hops: if p.hops == "nodes" { Hops::Nodes } else { Hops::Positions },
        first: p.first,
        duration: Some(scenario.run.duration),
        port,
        dish,
        host,
        order: p.reordering,
        breaks: p.is_broken().then(|| breaks(scenario, seed)),
    };
    let mut timeline = log.timeline(&options).map_err(Unfit::Log)?;
    for (node, name) in timeline.header.nodes.iter_mut().zip(ends) {
        node.name = name.into();
    }
    let gaps = log.seconds.iter().skip(first).take(scenario.run.duration.0.div_ceil(1_000_000_000) as usize);
    let gaps = gaps.filter(|s| s.is_none()).count();
    Ok(Network {
        source: Box::new(timeline.reader()),
        header: timeline.header,
        pairs: vec![PairPlace {
            from: ends[0].into(),
            to: ends[1].into(),
            forward: leoem::FORWARD,
            reverse: leoem::REVERSE,
            part: false,
        }],
        ports,
        base_rtts: vec![at_start.then_some(base)],
        hops: vec![hops + of_hosts],
        longest: log.seconds.iter().flatten().map(|path| path.delays.len()).max().unwrap_or(0) + of_hosts,
        bottlenecks: vec![0],
        report: vec![format!("{}: {gaps} seconds of the run have no path", named(&p.file.path))],
        warnings: Vec::new(),
    })
}

/// A log generated for the run has no file.
fn named(file: &Path) -> String {
    if file.as_os_str().is_empty() {
        format!("preset {}", crate::file::sources::LEOEM)
    } else {
        file.display().to_string()
    }
}

fn breaks(scenario: &Scenario, seed: u64) -> Breaks {
    let h = &scenario.handover;
    let seed = scenario.run.vary.seed_of(Varied::Outages, seed);
    Breaks { per_delay: h.per_delay, outage: (h.length.low, h.length.high), seed, mode: h.mode }
}

/// Builds the network of a rate trace and, if given, a delay trace.
///
/// # Errors
/// Damaged files.
pub fn trace(scenario: &Scenario, t: &Trace, seed: u64) -> Result<Network, ScenarioError> {
    let (rate_key, delay_key) = ("source.trace.rate_file", "source.trace.delay_file");
    let rates = rates(rate_key, &t.rate_file)?;
    let reverse =
        t.reverse_rate_file.as_ref().map(|file| self::rates("source.trace.reverse_rate_file", file));
    let reverse = reverse.transpose()?;
    let delays = match &t.delay_file {
        None => None,
        Some(file) => {
            let text = read(delay_key, file)?;
            let wrong = |why: String| {
                Problem::new(delay_key, format!("{}: {why}", file.path.display())).at(&file.place)
            };
            Some(DelayTrace::parse(&text, t.delay_step).map_err(|e| wrong(e.to_string()))?)
        }
    };
    let duration = scenario.run.duration;
    let spec = ChainSpec { rtt: t.rtt, loss: t.loss, order: t.reordering, ..ChainSpec::default() };
    let mut net = micro(scenario, chain(&spec), seed, |built| {
        let way = built.bottlenecks[0];
        let mut changes = rates.changes(way.forward.port, t.rate_step, duration, AtEnd::Loop);
        if let Some(back) = &reverse {
            changes.extend(back.changes(way.reverse.port, t.rate_step, duration, AtEnd::Loop));
        }
        for link in [way.forward.link, way.reverse.link] {
            let Some(d) = &delays else { continue };
            // The state at time zero is part of the header, from which queues are sized.
            built.header.links[link.ix()].delay = Delay::constant(d.delays[0]);
            changes.extend(d.changes(link, duration, AtEnd::Loop));
        }
        changes
    })?;
    let files = [
        (Some(&t.rate_file), Some(rates.length())),
        (t.reverse_rate_file.as_ref(), reverse.as_ref().map(RateTrace::length)),
        (t.delay_file.as_ref(), delays.as_ref().map(DelayTrace::length)),
    ];
    for (file, length) in files {
        let (Some(file), Some(length)) = (file, length) else { continue };
        if length < duration {
            let times = duration.as_secs_f64() / length.as_secs_f64();
            let file = file.path.display();
            net.warnings.push(format!(
                "{file} lasts {length}, the run {duration}: it is played {times:.1} times in succession"
            ));
        }
    }
    let mean = mean_rate(&rates);
    net.report.push(format!("{}: {} long, mean rate {mean}", t.rate_file.path.display(), rates.length()));
    Ok(net)
}

fn rates(key: &str, file: &Named) -> Result<RateTrace, ScenarioError> {
    let wrong = |why: String| Problem::new(key, format!("{}: {why}", file.path.display())).at(&file.place);
    Ok(RateTrace::parse(&read(key, file)?).map_err(|e| wrong(e.to_string()))?)
}

/// Mean rate: 1500 bytes per delivery opportunity, over the length of the trace.
fn mean_rate(rates: &RateTrace) -> BitRate {
    let seconds = rates.length().as_secs_f64().max(1e-3);
    BitRate((rates.opportunities_ms.len() as f64 * 1500.0 * 8.0 / seconds) as u64)
}
