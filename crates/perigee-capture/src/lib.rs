// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records from packet captures, as an alternative to backends. [`import()`] reads a capture taken
//! at or between the ends of connections in one pass and in bounded memory, and passes the rows of
//! the same tables as a run to a sink.
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
    /// The file is not a capture, or has no readable contents: human-readable, with the remedy.
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

/// Place of a capture, relative to the data of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the end that sends the data.
    Sender,
    /// At the end that receives it.
    Receiver,
}
