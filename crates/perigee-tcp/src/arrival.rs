// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receiver's clock, and the arrivals that ACKs report by it, for one-way delays.

use crate::{AckBlocks, Receiver};
use perigee_cc::{Arrival, Params};
use perigee_units::Nanos;

/// Receiver's clock, and what ACKs report of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalClock {
    /// Reports; none with `Off`.
    pub reports: ArrivalReport,
    /// Resolution of timestamps.
    pub tick: Nanos,
    /// Receiver's clock less the sender's at time zero, in nanoseconds.
    pub offset_ns: i64,
    /// Drift in parts per 10⁹.
    pub drift_ppb: i64,
}

/// Report of a packet's arrival in ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalReport {
    /// The arrival of the newest packet, to the nanosecond.
    #[default]
    Exact,
    /// TCP's timestamps.
    Timestamps,
    /// None.
    Off,
}

impl ArrivalClock {
    /// From checked options. Timestamps report nothing where the connection has none.
    pub fn new(p: &Params) -> Self {
        let reports = match p.choice("arrival_clock").as_str() {
            "exact" => ArrivalReport::Exact,
            "timestamps" if p.bool("timestamps") => ArrivalReport::Timestamps,
            _ => ArrivalReport::Off,
        };
        ArrivalClock {
            reports,
            tick: p.time("timestamp_tick"),
            offset_ns: (p.float("clock_offset") * 1e9) as i64,
            drift_ppb: (p.float("clock_drift") * 1e3) as i64,
        }
    }

    /// The receiver's clock.
    pub fn at(&self, now: Nanos) -> i64 {
        let drift = i128::from(now.0) * i128::from(self.drift_ppb) / 1_000_000_000;
        (i128::from(now.0) + i128::from(self.offset_ns) + drift) as i64
    }

    /// A clock in whole ticks.
    pub fn ticks(&self, clock_ns: i64) -> i64 {
        let tick = self.tick.0.max(1) as i64;
        clock_ns.div_euclid(tick) * tick
    }
}

/// Departures and arrivals at a receiver, of which its next ACK reports one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    clock: ArrivalClock,
    /// The newest packet: departure by the sender's clock, arrival by the receiver's.
    newest: Option<(Nanos, Nanos)>,
    /// Departure of the packet with the timestamp that is echoed.
    echoed: Option<Nanos>,
}

impl Arrivals {
    /// None so far.
    pub fn new(clock: ArrivalClock) -> Self {
        Arrivals { clock, ..Arrivals::default() }
    }

    /// A data packet that left at `sent` has arrived.
    #[inline]
    pub fn on_data(&mut self, now: Nanos, sent: Nanos) {
        self.newest = Some((sent, now));
    }

    /// The timestamp of the newest packet is the one to echo from now on (RFC 7323 section 4.3).
    #[inline]
    pub fn echo_newest(&mut self) {
        self.echoed = self.newest.map(|(sent, _)| sent);
    }

    /// Report of an ACK that is sent `now`.
    #[inline]
    pub fn report(&self, now: Nanos) -> Option<Arrival> {
        match self.clock.reports {
            ArrivalReport::Off => None,
            ArrivalReport::Exact => self.newest.map(|(sent, arrived)| Arrival {
                sent_ns: sent.0 as i64,
                received_ns: self.clock.at(arrived),
            }),
            ArrivalReport::Timestamps => self.echoed.map(|sent| Arrival {
                sent_ns: self.clock.ticks(sent.0 as i64),
                received_ns: self.clock.ticks(self.clock.at(now)),
            }),
        }
    }
}

impl Receiver {
    /// Records the departure of the data segment about to be processed.
    #[inline]
    pub fn on_arrival(&mut self, now: Nanos, sent: Nanos) {
        self.arrivals.on_data(now, sent);
    }

    /// Adds the report of the newest arrival to an acknowledgement that is sent `now`.
    #[inline]
    pub fn stamp(&self, now: Nanos, ack: &mut AckBlocks) {
        ack.arrival = self.arrivals.report(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OPTIONS;
    use perigee_cc::Value;
    use std::collections::BTreeMap;

    fn clock(given: &[(&str, Value)]) -> ArrivalClock {
        let given: BTreeMap<String, Value> =
            given.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect();
        ArrivalClock::new(&Params::new(OPTIONS, given).unwrap())
    }

    fn text(word: &str) -> Value {
        Value::Text(word.into())
    }

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn an_exact_report_is_that_of_the_newest_packet_whenever_the_ack_leaves() {
        let mut a = Arrivals::new(clock(&[]));
        assert_eq!(a.report(ms(1)), None);
        a.on_data(ms(40), ms(10));
        a.echo_newest();
        a.on_data(Nanos(45_000_001), ms(14));
        let found = a.report(ms(80)).unwrap();
        assert_eq!((found.sent_ns, found.one_way_ns()), (14_000_000, 31_000_001));
    }

    #[test]
    fn timestamps_stand_for_the_echoed_packet_and_the_time_of_the_ack_in_ticks() {
        let mut a = Arrivals::new(clock(&[("arrival_clock", text("timestamps"))]));
        a.on_data(Nanos(40_700_000), Nanos(10_600_000));
        a.echo_newest();
        a.on_data(Nanos(45_000_000), Nanos(14_000_000));
        let found = a.report(Nanos(80_900_000)).unwrap();
        assert_eq!((found.sent_ns, found.received_ns), (10_000_000, 80_000_000));
        let coarse = clock(&[("arrival_clock", text("timestamps")), ("timestamp_tick", text("10 ms"))]);
        assert_eq!((coarse.ticks(19_999_999), coarse.ticks(-1)), (10_000_000, -10_000_000));
    }

    #[test]
    fn the_receivers_clock_is_off_and_drifts() {
        let c = clock(&[("clock_offset", Value::Float(-2.5)), ("clock_drift", Value::Float(100.0))]);
        assert_eq!(c.at(Nanos::ZERO), -2_500_000_000);
        // 100 ppm of 100 s are 10 ms.
        assert_eq!(c.at(Nanos::from_secs(100)), 97_510_000_000);
    }

    #[test]
    fn a_peer_that_reports_nothing_gives_no_arrival() {
        for given in [
            vec![("arrival_clock", text("off"))],
            vec![("arrival_clock", text("timestamps")), ("timestamps", Value::Bool(false))],
        ] {
            let mut a = Arrivals::new(clock(&given));
            a.on_data(ms(40), ms(10));
            a.echo_newest();
            assert_eq!(a.report(ms(41)), None);
        }
    }
}
