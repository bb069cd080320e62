// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernels of a run, booted only for the pings that check its network.

use super::{HostFrame, Hosts, Pings};
use crate::guests::{refused, Guests, Sent};
use perigee_backend::recording::failed;
use perigee_backend::BackendError;
use perigee_guest::job::EPOCH;
use perigee_guest::report::{self, Report};
use perigee_guest::Offer;
use perigee_units::Nanos;
use std::collections::{BTreeSet, VecDeque};

/// Virtual time in which the kernels must answer.
const TIME: Nanos = Nanos::from_millis(5);

/// Kernels with the hosts of a run.
pub struct Kernels {
    guests: Guests,
    now: Nanos,
    answered: BTreeSet<u16>,
}

impl Kernels {
    /// Wraps kernels booted only for pings.
    pub fn new(guests: Guests) -> Self {
        Kernels { guests, now: EPOCH, answered: BTreeSet::new() }
    }

    fn run(&mut self) -> Result<Vec<HostFrame>, BackendError> {
        let (mut seen, mut sent) = (Vec::new(), VecDeque::new());
        self.guests.run(self.now, &mut |_| true, &mut sent).map_err(refused)?;
        for Sent { host, bytes, .. } in sent {
            match host {
                Some(host) => seen.push(HostFrame { host, bytes }),
                None => self.take_report(&bytes)?,
            }
        }
        Ok(seen)
    }

    fn take_report(&mut self, frame: &[u8]) -> Result<(), BackendError> {
        for report in report::read(frame).map_err(|e| failed(format!("the guest's agent: {e}")))? {
            match report {
                Report::Answered(_, number) => {
                    self.answered.insert(number as u16);
                }
                Report::Failed(_, number, why) => {
                    return Err(failed(format!("before the run, ping {number} cannot be sent: {why}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Hosts for Kernels {
    fn ask(&mut self) -> Result<Vec<HostFrame>, BackendError> {
        let seen = self.run()?;
        self.guests.unlink();
        Ok(seen)
    }

    fn exchange(&mut self, arrived: Vec<HostFrame>) -> Result<Vec<HostFrame>, BackendError> {
        for (i, frame) in (1..).zip(arrived) {
            self.guests.deliver(frame.host, self.now + Nanos(i), frame.bytes);
        }
        self.now += TIME;
        self.run()
    }

    fn answered(&mut self) -> Result<BTreeSet<u16>, BackendError> {
        Ok(std::mem::take(&mut self.answered))
    }
}

impl Pings<'_> {
    /// Boots the kernels for these pings.
    ///
    /// # Errors
    /// If the kernels cannot be booted on this machine.
    pub fn boot(&self, kernel: &std::path::Path, seed: u64) -> Result<Kernels, BackendError> {
        Ok(Kernels::new(Guests::boot(kernel, &self.job, &self.plan.kernels, seed, Offer::default())?))
    }
}
