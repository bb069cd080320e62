// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Offload functions of a network card: checksums and TCP segmentation (virtio 1.2, section
//! 5.1.6.2). The guest's header of a frame is untrusted.

/// Fields of `struct virtio_net_hdr_v1` of a frame to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    needs_checksum: bool,
    /// TCP payload bytes per segment; 0 = the frame is sent unchanged.
    segment: usize,
    /// Start of the data for the missing checksum, and offset of the checksum field from there.
    sum_from: usize,
    sum_at: usize,
}

const NEEDS_CHECKSUM: u8 = 1;
/// `gso_type`: none, TCP over IPv4, TCP over IPv6; and the flag of segments with CWR.
const GSO: [u8; 3] = [0, 1, 4];
const GSO_ECN: u8 = 0x80;

const ETHERNET: usize = 14;
const TCP_HEADER: usize = 20;
/// TCP flags of the last segment only (FIN and PSH), and of the first only (CWR).
const FIN_AND_PUSH: u8 = 0x09;
const CWR: u8 = 0x80;
/// Maximum number of segments of a frame: 64 KiB with the smallest MSS of Linux
/// (`TCP_MIN_SND_MSS`).
const MOST: usize = 65_536 / 48;

/// Emits the frames that a card would send for a frame and its header of 12 bytes, in order.
///
/// # Errors
/// An invalid header, or one that does not match the frame.
pub fn send(header: &[u8; 12], frame: &mut [u8], mut out: impl FnMut(&[u8])) -> Result<(), &'static str> {
    let header = read(header)?;
    if header.segment > 0 {
        return cut(&header, frame, out);
    }
    if header.needs_checksum {
        let rest = frame.get_mut(header.sum_from..).ok_or("a checksum beyond its end")?;
        if rest.len() < header.sum_at + 2 {
            return Err("a checksum beyond its end");
        }
        let udp = header.sum_at == 6;
        // The field contains the sum of the pseudo-header.
        let sum = !fold(add(0, rest));
        // In UDP a checksum of zero means none (RFC 768).
        let sum = if udp && sum == 0 { 0xffff } else { sum };
        rest[header.sum_at..header.sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    out(frame);
    Ok(())
}

fn read(raw: &[u8; 12]) -> Result<Header, &'static str> {
    let half = |at: usize| usize::from(u16::from_le_bytes([raw[at], raw[at + 1]]));
    let kind =
        GSO.iter().position(|kind| *kind == raw[1] & !GSO_ECN).ok_or("an unknown kind of large frame")?;
    let segment = if kind == 0 { 0 } else { half(4) };
    if kind > 0 && segment == 0 {
        return Err("a large frame without a size of segments");
    }
    Ok(Header { needs_checksum: raw[0] & NEEDS_CHECKSUM != 0, segment, sum_from: half(6), sum_at: half(8) })
}

/// Splits a large TCP segment.
fn cut(header: &Header, frame: &[u8], mut out: impl FnMut(&[u8])) -> Result<(), &'static str> {
    let tcp = header.sum_from;
    let version = *frame.get(ETHERNET).ok_or("a large frame that is cut short")? >> 4;
    let ip_header = match version {
        4 => TCP_HEADER,
        6 => 40,
        _ => return Err("a large frame that is not IP"),
    };
    let fixed = frame.get(tcp..tcp + TCP_HEADER).filter(|_| tcp >= ETHERNET + ip_header);
    let fixed = fixed.ok_or("a large frame without a TCP header")?;
    let begin = tcp + usize::from(fixed[12] >> 4) * 4;
    let payload = frame.get(begin..).filter(|p| begin >= tcp + TCP_HEADER && !p.is_empty());
    let payload = payload.ok_or("a large frame without payload")?;
    let parts = payload.chunks(header.segment);
    let count = parts.len();
    if count > MOST {
        return Err("a large frame with too many segments");
    }
    let (sequence, flags) = (u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]), fixed[13]);
    let mut segment = Vec::with_capacity(begin + header.segment.min(payload.len()));
    for (i, part) in parts.enumerate() {
        segment.clear();
        segment.extend_from_slice(&frame[..begin]);
        segment.extend_from_slice(part);
        let from = sequence.wrapping_add((i * header.segment) as u32);
        segment[tcp + 4..tcp + 8].copy_from_slice(&from.to_be_bytes());
        let not_last = if i + 1 < count { FIN_AND_PUSH } else { 0 };
        let not_first = if i > 0 { CWR } else { 0 };
        segment[tcp + 13] = flags & !not_last & !not_first;
        address(&mut segment, version, tcp, i as u16);
        out(&segment);
    }
    Ok(())
}

/// Sets lengths, identification and checksums of one of several segments.
fn address(segment: &mut [u8], version: u8, tcp: usize, number: u16) {
    let (length, size) = ((segment.len() - ETHERNET) as u16, segment.len() - tcp);
    let ip = &mut segment[ETHERNET..];
    // Source and destination address, protocol and length (RFC 9293 section 3.1, RFC 8200 section
    // 8.1).
    let addresses = if version == 4 { 12..20 } else { 8..40 };
    let pseudo = add(6 + size as u32, &ip[addresses]);
    if version == 4 {
        let header = tcp - ETHERNET;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number);
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[10..12].fill(0);
        let sum = !fold(add(0, &ip[..header]));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        ip[4..6].copy_from_slice(&(length - 40).to_be_bytes());
    }
    let tcp = &mut segment[tcp..];
    tcp[16..18].fill(0);
    let sum = !fold(add(pseudo, tcp));
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
}

/// Adds 16-bit words (RFC 1071); the sum of a packet cannot overflow.
fn add(sum: u32, bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |b| u32::from(*b) << 8);
    words.fold(sum + odd, |sum, w| sum + u32::from(u16::from_be_bytes([w[0], w[1]])))
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment over IPv4 or IPv6 with 12 bytes of options and `payload` bytes.
    fn frame(version: u8, flags: u8, payload: usize) -> Vec<u8> {
        let ip = if version == 4 { 20 } else { 40 };
        let mut frame = vec![0; ETHERNET + ip + 32];
        frame[ETHERNET] = if version == 4 { 0x45 } else { 0x60 };
        frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&[0xff, 0xff]);
        frame[ETHERNET + if version == 4 { 9 } else { 6 }] = 6;
        frame[ETHERNET + 8..ETHERNET + 9].fill(if version == 4 { 64 } else { 0xfd });
        frame[ETHERNET + 12..ETHERNET + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let tcp = ETHERNET + ip;
        frame[tcp..tcp + 14].copy_from_slice(&[9, 9, 8, 8, 0xff, 0xff, 0xff, 0, 0, 0, 0, 7, 0x80, flags]);
        frame.extend((0..payload).map(|i| i as u8));
        frame
    }

    fn header(kind: u8, segment: u16, from: usize) -> [u8; 12] {
        let [a, b] = segment.to_le_bytes();
        [NEEDS_CHECKSUM, kind, 0, 0, a, b, from as u8, 0, 16, 0, 0, 0]
    }

    fn sent(header: &[u8; 12], frame: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        let mut all = Vec::new();
        send(header, &mut frame.to_vec(), |one| all.push(one.to_vec())).map(|()| all)
    }

    /// Whether both checksums of a segment are valid.
    fn is_whole(frame: &[u8]) -> bool {
        let ip = &frame[ETHERNET..];
        let (start, addresses) = if ip[0] >> 4 == 4 { (20, 12..20) } else { (40, 8..40) };
        let tcp = &ip[start..];
        let sum = add(add(6 + tcp.len() as u32, &ip[addresses]), tcp);
        fold(sum) == 0xffff && (start == 40 || fold(add(0, &ip[..20])) == 0xffff)
    }

    #[test]
    fn a_large_segment_is_cut_as_a_card_does() {
        for (version, kind, tcp) in [(4, 1, 34), (6, 4, 54)] {
            let large = frame(version, 0x99, 2500);
            let cut = sent(&header(kind | GSO_ECN, 1000, tcp), &large).unwrap();
            assert_eq!(cut.iter().map(|f| f.len() - tcp - 32).collect::<Vec<_>>(), [1000, 1000, 500]);
            assert!(cut.iter().all(|f| is_whole(f)), "version {version}");
            let field = |at: usize| cut.iter().map(|f| f[tcp + at]).collect::<Vec<_>>();
            // CWR in the first segment, FIN and PSH in the last, ACK in all.
            assert_eq!(field(13), [0x90, 0x10, 0x19]);
            let sequence = |f: &Vec<u8>| u32::from_be_bytes(f[tcp + 4..tcp + 8].try_into().unwrap());
            assert_eq!(cut.iter().map(sequence).collect::<Vec<_>>(), [0xffff_ff00, 744, 1744], "it wraps");
            let payload: Vec<u8> = cut.iter().flat_map(|f| f[tcp + 32..].to_vec()).collect();
            assert_eq!(payload, large[tcp + 32..]);
            let length = u16::from_be_bytes(cut[2][ETHERNET + 2..ETHERNET + 4].try_into().unwrap());
            assert!(version == 6 || usize::from(length) == cut[2].len() - ETHERNET);
            let id = |f: &Vec<u8>| u16::from_be_bytes(f[ETHERNET + 4..ETHERNET + 6].try_into().unwrap());
            assert!(version == 6 || cut.iter().map(id).collect::<Vec<_>>() == [0xffff, 0, 1]);
        }
    }

    #[test]
    fn a_small_one_gets_its_checksum_only() {
        let mut small = frame(4, 0x18, 101);
        let tcp = ETHERNET + 20;
        // The driver leaves the sum of the pseudo-header in the field.
        let pseudo = fold(add(6 + 133, &small[ETHERNET + 12..ETHERNET + 20]));
        small[tcp + 16..tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
        let all = sent(&header(0, 0, tcp), &small).unwrap();
        let sum = add(add(6 + 133, &all[0][ETHERNET + 12..ETHERNET + 20]), &all[0][tcp..]);
        assert_eq!((all.len(), fold(sum)), (1, 0xffff));
        // Without an offload request the frame is unchanged.
        assert_eq!(sent(&[0; 12], &small).unwrap(), [small]);
    }

    #[test]
    fn headers_that_do_not_fit_are_refused() {
        let large = frame(4, 0x10, 2500);
        assert!(sent(&header(3, 1000, 34), &large).is_err(), "UDP");
        assert!(sent(&header(1, 0, 34), &large).is_err());
        assert!(sent(&header(1, 1, 34), &large).is_err(), "2,500 segments");
        for from in 0..=255 {
            for length in (0..large.len()).step_by(7) {
                let _ = sent(&header(1, 1000, from), &large[..length]);
                let _ = sent(&header(4, 1000, from), &large[..length]);
                let _ = sent(&header(0, 0, from), &large[..length]);
            }
        }
        assert!(sent(&header(1, 1000, 250), &large[..200]).is_err());
        assert!(sent(&header(0, 0, 199), &large[..200]).is_err());
    }
}
