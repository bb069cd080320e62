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
    Voice = "voice", "One direction of a voice call: RTP packets in talk spurts, with pauses in between (ITU-T P.59); the mean opinion score is computed from delay and loss.";
    codec: String = key(
        Notation::Word(&Codec::NAMES),
        "g711",
        "g711 = 64 kbit/s with loss concealment; g729 = 8 kbit/s (Annex A, with voice activity detection)",
    );
    packet: Nanos = key(PACKET, "20 ms", "speech per packet, and interval between packets");
    talk: Law = key(Notation::TimeLaw, "exponential(1004 ms)", "duration of a talk spurt");
    silence: Law = key(Notation::TimeLaw, "exponential(1587 ms)", "duration of a pause");
    playout: Nanos = key(
        Notation::Time(Nanos::ZERO, Nanos::from_secs(10)),
        "60 ms",
        "playout margin: maximum delay of a packet in excess of that of the first packet of its talk spurt; later packets are discarded",
    );
}

impl Voice {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        for (key, law) in [("talk", &self.talk), ("silence", &self.silence)] {
            if law.mean() < SHORTEST.as_secs_f64() {
                let p = self.written.problem(key, "the mean duration is too short");
                let p = p.allowed(format!("a mean of at least {SHORTEST}"));
                problems.push(p.hint("use app = \"cbr\" to send continuously"));
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
