// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules: when and how links change again and again. Each declares its own keys of `[schedule]`
//! in a file of its own; a line of `schedules!` makes it known to the grammar, the schema and the
//! reference. A schedule is chosen by the key that is called as it is.

use crate::file::change::{ChangeSpec, Changes, Direction, When};
use crate::file::checked::Checked;
use crate::file::error::Problem;
use crate::file::grammar::{By, Kinds, Section};
use crate::file::parameters::parameters;
use perigee_timeline::OutageMode;
use std::sync::Arc;

macro_rules! schedules {
    ($($module:ident::$schedule:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$schedule;)*

        /// The keys of each schedule.
        pub const SCHEDULES: &[&Section] = &[$(&$schedule::SECTION),*];

        /// When a checked `[schedule]` changes what.
        fn read(c: &Arc<Checked>, problems: &mut Vec<Problem>) -> Option<(When, Changes)> {
            match c.kind() {
                $(name if name == $schedule::SECTION.name => Some($schedule::read(c).changes(problems)),)*
                _ => {
                    let names: Vec<&str> = SCHEDULES.iter().map(|s| s.name).collect();
                    problems.push(c.problem(names[0], format!("give one of {}", names.join(", "))));
                    None
                }
            }
        }
    };
}

parameters! {
    /// `[schedule]`.
    Schedule = "schedule", "Changes that repeat: drawn from the seed, read from a file, or drawn as a published study did.", kinds Kinds { by: By::Presence, of: SCHEDULES };
    on: String = bottleneck();
    direction: Option<Direction> = direction();
    mode: OutageMode = outage_mode();
}

impl Schedule {
    pub(crate) fn spec(self, problems: &mut Vec<Problem>) -> Option<ChangeSpec> {
        let (when, to) = read(&self.written, problems)?;
        let Schedule { on, direction, mode, written } = self;
        Some(ChangeSpec { when, on, direction, to, mode, place: written.place.clone() })
    }
}

schedules! {
    every::Every,
    file::File,
    recipe::Recipe,
}
