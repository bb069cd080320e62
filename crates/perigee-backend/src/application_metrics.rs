// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table `applications`: arrival of payload, playback of videos, quality of calls.

use perigee_record::tables::{ApplicationRow, ApplicationTable};
use perigee_record::{RunOutcome, Table};
use perigee_timeline::{App, Voice, Workload};
use perigee_units::Nanos;

/// Receiving ends of calls.
pub struct Calls {
    /// Calls by flow; `None` = not a call.
    calls: Vec<Option<Call>>,
    /// Whether each flow uses TCP.
    over_tcp: Vec<bool>,
}

/// Receiving end of a call. A packet is played if its delay does not exceed the playout delay of
/// its talk spurt, which is the delay of the first packet of the spurt to arrive plus the playout
/// buffer.
#[derive(Clone, Copy, Debug)]
struct Call {
    voice: Voice,
    /// Current spurt, and maximum delay of a packet of it that is still played.
    spurt: Option<(u64, Nanos)>,
    played: u64,
    late: u64,
    mouth_ear: u64,
}

impl Calls {
    /// Receiving ends of the calls of a workload.
    pub fn new(workload: &Workload) -> Self {
        let call = |app: &App| match app {
            App::Voice(voice) => Some(Call { voice: *voice, spurt: None, played: 0, late: 0, mouth_ear: 0 }),
            _ => None,
        };
        Calls {
            calls: workload.flows.iter().map(|f| call(&f.app)).collect(),
            over_tcp: workload.flows.iter().map(|f| f.app.is_tcp()).collect(),
        }
    }

    /// Handles a packet of talk spurt `spurt`.
    pub fn packet(&mut self, flow: u32, spurt: u64, delay: Nanos) {
        if let Some(call) = self.calls.get_mut(flow as usize).and_then(Option::as_mut) {
            call.packet(spurt, delay);
        }
    }
}

impl Call {
    fn packet(&mut self, spurt: u64, delay: Nanos) {
        let begins = self.spurt.is_none_or(|(known, _)| spurt > known);
        if begins {
            self.spurt = Some((spurt, delay + self.voice.playout));
        }
        // Packets that arrive after the start of the next spurt are late in any case.
        match self.spurt {
            Some((known, most)) if known == spurt && delay <= most => {
                self.played += 1;
                self.mouth_ear += (self.voice.interval + self.voice.codec.look_ahead() + most).0;
            }
            _ => self.late += 1,
        }
    }
}

/// Table with a row for each TCP flow and each call.
pub fn table(calls: &Calls, outcome: &RunOutcome) -> Table {
    let mut table = ApplicationTable::default();
    let known = calls.calls.iter().zip(&calls.over_tcp).zip(&outcome.applications);
    for (flow, ((call, over_tcp), t)) in known.enumerate() {
        if !over_tcp && call.is_none() {
            continue;
        }
        let ns = |t: Option<Nanos>| t.map(|t| t.0);
        let [first_byte_ns, first_10kb_ns, first_100kb_ns, first_1mb_ns, first_10mb_ns] = t.reached.map(ns);
        table.push(ApplicationRow {
            flow: flow as u32,
            first_byte_ns,
            first_10kb_ns,
            first_100kb_ns,
            first_1mb_ns,
            first_10mb_ns,
            playing_ns: t.video.and_then(|v| ns(v.playing)),
            stalls: t.video.map(|v| v.stalls),
            stalled_ns: t.video.map(|v| v.stalled.0),
            segments: t.video.map(|v| v.segments),
            media_ns: t.video.map(|v| v.media.0),
            played_ns: t.video.map(|v| v.played.0),
            media_bits: t.video.map(|v| v.media_bits),
            switches: t.video.map(|v| v.switches),
            codec: call.map_or(String::new(), |c| c.voice.codec.name().into()),
            played_packets: call.map(|c| c.played),
            late_packets: call.map(|c| c.late),
            mouth_ear_sum_ns: call.map(|c| c.mouth_ear),
        });
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::{Codec, Law};

    #[test]
    fn a_packet_later_than_its_spurt_allows_is_not_played() {
        let ms = Nanos::from_millis;
        let law = Law::Fixed(1.0);
        let voice = Voice { codec: Codec::G729, interval: ms(20), talk: law, silence: law, playout: ms(60) };
        let mut call = Call { voice, spurt: None, played: 0, late: 0, mouth_ear: 0 };
        // Up to 90 ms in the first spurt, up to 100 ms in the second; one packet of the first
        // arrives after the start of the second.
        for (spurt, delay) in [(0, 30), (0, 90), (0, 91), (1, 40), (0, 30), (1, 100)] {
            call.packet(spurt, ms(delay));
        }
        assert_eq!((call.played, call.late), (4, 2));
        assert_eq!(call.mouth_ear, ms(2 * (25 + 90) + 2 * (25 + 100)).0);
    }
}
