// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network interface of a guest: vhost-user messages, and two rings in the guest's memory.
//!
//! All data from the guest is untrusted: `vm-memory` rejects addresses outside the shared memory,
//! `virtio-queue` endless chains.

use crate::offload;
use crate::shared_memory::Watched;
use crate::types::GuestError;
use crate::types::{Mac, Offer};
use crate::wire::{read_exactly, read_with_files};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{
    Address, Bytes, FileOffset, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestRegionMmap,
};

/// Requests of the protocol.
mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const SET_VRING_KICK: u32 = 12;
    pub const SET_VRING_CALL: u32 = 13;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_SLAVE_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
}

/// Features: version 1, protocol features, fixed address, received checksums that need no check.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5 | 1 << 1;
/// Protocol features: replies on request, back channel, configuration, in-band notifications. With
/// offload also: checksums of sent frames, and large TCP segments of both IP versions, with ECN.
const OFFLOAD: u64 = 1 | 1 << 11 | 1 << 12 | 1 << 13;
/// With a changing carrier: the configuration contains the link state.
const STATUS: u64 = 1 << 16;
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;
const HEADER_BYTES: usize = 12;
const MAX_PAYLOAD: usize = 4096;

/// Ring of frames to the guest.
pub const RECEIVE: usize = 0;
/// Ring of frames from the guest.
pub const TRANSMIT: usize = 1;
const MAX_QUEUE: u16 = 1024;
/// Maximum frame size with its virtio header.
const MAX_FRAME: usize = 65_600;
/// `struct virtio_net_hdr_v1`: valid checksum (DATA_VALID), one buffer.
const VIRTIO_HEADER: [u8; 12] = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// Offset of the index in a used ring (section 2.7.8).
const USED_INDEX: u64 = 2;
/// Flag by which the driver suppresses interrupts (virtio 1.2, section 2.7.6).
const NO_INTERRUPT: u16 = 1;

/// One interface.
pub struct Device {
    socket: UnixStream,
    mac: Mac,
    offer: Offer,
    carrier: bool,
    /// Declared before the memory, so that it is dropped first.
    watched: Vec<Watched>,
    memory: Option<GuestMemoryMmap>,
    queues: [Queue; 2],
    buffer: Vec<u8>,
}

impl Device {
    /// An interface over a socket that a guest has connected to.
    pub fn new(socket: UnixStream, mac: Mac) -> Self {
        Device::offering(socket, mac, Offer::default())
    }

    /// An interface with more features offered to the driver.
    pub fn offering(socket: UnixStream, mac: Mac, offer: Offer) -> Self {
        let queue = || Queue::new(MAX_QUEUE).expect("a power of two");
        let queues = [queue(), queue()];
        Device {
            socket,
            mac,
            offer,
            carrier: true,
            watched: Vec::new(),
            memory: None,
            queues,
            buffer: vec![0; MAX_FRAME],
        }
    }

    /// Sets the carrier state that the driver reads next.
    pub fn set_carrier(&mut self, carrier: bool) {
        self.carrier = carrier;
    }

    /// The socket, to be polled while the guest boots.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Reads and answers one message of the guest.
    ///
    /// # Errors
    /// If the guest has exited, or violates the protocol.
    pub fn receive(&mut self) -> Result<(), GuestError> {
        let mut header = [0; HEADER_BYTES];
        let files = read_with_files(&mut self.socket, &mut header)?;
        let field = |i: usize| u32::from_ne_bytes(header[i..i + 4].try_into().expect("four bytes"));
        let (what, flags, size) = (field(0), field(4), field(8) as usize);
        if size > MAX_PAYLOAD {
            return Err(GuestError::Protocol(format!("message {what} of an interface has {size} bytes")));
        }
        let mut payload = vec![0; size];
        read_exactly(&mut self.socket, &mut payload)?;
        let answer = self.handle(what, &payload, files.into_iter().map(File::from).collect())?;
        match answer {
            Some(answer) => self.answer(what, flags, &answer),
            None if flags & NEED_REPLY != 0 => self.answer(what, flags, &0u64.to_ne_bytes()),
            None => Ok(()),
        }
    }

    /// Sets the guest's memory.
    fn share(&mut self, memory: GuestMemoryMmap) -> Result<(), GuestError> {
        self.watched.clear();
        let watch = |range: &GuestRegionMmap| Watched::new(range.as_ptr(), range.size());
        self.watched = memory.iter().map(watch).collect::<Result<_, _>>()?;
        self.memory = Some(memory);
        Ok(())
    }

    /// # Errors
    /// If the guest has truncated memory in use.
    fn check_whole(&self) -> Result<(), GuestError> {
        let cut = self.watched.iter().any(Watched::is_cut);
        if cut {
            Err(wrong("it has cut its memory short"))
        } else {
            Ok(())
        }
    }

    fn answer(&mut self, what: u32, flags: u32, payload: &[u8]) -> Result<(), GuestError> {
        let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
        for word in [what, flags & !NEED_REPLY | REPLY, payload.len() as u32] {
            message.extend(word.to_ne_bytes());
        }
        message.extend(payload);
        self.socket.write_all(&message).map_err(GuestError::gone)
    }

    fn handle(&mut self, what: u32, payload: &[u8], files: Vec<File>) -> Result<Option<Vec<u8>>, GuestError> {
        match what {
            request::GET_FEATURES => {
                let offload = if self.offer.offload { OFFLOAD } else { 0 };
                let status = if self.offer.carrier { STATUS } else { 0 };
                return Ok(Some((FEATURES | offload | status).to_ne_bytes().into()));
            }
            request::GET_PROTOCOL_FEATURES => return Ok(Some(PROTOCOL_FEATURES.to_ne_bytes().into())),
            request::GET_CONFIG => return self.config(payload).map(Some),
            request::SET_MEM_TABLE => self.share(map(payload, files)?)?,
            request::SET_VRING_NUM => {
                let (queue, size) = self.queue(payload)?;
                let size = u16::try_from(size).ok();
                let fits = size.is_some_and(|n| queue.try_set_size(n).is_ok());
                fits.then_some(()).ok_or_else(|| wrong("a ring's size"))?;
            }
            request::SET_VRING_BASE => {
                let (queue, base) = self.queue(payload)?;
                queue.set_next_avail(base as u16);
                queue.set_next_used(base as u16);
            }
            request::SET_VRING_ADDR => self.set_addresses(payload)?,
            request::SET_VRING_ENABLE => {
                let (queue, on) = self.queue(payload)?;
                queue.set_ready(on != 0);
                self.silence()?;
            }
            request::SET_FEATURES
            | request::SET_PROTOCOL_FEATURES
            | request::SET_OWNER
            | request::SET_VRING_KICK
            | request::SET_VRING_CALL
            | request::SET_SLAVE_REQ_FD
            // Kicks before the clock is shared: the ring is checked after every slice of time.
            | request::VRING_KICK => {}
            other => return Err(GuestError::Protocol(format!("request {other} of an interface"))),
        }
        Ok(None)
    }

    /// Ring that a message refers to, and the message's value.
    fn queue(&mut self, payload: &[u8]) -> Result<(&mut Queue, u32), GuestError> {
        let (index, value) = (word(payload, 0)?, word(payload, 4)?);
        let queue = self.queues.get_mut(index as usize).ok_or_else(|| wrong("the number of a ring"))?;
        Ok((queue, value))
    }

    fn set_addresses(&mut self, payload: &[u8]) -> Result<(), GuestError> {
        let addresses = [long(payload, 8)?, long(payload, 16)?, long(payload, 24)?];
        let [table, used, avail] = addresses.map(GuestAddress);
        let (queue, _) = self.queue(payload)?;
        let set = queue
            .try_set_desc_table_address(table)
            .and_then(|()| queue.try_set_used_ring_address(used))
            .and_then(|()| queue.try_set_avail_ring_address(avail));
        set.map_err(|e| wrong(&format!("the address of a ring ({e})")))
    }

    /// Suppresses notifications of returned receive buffers: the ring is checked when a frame
    /// arrives.
    fn silence(&mut self) -> Result<(), GuestError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let queue = &mut self.queues[RECEIVE];
        if queue.ready() {
            queue.disable_notification(memory).map_err(|e| wrong(&format!("a ring ({e})")))?;
        }
        Ok(())
    }

    /// `struct virtio_net_config`: the hardware address, and whether the link is up.
    fn config(&self, payload: &[u8]) -> Result<Vec<u8>, GuestError> {
        let (offset, size) = (word(payload, 0)? as usize, word(payload, 4)? as usize);
        let mut config = [0; 64];
        config[..6].copy_from_slice(&self.mac);
        config[6] = u8::from(self.carrier);
        let part = config.get(offset..offset.saturating_add(size));
        let part = part.ok_or_else(|| wrong("the range of a configuration"))?;
        let mut answer = payload[..12.min(payload.len())].to_vec();
        answer.extend(part);
        Ok(answer)
    }

    /// Takes the frames that the guest has sent up to an index of its ring, Ethernet header first.
    /// True if the driver requested a notification.
    ///
    /// # Errors
    /// If the ring violates the standard, or the memory has been truncated.
    pub fn take(&mut self, until: u16, frame: impl FnMut(&[u8])) -> Result<bool, GuestError> {
        let wants_to_know = self.take_from_ring(until, frame);
        self.check_whole()?;
        wants_to_know
    }

    fn take_from_ring(&mut self, until: u16, mut frame: impl FnMut(&[u8])) -> Result<bool, GuestError> {
        let (Some(memory), queue) = (&self.memory, &mut self.queues[TRANSMIT]) else { return Ok(false) };
        if !queue.ready() {
            return Ok(false);
        }
        let count = until.wrapping_sub(queue.next_avail());
        if count > queue.size() {
            return Err(wrong(&format!("{count} frames in a ring for {}", queue.size())));
        }
        for _ in 0..count {
            let chain = queue.iter(memory).map_err(|e| wrong(&format!("the transmit ring ({e})")))?.next();
            let Some(chain) = chain else { break };
            let head = chain.head_index();
            let mut reader = chain.reader(memory).map_err(|e| wrong(&format!("a frame's buffers ({e})")))?;
            let size = reader.available_bytes();
            if size <= VIRTIO_HEADER.len() || size > MAX_FRAME {
                return Err(wrong(&format!("a frame of {size} bytes")));
            }
            let bytes = &mut self.buffer[..size];
            reader.read_exact(bytes).map_err(|e| wrong(&format!("a frame ({e})")))?;
            let (header, bytes) = bytes.split_first_chunk_mut().expect("it is longer");
            if self.offer.offload {
                offload::send(header, bytes, &mut frame).map_err(wrong)?;
            } else {
                frame(bytes);
            }
            queue.add_used(memory, head, 0).map_err(|e| wrong(&format!("the transmit ring ({e})")))?;
        }
        if count == 0 {
            return Ok(false);
        }
        let flags: u16 =
            memory.read_obj(GuestAddress(queue.avail_ring())).map_err(|e| wrong(&format!("{e}")))?;
        Ok(flags & NO_INTERRUPT == 0)
    }

    /// Puts a frame into the guest's buffers, not yet visible to it; returns the index of the
    /// receive ring that makes it visible. `None` = no room.
    ///
    /// # Errors
    /// If the ring violates the standard, or the memory has been truncated.
    pub fn stage(&mut self, frame: &[u8]) -> Result<Option<u16>, GuestError> {
        let index = self.put_into_ring(frame);
        self.check_whole()?;
        index
    }

    fn put_into_ring(&mut self, frame: &[u8]) -> Result<Option<u16>, GuestError> {
        let seen = self.seen()?;
        let (Some(memory), queue) = (&self.memory, &mut self.queues[RECEIVE]) else { return Ok(None) };
        if !queue.ready() {
            return Ok(None);
        }
        let chain = queue.iter(memory).map_err(|e| wrong(&format!("the receive ring ({e})")))?.next();
        let Some(chain) = chain else { return Ok(None) };
        let head = chain.head_index();
        let mut writer = chain.writer(memory).map_err(|e| wrong(&format!("a frame's buffers ({e})")))?;
        let size = VIRTIO_HEADER.len() + frame.len();
        let written = writer.write_all(&VIRTIO_HEADER).and_then(|()| writer.write_all(frame));
        written.map_err(|e| wrong(&format!("the buffer of a frame of {} bytes ({e})", frame.len())))?;
        let used = queue.add_used(memory, head, size as u32);
        used.map_err(|e| wrong(&format!("the receive ring ({e})")))?;
        let index = queue.next_used();
        let place = GuestAddress(queue.used_ring()).unchecked_add(USED_INDEX);
        memory.write_obj(seen, place).map_err(|e| wrong(&format!("the receive ring ({e})")))?;
        Ok(Some(index))
    }

    /// Index of the receive ring as visible to the guest.
    ///
    /// # Errors
    /// If the ring violates the standard.
    pub fn seen(&self) -> Result<u16, GuestError> {
        let (Some(memory), queue) = (&self.memory, &self.queues[RECEIVE]) else { return Ok(0) };
        if !queue.ready() {
            return Ok(0);
        }
        let place = GuestAddress(queue.used_ring()).unchecked_add(USED_INDEX);
        memory.read_obj(place).map_err(|e| wrong(&format!("the receive ring ({e})")))
    }
}

/// Maps the memory shared by a guest: address ranges, with a descriptor and an offset each.
fn map(payload: &[u8], files: Vec<File>) -> Result<GuestMemoryMmap, GuestError> {
    let count = word(payload, 0)? as usize;
    if count == 0 || count != files.len() {
        return Err(wrong("a table of memory"));
    }
    let mut ranges = Vec::new();
    for (i, file) in files.into_iter().enumerate() {
        let field = |k: usize| long(payload, 8 + 32 * i + 8 * k);
        let (address, size, offset) = (field(0)?, field(1)?, field(3)?);
        // Access to a mapping beyond the end of its file would raise SIGBUS.
        let behind = offset.checked_add(size).filter(|end| file.metadata().is_ok_and(|m| *end <= m.len()));
        let size =
            behind.and_then(|_| usize::try_from(size).ok()).ok_or_else(|| wrong("the size of its memory"))?;
        ranges.push((GuestAddress(address), size, Some(FileOffset::new(file, offset))));
    }
    GuestMemoryMmap::from_ranges_with_files(ranges).map_err(|e| wrong(&format!("its memory ({e})")))
}

fn wrong(what: &str) -> GuestError {
    GuestError::Protocol(format!("an interface: {what}"))
}

fn word(payload: &[u8], at: usize) -> Result<u32, GuestError> {
    let bytes = payload.get(at..at + 4).ok_or_else(|| wrong("a message that is too short"))?;
    Ok(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

fn long(payload: &[u8], at: usize) -> Result<u64, GuestError> {
    let bytes = payload.get(at..at + 8).ok_or_else(|| wrong("a message that is too short"))?;
    Ok(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::send_with_files;
    use rustix::fs::{ftruncate, memfd_create, MemfdFlags};
    use std::os::fd::AsFd;

    /// Sends a message as a guest, and processes it.
    fn send(guest: &mut UnixStream, device: &mut Device, what: u32, payload: &[u64], files: &[&File]) {
        let size = 8 * payload.len() as u32;
        let mut message: Vec<u8> = [what, 1, size].iter().flat_map(|w| w.to_ne_bytes()).collect();
        message.extend(payload.iter().flat_map(|w| w.to_ne_bytes()));
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        send_with_files(guest, &message[..HEADER_BYTES], &files).unwrap();
        guest.write_all(&message[HEADER_BYTES..]).unwrap();
        device.receive().unwrap();
    }

    #[test]
    fn a_guest_that_cuts_its_memory_short_is_refused() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut device = Device::new(ours, [2, 0, 0, 0, 0, 1]);
        let memory = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
        ftruncate(&memory, 0x8000).unwrap();
        send(&mut guest, &mut device, request::SET_MEM_TABLE, &[1, 0, 0x8000, 0, 0], &[&memory]);
        for ring in [RECEIVE, TRANSMIT] {
            let index = ring as u64;
            send(&mut guest, &mut device, request::SET_VRING_NUM, &[index | 16 << 32], &[]);
            let base = 0x3000 * index;
            send(
                &mut guest,
                &mut device,
                request::SET_VRING_ADDR,
                &[index, base, base + 0x2000, base + 0x1000, 0],
                &[],
            );
            send(&mut guest, &mut device, request::SET_VRING_ENABLE, &[index | 1 << 32], &[]);
        }
        assert_eq!(device.stage(&[0; 60]).unwrap(), None, "there is a ring, without buffers");
        ftruncate(&memory, 0).unwrap();
        let said = device.stage(&[0; 60]).unwrap_err().to_string();
        assert!(said.contains("cut its memory short"), "{said}");
        let said = device.take(1, |_| ()).unwrap_err().to_string();
        assert!(said.contains("cut its memory short"), "{said}");
    }
}
