// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ports and links: queues, transmission, propagation, loss, outages.
//!
//! A port stores one future instant, the departure of the packet in service. Every access to the
//! port at time t first *advances* it: packets that have left by t move to the flight list of their
//! link, and each next packet starts at the instant at which the previous one left. The start of
//! service is the dequeue: telemetry and statistics are updated there, in exact time order,
//! although a dequeue has no event of its own. So a packet costs at most one event per hop.
//!
//! Nearly always the links of a port lose nothing, and those that carry packets are up: the port is
//! *predictable* ([`fast_path`]). The future of a packet at the port is then known on its arrival,
//! and packets may cross many hops without an event.
//!
//! Where a packet's path is: [`Net::enqueue`] ([`fast_path`]) for predictable ports,
//! `Net::enqueue_slow` (`slow_path`) for random loss, outages that hold or flush, and disciplines
//! ([`aqm`]), which are bound to it; capacity on request is in `slots`, background traffic in
//! `loaded`. The telemetry of a packet is written in `metering`.

pub mod aqm;
mod background;
mod beam;
mod bucket;
mod changes;
mod cut;
mod dama;
mod elastic;
mod fast_path;
mod flight;
mod loaded;
mod metering;
mod neighbours;
mod processing;
mod ring;
mod slots;
mod slow_path;
mod totals;
mod upcoming;

use crate::observe::{DropCause, CAUSES};
use crate::packet::{Acks, Arena, Frames, Packet, Stacks, NONE};
use crate::schedule::{End, Schedule, Source};
use background::Load;
pub(crate) use beam::Counts as BeamCounts;
use bucket::Bucket;
pub(crate) use cut::Handed;
use flight::{Flight, Flying};
use metering::{note_arrival, note_dequeue, note_other};
use perigee_cc::TxBytesUnit;
use perigee_queue::{Discipline, DisciplineInfo, Ecn};
use perigee_record::PacketKind;
use perigee_telemetry::PortLaws;
use perigee_timeline::{Delay, Link, LinkOrder, OutageMode, Port, QueueLimit};
use perigee_units::draw::{mix, name_key};
use perigee_units::{BitRate, Nanos};
pub(crate) use processing::Processing;
use ring::{Begun, Ring, Waiting};
use slots::Slots;

/// State of a port. Fields used for every packet are in the first two cache lines, those used only
/// for packets that wait in the third.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct PortState {
    /// Departure of the packet in service; if predictable, of the last packet with an arranged
    /// service. [`Nanos::MAX`] if no packet is in service or the port is paused.
    done: Nanos,
    waiting: Ring<Waiting>,
    bucket: Option<Box<Bucket>>,
    /// Packet in service; if predictable, the last one served.
    serving: u32,
    framing: u32,
    /// Its links lose nothing and are up, or down without holding packets; its rate is not zero.
    predictable: bool,
    /// Its dequeues are not known before their instants: a meter reads the queue at that time, or
    /// probes overtake.
    no_lookahead: bool,
    count_in_service: bool,
    probe_priority: bool,
    /// It has more than one link. Unless the port is predictable, its departures are then separate
    /// events.
    shared: bool,

    /// The latest packet size and its transmission time.
    cached_size: u32,
    /// Bytes of the packet in service, while the port is predictable and busy.
    in_service: u32,
    cached_time: Nanos,
    /// If predictable: waiting packets with an arranged service.
    scheduled: Ring<Begun>,
    /// Number of waiting packets, and their bytes with framing.
    pub packets: u64,
    pub bytes: u64,

    limit: QueueLimit,
    /// What the port computes for packets with telemetry, if it is metered.
    laws: Option<Box<PortLaws>>,
    pub rate: BitRate,
    probes: Ring<Waiting>,

    /// Discipline other than drop-tail; such a port is never predictable.
    aqm: Option<Box<dyn Discipline>>,
    /// First link; the only one unless `shared`.
    link: u32,
    node: u32,
    /// Further links.
    others: Vec<u32>,
    /// Remainder of a paused transmission, in bits × 10^9.
    work: u128,
    /// Transmission in granted slots only; such a port is never predictable.
    slots: Option<Box<Slots>>,
    /// Background traffic. Packets enter such a port by events of their own (`no_lookahead`).
    load: Option<Box<Load>>,
}

/// State of a link. Fields used for every packet are in the first two cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct LinkState {
    pub port: u32,
    pub to: u32,
    flight: Flight,
    since: Nanos,
    pub up: bool,
    reorder: bool,
    mode: OutageMode,

    delay: Delay,
    last_arrival: Nanos,
    /// Latest arrival before that of the packet in service, at a predictable port.
    earlier_arrival: Nanos,
    /// Counters of [`LinkTotals`]; a predictable packet in service counts as sent (see
    /// [`Net::totals`]).
    entered: u64,
    crossed: u64,
    tx_packets: u64,
    tx_bytes: u64,

    wait_ns: u128,
    /// Random loss probability, as a threshold on 53 random bits.
    loss: u64,
    key: u64,
    /// Number of packets that will be dropped on departure; such a link is never predictable.
    drop_next: u32,
    dropped: [u64; CAUSES],
    marked: u64,
    under_way: u64,
    /// Packets entered, crossed or dropped up to the latest sample.
    seen: u64,
}

impl LinkState {
    /// Propagation delay at `t`.
    #[inline]
    pub fn delay_at(&self, t: Nanos) -> Nanos {
        self.delay.at(t.saturating_sub(self.since))
    }
    /// Propagation delay at `t`, and its slope in nanoseconds per second.
    pub fn delay_and_slope(&self, t: Nanos) -> (Nanos, i64) {
        (self.delay_at(t), self.delay.slope)
    }

    /// Puts a packet that leaves the port at `at` in flight.
    fn fly(&mut self, h: u32, at: Nanos) {
        let arrival = self.arrival_of(at);
        self.join(Flying { arrival, packet: h });
    }

    /// Arrival of a packet that leaves the port at `at`.
    #[inline]
    fn arrival_of(&mut self, at: Nanos) -> Nanos {
        let arrival = at + self.delay_at(at);
        if self.reorder {
            return arrival;
        }
        self.last_arrival = arrival.max(self.last_arrival);
        self.last_arrival
    }

    /// Adds a packet in flight; true if it is the next to arrive.
    #[inline]
    fn join(&mut self, flying: Flying) -> bool {
        if self.reorder {
            self.flight.insert(flying)
        } else {
            self.flight.push(flying)
        }
    }
}

impl PortState {
    /// Transmission time of a packet of `size` bytes; the rate is not zero.
    #[inline]
    fn time_for(&mut self, size: u32) -> Nanos {
        if self.cached_size != size {
            (self.cached_size, self.cached_time) = (size, self.rate.time_for(size as u64));
        }
        self.cached_time
    }
    /// Departure of a packet of `size` bytes that enters service at `at`; the rate is not zero.
    #[inline]
    fn finish(&mut self, at: Nanos, size: u32) -> Nanos {
        let time = self.time_for(size);
        match &mut self.bucket {
            Some(bucket) => bucket.take(at, time),
            None => at.saturating_add(time),
        }
    }
    /// Bytes and packets waiting at `now`, up to which the port has advanced. `serving`: size of
    /// the packet in service, if the port is not predictable.
    fn queued(&self, now: Nanos, serving: u32) -> (u64, u64) {
        let head = match (self.head_waits(), self.predictable) {
            (false, _) => 0,
            (true, true) if self.done > now => self.in_service,
            (true, true) => 0,
            (true, false) => serving,
        };
        (self.bytes + u64::from(head), self.packets + u64::from(head > 0))
    }
    /// From now on, a meter must observe the queue at each dequeue.
    fn expect_telemetry(&mut self) {
        if self.laws.is_some() {
            self.no_lookahead = true;
            if let Some(load) = &mut self.load {
                load.looks_ahead = false;
            }
        }
    }
    /// If predictable: whether a packet in service leaves at `now` or later. (No packet leaves at
    /// time zero, which means "never used".)
    fn leaves_from(&self, now: Nanos) -> bool {
        self.done >= now && self.done > Nanos::ZERO
    }
    /// Whether a packet of `size` bytes may wait while a packet of `serving` bytes (0 = none) is in
    /// service.
    #[inline]
    fn has_room(&self, kind: PacketKind, size: u64, serving: u64) -> bool {
        let serving = if self.count_in_service { serving } else { 0 };
        let (packets, bytes) =
            if self.probe_priority { self.store(kind) } else { (self.packets, self.bytes) };
        match self.limit {
            QueueLimit::Packets(n) => packets + u64::from(serving > 0) < n,
            QueueLimit::Bytes(n) => bytes + serving + size <= n,
        }
    }
    /// Packets and bytes in the buffer for this kind: probes with priority have a separate buffer
    /// with its own limit.
    fn store(&self, kind: PacketKind) -> (u64, u64) {
        let packets = self.probes.iter().count() as u64;
        let bytes = self.probes.iter().map(|w| u64::from(w.bytes)).sum::<u64>();
        if kind.is_probe() {
            (packets, bytes)
        } else {
            (self.packets - packets, self.bytes - bytes)
        }
    }
    #[inline]
    fn append(&mut self, waiting: Waiting, kind: PacketKind) {
        self.packets += 1;
        self.bytes += u64::from(waiting.bytes);
        if self.probe_priority && kind.is_probe() {
            self.probes.push(waiting);
        } else {
            self.waiting.push(waiting);
        }
    }
    fn first_waiting(&self) -> Option<u32> {
        self.probes.first().or_else(|| self.waiting.first()).map(|w| w.packet)
    }
    /// Whether the next packet to serve is a probe with priority.
    #[inline]
    fn serves_probe(&self) -> bool {
        self.probe_priority && !self.probes.is_empty()
    }
    /// Removes the first waiting packet.
    #[inline]
    fn take_next(&mut self) -> Option<Waiting> {
        let next = if self.serves_probe() { self.probes.pop() } else { self.waiting.pop() }?;
        self.packets -= 1;
        self.bytes -= u64::from(next.bytes);
        Some(next)
    }
}

/// The network.
pub struct Net {
    seed: u64,
    pub packets: Arena<Packet>,
    pub acks: Acks,
    pub frames: Frames,
    pub stacks: Stacks,
    pub ports: Vec<PortState>,
    pub links: Vec<LinkState>,
    pub schedule: Schedule,
    /// Per flow: drops by cause, key of its random draws, and unit in which meters count its bytes.
    pub flow_drops: Vec<[u64; CAUSES]>,
    pub flow_keys: Vec<u64>,
    /// Time at which the schedule runs each flow: never later than the next event due at one of its
    /// ends.
    pub wakes_at: Vec<Nanos>,
    pub tx_units: Vec<TxBytesUnit>,
    /// Whether a flow has started with a scheme of [`perigee_cc::Caps::any_packet_times_meters`].
    pub any_packet_times_meters: bool,
    /// Whether ports count packets without telemetry: for such a scheme, or for laws that compute
    /// feedback.
    pub counts_others: bool,
    /// ECN field of each flow's data.
    pub ecn: Vec<Ecn>,
    /// Packets delayed by the processing of their hosts.
    pub processing: Processing,
    /// Time at which the next external packet is injected.
    pub next_injection: Nanos,
    /// Disciplines in addition to the built-in ones.
    pub disciplines: &'static [DisciplineInfo],
    /// Whether ports may be predictable.
    pub lookahead: bool,
    /// Until this instant, exclusively, only packets move: there is no change, no sample and no end
    /// of the run.
    pub lookahead_until: Nanos,
    /// Whether data with telemetry may arrive at any port.
    metered_data: bool,
    /// Kept for the keys of links that appear later.
    port_names: Vec<String>,
}

impl Net {
    pub fn new(seed: u64, flows: usize, max_hops: usize) -> Self {
        Net {
            seed,
            packets: Arena::default(),
            acks: Acks::default(),
            frames: Frames::default(),
            stacks: Stacks::new(max_hops),
            ports: Vec::new(),
            links: Vec::new(),
            schedule: Schedule::new(0, 0, flows),
            flow_drops: vec![[0; CAUSES]; flows],
            flow_keys: vec![0; flows],
            wakes_at: vec![Nanos::MAX; 2 * flows],
            tx_units: vec![TxBytesUnit::Wire; flows],
            any_packet_times_meters: false,
            counts_others: false,
            ecn: vec![Ecn::NotEct; flows],
            processing: Processing::default(),
            next_injection: Nanos::MAX,
            disciplines: &[],
            lookahead: true,
            lookahead_until: Nanos::ZERO,
            metered_data: false,
            port_names: Vec::new(),
        }
    }

    /// Schedules an end of a flow for an event due at `at`. An event that moves to a later time leaves
    /// the schedule as it is: the end then runs too early, once, without effect, which is cheaper than a
    /// change of the schedule at every ACK.
    #[inline]
    pub fn wake_by(&mut self, end: End, at: Nanos) {
        if at < self.wakes_at[end.0 as usize] {
            self.set_wake(end, at);
        }
    }

    /// Schedules the end of a flow for that time.
    #[inline]
    pub fn set_wake(&mut self, end: End, at: Nanos) {
        self.wakes_at[end.0 as usize] = at;
        self.schedule.set_end(end, at);
    }

    /// Schedules the next packet that enters the network: from outside the simulation, or after
    /// processing at its host.
    pub fn schedule_injection(&mut self) {
        self.schedule.set(Source::Injection, self.next_injection.min(self.processing.next()));
    }

    /// From now on, data with telemetry may arrive at any port, and those with meters must observe
    /// their queues.
    pub fn expect_telemetry_anywhere(&mut self) {
        self.metered_data = true;
        self.ports.iter_mut().for_each(PortState::expect_telemetry);
    }

    /// The same, for telemetry that enters while the simulation runs.
    pub fn expect_telemetry_from_outside(&mut self, now: Nanos) {
        if !self.metered_data {
            self.ports.iter_mut().for_each(|p| p.settle(now));
            self.expect_telemetry_anywhere();
        }
    }

    /// From now on, data with telemetry may arrive at the port of this link.
    pub fn expect_telemetry(&mut self, now: Nanos, link: u32) {
        let port = &mut self.ports[self.links[link as usize].port as usize];
        port.settle(now);
        port.expect_telemetry();
    }

    /// Adds new ports and links.
    ///
    /// # Errors
    /// If a port's discipline is unknown or its parameters are invalid.
    pub fn extend(&mut self, ports: &[Port], links: &[Link], now: Nanos) -> Result<(), String> {
        for p in ports {
            let discipline = aqm::build(&p.spec.queue, p.spec.framing, self.disciplines);
            let aqm = discipline.map_err(|why| format!("port {:?}: {why}", p.name))?;
            self.port_names.push(p.name.clone());
            let slots = Slots::of(&p.spec, self.seed ^ name_key(&p.name)).map(Box::new);
            self.ports.push(PortState {
                rate: p.spec.rate,
                framing: p.spec.framing,
                predictable: false,
                no_lookahead: (self.metered_data && p.spec.metered) || p.spec.queue.probe_priority,
                in_service: 0,
                bucket: (p.spec.burst > 0).then(|| Box::new(Bucket::new(p.spec.burst, p.spec.rate))),
                scheduled: Ring::default(),
                serving: NONE,
                done: Nanos::MAX,
                work: 0,
                waiting: Ring::default(),
                probes: Ring::default(),
                packets: 0,
                bytes: 0,
                limit: p.spec.queue.limit,
                count_in_service: p.spec.queue.count_in_service || p.spec.burst > 0 || slots.is_some(),
                probe_priority: p.spec.queue.probe_priority,
                shared: false,
                link: NONE,
                others: Vec::new(),
                node: p.node.0,
                cached_size: 0,
                cached_time: Nanos::ZERO,
                laws: p.spec.metered.then(|| Box::new(metering::laws(p, self.seed))),
                aqm,
                slots,
                load: None,
            });
        }
        for l in links {
            // An existing port may lag: packets waiting at it entered service before this link was
            // added.
            self.advance(l.port.0, before(now));
            self.leave_fast_path(l.port.0, now);
            let port = &mut self.ports[l.port.ix()];
            let link = self.links.len() as u32;
            match port.link {
                NONE => port.link = link,
                _ => port.others.push(link),
            }
            port.shared = !port.others.is_empty();
            let key = mix(name_key(&self.port_names[l.port.ix()])
                ^ if port.shared { mix(l.to.0 as u64 + 1) } else { 0 });
            self.links.push(LinkState {
                port: l.port.0,
                to: l.to.0,
                delay: l.delay,
                since: now,
                flight: Flight::default(),
                last_arrival: Nanos::ZERO,
                earlier_arrival: Nanos::ZERO,
                loss: loss_threshold(l.loss),
                key,
                up: l.up,
                mode: OutageMode::Flush,
                reorder: l.order == LinkOrder::Reorder,
                drop_next: 0,
                entered: 0,
                crossed: 0,
                tx_packets: 0,
                tx_bytes: 0,
                wait_ns: 0,
                dropped: [0; CAUSES],
                marked: 0,
                under_way: 0,
                seen: 0,
            });
        }
        self.schedule.grow(self.ports.len(), self.links.len());
        for l in links {
            // The port may have become shared: its departures then become events, which its first
            // link no longer schedules.
            self.enter_fast_path(l.port.0);
            self.reschedule_port(l.port.0);
            self.reschedule_link(self.ports[l.port.ix()].link);
        }
        Ok(())
    }

    // ---- A packet's path ------------------------------------------------------------------------

    fn drop_at(&mut self, h: u32, link: u32, cause: DropCause) {
        self.links[link as usize].dropped[cause as usize] += 1;
        self.discard(h, cause);
    }

    /// Drops a packet: frees it and counts it for its flow.
    pub fn discard(&mut self, h: u32, cause: DropCause) {
        let flow = self.packets.get(h).flow;
        self.flow_drops[flow as usize][cause as usize] += 1;
        self.release(h);
    }

    #[cold]
    fn free_frame(&mut self, content: u32) {
        drop(self.frames.take(content));
    }

    /// Frees a packet and its contents.
    pub fn release(&mut self, h: u32) {
        let Packet { content, telemetry, kind, .. } = *self.packets.get(h);
        if content != NONE {
            match kind {
                PacketKind::Frame | PacketKind::FrameBack => self.free_frame(content),
                _ => self.acks.remove(content),
            }
        }
        if telemetry != NONE {
            self.stacks.remove(telemetry);
        }
        self.packets.remove(h);
    }

    /// Lower bound on the arrival, at the far end of a link, of packets not in flight on it yet, if
    /// no packet enters a queue before `from` and the timeline changes nothing.
    pub fn earliest_arrival(&self, link: u32, from: Nanos) -> Nanos {
        let l = &self.links[link as usize];
        let port = &self.ports[l.port as usize];
        // A packet in service at a predictable port is in flight already. Waiting packets enter
        // service without an event of their own while another packet is in flight.
        let leaves = if port.predictable && !port.holds() { from } else { from.min(port.done) };
        self.arrival_of_leaving(link, leaves)
    }

    /// Arrival, at the far end of a link, of a packet that leaves its port at `at`.
    pub fn arrival_of_leaving(&self, link: u32, at: Nanos) -> Nanos {
        at.saturating_add(self.links[link as usize].delay_at(at))
    }

    /// Whether packets on a link never overtake.
    pub fn keeps_order(&self, link: u32) -> bool {
        !self.links[link as usize].reorder
    }

    /// Nodes at the near and the far end of a link.
    pub fn ends_of(&self, link: u32) -> [u32; 2] {
        let l = &self.links[link as usize];
        [self.ports[l.port as usize].node, l.to]
    }

    /// Packets in flight on a link, in order of arrival.
    pub fn in_flight(&self, link: u32) -> impl Iterator<Item = Flying> + '_ {
        self.links[link as usize].flight.iter()
    }

    // ---- Keys -----------------------------------------------------------------------------------

    /// Schedules the link's next event: the first arrival of those in flight, or that of the packet
    /// in service where no other link could be first.
    #[inline]
    fn reschedule_link(&mut self, link: u32) {
        let l = &self.links[link as usize];
        let flying = l.flight.first();
        let mut at = flying.map_or(Nanos::MAX, |f| f.arrival);
        // Without reordering, the packet in service cannot arrive before one in flight.
        if flying.is_none() || l.reorder {
            let port = &self.ports[l.port as usize];
            if port.predictable && port.shared {
                // Waiting packets are handled by the port's event.
            } else if port.predictable {
                at = if port.holds() { at.min(port.done) } else { at };
            } else if !port.shared && port.done != Nanos::MAX {
                at = at.min(port.done.saturating_add(l.delay_at(port.done)));
            }
        }
        self.schedule.set_link(link, at);
    }

    /// Schedules a port's next departure: a separate event only if links share the port; at a
    /// predictable port, the next departure that has not been arranged.
    #[inline]
    fn reschedule_port(&mut self, p: u32) {
        let port = &self.ports[p as usize];
        if port.shared {
            let at = if port.predictable && !port.holds() { Nanos::MAX } else { port.done };
            self.schedule.set(Source::Port(p), at);
        } else {
            let link = port.link;
            self.reschedule_link(link);
        }
    }
}

/// The last instant before `t`.
fn before(t: Nanos) -> Nanos {
    Nanos(t.0.saturating_sub(1))
}

fn loss_threshold(p: f64) -> u64 {
    (p * (1u64 << 53) as f64) as u64
}
