// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Structures of the header, member for member, without implicit padding between members. Times are
//! in nanoseconds, sizes in bytes, rates in bit/s, flags 0 or 1. Members are documented in
//! `include/perigee_cc.h` and at their namesakes in [`perigee_cc::interface`].

use std::mem::{offset_of, size_of};

/// Memory layout of a structure; tests compare it with that of a C compiler.
pub struct Layout {
    /// Name in C.
    pub name: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Members with their offsets.
    pub members: &'static [(&'static str, usize)],
}

/// Declares the structures, marks them as plain memory and lists their layouts.
macro_rules! mirrors {
    ($($(#[$doc:meta])* $c:literal $name:ident { $($member:ident: $ty:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[allow(missing_docs)]
            #[derive(Clone, Copy)]
            #[repr(C)]
            pub struct $name { $(pub $member: $ty,)* }
        )*
        /// All structures of the header.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            name: $c,
            size: size_of::<$name>(),
            members: &[$((stringify!($member), offset_of!($name, $member)),)*],
        },)*];
        /// Implements a trait for every mirror; `boundary` uses it for
        /// [`Plain`](crate::boundary::Plain).
        macro_rules! for_each_mirror {
            ($do:ident) => { $($do!($name);)* };
        }
        pub(crate) use for_each_mirror;
    };
}

mirrors! {
    /// [`perigee_cc::ConnInit`].
    "perigee_conn_init" ConnInit {
        size: u32,
        mss: u32,
        now: u64,
        init_cwnd: u64,
        srtt: u64,
        seed: u64,
        hz: u32,
        reserved: u32,
    }
    /// [`perigee_cc::Cx`].
    "perigee_cx" Cx {
        size: u32,
        mss: u32,
        now: u64,
        in_flight: u64,
        outstanding: u64,
        delivered: u64,
        delivered_time: u64,
        lost: u64,
        srtt: u64,
        min_rtt: u64,
        snd_una: u64,
        snd_nxt: u64,
        last_sent: u64,
        edt: u64,
        ca: u32,
        app_limited: u8,
        cwnd_limited: u8,
        paced: u8,
        reserved: u8,
    }
    /// [`perigee_cc::Window`].
    "perigee_window" Window {
        size: u32,
        quantum: u32,
        cwnd: u64,
        ssthresh: u64,
        pacing: u64,
        next_timer: u64,
        mark_app_limited: u8,
        reserved: [u8; 7],
    }
    /// [`perigee_cc::RateSample`].
    "perigee_rate_sample" RateSample {
        size: u32,
        valid: u8,
        has_prior: u8,
        is_app_limited: u8,
        is_retrans: u8,
        delivered: u64,
        interval: u64,
        prior_delivered: u64,
        send_elapsed: u64,
        ack_elapsed: u64,
        lost_since_tx: u64,
        tx_in_flight: u64,
    }
    /// [`perigee_cc::AckedPkt`].
    "perigee_acked_pkt" AckedPkt {
        size: u32,
        tag: u32,
        sent: u64,
        rtt: u64,
        bytes: u32,
        reserved: u32,
    }
    /// [`perigee_cc::Hop`].
    "perigee_hop" Hop {
        size: u32,
        flows: u32,
        ts: u64,
        bw: u64,
        q_out: u64,
        q_in: u64,
        tx_bytes: u64,
        avg_rtt: u64,
    }
    /// [`perigee_cc::Telemetry`]: the members that apply to `kind` are used.
    "perigee_telemetry" Telemetry {
        size: u32,
        kind: u32,
        path_id: u64,
        hops: *const Hop,
        hop_count: usize,
        u: f64,
        tau: u64,
        bw: u64,
        avg_rtt: u64,
        queue_delay: u64,
        flows: u32,
        starting: u32,
        covered: u32,
        has_starting: u8,
        partial: u8,
        hop: u8,
        reserved: u8,
    }
    /// [`perigee_cc::AckEvent`].
    "perigee_ack_event" AckEvent {
        size: u32,
        is_dup: u8,
        ack_delayed: u8,
        acks_tlp: u8,
        may_grow: u8,
        newly_acked: u64,
        newly_cum_acked: u64,
        newly_lost: u64,
        rtt: u64,
        seq_rtt: u64,
        prior_in_flight: u64,
        ece: u64,
        rs: *const RateSample,
        acked: *const AckedPkt,
        acked_count: usize,
        telemetry: *const Telemetry,
        sent_ns: i64,
        received_ns: i64,
        has_arrival: u8,
        reserved: [u8; 7],
    }
    /// [`perigee_cc::SentPkt`].
    "perigee_sent_pkt" SentPkt {
        size: u32,
        bytes: u32,
        seq: u64,
        retrans: u8,
        reserved: [u8; 7],
    }
    /// [`perigee_cc::LossEvent`] with its [`perigee_cc::TxSnapshot`] (the members `tx_…`).
    "perigee_loss_event" LossEvent {
        size: u32,
        kind: u32,
        bytes: u64,
        lost_total: u64,
        tx_sent: u64,
        tx_first_sent: u64,
        tx_delivered_time: u64,
        tx_delivered: u64,
        tx_lost: u64,
        tx_in_flight: u64,
        tag: u32,
        tx_app_limited: u8,
        reserved: [u8; 3],
    }
    /// [`perigee_cc::Transition`].
    "perigee_transition" Transition {
        size: u32,
        kind: u32,
        undo: u32,
        app_limited: u8,
        reserved: [u8; 3],
    }
    /// [`perigee_cc::Signal`]: the members that apply to `kind` are used.
    "perigee_signal" Signal {
        size: u32,
        kind: u32,
        expected_end: u64,
        path_id: u64,
        rtt: u64,
        gap: u64,
        data: *const u8,
        data_len: usize,
        mss: u32,
        reserved: u32,
    }
    /// [`perigee_cc::HeaderStamp`].
    "perigee_stamp" Stamp {
        size: u32,
        reserved: u32,
        base_rtt: u64,
        cwnd: u64,
    }
    /// [`perigee_cc::Caps`].
    "perigee_caps" Caps {
        size: u32,
        recovery: u32,
        pacing: u32,
        telemetry: u32,
        tx_bytes_unit: u32,
        on_rto: u32,
        signal_scope: u32,
        ack_every: u32,
        min_cwnd: u32,
        unpaced_start: u32,
        probe_interval: u64,
        probe_payload: u32,
        pint: u8,
        telemetry_on_wire: u8,
        host_restores_cwnd: u8,
        idle_decay: u8,
        per_packet: u8,
        per_loss: u8,
        scalable: u8,
        reserved: [u8; 5],
    }
}

/// Declares the enumerated constants, and lists them under their names in C.
macro_rules! constants {
    ($($name:ident = $value:expr;)*) => {
        $(#[allow(missing_docs)] pub const $name: u32 = $value;)*
        /// All enumerated constants of the header (there with the prefix `PERIGEE_`).
        pub const CONSTANTS: &[(&str, u32)] = &[$((stringify!($name), $name),)*];
    };
}

constants! {
    CA_OPEN = 0;
    CA_DISORDER = 1;
    CA_CWR = 2;
    CA_RECOVERY = 3;
    CA_LOSS = 4;

    TELEMETRY_STACK = 1;
    TELEMETRY_BOTTLENECK = 2;
    TELEMETRY_PINT = 3;

    LOSS_RACK = 1;
    LOSS_RTO = 2;

    ENTER_RECOVERY = 1;
    EXIT_RECOVERY = 2;
    ENTER_RTO = 3;
    EXIT_RTO = 4;
    ENTER_CWR = 5;
    EXIT_CWR = 6;
    UNDO = 7;
    TLP_REPAIRED = 8;

    UNDO_DSACK = 1;
    UNDO_TIMESTAMP = 2;
    UNDO_FRTO = 3;

    HANDOVER_BEGIN = 1;
    HANDOVER_END = 2;
    PATH_CHANGE = 3;
    PROBE_RTT = 4;
    MSS_CHANGED = 5;
    CUSTOM = 6;

    RECOVERY_PRR = 1;
    RECOVERY_OWN = 2;
    PACING_HOST_DEFAULT = 1;
    PACING_REQUIRED = 2;
    NEED_NONE = 0;
    NEED_STACK = 1;
    NEED_BOTTLENECK = 2;
    NEED_LAW = 3;
    ON_RTO_IN_FLIGHT_PLUS_ONE = 1;
    ON_RTO_KEEP = 2;
    TX_BYTES_PAYLOAD = 1;
    TX_BYTES_IP = 2;
    TX_BYTES_WIRE = 3;
    SCOPE_PATH = 1;
    SCOPE_HOST = 2;
    SCOPE_MACHINE = 3;

    MAX_ACKED = 1 << 20;
    MAX_HOPS = 255;
}
