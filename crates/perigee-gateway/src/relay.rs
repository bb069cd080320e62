// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Relay between the legs of a split connection, in both directions: bytes by `splice`,
//! half-closes, resets and urgent data.

use crate::backlog::{Backlog, Legs};
use crate::counters::{add, Counters, Share};
use crate::options::Options;
use crate::system;
use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Maximum number of bytes at a time, which is the capacity of a pipe.
const CHUNK: usize = 64 << 10;
/// Maximum number of pipes that are kept for reuse.
const KEPT_PIPES: usize = 64;
/// Inverse of the smallest relative change of a bound that is passed to the kernel.
const NOTABLE: u32 = 8;
/// Memory per byte of payload before the first measurement.
const FIRST_OVERHEAD: f64 = 2.0;
/// Rate (bytes/s) and RTT (s) of both legs from which arrivals are gathered: fewer, larger moves.
const FAST: f64 = 1e6;
const LONG_S: f64 = 0.03;
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// Minimum number of unread bytes at which the overhead is measured.
const MEASURABLE: u32 = 16 << 10;

/// One connection of the gateway.
pub struct Leg(AsyncFd<TcpStream>);

impl AsRawFd for Leg {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Leg {
    /// Registers a nonblocking socket with this thread's runtime.
    ///
    /// # Errors
    /// Errors of the registration.
    pub fn new(fd: OwnedFd) -> io::Result<Leg> {
        let interest = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY | Interest::ERROR;
        Ok(Leg(system::register(TcpStream::from(fd), interest)?))
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        self.0.get_ref()
    }

    /// Waits until a started connection is established.
    ///
    /// # Errors
    /// Errors of `connect`.
    pub async fn connected(&self) -> io::Result<()> {
        loop {
            let mut guard = self.0.writable().await?;
            if let Some(error) = system::take_error(self) {
                return Err(error);
            }
            // The report was about the state before `connect`.
            match self.socket().peer_addr() {
                Ok(_) => return Ok(()),
                Err(_) => guard.clear_ready(),
            }
        }
    }

    /// Waits for an error, such as a reset.
    async fn failed(&self) -> io::Error {
        loop {
            match self.0.ready(Interest::ERROR).await {
                Err(error) => return error,
                Ok(mut guard) => match system::take_error(self) {
                    Some(error) => return error,
                    None => guard.clear_ready_matching(tokio::io::Ready::ERROR),
                },
            }
        }
    }
}

/// Limits and counters shared by the relays of a thread.
pub struct Shared<'a> {
    /// The gateway's options.
    pub options: &'a Options,
    /// The gateway's counters.
    pub counters: &'a Counters,
    /// Time zero.
    pub start: Instant,
    /// Pipes of this thread.
    pub pipes: &'a Pipes,
}

/// Pipes for reuse: a connection holds a pipe only while it has bytes in it.
#[derive(Default)]
pub struct Pipes(RefCell<Vec<(OwnedFd, OwnedFd)>>);

impl Pipes {
    fn take(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        let kept = self.0.borrow_mut().pop();
        kept.map_or_else(system::pipe, Ok)
    }

    fn give_back(&self, pipe: (OwnedFd, OwnedFd)) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT_PIPES {
            kept.push(pipe);
        }
    }
}

/// Moves bytes between the legs until both directions have ended.
///
/// # Errors
/// The error of a leg; the caller resets the other leg.
pub async fn relay(inside: &Leg, outside: &Leg, shared: &Shared<'_>) -> io::Result<()> {
    let out = pin!(Direction::new(inside, outside, shared, &shared.counters.bytes_outwards).run());
    let back = pin!(Direction::new(outside, inside, shared, &shared.counters.bytes_inwards).run());
    let errors = (pin!(inside.failed()), pin!(outside.failed()));
    let directions: [Running<'_>; 2] = [out, back];
    let (mut directions, mut ended, mut errors) = (directions, [false; 2], errors);
    poll_fn(move |cx| {
        for (direction, ended) in directions.iter_mut().zip(&mut ended) {
            if !*ended && ends(direction, cx)? {
                *ended = true;
            }
        }
        if ended == [true; 2] {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(error) = errors.0.as_mut().poll(cx) {
            return Poll::Ready(Err(error));
        }
        errors.1.as_mut().poll(cx).map(Err)
    })
    .await
}

type Running<'a> = std::pin::Pin<&'a mut dyn Future<Output = io::Result<()>>>;

fn ends(direction: &mut Running<'_>, cx: &mut Context<'_>) -> io::Result<bool> {
    match direction.as_mut().poll(cx) {
        Poll::Pending => Ok(false),
        Poll::Ready(result) => result.map(|()| true),
    }
}

struct Direction<'a> {
    from: &'a Leg,
    to: &'a Leg,
    shared: &'a Shared<'a>,
    bytes: &'a AtomicU64,
    backlog: Backlog,
    next_rtt_s: f64,
    overhead: f64,
    /// Time in which arrivals of a fast connection gather.
    pause: Option<Duration>,
    window: Share<'a>,
    waiting: Share<'a>,
    /// Bounds that were last passed to the kernel.
    set_unsent: u32,
    set_window: u32,
}

impl<'a> Direction<'a> {
    fn new(from: &'a Leg, to: &'a Leg, shared: &'a Shared<'a>, bytes: &'a AtomicU64) -> Self {
        let now = shared.start.elapsed().as_secs_f64();
        Direction {
            from,
            to,
            shared,
            bytes,
            backlog: Backlog::new(shared.options.backlog, shared.options.buffer, now),
            next_rtt_s: 0.0,
            overhead: FIRST_OVERHEAD,
            pause: None,
            window: Share::new(&shared.counters.window_bytes),
            waiting: Share::new(&shared.counters.backlog_bytes),
            set_unsent: 0,
            set_window: 0,
        }
    }

    async fn run(mut self) -> io::Result<()> {
        self.set_bounds()?;
        let interest = Interest::READABLE | Interest::PRIORITY;
        loop {
            let mut guard = self.from.0.ready(interest).await?;
            if guard.ready().is_priority() {
                return self.run_with_urgent_data().await;
            }
            let room = self.room().await?;
            let pipe = self.shared.pipes.take()?;
            match system::splice(self.from, &pipe.1, room.min(CHUNK)) {
                Ok(0) if self.is_at_end()? => break,
                Ok(0) => return self.run_with_urgent_data().await,
                Ok(bytes) => {
                    self.push(&pipe.0, bytes).await?;
                    self.shared.pipes.give_back(pipe);
                    self.moved(bytes)?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    guard.clear_ready_matching(tokio::io::Ready::READABLE);
                    self.shared.pipes.give_back(pipe);
                    if let Some(pause) = self.pause {
                        tokio::time::sleep(pause).await;
                    }
                }
                Err(e) => return Err(e),
            }
        }
        self.to.socket().shutdown(Shutdown::Write)
    }

    /// Waits until the next leg may take bytes; returns their number.
    async fn room(&mut self) -> io::Result<usize> {
        loop {
            let mut guard = self.to.0.writable().await?;
            let (unsent, most) = (system::unsent(self.to)?, self.backlog.unsent());
            if unsent < most {
                return Ok((most - unsent) as usize);
            }
            self.backlog.wait();
            // The kernel reports that the socket becomes writable only after a call has found that
            // it is not.
            if system::poll_writable(self.to) {
                return Ok(1);
            }
            guard.clear_ready();
        }
    }

    /// Empties the pipe into the next leg.
    async fn push(&mut self, pipe: &OwnedFd, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            let mut guard = self.to.0.writable().await?;
            match system::splice(pipe, self.to, bytes) {
                Ok(sent) => bytes -= sent,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.backlog.wait();
                    guard.clear_ready();
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether the direction has ended; `splice` also returns 0 before urgent data.
    fn is_at_end(&self) -> io::Result<bool> {
        match system::receive(self.from, &mut [0], libc::MSG_PEEK) {
            Ok(n) => Ok(n == 0),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Relays the rest of a direction with urgent data by copies, since `splice` stops before such
    /// data.
    async fn run_with_urgent_data(mut self) -> io::Result<()> {
        add(&self.shared.counters.urgent, 1);
        let mut buffer = vec![0; CHUNK];
        loop {
            let mut guard = self.from.0.ready(Interest::READABLE | Interest::PRIORITY).await?;
            let mut byte = [0];
            let flags = match system::at_urgent_mark(self.from)? {
                // EINVAL means that it was already read.
                true if system::receive(self.from, &mut byte, libc::MSG_OOB).is_ok() => libc::MSG_OOB,
                _ => 0,
            };
            if flags != 0 {
                self.send_all(&byte, flags).await?;
            }
            let room = self.room().await?;
            match system::receive(self.from, &mut buffer[..room.min(CHUNK)], 0) {
                Ok(0) => break,
                Ok(bytes) => {
                    self.send_all(&buffer[..bytes], 0).await?;
                    self.moved(bytes)?;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) => return Err(e),
            }
        }
        self.to.socket().shutdown(Shutdown::Write)
    }

    async fn send_all(&mut self, mut bytes: &[u8], flags: i32) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut guard = self.to.0.writable().await?;
            match system::send(self.to, bytes, flags) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn moved(&mut self, bytes: usize) -> io::Result<()> {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.backlog.moved(bytes as u64);
        let now = self.shared.start.elapsed().as_secs_f64();
        if self.backlog.is_due(now, self.next_rtt_s) {
            self.measure(now)?;
        }
        Ok(())
    }

    fn measure(&mut self, now_s: f64) -> io::Result<()> {
        let (first, next) = (system::tcp_info(self.from)?, system::tcp_info(self.to)?);
        let unread = system::unread(self.from)?;
        if unread >= MEASURABLE {
            let memory = f64::from(system::receive_memory(self.from)?);
            self.overhead = (memory / f64::from(unread)).clamp(1.0, 4.0);
        }
        self.next_rtt_s = f64::from(next.min_rtt_us) / 1e6;
        let first_rtt_s = f64::from(first.min_rtt_us) / 1e6;
        self.backlog.measure(now_s, Legs { first_rtt_s, next_rtt_s: self.next_rtt_s, mss: next.mss, unread });
        let path_s = first_rtt_s + self.next_rtt_s;
        let is_fast = self.backlog.rate() > FAST && path_s > LONG_S;
        self.pause = is_fast.then(|| Duration::from_secs_f64(path_s / 64.0).min(LONGEST_PAUSE));
        self.waiting.set(unread.saturating_add(system::unsent(self.to)?));
        self.set_bounds()
    }

    /// Passes changed bounds to the kernel.
    fn set_bounds(&mut self) -> io::Result<()> {
        let unsent = self.backlog.unsent();
        if unsent.abs_diff(self.set_unsent) > self.set_unsent / NOTABLE {
            system::set_unsent_limit(self.to, unsent)?;
            self.set_unsent = unsent;
        }
        let Some(window) = self.backlog.window() else { return Ok(()) };
        let window = self.share_of_memory(window);
        if window.abs_diff(self.set_window) > self.set_window / NOTABLE {
            let buffer = (self.overhead * f64::from(window)) as u32;
            system::set_receive_window(self.from, buffer, window)?;
            self.set_window = window;
            self.window.set(window);
        }
        Ok(())
    }

    /// Limits a window to an equal part of the memory if the windows of all connections exceed the
    /// limit.
    fn share_of_memory(&self, window: u32) -> u32 {
        let (counters, most) = (self.shared.counters, self.shared.options.memory);
        if counters.window_bytes.load(Relaxed) <= most as i64 {
            return window;
        }
        let directions = 2 * counters.open.load(Relaxed).max(1) as u64;
        window.min(u32::try_from(most / directions).unwrap_or(u32::MAX))
    }
}
