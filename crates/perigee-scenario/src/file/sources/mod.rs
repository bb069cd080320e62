// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sources: the origin of the network. Each declares its section of `[source]` in a separate
//! module; a line of `sources!` registers it in the grammar, the schema and the reference. `world`
//! builds its network.

use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::grammar::Only;
use crate::file::parameters::parameters;
use perigee_units::Nanos;
use std::path::PathBuf;

/// A section of `[source]`.
trait SourceSpec: Sized {
    /// Checks the section; the grammar has already checked each key on its own.
    fn check(self, _: &mut Vec<Problem>) -> Option<Self> {
        Some(self)
    }

    /// Files read by the source.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

macro_rules! sources {
    ($($module:ident::$source:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$source;)*

        parameters! {
            /// `[source]`: exactly one of its sections is given.
            Sources = "source", "Origin of the network: exactly one of these sections.";
            $($module: Option<$source> = one();)*
        }

        /// Origin of the network.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // the types document each
        pub enum Source {
            $($source(Box<$source>),)*
        }

        impl Source {
            /// Files read by the source.
            pub fn files(&self) -> Vec<PathBuf> {
                match self {
                    $(Source::$source(s) => s.files(),)*
                }
            }
        }

        fn first(sources: Sources, problems: &mut Vec<Problem>) -> Option<Source> {
            $(if let Some(source) = sources.$module {
                return source.check(problems).map(|s| Source::$source(Box::new(s)));
            })*
            None
        }
    };
}

sources! {
    chain::Chain,
    dumbbell::Dumbbell,
    parking_lot::ParkingLot,
    crossing::Crossing,
    parallel::Parallel,
    path_log::PathLog,
    trace::Trace,
    network::Network,
    timeline::Timeline,
    constellation::Constellation,
}

pub use constellation::{Fibre, Function, Satellites, Shell, IN_MEMORY, LEOEM, PRESETS};
pub use network::{is_graphml, Link};

/// Reads `[source]`.
pub fn read(sources: Sources, problems: &mut Vec<Problem>) -> Option<Source> {
    let (c, keys) = (&sources.written, Sources::SECTION.keys);
    let names: Vec<&str> = keys.iter().map(|k| k.name).filter(|name| c.has(name)).collect();
    let [_] = names[..] else {
        let all: Vec<_> = keys.iter().map(|k| format!("[source.{}]", k.name)).collect();
        // The one written last is the likelier mistake; overrides (without a line) come after every
        // file.
        let places = names.iter().map(|name| c.place_of(name));
        let place = places.max_by_key(|p| p.line.unwrap_or(usize::MAX)).unwrap_or(&c.place);
        let message = match names.len() {
            0 => "no source is given".to_string(),
            _ => format!("more than one source: {}", names.join(", ")),
        };
        problems
            .push(Problem::new("source", message).at(place).allowed(format!("one of {}", all.join(", "))));
        return None;
    };
    first(sources, problems)
}

/// With other placements the RTT determines the delay of the bottleneck.
const ON_ACCESS: &[Only] = &[Only::With("rtt_at", &["access"])];

/// A round-trip time for each pair; a single value applies to all.
fn one_for_each(
    c: &Checked,
    rtts: &[Nanos],
    pairs: usize,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Nanos>> {
    match rtts {
        [one] => Some(vec![*one; pairs]),
        each if each.len() == pairs => Some(each.to_vec()),
        some => {
            let p = c.problem("rtt", format!("{} round-trip times for {pairs} pairs", some.len()));
            problems.push(p.allowed("one, or one per pair"));
            None
        }
    }
}
