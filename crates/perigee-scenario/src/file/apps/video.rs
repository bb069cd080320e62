// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "video"`: video over HTTP (DASH), with a player that adapts the quality.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{Abr, App, Ladder, MAX_QUALITIES};
use perigee_units::{BitRate, Nanos};

const SEGMENT: Notation = Notation::Time(Nanos::from_millis(100), Nanos::from_secs(60));
const BUFFER: Notation = Notation::Time(Nanos::from_millis(100), Nanos::from_secs(3600));

/// Bitrate ladder of Mao et al., "Neural Adaptive Video Streaming with Pensieve", SIGCOMM 2017,
/// section 5.1.
const LADDER_KBIT: [u64; 6] = [300, 750, 1200, 1850, 2850, 4300];

parameters! {
    /// `app = "video"`.
    Video = "video", "Adaptive video over HTTP (DASH): the receiver requests one segment after another in a quality that it selects, plays them, and stalls when its buffer is empty.";
    ladder: Option<Vec<BitRate>> = optional(
        Notation::OneOrMany(&Notation::Rate),
        "bitrates of the qualities, ascending; default: 300, 750, 1200, 1850, 2850 and 4300 kbit/s",
    );
    segment: Nanos = key(SEGMENT, "4 s", "duration of a segment");
    buffer: Nanos = key(BUFFER, "30 s", "maximum media time in the player's buffer");
    start_up: Nanos = key(BUFFER, "4 s", "media time in the buffer at which playback starts, initially and after a stall");
    abr: String = key(
        Notation::Word(&["buffer", "rate"]),
        "buffer",
        "quality selection: buffer = by the buffered media time (BBA-0, Huang et al. 2014: lowest quality below 3/8 of `buffer`, highest above 9/10, linear in between); rate = by the harmonic mean of the latest five throughputs (RB, Yin et al. 2015)",
    );
    segments: Option<u64> = optional(Notation::Int(1, 1_000_000_000), "number of segments; default: unlimited");
}

impl Video {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        let rates = self.ladder.unwrap_or_else(|| LADDER_KBIT.map(|k| BitRate(k * 1000)).into());
        let ladder = Ladder::new(&rates).unwrap_or_else(|| {
            let p = self.written.problem("ladder", "the rates are not in ascending order, or too many");
            let p = p.allowed(format!("at most {MAX_QUALITIES} rates, in ascending order"));
            problems.push(p.hint("write ladder = [\"1 Mbit\", \"3 Mbit\", \"6 Mbit\"]"));
            Ladder::new(&[BitRate::from_mbit(1)]).expect("one rate is a ladder")
        });
        if self.buffer < self.segment {
            let p = self.written.problem("buffer", format!("must not be shorter than a segment ({})", self.segment));
            problems.push(p.found(format!("{}", self.buffer)).hint("use at least two segments"));
        } else if self.start_up.0 > self.buffer.0 / self.segment.0 * self.segment.0 {
            let why = "playback would never start: exceeds the complete segments that fit into `buffer`";
            let p = self.written.problem("start_up", why);
            problems.push(p.found(format!("{}", self.start_up)).hint("reduce start_up, or increase buffer"));
        }
        App::Video(perigee_timeline::Video {
            ladder,
            segment: self.segment,
            buffer: self.buffer,
            start_up: self.start_up,
            abr: if self.abr == "rate" { Abr::Rate } else { Abr::Buffer },
            segments: self.segments.unwrap_or(u64::MAX),
        })
        .into()
    }
}
