// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wall-clock time: timeouts of guests, and hosts in real time.

use std::time::Instant;

/// The current instant. Simulated time never depends on it.
#[expect(clippy::disallowed_methods, reason = "guests are processes, and real time is the wall clock")]
pub fn now() -> Instant {
    Instant::now()
}
