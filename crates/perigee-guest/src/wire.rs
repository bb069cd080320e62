// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets to a guest: complete messages with file descriptors.

use crate::types::GuestError;
use crate::types::PATIENCE;
use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Maximum number of descriptors in a message.
const MAX_FILES: usize = 8;

/// Fills `buffer`.
///
/// # Errors
/// `Gone` if the other side has closed the socket; `Quiet` if nothing arrived within the socket's
/// timeout.
pub fn read_exactly(socket: &mut UnixStream, buffer: &mut [u8]) -> Result<(), GuestError> {
    let mut filled = 0;
    let since = crate::wall_clock::now();
    while filled < buffer.len() {
        match socket.read(&mut buffer[filled..]) {
            Ok(0) => return Err(GuestError::closed()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // The remainder of a partial message will follow.
            Err(e) if e.kind() == ErrorKind::WouldBlock && filled == 0 => return Err(GuestError::Quiet),
            Err(e) if e.kind() == ErrorKind::WouldBlock && since.elapsed() < PATIENCE => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Err(GuestError::Protocol("a message that is cut short".into()));
            }
            Err(e) => return Err(GuestError::gone(e)),
        }
    }
    Ok(())
}

/// Fills `buffer` with the start of a message, and takes its descriptors.
///
/// # Errors
/// As [`read_exactly`].
pub fn read_with_files(socket: &mut UnixStream, buffer: &mut [u8]) -> Result<Vec<OwnedFd>, GuestError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut into = [IoSliceMut::new(buffer)];
        match recvmsg(&*socket, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(e) => return Err(GuestError::gone(e.into())),
            Ok(got) => break got.bytes,
        }
    };
    if got == 0 {
        return Err(GuestError::closed());
    }
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            files.extend(fds);
        }
    }
    read_exactly(socket, &mut buffer[got..])?;
    Ok(files)
}

/// Sends a message with descriptors.
///
/// # Errors
/// If the other side has closed the socket.
pub fn send_with_files(
    socket: &UnixStream,
    message: &[u8],
    files: &[BorrowedFd<'_>],
) -> Result<(), GuestError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(files)), "room for {MAX_FILES} descriptors");
    let sent = sendmsg(socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL);
    match sent {
        Ok(n) if n == message.len() => Ok(()),
        Ok(n) => Err(GuestError::Protocol(format!("{n} of {} bytes could be sent", message.len()))),
        Err(e) => Err(GuestError::gone(e.into())),
    }
}
