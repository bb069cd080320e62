// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pings before a run: the hosts of each flow ping each other through the network as it is at time
//! zero. The frames that their kernels send and receive, their interfaces, and the times at each
//! hop are compared with the scenario and the timeline: a wrong connection or delay aborts the run
//! before it starts.
//!
//! Pings use separate kernels and networks, so that the results of a run do not depend on them.

mod course;
mod kernels;
#[cfg(test)]
mod tests;

use crate::frames;
use crate::plan::HostPlan;
use course::FlowNetwork;
pub use course::{Beginning, Resumed};
use perigee_backend::BackendError;
use perigee_guest::job::{self, Job, Ping};
use perigee_sim::{EndpointId, FlowSetup, Side};
use perigee_timeline::{ChunkSource, Header, PairId};
use perigee_units::Nanos;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Length of the timeline to read ahead: longer than any RTT.
pub const LENGTH: Nanos = Nanos::from_secs(10);

/// Maximum number of flows to ping, as a network is created for each.
const MOST: usize = 1000;

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// Types of echo request and reply, by IP version (RFC 792, RFC 4443).
const ECHO: [(u8, u8); 2] = [(8, 0), (128, 129)];
/// Offsets of messages in packets without options.
const HEADERS: [usize; 2] = [20, 40];

/// A frame at the interface of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFrame {
    /// Number of the host.
    pub host: usize,
    /// Ethernet header and payload.
    pub bytes: Box<[u8]>,
}

/// Hosts that ping each other.
pub trait Hosts {
    /// Sends the pings of the job; returns the frames sent by the interfaces.
    ///
    /// # Errors
    /// If the hosts do not come up.
    fn ask(&mut self) -> Result<Vec<HostFrame>, BackendError>;

    /// Delivers frames to interfaces; returns the frames that these send in turn.
    ///
    /// # Errors
    /// If the hosts have exited.
    fn exchange(&mut self, arrived: Vec<HostFrame>) -> Result<Vec<HostFrame>, BackendError>;

    /// Numbers of the pings that are answered: their replies have reached the programs.
    ///
    /// # Errors
    /// If the hosts have exited.
    fn answered(&mut self) -> Result<BTreeSet<u16>, BackendError>;
}

/// Pings of a run: one flow for each combination of hosts and paths, with both IP versions.
pub struct Pings<'a> {
    plan: &'a HostPlan,
    setups: &'a [FlowSetup],
    flows: Vec<u32>,
    /// Job of its hosts.
    pub job: Job,
}

/// A flow between hosts that ping each other.
struct Trip {
    /// Index among the pinged flows.
    index: u32,
    flow: u32,
    /// Whether the timeline determines the outcome.
    foreseeable: bool,
    /// Time at which the next packet enters the network.
    at: Nanos,
}

impl<'a> Pings<'a> {
    /// Pings of the flows with real hosts.
    pub fn of(plan: &'a HostPlan, setups: &'a [FlowSetup]) -> Self {
        let mut known: BTreeSet<(usize, usize, PairId, PairId)> = BTreeSet::new();
        let mut flows = Vec::new();
        let mut pings = Vec::new();
        for (flow, (ends, setup)) in (0..).zip(plan.ends.iter().zip(setups)) {
            let Some((from, to)) = *ends else { continue };
            if plan.apart.contains(&from) || plan.apart.contains(&to) {
                continue;
            }
            if flows.len() == MOST || !known.insert((from, to, setup.forward, setup.reverse)) {
                continue;
            }
            for (version, address) in
                [IpAddr::V4(job::ipv4(to)), IpAddr::V6(job::ipv6(to))].into_iter().enumerate()
            {
                pings.push(Ping { number: (2 * flows.len() + version) as u16, from, to: address });
            }
            flows.push(flow);
        }
        let hosts = plan.job.hosts.clone();
        let job = Job { hosts, end: plan.job.end, pings, ..Job::default() };
        Pings { plan, setups, flows, job }
    }

    /// Sends the pings and follows them over the network from end to end and back. `source`: the
    /// network of the run; `timeline`: its part read ahead. Returns the flows that were not
    /// followed, with the reason.
    ///
    /// # Errors
    /// The first ping with an unexpected course: where, and what happens instead.
    pub fn check<S: ChunkSource>(
        &self,
        header: &Header,
        timeline: &Beginning,
        source: &dyn Fn() -> S,
        hosts: &mut dyn Hosts,
    ) -> Result<Vec<String>, BackendError> {
        let mut skipped = Vec::new();
        let trip = |(index, &flow)| Trip { index, flow, foreseeable: true, at: Nanos::ZERO };
        let mut trips: Vec<Trip> = (0..).zip(&self.flows).map(trip).collect();
        let mut seen = hosts.ask()?;
        for side in [Side::Source, Side::Destination] {
            let mut arriving = Vec::new();
            for trip in &mut trips {
                let (frames, to) = self.frames(trip, side, &seen)?;
                if trip.foreseeable {
                    skipped.extend(self.follow(trip, side, frames[0], (header, timeline), source)?);
                }
                arriving.extend(frames.map(|frame| HostFrame { host: to, bytes: frame.into() }));
            }
            seen = hosts.exchange(arriving)?;
        }
        let answered = hosts.answered()?;
        let lost = self.job.pings.iter().find(|ping| !answered.contains(&ping.number));
        lost.map_or(Ok(skipped), |ping| {
            let flow = self.flows[usize::from(ping.number / 2)];
            let host = &self.plan.job.hosts[ping.from].name;
            Err(self.wrong(
                flow,
                usize::from(ping.number % 2),
                &format!("the answer is not accepted at {host}"),
            ))
        })
    }

    /// Frames of both versions from one end of a flow to the other, and the number of the receiving
    /// host.
    fn frames<'f>(
        &self,
        trip: &Trip,
        side: Side,
        seen: &'f [HostFrame],
    ) -> Result<([&'f [u8]; 2], usize), BackendError> {
        let (source, destination) = self.plan.ends[trip.flow as usize].expect("it is real");
        let answer = side == Side::Destination;
        let (from, to) = if answer { (destination, source) } else { (source, destination) };
        let mut frames: [&[u8]; 2] = [&[], &[]];
        for (version, frame) in frames.iter_mut().enumerate() {
            let wanted = Message { number: (2 * trip.index) as u16 + version as u16, answer };
            let found = seen.iter().find(|s| message(&s.bytes) == Some((version, wanted)));
            let name = |host: usize| self.plan.job.hosts.get(host).map_or("?", |h| h.name.as_str());
            let wrong = |why: String| Err(self.wrong(trip.flow, version, &why));
            let Some(found) = found else {
                let what = if answer { "does not answer" } else { "sends nothing" };
                return wrong(format!(
                    "{} {what}: its interface, addresses and routes are not those of the scenario",
                    name(from)
                ));
            };
            if found.host != from {
                return wrong(format!("{} sends through the interface of {}", name(from), name(found.host)));
            }
            let addressee = job::host_of(&found.bytes[..6]);
            if addressee != Some(to) {
                let other = addressee.map_or("nobody", name);
                return wrong(format!("{} sends to {other} instead of {}", name(from), name(to)));
            }
            *frame = &found.bytes;
        }
        Ok((frames, to))
    }

    /// Follows a frame from one end of a flow to the other. Returns a message if the timeline does
    /// not determine the outcome.
    fn follow<S: ChunkSource>(
        &self,
        trip: &mut Trip,
        side: Side,
        frame: &[u8],
        (header, timeline): (&Header, &Beginning),
        source: &dyn Fn() -> S,
    ) -> Result<Option<String>, BackendError> {
        let setup = &self.setups[trip.flow as usize];
        let pair = if side == Side::Source { setup.forward } else { setup.reverse };
        let packet = frames::ip_packet(frame).unwrap_or_default();
        let hops = match timeline.course(header, pair, trip.at, packet.len() as u64) {
            Ok(hops) => hops,
            Err(why) => {
                trip.foreseeable = false;
                return Ok(Some(format!(
                    "flow {:?} was not pinged over the network before the run: {why}",
                    setup.name
                )));
            }
        };
        let network = FlowNetwork::new(header, source(), setup, timeline.end())?;
        let arrived = network.carry(EndpointId { flow: 0, side }, trip.at, packet, &hops);
        let arrived = arrived.map_err(|why| self.wrong(trip.flow, 0, &format!("the packet {why}")))?;
        trip.at = arrived + Nanos(1);
        Ok(None)
    }

    fn wrong(&self, flow: u32, version: usize, why: &str) -> BackendError {
        let (from, to) = self.plan.ends[flow as usize].expect("it is real");
        let name = |host: usize| &self.plan.job.hosts[host].name;
        BackendError::Failed(format!(
            "before the run, ping of flow {:?} from {} to {} by {}: {why}",
            self.plan.names[flow as usize],
            name(from),
            name(to),
            ["IPv4", "IPv6"][version]
        ))
    }
}

/// Contents of a ping's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Number of the ping.
    pub number: u16,
    /// Whether it is a reply.
    pub answer: bool,
}

/// Message in a frame, and the IP version (0 = 4, 1 = 6).
pub fn message(frame: &[u8]) -> Option<(usize, Message)> {
    let packet = frames::ip_packet(frame)?;
    let version = match packet[0] >> 4 {
        4 if packet[9] == ICMP => 0,
        6 if packet.get(6) == Some(&ICMP6) => 1,
        _ => return None,
    };
    let icmp = packet.get(HEADERS[version]..HEADERS[version] + 6)?;
    let answer = match icmp[0] {
        kind if kind == ECHO[version].0 => false,
        kind if kind == ECHO[version].1 => true,
        _ => return None,
    };
    Some((version, Message { number: u16::from_be_bytes([icmp[4], icmp[5]]), answer }))
}
