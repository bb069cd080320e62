// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports of the agent in a guest: frames on the report interface with records of kind, length and
//! payload. They come from the guest and are untrusted.

use perigee_units::Nanos;

/// EtherType of reports, for local experiments (IEEE 802).
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
const ETHERNET: usize = 14;

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// State of a flow's socket: at a sampling instant, when the flow stops, or at the end.
    Sample(When, Box<Sample>),
    /// A flow's sender opens its connection.
    Started(Nanos, u32),
    /// A limited transfer is complete.
    Complete(Nanos, u32),
    /// A flow's connection failed, with the kernel's message.
    Failed(Nanos, u32, String),
    /// All listeners are ready.
    Ready,
    /// An application with pauses became idle (true) or active.
    Silence(Nanos, u32, bool),
    /// An object requested by a flow's receiver is complete.
    Object(Nanos, u32, Object),
    /// The reply to a ping has arrived.
    Answered(Nanos, u32),
    /// A program has started.
    Begun(Nanos, u32),
    /// A program has written output.
    Wrote(Nanos, u32, Stream, Vec<u8>),
    /// Bytes that a program has written beyond the limit of its output, in total: they were not
    /// reported.
    Discarded(Nanos, u32, Stream, u64),
    /// A program has ended.
    Exited(Nanos, u32, Exit),
    /// The run has ended, and programs have received SIGTERM. The core creates this one.
    Ending(Nanos),
    /// Programs keep the CPU busy while virtual time hardly advances: a message for the user. The core
    /// creates this one; it depends on the machine and is no result.
    Busy(Nanos, String),
    /// No process of programs is left on a kernel at the end of the run.
    Gone,
}

/// An object requested by the receiver of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Number, from 0.
    pub number: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the request.
    pub asked: Nanos,
    /// Arrival of its first data.
    pub first: Nanos,
}

/// Output stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Exit status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Exit code.
    Code(i32),
    /// Terminated by a signal.
    Signal(i32),
}

impl Exit {
    /// From the status of `waitpid` (wait(2)).
    fn of_status(status: i32) -> Exit {
        match status & 0x7f {
            0 => Exit::Code(status >> 8 & 0xff),
            signal => Exit::Signal(signal),
        }
    }
}

/// Flags in the number of a report's subject: the subject is a program; the output is standard
/// error.
const PROGRAM: u32 = 1 << 30;
const ERRORS: u32 = 1 << 29;

/// Reason of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A sampling instant.
    Due,
    /// The flow stops sending new data.
    Stopped,
    /// The run ends.
    End,
}

/// Kernel state of a flow's sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Simulated time.
    pub at: Nanos,
    /// Number of the flow.
    pub flow: u32,
    /// Payload bytes read by the receiving program.
    pub received: u64,
    /// Name of its congestion control.
    pub scheme: String,
    /// `TCP_INFO`.
    pub tcp: TcpInfo,
    /// `TCP_CC_INFO`, raw: BBR's is 20 bytes.
    pub scheme_info: Vec<u8>,
}

macro_rules! tcp_info {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $offset:literal),* $(,)?) => {
        /// `struct tcp_info` of Linux (include/uapi/linux/tcp.h, 6.12); fields that an older kernel
        /// lacks are 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct TcpInfo {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl TcpInfo {
            /// Reads the kernel's structure, which may be shorter or longer than expected.
            pub fn read(raw: &[u8]) -> Self {
                TcpInfo { $($name: {
                    let bytes = raw.get($offset..$offset + size_of::<$type>());
                    bytes.map_or(0, |b| <$type>::from_ne_bytes(b.try_into().expect("its size")))
                },)* }
            }
        }
    };
}

tcp_info! {
    /// Congestion avoidance state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    ca_state: u8 = 1,
    /// Maximum segment size in bytes.
    snd_mss: u32 = 16,
    /// Segments sent and not acknowledged.
    unacked: u32 = 24,
    /// Number of these that are selectively acknowledged.
    sacked: u32 = 28,
    /// Number of these that are marked lost.
    lost: u32 = 32,
    /// Number of these that are retransmitted.
    retrans: u32 = 36,
    /// Smoothed RTT in microseconds.
    rtt_us: u32 = 68,
    /// Slow start threshold in segments.
    snd_ssthresh: u32 = 76,
    /// Congestion window in segments.
    snd_cwnd: u32 = 80,
    /// Reordering in segments.
    reordering: u32 = 88,
    /// Total number of segments retransmitted.
    total_retrans: u32 = 100,
    /// Pacing rate in bytes per second.
    pacing_rate: u64 = 104,
    /// Bytes acknowledged.
    bytes_acked: u64 = 120,
    /// Smallest RTT in microseconds.
    min_rtt_us: u32 = 148,
    /// Segments with data sent, retransmissions included.
    data_segs_out: u32 = 156,
    /// Latest delivery rate in bytes per second.
    delivery_rate: u64 = 160,
    /// Time during which it had data to send, in microseconds.
    busy_us: u64 = 168,
    /// Part of that time limited by the receiver's window.
    rwnd_limited_us: u64 = 176,
    /// Part of that time limited by the send buffer.
    sndbuf_limited_us: u64 = 184,
    /// Segments delivered with a congestion mark.
    delivered_ce: u32 = 196,
    /// Duplicate SACKs received.
    dsack_dups: u32 = 216,
    /// Reordering events.
    reord_seen: u32 = 220,
    /// Retransmission timeouts.
    total_rto: u16 = 240,
}

impl TcpInfo {
    /// Segments in flight as Linux counts them (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u64 {
        let out = u64::from(self.unacked) + u64::from(self.retrans);
        out.saturating_sub(u64::from(self.sacked) + u64::from(self.lost))
    }
}

/// Reads the records of a frame.
///
/// # Errors
/// An invalid frame or record.
pub fn read(frame: &[u8]) -> Result<Vec<Report>, String> {
    if frame.get(12..ETHERNET) != Some(&ETHERTYPE) {
        return Err("a frame that is no report".into());
    }
    let mut rest = &frame[ETHERNET..];
    let mut reports = Vec::new();
    while !rest.is_empty() {
        let (Some(kind), Some(size)) = (half(rest, 0), half(rest, 2)) else {
            return Err("a report that is cut short".into());
        };
        let payload = rest.get(4..4 + usize::from(size)).ok_or("a report that is cut short")?;
        reports.push(record(kind, payload).ok_or_else(|| format!("a report of kind {kind}"))?);
        rest = &rest[4 + usize::from(size)..];
    }
    Ok(reports)
}

fn record(kind: u16, payload: &[u8]) -> Option<Report> {
    let when = match kind {
        1 => When::Due,
        2 => When::Stopped,
        3 => When::End,
        _ => return event(kind, payload),
    };
    Some(Report::Sample(when, Box::new(sample(payload)?)))
}

fn event(kind: u16, payload: &[u8]) -> Option<Report> {
    let (at, flow) = (Nanos(long(payload, 0)?), word(payload, 8)?);
    match kind {
        4 if flow & PROGRAM != 0 => Some(Report::Begun(at, flow & !PROGRAM)),
        4 => Some(Report::Started(at, flow)),
        5 => Some(Report::Complete(at, flow)),
        6 => Some(Report::Failed(at, flow, text(payload.get(12..)?))),
        7 => Some(Report::Ready),
        8 | 15 => {
            let stream = if flow & ERRORS != 0 { Stream::Errors } else { Stream::Output };
            let program = flow & !(PROGRAM | ERRORS);
            Some(match kind {
                8 => Report::Wrote(at, program, stream, payload.get(12..)?.to_vec()),
                _ => Report::Discarded(at, program, stream, long(payload, 12)?),
            })
        }
        9 => {
            let status = word(payload, 12)? as i32;
            Some(Report::Exited(at, flow & !PROGRAM, Exit::of_status(status)))
        }
        10 | 11 => Some(Report::Silence(at, flow, kind == 10)),
        13 => Some(Report::Answered(at, flow)),
        14 => Some(Report::Gone),
        12 => {
            let object = Object {
                number: long(payload, 12)?,
                bytes: long(payload, 20)?,
                asked: Nanos(long(payload, 28)?),
                first: Nanos(long(payload, 36)?),
            };
            Some(Report::Object(at, flow, object))
        }
        _ => None,
    }
}

fn sample(payload: &[u8]) -> Option<Sample> {
    let (info, scheme) = (usize::from(half(payload, 12)?), usize::from(half(payload, 14)?));
    let rest = payload.get(40..)?;
    Some(Sample {
        at: Nanos(long(payload, 0)?),
        flow: word(payload, 8)?,
        received: long(payload, 16)?,
        scheme: text(payload.get(24..40)?),
        tcp: TcpInfo::read(rest.get(..info)?),
        scheme_info: rest.get(info..info + scheme)?.to_vec(),
    })
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut out = vec![0; 12];
        out.extend(ETHERTYPE);
        out.extend(kind.to_ne_bytes());
        out.extend((payload.len() as u16).to_ne_bytes());
        out.extend(payload);
        out
    }

    fn event_payload(at: u64, flow: u32, words: &str) -> Vec<u8> {
        [&at.to_ne_bytes()[..], &flow.to_ne_bytes(), words.as_bytes()].concat()
    }

    #[test]
    fn events_are_read() {
        let raw = frame(6, &event_payload(7, 3, "Connection refused"));
        assert_eq!(read(&raw), Ok(vec![Report::Failed(Nanos(7), 3, "Connection refused".into())]));
    }

    #[test]
    fn programs_are_told_apart_from_flows() {
        let id = 3 | PROGRAM;
        assert_eq!(read(&frame(4, &event_payload(7, id, ""))), Ok(vec![Report::Begun(Nanos(7), 3)]));
        let wrote = Report::Wrote(Nanos(7), 3, Stream::Errors, b"oh".to_vec());
        assert_eq!(read(&frame(8, &event_payload(7, id | ERRORS, "oh"))), Ok(vec![wrote]));
        let beyond = [event_payload(7, id, ""), (1u64 << 40).to_ne_bytes().to_vec()].concat();
        let discarded = Report::Discarded(Nanos(7), 3, Stream::Output, 1 << 40);
        assert_eq!(read(&frame(15, &beyond)), Ok(vec![discarded]));
        assert!(read(&frame(15, &beyond[..16])).is_err());
        let ended = |status: i32| {
            let payload = [event_payload(7, id, ""), status.to_ne_bytes().to_vec()].concat();
            read(&frame(9, &payload)).unwrap().remove(0)
        };
        assert_eq!(ended(2 << 8), Report::Exited(Nanos(7), 3, Exit::Code(2)));
        assert_eq!(ended(11), Report::Exited(Nanos(7), 3, Exit::Signal(11)));
    }

    #[test]
    fn objects_are_read() {
        let mut payload = event_payload(9, 2, "");
        for word in [4u64, 1000, 5, 7] {
            payload.extend(word.to_ne_bytes());
        }
        let object = Object { number: 4, bytes: 1000, asked: Nanos(5), first: Nanos(7) };
        assert_eq!(read(&frame(12, &payload)), Ok(vec![Report::Object(Nanos(9), 2, object)]));
        assert!(read(&frame(12, &payload[..40])).is_err());
        assert_eq!(read(&frame(11, &event_payload(9, 2, ""))), Ok(vec![Report::Silence(Nanos(9), 2, false)]));
    }

    #[test]
    fn answers_to_pings_are_read() {
        assert_eq!(read(&frame(13, &event_payload(9, 5, ""))), Ok(vec![Report::Answered(Nanos(9), 5)]));
    }

    #[test]
    fn a_sample_is_read_with_whatever_its_kernel_knows() {
        let mut payload = event_payload(9, 2, "");
        payload.extend(84u16.to_ne_bytes());
        payload.extend(2u16.to_ne_bytes());
        payload.extend(1234u64.to_ne_bytes());
        payload.extend(b"cubic\0\0\0\0\0\0\0\0\0\0\0");
        let mut info = [0; 84];
        info[80] = 10;
        payload.extend(info);
        payload.extend([1, 2]);
        let Ok(reports) = read(&frame(1, &payload)) else { panic!("a sample") };
        let [Report::Sample(When::Due, s)] = &reports[..] else { panic!("{reports:?}") };
        assert_eq!((s.at, s.flow, s.received, s.scheme.as_str()), (Nanos(9), 2, 1234, "cubic"));
        assert_eq!((s.tcp.snd_cwnd, s.tcp.pacing_rate), (10, 0));
        assert_eq!(s.scheme_info, [1, 2]);
    }

    #[test]
    fn damage_is_refused_at_every_length() {
        let mut payload = event_payload(9, 2, "");
        payload.extend([4, 0, 2, 0]);
        payload.extend([0; 30]);
        let whole = frame(1, &payload);
        for n in 0..whole.len() {
            assert!(n == ETHERNET || read(&whole[..n]).is_err(), "{n} bytes");
        }
        assert!(read(&frame(99, &event_payload(0, 0, ""))).is_err());
    }
}
