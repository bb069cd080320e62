// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Known constellations by name. Numbers are those of filings and orders, cited at each; filings do
//! not specify the phasing, so every second plane is shifted by half a slot, as in Hypatia, unless
//! another source is cited.

use crate::motion::shell::{Phasing, Propagation, Shell};

/// A known constellation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset {
    /// Name in scenario files.
    pub name: &'static str,
    /// Human-readable description.
    pub what: &'static str,
    /// Source of the numbers.
    pub source: &'static str,
    /// Shells of the constellation.
    pub shells: &'static [Shell],
    /// Minimum elevation of its satellites.
    pub mask_deg: f64,
}

const fn delta(altitude_km: f64, inclination_deg: f64, planes: u32, per_plane: u32) -> Shell {
    Shell {
        altitude_m: altitude_km * 1e3,
        inclination_deg,
        planes,
        per_plane,
        phasing: Phasing::HalfSlot,
        raan_spread_deg: 360.0,
        raan0_deg: 0.0,
        latitude0_deg: 0.0,
        propagation: Propagation::J2,
        isls: true,
    }
}

/// Starlink's first shell.
pub const STARLINK_SHELL1: Shell = delta(550.0, 53.0, 72, 22);

const STARLINK_GEN1: [Shell; 5] = [
    STARLINK_SHELL1,
    delta(540.0, 53.2, 72, 22),
    delta(570.0, 70.0, 36, 20),
    delta(560.0, 97.6, 6, 58),
    delta(560.0, 97.6, 4, 43),
];

/// The arrangement of LeoEM: F = 1 instead of half a slot.
const STARLINK_24X66: Shell = Shell { phasing: Phasing::Factor(1), ..delta(550.0, 53.0, 24, 66) };

const KUIPER: [Shell; 3] =
    [delta(630.0, 51.9, 34, 34), delta(610.0, 42.0, 36, 36), delta(590.0, 33.0, 28, 28)];

const TELESAT: [Shell; 2] = [delta(1015.0, 98.98, 27, 13), delta(1325.0, 50.88, 40, 33)];

/// A star: the planes span 180 degrees, and the first and the last move in opposite directions. No
/// ISLs.
const ONEWEB: Shell = Shell { raan_spread_deg: 180.0, isls: false, ..delta(1200.0, 87.9, 18, 40) };

/// The spacing of co-rotating planes is 31.6 degrees, that at the seam 22.
const IRIDIUM: Shell = Shell { raan_spread_deg: 6.0 * 31.6, ..delta(780.0, 86.4, 6, 11) };

/// One satellite above longitude 0, which scenarios change.
pub const GEOSTATIONARY: Shell = Shell {
    phasing: Phasing::Factor(0),
    propagation: Propagation::EarthFixed,
    isls: false,
    ..delta(35_786.0, 0.0, 1, 1)
};

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "starlink-shell1",
        what: "Starlink's first shell, 72 x 22",
        source: "modification SAT-MOD-20190830-00087, kept by FCC 21-48 (April 2021)",
        shells: &[STARLINK_SHELL1],
        mask_deg: 25.0,
    },
    Preset {
        name: "starlink-gen1",
        what: "the five shells of Starlink's first generation, 4408 satellites",
        source: "FCC 21-48 (April 2021), modification SAT-MOD-20200417-00037",
        shells: &STARLINK_GEN1,
        mask_deg: 25.0,
    },
    Preset {
        name: "starlink-24x66",
        what: "the 24 x 66 arrangement of StarPerf and LeoEM, physically right",
        source: "modification SAT-MOD-20181108-00083; phasing F = 1 as in StarPerf",
        shells: &[STARLINK_24X66],
        mask_deg: 25.0,
    },
    Preset {
        name: "kuiper",
        what: "Kuiper's three shells, 3236 satellites",
        source: "FCC 20-102 (July 2020), application SAT-LOA-20190704-00057; mask of the service links",
        shells: &KUIPER,
        mask_deg: 35.0,
    },
    Preset {
        name: "telesat",
        what: "Telesat Lightspeed, polar and inclined shell, 1671 satellites",
        source: "FCC SAT-MPL-20200526-00053, second phase",
        shells: &TELESAT,
        mask_deg: 10.0,
    },
    Preset {
        name: "oneweb",
        what: "OneWeb, 18 x 40, no ISLs: needs stations that relay",
        source: "FCC 17-77 (June 2017), petition SAT-LOI-20160428-00041",
        shells: &[ONEWEB],
        mask_deg: 15.0,
    },
    Preset {
        name: "iridium",
        what: "Iridium, 6 x 11",
        source: "Fossa et al., \"An overview of the Iridium low Earth orbit satellite system\" (NAECON 1998)",
        shells: &[IRIDIUM],
        mask_deg: 8.2,
    },
    Preset {
        name: "geostationary",
        what: "one satellite that stands still; `longitude` says over which meridian",
        source: "the radius at which a turn takes a sidereal day, 42164 km",
        shells: &[GEOSTATIONARY],
        mask_deg: 5.0,
    },
];

/// A preset by its name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn satellites(name: &str) -> usize {
        find(name).unwrap().shells.iter().map(Shell::satellites).sum()
    }

    #[test]
    fn every_preset_is_a_constellation_of_the_size_that_was_licensed() {
        PRESETS.iter().flat_map(|p| p.shells).for_each(|s| s.check().unwrap());
        for (name, n) in [
            ("starlink-shell1", 1584),
            ("starlink-gen1", 4408),
            ("starlink-24x66", 1584),
            ("kuiper", 3236),
            ("telesat", 1671),
            ("oneweb", 720),
            ("iridium", 66),
            ("geostationary", 1),
        ] {
            assert_eq!(satellites(name), n, "{name}");
        }
    }

    #[test]
    fn iridiums_seam_is_22_degrees_wide() {
        let last = IRIDIUM.elements_rad(5).0 / crate::frames::RAD;
        assert!((180.0 - last - 22.0).abs() < 0.01);
    }
}
