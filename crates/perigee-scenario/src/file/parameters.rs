// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Declaration of a section's keys, from which its type, its grammar, its JSON Schema and its
//! reference page are derived.

/// Declares a section as a type: a row `field: Type = form(notation, default or nothing, help)` for
/// each key, where the form is a function of [`rows`](crate::file::rows), and the conditions for
/// the key to have an effect. If the key and the field have different names, the key follows after
/// `as`. An `Option` is `Some` if the key was written. A type that cannot be read from the row's
/// notation, or a type that needs a value for a key without default, does not compile.
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        $name:ident = $word:literal, $help:expr $(, kinds $kinds:expr)?;
        $($field:ident $(as $key:ident)?: $ty:ty = $form:ident($($arg:expr),* $(,)?) $(, only $only:expr)?;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // the keys document each
        pub struct $name {
            $(pub $field: $ty,)*
            /// The section as it was written.
            pub written: std::sync::Arc<$crate::file::checked::Checked>,
        }

        impl $name {
            /// Its keys.
            pub const SECTION: $crate::file::grammar::Section = $crate::file::grammar::Section {
                name: $word,
                help: $help,
                keys: &[$($crate::file::parameters::row!($field $(as $key)?, $ty, $form($($arg),*) $(, $only)?),)*],
                kinds: $crate::file::parameters::kinds!($($kinds)?),
            };

            /// Where it starts.
            pub fn place(&self) -> &$crate::file::error::Place {
                &self.written.place
            }

            /// Values as written, or defaults.
            pub fn read(written: &std::sync::Arc<$crate::file::checked::Checked>) -> Self {
                $(
                    let $field = {
                        const ROW: $crate::file::grammar::Key =
                            $crate::file::parameters::row!($field $(as $key)?, $ty, $form($($arg),*) $(, $only)?);
                        $crate::file::field::Field::read(written, &ROW)
                    };
                )*
                $name { $($field,)* written: written.clone() }
            }
        }

        impl $crate::file::field::FromPart for $name {
            const SHAPES: u64 = $crate::file::shape::Shape::Section as u64;

            fn from_part(part: &$crate::file::checked::Part, _: &$crate::file::error::Place) -> Option<Self> {
                match part {
                    $crate::file::checked::Part::One(c) => Some($name::read(c)),
                    _ => None,
                }
            }
        }

        impl $crate::file::field::Table for $name {
            const TABLE: &'static $crate::file::grammar::Section = &$name::SECTION;
        }
    };
}
pub(crate) use parameters;

/// The row of a field.
macro_rules! row {
    ($field:ident, $ty:ty, $form:ident($($arg:expr),*) $(, $only:expr)?) => {
        $crate::file::rows::$form::<$ty>(stringify!($field), $($arg),*)$(.only($only))?
    };
    ($field:ident as $key:ident, $ty:ty, $form:ident($($arg:expr),*) $(, $only:expr)?) => {
        $crate::file::rows::$form::<$ty>(stringify!($key), $($arg),*)$(.only($only))?
    };
}
pub(crate) use row;

/// The kinds of a section that has some.
macro_rules! kinds {
    () => {
        None
    };
    ($kinds:expr) => {
        Some(&$kinds)
    };
}
pub(crate) use kinds;
