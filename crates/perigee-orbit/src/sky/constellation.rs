// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Satellites of a sky: names, places, motion, ISLs.

use crate::links::isls::{plus_grid, IslGraph, Limits, Near};
use crate::links::lasers::{is_down, LinkOutages};
use crate::links::planes::{arrange, Place, PlaneOptions};
use crate::motion::fleet::{satellite_name, shell_elements, Gravity, Group, Motion, Sgp4};
use crate::motion::omm;
use crate::motion::positions::Positions;
use crate::motion::shell::MU_M3_S2;
use crate::motion::shell::{Phasing, Propagation, Shell, ShellMotion};
use crate::motion::tle::mean_altitude_km;
use crate::motion::tle::{self, Tle};
use crate::motion::validity;
use crate::paths::tree::MAX_SATELLITES;
use crate::sky::config::{Isls, Pattern, Satellites, SkySpec};
use crate::sky::error::SkyError;
use crate::sky::plugin::{failed, IslFunction, NetView};
use crate::time::Epoch;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Satellites of a sky.
pub struct Constellation {
    /// Name of each satellite.
    pub names: Vec<String>,
    /// Shell, plane and slot of each satellite, if it has them.
    pub places: Vec<Option<Place>>,
    /// Mean elements of each satellite: from the file or, for a generated shell, those of its
    /// circular orbits at the start.
    pub elements: Vec<Tle>,
    /// Calendar time of t = 0.
    pub start: Epoch,
    /// Propagators.
    pub motion: Motion,
    /// Permanent links.
    fixed: Arc<IslGraph>,
    /// Shell of each satellite with ISLs.
    group: Vec<Option<u32>>,
    isls: Isls,
    function: Option<Arc<dyn IslFunction>>,
    seed: u64,
    duration: Nanos,
    /// With faults of lasers: the latest selections of links, by instant, and by number of the window.
    installed: Mutex<BTreeMap<(Nanos, u64), Arc<Installed>>>,
    /// Human-readable summary.
    pub report: Vec<String>,
    /// Human-readable warnings.
    pub warnings: Vec<String>,
}

/// Number of selections that are kept; a chunk of the timeline needs a few.
const MOST_SELECTIONS: usize = 8;

/// Length of the windows for which outages of lasers are drawn and kept.
const WINDOW: Nanos = Nanos::from_secs(600);

/// Links of a selection, with the outages of their lasers in a window.
struct Installed {
    graph: Arc<IslGraph>,
    /// Of each link, in the order of the graph: those that end after the start of the window.
    outages: Vec<Vec<Range<Nanos>>>,
    /// Instants at which an outage begins or ends, in order: those in the window, and the latest
    /// before it.
    turns: Vec<Nanos>,
    /// Of each link: outages that begin after the window.
    next: Vec<Peekable<LinkOutages>>,
}

impl Installed {
    /// The outages between two instants, `from` exclusive; `next`: from there on, or from earlier on.
    fn new(graph: Arc<IslGraph>, next: Vec<Peekable<LinkOutages>>, from: Nanos, end: Nanos) -> Self {
        let mut w = Installed { graph, outages: Vec::new(), turns: Vec::new(), next };
        let mut before = None;
        for link in &mut w.next {
            let mut of = Vec::new();
            while let Some(o) = link.next_if(|o| o.start < end) {
                for turn in [o.start, o.end] {
                    if turn <= from {
                        before = before.max(Some(turn));
                    } else {
                        w.turns.push(turn);
                    }
                }
                if o.end > from {
                    of.push(o);
                }
            }
            w.outages.push(of);
        }
        w.sort_turns(before);
        w
    }

    /// A later window.
    fn after(&self, from: Nanos, end: Nanos) -> Self {
        let mut w = Installed::new(self.graph.clone(), self.next.clone(), from, end);
        let mut before = None;
        for (new, old) in w.outages.iter_mut().zip(&self.outages) {
            let lasting = old.iter().filter(|o| o.end > from).cloned();
            w.turns.extend(lasting.clone().map(|o| o.end));
            *new = lasting.chain(std::mem::take(new)).collect();
        }
        for turn in self.turns.iter().filter(|t| **t <= from) {
            before = before.max(Some(*turn));
        }
        w.sort_turns(before);
        w
    }

    /// Puts the turns in order, after the latest one before the window.
    fn sort_turns(&mut self, before: Option<Nanos>) {
        self.turns.extend(before);
        self.turns.sort_unstable();
        self.turns.dedup();
    }
}

/// Satellites without ISLs.
struct Fleet {
    names: Vec<String>,
    places: Vec<Option<Place>>,
    elements: Vec<Tle>,
    start: Epoch,
    motion: Motion,
    grid: Vec<(u32, u32)>,
    group: Vec<Option<u32>>,
    /// Satellite number of each set in a file; `None` = excluded.
    numbers: Option<Vec<Option<u32>>>,
    report: Vec<String>,
    warnings: Vec<String>,
}

impl Constellation {
    /// Builds the constellation.
    ///
    /// # Errors
    /// If the shells or the file do not define a valid constellation.
    pub fn new(spec: &SkySpec) -> Result<Self, SkyError> {
        let mut fleet = match &spec.satellites {
            Satellites::Shells(shells) => generated(shells, spec)?,
            Satellites::Elements { name, text, planes, gravity } => {
                from_elements(name, text, planes, (*gravity, spec))?
            }
            Satellites::Both(shells, elements) => both(shells, elements, spec)?,
        };
        if spec.later > Nanos::ZERO {
            fleet.report.push(format!("the run begins {} later in their motion", spec.later));
        }
        let n = fleet.names.len();
        if n > MAX_SATELLITES {
            return Err(SkyError::Spec(format!("{n} satellites: at most {MAX_SATELLITES} are possible")));
        }
        let links = match &spec.isls.pattern {
            Pattern::PlusGrid => fleet.grid,
            Pattern::Nearest(_) | Pattern::Function | Pattern::None => Vec::new(),
            Pattern::List(links) => renumbered(links, fleet.numbers.as_deref(), n)?,
        };
        if links.is_empty() && !spec.isls.is_dynamic() && !spec.isls.faults.is_none() {
            let reason =
                "these satellites have no inter-satellite links, so that faults of lasers (isl_failed, \
                          isl_failure_every, isl_pointing_every) have no effect: remove those keys";
            return Err(SkyError::Spec(reason.into()));
        }
        Ok(Constellation {
            names: fleet.names,
            places: fleet.places,
            elements: fleet.elements,
            start: fleet.start,
            motion: fleet.motion,
            fixed: Arc::new(IslGraph::new(n, &links)),
            group: fleet.group,
            isls: spec.isls.clone(),
            function: spec.plugins.isls.clone(),
            seed: spec.seed,
            duration: spec.duration,
            installed: Mutex::default(),
            report: fleet.report,
            warnings: fleet.warnings,
        })
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no satellites.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Limits of the links.
    pub fn limits(&self) -> Limits {
        self.isls.limits
    }

    /// Instant since which the links are those at `t`: instants with the same result share their
    /// links.
    pub fn isls_since(&self, t: Nanos) -> Nanos {
        let since = self.selected_since(t);
        if !self.has_laser_faults() {
            return since;
        }
        // A satellite that has decayed is reported by `isls_at`.
        let Ok(installed) = self.installed(t) else { return t };
        let turned = installed.turns.partition_point(|turn| *turn <= t).checked_sub(1);
        turned.map_or(since, |last| since.max(installed.turns[last]))
    }

    fn selected_since(&self, t: Nanos) -> Nanos {
        if !self.isls.is_dynamic() {
            return Nanos::ZERO;
        }
        let period = self.isls.period;
        let choice = period * (t.0 / period.0);
        let settled = choice + self.isls.set_up.min(period);
        if choice > Nanos::ZERO && t >= settled {
            settled
        } else {
            choice
        }
    }

    /// The ISLs that carry packets at `t`.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn isls_at(&self, t: Nanos) -> Result<Arc<IslGraph>, String> {
        if !self.has_laser_faults() {
            return self.selected_at(t);
        }
        let installed = self.installed(t)?;
        let links = installed.graph.pairs().zip(&installed.outages);
        let up: Vec<(u32, u32)> =
            links.filter(|(_, outages)| !is_down(outages, t)).map(|([a, b], _)| (a, b)).collect();
        Ok(Arc::new(IslGraph::new(self.len(), &up)))
    }

    /// Whether lasers lose their pointing or fail.
    pub fn has_laser_faults(&self) -> bool {
        !self.isls.faults.is_none()
    }

    /// Times at which the link between two satellites is down because of its lasers.
    pub fn outages_of(&self, a: u32, b: u32) -> LinkOutages {
        self.isls.faults.outages(self.seed, [a, b], self.duration)
    }

    /// The selection of links at `t`, with the outages of its lasers in the window of `t`.
    fn installed(&self, t: Nanos) -> Result<Arc<Installed>, String> {
        let (since, number) = (self.selected_since(t), t.0 / WINDOW.0);
        let known = || self.installed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = {
            let kept = known();
            if let Some(found) = kept.get(&(since, number)) {
                return Ok(found.clone());
            }
            kept.range((since, 0)..(since, number)).next_back().map(|(_, w)| w.clone())
        };
        // Without the lock: a user-defined function may select the links.
        let (from, end) = (WINDOW * number, WINDOW * (number + 1));
        let found = Arc::new(match last {
            Some(last) => last.after(from, end),
            None => {
                let graph = self.selected_at(t)?;
                let next = graph.pairs().map(|[a, b]| self.outages_of(a, b).peekable()).collect();
                Installed::new(graph, next, from, end)
            }
        });
        let mut kept = known();
        kept.insert((since, number), found.clone());
        if kept.len() > MOST_SELECTIONS {
            kept.pop_first();
        }
        drop(kept);
        Ok(found)
    }

    /// The ISLs that carry packets at `t` if all lasers work.
    pub(super) fn selected_at(&self, t: Nanos) -> Result<Arc<IslGraph>, String> {
        if !self.isls.is_dynamic() {
            return Ok(self.fixed.clone());
        }
        let choice = self.isls.period * (t.0 / self.isls.period.0);
        let mut links = self.chosen(choice)?;
        if choice > Nanos::ZERO && t < choice + self.isls.set_up {
            let before: BTreeSet<_> = self.chosen(choice - self.isls.period)?.into_iter().collect();
            links.retain(|l| before.contains(l));
        }
        links.extend(self.fixed.pairs().map(|[a, b]| (a, b)));
        Ok(Arc::new(IslGraph::new(self.len(), &links)))
    }

    /// Links to nearby satellites, as selected at an instant.
    fn chosen(&self, t: Nanos) -> Result<Vec<(u32, u32)>, String> {
        let mut at = Positions::default();
        self.motion.span(self.start, t, t)?.positions(t, &mut at);
        let near = |terminals, across| {
            let max_range_m = self.isls.limits.max_range_m;
            Near { group: &self.group, terminals, across, max_range_m }.links(&at)
        };
        let mut links = match self.isls.pattern {
            Pattern::Nearest(terminals) => near(terminals, false),
            Pattern::Function => self.by_function(t, &at)?,
            _ => Vec::new(),
        };
        if self.isls.cross_shell {
            links.extend(near(1, true));
        }
        Ok(links)
    }
}

impl Constellation {
    /// Satellites and their links in the form passed to user-defined functions.
    pub fn view(&self, at: &Positions, isls: &Arc<IslGraph>) -> NetView {
        NetView {
            at: at.clone(),
            isls: isls.clone(),
            limits: self.isls.limits,
            names: self.names.clone().into(),
            places: self.places.clone().into(),
        }
    }

    fn by_function(&self, t: Nanos, at: &Positions) -> Result<Vec<(u32, u32)>, String> {
        let Some(function) = &self.function else { return Ok(Vec::new()) };
        let wrong = |why: &str| failed(function.name(), t, "the ISLs", why);
        let links = function.links(t, &Arc::new(self.view(at, &self.fixed))).map_err(|e| wrong(&e))?;
        let n = self.len() as u32;
        if let Some((a, b)) = links.iter().find(|(a, b)| *a.max(b) >= n) {
            return Err(wrong(&format!("a link from {a} to {b}: satellite numbers end at {}", n - 1)));
        }
        match links.iter().find(|(a, b)| a == b) {
            Some((a, _)) => Err(wrong(&format!("a link from satellite {a} to itself"))),
            None => Ok(links),
        }
    }
}

impl std::fmt::Debug for Constellation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Constellation({} satellites from {})", self.len(), self.start)
    }
}

fn prepare(sets: &[Tle], gravity: Gravity) -> Result<Vec<Sgp4>, SkyError> {
    sets.iter().map(|t| Sgp4::new(t, gravity).map_err(SkyError::Spec)).collect()
}

/// Mean motion of a circular orbit, in revolutions per day.
fn revs_per_day(shell: &Shell) -> f64 {
    let a = shell.radius_m();
    (MU_M3_S2 / (a * a * a)).sqrt() * 86_400.0 / TAU
}

fn motion(shell: &Shell, elements: &[Tle], start: Epoch) -> Result<Group, SkyError> {
    match shell.propagation {
        Propagation::Sgp4 { .. } => Ok(Group::Sgp4(prepare(elements, Gravity::Wgs72)?)),
        _ => Ok(Group::Shell(ShellMotion::new(*shell, start))),
    }
}

fn of_shell(shell: &Shell, start: Epoch) -> Vec<Tle> {
    match shell.propagation {
        Propagation::Sgp4 { revs_per_day: revs, epoch } => {
            shell_elements(shell, revs.unwrap_or_else(|| revs_per_day(shell)), epoch.unwrap_or(start))
        }
        _ => shell_elements(shell, revs_per_day(shell), start),
    }
}

fn generated(shells: &[Shell], spec: &SkySpec) -> Result<Fleet, SkyError> {
    if shells.is_empty() {
        return Err(SkyError::Spec("a constellation without a shell".into()));
    }
    let start = spec.start.unwrap_or(Epoch::Y2000);
    let mut fleet = Fleet {
        names: Vec::new(),
        places: Vec::new(),
        elements: Vec::new(),
        start,
        motion: Motion(Vec::new()),
        grid: Vec::new(),
        group: Vec::new(),
        numbers: None,
        report: Vec::new(),
        warnings: Vec::new(),
    };
    for (k, shell) in shells.iter().enumerate() {
        shell.check().map_err(SkyError::Spec)?;
        let first = fleet.names.len() as u32;
        for plane in 0..shell.planes {
            for slot in 0..shell.per_plane {
                let name = satellite_name(plane, slot);
                fleet.names.push(if shells.len() == 1 { name } else { format!("{name}.{}", k + 1) });
                fleet.places.push(Some(Place { shell: k as u32, plane, slot }));
            }
        }
        fleet.group.resize(fleet.names.len(), shell.isls.then_some(k as u32));
        if shell.isls {
            let own = plus_grid(shell, spec.isls.seam);
            fleet.grid.extend(own.iter().map(|(a, b)| (first + a, first + b)));
        }
        let own = of_shell(shell, start);
        fleet.motion.0.push(motion(shell, &own, start)?);
        fleet.elements.extend(own.into_iter().zip(first..).map(|(set, n)| Tle { catalogue: n + 1, ..set }));
        fleet.report.push(describe(shell, start));
    }
    fleet.start = start.plus(spec.later);
    Ok(fleet)
}

/// Combines shells and element sets. Time zero is that of the element sets, which are valid only
/// near their epochs.
fn both(shells: &[Shell], elements: &Satellites, spec: &SkySpec) -> Result<Fleet, SkyError> {
    let Satellites::Elements { name, text, planes, gravity } = elements else {
        return Err(SkyError::Spec("what is added to shells must be element sets".into()));
    };
    let sets = omm::read_elements(text).map_err(|e| SkyError::Tle(name.clone(), e))?;
    let newest = sets.iter().map(|s| s.epoch).max().unwrap_or(Epoch::Y2000);
    let start = spec.start.unwrap_or(newest);
    let mut all = generated(shells, &SkySpec { start: Some(start), ..spec.clone() })?;
    let more = from_elements(name, text, planes, (*gravity, spec))?;
    if let Some(twice) = more.names.iter().find(|n| all.names.contains(n)) {
        return Err(SkyError::Spec(format!("{name}: {twice:?} is the name of a satellite of a shell, too")));
    }
    let (first, shell) = (all.names.len() as u32, shells.len() as u32);
    let number = |n: u32| n + first;
    // Satellites without a shell keep the value that marks this.
    let of_shell = |s: u32| if s == u32::MAX { s } else { s + shell };
    all.names.extend(more.names);
    all.places.extend(more.places.into_iter().map(|p| p.map(|p| Place { shell: p.shell + shell, ..p })));
    all.elements.extend(more.elements);
    all.motion.0.extend(more.motion.0);
    all.grid.extend(more.grid.into_iter().map(|(a, b)| (number(a), number(b))));
    all.group.extend(more.group.into_iter().map(|g| g.map(of_shell)));
    let own = (0..first).map(Some);
    all.numbers = more.numbers.map(|of| own.chain(of.into_iter().map(|n| n.map(number))).collect());
    all.report.extend(more.report);
    all.warnings.extend(more.warnings);
    Ok(all)
}

fn describe(shell: &Shell, start: Epoch) -> String {
    let Shell { planes, per_plane, altitude_m, inclination_deg, .. } = shell;
    let isls = if shell.isls { "" } else { ", no ISLs" };
    let phasing = match shell.phasing {
        Phasing::Factor(f) => format!("phasing factor {f}"),
        Phasing::HalfSlot => "every second plane shifted by half a slot".into(),
    };
    format!(
        "{planes} x {per_plane} satellites at {:.0} km and {inclination_deg} degrees, {phasing}{isls}, from {start}",
        altitude_m / 1e3
    )
}

fn from_elements(
    file: &str,
    text: &str,
    options: &PlaneOptions,
    (gravity, spec): (Gravity, &SkySpec),
) -> Result<Fleet, SkyError> {
    let sets = omm::read_elements(text).map_err(|e| SkyError::Tle(file.to_string(), e))?;
    let motion = sets.iter().map(|t| Sgp4::new(t, gravity)).collect::<Result<Vec<_>, _>>();
    let motion = motion.map_err(|why| SkyError::Spec(format!("{file}: {why}")))?;
    let newest = sets.iter().max_by_key(|s| s.epoch).expect("a file without sets is refused");
    let start = spec.start.unwrap_or(newest.epoch).plus(spec.later);
    let duration = spec.duration;
    let low = |t: &Tle| mean_altitude_km(t) < options.min_altitude_km;
    let checked = validity::check(file, (&sets, &motion), low, start, duration);
    let (sets_used, motion) = (pick(&sets, &checked.used), pick(&motion, &checked.used));
    // With old elements the state at the start is inaccurate, but it is the one that the run uses.
    let common = if validity::is_stale(newest, start) { start } else { newest.epoch };
    let found = arrange(&sets_used, &motion, common, options);
    let mut warnings = checked.warnings;
    warnings.extend(validity::outlier(file, &sets, newest, start));
    if found.kept.is_empty() {
        let km = options.min_altitude_km;
        let fallen = if checked.used.is_empty() { warnings } else { Vec::new() };
        let why = format!("{file}: no satellite flies at {km} km (min_altitude) or higher");
        return Err(SkyError::Spec([vec![why], fallen].concat().join("; ")));
    }
    let (n, at) = (sets.len(), tle::listed(&[newest.origin]));
    let mut report =
        vec![format!("{file}: {n} satellites, newest epoch {} in {at}, run from {start}", newest.epoch)];
    report.extend(found.report());
    let mut numbers = vec![None; sets.len()];
    for (satellite, &kept) in found.kept.iter().enumerate() {
        numbers[checked.used[kept]] = Some(satellite as u32);
    }
    let group = found.places.iter().map(|p| Some(p.map_or(u32::MAX, |p| p.shell))).collect();
    Ok(Fleet {
        names: unique_names(&sets_used, &found.kept),
        elements: pick(&sets_used, &found.kept),
        start,
        motion: Motion(vec![Group::Sgp4(pick(&motion, &found.kept))]),
        grid: found.links,
        group,
        places: found.places,
        numbers: Some(numbers),
        report,
        warnings,
    })
}

/// Given links between satellites, with numbers of the file converted; links of excluded satellites
/// are dropped.
fn renumbered(
    links: &[(u32, u32)],
    numbers: Option<&[Option<u32>]>,
    satellites: usize,
) -> Result<Vec<(u32, u32)>, SkyError> {
    let n = numbers.map_or(satellites, <[_]>::len);
    if let Some((a, b)) = links.iter().find(|(a, b)| (*a).max(*b) as usize >= n) {
        return Err(SkyError::Spec(format!(
            "an ISL link from satellite {a} to {b}: their numbers end at {}",
            n - 1
        )));
    }
    let Some(numbers) = numbers else { return Ok(links.to_vec()) };
    Ok(links.iter().filter_map(|&(a, b)| Some((numbers[a as usize]?, numbers[b as usize]?))).collect())
}

fn pick<T: Clone>(all: &[T], which: &[usize]) -> Vec<T> {
    which.iter().map(|&i| all[i].clone()).collect()
}

/// Names as in the file; duplicate names are distinguished by the catalogue number.
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
