// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Import of packet captures as records. [`import()`] reads a capture taken at or between the
//! endpoints of connections in one pass and in bounded memory, and passes rows of the same tables as
//! those of a simulated run to a sink.
//!
//! Values that are not observable (congestion windows, losses in the network, the network itself)
//! are null.

pub mod ids;
pub mod import;
pub mod packet;
pub mod quic;
pub mod reader;
pub mod received;
pub mod sent;

mod connection;
mod flow;
mod warnings;

pub use import::{import, Imported, Options};

use perigee_record::SinkError;

/// Reason why a capture could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureError {
    /// The file is not a capture, or has no readable packets. The text is human-readable.
    Bad(String),
    /// The sink failed.
    Sink(SinkError),
    /// Stopped by the caller.
    Stopped,
}

impl std::fmt::Display for CaptureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CaptureError::Bad(why) => f.write_str(why),
            CaptureError::Sink(e) => e.fmt(f),
            CaptureError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<SinkError> for CaptureError {
    fn from(e: SinkError) -> Self {
        CaptureError::Sink(e)
    }
}

/// Vantage point of a capture with respect to the data of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the sender of the data.
    Sender,
    /// At the receiver.
    Receiver,
}
