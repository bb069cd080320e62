// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules: repeated changes of links. Each declares its keys of `[schedule]` in its own file; a
//! line of `schedules!` registers it in the grammar, the schema and the reference. The key with the
//! name of a schedule selects it.

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

        /// Times and changes of a checked `[schedule]`.
        fn read(c: &Arc<Checked>, problems: &mut Vec<Problem>) -> Option<(When, Changes)> {
            match c.kind() {
                $(name if name == $schedule::SECTION.name => Some($schedule::read(c).changes(problems)),)*
                _ => {
                    let names: Vec<&str> = SCHEDULES.iter().map(|s| s.name).collect();
                    problems.push(c.problem(names[0], format!("one of {} is required", names.join(", "))));
                    None
                }
            }
        }
    };
}

parameters! {
    /// `[schedule]`.
    Schedule = "schedule", "Repeated changes: drawn at random, read from a file, or drawn as in a published study.", kinds Kinds { by: By::Presence, of: SCHEDULES };
    on: String = bottleneck();
    direction: Option<Direction> = direction();
    mode: OutageMode = outage_mode();
}

impl Schedule {
    pub(crate) fn spec(self, problems: &mut Vec<Problem>) -> Option<ChangeSpec> {
        let (when, to) = read(&self.written, problems)?;
        let Schedule { on, direction, mode, written } = self;
        Some(ChangeSpec { when, on, direction, to, mode, place: written.place.clone(), written })
    }
}

schedules! {
    every::Every,
    file::File,
    recipe::Recipe,
}
