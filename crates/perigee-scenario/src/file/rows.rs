// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows of the grammar: keys with a default, optional and required ones, and tables; bounds that
//! several sections share. Each is made for the type of its field.

use crate::file::disciplines;
use crate::file::field::{Field, Table};
use crate::file::grammar::{Content, Key};
use crate::file::notation::Notation;
use perigee_units::Nanos;

/// A key with a default.
pub(crate) const fn key<T: Field>(
    name: &'static str,
    notation: Notation,
    default: &'static str,
    help: &'static str,
) -> Key {
    checked::<T>(Key { default: Some(default), ..row(name, Content::Value(notation), help) })
}

/// A key that may be absent.
pub(crate) const fn optional<T: Field>(name: &'static str, notation: Notation, help: &'static str) -> Key {
    checked::<T>(row(name, Content::Value(notation), help))
}

/// A key that must be given.
pub(crate) const fn required<T: Field>(name: &'static str, notation: Notation, help: &'static str) -> Key {
    checked::<T>(Key { required: true, ..row(name, Content::Value(notation), help) })
}

/// A section.
pub(crate) const fn one<T: Field + Table>(name: &'static str) -> Key {
    checked::<T>(row(name, Content::One(T::TABLE), T::TABLE.help))
}

/// A section that must be given, for one of its keys must be.
pub(crate) const fn needed<T: Field + Table>(name: &'static str) -> Key {
    checked::<T>(Key { required: true, ..row(name, Content::One(T::TABLE), T::TABLE.help) })
}

/// Sections under names that the user chooses.
pub(crate) const fn named<T: Field + Table>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::Named(T::TABLE), help))
}

/// A list of sections.
pub(crate) const fn list<T: Field + Table>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::List(T::TABLE), help))
}

/// The name of a queue discipline, with parameters that are keys of the same section.
pub(crate) const fn discipline<T: Field>(name: &'static str, help: &'static str) -> Key {
    let content = Content::Discipline(Notation::Word(disciplines::NAMES));
    checked::<T>(Key { default: Some(disciplines::DEFAULT), ..row(name, content, help) })
}

/// Transport options.
pub(crate) const fn tcp_options<T: Field>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::Tcp, help))
}

/// A profile, transport options, and tables of them by scheme.
pub(crate) const fn tcp_of_all<T: Field>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::TcpOfAll, help))
}

/// Tables of scheme parameters, by scheme.
pub(crate) const fn by_scheme<T: Field>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::ByScheme, help))
}

/// Parameters of the scheme that another key of the section names.
pub(crate) const fn scheme_params<T: Field>(name: &'static str, of: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::SchemeOf(of), help))
}

/// Tables of parameters of starts, by start.
pub(crate) const fn by_start<T: Field>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::ByStart, help))
}

/// Parameters of the start that another key of the section names.
pub(crate) const fn start_params<T: Field>(name: &'static str, of: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::StartOf(of), help))
}

/// Keys of the scenario, each with a list of values.
pub(crate) const fn sweep<T: Field>(name: &'static str, help: &'static str) -> Key {
    checked::<T>(row(name, Content::Sweep, help))
}

const fn row(name: &'static str, content: Content, help: &'static str) -> Key {
    Key { name, content, default: None, required: false, help, only: &[] }
}

/// A row from which its field can always be read.
const fn checked<T: Field>(row: Key) -> Key {
    let shape = row.content.shape();
    assert!(T::SHAPES & shape == shape, "the row gives no value of its field's type");
    let given = row.required || row.default.is_some() || T::OPTIONAL;
    assert!(given || row.content.is_all_optional(), "the field needs a value, and its key may be absent");
    row
}

/// Random loss in the data direction.
pub(crate) const fn loss<T: Field>(name: &'static str) -> Key {
    let help = "loss probability on each link of the data direction";
    key::<T>(name, Notation::Share(0.0, 1.0), "0", help)
}

/// Effect of a shrinking delay.
pub(crate) const fn reordering<T: Field>(name: &'static str) -> Key {
    let help = "whether packets sent after a decrease of the delay may overtake earlier ones (as with netem)";
    key::<T>(name, Notation::Bool, "false", help)
}

/// Port that changes.
pub(crate) const fn bottleneck<T: Field>(name: &'static str) -> Key {
    key::<T>(
        name,
        Notation::Text,
        "bottleneck",
        "affected port: bottleneck = all bottlenecks, or the name of one",
    )
}

/// Directions that change.
pub(crate) const fn direction<T: Field>(name: &'static str) -> Key {
    let help =
        "affected directions (forward = data, reverse = ACKs); rates change only forward unless this key is given";
    key::<T>(name, Notation::Word(&["both", "forward", "reverse"]), "both", help)
}

/// Effect of an outage on packets.
pub(crate) const fn outage_mode<T: Field>(name: &'static str) -> Key {
    let help = "treatment of packets in an outage: flush = all packets at the link are dropped (queued, in flight, arriving); hold = all are kept until the link is up again; blackhole = the queue is served, and packets that leave it are lost";
    key::<T>(name, Notation::Word(&["flush", "hold", "blackhole"]), "flush", help)
}

/// Longest run: a week. Longer ones are several runs.
pub const MAX_DURATION: Nanos = Nanos::from_secs(7 * 86_400);
/// Most flows of one scenario; each holds its own connection, queue of segments and column of
/// samples.
pub const MAX_FLOWS: i64 = 100_000;

pub(crate) const ANY_TIME: Notation = Notation::Time(Nanos::ZERO, MAX_DURATION);
pub(crate) const SOME_TIME: Notation = Notation::Time(Nanos(1_000), MAX_DURATION);
pub(crate) const LONG_DRAW: Notation = Notation::TimeDraw(Nanos::ZERO, MAX_DURATION);
pub(crate) const SHORT_DRAW: Notation = Notation::TimeDraw(Nanos::ZERO, Nanos::from_secs(3600));
pub(crate) const RTT: Notation = Notation::Time(Nanos::ZERO, Nanos::from_secs(100));

#[cfg(test)]
mod tests {
    use super::{key, list, needed, one, optional, Notation};
    use crate::file::flow::Flow;
    use crate::file::run::RunSpec;
    use perigee_units::Nanos;

    // In tables these are errors of the compiler: the rows are constants.

    #[test]
    #[should_panic(expected = "gives no value of its field's type")]
    fn a_row_gives_the_type_of_its_field() {
        key::<Nanos>("step", Notation::Int(0, 9), "1", "");
    }

    #[test]
    #[should_panic(expected = "gives no value of its field's type")]
    fn a_list_is_a_field_of_several_values() {
        optional::<Option<String>>("cc", Notation::OneOrMany(&Notation::Text), "");
    }

    #[test]
    #[should_panic(expected = "its key may be absent")]
    fn a_field_that_needs_a_value_has_a_key_with_one() {
        optional::<u64>("runs", Notation::Int(1, 9), "");
    }

    #[test]
    #[should_panic(expected = "its key may be absent")]
    fn a_section_with_a_required_key_is_itself_required() {
        needed::<RunSpec>("run");
        list::<Vec<Flow>>("flow", "");
        one::<RunSpec>("run");
    }
}
