// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of ports: what an egress queue computes per packet and per interval, and writes into headers
//! for senders to obey.
//!
//! | law | per interval | per packet | file |
//! | --- | --- | --- | --- |
//! | records (OrbCC, HPCC) | mean RTT and number of flows | a record of rate, queue and bytes sent is appended | [`crate::meter`] |
//! | XCP | spare rate, divided among flows | the change of rate is reduced | [`xcp`] |
//! | RCP | one rate for all flows | the rate is reduced | [`rcp`] |
//!
//! Records leave the law to the sender. The others are [`FeedbackLaw`]s: the sender requests an
//! amount, every port of the path reduces it, the receiver returns the rest
//! ([`Telemetry::Feedback`]). A port runs a law from the first packet that carries it on; a
//! metered port that no such packet reaches has no state of it.
//!
//! A law's timers have no events: each entry point first lets them expire as often as they should
//! have by then.

pub mod rcp;
pub mod xcp;

use crate::carrier::CarrierPort;
use crate::faults::Faults;
use crate::meter::Meter;
use crate::wire::Stamp;
use perigee_cc::{BitRate, HeaderStamp, Law, Nanos, Telemetry};

/// A port at the instant of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// Now.
    pub now: Nanos,
    /// Rate of its link.
    pub rate: BitRate,
    /// Bytes that wait, the packet excluded.
    pub queued: u64,
    /// Bytes of the packet on the wire.
    pub bytes: u32,
}

/// A law that reduces a number in packets.
pub trait FeedbackLaw {
    /// A packet of the law is about to be queued (or dropped: it counts in either case).
    fn on_arrival(&mut self, port: &PortView, stamp: &Stamp);

    /// A packet of other traffic is about to be queued.
    fn on_other(&mut self, port: &PortView);

    /// A packet of the law has been dequeued: reduces its feedback.
    fn on_departure(&mut self, port: &PortView, stamp: &Stamp, feedback: &mut f64);
}

/// Declares the feedback laws: the state of each, and the request of its senders.
macro_rules! laws {
    ($($law:ident => $state:ty, $request:path;)+) => {
        /// State of a law at a port.
        #[derive(Clone, Debug)]
        enum State {
            $($law(Box<$state>),)+
        }

        impl State {
            fn new(law: Law, port: &PortView, stamp: &Stamp) -> Self {
                match law {
                    $(Law::$law => State::$law(Box::new(<$state>::new(port, stamp))),)+
                }
            }

            fn law(&self) -> Law {
                match self {
                    $(State::$law(_) => Law::$law,)+
                }
            }

            fn rules(&mut self) -> &mut dyn FeedbackLaw {
                match self {
                    $(State::$law(state) => &mut **state,)+
                }
            }
        }

        /// Request of a sender in a packet of `payload` bytes.
        fn request(law: Law, stamp: &HeaderStamp, payload: u32) -> f64 {
            match law {
                $(Law::$law => $request(stamp, payload),)+
            }
        }
    };
}

laws! {
    Xcp => xcp::Xcp, xcp::request;
    Rcp => rcp::Rcp, rcp::request;
}

/// Feedback in a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The law that ports apply to it.
    pub law: Law,
    /// The rest of the request, in the law's unit.
    pub value: f64,
}

/// Size of the header of a feedback law in bytes.
pub const HEADER_BYTES: usize = 16;

impl Feedback {
    /// The sender's request, in a packet of `payload` bytes.
    pub fn request(law: Law, stamp: &HeaderStamp, payload: u32) -> Self {
        Feedback { law, value: request(law, stamp, payload) }
    }

    /// Conversion to the units of controllers; `hops`: ports that have applied the law.
    pub fn decode(&self, hops: u32, covered: u32, partial: bool) -> Telemetry<'static> {
        Telemetry::Feedback { law: self.law, value: self.value, hops, covered, partial }
    }

    /// Wire format: version 4 | law 4 | hops 8 | 8 unused | baseRTT 24 µs | cwnd 16 uf16 bytes |
    /// value 64 (IEEE 754), big-endian. (The drafts of XCP and RCP have headers of 20 and 12 bytes
    /// with integers; here one size serves all laws.)
    pub fn to_bytes(&self, stamp: &Stamp, hops: u8) -> [u8; HEADER_BYTES] {
        let law = self.law as u64;
        let head = u64::from(crate::wire::VERSION) << 60 | law << 56 | u64::from(hops) << 48;
        let head = head | u64::from(stamp.base_rtt_us & 0xff_ffff) << 16 | u64::from(stamp.cwnd);
        let mut out = [0; HEADER_BYTES];
        out[..8].copy_from_slice(&head.to_be_bytes());
        out[8..].copy_from_slice(&self.value.to_be_bytes());
        out
    }
}

/// Bytes that the header adds to a packet or ACK, option framing and padding included.
pub const fn header_bytes() -> u32 {
    (4 + HEADER_BYTES).next_multiple_of(8) as u32
}

/// Laws of one egress queue.
#[derive(Clone, Debug, Default)]
pub struct PortLaws {
    /// Records of OrbCC and HPCC.
    pub records: Meter,
    /// Faults of the records; few ports have any.
    pub faults: Option<Box<Faults>>,
    /// What the port writes by other carriers than records, once a packet has one.
    pub carriers: Option<Box<CarrierPort>>,
    /// Laws that packets have requested.
    running: Vec<State>,
}

impl PortLaws {
    /// Laws in their initial state; `integer`: whether records are computed in integers, like in a
    /// switch ([`crate::integer`]).
    pub fn new(integer: bool) -> Self {
        PortLaws { records: Meter::of(integer), ..PortLaws::default() }
    }

    /// Handles a packet with feedback that is about to be queued.
    pub fn on_arrival(&mut self, law: Law, port: &PortView, stamp: &Stamp) {
        let mut known = false;
        for state in &mut self.running {
            if state.law() == law {
                known = true;
                state.rules().on_arrival(port, stamp);
            } else {
                state.rules().on_other(port);
            }
        }
        if !known {
            let mut state = State::new(law, port, stamp);
            state.rules().on_arrival(port, stamp);
            self.running.push(state);
        }
    }

    /// Handles a packet without feedback that is about to be queued.
    pub fn on_other(&mut self, port: &PortView) {
        self.running.iter_mut().for_each(|state| state.rules().on_other(port));
    }

    /// Applies its law to a packet that has been dequeued.
    pub fn on_departure(&mut self, port: &PortView, stamp: &Stamp, feedback: &mut Feedback) {
        if let Some(state) = self.running.iter_mut().find(|s| s.law() == feedback.law) {
            state.rules().on_departure(port, stamp, &mut feedback.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_starts_with_its_first_packet_and_sees_the_others_packets_as_traffic() {
        let port = PortView { now: Nanos::ZERO, rate: BitRate::from_mbit(100), queued: 0, bytes: 1500 };
        let stamp = Stamp::coded(50_000, crate::uf16::encode(60_000), 1448);
        let mut laws = PortLaws::new(false);
        let mut untouched = Feedback { law: Law::Rcp, value: 7.0 };
        laws.on_departure(&port, &stamp, &mut untouched);
        assert_eq!((untouched.value, laws.running.len()), (7.0, 0));
        laws.on_arrival(Law::Rcp, &port, &stamp);
        laws.on_arrival(Law::Xcp, &port, &stamp);
        laws.on_arrival(Law::Rcp, &port, &stamp);
        assert_eq!(laws.running.len(), 2);
    }

    #[test]
    fn the_header_of_a_capture_has_the_law_and_its_value() {
        let stamp = Stamp::coded(50_000, 9, 1448);
        let bytes = Feedback { law: Law::Rcp, value: 1.25e6 }.to_bytes(&stamp, 3);
        assert_eq!(bytes[..8], [0x11, 3, 0, 0, 0xc3, 0x50, 0, 9]);
        assert_eq!(f64::from_be_bytes(bytes[8..].try_into().unwrap()), 1.25e6);
    }
}
