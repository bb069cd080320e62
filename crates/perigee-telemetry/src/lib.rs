// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In-network telemetry of OrbCC: measurement at egress ports, transport in packets, echo to the
//! sender.
//!
//! Layers:
//! * [`uf16`]: the 16-bit float of byte counts and rates.
//! * [`wire`]: encoded records and their bytes, and their overhead.
//! * [`ioam`]: the trace of in-situ OAM in IPv6 packets.
//! * [`ipv6`]: the option that carries them in IPv6 packets.
//! * [`tcp_option`]: the option of TCP that carries the busiest port's record.
//! * [`carrier`]: other forms of telemetry, and what a receiver derives from them.
//! * [`pint`]: records of fixed size, written by the busiest port.
//! * [`meter`]: one per egress queue: mean base RTT, number of flows, bytes transmitted.
//! * [`flow_table`]: the meter's flows in a table of bounded size.
//! * [`laws`]: the laws of an egress queue: records of the meter, and laws that compute feedback.
//! * [`faults`]: faults of records.
//! * [`integer`]: the same meter in integers, for switches.
//! * [`echo`]: the echo by the receiver, and its decoding into [`perigee_cc::Telemetry`].
//!
//! Life of a record: the sender creates a [`Stamp`]; at each port [`Meter::on_enqueue`] and
//! [`Meter::on_dequeue`] create a [`WireHop`]; the receiver returns the stack unchanged or as a
//! [`WireCompact`]; [`StackDecoder`] or [`WireCompact::decode`] pass it to the controller. Values
//! are encoded once, at the port, so that all backends have the same rounding.

pub mod carrier;
pub mod echo;
pub mod faults;
pub mod flow_table;
pub mod integer;
pub mod ioam;
pub mod ipv6;
pub mod laws;
pub mod meter;
pub mod pint;
pub mod tcp_option;
pub mod uf16;
pub mod wire;

pub use carrier::{Carried, CarrierReader};
pub use echo::{BottleneckEcho, EchoMode, Overhead, StackDecoder};
pub use faults::{FaultSpec, Faults};
pub use laws::{Feedback, PortLaws, PortView};
pub use meter::{counted_bytes, switch_id, Meter};
pub use pint::WirePint;
pub use wire::{Stamp, WireCompact, WireHeader, WireHop, MAX_HOPS};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
