// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Active queue management: random early drop, CoDel (RFC 8289), fq_codel (RFC 8290), PIE (RFC 8033), with ECN marks.
//!
//! A managed port is never predictable: its verdicts are made when a packet arrives and when it is dequeued, both of which a
//! stepwise port knows exactly. Draws depend on link, flow and the packet's number in its flow, as random losses do.

use super::*;
use perigee_timeline::Discipline;
use std::collections::VecDeque;

/// Set in a packet's ordinal: congestion was experienced.
pub const CE: u32 = 1 << 31;

/// One full packet: below that no discipline drops.
const MTU: u64 = 1514;
const PPB: f64 = 1e9;

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    /// Mark it if it can be marked, else drop it.
    Notify,
    /// Drop it even if it could be marked.
    Drop,
}

/// The discipline of a port with its state.
#[derive(Clone, Debug)]
pub enum Aqm {
    Red(Red),
    CoDel(CoDel),
    FqCodel(FqCodel),
    Pie(Pie),
}

impl Aqm {
    /// `None` = drop-tail.
    pub fn new(discipline: &Discipline) -> Option<Box<Aqm>> {
        let aqm = match *discipline {
            Discipline::DropTail => return None,
            Discipline::Red { min, max, p_ppb, floor_ppb, weight_ppb } => Aqm::Red(Red {
                min,
                max: max.max(min + 1),
                p: f64::from(p_ppb) / PPB,
                floor: f64::from(floor_ppb) / PPB,
                weight: f64::from(weight_ppb) / PPB,
                average: 0.0,
            }),
            Discipline::CoDel { target, interval } => Aqm::CoDel(CoDel::new(target, interval)),
            Discipline::FqCodel { target, interval, quantum, queues } => {
                Aqm::FqCodel(FqCodel::new(CoDel::new(target, interval), quantum, queues))
            }
            Discipline::Pie { target, burst } => Aqm::Pie(Pie::new(target, burst)),
        };
        Some(Box::new(aqm))
    }

    /// Packets that wait in queues of its own.
    pub fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let queues = match self {
            Aqm::FqCodel(fq) => fq.queues.as_slice(),
            _ => &[],
        };
        queues.iter().flat_map(|q| q.packets.iter().copied())
    }
}

/// Random early drop: by the queue in bytes, or its moving average.
#[derive(Clone, Debug)]
pub struct Red {
    min: u64,
    max: u64,
    p: f64,
    floor: f64,
    weight: f64,
    average: f64,
}

impl Red {
    fn on_arrival(&mut self, queued: u64, draw: f64) -> Verdict {
        self.average += (queued as f64 - self.average) * self.weight;
        let share = (self.average - self.min as f64) / (self.max - self.min) as f64;
        if share <= 0.0 {
            return Verdict::Keep;
        }
        if share >= 1.0 {
            return Verdict::Drop;
        }
        if draw < (share * self.p).max(self.floor) {
            Verdict::Notify
        } else {
            Verdict::Keep
        }
    }
}

/// CoDel's control law on one queue.
#[derive(Clone, Debug)]
pub struct CoDel {
    target: Nanos,
    interval: Nanos,
    first_above: Nanos,
    drop_next: Nanos,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDel {
    fn new(target: Nanos, interval: Nanos) -> Self {
        let never = Nanos::ZERO;
        CoDel {
            target,
            interval,
            first_above: never,
            drop_next: never,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The sojourn time has been above the target for an interval.
    fn is_late(&mut self, now: Nanos, sojourn: Nanos, left: u64) -> bool {
        if sojourn < self.target || left <= MTU {
            self.first_above = Nanos::ZERO;
            return false;
        }
        if self.first_above == Nanos::ZERO {
            self.first_above = now + self.interval;
            return false;
        }
        now >= self.first_above
    }

    fn law(&self, from: Nanos) -> Nanos {
        let root = libm::sqrt(f64::from(self.count));
        from + Nanos((self.interval.0 as f64 / root) as u64)
    }

    /// A packet is at the head: is it dropped (or marked)? `more` = it was asked before at this dequeue.
    fn on_head(&mut self, now: Nanos, sojourn: Nanos, left: u64, more: bool) -> bool {
        let late = self.is_late(now, sojourn, left);
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.law(self.drop_next);
            return true;
        }
        if !late || more {
            return false;
        }
        self.dropping = true;
        // A drop state left shortly before continues where it was.
        let delta = self.count - self.last_count;
        let recent = now.saturating_sub(self.drop_next) < self.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.law(now);
        self.last_count = self.count;
        true
    }

    fn on_empty(&mut self) {
        self.dropping = false;
        self.first_above = Nanos::ZERO;
    }
}

/// PIE: a drop probability that follows the queueing delay.
#[derive(Clone, Debug)]
pub struct Pie {
    target: f64,
    burst: Nanos,
    allowance: Nanos,
    p: f64,
    old_delay: f64,
    accumulated: f64,
    next_update: Nanos,
}

/// Time between updates, gains, and the probability above which PIE drops what could be marked (RFC 8033).
const PIE_UPDATE: Nanos = Nanos::from_millis(15);
const PIE_ALPHA: f64 = 0.125;
const PIE_BETA: f64 = 1.25;
const PIE_MARK_BELOW: f64 = 0.1;

impl Pie {
    fn new(target: Nanos, burst: Nanos) -> Self {
        Pie {
            target: target.as_secs_f64(),
            burst,
            allowance: burst,
            p: 0.0,
            old_delay: 0.0,
            accumulated: 0.0,
            next_update: PIE_UPDATE,
        }
    }

    /// Updates that were due until `now`, during which the queue did not change.
    fn advance(&mut self, now: Nanos, delay: f64) {
        while self.next_update <= now {
            self.next_update += PIE_UPDATE;
            if self.p == 0.0 && delay == 0.0 && self.old_delay == 0.0 && self.allowance == self.burst {
                let idle = now.saturating_sub(self.next_update).0 / PIE_UPDATE.0;
                self.next_update += PIE_UPDATE * idle;
                continue;
            }
            self.update(delay);
        }
    }

    fn update(&mut self, delay: f64) {
        let step = PIE_ALPHA * (delay - self.target) + PIE_BETA * (delay - self.old_delay);
        // The smaller the probability, the smaller its steps.
        let scale = [
            (1e-6, 1.0 / 2048.0),
            (1e-5, 1.0 / 512.0),
            (1e-4, 1.0 / 128.0),
            (1e-3, 1.0 / 32.0),
            (1e-2, 1.0 / 8.0),
            (1e-1, 1.0 / 2.0),
        ];
        let factor = scale.iter().find(|(below, _)| self.p < *below).map_or(1.0, |(_, f)| *f);
        let mut step = step * factor;
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p += step;
        if delay > 0.25 {
            self.p += 0.02;
        }
        if delay == 0.0 && self.old_delay == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        if self.p < 1e-15 {
            self.p = 0.0;
        }
        self.allowance = self.allowance.saturating_sub(PIE_UPDATE);
        if self.p == 0.0 && delay < self.target / 2.0 && self.old_delay < self.target / 2.0 {
            self.allowance = self.burst;
        }
        self.old_delay = delay;
    }

    fn on_arrival(&mut self, queued: u64, draw: f64) -> Verdict {
        let calm = self.old_delay < self.target / 2.0 && self.p < 0.2;
        if self.allowance > Nanos::ZERO || calm || queued <= 2 * MTU {
            return Verdict::Keep;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.p;
        let chance = self.accumulated >= 0.85 && (self.accumulated >= 8.5 || draw < self.p);
        if !chance {
            return Verdict::Keep;
        }
        self.accumulated = 0.0;
        if self.p < PIE_MARK_BELOW {
            Verdict::Notify
        } else {
            Verdict::Drop
        }
    }
}

/// One of fq_codel's queues.
#[derive(Clone, Debug)]
struct FlowQueue {
    packets: VecDeque<u32>,
    bytes: u64,
    codel: CoDel,
    deficit: i64,
    /// It is in one of the two rounds.
    listed: bool,
}

/// fq_codel: a CoDel per flow, served by deficit round robin, new flows first.
#[derive(Clone, Debug)]
pub struct FqCodel {
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
}

/// Packets dropped at once from the fattest queue (RFC 8290 section 4.1.3).
const FQ_BATCH: usize = 64;

impl FqCodel {
    fn new(codel: CoDel, quantum: u32, queues: u32) -> Self {
        let empty = FlowQueue { packets: VecDeque::new(), bytes: 0, codel, deficit: 0, listed: false };
        FqCodel {
            queues: vec![empty; queues.max(1) as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(quantum.max(1)),
        }
    }

    fn push(&mut self, h: u32, size: u64, key: u64) {
        let i = key % self.queues.len() as u64;
        let q = &mut self.queues[i as usize];
        q.packets.push_back(h);
        q.bytes += size;
        if !q.listed {
            q.listed = true;
            q.deficit = self.quantum;
            self.new.push_back(i as u32);
        }
    }

    /// The queue that is served next; `None` = all are empty.
    fn turn(&mut self) -> Option<usize> {
        loop {
            let from_new = !self.new.is_empty();
            let i = *if from_new { self.new.front() } else { self.old.front() }? as usize;
            let q = &mut self.queues[i];
            let empty = q.packets.is_empty();
            if q.deficit > 0 && !empty {
                return Some(i);
            }
            let round = if from_new { &mut self.new } else { &mut self.old };
            round.pop_front();
            if !empty {
                q.deficit += self.quantum;
                self.old.push_back(i as u32);
            } else if from_new && !self.old.is_empty() {
                // An empty new queue passes through the old round, so that nobody gains by pausing.
                self.old.push_back(i as u32);
            } else {
                q.codel.on_empty();
                q.listed = false;
            }
        }
    }

    fn pop(&mut self, i: usize, packets: &Arena<Packet>, framing: u32) -> Option<u32> {
        let q = &mut self.queues[i];
        let h = q.packets.pop_front()?;
        q.bytes -= packets.get(h).ip_bytes as u64 + framing as u64;
        Some(h)
    }

    fn fattest(&self) -> usize {
        let by_bytes = |i: &usize| (self.queues[*i].bytes, std::cmp::Reverse(*i));
        (0..self.queues.len()).max_by_key(by_bytes).unwrap_or(0)
    }

    fn drain(&mut self) -> Vec<u32> {
        let mut all = Vec::new();
        for q in &mut self.queues {
            all.extend(q.packets.drain(..));
            q.bytes = 0;
        }
        all
    }
}

impl Net {
    /// A packet comes to a managed port whose link is up or holds what comes.
    pub(super) fn enqueue_managed(&mut self, now: Nanos, h: u32, link: u32, held: bool) {
        let p = self.links[link as usize].port;
        let draw = self.draw(h, link);
        let ect = self.is_markable(h);
        let port = &mut self.ports[p as usize];
        let size = self.packets.get(h).ip_bytes as u64 + port.framing as u64;
        let (queued, rate) = (port.bytes, port.rate);
        let verdict = match port.aqm.as_deref_mut() {
            Some(Aqm::Red(red)) => red.on_arrival(queued, draw),
            Some(Aqm::Pie(pie)) => {
                pie.advance(now, delay_s(queued, rate));
                pie.on_arrival(queued, draw)
            }
            _ => Verdict::Keep,
        };
        match verdict {
            Verdict::Keep => {}
            Verdict::Notify if ect => self.mark(h, link),
            Verdict::Notify | Verdict::Drop => return self.drop_at(h, link, DropCause::Queue),
        }
        let port = &mut self.ports[p as usize];
        let serving = match port.serving {
            NONE => 0,
            s => self.packets.get(s).ip_bytes as u64 + port.framing as u64,
        };
        let fits = port.has_room(size, serving);
        let key = mix(self.flow_keys[self.packets.get(h).flow as usize] ^ direction(self.packets.get(h)));
        if let Some(Aqm::FqCodel(fq)) = port.aqm.as_deref_mut() {
            fq.push(h, size, key);
            port.packets += 1;
            port.bytes += size;
            if !fits {
                self.drop_from_fattest(p);
            }
        } else if fits {
            port.append(Waiting { since: now, packet: h, bytes: size as u32 }, self.packets.get(h).kind);
        } else {
            return self.drop_at(h, link, DropCause::Queue);
        }
        if self.ports[p as usize].serving == NONE && !held {
            self.serve_managed(p, now);
            self.reschedule_port(p);
        }
    }

    /// Starts the next packet of a managed port at `at`, unless its link is held.
    pub(super) fn serve_managed(&mut self, p: u32, at: Nanos) {
        let mut asked = false;
        while let Some((h, queue)) = self.head_of(p) {
            let link = self.packets.get(h).link;
            let l = &self.links[link as usize];
            if !l.up && l.mode == OutageMode::Hold {
                return;
            }
            let lost = !l.up && l.mode == OutageMode::Flush;
            let port = &mut self.ports[p as usize];
            let (queued, rate) = (port.bytes, port.rate);
            if let Some(Aqm::Pie(pie)) = port.aqm.as_deref_mut() {
                pie.advance(at, delay_s(queued, rate));
            }
            self.take_head(p, queue);
            if lost {
                self.drop_at(h, link, DropCause::Outage);
                continue;
            }
            let sojourn = at.saturating_sub(self.packets.get(h).enqueued);
            if self.notifies(p, queue, at, sojourn, asked) {
                asked = true;
                if !self.is_markable(h) {
                    self.drop_at(h, link, DropCause::Queue);
                    continue;
                }
                self.mark(h, link);
            }
            if let (Some(Aqm::FqCodel(fq)), Some(i)) = (self.ports[p as usize].aqm.as_deref_mut(), queue) {
                fq.queues[i].deficit -= i64::from(self.packets.get(h).ip_bytes);
            }
            return self.begin_service(p, h, at);
        }
    }

    /// CoDel's verdict on a packet that was just taken from its queue.
    fn notifies(&mut self, p: u32, queue: Option<usize>, at: Nanos, sojourn: Nanos, asked: bool) -> bool {
        let port = &mut self.ports[p as usize];
        let left = port.bytes;
        match (port.aqm.as_deref_mut(), queue) {
            (Some(Aqm::CoDel(codel)), _) => codel.on_head(at, sojourn, left, asked),
            (Some(Aqm::FqCodel(fq)), Some(i)) => {
                let q = &mut fq.queues[i];
                q.codel.on_head(at, sojourn, q.bytes, asked)
            }
            _ => false,
        }
    }

    /// The packet whose turn it is, and its queue within fq_codel.
    fn head_of(&mut self, p: u32) -> Option<(u32, Option<usize>)> {
        let port = &mut self.ports[p as usize];
        match port.aqm.as_deref_mut() {
            Some(Aqm::FqCodel(fq)) => {
                let i = fq.turn()?;
                Some((*fq.queues[i].packets.front()?, Some(i)))
            }
            Some(Aqm::CoDel(codel)) => {
                if port.packets == 0 {
                    codel.on_empty();
                }
                port.first_waiting().map(|h| (h, None))
            }
            _ => port.first_waiting().map(|h| (h, None)),
        }
    }

    fn take_head(&mut self, p: u32, queue: Option<usize>) {
        let port = &mut self.ports[p as usize];
        let framing = port.framing;
        match (port.aqm.as_deref_mut(), queue) {
            (Some(Aqm::FqCodel(fq)), Some(i)) => {
                let Some(h) = fq.pop(i, &self.packets, framing) else { return };
                port.packets -= 1;
                port.bytes -= self.packets.get(h).ip_bytes as u64 + framing as u64;
            }
            _ => {
                port.take_next();
            }
        }
    }

    /// The queue is over its limit: half of the fattest flow's packets go, 64 at most, the oldest first.
    fn drop_from_fattest(&mut self, p: u32) {
        let port = &mut self.ports[p as usize];
        let Some(Aqm::FqCodel(fq)) = port.aqm.as_deref_mut() else { return };
        let i = fq.fattest();
        let half = fq.queues[i].bytes / 2;
        let mut gone = Vec::new();
        while gone.len() < FQ_BATCH && fq.queues[i].bytes > half {
            gone.extend(fq.pop(i, &self.packets, port.framing));
        }
        for h in gone {
            self.forget(p, h);
            let link = self.packets.get(h).link;
            self.drop_at(h, link, DropCause::Queue);
        }
    }

    fn forget(&mut self, p: u32, h: u32) {
        let port = &mut self.ports[p as usize];
        port.packets -= 1;
        port.bytes -= self.packets.get(h).ip_bytes as u64 + port.framing as u64;
    }

    /// A link of a managed port goes down: what waits for it in queues of its own is lost.
    pub(super) fn flush_managed(&mut self, p: u32, link: u32) {
        let port = &mut self.ports[p as usize];
        let Some(Aqm::FqCodel(fq)) = port.aqm.as_deref_mut() else { return };
        let all = fq.drain();
        for h in all {
            if self.packets.get(h).link == link {
                self.forget(p, h);
                self.drop_at(h, link, DropCause::Outage);
                continue;
            }
            let packet = self.packets.get(h);
            let key = mix(self.flow_keys[packet.flow as usize] ^ direction(packet));
            let port = &mut self.ports[p as usize];
            let size = packet.ip_bytes as u64 + port.framing as u64;
            if let Some(Aqm::FqCodel(fq)) = port.aqm.as_deref_mut() {
                fq.push(h, size, key);
            }
        }
    }

    fn is_markable(&self, h: u32) -> bool {
        let packet = self.packets.get(h);
        packet.kind == Kind::Data && self.ecn[packet.flow as usize]
    }

    fn mark(&mut self, h: u32, link: u32) {
        self.packets.get_mut(h).ordinal |= CE;
        self.links[link as usize].marked += 1;
    }

    /// A number in 0..1 that depends on link, flow and the packet's number in its flow.
    fn draw(&self, h: u32, link: u32) -> f64 {
        let packet = self.packets.get(h);
        let key = mix(self.seed ^ self.links[link as usize].key ^ EARLY_DROPS);
        let ordinal = u64::from(packet.ordinal & !CE) * 2 + direction(packet);
        let draw = mix(mix(key ^ self.flow_keys[packet.flow as usize]) ^ ordinal);
        (draw >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Keeps these draws apart from those of random losses.
const EARLY_DROPS: u64 = 0x6561_726c_7964_726f;

fn direction(packet: &Packet) -> u64 {
    packet.kind.is_forward() as u64
}

/// Time that `queued` bytes take.
fn delay_s(queued: u64, rate: BitRate) -> f64 {
    match rate.0 {
        0 if queued == 0 => 0.0,
        0 => 1.0,
        rate => queued as f64 * 8.0 / rate as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn codel_waits_for_an_interval_and_then_drops_ever_faster() {
        let mut c = CoDel::new(ms(5), ms(100));
        let drops: Vec<u64> = (0..1000).filter(|&t| c.on_head(ms(t), ms(20), 1 << 20, false)).collect();
        // RFC 8289: first after one interval above the target, then at distances of interval / sqrt(count).
        assert_eq!(drops[..4], [100, 200, 271, 329]);
        assert!(drops.windows(3).all(|w| w[2] - w[1] <= w[1] - w[0] + 1), "{drops:?}");
    }

    #[test]
    fn codel_stops_below_its_target_and_never_empties_a_queue() {
        let mut c = CoDel::new(ms(5), ms(100));
        assert!(!(0..1000).any(|t| c.on_head(ms(t), ms(4), 1 << 20, false)));
        assert!(!(0..1000).any(|t| c.on_head(ms(t), ms(50), MTU, false)));
    }

    #[test]
    fn codel_resumes_near_its_old_rate() {
        let mut c = CoDel::new(ms(5), ms(100));
        for t in 0..2000 {
            c.on_head(ms(t), ms(20), 1 << 20, false);
        }
        let count = c.count;
        assert!(!c.on_head(ms(2000), ms(1), 1 << 20, false));
        for t in 2001..2102 {
            c.on_head(ms(t), ms(20), 1 << 20, false);
        }
        assert!(c.dropping && c.count > count / 2, "{} {count}", c.count);
    }

    #[test]
    fn red_rises_linearly_between_its_thresholds() {
        let mut r = Red { min: 18_000_000, max: 36_000_000, p: 0.1, floor: 0.0, weight: 1.0, average: 0.0 };
        assert_eq!(r.on_arrival(18_000_000, 0.0), Verdict::Keep);
        assert_eq!(r.on_arrival(27_000_000, 0.0499), Verdict::Notify);
        assert_eq!(r.on_arrival(27_000_000, 0.0501), Verdict::Keep);
        assert_eq!(r.on_arrival(36_000_000, 0.99), Verdict::Drop);
    }

    #[test]
    fn red_with_a_floor_drops_that_share_as_soon_as_it_drops() {
        let mut r = Red { min: 1000, max: 2000, p: 0.5, floor: 0.25, weight: 1.0, average: 0.0 };
        assert_eq!(r.on_arrival(1000, 0.0), Verdict::Keep);
        assert_eq!(r.on_arrival(1001, 0.249), Verdict::Notify);
        assert_eq!(r.on_arrival(1001, 0.251), Verdict::Keep);
        assert_eq!(r.on_arrival(1800, 0.399), Verdict::Notify, "the rising line counts where it is higher");
        assert_eq!(r.on_arrival(1800, 0.401), Verdict::Keep);
    }

    #[test]
    fn pie_allows_a_burst_and_then_finds_a_probability() {
        let mut p = Pie::new(ms(15), ms(150));
        for t in 1..=9 {
            p.advance(PIE_UPDATE * t, 0.1);
            assert_eq!(p.on_arrival(1 << 20, 0.0), Verdict::Keep, "within the burst allowance");
        }
        for t in 10..200 {
            p.advance(PIE_UPDATE * t, 0.1);
        }
        assert!(p.p > 0.01, "{}", p.p);
        let kept =
            (0..10_000).filter(|i| p.on_arrival(1 << 20, f64::from(*i) / 1e4) == Verdict::Keep).count();
        assert!(kept < 10_000);
        for t in 200..2000 {
            p.advance(PIE_UPDATE * t, 0.0);
        }
        assert_eq!((p.p, p.allowance), (0.0, ms(150)), "an empty queue forgets");
    }

    #[test]
    fn updates_do_not_depend_on_when_they_are_asked_for() {
        let (mut often, mut once) = (Pie::new(ms(15), ms(150)), Pie::new(ms(15), ms(150)));
        (0..3000).for_each(|t| often.advance(ms(t), 0.04));
        once.advance(ms(2999), 0.04);
        assert_eq!((often.p, often.next_update), (once.p, once.next_update));
    }
}
