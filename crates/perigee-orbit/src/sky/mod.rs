// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Skies: a constellation, its ground points and their traffic, and the routes at an instant.
//!
//! [`Sky::stream`] generates the timeline; this module evaluates single instants: round-trip times
//! (to size queues before a run) and routes of all pairs.

mod attachment;
pub mod cities;
pub mod config;
pub mod constellation;
pub mod error;
pub(crate) mod moment;
pub(crate) mod pair_searches;
pub mod plugin;
pub mod policy;
mod reachability;
pub(crate) mod rules;
pub(crate) mod search;
pub mod shared_attachment;

use crate::frames::{light_time, Vec3};
use crate::links::visibility::GroundPoint;
use crate::motion::positions::Positions;
use crate::sky::config::{Radios, SkySpec};
use crate::sky::constellation::Constellation;
use crate::sky::error::SkyError;
use crate::sky::pair_searches::{peers, sought, ways, PairSearch};
use crate::sky::search::Routes;
use perigee_timeline::PortSpec;
use perigee_timeline::{PairId, Routing};
use perigee_units::Nanos;

/// Length and nodes of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Numbers of the satellites from end to end; relays on the ground are numbered after all
    /// satellites.
    pub satellites: Vec<u32>,
    /// Propagation delay of each link, from end to end.
    pub delays: Vec<Nanos>,
}

impl Route {
    /// One-way propagation delay.
    pub fn one_way(&self) -> Nanos {
        self.delays.iter().fold(Nanos::ZERO, |sum, d| sum + *d)
    }
}

/// A constellation with ground points and traffic.
#[derive(Debug)]
pub struct Sky {
    pub(crate) spec: SkySpec,
    pub(crate) constellation: Constellation,
    pub(crate) ground: Vec<GroundPoint>,
    pub(crate) ways: Vec<PairSearch>,
    /// Per ground point: those with traffic to or from it.
    pub(crate) peers: Vec<Vec<usize>>,
    /// Subset of these peers that determines a terminal's satellite under the shortest-path policy.
    pub(crate) sought: Vec<Vec<usize>>,
    pub(crate) relays: Vec<bool>,
    /// Upper bound of the satellites' speed in the Earth-fixed frame.
    fastest_m_s: f64,
    /// Whether paths are found by A* searches, with ISL lengths computed on demand: every
    /// destination has few origins, and there are no relays.
    aims: bool,
}

/// Maximum number of paths to one destination for which an A* search each is cheaper than one tree.
const FEW_WAYS: usize = 4;

impl Sky {
    /// Builds a sky; queues may still be placeholders (see [`Sky::with_ports`]).
    ///
    /// # Errors
    /// If the configuration is inconsistent or the element sets are invalid.
    pub fn new(spec: SkySpec) -> Result<Self, SkyError> {
        spec.check().map_err(SkyError::Spec)?;
        let constellation = Constellation::new(&spec)?;
        if let Some(g) = spec.ground.iter().find(|g| constellation.names.contains(&g.name)) {
            return Err(SkyError::Spec(format!("{:?} is the name of a satellite too", g.name)));
        }
        let ground = spec.ground.iter().map(|g| GroundPoint::new(g.place, g.mask, spec.ellipsoid)).collect();
        let peers = peers(&spec);
        let ways = ways(&spec, &peers);
        let sought = sought(&spec, &peers);
        let relays: Vec<bool> = spec.ground.iter().map(|g| g.relays).collect();
        let few = ways.chunk_by(|a, b| a.root == b.root).all(|of_root| of_root.len() <= FEW_WAYS);
        let aims = few && spec.routing == Routing::PerPath && !relays.contains(&true);
        let fastest_m_s = constellation.motion.fastest_m_s();
        Ok(Sky { spec, constellation, ground, ways, peers, sought, relays, fastest_m_s, aims })
    }

    /// The same sky with other ports: queues given in bandwidth-delay products are only known after
    /// [`Sky::rtt_at`].
    #[must_use]
    pub fn with_ports(mut self, ground: PortSpec, isl: PortSpec) -> Self {
        self.spec.ground_port = ground;
        self.spec.isl_port = isl;
        self
    }

    /// The same sky with different radios for some nodes.
    #[must_use]
    pub fn with_radios(mut self, radios: Radios) -> Self {
        self.spec.radios = radios;
        self
    }

    /// Transmitter between two vertices (`to` = `None` for a shared radio), and the loss
    /// probability of its links.
    pub(crate) fn radio(&self, from: u32, to: Option<u32>) -> (&PortSpec, f64) {
        let spec = &self.spec;
        let ground = |v: u32| (v as usize).checked_sub(self.constellation.len());
        let own = match (ground(from), to.and_then(ground)) {
            (Some(g), _) => spec.radios.up.get(&g),
            (None, Some(g)) => spec.radios.down.get(&g),
            (None, None) => spec.radios.of_satellite.get(self.vertex_name(from)),
        };
        own.map_or((&spec.ground_port, spec.radios.loss[0]), |radio| (&radio.port, radio.loss))
    }

    /// Configuration of the sky.
    pub fn spec(&self) -> &SkySpec {
        &self.spec
    }

    /// Satellites, motion and ISLs.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    /// Human-readable summary: satellites, grids, suspect values.
    pub fn report(&self) -> &[String] {
        &self.constellation.report
    }

    /// Human-readable warnings.
    pub fn warnings(&self) -> &[String] {
        &self.constellation.warnings
    }

    /// Route of a pair at an instant, as if the run started there; `None` = unreachable.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn route_at(&self, pair: PairId, t: Nanos) -> Result<Option<Route>, SkyError> {
        let moment = self.moment_at(t)?;
        let routes = self.routes_of(&moment)?;
        let path = self.path_of(pair, &routes);
        Ok(path.map(|p| self.route(pair, p, &moment.positions)))
    }

    /// Routes of all pairs at an instant, as computed by [`Sky::route_at`].
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn routes_at(&self, t: Nanos) -> Result<Vec<Option<Route>>, SkyError> {
        let moment = self.moment_at(t)?;
        let routes = self.routes_of(&moment)?;
        let pairs = (0..self.spec.pairs.len()).map(|i| PairId(i as u32));
        let mut paths: Vec<Option<Vec<u32>>> = vec![None; self.spec.pairs.len()];
        for (way, path) in self.ways.iter().zip(routes.paths) {
            if let Some(pair) = way.against {
                paths[pair.ix()] = path.as_ref().map(|p| p.iter().rev().copied().collect());
            }
            if let Some(pair) = way.along {
                paths[pair.ix()] = path;
            }
        }
        Ok(pairs.zip(paths).map(|(id, p)| Some(self.route(id, p?, &moment.positions))).collect())
    }

    /// Round-trip time of a pair without serialisation and queues; `None` = unreachable.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn rtt_at(&self, pair: PairId, t: Nanos) -> Result<Option<Nanos>, SkyError> {
        Ok(self.route_at(pair, t)?.map(|r| r.one_way() * 2))
    }

    /// Position of a vertex: a satellite or, numbered after all satellites, a ground point.
    pub(crate) fn place(&self, vertex: u32, at: &Positions) -> Vec3 {
        match (vertex as usize).checked_sub(self.constellation.len()) {
            None => at.get(vertex as usize),
            Some(g) => self.ground[g].ecef,
        }
    }

    /// Name of a vertex: a satellite or, numbered after all satellites, a ground point.
    pub fn vertex_name(&self, vertex: u32) -> &str {
        match (vertex as usize).checked_sub(self.constellation.len()) {
            None => &self.constellation.names[vertex as usize],
            Some(g) => &self.spec.ground[g].name,
        }
    }

    /// Path of a pair.
    pub(crate) fn path_of(&self, pair: PairId, routes: &Routes) -> Option<Vec<u32>> {
        self.ways.iter().zip(&routes.paths).find_map(|(w, path)| match path {
            Some(p) if w.along == Some(pair) => Some(p.clone()),
            Some(p) if w.against == Some(pair) => Some(p.iter().rev().copied().collect()),
            _ => None,
        })
    }

    /// Path with its delays.
    pub(crate) fn route(&self, pair: PairId, satellites: Vec<u32>, at: &Positions) -> Route {
        let (from, to) = self.spec.pairs[pair.ix()];
        let mut points = vec![self.ground[from].ecef];
        points.extend(satellites.iter().map(|&v| self.place(v, at)));
        points.push(self.ground[to].ecef);
        let delays = points.windows(2).map(|w| light_time(w[0], w[1])).collect();
        Route { satellites, delays }
    }
}
