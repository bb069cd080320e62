// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Netlink messages and a blocking exchange with the kernel.

use crate::system;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Request flags.
pub const REQUEST: u16 = 0x1;
/// Requests an acknowledgement by the kernel.
pub const ACK: u16 = 0x4;
/// Requests all objects.
pub const DUMP: u16 = 0x300;
/// Fails if the object exists.
pub const EXCLUSIVE: u16 = 0x200;
/// Creates the object.
pub const CREATE: u16 = 0x400;
/// Adds at the end.
pub const APPEND: u16 = 0x800;

const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NESTED: u16 = 0x8000;

/// Messages under construction, in sending order.
#[derive(Default)]
pub struct Messages {
    bytes: Vec<u8>,
    start: usize,
    sequence: u32,
}

impl Messages {
    /// Starts a message with its type, flags and the fixed header of its family.
    pub fn start(&mut self, kind: u16, flags: u16, fixed: &[u8]) -> &mut Self {
        self.start = self.bytes.len();
        self.sequence += 1;
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(fixed);
        self.finish()
    }

    /// Adds an attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(value.len() + 4).expect("attributes are short");
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.finish()
    }

    /// Adds a 32-bit number in network byte order.
    pub fn number(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Adds a text with its null byte.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute that contains others.
    pub fn nested(&mut self, kind: u16, content: impl FnOnce(&mut Self)) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        content(self);
        let length = u16::try_from(self.bytes.len() - at).expect("attributes are short");
        self.bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[at + 2..at + 4].copy_from_slice(&(kind | NESTED).to_ne_bytes());
        self.finish()
    }

    /// Pads to four bytes and writes the length of the message.
    fn finish(&mut self) -> &mut Self {
        while self.bytes.len() % 4 != 0 {
            self.bytes.push(0);
        }
        let length = u32::try_from(self.bytes.len() - self.start).expect("messages are short");
        self.bytes[self.start..self.start + 4].copy_from_slice(&length.to_ne_bytes());
        self
    }
}

/// A received message: its type, and the data after the header.
pub type Received = (u16, Vec<u8>);

/// A netlink socket.
pub struct Socket {
    fd: OwnedFd,
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// Opens a socket of a family (`NETLINK_ROUTE`, `NETLINK_NETFILTER`).
    ///
    /// # Errors
    /// Errors of the system calls; EPROTONOSUPPORT if the kernel has no such family.
    pub fn open(family: i32) -> io::Result<Socket> {
        let fd = system::socket(libc::AF_NETLINK, libc::SOCK_RAW, family)?;
        system::bind_netlink(&fd)?;
        Ok(Socket { fd })
    }

    /// Sends messages without waiting for an answer.
    ///
    /// # Errors
    /// Errors of `send`.
    pub fn send(&self, messages: &Messages) -> io::Result<()> {
        system::send(&self.fd, &messages.bytes, 0).map(drop)
    }

    /// Receives one datagram, without waiting, and splits it into messages.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, ENOBUFS if datagrams were lost.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Vec<Received>> {
        let length = system::receive(&self.fd, buffer, 0)?;
        Ok(split(&buffer[..length]))
    }

    /// Sends messages, and waits until the kernel has acknowledged the last `acknowledged` of them.
    /// Returns all other messages that the kernel sends.
    ///
    /// # Errors
    /// The first error that the kernel reports.
    pub fn exchange(&self, messages: &Messages, acknowledged: usize) -> io::Result<Vec<Received>> {
        let (mut buffer, mut found, mut left) = (vec![0; 1 << 16], Vec::new(), acknowledged);
        // Discards the remainder of an exchange that failed.
        while self.receive(&mut buffer).is_ok() {}
        self.send(messages)?;
        let mut first: io::Result<()> = Ok(());
        while left > 0 {
            wait_readable(&self.fd)?;
            for (kind, body) in self.receive(&mut buffer)? {
                match (kind, code(&body)) {
                    (ERROR, Some(0)) | (DONE, _) => left -= 1,
                    (ERROR, error) => {
                        if first.is_ok() {
                            first = Err(io::Error::from_raw_os_error(-error.unwrap_or(-libc::EIO)));
                        }
                        // The rest of a batch is not acknowledged.
                        left = 0;
                    }
                    _ => found.push((kind, body)),
                }
            }
        }
        first.map(|()| found)
    }
}

fn code(body: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(body.get(..4)?.try_into().ok()?))
}

fn wait_readable(fd: &OwnedFd) -> io::Result<()> {
    system::wait_readable(fd, 5000)
}

fn split(mut bytes: &[u8]) -> Vec<Received> {
    let mut found = Vec::new();
    while let Some(length) = code(bytes).and_then(|n| usize::try_from(n).ok()) {
        if length < HEADER || length > bytes.len() {
            break;
        }
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        found.push((kind, bytes[HEADER..length].to_vec()));
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    found
}

/// The attributes after a fixed header of a message.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::{attributes, split, Messages};

    #[test]
    fn attributes_are_padded_and_nested_ones_have_the_length_of_their_content() {
        let mut messages = Messages::default();
        messages.start(7, 1, &[1, 0, 0, 0]).text(3, "ab").nested(4, |m| {
            m.number(1, 0x0102_0304);
        });
        let found = split(&messages.bytes);
        assert_eq!(found.len(), 1);
        let (kind, body) = &found[0];
        assert_eq!(*kind, 7);
        let all: Vec<_> = attributes(&body[4..]).collect();
        assert_eq!(all[0], (3, &b"ab\0"[..]));
        assert_eq!(all[1].0, 4);
        assert_eq!(attributes(all[1].1).collect::<Vec<_>>(), [(1, &[1, 2, 3, 4][..])]);
    }

    #[test]
    fn truncated_messages_end_the_list() {
        let mut messages = Messages::default();
        messages.start(7, 1, &[0; 4]).start(8, 1, &[0; 4]);
        let cut = &messages.bytes[..messages.bytes.len() - 1];
        assert_eq!(split(cut).len(), 1);
        assert_eq!(split(&[0; 20]).len(), 0);
        assert_eq!(attributes(&[200, 0, 1, 0, 5]).count(), 0);
        assert_eq!(attributes(&[0, 0, 1, 0, 5]).count(), 0);
    }
}
