// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The run record: what one run leaves behind, the second waist of the laboratory.
//!
//! Floors:
//! * [`table`]: columns in memory; [`hash`]: the hash of their content.
//! * [`tables`]: the tables of a record; units stand in the column names.
//! * [`sink`]: where a backend writes them, batch by batch; [`tally`]: their rows and hashes on the way.
//! * [`rtts`]: all RTT samples of a flow in little space.
//! * [`pcap`], [`packet`]: a capture that Wireshark opens.
//!
//! No table holds wall time or a path of the machine: the same run gives the same hashes everywhere. Parquet is
//! written on the Python side from these batches.

pub mod hash;
pub mod packet;
pub mod pcap;
pub mod rtts;
pub mod sink;
pub mod table;
pub mod tables;
pub mod tally;

pub use hash::TableHasher;
pub use rtts::Rtts;
pub use sink::{
    Collector, FlowInfo, FrameSeen, PacketSeen, RecordSink, RunHeader, RunOutcome, SinkError, Sinks,
};
pub use table::{Column, Table, Values};
pub use tally::{TableDigest, Tally};
