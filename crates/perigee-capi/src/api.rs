// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Functions of the header, which documents them. Each reads and checks its arguments before it
//! modifies the controller.
//!
//! # Safety
//! Requirements of every function: a handle is null or was returned by [`perigee_cc_create`] and
//! not destroyed, and no other call on it is in progress; every other pointer is null or valid as
//! specified in the header.

// The functions are the C interface itself; their safety contract is that of the module.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use crate::boundary::{bytes, contained, read, read_array, text, write, write_text, Answer, Code};
use crate::types as c;
use crate::{convert, describe};
use perigee_cc::{
    AckedPkt, CongestionControl, Controller, Cx, Hop, Params, SchemeInfo, SentPkt, Transition, Window,
};
use perigee_units::Nanos;
use std::ffi::{c_char, CStr};
use std::sync::OnceLock;

/// One connection's controller and its window: the `perigee_cc` of the header.
pub struct Handle {
    info: &'static SchemeInfo,
    params: Params,
    controller: Controller,
    window: Window,
    /// The latest `now`.
    last: Nanos,
    /// Whether a panic was caught, so that the state may be inconsistent.
    failed: bool,
    /// Buffer for the arrays of an ACK, so that ACKs do not allocate.
    acked: Vec<AckedPkt>,
    hops: Vec<Hop>,
}

impl Handle {
    /// State of the host at this call.
    unsafe fn cx(&self, cx: *const c::Cx) -> Answer<Cx> {
        // SAFETY: by the contract of the module.
        let cx = convert::cx(unsafe { &read(cx)? })?;
        if cx.now < self.last {
            return Err(Code::Time);
        }
        Ok(cx)
    }
}

/// Runs a call on a handle: null and failed handles are rejected, a panic is caught and marks the
/// handle as failed.
unsafe fn on(cc: *mut Handle, f: impl FnOnce(&mut Handle) -> Answer<()>) -> i32 {
    // SAFETY: null or a live handle that no other call uses, by the contract of the module.
    match unsafe { cc.as_ref() } {
        None => return Code::Null as i32,
        Some(handle) if handle.failed => return Code::Panic as i32,
        Some(_) => {}
    }
    // SAFETY: as above, and not null; the shared reference no longer exists.
    let answer = contained(|| f(unsafe { &mut *cc }));
    match answer {
        Some(Ok(())) => 0,
        Some(Err(code)) => code as i32,
        None => {
            // SAFETY: as above; the reference passed to `f` no longer exists.
            unsafe { (*cc).failed = true };
            Code::Panic as i32
        }
    }
}

/// Creates a controller; null, with the reason in `err`, on failure.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_create(
    name: *const c_char,
    params_json: *const c_char,
    init: *const c::ConnInit,
    err: *mut c_char,
    err_len: usize,
) -> *mut Handle {
    // SAFETY: by the contract of the module.
    let made = contained(|| unsafe { create(name, params_json, init) });
    let made = made.unwrap_or_else(|| Err("the library failed while it made the controller".into()));
    let (handle, reason) = match made {
        Ok(handle) => (Box::into_raw(Box::new(handle)), String::new()),
        Err(reason) => (std::ptr::null_mut(), reason),
    };
    // SAFETY: by the contract of the module.
    unsafe { write_text(err, err_len, &reason) };
    handle
}

unsafe fn create(
    name: *const c_char,
    params: *const c_char,
    init: *const c::ConnInit,
) -> Result<Handle, String> {
    // SAFETY: by the contract of the module.
    let (name, params, init) = unsafe { (text(name), text(params), read(init)) };
    let name = name.map_err(|e| format!("name: {e}"))?.ok_or("name is NULL")?;
    let info = perigee_cc::info(name).ok_or_else(|| {
        let known: Vec<&str> = perigee_cc::SCHEMES.iter().map(|s| s.id).collect();
        format!("unknown scheme {name:?}; known: {}", known.join(", "))
    })?;
    let params = params.map_err(|e| format!("parameters: {e}"))?.unwrap_or("");
    let params = describe::params(info, params)?;
    let init = init.and_then(|i| convert::conn_init(&i)).map_err(|code| format!("init: {}", words(code)))?;
    Ok(Handle {
        controller: info.build(&params, &init),
        window: init.window(),
        info,
        params,
        last: init.now,
        failed: false,
        acked: Vec::new(),
        hops: Vec::new(),
    })
}

/// Ends a controller; null is allowed.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_destroy(cc: *mut Handle) {
    if !cc.is_null() {
        // SAFETY: a live handle, created by `create` with `Box::into_raw`; the caller gives up
        // ownership.
        contained(|| drop(unsafe { Box::from_raw(cc) }));
    }
}

/// Requirements of the controller on its host.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_caps(cc: *mut Handle, out: *mut c::Caps) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe { on(cc, |h| write(out, &convert::caps_out(&h.controller.caps()))) }
}

/// The connection is established.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_start(cc: *mut Handle, cx: *const c::Cx) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe { simple(cc, cx, |c, cx, w| c.on_start(cx, w)) }
}

/// A packet is about to be sent and nothing is in flight.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_tx_start(cc: *mut Handle, cx: *const c::Cx) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe { simple(cc, cx, |c, cx, w| c.on_tx_start(cx, w)) }
}

/// The timer is due; it is cleared here.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_timer(cc: *mut Handle, cx: *const c::Cx) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        simple(cc, cx, |c, cx, w| {
            w.next_timer = None;
            c.on_timer(cx, w);
        })
    }
}

/// Handles an event without data.
unsafe fn simple(
    cc: *mut Handle,
    cx: *const c::Cx,
    event: impl FnOnce(&mut Controller, &Cx, &mut Window),
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            h.last = cx.now;
            event(&mut h.controller, &cx, &mut h.window);
            Ok(())
        })
    }
}

/// A packet is about to be sent; its tag is written to `tag`, unless that is null.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_sent(
    cc: *mut Handle,
    cx: *const c::Cx,
    packet: *const c::SentPkt,
    tag: *mut u32,
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            let packet: SentPkt = convert::sent_pkt(&read(packet)?)?;
            h.last = cx.now;
            let given = h.controller.on_sent(&cx, &mut h.window, &packet);
            if !tag.is_null() {
                tag.write_unaligned(given);
            }
            Ok(())
        })
    }
}

/// An ACK was processed.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_ack(
    cc: *mut Handle,
    cx: *const c::Cx,
    event: *const c::AckEvent,
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            let from = read(event)?;
            let mut ev = convert::ack_event(&from)?;
            if !from.rs.is_null() {
                ev.rs = convert::rate_sample(&read(from.rs)?)?;
            }
            read_array(from.acked, from.acked_count, c::MAX_ACKED, &mut h.acked, convert::acked_pkt)?;
            ev.acked = &h.acked;
            if !from.telemetry.is_null() {
                let t = read(from.telemetry)?;
                let count = if t.kind == c::TELEMETRY_STACK { t.hop_count } else { 0 };
                read_array(t.hops, count, c::MAX_HOPS, &mut h.hops, convert::hop)?;
                ev.telemetry = Some(convert::telemetry(&t, &h.hops)?);
            }
            h.last = cx.now;
            h.controller.on_ack(&cx, &mut h.window, &ev);
            Ok(())
        })
    }
}

/// A packet was marked lost.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_loss(
    cc: *mut Handle,
    cx: *const c::Cx,
    event: *const c::LossEvent,
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            let event = convert::loss_event(&read(event)?)?;
            h.last = cx.now;
            h.controller.on_loss(&cx, &mut h.window, &event);
            Ok(())
        })
    }
}

/// The transport changed state.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_transition(
    cc: *mut Handle,
    cx: *const c::Cx,
    transition: *const c::Transition,
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            let transition: Transition = convert::transition(&read(transition)?)?;
            h.last = cx.now;
            h.controller.on_transition(&cx, &mut h.window, transition);
            Ok(())
        })
    }
}

/// A signal from outside the transport.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_on_signal(
    cc: *mut Handle,
    cx: *const c::Cx,
    signal: *const c::Signal,
) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            let from = read(signal)?;
            let data = if from.kind == c::CUSTOM { bytes(from.data, from.data_len)? } else { &[] };
            let signal = convert::signal(&from, data)?;
            h.last = cx.now;
            h.controller.on_signal(&cx, &mut h.window, &signal);
            Ok(())
        })
    }
}

/// The new threshold, queried once per reduction. It is returned, not set.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_ssthresh(cc: *mut Handle, cx: *const c::Cx, out: *mut u64) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            let cx = h.cx(cx)?;
            if out.is_null() {
                return Err(Code::Null);
            }
            h.last = cx.now;
            out.write_unaligned(h.controller.ssthresh(&cx, &h.window));
            Ok(())
        })
    }
}

/// The stamp for the next data packet's telemetry header.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_stamp(cc: *mut Handle, out: *mut c::Stamp) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe { on(cc, |h| write(out, &convert::stamp_out(h.controller.stamp()))) }
}

/// Reads the window.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_get_window(cc: *mut Handle, out: *mut c::Window) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe { on(cc, |h| write(out, &convert::window_out(&h.window))) }
}

/// Replaces the window.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_set_window(cc: *mut Handle, window: *const c::Window) -> i32 {
    // SAFETY: by the contract of the module.
    unsafe {
        on(cc, |h| {
            h.window = convert::window(&read(window)?)?;
            Ok(())
        })
    }
}

/// State as JSON; returns the required length, or an error.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_get_state_json(cc: *mut Handle, buf: *mut c_char, len: usize) -> i64 {
    let mut needed = 0;
    // SAFETY: by the contract of the module.
    let code = unsafe {
        on(cc, |h| {
            let state = describe::state(h.info, &h.params, &h.controller, &h.window);
            needed = write_text(buf, len, &state);
            Ok(())
        })
    };
    if code == 0 {
        needed
    } else {
        code.into()
    }
}

/// List of schemes as JSON; returns the required length, or an error.
#[no_mangle]
pub unsafe extern "C" fn perigee_cc_schemes_json(buf: *mut c_char, len: usize) -> i64 {
    static LIST: OnceLock<String> = OnceLock::new();
    // SAFETY: by the contract of the module.
    let needed = contained(|| unsafe { write_text(buf, len, LIST.get_or_init(describe::schemes)) });
    needed.unwrap_or(Code::Panic as i64)
}

/// Version of the library.
#[no_mangle]
pub extern "C" fn perigee_cc_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version contains no zero byte"),
        };
    VERSION.as_ptr()
}

/// Description of an error code.
#[no_mangle]
pub extern "C" fn perigee_cc_strerror(code: i32) -> *const c_char {
    let known = Code::ALL.iter().find(|(c, ..)| *c as i32 == code);
    let meaning =
        known.map_or(if code >= 0 { c"no error" } else { c"unknown error" }, |(_, _, meaning)| meaning);
    meaning.as_ptr()
}

fn words(code: Code) -> String {
    let known = Code::ALL.iter().find(|(c, ..)| *c == code);
    known.map_or(String::new(), |(_, _, meaning)| meaning.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_cc::{AckEvent, Caps};
    use std::mem::size_of;

    /// A scheme that panics.
    struct Broken;

    impl CongestionControl for Broken {
        fn caps(&self) -> Caps {
            Caps::WINDOW
        }
        fn on_ack(&mut self, _: &Cx, _: &mut Window, _: &AckEvent<'_>) {}
        fn ssthresh(&mut self, _: &Cx, _: &Window) -> u64 {
            panic!("on purpose, by a test")
        }
    }

    #[test]
    fn a_panic_becomes_a_code_and_the_handle_refuses_all_but_its_end() {
        let zero = crate::boundary::zeroed::<c::ConnInit>();
        let init =
            c::ConnInit { size: size_of::<c::ConnInit>() as u32, mss: 1448, init_cwnd: 14_480, ..zero };
        let cx = c::Cx { size: size_of::<c::Cx>() as u32, mss: 1448, ..crate::boundary::zeroed() };
        let mut threshold = 5;
        // SAFETY: texts are zero-terminated, structures have their size, the handle lives until the
        // last line.
        unsafe {
            let cc = perigee_cc_create(c"cubic".as_ptr(), std::ptr::null(), &init, std::ptr::null_mut(), 0);
            (*cc).controller = Controller::Custom(Box::new(Broken));
            assert_eq!(perigee_cc_on_start(cc, &cx), 0);
            assert_eq!(perigee_cc_ssthresh(cc, &cx, &mut threshold), Code::Panic as i32);
            assert_eq!(threshold, 5);
            assert_eq!(perigee_cc_on_start(cc, &cx), Code::Panic as i32);
            assert_eq!(perigee_cc_get_state_json(cc, std::ptr::null_mut(), 0), Code::Panic as i64);
            perigee_cc_destroy(cc);
        }
    }
}
