// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One declaration of a section's keys gives its type, its grammar, and so its JSON Schema and page of the reference.

use crate::file::checked::Checked;
use crate::file::error::Place;
use crate::file::kind::{Draw, Val};
use crate::file::tree;
use perigee_sources::topology::Placement;
use perigee_timeline::{Law, LinkOrder};
use perigee_units::{BitRate, Nanos};
use std::path::PathBuf;

/// Declares a section as a type: `field: Type = form(kind, default or nothing, help)`, where the form is [`key`] (with a
/// default), `required` or `optional` (the field is then an `Option`), and what it needs to have an effect.
///
/// [`key`]: crate::file::rows
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        $name:ident = $word:literal, $help:literal;
        $($field:ident: $ty:ty = $form:ident($($arg:expr),* $(,)?) $(, only $only:expr)?;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // the keys document each
        pub struct $name {
            $(pub $field: $ty,)*
        }

        impl $name {
            /// Its keys.
            pub const SECTION: $crate::file::grammar::Section = $crate::file::grammar::Section {
                name: $word,
                help: $help,
                keys: &[$($crate::file::rows::$form(stringify!($field), $($arg),*)$(.only($only))?,)*],
                kinds: None,
            };

            /// What was written, or defaults.
            #[allow(unused_variables)] // of a section without keys
            pub fn read(c: &$crate::file::checked::Checked) -> Self {
                $name { $($field: $crate::file::parameters::FromKey::from_key(c, stringify!($field)),)* }
            }
        }
    };
}
pub(crate) use parameters;

/// A value that is read from a key of a checked section.
pub trait FromKey {
    /// The value of `key`; the grammar has checked it.
    fn from_key(c: &Checked, key: &str) -> Self;
}

macro_rules! from_key {
    ($($ty:ty: $($pattern:pat),+ => $value:expr;)*) => {$(
        impl FromKey for Option<$ty> {
            fn from_key(c: &Checked, key: &str) -> Self {
                match c.value(key)? {
                    $($pattern => Some($value),)+
                    other => panic!("{}.{key} is {other:?} in the grammar", c.path),
                }
            }
        }
        impl FromKey for $ty {
            fn from_key(c: &Checked, key: &str) -> Self {
                let value: Option<$ty> = FromKey::from_key(c, key);
                value.unwrap_or_else(|| panic!("{}.{key} has no default in the grammar", c.path))
            }
        }
    )*};
}

from_key! {
    bool: Val::Bool(v) => v;
    u32: Val::Int(v) => v as u32;
    u64: Val::Int(v) => v as u64;
    usize: Val::Int(v) => v as usize;
    f64: Val::Number(v), Val::Degrees(v), Val::Metres(v) => v;
    LinkOrder: Val::Bool(v) => if v { LinkOrder::Reorder } else { LinkOrder::Fifo };
    Placement: Val::Text(v) => match v.as_str() {
        "even" => Placement::Even,
        "bottleneck" => Placement::Bottleneck,
        "ack-path" => Placement::AckPath,
        "forward" => Placement::Forward,
        _ => Placement::Access,
    };
    Nanos: Val::Time(v) => v;
    BitRate: Val::Rate(v) => v;
    Bytes: Val::Bytes(v) => Bytes(v);
    Law: Val::Law(v) => v;
    Draw<Nanos>: Val::TimeDraw(v) => v;
    Draw<BitRate>: Val::RateDraw(v) => v;
    Draw<f64>: Val::LossDraw(v) => v;
    String: Val::Text(v) => v;
    Vec<Nanos>: Val::Many(v) => v.into_iter().filter_map(|v| if let Val::Time(t) = v { Some(t) } else { None }).collect();
    Vec<BitRate>: Val::Many(v) => v.into_iter().filter_map(|v| if let Val::Rate(r) = v { Some(r) } else { None }).collect();
    Vec<String>: Val::Many(v) => v.into_iter().filter_map(|v| if let Val::Text(t) = v { Some(t) } else { None }).collect();
}

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A file that is named, and where.
#[derive(Clone, Debug)]
pub struct Named {
    /// From where the scenario was loaded.
    pub path: PathBuf,
    /// Where it was named.
    pub place: Place,
}

impl FromKey for Option<Named> {
    fn from_key(c: &Checked, key: &str) -> Self {
        let place = c.place_of(key).clone();
        Some(Named { path: tree::resolve(&place, &c.opt_text(key)?), place })
    }
}

impl FromKey for Named {
    fn from_key(c: &Checked, key: &str) -> Self {
        let named: Option<Named> = FromKey::from_key(c, key);
        named.unwrap_or_else(|| panic!("{}.{key} has no default in the grammar", c.path))
    }
}
