// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The core agrees with the reference at every ACK; the example `conform` has the long runs.

mod scenarios;

use perigee_orbcc::fuzz::{self, Echo};

#[test]
fn windows_pacing_and_handovers_agree_in_every_scenario() {
    for case in scenarios::all() {
        let report = scenarios::run(&case, 12);
        assert!(
            report.compared > 0 && report.compared + report.fallback > 10_000,
            "{}: {report:?}",
            case.name
        );
        assert!(report.agrees(), "{}: {report:#?}", case.name);
    }
}

#[test]
fn random_connections_agree() {
    for echo in [Echo::Full, Echo::Bottleneck, Echo::Pint] {
        let (report, apart) = fuzz::run(7, 150_000, echo);
        assert!(report.agrees(), "{echo:?}: {report:#?}");
        assert_eq!(apart, 0, "{echo:?}");
        assert!(report.handovers > 20, "{echo:?}: {} handovers", report.handovers);
    }
}
