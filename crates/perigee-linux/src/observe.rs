// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Observer that merges the measurements of real flows with those of the simulator.

use crate::arrivals::Arrivals;
use crate::conversations::Conversations;
use crate::frames::{transport, TCP, UDP, UDP_HEADER};
use crate::meter::{Header, Meter};
use crate::plan::HostPlan;
use crate::probes::Probes;
use perigee_backend::recorder::FrameTap;
use perigee_backend::BackendError;
use perigee_cc::CaState;
use perigee_guest::report::{Object, Report, Sample, TcpInfo, When};
use perigee_record::tables::{CarrierRow, CompletionRow, FlowRow, LimitRow, LinkRow};
use perigee_record::{ByteRate, FlowTotals, FrameSeen, PacketSeen};
use perigee_sim::{EndpointId, Internals, Observer, Side, SimEvent, TelemetryStack};
use perigee_telemetry::tcp_option::BusiestPort;
use perigee_telemetry::WireCompact;
use perigee_timeline::Workload;
use perigee_units::Nanos;

/// `snd_ssthresh` of a connection without a threshold (TCP_INFINITE_SSTHRESH).
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// Measurements of a real flow.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Counters of its packets at its sender.
    pub meter: Meter,
    /// Counters of its packets, for a UDP flow.
    pub probes: Probes,
    /// Arrivals at its receiver, if that is on another kernel than the sender.
    pub arrivals: Option<Arrivals>,
    /// Connections of its programs, if it carries them.
    conversations: Conversations,
    /// Payload of its programs' packets that have reached its destination.
    carried_bytes: u64,
    /// Number of its ACKs with telemetry that have reached its sender.
    pub telemetry_acks: u64,
    /// Selection of the port that the TCP option of its packets reports, per direction.
    busiest: [BusiestPort; 2],
    /// Latest sample of its sender's kernel.
    latest: Option<Box<Sample>>,
    /// Whether its last sample, taken at the end of the run, has arrived.
    ended: bool,
    goodput: ByteRate,
    /// Sample of the previous row, with its time.
    before: Option<(Nanos, TcpInfo)>,
    rtt_sum_ns: u128,
    rtt_count: u64,
    started: Option<Nanos>,
    completed: Option<Nanos>,
    bytes: Option<u64>,
}

impl Known {
    /// Record of the busiest port for a packet with a TCP option that arrived at an end.
    pub fn busiest_port(&mut self, at_end: Side, now: Nanos, stack: &TelemetryStack) -> WireCompact {
        self.busiest[usize::from(at_end == Side::Source)].on_packet(now, stack.path_id(), stack.hops())
    }
}

/// Observer that forwards rows of simulated flows, and fills rows of real flows from the reports of
/// their hosts.
pub struct Hosted<'p, O> {
    inner: O,
    plan: &'p HostPlan,
    known: Vec<Known>,
    /// Flows with a failed connection, and the cause.
    failed: Vec<(u32, String)>,
}

impl<'p, O: FrameTap> Hosted<'p, O> {
    /// Forwards all observations to `inner`.
    pub fn new(inner: O, plan: &'p HostPlan, workload: &Workload) -> Self {
        let mut known = vec![Known::default(); plan.ends.len()];
        for (known, flow) in known.iter_mut().zip(&workload.flows) {
            known.goodput = ByteRate::since(flow.start);
        }
        for t in &plan.job.transfers {
            known[t.flow as usize].bytes = t.bytes;
            known[t.flow as usize].arrivals = plan.is_between_kernels(t.flow).then(Arrivals::default);
        }
        Hosted { inner, plan, known, failed: Vec::new() }
    }

    /// Checks that no connection has failed.
    ///
    /// # Errors
    /// The first failed flow, with the cause.
    pub fn check_connections(&self, workload: &Workload) -> Result<(), BackendError> {
        let Some((flow, why)) = self.failed.first() else { return Ok(()) };
        let flow = workload.flows.get(*flow as usize).map_or("?", |f| f.name.as_str());
        Err(BackendError::Failed(format!("flow {flow:?}: connection failed: {why}")))
    }

    /// Measurements of a real flow.
    pub fn flow_mut(&mut self, flow: u32) -> &mut Known {
        &mut self.known[flow as usize]
    }

    /// Records an IP packet at an end of a flow. `tcp` is the offset of the TCP header, `None` for
    /// UDP.
    pub fn show(&mut self, at: Nanos, end: EndpointId, packet: &[u8], tcp: Option<usize>) {
        if O::PACKETS {
            let informative_bytes = tcp.map_or(packet.len(), |at| headers(packet, at));
            let at_source = end.side == Side::Source;
            self.inner.frame(&FrameSeen {
                at_ns: at.0,
                flow: end.flow,
                at_source,
                packet,
                informative_bytes,
            });
        }
    }

    /// Records an RTT sample of a real flow; the packet was sent at `sent`. `base` is the RTT
    /// without queueing, if known.
    pub fn measured(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        let known = &mut self.known[flow as usize];
        known.rtt_sum_ns += u128::from(rtt.0);
        known.rtt_count += 1;
        self.inner.rtt(flow, sent, rtt, base);
    }

    /// Records that the network has delivered a packet to an end of a flow.
    pub fn delivered(&mut self, end: EndpointId, sent: Nanos, at: Nanos) {
        self.inner.delay(end.flow, end.side == Side::Source, sent, at);
    }

    /// Connections of programs over a flow; `None` if it does not carry them.
    pub fn conversations(&mut self, flow: u32) -> Option<&mut Conversations> {
        self.plan.carries_programs(flow).then(|| &mut self.known[flow as usize].conversations)
    }

    /// Counts the payload of a packet of programs that has reached the destination of its flow.
    pub fn carried(&mut self, flow: u32, packet: &[u8]) {
        if self.plan.carries_programs(flow) {
            self.known[flow as usize].carried_bytes += payload_bytes(packet);
        }
    }

    /// Records the arrival of a packet of a UDP flow without replies.
    pub fn datagram_arrived(&mut self, flow: u32, sent: Nanos, at: Nanos, ip_bytes: usize) {
        self.known[flow as usize].probes.arrived(ip_bytes);
        self.inner.datagram(flow, 0, sent, at);
    }

    /// Processes a report of a host.
    pub fn take_report(&mut self, report: Report) {
        match report {
            Report::Sample(when, sample) if self.plan.is_real(sample.flow) => self.sampled(when, sample),
            Report::Started(at, flow) if self.plan.is_real(flow) => {
                self.known[flow as usize].started = Some(at);
            }
            Report::Complete(at, flow) if self.plan.is_real(flow) => self.complete(at, flow),
            Report::Silence(at, flow, silent) if self.plan.is_real(flow) => {
                self.inner.event(at, &if silent { SimEvent::Idle(flow) } else { SimEvent::Busy(flow) });
            }
            Report::Object(done, flow, o) if self.plan.is_real(flow) => {
                let Object { number: object, bytes, asked, first } = o;
                self.inner.event(done, &SimEvent::Idle(flow));
                let (asked_ns, first_ns, done_ns) = (asked.0, Some(first.0), done.0);
                self.inner.completion(&CompletionRow { flow, object, bytes, asked_ns, first_ns, done_ns });
            }
            Report::Failed(_, flow, why) => self.failed.push((flow, why)),
            _ => {}
        }
    }

    fn sampled(&mut self, when: When, mut sample: Box<Sample>) {
        if let Some(arrivals) = &self.known[sample.flow as usize].arrivals {
            sample.received = arrivals.bytes();
        }
        let (flow, delivered_bytes) = (sample.flow, sample.received);
        if when == When::Stopped {
            self.inner.event(sample.at, &SimEvent::FlowStop { flow, delivered_bytes });
        }
        let known = &mut self.known[flow as usize];
        known.ended |= when == When::End;
        known.latest = Some(sample);
    }

    /// Whether the last sample of any started transfer is outstanding.
    pub fn awaits_last_samples(&self) -> bool {
        let begun = |flow: u32| self.plan.is_real(flow) && self.known[flow as usize].latest.is_some();
        self.plan.job.transfers.iter().any(|t| begun(t.flow) && !self.known[t.flow as usize].ended)
    }

    fn complete(&mut self, at: Nanos, flow: u32) {
        let known = &mut self.known[flow as usize];
        let (Some(bytes), None) = (known.bytes, known.completed) else { return };
        known.completed = Some(at);
        self.inner.event(at, &SimEvent::FlowComplete(flow));
        // A split connection completes with its last leg; the time counts from the start of the
        // first.
        if self.plan.job.relays.iter().any(|r| r.flow == flow) {
            return;
        }
        let asked = self.known[self.first_leg(flow) as usize].started.unwrap_or_default();
        let (asked_ns, first_ns, done_ns) = (asked.0, None, at.0);
        self.inner.completion(&CompletionRow { flow, object: 0, bytes, asked_ns, first_ns, done_ns });
    }

    /// First leg of the split connection that ends with a flow; the flow itself if it is not split.
    fn first_leg(&self, mut flow: u32) -> u32 {
        while let Some(relay) = self.plan.job.relays.iter().find(|r| r.next == flow) {
            flow = relay.flow;
        }
        flow
    }

    /// Adds the values reported by hosts to the totals of their flows; returns the inner observer.
    pub fn finish(self, totals: &mut [FlowTotals]) -> O {
        for (flow, (known, totals)) in self.known.into_iter().zip(totals).enumerate() {
            if self.plan.carries_programs(flow as u32) {
                totals.goodput_bytes = known.carried_bytes;
            }
            if !self.plan.is_real(flow as u32) {
                continue;
            }
            (totals.undos, totals.recoveries) = (None, None);
            if self.plan.is_probe(flow as u32) {
                totals.goodput_bytes = known.probes.received_bytes;
                totals.data_sent = known.probes.packets;
                continue;
            }
            let tcp = known.latest.as_ref().map_or(TcpInfo::default(), |s| s.tcp);
            totals.goodput_bytes = known.latest.map_or(0, |s| s.received);
            totals.data_sent = known.meter.data_packets;
            totals.retrans = u64::from(tcp.total_retrans);
            totals.timeouts = u64::from(tcp.total_rto);
            totals.completed = known.completed;
            totals.telemetry_acks = known.telemetry_acks;
        }
        self.inner
    }
}

/// Length of a packet's IP and TCP headers in bytes; the TCP header starts at `tcp`.
fn headers(packet: &[u8], tcp: usize) -> usize {
    packet.get(tcp + 12).map_or(packet.len(), |byte| tcp + usize::from(byte >> 4) * 4)
}

/// Payload of an IP packet: without the headers of TCP and UDP; of other protocols, all that follows
/// the IP header.
fn payload_bytes(packet: &[u8]) -> u64 {
    let Some((start, protocol)) = transport(packet) else { return 0 };
    let from = match protocol {
        TCP => return Header::read(packet, start).map_or(0, |tcp| tcp.payload),
        UDP => start + UDP_HEADER,
        _ => start,
    };
    packet.len().saturating_sub(from) as u64
}

/// Internal values of Linux, recorded in addition to the columns of all backends.
fn internals(s: &Sample) -> Vec<(&'static str, f64)> {
    let t = &s.tcp;
    let mut out = vec![
        ("linux.min_rtt_us", f64::from(t.min_rtt_us)),
        ("linux.reordering", f64::from(t.reordering)),
        ("linux.rwnd_limited_us", t.rwnd_limited_us as f64),
        ("linux.sndbuf_limited_us", t.sndbuf_limited_us as f64),
        ("linux.delivered_ce", f64::from(t.delivered_ce)),
    ];
    let word = |i: usize| s.scheme_info.get(4 * i..4 * i + 4)?.try_into().ok().map(u32::from_ne_bytes);
    // struct tcp_bbr_info: bandwidth in bytes per second, minimum RTT in us, gains in 1/256.
    if let ("bbr", [Some(low), Some(high), Some(rtt), Some(pacing), Some(cwnd)]) =
        (s.scheme.as_str(), [0, 1, 2, 3, 4].map(word))
    {
        let bytes_per_s = u64::from(high) << 32 | u64::from(low);
        out.push(("linux.bbr_bandwidth_bps", bytes_per_s as f64 * 8.0));
        out.push(("linux.bbr_min_rtt_us", f64::from(rtt)));
        out.push(("linux.bbr_pacing_gain", f64::from(pacing) / 256.0));
        out.push(("linux.bbr_cwnd_gain", f64::from(cwnd) / 256.0));
    }
    out
}

/// Time under each limit since the previous sample, from the kernel's chronographs (`tcp_chrono`).
fn limits(row: &FlowRow, sample: &Sample, (at, before): (Nanos, TcpInfo)) -> LimitRow {
    let since = |now_us: u64, then_us: u64| now_us.saturating_sub(then_us) * 1_000;
    let busy = since(sample.tcp.busy_us, before.busy_us);
    let receive_window = since(sample.tcp.rwnd_limited_us, before.rwnd_limited_us);
    let send_buffer = since(sample.tcp.sndbuf_limited_us, before.sndbuf_limited_us);
    LimitRow {
        t_ns: row.t_ns,
        flow: row.flow,
        application_ns: sample.at.saturating_sub(at).0.saturating_sub(busy),
        receive_window_ns: receive_window,
        send_buffer_ns: send_buffer,
        congestion_window_ns: busy.saturating_sub(receive_window + send_buffer),
        pacing_ns: None,
    }
}

fn state(linux: u8) -> CaState {
    // A guest may report any byte.
    match linux {
        1 => CaState::Disorder,
        2 => CaState::Cwr,
        3 => CaState::Recovery,
        4 => CaState::Loss,
        _ => CaState::Open,
    }
}

impl<O: Observer> Observer for Hosted<'_, O> {
    const PACKETS: bool = O::PACKETS;

    fn flow(&mut self, row: &FlowRow, own: &Internals) {
        let known = &mut self.known[row.flow as usize];
        let (sum, count) = (std::mem::take(&mut known.rtt_sum_ns), std::mem::take(&mut known.rtt_count));
        let rtt_ns = (count > 0).then(|| (sum / u128::from(count)) as u64);
        if self.plan.carries_programs(row.flow) {
            // The simulator has counted the packets of programs; it does not know their headers.
            let delivered_bytes = known.carried_bytes;
            let goodput_bps = known.goodput.next_bps(Nanos(row.t_ns), delivered_bytes);
            return self.inner.flow(
                &FlowRow { goodput_bps, delivered_bytes, rtt_ns: rtt_ns.or(row.rtt_ns), ..row.clone() },
                own,
            );
        }
        if !self.plan.is_real(row.flow) {
            return self.inner.flow(&FlowRow { rtt_ns: rtt_ns.or(row.rtt_ns), ..row.clone() }, own);
        }
        if self.plan.is_probe(row.flow) {
            let Probes { received_bytes: delivered_bytes, packets: sent_packets, .. } = known.probes;
            let goodput_bps = known.goodput.next_bps(Nanos(row.t_ns), delivered_bytes);
            // No struct update here and below: a new column must not silently keep the value of the
            // simulator, which has no packets of this flow.
            let row = FlowRow {
                t_ns: row.t_ns,
                flow: row.flow,
                goodput_bps,
                delivered_bytes,
                cwnd_bytes: None,
                ssthresh_bytes: None,
                pacing_bps: None,
                in_flight_bytes: None,
                srtt_ns: None,
                rtt_ns,
                base_rtt_ns: row.base_rtt_ns,
                path_rate_bps: row.path_rate_bps,
                delivery_rate_bps: None,
                sent_packets,
                retransmits: 0,
                lost_packets: row.lost_packets,
                timeouts: 0,
                ca_state: row.ca_state,
                mode: row.mode,
            };
            return self.inner.flow(&row, own);
        }
        let Some(sample) = &known.latest else { return };
        let (t, mss) = (&sample.tcp, u64::from(sample.tcp.snd_mss));
        let bps = |bytes_per_s: u64| bytes_per_s.saturating_mul(8);
        let row = FlowRow {
            t_ns: row.t_ns,
            flow: row.flow,
            goodput_bps: known.goodput.next_bps(Nanos(row.t_ns), sample.received),
            delivered_bytes: sample.received,
            cwnd_bytes: Some(u64::from(t.snd_cwnd) * mss),
            ssthresh_bytes: (t.snd_ssthresh < NO_SSTHRESH).then(|| u64::from(t.snd_ssthresh) * mss),
            pacing_bps: (t.pacing_rate < u64::MAX / 8).then(|| bps(t.pacing_rate)),
            in_flight_bytes: Some(t.in_flight() * mss),
            srtt_ns: (t.rtt_us > 0).then(|| u64::from(t.rtt_us) * 1_000),
            rtt_ns,
            base_rtt_ns: row.base_rtt_ns,
            path_rate_bps: row.path_rate_bps,
            delivery_rate_bps: Some(bps(t.delivery_rate)),
            sent_packets: known.meter.data_packets,
            retransmits: u64::from(t.total_retrans),
            // The kernel reports the packets currently marked lost, not their total.
            lost_packets: None,
            timeouts: u64::from(t.total_rto),
            ca_state: state(t.ca_state).name(),
            mode: row.mode,
        };
        self.inner.flow(&row, &internals(sample));
        let since = known.before.replace((sample.at, sample.tcp));
        // Without an RTT sample the connection is not established.
        if sample.tcp.rtt_us > 0 {
            let start = known.started.unwrap_or(sample.at);
            self.inner.limits(&limits(&row, sample, since.unwrap_or((start, TcpInfo::default()))));
        }
    }

    fn limits(&mut self, row: &LimitRow) {
        if !self.plan.is_real(row.flow) {
            self.inner.limits(row);
        }
    }

    fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        self.inner.event(at, e);
    }
    fn rtt(&mut self, flow: u32, sent: Nanos, rtt: Nanos, base: Option<Nanos>) {
        self.inner.rtt(flow, sent, rtt, base);
    }
    fn datagram(&mut self, flow: u32, spurt: u64, sent: Nanos, at: Nanos) {
        self.inner.datagram(flow, spurt, sent, at);
    }
    fn completion(&mut self, row: &CompletionRow) {
        self.inner.completion(row);
    }
    fn sampled(&mut self, at: Nanos) {
        self.inner.sampled(at);
    }
    fn link(&mut self, row: &LinkRow) {
        self.inner.link(row);
    }
    fn carrier(&mut self, row: &CarrierRow) {
        self.inner.carrier(row);
    }
    fn packet(&mut self, p: &PacketSeen<'_>) {
        self.inner.packet(p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(protocol: u8, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; bytes];
        (packet[0], packet[9]) = (0x45, protocol);
        packet
    }

    #[test]
    fn headers_are_no_payload() {
        let mut tcp = ip(TCP, 20 + 32 + 1448);
        tcp[20 + 12] = 8 << 4;
        assert_eq!(payload_bytes(&tcp), 1448);
        assert_eq!(payload_bytes(&ip(UDP, 20 + 8 + 200)), 200);
        assert_eq!(payload_bytes(&ip(1, 84)), 64, "ICMP");
        // Packets of a guest may have any bytes.
        assert_eq!(payload_bytes(&ip(UDP, 21)), 0);
        tcp[20 + 12] = 0xf0;
        assert_eq!(payload_bytes(&tcp[..30]), 0);
        assert_eq!(payload_bytes(&[]), 0);
    }
}
