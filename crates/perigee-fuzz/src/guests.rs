// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz targets for input from real hosts: devices and clocks in shared memory, reports, frames. An
//! input is a list of a guest's steps, each a letter, the length of its payload (two bytes,
//! little-endian), and the payload.

use perigee_guest::clock::{Clock, Doorbell};
use perigee_guest::device::Device;
use perigee_guest::{report, GuestError, Offer};
use perigee_linux::frames;
use perigee_linux::meter::Meter;
use perigee_linux::plan::HostPlan;
use perigee_units::Nanos;
use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
use rustix::net::{recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

/// Memory size of the guest.
const MEMORY: u64 = 1 << 16;
/// Maximum number of frames that an input can make a ring deliver: a full queue per step.
const MOST_FRAMES: usize = 1024;

fn steps(mut input: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [kind, low, high, rest @ ..] = input {
        let size = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        found.push((*kind, &rest[..size]));
        input = &rest[size..];
    }
    found
}

fn step(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = (payload.len() as u16).to_le_bytes();
    [&[kind], &size[..], payload].concat()
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    let from = bytes.get(at..).unwrap_or_default();
    let size = from.len().min(N);
    out[..size].copy_from_slice(&from[..size]);
    out
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number(bytes, at))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

/// A vhost-user message with a payload of the stated size, up to the limit.
fn message(what: u32, payload: &[u8]) -> Vec<u8> {
    let header = [what, 1, payload.len() as u32];
    let mut out: Vec<u8> = header.into_iter().flat_map(u32::to_ne_bytes).collect();
    out.extend(payload);
    out
}

/// Memory of a guest and its rings: descriptors at 0, available at 0x1000, used at 0x2000, buffers
/// at 0x4000.
pub fn devices() -> Vec<Vec<u8>> {
    let longs = |values: &[u64]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    let pair = |a: u32, b: u32| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
    let mut set_up = step(b'm', &message(5, &longs(&[1, 0, MEMORY, 0, 0])));
    let mut descriptor = longs(&[0x4000]);
    descriptor.extend(1500u32.to_ne_bytes());
    let [out, into] = [0u16, 2].map(|flag| [&descriptor[..], &flag.to_ne_bytes(), &[0, 0]].concat());
    for queue in [0u32, 1] {
        set_up.extend(step(b'm', &message(8, &pair(queue, 8))));
        set_up.extend(step(b'm', &message(10, &pair(queue, 0))));
        let base = 0x8000 * u64::from(queue);
        let addresses = [&pair(queue, 0)[..], &longs(&[base, base + 0x2000, base + 0x1000, 0])].concat();
        set_up.extend(step(b'm', &message(9, &addresses)));
        set_up.extend(step(b'm', &message(18, &pair(queue, 1))));
        let first = [&(base as u16).to_le_bytes()[..], if queue == 0 { &into } else { &out }].concat();
        set_up.extend(step(b'w', &first));
        let available = [((base + 0x1000) as u16).to_le_bytes(), [0, 0], [1, 0], [0, 0]].concat();
        set_up.extend(step(b'w', &available));
    }
    let sends = [set_up.clone(), step(b't', &[1, 0]), step(b't', &[1, 0])].concat();
    let receives = [set_up.clone(), step(b's', &[200, 0]), step(b'l', &[])].concat();
    let ask = message(24, &[&pair(0, 8)[..], &[0; 12]].concat());
    let both = [&sends[..], &step(b's', &[200, 0]), &step(b'm', &ask)].concat();
    let carrier = [
        set_up,
        step(b'm', &message(1, &[])),
        step(b'c', &[0]),
        step(b'm', &ask),
        step(b'c', &[1]),
        step(b'm', &ask),
    ];
    vec![sends, receives, both, carrier.concat()]
}

/// Processes damaged messages, rings and buffers. True if the device served all steps.
pub fn device(input: &[u8]) -> bool {
    let Ok((ours, mut guest)) = UnixStream::pair() else { return false };
    let Ok(memory) = memfd_create("fuzz", MemfdFlags::CLOEXEC) else { return false };
    if ftruncate(&memory, MEMORY).is_err() || guest.set_nonblocking(true).is_err() {
        return false;
    }
    let memory = File::from(memory);
    let offer = Offer { carrier: true, ..Offer::default() };
    let mut device = Device::offering(ours, [2, 0, 0, 0, 0, 1], offer);
    let mut drained = [0; 4096];
    let served = |step: (u8, &[u8])| -> Result<(), GuestError> {
        let (kind, payload) = step;
        match kind {
            b'm' => {
                send(&guest, &memory, payload);
                device.receive()?;
                let _ = guest.read(&mut drained);
            }
            b'w' => drop(memory.write_at(payload.get(2..).unwrap_or_default(), u64::from(half(payload, 0)))),
            b't' => {
                let mut frames = 0;
                device.take(half(payload, 0), |_| frames += 1)?;
                assert!(frames <= MOST_FRAMES, "{frames} frames of one ring");
            }
            b'c' => device.set_carrier(payload.first() == Some(&1)),
            b's' => drop(device.stage(&vec![7; usize::from(half(payload, 0))])?),
            _ => drop(device.seen()?),
        }
        // Writes stay within the shared memory.
        assert_eq!(memory.metadata().map(|m| m.len()).ok(), Some(MEMORY).or(None), "memory has grown");
        Ok(())
    };
    // Steps beyond the memory's end would make the file grow.
    let inside = |(kind, p): &(u8, &[u8])| *kind != b'w' || u64::from(half(p, 0)) + p.len() as u64 <= MEMORY;
    steps(input).into_iter().filter(inside).try_for_each(served).is_ok()
}

/// Sends a message with its true size, or with one that is too large; memory tables carry the
/// memory.
fn send(guest: &UnixStream, memory: &File, payload: &[u8]) {
    let mut bytes = payload.to_vec();
    bytes.resize(bytes.len().max(12), 0);
    let said = word(&bytes, 8) as usize;
    if said <= 4096 {
        bytes.resize(12 + said, 0);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [memory.as_fd()];
    if word(&bytes, 0) == 5 {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    let _ = sendmsg(guest, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL);
}

/// A start, a request, a run, sends and arrivals.
pub fn clocks() -> Vec<Vec<u8>> {
    let said = |op: u32, time: u64| {
        let words = [op.to_ne_bytes(), 7u32.to_ne_bytes()].concat();
        step(b'm', &[&words[..], &time.to_ne_bytes()].concat())
    };
    let write = |at: u16, bytes: &[u8]| step(b'w', &[&at.to_le_bytes()[..], bytes].concat());
    let bells = [write(8200, &[1, 0, 0, 0]), write(16_400, &[9; 16]), step(b't', &[])].concat();
    let arrivals =
        [step(b'a', &[5, 0]), step(b'f', &[3, 0]), write(8196, &[1, 0, 0, 0]), step(b'a', &[6, 0])].concat();
    vec![
        [said(2, 1_000), said(4, 0), step(b'r', &[1, 0]), said(3, 0)].concat(),
        [&bells[..], &arrivals, &said(8, 0)].concat(),
        [arrivals.clone(), bells.clone(), said(5, 99)].concat(),
    ]
}

/// Processes damaged messages and memory of a clock. True if all steps were served.
pub fn clock(input: &[u8]) -> bool {
    let Ok((ours, mut guest)) = UnixStream::pair() else { return false };
    let Ok(mut clock) = Clock::new(ours) else { return false };
    let Some(memory) = shared(&mut clock, &mut guest) else { return false };
    if guest.set_nonblocking(true).is_err() {
        return false;
    }
    let mut drained = [0; 4096];
    let bell =
        |p: &[u8]| Doorbell { at_ns: long(p, 0), device: half(p, 8), queue: half(p, 10), index: half(p, 12) };
    let size = memory.metadata().map_or(0, |m| m.len());
    let served = |step: (u8, &[u8])| -> Result<(), GuestError> {
        let (kind, payload) = step;
        match kind {
            b'm' => {
                let said: [u8; 16] = number(payload, 0);
                let _ = guest.write_all(&said);
                clock.receive()?;
            }
            b'w' if u64::from(half(payload, 0)) + payload.len() as u64 <= size => {
                drop(memory.write_at(payload.get(2..).unwrap_or_default(), u64::from(half(payload, 0))));
            }
            b'a' => drop(clock.announce(bell(payload))?),
            b'f' => drop(clock.announce_first(bell(payload))?),
            b'r' => clock.run(long(payload, 0), long(payload, 8))?,
            b't' => {
                let mut taken = 0;
                while clock.take_send()?.is_some() {
                    taken += 1;
                    assert!(taken <= 512, "more doorbells than a ring holds");
                }
            }
            _ => {
                let _ = (clock.now_ns(), clock.request_ns(), clock.expected()?, clock.has_room()?);
            }
        }
        let _ = guest.read(&mut drained);
        Ok(())
    };
    steps(input).into_iter().try_for_each(served).is_ok()
}

/// Memory of a clock, as received by its guest.
fn shared(clock: &mut Clock, guest: &mut UnixStream) -> Option<File> {
    let mut start = [0; 16];
    start[..4].copy_from_slice(&1u32.to_ne_bytes());
    guest.write_all(&start).ok()?;
    clock.receive().ok()?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut answer = [0; 16];
    recvmsg(&*guest, &mut [IoSliceMut::new(&mut answer)], &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    let mut files = control.drain().filter_map(|m| match m {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    files.next().map(File::from)
}

/// A frame with a sample, and one with events of programs.
pub fn reports() -> Vec<Vec<u8>> {
    let frame = |records: &[(u16, &[u8])]| {
        let mut out = [[0; 12].as_slice(), &[0x88, 0xb5]].concat();
        for (kind, payload) in records {
            out.extend(kind.to_ne_bytes());
            out.extend((payload.len() as u16).to_ne_bytes());
            out.extend(*payload);
        }
        out
    };
    let mut sample = vec![0; 40 + 240];
    sample[12] = 240;
    let event = [1u8, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'n', b'o', 0, 0];
    vec![
        frame(&[(1, &sample), (3, &sample)]),
        frame(&[(4, &event), (5, &event), (6, &event), (7, &event), (8, &event), (9, &event)]),
    ]
}

/// Processes damaged reports.
pub fn report(input: &[u8]) -> bool {
    report::read(input).is_ok_and(|reports| reports.iter().all(|r| !format!("{r:?}").is_empty()))
}

/// Segments of TCP over IPv4 and IPv6 from host 0 to host 1, with SACK.
pub fn frames() -> Vec<Vec<u8>> {
    let mut tcp = vec![0x9c, 0x40, 0x13, 0x8a, 0, 0, 1, 0, 0, 0, 2, 0, 0x80, 16, 1, 0, 0, 0, 0, 0];
    tcp.extend([1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0]);
    let mut four = vec![0x45, 0, 0, 52, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    four.extend(&tcp);
    let mut six = vec![0x60, 0, 0, 0, 0, 32, 6, 64];
    six.resize(40, 7);
    six.extend(&tcp);
    [four, six].map(|packet| frames::frame(&packet, 0, 1).into()).into()
}

/// Processes damaged frames, in both directions.
pub fn frame(input: &[u8]) -> bool {
    let plan = HostPlan { carriers: vec![0], ends: vec![Some((0, 1)), Some((0, 1))], ..HostPlan::default() };
    let Some(packet) = frames::ip_packet(input) else { return false };
    let mut meter = Meter::default();
    for (from, to) in [(0, 1), (1, 0)] {
        let Some(place) = frames::place(&plan, from, to, packet) else { return false };
        if let Some(tcp) = place.tcp {
            meter.sent(Nanos(1), packet, tcp);
            let _ = meter.arrived(Nanos(2), packet, tcp);
        }
        let written = frames::telemetry(packet);
        let frame = frames::delivered(packet, from, to, true, written.as_ref());
        assert_eq!(frame.len(), 14 + packet.len());
    }
    true
}
