// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Guest configuration, frames and errors, on all platforms.

use perigee_units::Nanos;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A hardware address.
pub type Mac = [u8; 6];

/// Default timeout for a guest that is silent while its time does not advance.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Optional features of a guest's interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Checksum and TCP segmentation offload.
    pub offload: bool,
    /// Whether the carrier can be lost.
    pub carrier: bool,
}

/// Remedy if there is no room for a guest's memory.
const NO_ROOM: &str = "enlarge it (mount -o remount,size=2G /dev/shm; docker run --shm-size=2g)\n";

/// Configuration of a guest.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// Path of the kernel's binary.
    pub kernel: PathBuf,
    /// Root folder with an `init`, and with room for sockets and the console's file.
    pub folder: PathBuf,
    /// Program to start, as a path in the guest.
    pub init: String,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Seed of all its randomness.
    pub seed: u64,
    /// Hardware addresses of its interfaces.
    pub interfaces: Vec<Mac>,
    /// Features of its interfaces, except that for reports.
    pub offer: Offer,
    /// Wall-clock timeout for a guest that neither waits nor advances.
    pub patience: Duration,
}

/// A frame sent by a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// Send time, in the guest's time.
    pub at: Nanos,
    /// Number of the interface.
    pub interface: usize,
    /// Ethernet header and payload.
    pub bytes: Box<[u8]>,
}

/// Programs of a guest use the CPU while its time hardly advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// CPU time.
    pub seconds: u64,
    /// By which its time has advanced.
    pub advanced: Nanos,
}

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Busy { seconds, advanced } = self;
        write!(
            f,
            "{seconds} s of computation in a guest have advanced its time by {advanced}: a program in it computes \
             without a pause. Time advances while programs sleep or wait; in real time \
             (--backend emulation) it always does"
        )
    }
}

/// Called at intervals while a guest runs, with what keeps it busy when that begins to be conspicuous;
/// false = it stops.
pub type GoOn<'a> = dyn FnMut(Option<Busy>) -> bool + 'a;

/// Errors of guests.
#[derive(Debug)]
pub enum GuestError {
    /// A system call or resource that a guest needs is not available.
    Machine(String),
    /// The guest violates the protocol.
    Protocol(String),
    /// The guest has exited.
    Gone {
        /// Exit status of its process, if known: `by signal 9`, `with exit code 1`.
        how: String,
        /// Last lines of its console.
        console: String,
    },
    /// The guest's time does not advance.
    Stuck {
        /// Seconds of wall-clock time without a message.
        seconds: u64,
        /// Last lines of its console.
        console: String,
    },
    /// No message within a timeout (within this crate only).
    Quiet,
    /// Stopped by the caller.
    Stopped,
}

impl std::fmt::Display for GuestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = |f: &mut std::fmt::Formatter<'_>, console: &str| match console {
            "" => f.write_str("; its console is empty"),
            lines => {
                write!(f, "; its console ends with\n{lines}")?;
                let full = lines.contains("/dev/shm") && lines.contains("ran out of space");
                f.write_str(if full { NO_ROOM } else { "" })
            }
        };
        match self {
            GuestError::Machine(why) => f.write_str(why),
            GuestError::Protocol(what) => write!(f, "the guest breaks the protocol: {what}"),
            GuestError::Gone { how, console } => {
                let space = if how.is_empty() { "" } else { " " };
                write!(f, "the guest has ended{space}{how}")?;
                last(f, console)
            }
            GuestError::Stuck { seconds, console } => {
                write!(f, "the guest's time has stood still for {seconds} s: a program in it computes without a pause or reading a clock; let it sleep or wait, or run it in real time (--backend emulation)")?;
                last(f, console)
            }
            GuestError::Quiet => f.write_str("the guest says nothing"),
            GuestError::Stopped => f.write_str("the guest was stopped"),
        }
    }
}

impl std::error::Error for GuestError {}

impl From<io::Error> for GuestError {
    fn from(e: io::Error) -> Self {
        GuestError::Machine(e.to_string())
    }
}
