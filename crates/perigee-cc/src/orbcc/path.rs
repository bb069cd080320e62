// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path changes in telemetry: the first echo of a new path is a baseline, and late echoes of an old
//! path must be ignored.
//!
//! * `accept_new` (paper): at most one change per sRTT; during that time echoes of other paths are
//!   late and ignored, while those of the new path are used at once.
//! * `freeze` (source): after a change all echoes are ignored until the reference timer expires.
//! * `keep_last_u` (later source): no echo is ignored; the echo at the transition counts with the
//!   old utilisation.

use super::options::PathChange;
use crate::Nanos;

/// Classification of an echo by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// From the path in use.
    Same,
    /// The first from another path, which is now in use.
    Changed,
    /// Late: to be ignored.
    Late,
}

#[derive(Clone, Debug)]
pub(crate) struct PathGuard {
    rule: PathChange,
    id: Option<u64>,
    /// `freeze`: frozen until the reference timer expires.
    frozen: bool,
    /// `accept_new`: time until which echoes of other paths are late.
    settles_at: Nanos,
}

impl PathGuard {
    pub fn new(rule: PathChange) -> Self {
        PathGuard { rule, id: None, frozen: false, settles_at: Nanos::ZERO }
    }

    /// Sets `id` as the path in use, without a change, as there is no previous path to compare
    /// with.
    pub fn adopt(&mut self, id: u64) {
        self.id = Some(id);
    }

    pub fn on_reference_timer(&mut self) {
        self.frozen = false;
    }

    /// Classifies an echo. `comparable`: whether it has as many hops as the last one.
    pub fn judge(&mut self, now: Nanos, srtt: Nanos, id: u64, comparable: bool) -> Arrival {
        if self.frozen {
            return Arrival::Late;
        }
        if self.id == Some(id) && comparable {
            return Arrival::Same;
        }
        if self.id.is_some() && now < self.settles_at {
            return Arrival::Late;
        }
        self.id = Some(id);
        match self.rule {
            PathChange::AcceptNew => self.settles_at = now.saturating_add(srtt),
            PathChange::Freeze => self.frozen = true,
            PathChange::KeepLastU => {}
        }
        Arrival::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Nanos = Nanos::from_millis(50);

    fn judge(rule: PathChange, echoes: &[(u64, u64)]) -> Vec<Arrival> {
        let mut guard = PathGuard::new(rule);
        guard.adopt(1);
        echoes.iter().map(|&(ms, id)| guard.judge(Nanos::from_millis(ms), SRTT, id, true)).collect()
    }

    #[test]
    fn the_papers_rule_follows_the_new_path_at_once_and_ignores_late_echoes_for_one_rtt() {
        use Arrival::*;
        let seen = judge(PathChange::AcceptNew, &[(0, 1), (10, 2), (11, 1), (12, 2), (59, 1), (60, 1)]);
        assert_eq!(seen, [Same, Changed, Late, Same, Late, Changed]);
    }

    #[test]
    fn the_sources_rule_freezes_until_the_reference_timer() {
        use Arrival::*;
        assert_eq!(judge(PathChange::Freeze, &[(0, 2), (1, 2), (99, 1)]), [Changed, Late, Late]);
        let mut guard = PathGuard::new(PathChange::Freeze);
        guard.adopt(1);
        guard.judge(Nanos::ZERO, SRTT, 2, true);
        guard.on_reference_timer();
        assert_eq!(guard.judge(Nanos(1), SRTT, 2, true), Same);
    }

    #[test]
    fn the_later_sources_rule_ignores_nothing() {
        use Arrival::*;
        assert_eq!(judge(PathChange::KeepLastU, &[(0, 2), (1, 1), (2, 1)]), [Changed, Changed, Same]);
    }

    #[test]
    fn another_number_of_hops_is_another_path() {
        let mut guard = PathGuard::new(PathChange::AcceptNew);
        guard.adopt(1);
        assert_eq!(guard.judge(Nanos::ZERO, SRTT, 1, false), Arrival::Changed);
    }
}
