// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rows of the grammar: keys with a default, optional and required ones; bounds that several sections share.

use crate::file::grammar::{Content, Key, Section};
use crate::file::kind::Kind;
use perigee_units::Nanos;

pub(crate) const fn key(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Key {
    Key { name, content: Content::Value(kind), default: Some(default), required: false, help, only: &[] }
}
pub(crate) const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, content: Content::Value(kind), default: None, required: false, help, only: &[] }
}
pub(crate) const fn required(name: &'static str, kind: Kind, help: &'static str) -> Key {
    Key { name, content: Content::Value(kind), default: None, required: true, help, only: &[] }
}
pub(crate) const fn one(section: &'static Section) -> Key {
    Key {
        name: section.name,
        content: Content::One(section),
        default: None,
        required: false,
        help: section.help,
        only: &[],
    }
}

/// Random loss in the data direction.
pub(crate) const fn loss(name: &'static str) -> Key {
    key(
        name,
        Kind::Number(0.0, 1.0),
        "0",
        "probability that a packet is lost on each link of the data direction",
    )
}
/// What a shrinking delay does.
pub(crate) const fn reordering(name: &'static str) -> Key {
    let help = "packets that follow a shrinking delay may overtake earlier ones (as with netem)";
    key(name, Kind::Bool, "false", help)
}

/// Longest run: a week. Longer ones are several runs.
pub const MAX_DURATION: Nanos = Nanos::from_secs(7 * 86_400);
/// Most flows of one scenario; each holds its own connection, queue of segments and column of samples.
pub const MAX_FLOWS: i64 = 100_000;

pub(crate) const ANY_TIME: Kind = Kind::Time(Nanos::ZERO, MAX_DURATION);
pub(crate) const SOME_TIME: Kind = Kind::Time(Nanos(1_000), MAX_DURATION);
pub(crate) const SHORT_DRAW: Kind = Kind::TimeDraw(Nanos::ZERO, Nanos::from_secs(3600));
pub(crate) const RTT: Kind = Kind::Time(Nanos::ZERO, Nanos::from_secs(100));
