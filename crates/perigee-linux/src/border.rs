// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frame ingress and egress between real hosts and the simulated network, in virtual and in real
//! time.

use crate::frames;
use crate::observe::Hosted;
use crate::plan::{HostPlan, LONGER_HEADER};
use perigee_backend::recorder::FrameTap;
use perigee_backend::recording::failed;
use perigee_backend::BackendError;
use perigee_guest::job;
use perigee_sim::{Content, Delivery, EndpointId, OutsidePacket, Side, Simulation};
use perigee_telemetry::tcp_option;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Number of frames that belong to no flow, and are therefore not carried, by sending and receiving
/// host.
pub type Strays = BTreeMap<(usize, usize), u64>;

/// A network with observers of the packets that cross its edge.
pub struct Border<'a, 'p, 's, O> {
    /// Assignment of frames to flows.
    pub plan: &'p HostPlan,
    /// The network.
    pub simulation: &'a mut Simulation<'s>,
    /// Receives packets and RTT samples.
    pub observer: &'a mut Hosted<'p, O>,
    /// Counters of frames that belong to no flow.
    pub strays: &'a mut Strays,
}

impl<O: FrameTap> Border<'_, '_, '_, O> {
    /// Passes a frame of a host to the network. Packets of transfers over IPv6 have the size that
    /// they would have over IPv4, as those of the simulator, so that schemes compare.
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn enter(&mut self, from: usize, at: Nanos, frame: &[u8]) -> Result<(), BackendError> {
        let to = job::host_of(&frame[..6.min(frame.len())]);
        // Frames without a unicast destination look for routers and neighbours, which do not exist.
        let Some(to) = to.filter(|to| *to < self.plan.nodes.len()) else { return Ok(()) };
        let found = frames::ip_packet(frame)
            .and_then(|packet| Some((frames::place(self.plan, from, to, packet)?, packet)));
        let Some((place, packet)) = found else {
            *self.strays.entry((from, to)).or_default() += 1;
            return Ok(());
        };
        match (place.from.side, place.tcp, place.probe) {
            (Side::Source, Some(tcp), _) => {
                self.observer.flow_mut(place.from.flow).meter.sent(at, packet, tcp);
            }
            (Side::Source, _, Some(number)) => {
                self.observer.flow_mut(place.from.flow).probes.sent(number, at)
            }
            _ => {}
        }
        let EndpointId { flow, side } = place.from;
        if let Some(rtt) = self.observer.conversations(flow).and_then(|c| c.entered(at, side, packet)) {
            self.measured(flow, at, rtt);
        }
        self.observer.show(at, place.from, packet, place.tcp);
        let written = frames::telemetry(packet);
        let packet = OutsidePacket::frame(place.from.side, at, packet.into()).map_err(failed)?;
        let ip_bytes =
            packet.ip_bytes - if self.plan.is_over_ipv6(place.from.flow) { LONGER_HEADER } else { 0 };
        let packet = OutsidePacket { telemetry: written, ip_bytes, ..packet };
        self.simulation.inject(at, place.from, packet).map_err(failed)
    }

    /// Measures and records delivered packets, and passes them on as time, host, and a function
    /// that builds the frame (which costs a copy).
    pub fn leave(&mut self, mut give: impl FnMut(Nanos, usize, &dyn Fn() -> Box<[u8]>)) {
        let arrived: Vec<Delivery> = self.simulation.egress().collect();
        for Delivery { at, endpoint, packet } in arrived {
            let Content::Frame(bytes) = &packet.content else { continue };
            let Some((from, to)) = self.plan.way_to(endpoint) else { continue };
            self.observer.delivered(endpoint, packet.sent, at);
            let EndpointId { flow, side } = endpoint;
            if let Some(rtt) = self.observer.conversations(flow).and_then(|c| c.arrived(at, side, bytes)) {
                self.measured(flow, at, rtt);
            }
            if self.plan.is_probe(endpoint.flow) {
                self.note_probe(endpoint, at, packet.sent, (from, to), bytes);
            }
            match endpoint.side {
                Side::Source => self.measure(endpoint.flow, at, bytes),
                Side::Destination => self.count(endpoint.flow, from, to, bytes),
            }
            let stack = packet.telemetry.as_ref();
            let busiest = stack
                .filter(|_| tcp_option::read(bytes).is_some())
                .map(|stack| self.observer.flow_mut(endpoint.flow).busiest_port(endpoint.side, at, stack));
            let frame = || {
                let mut frame = frames::delivered(bytes, from, to, packet.marked, stack);
                if let (Some(busiest), Some(stack)) = (&busiest, stack) {
                    frames::write_option(&mut frame, stack.hops().len(), busiest);
                }
                frame
            };
            if O::PACKETS {
                let tcp = frames::place(self.plan, from, to, bytes).and_then(|place| place.tcp);
                self.observer.show(at, endpoint, &frame()[14..], tcp);
            }
            give(at, to, &frame);
        }
    }

    /// Takes an RTT sample if a packet that arrived at a flow's source acknowledges data.
    fn measure(&mut self, flow: u32, at: Nanos, packet: &[u8]) {
        let Some((from, to)) = self.plan.way_to(EndpointId { flow, side: Side::Source }) else { return };
        let Some(tcp) = frames::place(self.plan, from, to, packet).and_then(|p| p.tcp) else { return };
        self.observer.flow_mut(flow).telemetry_acks += u64::from(frames::has_records(packet));
        if let Some(rtt) = self.observer.flow_mut(flow).meter.arrived(at, packet, tcp) {
            self.measured(flow, at, rtt);
        }
    }

    /// Records an RTT that ended at an instant.
    fn measured(&mut self, flow: u32, at: Nanos, rtt: Nanos) {
        let sent = at.saturating_sub(rtt);
        let base = self.simulation.base_rtt(flow, sent);
        self.observer.measured(flow, sent, rtt, base);
    }

    /// Handles the arrival of a packet of a UDP flow, or of its echo.
    fn note_probe(&mut self, end: EndpointId, at: Nanos, sent: Nanos, way: (usize, usize), packet: &[u8]) {
        let Some(number) = frames::place(self.plan, way.0, way.1, packet).and_then(|p| p.probe) else {
            return;
        };
        let flow = end.flow;
        let echoed = self.plan.job.probes.iter().any(|p| p.flow == flow && p.echoed);
        match end.side {
            Side::Destination if !echoed => self.observer.datagram_arrived(flow, sent, at, packet.len()),
            Side::Source => {
                if let Some(sent) = self.observer.flow_mut(flow).probes.answered(number, packet.len()) {
                    let base = self.simulation.base_rtt(flow, sent);
                    self.observer.measured(flow, sent, at.saturating_sub(sent), base);
                }
            }
            Side::Destination => {}
        }
    }

    /// Counts a packet at the receiver of a flow between different kernels.
    fn count(&mut self, flow: u32, from: usize, to: usize, packet: &[u8]) {
        self.observer.carried(flow, packet);
        if let Some(arrivals) = &mut self.observer.flow_mut(flow).arrivals {
            if let Some(tcp) = frames::place(self.plan, from, to, packet).and_then(|p| p.tcp) {
                arrivals.arrived(packet, tcp);
            }
        }
    }
}

/// Warnings about packets that no flow carried.
pub fn remarks<'a>(plan: &'a HostPlan, strays: &'a Strays) -> impl Iterator<Item = String> + 'a {
    let name = |host: usize| plan.job.hosts[host].name.as_str();
    strays.iter().map(move |(&(from, to), packets)| {
        let (from, to) = (name(from), name(to));
        format!("{packets} packets from {from} to {to} were dropped: no flow of the scenario connects these hosts")
    })
}
