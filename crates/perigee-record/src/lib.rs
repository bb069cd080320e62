// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Record of a run: its output, in the common format of all backends and analyses.
//!
//! Layers:
//! * [`table`]: columns in memory; [`hash`]: the hash of their content.
//! * [`tables`]: tables of a record; column names contain the units. [`totals`]: outcome of a run,
//!   [`observed`]: packets, both as reported by backends.
//! * [`sink`]: receives batches of rows from a backend; [`tally`]: counts and hashes the rows on
//!   the way.
//! * [`rtts`]: all RTT samples of a flow in little memory; [`byte_rate`]: rates between rows.
//! * [`pcap`], [`packet`]: captures for Wireshark.
//!
//! No table contains wall-clock time or a path on the machine: the same run yields the same hashes
//! everywhere. Parquet files are written from these batches on the Python side.

pub mod byte_rate;
pub mod hash;
pub mod observed;
pub mod packet;
pub mod pcap;
pub mod rtts;
pub mod sink;
pub mod table;
pub mod tables;
pub mod tally;
pub mod totals;

pub use byte_rate::ByteRate;
pub use hash::TableHasher;
pub use observed::{FrameSeen, PacketKind, PacketSeen};
pub use rtts::Rtts;
pub use sink::{Collector, FlowInfo, RecordSink, RunHeader, SinkError, Sinks};
pub use table::{Column, Table, Values};
pub use tally::{TableDigest, Tally};
pub use totals::{FlowTableTotals, FlowTotals, LinkTotals, RunOutcome};
