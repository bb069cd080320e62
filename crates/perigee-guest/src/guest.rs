// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Guest: the process of a kernel, with its clock and interfaces.

use crate::busy::Advance;
use crate::clock::{Clock, Doorbell, Message, BELLS, MAX_DEVICES};
use crate::core::Core;
use crate::cpu_time::used_by;
use crate::device::{Device, RECEIVE, TRANSMIT};
use crate::job;
use crate::spawn::spawn;
use crate::types::{Busy, GoOn, Mac, Offer};
pub use crate::types::{GuestError, GuestSpec, SentFrame, PATIENCE};
use perigee_units::Nanos;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{openat2, Mode, OFlags, ResolveFlags, CWD};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between checks of the guest's process while it is silent.
const LOOK: Duration = Duration::from_millis(200);
/// Silence after which the CPU time is checked.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Timeout factor for a mostly idle guest.
const STARVED: u32 = 10;
/// Maximum time in milliseconds between a guest's last message and its exit.
const ENDING_TIMEOUT_MS: u32 = 100;
/// Maximum number of bytes in a guest's rings when it waits; more is an error.
const MOST_SENT: usize = 256 << 20;
/// Number of console lines in an error message.
const CONSOLE_LINES: usize = 12;
/// Number of bytes at the end of the console that are searched for them.
const CONSOLE_BYTES: u64 = 8192;
/// In place of a ring number in an announcement: the configuration has changed
/// (`UM_TIMETRAVEL_DOORBELL_CONFIG` of the kernel patch).
const CONFIGURATION: u16 = 0xffff;

impl From<Errno> for GuestError {
    fn from(e: Errno) -> Self {
        GuestError::Machine(io::Error::from(e).to_string())
    }
}

impl GuestError {
    pub(crate) fn closed() -> Self {
        GuestError::Gone { how: String::new(), console: String::new() }
    }

    pub(crate) fn gone(_: io::Error) -> Self {
        GuestError::closed()
    }
}

/// A future event at an interface of a guest.
struct Expected {
    /// Instant, in the guest's time.
    at: Nanos,
    interface: usize,
    what: What,
}

enum What {
    /// A frame arrives.
    Frame(Box<[u8]>),
    /// The carrier comes up or goes down.
    Carrier(bool),
}

/// A kernel in virtual time.
pub struct Guest {
    child: Child,
    clock: Clock,
    devices: Vec<Device>,
    /// Events not yet announced to the guest, in order of time.
    backlog: VecDeque<Expected>,
    /// The first of them was due, but there was no room.
    refused: bool,
    overruns: u64,
    sent: Vec<SentFrame>,
    /// Interfaces (bits) whose driver requested an interrupt after sending.
    interrupts: u64,
    /// A driver may request the configuration of its interface.
    configuration_pending: bool,
    console: File,
    offer: Offer,
    patience: Duration,
    /// Start of its silence, and its CPU time at that instant.
    quiet: Option<(Instant, Duration)>,
    core: Option<Arc<Core>>,
    advance: Advance,
}

impl Guest {
    /// Boots a guest and runs it until it first waits.
    ///
    /// # Errors
    /// If a system call fails, or the guest does not boot.
    pub fn boot(spec: &GuestSpec) -> Result<Guest, GuestError> {
        Guest::boot_on(Core::claim().map(Arc::new), spec)
    }

    /// Like [`boot`](Guest::boot), on the core of another guest with which this one alternates.
    ///
    /// # Errors
    /// If a system call fails, or the guest does not boot.
    pub fn boot_beside(other: &Guest, spec: &GuestSpec) -> Result<Guest, GuestError> {
        Guest::boot_on(other.core.clone(), spec)
    }

    fn boot_on(core: Option<Arc<Core>>, spec: &GuestSpec) -> Result<Guest, GuestError> {
        if spec.interfaces.len() > MAX_DEVICES {
            let n = spec.interfaces.len();
            return Err(GuestError::Machine(format!("{n} interfaces: a guest has {MAX_DEVICES} at most")));
        }
        check_confinement()?;
        let clock = listen(&spec.folder.join("clock"))?;
        let names: Vec<String> = (0..spec.interfaces.len()).map(|i| format!("net{i}")).collect();
        let listeners: io::Result<Vec<_>> = names.iter().map(|n| listen(&spec.folder.join(n))).collect();
        let listeners = listeners?;
        let console =
            File::options().read(true).append(true).create_new(true).open(spec.folder.join("console"))?;
        let mut child = spawn(command(spec, &names, &console)?)?;
        if let Some(core) = &core {
            core.keep(child.id());
        }
        let socket = accept(&clock, &mut child, spec.patience, &console);
        let clock = match socket.and_then(Clock::new) {
            Ok(clock) => clock,
            Err(e) => {
                end(&mut child);
                return Err(e);
            }
        };
        let mut guest = Guest {
            child,
            clock,
            devices: Vec::new(),
            backlog: VecDeque::new(),
            refused: false,
            overruns: 0,
            sent: Vec::new(),
            interrupts: 0,
            configuration_pending: false,
            console,
            offer: spec.offer,
            patience: spec.patience,
            quiet: None,
            core,
            advance: Advance::new(),
        };
        guest.bring_up(&listeners, &spec.interfaces).map_err(|e| guest.explained(e))?;
        guest.clock.socket().set_read_timeout(Some(LOOK))?;
        guest.clock.socket().set_write_timeout(Some(spec.patience))?;
        let now = guest.now();
        guest.collect(Nanos::ZERO, now + Nanos(1))?;
        Ok(guest)
    }

    /// Serves clock and interfaces until the guest waits and all of its interfaces are connected.
    fn bring_up(&mut self, listeners: &[UnixListener], macs: &[Mac]) -> Result<(), GuestError> {
        let mut quiet_since = crate::wall_clock::now();
        loop {
            // Interfaces connect in order: the next one is accepted.
            let waiting = listeners.get(self.devices.len());
            let (clock, ready, next) = {
                let mut fds = vec![PollFd::new(self.clock.socket(), PollFlags::IN)];
                fds.extend(self.devices.iter().map(|d| PollFd::new(d.socket(), PollFlags::IN)));
                fds.extend(waiting.map(|l| PollFd::new(l, PollFlags::IN)));
                poll(&mut fds, Some(&timespec(LOOK)))?;
                let set = |fd: &PollFd<'_>| !fd.revents().is_empty();
                let ready: Vec<usize> = (0..self.devices.len()).filter(|&i| set(&fds[1 + i])).collect();
                (set(&fds[0]), ready, waiting.is_some() && set(fds.last().expect("there is one")))
            };
            if next {
                let (socket, _) = listeners[self.devices.len()].accept()?;
                // Timeout for the remainder of a partial message.
                socket.set_read_timeout(Some(self.patience))?;
                socket.set_write_timeout(Some(self.patience))?;
                let of_host = self.devices.len() != job::REPORTS;
                let offer = if of_host { self.offer } else { Offer::default() };
                self.devices.push(Device::offering(socket, macs[self.devices.len()], offer));
            }
            for &i in &ready {
                self.devices[i].receive()?;
            }
            // The clock last: messages of an interface before a WAIT come first.
            if clock && ready.is_empty() && !next && self.clock.receive()? == Message::Waits {
                if self.devices.len() == listeners.len() {
                    return Ok(());
                }
                let at = self.clock.request_ns().ok_or_else(GuestError::closed)?;
                self.clock.run(at, at + 1_000_000)?;
            }
            if clock || next || !ready.is_empty() {
                quiet_since = crate::wall_clock::now();
            }
            self.watch(quiet_since)?;
        }
    }

    /// The guest's time since its boot.
    pub fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    /// Time of the guest's next activity: the requested time, or the next frame; `None` = none.
    pub fn wakes_at(&self) -> Option<Nanos> {
        let now = self.now();
        let frame = self.backlog.front().map(|frame| frame.at.max(now));
        let interrupt = (self.interrupts != 0).then_some(now);
        // Frames already in its memory are included in its own requests.
        [self.clock.request_ns().map(Nanos), frame, interrupt].into_iter().flatten().min()
    }

    /// Delivers a frame, Ethernet header first, to an interface at an instant of the guest's time.
    /// Calls must be in order of these instants.
    pub fn deliver(&mut self, interface: usize, at: Nanos, bytes: Box<[u8]>) {
        self.backlog.push_back(Expected { at, interface, what: What::Frame(bytes) });
    }

    /// Changes the carrier of an interface at an instant of the guest's time, in order with frames.
    pub fn set_carrier(&mut self, interface: usize, at: Nanos, carrier: bool) {
        self.backlog.push_back(Expected { at, interface, what: What::Carrier(carrier) });
    }

    /// Runs the guest from the instant at which it wakes until it waits: without synchronisation
    /// while its time is below `free_until`, unless its rings are full. `go_on` is called
    /// regularly.
    ///
    /// # Errors
    /// If it has exited or violates the protocol, its time does not advance, or `go_on` returns
    /// false.
    pub fn run(&mut self, free_until: Nanos, go_on: &mut GoOn<'_>) -> Result<(), GuestError> {
        self.slice(free_until, go_on).map_err(|e| self.explained(e))
    }

    fn slice(&mut self, free_until: Nanos, go_on: &mut GoOn<'_>) -> Result<(), GuestError> {
        let at = self.wakes_at().unwrap_or(free_until).max(self.now());
        let free_until = self.announce(at, free_until.max(at + Nanos(1)))?;
        self.clock.run(at.0, free_until.0)?;
        let went = self.until_it_waits(at, go_on);
        // The last frames of a guest that exits also count.
        let collected = self.collect(at, free_until);
        went.and(collected)
    }

    /// Answers messages until the guest, which runs from `at`, waits.
    fn until_it_waits(&mut self, at: Nanos, go_on: &mut GoOn<'_>) -> Result<(), GuestError> {
        let (mut since, mut last_time) = (crate::wall_clock::now(), at);
        let mut asked = since;
        loop {
            let spent = asked.elapsed();
            if spent >= LOOK {
                asked += spent;
                let busy = self.measure(spent);
                go_on(busy).then_some(()).ok_or(GuestError::Stopped)?;
            }
            if self.configuration_pending {
                self.wait_for_both()?;
            }
            match self.clock.receive() {
                Ok(Message::Waits) => {
                    let busy = self.measure(asked.elapsed());
                    let goes_on = busy.is_none() || go_on(busy);
                    return goes_on.then_some(()).ok_or(GuestError::Stopped);
                }
                // A guest that sends messages while its time does not advance is also stuck.
                Ok(Message::Answered) if self.now() == last_time => self.watch(since)?,
                Ok(Message::Answered) => (since, last_time) = (crate::wall_clock::now(), self.now()),
                Err(GuestError::Quiet) => {
                    self.receive_from_devices()?;
                    self.watch(since)?;
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Adds time spent in the guest to its measurement.
    fn measure(&mut self, spent: Duration) -> Option<Busy> {
        let leader = self.child.id();
        self.advance.add(spent, self.now(), || used_by(leader))
    }

    /// Puts all arrivals before `free_until` into the guest's memory; returns the time up to which
    /// they are complete.
    fn announce(&mut self, at: Nanos, free_until: Nanos) -> Result<Nanos, GuestError> {
        let mut interrupts = std::mem::take(&mut self.interrupts);
        while interrupts != 0 {
            let i = interrupts.trailing_zeros() as usize;
            interrupts &= interrupts - 1;
            let bell = doorbell(at, i, self.devices[i].seen()?);
            // If there is no room, another doorbell interrupts it.
            self.clock.announce_first(bell)?;
        }
        while let Some(next) = self.backlog.front().filter(|next| next.at < free_until) {
            let due = next.at.max(at);
            let room = self.clock.has_room()?;
            let device = &mut self.devices[next.interface];
            let bell = match (&next.what, room) {
                (_, false) => None,
                (What::Frame(bytes), true) => {
                    device.stage(bytes)?.map(|index| doorbell(due, next.interface, index))
                }
                (What::Carrier(carrier), true) => {
                    device.set_carrier(*carrier);
                    self.configuration_pending = true;
                    Some(Doorbell { queue: CONFIGURATION, ..doorbell(due, next.interface, 0) })
                }
            };
            match bell {
                Some(bell) => {
                    self.clock.announce(bell)?;
                    self.refused = false;
                    if bell.queue == CONFIGURATION {
                        // The driver will read the carrier soon: later changes are announced
                        // separately.
                        self.backlog.pop_front();
                        return Ok(free_until.min(due + Nanos(1)));
                    }
                }
                // The guest has run since and freed no buffers: the frame is lost, as on a card
                // without receive buffers.
                None if self.refused && due == at && matches!(next.what, What::Frame(_)) => {
                    self.overruns += 1
                }
                None => {
                    self.refused = due == at;
                    return Ok(due.max(at + Nanos(1)));
                }
            }
            self.backlog.pop_front();
        }
        Ok(free_until)
    }

    /// Number of frames lost because the guest had no buffers for them.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Drains the frames that the guest has sent since the latest call, in order of time.
    pub fn sent(&mut self) -> impl Iterator<Item = SentFrame> + '_ {
        self.sent.drain(..)
    }

    /// Takes the frames in the guest's transmit rings from one instant to before another.
    fn collect(&mut self, from: Nanos, until: Nanos) -> Result<(), GuestError> {
        let mut latest = from;
        let (mut rings, mut bytes_taken) = (0, 0);
        while let Some(bell) = self.clock.take_send()? {
            rings += 1;
            if rings > BELLS || bytes_taken > MOST_SENT {
                return Err(GuestError::Protocol("more frames than its rings hold".into()));
            }
            let (at, i) = (Nanos(bell.at_ns), usize::from(bell.device));
            if at < latest || at >= until {
                let why = format!("a frame at {at}, while it ran from {latest} to {until}");
                return Err(GuestError::Protocol(why));
            }
            latest = at;
            let Some(device) = self.devices.get_mut(i) else {
                return Err(GuestError::Protocol(format!("a kick of interface {i}, which does not exist")));
            };
            // The ring of receive buffers is checked when a frame arrives.
            if usize::from(bell.queue) != TRANSMIT {
                continue;
            }
            let sent = &mut self.sent;
            let keep = |bytes: &[u8]| {
                bytes_taken += bytes.len();
                sent.push(SentFrame { at, interface: i, bytes: bytes.into() });
            };
            if device.take(bell.index, keep)? {
                self.interrupts |= 1 << i;
            }
        }
        Ok(())
    }

    /// Handles messages of interfaces after the boot, which are rare: an interface goes down or up.
    fn receive_from_devices(&mut self) -> Result<(), GuestError> {
        for device in &mut self.devices {
            let mut fds = [PollFd::new(device.socket(), PollFlags::IN)];
            poll(&mut fds, Some(&timespec(Duration::ZERO)))?;
            if !fds[0].revents().is_empty() {
                device.receive()?;
                self.configuration_pending = false;
            }
        }
        Ok(())
    }

    /// Waits for the clock and answers interfaces in the meantime, as their driver waits for that.
    fn wait_for_both(&mut self) -> Result<(), GuestError> {
        loop {
            let clock = {
                let mut fds = vec![PollFd::new(self.clock.socket(), PollFlags::IN)];
                fds.extend(self.devices.iter().map(|d| PollFd::new(d.socket(), PollFlags::IN)));
                if poll(&mut fds, Some(&timespec(LOOK)))? == 0 {
                    return Ok(());
                }
                !fds[0].revents().is_empty()
            };
            if clock {
                return Ok(());
            }
            self.receive_from_devices()?;
        }
    }

    /// # Errors
    /// If the guest's process has ended, or the timeout has expired.
    fn watch(&mut self, since: Instant) -> Result<(), GuestError> {
        if self.child.try_wait()?.is_some() {
            return Err(GuestError::closed());
        }
        let quiet = since.elapsed();
        if quiet < FIRST_LOOK {
            return Ok(());
        }
        let leader = self.child.id();
        let before = match self.quiet {
            Some((then, used)) if then == since => used,
            _ => {
                let used = used_by(leader);
                self.quiet = Some((since, used));
                used
            }
        };
        if quiet <= self.patience {
            return Ok(());
        }
        // A guest that gets no CPU time on a loaded machine is not stuck.
        let busy = used_by(leader).saturating_sub(before) > self.patience / 2;
        if busy || quiet > self.patience * STARVED {
            return Err(GuestError::Stuck { seconds: quiet.as_secs(), console: String::new() });
        }
        Ok(())
    }

    /// Adds the last lines of the guest's console to an error.
    fn explained(&mut self, e: GuestError) -> GuestError {
        match e {
            GuestError::Gone { .. } => {
                GuestError::Gone { how: ending(&mut self.child), console: last_lines(&self.console) }
            }
            GuestError::Stuck { seconds, .. } => {
                GuestError::Stuck { seconds, console: last_lines(&self.console) }
            }
            other => other,
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Doorbell for an arrival, after which the receive ring of the interface is at `index`.
fn doorbell(at: Nanos, device: usize, index: u16) -> Doorbell {
    Doorbell { at_ns: at.0, device: device as u16, queue: RECEIVE as u16, index }
}

/// Exit status of a process that has closed its sockets, as text.
fn ending(child: &mut Child) -> String {
    for _ in 0..ENDING_TIMEOUT_MS {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Ok(Some(status)) => {
                let code = status.code().map(|code| format!("with exit code {code}"));
                let signal = status.signal().map(|signal| format!("by signal {signal}"));
                return signal.or(code).unwrap_or_default();
            }
            Err(_) => break,
        }
    }
    String::new()
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Command line of the guest, with relative names because it is an input of the kernel's random
/// pool.
fn command(spec: &GuestSpec, interfaces: &[String], console: &File) -> io::Result<Command> {
    let mut command = Command::new(&spec.kernel);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("PERIGEE_SEED", spec.seed.to_string())
        // Restartable sequences register memory of the host's thread, which the guest's processes
        // do not have.
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
        .current_dir(&spec.folder)
        .arg(format!("mem={}M", spec.memory_mib))
        .arg("time-travel=ext:1:clock")
        .args(interfaces.iter().map(|name| format!("virtio_uml.device={name}:1")))
        .args([
            "uml_dir=uml",
            "umid=guest",
            "virtio_net.napi_tx=0",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd/.",
            "rw",
        ])
        .args([&format!("init={}", spec.init), "con=null", "con0=null,fd:1", "quiet", "panic=-1"])
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console.try_clone()?);
    if let Some(folder) = std::env::var_os("TMPDIR") {
        command.env("TMPDIR", folder);
    }
    Ok(command)
}

/// Checks for the system call that confines paths of a guest to its mounts, without which the
/// kernel would panic unexplained.
fn check_confinement() -> Result<(), GuestError> {
    let opened = openat2(CWD, ".", OFlags::PATH, Mode::empty(), ResolveFlags::BENEATH);
    match opened {
        Err(Errno::NOSYS | Errno::PERM) => Err(GuestError::Machine(
            "this machine lacks openat2(2), which keeps a guest's files within their folders: Linux has it since 5.6; \
             a container's seccomp profile must allow it"
                .into(),
        )),
        _ => Ok(()),
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    UnixListener::bind(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// Accepts the guest's first connection.
fn accept(
    listener: &UnixListener,
    child: &mut Child,
    patience: Duration,
    console: &File,
) -> Result<UnixStream, GuestError> {
    let since = crate::wall_clock::now();
    loop {
        let mut fds = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        if poll(&mut fds, Some(&timespec(LOOK)))? > 0 {
            return Ok(listener.accept()?.0);
        }
        if child.try_wait()?.is_some() {
            return Err(GuestError::Gone { how: ending(child), console: last_lines(console) });
        }
        if since.elapsed() > patience {
            return Err(GuestError::Stuck { seconds: patience.as_secs(), console: last_lines(console) });
        }
    }
}

/// Last lines of the console. Its file may have been removed.
fn last_lines(console: &File) -> String {
    let size = console.metadata().map_or(0, |m| m.len());
    let from = size.saturating_sub(CONSOLE_BYTES);
    let mut text = vec![0; (size - from) as usize];
    let read = console.read_at(&mut text, from).unwrap_or(0);
    text.truncate(read);
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(CONSOLE_LINES);
    lines[from..].iter().map(|l| format!("  {l}\n")).collect()
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}
