// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Check for traffic that can never flow, with the likely reason.

use crate::frames::{dot, RAD};
use crate::links::lasers::LaserFaults;
use crate::links::visibility::Mask;
use crate::motion::shell::EARTH_RADIUS_M;
use crate::sky::config::PathRule;
use crate::sky::config::Pattern;
use crate::sky::error::SkyError;
use crate::sky::Sky;
use perigee_units::Nanos;

/// Interval of the checks: a satellite is in view for minutes, so 10 s suffice, and usually the
/// first check is conclusive.
const SAMPLE: Nanos = Nanos::from_secs(10);

impl Sky {
    /// Rejects traffic that can never flow: ground points that never see a satellite, and pairs
    /// that never have a path. Pairs that only faults of lasers cut are reported, not rejected: they
    /// are the outcome of a seed.
    ///
    /// # Errors
    /// The first of them and a remedy, or a satellite that decays during the run.
    pub fn check(&self) -> Result<Option<String>, SkyError> {
        let mut blind: Vec<usize> = (0..self.ground.len()).filter(|g| !self.peers[*g].is_empty()).collect();
        let mut cut: Vec<usize> = (0..self.ways.len()).collect();
        let mut t = Nanos::ZERO;
        while t <= self.spec.duration && !(blind.is_empty() && cut.is_empty()) {
            let moment = self.moment_at(t)?;
            let routes = self.routes_of(&moment)?;
            blind.retain(|&g| moment.visible[g].is_empty());
            cut.retain(|&w| routes.paths[w].is_none());
            t += SAMPLE;
        }
        let name = |g: usize| &self.spec.ground[g].name;
        if let Some(&g) = blind.first() {
            let why = self.why_blind(g)?;
            return Err(SkyError::Unreachable(format!(
                "{:?} sees no satellite during the whole run: {why}",
                name(g)
            )));
        }
        if let Some(w) = cut.first().map(|&w| &self.ways[w]) {
            let ends = format!("between {:?} and {:?} during the whole run", name(w.from), name(w.root));
            if !self.spec.isls.faults.is_none() {
                let mut working = self.spec.clone();
                working.isls.faults = LaserFaults::default();
                Sky::new(working)?.check()?;
                return Ok(Some(format!(
                    "there is no path {ends}: faults of lasers (isl_failed, isl_failure_every, isl_pointing_every) \
                     cut it with this seed"
                )));
            }
            return Err(SkyError::Unreachable(format!("there is no path {ends}: {}", self.why_cut())));
        }
        // Also evaluates the end of the run, so that a decaying satellite is found before the run.
        self.moment_at(self.spec.duration).map(|_| None)
    }

    fn why_blind(&self, g: usize) -> Result<String, SkyError> {
        let (node, latitude) = (&self.spec.ground[g], self.spec.ground[g].place.lat_deg.abs());
        if !node.off.is_empty() {
            return Ok("its outages leave it no time with a satellite in view: shorten them".into());
        }
        let reach = self.reach_deg(node.mask)?;
        if latitude > reach {
            return Ok(format!(
                "it stands at {latitude:.1} degrees of latitude, and these orbits are seen up to {reach:.1} with its \
                 mask of {}: take orbits of a higher inclination, or lower its mask",
                shown(node.mask)
            ));
        }
        Ok(format!("its mask is {}: lower it, or take more satellites or a longer run", shown(node.mask)))
    }

    /// Highest latitude from which any satellite is visible, on a sphere.
    fn reach_deg(&self, mask: Mask) -> Result<f64, SkyError> {
        let at = self.moment_at(Nanos::ZERO)?.positions;
        let inclination = |i: usize| {
            let deg = self.constellation.elements[i].inclination_rad / RAD;
            deg.min(180.0 - deg)
        };
        let reach = |i: usize| {
            let p = at.get(i);
            let ratio = EARTH_RADIUS_M / dot(p, p).sqrt();
            let footprint = match mask {
                Mask::Elevation(deg) => libm::acos((ratio * libm::cos(deg * RAD)).min(1.0)) / RAD - deg,
                Mask::Range(m) => m / EARTH_RADIUS_M / RAD,
            };
            inclination(i) + footprint.max(0.0)
        };
        Ok((0..at.len()).map(reach).fold(0.0, f64::max))
    }

    /// Reason for pairs with satellites in view of both ends, but without links to connect them.
    fn why_cut(&self) -> String {
        let isls = &self.spec.isls;
        let linked = isls.is_dynamic()
            || self.constellation.selected_at(Nanos::ZERO).is_ok_and(|l| l.pairs().next().is_some());
        let relays = self.relays.contains(&true);
        let shells = self.constellation.places.iter().flatten().map(|p| p.shell).max().unwrap_or(0) + 1;
        if !linked && !relays {
            let which = if matches!(isls.pattern, Pattern::None) {
                "inter-satellite links are off"
            } else {
                "these satellites have no inter-satellite links"
            };
            return format!(
                "{which} and nothing relays: set relay = \"stations\" and add stations between them, or take \
                 satellites with such links"
            );
        }
        if !linked {
            return "there are no inter-satellite links, and no chain of stations joins them: add stations between them, such as \
                    [[nodes]] with set = \"gateways\""
                .into();
        }
        let mut hints = Vec::new();
        if shells > 1 && !isls.cross_shell && !matches!(isls.pattern, Pattern::List(_) | Pattern::Function) {
            hints.push("shells are islands unless cross_shell = true");
        }
        if isls.limits.max_range_m.is_finite() {
            hints.push("isl_range may be too short");
        }
        if matches!(self.spec.rule, PathRule::Disjoint) {
            hints.push("route = \"disjoint\" may leave it no satellites");
        }
        if hints.is_empty() {
            hints.push(
                "look at the ISLs with perigee sky FILE; relay = \"stations\" adds ways over the ground",
            );
        }
        hints.join("; ")
    }
}

fn shown(mask: Mask) -> String {
    match mask {
        Mask::Elevation(deg) => format!("{deg} degrees"),
        Mask::Range(m) => format!("{:.0} km of range", m / 1e3),
    }
}
