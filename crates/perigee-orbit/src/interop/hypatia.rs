// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State folders of Hypatia (satgenpy): export of a sky, and import as a sky.
//!
//! A folder has `tles.txt` (a line "planes slots", then element sets), `isls.txt` (two satellite
//! numbers per line), `ground_stations.txt` (number, name, latitude, longitude, height, x, y, z),
//! `description.txt` (maximum ranges), `gsl_interfaces_info.txt`, and a folder
//! `dynamic_state_<step>ms_for_<length>s` with `fstate_<ns>.txt`: lines "node, destination, next
//! hop, own interface, interface of the next hop"; the first file has all entries, later ones only
//! those that changed. Stations are numbered after the satellites. The interfaces of a satellite
//! are its ISLs in the order of `isls.txt`, followed by its radio; a station has one interface.
//! Unreachable destinations have -1 in the last three fields.

use crate::frames::WGS72;
use crate::links::planes::PlaneOptions;
use crate::links::visibility::Mask;
use crate::motion::fleet::Gravity;
use crate::motion::tle;
use crate::paths::tree::{DOWN, NOWHERE};
use crate::sky::config::*;
use crate::sky::policy::Policy;
use crate::sky::Sky;
use crate::stream::plan::Recorded;
use crate::stream::snapshot::TableScratch;
use perigee_timeline::GeoPoint;
use perigee_units::{files, names, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rate of a radio in Hypatia's files, in their unit.
const RADIO_SHARE: f64 = 1.0;

/// Writes the state folder of a sky, with forwarding towards all of its ground points.
///
/// # Errors
/// A property without an equivalent in such a folder, or a file that cannot be written.
pub fn write_folder(sky: &Arc<Sky>, folder: &Path) -> Result<(), String> {
    let spec = sky.spec();
    let isls = sky.constellation().isls_at(Nanos::ZERO)?;
    if spec.isls.is_dynamic() || spec.ground.iter().any(|g| g.relays) {
        return Err("a Hypatia folder holds neither ISLs that come and go nor relays".into());
    }
    if spec.attach != Policy::ShortestPath {
        return Err("forwarding towards every station follows the shortest path: set attach to it".into());
    }
    let (step_ms, length_s) = (spec.step.0 / 1_000_000, spec.duration.0.div_ceil(1_000_000_000));
    let state = folder.join(format!("dynamic_state_{step_ms}ms_for_{length_s}s"));
    std::fs::create_dir_all(&state)
        .map_err(|e| format!("cannot make {}: {}", state.display(), files::why(&e)))?;
    if state.is_symlink() {
        return Err(format!("cannot write to {}: it is a link; remove it", state.display()));
    }
    let put = |file: PathBuf, text: &str| files::write(&file, text.as_bytes());
    let pairs: Vec<[u32; 2]> = isls.pairs().collect();
    put(folder.join("tles.txt"), &elements(sky))?;
    put(folder.join("isls.txt"), &pairs.iter().map(|[a, b]| format!("{a} {b}\n")).collect::<String>())?;
    put(folder.join("ground_stations.txt"), &stations(sky))?;
    put(folder.join("description.txt"), &description(sky))?;
    let nodes = sky.constellation().len() + spec.ground.len();
    let radios: String = (0..nodes).map(|n| format!("{n},1,{RADIO_SHARE:.6}\n")).collect();
    put(folder.join("gsl_interfaces_info.txt"), &radios)?;
    let interfaces = Interfaces::new(sky.constellation().len(), &pairs);
    let bandwidth: String =
        (0..nodes).map(|n| format!("{n},{},{RADIO_SHARE:.6}\n", interfaces.radio(n))).collect();
    put(state.join("gsl_if_bandwidth_0.txt"), &bandwidth)?;
    let mut writer = Forwarding { sky, interfaces, scratch: TableScratch::default(), before: Vec::new() };
    for k in 0..spec.duration.0.div_ceil(spec.step.0) {
        perigee_units::stop::check()?;
        let t = spec.step * k;
        put(state.join(format!("fstate_{}.txt", t.0)), &writer.changes(t)?)?;
    }
    Ok(())
}

fn elements(sky: &Sky) -> String {
    let c = sky.constellation();
    let grid = match &sky.spec().satellites {
        Satellites::Shells(shells) if shells.len() == 1 => (shells[0].planes, shells[0].per_plane),
        _ => (1, c.len() as u32),
    };
    let mut text = format!("{} {}\n", grid.0, grid.1);
    for set in &c.elements {
        let [one, two] = set.lines();
        let _ = writeln!(text, "{}\n{one}\n{two}", set.name);
    }
    text
}

fn stations(sky: &Sky) -> String {
    let station = |(i, g): (usize, &GroundNode)| {
        let [x, y, z] = sky.spec().ellipsoid.ecef(g.place);
        let GeoPoint { lat_deg, lon_deg, height_m } = g.place;
        format!("{i},{},{lat_deg:.6},{lon_deg:.6},{height_m:.6},{x:.6},{y:.6},{z:.6}\n", g.name)
    };
    sky.spec().ground.iter().enumerate().map(station).collect()
}

/// Ranges equivalent to the elevation masks for the highest satellite, over a sphere.
fn description(sky: &Sky) -> String {
    let r = crate::motion::shell::EARTH_RADIUS_M;
    let heights = sky.constellation().elements.iter().map(|e| crate::motion::tle::mean_altitude_km(e) * 1e3);
    let h = heights.fold(0.0, f64::max);
    let range = |g: &GroundNode| match g.mask {
        Mask::Range(m) => m,
        Mask::Elevation(deg) => {
            let s = libm::sin(deg * crate::frames::RAD) * r;
            (s * s + 2.0 * r * h + h * h).sqrt() - s
        }
    };
    let ground = sky.spec().ground.iter().map(range).fold(0.0, f64::max);
    let low = r + sky.spec().isls.limits.grazing_height_m;
    let isl = 2.0 * ((r + h) * (r + h) - low * low).max(0.0).sqrt();
    format!("max_gsl_length_m={ground:.10}\nmax_isl_length_m={isl:.10}\n")
}

/// Interface numbers.
struct Interfaces {
    isl: BTreeMap<(u32, u32), u32>,
    isls: Vec<u32>,
}

impl Interfaces {
    fn new(satellites: usize, links: &[[u32; 2]]) -> Self {
        let mut all = Interfaces { isl: BTreeMap::new(), isls: vec![0; satellites] };
        for &[a, b] in links {
            for (from, to) in [(a, b), (b, a)] {
                all.isl.insert((from, to), all.isls[from as usize]);
                all.isls[from as usize] += 1;
            }
        }
        all
    }

    fn radio(&self, node: usize) -> u32 {
        self.isls.get(node).copied().unwrap_or(0)
    }
}

struct Forwarding<'a> {
    sky: &'a Sky,
    interfaces: Interfaces,
    scratch: TableScratch,
    before: Vec<u32>,
}

impl Forwarding<'_> {
    /// Entries of an instant that differ from the previous one.
    fn changes(&mut self, t: Nanos) -> Result<String, String> {
        let (n, stations) = (self.sky.constellation().len(), self.sky.spec().ground.len());
        let dests: Vec<usize> = (0..stations).collect();
        self.sky.snapshot_tables(t, &dests, &mut self.scratch).map_err(|e| e.to_string())?;
        let mut text = String::new();
        for (i, &next) in self.scratch.next.iter().enumerate() {
            let (dest, node) = (i / (n + stations), i % (n + stations));
            if node != n + dest && self.before.get(i) != Some(&next) {
                let target = n + dest;
                let next = if next == DOWN { target as u32 } else { next };
                let _ = writeln!(text, "{node},{target},{}", self.hop(node as u32, next));
            }
        }
        self.before.clone_from(&self.scratch.next);
        Ok(text)
    }

    fn hop(&self, node: u32, next: u32) -> String {
        if next == NOWHERE {
            return "-1,-1,-1".into();
        }
        let i = &self.interfaces;
        match (i.isl.get(&(node, next)), i.isl.get(&(next, node))) {
            (Some(own), Some(its)) => format!("{next},{own},{its}"),
            _ => format!("{next},{},{}", i.radio(node as usize), i.radio(next as usize)),
        }
    }
}

/// Content of a folder.
#[derive(Clone, Debug)]
pub struct State {
    /// Satellites, ISLs and stations; pairs and ports are unset.
    pub spec: SkySpec,
    /// Files of the forwarding states, in order of time.
    files: Vec<(Nanos, PathBuf)>,
    /// Pairs of satellites that `isls.txt` links, the lower number first.
    linked: BTreeSet<(u32, u32)>,
    /// Number of satellites in `tles.txt`.
    pub satellites: usize,
}

/// Reads a folder. `dynamic`: name of the subfolder of forwarding states, required if there are
/// several.
///
/// # Errors
/// A missing or damaged file, with its name and line.
pub fn read_folder(folder: &Path, dynamic: Option<&str>) -> Result<State, String> {
    let read = |name: &str| files::read(&folder.join(name));
    let text = read("tles.txt")?;
    let (_, sets) = text.split_once('\n').ok_or("tles.txt: there is only one line")?;
    let parsed = tle::parse(sets).map_err(|e| format!("tles.txt, counted from its second line: {e}"))?;
    let satellites = parsed.len();
    let isls = read("isls.txt")?;
    let links: Vec<(u32, u32)> =
        numbered(&isls).map(|(n, l)| isl(n, l, satellites)).collect::<Result<_, _>>()?;
    let linked = links.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    let ranges = read("description.txt")?;
    let range = |key: &str| {
        let value =
            ranges.lines().find_map(|l| l.strip_prefix(key)?.trim().strip_prefix('=')?.trim().parse().ok());
        value.ok_or_else(|| format!("description.txt: {key} is missing"))
    };
    let mask = Mask::Range(range("max_gsl_length_m")?);
    let stations = read("ground_stations.txt")?;
    let ground = numbered(&stations).map(|(n, l)| station(n, l, mask)).collect::<Result<_, _>>()?;
    let files = states(folder, dynamic)?;
    let step = files.get(1).map_or(Nanos::from_millis(100), |f| f.0 - files[0].0);
    let planes = PlaneOptions { min_altitude_km: 0.0, ..PlaneOptions::default() };
    let name = folder.join("tles.txt").display().to_string();
    let spec = SkySpec {
        satellites: Satellites::Elements { name, text: sets.into(), planes, gravity: Gravity::Wgs72 },
        isls: Isls::of(Pattern::List(links)),
        start: parsed.first().map(|t| t.epoch),
        ellipsoid: WGS72,
        ground,
        step,
        duration: files.last().map_or(step, |f| f.0 + step),
        ..SkySpec::default()
    };
    Ok(State { spec, files, linked, satellites })
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, l)| (n + 1, l.trim())).filter(|(_, l)| !l.is_empty())
}

fn isl(n: usize, line: &str, satellites: usize) -> Result<(u32, u32), String> {
    let ends: Vec<u32> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    match ends[..] {
        [a, b] if a != b && (a.max(b) as usize) < satellites => Ok((a, b)),
        _ => {
            Err(format!("isls.txt: line {n}: {line:?} is not a pair of satellites, 0 to {}", satellites - 1))
        }
    }
}

fn station(n: usize, line: &str, mask: Mask) -> Result<GroundNode, String> {
    let cells: Vec<&str> = line.split(',').collect();
    let wrong = || format!("ground_stations.txt: line {n}: {line:?} is not a station");
    if cells.len() < 5 {
        return Err(wrong());
    }
    names::check(cells[1]).map_err(|why| format!("{}: its name {why}", wrong()))?;
    let number = |i: usize| cells[i].trim().parse::<f64>().map_err(|_| wrong());
    let place = GeoPoint { lat_deg: number(2)?, lon_deg: number(3)?, height_m: number(4)? };
    Ok(GroundNode { mask, ..GroundNode::new(cells[1].trim(), GroundKind::Station, place) })
}

/// Files of forwarding states with their times, in order.
fn states(folder: &Path, dynamic: Option<&str>) -> Result<Vec<(Nanos, PathBuf)>, String> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(folder)
            .map_err(|e| format!("cannot read {}: {}", folder.display(), files::why(&e)))?;
        let mut all: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        all.sort();
        Ok(all)
    };
    let name = |p: &Path| p.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let fits = |p: &PathBuf| dynamic.map_or(name(p).starts_with("dynamic_state_"), |d| name(p) == d);
    let found: Vec<PathBuf> = list(folder)?.into_iter().filter(fits).collect();
    let [state] = &found[..] else {
        return Err(match (&found[..], dynamic) {
            ([], Some(d)) => format!("{}: there is no folder {d}", folder.display()),
            ([], None) => format!("{}: there is no folder dynamic_state_…", folder.display()),
            (several, _) => {
                let names: Vec<String> = several.iter().map(|p| name(p)).collect();
                format!("{}: name one of {} with --dynamic", folder.display(), names.join(", "))
            }
        });
    };
    let time = |p: &PathBuf| name(p).strip_prefix("fstate_")?.strip_suffix(".txt")?.parse().ok().map(Nanos);
    let mut files: Vec<(Nanos, PathBuf)> =
        list(state)?.into_iter().filter_map(|p| Some((time(&p)?, p))).collect();
    files.sort();
    let times: Vec<Nanos> = files.iter().map(|f| f.0).collect();
    complete(&times, promised(&name(state))).map_err(|why| format!("{}: {why}", state.display()))?;
    Ok(files)
}

/// Step and length in the name of a folder of forwarding states.
fn promised(name: &str) -> Option<(Nanos, Nanos)> {
    let (step, length) = name.strip_prefix("dynamic_state_")?.split_once("ms_for_")?;
    let step = Nanos::from_millis(step.parse().ok().filter(|ms| (1..=3_600_000).contains(ms))?);
    let length = length.strip_suffix('s')?.parse().ok().filter(|s| (1..=31_622_400).contains(s))?;
    Some((step, Nanos::from_secs(length)))
}

/// Checks that every instant has its file: an old state would silently fill a gap. If the name of
/// the folder has no step, the first two files define it.
fn complete(times: &[Nanos], promised: Option<(Nanos, Nanos)>) -> Result<(), String> {
    let last = times.last().copied().unwrap_or(Nanos::ZERO);
    let step = promised.map_or_else(|| times.get(1).map_or(last, |t| *t - times[0]), |p| p.0).max(Nanos(1));
    let end = promised.map_or(last + step, |p| p.1);
    let expected = end.0.div_ceil(step.0);
    let all = format!(
        "{end} every {step} are {expected} files, fstate_0.txt to fstate_{}.txt; there are {}",
        step.0 * (expected - 1),
        times.len()
    );
    for k in 0..expected {
        match times.get(k as usize) {
            Some(t) if *t == step * k => {}
            Some(t) if *t < step * k => {
                return Err(format!("fstate_{}.txt is between the steps: {all}", t.0));
            }
            _ => return Err(format!("fstate_{}.txt is missing: {all}", step.0 * k)),
        }
    }
    match times.get(expected as usize) {
        Some(t) => Err(format!("fstate_{}.txt is behind the end: {all}", t.0)),
        None => Ok(()),
    }
}

impl State {
    /// Paths of pairs of stations, given by number, at every instant of the folder.
    ///
    /// # Errors
    /// A damaged file, a loop, or a hop to a node that does not exist or over a link that is not in
    /// `isls.txt`.
    pub fn paths(&self, pairs: &[(usize, usize)]) -> Result<Recorded, String> {
        let nodes = self.satellites + self.spec.ground.len();
        let mut next: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        let mut out = Recorded::default();
        for (t, file) in &self.files {
            for (n, line) in numbered(&files::read(file)?) {
                let cells: Vec<i64> = line.split(',').filter_map(|c| c.trim().parse().ok()).collect();
                match cells[..] {
                    [at, to, hop, ..] if at.max(to).max(hop) < nodes as i64 && at.min(to) >= 0 => {
                        next.insert((at as u32, to as u32), hop);
                    }
                    _ => {
                        return Err(format!(
                            "{}: line {n}: {line:?} is not a forwarding entry",
                            file.display()
                        ))
                    }
                }
            }
            let path = |&(from, to): &(usize, usize)| self.follow(&next, from, to);
            let paths = pairs.iter().map(path).collect::<Result<_, _>>();
            out.push(*t, paths.map_err(|e| format!("{}: {e}", file.display()))?);
        }
        Ok(out)
    }

    fn follow(
        &self,
        next: &BTreeMap<(u32, u32), i64>,
        from: usize,
        to: usize,
    ) -> Result<Option<Vec<u32>>, String> {
        let vertex = |g: usize| (self.satellites + g) as u32;
        let (mut here, target, mut path) = (vertex(from), vertex(to), Vec::new());
        loop {
            match next.get(&(here, target)) {
                Some(&hop) if hop >= 0 => {
                    self.linked(here, hop as u32)?;
                    here = hop as u32;
                }
                Some(_) => return Ok(None),
                None => {
                    return Err(format!(
                        "no line up to here tells where node {here} sends what is for {target}"
                    ))
                }
            }
            if here == target {
                return Ok(Some(path));
            }
            if path.contains(&here) {
                return Err(format!("the way from station {from} to {to} comes to node {here} twice"));
            }
            path.push(here);
        }
    }

    /// Checks that a hop is possible: between two satellites over an ISL, or between a station and
    /// a satellite.
    fn linked(&self, from: u32, to: u32) -> Result<(), String> {
        let station = |node: u32| node as usize >= self.satellites;
        match (station(from), station(to)) {
            (false, false) if !self.linked.contains(&(from.min(to), from.max(to))) => {
                Err(format!("satellite {from} sends to satellite {to}, to which isls.txt has no link"))
            }
            (true, true) => Err(format!("station {from} sends to station {to} without a satellite between")),
            _ => Ok(()),
        }
    }
}
