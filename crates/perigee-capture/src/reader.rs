// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reader of capture files, in file order: pcap with microseconds or nanoseconds, pcapng with any
//! resolution and number of interfaces, both optionally compressed with gzip.

use crate::CaptureError;
use flate2::read::MultiGzDecoder;
use pcap_parser::pcapng::{Block, InterfaceStatisticsBlock};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{create_reader, Linktype, PcapBlockOwned, PcapError, PcapNGOption};
use std::io::{Chain, Cursor, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Initial size of the read buffer; longer blocks make it grow.
const BUFFER_BYTES: usize = 1 << 20;
/// Maximum length of a packet: a longer block is damaged.
const MOST_BYTES: usize = 1 << 26;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const NS_PER_S: u64 = 1_000_000_000;
const NOT_FURTHER: &str =
    "it cannot be read further: cut off or damaged within its compression, or by the disk";
const NOT_TO_A_PACKET: &str = "it cannot be read to its first packet: it is damaged, or compressed badly";
const NO_CAPTURE: &str = "it is neither pcap nor pcapng (nor one of them compressed with gzip)";

/// A packet as captured.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Link type of the interface, as registered at tcpdump.org.
    pub link_type: i32,
    /// Captured bytes.
    pub data: &'a [u8],
    /// Original length.
    pub length: u32,
}

/// State at the end of a file, and the statistics in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    /// Number of packets read.
    pub packets: u64,
    /// Description of where the file is truncated or unreadable, human-readable.
    pub broken: Option<String>,
    /// Number of packets that the capturing system reports as lost.
    pub dropped: u64,
    /// Number of packets of an interface without a description.
    pub homeless: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: i32,
    units_per_s: u64,
    offset_s: i64,
}

type Source = Chain<Cursor<Vec<u8>>, Counted<Box<dyn Read + Send>>>;

/// Counts the bytes read from the file itself, before decompression.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(to)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// Fills the caller's buffer unless the file ends, as the underlying reader may return less. An
/// error ends the file and is recorded: the data before it counts.
struct Full<R> {
    inner: R,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Full<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < to.len() && !self.failed.load(Ordering::Relaxed) {
            match self.inner.read(&mut to[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.failed.store(true, Ordering::Relaxed),
            }
        }
        Ok(filled)
    }
}

/// Packets of a file from its start.
pub struct Packets {
    reader: Box<dyn PcapReaderIterator + Send>,
    interfaces: Vec<Interface>,
    footer: Footer,
    bytes: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
}

impl Packets {
    /// Detects the format from the start of `from`.
    ///
    /// # Errors
    /// If it is not a capture.
    pub fn new(from: Box<dyn Read + Send>) -> Result<Self, CaptureError> {
        let bytes = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { inner: from, bytes: bytes.clone() };
        let head = begin_of(&mut counted, 2)?;
        let zipped = head == GZIP;
        let whole: Source = Cursor::new(head).chain(counted);
        let plain: Box<dyn Read + Send> = match zipped {
            true => Box::new(MultiGzDecoder::new(whole)),
            false => Box::new(whole),
        };
        let failed = Arc::new(AtomicBool::new(false));
        let full = Full { inner: plain, failed: failed.clone() };
        let reader = create_reader(BUFFER_BYTES, full).map_err(|_| {
            let failed = failed.load(Ordering::Relaxed);
            CaptureError::Bad(if failed { NOT_TO_A_PACKET } else { NO_CAPTURE }.into())
        })?;
        Ok(Packets { reader, interfaces: Vec::new(), footer: Footer::default(), bytes, failed })
    }

    /// Number of bytes of the file read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// State and statistics, complete at the end.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Passes further packets to `take` until it returns false or the file ends; true if there may
    /// be more.
    pub fn some(&mut self, take: &mut dyn FnMut(&Raw<'_>) -> bool) -> bool {
        loop {
            let (used, go_on) = match self.reader.next() {
                Ok((used, block)) => (used, hand_on(&block, &mut self.interfaces, &mut self.footer, take)),
                Err(PcapError::Eof) => {
                    self.note_failure();
                    return false;
                }
                Err(PcapError::Incomplete(_)) => match self.refill() {
                    true => continue,
                    false => return false,
                },
                Err(e) => {
                    self.footer.broken = Some(reason(&e));
                    return false;
                }
            };
            self.reader.consume(used);
            if !go_on {
                return true;
            }
        }
    }

    /// Reads more of the file; false at its end.
    fn refill(&mut self) -> bool {
        let before = self.reader.data().len();
        match self.reader.refill() {
            Ok(()) => {}
            Err(PcapError::BufferTooSmall) => {
                if self.reader.data().len() >= MOST_BYTES || !self.reader.grow((before * 2).max(BUFFER_BYTES))
                {
                    self.break_off("a block says that it is longer than any packet");
                    return false;
                }
                return true;
            }
            Err(e) => {
                self.footer.broken = Some(reason(&e));
                return false;
            }
        }
        if self.reader.data().len() > before || !self.reader.reader_exhausted() {
            return true;
        }
        if before > 0 {
            self.break_off("it ends within a packet");
        }
        self.note_failure();
        false
    }

    /// Records a read failure, if there was one.
    fn note_failure(&mut self) {
        if self.failed.load(Ordering::Relaxed) {
            self.break_off(NOT_FURTHER);
        }
    }

    fn break_off(&mut self, why: &str) {
        self.footer.broken = Some(why.into());
    }
}

/// The first `n` bytes, or fewer if the file is shorter.
fn begin_of(from: &mut impl Read, n: usize) -> Result<Vec<u8>, CaptureError> {
    let mut head = Vec::new();
    from.take(n as u64)
        .read_to_end(&mut head)
        .map_err(|e| CaptureError::Bad(format!("it cannot be read: {e}")))?;
    match head.is_empty() {
        true => Err(CaptureError::Bad("it is empty".into())),
        false => Ok(head),
    }
}

fn reason<I>(e: &PcapError<I>) -> String {
    match e {
        PcapError::ReadError => NOT_FURTHER.into(),
        PcapError::UnexpectedEof => "it ends within a packet".into(),
        _ => "what follows is no packet".into(),
    }
}

/// Processes a block: a description of an interface, or a packet for `take`. Returns the result of
/// `take`.
fn hand_on(
    block: &PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
    footer: &mut Footer,
    take: &mut dyn FnMut(&Raw<'_>) -> bool,
) -> bool {
    let mut give = |interface: u32, stamp: u64, data: &[u8], length: u32| {
        let Some(of) = interfaces.get(interface as usize) else {
            footer.homeless += 1;
            return true;
        };
        footer.packets += 1;
        take(&Raw { at_ns: of.time_ns(stamp), link_type: of.link_type, data, length })
    };
    match block {
        PcapBlockOwned::LegacyHeader(h) => {
            let units_per_s = if h.is_nanosecond_precision() { NS_PER_S } else { 1_000_000 };
            *interfaces = vec![Interface { link_type: h.network.0, units_per_s, offset_s: 0 }];
            true
        }
        PcapBlockOwned::Legacy(b) => {
            let units_per_s = interfaces.first().map_or(1_000_000, |i| i.units_per_s);
            let stamp = u64::from(b.ts_sec) * units_per_s + u64::from(b.ts_usec);
            let kept = (b.caplen as usize).min(b.data.len());
            give(0, stamp, &b.data[..kept], b.origlen)
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            true
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(i)) => {
            let units_per_s = i.ts_resolution().filter(|&r| r > 0).unwrap_or(1_000_000);
            interfaces.push(Interface { link_type: i.linktype.0, units_per_s, offset_s: i.if_tsoffset });
            true
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(p)) => {
            let kept = (p.caplen as usize).min(p.data.len());
            give(p.if_id, u64::from(p.ts_high) << 32 | u64::from(p.ts_low), &p.data[..kept], p.origlen)
        }
        PcapBlockOwned::NG(Block::InterfaceStatistics(s)) => {
            footer.dropped = footer.dropped.max(dropped(s));
            true
        }
        // Simple packets have no timestamp and cannot be used.
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            footer.homeless += 1;
            true
        }
        PcapBlockOwned::NG(_) => true,
    }
}

impl Interface {
    fn time_ns(&self, stamp: u64) -> u64 {
        let (whole, rest) = (stamp / self.units_per_s, stamp % self.units_per_s);
        let ns = (u128::from(rest) * u128::from(NS_PER_S) / u128::from(self.units_per_s)) as u64;
        whole.saturating_add_signed(self.offset_s).saturating_mul(NS_PER_S).saturating_add(ns)
    }
}

/// Number of packets lost by the interface or the system (`isb_ifdrop`, `isb_osdrop`).
fn dropped(s: &InterfaceStatisticsBlock<'_>) -> u64 {
    let number = |o: &PcapNGOption<'_>| {
        let bytes: [u8; 8] = o.value().get(..8)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    let of = |code: u16| s.options.iter().find(|o| o.code.0 == code).and_then(number).unwrap_or(0);
    of(5).saturating_add(of(7))
}

/// Ethernet, with or without VLAN tags.
pub const ETHERNET: i32 = Linktype::ETHERNET.0;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{write::GzEncoder, Compression};
    use std::io::Write;

    const PACKETS: u32 = 500;

    /// A gzip-compressed pcap of almost incompressible packets.
    fn zipped() -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1] {
            file.extend(word.to_le_bytes());
        }
        let mut state = 1_u32;
        for n in 0..PACKETS {
            for word in [n, 0, 200, 200] {
                file.extend(word.to_le_bytes());
            }
            for _ in 0..200 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                file.push((state >> 24) as u8);
            }
        }
        let mut zip = GzEncoder::new(Vec::new(), Compression::default());
        zip.write_all(&file).unwrap();
        zip.finish().unwrap()
    }

    fn read(file: &[u8]) -> Result<Footer, CaptureError> {
        let mut packets = Packets::new(Box::new(Cursor::new(file.to_vec())))?;
        while packets.some(&mut |_| true) {}
        Ok(packets.footer().clone())
    }

    #[test]
    fn what_came_before_the_end_of_a_cut_compression_is_read() {
        let file = zipped();
        assert_eq!(read(&file).unwrap(), Footer { packets: u64::from(PACKETS), ..Footer::default() });
        let mut last = 0;
        for tenths in 1..10 {
            let footer = read(&file[..file.len() * tenths / 10]).unwrap();
            assert_eq!(footer.broken.as_deref(), Some(NOT_FURTHER), "{tenths}");
            assert!(footer.packets >= last && footer.packets < u64::from(PACKETS), "{tenths}: {footer:?}");
            last = footer.packets;
        }
        assert!(last > u64::from(PACKETS) / 2, "{last}");
        // Not even the header of the capture is readable.
        for n in [2, 12] {
            assert!(matches!(read(&file[..n]), Err(CaptureError::Bad(why)) if why == NOT_TO_A_PACKET));
        }
    }
}
