// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Readings of the bottleneck: the telemetry echoed by an ACK, compared with the previous one.

use super::options::{PathChange, Reference};
use super::path::Arrival;
use super::{OrbCc, Phase, Port};
use crate::utilisation::{bottleneck, queue_delay, STACK_LIFETIME};
use crate::{Cx, Hop, Telemetry};
use perigee_units::Nanos;

impl OrbCc {
    /// Compares an echo with the last one and stores it; `None` if it yields no reading.
    pub(super) fn read(&mut self, cx: &Cx, telemetry: &Telemetry<'_>) -> Option<Port> {
        match *telemetry {
            Telemetry::Stack { path_id, hops, .. } => self.read_stack(cx, path_id, hops),
            Telemetry::Pint { path_id, u, bw, flows, starting, .. } => self.read_record(
                cx,
                path_id,
                Port { u, bw, flows, starting, averaged: true, ..Port::default() },
            ),
            Telemetry::Feedback { .. } => None,
            Telemetry::Bottleneck { path_id, hop, u, tau, bw, avg_rtt, flows, .. } => {
                let arrival = self.path.judge(cx.now, self.rtt.smoothed(), path_id, true);
                let measured = hop != u8::MAX && avg_rtt > Nanos::ZERO && bw.0 > 0;
                match arrival {
                    Arrival::Changed if self.port.is_some() => self.on_path_change(),
                    Arrival::Late => None,
                    // Receivers keep a reference per path: a record is a measurement even if it is
                    // the first of its path.
                    _ => measured.then_some(Port {
                        hop: hop as usize,
                        u,
                        tau,
                        bw,
                        avg_rtt,
                        flows,
                        ..Port::default()
                    }),
                }
            }
        }
    }

    /// Processes a record of fixed size: only its path is compared with the previous one.
    fn read_record(&mut self, cx: &Cx, path_id: u64, port: Port) -> Option<Port> {
        if self.options.echo_sampling < 1.0 && self.rng.unit() >= self.options.echo_sampling {
            return None;
        }
        let srtt = self.rtt.smoothed();
        match self.path.judge(cx.now, srtt, path_id, true) {
            Arrival::Changed if self.port.is_some() => self.on_path_change(),
            Arrival::Late => None,
            // Records lack the ports' mean RTT; the flow's own RTT replaces it.
            _ => (port.bw.0 > 0).then_some(Port { avg_rtt: srtt.max(Nanos(1)), ..port }),
        }
    }

    fn read_stack(&mut self, cx: &Cx, path_id: u64, hops: &[Hop]) -> Option<Port> {
        if self.stack_at.is_none_or(|at| cx.now.saturating_sub(at) > STACK_LIFETIME) {
            self.keep(cx, hops);
            // The path is not stored: the second echo counts as the first of its path.
            if self.starts_blank() && self.phase == Phase::Startup {
                return Some(Port::default());
            }
            self.path.adopt(path_id);
            return None;
        }
        let comparable = hops.len() == self.stack.len();
        match self.path.judge(cx.now, self.rtt.smoothed(), path_id, comparable) {
            Arrival::Late => return None,
            Arrival::Changed => {
                self.keep(cx, hops);
                return self.on_path_change();
            }
            Arrival::Same => {}
        }
        if self.starts_blank() && hops.iter().all(|hop| hop.avg_rtt == Nanos::ZERO) {
            self.keep(cx, hops);
            return Some(Port::default());
        }
        let own_rtt = Nanos::from_secs_f64(self.rtt.last_s);
        let reference = self.options.reference;
        let found = bottleneck(&self.stack, hops, |hop| match reference {
            // A port without a measurement cannot be the bottleneck.
            _ if hop.avg_rtt == Nanos::ZERO => Nanos::ZERO,
            Reference::AvgRtt => hop.avg_rtt,
            Reference::OwnRtt => own_rtt,
            Reference::Fixed(rtt) => rtt,
        })?;
        let hop = &hops[found.hop];
        self.keep(cx, hops);
        Some(Port {
            hop: found.hop,
            u: found.u,
            tau: found.tau,
            bw: hop.bw,
            avg_rtt: hop.avg_rtt,
            flows: hop.flows,
            ..Port::default()
        })
    }

    fn keep(&mut self, cx: &Cx, hops: &[Hop]) {
        self.stack.clear();
        self.stack.extend_from_slice(hops);
        self.stack_at = Some(cx.now);
    }

    /// Handles a path change: the utilisation is kept by design; other effects depend on the rule.
    fn on_path_change(&mut self) -> Option<Port> {
        if let Some(f) = &mut self.fallback {
            f.on_path_change();
        }
        if let Some(b) = &mut self.second {
            b.on_path_change();
        }
        // The later source uses the old port once more; no time has passed, so U is unchanged.
        self.port
            .filter(|_| self.options.path_change == PathChange::KeepLastU)
            .map(|p| Port { u: self.utilisation, ..p })
    }
}

/// Queueing delay reported by an echo.
pub(super) fn queueing(telemetry: &Telemetry<'_>) -> Nanos {
    match telemetry {
        Telemetry::Stack { hops, .. } => queue_delay(hops),
        Telemetry::Bottleneck { queue_delay, .. } | Telemetry::Pint { queue_delay, .. } => *queue_delay,
        Telemetry::Feedback { .. } => Nanos::ZERO,
    }
}

/// Number of packets covered by an ACK with this echo.
pub(super) fn covered(telemetry: &Telemetry<'_>) -> u32 {
    match telemetry {
        Telemetry::Stack { covered, .. }
        | Telemetry::Bottleneck { covered, .. }
        | Telemetry::Pint { covered, .. }
        | Telemetry::Feedback { covered, .. } => *covered,
    }
}
