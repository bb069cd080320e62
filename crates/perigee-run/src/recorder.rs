// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Binds the simulator's observer to the run record.

use perigee_cc::CaState;
use perigee_record::pcap::{Body, Capture, CaptureFlow, CapturePacket};
use perigee_record::tables::{
    CompletionRow, CompletionTable, EventRow, EventTable, FlowRow, FlowTable, Internals, LinkRow, LinkTable,
};
use perigee_record::Rtts;
use perigee_scenario::World;
use perigee_sim::{
    Completion, DropCause, FlowSample, LinkSample, Observer, PacketKind, PacketView, SimEvent, CAUSE_NAMES,
};
use perigee_timeline::{App, Note};
use perigee_units::{BitRate, Nanos};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Keeps what one run tells. `PACKETS` = with a capture.
pub struct Recorder<const PACKETS: bool> {
    /// Time series of flows.
    pub flows: FlowTable,
    /// Internals of their schemes, row by row beside `flows`.
    pub internals: Internals,
    /// Time series of links.
    pub links: LinkTable,
    /// Events.
    pub events: EventTable,
    /// Objects and transfers that are complete.
    pub completions: CompletionTable,
    /// RTT samples by flow.
    pub rtts: Vec<Rtts>,
    /// Payload that each flow had delivered when its goodput window began.
    pub delivered_at_warmup: Vec<u64>,
    /// Names of nodes, for events.
    pub nodes: Vec<String>,
    warmup: Nanos,
    last_flow: Vec<(Nanos, u64)>,
    last_link: HashMap<u32, (Nanos, u64)>,
    capture: Option<Capture<BufWriter<File>>>,
    capture_error: Option<io::Error>,
}

impl<const PACKETS: bool> Recorder<PACKETS> {
    /// An empty one for a world; `pcap` is the file of the capture.
    ///
    /// # Errors
    /// When the capture cannot be created.
    pub fn new(world: &World, pcap: Option<&Path>) -> io::Result<Self> {
        let n = world.flows.len();
        Ok(Recorder {
            flows: FlowTable::default(),
            internals: Internals::default(),
            links: LinkTable::default(),
            events: EventTable::default(),
            completions: CompletionTable::default(),
            rtts: vec![Rtts::default(); n],
            delivered_at_warmup: vec![0; n],
            nodes: world.header.nodes.iter().map(|n| n.name.clone()).collect(),
            warmup: world.scenario.run.warmup,
            // A flow's first interval begins when it starts, not at time zero.
            last_flow: world.flows.iter().map(|f| (f.start, 0)).collect(),
            last_link: HashMap::new(),
            capture: pcap.map(|path| open_capture(world, path)).transpose()?,
            capture_error: None,
        })
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// The first error of writing it.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        if let Some(e) = self.capture_error.take() {
            return Err(e);
        }
        match self.capture.take() {
            Some(c) => c.finish().map(|_| ()),
            None => Ok(()),
        }
    }

    fn event(&mut self, at: Nanos, kind: &'static str, flow: Option<u32>, text: &str) {
        self.push_event(EventRow {
            t_ns: at.0,
            kind,
            flow,
            link: None,
            node: String::new(),
            value: 0.0,
            text: text.into(),
        });
    }

    fn push_event(&mut self, row: EventRow) {
        self.events.push(row);
    }

    fn note(&mut self, at: Nanos, n: &Note) {
        let node = n.node.and_then(|id| self.nodes.get(id.ix()).cloned()).unwrap_or_default();
        let (kind, value, text) = (n.kind.name(), n.value, n.text.clone());
        self.push_event(EventRow { t_ns: at.0, kind, flow: None, link: None, node, value, text });
    }
}

fn open_capture(world: &World, path: &Path) -> io::Result<Capture<BufWriter<File>>> {
    let flow = |f: &perigee_scenario::world::FlowPlan| CaptureFlow {
        from: f.pair.from.clone(),
        to: f.pair.to.clone(),
        mss: f.tcp.mss,
        handshake: f.base_rtt.unwrap_or(Nanos::from_millis(50)),
        timestamps: f.tcp.timestamps,
    };
    Capture::new(BufWriter::new(File::create(path)?), world.flows.iter().map(flow).collect())
}

/// Bits per second from bytes and the time they took.
fn rate_bps(bytes: u64, time: Nanos) -> f64 {
    if time.0 == 0 {
        return 0.0;
    }
    bytes as f64 * 8e9 / time.0 as f64
}

/// Name of a state as in the record.
fn ca_name(ca: CaState) -> &'static str {
    match ca {
        CaState::Open => "open",
        CaState::Disorder => "disorder",
        CaState::Cwr => "cwr",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    }
}

impl<const PACKETS: bool> Observer for Recorder<PACKETS> {
    const PACKETS: bool = PACKETS;

    fn flow(&mut self, s: &FlowSample<'_>) {
        let i = s.flow as usize;
        let (before, delivered) = self.last_flow[i];
        self.last_flow[i] = (s.at, s.delivered_bytes);
        if s.at <= self.warmup {
            self.delivered_at_warmup[i] = s.delivered_bytes;
        }
        let ns = |t: Option<Nanos>| t.map(|t| t.0);
        let bps = |r: Option<BitRate>| r.map(|r| r.0);
        self.flows.push(FlowRow {
            t_ns: s.at.0,
            flow: s.flow,
            goodput_bps: rate_bps(s.delivered_bytes - delivered, s.at.saturating_sub(before)),
            delivered_bytes: s.delivered_bytes,
            cwnd_bytes: s.cwnd,
            ssthresh_bytes: s.ssthresh,
            pacing_bps: bps(s.pacing),
            in_flight_bytes: s.in_flight,
            srtt_ns: ns(s.srtt),
            rtt_ns: ns(s.rtt_mean),
            base_rtt_ns: ns(s.base_rtt),
            path_rate_bps: bps(s.path_rate),
            delivery_rate_bps: s.delivery_rate.0,
            sent_packets: s.sent_packets,
            retransmits: s.retrans_packets,
            lost_packets: s.lost_packets,
            timeouts: s.timeouts,
            ca_state: ca_name(s.ca),
            mode: s.mode,
        });
        self.internals.push(s.internals);
    }

    fn link(&mut self, s: &LinkSample) {
        let (before, bytes) = self.last_link.insert(s.link, (s.at, s.tx_bytes)).unwrap_or_default();
        let used = rate_bps(s.tx_bytes - bytes, s.at - before);
        let [drops_queue, drops_random, drops_outage, drops_no_route] = s.drops;
        self.links.push(LinkRow {
            t_ns: s.at.0,
            link: s.link,
            port: s.port,
            queue_bytes: s.queue_bytes,
            queue_packets: s.queue_packets,
            utilisation: if s.rate.0 == 0 { 0.0 } else { used / s.rate.0 as f64 },
            rate_bps: s.rate.0,
            delay_ns: s.delay.0,
            up: s.up,
            tx_packets: s.tx_packets,
            tx_bytes: s.tx_bytes,
            drops_queue,
            drops_random,
            drops_outage,
            drops_no_route,
        });
    }

    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        match e {
            SimEvent::Note(n) => self.note(at, n),
            SimEvent::FlowStart(f) => self.event(at, "flow-start", Some(*f), ""),
            SimEvent::FlowComplete(f) => self.event(at, "flow-complete", Some(*f), ""),
            SimEvent::Mode { flow, mode } => self.event(at, "mode", Some(*flow), mode),
            SimEvent::CaState { flow, state } => self.event(at, "ca-state", Some(*flow), ca_name(*state)),
            SimEvent::Timeout { flow } => self.event(at, "timeout", Some(*flow), ""),
            SimEvent::Undo { flow } => self.event(at, "undo", Some(*flow), ""),
            SimEvent::LossBurst { link, packets, cause } => self.push_event(EventRow {
                t_ns: at.0,
                kind: "loss-burst",
                flow: None,
                link: Some(*link),
                node: String::new(),
                value: *packets as f64,
                text: cause_name(*cause).into(),
            }),
        }
    }

    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        if sent >= self.warmup {
            self.rtts[flow as usize].push(rtt, base);
        }
    }

    fn completion(&mut self, c: &Completion) {
        self.completions.push(CompletionRow {
            flow: c.flow,
            object: c.object,
            bytes: c.bytes,
            asked_ns: c.asked.0,
            first_ns: c.first.map(|t| t.0),
            done_ns: c.done.0,
        });
    }

    fn packet(&mut self, p: &PacketView<'_>) {
        let Some(capture) = &mut self.capture else { return };
        if self.capture_error.is_some() {
            return;
        }
        let ts = (p.ts_val, p.ts_ecr);
        // The sender's end: what leaves it, and what comes back to it.
        let body = match (p.kind, p.leaving) {
            (PacketKind::Data, true) => Body::Data { seq: p.seq, payload: p.payload, ts },
            (PacketKind::Ack, false) => Body::Ack { ack: p.ack, sack: p.sack, ts },
            (PacketKind::Ping, true) => Body::Ping { number: p.seq, ip_bytes: p.ip_bytes },
            (PacketKind::Pong, false) => Body::Pong { number: p.seq, ip_bytes: p.ip_bytes },
            _ => return,
        };
        let packet = CapturePacket { at: p.at, flow: p.flow, body, telemetry: p.telemetry };
        self.capture_error = capture.packet(&packet).err();
    }
}

fn cause_name(cause: DropCause) -> &'static str {
    CAUSE_NAMES[cause as usize]
}

/// A TCP flow, or UDP that has no congestion control.
pub fn is_bulk(app: App) -> bool {
    app.is_tcp()
}
