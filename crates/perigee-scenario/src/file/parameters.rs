// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One declaration of a section's keys gives its type, its grammar, and so its JSON Schema and page
//! of the reference.

/// Declares a section as a type: a row `field: Type = form(kind, default or nothing, help)` for
/// each key, where the form is a function of [`rows`](crate::file::rows), and the condition under
/// which the key has an effect. A key with another name than the field is given after `as`. An
/// `Option` is `Some` where the key was written. A type that the row's kind cannot give, or a key
/// without default in a type that needs a value, does not compile.
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
            const SHAPES: u64 = $crate::file::kind::Shape::Section as u64;

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
