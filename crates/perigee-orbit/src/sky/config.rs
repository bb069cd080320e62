// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of a sky: plain data, filled in by a scenario.

use crate::frames::{Ellipsoid, WGS84};
use crate::links::isls::{Limits, Seam};
use crate::links::lasers::LaserFaults;
use crate::links::planes::PlaneOptions;
use crate::links::visibility::Mask;
use crate::motion::fleet::Gravity;
use crate::motion::presets::STARLINK_SHELL1;
use crate::motion::shell::Shell;
use crate::sky::plugin::Plugins;
use crate::sky::policy::{Peers, Policy, Reselect};
use crate::time::Epoch;
use perigee_timeline::PortSpec;
use perigee_timeline::{GeoPoint, OutageMode, Routing};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Satellites of a sky.
#[derive(Clone, PartialEq, Debug)]
pub enum Satellites {
    /// Generated shells; satellites are numbered shell after shell.
    Shells(Vec<Shell>),
    /// Element sets.
    Elements {
        /// Name of the file, for messages.
        name: String,
        /// Content of the file: TLE, or OMM as JSON or CSV.
        text: String,
        /// Options of the detection of planes.
        planes: PlaneOptions,
        /// Constants of SGP4.
        gravity: Gravity,
    },
    /// Generated shells, followed by element sets; ISLs stay within each shell.
    Both(Vec<Shell>, Box<Satellites>),
}

/// Pattern of ISLs.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Pattern {
    /// Two neighbours in the plane, and one in each adjacent plane.
    #[default]
    PlusGrid,
    /// This number of nearest satellites of the same shell, selected every [`Isls::period`].
    Nearest(u32),
    /// Given links, by number.
    List(Vec<(u32, u32)>),
    /// Links of a user-defined function, every [`Isls::period`].
    Function,
    /// No ISLs: a ground point reaches only ground points in view of its own satellite, unless
    /// stations relay.
    None,
}

/// ISLs.
#[derive(Clone, PartialEq, Debug)]
pub struct Isls {
    /// Pattern of links.
    pub pattern: Pattern,
    /// Whether a generated shell's last plane is linked to its first.
    pub seam: Seam,
    /// Whether each satellite has an additional ISL to the nearest satellite of another shell,
    /// selected every `period`.
    pub cross_shell: bool,
    /// Maximum range and minimum grazing height.
    pub limits: Limits,
    /// Time between selections of nearby satellites.
    pub period: Nanos,
    /// Time after such a selection during which a new link carries no packets; at the start all
    /// links are up.
    pub set_up: Nanos,
    /// Losses of pointing, and failures.
    pub faults: LaserFaults,
}

impl Default for Isls {
    fn default() -> Self {
        Isls {
            pattern: Pattern::PlusGrid,
            seam: Seam::Auto,
            cross_shell: false,
            limits: Limits::default(),
            period: Nanos::from_secs(60),
            set_up: Nanos::from_secs(10),
            faults: LaserFaults::default(),
        }
    }
}

impl Isls {
    /// ISLs of this pattern, with defaults for all other fields.
    pub fn of(pattern: Pattern) -> Self {
        Isls { pattern, ..Isls::default() }
    }

    /// Whether links change over time.
    pub fn is_dynamic(&self) -> bool {
        self.cross_shell || matches!(self.pattern, Pattern::Nearest(_) | Pattern::Function)
    }
}

/// Kinds of ground points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroundKind {
    /// One dish: a hard handover with an outage.
    #[default]
    Terminal,
    /// One dish for every satellite in use: soft handovers without loss.
    Station,
}

/// A point on the ground.
#[derive(Clone, PartialEq, Debug)]
pub struct GroundNode {
    /// Unique name.
    pub name: String,
    /// Terminal or station.
    pub kind: GroundKind,
    /// Position.
    pub place: GeoPoint,
    /// Visibility criterion.
    pub mask: Mask,
    /// Whether packets of other ground points may be relayed here (a station with spare dishes).
    pub relays: bool,
    /// Maximum number of satellites in use at once, the nearest ones. `None` = no limit, as for
    /// most stations.
    pub dishes: Option<u32>,
    /// Times during which it is out of service and has no satellite.
    pub off: Vec<Range<Nanos>>,
}

impl GroundNode {
    /// A terminal or station with a minimum elevation of 25 degrees and the dishes of its kind, not
    /// a relay.
    pub fn new(name: impl Into<String>, kind: GroundKind, place: GeoPoint) -> Self {
        let mask = Mask::default();
        GroundNode { name: name.into(), kind, place, mask, relays: false, dishes: None, off: Vec::new() }
    }

    /// Whether it is out of service at `t`.
    pub fn is_off(&self, t: Nanos) -> bool {
        self.off.iter().any(|times| times.contains(&t))
    }
}

/// Sharing of radio transmitters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroundPorts {
    /// One transmitter per satellite and one per ground point, shared by all radio links of the
    /// node (Hypatia).
    #[default]
    PerNode,
    /// One per radio link and direction (OrbCC study).
    PerLink,
}

/// A radio transmitter, and the random loss of its links.
#[derive(Clone, PartialEq, Debug)]
pub struct Radio {
    /// Rate and queue.
    pub port: PortSpec,
    /// Loss probability on each of its links.
    pub loss: f64,
}

/// Radios that differ from the default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Radios {
    /// Uplinks by number of the ground point.
    pub up: BTreeMap<usize, Radio>,
    /// Downlinks by number of the ground point; only with a radio per link.
    pub down: BTreeMap<usize, Radio>,
    /// Shared radios of single satellites, by name.
    pub of_satellite: BTreeMap<String, Radio>,
    /// Random loss of all other radio links, and of ISLs.
    pub loss: [f64; 2],
}

/// Length of the outage of a hard handover.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outage {
    /// Constant; zero = no outage.
    Fixed(Nanos),
    /// Uniform between two bounds, inclusive.
    Uniform(Nanos, Nanos),
    /// One of these lengths, equally likely.
    Recorded(Arc<[Nanos]>),
}

/// Effects of a hard handover.
#[derive(Clone, PartialEq, Debug)]
pub struct Handover {
    /// Length of the outage.
    pub outage: Outage,
    /// Additional outage, in multiples of the propagation delays to the old and the new satellite
    /// (LeoEM: 3).
    pub per_delay: f64,
    /// Effect on packets. `Flush` and `Blackhole`: the links to the old satellite stay down.
    /// `Hold`: they come up again along with the new ones, so that waiting packets are delayed
    /// instead of lost.
    pub mode: OutageMode,
    /// Additional handovers of every terminal at fixed times, to the satellite selected then, which
    /// may be the one in use.
    pub forced: Option<Recurrence>,
}

/// Instants `first`, `first + every`, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recurrence {
    /// Time between instants, above zero.
    pub every: Nanos,
    /// First instant.
    pub first: Nanos,
}

impl Recurrence {
    /// Whether `t` is one of the instants.
    pub fn contains(self, t: Nanos) -> bool {
        t >= self.first && (t.0 - self.first.0) % self.every.0 == 0
    }
}

impl Default for Handover {
    fn default() -> Self {
        Handover {
            outage: Outage::Uniform(Nanos::from_millis(45), Nanos::from_millis(120)),
            per_delay: 0.0,
            mode: OutageMode::Flush,
            forced: None,
        }
    }
}

/// A constellation with traffic.
#[derive(Clone, PartialEq, Debug)]
pub struct SkySpec {
    /// Title for the header.
    pub title: String,
    /// Satellites.
    pub satellites: Satellites,
    /// ISLs.
    pub isls: Isls,
    /// Calendar time of t = 0. Default: the latest epoch of the element sets; 2000-01-01 00:00 UTC
    /// for shells.
    pub start: Option<Epoch>,
    /// Offset added to the time of the satellites' motion (and of the Earth's rotation) during the
    /// run.
    pub later: Nanos,
    /// Ellipsoid of the ground points.
    pub ellipsoid: Ellipsoid,
    /// Ground points; the first nodes of the timeline, in this order.
    pub ground: Vec<GroundNode>,
    /// Traffic as (from, to) indices into `ground`, with both directions listed; these are the
    /// pairs of the timeline.
    pub pairs: Vec<(usize, usize)>,
    /// Routing of packets in flight when routes change.
    pub routing: Routing,
    /// Selection of the pairs' paths.
    pub rule: PathRule,
    /// Selection of satellites.
    pub attach: Policy,
    /// With [`Policy::ShortestPath`]: peers that determine a terminal's satellite.
    pub attach_for: Peers,
    /// Times at which satellites are selected.
    pub reselect: Reselect,
    /// Fraction by which a satellite must be better than the one in use (in path, range, zenith
    /// angle or time in view).
    pub hysteresis: f64,
    /// Time between route computations.
    pub step: Nanos,
    /// Duration of the run.
    pub duration: Nanos,
    /// Default port of radio transmitters.
    pub ground_port: PortSpec,
    /// Transmitters that differ from the default.
    pub radios: Radios,
    /// Port of ISLs.
    pub isl_port: PortSpec,
    /// Sharing of radio transmitters.
    pub ground_ports: GroundPorts,
    /// Handovers of terminals.
    pub handover: Handover,
    /// Seed of the draws of outages: handovers, and faults of lasers.
    pub seed: u64,
    /// User-defined functions.
    pub plugins: Plugins,
}

impl Default for SkySpec {
    /// Starlink's first shell, without ground points.
    fn default() -> Self {
        SkySpec {
            title: String::new(),
            satellites: Satellites::Shells(vec![STARLINK_SHELL1]),
            isls: Isls::default(),
            start: None,
            later: Nanos::ZERO,
            ellipsoid: WGS84,
            ground: Vec::new(),
            pairs: Vec::new(),
            routing: Routing::PerPath,
            rule: PathRule::Shortest,
            attach: Policy::ShortestPath,
            attach_for: Peers::All,
            reselect: Reselect::EachStep,
            hysteresis: 0.0,
            step: Nanos::from_millis(100),
            duration: Nanos::from_secs(300),
            ground_port: PortSpec::default(),
            radios: Radios::default(),
            isl_port: PortSpec::packets(BitRate::from_mbit(10_000), 10_000),
            ground_ports: GroundPorts::PerNode,
            handover: Handover::default(),
            seed: 1,
            plugins: Plugins::default(),
        }
    }
}

impl SkySpec {
    /// Checks all properties that do not depend on the satellites.
    ///
    /// # Errors
    /// The first contradiction, as text.
    pub fn check(&self) -> Result<(), String> {
        let n = self.ground.len();
        for (i, g) in self.ground.iter().enumerate() {
            if self.ground[..i].iter().any(|other| other.name == g.name) {
                return Err(format!("two ground points are called {:?}", g.name));
            }
            let p = g.place;
            if !(p.lat_deg.abs() <= 90.0 && p.lon_deg.abs() <= 360.0 && p.height_m.abs() <= 20e3) {
                return Err(format!(
                    "{:?} stands at {} N {} E: not a place on Earth",
                    g.name, p.lat_deg, p.lon_deg
                ));
            }
            match g.mask {
                Mask::Elevation(deg) if (0.0..90.0).contains(&deg) => {}
                Mask::Range(m) if m > 0.0 => {}
                Mask::Elevation(deg) => {
                    return Err(format!(
                        "a mask of {deg} degrees at {:?}: at least 0 and below 90 are possible",
                        g.name
                    ))
                }
                Mask::Range(m) => {
                    return Err(format!(
                        "a longest range of {} km at {:?} lets nothing through",
                        m / 1e3,
                        g.name
                    ))
                }
            }
        }
        if let Some(g) = self.ground.iter().find(|g| g.relays && g.kind == GroundKind::Terminal) {
            return Err(format!("{:?} is a terminal: its one dish cannot relay", g.name));
        }
        if let Some(g) = self.ground.iter().find(|g| g.dishes == Some(0)) {
            return Err(format!("{:?} has no dish", g.name));
        }
        if let Some((a, b)) = self.pairs.iter().find(|(a, b)| a == b || *a >= n || *b >= n) {
            return Err(format!("traffic from ground point {a} to {b} of {n}"));
        }
        if let Some((i, p)) = self.pairs.iter().enumerate().find(|(i, p)| self.pairs[..*i].contains(p)) {
            return Err(format!("traffic from ground point {} to {} is listed again as pair {i}", p.0, p.1));
        }
        if self.step < Nanos::from_millis(1) || self.step > Nanos::from_secs(60) {
            return Err(format!("routes every {}: 1 ms to 60 s are allowed", self.step));
        }
        self.check_choices()
    }

    fn check_choices(&self) -> Result<(), String> {
        match &self.handover.outage {
            Outage::Uniform(a, b) if a > b => {
                return Err(format!("an outage between {a} and {b}: the first must not be larger"));
            }
            Outage::Recorded(all) if all.is_empty() => {
                return Err("the recorded outages are none at all".into());
            }
            _ => {}
        }
        if !(0.0..=1000.0).contains(&self.handover.per_delay) {
            let n = self.handover.per_delay;
            return Err(format!("an outage of {n} times the propagation delays: 0 to 1000 are allowed"));
        }
        if !(0.0..=10.0).contains(&self.hysteresis) {
            return Err(format!("a hysteresis of {}: 0 to 10 are allowed", self.hysteresis));
        }
        match self.reselect {
            Reselect::Hold(t) | Reselect::Slots { period: t, .. } if t < self.step => {
                return Err(format!("satellites are chosen every {t}, routes every {}", self.step));
            }
            _ => {}
        }
        let (p, function) = (&self.plugins, Pattern::Function);
        if (self.attach == Policy::Function) != p.attach.is_some()
            || (self.isls.pattern == function) != p.isls.is_some()
        {
            return Err("a function of the user's is named and not given, or given and not named".into());
        }
        let chosen = match &self.rule {
            PathRule::Shortest if p.route.is_none() => None,
            PathRule::Shortest => Some("paths that a function chooses"),
            PathRule::Disjoint => Some("disjoint paths"),
            PathRule::LoadAware(_) => Some("load-aware paths"),
        };
        if let Some(what) = chosen {
            if self.routing == Routing::PerHop {
                return Err(format!(
                    "{what} need routing = \"per-path\": with next-hop tables every satellite sends all packets for a \
                     destination the same way, whoever they come from"
                ));
            }
            if self.ground.iter().any(|g| g.relays) {
                return Err(format!("{what} use ISLs only: they need relay = \"none\""));
            }
        }
        if p.route.is_some() && self.rule != PathRule::Shortest {
            return Err("paths are chosen by a function and by a rule: one of them".into());
        }
        if self.isls.is_dynamic() && self.isls.period < Nanos::from_secs(1) {
            return Err(format!(
                "inter-satellite links are chosen anew every {}: 1 s at least",
                self.isls.period
            ));
        }
        Ok(())
    }
}

/// Selection of the pairs' paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PathRule {
    /// Shortest paths.
    #[default]
    Shortest,
    /// Satellite-disjoint paths for pairs between the same two places, as far as they exist: the
    /// first pair takes the shortest path, the next one the shortest path in the remaining graph,
    /// and so on.
    Disjoint,
    /// Short paths that avoid loaded links.
    LoadAware(LoadRule),
}

/// Parameters of load-aware paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadRule {
    /// Offered load between ground points, in bit/s; zero for pairs that are not listed.
    pub demand_bps: BTreeMap<(usize, usize), u64>,
    /// Rate of an ISL, in bit/s.
    pub isl_bps: u64,
    /// Cost of a link at half load.
    pub delay: Nanos,
    /// Time between assignments.
    pub period: Nanos,
}
