// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What guests are made of, what they send and why they fail: the same on every machine.

use perigee_units::Nanos;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A hardware address.
pub type Mac = [u8; 6];

/// How long a guest may say nothing while its time stands still, unless told otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What interfaces of a guest can do beside carrying packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// They make checksums and cut large TCP segments into packets.
    pub offload: bool,
    /// They can lose their carrier.
    pub carrier: bool,
}

/// What to do about a guest whose memory finds no room.
const NO_ROOM: &str = "enlarge it (mount -o remount,size=2G /dev/shm; docker run --shm-size=2g)\n";

/// What a guest is made of.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// The kernel's binary.
    pub kernel: PathBuf,
    /// Its root: a folder with an `init`, and with room for sockets and the console's file.
    pub folder: PathBuf,
    /// The program that it starts, as the guest sees it.
    pub init: String,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Seed of all of its randomness.
    pub seed: u64,
    /// Hardware addresses of its interfaces.
    pub interfaces: Vec<Mac>,
    /// What its interfaces can do, but for that of reports.
    pub offer: Offer,
    /// Wall time after which a guest that neither waits nor goes on is given up.
    pub patience: Duration,
}

/// A frame that a guest has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When, in the guest's time.
    pub at: Nanos,
    /// Number of the interface.
    pub interface: usize,
    /// Ethernet header and what follows.
    pub bytes: Box<[u8]>,
}

/// Why a guest cannot go on.
#[derive(Debug)]
pub enum GuestError {
    /// This machine refuses something that a guest needs.
    Machine(String),
    /// The guest says what the protocol does not know.
    Protocol(String),
    /// The guest has ended; its last lines.
    Gone {
        /// How its process ended, where that is known: `by signal 9`, `with exit code 1`.
        how: String,
        /// What its console shows last.
        console: String,
    },
    /// The guest's time stands still.
    Stuck {
        /// Seconds of wall time without a word.
        seconds: u64,
        /// What its console shows last.
        console: String,
    },
    /// Nothing was said for a while (within this crate only).
    Quiet,
    /// Whoever was asked does not want it to go on.
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
                write!(f, "the guest's time has stood still for {seconds} s: a program in it computes without reading a clock")?;
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
