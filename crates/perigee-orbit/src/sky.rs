// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A constellation, its ground points and their traffic, ready to be asked where packets go at an instant.
//!
//! [`Sky::stream`] turns it into a timeline; this module answers for single instants: round-trip times (to size
//! queues before a run), the check that every pair can talk at all, and full forwarding tables.

use crate::aim::Goal;
use crate::attach::{choose, Held, Offer, Policy, Reselect};
use crate::constellation::Constellation;
use crate::frames::{distance_m, Vec3, RAD, SPEED_OF_LIGHT_M_S};
use crate::isls::IslGraph;
use crate::mesh::Mesh;
use crate::motion::Positions;
use crate::plugin::{failed, AttachFunction, AttachView, RouteFunction, RouteView, Seen};
use crate::routing::{Access, Tree, Weight};
use crate::rules::PathRule;
use crate::spec::{GroundKind, Radios, SkySpec};
use crate::tle::TleError;
use crate::visibility::{GroundPoint, Horizon};
use crate::warm::Warm;
use crate::ways::{peers, sought, ways, Way};
use perigee_sources::topology::PortSpec;
use perigee_timeline::{PairId, Routing};
use perigee_units::Nanos;
use rayon::prelude::*;
use std::sync::Arc;

/// A satellite that stays in view for longer than this counts as staying for ever.
const FOR_EVER: Nanos = Nanos::from_secs(7200);

/// Why a sky cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkyError {
    /// An element set file is damaged.
    #[error("{0}: {1}")]
    Tle(String, TleError),
    /// The description contradicts itself, or a satellite cannot be moved.
    #[error("{0}")]
    Spec(String),
    /// Traffic that can never flow.
    #[error("{0}")]
    Unreachable(String),
}

/// Positions and views at one instant: everything about it that does not depend on the instant before.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    pub t: Nanos,
    pub positions: Positions,
    pub mesh: Mesh,
    pub visible: Vec<Vec<Access>>,
    /// For terminals that want the shortest path at every step: length of the paths to all peers through each visible
    /// satellite.
    paths: Vec<Vec<Weight>>,
}

/// Paths at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Routes {
    /// Satellite of each ground point that has only one.
    pub serving: Vec<Option<u32>>,
    /// Satellites (and relays, behind all satellites) of each way, from its start to its root.
    pub paths: Vec<Option<Vec<u32>>>,
    /// With next-hop tables: next hops of all satellites towards each root, in the order of [`Sky::roots`].
    pub next_hops: Vec<Vec<u32>>,
}

/// Paths to one root.
#[derive(Debug, Default)]
pub(crate) struct RootRoutes {
    /// Of each of its ways.
    pub paths: Vec<Option<Vec<u32>>>,
    /// Next hops of all satellites, if packets follow tables.
    pub next_hops: Option<Vec<u32>>,
}

/// Length and nodes of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Satellites from end to end, by number; a relay on the ground is numbered behind all satellites.
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
    pub(crate) ways: Vec<Way>,
    /// Ground points with traffic to or from each one.
    pub(crate) peers: Vec<Vec<usize>>,
    /// Of these, the ones for which a terminal seeks the shortest path.
    pub(crate) sought: Vec<Vec<usize>>,
    pub(crate) relays: Vec<bool>,
    /// In the Earth-fixed frame no satellite is faster.
    fastest_m_s: f64,
    /// Every destination has few origins and nothing relays: searches are aimed, ISLs measured where they look.
    aims: bool,
}

/// With more ways to one destination than this, one tree is cheaper than as many aimed searches.
const FEW_WAYS: usize = 4;

/// For so many aimed searches at an instant it is cheaper to measure all ISLs once than each where a search looks at it.
const MANY_SEARCHES: usize = 8;

impl Sky {
    /// Builds a sky; queues may still be placeholders (see [`Sky::with_ports`]).
    ///
    /// # Errors
    /// When the description contradicts itself or the element sets are damaged.
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

    /// The same sky with other ports: queues given in bandwidth-delay products are known only when [`Sky::rtt_at`]
    /// has answered.
    #[must_use]
    pub fn with_ports(mut self, ground: PortSpec, isl: PortSpec) -> Self {
        self.spec.ground_port = ground;
        self.spec.isl_port = isl;
        self
    }

    /// The same sky with radios of their own for some nodes.
    #[must_use]
    pub fn with_radios(mut self, radios: Radios) -> Self {
        self.spec.radios = radios;
        self
    }

    /// The transmitter between two vertices, `to` unknown where a radio is shared, and the loss of its links.
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

    /// What it was made from.
    pub fn spec(&self) -> &SkySpec {
        &self.spec
    }

    /// Satellites, motion, ISLs.
    pub fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    /// Lines for a person: what flies, how many satellites were placed, what is doubtful.
    pub fn report(&self) -> &[String] {
        &self.constellation.report
    }

    /// Lines for a person: what to look at before trusting it.
    pub fn warnings(&self) -> &[String] {
        &self.constellation.warnings
    }

    /// The route of a pair at an instant, as if the run started there; `None` = unreachable.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
    pub fn route_at(&self, pair: PairId, t: Nanos) -> Result<Option<Route>, SkyError> {
        let moment = self.moment_at(t)?;
        let routes = self.routes_of(&moment)?;
        let path = self.path_of(pair, &routes);
        Ok(path.map(|p| self.route(pair, p, &moment.positions)))
    }

    /// The routes of all pairs at an instant, as [`Sky::route_at`] finds each.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
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
    /// When a satellite has decayed by then.
    pub fn rtt_at(&self, pair: PairId, t: Nanos) -> Result<Option<Nanos>, SkyError> {
        Ok(self.route_at(pair, t)?.map(|r| r.one_way() * 2))
    }

    /// What a ground point gets depends on what it had.
    pub(crate) fn has_memory(&self) -> bool {
        self.spec.reselect != Reselect::EachStep
            || self.spec.hysteresis > 0.0
            || self.spec.attach == Policy::Function
    }

    /// Routes as if the run started at that moment.
    pub(crate) fn routes_of(&self, m: &Moment) -> Result<Routes, SkyError> {
        let held = self.serve(m, &[]).map_err(SkyError::Spec)?;
        self.routes(m, &held, &mut Tree::default()).map_err(SkyError::Spec)
    }

    /// Where a satellite or, behind all satellites, a ground point is.
    pub(crate) fn place(&self, vertex: u32, at: &Positions) -> Vec3 {
        match (vertex as usize).checked_sub(self.constellation.len()) {
            None => at.get(vertex as usize),
            Some(g) => self.ground[g].ecef,
        }
    }

    /// Name of a satellite or, behind all satellites, of a ground point.
    pub fn vertex_name(&self, vertex: u32) -> &str {
        match (vertex as usize).checked_sub(self.constellation.len()) {
            None => &self.constellation.names[vertex as usize],
            Some(g) => &self.spec.ground[g].name,
        }
    }

    pub(crate) fn moment_at(&self, t: Nanos) -> Result<Moment, SkyError> {
        let span = self.constellation.motion.span(self.constellation.start, t, t).map_err(SkyError::Spec)?;
        let mut positions = Positions::default();
        span.positions(t, &mut positions);
        let isls = self.constellation.isls_at(t).map_err(SkyError::Spec)?;
        let horizon = self.horizon(&positions, t, Nanos::ZERO);
        Ok(self.moment(t, positions, (&isls, &horizon), &mut Tree::default()))
    }

    /// What the ground points with traffic can see within `reach` of `t`, by the positions at `t`.
    pub(crate) fn horizon(&self, at: &Positions, t: Nanos, reach: Nanos) -> Horizon {
        let asked = |g: usize| !self.peers[g].is_empty() || self.relays[g];
        self.horizon_of(at, (t, reach), asked)
    }

    pub(crate) fn horizon_of(
        &self,
        at: &Positions,
        (centre, reach): (Nanos, Nanos),
        asked: impl Fn(usize) -> bool + Sync,
    ) -> Horizon {
        // Interpolated positions are a metre off at most.
        let moved_m = 10.0 + self.fastest_m_s * reach.as_secs_f64();
        let of = |g: usize| {
            let mut candidates = Vec::new();
            if asked(g) {
                self.ground[g].candidates(at, moved_m, &mut candidates);
            }
            candidates
        };
        let candidates = (0..self.ground.len()).into_par_iter().map(of).collect();
        let clear_m = self.constellation.limits().clear_m(at, moved_m);
        Horizon { candidates, clear_m, centre, reach }
    }

    /// Views for known positions.
    pub(crate) fn moment(
        &self,
        t: Nanos,
        positions: Positions,
        (isls, horizon): (&Arc<IslGraph>, &Horizon),
        tree: &mut Tree,
    ) -> Moment {
        let mut m = Moment { t, positions, ..Moment::default() };
        m.visible.resize_with(self.ground.len(), Vec::new);
        for g in 0..self.ground.len() {
            if !horizon.candidates[g].is_empty() {
                self.look(g, &m.positions, &horizon.candidates[g], &mut m.visible[g]);
            }
        }
        let limits = self.constellation.limits();
        if self.aims {
            let many = self.ways.len() >= MANY_SEARCHES;
            m.mesh.adopt(isls, &m.positions, (limits, horizon.clear_m), many);
        } else {
            m.mesh.measure(isls, &m.positions, (limits, horizon.clear_m), &self.relays, &m.visible);
        }
        // Where choices are rare, paths are searched for each of them.
        if self.spec.reselect == Reselect::EachStep {
            m.paths = (0..self.ground.len()).map(|g| self.paths_through(&m, g, tree)).collect();
        }
        m
    }

    /// What a ground point sees and has a dish for.
    pub(crate) fn look(&self, g: usize, at: &Positions, candidates: &[u32], out: &mut Vec<Access>) {
        self.ground[g].visible_among(candidates.iter().copied(), at, out);
        if let Some(dishes) = self.spec.ground[g].dishes.filter(|&d| (d as usize) < out.len()) {
            if self.spec.ground[g].kind == GroundKind::Station {
                out.sort_unstable_by_key(|a| (a.range, a.sat));
                out.truncate(dishes as usize);
                out.sort_unstable_by_key(|a| a.sat);
            }
        }
    }

    /// What each visible satellite means for the paths of a terminal. A peer that cannot be reached costs more than
    /// any path.
    fn paths_through(&self, m: &Moment, g: usize, tree: &mut Tree) -> Vec<Weight> {
        const NO_PATH: Weight = 1 << 50;
        if self.spec.attach != Policy::ShortestPath || self.spec.ground[g].kind != GroundKind::Terminal {
            return Vec::new();
        }
        let visible = &m.visible[g];
        let mut sums = vec![0; visible.len()];
        if visible.len() > 1 {
            // The other satellites may cost more than they do if nothing but the cheapest is asked for.
            let best = self.sought[g].len() == 1 && self.spec.hysteresis == 0.0;
            for &peer in &self.sought[g] {
                self.grow(m, tree, &m.visible[peer], (g, visible), best);
                for (sum, a) in sums.iter_mut().zip(visible) {
                    *sum += a.range + tree.distance(a.sat).min(NO_PATH);
                }
            }
        }
        sums
    }

    /// Searches from `gates` until the `targets`, seen by ground point `g`, have their distances; with `best`, only the
    /// one that is on the shortest path needs its true one.
    fn grow(
        &self,
        m: &Moment,
        tree: &mut Tree,
        gates: &[Access],
        (g, targets): (usize, &[Access]),
        best: bool,
    ) {
        let point = self.ground[g].ecef;
        match m.mesh.field(&m.positions) {
            Some(f) if best => tree.toward(&f, gates, targets, Goal::best(point)),
            Some(f) => tree.toward(&f, gates, targets, Goal::all(point, targets)),
            None => tree.search(m.mesh.graph(), gates, targets),
        }
    }

    /// A ground point that has one satellite for all its peers.
    fn holds_one(&self, g: usize) -> bool {
        self.spec.ground[g].kind == GroundKind::Terminal || self.spec.attach != Policy::ShortestPath
    }

    /// What the policy asks for each visible satellite, the `i`-th of the ground point's view.
    fn price(&self, m: &Moment, g: usize, i: usize, paths: &[Weight]) -> f64 {
        let a = m.visible[g][i];
        match self.spec.attach {
            Policy::ShortestPath => paths[i] as f64,
            Policy::Nearest => a.range as f64,
            Policy::HighestElevation => {
                let sin = self.ground[g].sin_elevation(m.positions.get(a.sat as usize));
                libm::acos(sin.min(1.0))
            }
            // Functions name a satellite, not prices.
            Policy::Function => 0.0,
            Policy::LongestVisibility => 1.0 / (self.in_view_for(g, a.sat, m.t).as_secs_f64() + 0.1),
        }
    }

    /// How much longer a satellite stays above the mask, to a tenth of a second.
    fn in_view_for(&self, g: usize, sat: u32, t: Nanos) -> Nanos {
        let c = &self.constellation;
        let seen = |after: Nanos| {
            let place = c.motion.position(sat as usize, c.start.plus(t + after));
            place.is_some_and(|p| self.ground[g].sees(p))
        };
        let (mut inside, mut outside) = (Nanos::ZERO, Nanos::from_secs(10));
        while seen(outside) {
            (inside, outside) = (outside, outside + Nanos::from_secs(10));
            if inside >= FOR_EVER {
                return FOR_EVER;
            }
        }
        while outside - inside > Nanos::from_millis(100) {
            let middle = (inside + outside) / 2;
            *(if seen(middle) { &mut inside } else { &mut outside }) = middle;
        }
        inside
    }

    /// Gives each ground point that needs one its satellite; `before` = what they held.
    ///
    /// # Errors
    /// Of a function of the user's.
    pub(crate) fn serve(&self, m: &Moment, before: &[Held]) -> Result<Vec<Held>, String> {
        (0..self.ground.len()).map(|g| self.hold(m, g, before.get(g).copied().unwrap_or_default())).collect()
    }

    fn hold(&self, m: &Moment, g: usize, held: Held) -> Result<Held, String> {
        if !self.holds_one(g) || self.peers[g].is_empty() {
            return Ok(Held::default());
        }
        let visible = &m.visible[g];
        let still_there = held.sat.is_some_and(|s| visible.iter().any(|a| a.sat == s));
        if still_there && !self.spec.reselect.due(self.constellation.start, held.chosen, m.t) {
            return Ok(held);
        }
        if let Some(function) = &self.spec.plugins.attach {
            let sat = self.ask(function.as_ref(), m, g, held.sat.filter(|_| still_there))?;
            return Ok(Held { sat, chosen: m.t });
        }
        let searched;
        let paths = match m.paths.get(g) {
            Some(paths) => paths,
            None => {
                searched = self.paths_through(m, g, &mut Tree::default());
                &searched
            }
        };
        let offer = |(i, &access): (usize, &Access)| Offer { access, price: self.price(m, g, i, paths) };
        let offers: Vec<Offer> = visible.iter().enumerate().map(offer).collect();
        let sat = choose(&offers, held.sat, self.spec.hysteresis).map(|a| a.sat);
        Ok(Held { sat, chosen: m.t })
    }

    /// The satellite that a function of the user's chooses.
    fn ask(
        &self,
        f: &dyn AttachFunction,
        m: &Moment,
        g: usize,
        holding: Option<u32>,
    ) -> Result<Option<u32>, String> {
        let name = |g: usize| self.spec.ground[g].name.clone();
        let c = &self.constellation;
        let now = c.start.plus(m.t + Nanos::from_millis(100));
        let seen = |a: &Access| {
            let (sat, p) = (a.sat as usize, m.positions.get(a.sat as usize));
            Seen {
                sat: a.sat,
                name: c.names[sat].clone(),
                place: c.places[sat],
                range_m: a.range as f64 / 1e3,
                elevation_deg: libm::asin(self.ground[g].sin_elevation(p).min(1.0)) / RAD,
                ascending: c.motion.position(sat, now).is_some_and(|later| later[2] > p[2]),
                visible_for: self.in_view_for(g, a.sat, m.t),
            }
        };
        let view = AttachView {
            t: m.t,
            node: name(g),
            peers: self.peers[g].iter().map(|&p| name(p)).collect(),
            holding,
            seen: m.visible[g].iter().map(seen).collect(),
        };
        let wrong = |why: &str| failed(f.name(), m.t, &format!("{:?}", name(g)), why);
        match f.choose(view).map_err(|why| wrong(&why))? {
            Some(s) if m.visible[g].iter().all(|a| a.sat != s) => {
                let what = c.names.get(s as usize).map_or("does not exist", |_| "is not in view");
                Err(wrong(&format!("it chose satellite {s}, which {what}")))
            }
            chosen => Ok(chosen),
        }
    }

    /// The path that a function of the user's chooses, from the start of a way to its root.
    fn ask_route(
        &self,
        f: &dyn RouteFunction,
        m: &Moment,
        way: &Way,
        gates: [&[Access]; 2],
        shortest: Option<Vec<u32>>,
    ) -> Result<Option<Vec<u32>>, String> {
        let ends = [way.from, way.root];
        let view = RouteView {
            t: m.t,
            ends: ends.map(|g| self.spec.ground[g].name.clone()),
            points: ends.map(|g| self.ground[g].ecef),
            gates: gates.map(<[Access]>::to_vec),
            shortest,
            net: Arc::new(self.constellation.view(&m.positions, m.mesh.all_isls())),
        };
        let of = format!("{:?} to {:?}", view.ends[0], view.ends[1]);
        let wrong = |why: &str| failed(f.name(), m.t, &of, why);
        let view = Arc::new(view);
        let path = f.route(&view).map_err(|why| wrong(&why))?;
        if let Some(path) = &path {
            view.check(path).map_err(|why| wrong(&why))?;
        }
        Ok(path)
    }

    /// The satellites that a ground point may use when `serving` are chosen.
    pub(crate) fn gates(&self, m: &Moment, g: usize, serving: Option<u32>) -> Vec<Access> {
        let visible = &m.visible[g];
        if !self.holds_one(g) {
            return visible.clone();
        }
        visible.iter().filter(|a| Some(a.sat) == serving).copied().collect()
    }

    /// Ground points that shortest-path trees grow from, in order.
    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        self.ways.chunk_by(|a, b| a.root == b.root).map(|c| c[0].root)
    }

    /// Paths when each terminal has its satellite.
    pub(crate) fn routes(&self, m: &Moment, held: &[Held], tree: &mut Tree) -> Result<Routes, String> {
        let serving: Vec<Option<u32>> = held.iter().map(|h| h.sat).collect();
        let mut r = Routes::default();
        for of_root in self.ways.chunk_by(|a, b| a.root == b.root) {
            let found = self.routes_to(m, held, of_root, tree)?;
            r.paths.extend(found.paths);
            r.next_hops.extend(found.next_hops);
        }
        r.serving = serving;
        match &self.spec.rule {
            PathRule::Shortest => {}
            PathRule::Disjoint => self.disjoin(m, held, &mut r),
            PathRule::LoadAware(rule) => r = self.assign((m, held), rule, &[], true),
        }
        Ok(r)
    }

    /// Next hops of all satellites to the root of some ways, and their paths. `drift`: how far the links moved since
    /// the instant that the tree is from.
    pub(crate) fn table_to(
        &self,
        m: &Moment,
        held: &[Held],
        ways: &[Way],
        (tree, drift): (&mut Warm, Option<Weight>),
    ) -> RootRoutes {
        tree.refresh(m.mesh.graph(), &self.gates(m, ways[0].root, held[ways[0].root].sat), drift);
        let path = |w: &Way| tree.tree().path(&self.gates(m, w.from, held[w.from].sat));
        RootRoutes {
            paths: ways.iter().map(path).collect(),
            next_hops: Some(tree.tree().next_hops().collect()),
        }
    }

    /// Paths of the ways to one root and, with next-hop tables, the table.
    pub(crate) fn routes_to(
        &self,
        m: &Moment,
        held: &[Held],
        ways: &[Way],
        tree: &mut Tree,
    ) -> Result<RootRoutes, String> {
        if self.spec.routing == Routing::PerHop {
            return Ok(self.table_to(m, held, ways, (&mut Warm::default(), None)));
        }
        let gates = |g: usize| self.gates(m, g, held[g].sat);
        let root = gates(ways[0].root);
        let from: Vec<Vec<Access>> = ways.iter().map(|w| gates(w.from)).collect();
        let mut found = RootRoutes::default();
        if m.mesh.field(&m.positions).is_none() {
            let all: Vec<Access> = from.iter().flatten().copied().collect();
            tree.search(m.mesh.graph(), &root, &all);
        }
        for (way, from) in ways.iter().zip(&from) {
            if m.mesh.field(&m.positions).is_some() {
                self.grow(m, tree, &root, (way.from, from), true);
            }
            let path = match &self.spec.plugins.route {
                Some(f) => self.ask_route(f.as_ref(), m, way, [from, &root], tree.path(from))?,
                None => tree.path(from),
            };
            found.paths.push(path);
        }
        Ok(found)
    }
}

/// Time of light between two points, to the nanosecond.
pub(crate) fn light_time(a: Vec3, b: Vec3) -> Nanos {
    Nanos::from_secs_f64(distance_m(a, b) / SPEED_OF_LIGHT_M_S)
}
