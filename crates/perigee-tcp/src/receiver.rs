// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receiving side of a connection: reassembly, SACK blocks, delayed and compressed ACKs.

use crate::arrival::Arrivals;
use crate::window::ReceiveWindow;
use crate::{AckBlocks, Config, Seg};
use perigee_units::{Nanos, NS_PER_S};

/// Number of ACKs for the same hole that are sent at once before compression starts: the sender's
/// duplicate-ACK threshold.
const PROMPT_ACKS: u8 = 3;
/// Maximum number of packets that one ACK waits for (Linux `tcp_comp_sack_nr`).
const MAX_COMPRESSED: u8 = 44;
/// Number of blocks that fit in any ACK (Linux `TCP_SACK_BLOCKS_EXPECTED`): waiting packets are
/// acknowledged before one of them needs a third block.
const SAFE_BLOCKS: usize = 2;
/// Maximum wait (Linux `tcp_comp_sack_delay_ns`), and slack of its timer
/// (`tcp_comp_sack_slack_ns`), used in full where no other event wakes the host.
const MAX_COMPRESSION: Nanos = Nanos::from_millis(1);
const COMPRESSION_SLACK: Nanos = Nanos::from_micros(100);

/// Out-of-order packets with ACKs that are held back, to be sent as one.
#[derive(Clone, Copy, Debug)]
struct Compression {
    delay: Nanos,
    hole: Seg,
    prompt: u8,
    waiting: u8,
}

/// Receiving side of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: Seg,
    /// Set bits mark segments received above `next`. A ring indexed by segment number.
    beyond: Vec<u64>,
    /// One past the highest segment received.
    highest: Seg,
    beyond_count: u64,
    /// The four ranges changed most recently, newest first.
    ranges: [(Seg, Seg); 4],
    count: usize,
    every: u32,
    quick: u32,
    quick_refill: u32,
    pending: u32,
    /// Maximum delay of an ACK; not reached by bulk transfers.
    delay: Nanos,
    deadline: Nanos,
    /// Expiry of the timer of the latest delayed ACK, whether or not that ACK has been sent in the
    /// meantime: Linux does not stop the timer, and acknowledges packets that wait to be bundled
    /// when it expires.
    delayed_until: Nanos,
    tick: Nanos,
    /// The peer's timestamp to echo, and the acknowledgement number last sent (RFC 7323 section
    /// 4.3).
    ts_recent: u32,
    last_acked: Seg,
    max_blocks: usize,
    dsack: bool,
    push_acks: bool,
    marked: u32,
    compression: Option<Compression>,
    window: Option<ReceiveWindow>,
    mss: u64,
    pub(crate) arrivals: Arrivals,
}

impl Receiver {
    /// State at the start of the connection, `now`. `every`: acknowledge every n-th in-order
    /// segment.
    pub fn new(config: &Config, every: u32, now: Nanos) -> Self {
        Receiver {
            next: 0,
            beyond: vec![0; 4],
            highest: 0,
            beyond_count: 0,
            ranges: [(0, 0); 4],
            count: 0,
            every,
            quick: config.quickack,
            quick_refill: config.quickack,
            pending: 0,
            delay: config.delayed_ack_timeout,
            deadline: Nanos::MAX,
            delayed_until: Nanos::ZERO,
            tick: Nanos(NS_PER_S.checked_div(u64::from(config.hz)).unwrap_or(0)),
            ts_recent: 0,
            last_acked: 0,
            // 40 bytes of options have room for four blocks, or for three and a timestamp.
            max_blocks: if config.timestamps { 3 } else { 4 },
            dsack: config.dsack,
            push_acks: config.push_acks,
            marked: 0,
            compression: None,
            window: ReceiveWindow::new(config, now),
            mss: u64::from(config.mss),
            arrivals: Arrivals::new(config.arrival),
        }
    }

    /// Enables compression of ACKs for out-of-order packets on a path with this RTT (unknown: the
    /// maximum wait).
    pub fn compress_sacks(&mut self, rtt: Option<Nanos>) {
        let delay = rtt.map_or(MAX_COMPRESSION, |rtt| (rtt / 20).min(MAX_COMPRESSION));
        let delay = delay + COMPRESSION_SLACK;
        self.compression = Some(Compression { delay, hole: 0, prompt: 0, waiting: 0 });
    }

    /// Number of segments received in order, which is also the next segment expected.
    pub fn next(&self) -> Seg {
        self.next
    }

    /// Time of the next call to [`Receiver::on_timer`]; [`Nanos::MAX`] = never.
    pub fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Handles the delayed-ACK timer.
    pub fn on_timer(&mut self, now: Nanos) -> Option<AckBlocks> {
        (now >= self.deadline && self.pending > 0).then(|| self.acknowledge(None))
    }

    /// An unsolicited acknowledgement that announces a window update.
    pub fn tell(&mut self) -> AckBlocks {
        self.acknowledge(None)
    }

    /// Records a congestion mark on the data segment about to be processed; it is reported to the
    /// sender at once.
    pub fn on_mark(&mut self) {
        self.marked = self.marked.wrapping_add(1);
        self.quick = self.quick.max(2);
    }

    /// Records the timestamp echo `ts_ecr` (0 = none) of the data segment about to be processed.
    /// The application has read all data before it.
    #[inline]
    pub fn on_echo(&mut self, now: Nanos, ts_ecr: u32) {
        if let Some(window) = &mut self.window {
            window.on_read(now, self.next * self.mss);
            window.on_echo(now, ts_ecr);
        }
    }

    /// Grows the window because of a packet, if possible; Linux then restores an immediate ACK.
    /// `held` packets are in the buffer by now; a packet that starts a new range above a hole does
    /// not count yet.
    #[inline]
    fn grow_window(&mut self, held: u64) {
        if self.window.as_mut().is_some_and(|w| w.grow(held)) {
            self.quick |= 1;
        }
    }

    /// Processes a data segment with timestamp `ts_ms`. `push`: it ends a burst; if the application
    /// reads at once it is acknowledged at once (Linux 6.6 and later, `tcp_measure_rcv_mss`).
    pub fn on_data(&mut self, now: Nanos, seg: Seg, ts_ms: u32, push: bool) -> Option<AckBlocks> {
        if seg <= self.last_acked {
            self.ts_recent = ts_ms;
            self.arrivals.echo_newest();
        }
        self.pending += 1;
        if seg < self.next || (seg < self.highest && self.is_beyond(seg)) {
            self.quick = self.quick.max(self.quick_refill);
            return Some(self.acknowledge(self.dsack.then_some((seg, seg + 1))));
        }
        if seg > self.next {
            let told = self.tells_before(seg);
            let (begins, held) = (!self.is_received(seg - 1), self.beyond_count);
            self.keep(seg);
            self.grow_window(held + u64::from(!begins));
            // An ACK was sent while the packet was being stored: the packet itself is reported
            // later, with the next ACK.
            if told.is_some() || self.waits_for_more(now) {
                return told;
            }
            return Some(self.acknowledge(None));
        }
        let holes = self.beyond_count > 0;
        self.next += 1;
        self.highest = self.highest.max(self.next);
        self.grow_window(self.beyond_count + 1);
        if holes {
            self.absorb();
            self.note_next_hole();
            return Some(self.acknowledge(None));
        }
        if self.quick > 0 || self.pending >= self.every {
            return Some(self.acknowledge(None));
        }
        self.delay_ack(now);
        // The application's read acknowledges it, after the timer has been started.
        (push && self.push_acks).then(|| self.acknowledge(None))
    }

    /// Leaves the ACK of an in-order packet to the timer, which counts ticks from the next tick on.
    fn delay_ack(&mut self, now: Nanos) {
        if self.deadline == Nanos::MAX {
            let begin = match self.tick.0 {
                0 => now,
                tick => Nanos((now.0 / tick + 1) * tick),
            };
            self.delayed_until = begin + self.delay;
            self.deadline = self.delayed_until;
        }
    }

    /// Acknowledges waiting packets before a packet adds a third range, which would push one out of
    /// the blocks: if every other packet is lost, a single ACK could not hold all ranges of the
    /// bundle.
    fn tells_before(&mut self, seg: Seg) -> Option<AckBlocks> {
        if self.compression.is_none_or(|c| c.waiting == 0) {
            return None;
        }
        let first = &self.ranges[..self.count.min(SAFE_BLOCKS)];
        if self.count < SAFE_BLOCKS || first.iter().any(|&(s, e)| s <= seg + 1 && seg <= e) {
            return None;
        }
        self.pending -= 1;
        let told = self.acknowledge(None);
        self.pending = 1;
        Some(told)
    }

    /// Handles a hole that was filled while another remains. The ACK that reports it is one of the
    /// prompt ACKs for the next hole, unless it is sent because it covers at least two packets and
    /// the window has not shrunk (Linux `__tcp_ack_snd_check`).
    fn note_next_hole(&mut self) {
        let Some(c) = &mut self.compression else { return };
        if self.beyond_count == 0 || self.quick > 0 {
            return;
        }
        let held = self.beyond_count + (self.next - self.last_acked);
        let whole = self.window.as_ref().is_none_or(|w| w.is_whole(held));
        let counts = self.next - self.last_acked < 2 || !whole;
        (c.hole, c.prompt) = (self.next, u8::from(counts));
    }

    /// Leaves the ACK of an out-of-order packet to the timer, or to the packet that completes the
    /// bundle.
    fn waits_for_more(&mut self, now: Nanos) -> bool {
        let Some(c) = &mut self.compression else { return false };
        if self.quick > 0 || c.waiting >= MAX_COMPRESSED {
            return false;
        }
        if c.hole != self.next {
            (c.hole, c.prompt) = (self.next, 0);
        }
        if c.prompt < PROMPT_ACKS {
            c.prompt += 1;
            return false;
        }
        c.waiting += 1;
        self.deadline = self.deadline.min(now + c.delay);
        if self.delayed_until > now {
            self.deadline = self.deadline.min(self.delayed_until);
        }
        true
    }

    fn acknowledge(&mut self, dsack: Option<(Seg, Seg)>) -> AckBlocks {
        let covered = std::mem::take(&mut self.pending);
        self.deadline = Nanos::MAX;
        let window_end = self.offer_window();
        self.quick = self.quick.saturating_sub(1);
        self.last_acked = self.next;
        if let Some(c) = &mut self.compression {
            c.waiting = 0;
        }
        let room = self.max_blocks - dsack.is_some() as usize;
        let count = self.count.min(room);
        let mut sacks = [(0, 0); 4];
        sacks[..count].copy_from_slice(&self.ranges[..count]);
        AckBlocks {
            ack: self.next,
            dsack,
            sacks,
            count: count as u8,
            ts_ecr: self.ts_recent,
            marked: self.marked,
            covered,
            window_end,
            arrival: None,
        }
    }

    /// One past the last segment that the peer may send; 0 = no limit.
    fn offer_window(&mut self) -> Seg {
        let Some(window) = &mut self.window else { return 0 };
        let (edge, short) = window.offer(self.next * self.mss, self.beyond_count);
        if short {
            self.quick = 0;
        }
        edge / self.mss
    }

    /// Stores an out-of-order segment and moves its range to the front.
    fn keep(&mut self, seg: Seg) {
        let span = seg + 1 - self.next;
        if span > self.beyond.len() as u64 * 64 {
            self.grow(span);
        }
        self.set_beyond(seg);
        self.beyond_count += 1;
        self.highest = self.highest.max(seg + 1);
        let mut range = (seg, seg + 1);
        let mut kept = 0;
        for i in 0..self.count {
            let (s, e) = self.ranges[i];
            if s <= range.1 && range.0 <= e {
                range = (range.0.min(s), range.1.max(e));
            } else {
                self.ranges[kept] = (s, e);
                kept += 1;
            }
        }
        let count = (kept + 1).min(self.ranges.len());
        self.ranges.copy_within(0..count - 1, 1);
        self.ranges[0] = range;
        self.count = count;
    }

    /// Advances `next` over segments received above it.
    fn absorb(&mut self) {
        while self.next < self.highest && self.is_beyond(self.next) {
            let i = self.slot(self.next);
            self.beyond[i / 64] &= !(1 << (i % 64));
            self.beyond_count -= 1;
            self.next += 1;
        }
        let next = self.next;
        let mut kept = 0;
        for i in 0..self.count {
            if self.ranges[i].0 > next {
                self.ranges[kept] = self.ranges[i];
                kept += 1;
            }
        }
        self.count = kept;
    }

    fn slot(&self, seg: Seg) -> usize {
        seg as usize & (self.beyond.len() * 64 - 1)
    }
    /// Whether the segment has been received above a hole.
    fn is_received(&self, seg: Seg) -> bool {
        (self.next..self.highest).contains(&seg) && self.is_beyond(seg)
    }
    fn is_beyond(&self, seg: Seg) -> bool {
        let i = self.slot(seg);
        self.beyond[i / 64] >> (i % 64) & 1 == 1
    }
    fn set_beyond(&mut self, seg: Seg) {
        let i = self.slot(seg);
        self.beyond[i / 64] |= 1 << (i % 64);
    }
    fn grow(&mut self, span: u64) {
        let have: Vec<Seg> = (self.next..self.highest).filter(|&s| self.is_beyond(s)).collect();
        self.beyond = vec![0; (span as usize).div_ceil(64).next_power_of_two()];
        for seg in have {
            self.set_beyond(seg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Nanos = Nanos::ZERO;

    fn receiver() -> Receiver {
        Receiver::new(&Config { quickack: 0, rmem: 0, ..Config::default() }, 2, T)
    }

    #[test]
    fn the_first_sixteen_acks_are_quick_then_every_second_packet_is_acknowledged() {
        let mut r = Receiver::new(&Config { rmem: 0, ..Config::default() }, 2, T);
        let acks: Vec<bool> = (0..24).map(|s| r.on_data(T, s, 0, false).is_some()).collect();
        assert!(acks[..16].iter().all(|&a| a));
        assert_eq!(acks[16..], [false, true, false, true, false, true, false, true]);
    }

    #[test]
    fn the_last_packet_of_a_burst_is_acknowledged_at_once() {
        let acks = |push_acks| -> Vec<bool> {
            let mut r = Receiver::new(&Config { quickack: 0, rmem: 0, push_acks, ..Config::default() }, 2, T);
            (0..8).map(|s| r.on_data(T, s, 0, s == 4).is_some()).collect()
        };
        assert_eq!(acks(true), [false, true, false, true, true, false, true, false]);
        assert_eq!(acks(false), [false, true, false, true, false, true, false, true]);
    }

    #[test]
    fn a_lone_segment_is_acknowledged_when_the_timer_fires() {
        let mut r = receiver();
        assert!(r.on_data(T, 0, 7, false).is_none());
        assert_eq!(r.deadline(), Nanos::from_millis(41), "40 ticks from the next one on");
        let ack = r.on_timer(r.deadline()).unwrap();
        assert_eq!((ack.ack, ack.ts_ecr, ack.covered), (1, 7, 1));
        assert_eq!(r.deadline(), Nanos::MAX);
    }

    #[test]
    fn a_timer_whose_ack_was_sent_meanwhile_tells_what_waits() {
        let mut r = receiver();
        r.compress_sacks(None);
        assert!(r.on_data(T, 0, 0, false).is_none() && r.on_data(T, 1, 0, false).is_some());
        for s in 3..6 {
            r.on_data(Nanos::from_millis(40), s, 0, false).unwrap();
        }
        let at = Nanos::from_micros(40_500);
        assert!(r.on_data(at, 6, 0, false).is_none());
        assert_eq!(r.deadline(), Nanos::from_millis(41), "not 41.6");
        assert_eq!(r.on_timer(r.deadline()).unwrap().sacks(), [(3, 7)]);
        assert!(r.on_data(r.delayed_until, 7, 0, false).is_none());
        assert_eq!(r.deadline(), Nanos::from_micros(42_100), "once");
    }

    #[test]
    fn blocks_report_the_newest_range_first_and_at_most_three() {
        let mut r = receiver();
        let mut last = AckBlocks::default();
        for s in [2, 4, 6, 8, 9, 3] {
            last = r.on_data(T, s, 0, false).unwrap();
        }
        assert_eq!(last.sacks(), [(2, 5), (8, 10), (6, 7)]);
    }

    #[test]
    fn compressed_sacks_wait_after_the_third_for_44_packets_or_a_millisecond() {
        let mut r = receiver();
        r.compress_sacks(Some(Nanos::from_millis(50)));
        let sent: Vec<u64> = (1..=100).filter(|&s| r.on_data(T, s, 0, false).is_some()).collect();
        assert_eq!(sent, [1, 2, 3, 48, 93]);
        assert_eq!(r.deadline(), Nanos::from_micros(1100), "a timer with slack is as late as it may be");
        let ack = r.on_timer(r.deadline()).unwrap();
        assert_eq!((ack.sacks(), ack.covered), (&[(1, 101)][..], 7));
        assert!(r.on_data(T, 0, 0, false).is_some(), "a filled hole is news");
        assert!(r.on_data(T, 102, 0, false).is_some(), "another hole is prompt again");
    }

    #[test]
    fn what_waits_is_told_before_it_needs_a_third_block() {
        let mut r = receiver();
        r.compress_sacks(Some(Nanos::from_millis(50)));
        // Every other packet is lost.
        let acks: Vec<AckBlocks> = (0..20).filter_map(|i| r.on_data(T, 2 * i + 1, 0, false)).collect();
        let known = |seg| acks.iter().any(|a| a.sacks().iter().any(|&(s, e)| s <= seg && seg < e));
        assert!((0..18).all(|i| known(2 * i + 1)), "each is reported once by the time two are left");
        assert_eq!((acks.len(), acks.iter().map(|a| a.covered).sum::<u32>()), (11, 18));
        assert_eq!(acks[10].sacks()[0], (35, 36), "without the packet that needs another block");
        // Packets that extend two existing ranges continue to wait.
        assert!(r.on_data(T, 38, 0, false).is_none() && r.on_data(T, 36, 0, false).is_none());
    }

    #[test]
    fn the_packet_that_made_the_receiver_tell_begins_no_bundle() {
        let mut r = receiver();
        r.compress_sacks(None);
        for s in [1, 3, 4, 5] {
            r.on_data(T, s, 0, false);
        }
        let later = Nanos::from_micros(500);
        assert_eq!(r.on_data(later, 7, 0, false).unwrap().sacks(), [(3, 6), (1, 2)]);
        assert_eq!(r.deadline(), Nanos::MAX);
        assert!(r.on_data(later * 2, 8, 0, false).is_none());
        assert_eq!(r.deadline(), later * 2 + MAX_COMPRESSION + COMPRESSION_SLACK);
    }

    #[test]
    fn the_ack_of_a_filled_hole_is_one_of_the_prompt_ones_for_the_next() {
        let prompt = |fills: &[Seg], rmem| {
            let config = Config { quickack: 0, rmem, rmem_max: rmem, truesize: 2176, ..Config::default() };
            let mut r = Receiver::new(&config, 2, T);
            r.compress_sacks(None);
            while r.window.as_mut().is_some_and(|w| w.grow(0)) {}
            r.on_data(T, 0, 0, false);
            r.on_data(T, 1, 0, false);
            // Holes at 2 and 5.
            for s in [3, 4, 6, 7].iter().chain(fills) {
                r.on_data(T, *s, 0, false);
            }
            (8..20).take_while(|&s| r.on_data(T, s, 0, false).is_some()).count()
        };
        assert_eq!(prompt(&[2], 1 << 20), 2, "what waits in the buffer is missing from the window");
        assert_eq!(prompt(&[2], 0), 3, "without a window it is sent for the three packets that it covers");
    }

    #[test]
    fn the_window_grows_before_a_packet_that_begins_a_range_is_counted() {
        let config = Config { quickack: 0, rmem: 1 << 20, rmem_max: 1 << 20, ..Config::default() };
        let mut r = Receiver::new(&config, 2, T);
        r.compress_sacks(None);
        let quick = (0..200).filter(|&s| r.on_data(T, s, 0, false).is_some()).count();
        assert!((120..130).contains(&quick), "{quick} of 200: some for growth, then every second");
        // The last packet by which the window grows: packets received in order also occupy the
        // buffer.
        let prompt = |r: &mut Receiver, hole: Seg| {
            (hole + 1..hole + 9).take_while(|&s| r.on_data(T, s, 0, false).is_some()).count()
        };
        assert_eq!(prompt(&mut r, 200), 4);
        for s in [200, 206, 207] {
            r.on_data(T, s, 0, false);
        }
        assert_eq!(prompt(&mut r, 208), 3);
    }

    #[test]
    fn a_short_path_waits_less_and_quick_acks_do_not_wait() {
        let mut r = Receiver::new(&Config { quickack: 5, rmem: 0, ..Config::default() }, 2, T);
        r.compress_sacks(Some(Nanos::from_millis(10)));
        let sent: Vec<u64> = (1..=12).filter(|&s| r.on_data(T, s, 0, false).is_some()).collect();
        assert_eq!(sent, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(r.deadline(), Nanos::from_micros(600));
    }

    #[test]
    fn a_filled_hole_is_acknowledged_at_once() {
        let mut r = receiver();
        for s in [1, 2, 3] {
            r.on_data(T, s, 0, false);
        }
        let ack = r.on_data(T, 0, 0, false).unwrap();
        assert_eq!((ack.ack, ack.count), (4, 0));
    }

    #[test]
    fn duplicates_are_reported() {
        let mut r = receiver();
        r.on_data(T, 0, 0, false);
        r.on_data(T, 1, 0, false);
        assert_eq!(r.on_data(T, 0, 0, false).unwrap().dsack, Some((0, 1)));
        r.on_data(T, 5, 0, false);
        let ack = r.on_data(T, 5, 0, false).unwrap();
        assert_eq!((ack.dsack, ack.sacks()), (Some((5, 6)), &[(5, 6)][..]));
    }

    #[test]
    fn a_delayed_ack_echoes_the_earlier_timestamp() {
        let mut r = receiver();
        r.on_data(T, 0, 10, false);
        assert_eq!(r.on_data(T, 1, 11, false).unwrap().ts_ecr, 10);
        r.on_data(T, 3, 13, false);
        assert_eq!(r.on_data(T, 4, 14, false).unwrap().ts_ecr, 10, "out of order: nothing new to echo");
    }

    proptest::proptest! {
        #[test]
        fn everything_arrives_whatever_the_order(seed in 0u64..500) {
            let mut order: Vec<u64> = (0..300).collect();
            let mut rng = seed;
            for i in (1..order.len()).rev() {
                rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                order.swap(i, (rng >> 33) as usize % (i + 1));
            }
            let mut r = receiver();
            let mut last = 0;
            for s in order {
                if let Some(a) = r.on_data(T, s, 0, false) {
                    assert!(a.ack >= last);
                    last = a.ack;
                    for &(s, e) in a.sacks() { assert!(s > a.ack && e > s); }
                }
            }
            assert_eq!(r.next(), 300);
            assert_eq!(r.beyond_count, 0);
        }
    }
}
