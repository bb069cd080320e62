// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[demand]` over a constellation: users as a fluid, step by step.
//!
//! Steps are independent of each other: [`step`] computes one, [`spreading`] distributes terminals
//! over satellites and gateways, [`tally`] averages steps into rows. Intervals run in parallel and
//! are joined in order, so that results do not depend on the number of threads. Routes and views
//! come from [`perigee_orbit::stream::overlook`], rates from [`perigee_fluid`].

pub mod between;
mod exits;
pub mod setting;
pub mod spreading;
pub mod step;
mod table;
pub mod tally;

use crate::file::error::ScenarioError;
use crate::file::scenario::Scenario;
use perigee_orbit::frames::SPEED_OF_LIGHT_M_S;
use perigee_orbit::stream::overlook::KnownIsls;
use perigee_units::{stop, Nanos};
use rayon::prelude::*;
use serde_json::{json, Value as Json};
use setting::Setting;
use tally::{Chunk, Interval};

/// Intervals of links in a chunk, the unit that is stored and resumed.
const INTERVALS: u64 = 8;

/// Exact for whole seconds, so that readers can compare times.
fn seconds(t: Nanos) -> f64 {
    t.0 as f64 / 1e9
}

/// A demand that can be computed, chunk by chunk.
#[derive(Debug)]
pub struct DemandRun {
    setting: Setting,
}

impl DemandRun {
    /// Prepares the demand of a scenario.
    ///
    /// # Errors
    /// A scenario without demand or satellites, unknown places, unreadable weather.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        Ok(DemandRun { setting: Setting::new(scenario)? })
    }

    /// Numbers of the first gateway and the first cell where satellites, gateways and cells are
    /// numbered in this order.
    pub fn first_vertices(&self) -> [u32; 2] {
        let satellites = self.setting.sky.constellation().len() as u32;
        [satellites, satellites + self.setting.gateways.len() as u32]
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        self.setting.duration.0.div_ceil(self.chunk_length().0)
    }

    fn chunk_length(&self) -> Nanos {
        self.setting.record_links * INTERVALS
    }

    /// Computes a chunk, on that number of threads (`None`: on one per core). The result does not
    /// depend on it.
    ///
    /// # Errors
    /// When the work is interrupted, or no thread can be started.
    pub fn chunk(&self, number: u64, threads: Option<usize>) -> Result<Chunk, String> {
        let s = &self.setting;
        let start = self.chunk_length() * number;
        let end = (start + self.chunk_length()).min(s.duration);
        let starts: Vec<Nanos> =
            (0..INTERVALS).map(|i| start + s.record_links * i).take_while(|t| *t < end).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        let pool = pool.map_err(|e| format!("no threads: {e}"))?;
        let mut chunk = Chunk::default();
        for batch in starts.chunks(pool.current_num_threads().max(1)) {
            stop::check()?;
            let work = || batch.par_iter().map(|t| self.interval(*t, end)).collect();
            let done: Vec<Interval> = pool.install(work);
            done.into_iter().for_each(|interval| chunk.append(interval));
        }
        Ok(chunk)
    }

    /// The steps of an interval of links, one after the other.
    fn interval(&self, start: Nanos, end: Nanos) -> Interval {
        let s = &self.setting;
        let end = (start + s.record_links).min(end);
        let mut interval = Interval::new(s, start);
        let mut isls = KnownIsls::default();
        let mut t = start;
        while t < end {
            let row_end = (t + s.record).min(end);
            let from = t;
            while t < row_end {
                match s.step_at(t, &mut isls) {
                    Ok(outcome) => interval.add(s, &outcome),
                    Err(why) => interval.fail(s, t, why),
                }
                t += s.step;
            }
            interval.close_row(s, from);
        }
        interval.close(s);
        interval
    }

    /// Everything that tables refer to by number, as JSON.
    pub fn describe(&self) -> Json {
        let s = &self.setting;
        let plan = |p: &setting::TerminalPlan| {
            json!({
                "name": p.name, "share": p.share, "weight": p.weight,
                "elastic_bps": p.elastic_bps, "inelastic_bps": p.inelastic_bps,
            })
        };
        let gateway = |g: &setting::Gateway| {
            let mut found = json!({
                "name": g.name, "lat": g.place.lat_deg, "lon": g.place.lon_deg, "capacity_bps": g.capacity_bps,
            });
            if let Some(e) = &g.exchange {
                found["exchange"] = json!(e.name);
                found["fibre_rtt_ms"] = json!(2.0 * e.length as f64 / SPEED_OF_LIGHT_M_S);
            }
            found
        };
        json!({
            "title": s.sky.spec().title,
            "start": s.sky.constellation().start.to_string(),
            "duration_s": seconds(s.duration),
            "step_s": seconds(s.step),
            "record_s": seconds(s.record),
            "record_links_s": seconds(s.record_links),
            "threshold_bps": s.threshold_bps,
            "chunks": self.chunks(),
            "chunk_intervals": INTERVALS,
            "steps": s.duration.0 / s.step.0,
            "satellites": s.sky.constellation().names,
            "gateways": s.gateways.iter().map(gateway).collect::<Vec<_>>(),
            "cells": s.cells.iter().map(|c| json!({
                "name": c.name, "lat": c.place.lat_deg, "lon": c.place.lon_deg,
                "population": c.population, "terminals": c.terminals,
            })).collect::<Vec<_>>(),
            "plans": s.plans.iter().map(plan).collect::<Vec<_>>(),
            "failures": s.failures.iter().map(|f| json!({
                "gateway": s.gateways[f.gateway].name,
                "from_s": seconds(f.from), "to_s": seconds(f.to.min(s.duration)), "left": f.left,
            })).collect::<Vec<_>>(),
            "between": s.between.as_ref().map(|b| json!({
                "down": b.part[0], "up": b.part[1], "covered": b.covered,
                "pairs": b.peers.iter().map(Vec::len).sum::<usize>(),
            })),
            "report": s.sky.report(),
            "warnings": s.warnings,
        })
    }

    /// Position of a satellite's shadow point at an instant: degrees north and east, for maps.
    ///
    /// # Errors
    /// When a satellite has decayed by then.
    pub fn shadows(&self, t: Nanos) -> Result<Vec<[f64; 2]>, String> {
        let c = self.setting.sky.constellation();
        let mut at = perigee_orbit::motion::positions::Positions::default();
        c.motion.span(c.start, t, t)?.positions(t, &mut at);
        let ellipsoid = self.setting.sky.spec().ellipsoid;
        let below = |s: usize| {
            let p = ellipsoid.geodetic(at.get(s));
            [p.lat_deg, p.lon_deg]
        };
        Ok((0..at.len()).map(below).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::demand::step::Link;
    use std::path::Path;

    const TEXT: &str = "[run]\nduration = \"20 min\"\n[source.constellation]\npreset = \"PRESET\"\n\
        [node.Raisting]\nkind = \"station\"\nlat = 47.9\nlon = 11.1\n\
        [node.Fucino]\nkind = \"station\"\nlat = 42.0\nlon = 13.6\n\
        [demand]\nset = \"cities\"\ncount = 60\nterminals = 200_000\nstep = \"60 s\"\nMORE\n\
        [[demand.plan]]\nshare = 3\ninelastic_down = \"100 kbit\"\n[[demand.plan]]\nname = \"b\"\nweight = 2\nup = \"30 Mbit\"\n";

    fn run(preset: &str, more: &str, tail: &str) -> DemandRun {
        built(TEXT, preset, more, tail)
    }

    fn sparse(preset: &str, more: &str, tail: &str) -> DemandRun {
        let text = TEXT.replace("step = \"60 s\"", "step = \"5 min\"\nrecord = \"5 min\"");
        built(&text, preset, more, tail)
    }

    fn built(text: &str, preset: &str, more: &str, tail: &str) -> DemandRun {
        let text = text.replace("PRESET", preset).replace("MORE", more) + tail;
        let s = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
        DemandRun::new(&s).unwrap_or_else(|e| panic!("{e}"))
    }

    fn served(c: &Chunk) -> f64 {
        c.steps.iter().filter(|s| s.direction == 0).map(|s| s.served.elastic[1]).sum()
    }

    #[test]
    fn whatever_is_offered_flows_or_is_accounted_for_by_every_policy() {
        for more in [
            "",
            "spread = \"nearest\"",
            "spread = \"even\"\nsatellites = 2\nroute = \"load-aware\"\nisl = \"1 Gbit\"",
            "gateway = \"balanced\"\ngateways = 2\nfairness = \"proportional\"",
            "fairness = \"alpha\"\nalpha = 3\ngrid = \"5 deg\"",
            "to = \"gravity\"\ncells_down = 0.1\ncells_up = 0.5\ngateway = \"balanced\"",
            "to = \"gravity\"\nexponent = 0\npeers = 59\nroute = \"load-aware\"\nisl = \"100 Mbit\"",
            "to = \"gravity\"\nfairness = \"proportional\"\npeers = 4\ncells_down = 0.3",
        ] {
            let c = sparse("starlink-shell1", more, "").chunk(0, None).unwrap();
            assert!(served(&c) > 1e9, "{more}");
            let e = c.errors;
            assert!(e.offered <= 1e-9 && e.carried <= 1e-9 && e.excess <= 1e-9, "{more} {e:?}");
            assert!(e.gap <= 1e-6, "{more} {e:?}");
            assert!(c.failed.is_empty() && c.unreached == 0);
            assert!(c.cells.iter().all(|r| r.served.missing() <= 1e-9));
            assert!(c.links.iter().all(|l| l.peak_bps <= l.capacity_bps * (1.0 + 1e-9)));
        }
    }

    #[test]
    fn the_number_of_threads_and_the_order_of_chunks_change_no_bit() {
        let text = |c: &Chunk| format!("{:?} {:?} {:?} {:?}", c.cells, c.paths, c.links, c.steps);
        let more =
            "record_links = \"60 s\"\nroute = \"load-aware\"\nisl = \"1 Gbit\"\ngateway = \"balanced\"";
        for (to, others) in [("", &[2, 3, 4, 8][..]), ("\nto = \"gravity\"\ncells_down = 0.1", &[3])] {
            let run = run("starlink-shell1", &format!("{more}{to}"), "");
            assert_eq!(run.chunks(), 3);
            let last = text(&run.chunk(2, Some(1)).unwrap());
            for &threads in others {
                assert_eq!(text(&run.chunk(2, Some(threads)).unwrap()), last, "{threads} threads");
            }
        }
    }

    #[test]
    fn what_a_failed_gateway_carried_is_lost_or_goes_elsewhere() {
        let fail = |names: &str| {
            format!("[[demand.failure]]\ngateway = {names}\nat = \"5 min\"\nlength = \"5 min\"\n")
        };
        let before = run("starlink-shell1", "", "").chunk(0, None).unwrap();
        let one = run("starlink-shell1", "", &fail("\"Raisting\"")).chunk(0, None).unwrap();
        let both = run("starlink-shell1", "", &fail("[\"Raisting\", \"Fucino\"]")).chunk(0, None).unwrap();
        assert!(served(&one) < served(&before) && served(&both) < served(&one));
        assert_eq!(both.unreached, 5);
        for (a, b) in before.steps.iter().zip(&both.steps) {
            let failed = (300..600).contains(&(a.t.0 / 1_000_000_000));
            let offered = b.served.elastic[0] + b.served.inelastic[0];
            assert_eq!(b.served.no_gateway > 0.0, failed);
            assert!(!failed || (b.served.no_gateway / offered - 1.0).abs() < 1e-12);
            assert!(failed || a.served == b.served);
        }
        let gateway =
            |l: &&tally::LinkRow| l.link == Link::Gateway(0) && (300..600).contains(&(l.t.0 / 1_000_000_000));
        assert_eq!(one.links.iter().filter(gateway).count(), 0);
        assert!(before.links.iter().filter(gateway).count() > 0);
    }

    #[test]
    fn satellites_without_links_serve_cells_only_where_they_see_a_gateway() {
        let c = run("oneweb", "", "").chunk(0, None).unwrap();
        assert!(c.paths.iter().any(|p| p.reached == 0.0) && c.paths.iter().any(|p| p.reached == 1.0));
        assert!(c.paths.iter().all(|p| p.isls.is_nan() || p.isls == 0.0));
    }

    #[test]
    fn load_aware_paths_carry_more_where_links_are_full() {
        let with = |route: &str| {
            let more = format!("isl = \"200 Mbit\"\nroute = \"{route}\"");
            served(&run("starlink-shell1", &more, "").chunk(0, None).unwrap())
        };
        assert!(with("load-aware") > 1.1 * with("shortest"));
    }

    #[test]
    fn traffic_between_cells_survives_the_loss_of_all_gateways_and_loads_both_ends() {
        let fail = "[[demand.failure]]\ngateway = [\"Raisting\", \"Fucino\"]\nat = \"5 min\"\n";
        let all = sparse("starlink-shell1", "to = \"gravity\"", fail).chunk(0, None).unwrap();
        let rest = sparse("starlink-shell1", "to = \"gravity\"\ncells_down = 0.25\ncells_up = 0.25", fail);
        let rest = rest.chunk(0, None).unwrap();
        assert_eq!((all.unreached, rest.unreached), (0, 0));
        for s in &all.steps {
            // Everything that a cell receives, another one sends: beams have the limits of both directions.
            assert!(s.served.no_gateway == 0.0 && s.served.elastic[1] > 1e9);
        }
        for s in rest.steps.iter().filter(|s| s.t.0 >= 300_000_000_000) {
            let offered = s.served.elastic[0] + s.served.inelastic[0];
            assert!((s.served.no_gateway / offered - 0.75).abs() < 1e-9, "{}", s.served.no_gateway / offered);
        }
        assert!(all.links.iter().all(|l| !matches!(l.link, Link::Gateway(_) | Link::Feeder(..))));
        let radios = |d: u8| -> f64 {
            let of = |l: &&tally::LinkRow| matches!(l.link, Link::Radio(_)) && l.direction == d;
            all.links.iter().filter(of).map(|l| l.mean_bps).sum()
        };
        // Every bit goes up once and comes down once, in whichever direction it counts.
        assert!((radios(0) / radios(1) - 1.0).abs() < 1e-9);
        let sent: f64 = all.steps.iter().map(|s| s.served.elastic[1] + s.served.inelastic[1]).sum();
        let steps = all.steps.len() as f64 / 2.0;
        let intervals = all.links.iter().map(|l| l.t).collect::<std::collections::BTreeSet<_>>().len() as f64;
        assert!((radios(0) / intervals / (sent / steps) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_traffic_between_cells_gateways_carry_what_they_did() {
        let none = run("starlink-shell1", "", "").chunk(0, None).unwrap();
        // All pairs, but a billionth of the traffic.
        let more = "to = \"gravity\"\ncells_down = 1e-9\ncells_up = 1e-9";
        let few = run("starlink-shell1", more, "").chunk(0, None).unwrap();
        for (a, b) in none.steps.iter().zip(&few.steps) {
            assert!((a.served.elastic[1] / b.served.elastic[1] - 1.0).abs() < 1e-6);
            assert!((a.served.below - b.served.below).abs() < 1e-6 * a.served.active);
        }
    }

    #[test]
    fn satellites_without_links_connect_cells_only_below_themselves() {
        let c = run("oneweb", "to = \"gravity\"", "").chunk(0, None).unwrap();
        let served = c.steps[0].served;
        assert!(served.no_gateway > 0.0 && served.elastic[1] > 0.0);
        assert!(c.paths.iter().all(|p| p.isls.is_nan() || p.isls == 0.0));
    }

    #[test]
    fn an_exchange_adds_its_fibre_and_moves_the_nearest_gateway() {
        let folder = std::env::temp_dir().join(format!("perigee-exchanges-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // At one of the gateways, 690 km from the other.
        std::fs::write(folder.join("x.csv"), "name,lat,lon\nFucino IX,42.0,13.6\n").unwrap();
        let with = |fibre: &str| {
            let more = format!("exchanges = \"{}\"\n{fibre}", folder.join("x.csv").display());
            run("starlink-shell1", &more, "")
        };
        let about = with("").describe();
        let ms = |n: usize| about["gateways"][n]["fibre_rtt_ms"].as_f64().unwrap();
        assert!((ms(0) - 2.0 * 690.0 * 2.1 / 299.792_458).abs() < 0.2, "{}", ms(0));
        assert_eq!((ms(1), &about["gateways"][0]["exchange"]), (0.0, &json!("Fucino IX")));
        let used = |r: &DemandRun| {
            let c = r.chunk(0, None).unwrap();
            c.paths.iter().filter(|p| p.gateway == Some(0)).count()
        };
        let none = used(&run("starlink-shell1", "", ""));
        assert!(none > used(&with("fibre = 1")) && used(&with("fibre = 1")) > used(&with("fibre = 10")));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_smaller_gateway_carries_no_more_than_its_own_capacity() {
        let c =
            run("starlink-shell1", "", "[[demand.capacity]]\ngateway = \"Fucino\"\ndown = \"100 Mbit\"\n")
                .chunk(0, None)
                .unwrap();
        let most = |link| {
            c.links
                .iter()
                .filter(|l| l.link == link && l.direction == 0)
                .map(|l| l.peak_bps)
                .fold(0.0, f64::max)
        };
        assert!((most(Link::Gateway(1)) - 100e6).abs() < 1.0);
        assert!(most(Link::Gateway(0)) > 1e9);
    }
}
