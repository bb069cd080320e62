// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table of the carriers that terminals share.

use super::{ColumnSpec, TableSpec};
use crate::table::{Cell, Table};

table! {
    /// Carrier of a `[beam]` at a sampling instant: what the neighbours of the simulated terminal used of it, and what
    /// it was granted itself. Values since the previous row are of whole frames.
    CarrierTable, CarrierRow, "carriers" {
        /// Sampling instant, since the start of the run.
        t_ns: u64,
        /// Number of the port of the simulated terminal on this carrier.
        port: u32,
        /// Rate of the carrier.
        rate_bps: u64,
        /// Fraction of the carrier that carried data of neighbours since the previous row.
        neighbour_share: Option<f64> = "no frame began since the previous row",
        /// Data of neighbours carried since the start.
        neighbour_bytes: u64,
        /// Data of neighbours that found a full queue since the start.
        neighbour_lost_bytes: u64,
        /// Data waiting in the queues of all neighbours.
        neighbour_queue_bytes: u64,
        /// Mean wait of the neighbours' data that left since the previous row: waiting bytes over time, divided by bytes that
        /// left (Little's law).
        neighbour_wait_ns: Option<f64> = "no data of neighbours left since the previous row",
        /// Data that the simulated terminal was allowed to send since the start.
        granted_bytes: u64,
        /// Mean wait of its packets at the port that left since the previous row: for turns or grants, for
        /// packets ahead of them, and for their own transmission.
        wait_ns: Option<f64> = "no packet left since the previous row",
    }
}
