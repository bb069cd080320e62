// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Outages of LeoEM's emulator at changes of a recorded path, as in its `emulator.py`. A changed
//! link between satellites goes down and up at the same instant, which drops the packets on it. The
//! link of an end that changes its satellite is down for a multiple of the sum of its old and new
//! delays; the study that used the emulator reports a further 45 to 120 ms.

use crate::leoem::LoggedPath;
use perigee_timeline::*;
use perigee_units::draw::finalise;
use perigee_units::Nanos;

/// Parameters of the outages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breaks {
    /// Outage of an end's link, as a multiple of the sum of its old and new delays (LeoEM: 3).
    pub per_delay: f64,
    /// Bounds of a uniformly distributed duration that is added.
    pub outage: (Nanos, Nanos),
    /// Seed of the draws.
    pub seed: u64,
    /// Effect of an outage on packets.
    pub mode: OutageMode,
}

impl Breaks {
    /// Changes and notes of the outages when `new` replaces `old` at `t`. `ways` lists the links of
    /// the new path in the forward and in the reverse direction, each in the order of its packets.
    pub(crate) fn of(
        &self,
        t: Nanos,
        old: &LoggedPath,
        new: &LoggedPath,
        ways: &[Vec<LinkId>; 2],
    ) -> Vec<Timed> {
        let links = new.delays.len();
        let both_ways = |i: usize| [ways[0][i], ways[1][links - 1 - i]];
        let note = |at, kind, node: Option<u32>, value| {
            let note = Note { kind, node: node.map(NodeId), pair: None, value, text: String::new() };
            Timed { at, change: Change::Note(note) }
        };
        let mut out = Vec::new();
        let changed = interior(&old.nodes, &new.nodes);
        if !changed.is_empty() {
            // LeoEM notifies SaTCP of these as of handovers of an end.
            out.push(note(t, NoteKind::OutageBegin, None, 0.0));
            out.push(note(t, NoteKind::OutageEnd, None, 0.0));
        }
        for i in changed {
            for link in both_ways(i) {
                out.push(Timed { at: t, change: Change::Down(link, OutageMode::Flush) });
                out.push(Timed { at: t, change: Change::Up(link) });
            }
        }
        let last = |p: &LoggedPath| (p.nodes[p.nodes.len() - 2], p.delays[p.delays.len() - 1]);
        let ends = [
            (0, (old.nodes[1], old.delays[0]), (new.nodes[1], new.delays[0])),
            (links - 1, last(old), last(new)),
        ];
        for (end, (i, before, after)) in ends.into_iter().enumerate().filter(|(_, (_, b, a))| b.0 != a.0) {
            let until = t + self.length(t, end as u64, before.1 + after.1);
            let node = Some(end as u32);
            out.push(note(t, NoteKind::OutageBegin, node, (until - t).as_secs_f64()));
            for link in both_ways(i) {
                out.push(Timed { at: t, change: Change::Down(link, self.mode) });
                out.push(Timed { at: until, change: Change::Up(link) });
            }
            out.push(note(until, NoteKind::OutageEnd, node, 0.0));
        }
        out
    }

    /// Duration of an outage, limited to less than the second between two recorded paths.
    fn length(&self, t: Nanos, end: u64, delays: Nanos) -> Nanos {
        let (low, high) = self.outage;
        let mut h = 0x9E37_79B9_7F4A_7C15;
        for x in [self.seed, t.0, end] {
            h = finalise(h ^ finalise(x));
        }
        let unit = (h >> 11) as f64 / (1_u64 << 53) as f64;
        let drawn = low.0 as f64 + unit * (high.saturating_sub(low)).0 as f64;
        Nanos((drawn + self.per_delay * delays.0 as f64) as u64).min(Nanos::from_millis(999))
    }
}

/// Indices of the links between satellites that have an outage: the link to the first satellite
/// that was not on the old path, and the link to a satellite of the old path at another position.
fn interior(old: &[i64], new: &[i64]) -> Vec<usize> {
    let (old, new) = (&old[1..old.len() - 1], &new[1..new.len() - 1]);
    let mut out = Vec::new();
    let mut away = false;
    for (i, node) in new.iter().enumerate() {
        let was = old.iter().position(|o| o == node);
        let changes = was.is_none() && !away || was.is_some_and(|w| away && w != i);
        // Link i leads to satellite i; link 0 is the link of the end.
        if changes && i > 0 {
            out.push(i);
        }
        away = was.is_none();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_outages_where_the_new_path_leaves_and_rejoins_the_old_one() {
        assert_eq!(interior(&[-1, 1, 2, 3, -2], &[-1, 1, 2, 3, -2]), Vec::<usize>::new());
        // 9 is new after 1, and 2 is rejoined one position later.
        assert_eq!(interior(&[-1, 1, 2, 3, -2], &[-1, 1, 9, 2, 3, -2]), [1, 2]);
        assert_eq!(interior(&[-1, 1, 2, 3, -2], &[-1, 9, 2, 3, -2]), Vec::<usize>::new());
        assert_eq!(interior(&[-1, 1, 2, -2], &[-1, 1, 7, 8, -2]), [1]);
    }

    #[test]
    fn an_end_that_changes_its_satellite_has_an_outage_of_its_delays_and_a_draw() {
        let ms = Nanos::from_millis;
        let path = |nodes: &[i64], delay| LoggedPath {
            nodes: nodes.to_vec(),
            delays: vec![ms(delay); nodes.len() - 1],
        };
        let how = Breaks { per_delay: 3.0, outage: (ms(45), ms(120)), seed: 1, mode: OutageMode::Flush };
        let ways = [vec![LinkId(0), LinkId(1), LinkId(2)], vec![LinkId(5), LinkId(4), LinkId(3)]];
        let out = how.of(ms(5000), &path(&[-1, 1, 2, -2], 1), &path(&[-1, 7, 2, -2], 2), &ways);
        let down: Vec<_> = out.iter().filter(|c| matches!(c.change, Change::Down(..))).collect();
        assert!(matches!(
            down[..],
            [
                Timed { change: Change::Down(LinkId(0), _), .. },
                Timed { change: Change::Down(LinkId(3), _), .. }
            ]
        ));
        let up = out.iter().find(|c| matches!(c.change, Change::Up(_))).unwrap().at;
        assert!((ms(5000 + 45 + 9)..=ms(5000 + 120 + 9)).contains(&up));
        assert_ne!(how.length(ms(5000), 0, ms(3)), how.length(ms(6000), 0, ms(3)));
    }
}
