// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces that ping each other, before time zero of a run.

use crate::hosts::ping::{message, Hosts, Seen};
use crate::simulator::failed;
use perigee_backend::BackendError;
use perigee_hosts::live::Live;
use perigee_hosts::report::Report;
use perigee_units::Nanos;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What has not come by then does not come.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two looks.
const LOOK: Nanos = Nanos::from_millis(10);

/// The hosts of a run.
pub struct Namespaces<'l> {
    /// They have sent their pings as they were made.
    pub live: &'l mut Live,
    /// How many.
    pub pings: usize,
}

impl Namespaces<'_> {
    /// Messages of pings that interfaces send until there are so many, or no more come.
    fn messages(&mut self, wanted: usize) -> Result<Vec<Seen>, BackendError> {
        let since = Instant::now();
        let mut seen = Vec::new();
        while seen.len() < wanted && since.elapsed() < PATIENCE {
            let frames = self.live.receive().map_err(failed)?;
            let messages = frames.into_iter().filter(|frame| message(&frame.bytes).is_some());
            seen.extend(messages.map(|frame| Seen { host: frame.interface, bytes: frame.bytes }));
            if seen.len() < wanted {
                self.live.wait(self.live.now() + LOOK).map_err(failed)?;
            }
        }
        Ok(seen)
    }
}

impl Hosts for Namespaces<'_> {
    fn ask(&mut self) -> Result<Vec<Seen>, BackendError> {
        self.messages(self.pings)
    }

    fn exchange(&mut self, arrived: Vec<Seen>) -> Result<Vec<Seen>, BackendError> {
        let asked = |seen: &&Seen| message(&seen.bytes).is_some_and(|(_, m)| !m.answer);
        let wanted = arrived.iter().filter(asked).count();
        for frame in &arrived {
            // One that is not taken is not answered.
            self.live.deliver(frame.host, &frame.bytes);
        }
        self.messages(wanted)
    }

    fn answered(&mut self) -> Result<BTreeSet<u16>, BackendError> {
        let since = Instant::now();
        let mut answered = BTreeSet::new();
        while answered.len() < self.pings && since.elapsed() < PATIENCE {
            for report in self.live.reports().map_err(failed)? {
                match report {
                    Report::Answered(_, number) => answered.extend(u16::try_from(number)),
                    Report::Failed(_, _, why) => return Err(failed(why)),
                    _ => {}
                }
            }
            self.live.wait(self.live.now() + LOOK).map_err(failed)?;
        }
        Ok(answered)
    }
}
