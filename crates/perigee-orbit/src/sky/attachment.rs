// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attachment: selection of each ground point's satellite at an instant.

use crate::frames::RAD;
use crate::links::length::{Access, Weight};
use crate::paths::tree::Tree;
use crate::sky::config::GroundKind;
use crate::sky::moment::Moment;
use crate::sky::plugin::{failed, AttachFunction, AttachView, VisibleSatellite};
use crate::sky::policy::{choose, Held, Offer, Policy, Reselect};
use crate::sky::Sky;
use perigee_units::Nanos;

/// Upper bound of the computed time in view.
const FOR_EVER: Nanos = Nanos::from_secs(7200);

impl Sky {
    /// Whether attachment depends on the previous one.
    pub(crate) fn has_memory(&self) -> bool {
        self.spec.reselect != Reselect::EachStep
            || self.spec.hysteresis > 0.0
            || self.spec.attach == Policy::Function
    }

    /// Cost of each visible satellite for the paths of a terminal. An unreachable peer costs more
    /// than any path.
    pub(crate) fn paths_through(&self, m: &Moment, g: usize, tree: &mut Tree) -> Vec<Weight> {
        const NO_PATH: Weight = 1 << 50;
        if self.spec.attach != Policy::ShortestPath || self.spec.ground[g].kind != GroundKind::Terminal {
            return Vec::new();
        }
        let visible = &m.visible[g];
        let mut sums = vec![0; visible.len()];
        if visible.len() > 1 {
            // Upper bounds suffice for the other satellites if only the cheapest is needed.
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

    /// Whether a ground point uses one satellite for all its peers.
    pub(crate) fn holds_one(&self, g: usize) -> bool {
        self.spec.ground[g].kind == GroundKind::Terminal || self.spec.attach != Policy::ShortestPath
    }

    /// Price of the `i`-th satellite in the ground point's view, by the policy.
    fn price(&self, m: &Moment, g: usize, i: usize, paths: &[Weight]) -> f64 {
        let a = m.visible[g][i];
        match self.spec.attach {
            Policy::ShortestPath => paths[i] as f64,
            Policy::Nearest => a.range as f64,
            Policy::HighestElevation => {
                let sin = self.ground[g].sin_elevation(m.positions.get(a.sat as usize));
                libm::acos(sin.min(1.0))
            }
            // Functions return a satellite, not prices.
            Policy::Function => 0.0,
            Policy::LongestVisibility => 1.0 / (self.in_view_for(g, a.sat, m.t).as_secs_f64() + 0.1),
        }
    }

    /// Remaining time of a satellite above the mask, to a tenth of a second.
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

    /// Selects a satellite for each ground point that needs one; `before`: the previous ones.
    ///
    /// # Errors
    /// Errors of a user-defined function.
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

    /// The satellite chosen by a user-defined function.
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
            VisibleSatellite {
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
}
