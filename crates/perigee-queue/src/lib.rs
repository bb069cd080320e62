// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue disciplines, one file each: marking, dropping and scheduling of packets.
//!
//! The crate is pure: no clock (time is passed in), no I/O, no random number generator (each packet
//! carries a draw), and no simulator. A host calls a discipline for every arrival and transmission;
//! see [`Discipline`] for the order of calls.
//!
//! * [`interface`]: inputs and decisions of a discipline.
//! * [`disciplines`](DISCIPLINES): the registry. A new discipline is a file here and a line there.
//!   Keys of scenario files, their validation, the JSON Schema and the reference derive from the
//!   parameter table in its [`DisciplineInfo`].

pub mod interface;

pub mod classes;
pub mod codel;
pub mod drop_tail;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;
pub mod red;

pub use interface::*;

/// All disciplines, in the order in which tables print them; the first is the default.
pub const DISCIPLINES: &[DisciplineInfo] =
    &[drop_tail::INFO, red::INFO, codel::INFO, fq_codel::INFO, pie::INFO, dualpi2::INFO, classes::INFO];

/// Description of discipline `id`.
pub fn info(id: &str) -> Option<&'static DisciplineInfo> {
    DISCIPLINES.iter().find(|d| d.id == id)
}

/// Disciplines with a parameter called `name`.
pub fn owners(name: &str) -> impl Iterator<Item = &'static DisciplineInfo> + '_ {
    DISCIPLINES.iter().filter(move |d| d.parameter(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::params::{Domain, Params};
    use std::mem::discriminant;

    #[test]
    fn identifiers_and_labels_are_unique() {
        for (i, a) in DISCIPLINES.iter().enumerate() {
            assert!(DISCIPLINES[..i].iter().all(|b| a.id != b.id && a.label != b.label), "{}", a.id);
        }
    }

    #[test]
    fn parameters_know_their_disciplines_and_disciplines_their_parameters() {
        let ids = |name| owners(name).map(|d| d.id).collect::<Vec<_>>();
        assert_eq!(ids("interval"), ["codel", "fq_codel"]);
        assert_eq!(ids("red_min"), ["red"]);
        assert!(ids("nothing").is_empty());
        assert_eq!(
            info("pie").and_then(|d| d.parameter("burst_allowance")).map(|p| p.name),
            Some("burst_allowance")
        );
        assert!(info("pie").unwrap().parameter("interval").is_none());
        assert!(info("nothing").is_none());
    }

    #[test]
    fn a_parameter_that_several_have_is_of_one_kind_and_unit() {
        for d in DISCIPLINES {
            for p in d.params {
                for other in owners(p.name).filter_map(|o| o.parameter(p.name)) {
                    assert_eq!(discriminant(&p.domain), discriminant(&other.domain), "{} {}", d.id, p.name);
                    assert_eq!(p.unit, other.unit, "{} {}", d.id, p.name);
                }
            }
        }
    }

    #[test]
    fn defaults_are_allowed_and_only_drop_tail_is_not_managed() {
        for d in DISCIPLINES {
            for p in d.params {
                let default = p.domain.default_value();
                assert!(
                    matches!(p.domain, Domain::Data { .. }) || p.domain.admits(&default),
                    "{} {}",
                    d.id,
                    p.name
                );
            }
            let built = d.build(&Params::defaults(d.params), &Setup { queue_bytes: 1 << 20 });
            assert_eq!(built.is_none(), d.id == "drop-tail");
        }
    }
}
