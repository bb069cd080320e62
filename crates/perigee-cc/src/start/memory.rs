// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Saved parameters of a path, shared by the flows that use it in turn (RFC 9959 section 3.1).

use crate::Nanos;
use std::sync::{Arc, Mutex, MutexGuard};

/// What was observed of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Bytes acknowledged in a round.
    pub window: u64,
    /// Lowest RTT.
    pub rtt: Nanos,
    /// When it was observed.
    pub at: Nanos,
}

#[derive(Debug, Default)]
struct Slot {
    saved: Option<Saved>,
    /// Until when a connection uses them at most.
    in_use: Nanos,
}

/// Longest use of saved parameters, in saved round trips: the initial window, the jump and its
/// validation take four.
const LONGEST_USE: u64 = 10;

/// Memory of one path. At most one set of parameters is kept, and one connection at a time uses it.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<Slot>>);

impl Memory {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes the saved parameters for a new connection, unless there are none or another one uses
    /// them. Parameters older than `lifetime` are deleted.
    pub fn take(&self, now: Nanos, lifetime: Nanos) -> Option<Saved> {
        let mut slot = self.slot();
        if slot.saved.is_some_and(|s| now.saturating_sub(s.at) > lifetime) {
            slot.saved = None;
        }
        let saved = slot.saved.filter(|_| now >= slot.in_use)?;
        slot.in_use = now.saturating_add(saved.rtt * LONGEST_USE);
        Some(saved)
    }

    /// Ends the use by the connection that has taken them.
    pub fn release(&self) {
        self.slot().in_use = Nanos::ZERO;
    }

    /// Deletes parameters that turned out to be wrong.
    pub fn forget(&self) {
        *self.slot() = Slot::default();
    }

    /// Replaces the parameters by a later observation.
    pub fn save(&self, saved: Saved) {
        self.slot().saved = Some(saved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_at_a_time_uses_what_is_saved_and_not_for_ever() {
        let (m, s) = (Memory::default(), Nanos::from_secs);
        assert_eq!(m.take(s(0), s(300)), None);
        let saved = Saved { window: 1_000_000, rtt: Nanos::from_millis(600), at: s(1) };
        m.save(saved);
        assert_eq!(m.take(s(2), s(300)), Some(saved));
        assert_eq!(m.take(s(3), s(300)), None, "another connection uses it");
        m.release();
        assert_eq!(m.take(s(301), s(300)), Some(saved));
        m.release();
        assert_eq!(m.take(s(302), s(300)), None, "too old");
        m.save(saved);
        assert_eq!((m.take(s(10), s(300)), m.take(s(15), s(300))), (Some(saved), None));
        assert_eq!(m.take(s(16), s(300)), Some(saved), "the connection has ended without a word");
        m.forget();
        assert_eq!(m.take(s(2), s(300)), None);
    }
}
