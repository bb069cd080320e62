// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Import warnings.

use crate::packet::{Contents, Segment};
use crate::reader::Footer;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Maximum step back of time that is not a fault of the clock: interfaces captured together deliver
/// packets in turns.
const STEP_BACK_NS: u64 = 1_000_000;
/// Time within which a copy of a packet follows it.
const TWICE_WITHIN_NS: u64 = 1_000_000;

/// Counters for the warnings.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    latest_ns: u64,
    back: (u64, u64),
    /// Clock steps of the capture relative to the hosts: number of forward steps, and the largest
    /// in seconds.
    ahead: (u64, u64),
    pub duplicates: u64,
    pub tcp: u64,
    fragments: u64,
    cut: u64,
    other: u64,
    links: BTreeMap<i32, u64>,
}

fn begins_connection(seen: &Contents) -> bool {
    matches!(seen, Contents::Tcp(s) if s.syn && !s.has_ack)
}

/// A host's timestamp clock compared with the clock of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    first: Option<(u64, u32)>,
    last: (u64, u32),
}

impl Warnings {
    /// Processes a packet.
    pub fn saw(&mut self, at_ns: u64, seen: &Contents) {
        if at_ns < self.latest_ns {
            let by = self.latest_ns - at_ns;
            // The SYN of a simulated flow is written just before its first data, later in the file
            // than its time; a clock that was set is also noticed at the packet after a SYN.
            if by > STEP_BACK_NS && !begins_connection(seen) {
                self.back = (self.back.0 + 1, self.back.1.max(by));
                self.latest_ns = at_ns;
            }
        } else {
            self.latest_ns = at_ns;
        }
        match seen {
            Contents::Tcp(_) => self.tcp += 1,
            Contents::Udp(_) => {}
            Contents::Fragment => self.fragments += 1,
            Contents::Cut => self.cut += 1,
            Contents::OtherIp | Contents::NotIp => self.other += 1,
            Contents::UnknownLink(kind) => *self.links.entry(*kind).or_default() += 1,
        }
    }

    /// Processes a host's timestamp: if the host's millisecond clock hardly advanced while the
    /// clock of the capture advanced by a second or more, the latter was set.
    pub fn stamped(&mut self, clock: &mut Clock, at_ns: u64, stamp: u32) {
        let Some((first_ns, first)) = clock.first else {
            (clock.first, clock.last) = (Some((at_ns, stamp)), (at_ns, stamp));
            return;
        };
        let (last_ns, last) = std::mem::replace(&mut clock.last, (at_ns, stamp));
        let passed = |a: u64, b: u64| b.saturating_sub(a) / 1_000_000;
        let (known_ms, known) = (passed(first_ns, last_ns), u64::from(last.wrapping_sub(first)));
        let counts_ms = known_ms > 1_000 && known.abs_diff(known_ms) < known_ms / 20;
        let (step_ms, step) = (passed(last_ns, at_ns), u64::from(stamp.wrapping_sub(last)));
        if counts_ms && step < 1 << 30 && step_ms > step + 1_000 {
            let by_s = (step_ms - step) / 1_000;
            self.ahead = (self.ahead.0 + 1, self.ahead.1.max(by_s));
            // The offset has changed.
            clock.first = Some((at_ns, stamp));
        }
    }

    /// Whether a segment is a copy of the previous one.
    pub fn is_twice(&mut self, before: Option<&(u64, Segment)>, at_ns: u64, s: &Segment) -> bool {
        let twice = before.is_some_and(|(then, old)| {
            old == s && at_ns.abs_diff(*then) < TWICE_WITHIN_NS && (s.id != 0 || s.payload > 0)
        });
        self.duplicates += u64::from(twice);
        twice
    }

    /// The warnings as text.
    pub fn lines(&self, footer: &Footer) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say = |when: bool, text: String| {
            if when {
                lines.push(text);
            }
        };
        if let Some(why) = &footer.broken {
            say(
                true,
                format!(
                    "the file breaks off after packet {}: {why}; what was before it is imported",
                    footer.packets
                ),
            );
        }
        let (dropped, homeless) = (footer.dropped, footer.homeless);
        say(
            dropped > 0,
            format!("the capturing system lost {dropped} packets: retransmissions and losses may be its own"),
        );
        say(
            homeless > 0,
            format!(
                "{homeless} packets have no time, or an interface that the file does not describe: left out"
            ),
        );
        let (steps, by) = self.back;
        let by_s = Nanos(by).as_secs_f64();
        say(steps > 0, format!("the clock of the capture went back {steps} times, by up to {by_s:.6} s: RTTs over a step are wrong"));
        let (steps, by) = self.ahead;
        say(steps > 0, format!("the clock of the capture was set ahead {steps} times, by up to {by} s, while the hosts' clocks went on as before"));
        let n = self.duplicates;
        say(
            n > 0,
            format!("{n} TCP packets stand in the file twice (captured on two interfaces?): counted once"),
        );
        let n = self.cut;
        say(n > 0, format!("{n} packets have cut or damaged headers: left out (a snap length of 128 bytes keeps all headers)"));
        let n = self.fragments;
        say(n > 0, format!("{n} packets are further fragments: their data is missing here"));
        let n = self.other;
        say(n > 0, format!("{n} packets are neither TCP nor UDP: left out"));
        for (kind, n) in &self.links {
            say(true, format!("{n} packets of link type {kind}, which is not known here: left out"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::End;

    #[test]
    fn a_clock_is_set_back_where_more_than_a_syn_is_earlier() {
        let end = End { address: std::net::Ipv4Addr::LOCALHOST.into(), port: 1 };
        let segment = |syn, has_ack| {
            Contents::Tcp(Segment {
                from: end,
                to: end,
                seq: 0,
                ack: 0,
                syn,
                fin: false,
                rst: false,
                has_ack,
                marked: false,
                window: 0,
                payload: 0,
                ip_bytes: 40,
                id: 0,
                mss: None,
                window_scale: None,
                sack_permitted: false,
                stamps: None,
                sacks: Default::default(),
                sack_count: 0,
            })
        };
        let back = |packets: &[(u64, Contents)]| {
            let mut warnings = Warnings::default();
            packets.iter().for_each(|(s, seen)| warnings.saw(s * 1_000_000_000, seen));
            warnings.back
        };
        let data = || segment(false, true);
        assert_eq!(
            back(&[(10, data()), (9, segment(true, false)), (10, segment(true, true)), (10, data())]),
            (0, 0)
        );
        assert_eq!(back(&[(10, data()), (9, segment(true, false)), (8, data())]), (1, 2_000_000_000));
        assert_eq!(back(&[(10, data()), (7, data()), (8, data())]), (1, 3_000_000_000));
    }
}
