// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Applications with metrics of their own: pages, video, voice.

use crate::workload::{object_bytes, App, Law};
use perigee_units::draw::mix;
use perigee_units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// Maximum number of qualities of a video.
pub const MAX_QUALITIES: usize = 16;

/// Bitrates of a video, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// Bits per second; zero from `len` on.
    rates_bps: [u64; MAX_QUALITIES],
    len: usize,
}

impl Ladder {
    /// Ladder of these rates, which must ascend; `None` for an empty list or more than
    /// [`MAX_QUALITIES`].
    pub fn new(rates: &[BitRate]) -> Option<Ladder> {
        let ascending = rates.windows(2).all(|w| w[0] < w[1]);
        if rates.is_empty() || rates.len() > MAX_QUALITIES || !ascending {
            return None;
        }
        let mut rates_bps = [0; MAX_QUALITIES];
        rates_bps.iter_mut().zip(rates).for_each(|(to, from)| *to = from.0);
        Some(Ladder { rates_bps, len: rates.len() })
    }

    /// Bits per second, ascending.
    pub fn rates_bps(&self) -> &[u64] {
        &self.rates_bps[..self.len.min(MAX_QUALITIES)]
    }
}

/// Rule by which a player selects the quality of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Abr {
    /// By the buffer level: BBA-0 of Huang et al. (SIGCOMM 2014).
    Buffer,
    /// By the harmonic mean of the latest five throughputs: RB of Yin et al. (SIGCOMM 2015).
    Rate,
}

/// A video that is played while it is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Video {
    /// Available qualities.
    pub ladder: Ladder,
    /// Media time of a segment.
    pub segment: Nanos,
    /// Maximum media time in the player's buffer.
    pub buffer: Nanos,
    /// Media time in the buffer at which playback starts, initially and after a stall.
    pub start_up: Nanos,
    /// Rule for the quality.
    pub abr: Abr,
    /// Number of segments.
    pub segments: u64,
}

/// Pages: a document, then all objects that it references, requested at once over one connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Web {
    /// Bytes of the document.
    pub document: Law,
    /// Number of objects of a page in addition to the document.
    pub objects: u64,
    /// Bytes of an object.
    pub object: Law,
    /// Seconds from the end of a page to the next.
    pub think: Law,
    /// Number of pages.
    pub pages: u64,
}

/// Codec of a voice call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// ITU-T G.711 with packet loss concealment: 64 kbit/s.
    G711,
    /// ITU-T G.729 Annex A with voice activity detection: 8 kbit/s.
    G729,
}

impl Codec {
    /// Names in scenario files.
    pub const NAMES: [&'static str; 2] = ["g711", "g729"];

    /// Codec with this name.
    pub fn named(name: &str) -> Option<Codec> {
        let i = Codec::NAMES.iter().position(|n| *n == name)?;
        Some([Codec::G711, Codec::G729][i])
    }

    /// Name of the codec.
    pub fn name(self) -> &'static str {
        Codec::NAMES[self as usize]
    }

    /// Look-ahead of the codec.
    pub fn look_ahead(self) -> Nanos {
        Nanos::from_millis([0, 5][self as usize])
    }

    /// Size of an IPv4 packet with this amount of speech in bytes: IP, UDP and RTP headers are 40
    /// (RFC 3550).
    pub fn packet_bytes(self, speech: Nanos) -> u32 {
        let bps = [64_000, 8_000][self as usize];
        40 + bytes_in(bps, speech) as u32
    }
}

/// A voice call in one direction: packets during talk spurts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Voice {
    /// Codec of the call.
    pub codec: Codec,
    /// Speech per packet, which is also the time between packets.
    pub interval: Nanos,
    /// Duration of talk spurts in seconds.
    pub talk: Law,
    /// Duration of silences in seconds.
    pub silence: Law,
    /// Maximum lateness of a packet that is still played, relative to the first packet of its talk
    /// spurt.
    pub playout: Nanos,
}

/// Size of the answer to the `n`-th request of a client in bytes; video requests specify a quality.
/// Pages are two requests each: even ones request the document, odd ones all of its objects.
pub fn answer_bytes(app: &App, seed: u64, n: u64, quality: usize) -> u64 {
    match app {
        App::Request { size, .. } => object_bytes(size, seed, n),
        App::Web(web) if n % 2 == 0 => web.document.bytes(mix(seed ^ DOCUMENTS), n),
        App::Web(web) => {
            let page = mix(seed ^ mix(n));
            (0..web.objects).map(|k| web.object.bytes(page, k)).fold(0, u64::saturating_add).max(1)
        }
        App::Video(video) => {
            let rates = video.ladder.rates_bps();
            let rate = rates.get(quality).or(rates.last()).copied().unwrap_or(0);
            bytes_in(rate, video.segment).max(1)
        }
        _ => 1,
    }
}

/// Makes the draws of documents independent of those of objects.
const DOCUMENTS: u64 = 0x646f_6375_6d65_6e74;

/// Bytes at a rate in a time, rounded down.
fn bytes_in(rate_bps: u64, time: Nanos) -> u64 {
    (u128::from(rate_bps) * u128::from(time.0) / 8_000_000_000).min(u64::MAX.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_ascend() {
        let rates = |mbit: &[u64]| mbit.iter().map(|m| BitRate::from_mbit(*m)).collect::<Vec<_>>();
        assert_eq!(Ladder::new(&rates(&[1, 3])).unwrap().rates_bps(), [1_000_000, 3_000_000]);
        for bad in [vec![], vec![3, 1], vec![1, 1], (1..=17).collect()] {
            assert_eq!(Ladder::new(&rates(&bad)), None);
        }
    }

    #[test]
    fn packets_of_a_call_have_the_sizes_of_their_codecs() {
        let ms = Nanos::from_millis;
        assert_eq!(Codec::G711.packet_bytes(ms(20)), 200);
        assert_eq!(Codec::G729.packet_bytes(ms(20)), 60);
        assert_eq!(Codec::named("g729"), Some(Codec::G729));
    }

    #[test]
    fn a_page_is_a_document_and_its_objects() {
        let objects =
            |object| Web { document: Law::Fixed(30e3), objects: 3, object, think: Law::Fixed(1.0), pages: 9 };
        let app = App::Web(objects(Law::Fixed(10e3)));
        assert_eq!((answer_bytes(&app, 7, 4, 0), answer_bytes(&app, 7, 5, 0)), (30_000, 30_000));
        let app = App::Web(objects(Law::Uniform(1e3, 2e3)));
        let sizes: Vec<u64> = [1, 3, 5].map(|n| answer_bytes(&app, 7, n, 0)).into();
        assert!(sizes.iter().all(|s| (3_000..=6_000).contains(s)) && sizes[0] != sizes[1], "{sizes:?}");
    }

    #[test]
    fn a_segment_is_its_quality_for_its_time() {
        let ladder = Ladder::new(&[BitRate::from_mbit(1), BitRate::from_mbit(4)]).unwrap();
        let s = Nanos::from_secs;
        let abr = Abr::Buffer;
        let app =
            App::Video(Video { ladder, segment: s(4), buffer: s(30), start_up: s(4), abr, segments: 9 });
        assert_eq!((answer_bytes(&app, 7, 0, 0), answer_bytes(&app, 7, 1, 1)), (500_000, 2_000_000));
    }
}
