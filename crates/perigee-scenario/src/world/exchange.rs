// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Networks over time to and from files: timelines, state folders of Hypatia, path logs of LeoEM.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::Scenario;
use crate::file::sources::Source;
use crate::file::sources::LEOEM;
use crate::world::from_source;
use crate::world::saved;
use crate::world::sky;
use crate::world::survey;
use perigee_orbit::interop::hypatia;
use perigee_orbit::{Sky, SkySpec};
use perigee_sources::leoem::{Hops, PathLog, PathOptions};
pub use perigee_timeline::diff::Names;
use perigee_timeline::view::{Contents, PairView, Watched, Watcher};
use perigee_timeline::{diff, store, ChunkSource, Header};
use perigee_units::files;
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

fn at_file(file: &Path) -> impl Fn(String) -> String + '_ {
    move |why| format!("{}: {why}", file.display())
}

fn problem(key: &str, why: String) -> ScenarioError {
    Problem::new(key, why).into()
}

/// Writes the network of a scenario, whatever its source. Returns warnings, as all exports do.
///
/// # Errors
/// If the network cannot be built or written.
pub fn export_timeline(scenario: &Scenario, seed: u64, file: &Path) -> Result<Vec<String>, ScenarioError> {
    let scenario = crate::world::traffic::expand(&Arc::new(scenario.clone()), seed);
    let mut net = from_source::build(&scenario, seed)?;
    write(&net.header, net.source.as_mut(), file).map_err(|e| problem("export", e))?;
    Ok(net.warnings)
}

/// Summary of a network that was streamed without being kept.
pub struct Passed {
    /// State at time zero.
    pub header: Header,
    /// Contents of the timeline.
    pub contents: Contents,
    /// Views of the first pairs.
    pub views: Vec<PairView>,
    /// Warnings about the conversion.
    pub warnings: Vec<String>,
}

/// Builds the network of a scenario chunk by chunk: writes it to a file, if given, and records the
/// view of the first `watched` pairs every `step`.
///
/// # Errors
/// If the network cannot be built or written.
pub fn pass_timeline(
    scenario: &Scenario,
    seed: u64,
    file: Option<&Path>,
    (watched, step): (usize, Nanos),
) -> Result<Passed, ScenarioError> {
    let scenario = crate::world::traffic::expand(&Arc::new(scenario.clone()), seed);
    let mut net = from_source::build(&scenario, seed)?;
    let wrong = |e: String| problem("timeline", e);
    let ways = crate::world::saved::ways(&net.header.pairs).map_err(wrong)?;
    let watchers = ways.iter().take(watched).map(|&way| Watcher::new(&net.header, way, step)).collect();
    let mut source = Watched::new(&net.header, net.source.as_mut(), watchers);
    match file {
        Some(file) => write(&net.header, &mut source, file).map_err(wrong)?,
        None => while source.next_chunk().map_err(wrong)?.is_some() {},
    }
    let (contents, end) = (source.contents, net.header.duration);
    let views = source.watchers.into_iter().map(|w| w.end(end)).collect();
    Ok(Passed { header: net.header, contents, views, warnings: net.warnings })
}

fn write(header: &Header, source: &mut dyn ChunkSource, file: &Path) -> Result<(), String> {
    let out = files::create(file)?;
    store::save_stream(header, source, BufWriter::new(out)).map_err(|e| at_file(file)(e.to_string()))
}

/// Writes the forwarding state of a sky as a state folder of Hypatia.
///
/// # Errors
/// A network that such a folder cannot represent.
pub fn export_hypatia(scenario: &Scenario, seed: u64, folder: &Path) -> Result<Vec<String>, ScenarioError> {
    let look = survey::look(scenario, &[], seed, false)?;
    hypatia::write_folder(&look.sky, folder).map_err(|e| problem("export", e))?;
    Ok(look.warnings)
}

/// Writes the path of a pair, second by second, in the format of LeoEM.
///
/// # Errors
/// A source without satellites, more than one pair, or a file that cannot be written.
pub fn export_leoem(
    scenario: &Scenario,
    ends: &[(String, String)],
    seed: u64,
    file: &Path,
) -> Result<Vec<String>, ScenarioError> {
    let (log, warnings) = leoem_log(scenario, ends, seed)?;
    // The caller has created the file at this path.
    let done = files::create(file).and_then(|mut out| {
        out.write_all(log.to_text().as_bytes())
            .map_err(|e| format!("cannot write {}: {}", file.display(), files::why(&e)))
    });
    done.map_err(|why| problem("export", why))?;
    Ok(warnings)
}

fn leoem_log(
    scenario: &Scenario,
    ends: &[(String, String)],
    seed: u64,
) -> Result<(PathLog, Vec<String>), ScenarioError> {
    if let Source::Constellation(c) = &scenario.source {
        if c.is_leoem() {
            let pairs = sky::pairs(scenario)?;
            return match pairs[..] {
                [pair] if ends.is_empty() => Ok((sky::leoem_log(scenario, c, pair)?, c.remarks())),
                _ => {
                    Err(problem("export", format!("{} requires exactly one pair of nodes with flows", LEOEM)))
                }
            };
        }
    }
    let look = survey::look(scenario, ends, seed, false)?;
    if look.pairs.len() != 1 {
        let n = look.pairs.len();
        return Err(problem(
            "export",
            format!("a path log contains one pair, and there are {n}: name the ends of one"),
        ));
    }
    let log = look.sky.path_log(look.ids[0]).map_err(|e| problem("export", e))?;
    Ok((log, look.warnings))
}

/// Reads a state folder of Hypatia and writes the timeline of a pair of its stations (of all pairs
/// if none is given).
///
/// # Errors
/// Missing or damaged files, unknown stations.
pub fn import_hypatia(
    folder: &Path,
    dynamic: Option<&str>,
    ends: &[(String, String)],
    file: &Path,
) -> Result<(), String> {
    let state = hypatia::read_folder(folder, dynamic)?;
    let names: Vec<&str> = state.spec.ground.iter().map(|g| g.name.as_str()).collect();
    let station = |name: &String| {
        let found = names.iter().position(|n| n == name);
        found.ok_or_else(|| format!("ground_stations.txt: no such station: {name:?}"))
    };
    let mut pairs = Vec::new();
    for (from, to) in ends {
        let (a, b) = (station(from)?, station(to)?);
        pairs.extend([(a, b), (b, a)]);
    }
    if pairs.is_empty() {
        let n = names.len();
        pairs = (0..n).flat_map(|a| (0..n).filter(move |&b| b != a).map(move |b| (a, b))).collect();
    }
    let recorded = state.paths(&pairs)?;
    let title = format!("Hypatia's state of {} stations", names.len());
    let sky = Sky::new(SkySpec { title, pairs, ..state.spec.clone() }).map_err(|e| e.to_string())?;
    // Its paths refer to satellites by their positions in the file: none may be missing.
    if sky.constellation().len() != state.satellites {
        return Err(sky.warnings().join("; "));
    }
    let sky = Arc::new(sky);
    write(&sky.header(), &mut sky.replay(recorded), file)
}

/// Reads a path log of LeoEM and writes its timeline.
///
/// # Errors
/// A damaged log.
pub fn import_leoem(log: &Path, file: &Path) -> Result<(), String> {
    let text = files::read(log)?;
    let parsed = PathLog::parse(&text).map_err(|e| at_file(log)(e.to_string()))?;
    let options = PathOptions { hops: Hops::Nodes, ..PathOptions::default() };
    let timeline = parsed.timeline(&options).map_err(at_file(log))?;
    write(&timeline.header, &mut timeline.reader(), file)
}

/// Maximum number of instants in a comparison of two timelines, all of which are kept in memory.
const MOST_INSTANTS: u64 = 2_000_000;

/// Compares two saved timelines, with the names of each translated by `names`.
///
/// # Errors
/// Files that are not timelines.
pub fn diff_files(
    [a, b]: [&Path; 2],
    names: &Names,
    step_ns: u64,
    tolerance_ns: u64,
) -> Result<Json, String> {
    let (a, b) = (saved::load(a)?, saved::load(b)?);
    if let Some(stranger) = names.renamed.keys().find(|old| !a.has_node(old) && !b.has_node(old)) {
        return Err(format!("neither timeline has a node {stranger:?} to rename"));
    }
    let (a, b) = (names.apply(a), names.apply(b));
    let (step, longest) = (Nanos(step_ns), a.header.duration.max(b.header.duration));
    if step == Nanos::ZERO || longest.0 / step.0 >= MOST_INSTANTS {
        return Err(format!(
            "a step of {step} divides {longest} into more than {MOST_INSTANTS} instants: use a longer step"
        ));
    }
    let d = diff::diff(&a, &b, step, Nanos(tolerance_ns));
    Ok(json!({ "same": d.is_empty(), "diff": d }))
}
