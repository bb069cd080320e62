// SPDX-License-Identifier: Apache-2.0 OR MIT
//! C interface called as C would call it: structures of other versions, agreement with the Rust
//! controller, and arbitrary bytes for every argument.

#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks)]

use perigee_capi::api::*;
use perigee_capi::boundary::{read, write, zeroed, Code, Plain};
use perigee_capi::types as c;
use perigee_cc::{CongestionControl, SCHEMES};
use std::ffi::CString;
use std::mem::{offset_of, size_of};
use std::ptr::null_mut;

macro_rules! sized {
    ($name:ident { $($member:ident: $value:expr),* $(,)? }) => {
        c::$name { size: size_of::<c::$name>() as u32, $($member: $value,)* ..zeroed() }
    };
}

fn init() -> c::ConnInit {
    sized!(ConnInit { mss: 1448, init_cwnd: 14_480, now: 1_000, seed: 7, hz: 1000 })
}

fn create(name: &str) -> *mut Handle {
    let name = CString::new(name).unwrap();
    // SAFETY: every pointer is null or to a live value of the right type.
    let cc = unsafe { perigee_cc_create(name.as_ptr(), std::ptr::null(), &init(), null_mut(), 0) };
    assert!(!cc.is_null());
    cc
}

fn window(cc: *mut Handle) -> c::Window {
    let mut w = sized!(Window {});
    // SAFETY: a live handle and a live structure.
    assert_eq!(unsafe { perigee_cc_get_window(cc, &mut w) }, 0);
    w
}

/// Structure of a caller with a newer header: the current one plus 16 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Newer<T> {
    ours: T,
    more: [u64; 2],
}

#[test]
fn an_ack_of_the_first_version_is_taken_and_has_no_arrival() {
    let size = offset_of!(c::AckEvent, sent_ns) as u32;
    let mut old = c::AckEvent { size, newly_acked: 7, received_ns: 9, has_arrival: 1, ..zeroed() };
    // SAFETY: `size` bytes of the value are readable, here and below.
    let found = unsafe { read(&raw const old) }.unwrap();
    let event = perigee_capi::convert::ack_event(&found).unwrap();
    assert_eq!((event.newly_acked, event.arrival), (7, None));
    old.size -= 1;
    // SAFETY: as above.
    assert_eq!(unsafe { read(&raw const old) }.err(), Some(Code::Size));
}

#[test]
fn a_newer_structure_is_taken_while_its_new_members_are_zero() {
    let size = size_of::<Newer<c::Window>>() as u32;
    let w = c::Window { size, cwnd: 9, ..zeroed() };
    let mut newer = Newer { ours: w, more: [0, 0] };
    // SAFETY: `size` is the size of the complete value, here and in the calls below.
    assert_eq!(unsafe { read::<c::Window>((&raw const newer).cast()) }.map(|w| w.cwnd), Ok(9));
    newer.more[1] = 1 << 63;
    // SAFETY: as above.
    let refused = unsafe { read::<c::Window>((&raw const newer).cast()) };
    assert_eq!(refused.err(), Some(Code::Size));

    let told = c::Window { size: 1, cwnd: 77, ..zeroed() };
    // SAFETY: as above.
    unsafe { write((&raw mut newer).cast(), &told) }.unwrap();
    assert_eq!((newer.ours.size, newer.ours.cwnd, newer.more), (size, 77, [0, 0]));
}

#[test]
fn the_window_survives_the_way_out_and_in() {
    let cc = create("bbr");
    let edited =
        sized!(Window { cwnd: 5, ssthresh: 6, pacing: 7, quantum: 8, next_timer: 9, mark_app_limited: 1 });
    // SAFETY: a live handle and a live structure.
    assert_eq!(unsafe { perigee_cc_set_window(cc, &edited) }, 0);
    let w = window(cc);
    let values = (w.cwnd, w.ssthresh, w.pacing, w.quantum, w.next_timer, w.mark_app_limited);
    assert_eq!(values, (5, 6, 7, 8, 9, 1));
    // SAFETY: a live handle, not used again.
    unsafe { perigee_cc_destroy(cc) };
}

#[test]
fn every_scheme_decides_through_c_as_it_does_in_rust() {
    for scheme in SCHEMES {
        let cc = create(scheme.id);
        let params = scheme.params(Default::default()).unwrap();
        let init = perigee_capi::convert::conn_init(&init()).unwrap();
        let (mut rust, mut w) = (scheme.build(&params, &init), init.window());
        let mut x = sized!(Cx { mss: 1448, now: 1_000, paced: 1 });
        // SAFETY: a live handle and live structures, here and below.
        assert_eq!(unsafe { perigee_cc_on_start(cc, &x) }, 0);
        rust.on_start(&perigee_capi::convert::cx(&x).unwrap(), &mut w);
        for i in 1..2_000u64 {
            let rtt = 50_000_000 + i % 7 * 1_000_000;
            x = c::Cx {
                now: 60_000_000 + i * 500_000,
                in_flight: 40 * 1448,
                outstanding: 40 * 1448,
                delivered: i * 1448,
                delivered_time: 60_000_000 + i * 500_000,
                srtt: rtt,
                min_rtt: 50_000_000,
                snd_una: i * 1448,
                snd_nxt: (i + 40) * 1448,
                last_sent: i * 500_000,
                cwnd_limited: 1,
                ..x
            };
            let rs = sized!(RateSample {
                valid: 1,
                has_prior: 1,
                delivered: 40 * 1448,
                interval: rtt,
                ack_elapsed: rtt,
                prior_delivered: i.saturating_sub(40) * 1448,
                tx_in_flight: 40 * 1448,
            });
            let ev = sized!(AckEvent {
                may_grow: 1,
                newly_acked: 1448,
                newly_cum_acked: 1448,
                rtt: rtt,
                seq_rtt: rtt,
                prior_in_flight: 41 * 1448,
                rs: &raw const rs,
                sent_ns: 1_000_000 * i as i64,
                received_ns: 1_000_000 * i as i64 + 20_000_000,
                has_arrival: 1,
            });
            // SAFETY: as above; `rs` lives.
            assert_eq!(unsafe { perigee_cc_on_ack(cc, &x, &ev) }, 0, "{} {i}", scheme.id);
            let mut same = perigee_capi::convert::ack_event(&ev).unwrap();
            same.rs = perigee_capi::convert::rate_sample(&rs).unwrap();
            rust.on_ack(&perigee_capi::convert::cx(&x).unwrap(), &mut w, &same);
            let (found, expected) = (window(cc), perigee_capi::convert::window_out(&w));
            assert_eq!(
                (found.cwnd, found.ssthresh, found.pacing, found.next_timer),
                (expected.cwnd, expected.ssthresh, expected.pacing, expected.next_timer),
                "{} {i}",
                scheme.id
            );
        }
        // SAFETY: a live handle, not used again.
        unsafe { perigee_cc_destroy(cc) };
    }
}

/// Random numbers (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Arbitrary members after a valid `size`; bytes are often small, so that some calls are
    /// accepted.
    fn any<T: Plain>(&mut self) -> T {
        let mut words = vec![0u64; size_of::<T>().div_ceil(8)];
        for word in &mut words {
            *word = self.next() >> (self.next() % 64);
        }
        words[0] = words[0] & !0xffff_ffff | size_of::<T>() as u64;
        // SAFETY: the words are as long as a `T`, which has no invalid bit patterns, and
        // sufficiently aligned.
        unsafe { words.as_ptr().cast::<T>().read() }
    }
}

#[test]
fn arbitrary_bytes_are_accepted_or_refused_and_nothing_fails() {
    let refusals = [Code::Null, Code::Size, Code::Value, Code::Time].map(|c| c as i32);
    let known = |code: i32| code == 0 || refusals.contains(&code);
    let mut draw = Draw(1);
    let mut accepted = 0;
    for i in 0..6_000 {
        let cc = create(SCHEMES[i % SCHEMES.len()].id);
        for _ in 0..12 {
            let cx = c::Cx { mss: draw.next() as u32 % 3_000, ca: draw.next() as u32 % 6, ..draw.any() };
            let rs: c::RateSample = draw.any();
            let acked = [draw.any::<c::AckedPkt>(), draw.any()];
            let hops = [draw.any::<c::Hop>(), draw.any()];
            let telemetry = c::Telemetry {
                kind: draw.next() as u32 % 5,
                hops: hops.as_ptr(),
                hop_count: draw.next() as usize % 3,
                ..draw.any()
            };
            let ack = c::AckEvent {
                rs: &raw const rs,
                acked: acked.as_ptr(),
                acked_count: draw.next() as usize % 3,
                telemetry: if draw.next() % 2 == 0 { std::ptr::null() } else { &raw const telemetry },
                ..draw.any()
            };
            let data = [0u8; 8];
            let signal =
                c::Signal { kind: draw.next() as u32 % 8, data: data.as_ptr(), data_len: 8, ..draw.any() };
            let transition = c::Transition { kind: draw.next() as u32 % 10, undo: 1, ..draw.any() };
            let loss = c::LossEvent { kind: draw.next() as u32 % 4, ..draw.any() };
            let (mut tag, mut threshold) = (0, 0);
            // SAFETY: a live handle; every pointer, also within structures, is null or to live
            // values of its count.
            let code = unsafe {
                match draw.next() % 9 {
                    0 => perigee_cc_on_start(cc, &cx),
                    1 => perigee_cc_on_sent(cc, &cx, &draw.any(), &mut tag),
                    2 => perigee_cc_on_loss(cc, &cx, &loss),
                    3 => perigee_cc_on_transition(cc, &cx, &transition),
                    4 => perigee_cc_on_signal(cc, &cx, &signal),
                    5 => perigee_cc_ssthresh(cc, &cx, &mut threshold),
                    6 => perigee_cc_set_window(cc, &draw.any()),
                    7 => perigee_cc_on_timer(cc, &cx),
                    _ => perigee_cc_on_ack(cc, &cx, &ack),
                }
            };
            assert!(known(code), "{code}");
            accepted += i32::from(code == 0);
        }
        // SAFETY: a live handle, not used again.
        unsafe { perigee_cc_destroy(cc) };
    }
    assert!(accepted > 1_000, "{accepted}");
}
