// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C core's reader of IOAM traces; [`perigee_telemetry::carrier`] is its reference.
#![allow(unsafe_code)] // calls of C

use perigee_telemetry::WireCompact;
use std::ffi::c_int;

/// Ports of a trace at most.
pub const MOST_HOPS: usize = 6;
const HEADER_BYTES: usize = 12;
const NODE_BYTES: usize = 12;
const OPTION: u8 = 0x31;
/// Node id, microseconds and queue depth: bits 0, 3 and 6 of RFC 9197's trace type.
const FIELDS: u32 = 0x92_0000;
/// Version of the sender's part (`orbcc_codec.h`).
const VERSION: u8 = 1;

#[repr(C)]
struct State {
    _private: [u8; 0],
}

extern "C" {
    fn orbcc_core_ioam() -> *mut State;
    fn orbcc_core_ioam_free(state: *mut State);
    fn orbcc_core_ioam_receive(
        state: *mut State,
        now_ns: u64,
        option: *const u8,
        sender: *const u8,
        packet: u32,
        echo: *mut u8,
    ) -> c_int;
}

/// An option is no trace with the expected fields, or has values out of their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTrace;

/// What a router with IOAM writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Of 24 bits.
    pub id: u32,
    /// Arrival, in microseconds of the second.
    pub at_us: u32,
    /// Bytes queued before the packet.
    pub backlog: u32,
}

/// Fields of the sender in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Base RTT in microseconds, of 20 bits.
    pub base_rtt_us: u32,
    /// Window as `uf16`.
    pub window: u16,
    /// Payload bytes.
    pub payload: u32,
}

/// Option with the traces of `nodes` in path order, and room for `room` of them.
pub fn option(nodes: &[Node], room: usize) -> Vec<u8> {
    let left = 3 * (room - nodes.len());
    let mut bytes = vec![OPTION, (HEADER_BYTES - 2 + NODE_BYTES * room) as u8, 0, 0, 0, 0];
    bytes.extend((3 << 11 | left as u16).to_be_bytes());
    bytes.extend((FIELDS << 8).to_be_bytes());
    bytes.resize(HEADER_BYTES + 4 * left, 0);
    for node in nodes.iter().rev() {
        bytes.extend((64 << 24 | node.id).to_be_bytes());
        bytes.extend(node.at_us.to_be_bytes());
        bytes.extend(node.backlog.to_be_bytes());
    }
    bytes
}

/// Reader of one connection.
#[derive(Debug)]
pub struct IoamReader(*mut State);

impl Default for IoamReader {
    fn default() -> Self {
        // SAFETY: the result is not null.
        IoamReader(unsafe { orbcc_core_ioam() })
    }
}

impl IoamReader {
    /// Processes an option, which begins with its type and has the length that it states. The record
    /// for the ACK, if ports have known rates.
    ///
    /// # Errors
    /// See [`NoTrace`].
    pub fn read(
        &mut self,
        now_ns: u64,
        option: &[u8],
        sender: Sender,
    ) -> Result<Option<WireCompact>, NoTrace> {
        if option.len() < HEADER_BYTES || option.len() != usize::from(option[1]) + 2 {
            return Err(NoTrace);
        }
        let word = u64::from(VERSION) << 60
            | u64::from(sender.base_rtt_us & 0xf_ffff) << 16
            | u64::from(sender.window);
        let (part, mut echo) = (word.to_be_bytes(), [0; 16]);
        // SAFETY: the state is live; the option is as long as it states, the other buffers are as large
        // as the codec reads and writes.
        let found = unsafe {
            orbcc_core_ioam_receive(
                self.0,
                now_ns,
                option.as_ptr(),
                part.as_ptr(),
                sender.payload,
                echo.as_mut_ptr(),
            )
        };
        match found {
            -1 => Err(NoTrace),
            0 => Ok(None),
            _ => Ok(Some(WireCompact::from_bytes(&echo))),
        }
    }
}

impl Drop for IoamReader {
    fn drop(&mut self) {
        // SAFETY: the pointer is from orbcc_core_ioam and is not used afterwards.
        unsafe { orbcc_core_ioam_free(self.0) }
    }
}
