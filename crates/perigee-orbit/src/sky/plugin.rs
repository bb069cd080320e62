// SPDX-License-Identifier: Apache-2.0 OR MIT
//! User-defined functions for attachment, routing and ISL patterns. They receive plain data and
//! return satellite numbers; every result is checked before use, and an error contains the
//! function, the simulated time and the reason.
//!
//! A function must depend on its arguments only: a sky is evaluated before a run (queues are sized,
//! traffic that can never flow is rejected), and a timeline may be generated twice.

use crate::frames::light_time;
use crate::frames::Vec3;
use crate::links::isls::{IslGraph, Limits};
use crate::links::length::{Access, UNREACHABLE};
use crate::links::planes::Place;
use crate::motion::positions::Positions;
use crate::paths::a_star::Field;
use perigee_units::Nanos;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A satellite in view of a ground point.
#[derive(Clone, Debug, PartialEq)]
pub struct VisibleSatellite {
    /// Satellite number.
    pub sat: u32,
    /// Satellite name.
    pub name: String,
    /// Shell, plane, slot.
    pub place: Option<Place>,
    /// Slant range.
    pub range_m: f64,
    /// Elevation above the horizon.
    pub elevation_deg: f64,
    /// Whether it moves north.
    pub ascending: bool,
    /// Remaining time above the mask (to 0.1 s; two hours = unlimited).
    pub visible_for: Nanos,
}

/// Arguments of an attachment function.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachView {
    /// Simulated time.
    pub t: Nanos,
    /// The ground point.
    pub node: String,
    /// Peers of the ground point.
    pub peers: Vec<String>,
    /// Current satellite of the ground point, if still in view.
    pub holding: Option<u32>,
    /// Satellites in view, by number.
    pub seen: Vec<VisibleSatellite>,
}

/// Satellites and ISLs at an instant.
#[derive(Clone, Debug)]
pub struct NetView {
    /// Earth-fixed positions.
    pub at: Positions,
    /// ISLs.
    pub isls: Arc<IslGraph>,
    /// Limits of links.
    pub limits: Limits,
    /// Names of the satellites.
    pub names: Arc<[String]>,
    /// Shell, plane, slot of each.
    pub places: Arc<[Option<Place>]>,
}

impl NetView {
    /// Neighbours of a satellite, each with the delay of the link.
    pub fn neighbours(&self, sat: u32) -> Vec<(u32, Nanos)> {
        let there = |to: &&u32| self.limits.length(&self.at, sat, **to) != UNREACHABLE;
        let far = |to: &u32| (*to, light_time(self.place(sat), self.place(*to)));
        self.isls.neighbours(sat).iter().filter(there).map(far).collect()
    }

    fn place(&self, sat: u32) -> Vec3 {
        self.at.get(sat as usize)
    }
}

/// Arguments of a routing function.
#[derive(Clone, Debug)]
pub struct RouteView {
    /// Simulated time.
    pub t: Nanos,
    /// Names of the pair's two ends.
    pub ends: [String; 2],
    /// Their Earth-fixed positions.
    pub points: [Vec3; 2],
    /// Satellites that each end may use.
    pub gates: [Vec<Access>; 2],
    /// The shortest path.
    pub shortest: Option<Vec<u32>>,
    /// The sky.
    pub net: Arc<NetView>,
}

impl RouteView {
    /// Up to `k` satellite-disjoint paths: the shortest, the shortest in the remaining graph, and
    /// so on.
    pub fn disjoint(&self, k: usize) -> Vec<Vec<u32>> {
        let field = Field::new(&self.net.isls, &self.net.at, self.net.limits);
        crate::paths::disjoint::paths(&field, self.points[1], [&self.gates[1], &self.gates[0]], k)
    }

    /// Checks a path: satellites must exist, be unique, be linked, and those at its ends must be in
    /// view.
    ///
    /// # Errors
    /// A description.
    pub fn check(&self, path: &[u32]) -> Result<(), String> {
        let n = self.net.at.len();
        if let Some(s) = path.iter().find(|s| **s as usize >= n) {
            return Err(format!("there is no satellite {s}: their numbers end at {}", n - 1));
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Err("the path is empty; no path at all is None".into());
        };
        for (end, (name, sat)) in self.gates.iter().zip(self.ends.iter().zip([first, last])) {
            if !end.iter().any(|a| a.sat == *sat) {
                return Err(format!(
                    "{name:?} cannot use satellite {sat} ({})",
                    self.net.names[*sat as usize]
                ));
            }
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = path.iter().find(|s| !seen.insert(**s)) {
            return Err(format!("the path is a loop: it passes satellite {twice} twice"));
        }
        for w in path.windows(2) {
            let linked = self.net.isls.neighbours(w[0]).contains(&w[1]);
            if !linked || self.net.limits.length(&self.net.at, w[0], w[1]) == UNREACHABLE {
                return Err(format!("there is no link from satellite {} to {}", w[0], w[1]));
            }
        }
        Ok(())
    }
}

/// Selection of satellites. Errors contain the function and a description.
pub trait AttachFunction: Send + Sync {
    /// Name for messages.
    fn name(&self) -> &str;
    /// Returns one of the satellites in view, or none.
    ///
    /// # Errors
    /// A description.
    fn choose(&self, view: AttachView) -> Result<Option<u32>, String>;
}

/// Selection of paths.
pub trait RouteFunction: Send + Sync {
    /// Name for messages.
    fn name(&self) -> &str;
    /// Returns the satellites from end to end, or no path.
    ///
    /// # Errors
    /// A description.
    fn route(&self, view: &Arc<RouteView>) -> Result<Option<Vec<u32>>, String>;
}

/// Selection of ISLs.
pub trait IslFunction: Send + Sync {
    /// Name for messages.
    fn name(&self) -> &str;
    /// Returns the pairs of satellites to link from `t` on.
    ///
    /// # Errors
    /// A description.
    fn links(&self, t: Nanos, net: &Arc<NetView>) -> Result<Vec<(u32, u32)>, String>;
}

/// The user-defined functions of a sky; usually none.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Attachment ([`crate::sky::policy::Policy::Function`]).
    pub attach: Option<Arc<dyn AttachFunction>>,
    /// Routes, in place of shortest paths.
    pub route: Option<Arc<dyn RouteFunction>>,
    /// Inter-satellite links (`Pattern::Function`).
    pub isls: Option<Arc<dyn IslFunction>>,
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attach = self.attach.as_ref().map(|p| p.name());
        let (route, isls) = (self.route.as_ref().map(|p| p.name()), self.isls.as_ref().map(|p| p.name()));
        write!(f, "Plugins({attach:?}, {route:?}, {isls:?})")
    }
}

impl PartialEq for Plugins {
    /// Equality by identity of the functions.
    fn eq(&self, other: &Self) -> bool {
        fn same<T: ?Sized>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
            match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                _ => false,
            }
        }
        same(&self.attach, &other.attach) && same(&self.route, &other.route) && same(&self.isls, &other.isls)
    }
}

/// A message about a function, with the simulated time.
pub(crate) fn failed(name: &str, t: Nanos, of: &str, why: &str) -> String {
    format!("{name} at {:.3} s, for {of}: {why}", t.as_secs_f64())
}
