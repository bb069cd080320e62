// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces that ping each other, before time zero of a run.

use crate::ping::{message, HostFrame, Hosts, Message};
use perigee_backend::recording::failed;
use perigee_backend::BackendError;
use perigee_guest::live::Live;
use perigee_guest::report::Report;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Timeout for a reply.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which frames without a reply are retransmitted.
const AGAIN: Duration = Duration::from_millis(100);
/// Interval between two checks.
const LOOK: Nanos = Nanos::from_millis(10);

/// Hosts of a run.
pub struct Namespaces<'l> {
    /// The hosts, which have sent their pings when they were created.
    pub live: &'l mut Live,
    /// Number of pings.
    pub pings: usize,
    /// Replies delivered to hosts.
    pub arrived: Vec<HostFrame>,
}

impl Namespaces<'_> {
    /// Messages of pings sent by interfaces, without duplicates, until there are `wanted` or no
    /// more arrive. `arrived` is delivered to hosts until there is a reply, as an interface that
    /// has just been created may lose packets.
    fn messages(&mut self, wanted: usize, arrived: &[HostFrame]) -> Result<Vec<HostFrame>, BackendError> {
        let begin = perigee_guest::wall_clock::now();
        let mut seen: BTreeMap<Message, HostFrame> = BTreeMap::new();
        let mut given = None;
        while seen.len() < wanted && begin.elapsed() < PATIENCE {
            if given.is_none_or(|at: Instant| at.elapsed() > AGAIN) {
                let answers = |m| Message { answer: true, ..m };
                let open = |frame: &&HostFrame| {
                    message(&frame.bytes).is_some_and(|(_, m)| !seen.contains_key(&answers(m)))
                };
                for frame in arrived.iter().filter(open) {
                    self.live.deliver(frame.host, &frame.bytes);
                }
                given = Some(perigee_guest::wall_clock::now());
            }
            self.live.wait(self.live.now() + LOOK).map_err(failed)?;
            for frame in self.live.receive().map_err(failed)? {
                let Some((_, message)) = message(&frame.bytes) else { continue };
                if message.answer != arrived.is_empty() {
                    seen.entry(message).or_insert(HostFrame { host: frame.interface, bytes: frame.bytes });
                }
            }
        }
        Ok(seen.into_values().collect())
    }
}

impl Hosts for Namespaces<'_> {
    fn ask(&mut self) -> Result<Vec<HostFrame>, BackendError> {
        self.messages(self.pings, &[])
    }

    fn exchange(&mut self, arrived: Vec<HostFrame>) -> Result<Vec<HostFrame>, BackendError> {
        let asked = |seen: &&HostFrame| message(&seen.bytes).is_some_and(|(_, m)| !m.answer);
        let wanted = arrived.iter().filter(asked).count();
        if wanted == 0 {
            self.arrived = arrived;
        } else {
            return self.messages(wanted, &arrived);
        }
        Ok(Vec::new())
    }

    fn answered(&mut self) -> Result<BTreeSet<u16>, BackendError> {
        let begin = perigee_guest::wall_clock::now();
        let mut answered = BTreeSet::new();
        let mut given = None;
        while answered.len() < self.pings && begin.elapsed() < PATIENCE {
            if given.is_none_or(|at: Instant| at.elapsed() > AGAIN) {
                self.arrived.iter().for_each(|frame| {
                    self.live.deliver(frame.host, &frame.bytes);
                });
                given = Some(perigee_guest::wall_clock::now());
            }
            self.live.wait(self.live.now() + LOOK).map_err(failed)?;
            // Retransmissions in the meantime are not part of the run.
            self.live.receive().map_err(failed)?;
            for report in self.live.reports().map_err(failed)? {
                match report {
                    Report::Answered(_, number) => answered.extend(u16::try_from(number)),
                    Report::Failed(_, _, why) => return Err(failed(why)),
                    _ => {}
                }
            }
        }
        self.live.receive().map_err(failed)?;
        Ok(answered)
    }
}
