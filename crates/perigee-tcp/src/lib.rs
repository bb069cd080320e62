// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TCP sender and receiver, sans I/O: time is an input; packets to send and the time of the next
//! call are outputs.
//!
//! The model is Linux 6.12 (profile `linux`); the specification of the stack gives the measured
//! effect of each feature. Sequence numbers count segments: a segment is never split or merged.
//! Windows are stored in bytes in the [`Window`](perigee_cc::Window) shared with the congestion
//! control, and counted in packets here, as in Linux.
//!
//! Layers:
//! * [`scoreboard`]: outstanding data as a ring of segments with flags, counters, and a list in
//!   order of transmission.
//! * [`rtt`], [`rate`]: round-trip time and timeout; delivery-rate samples.
//! * [`sender`]: sending side of a connection: what both stacks have, and `limits` (what keeps it
//!   from sending).
//! * `linux`: the sending side of Linux. State: `detection` (SACK, reordering, RACK), `episode`
//!   (congestion state, PRR, undo), `timers`, `pacing`, `usage` (validation of the window),
//!   `marks`. Processing: `input` (ACKs), `sack` (tagging), `rack` (loss detection, tail loss
//!   probes), `recovery` (the state machine), `output` (transmission).
//! * `inet`: the sending side of another stack, for schemes that bring their own
//!   (`perigee_cc::Stack`).
//! * [`receiver`]: reassembly, SACK blocks, delayed ACKs; [`arrival`]: the clock that ACKs report.
//!
//! Not modelled: Nagle, window shrinking, SACK reneging, path MTU discovery, URG, AccECN.

mod ack_blocks;
pub mod arrival;
pub mod config;
mod inet;
mod linux;
pub mod rate;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod window;

pub use ack_blocks::AckBlocks;
pub use config::{Config, OPTIONS};
pub use receiver::Receiver;
pub use sender::{Ack, Sender, Stats, Transmit};

/// Segment number: the n-th segment of the stream, from 0.
pub type Seg = u64;

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
