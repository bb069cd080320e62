// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports of partitions to their observer: kept by each, and merged in the order of one thread.
//!
//! One thread executes the events of an instant in the order of their ranks, except that an event
//! may cause another one of a lower rank at the same instant, which is then the next. No event has
//! an effect in another partition at its own instant. So the order of one thread is that of the
//! ranks if each event has at least the rank of those before it in its partition.

use crate::observe::{CompletionRow, Observer, PacketSeen, SimEvent};
use perigee_units::Nanos;
use std::marker::PhantomData;

/// A report to the observer.
#[derive(Clone, Debug)]
pub enum Report {
    Event(SimEvent<'static>),
    Rtt { flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos> },
    Datagram { flow: u32, spurt: u64, sent: Nanos },
    Completion(Box<CompletionRow>),
    Packet(Box<StoredPacket>),
}

/// A packet, with its blocks.
#[derive(Clone, Debug)]
pub struct StoredPacket {
    packet: PacketSeen<'static>,
    sack: Vec<(u64, u64)>,
    telemetry: Vec<u8>,
}

/// Reports of one partition, in order, for an observer of type `O`.
pub struct Log<O> {
    at: Nanos,
    /// The highest rank of the events at this instant.
    rank: u64,
    entries: Vec<(Nanos, u64, Report)>,
    observer: PhantomData<fn() -> O>,
}

impl<O> Default for Log<O> {
    fn default() -> Self {
        Log { at: Nanos::ZERO, rank: 0, entries: Vec::new(), observer: PhantomData }
    }
}

impl<O> Log<O> {
    /// The reports that follow are those of an event.
    #[inline]
    pub fn enter(&mut self, at: Nanos, rank: u64) {
        self.rank = if at > self.at { rank } else { self.rank.max(rank) };
        self.at = at;
    }

    #[inline]
    fn push(&mut self, report: Report) {
        self.entries.push((self.at, self.rank, report));
    }
}

/// Passes the reports of all logs to `report`, in the order of one thread, and empties the logs.
pub fn merge<O>(logs: &mut [Log<O>], mut report: impl FnMut(Nanos, Report)) {
    let mut heads: Vec<_> = logs.iter_mut().map(|log| log.entries.drain(..).peekable()).collect();
    loop {
        let mut first = None;
        for (i, head) in heads.iter_mut().enumerate() {
            let key = head.peek().map(|(at, rank, _)| (*at, *rank, i));
            first = [first, key].into_iter().flatten().min();
        }
        let Some((at, _, next)) = first.and_then(|(.., i)| heads[i].next()) else { return };
        report(at, next);
    }
}

impl Report {
    /// Passes it to an observer.
    pub fn show<O: Observer>(self, at: Nanos, obs: &mut O) {
        match self {
            Report::Event(e) => obs.event(at, &e),
            Report::Rtt { flow, sent, rtt, base } => obs.rtt(flow, sent, rtt, base),
            Report::Datagram { flow, spurt, sent } => obs.datagram(flow, spurt, sent, at),
            Report::Completion(row) => obs.completion(&row),
            Report::Packet(seen) => {
                let StoredPacket { packet, sack, telemetry } = &*seen;
                obs.packet(&PacketSeen { sack, telemetry, ..packet.clone() });
            }
        }
    }
}

impl<O: Observer> Observer for Log<O> {
    const PACKETS: bool = O::PACKETS;

    fn event(&mut self, _at: Nanos, e: &SimEvent<'_>) {
        if let Some(event) = e.detached() {
            self.push(Report::Event(event));
        }
    }
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        self.push(Report::Rtt { flow, sent, rtt, base });
    }
    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, _at: Nanos) {
        self.push(Report::Datagram { flow, spurt, sent });
    }
    fn completion(&mut self, row: &CompletionRow) {
        self.push(Report::Completion(Box::new(row.clone())));
    }
    fn packet(&mut self, p: &PacketSeen<'_>) {
        let (sack, telemetry) = (p.sack.to_vec(), p.telemetry.to_vec());
        let packet = PacketSeen { sack: &[], telemetry: &[], ..p.clone() };
        self.push(Report::Packet(Box::new(StoredPacket { packet, sack, telemetry })));
    }
}
