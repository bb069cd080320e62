// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Survey of a sky without packets: the paths of its pairs over time, and the complete state at one
//! instant.
//!
//! Both match a run: satellites are selected step by step from the start, as policies may depend on
//! the previous selection.

use crate::frames::WGS84;
use crate::links::planes::Place;
use crate::motion::positions::Positions;
use crate::sky::{Route, Sky};
use crate::stream::plan::{Planner, Steps};
use perigee_sources::leoem::{LoggedPath, PathLog};
use perigee_timeline::{GeoPoint, PairId};
use perigee_units::Nanos;
use std::sync::Arc;

/// Number of steps planned together: enough for all cores, few enough to fit in memory.
const BATCH: u64 = 100;

/// A satellite or relay of a path, at the instant from which the path is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Satellite or, numbered after all satellites, ground point.
    pub vertex: u32,
    /// Grid position, for a satellite that has one.
    pub place: Option<Place>,
    /// Whether it moves north; `None` for a relay.
    pub ascending: Option<bool>,
    /// Point on the ground below it.
    pub over: GeoPoint,
}

/// Period in which a pair uses one path.
#[derive(Clone, Debug, PartialEq)]
pub struct Leg {
    /// First step of the period.
    pub from: Nanos,
    /// Round-trip propagation time at that step.
    pub rtt: Option<Nanos>,
    /// Hops from end to end; `None` = unreachable.
    pub hops: Option<Vec<Hop>>,
}

/// A pair over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairSurvey {
    /// Round-trip propagation time at each step; `None` = unreachable.
    pub rtts: Vec<Option<Nanos>>,
    /// Whether the first and the last satellite move north, at each step.
    pub ends_ascend: Vec<Option<(bool, bool)>>,
    /// Paths in order.
    pub legs: Vec<Leg>,
}

/// Complete state at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Point on the ground below each satellite, and whether it moves north.
    pub satellites: Vec<(GeoPoint, bool)>,
    /// ISLs that can carry packets.
    pub isls: Vec<[u32; 2]>,
    /// Satellites in view of each ground point with traffic.
    pub visible: Vec<Vec<u32>>,
    /// Satellite of each ground point that uses only one.
    pub serving: Vec<Option<u32>>,
    /// Route of each pair.
    pub routes: Vec<Option<Route>>,
}

impl Sky {
    /// Paths of some pairs at every step of the run.
    ///
    /// # Errors
    /// If a satellite decays during the run.
    pub fn survey(self: &Arc<Self>, pairs: &[PairId]) -> Result<Vec<PairSurvey>, String> {
        let mut planner = Planner::new(self);
        let mut found = vec![PairSurvey::default(); pairs.len()];
        let total = self.spec.duration.0.div_ceil(self.spec.step.0);
        for first in (0..total).step_by(BATCH as usize) {
            let steps = planner.steps(first..total.min(first + BATCH))?;
            for (pair, survey) in pairs.iter().zip(&mut found) {
                self.follow(*pair, &steps, survey);
            }
        }
        Ok(found)
    }

    fn follow(&self, pair: PairId, steps: &Steps, survey: &mut PairSurvey) {
        let next = steps.moments.iter().skip(1).map(|m| &m.positions).chain([&steps.after]);
        for (((&t, m), next), routes) in steps.times.iter().zip(&steps.moments).zip(next).zip(&steps.routes) {
            let path = self.path_of(pair, routes);
            let rtt = path.as_ref().map(|p| self.route(pair, p.clone(), &m.positions).one_way() * 2);
            let north = |v: u32| next.z[v as usize] > m.positions.z[v as usize];
            survey.rtts.push(rtt);
            survey.ends_ascend.push(path.as_ref().map(|p| (north(p[0]), north(p[p.len() - 1]))));
            let same = survey.legs.last().is_some_and(|leg| leg.same_way(path.as_deref()));
            if !same {
                let hop = |&v: &u32| self.hop(v, &m.positions, next);
                let hops = path.map(|p| p.iter().map(hop).collect());
                survey.legs.push(Leg { from: t, rtt, hops });
            }
        }
    }

    fn hop(&self, vertex: u32, now: &Positions, next: &Positions) -> Hop {
        let sat = vertex as usize;
        let flies = sat < self.constellation.len();
        Hop {
            vertex,
            place: self.constellation.places.get(sat).copied().flatten(),
            ascending: flies.then(|| next.z[sat] > now.z[sat]),
            over: WGS84.geodetic(self.place(vertex, now)),
        }
    }

    /// Path of a pair at every full second, as logged by LeoEM; satellites and relays by number.
    ///
    /// # Errors
    /// If a satellite decays during the run, or no step is at a full second.
    pub fn path_log(self: &Arc<Self>, pair: PairId) -> Result<PathLog, String> {
        let mut planner = Planner::new(self);
        let (step, second) = (self.spec.step, Nanos::from_secs(1));
        if second.0 % step.0 != 0 {
            return Err(format!("steps of {step} do not fall on full seconds"));
        }
        let mut log = PathLog::default();
        let total = self.spec.duration.0.div_ceil(step.0);
        for first in (0..total).step_by(BATCH as usize) {
            let steps = planner.steps(first..total.min(first + BATCH))?;
            for ((t, m), routes) in steps.times.iter().zip(&steps.moments).zip(&steps.routes) {
                if t.0 % second.0 == 0 {
                    let path = self.path_of(pair, routes);
                    log.seconds.push(path.map(|p| logged(self.route(pair, p, &m.positions))));
                }
            }
        }
        Ok(log)
    }

    /// Complete state at the last step up to `t`.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn picture(self: &Arc<Self>, t: Nanos) -> Result<Picture, String> {
        let mut planner = Planner::new(self);
        let last = t.0 / self.spec.step.0;
        // Without a dependence on previous selections one step suffices.
        let mut first = if self.has_memory() { 0 } else { last };
        while last - first >= BATCH {
            planner.steps(first..first + BATCH)?;
            first += BATCH;
        }
        let steps = planner.steps(first..last + 1)?;
        let (Some(m), Some(r)) = (steps.moments.last(), steps.routes.last()) else {
            return Ok(Picture::default());
        };
        let over = |s: usize| (WGS84.geodetic(m.positions.get(s)), steps.after.z[s] > m.positions.z[s]);
        let pairs = 0..self.spec.pairs.len() as u32;
        let route = |p: u32| self.path_of(PairId(p), r).map(|path| self.route(PairId(p), path, &m.positions));
        Ok(Picture {
            satellites: (0..self.constellation.len()).map(over).collect(),
            isls: m.mesh.isls(&m.positions),
            visible: m.visible.iter().map(|v| v.iter().map(|a| a.sat).collect()).collect(),
            serving: r.serving.clone(),
            routes: pairs.map(route).collect(),
        })
    }
}

fn logged(route: Route) -> LoggedPath {
    let inner = route.satellites.iter().map(|&v| i64::from(v));
    let nodes = std::iter::once(-1).chain(inner).chain([-2]).collect();
    LoggedPath { nodes, delays: route.delays }
}

impl Leg {
    fn same_way(&self, path: Option<&[u32]>) -> bool {
        match (&self.hops, path) {
            (None, None) => true,
            (Some(hops), Some(path)) => hops.iter().map(|h| h.vertex).eq(path.iter().copied()),
            _ => false,
        }
    }
}
