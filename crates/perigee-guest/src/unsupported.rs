// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stubs of guests for unsupported machines: User-Mode Linux needs Linux on x86-64.

pub use crate::types::{GuestError, GuestSpec, SentFrame, PATIENCE};
use perigee_units::Nanos;

/// Uninhabited.
pub struct Guest(std::convert::Infallible);

impl Guest {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn boot(_spec: &GuestSpec) -> Result<Guest, GuestError> {
        Err(GuestError::Machine("real hosts need Linux on x86-64: elsewhere hosts are simulated".into()))
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn boot_beside(other: &Guest, _spec: &GuestSpec) -> Result<Guest, GuestError> {
        match other.0 {}
    }

    /// As on Linux.
    pub fn now(&self) -> Nanos {
        match self.0 {}
    }

    /// As on Linux.
    pub fn wakes_at(&self) -> Option<Nanos> {
        match self.0 {}
    }

    /// As on Linux.
    pub fn deliver(&mut self, _interface: usize, _at: Nanos, _bytes: Box<[u8]>) {
        match self.0 {}
    }

    /// As on Linux.
    pub fn set_carrier(&mut self, _interface: usize, _at: Nanos, _carrier: bool) {
        match self.0 {}
    }

    /// As on Linux.
    ///
    /// # Errors
    /// Never.
    pub fn run(&mut self, _free_until: Nanos, _go_on: &mut crate::GoOn<'_>) -> Result<(), GuestError> {
        match self.0 {}
    }

    /// As on Linux.
    pub fn overruns(&self) -> u64 {
        match self.0 {}
    }

    /// As on Linux.
    pub fn sent(&mut self) -> impl Iterator<Item = SentFrame> + '_ {
        std::iter::empty()
    }
}
