// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Netfilter queue in which SYNs wait until the far side has answered.

use crate::netlink::{attributes, Messages, Socket, ACK, REQUEST};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

const PACKET: u16 = 3 << 8;
const VERDICT: u16 = PACKET | 1;
const CONFIGURE: u16 = PACKET | 2;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// Maximum size of the headers of a SYN with all options.
const COPY_BYTES: u32 = 512;
const ATTRIBUTE_HEADER: u16 = 1;
const ATTRIBUTE_PAYLOAD: u16 = 10;

/// A queue of netfilter.
pub struct Queue {
    socket: Socket,
    number: u16,
}

/// A waiting packet.
pub struct Waiting {
    /// Number of the packet in the queue.
    pub id: u32,
    /// The packet from its network header on.
    pub packet: Vec<u8>,
}

/// Verdict on a waiting packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is dropped; TCP retransmits it.
    Drop,
    /// The packet is forwarded as without a gateway.
    Pass,
    /// The packet continues with a mark, by which it is admitted.
    Admit(u32),
}

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Queue {
    /// Binds to a queue.
    ///
    /// # Errors
    /// EBUSY or EPERM if another process has the queue.
    pub fn bind(number: u16, waiting: u32) -> io::Result<Queue> {
        let socket = Socket::open(libc::NETLINK_NETFILTER)?;
        crate::system::set_receive_buffer(&socket, 4 << 20)?;
        let queue = Queue { socket, number };
        queue.configure(|m| {
            m.attribute(1, &[BIND, 0, 0, 0]);
        })?;
        queue.configure(|m| {
            let mut parameters = COPY_BYTES.to_be_bytes().to_vec();
            parameters.push(COPY_PACKET);
            m.attribute(2, &parameters).number(3, waiting);
        })?;
        Ok(queue)
    }

    fn configure(&self, content: impl FnOnce(&mut Messages)) -> io::Result<()> {
        let mut messages = Messages::default();
        content(messages.start(CONFIGURE, REQUEST | ACK, &self.header()));
        self.socket.exchange(&messages, 1).map(drop)
    }

    fn header(&self) -> [u8; 4] {
        let [high, low] = self.number.to_be_bytes();
        [0, 0, high, low]
    }

    /// Takes packets that have arrived, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there are none, ENOBUFS if notifications were lost.
    pub fn take(&self, buffer: &mut [u8]) -> io::Result<Vec<Waiting>> {
        let found = self.socket.receive(buffer)?;
        Ok(found.iter().filter(|(kind, _)| *kind == PACKET).filter_map(|(_, body)| waiting(body)).collect())
    }

    /// Issues the verdict on a packet.
    ///
    /// # Errors
    /// Errors of `send`.
    pub fn decide(&self, id: u32, verdict: Verdict) -> io::Result<()> {
        let mut messages = Messages::default();
        let code: u32 = if verdict == Verdict::Drop { 0 } else { 1 };
        let mut header = code.to_be_bytes().to_vec();
        header.extend(id.to_be_bytes());
        messages.start(VERDICT, REQUEST, &self.header()).attribute(2, &header);
        if let Verdict::Admit(mark) = verdict {
            messages.number(3, mark);
        }
        self.socket.send(&messages)
    }
}

fn waiting(body: &[u8]) -> Option<Waiting> {
    let (mut id, mut packet) = (None, None);
    for (kind, value) in attributes(body.get(4..)?) {
        match kind {
            ATTRIBUTE_HEADER => id = value.get(..4).map(|v| u32::from_be_bytes([v[0], v[1], v[2], v[3]])),
            ATTRIBUTE_PAYLOAD => packet = Some(value.to_vec()),
            _ => {}
        }
    }
    Some(Waiting { id: id?, packet: packet.unwrap_or_default() })
}
