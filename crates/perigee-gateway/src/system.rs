// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Safe wrappers of system calls that the standard library lacks: socket options, `splice`, pipes,
//! and the state of a socket's queues.

#![allow(unsafe_code)] // calls into libc with buffers of this file

use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// Request for the number of unsent bytes in a socket's send queue.
const SIOCOUTQNSD: libc::c_ulong = 0x894B;
/// 128 slots.
const PIPE_BYTES: libc::c_int = 512 << 10;
const SIOCATMARK: libc::c_ulong = 0x8905;
const SO_MEMINFO: libc::c_int = 55;
const TCP_SAVE_SYN: libc::c_int = 27;
const TCP_SAVED_SYN: libc::c_int = 28;
const IPV6_TRANSPARENT: libc::c_int = 75;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn check_size(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn set_bytes(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    check(unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) }).map(drop)
}

fn set(fd: RawFd, level: libc::c_int, name: libc::c_int, value: i32) -> io::Result<()> {
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

fn get_bytes(fd: RawFd, level: libc::c_int, name: libc::c_int, into: &mut [u8]) -> io::Result<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `into`.
    check(unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) })?;
    Ok(length as usize)
}

/// A nonblocking socket.
///
/// # Errors
/// Errors of `socket`.
pub fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; the descriptor is new and owned by the result.
    unsafe {
        let fd = check(libc::socket(family, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// A nonblocking TCP socket for the family of an address.
///
/// # Errors
/// Errors of `socket`.
pub fn tcp_socket(family_of: SocketAddr) -> io::Result<OwnedFd> {
    let family = if family_of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    socket(family, libc::SOCK_STREAM, 0)
}

/// An address in the format of the kernel, and its length.
fn raw_address(address: SocketAddr) -> ([u8; 28], libc::socklen_t) {
    let mut raw = [0; 28];
    let length = match address {
        SocketAddr::V4(v4) => {
            raw[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            raw[2..4].copy_from_slice(&v4.port().to_be_bytes());
            raw[4..8].copy_from_slice(&v4.ip().octets());
            16
        }
        SocketAddr::V6(v6) => {
            raw[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            raw[2..4].copy_from_slice(&v6.port().to_be_bytes());
            raw[8..24].copy_from_slice(&v6.ip().octets());
            raw[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
            28
        }
    };
    (raw, length)
}

/// Binds a socket.
///
/// # Errors
/// Errors of `bind`.
pub fn bind(fd: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let (raw, length) = raw_address(address);
    // SAFETY: the kernel reads `length` bytes of `raw`.
    check(unsafe { libc::bind(fd.as_raw_fd(), raw.as_ptr().cast(), length) }).map(drop)
}

/// Starts to connect a nonblocking socket; `EINPROGRESS` is not an error.
///
/// # Errors
/// Errors of `connect`.
pub fn connect(fd: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let (raw, length) = raw_address(address);
    // SAFETY: the kernel reads `length` bytes of `raw`.
    match check(unsafe { libc::connect(fd.as_raw_fd(), raw.as_ptr().cast(), length) }) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Lets a socket accept connections.
///
/// # Errors
/// Errors of `listen`.
pub fn listen(fd: &impl AsRawFd, backlog: i32) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// Accepts a connection without waiting; its socket is nonblocking.
///
/// # Errors
/// Errors of `accept4`.
pub fn accept(fd: &impl AsRawFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no address is requested; the descriptor is new and owned by the result.
    unsafe {
        let fd = check(libc::accept4(fd.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Permits addresses of other machines as the local address.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN.
pub fn set_transparent(fd: &impl AsRawFd, v6: bool) -> io::Result<()> {
    if v6 {
        set(fd.as_raw_fd(), libc::IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
    } else {
        set(fd.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TRANSPARENT, 1)
    }
}

/// Sets SO_REUSEADDR.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_reuse_address(fd: &impl AsRawFd) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
}

/// Restricts a socket to IPv6.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_v6_only(fd: &impl AsRawFd) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)
}

/// Selects the congestion control of a socket.
///
/// # Errors
/// ENOENT if the kernel has none with this name, EPERM if it may not be used.
pub fn set_congestion(fd: &impl AsRawFd, name: &str) -> io::Result<()> {
    set_bytes(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}

/// Sets the DSCP bits; the ECN bits belong to TCP.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_dscp(fd: &impl AsRawFd, v6: bool, traffic_class: u8) -> io::Result<()> {
    let value = i32::from(traffic_class & 0xfc);
    if v6 {
        set(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_TCLASS, value)
    } else {
        set(fd.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TOS, value)
    }
}

/// Selects a reset (`true`) or an orderly close (`false`) when the descriptor is closed.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_reset_on_close(fd: &impl AsRawFd, reset: bool) -> io::Result<()> {
    let mut linger = [0; 8];
    linger[..4].copy_from_slice(&i32::from(reset).to_ne_bytes());
    set_bytes(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Enables keepalive probes after an idle time, and then at intervals of an eighth of it.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_keepalive(fd: &impl AsRawFd, idle_s: u32) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    let idle = i32::try_from(idle_s.clamp(1, 32767)).unwrap_or(32767);
    set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, idle)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, (idle / 8).max(1))?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 6)
}

/// Sets TCP_NODELAY.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_no_delay(fd: &impl AsRawFd) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
}

/// Limits the unsent bytes up to which a socket is writable.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn set_unsent_limit(fd: &impl AsRawFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Sets the size of the send buffer, which may exceed the limit of unprivileged users.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN.
pub fn set_send_buffer(fd: &impl AsRawFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
    set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
}

/// Sets the receive buffer and the maximum window, which ends the kernel's autotuning of both.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN.
pub fn set_receive_window(fd: &impl AsRawFd, buffer: u32, window: u32) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX / 2);
    // The kernel doubles the value.
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, number(buffer / 2))?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, number(window))
}

/// Makes a listening socket keep the SYN of each connection.
///
/// # Errors
/// Errors of `setsockopt`.
pub fn save_syn(fd: &impl AsRawFd) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::IPPROTO_TCP, TCP_SAVE_SYN, 1)
}

/// The network and TCP headers of the SYN of an accepted connection.
///
/// # Errors
/// Errors of `getsockopt`.
pub fn saved_syn(fd: &impl AsRawFd) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 256];
    let length = get_bytes(fd.as_raw_fd(), libc::IPPROTO_TCP, TCP_SAVED_SYN, &mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Takes the pending error of a socket, which clears it.
pub fn take_error(fd: &impl AsRawFd) -> Option<io::Error> {
    let mut value = [0; 4];
    match get_bytes(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut value) {
        Err(error) => Some(error),
        Ok(_) => match i32::from_ne_bytes(value) {
            0 => None,
            code => Some(io::Error::from_raw_os_error(code)),
        },
    }
}

/// The fields of TCP_INFO that are needed for the bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    /// Minimum RTT of the last minutes in microseconds; at first, that of the handshake.
    pub min_rtt_us: u32,
    /// Maximum segment size in bytes.
    pub mss: u32,
}

/// State of a connection.
///
/// # Errors
/// Errors of `getsockopt`.
pub fn tcp_info(fd: &impl AsRawFd) -> io::Result<TcpInfo> {
    let mut raw = [0; 256];
    get_bytes(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    let at =
        |offset: usize| u32::from_ne_bytes([raw[offset], raw[offset + 1], raw[offset + 2], raw[offset + 3]]);
    Ok(TcpInfo { min_rtt_us: at(148), mss: at(16) })
}

/// Memory in bytes that received, unread segments occupy.
///
/// # Errors
/// Errors of `getsockopt`.
pub fn receive_memory(fd: &impl AsRawFd) -> io::Result<u32> {
    let mut raw = [0; 36];
    get_bytes(fd.as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, &mut raw)?;
    Ok(u32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]]))
}

fn ioctl_number(fd: RawFd, request: libc::c_ulong) -> io::Result<u32> {
    let mut value: libc::c_int = 0;
    // SAFETY: these requests write one int.
    check(unsafe { libc::ioctl(fd, request as libc::Ioctl, &raw mut value) })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// Number of unsent bytes in the send queue.
///
/// # Errors
/// Errors of `ioctl`.
pub fn unsent(fd: &impl AsRawFd) -> io::Result<u32> {
    ioctl_number(fd.as_raw_fd(), SIOCOUTQNSD)
}

/// Number of received, unread bytes.
///
/// # Errors
/// Errors of `ioctl`.
pub fn unread(fd: &impl AsRawFd) -> io::Result<u32> {
    ioctl_number(fd.as_raw_fd(), libc::FIONREAD as libc::c_ulong)
}

/// Whether the next byte to read is urgent.
///
/// # Errors
/// Errors of `ioctl`.
pub fn at_urgent_mark(fd: &impl AsRawFd) -> io::Result<bool> {
    Ok(ioctl_number(fd.as_raw_fd(), SIOCATMARK)? == 1)
}

/// Whether a socket is writable; if not, the kernel reports the next time that it is.
pub fn poll_writable(fd: &impl AsRawFd) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry is passed.
    unsafe { libc::poll(&raw mut poll, 1, 0) != 0 }
}

/// Moves bytes between a pipe and a socket, without waiting.
///
/// # Errors
/// `WouldBlock`, and errors of `splice`.
pub fn splice(from: &impl AsRawFd, to: &impl AsRawFd, bytes: usize) -> io::Result<usize> {
    let (from, to, null) = (from.as_raw_fd(), to.as_raw_fd(), std::ptr::null_mut());
    let flags = libc::SPLICE_F_NONBLOCK | libc::SPLICE_F_MOVE;
    // SAFETY: no offsets are passed.
    check_size(unsafe { libc::splice(from, null, to, null, bytes, flags) })
}

/// A nonblocking pipe: its read end and its write end.
///
/// # Errors
/// Errors of `pipe2`.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors, which the result owns.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK))?;
        // Slots for small segments; users who may not have them keep sixteen.
        libc::fcntl(ends[0], libc::F_SETPIPE_SZ, PIPE_BYTES);
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Receives with flags of `recv`.
///
/// # Errors
/// Errors of `recv`.
pub fn receive(fd: &impl AsRawFd, into: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the buffer's length.
    check_size(unsafe {
        libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags | libc::MSG_DONTWAIT)
    })
}

/// Sends with flags of `send`.
///
/// # Errors
/// Errors of `send`.
pub fn send(fd: &impl AsRawFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    let flags = flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the kernel reads the buffer's length.
    check_size(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Sends a packet with its own network header through a raw socket.
///
/// # Errors
/// Errors of `sendto`; EPERM without CAP_NET_RAW.
pub fn send_packet(fd: &impl AsRawFd, packet: &[u8], to: SocketAddr) -> io::Result<()> {
    let (raw, length) = raw_address(to);
    // SAFETY: the kernel reads the lengths of both buffers.
    check_size(unsafe {
        libc::sendto(fd.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0, raw.as_ptr().cast(), length)
    })
    .map(drop)
}

/// A raw socket to which packets with their network header are written.
///
/// # Errors
/// EPERM without CAP_NET_RAW.
pub fn raw_socket(v6: bool) -> io::Result<OwnedFd> {
    let family = if v6 { libc::AF_INET6 } else { libc::AF_INET };
    socket(family, libc::SOCK_RAW, libc::IPPROTO_RAW)
}

/// Index of an interface.
///
/// # Errors
/// ENODEV if there is no interface with this name.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let text = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the name ends with a null byte.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Gives the calling thread its own table of descriptors, so that the limit of open files applies
/// to it alone.
///
/// # Errors
/// Errors of `unshare`.
pub fn own_descriptors() -> io::Result<()> {
    // SAFETY: no memory is passed; other threads keep their table.
    check(unsafe { libc::unshare(libc::CLONE_FILES) }).map(drop)
}

/// Raises the limit of open files to the hard limit, and returns it.
///
/// # Errors
/// Errors of `setrlimit`.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes and reads one structure.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
    }
    Ok(limit.rlim_max)
}

/// The loopback address with an unspecified port.
#[must_use]
pub fn loopback(v6: bool) -> SocketAddr {
    if v6 {
        SocketAddrV6::new(Ipv6Addr::LOCALHOST, 0, 0, 0).into()
    } else {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into()
    }
}

/// Connects a netlink socket to the kernel.
///
/// # Errors
/// Errors of `bind`.
pub fn bind_netlink(fd: &impl AsRawFd) -> io::Result<()> {
    let mut raw = [0; 12];
    raw[..2].copy_from_slice(&(libc::AF_NETLINK as u16).to_ne_bytes());
    // SAFETY: the kernel reads the address.
    check(unsafe { libc::bind(fd.as_raw_fd(), raw.as_ptr().cast(), 12) }).map(drop)
}

/// Sets the receive buffer of a socket, which may exceed the limit of unprivileged users.
///
/// # Errors
/// EPERM without CAP_NET_ADMIN.
pub fn set_receive_buffer(fd: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
}

/// CPU time of this process so far in seconds, in user and kernel mode.
#[must_use]
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Waits until a descriptor is readable.
///
/// # Errors
/// `TimedOut`, and errors of `poll`.
pub fn wait_readable(fd: &impl AsRawFd, timeout_ms: i32) -> io::Result<()> {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry is passed.
    match check(unsafe { libc::poll(&raw mut poll, 1, timeout_ms) })? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Registers a descriptor with this thread's runtime.
///
/// # Errors
/// Errors of the registration.
pub fn register<T: AsFd + AsRawFd>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: the types of this crate own their descriptor, and return the same one for their
    // lifetime.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(io::Error::from)
}

/// A descriptor that becomes readable when the process receives SIGINT or SIGTERM. These signals
/// end neither this thread nor threads that it starts later.
///
/// # Errors
/// Errors of the system calls.
pub fn end_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is written before it is read, the descriptor is new and owned by the result.
    unsafe {
        let mut set = std::mem::MaybeUninit::zeroed();
        check(libc::sigemptyset(set.as_mut_ptr()))?;
        let mut set = set.assume_init();
        check(libc::sigaddset(&raw mut set, libc::SIGINT))?;
        check(libc::sigaddset(&raw mut set, libc::SIGTERM))?;
        match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
            0 => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
        let fd = check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Takes a signal from the descriptor of `end_signals`; returns false if there is none.
pub fn take_signal(fd: &impl AsRawFd) -> bool {
    let mut record = [0_u8; 128];
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe { libc::read(fd.as_raw_fd(), record.as_mut_ptr().cast(), record.len()) > 0 }
}

/// A nonblocking socket for the incoming frames of an interface.
///
/// # Errors
/// EPERM without CAP_NET_RAW, and errors of the other calls.
pub fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    const PACKET_QDISC_BYPASS: libc::c_int = 20;
    const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
    let all = (libc::ETH_P_ALL as u16).to_be();
    let fd = socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(all))?;
    let raw = fd.as_raw_fd();
    set_receive_buffer(&fd, 32 << 20)?;
    set_send_buffer(&fd, 32 << 20)?;
    set(raw, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
    set(raw, libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1)?;
    let mut address = [0; 20];
    address[..2].copy_from_slice(&(libc::AF_PACKET as u16).to_ne_bytes());
    address[2..4].copy_from_slice(&all.to_ne_bytes());
    address[4..8].copy_from_slice(&interface.to_ne_bytes());
    // SAFETY: the kernel reads the address.
    check(unsafe { libc::bind(raw, address.as_ptr().cast(), 20) })?;
    Ok(fd)
}

/// Waits until one of two descriptors is readable, or a time has passed.
///
/// # Errors
/// Errors of `ppoll`.
pub fn wait_either(first: &impl AsRawFd, second: &impl AsRawFd, time: std::time::Duration) -> io::Result<()> {
    let entry = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polls = [entry(first.as_raw_fd()), entry(second.as_raw_fd())];
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    let wait = libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: two entries and a time are passed.
    match check(unsafe { libc::ppoll(polls.as_mut_ptr(), 2, &raw const wait, std::ptr::null()) }) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// Enables precise timers, and real-time priority if it is permitted.
pub fn be_punctual() {
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: the structure is read; failure leaves the process as it is.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
    }
}
