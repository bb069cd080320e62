// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A guest's clock: messages of 16 bytes over a socket, and the memory that both sides share.

use crate::guest::GuestError;
use crate::wire::{read_exactly, send_with_files};
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use vm_memory::mmap::MmapRegion;
use vm_memory::{Bytes, FileOffset, VolatileMemory};

/// Operations of the protocol (`enum um_timetravel_ops`).
mod op {
    pub const ACK: u32 = 0;
    pub const START: u32 = 1;
    pub const REQUEST: u32 = 2;
    pub const WAIT: u32 = 3;
    pub const GET: u32 = 4;
    pub const UPDATE: u32 = 5;
    pub const RUN: u32 = 6;
    pub const GET_TOD: u32 = 8;
}

/// Layout of `struct um_timetravel_schedshm`: a page, then 128 bytes for each client; client 0 is the controller.
mod at {
    pub const VERSION: usize = 0;
    pub const LENGTH: usize = 4;
    pub const FREE_UNTIL: usize = 8;
    pub const CURRENT_TIME: usize = 16;
    pub const RUNNING: usize = 24;
    pub const MAX_CLIENTS: usize = 26;
    pub const CLIENTS: usize = 4096;
    pub const CLIENT_SIZE: usize = 128;
    pub const CAPABILITIES: usize = 0;
    pub const FLAGS: usize = 4;
    pub const REQUEST: usize = 8;
    /// These two are of our patch to the kernel.
    pub const INTERRUPTS: usize = 24;
    pub const KICKS: usize = 32;
}

const VERSION: u32 = 2;
const SIZE: usize = 2 * 4096;
const GUEST: usize = 1;
const TIME_SHARE: u32 = 1;
const DOORBELLS: u32 = 2;
const REQUESTED: u32 = 1;

/// Time of day at time zero, in nanoseconds since 1970: fixed, so that runs can be repeated.
const TIME_OF_DAY_NS: u64 = 1_767_225_600_000_000_000;

/// Most interfaces of a guest: one bit each.
pub const MAX_DEVICES: usize = 64;

/// The clock of one guest.
pub struct Clock {
    socket: UnixStream,
    shared: MmapRegion,
    file: OwnedFd,
}

/// What a guest says over its clock's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It waits for the time that it asked for in shared memory, or for an interrupt.
    Waits,
    /// Something that has been answered.
    Answered,
}

impl Clock {
    /// The clock at the end of a socket that a guest has connected to.
    ///
    /// # Errors
    /// When there is no memory to share.
    pub fn new(socket: UnixStream) -> Result<Self, GuestError> {
        let file = memfd_create("perigee-clock", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, SIZE as u64)?;
        let mapped = FileOffset::new(File::from(file.try_clone()?), 0);
        let shared = MmapRegion::from_file(mapped, SIZE)
            .map_err(|e| GuestError::Machine(format!("the clock's memory cannot be mapped: {e}")))?;
        let clock = Clock { socket, shared, file };
        clock.set32(at::VERSION, VERSION);
        clock.set32(at::LENGTH, SIZE as u32);
        clock.set16(at::MAX_CLIENTS, 2);
        clock.set32(at::CLIENTS + at::CAPABILITIES, TIME_SHARE | DOORBELLS);
        clock.set16(at::RUNNING, GUEST as u16);
        Ok(clock)
    }

    /// The socket, to be polled.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The guest's time in nanoseconds since its boot.
    pub fn now_ns(&self) -> u64 {
        self.get64(at::CURRENT_TIME)
    }

    /// When the guest wants to run; `None` = it waits for an interrupt only.
    pub fn request_ns(&self) -> Option<u64> {
        (self.flags() & REQUESTED != 0).then(|| self.get64(Self::client(at::REQUEST)))
    }

    /// Interfaces (bits) that the guest has kicked since the latest call.
    pub fn take_kicks(&self) -> u64 {
        let kicks = self.get64(Self::client(at::KICKS));
        if kicks != 0 {
            self.set64(Self::client(at::KICKS), 0);
        }
        kicks
    }

    /// Lets the guest run from `at_ns`, freely while its time is below `free_until_ns`; interfaces in `interrupts` (bits)
    /// interrupt it first.
    ///
    /// # Errors
    /// When the guest has gone.
    pub fn run(&mut self, at_ns: u64, free_until_ns: u64, interrupts: u64) -> Result<(), GuestError> {
        self.set64(at::CURRENT_TIME, at_ns);
        self.set64(at::FREE_UNTIL, free_until_ns);
        self.set64(Self::client(at::INTERRUPTS), interrupts);
        self.set16(at::RUNNING, GUEST as u16);
        self.socket.write_all(&message(op::RUN, 0, at_ns)).map_err(GuestError::gone)
    }

    /// Reads one message and answers it.
    ///
    /// # Errors
    /// When the guest has gone, or breaks the protocol.
    pub fn hear(&mut self) -> Result<Said, GuestError> {
        let mut raw = [0; 16];
        read_exactly(&mut self.socket, &mut raw)?;
        let field = |i: usize| u32::from_ne_bytes(raw[i..i + 4].try_into().expect("four bytes"));
        let (what, number) = (field(0), field(4));
        let time = u64::from_ne_bytes(raw[8..].try_into().expect("eight bytes"));
        match what {
            op::WAIT => {
                self.set16(at::RUNNING, 0);
                return Ok(Said::Waits);
            }
            op::START => return self.start(number),
            op::GET => self.answer(number, self.now_ns())?,
            op::GET_TOD => self.answer(number, TIME_OF_DAY_NS + self.now_ns())?,
            op::UPDATE => {
                self.set64(at::CURRENT_TIME, time);
                self.answer(number, 0)?;
            }
            op::REQUEST => {
                self.set64(Self::client(at::REQUEST), time);
                self.set32(Self::client(at::FLAGS), REQUESTED);
                self.answer(number, 0)?;
            }
            other => return Err(GuestError::Protocol(format!("operation {other} of its clock"))),
        }
        Ok(Said::Answered)
    }

    /// The guest's number, and two descriptors: the shared memory, and a log that nobody reads.
    fn start(&mut self, number: u32) -> Result<Said, GuestError> {
        let answer = message(op::ACK, number, GUEST as u64);
        let log = File::options().write(true).open("/dev/null")?;
        send_with_files(&self.socket, &answer, &[self.file.as_fd(), log.as_fd()])?;
        Ok(Said::Answered)
    }

    fn answer(&mut self, number: u32, time: u64) -> Result<(), GuestError> {
        self.socket.write_all(&message(op::ACK, number, time)).map_err(GuestError::gone)
    }

    fn client(field: usize) -> usize {
        at::CLIENTS + GUEST * at::CLIENT_SIZE + field
    }

    fn flags(&self) -> u32 {
        let all = self.shared.as_volatile_slice();
        all.load(Self::client(at::FLAGS), Ordering::Acquire).expect("lies within")
    }

    fn get64(&self, offset: usize) -> u64 {
        self.shared.as_volatile_slice().load(offset, Ordering::Acquire).expect("lies within")
    }

    fn set64(&self, offset: usize, value: u64) {
        self.shared.as_volatile_slice().store(value, offset, Ordering::Release).expect("lies within");
    }

    fn set32(&self, offset: usize, value: u32) {
        self.shared.as_volatile_slice().store(value, offset, Ordering::Release).expect("lies within");
    }

    fn set16(&self, offset: usize, value: u16) {
        self.shared.as_volatile_slice().store(value, offset, Ordering::Release).expect("lies within");
    }
}

fn message(op: u32, number: u32, time: u64) -> [u8; 16] {
    let mut raw = [0; 16];
    raw[..4].copy_from_slice(&op.to_ne_bytes());
    raw[4..8].copy_from_slice(&number.to_ne_bytes());
    raw[8..].copy_from_slice(&time.to_ne_bytes());
    raw
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// A clock, and the guest's end of its socket.
    fn clock() -> (Clock, UnixStream) {
        let (ours, guests) = UnixStream::pair().unwrap();
        (Clock::new(ours).unwrap(), guests)
    }

    #[test]
    fn a_run_carries_time_horizon_and_interrupts() {
        let (mut clock, mut guest) = clock();
        clock.run(1_000, 5_000, 0b101).unwrap();
        let mut raw = [0; 16];
        guest.read_exact(&mut raw).unwrap();
        assert_eq!(raw, message(op::RUN, 0, 1_000));
        assert_eq!(clock.now_ns(), 1_000);
        assert_eq!(clock.get64(at::FREE_UNTIL), 5_000);
        assert_eq!(clock.get64(Clock::client(at::INTERRUPTS)), 0b101);
    }

    #[test]
    fn requests_by_message_are_kept_and_answered() {
        let (mut clock, mut guest) = clock();
        assert_eq!(clock.request_ns(), None);
        guest.write_all(&message(op::REQUEST, 7, 42)).unwrap();
        assert_eq!(clock.hear().unwrap(), Said::Answered);
        assert_eq!(clock.request_ns(), Some(42));
        let mut raw = [0; 16];
        guest.read_exact(&mut raw).unwrap();
        assert_eq!(raw, message(op::ACK, 7, 0));
        guest.write_all(&message(op::WAIT, 8, 0)).unwrap();
        assert_eq!(clock.hear().unwrap(), Said::Waits);
    }

    #[test]
    fn kicks_are_taken_once() {
        let (clock, _guest) = clock();
        clock.set64(Clock::client(at::KICKS), 0b10);
        assert_eq!(clock.take_kicks(), 0b10);
        assert_eq!(clock.take_kicks(), 0);
    }

    #[test]
    fn an_unknown_operation_is_refused_and_a_closed_socket_is_the_end() {
        let (mut clock, mut guest) = clock();
        guest.write_all(&message(99, 1, 0)).unwrap();
        assert!(matches!(clock.hear(), Err(GuestError::Protocol(_))));
        drop(guest);
        assert!(matches!(clock.hear(), Err(GuestError::Gone { .. })));
    }
}
