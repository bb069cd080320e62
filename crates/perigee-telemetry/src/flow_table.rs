// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flow table of bounded size, as in a switch: what a meter counts if it cannot remember every flow.
//!
//! ```text
//! bucket = hash(flow) mod N/4        N entries, buckets of about 4
//! entry present, seen before this interval     mark it                              count + 1
//! entry present, seen in this interval         —
//! entry absent                                 into a free entry, else in place of
//!                                              the one seen longest ago             count + 1
//! ```
//!
//! The count is exact as long as no bucket has more flows than entries. A flow that has been evicted
//! counts again with its next packet: where flows exceed entries by far, packets are counted, at most
//! all those of an interval.

use perigee_units::draw::mix;

/// Entries of a bucket; some are larger if the size of the table is no multiple of it.
const WAYS: usize = 4;
/// Separates the hash from others of flow numbers.
const KEY: u64 = 0x0066_6c6f_7774_6162;

#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    /// Number of the packet, of all packets at the table, with which the flow was seen last; zero =
    /// free.
    seen: u64,
}

/// Flow table of bounded size.
#[derive(Clone, Debug)]
pub struct FlowTable {
    entries: Vec<Entry>,
    buckets: usize,
    packets: u64,
    /// Packets before this interval.
    before: u64,
    count: u32,
    evictions: u64,
    evictions_in_use: u64,
}

impl FlowTable {
    /// An empty table with this number of entries, at least 1.
    pub fn new(entries: u32) -> Self {
        let entries = entries.max(1) as usize;
        FlowTable {
            entries: vec![Entry { flow: 0, seen: 0 }; entries],
            buckets: (entries / WAYS).max(1),
            packets: 0,
            before: 0,
            count: 0,
            evictions: 0,
            evictions_in_use: 0,
        }
    }

    /// Handles a packet of a flow.
    pub fn insert(&mut self, flow: u32) {
        self.packets += 1;
        let (bucket, entries) = (mix(KEY ^ u64::from(flow)) as usize % self.buckets, self.entries.len());
        let bounds = [bucket, bucket + 1].map(|b| b * entries / self.buckets);
        let bucket = &mut self.entries[bounds[0]..bounds[1]];
        if let Some(own) = bucket.iter_mut().find(|e| e.flow == flow && e.seen > 0) {
            self.count += u32::from(own.seen <= self.before);
            own.seen = self.packets;
            return;
        }
        self.count += 1;
        let oldest = bucket.iter_mut().min_by_key(|e| e.seen).expect("no bucket is empty");
        self.evictions += u64::from(oldest.seen > 0);
        self.evictions_in_use += u64::from(oldest.seen > self.before);
        *oldest = Entry { flow, seen: self.packets };
    }

    /// Ends an interval: the number of flows counted in it.
    pub fn end_interval(&mut self) -> u32 {
        self.before = self.packets;
        std::mem::take(&mut self.count)
    }

    /// Size.
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Flows evicted so far.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Of these, flows that had been counted in the interval of their eviction.
    pub fn evictions_in_use(&self) -> u64 {
        self.evictions_in_use
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of intervals in which each flow sends `packets` packets by turns.
    fn counts(table: &mut FlowTable, flows: u32, packets: u32, intervals: u32) -> Vec<u32> {
        let interval = |table: &mut FlowTable| {
            (0..packets).for_each(|_| (0..flows).for_each(|flow| table.insert(flow)));
            table.end_interval()
        };
        (0..intervals).map(|_| interval(table)).collect()
    }

    #[test]
    fn a_table_with_room_counts_each_flow_once_per_interval() {
        let mut table = FlowTable::new(4000);
        assert_eq!(counts(&mut table, 100, 7, 3), [100; 3]);
        assert_eq!((table.entries(), table.evictions()), (4000, 0));
    }

    #[test]
    fn a_bucket_with_too_many_flows_counts_their_packets() {
        // One bucket of 3 entries, 4 flows by turns: each packet evicts the flow that sends next.
        let mut table = FlowTable::new(3);
        assert_eq!(counts(&mut table, 4, 10, 2), [40, 40]);
        assert_eq!(table.evictions(), 80 - 3);
        // The first packets of an interval evict flows of the one before it.
        assert_eq!(table.evictions_in_use(), 80 - 3 - 3);
        assert_eq!(counts(&mut FlowTable::new(4), 4, 10, 2), [4, 4]);
    }

    #[test]
    fn entries_of_flows_that_have_ended_are_evicted_and_distort_no_count() {
        let mut table = FlowTable::new(4);
        for first in [0, 4, 8] {
            (first..first + 4).for_each(|flow| table.insert(flow));
            assert_eq!(table.end_interval(), 4);
        }
        assert_eq!((table.evictions(), table.evictions_in_use()), (8, 0));
    }

    #[test]
    fn every_size_has_room_for_at_least_as_many_flows_in_each_bucket_as_it_states() {
        for entries in 1..40u32 {
            let table = FlowTable::new(entries);
            let sizes =
                (0..table.buckets).map(|b| [b, b + 1].map(|b| b * table.entries.len() / table.buckets));
            assert!(sizes.clone().all(|[from, to]| to - from >= WAYS.min(entries as usize)), "{entries}");
            assert_eq!(sizes.map(|[from, to]| to - from).sum::<usize>(), entries as usize);
        }
    }
}
