// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real hosts in real time: network namespaces of this machine's kernel. The agent, a separate process
//! (`python/perigee_lab/hosts/agent`), creates them, carries flows and runs programs in them; this
//! process has a packet socket at each host's interface.

use crate::job::{self, Job};
use crate::report::{self, Report};
use crate::spawn::spawn;
use crate::types::GuestError;
use crate::types::{Mac, SentFrame};
use crate::wire::{read_exactly, read_with_files, send_with_files};
use nix::sys::socket::{recvmsg, ControlMessageOwned, MsgFlags};
use perigee_units::Nanos;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{send, SendFlags};
use rustix::time::{clock_gettime, ClockId};
use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

/// Maximum frame size of an interface without segmentation offload, with room for VLAN tags.
const MAX_FRAME: usize = 2048;
/// Maximum size of a report with its Ethernet header.
const MAX_REPORT: usize = 1 << 17;
/// Size of the socket buffer for frames that arrive while this process is not running: some 14,000
/// frames with root privileges. Other users get twice net.core.rmem_max.
const SOCKET_BYTES: usize = 16 << 20;
/// In place of the number of a host in a message to the agent: the end of the run.
const END_OF_RUN: u32 = u32::MAX;
/// Maximum number of frames taken from one interface before the others get their turn.
const TURN: usize = 64;

/// Namespaces of a run.
pub struct Live {
    child: Child,
    control: UnixStream,
    /// Bytes of incomplete reports.
    received: Vec<u8>,
    sockets: Vec<OwnedFd>,
    /// Per socket: hardware address of a device attached to an interface of the machine, if frames
    /// from it have arrived.
    devices: Vec<Option<Mac>>,
    /// Per socket: number of frames lost for lack of buffer space.
    lost: Vec<u32>,
    /// Wall-clock time at time zero of the run.
    zero: Nanos,
    ended: bool,
}

impl Live {
    /// Creates the hosts of a job with a command that executes the agent. Programs with a
    /// terminal use the standard input of this process.
    ///
    /// # Errors
    /// Errors of system calls.
    pub fn make(command: &[String], job: &Job) -> Result<Live, GuestError> {
        let [program, arguments @ ..] = command else {
            return Err(GuestError::Machine("no command that makes namespaces".into()));
        };
        let (control, theirs) = UnixStream::pair()?;
        let mut process = Command::new(program);
        process.args(arguments).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::inherit());
        let child = spawn(process)
            .map_err(|e| GuestError::Machine(format!("{program} (of util-linux) cannot be started: {e}")))?;
        let mut live = Live {
            child,
            control,
            received: Vec::new(),
            sockets: Vec::new(),
            devices: vec![None; job.hosts.len()],
            lost: vec![0; job.hosts.len()],
            zero: Nanos::ZERO,
            ended: false,
        };
        let text = job.text(&(0..job.hosts.len()));
        send_with_files(&live.control, &(text.len() as u32).to_ne_bytes(), &[std::io::stdin().as_fd()])?;
        live.control.write_all(text.as_bytes()).map_err(GuestError::gone)?;
        while live.sockets.len() < job.hosts.len() {
            live.accept()?;
        }
        live.control.set_nonblocking(true)?;
        Ok(live)
    }

    /// Accepts the next host's socket.
    fn accept(&mut self) -> Result<(), GuestError> {
        let refused = |e: GuestError| {
            match e {
            GuestError::Gone { .. } => GuestError::Machine(
                "the namespaces cannot be made: the process that makes them has ended (its words stand above)".into(),
            ),
            other => other,
        }
        };
        let mut size = [0; 4];
        let files = read_with_files(&mut self.control, &mut size).map_err(refused)?;
        let size = u32::from_ne_bytes(size) as usize;
        if size > MAX_REPORT {
            return Err(GuestError::Protocol(format!("a report of {size} bytes")));
        }
        let mut frame = vec![0; size];
        read_exactly(&mut self.control, &mut frame).map_err(refused)?;
        for report in report::read(&frame).map_err(GuestError::Protocol)? {
            match report {
                Report::Failed(_, _, why) => return Err(GuestError::Machine(why)),
                Report::Ready => {}
                other => return Err(GuestError::Protocol(format!("{other:?} before the start"))),
            }
        }
        for file in &files {
            // Not permitted to ordinary users, including root of a user namespace.
            let _ = set_socket_recv_buffer_size_force(file, SOCKET_BYTES);
        }
        self.sockets.extend(files);
        Ok(())
    }

    /// Sets time zero to now: start times of programs refer to it.
    ///
    /// # Errors
    /// If the other process has exited.
    pub fn start(&mut self) -> Result<(), GuestError> {
        // By default timers of a thread expire up to 50 us late, so that they can be coalesced.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        self.zero = clock(ClockId::Monotonic);
        self.control.write_all(&self.zero.0.to_ne_bytes()).map_err(GuestError::gone)
    }

    /// Wall-clock time since the start.
    pub fn now(&self) -> Nanos {
        clock(ClockId::Monotonic).saturating_sub(self.zero)
    }

    /// Waits until `until`, or until data arrives.
    ///
    /// # Errors
    /// Errors of system calls.
    pub fn wait(&self, until: Nanos) -> Result<(), GuestError> {
        let left = until.saturating_sub(self.now()).0;
        let mut fds: Vec<PollFd<'_>> = self.sockets.iter().map(|s| PollFd::new(s, PollFlags::IN)).collect();
        fds.push(PollFd::new(&self.control, PollFlags::IN));
        let time = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Takes the frames that hosts have sent, with the kernel's timestamps, in order of time.
    ///
    /// # Errors
    /// Errors of system calls.
    pub fn receive(&mut self) -> Result<Vec<SentFrame>, GuestError> {
        let offset = clock(ClockId::Realtime).saturating_sub(self.now());
        let mut frames = Vec::new();
        for (interface, socket) in self.sockets.iter().enumerate() {
            for _ in 0..TURN {
                let Some((stamp, lost, bytes)) = receive_one(socket)? else { break };
                self.lost[interface] = lost.unwrap_or(self.lost[interface]);
                // If the time of day was set back in the meantime, timestamps are in the future.
                let now = self.now();
                let at = stamp.map_or(now, |stamp| stamp.saturating_sub(offset).min(now));
                self.devices[interface] = device(&bytes, interface);
                frames.push(SentFrame { at, interface, bytes });
            }
        }
        frames.sort_by_key(|frame| frame.at);
        Ok(frames)
    }

    /// Delivers a frame to a host now. False if its interface rejects it.
    pub fn deliver(&self, host: usize, frame: &[u8]) -> bool {
        match self.devices[host] {
            None => self.send(host, frame),
            Some(mac) => self.send(host, &[&mac, &frame[mac.len()..]].concat()),
        }
    }

    /// Changes the carrier of a host's interface now; the other process adds a delay of some tenths
    /// of a millisecond.
    ///
    /// # Errors
    /// If the other process has exited.
    pub fn set_carrier(&mut self, host: usize, carrier: bool) -> Result<(), GuestError> {
        let words = [host as u32, u32::from(carrier)].map(u32::to_ne_bytes);
        self.control.write_all(&words.concat()).map_err(GuestError::gone)
    }

    /// Requests the end of all programs, which the agent sends SIGTERM.
    ///
    /// # Errors
    /// If the other process has exited.
    pub fn end_programs(&mut self) -> Result<(), GuestError> {
        self.control.write_all(&[END_OF_RUN, 0].map(u32::to_ne_bytes).concat()).map_err(GuestError::gone)
    }

    fn send(&self, host: usize, frame: &[u8]) -> bool {
        loop {
            match send(&self.sockets[host], frame, SendFlags::DONTWAIT) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Number of frames of hosts lost because they arrived faster than they were read.
    pub fn overruns(&self) -> u64 {
        self.lost.iter().map(|n| u64::from(*n)).sum()
    }

    /// Reports about programs since the latest call.
    ///
    /// # Errors
    /// If the other process has exited, which it never does by itself.
    pub fn reports(&mut self) -> Result<Vec<Report>, GuestError> {
        let mut part = [0; 1 << 16];
        while !self.ended {
            match self.control.read(&mut part) {
                Ok(0) => self.ended = true,
                Ok(n) => self.received.extend(&part[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.ended = true,
            }
        }
        let mut reports = Vec::new();
        while let Some(frame) = next_report(&mut self.received)? {
            reports.extend(report::read(&frame).map_err(GuestError::Protocol)?);
        }
        if self.ended && reports.is_empty() {
            return Err(GuestError::Machine("the process with the hosts was killed".into()));
        }
        Ok(reports)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // The process ends when its socket is closed, unless it is stopped.
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Source address of a frame, if it differs from that of the host.
fn device(frame: &[u8], host: usize) -> Option<Mac> {
    let sender: Mac = frame.get(6..12)?.try_into().ok()?;
    (sender != job::mac(host)).then_some(sender)
}

/// Removes and returns the first complete report.
fn next_report(received: &mut Vec<u8>) -> Result<Option<Vec<u8>>, GuestError> {
    let Some(size) = received.first_chunk::<4>().map(|size| u32::from_ne_bytes(*size) as usize) else {
        return Ok(None);
    };
    if size > MAX_REPORT {
        return Err(GuestError::Protocol(format!("a report of {size} bytes")));
    }
    if received.len() < 4 + size {
        return Ok(None);
    }
    let frame = received[4..4 + size].to_vec();
    received.drain(..4 + size);
    Ok(Some(frame))
}

/// A received frame: the kernel's timestamp (time of day), number of frames lost before it, and its
/// bytes.
type Received = (Option<Nanos>, Option<u32>, Box<[u8]>);

fn receive_one(socket: &OwnedFd) -> Result<Option<Received>, GuestError> {
    let mut buffer = [0; MAX_FRAME];
    let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec, u32);
    let (size, stamp, lost) = loop {
        let mut into = [IoSliceMut::new(&mut buffer)];
        let got = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut space), MsgFlags::MSG_DONTWAIT);
        match got {
            Ok(got) => {
                let (mut stamp, mut lost) = (None, None);
                for message in got.cmsgs().into_iter().flatten() {
                    match message {
                        ControlMessageOwned::ScmTimestampns(t) => {
                            stamp = Some(nanos(t.tv_sec(), t.tv_nsec()))
                        }
                        ControlMessageOwned::RxqOvfl(n) => lost = Some(n),
                        _ => {}
                    }
                }
                break (got.bytes, stamp, lost);
            }
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(nix::Error::EINTR) => {}
            // The interface is down, as a program can do to its host.
            Err(nix::Error::ENETDOWN) => return Ok(None),
            Err(e) => return Err(GuestError::Machine(format!("a host's interface: {e}"))),
        }
    };
    Ok(Some((stamp, lost, buffer[..size].into())))
}

fn clock(which: ClockId) -> Nanos {
    let t = clock_gettime(which);
    nanos(t.tv_sec, t.tv_nsec)
}

fn nanos(seconds: i64, nanoseconds: i64) -> Nanos {
    Nanos((seconds as u64).saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_cut_off_whole() {
        let mut received = Vec::new();
        for part in [&[3, 0, 0, 0, 7][..], &[8], &[9, 1]] {
            assert_eq!(next_report(&mut received).unwrap(), None);
            received.extend(part);
        }
        assert_eq!(next_report(&mut received).unwrap(), Some(vec![7, 8, 9]));
        assert_eq!(received, [1]);
        received.extend([0xff; 3]);
        assert!(next_report(&mut received).is_err(), "larger than any report");
    }

    #[test]
    fn devices_are_known_by_the_frames_that_they_send() {
        let frame = |sender: Mac| [&[0xff; 6][..], &sender, &[8, 0]].concat();
        assert_eq!(device(&frame(job::mac(3)), 3), None);
        assert_eq!(device(&frame([6; 6]), 3), Some([6; 6]));
        assert_eq!(device(&[0; 11], 3), None);
    }

    #[test]
    fn a_command_that_cannot_be_started_is_named() {
        let made = Live::make(&["no-such-program".into()], &Job::default());
        assert!(made.err().unwrap().to_string().contains("no-such-program"));
    }
}
