// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules: when and how links change again and again. Each declares its own keys of `[schedule]` in a file of its own; a
//! line of `schedules!` makes it known to the grammar, the schema and the reference. A schedule is chosen by the key that
//! is called as it is.

use crate::file::change::{Changes, When};
use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::grammar::Section;

macro_rules! schedules {
    ($($module:ident::$schedule:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$schedule;)*

        /// The keys of each schedule.
        pub const SCHEDULES: &[&Section] = &[$(&$schedule::SECTION),*];

        /// When a checked `[schedule]` changes what.
        pub fn read(c: &Checked, problems: &mut Vec<Problem>) -> Option<(When, Changes)> {
            match c.kind() {
                $(name if name == $schedule::SECTION.name => Some($schedule::read(c).changes(c, problems)),)*
                _ => {
                    let names: Vec<&str> = SCHEDULES.iter().map(|s| s.name).collect();
                    problems.push(c.problem(names[0], format!("give one of {}", names.join(", "))));
                    None
                }
            }
        }
    };
}

schedules! {
    every::Every,
    file::File,
    recipe::Recipe,
}
