// SPDX-License-Identifier: Apache-2.0 OR MIT
//! UDP import: QUIC connections are tracked, other datagrams counted.

use super::{Import, FORGET_AFTER};
use crate::flow::Flow;
use crate::packet::{Datagram, End};
use crate::quic::{Head, QuicConnection};
use crate::Place;
use perigee_record::SinkError;
use perigee_units::Nanos;
use std::collections::HashSet;

/// Payload above which the first datagram after the handshake turns a direction into a flow;
/// acknowledgements are shorter.
const LONGER_THAN_ACKS: u32 = 512;
/// Idle time after which a connection is forgotten, in units of `FORGET_AFTER`: its end is not
/// visible.
const IDLE_PERIODS: u64 = 10;
/// Maximum number of servers stored: a file may be malicious.
const MOST_SERVERS: usize = 65_536;

impl Import<'_> {
    pub(super) fn datagram(&mut self, at: Nanos, d: &Datagram) -> Result<(), SinkError> {
        let found = match (self.quic.find(d), d.head) {
            (Some(found), _) => found,
            (None, Head::Long(_)) => {
                self.began += 1;
                self.quic.begin(d, at)
            }
            (None, Head::Short { .. })
                if self.spins.servers.contains(&d.to) || self.spins.servers.contains(&d.from) =>
            {
                self.spins.moved += 1;
                return Ok(());
            }
            _ => {
                self.other_datagrams += 1;
                return Ok(());
            }
        };
        self.quic.learn(&found, d);
        let Some(mut connection) = self.quic.connection(found.number).copied() else { return Ok(()) };
        if let Some((old, new)) = found.moved {
            self.spins.followed += 1;
            let flow = connection.ways[1].flow.or(connection.ways[0].flow);
            self.event(at, "address-change", flow, 0.0, format!("{old} is now {new}"));
        }
        let followed = self.follow_connection(&mut connection, found.direction, at, d);
        if let Some(known) = self.quic.connection(found.number) {
            *known = connection;
        }
        followed
    }

    fn follow_connection(
        &mut self,
        connection: &mut QuicConnection,
        i: usize,
        at: Nanos,
        d: &Datagram,
    ) -> Result<(), SinkError> {
        connection.last = at;
        if connection.shake(at, i, d.head) {
            let (from, to) = if i == 0 { (d.from, d.to) } else { (d.to, d.from) };
            let rtt_s = connection.rtt().map_or(0.0, Nanos::as_secs_f64);
            if self.spins.servers.len() < MOST_SERVERS {
                self.spins.servers.insert(to);
            }
            self.event(at, "handshake", None, rtt_s, format!("{from} > {to}, QUIC"));
        }
        let short = matches!(d.head, Head::Short { .. });
        let usual = connection.rtt();
        connection.ways[i].bytes += u64::from(d.payload);
        if connection.ways[i].flow.is_none() && short && d.payload >= LONGER_THAN_ACKS {
            self.new_quic_flow(connection, i, at, d)?;
        }
        let way = &mut connection.ways[i];
        let rtt = match d.head {
            Head::Short { spin } => way.spin.see(at, spin, usual),
            _ => None,
        };
        let Some(number) = way.flow else { return Ok(()) };
        self.touch(number, at);
        let (bytes, warmup) = (way.bytes, self.options.warmup);
        let f = &mut self.flows[number as usize];
        f.datagram(d.payload, d.ip_bytes);
        f.progress(at, bytes, None, warmup);
        if let Some(rtt) = rtt {
            f.rtt(at.saturating_sub(rtt), rtt, warmup);
        }
        Ok(())
    }

    fn new_quic_flow(
        &mut self,
        connection: &mut QuicConnection,
        i: usize,
        at: Nanos,
        d: &Datagram,
    ) -> Result<(), SinkError> {
        let place = self.options.place.unwrap_or(Place::Sender);
        // Earlier bytes belong to the handshake.
        connection.ways[i].bytes = u64::from(d.payload);
        let f = Flow::new(self.flows.len() as u32, (d.from, d.to), place, at, connection.began, None).quic();
        connection.ways[i].flow = Some(self.add_flow(f, at, false)?);
        Ok(())
    }

    /// Removes idle connections, or at the end all of them; counts of their spin bits are kept.
    pub(super) fn forget_quic(&mut self, all: bool) {
        let (now, spins) = (self.now, &mut self.spins);
        self.quic.retain(|connection| {
            let over = all || connection.last + Nanos(FORGET_AFTER.0 * IDLE_PERIODS) < now;
            if over {
                for way in connection.ways.iter().filter(|w| w.flow.is_some()) {
                    spins.still += u64::from(way.spin.taken + way.spin.refused == 0);
                    spins.random += u64::from(way.spin.refused > way.spin.taken);
                }
            }
            over
        });
    }

    /// Warnings about QUIC.
    pub(super) fn remarks_of_quic(&self) -> Vec<String> {
        let flows = self.flows.iter().filter(|f| f.is_quic()).count() as u64;
        let lines = [
            (
                flows,
                "flows are QUIC: their goodput is payload of UDP, with QUIC's own headers and what was sent again; \
                 retransmissions, acknowledgements and windows are encrypted",
            ),
            (self.spins.still, "flows of QUIC have a spin bit that stands still: no RTT but that of the handshake"),
            (self.spins.random, "flows of QUIC have a spin bit that seems random: few or no RTTs are taken of it"),
            (
                self.spins.followed,
                "times a connection of QUIC went on from another address, known by its connection ID: its flows are one each, \
                 named by the first address",
            ),
            (
                self.spins.moved,
                "packets look like QUIC's, at a server of a connection in the file, with an address that shook no hands and a \
                 connection ID that was not seen before: a client that moves on purpose takes new IDs (RFC 9000, section 9.5), \
                 agreed on where nobody sees it; from there on it is in no flow",
            ),
            (self.other_datagrams, "packets are UDP and of no connection of QUIC whose beginning is in the file: no flows are made of them"),
        ];
        lines.iter().filter(|(n, _)| *n > 0).map(|(n, text)| format!("{n} {text}")).collect()
    }
}

/// Counters for the warnings about QUIC.
#[derive(Clone, Debug, Default)]
pub(super) struct Spins {
    /// Directions with a constant spin bit, and those with a seemingly random one.
    still: u64,
    random: u64,
    /// Ends that answered a handshake, and number of packets at them that belong to no known
    /// connection.
    servers: HashSet<End>,
    moved: u64,
    /// Number of address changes matched by connection ID.
    followed: u64,
}
