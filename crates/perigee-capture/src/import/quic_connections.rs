// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QUIC connections by address and, after an address change (RFC 9000, section 9), by connection
//! ID.

use super::{key_of, Key};
use crate::ids::{Id, LONGEST, SHORTEST};
use crate::packet::{Datagram, End};
use crate::quic::{Head, QuicConnection};
use perigee_units::Nanos;
use std::collections::HashMap;

/// Maximum number of recent IDs per direction and of address pairs per connection: a file may be
/// malicious.
const MOST: usize = 8;

/// Table of QUIC connections.
#[derive(Debug, Default)]
pub(super) struct QuicConnections {
    /// Connection that uses a pair of addresses, and the end that opened it.
    paths: HashMap<Key, (u64, End)>,
    connections: HashMap<u64, Known>,
    /// Connection and direction.
    ids: HashMap<Id, (u64, usize)>,
    /// Possible lengths of IDs in short headers, one bit each.
    lengths: u32,
    next: u64,
}

#[derive(Debug)]
struct Known {
    connection: QuicConnection,
    /// Current ends.
    ends: [End; 2],
    keys: Vec<Key>,
    /// Destination IDs per direction, the latest last.
    ids: [Vec<Id>; 2],
    /// Length of the IDs in short headers.
    lengths: [usize; 2],
}

/// The connection found for a datagram.
pub(super) struct Found {
    pub(super) number: u64,
    pub(super) direction: usize,
    /// An end that has changed its address: old and new.
    pub(super) moved: Option<(End, End)>,
}

impl QuicConnections {
    /// Finds the connection of a datagram by addresses or ID.
    pub(super) fn find(&mut self, d: &Datagram) -> Option<Found> {
        let key = key_of(d.from, d.to);
        if let Some(&(number, opener)) = self.paths.get(&key) {
            return Some(Found { number, direction: usize::from(d.from != opener), moved: None });
        }
        let (number, direction) = self.by_id(d)?;
        let known = self.connections.get_mut(&number)?;
        // One of the two ends must be unchanged.
        let (from, to) = (known.ends[direction], known.ends[1 - direction]);
        let moved = match (from == d.from, to == d.to) {
            (false, true) => (from, d.from),
            (true, false) => (to, d.to),
            _ => return None,
        };
        known.ends[direction] = d.from;
        known.ends[1 - direction] = d.to;
        known.keys.push(key);
        if known.keys.len() > MOST {
            self.paths.remove(&known.keys.remove(0));
        }
        self.paths.insert(key, (number, known.ends[0]));
        Some(Found { number, direction, moved: Some(moved) })
    }

    fn by_id(&self, d: &Datagram) -> Option<(u64, usize)> {
        let known = |length| d.start.target(d.head, length).and_then(|id| self.ids.get(&id).copied());
        match d.head {
            Head::Long(_) => known(0),
            Head::Short { .. } => (SHORTEST..=LONGEST).filter(|n| self.lengths >> n & 1 == 1).find_map(known),
            Head::Other => None,
        }
    }

    /// Adds a connection that starts with this datagram.
    pub(super) fn begin(&mut self, d: &Datagram, at: Nanos) -> Found {
        let (number, key) = (self.next, key_of(d.from, d.to));
        self.next += 1;
        let known = Known {
            connection: QuicConnection::new(at),
            ends: [d.from, d.to],
            keys: vec![key],
            ids: Default::default(),
            lengths: [0; 2],
        };
        self.connections.insert(number, known);
        self.paths.insert(key, (number, d.from));
        Found { number, direction: 0, moved: None }
    }

    /// State of a connection.
    pub(super) fn connection(&mut self, number: u64) -> Option<&mut QuicConnection> {
        self.connections.get_mut(&number).map(|known| &mut known.connection)
    }

    /// Stores the connection IDs of a datagram's header.
    pub(super) fn learn(&mut self, found: &Found, d: &Datagram) {
        let (number, i) = (found.number, found.direction);
        let Some(known) = self.connections.get_mut(&number) else { return };
        if let (Head::Long(_), Some(length)) = (d.head, d.start.source_length()) {
            known.lengths[1 - i] = length;
            self.lengths |= 1 << length;
        }
        let Some(id) = d.start.target(d.head, known.lengths[i]) else { return };
        if known.ids[i].last() == Some(&id) || known.ids[i].contains(&id) {
            return;
        }
        known.ids[i].push(id);
        if known.ids[i].len() > MOST {
            self.ids.remove(&known.ids[i].remove(0));
        }
        self.ids.insert(id, (number, i));
    }

    /// Removes the connections for which `over` returns true.
    #[expect(clippy::disallowed_methods, reason = "ends add up: their order is of no effect")]
    pub(super) fn retain(&mut self, mut over: impl FnMut(&QuicConnection) -> bool) {
        let (paths, ids) = (&mut self.paths, &mut self.ids);
        self.connections.retain(|number, known| {
            if !over(&known.connection) {
                return true;
            }
            for key in &known.keys {
                paths.remove(key);
            }
            for id in known.ids.iter().flatten() {
                // Another connection may have taken over the ID in the meantime.
                if ids.get(id).is_some_and(|(other, _)| other == number) {
                    ids.remove(id);
                }
            }
            false
        });
    }
}
