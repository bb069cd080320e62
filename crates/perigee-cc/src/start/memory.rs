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
    in_use: bool,
}

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
        if slot.in_use || slot.saved.is_none() {
            return None;
        }
        slot.in_use = true;
        slot.saved
    }

    /// Ends the use by the connection that has taken them.
    pub fn release(&self) {
        self.slot().in_use = false;
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
        m.forget();
        assert_eq!(m.take(s(2), s(300)), None);
    }
}
