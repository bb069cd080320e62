// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Safe interface to the C core.
#![allow(unsafe_code)] // calls of C

use crate::wire::Wire;
use std::ffi::c_int;

/// The published variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Stacks, or the receiver's record of the bottleneck.
    OrbCc = 1,
    /// Records of fixed size.
    Pint = 2,
}

/// The degree to which telemetry records are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The delivery rate does not bound the control law.
    Trusted = 0,
    /// Telemetry raises the rate to at most twice the delivery rate.
    Open = 1,
}

/// An ACK, except for its telemetry; see `struct input` of `core.c`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Input {
    /// Now.
    pub now_ns: u64,
    /// RTT sample; zero = none.
    pub rtt_ns: u64,
    /// Window of the fallback, while it is active.
    pub cwnd: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Delivery rate in bytes per second; zero = unknown.
    pub rate: u64,
    /// Bytes newly acknowledged; zero = a duplicate.
    pub cum_acked: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    pub(crate) covered: u32,
    pub(crate) path: u16,
    pub(crate) kind: u8,
    pub(crate) partial: u8,
    pub(crate) hops: u8,
}

/// Result of an ACK.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Output {
    /// Window in bytes.
    pub cwnd: u64,
    /// U in Q32.
    pub utilisation: u64,
    /// Reference window in 1/256 bytes.
    pub ref_q8: u64,
    /// Base RTT.
    pub base_ns: u64,
    /// Number of records ignored so far.
    pub implausible: u32,
    /// `enum orbcc_phase`.
    pub phase: u32,
    fallback: c_int,
}

impl Output {
    /// Whether another scheme has control, since telemetry does not suffice.
    pub fn fallback(&self) -> bool {
        self.fallback != 0
    }
}

/// `struct orbcc`.
#[repr(C)]
struct State {
    private: [u8; 0],
}

/// `struct orbcc_receiver`.
#[repr(C)]
struct ReceiverState {
    private: [u8; 0],
}

extern "C" {
    fn orbcc_core_new(now_ns: u64, mss: u32, profile: u8, trust: u8) -> *mut State;
    fn orbcc_core_free(c: *mut State);
    fn orbcc_core_ack(c: *mut State, input: *const Input, bytes: *const u8, output: *mut Output);
    fn orbcc_core_timer(c: *mut State, now_ns: u64, outstanding: c_int);
    fn orbcc_core_restart(c: *mut State, now_ns: u64, last_sent_ns: u64, mss: u32);
    fn orbcc_core_pacing(c: *const State, cwnd: u64, in_flight: u64) -> u64;
    fn orbcc_core_receiver() -> *mut ReceiverState;
    fn orbcc_core_receiver_free(r: *mut ReceiverState);
    fn orbcc_core_receive(
        r: *mut ReceiverState,
        now_ns: u64,
        path: u16,
        hops: u32,
        records: *const u8,
        echo: *mut u8,
    );
}

/// Sender of one connection.
#[derive(Debug)]
pub struct Core(*mut State);

// SAFETY: the state is plain memory that only this value refers to.
unsafe impl Send for Core {}

impl Core {
    /// A sender that starts now.
    pub fn new(now_ns: u64, mss: u32, profile: Profile, trust: Trust) -> Self {
        // SAFETY: plain values; the result is not null.
        Core(unsafe { orbcc_core_new(now_ns, mss, profile as u8, trust as u8) })
    }

    /// Processes an ACK with the telemetry of `wire`.
    pub fn on_ack(&mut self, input: Input, wire: &Wire) -> Output {
        let input = wire.describe(input);
        let mut output = Output::default();
        // SAFETY: the state is live; the buffer has room for 14 records, more than are read.
        unsafe { orbcc_core_ack(self.0, &input, wire.bytes.as_ptr(), &mut output) };
        output
    }

    /// Processes timers that are due.
    pub fn on_timer(&mut self, now_ns: u64, outstanding: bool) {
        // SAFETY: the state is live.
        unsafe { orbcc_core_timer(self.0, now_ns, c_int::from(outstanding)) }
    }

    /// Processes the start of sending with nothing in flight.
    pub fn on_restart(&mut self, now_ns: u64, last_sent_ns: u64, mss: u32) {
        // SAFETY: the state is live.
        unsafe { orbcc_core_restart(self.0, now_ns, last_sent_ns, mss) }
    }

    /// Pacing rate in bytes per second; zero before the first RTT sample.
    pub fn pacing(&self, cwnd: u64, in_flight: u64) -> u64 {
        // SAFETY: the state is live.
        unsafe { orbcc_core_pacing(self.0, cwnd, in_flight) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: the pointer is from orbcc_core_new and is not used afterwards.
        unsafe { orbcc_core_free(self.0) }
    }
}

/// Receiver of one connection.
#[derive(Debug)]
pub struct Receiver(*mut ReceiverState);

impl Default for Receiver {
    fn default() -> Self {
        // SAFETY: the result is not null.
        Receiver(unsafe { orbcc_core_receiver() })
    }
}

impl Receiver {
    /// Processes a data packet; returns the echo of the stack in `wire`.
    pub fn on_data(&mut self, now_ns: u64, wire: &Wire) -> [u8; 16] {
        let mut echo = [0; 16];
        let (path, hops) = (wire.path, u32::from(wire.hops));
        // SAFETY: the state is live; the buffers are as large as the codec reads and writes.
        unsafe { orbcc_core_receive(self.0, now_ns, path, hops, wire.bytes.as_ptr(), echo.as_mut_ptr()) };
        echo
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // SAFETY: the pointer is from orbcc_core_receiver and is not used afterwards.
        unsafe { orbcc_core_receiver_free(self.0) }
    }
}
