// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connection IDs of QUIC (RFC 9000, section 5.1), which persist when an address changes. A long
//! header has both IDs with their lengths; a short header has that of the receiver without its
//! length, which is only known from the handshake.

use crate::quic::Head;

/// Maximum length of an ID in the known versions.
pub const LONGEST: usize = 20;
/// Minimum length of IDs in use: shorter ones may match another connection by chance.
pub const SHORTEST: usize = 4;
/// Number of bytes for type, version, and two IDs with their lengths.
const START: usize = 7 + 2 * LONGEST;
/// Offset of the length of the first ID in a long header.
const LENGTH_AT: usize = 5;

/// The first bytes of a datagram's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    bytes: [u8; START],
    length: usize,
}

/// A connection ID of at least four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Id {
    fn of(bytes: &[u8]) -> Option<Id> {
        if !(SHORTEST..=LONGEST).contains(&bytes.len()) {
            return None;
        }
        let mut id = Id { bytes: [0; LONGEST], length: bytes.len() as u8 };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        usize::from(self.length)
    }
}

impl Start {
    /// Start of `payload`.
    pub fn of(payload: &[u8]) -> Start {
        let length = payload.len().min(START);
        let mut start = Start { bytes: [0; START], length };
        start.bytes[..length].copy_from_slice(&payload[..length]);
        start
    }

    fn known(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Destination connection ID; `short`: its length in a short header.
    pub fn target(&self, head: Head, short: usize) -> Option<Id> {
        match head {
            Head::Long(_) => Id::of(self.at(LENGTH_AT)?),
            Head::Short { .. } => Id::of(self.known().get(1..=short)?),
            Head::Other => None,
        }
    }

    /// Length of the source connection ID of a long header.
    pub fn source_length(&self) -> Option<usize> {
        let at = LENGTH_AT + 1 + self.at(LENGTH_AT)?.len();
        let length = usize::from(*self.known().get(at)?);
        (length <= LONGEST).then_some(length)
    }

    /// Bytes after the length field at `place`.
    fn at(&self, place: usize) -> Option<&[u8]> {
        let length = usize::from(*self.known().get(place)?);
        self.known().get(place + 1..place + 1 + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::{head, LongHeader};

    #[test]
    fn a_long_header_tells_both() {
        let bytes = [0xc3, 0, 0, 0, 1, 4, 1, 2, 3, 4, 5, 9, 9, 9, 9, 9, 0];
        let start = Start::of(&bytes);
        assert_eq!(start.target(Head::Long(LongHeader::Initial), 0), Id::of(&[1, 2, 3, 4]));
        assert_eq!(start.source_length(), Some(5));
        assert_eq!(Start::of(&bytes[..8]).target(Head::Long(LongHeader::Initial), 0), None, "cut");
        assert_eq!(Start::of(&bytes[..10]).source_length(), None, "cut");
    }

    #[test]
    fn a_short_header_has_one_of_known_length() {
        let bytes = [0x40, 1, 2, 3, 4, 5, 6];
        let start = Start::of(&bytes);
        assert_eq!(start.target(head(&bytes), 5), Id::of(&[1, 2, 3, 4, 5]));
        assert_ne!(start.target(head(&bytes), 4), start.target(head(&bytes), 5));
        assert_eq!(start.target(head(&bytes), 3), None, "too short to be told from others");
        assert_eq!(start.target(head(&bytes), 8), None, "cut");
        assert_eq!(Start::of(&[]).target(Head::Other, 8), None);
    }
}
