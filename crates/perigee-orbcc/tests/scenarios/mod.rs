// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OrbCC scenarios of the repository, in which every flow runs the core next to the reference.
#![allow(dead_code)] // the example conform uses all of it

use perigee_cc::orbcc::{self, OrbCc};
use perigee_cc::{CongestionControl, ConnInit, Params, Value};
use perigee_orbcc::{Lockstep, Profile, Report};
use perigee_run::backends::simulator::Plugins;
use perigee_scenario::{Scenario, World};
use std::path::Path;
use std::sync::{Arc, Mutex};

const NAME: &str = "orbcc_beside_its_core";

/// A scenario and the options of OrbCC for it.
pub struct Case {
    /// Name in tables.
    pub name: &'static str,
    file: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const fn case(
    name: &'static str,
    file: &'static str,
    options: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, file, options }
}

const ALONE: &[(&str, &str)] = &[("fallback", "none")];
const COMPACT: &[(&str, &str)] = &[("fallback", "none"), ("echo", "bottleneck")];
const PINT: &[(&str, &str)] = &[("fallback", "none"), ("echo", "pint")];

/// All scenarios, with the echoes with which they are run.
pub fn all() -> Vec<Case> {
    vec![
        case("two flows", "orbcc/two-flows", ALONE),
        case("two flows, bottleneck echo", "orbcc/two-flows", COMPACT),
        case("two flows, PINT", "orbcc/two-flows", PINT),
        case("responsiveness", "orbcc/responsiveness", ALONE),
        case("responsiveness, bottleneck echo", "orbcc/responsiveness", COMPACT),
        case("responsiveness, PINT", "orbcc/responsiveness", PINT),
        case("soft handover", "orbcc/soft-handover", ALONE),
        case("soft handover, bottleneck echo", "orbcc/soft-handover", COMPACT),
        case("many flows, hard handovers", "orbcc/many-flow-handover", ALONE),
        case("parking lot", "orbcc/parking-lot", ALONE),
        case("parking lot, bottleneck echo", "orbcc/parking-lot", COMPACT),
        case("initial phase, 65 flows", "orbcc/initial-phase", ALONE),
        case("constellation", "orbcc/constellation", &[]),
        case("constellation, bottleneck echo", "orbcc/constellation", &[("echo", "bottleneck")]),
        case("row of six ports", "orbcc/row", ALONE),
        case("row of six ports, PINT", "orbcc/row", PINT),
        case("partial, fallback cubic", "orbcc/partial", &[("fallback", "cubic")]),
        case("partial, bottleneck echo", "orbcc/partial", &[("fallback", "cubic"), ("echo", "bottleneck")]),
        case("neighbours", "orbcc/neighbours", ALONE),
        case("LeoTCP: hard handover", "leotcp/hard-handover", ALONE),
        case("LeoTCP: responsiveness", "leotcp/responsiveness", ALONE),
    ]
}

/// Runs a case for `seconds` of simulated time, or until its end.
pub fn run(case: &Case, seconds: u64) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/perigee_studies/scenarios");
    let scenario = Scenario::load(&folder.join(format!("{}.toml", case.file)), &[]);
    let scenario = scenario.unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let world = World::build(Arc::new(scenario), 1).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let report = Arc::new(Mutex::new(Report::default()));
    let plugins: Plugins = [(NAME.to_string(), scheme(case, &report))].into();
    let mut stopped = false;
    let done = perigee_run::run(&world, NAME, &plugins, None, &mut |now| {
        stopped = now.as_secs_f64() >= seconds as f64;
        !stopped
    });
    assert!(stopped || done.is_ok(), "{}: {:?}", case.name, done.err());
    drop((done, plugins));
    let report = report.lock().expect("no flow has failed").clone();
    report
}

type Make = Arc<dyn Fn(&ConnInit) -> Box<dyn CongestionControl> + Send + Sync>;

fn scheme(case: &Case, report: &Arc<Mutex<Report>>) -> Make {
    let options = case.options.iter().map(|(k, v)| (k.to_string(), Value::Text((*v).into()))).collect();
    let params = Params::new(orbcc::PARAMS, options).expect("options of OrbCC");
    let pint = case.options.contains(&("echo", "pint"));
    let (report, profile) = (report.clone(), if pint { Profile::Pint } else { Profile::OrbCc });
    Arc::new(move |init| Box::new(Lockstep::new(OrbCc::new(&params, init), init, profile, report.clone())))
}
