// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stubs of real-time hosts for systems other than Linux, which have no network namespaces.

use crate::job::Job;
use crate::report::Report;
use crate::types::GuestError;
use crate::types::SentFrame;
use perigee_units::Nanos;

/// Real-time hosts. The type has no values here, since [`Live::make`] always fails.
pub struct Live(std::convert::Infallible);

impl Live {
    /// Would start the hosts of a job.
    ///
    /// # Errors
    /// Always: real-time hosts require Linux.
    pub fn make(_command: &[String], _job: &Job) -> Result<Live, GuestError> {
        Err(GuestError::Machine(
            "hosts in real time require Linux: use the simulator (--backend simulator)".into(),
        ))
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn start(&mut self) -> Result<(), GuestError> {
        match self.0 {}
    }

    /// As on Linux.
    pub fn now(&self) -> Nanos {
        match self.0 {}
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn wait(&self, _until: Nanos) -> Result<(), GuestError> {
        match self.0 {}
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn receive(&mut self) -> Result<Vec<SentFrame>, GuestError> {
        match self.0 {}
    }

    /// As on Linux.
    pub fn deliver(&self, _host: usize, _frame: &[u8]) -> bool {
        match self.0 {}
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn end_programs(&mut self) -> Result<(), GuestError> {
        match self.0 {}
    }

    /// As on Linux.
    pub fn overruns(&self) -> u64 {
        match self.0 {}
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn reports(&mut self) -> Result<Vec<Report>, GuestError> {
        match self.0 {}
    }
}
