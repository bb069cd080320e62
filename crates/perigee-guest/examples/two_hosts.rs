// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts in one kernel, a wire of 100 Mbit/s and 25 ms between them, one TCP transfer; prints
//! the cost per frame and a hash of all frames with their instants:
//! `cargo run --release -p perigee-guest --example two_hosts -- "$(perigee kernel path)" [SECONDS [SCHEME]]`

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_guest::guest::PATIENCE;
use perigee_guest::job::{Application, Host, Job, Transfer, EPOCH, REPORTS};
use perigee_guest::root::Root;
use perigee_guest::{Guest, GuestSpec, Offer};
use perigee_units::Nanos;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

const DELAY: Nanos = Nanos(25_000_000);
/// Maximum queueing delay at the wire; frames that would wait longer are dropped.
const QUEUE: Nanos = Nanos(50_000_000);
/// Transmission time of a byte in nanoseconds.
const BYTE: u64 = 80;

/// Frames in flight, with their arrivals.
type Wire = VecDeque<(Nanos, Box<[u8]>)>;

fn job(seconds: u64, scheme: String) -> Job {
    let memory = |key: &str, sizes: &str| (format!("net.ipv4.{key}"), sizes.to_string());
    let sysctls =
        vec![memory("tcp_rmem", "4096 8388608 67108864"), memory("tcp_wmem", "4096 262144 67108864")];
    let host = |name: &str| Host { name: name.into(), sysctls: sysctls.clone(), ..Host::default() };
    let end = Nanos::from_secs(seconds);
    let (start, application) = (Nanos::ZERO, Application::Bulk);
    let transfer =
        Transfer { flow: 0, from: 0, to: 1, start, stop: end, bytes: None, scheme, ipv6: false, application };
    Job { end, hosts: vec![host("a"), host("b")], transfers: vec![transfer], ..Job::default() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let kernel = PathBuf::from(words.next().ok_or("say where a kernel is: perigee kernel path")?);
    let seconds = words.next().map_or(Ok(20), |s| s.parse())?;
    let job = job(seconds, words.next().unwrap_or("cubic".into()));
    let root = Root::make(&kernel, &job, &(0..2))?;
    let mut guest = Guest::boot(&GuestSpec {
        kernel: kernel.join("linux"),
        folder: root.path().to_path_buf(),
        init: "/agent".into(),
        memory_mib: 384,
        seed: 1,
        interfaces: job.interfaces(&(0..2)),
        offer: Offer::default(),
        patience: PATIENCE,
    })?;
    let end = EPOCH + job.end;
    let begin = Instant::now();
    let mut wires: [Wire; 2] = Default::default();
    let mut free_at = [Nanos::ZERO; 2];
    let (mut frames, mut dropped, mut hash) = (0u64, 0u64, 0xcbf2_9ce4_8422_2325_u64);
    let mut due = Vec::new();
    loop {
        let next =
            |wires: &[Wire; 2]| wires.iter().filter_map(|w| w.front()).map(|f| f.0).min().unwrap_or(end);
        let at = next(&wires).min(guest.wakes_at().unwrap_or(end));
        if at >= end {
            break;
        }
        // No frame sent from now on arrives before this: all earlier arrivals are already in
        // flight.
        let horizon = at + DELAY;
        for (from, wire) in wires.iter_mut().enumerate() {
            while wire.front().is_some_and(|f| f.0 < horizon) {
                due.push((from, wire.pop_front().expect("there is one")));
            }
        }
        due.sort_by_key(|(_, (at, _))| *at);
        due.drain(..).for_each(|(from, (at, frame))| guest.deliver(2 - from, at, frame));
        guest.run(horizon, &mut |_| true)?;
        for frame in guest.sent().filter(|f| f.interface != REPORTS) {
            frames += 1;
            for byte in frame.at.0.to_ne_bytes().iter().chain(frame.bytes.iter()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
            let from = frame.interface - 1;
            let start = free_at[from].max(frame.at);
            if start - frame.at > QUEUE {
                dropped += 1;
                continue;
            }
            free_at[from] = start + Nanos(frame.bytes.len() as u64 * BYTE);
            wires[from].push_back((free_at[from] + DELAY, frame.bytes));
        }
    }
    let each_us = begin.elapsed().as_secs_f64() * 1e6 / frames.max(1) as f64;
    println!("{seconds} s: {frames} frames, {dropped} dropped, {each_us:.1} us of wall time each, hash {hash:016x}");
    Ok(())
}
