// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clock of a guest: messages of 16 bytes over a socket, and memory shared by both sides.

use crate::types::GuestError;
use crate::wire::{read_exactly, send_with_files};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
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

/// Layout of `struct um_timetravel_schedshm`: a page, then 128 bytes for each client; client 0 is
/// the controller.
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
    /// `struct um_timetravel_doorbells`, added by the kernel patch: four counters and two rings.
    pub const DOORBELLS: usize = 8192;
    pub const ARRIVALS_PUT: usize = DOORBELLS;
    pub const ARRIVALS_TAKEN: usize = DOORBELLS + 4;
    pub const SENDS_PUT: usize = DOORBELLS + 8;
    pub const SENDS_TAKEN: usize = DOORBELLS + 12;
    pub const ARRIVALS: usize = DOORBELLS + 16;
    pub const SENDS: usize = ARRIVALS + BELL * super::BELLS as usize;
    /// Bytes of a doorbell: instant, device, queue, index, padding.
    pub const BELL: usize = 16;
    pub const END: usize = SENDS + BELL * super::BELLS as usize;
}

const VERSION: u32 = 2;
const SIZE: usize = at::END.next_multiple_of(4096);
/// Capacity of a ring of doorbells: the maximum number in one slice of time.
pub const BELLS: u32 = 512;
const GUEST: usize = 1;
const TIME_SHARE: u32 = 1;
const DOORBELLS: u32 = 2;
const REQUESTED: u32 = 1;

/// Time of day at time zero, in nanoseconds since 1970: fixed, so that runs are reproducible.
const TIME_OF_DAY_NS: u64 = 1_767_225_600_000_000_000;

/// Maximum number of interfaces of a guest: one bit each.
pub const MAX_DEVICES: usize = 64;

/// Notification that the ring of an interface has advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Instant, in nanoseconds since the guest's boot.
    pub at_ns: u64,
    /// Number of the interface.
    pub device: u16,
    /// Number of its ring.
    pub queue: u16,
    /// The ring's index then: that of used buffers for arrivals, of available ones for sends.
    pub index: u16,
}

/// The clock of one guest.
pub struct Clock {
    socket: UnixStream,
    shared: MmapRegion,
    file: OwnedFd,
    /// Number of doorbells put for the guest, and taken from the guest, so far.
    arrivals_put: u32,
    sends_taken: u32,
}

/// Messages of a guest over the socket of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The guest waits for the time requested in shared memory, or for an interrupt.
    Waits,
    /// The guest has sent another message, which has been answered.
    Answered,
}

impl Clock {
    /// A clock over a socket that a guest has connected to.
    ///
    /// # Errors
    /// If no memory can be shared.
    pub fn new(socket: UnixStream) -> Result<Self, GuestError> {
        let file = memfd_create("perigee-clock", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, SIZE as u64)?;
        // Truncation by a guest would raise SIGBUS at the next access.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mapped = FileOffset::new(File::from(file.try_clone()?), 0);
        let shared = MmapRegion::from_file(mapped, SIZE)
            .map_err(|e| GuestError::Machine(format!("the clock's memory cannot be mapped: {e}")))?;
        let clock = Clock { socket, shared, file, arrivals_put: 0, sends_taken: 0 };
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

    /// Time at which the guest requests to run; `None` = it waits only for an interrupt.
    pub fn request_ns(&self) -> Option<u64> {
        (self.flags() & REQUESTED != 0).then(|| self.get64(Self::client(at::REQUEST)))
    }

    /// Number of doorbells that the guest has not taken yet.
    ///
    /// # Errors
    /// If the guest's counter is invalid.
    pub fn expected(&self) -> Result<u32, GuestError> {
        let expected = self.arrivals_put.wrapping_sub(self.get32(at::ARRIVALS_TAKEN));
        if expected > BELLS {
            return Err(GuestError::Protocol("the number of arrivals that it took".into()));
        }
        Ok(expected)
    }

    /// Whether there is room for another arrival.
    ///
    /// # Errors
    /// As [`expected`](Clock::expected).
    pub fn has_room(&self) -> Result<bool, GuestError> {
        Ok(self.expected()? < BELLS)
    }

    /// Announces an arrival no earlier than those announced before. False if there is no room.
    ///
    /// # Errors
    /// As [`expected`](Clock::expected).
    pub fn announce(&mut self, bell: Doorbell) -> Result<bool, GuestError> {
        if self.expected()? == BELLS {
            return Ok(false);
        }
        self.set_bell(at::ARRIVALS, self.arrivals_put, bell);
        self.arrivals_put = self.arrivals_put.wrapping_add(1);
        self.set32(at::ARRIVALS_PUT, self.arrivals_put);
        Ok(true)
    }

    /// Announces an arrival earlier than all those announced but not taken. False if there is no
    /// room.
    ///
    /// # Errors
    /// As [`expected`](Clock::expected).
    pub fn announce_first(&mut self, bell: Doorbell) -> Result<bool, GuestError> {
        let expected = self.expected()?;
        if expected == BELLS {
            return Ok(false);
        }
        let first = self.arrivals_put.wrapping_sub(expected).wrapping_sub(1);
        self.set_bell(at::ARRIVALS, first, bell);
        self.set32(at::ARRIVALS_TAKEN, first);
        Ok(true)
    }

    /// Takes the next doorbell of the guest.
    ///
    /// # Errors
    /// If the guest's counter is invalid.
    pub fn take_send(&mut self) -> Result<Option<Doorbell>, GuestError> {
        let left = self.get32(at::SENDS_PUT).wrapping_sub(self.sends_taken);
        match left {
            0 => return Ok(None),
            1..=BELLS => {}
            _ => return Err(GuestError::Protocol("the number of its sends".into())),
        }
        let place = at::SENDS + (self.sends_taken % BELLS) as usize * at::BELL;
        let bell = Doorbell {
            at_ns: self.get64(place),
            device: self.get16(place + 8),
            queue: self.get16(place + 10),
            index: self.get16(place + 12),
        };
        self.sends_taken = self.sends_taken.wrapping_add(1);
        self.set32(at::SENDS_TAKEN, self.sends_taken);
        Ok(Some(bell))
    }

    /// Runs the guest from `at_ns`, without synchronisation while its time is below
    /// `free_until_ns`.
    ///
    /// # Errors
    /// If the guest has exited.
    pub fn run(&mut self, at_ns: u64, free_until_ns: u64) -> Result<(), GuestError> {
        self.set64(at::CURRENT_TIME, at_ns);
        self.set64(at::FREE_UNTIL, free_until_ns);
        self.set16(at::RUNNING, GUEST as u16);
        self.socket.write_all(&message(op::RUN, 0, at_ns)).map_err(GuestError::gone)
    }

    /// Reads and answers one message.
    ///
    /// # Errors
    /// If the guest has exited, or violates the protocol.
    pub fn receive(&mut self) -> Result<Message, GuestError> {
        let mut raw = [0; 16];
        read_exactly(&mut self.socket, &mut raw)?;
        let field = |i: usize| u32::from_ne_bytes(raw[i..i + 4].try_into().expect("four bytes"));
        let (what, number) = (field(0), field(4));
        let time = u64::from_ne_bytes(raw[8..].try_into().expect("eight bytes"));
        match what {
            op::WAIT => {
                self.set16(at::RUNNING, 0);
                return Ok(Message::Waits);
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
        Ok(Message::Answered)
    }

    /// Sends the guest's number and two descriptors: the shared memory, and a log that is never
    /// read.
    fn start(&mut self, number: u32) -> Result<Message, GuestError> {
        let answer = message(op::ACK, number, GUEST as u64);
        let log = File::options().write(true).open("/dev/null")?;
        send_with_files(&self.socket, &answer, &[self.file.as_fd(), log.as_fd()])?;
        Ok(Message::Answered)
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

    fn set_bell(&self, ring: usize, counter: u32, bell: Doorbell) {
        let place = ring + (counter % BELLS) as usize * at::BELL;
        self.set64(place, bell.at_ns);
        self.set16(place + 8, bell.device);
        self.set16(place + 10, bell.queue);
        self.set16(place + 12, bell.index);
    }

    fn get16(&self, offset: usize) -> u16 {
        self.shared.as_volatile_slice().load(offset, Ordering::Acquire).expect("lies within")
    }

    fn get32(&self, offset: usize) -> u32 {
        self.shared.as_volatile_slice().load(offset, Ordering::Acquire).expect("lies within")
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

    fn bell(at_ns: u64) -> Doorbell {
        Doorbell { at_ns, device: 3, queue: 1, index: 65_535 }
    }

    #[test]
    fn a_run_carries_time_and_horizon() {
        let (mut clock, mut guest) = clock();
        clock.run(1_000, 5_000).unwrap();
        let mut raw = [0; 16];
        guest.read_exact(&mut raw).unwrap();
        assert_eq!(raw, message(op::RUN, 0, 1_000));
        assert_eq!(clock.now_ns(), 1_000);
        assert_eq!(clock.get64(at::FREE_UNTIL), 5_000);
    }

    #[test]
    fn a_guest_cannot_cut_the_memory_short() {
        let (clock, _guest) = clock();
        assert!(ftruncate(&clock.file, 0).is_err());
        assert!(ftruncate(&clock.file, 2 * SIZE as u64).is_err());
    }

    /// Instants of the doorbells that the guest would take, in order.
    fn announced(clock: &Clock) -> Vec<u64> {
        let taken = clock.get32(at::ARRIVALS_TAKEN);
        let place = |i: u32| at::ARRIVALS + (taken.wrapping_add(i) % BELLS) as usize * at::BELL;
        (0..clock.expected().unwrap()).map(|i| clock.get64(place(i))).collect()
    }

    #[test]
    fn arrivals_are_announced_in_order_while_there_is_room() {
        let (mut clock, _guest) = clock();
        assert!(clock.announce_first(bell(5)).unwrap());
        for at in 6..5 + u64::from(BELLS) {
            assert!(clock.announce(bell(at)).unwrap());
        }
        assert!(!clock.announce(bell(9_999)).unwrap());
        assert!(!clock.announce_first(bell(1)).unwrap());
        assert_eq!(announced(&clock), (5..5 + u64::from(BELLS)).collect::<Vec<_>>());
        // The guest takes two doorbells.
        clock.set32(at::ARRIVALS_TAKEN, 1);
        assert!(clock.announce_first(bell(2)).unwrap());
        assert_eq!(announced(&clock)[..2], [2, 7]);
        // A guest cannot take more doorbells than were announced.
        clock.set32(at::ARRIVALS_TAKEN, BELLS);
        assert!(clock.expected().is_err());
    }

    #[test]
    fn sends_are_taken_once() {
        let (mut clock, _guest) = clock();
        assert_eq!(clock.take_send().unwrap(), None);
        clock.set_bell(at::SENDS, 0, bell(7));
        clock.set32(at::SENDS_PUT, 1);
        assert_eq!(clock.take_send().unwrap(), Some(bell(7)));
        assert_eq!(clock.take_send().unwrap(), None);
        assert_eq!(clock.get32(at::SENDS_TAKEN), 1);
        clock.set32(at::SENDS_PUT, 0);
        assert!(clock.take_send().is_err());
    }

    #[test]
    fn requests_by_message_are_kept_and_answered() {
        let (mut clock, mut guest) = clock();
        assert_eq!(clock.request_ns(), None);
        guest.write_all(&message(op::REQUEST, 7, 42)).unwrap();
        assert_eq!(clock.receive().unwrap(), Message::Answered);
        assert_eq!(clock.request_ns(), Some(42));
        let mut raw = [0; 16];
        guest.read_exact(&mut raw).unwrap();
        assert_eq!(raw, message(op::ACK, 7, 0));
        guest.write_all(&message(op::WAIT, 8, 0)).unwrap();
        assert_eq!(clock.receive().unwrap(), Message::Waits);
    }

    #[test]
    fn an_unknown_operation_is_refused_and_a_closed_socket_is_the_end() {
        let (mut clock, mut guest) = clock();
        guest.write_all(&message(99, 1, 0)).unwrap();
        assert!(matches!(clock.receive(), Err(GuestError::Protocol(_))));
        drop(guest);
        assert!(matches!(clock.receive(), Err(GuestError::Gone { .. })));
    }
}
