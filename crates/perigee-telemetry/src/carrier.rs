// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carriers of telemetry other than OrbCC's records: what a port writes, and the bottleneck record
//! that a receiver derives from it.
//!
//! ```text
//! carrier         a port writes                                   bytes for n ports
//! ioam            node id 4 | time of arrival 4 µs | backlog 4    ceil8(14 + 12 n)
//! ioam_rate       the same | snapshot 4 | configured rate 4       ceil8(14 + 20 n)
//! ioam_snapshot   node id 4 | snapshot 4 | record 17 | 3 unused   ceil8(24 + 28 n), the sender's part included
//! utilisation     U 8 log 1.05, if higher                         8
//! ecn             a mark, if the packet has waited for 1 ms       0
//! ```
//!
//! IOAM: pre-allocated trace of RFC 9197 in a hop-by-hop option. What is missing is derived:
//!
//! ```text
//!                 rate of the port                        u                                            flows   T
//! ioam            Δ backlog / Δ transit time              min(q, q') / (bw · T) + sent / bw            1       own base RTT
//! ioam_rate       as configured when the port started     the same                                     1       own base RTT
//! utilisation     own rate / u                            as received                                  1       own base RTT
//! ecn             own rate / u                            1.1 if marked, 0.9 otherwise                 1       own base RTT
//! ```
//!
//! q' and q: backlogs found by the packet before and by this one. What has certainly been sent between
//! them, over the time between them, is the larger of (q' + that packet) / τ and the own rate, at most bw.
//! These u are averaged over a quarter of the base RTT, so that a burst in a fast port's queue does
//! not make it the bottleneck.
//!
//! Transit: from a port's arrival time to that of the next port, or of the receiver. Its unknown
//! constant, propagation and offsets of clocks, cancels in differences. A port whose backlog has not
//! changed by [`STEP_BYTES`] within [`STEP_WITHIN`] has no known rate, and a path without a known
//! rate no telemetry: the controller's fallback acts until a queue has moved. The own rate is window over base RTT.

use crate::echo::baseline;
use crate::pint::{decode_u, encode_u};
use crate::uf16;
use crate::wire::{rate_code, rate_of, Stamp, WireCompact, WireHop, TS_MASK};
use perigee_cc::utilisation::STACK_LIFETIME;
use perigee_cc::{BitRate, Carrier, Nanos};
use perigee_units::draw::{mix, unit};

/// Change of a backlog from which a rate is computed: 16 packets, so that the packet in service,
/// which the backlog omits, is an error of a sixteenth.
pub const STEP_BYTES: u64 = 24_000;
/// Time within which it must occur; over longer times, moving satellites change the transit time.
pub const STEP_WITHIN: Nanos = Nanos::from_secs(1);
/// Queueing time from which a packet is marked.
pub const MARK_AT: Nanos = Nanos::from_millis(1);
/// Reference RTT and averaging time of a port's utilisation, configured as in HPCC.
pub const PORT_RTT: Nanos = Nanos::from_millis(50);
/// Utilisation read from an unmarked and from a marked packet.
const UNMARKED_U: f64 = 0.9;
const MARKED_U: f64 = 1.1;
/// Number of rates of which the median counts.
const RATES: usize = 5;
/// Base RTTs over the averaging time of u at a receiver: long for a burst that passes a fast port,
/// short for the control loop.
const AVERAGES_PER_RTT: f64 = 4.0;
/// Number of ports that a receiver remembers.
const PORTS: usize = 64;

/// Bytes that the carrier adds to a data packet, with room for `hops` ports.
pub(crate) fn data_bytes(carrier: Carrier, hops: usize) -> u32 {
    let bytes = match carrier {
        Carrier::Records => return crate::wire::stack_bytes(hops),
        Carrier::Ioam | Carrier::IoamRate => 14 + crate::ioam::node_bytes(carrier) * hops,
        Carrier::IoamSnapshot => 24 + crate::ioam::node_bytes(carrier) * hops,
        Carrier::Utilisation => 8,
        Carrier::Ecn => 0,
    };
    bytes.next_multiple_of(8) as u32
}

/// Telemetry of a packet by a carrier other than records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The carrier.
    pub carrier: Carrier,
    /// Encoded utilisation, or 1 if marked.
    pub value: u8,
}

/// A port at the instant at which it sends a packet.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Now.
    pub now: Nanos,
    /// Arrival of the packet at the port.
    pub arrived: Nanos,
    /// Bytes queued before it, `uf16`.
    pub q_in: u16,
    /// Bytes queued behind it.
    pub queued: u64,
    /// Rate of the link.
    pub rate: BitRate,
    /// Bytes of the packet on the wire.
    pub bytes: u32,
}

/// State of a port for these carriers.
#[derive(Clone, Debug, Default)]
pub struct CarrierPort {
    /// Rate at the port's first packet, `uf16` kbit/s: its configuration.
    configured: Option<u16>,
    utilisation: f64,
    last: Nanos,
    draws: u64,
}

impl CarrierPort {
    /// Updates the telemetry of a packet that is sent; returns the node data to append, for IOAM:
    /// `ts` is the time of arrival, `tx` the node id, unknown fields are zero. `switch`: that id, which
    /// also makes the draws of ports differ.
    pub fn write(&mut self, carried: &mut Carried, port: &Sending, switch: u16) -> Option<WireHop> {
        let configured = *self.configured.get_or_insert_with(|| rate_code(port.rate));
        match carried.carrier {
            Carrier::Ioam | Carrier::IoamRate => {
                let ts = port.arrived.as_micros() as u32 & TS_MASK;
                let bw = if carried.carrier == Carrier::IoamRate { configured } else { 0 };
                Some(WireHop { ts, tx: u32::from(switch), q_in: port.q_in, bw, ..WireHop::default() })
            }
            Carrier::Utilisation => {
                self.average(port);
                self.draws += 1;
                let draw = unit(mix(self.draws << 16 | u64::from(switch)));
                carried.value = carried.value.max(encode_u(self.utilisation, draw));
                None
            }
            Carrier::Ecn => {
                carried.value |= u8::from(port.now.saturating_sub(port.arrived) >= MARK_AT);
                None
            }
            Carrier::Records | Carrier::IoamSnapshot => None,
        }
    }

    /// HPCC's average: u with the weight τ/T.
    fn average(&mut self, port: &Sending) {
        let (rtt, rate) = (PORT_RTT.as_secs_f64(), port.rate.bytes_per_s());
        let weight = (port.now.saturating_sub(self.last).as_secs_f64() / rtt).min(1.0);
        self.last = port.now;
        if rate > 0.0 {
            let queue = port.queued as f64 / (rate * rtt);
            self.utilisation += weight * (queue - self.utilisation) + f64::from(port.bytes) / (rate * rtt);
        }
    }
}

/// Receiver side, one per connection: derives bottleneck records.
#[derive(Clone, Debug, Default)]
pub struct CarrierReader {
    ports: Vec<TracedPort>,
}

/// A port as its node data describe it.
#[derive(Clone, Debug, Default)]
struct TracedPort {
    /// Ids of its node and of the next one, zero for the receiver: a port of one path or of several.
    ends: (u32, u32),
    used: Nanos,
    /// Arrival time in µs, and backlog, of the packet before.
    last: Option<(u32, u64)>,
    anchor: Option<Anchor>,
    /// Mean utilisation.
    u: Option<f64>,
    /// The latest rates in bit/s, and how many there have been.
    rates: [f64; RATES],
    measured: usize,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Nanos,
    backlog: u64,
    transit_us: u32,
}

/// The flow's own part of a packet, in SI units.
#[derive(Clone, Copy, Debug)]
struct Own {
    base_rtt_us: u32,
    bytes_per_s: f64,
    /// Payload bytes.
    packet: f64,
}

impl Own {
    /// None before the first RTT sample.
    fn of(stamp: &Stamp) -> Option<Self> {
        let window = uf16::decode(stamp.cwnd) as f64;
        (stamp.base_rtt_us > 0 && window > 0.0).then(|| Own {
            base_rtt_us: stamp.base_rtt_us,
            bytes_per_s: window * 1e6 / f64::from(stamp.base_rtt_us),
            packet: f64::from(stamp.payload),
        })
    }

    /// Record of a port without a known rate: that of a flow which has the port for itself.
    fn alone_at(&self, path_id: u16, u: f64) -> WireCompact {
        let rate = BitRate((self.bytes_per_s * 8.0 / u.max(1.0 / 4096.0)) as u64);
        WireCompact {
            path_id,
            u: utilisation_code(u),
            bw: rate_code(rate),
            avg_rtt: self.base_rtt_us,
            flows: 1,
            ..WireCompact::default()
        }
    }
}

fn utilisation_code(u: f64) -> u16 {
    (u * 4096.0 + 0.5) as u16
}

impl CarrierReader {
    /// Processes a data packet that arrives at `now`; `None` if it tells nothing. `hops`: node data,
    /// see [`CarrierPort::write`].
    pub fn read(
        &mut self,
        now: Nanos,
        carried: &Carried,
        path_id: u16,
        hops: &[WireHop],
        stamp: &Stamp,
    ) -> Option<WireCompact> {
        let own = Own::of(stamp);
        match carried.carrier {
            Carrier::Ioam | Carrier::IoamRate => self.trace(now, path_id, hops, own),
            Carrier::Utilisation if carried.value == 0 => None,
            Carrier::Utilisation => {
                Some(own.map_or(baseline(0, &[]), |own| own.alone_at(0, decode_u(carried.value))))
            }
            Carrier::Ecn => {
                let u = if carried.value > 0 { MARKED_U } else { UNMARKED_U };
                Some(own.map_or(baseline(0, &[]), |own| own.alone_at(0, u)))
            }
            Carrier::Records | Carrier::IoamSnapshot => None,
        }
    }

    fn trace(&mut self, now: Nanos, path_id: u16, hops: &[WireHop], own: Option<Own>) -> Option<WireCompact> {
        let (mut known, mut newer) = (false, false);
        let mut found: Option<WireCompact> = None;
        let mut waiting_s = 0.0;
        for (i, hop) in hops.iter().enumerate() {
            let (next_us, next) = match hops.get(i + 1) {
                Some(next) => (next.ts, next.tx),
                None => (now.as_micros() as u32 & TS_MASK, 0),
            };
            let port = self.port(now, (hop.tx, next));
            let backlog = uf16::decode(hop.q_in);
            port.measure(now, backlog, next_us.wrapping_sub(hop.ts) & TS_MASK);
            let recent = now.saturating_sub(std::mem::replace(&mut port.used, now)) <= STACK_LIFETIME;
            let before = port.last.replace((hop.ts, backlog)).filter(|_| recent);
            let Some(rate) = port.rate(hop) else { continue };
            known = true;
            waiting_s += backlog as f64 / rate;
            let (Some(own), Some((ts, earlier))) = (own, before) else { continue };
            let rtt_us = f64::from(own.base_rtt_us);
            let tau = hop.ts.wrapping_sub(ts) & TS_MASK;
            // A sample that was overtaken appears to be far ahead.
            if tau > 0 && tau <= TS_MASK / 2 {
                newer = true;
                let least = backlog.min(earlier) as f64;
                // What the packet before found has left, and it has itself.
                let left = (earlier as f64 + own.packet) * 1e6 / f64::from(tau);
                let sent = (left.max(own.bytes_per_s) / rate).min(1.0);
                let now_u = least * 1e6 / (rate * rtt_us) + sent;
                let weight = (f64::from(tau) * AVERAGES_PER_RTT / rtt_us).min(1.0);
                let mean = port.u.get_or_insert(now_u);
                *mean += weight * (now_u - *mean);
            }
            // Packets that arrive at this port together leave it apart: the mean counts all the same.
            let Some(u) = port.u.map(utilisation_code) else { continue };
            if found.is_none_or(|b| u > b.u) {
                let bw = rate_code(BitRate((rate * 8.0) as u64));
                let (hop, avg_rtt) = (i as u8, own.base_rtt_us);
                found = Some(WireCompact { path_id, hop, u, tau, bw, avg_rtt, flows: 1, queue_delay: 0 });
            }
        }
        let record = known.then(|| found.filter(|_| newer).unwrap_or(baseline(path_id, &[])))?;
        Some(WireCompact { queue_delay: uf16::encode((waiting_s * 1e6 + 0.5) as u64), ..record })
    }

    /// The port between these nodes; a new one takes a free slot or that of the least recently seen.
    fn port(&mut self, now: Nanos, ends: (u32, u32)) -> &mut TracedPort {
        let at = self.ports.iter().position(|p| p.ends == ends).unwrap_or_else(|| {
            let fresh = TracedPort { ends, used: now, ..TracedPort::default() };
            if self.ports.len() < PORTS {
                self.ports.push(fresh);
                return self.ports.len() - 1;
            }
            let oldest = (0..PORTS).min_by_key(|&i| self.ports[i].used).unwrap_or(0);
            self.ports[oldest] = fresh;
            oldest
        });
        &mut self.ports[at]
    }
}

impl TracedPort {
    /// Computes a rate if the backlog has changed enough since the anchor.
    fn measure(&mut self, now: Nanos, backlog: u64, transit_us: u32) {
        let here = Anchor { at: now, backlog, transit_us };
        let Some(anchor) = self.anchor.filter(|a| now.saturating_sub(a.at) <= STEP_WITHIN) else {
            self.anchor = Some(here);
            return;
        };
        if backlog.abs_diff(anchor.backlog) < STEP_BYTES {
            return;
        }
        self.anchor = Some(here);
        // 24 bits, with sign.
        let later_us = (transit_us.wrapping_sub(anchor.transit_us) << 8) as i32 >> 8;
        let bytes = backlog as f64 - anchor.backlog as f64;
        let rate = bytes * 1e6 / f64::from(later_us);
        if later_us != 0 && rate > 0.0 {
            self.rates[self.measured % RATES] = rate;
            self.measured += 1;
        }
    }

    /// Rate in bytes/s: that of the node data, or the median of those measured.
    fn rate(&self, hop: &WireHop) -> Option<f64> {
        if hop.bw > 0 {
            return Some(rate_of(hop.bw).bytes_per_s());
        }
        let n = self.measured.min(RATES);
        let mut rates = self.rates;
        rates[..n].sort_by(f64::total_cmp);
        (n > 0).then(|| rates[n / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitRate = BitRate::from_mbit(100);
    /// Propagation and an offset of the receiver's clock.
    const AWAY_US: u64 = 4_321_000;

    fn stamp() -> Stamp {
        Stamp::coded(50_000, uf16::encode(312_500), 1448)
    }

    /// Reads a packet that arrives at a port of 100 Mbit/s at `us` behind `backlog` bytes.
    fn pass(reader: &mut CarrierReader, carrier: Carrier, us: u64, backlog: u64) -> Option<WireCompact> {
        let mut carried = Carried { carrier, value: 0 };
        let port = Sending {
            now: Nanos::from_micros(us + backlog * 8 / 100),
            arrived: Nanos::from_micros(us),
            q_in: uf16::encode(backlog),
            queued: 0,
            rate: RATE,
            bytes: 1507,
        };
        let hop = CarrierPort::default().write(&mut carried, &port, 1);
        let hops: Vec<WireHop> = hop.into_iter().collect();
        let there = port.now + Nanos::from_micros(AWAY_US);
        reader.read(there, &carried, 7, &hops, &stamp())
    }

    #[test]
    fn a_rate_follows_from_backlog_and_transit_time_once_the_queue_has_moved() {
        let mut reader = CarrierReader::default();
        for us in 0..10 {
            assert_eq!(pass(&mut reader, Carrier::Ioam, 1000 * us, 1000 * us), None, "{us}");
        }
        let record = pass(&mut reader, Carrier::Ioam, 20_000, 40_000).unwrap();
        let rate = rate_of(record.bw).0 as f64 / 1e8;
        assert!((rate - 1.0).abs() < 0.01, "{rate}");
        assert_eq!((record.flows, record.avg_rtt, record.hop), (1, 50_000, 0));
        // The smaller backlog, 9000 bytes, of 625 kB in 50 ms; it could leave in 11 ms: the own rate counts.
        assert!((f64::from(record.u) / 4096.0 - 0.5144).abs() < 0.001, "{}", record.u);
        // Backlogs that cannot have left within 1 ms: the port was busy, for 1 of the 12.5 ms that count.
        let record = pass(&mut reader, Carrier::Ioam, 21_000, 37_500).unwrap();
        assert!(
            (f64::from(record.u) / 4096.0 - 0.5144 - 0.08 * (1.06 - 0.5144)).abs() < 0.001,
            "{}",
            record.u
        );
        assert!(uf16::decode(record.queue_delay).abs_diff(3000) < 40);
    }

    #[test]
    fn with_an_empty_queue_only_the_own_rate_is_known() {
        let mut reader = CarrierReader::default();
        assert_eq!(pass(&mut reader, Carrier::IoamRate, 0, 0).unwrap().hop, crate::wire::BASELINE_HOP);
        let record = pass(&mut reader, Carrier::IoamRate, 500, 0).unwrap();
        assert!((f64::from(record.u) / 4096.0 - 0.5).abs() < 0.001, "{}", record.u);
        assert_eq!((record.tau, rate_of(record.bw)), (500, RATE));
    }

    #[test]
    fn a_burst_does_not_make_a_fast_port_the_bottleneck() {
        let mut reader = CarrierReader::default();
        let mut highest = 0;
        for burst in 0..20u64 {
            for i in 0..5u64 {
                let record = pass(&mut reader, Carrier::IoamRate, 10_000 * burst + i, 1500 * i).unwrap();
                highest = highest.max(if record.tau < 9000 && burst > 2 { record.u } else { 0 });
            }
        }
        let highest = f64::from(highest) / 4096.0;
        assert!((0.5..0.51).contains(&highest), "{highest}");
    }

    #[test]
    fn packets_that_arrive_together_do_not_hide_their_port() {
        let mut reader = CarrierReader::default();
        let hop = |ts: u32, backlog: u64, node: u32, mbit: u64| WireHop {
            ts,
            tx: node,
            q_in: uf16::encode(backlog),
            bw: rate_code(BitRate::from_mbit(mbit)),
            ..WireHop::default()
        };
        let carried = Carried { carrier: Carrier::IoamRate, value: 0 };
        for i in 0..10u32 {
            // Two by two at the first port, evenly spaced at the second.
            let hops = [hop(i / 2 * 240, 3000, 1, 100), hop(5000 + 120 * i, 0, 2, 1000)];
            let now = Nanos::from_micros(6000 + 120 * u64::from(i));
            let record = reader.read(now, &carried, 7, &hops, &stamp()).unwrap();
            assert!(i < 2 || record.hop == 0, "{i}: {record:?}");
        }
    }

    #[test]
    fn a_configured_rate_stays_after_a_change() {
        let mut port = CarrierPort::default();
        let mut written = |rate: BitRate| {
            let sending = Sending {
                now: Nanos::from_micros(9),
                arrived: Nanos::from_micros(9),
                q_in: 0,
                queued: 0,
                rate,
                bytes: 1507,
            };
            let mut carried = Carried { carrier: Carrier::IoamRate, value: 0 };
            rate_of(port.write(&mut carried, &sending, 1).unwrap().bw)
        };
        assert_eq!((written(RATE), written(BitRate::from_mbit(50))), (RATE, RATE));
    }

    #[test]
    fn a_mark_is_a_queue_of_a_millisecond() {
        let mut reader = CarrierReader::default();
        let u = |backlog: u64| {
            let mut carried = Carried { carrier: Carrier::Ecn, value: 0 };
            let port = Sending {
                now: Nanos::from_micros(backlog * 8 / 100),
                arrived: Nanos::ZERO,
                q_in: 0,
                queued: 0,
                rate: RATE,
                bytes: 1507,
            };
            assert_eq!(CarrierPort::default().write(&mut carried, &port, 1), None);
            carried
        };
        assert_eq!((u(12_000).value, u(12_500).value), (0, 1));
        let record = reader.read(Nanos::ZERO, &u(20_000), 0, &[], &stamp()).unwrap();
        assert!((f64::from(record.u) / 4096.0 - 1.1).abs() < 0.001);
        let own = rate_of(record.bw).0 as f64;
        assert!((own / 45.45e6 - 1.0).abs() < 0.01, "50 Mbit/s over 1.1: {own}");
    }

    #[test]
    fn a_port_averages_its_utilisation_over_time_and_the_busiest_stays() {
        let (mut port, mut carried) =
            (CarrierPort::default(), Carried { carrier: Carrier::Utilisation, value: 0 });
        let mut all = 0.0;
        // Bursts of ten packets of 120.56 µs at half load.
        for i in 0..4000u64 {
            let now = Nanos((i / 10 * 20 + i % 10) * 120_560);
            let sending = Sending { now, arrived: now, q_in: 0, queued: 0, rate: RATE, bytes: 1507 };
            carried.value = 0;
            port.write(&mut carried, &sending, 3);
            all += if i >= 2000 { decode_u(carried.value) } else { 0.0 };
        }
        assert!((all / 2000.0 - 0.5).abs() < 0.02, "{}", all / 2000.0);
        let mut idle = CarrierPort::default();
        let value = carried.value;
        let now = Nanos::from_secs(1);
        idle.write(
            &mut carried,
            &Sending { now, arrived: now, q_in: 0, queued: 0, rate: RATE, bytes: 60 },
            4,
        );
        assert_eq!(carried.value, value);
        assert_eq!(
            CarrierReader::default().read(now, &Carried { value: 0, ..carried }, 0, &[], &stamp()),
            None
        );
    }

    #[test]
    fn sizes_are_multiples_of_eight_with_the_headers_of_options() {
        let of = |carrier| data_bytes(carrier, 3);
        let all =
            [Carrier::Ioam, Carrier::IoamRate, Carrier::IoamSnapshot, Carrier::Utilisation, Carrier::Ecn];
        assert_eq!(all.map(of), [56, 80, 112, 8, 0]);
        assert_eq!(of(Carrier::Records), 64);
    }
}
