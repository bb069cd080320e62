// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Course of a packet through an empty network, as predicted from the timeline and as carried out
//! by the network.

use perigee_backend::recording::failed;
use perigee_backend::BackendError;
use perigee_sim::{
    Delivery, EndpointId, FlowSetup, LinkTotals, Options, OutsidePacket, Silent, SimError, Simulation,
    CAUSE_NAMES,
};
use perigee_timeline::follow::Follower;
use perigee_timeline::{transmission, Change, Chunk, ChunkSource, Header, LinkId, PairId, Timed};
use perigee_units::Nanos;
use std::collections::VecDeque;
use std::sync::Arc;

/// Tolerance for equal instants: rounding errors are about a nanosecond per hop.
const EQUAL: Nanos = Nanos(1_000);

/// A link that a packet should cross, and the time at which it should arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    link: LinkId,
    port: String,
    from: String,
    to: String,
    arrives: Nanos,
}

/// Start of a timeline, read ahead.
#[derive(Clone, Debug, Default)]
pub struct Beginning(pub Vec<Arc<Chunk>>);

/// A timeline with its first chunks read ahead.
pub struct Resumed<S> {
    read: VecDeque<Arc<Chunk>>,
    rest: S,
}

impl<S: ChunkSource> ChunkSource for Resumed<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        match self.read.pop_front() {
            Some(chunk) => Ok(Some(chunk)),
            None => self.rest.next_chunk(),
        }
    }
}

/// A source at its end.
struct Nothing;

impl ChunkSource for Nothing {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        Ok(None)
    }
}

impl Beginning {
    /// Reads the first chunks of a timeline; the returned source starts with them again.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn of<S: ChunkSource>(mut source: S, length: Nanos) -> Result<(Self, Resumed<S>), BackendError> {
        let mut read = Vec::new();
        while read.last().is_none_or(|chunk: &Arc<Chunk>| chunk.end < length) {
            let Some(chunk) = source.next_chunk().map_err(failed)? else { break };
            read.push(chunk);
        }
        Ok((Beginning(read.clone()), Resumed { read: read.into(), rest: source }))
    }

    /// A reader from time zero.
    pub fn reader(&self) -> impl ChunkSource {
        Resumed { read: self.0.clone().into(), rest: Nothing }
    }

    /// End of the last chunk.
    pub fn end(&self) -> Nanos {
        self.0.last().map_or(Nanos::ZERO, |chunk| chunk.end)
    }

    /// Hops of a packet of a pair that is sent at `sent` and finds the network empty.
    ///
    /// # Errors
    /// There is no route, or it changes in the meantime: a human-readable message.
    pub fn course(&self, header: &Header, pair: PairId, sent: Nanos, bytes: u64) -> Result<Vec<Hop>, String> {
        let mut follower = Follower::new(header);
        let mut ports = header.ports.clone();
        for chunk in &self.0 {
            follower.enter(chunk);
            ports.extend(chunk.ports.iter().cloned());
        }
        let changes: Vec<&Timed> = self.0.iter().flat_map(|chunk| &chunk.changes).collect();
        let mut done = 0;
        let mut apply = |follower: &mut Follower, until: Nanos| {
            for change in changes[done..].iter().take_while(|c| c.at <= until) {
                follower.apply(change);
                done += 1;
            }
        };
        apply(&mut follower, sent);
        let links = follower.links(pair).ok_or("there is no path at the beginning")?;
        if !follower.carries(&links) {
            return Err("its path has an outage at the beginning".into());
        }
        let moves = |from: Nanos, until: Nanos, hit: &dyn Fn(&Change) -> bool| {
            changes.iter().any(|c| from < c.at && c.at <= until && hit(&c.change))
        };
        let mut hops = Vec::new();
        let mut at = sent;
        let mut here = header.pairs[pair.ix()].from;
        for link in &links {
            apply(&mut follower, at);
            let (port, rate) = follower.feeder(*link);
            let known = &ports[port.ix()];
            if known.spec.dama.is_some() || known.spec.carrier.is_some() {
                return Err(format!(
                    "{} has to ask for its capacity: nobody knows when a packet may leave",
                    known.name
                ));
            }
            let sent_on = at.saturating_add(transmission(
                rate,
                known.spec.burst,
                bytes + u64::from(known.spec.framing),
            ));
            apply(&mut follower, sent_on);
            let arrives = sent_on.saturating_add(follower.delay(*link, sent_on));
            let changed = follower.links(pair).as_ref() != Some(&links)
                || moves(at, sent_on, &|c| matches!(c, Change::Rate(p, _) if *p == port))
                || moves(sent, arrives, &|c| matches!(c, Change::Down(l, _) if l == link));
            if changed {
                return Err("its path changes while the first packets are under way".into());
            }
            if arrives >= self.end().min(header.duration) {
                return Err("the run ends before an answer can arrive".into());
            }
            let to = follower.far_end(*link);
            let name = |node: perigee_timeline::NodeId| follower.names[node.ix()].clone();
            let (from, port) = (name(here), known.name.clone());
            hops.push(Hop { link: *link, port, from, to: name(to), arrives });
            (here, at) = (to, arrives);
        }
        Ok(hops)
    }
}

/// A network without random loss, so that differences have another cause.
struct Lossless<S>(S);

impl<S: ChunkSource> ChunkSource for Lossless<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let Some(chunk) = self.0.next_chunk()? else { return Ok(None) };
        let mut chunk = Chunk::clone(&chunk);
        chunk.changes.retain(|c| !matches!(c.change, Change::Loss(..) | Change::Lose(..)));
        chunk.links.iter_mut().for_each(|link| link.loss = 0.0);
        Ok(Some(Arc::new(chunk)))
    }
}

/// Network for the packets of one flow with both ends outside.
pub struct FlowNetwork<'s> {
    simulation: Simulation<'s>,
    end: Nanos,
}

impl<'s> FlowNetwork<'s> {
    /// Network at time zero of a timeline.
    ///
    /// # Errors
    /// Errors of the simulator.
    pub fn new(
        header: &Header,
        source: impl ChunkSource + 's,
        flow: &FlowSetup,
        end: Nanos,
    ) -> Result<Self, BackendError> {
        let mut header = header.clone();
        header.duration = header.duration.min(end);
        header.links.iter_mut().for_each(|link| link.loss = 0.0);
        let alone =
            FlowSetup { notices: None, leg: None, app: perigee_timeline::App::Programs, ..flow.clone() };
        let options = Options { sample: Nanos::ZERO, lookahead: false, ..Options::default() };
        let simulation = Simulation::new(&header, Box::new(Lossless(source)), vec![alone], options);
        Ok(FlowNetwork { simulation: simulation.map_err(failed)?, end: header.duration })
    }

    /// Sends a packet and follows it along the hops that it should take; returns its arrival.
    ///
    /// # Errors
    /// The first hop that differs, as a human-readable message.
    pub fn carry(
        mut self,
        from: EndpointId,
        at: Nanos,
        packet: &[u8],
        hops: &[Hop],
    ) -> Result<Nanos, String> {
        let packet = OutsidePacket::frame(from.side, at, packet.into())?;
        let (crossed, delivered) = self.deliver(from, at, packet, hops).map_err(|e| e.to_string())?;
        let mut left = at;
        for (i, (hop, instant)) in hops.iter().zip(crossed).enumerate() {
            let Hop { from, to, port, arrives, .. } = hop;
            let name =
                format!("at the hop from {from} to {to} (port {port:?}, hop {} of {})", i + 1, hops.len());
            let Some(instant) = instant else {
                return Err(format!("{} {name}", self.missing(hop, &hops[..i])));
            };
            if instant.0.abs_diff(arrives.0) > EQUAL.0 {
                let (took, expected) = (instant.saturating_sub(left), arrives.saturating_sub(left));
                return Err(format!("takes {} instead of the timeline's {} {name}", ms(took), ms(expected)));
            }
            left = *arrives;
        }
        match delivered {
            Some(delivery) if delivery.endpoint.side != from.side => Ok(delivery.at),
            _ => Err("crosses all hops of its path and is not delivered at its end".into()),
        }
    }

    /// Times at which a packet crosses the given links, and of its delivery.
    fn deliver(
        &mut self,
        from: EndpointId,
        at: Nanos,
        packet: OutsidePacket,
        hops: &[Hop],
    ) -> Result<(Vec<Option<Nanos>>, Option<Delivery>), SimError> {
        let mut crossed = vec![None; hops.len()];
        self.simulation.inject(at, from, packet)?;
        loop {
            let next = self.simulation.next_event();
            if next > self.end {
                return Ok((crossed, None));
            }
            self.simulation.advance(next + Nanos(1), &mut Silent)?;
            for (hop, instant) in hops.iter().zip(&mut crossed) {
                if instant.is_none() && self.totals(hop.link).crossed > 0 {
                    *instant = Some(next);
                }
            }
            if let Some(delivery) = self.simulation.egress().next() {
                return Ok((crossed, Some(delivery)));
            }
        }
    }

    /// The fate of a packet that did not cross a hop.
    fn missing(&mut self, hop: &Hop, crossed: &[Hop]) -> String {
        let totals = self.totals(hop.link);
        if let Some(cause) = totals.dropped.iter().position(|n| *n > 0) {
            return format!("is dropped ({})", CAUSE_NAMES[cause].replace('_', " "));
        }
        if totals.entered > 0 {
            return "does not arrive".into();
        }
        let entered: Vec<LinkId> = (0..)
            .map(LinkId)
            .map_while(|link| Some((link, self.simulation.link_totals(link)?.entered > 0)))
            .filter_map(|(link, entered)| entered.then_some(link))
            .collect();
        let elsewhere = entered.iter().find(|link| crossed.iter().all(|hop| hop.link != **link));
        elsewhere.map_or("is lost".into(), |other| {
            format!("takes link {} instead of link {}", other.0, hop.link.0)
        })
    }

    fn totals(&mut self, link: LinkId) -> LinkTotals {
        self.simulation.link_totals(link).unwrap_or_default()
    }
}

fn ms(time: Nanos) -> String {
    format!("{:.3} ms", time.as_millis_f64())
}
