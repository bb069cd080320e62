// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types of section fields, and their conversion from parsed values.

use crate::file::checked::{Checked, Given, Part};
use crate::file::error::Place;
use crate::file::grammar::{Key, Section};
use crate::file::notation::{Draw, Val};
use crate::file::shape::Shape;
use crate::file::tree::{self, Sweep};
use perigee_sources::topology::Placement;
use perigee_timeline::{Hosts, Law, LinkOrder, OutageMode, Routing};
use perigee_units::{BitRate, Nanos, Size};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A section's type, or a list or map of such types.
pub trait Table {
    /// Keys of the section.
    const TABLE: &'static Section;
}

impl<T: Table> Table for Option<T> {
    const TABLE: &'static Section = T::TABLE;
}

impl<T: Table> Table for Vec<T> {
    const TABLE: &'static Section = T::TABLE;
}

impl<T: Table> Table for Vec<(String, T)> {
    const TABLE: &'static Section = T::TABLE;
}

/// A field of a section's type.
pub trait Field: Sized {
    /// [`Shape`]s of the values from which the type can be read.
    const SHAPES: u64;
    /// Whether its key may be absent although it has no default.
    const OPTIONAL: bool;

    /// Reads the value of the key `row` from a section that has been checked against the grammar.
    ///
    /// # Panics
    /// If the key has another shape than the type, which `rows::checked` excludes.
    fn read(section: &Checked, row: &Key) -> Self;
}

impl<T: FromPart> Field for T {
    const SHAPES: u64 = T::SHAPES;
    const OPTIONAL: bool = T::EMPTY.is_some();

    fn read(section: &Checked, row: &Key) -> Self {
        let given = section.part(row).and_then(|(part, place)| T::from_part(&part, place));
        given.or_else(|| T::EMPTY.map(|empty| empty())).expect("the row fits its field: `rows::checked`")
    }
}

impl<T: FromPart> Field for Option<T> {
    const SHAPES: u64 = T::SHAPES;
    const OPTIONAL: bool = true;

    fn read(section: &Checked, row: &Key) -> Self {
        section.written(row.name).and_then(|(part, place)| T::from_part(part, place))
    }
}

/// A type that can be read from the value of a key.
pub trait FromPart: Sized {
    /// [`Shape`]s of the values from which the type can be read.
    const SHAPES: u64;
    /// Constructor of the value of an absent key, for types with an empty value.
    const EMPTY: Option<fn() -> Self> = None;

    /// Converts a value; `None` for other shapes.
    fn from_part(part: &Part, place: &Place) -> Option<Self>;
}

macro_rules! from_value {
    ($($ty:ty: $($shape:ident($v:ident) => $value:expr),+;)*) => {$(
        impl FromPart for $ty {
            const SHAPES: u64 = $(Shape::$shape as u64)|+;

            fn from_part(part: &Part, _: &Place) -> Option<Self> {
                match part {
                    $(Part::Value(Val::$shape($v)) => Some($value),)+
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    bool: Bool(v) => *v;
    u32: Int(v) => *v as u32;
    u64: Int(v) => *v as u64;
    usize: Int(v) => *v as usize;
    f64: Number(v) => *v, Degrees(v) => *v, Metres(v) => *v;
    LinkOrder: Bool(v) => if *v { LinkOrder::Reorder } else { LinkOrder::Fifo };
    Placement: Text(v) => match v.as_str() {
        "even" => Placement::Even,
        "bottleneck" => Placement::Bottleneck,
        "ack-path" => Placement::AckPath,
        "forward" => Placement::Forward,
        _ => Placement::Access,
    };
    OutageMode: Text(v) => match v.as_str() {
        "hold" => OutageMode::Hold,
        "blackhole" => OutageMode::Blackhole,
        _ => OutageMode::Flush,
    };
    Routing: Text(v) => if v == "per-hop" { Routing::PerHop } else { Routing::PerPath };
    Nanos: Time(v) => *v;
    BitRate: Rate(v) => *v;
    Bytes: Bytes(v) => Bytes(*v);
    Size: Queue(v) => *v;
    Law: Law(v) => *v;
    Draw<Nanos>: TimeDraw(v) => *v;
    Draw<BitRate>: RateDraw(v) => *v;
    Draw<f64>: LossDraw(v) => *v;
    String: Text(v) => v.clone();
}

impl FromPart for Hosts {
    const SHAPES: u64 = Shape::Text as u64;

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        Hosts::named(&String::from_part(part, place)?)
    }
}

impl FromPart for PathBuf {
    const SHAPES: u64 = Shape::Text as u64;

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        Some(tree::resolve(place, &String::from_part(part, place)?))
    }
}

/// Several values of a key, or several sections.
impl<T: FromPart> FromPart for Vec<T> {
    const SHAPES: u64 = T::SHAPES << Shape::MANY;
    const EMPTY: Option<fn() -> Self> = Some(Vec::new);

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        match part {
            Part::Value(Val::Many(all)) => {
                all.iter().map(|v| T::from_part(&Part::Value(v.clone()), place)).collect()
            }
            Part::List(all) => all.iter().map(|c| T::from_part(&Part::One(c.clone()), place)).collect(),
            _ => None,
        }
    }
}

impl<T: FromPart> FromPart for Vec<(String, T)> {
    const SHAPES: u64 = Shape::Named as u64;
    const EMPTY: Option<fn() -> Self> = Some(Vec::new);

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        let Part::Named(all) = part else { return None };
        all.iter()
            .map(|(name, c)| Some((name.clone(), T::from_part(&Part::One(c.clone()), place)?)))
            .collect()
    }
}

impl FromPart for Sweep {
    const SHAPES: u64 = Shape::Sweep as u64;
    const EMPTY: Option<fn() -> Self> = Some(Sweep::default);

    fn from_part(part: &Part, _: &Place) -> Option<Self> {
        if let Part::Sweep(sweep) = part {
            Some(sweep.clone())
        } else {
            None
        }
    }
}

/// Parameters of a scheme, or transport options.
impl FromPart for Given {
    const SHAPES: u64 = Shape::Params as u64;
    const EMPTY: Option<fn() -> Self> = Some(Given::new);

    fn from_part(part: &Part, _: &Place) -> Option<Self> {
        if let Part::Params(given) = part {
            Some(given.clone())
        } else {
            None
        }
    }
}

/// Parameters by scheme.
impl FromPart for BTreeMap<String, Given> {
    const SHAPES: u64 = Shape::ByScheme as u64;
    const EMPTY: Option<fn() -> Self> = Some(BTreeMap::new);

    fn from_part(part: &Part, _: &Place) -> Option<Self> {
        if let Part::ByScheme(given) = part {
            Some(given.clone())
        } else {
            None
        }
    }
}

/// Transport options of all flows, and those by scheme.
#[derive(Clone, Debug, Default)]
pub struct TcpOfAll {
    /// `[tcp]`.
    pub all: Given,
    /// `[tcp.SCHEME]`.
    pub of: BTreeMap<String, Given>,
}

impl FromPart for TcpOfAll {
    const SHAPES: u64 = Shape::Tcp as u64;
    const EMPTY: Option<fn() -> Self> = Some(TcpOfAll::default);

    fn from_part(part: &Part, _: &Place) -> Option<Self> {
        let Part::Tcp(all, of) = part else { return None };
        Some(TcpOfAll { all: all.clone(), of: of.clone() })
    }
}

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A file that a key names, with the place of the key.
#[derive(Clone, Debug)]
pub struct Named {
    /// Path, resolved against the folder of the file that contains the key.
    pub path: PathBuf,
    /// Place of the key.
    pub place: Place,
}

impl FromPart for Named {
    const SHAPES: u64 = Shape::Text as u64;

    fn from_part(part: &Part, place: &Place) -> Option<Self> {
        Some(Named { path: PathBuf::from_part(part, place)?, place: place.clone() })
    }
}
