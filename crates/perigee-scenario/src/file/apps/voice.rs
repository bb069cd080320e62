// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "voice"`: one direction of a call.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::{App, Codec, Law};
use perigee_units::Nanos;

/// Minimum mean duration of talk and silence: far below a syllable.
const SHORTEST: Nanos = Nanos::from_millis(1);
/// Speech per packet: from a millisecond to 200.
const PACKET: Notation = Notation::Time(SHORTEST, Nanos::from_millis(200));

parameters! {
    /// `app = "voice"`.
    Voice = "voice", "One direction of a call: RTP packets of speech while somebody talks, silence, and so on (talk spurts and pauses of ITU-T P.59); its mean opinion score follows from delay and loss.";
    codec: String = key(
        Notation::Word(&Codec::NAMES),
        "g711",
        "g711: 64 kbit/s with loss concealment; g729: 8 kbit/s (Annex A, with voice activity detection)",
    );
    packet: Nanos = key(PACKET, "20 ms", "speech in a packet, and time between packets");
    talk: Law = key(Notation::TimeLaw, "exponential(1004 ms)", "length of a talk spurt");
    silence: Law = key(Notation::TimeLaw, "exponential(1587 ms)", "length of a pause");
    playout: Nanos = key(
        Notation::Time(Nanos::ZERO, Nanos::from_secs(10)),
        "60 ms",
        "how much longer than that of the first packet of its talk spurt the delay of one may be; later ones are not played",
    );
}

impl Voice {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        for (key, law) in [("talk", &self.talk), ("silence", &self.silence)] {
            if law.mean() < SHORTEST.as_secs_f64() {
                let p = self.written.problem(key, "talk and silence would follow each other without end");
                let p = p.allowed(format!("times of {SHORTEST} and more in the mean"));
                problems.push(p.hint("app = \"cbr\" sends all the time"));
            }
        }
        App::Voice(perigee_timeline::Voice {
            codec: Codec::named(&self.codec).unwrap_or(Codec::G711),
            interval: self.packet,
            talk: self.talk,
            silence: self.silence,
            playout: self.playout,
        })
        .into()
    }
}
