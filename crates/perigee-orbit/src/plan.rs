// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of a sky in order: views in parallel, then satellites step after step (a policy may look at what was held
//! before), then paths in parallel again. Nothing depends on the number of threads.

use crate::attach::Held;
use crate::motion::Positions;
use crate::routing::Tree;
use crate::sky::{Moment, Routes, Sky};
use perigee_units::Nanos;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Goes through a sky from its start.
pub(crate) struct Planner {
    sky: Arc<Sky>,
    /// What the ground points held at the last step.
    held: Vec<Held>,
}

/// Some steps.
pub(crate) struct Steps {
    pub times: Vec<Nanos>,
    pub moments: Vec<Moment>,
    pub routes: Vec<Routes>,
    /// Positions one step after the last.
    pub after: Positions,
}

impl Planner {
    pub fn new(sky: &Arc<Sky>) -> Self {
        Planner { sky: Arc::clone(sky), held: Vec::new() }
    }

    /// The steps `first..last`, counted from the start; they must follow those of the call before.
    pub fn steps(&mut self, steps: std::ops::Range<u64>) -> Result<Steps, String> {
        let length = self.sky.spec.step;
        let (first, end) = (length * steps.start, length * steps.end);
        let times: Vec<Nanos> = steps.map(|k| length * k).collect();
        let (moments, after) = self.moments(&times, first, end)?;
        let routes = self.routes(&moments);
        Ok(Steps { times, moments, routes, after })
    }

    fn moments(
        &self,
        times: &[Nanos],
        first: Nanos,
        after: Nanos,
    ) -> Result<(Vec<Moment>, Positions), String> {
        let c = &self.sky.constellation;
        let mut lasers = BTreeMap::new();
        for &t in times {
            if let std::collections::btree_map::Entry::Vacant(new) = lasers.entry(c.lasers_since(t)) {
                new.insert(c.lasers_at(t)?);
            }
        }
        let span = c.motion.span(c.start, first, after)?;
        let positions = |t: Nanos| {
            let mut p = Positions::default();
            span.positions(t, &mut p);
            p
        };
        let moment =
            |tree: &mut Tree, &t: &Nanos| self.sky.moment(t, positions(t), &lasers[&c.lasers_since(t)], tree);
        Ok((times.par_iter().map_init(Tree::default, moment).collect(), positions(after)))
    }

    fn routes(&mut self, moments: &[Moment]) -> Vec<Routes> {
        let mut held = Vec::with_capacity(moments.len());
        for m in moments {
            self.held = self.sky.serve(m, &self.held);
            held.push(self.held.clone());
        }
        let route = |tree: &mut Tree, (m, h): (&Moment, Vec<Held>)| self.sky.routes(m, h, tree);
        moments.par_iter().zip(held).map_init(Tree::default, route).collect()
    }
}
