// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ends of flows. A flow is a [`SendingEnd`] and a [`ReceivingEnd`], each in a separate array, and
//! the [`FlowFacts`] that both have from the start. Neither end has access to the other: packets
//! carry all data between them.
//!
//! Four interactions are not packets and go through the simulation, which has access to both ends: the
//! end of the handshake ([`Established`]: the receiver starts when the sender has the SYN-ACK), the
//! completion of a transfer (which ends the integral of its path's capacity), the arrival of all data
//! of a silent source (an event of the record, [`SendingEnd::note_silence`]), and the data that a proxy
//! holds between its legs ([`relay`]). The first two have an effect only a link's delay later, or at
//! the next change of the timeline, so that the ends may be in different partitions.

mod apps;
mod egress;
mod external;
mod player;
mod receiving_end;
pub(crate) mod relay;
mod sending_end;
mod tcp_receiver;
mod tcp_sender;

pub(crate) use external::begins_flow;
pub(crate) use receiving_end::{Delivered, ReceivingEnd};
pub(crate) use sending_end::{Received, SendingEnd};
pub(crate) use tcp_receiver::TcpReceiver;

use crate::external_endpoint::Outbox;
use crate::net::Net;
use crate::packet::{Form, NONE};
use crate::routes::Routes;
use crate::setup::FlowSetup;
use perigee_cc::{Carrier, CongestionControl, HeaderStamp, SignalScope, Stack, TelemetryNeed, TxBytesUnit};
use perigee_queue::Ecn;
use perigee_telemetry::ioam::has_trace;
use perigee_telemetry::{Carried, EchoMode, Feedback, Overhead, WirePint};
use perigee_timeline::App;
use perigee_units::Nanos;

/// IP bytes of SYN and SYN-ACK with their options.
pub(crate) const SYN_BYTES: u32 = 60;

/// Packets of a call carry the number of their talk spurt in the bits from this one up; below it
/// they count from 0 in each spurt.
const SPURT: u32 = 32;

/// Context in which an end runs, at one instant.
pub(crate) struct Cx<'a, O> {
    pub now: Nanos,
    pub net: &'a mut Net,
    pub routes: &'a Routes,
    pub obs: &'a mut O,
    /// Packets that leave the simulation.
    pub outbox: &'a mut Outbox,
    /// Facts by flow.
    pub facts: &'a [FlowFacts],
}

/// Both ends of all flows, by flow.
#[derive(Default)]
pub(crate) struct Ends {
    pub sending: Vec<SendingEnd>,
    pub receiving: Vec<ReceivingEnd>,
}

/// Immutable properties of a flow, known to both ends from the start.
pub(crate) struct FlowFacts {
    pub setup: FlowSetup,
    /// Start time, jitter included.
    pub start: Nanos,
    pub seed: u64,
    /// Node of the source.
    pub source_node: u32,
    /// Segments of a limited transfer, and payload bytes of the last one.
    pub segments: Option<(u64, u32)>,
    pub telemetry: TelemetryPlan,
    /// ECN field of its data packets.
    pub ecn: Ecn,
    /// The receiver acknowledges every n-th segment.
    pub ack_every: u32,
    /// The transport shares the padding between its options and completes its handshake with a
    /// separate ACK (INET).
    pub inet: bool,
    /// Signals that the congestion control subscribes to.
    pub scope: SignalScope,
    /// Unit in which meters count its bytes.
    pub tx_unit: TxBytesUnit,
    /// Its packets without telemetry are observed by all meters.
    pub any_packet_times_meters: bool,
    /// Its SYN carries telemetry.
    pub telemetry_on_syn: bool,
    /// Telemetry header of its SYN.
    pub first_stamp: HeaderStamp,
}

/// End of the handshake at the sender: acts as an ACK with no size and no delay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Established {
    /// RTT measured by the handshake, if the SYN was sent once.
    pub rtt: Option<Nanos>,
}

/// Telemetry configuration at both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TelemetryPlan {
    echo: Option<EchoMode>,
    overhead: Overhead,
    max_hops: usize,
}

impl TelemetryPlan {
    /// Bytes of telemetry in a data packet.
    fn data_bytes(&self) -> u32 {
        self.echo.map_or(0, |echo| self.overhead.data_bytes(echo, self.max_hops))
    }
    /// Bytes of telemetry in an ACK that echoes this number of hops.
    fn ack_bytes(&self, hops: usize) -> u32 {
        self.echo.map_or(0, |echo| self.overhead.ack_bytes(echo, hops))
    }
    /// Form in which a data packet of `payload` bytes carries it.
    fn form(&self, stamp: &HeaderStamp, payload: u32) -> Form {
        match self.echo {
            Some(EchoMode::Pint) => Form::Pint(WirePint::default()),
            Some(EchoMode::Law(law)) => Form::Feedback(Feedback::request(law, stamp, payload)),
            Some(EchoMode::Carrier(carrier)) if carrier != Carrier::IoamSnapshot => {
                Form::Carried(Carried { carrier, value: 0 })
            }
            _ => Form::Stack,
        }
    }
    /// The same of a data packet: with carriers that have one, the options with the trace.
    fn shown_data(&self, net: &Net, telemetry: u32, now: Nanos) -> Vec<u8> {
        match (self.echo, self.overhead) {
            (Some(EchoMode::Carrier(carrier)), Overhead::Wire) if telemetry != NONE && has_trace(carrier) => {
                net.stacks.options(telemetry, carrier, now, self.max_hops)
            }
            _ => self.shown_block(net, telemetry),
        }
    }
    /// Current telemetry block of a packet, for captures: present only with telemetry on the wire.
    fn shown_block(&self, net: &Net, telemetry: u32) -> Vec<u8> {
        match telemetry != NONE && matches!(self.overhead, Overhead::Wire) {
            true => net.stacks.block(telemetry),
            false => Vec::new(),
        }
    }
}

impl FlowFacts {
    pub fn new(setup: FlowSetup, start: Nanos, seed: u64, max_hops: usize, source_node: u32) -> Self {
        let limit = match setup.app {
            App::Bulk { bytes } => bytes,
            _ => None,
        };
        let mut facts = FlowFacts {
            start,
            seed,
            source_node,
            segments: limit.map(|bytes| segments_of(bytes, setup.tcp.mss)),
            telemetry: TelemetryPlan { echo: None, overhead: Overhead::None, max_hops },
            ecn: Ecn::NotEct,
            ack_every: setup.tcp.delayed_ack,
            inet: false,
            scope: SignalScope::Path,
            tx_unit: TxBytesUnit::Wire,
            any_packet_times_meters: false,
            telemetry_on_syn: false,
            first_stamp: HeaderStamp::default(),
            setup,
        };
        if facts.setup.app.is_tcp() {
            facts.apply_caps();
        }
        facts
    }

    /// Applies the scheme's requirements on both ends.
    fn apply_caps(&mut self) {
        let tcp = &self.setup.tcp;
        // The scheme is created for a connection that does not exist yet.
        let init = perigee_cc::ConnInit {
            now: self.start,
            mss: tcp.mss,
            init_cwnd: u64::from(tcp.mss),
            srtt: None,
            seed: 0,
            hz: tcp.controller_hz(),
        };
        let controller = self.setup.scheme.build(&init);
        let caps = controller.caps();
        self.first_stamp = controller.stamp();
        self.ecn = match (caps.scalable, tcp.ecn) {
            (true, _) => Ecn::Ect1,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        };
        if caps.telemetry != TelemetryNeed::None {
            self.telemetry.echo = EchoMode::of(&caps);
            self.telemetry.overhead = Overhead::of(&caps);
        }
        self.ack_every = caps.ack_every.unwrap_or(tcp.delayed_ack);
        self.inet = matches!(caps.stack, Stack::Inet { .. });
        self.scope = caps.signal_scope;
        self.tx_unit = caps.tx_bytes_unit;
        self.any_packet_times_meters = caps.any_packet_times_meters;
        self.telemetry_on_syn =
            caps.telemetry_on_syn && matches!(self.telemetry.echo, Some(EchoMode::Full | EchoMode::Law(_)));
    }

    /// Whether meters count its data and its ACKs, respectively.
    pub fn metered(&self) -> (bool, bool) {
        (self.telemetry.echo.is_some(), self.telemetry.echo == Some(EchoMode::Pint))
    }

    /// Whether its packets carry something else than stacks.
    pub fn has_other_form(&self) -> bool {
        matches!(self.telemetry.echo, Some(EchoMode::Law(_) | EchoMode::Pint | EchoMode::Carrier(_)))
    }

    /// Whether ports compute feedback for it.
    pub fn has_law(&self) -> bool {
        matches!(self.telemetry.echo, Some(EchoMode::Law(_)))
    }

    /// Transport configuration of both ends. Between legs the window is bounded by the free buffer
    /// of the proxy.
    fn tcp(&self) -> perigee_tcp::Config {
        let mut tcp = self.setup.tcp.clone();
        if self.setup.leg.is_some() {
            tcp.rmem = 0;
        }
        tcp
    }

    /// IP bytes of its largest data packet and of a plain ACK, telemetry included. Base RTTs are
    /// computed for packets of these sizes.
    pub fn packet_bytes(&self) -> (u32, u32) {
        match self.setup.app {
            App::Ping { size, .. } | App::Cbr { size, .. } => (size, size),
            App::Voice(v) => {
                let size = v.codec.packet_bytes(v.interval);
                (size, size)
            }
            _ => {
                let header = self.setup.tcp.header;
                let (data, ack) =
                    (self.telemetry.data_bytes(), self.telemetry.ack_bytes(self.telemetry.max_hops));
                (self.setup.payload_bytes() + header + data, header + ack)
            }
        }
    }
}

/// Clock of the timestamp option.
fn ts_ms(t: Nanos) -> u32 {
    (t.0 / 1_000_000) as u32 + 1
}

/// Segments of a transfer, and payload bytes of the last one.
fn segments_of(bytes: u64, mss: u32) -> (u64, u32) {
    let mss = u64::from(mss);
    let segments = bytes.div_ceil(mss).max(1);
    (segments, (bytes.saturating_sub((segments - 1) * mss)).max(1) as u32)
}
