// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The run record: the output of one run, the second waist of the laboratory.
//!
//! Layers:
//! * [`table`]: columns in memory; [`hash`]: the hash of their content.
//! * [`tables`]: the tables of a record; units are in the column names. [`totals`]: how a run
//!   ended, [`seen`]: packets, both as backends report them.
//! * [`sink`]: where a backend writes them, batch by batch; [`tally`]: their rows and hashes on the
//!   way.
//! * [`rtts`]: all RTT samples of a flow in little space; [`byte_rate`]: rates between rows.
//! * [`pcap`], [`packet`]: a capture that Wireshark opens.
//!
//! No table holds wall time or a path of the machine: the same run gives the same hashes
//! everywhere. Parquet is written on the Python side from these batches.

pub mod byte_rate;
pub mod hash;
pub mod packet;
pub mod pcap;
pub mod rtts;
pub mod seen;
pub mod sink;
pub mod table;
pub mod tables;
pub mod tally;
pub mod totals;

pub use byte_rate::ByteRate;
pub use hash::TableHasher;
pub use rtts::Rtts;
pub use seen::{FrameSeen, PacketKind, PacketSeen};
pub use sink::{Collector, FlowInfo, RecordSink, RunHeader, SinkError, Sinks};
pub use table::{Column, Table, Values};
pub use tally::{TableDigest, Tally};
pub use totals::{FlowTotals, LinkTotals, RunOutcome};
