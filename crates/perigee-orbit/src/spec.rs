// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a sky is made from: plain data that a scenario fills in.

use crate::attach::Policy;
use crate::frames::{Ellipsoid, WGS84};
use crate::motion::Gravity;
use crate::planes::PlaneOptions;
use crate::shell::{Shell, STARLINK_SHELL1};
use crate::time::Epoch;
use crate::visibility::Mask;
use perigee_timeline::topology::PortSpec;
use perigee_timeline::{GeoPoint, OutageMode, Routing};
use perigee_units::{BitRate, Nanos};

/// Which satellites fly.
#[derive(Clone, PartialEq, Debug)]
pub enum Satellites {
    /// A generated shell in closed form.
    Shell(Shell),
    /// A generated shell moved by SGP4, with a mean motion in turns a day instead of the altitude (as Hypatia does).
    ShellBySgp4 {
        /// Planes, slots, inclination, phasing.
        shell: Shell,
        /// Mean motion.
        revs_per_day: f64,
    },
    /// Element sets.
    Tle {
        /// Of the file, for messages.
        name: String,
        /// Its text.
        text: String,
        /// How planes are found.
        planes: PlaneOptions,
        /// Constants of SGP4.
        gravity: Gravity,
    },
}

/// Which satellites talk to each other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Lasers {
    /// Two neighbours in the plane, one in each plane beside it.
    #[default]
    PlusGrid,
    /// These, by number.
    List(Vec<(u32, u32)>),
    /// None: a ground point reaches only what its own satellite sees.
    None,
}

/// What stands on the ground.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroundKind {
    /// One dish: a hard handover with an outage.
    #[default]
    Terminal,
    /// A dish for every satellite in use: soft handovers, nothing is lost.
    Station,
}

/// A point on the ground.
#[derive(Clone, PartialEq, Debug)]
pub struct GroundNode {
    /// Unique name.
    pub name: String,
    /// Terminal or station.
    pub kind: GroundKind,
    /// Where.
    pub place: GeoPoint,
    /// What it sees.
    pub mask: Mask,
}

/// How radio transmitters are shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroundPorts {
    /// One per satellite and one per ground point, shared by all their radio links (Hypatia).
    #[default]
    PerNode,
    /// One per radio link and direction (OrbCC study).
    PerLink,
}

/// Length of the outage of a hard handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// Always the same; zero = none.
    Fixed(Nanos),
    /// Uniform between two bounds, both included.
    Uniform(Nanos, Nanos),
}

/// What a hard handover does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handover {
    /// How long the terminal is off the air.
    pub outage: Outage,
    /// What happens to packets. `Flush` and `Blackhole`: the links to the old satellite stay down. `Hold`: they come
    /// back with the new ones, so that what waited is sent late instead of never.
    pub mode: OutageMode,
}

impl Default for Handover {
    fn default() -> Self {
        Handover {
            outage: Outage::Uniform(Nanos::from_millis(45), Nanos::from_millis(120)),
            mode: OutageMode::Flush,
        }
    }
}

/// A constellation with traffic.
#[derive(Clone, PartialEq, Debug)]
pub struct SkySpec {
    /// For the header.
    pub title: String,
    /// Which satellites.
    pub satellites: Satellites,
    /// Their lasers.
    pub lasers: Lasers,
    /// Calendar time of t = 0. Default: the newest epoch of the element sets; 2000-01-01 00:00 UTC for shells.
    pub start: Option<Epoch>,
    /// On which ground points stand.
    pub ellipsoid: Ellipsoid,
    /// Ground points; they are the first nodes of the timeline, in this order.
    pub ground: Vec<GroundNode>,
    /// Traffic as (from, to) indices into `ground`, both directions listed; they are the pairs of the timeline.
    pub pairs: Vec<(usize, usize)>,
    /// What packets under way do when routes change.
    pub routing: Routing,
    /// How satellites are chosen.
    pub attach: Policy,
    /// Time between routes.
    pub step: Nanos,
    /// Length.
    pub duration: Nanos,
    /// Every radio transmitter.
    pub ground_port: PortSpec,
    /// Every laser.
    pub laser_port: PortSpec,
    /// How radio transmitters are shared.
    pub ground_ports: GroundPorts,
    /// Of terminals.
    pub handover: Handover,
    /// Seed of the outage draws.
    pub seed: u64,
}

impl Default for SkySpec {
    /// Starlink's first shell without ground points.
    fn default() -> Self {
        SkySpec {
            title: String::new(),
            satellites: Satellites::Shell(STARLINK_SHELL1),
            lasers: Lasers::PlusGrid,
            start: None,
            ellipsoid: WGS84,
            ground: Vec::new(),
            pairs: Vec::new(),
            routing: Routing::PerPath,
            attach: Policy::ShortestPath,
            step: Nanos::from_millis(100),
            duration: Nanos::from_secs(300),
            ground_port: PortSpec::default(),
            laser_port: PortSpec::packets(BitRate::from_mbit(10_000), 10_000),
            ground_ports: GroundPorts::PerNode,
            handover: Handover::default(),
            seed: 1,
        }
    }
}

impl SkySpec {
    /// Checks what does not need the satellites.
    ///
    /// # Errors
    /// The first contradiction, in words.
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
                mask => return Err(format!("the mask of {:?}, {mask:?}, lets nothing through", g.name)),
            }
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
        if let Outage::Uniform(a, b) = self.handover.outage {
            if a > b {
                return Err(format!("an outage between {a} and {b}: the first must not be larger"));
            }
        }
        Ok(())
    }
}
