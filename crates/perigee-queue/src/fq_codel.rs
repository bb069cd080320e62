// SPDX-License-Identifier: Apache-2.0 OR MIT
//! FQ-CoDel (RFC 8290): one CoDel queue per flow, served by deficit round robin, new flows first.
//!
//! * Flows are hashed to `queues` queues; each may send `quantum` bytes of IP packets per turn
//!   (section 4.1.2).
//! * A flow that starts to send is served before the old flows. Once it has used up its quantum, or
//!   its queue is empty while others wait, it moves to the end of the list of old flows (section
//!   4.2).
//! * When the port is full, the longest queue (in bytes) drops packets, oldest first, until half of
//!   its bytes or 64 packets are gone (section 4.1.3).

use crate::codel::{Control, INTERVAL, TARGET};
use crate::{Discipline, DisciplineInfo, Ecn, Packet, Port, Queues, Setup, Verdict};
use perigee_units::params::{Domain, ParamSpec, Params};
use perigee_units::Nanos;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "fq_codel",
    label: "FQ-CoDel",
    summary: "one CoDel queue per flow, served in turn, new flows first (RFC 8290)",
    params: PARAMS,
    make: Some(|params, setup| Box::new(FqCodel::new(params, setup))),
};

const PARAMS: &[ParamSpec] = &[
    TARGET,
    INTERVAL,
    ParamSpec {
        name: "quantum",
        domain: Domain::Int { default: 1514, min: 1, max: 1_000_000 },
        unit: "bytes",
        source: "RFC 8290 section 5.2.4",
        help: "bytes sent per turn of a flow",
    },
    ParamSpec {
        name: "queues",
        domain: Domain::Int { default: 1024, min: 1, max: 65_536 },
        unit: "",
        source: "RFC 8290 section 5.2.5",
        help: "number of queues over which flows are hashed",
    },
];

/// Maximum number of packets dropped at once when the port is full.
const BATCH: usize = 64;

/// Queue of one flow.
#[derive(Clone, Debug)]
struct Flow {
    packets: VecDeque<Packet>,
    bytes: u64,
    codel: Control,
    /// Bytes of IP packets that it may still send in this turn.
    deficit: i64,
    /// Whether the flow is in one of the two lists.
    listed: bool,
}

impl Flow {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

/// State of one port.
#[derive(Clone, Debug)]
pub struct FqCodel {
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    /// Index of the flow being served.
    turn: usize,
    /// Index of the longest queues; present only if the port has been full recently.
    fat: Option<Fattest>,
}

/// Search for the flow with the most bytes without a scan of all flows: a heap with an upper bound
/// of the bytes of each. An outdated bound is corrected when it reaches the top.
#[derive(Clone, Debug, Default)]
struct Fattest {
    /// Bytes and flow; ties go to the lowest index.
    heap: BinaryHeap<(u64, Reverse<usize>)>,
    /// Arrivals since the port was last full.
    idle: usize,
}

impl Fattest {
    fn new(flows: &[Flow]) -> Self {
        let all = flows.iter().enumerate().filter(|(_, f)| f.bytes > 0);
        Fattest { heap: all.map(|(i, f)| (f.bytes, Reverse(i))).collect(), idle: 0 }
    }

    /// Index of the flow with the most bytes; 0 if all are empty.
    fn find(&mut self, flows: &[Flow]) -> usize {
        self.idle = 0;
        while let Some(mut top) = self.heap.peek_mut() {
            let (bytes, Reverse(i)) = *top;
            match flows[i].bytes {
                now if now == bytes => return i,
                0 => drop(PeekMut::pop(top)),
                now => top.0 = now,
            }
        }
        0
    }
}

impl FqCodel {
    /// Creates empty queues.
    pub fn new(params: &Params, _setup: &Setup) -> Self {
        let codel = Control::new(params);
        let empty = Flow { packets: VecDeque::new(), bytes: 0, codel, deficit: 0, listed: false };
        FqCodel {
            flows: vec![empty; params.int("queues") as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: params.int("quantum"),
            turn: 0,
            fat: None,
        }
    }

    /// Selects the flow to serve next; `None` = all queues are empty.
    fn next_turn(&mut self) -> Option<usize> {
        loop {
            let from_new = !self.new.is_empty();
            let i = *if from_new { self.new.front() } else { self.old.front() }?;
            let flow = &mut self.flows[i as usize];
            let empty = flow.packets.is_empty();
            if flow.deficit > 0 && !empty {
                return Some(i as usize);
            }
            let round = if from_new { &mut self.new } else { &mut self.old };
            round.pop_front();
            if !empty {
                flow.deficit += self.quantum;
                self.old.push_back(i);
            } else if from_new && !self.old.is_empty() {
                // An empty new flow passes through the list of old flows: otherwise a flow would
                // regain priority by pausing.
                self.old.push_back(i);
            } else {
                flow.codel.on_empty();
                flow.listed = false;
            }
        }
    }

    /// Updates the heap after an arrival at a flow.
    fn note_growth(&mut self, i: usize) {
        let Some(fat) = &mut self.fat else { return };
        fat.heap.push((self.flows[i].bytes, Reverse(i)));
        fat.idle += 1;
        // The heap is discarded once the port has not been full for a while, and rebuilt once
        // outdated entries dominate.
        if fat.idle > self.flows.len() {
            self.fat = None;
        } else if fat.heap.len() > 4 * self.flows.len() {
            self.fat = Some(Fattest::new(&self.flows));
        }
    }

    /// Drops packets of the longest queue.
    fn drop_from_fattest(&mut self, lost: &mut Vec<Packet>) {
        let i = self.fat.get_or_insert_with(|| Fattest::new(&self.flows)).find(&self.flows);
        let flow = &mut self.flows[i];
        let half = flow.bytes / 2;
        for _ in 0..BATCH {
            if flow.bytes <= half {
                break;
            }
            lost.extend(flow.pop());
        }
    }
}

impl Discipline for FqCodel {
    fn on_dequeue(&mut self, port: &Port, packet: &Packet, again: bool) -> Verdict {
        let flow = &mut self.flows[self.turn];
        let left = flow.bytes - u64::from(packet.bytes);
        let late = flow.codel.on_head(port.now, packet.sojourn(port.now), left, again);
        if late && packet.ecn == Ecn::NotEct {
            return Verdict::Drop;
        }
        flow.deficit -= i64::from(packet.ip_bytes);
        if late {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }
    fn queues_mut(&mut self) -> Option<&mut dyn Queues> {
        Some(self)
    }
}

impl Queues for FqCodel {
    fn push(&mut self, _now: Nanos, packet: Packet, fits: bool, lost: &mut Vec<Packet>) {
        let i = packet.flow % self.flows.len() as u64;
        let flow = &mut self.flows[i as usize];
        flow.packets.push_back(packet);
        flow.bytes += u64::from(packet.bytes);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(i as u32);
        }
        self.note_growth(i as usize);
        if !fits {
            self.drop_from_fattest(lost);
        }
    }

    fn head(&mut self) -> Option<Packet> {
        self.turn = self.next_turn()?;
        self.flows[self.turn].packets.front().copied()
    }

    fn take(&mut self) -> Option<Packet> {
        self.flows[self.turn].pop()
    }

    fn flush(&mut self, _now: Nanos, link: u32, lost: &mut Vec<Packet>) {
        for flow in &mut self.flows {
            lost.extend(flow.packets.iter().filter(|p| p.link == link));
            flow.packets.retain(|p| p.link != link);
            flow.bytes = flow.packets.iter().map(|p| u64::from(p.bytes)).sum();
        }
    }

    fn for_each(&self, show: &mut dyn FnMut(&Packet)) {
        self.flows.iter().flat_map(|f| &f.packets).for_each(show);
    }
}
