// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The satellites of a sky: names, motion, lasers.

use crate::lasers::{plus_grid, LaserGraph};
use crate::motion::{satellite_name, shell_elements, Gravity, Motion, Sgp4};
use crate::planes::{arrange, PlaneOptions};
use crate::routing::MAX_SATELLITES;
use crate::shell::{Shell, ShellMotion};
use crate::sky::SkyError;
use crate::spec::{Lasers, Satellites, SkySpec};
use crate::time::Epoch;
use crate::tle::{self, Tle};
use std::collections::BTreeSet;

/// Element sets are good for days; older ones than this are worth a remark.
const STALE_DAYS: f64 = 14.0;

/// All satellites of a sky.
#[derive(Debug)]
pub struct Constellation {
    /// Name of each.
    pub names: Vec<String>,
    /// Calendar time of t = 0.
    pub start: Epoch,
    /// How they move.
    pub motion: Motion,
    /// Who talks to whom.
    pub lasers: LaserGraph,
    /// What a person should know about it.
    pub report: Vec<String>,
}

impl Constellation {
    /// Builds it.
    ///
    /// # Errors
    /// When the shell or the file makes no constellation.
    pub fn new(spec: &SkySpec) -> Result<Self, SkyError> {
        match &spec.satellites {
            Satellites::Shell(shell) => {
                let start = spec.start.unwrap_or(Epoch::Y2000);
                generated(shell, start, Motion::Shell(ShellMotion::new(*shell, start)), &spec.lasers)
            }
            Satellites::ShellBySgp4 { shell, revs_per_day } => {
                let start = spec.start.unwrap_or(Epoch::Y2000);
                let sets = shell_elements(shell, *revs_per_day, start);
                generated(shell, start, Motion::Sgp4(prepare(&sets, Gravity::Wgs72)?), &spec.lasers)
            }
            Satellites::Tle { name, text, planes, gravity } => {
                from_tles(name, text, planes, *gravity, spec.start, &spec.lasers)
            }
        }
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// No satellite at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

fn prepare(sets: &[Tle], gravity: Gravity) -> Result<Vec<Sgp4>, SkyError> {
    sets.iter().map(|t| Sgp4::new(t, gravity).map_err(SkyError::Spec)).collect()
}

fn graph(satellites: usize, lasers: &Lasers, grid: Vec<(u32, u32)>) -> Result<LaserGraph, SkyError> {
    if satellites > MAX_SATELLITES {
        return Err(SkyError::Spec(format!(
            "{satellites} satellites: at most {MAX_SATELLITES} are possible"
        )));
    }
    let links = match lasers {
        Lasers::PlusGrid => grid,
        Lasers::None => Vec::new(),
        Lasers::List(links) => links.clone(),
    };
    if let Some((a, b)) = links.iter().find(|(a, b)| (*a).max(*b) as usize >= satellites) {
        return Err(SkyError::Spec(format!("a laser link from satellite {a} to {b} of {satellites}")));
    }
    Ok(LaserGraph::new(satellites, &links))
}

fn generated(
    shell: &Shell,
    start: Epoch,
    motion: Motion,
    lasers: &Lasers,
) -> Result<Constellation, SkyError> {
    shell.check().map_err(SkyError::Spec)?;
    let names = (0..shell.planes).flat_map(|p| (0..shell.per_plane).map(move |s| satellite_name(p, s)));
    let report = vec![format!(
        "{} x {} satellites at {:.0} km and {} degrees, {:?}, from {start}",
        shell.planes,
        shell.per_plane,
        shell.altitude_m / 1e3,
        shell.inclination_deg,
        shell.phasing
    )];
    let lasers = graph(shell.satellites(), lasers, plus_grid(shell))?;
    Ok(Constellation { names: names.collect(), start, motion, lasers, report })
}

fn from_tles(
    file: &str,
    text: &str,
    options: &PlaneOptions,
    gravity: Gravity,
    start: Option<Epoch>,
    lasers: &Lasers,
) -> Result<Constellation, SkyError> {
    let sets = tle::parse(text).map_err(|e| SkyError::Tle(file.to_string(), e))?;
    let motion = prepare(&sets, gravity)?;
    let newest = sets.iter().map(|s| s.epoch).max().unwrap_or(Epoch::Y2000);
    let start = start.unwrap_or(newest);
    let found = arrange(&sets, &motion, newest, options);
    if found.kept.is_empty() {
        let km = options.min_altitude_km;
        return Err(SkyError::Spec(format!("{file}: no satellite flies at {km} km or higher")));
    }
    let mut report =
        vec![format!("{file}: {} satellites, newest epoch {newest}, run from {start}", sets.len())];
    report.extend(found.report());
    report.extend(stale(&sets, &found.kept, start));
    let names = unique_names(&sets, &found.kept);
    let lasers = graph(found.kept.len(), lasers, found.links)?;
    let motion = Motion::Sgp4(found.kept.iter().map(|&i| motion[i].clone()).collect());
    Ok(Constellation { names, start, motion, lasers, report })
}

fn stale(sets: &[Tle], kept: &[usize], start: Epoch) -> Option<String> {
    let age_days = |i: &&usize| start.minutes_since(sets[**i].epoch).abs() / 1440.0;
    let old = kept.iter().filter(|i| age_days(i) > STALE_DAYS).count();
    (old > 0).then(|| {
        format!("{old} element sets are more than {STALE_DAYS} days from {start}: positions are guesses")
    })
}

/// Names as in the file; a name that comes twice gets its catalogue number.
fn unique_names(sets: &[Tle], kept: &[usize]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut name = |i: &usize| {
        let set = &sets[*i];
        if seen.insert(set.name.as_str()) {
            set.name.clone()
        } else {
            format!("{} ({})", set.name, set.catalogue)
        }
    };
    kept.iter().map(&mut name).collect()
}
