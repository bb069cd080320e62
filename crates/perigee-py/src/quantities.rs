// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Quantities, parsed as in scenario files.

use perigee_units::{parse_rate, parse_size, parse_time, Size};
use pyo3::prelude::*;

/// An integer number of units, or a multiple of a unit.
#[derive(IntoPyObject)]
pub(crate) enum Amount {
    Whole(u64),
    Multiple(f64),
}

/// Kind (time, rate, size), unit of the value (ns, bit/s, B, packets, bdp) and value of a text.
///
/// None if it is not a quantity. A number alone is not a quantity: units are never guessed.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(&'static str, &'static str, Amount)> {
    // No unit belongs to two kinds, so at most one of these parsers accepts it.
    if let Ok(time) = parse_time(text) {
        return Some(("time", "ns", Amount::Whole(time.0)));
    }
    if let Ok(rate) = parse_rate(text) {
        return Some(("rate", "bit/s", Amount::Whole(rate.0)));
    }
    Some(match parse_size(text).ok()? {
        Size::Bytes(bytes) => ("size", "B", Amount::Whole(bytes)),
        Size::Packets(packets) => ("size", "packets", Amount::Whole(packets)),
        Size::Bdp(multiple) => ("size", "bdp", Amount::Multiple(multiple)),
    })
}
