// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Emulated link in real time: frames that arrive at one interface leave at the other after a
//! delay, at a rate, through a drop-tail queue and with random loss.
//!
//! Offloads must be disabled at both interfaces, so that each frame is a single packet.

use crate::system;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
Usage: perigee-delay-line IF IF [--delay-ms MS[,MS...]] [--every-s S] [--rate-mbit R] [--queue-kb KB] [--loss P]

  --delay-ms   one-way delay; of several one after the other, each for --every-s (default 15)
  --rate-mbit  of each direction (default: unlimited)
  --queue-kb   bytes that may wait for the rate (default: 256)
  --loss       probability that a frame is lost, in each direction (default: 0)
";
/// Maximum size of a frame; packets with hop-by-hop options may exceed the MTU.
const LARGEST_FRAME: usize = 2048;
/// Maximum number of frames taken from one interface before the other is served.
const TURN: usize = 64;

struct Link {
    delays: Vec<Duration>,
    every: Duration,
    /// Zero is unlimited.
    bits_per_s: f64,
    queue_bytes: f64,
    loss: f64,
}

/// One direction: frames in flight, with the time at which they leave.
struct Direction {
    from: OwnedFd,
    to: OwnedFd,
    flight: VecDeque<(Instant, Vec<u8>)>,
    /// Time at which the transmitter has sent all frames so far.
    free: Instant,
    random: u64,
}

/// Runs the program with the arguments of its command line.
#[must_use]
pub fn run(arguments: &[String]) -> ExitCode {
    let result = read(arguments).and_then(|(interfaces, link)| {
        serve(&interfaces, &link).map_err(|e| format!("{} and {}: {e}", interfaces[0], interfaces[1]))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn read(arguments: &[String]) -> Result<([String; 2], Link), String> {
    let [first, second, rest @ ..] = arguments else { return Err(HELP.to_owned()) };
    let mut link = Link {
        delays: vec![Duration::ZERO],
        every: Duration::from_secs(15),
        bits_per_s: 0.0,
        queue_bytes: 256e3,
        loss: 0.0,
    };
    for pair in rest.chunks(2) {
        let [name, value] = pair else { return Err(HELP.to_owned()) };
        let number = |text: &str| match text.parse::<f64>() {
            Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
            _ => Err(format!("{name} {text} is no number of at least 0")),
        };
        match name.as_str() {
            "--delay-ms" => {
                let all: Result<Vec<_>, _> = value.split(',').map(number).collect();
                link.delays = all?.into_iter().map(|ms| Duration::from_secs_f64(ms / 1e3)).collect();
            }
            "--every-s" => link.every = Duration::from_secs_f64(number(value)?.max(0.001)),
            "--rate-mbit" => link.bits_per_s = number(value)? * 1e6,
            "--queue-kb" => link.queue_bytes = number(value)? * 1e3,
            "--loss" => link.loss = number(value)?,
            other => return Err(format!("no option {other}\n{HELP}")),
        }
    }
    Ok(([first.clone(), second.clone()], link))
}

fn serve(interfaces: &[String; 2], link: &Link) -> io::Result<()> {
    system::be_punctual();
    let start = Instant::now();
    let open = |name: &String| system::packet_socket(system::interface_index(name)?);
    let (first, second) = (open(&interfaces[0])?, open(&interfaces[1])?);
    let direction = |from: &OwnedFd, to: &OwnedFd, seed| -> io::Result<Direction> {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        Ok(Direction { from, to, flight: VecDeque::new(), free: start, random: seed })
    };
    let mut directions = [direction(&first, &second, 1)?, direction(&second, &first, 2)?];
    loop {
        let now = Instant::now();
        let index = (now - start).as_nanos() / link.every.as_nanos();
        let delay = link.delays[(index % link.delays.len() as u128) as usize];
        for direction in &mut directions {
            direction.deliver(now);
            direction.take(link, delay)?;
        }
        let next = directions.iter().filter_map(|d| d.flight.front().map(|(due, _)| *due)).min();
        let wait =
            next.map_or(Duration::from_millis(100), |due| due.saturating_duration_since(Instant::now()));
        system::wait_either(&directions[0].from, &directions[1].from, wait)?;
    }
}

impl Direction {
    fn deliver(&mut self, now: Instant) {
        while self.flight.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, frame)) = self.flight.pop_front() {
                // If the queue of the interface is full, the frame is lost.
                let _ = system::send(&self.to, &frame, 0);
            }
        }
    }

    fn take(&mut self, link: &Link, delay: Duration) -> io::Result<()> {
        for _ in 0..TURN {
            let mut frame = vec![0; LARGEST_FRAME];
            let length = match system::receive(&self.from, &mut frame, libc::MSG_TRUNC) {
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
            if length > LARGEST_FRAME {
                return Err(io::Error::other(format!(
                    "a frame of {length} bytes: turn offloads off at its sender"
                )));
            }
            frame.truncate(length);
            self.enter(frame, link, delay);
        }
        Ok(())
    }

    fn enter(&mut self, frame: Vec<u8>, link: &Link, delay: Duration) {
        let now = Instant::now();
        let time = |bytes: f64| match link.bits_per_s {
            0.0 => Duration::ZERO,
            rate => Duration::from_secs_f64(bytes * 8.0 / rate),
        };
        let begin = self.free.max(now);
        if link.bits_per_s > 0.0 && begin - now > time(link.queue_bytes) {
            return;
        }
        self.free = begin + time(frame.len() as f64);
        if self.draw() < link.loss {
            return;
        }
        // A frame does not overtake another, even if the delay decreases.
        let due = self.flight.back().map_or(now, |(due, _)| *due).max(self.free + delay);
        self.flight.push_back((due, frame));
    }

    /// Draws a uniform number from 0 to 1 (xorshift64*).
    fn draw(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
