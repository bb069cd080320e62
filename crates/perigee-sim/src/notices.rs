// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Notices to flows about handovers, outages and path changes of the timeline, with lead time,
//! prediction error and loss.

use perigee_timeline::Notices;
use perigee_timeline::{Change, Chunk, Note, NoteKind, PairId};
use perigee_units::draw::mix;
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events of a flow within this time of the previous one are part of it, such as the
/// reconfiguration that ends an outage.
const MERGE_TIME: Nanos = Nanos::from_millis(500);

/// Notification to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// The handover is over.
    End,
    /// A handover or outage starts, or is imminent; with its expected end.
    Begin(Nanos),
    /// The path changes; with an identifier of the new path.
    Path(u64),
}

/// A notice received by a flow with external ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNotice {
    /// Time of the notice.
    pub at: Nanos,
    /// Number of the flow.
    pub flow: u32,
    /// The notice.
    pub notice: Notice,
}

/// A flow that subscribes to notices.
#[derive(Clone, Debug)]
pub struct Subscriber {
    pub flow: u32,
    /// Key of its random draws.
    pub key: u64,
    /// Pairs of the timeline that carry data and ACKs.
    pub forward: PairId,
    pub reverse: PairId,
    /// End nodes of the flow.
    pub ends: [u32; 2],
    /// Lead time, hold time, errors and loss of its notices.
    pub settings: Notices,
    /// Time of its latest event.
    last: Option<Nanos>,
    /// Number of its events so far.
    events: u64,
}

impl Subscriber {
    pub fn new(flow: u32, key: u64, pairs: [PairId; 2], ends: [u32; 2], settings: Notices) -> Self {
        Subscriber { flow, key, forward: pairs[0], reverse: pairs[1], ends, settings, last: None, events: 0 }
    }

    /// Whether a note is about the subscriber's path or ends, or about the entire network.
    fn is_affected_by(&self, note: &Note) -> bool {
        match (note.pair, note.node) {
            (Some(p), _) => p == self.forward || p == self.reverse,
            (None, Some(n)) => self.ends.contains(&n.0),
            (None, None) => true,
        }
    }
}

/// Pending notices of all subscribers.
#[derive(Clone, Debug, Default)]
pub struct NoticeQueue {
    subscribers: Vec<Subscriber>,
    due: BinaryHeap<Reverse<(Nanos, u32, Notice)>>,
}

impl NoticeQueue {
    pub fn subscribe(&mut self, s: Subscriber) {
        self.subscribers.push(s);
    }

    /// Whether there are no subscribers.
    pub fn is_idle(&self) -> bool {
        self.subscribers.is_empty()
    }

    /// Schedules the notices about a chunk of changes; none is due before `now`.
    pub fn read(&mut self, chunk: &Chunk, now: Nanos) {
        for timed in &chunk.changes {
            let Change::Note(note) = &timed.change else { continue };
            for s in &mut self.subscribers {
                if s.is_affected_by(note) {
                    schedule(s, note, timed.at, now, &mut self.due);
                }
            }
        }
    }

    /// Time of the next notice; [`Nanos::MAX`] if there is none.
    pub fn next(&self) -> Nanos {
        self.due.peek().map_or(Nanos::MAX, |n| n.0 .0)
    }

    /// Removes and returns the next notice that is due by `now`, with its flow.
    pub fn pop(&mut self, now: Nanos) -> Option<(u32, Notice)> {
        if self.next() > now {
            return None;
        }
        self.due.pop().map(|Reverse((_, flow, notice))| (flow, notice))
    }
}

/// Schedules the notices about one event, unless it is part of the previous event or is lost.
fn schedule(
    s: &mut Subscriber,
    note: &Note,
    at: Nanos,
    now: Nanos,
    due: &mut BinaryHeap<Reverse<(Nanos, u32, Notice)>>,
) {
    use NoteKind::*;
    let merged = s.last.is_some_and(|last| at.saturating_sub(last) < MERGE_TIME);
    if merged || !matches!(note.kind, Handover | OutageBegin | Reconfiguration | PathChange) {
        return;
    }
    s.last = Some(at);
    s.events += 1;
    let draw = mix(s.key ^ mix(s.events));
    if (draw >> 11) as f64 / (1u64 << 53) as f64 >= 1.0 - s.settings.loss {
        return;
    }
    if note.kind == PathChange {
        due.push(Reverse((at.max(now), s.flow, Notice::Path(draw))));
        return;
    }
    let error = match s.settings.errors.len() {
        0 => 0,
        n => s.settings.errors[(mix(draw) % n as u64) as usize],
    };
    let begin = (at.0 as i128 - s.settings.lead.0 as i128 + error as i128).max(now.0 as i128) as u64;
    let end = Nanos(begin) + s.settings.hold;
    due.push(Reverse((Nanos(begin), s.flow, Notice::Begin(end))));
    due.push(Reverse((end, s.flow, Notice::End)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Timed;

    fn note(at_ms: u64, kind: NoteKind) -> Timed {
        let note = Note { kind, node: None, pair: None, value: 0.0, text: String::new() };
        Timed { at: Nanos::from_millis(at_ms), change: Change::Note(note) }
    }

    fn notices(settings: Notices, changes: Vec<Timed>) -> Vec<(u64, Notice)> {
        let mut queue = NoticeQueue::default();
        queue.subscribe(Subscriber::new(0, 7, [PairId(0), PairId(1)], [0, 1], settings));
        queue.read(&Chunk { changes, ..Chunk::default() }, Nanos::ZERO);
        let mut out = Vec::new();
        while queue.next() != Nanos::MAX {
            let at = queue.next();
            out.push((at.0 / 1_000_000, queue.pop(at).unwrap().1));
        }
        out
    }

    #[test]
    fn a_handover_is_announced_and_its_end_after_the_hold_time() {
        let settings = Notices { lead: Nanos::from_millis(500), ..Notices::default() };
        let received = notices(
            settings,
            vec![note(15_000, NoteKind::OutageBegin), note(15_100, NoteKind::Reconfiguration)],
        );
        let end = Nanos::from_millis(16_800);
        assert_eq!(received, [(14_500, Notice::Begin(end)), (16_800, Notice::End)]);
    }

    #[test]
    fn an_error_moves_the_notice_and_loss_suppresses_it() {
        let settings = Notices { errors: [200_000_000].into(), ..Notices::default() };
        assert_eq!(notices(settings, vec![note(1000, NoteKind::Handover)])[0].0, 1200);
        let settings = Notices { loss: 1.0, ..Notices::default() };
        assert_eq!(notices(settings, vec![note(1000, NoteKind::Handover)]), []);
    }
}
