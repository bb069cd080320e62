// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversions between the structures of the header and the types of `perigee-cc`. Zero means
//! "absent"; quantities are bounded, so that their sums and differences cannot overflow.

use crate::boundary::{zeroed, Answer, Code};
use crate::types as c;
use perigee_cc as cc;
use perigee_units::{BitRate, Nanos};

/// Maximum time (73 years) and maximum number of bytes: far above real values, far below overflow.
const LARGEST: u64 = cc::INFINITE_SSTHRESH / 2;
/// Maximum segment size.
const LARGEST_MSS: u32 = 65_535;

fn bytes(n: u64) -> Answer<u64> {
    (n <= LARGEST).then_some(n).ok_or(Code::Value)
}
fn time(ns: u64) -> Answer<Nanos> {
    bytes(ns).map(Nanos)
}
fn some_time(ns: u64) -> Answer<Option<Nanos>> {
    Ok((ns != 0).then_some(time(ns)?))
}
fn rate(bit_s: u64) -> Answer<BitRate> {
    bytes(bit_s).map(BitRate)
}
fn utilisation(u: f64) -> Answer<f64> {
    (u.is_finite() && u >= 0.0).then_some(u).ok_or(Code::Value)
}
fn mss(n: u32) -> Answer<u32> {
    (1..=LARGEST_MSS).contains(&n).then_some(n).ok_or(Code::Value)
}

/// Facts known when a connection starts.
pub fn conn_init(i: &c::ConnInit) -> Answer<cc::ConnInit> {
    if i.init_cwnd == 0 {
        return Err(Code::Value);
    }
    Ok(cc::ConnInit {
        now: time(i.now)?,
        mss: mss(i.mss)?,
        init_cwnd: bytes(i.init_cwnd)?,
        srtt: some_time(i.srtt)?,
        seed: i.seed,
        hz: i.hz,
    })
}

/// State of the host.
pub fn cx(x: &c::Cx) -> Answer<cc::Cx> {
    Ok(cc::Cx {
        now: time(x.now)?,
        mss: mss(x.mss)?,
        in_flight: bytes(x.in_flight)?,
        outstanding: bytes(x.outstanding)?,
        delivered: bytes(x.delivered)?,
        delivered_time: time(x.delivered_time)?,
        lost: bytes(x.lost)?,
        srtt: time(x.srtt)?,
        min_rtt: if x.min_rtt == 0 || x.min_rtt == u64::MAX { Nanos::MAX } else { time(x.min_rtt)? },
        snd_una: bytes(x.snd_una)?,
        snd_nxt: bytes(x.snd_nxt)?,
        last_sent: time(x.last_sent)?,
        edt: time(x.edt)?,
        ca: match x.ca {
            c::CA_OPEN => cc::CaState::Open,
            c::CA_DISORDER => cc::CaState::Disorder,
            c::CA_CWR => cc::CaState::Cwr,
            c::CA_RECOVERY => cc::CaState::Recovery,
            c::CA_LOSS => cc::CaState::Loss,
            _ => return Err(Code::Value),
        },
        app_limited: x.app_limited != 0,
        cwnd_limited: x.cwnd_limited != 0,
        paced: x.paced != 0,
    })
}

/// Window as modified by the host.
pub fn window(w: &c::Window) -> Answer<cc::Window> {
    if w.cwnd == 0 {
        return Err(Code::Value);
    }
    Ok(cc::Window {
        cwnd: bytes(w.cwnd)?,
        ssthresh: w.ssthresh.min(cc::INFINITE_SSTHRESH),
        pacing: (w.pacing != 0).then_some(BitRate(w.pacing)),
        quantum: w.quantum,
        next_timer: (w.next_timer != 0).then_some(Nanos(w.next_timer)),
        mark_app_limited: w.mark_app_limited != 0,
        postpone: Nanos::ZERO,
    })
}

/// Window for the host. A rate or an instant of zero becomes 1, as zero means "absent".
pub fn window_out(w: &cc::Window) -> c::Window {
    c::Window {
        quantum: w.quantum,
        cwnd: w.cwnd,
        ssthresh: w.ssthresh,
        pacing: w.pacing.map_or(0, |r| r.0.max(1)),
        next_timer: w.next_timer.map_or(0, |t| t.0.max(1)),
        mark_app_limited: w.mark_app_limited.into(),
        ..zeroed()
    }
}

/// A rate sample.
pub fn rate_sample(r: &c::RateSample) -> Answer<cc::RateSample> {
    Ok(cc::RateSample {
        valid: r.valid != 0,
        delivered: bytes(r.delivered)?,
        interval: time(r.interval)?,
        prior_delivered: bytes(r.prior_delivered)?,
        has_prior: r.has_prior != 0,
        send_elapsed: time(r.send_elapsed)?,
        ack_elapsed: time(r.ack_elapsed)?,
        lost_since_tx: bytes(r.lost_since_tx)?,
        tx_in_flight: bytes(r.tx_in_flight)?,
        is_app_limited: r.is_app_limited != 0,
        is_retrans: r.is_retrans != 0,
    })
}

/// A packet newly acknowledged.
pub fn acked_pkt(p: &c::AckedPkt) -> Answer<cc::AckedPkt> {
    Ok(cc::AckedPkt { tag: p.tag, sent: time(p.sent)?, bytes: p.bytes, rtt: some_time(p.rtt)? })
}

/// An ACK, without the arrays that it points to.
pub fn ack_event(e: &c::AckEvent) -> Answer<cc::AckEvent<'static>> {
    Ok(cc::AckEvent {
        newly_acked: bytes(e.newly_acked)?,
        newly_cum_acked: bytes(e.newly_cum_acked)?,
        newly_lost: bytes(e.newly_lost)?,
        rtt: some_time(e.rtt)?,
        seq_rtt: some_time(e.seq_rtt)?,
        prior_in_flight: bytes(e.prior_in_flight)?,
        rs: cc::RateSample::default(),
        is_dup: e.is_dup != 0,
        ack_delayed: e.ack_delayed != 0,
        acks_tlp: e.acks_tlp != 0,
        may_grow: e.may_grow != 0,
        resent: false,
        ece: bytes(e.ece)?,
        arrival: (e.has_arrival != 0)
            .then_some(cc::Arrival { sent_ns: e.sent_ns, received_ns: e.received_ns }),
        acked: &[],
        telemetry: None,
    })
}

/// Telemetry of a hop.
pub fn hop(h: &c::Hop) -> Answer<cc::Hop> {
    Ok(cc::Hop {
        ts: time(h.ts)?,
        bw: rate(h.bw)?,
        q_out: bytes(h.q_out)?,
        q_in: bytes(h.q_in)?,
        tx_bytes: bytes(h.tx_bytes)?,
        avg_rtt: time(h.avg_rtt)?,
        flows: h.flows,
    })
}

/// Echoed telemetry; `hops` have been read from its pointer.
pub fn telemetry<'a>(t: &c::Telemetry, hops: &'a [cc::Hop]) -> Answer<cc::Telemetry<'a>> {
    let (path_id, covered, partial, flows) = (t.path_id, t.covered, t.partial != 0, t.flows);
    let bw = rate(t.bw)?;
    let queue_delay = time(t.queue_delay)?;
    match t.kind {
        c::TELEMETRY_STACK => Ok(cc::Telemetry::Stack { path_id, hops, covered, partial }),
        c::TELEMETRY_BOTTLENECK => Ok(cc::Telemetry::Bottleneck {
            path_id,
            hop: t.hop,
            u: utilisation(t.u)?,
            tau: time(t.tau)?,
            bw,
            avg_rtt: time(t.avg_rtt)?,
            flows,
            queue_delay,
            covered,
            partial,
        }),
        c::TELEMETRY_PINT => Ok(cc::Telemetry::Pint {
            path_id,
            u: utilisation(t.u)?,
            bw,
            flows,
            starting: (t.has_starting != 0).then_some(t.starting),
            queue_delay,
            covered,
            partial,
        }),
        _ => Err(Code::Value),
    }
}

/// A packet about to be sent.
pub fn sent_pkt(p: &c::SentPkt) -> Answer<cc::SentPkt> {
    Ok(cc::SentPkt { seq: bytes(p.seq)?, bytes: p.bytes, retrans: p.retrans != 0 })
}

/// A packet newly marked lost.
pub fn loss_event(e: &c::LossEvent) -> Answer<cc::LossEvent> {
    Ok(cc::LossEvent {
        bytes: bytes(e.bytes)?,
        tx: cc::TxSnapshot {
            sent: time(e.tx_sent)?,
            first_sent: time(e.tx_first_sent)?,
            delivered_time: time(e.tx_delivered_time)?,
            delivered: bytes(e.tx_delivered)?,
            lost: bytes(e.tx_lost)?,
            in_flight: bytes(e.tx_in_flight)?,
            app_limited: e.tx_app_limited != 0,
        },
        tag: e.tag,
        lost_total: bytes(e.lost_total)?,
        kind: match e.kind {
            c::LOSS_RACK => cc::LossKind::Rack,
            c::LOSS_RTO => cc::LossKind::Rto,
            _ => return Err(Code::Value),
        },
    })
}

/// A change of the transport's state.
pub fn transition(t: &c::Transition) -> Answer<cc::Transition> {
    Ok(match (t.kind, t.undo) {
        (c::ENTER_RECOVERY, _) => cc::Transition::EnterRecovery,
        (c::EXIT_RECOVERY, _) => cc::Transition::ExitRecovery,
        (c::ENTER_RTO, _) => cc::Transition::EnterRto,
        (c::EXIT_RTO, _) => cc::Transition::ExitRto,
        (c::ENTER_CWR, _) => cc::Transition::EnterCwr,
        (c::EXIT_CWR, _) => cc::Transition::ExitCwr,
        (c::UNDO, c::UNDO_DSACK) => cc::Transition::Undo(cc::UndoKind::Dsack),
        (c::UNDO, c::UNDO_TIMESTAMP) => cc::Transition::Undo(cc::UndoKind::Timestamp),
        (c::UNDO, c::UNDO_FRTO) => cc::Transition::Undo(cc::UndoKind::Frto),
        (c::TLP_REPAIRED, _) => cc::Transition::TlpRepaired { app_limited: t.app_limited != 0 },
        _ => return Err(Code::Value),
    })
}

/// A signal from outside the transport; `data` has been read from its pointer.
pub fn signal<'a>(s: &c::Signal, data: &'a [u8]) -> Answer<cc::Signal<'a>> {
    Ok(match s.kind {
        c::HANDOVER_BEGIN => cc::Signal::HandoverBegin { expected_end: some_time(s.expected_end)? },
        c::HANDOVER_END => cc::Signal::HandoverEnd,
        c::PATH_CHANGE => cc::Signal::PathChange { id: s.path_id },
        c::PROBE_RTT => cc::Signal::ProbeRtt { rtt: time(s.rtt)?, gap: some_time(s.gap)? },
        c::MSS_CHANGED => cc::Signal::MssChanged(mss(s.mss)?),
        c::CUSTOM => cc::Signal::Custom(data),
        _ => return Err(Code::Value),
    })
}

/// The stamp for the next data packet.
pub fn stamp_out(s: cc::HeaderStamp) -> c::Stamp {
    c::Stamp { base_rtt: s.base_rtt.0, cwnd: s.cwnd, ..zeroed() }
}

/// Requirements of the controller.
pub fn caps_out(k: &cc::Caps) -> c::Caps {
    c::Caps {
        recovery: match k.recovery {
            cc::Recovery::Prr => c::RECOVERY_PRR,
            cc::Recovery::Own => c::RECOVERY_OWN,
        },
        pacing: match k.pacing {
            cc::Pacing::HostDefault => c::PACING_HOST_DEFAULT,
            cc::Pacing::Required => c::PACING_REQUIRED,
        },
        telemetry: match k.telemetry {
            cc::TelemetryNeed::None => c::NEED_NONE,
            cc::TelemetryNeed::Stack => c::NEED_STACK,
            cc::TelemetryNeed::Bottleneck => c::NEED_BOTTLENECK,
            cc::TelemetryNeed::Law(_) => c::NEED_LAW,
        },
        tx_bytes_unit: match k.tx_bytes_unit {
            cc::TxBytesUnit::Payload => c::TX_BYTES_PAYLOAD,
            cc::TxBytesUnit::Ip => c::TX_BYTES_IP,
            cc::TxBytesUnit::Wire => c::TX_BYTES_WIRE,
        },
        on_rto: match k.on_rto {
            cc::OnRto::InFlightPlusOne => c::ON_RTO_IN_FLIGHT_PLUS_ONE,
            cc::OnRto::Keep => c::ON_RTO_KEEP,
        },
        signal_scope: match k.signal_scope {
            cc::SignalScope::Path => c::SCOPE_PATH,
            cc::SignalScope::Host => c::SCOPE_HOST,
            cc::SignalScope::Machine => c::SCOPE_MACHINE,
        },
        ack_every: k.ack_every.unwrap_or(0),
        min_cwnd: k.min_cwnd,
        unpaced_start: k.unpaced_start,
        probe_interval: k.probes.map_or(0, |p| p.interval.0),
        probe_payload: k.probes.map_or(0, |p| p.payload_bytes),
        pint: k.pint.into(),
        telemetry_on_wire: k.telemetry_on_wire.into(),
        host_restores_cwnd: k.host_restores_cwnd.into(),
        idle_decay: k.idle_decay.into(),
        per_packet: k.per_packet.into(),
        per_loss: k.per_loss.into(),
        scalable: k.scalable.into(),
        ..zeroed()
    }
}
