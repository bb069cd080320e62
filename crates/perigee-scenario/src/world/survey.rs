// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Survey of a scenario's constellation without packets, as JSON, for `perigee paths` and `perigee
//! sky`.

use crate::file::error::{Problem, ScenarioError};
use crate::file::node::{NodeSpec, Position};
use crate::file::scenario::Scenario;
use crate::file::sources::{Constellation, Source};
use crate::world::fibre;
use crate::world::sky;
use crate::world::sky_spec;
use crate::world::traffic;
use perigee_orbit::frames::{great_circle_m, SPEED_OF_LIGHT_M_S};
use perigee_orbit::stream::survey::{Hop, Leg, PairSurvey};
use perigee_orbit::{Reach, Sky, SkySpec};
use perigee_timeline::{GeoPoint, PairId};
use perigee_units::Nanos;
use serde_json::{json, Value as Json};
use std::sync::Arc;

/// Maximum number of terminals listed in warnings; the others are only counted.
const REMARKS: usize = 3;
/// Factor by which light is slower in fibre.
const FIBRE: f64 = 1.47;

/// A sky with the requested pairs.
pub struct Look {
    /// The sky.
    pub sky: Arc<Sky>,
    /// Ends of each pair, as indices of ground points.
    pub pairs: Vec<(usize, usize)>,
    /// Forward direction of each pair, in the sky.
    pub(crate) ids: Vec<PairId>,
    /// Whether the pair is one of the scenario's.
    own: Vec<bool>,
    /// Whether the sky contains only these pairs.
    alone: bool,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// Whether the network of a scenario consists of its satellites alone, so that its paths are those
/// of [`look`].
pub fn has_sky(scenario: &Scenario) -> bool {
    matches!(&scenario.source, Source::Constellation(c) if c.fibres.is_empty())
}

/// The sky of a scenario with traffic between `ends`, or else that of its flows. An end is a node,
/// a city, or `"lat, lon"` in degrees. The sky also contains the scenario's own pairs, unless
/// `alone` is set: terminals select their satellites for all their peers.
///
/// # Errors
/// A source without satellites, an unknown place.
pub fn look(
    scenario: &Scenario,
    ends: &[(String, String)],
    seed: u64,
    alone: bool,
) -> Result<Look, ScenarioError> {
    let Source::Constellation(c) = &scenario.source else {
        let p = Problem::new("source", "this source has no satellites");
        return Err(p
            .hint("use a [source.constellation], or `perigee paths` for routes of other networks")
            .into());
    };
    if c.is_leoem() {
        let p = Problem::new(
            "source.constellation.preset",
            "this preset generates a path log, not a constellation",
        )
        .at(c.place());
        return Err(p.hint("use `perigee export leoem SCENARIO FILE` to write the log").into());
    }
    let mut scenario = Scenario::clone(&traffic::expand(&Arc::new(scenario.clone()), seed));
    if !c.fibres.is_empty() {
        scenario = fibre::sky_only(&scenario, c)?;
    }
    let mut place = |name: &String| node(&mut scenario, name, c);
    let mut pairs = Vec::new();
    for (from, to) in ends {
        let pair = (place(from)?, place(to)?);
        if pair.0 == pair.1 {
            return Err(Problem::new("from", "both ends are the same").found(format!("{from:?}")).into());
        }
        pairs.push(pair);
    }
    if pairs.is_empty() {
        pairs = sky::pairs(&scenario)?;
    }
    let mut spec: SkySpec = sky_spec::spec(&scenario, c, &pairs, seed)?;
    // A pair and its reverse may both be listed.
    let mut seen = Vec::new();
    pairs.retain(|&(a, b)| {
        let new = !seen.contains(&(a, b)) && !seen.contains(&(b, a));
        seen.push((a, b));
        new
    });
    let own = sky::pairs(&scenario).unwrap_or_default();
    // Other pairs also load links. Those of the scenario come first, as their order determines the
    // first flow of a terminal.
    let mut all = if alone { Vec::new() } else { own.clone() };
    for &(a, b) in &pairs {
        if !all.contains(&(a, b)) && !all.contains(&(b, a)) {
            all.push((a, b));
        }
    }
    spec.pairs = all.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    let wrong =
        |e: perigee_orbit::SkyError| Problem::new("source.constellation", e.to_string()).at(c.place());
    let sky = Arc::new(Sky::new(spec).map_err(wrong)?);
    let warnings = [c.remarks(), sky.warnings().to_vec()].concat();
    let ids = pairs.iter().map(|&(a, b)| {
        let along = all.iter().position(|&p| p == (a, b)).map(|i| 2 * i);
        let against = || all.iter().position(|&p| p == (b, a)).map(|i| 2 * i + 1);
        PairId(along.or_else(against).unwrap_or(0) as u32)
    });
    let of_scenario = |&(a, b): &(usize, usize)| own.contains(&(a, b)) || own.contains(&(b, a));
    let own = pairs.iter().map(of_scenario).collect();
    Ok(Look { sky, ids: ids.collect(), own, alone, pairs, warnings })
}

/// Node of the scenario with this name, or a new node.
fn node(scenario: &mut Scenario, name: &str, c: &Constellation) -> Result<usize, ScenarioError> {
    let same = |n: &NodeSpec| n.name == name || matches!(&n.position, Position::City(city) if city == name);
    if let Some(i) = scenario.nodes.iter().position(same) {
        return Ok(i);
    }
    let degrees = || {
        let (lat, lon) = name.split_once(',')?;
        Some(Position::Degrees(lat.trim().parse().ok()?, lon.trim().parse().ok()?))
    };
    // New nodes have the kind of the scenario's own nodes.
    let kind = scenario.nodes.first().map_or("terminal".into(), |n| n.kind.clone());
    scenario.nodes.push(NodeSpec {
        name: name.into(),
        kind,
        position: degrees().unwrap_or_else(|| Position::City(name.into())),
        height_m: 0.0,
        mask_deg: None,
        dishes: None,
        weight: 1.0,
        weather: None,
        place: c.place().clone(),
    });
    Ok(scenario.nodes.len() - 1)
}

/// Values of a pair at every step: a day has 864,000 of them, so they are not returned as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Round-trip propagation time; NaN = unreachable.
    pub rtt_ms: Vec<f64>,
    /// Whether the satellite of one end flies north and that of the other south.
    pub apart: Vec<bool>,
}

impl Series {
    fn of(s: PairSurvey) -> Self {
        Series {
            rtt_ms: s.rtts.iter().map(|r| r.map_or(f64::NAN, Nanos::as_millis_f64)).collect(),
            apart: s.ends_ascend.iter().map(|e| e.is_some_and(|(a, b)| a != b)).collect(),
        }
    }
}

impl Look {
    fn place(&self, ground: usize) -> GeoPoint {
        self.sky.spec().ground[ground].place
    }

    fn name(&self, ground: usize) -> &str {
        &self.sky.spec().ground[ground].name
    }

    /// Paths of all pairs as JSON, and their values at every step.
    ///
    /// # Errors
    /// If a satellite decays during the run.
    pub fn paths(&self) -> Result<(Json, Vec<Series>), String> {
        let found = self.sky.survey(&self.ids)?;
        let spec = self.sky.spec();
        let pairs: Vec<Json> = (0..found.len()).map(|i| self.pair(i, &found[i])).collect();
        let paths = json!({
            "title": spec.title,
            "start": self.sky.constellation().start.to_string(),
            "step_s": spec.step.as_secs_f64(),
            "duration_s": spec.duration.as_secs_f64(),
            "report": self.sky.report(),
            "warnings": self.warnings,
            "pairs": pairs,
        });
        Ok((paths, found.into_iter().map(Series::of).collect()))
    }

    /// Warnings about satellites that serve several pairs at once.
    ///
    /// # Errors
    /// If a satellite decays during the run.
    pub fn shared_choices(&self) -> Result<Vec<String>, String> {
        let found = self.sky.shared_choices().map_err(|e| e.to_string())?;
        let mut lines: Vec<String> = found.iter().take(REMARKS).map(ToString::to_string).collect();
        if found.len() > REMARKS {
            lines.push(format!("… and {} similar terminals", found.len() - REMARKS));
        }
        Ok(lines)
    }

    fn pair(&self, i: usize, s: &PairSurvey) -> Json {
        let (from, to) = self.pairs[i];
        let distance_m = great_circle_m(self.place(from), self.place(to));
        json!({
            "from": self.name(from),
            "to": self.name(to),
            "attachment": match (self.alone, self.own[i]) {
                (true, _) => "these pairs alone",
                (false, true) => "as in the scenario",
                (false, false) => "alongside the scenario's flows",
            },
            "from_place": degrees(self.place(from)),
            "to_place": degrees(self.place(to)),
            "distance_km": distance_m / 1e3,
            "fibre_rtt_ms": 2e3 * distance_m * FIBRE / SPEED_OF_LIGHT_M_S,
            "legs": s.legs.iter().map(|l| self.leg(l)).collect::<Vec<_>>(),
        })
    }

    fn leg(&self, leg: &Leg) -> Json {
        json!({
            "t_s": leg.from.as_secs_f64(),
            "rtt_ms": leg.rtt.map(Nanos::as_millis_f64),
            "hops": leg.hops.as_ref().map(|h| h.iter().map(|h| self.hop(h)).collect::<Vec<_>>()),
        })
    }

    fn hop(&self, h: &Hop) -> Json {
        json!({
            "name": self.sky.vertex_name(h.vertex),
            "shell": h.place.map(|p| p.shell),
            "plane": h.place.map(|p| p.plane),
            "slot": h.place.map(|p| p.slot),
            "ascending": h.ascending,
            "over": degrees(h.over),
        })
    }

    /// Views of places (degrees north and east), then of the ground points, at an instant, with the
    /// paths from the ground point `origin`: see [`Sky::reach`].
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn reach(
        &self,
        t_ns: u64,
        places: &[[f64; 2]],
        mask_deg: f64,
        origin: Option<usize>,
    ) -> Result<Vec<Reach>, String> {
        let place = |&[lat_deg, lon_deg]: &[f64; 2]| GeoPoint { lat_deg, lon_deg, height_m: 0.0 };
        let ground = self.sky.spec().ground.iter().map(|g| g.place);
        let all: Vec<GeoPoint> = places.iter().map(place).chain(ground).collect();
        self.sky.reach(Nanos(t_ns), &all, mask_deg, origin)
    }

    /// Complete state at an instant of the run, in nanoseconds from its start.
    ///
    /// # Errors
    /// If a satellite has decayed by then.
    pub fn picture(&self, t_ns: u64) -> Result<Json, String> {
        let t = Nanos(t_ns);
        let p = self.sky.picture(t)?;
        let c = self.sky.constellation();
        let satellite = |(i, (over, ascending)): (usize, &(GeoPoint, bool))| {
            let shell = c.places[i].map(|p| p.shell);
            json!([over.lat_deg, over.lon_deg, over.height_m / 1e3, shell, ascending])
        };
        let ground = |(g, n): (usize, &perigee_orbit::GroundNode)| {
            let mask_deg = match n.mask {
                perigee_orbit::links::visibility::Mask::Elevation(deg) => Some(deg),
                perigee_orbit::links::visibility::Mask::Range(_) => None,
            };
            json!({
                "name": n.name, "place": degrees(n.place), "kind": kind(n.kind),
                "mask_deg": mask_deg, "serving": p.serving[g], "visible": p.visible[g],
            })
        };
        let path = |(i, &(from, to)): (usize, &(usize, usize))| {
            let route = p.routes[self.ids[i].ix()].as_ref();
            json!({
                "from": from, "to": to,
                "rtt_ms": route.map(|r| (r.one_way() * 2).as_millis_f64()),
                "vertices": route.map(|r| r.satellites.clone()),
            })
        };
        Ok(json!({
            "title": self.sky.spec().title,
            "t_s": t.as_secs_f64(),
            "instant": c.start.plus(t).to_string(),
            "duration_s": self.sky.spec().duration.as_secs_f64(),
            "warnings": self.warnings,
            "satellites": p.satellites.iter().enumerate().map(satellite).collect::<Vec<_>>(),
            "names": c.names,
            "isls": p.isls,
            "ground": self.sky.spec().ground.iter().enumerate().map(ground).collect::<Vec<_>>(),
            "paths": self.pairs.iter().enumerate().map(path).collect::<Vec<_>>(),
        }))
    }
}

fn kind(kind: perigee_orbit::GroundKind) -> &'static str {
    match kind {
        perigee_orbit::GroundKind::Station => "station",
        perigee_orbit::GroundKind::Terminal => "terminal",
    }
}

fn degrees(p: GeoPoint) -> [f64; 2] {
    [p.lat_deg, p.lon_deg]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scenario() -> Scenario {
        let text = "[run]\nduration = \"3 s\"\n[source.constellation]\npreset = \"starlink-shell1\"\n\
                    [node.a]\nplace = \"London\"\n[node.b]\nplace = \"New York\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\n";
        Scenario::parse(text, "test", Path::new(""), &[]).unwrap()
    }

    fn paths(ends: &[(&str, &str)]) -> (Json, Vec<Series>) {
        let ends: Vec<_> = ends.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        look(&scenario(), &ends, 1, false).unwrap().paths().unwrap()
    }

    #[test]
    fn ends_are_nodes_cities_or_coordinates() {
        let (own, series) = paths(&[]);
        assert_eq!(series[0].rtt_ms.len(), 30);
        assert!((own["pairs"][0]["distance_km"].as_f64().unwrap() - 5570.0).abs() < 15.0);
        assert_eq!(own["pairs"], paths(&[("a", "b")]).0["pairs"]);
        assert_eq!(own["pairs"], paths(&[("London", "New York")]).0["pairs"]);
        let (two, _) = paths(&[("London", "Tokyo"), ("10.5, -20", "a")]);
        assert_eq!(two["pairs"][0]["to"], "Tokyo");
        assert_eq!(two["pairs"][1]["from_place"], json!([10.5, -20.0]));
        let wrong = look(&scenario(), &[("a".into(), "Atlantis".into())], 1, false).err().unwrap();
        assert!(wrong.to_string().contains("Atlantis"), "{wrong}");
    }

    #[test]
    fn a_picture_shows_the_path_that_a_survey_lists() {
        let look = look(&scenario(), &[], 1, false).unwrap();
        let picture = look.picture(2_000_000_000).unwrap();
        let (_, series) = look.paths().unwrap();
        assert_eq!(picture["satellites"].as_array().unwrap().len(), 1584);
        assert_eq!(picture["isls"].as_array().unwrap().len(), 3168);
        assert_eq!(picture["paths"][0]["rtt_ms"], json!(series[0].rtt_ms[20]));
    }
}
