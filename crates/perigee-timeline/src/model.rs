// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes, ports, links, routes, and their changes.

use crate::{Background, Carrier, Dama, Discipline, TelemetryFaults};
use perigee_units::{BitRate, Nanos, NS_PER_S};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);
        impl $name {
            /// Index into the list that the id numbers.
            #[inline]
            pub fn ix(self) -> usize {
                self.0 as usize
            }
        }
    };
}
id!(/// Index of a node.
    NodeId);
id!(/// Index of a port (an egress queue with its transmitter).
    PortId);
id!(/// Index of a directed link.
    LinkId);
id!(/// Index of a traffic pair (a source and a destination; the return path is a separate pair).
    PairId);

/// Class of a node, for maps and labels; backends ignore it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeClass {
    /// An end host.
    Host,
    /// A router on the ground.
    Router,
    /// A satellite.
    Satellite,
    /// A ground station (gateway) with several dishes.
    Station,
    /// A user terminal with one dish.
    Terminal,
}

/// A place on or above the Earth: geodetic WGS84 latitude and longitude in degrees, height in
/// metres.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct GeoPoint {
    /// Degrees north.
    pub lat_deg: f64,
    /// Degrees east.
    pub lon_deg: f64,
    /// Metres above the ellipsoid.
    pub height_m: f64,
}

/// A host, router or satellite.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Class, for maps and labels.
    pub class: NodeClass,
    /// Position, if it does not move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<GeoPoint>,
}

/// Limit of the queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueLimit {
    /// Maximum number of waiting packets.
    Packets(u64),
    /// Maximum number of waiting bytes, framing included.
    Bytes(u64),
}

/// Queue of a port. The packet in transmission does not count unless `count_in_service` is set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// Limit of the queue.
    pub limit: QueueLimit,
    /// Queue discipline, shared because thousands of ports have the same.
    #[serde(default)]
    pub discipline: Arc<Discipline>,
    /// Whether the packet in transmission counts towards the limit.
    #[serde(default)]
    pub count_in_service: bool,
    /// Whether probe packets (pings) wait in a separate queue with the same limit, which is served
    /// first.
    #[serde(default)]
    pub probe_priority: bool,
    /// Whether its meter computes in integers, as in a switch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub integer_meter: bool,
}

impl Queue {
    /// A drop-tail queue that does not count the packet in transmission.
    pub fn drop_tail(limit: QueueLimit) -> Self {
        Queue {
            limit,
            discipline: Arc::default(),
            count_in_service: false,
            probe_priority: false,
            integer_meter: false,
        }
    }
}

/// An egress queue and its transmitter. The port of an ISL has one link; that of a radio may have
/// several.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Port {
    /// Unique name for tables and plots.
    pub name: String,
    /// Node it belongs to.
    pub node: NodeId,
    /// Properties.
    #[serde(flatten)]
    pub spec: PortSpec,
}

/// Properties of a port, independent of its node: its transmitter and its queue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortSpec {
    /// Rate of the transmitter; zero = blocked.
    pub rate: BitRate,
    /// Queue of the port.
    pub queue: Queue,
    /// Bytes added to each IP packet for transmission time and byte limits (0, 7 PPP, 14 Ethernet).
    #[serde(default)]
    pub framing: u32,
    /// Depth of the token bucket in bytes, framing included: the burst that passes at once after
    /// idle time. The rate fills the bucket; a packet leaves once the bucket holds its bytes. 0 =
    /// none: a packet takes its transmission time.
    #[serde(default, skip_serializing_if = "no_bytes")]
    pub burst: u64,
    /// Transmission in slots that the port has to request; such a port has no token bucket. (Boxed,
    /// as few ports have it.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dama: Option<Box<Dama>>,
    /// Carrier shared with other terminals; such a port has no token bucket. (Boxed, as few ports
    /// have it.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Box<Carrier>>,
    /// Whether the port runs OrbCC's egress meter and writes telemetry.
    #[serde(default)]
    pub metered: bool,
    /// Faults of that telemetry. (Boxed, as few ports have any.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_faults: Option<Box<TelemetryFaults>>,
}

impl PortSpec {
    /// A drop-tail queue of `packets`.
    pub fn packets(rate: BitRate, packets: u64) -> Self {
        PortSpec {
            rate,
            queue: Queue::drop_tail(QueueLimit::Packets(packets)),
            framing: 0,
            burst: 0,
            dama: None,
            carrier: None,
            metered: false,
            telemetry_faults: None,
        }
    }

    /// A port that never limits: 1 Tbit/s and a million packets.
    pub fn unlimited() -> Self {
        PortSpec::packets(BitRate(1_000_000_000_000), 1_000_000)
    }
}

impl Default for PortSpec {
    /// 100 Mbit/s and 417 packets: the bandwidth-delay product at 50 ms.
    fn default() -> Self {
        PortSpec::packets(BitRate::from_mbit(100), 417)
    }
}

/// A delay that is constant or changes linearly from the instant it was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Delay {
    /// Delay at the instant it was set.
    pub base: Nanos,
    /// Change since then in nanoseconds per second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slope: i64,
}

fn is_false(v: &bool) -> bool {
    !*v
}

fn is_zero(v: &i64) -> bool {
    *v == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn no_bytes(v: &u64) -> bool {
    *v == 0
}

/// Time for a packet of `bytes`, framing included, to leave a port with an empty queue: its
/// transmission time, or zero if a token bucket of `burst` bytes lets it pass.
pub fn transmission(rate: BitRate, burst: u64, bytes: u64) -> Nanos {
    rate.time_for(bytes.saturating_sub(burst))
}

impl Delay {
    /// A constant delay.
    pub const fn constant(base: Nanos) -> Self {
        Delay { base, slope: 0 }
    }
    /// Delay at the time `since` after it was set; never negative. Slopes above 1 s per second
    /// would make time run backwards and are rejected by [`crate::store::check`].
    #[inline]
    pub fn at(&self, since: Nanos) -> Nanos {
        if self.slope == 0 {
            return self.base;
        }
        // For satellites' slopes, hours fit in 64 bits, where a division costs a tenth.
        let change = match i64::try_from(since.0).ok().and_then(|since| since.checked_mul(self.slope)) {
            Some(product) => i128::from(product / NS_PER_S as i64),
            None => (since.0 as i128 * self.slope as i128) / NS_PER_S as i128,
        };
        Nanos((self.base.0 as i128 + change).max(0) as u64)
    }
}

/// Whether packets keep their order if the delay of their link shrinks while they are in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkOrder {
    /// Later packets never overtake earlier ones (physical).
    #[default]
    Fifo,
    /// Later packets may overtake earlier ones (as with netem).
    Reorder,
}

/// Effect of an outage on packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageMode {
    /// Waiting, in service, in flight and arriving packets are all dropped, as for an interface
    /// that goes down.
    #[default]
    Flush,
    /// All packets are kept; the packet in service resumes when the link is up again.
    Hold,
    /// The queue continues to be served; packets that leave it during the outage are lost; those in
    /// flight arrive.
    Blackhole,
}

/// A directed link: a port, the node at the far end, and the delay, loss and order of its packets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// The transmitter that feeds it.
    pub port: PortId,
    /// Node at the far end.
    pub to: NodeId,
    /// Propagation delay.
    pub delay: Delay,
    /// Probability that a packet is lost, independently of other packets.
    #[serde(default)]
    pub loss: f64,
    /// Whether the link is up.
    #[serde(default = "yes")]
    pub up: bool,
    /// Effect of a shrinking delay.
    // Named as in saved timelines of earlier versions.
    #[serde(default, rename = "delay_drop")]
    pub order: LinkOrder,
}

fn yes() -> bool {
    true
}

/// A source and a destination of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Source of the packets.
    pub from: NodeId,
    /// Destination of the packets.
    pub to: NodeId,
}

/// Routing of packets, which determines the effect of a route change on packets in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Each pair has a path; packets in flight finish the one they started on.
    #[default]
    PerPath,
    /// Each node has a next-hop table; packets in flight follow the updated tables.
    PerHop,
}

/// A change of the network.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A port's rate; zero blocks it.
    Rate(PortId, BitRate),
    /// Background traffic of a port, from this instant on.
    Background(PortId, Arc<Background>),
    /// A link's delay, from this instant on.
    Delay(LinkId, Delay),
    /// A link's random loss.
    Loss(LinkId, f64),
    /// The given number of packets that leave next on a link are lost.
    Lose(LinkId, u32),
    /// A link goes down.
    Down(LinkId, OutageMode),
    /// A link is up again, or for the first time.
    Up(LinkId),
    /// The path of a pair (`Routing::PerPath`); `None` = unreachable.
    Path(PairId, Option<Arc<[LinkId]>>),
    /// The next hop from a node towards a destination (`Routing::PerHop`); `None` = unreachable.
    NextHop {
        /// Node at which the packet is.
        at: NodeId,
        /// Destination.
        to: NodeId,
        /// Link to take.
        link: Option<LinkId>,
    },
    /// A note without an effect on packets, for the events table and the plots.
    Note(Note),
}

/// Kinds of [`Note`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A terminal or station changes its satellite. `value` = outage in seconds (0 for soft).
    Handover,
    /// A pair changes its path. `value` = base RTT in seconds without serialisation, if known.
    PathChange,
    /// A pair loses its path.
    Unreachable,
    /// A pair has a path again.
    Reachable,
    /// A scheduled or handover outage starts. `value` = its length in seconds.
    OutageBegin,
    /// The outage ends.
    OutageEnd,
    /// A scheduled rate, delay or loss takes effect.
    Reconfiguration,
}

impl NoteKind {
    /// Name as in saved timelines and the events table.
    pub fn name(self) -> &'static str {
        match self {
            NoteKind::Handover => "handover",
            NoteKind::PathChange => "path-change",
            NoteKind::Unreachable => "unreachable",
            NoteKind::Reachable => "reachable",
            NoteKind::OutageBegin => "outage-begin",
            NoteKind::OutageEnd => "outage-end",
            NoteKind::Reconfiguration => "reconfiguration",
        }
    }
}

/// An annotation of the timeline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Kind of event.
    pub kind: NoteKind,
    /// Node concerned, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Pair concerned, if any (if both directions: the forward one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairId>,
    /// A number. Its meaning depends on the kind.
    #[serde(default)]
    pub value: f64,
    /// Human-readable text.
    #[serde(default)]
    pub text: String,
}

/// A change with its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// Time of the change.
    pub at: Nanos,
    /// The change.
    pub change: Change,
}

/// Position of a moving node, used only for maps.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrackPoint {
    /// Time.
    pub at: Nanos,
    /// Node.
    pub node: NodeId,
    /// Position.
    pub place: GeoPoint,
}

/// The network at time zero, and properties of the entire timeline.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// Human-readable title.
    pub title: String,
    /// Duration.
    pub duration: Nanos,
    /// Routing of packets.
    pub routing: Routing,
    /// Nodes known from the start.
    pub nodes: Vec<Node>,
    /// Ports known from the start.
    pub ports: Vec<Port>,
    /// Links known from the start.
    pub links: Vec<Link>,
    /// All traffic pairs.
    pub pairs: Vec<Pair>,
    /// Pairs with several paths at once. (Boxed, as few networks have any.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Box<crate::spread::Spread>>,
}

/// Changes in `start..end`. Ids of new nodes, ports and links continue those of the header and
/// earlier chunks.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// First instant.
    pub start: Nanos,
    /// First instant after the chunk.
    pub end: Nanos,
    /// Nodes that appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// Ports that appear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// Links that appear; changes of this chunk may refer to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Changes in order of time; those of one instant apply in list order, before any packet moves.
    pub changes: Vec<Timed>,
    /// Positions of moving nodes, for maps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracks: Vec<TrackPoint>,
}

/// A complete timeline in memory. Chunks are shared: several runs read the same ones.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The network at time zero.
    pub header: Header,
    /// Changes, in order, without gaps.
    pub chunks: Vec<Arc<Chunk>>,
}

/// Source of a backend's chunks: a timeline in memory, or a generator that runs ahead of the
/// backend.
pub trait ChunkSource: Send {
    /// The next chunk, or `None` after the last.
    ///
    /// # Errors
    /// If the source fails: a human-readable message.
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String>;
}

impl<S: ChunkSource + ?Sized> ChunkSource for &mut S {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        (**self).next_chunk()
    }
}

impl<S: ChunkSource + ?Sized> ChunkSource for Box<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        (**self).next_chunk()
    }
}

/// Reader of a [`Timeline`] in memory.
#[derive(Clone, Debug)]
pub struct ChunkReader {
    chunks: std::vec::IntoIter<Arc<Chunk>>,
}

impl ChunkSource for ChunkReader {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        Ok(self.chunks.next())
    }
}

impl Timeline {
    /// A timeline with a single chunk; sorts the changes by time (stable).
    pub fn single(header: Header, mut changes: Vec<Timed>) -> Self {
        changes.sort_by_key(|c| c.at);
        let chunk = Chunk { start: Nanos::ZERO, end: header.duration, changes, ..Chunk::default() };
        Timeline { header, chunks: vec![Arc::new(chunk)] }
    }

    /// Whether any node has this name at any time.
    pub fn has_node(&self, name: &str) -> bool {
        self.header.nodes.iter().chain(self.chunks.iter().flat_map(|c| &c.nodes)).any(|n| n.name == name)
    }

    /// The same timeline, ending at `end` if that is earlier.
    pub fn until(mut self, end: Nanos) -> Self {
        self.header.duration = self.header.duration.min(end);
        self.chunks.retain(|c| c.start < end);
        if let Some(last) = self.chunks.last_mut().filter(|c| c.end > end) {
            let last = Arc::make_mut(last);
            last.end = end;
            last.changes.retain(|c| c.at < end);
            last.tracks.retain(|p| p.at < end);
        }
        self
    }

    /// A reader from the start.
    pub fn reader(&self) -> ChunkReader {
        ChunkReader { chunks: self.chunks.clone().into_iter() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_can_be_cut_within_a_chunk() {
        let note = |s: u64| Timed { at: Nanos::from_secs(s), change: Change::Up(LinkId(0)) };
        let header = Header { duration: Nanos::from_secs(9), ..Header::default() };
        let cut = Timeline::single(header, (0..9).map(note).collect()).until(Nanos::from_secs(4));
        assert_eq!((cut.header.duration, cut.chunks[0].end), (Nanos::from_secs(4), Nanos::from_secs(4)));
        assert_eq!(cut.chunks[0].changes.len(), 4);
    }

    #[test]
    fn a_saved_port_is_one_object_with_its_name() {
        let port = Port {
            name: "a->b".into(),
            node: NodeId(3),
            spec: PortSpec { framing: 14, ..PortSpec::packets(BitRate(1_000), 9) },
        };
        let json = serde_json::to_string(&port).unwrap();
        let whole = concat!(
            r#"{"name":"a->b","node":3,"rate":1000,"queue":{"limit":{"packets":9},"discipline":"drop-tail","#,
            r#""count_in_service":false,"probe_priority":false},"framing":14,"metered":false}"#
        );
        assert_eq!(json, whole);
        assert_eq!(serde_json::from_str::<Port>(whole).unwrap(), port);
    }

    #[test]
    fn a_linear_delay_moves_with_its_slope_and_stops_at_zero() {
        let d = Delay { base: Nanos::from_millis(10), slope: -25_000 };
        assert_eq!(d.at(Nanos::from_millis(100)), Nanos(9_997_500));
        assert_eq!(Delay { base: Nanos(5), slope: -1_000 }.at(Nanos::from_secs(1)), Nanos::ZERO);
        assert_eq!(Delay::constant(Nanos(7)).at(Nanos::from_secs(9)), Nanos(7));
    }
}
