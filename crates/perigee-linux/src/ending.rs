// SPDX-License-Identifier: Apache-2.0 OR MIT
//! End of a run in virtual time: SIGTERM to programs, and the time that they have to exit.

use crate::{Turns, HAND_OVER};
use perigee_backend::recorder::FrameTap;
use perigee_guest::job::{ENDING, EPOCH};
use perigee_guest::{report, wall_clock, GuestError};
use perigee_units::Nanos;
use std::ops::Range;
use std::time::Duration;

/// Interval at which the remaining programs are counted.
const STEP: Nanos = Nanos::from_millis(10);
/// Wall-clock time of the longest grace: virtual time barely advances while programs compute or write.
const PATIENCE: Duration = Duration::from_secs(10);

impl<O: FrameTap> Turns<'_, '_, O> {
    /// Lets programs exit for up to `grace` after the end, and [`PATIENCE`], when no packets are
    /// carried. Returns a warning if the guests fail or do not end in time.
    pub(super) fn end_programs(
        &mut self,
        grace: Nanos,
        progress: &mut dyn FnMut(Nanos) -> bool,
    ) -> Option<String> {
        let commands = &self.plan.job.commands;
        let of_programs = |kernel: &&Range<usize>| commands.iter().any(|c| kernel.contains(&c.host));
        let mut left = self.plan.kernels.iter().filter(of_programs).count();
        if grace == Nanos::ZERO || left == 0 {
            return None;
        }
        self.programs.ending(self.end);
        let mut at = self.ran_until + HAND_OVER;
        let limit = at + grace;
        self.guests.tell(at + EPOCH, &ENDING);
        let began = wall_clock::now();
        let expired = || began.elapsed() > PATIENCE;
        while let Some(wakes_at) = self.guests.wakes_at().filter(|wake| *wake < limit + EPOCH) {
            at = (at.max(wakes_at.saturating_sub(EPOCH)) + STEP).min(limit);
            let reached = self.end;
            let went =
                self.guests.run(at + EPOCH, &mut |_| !expired() && progress(reached), &mut self.outgoing);
            for frame in std::mem::take(&mut self.outgoing).iter().filter(|sent| sent.host.is_none()) {
                for report in report::read(&frame.bytes).unwrap_or_default() {
                    left -= usize::from(self.programs.update_after_end(&report) && left > 0);
                }
            }
            match went {
                Ok(()) | Err(GuestError::Stopped) if left > 0 && expired() => {
                    let seconds = PATIENCE.as_secs();
                    return Some(format!(
                        "programs that computed or wrote without a pause were killed {seconds} s of real time after SIGTERM"
                    ));
                }
                Ok(()) if left > 0 => {}
                Ok(()) | Err(GuestError::Stopped) => return None,
                Err(e) => return Some(format!("while programs were given time to exit: {}", self.blamed(e))),
            }
        }
        None
    }
}
