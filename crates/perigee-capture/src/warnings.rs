// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Warnings of an import: clock steps, duplicates, and packets that cannot be used.

use crate::packet::{Contents, Segment};
use crate::reader::Footer;
use perigee_units::Nanos;
use std::collections::BTreeMap;

/// Largest backward step of timestamps that is not attributed to the clock: packets of several
/// interfaces are not written in exact order of time.
const STEP_BACK_NS: u64 = 1_000_000;
/// Maximum interval between a packet and its copy.
const DUPLICATE_WITHIN_NS: u64 = 1_000_000;

/// Counters for the warnings.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    latest_ns: u64,
    /// Backward steps of the capture's clock: number, and the largest in ns.
    back: (u64, u64),
    /// Forward steps of the capture's clock relative to the hosts' clocks: number, and the largest
    /// in s.
    ahead: (u64, u64),
    pub duplicates: u64,
    pub tcp: u64,
    fragments: u64,
    cut: u64,
    other: u64,
    links: BTreeMap<i32, u64>,
}

fn is_initial_syn(seen: &Contents) -> bool {
    matches!(seen, Contents::Tcp(s) if s.syn && !s.has_ack)
}

/// First and latest samples of a host's TCP timestamp clock: time of the capture in ns, timestamp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    first: Option<(u64, u32)>,
    last: (u64, u32),
}

impl Warnings {
    /// Processes a packet.
    pub fn on_packet(&mut self, at_ns: u64, seen: &Contents) {
        if at_ns < self.latest_ns {
            let by = self.latest_ns - at_ns;
            // Our own captures contain the SYN of a flow just before its first data, after packets
            // with later timestamps. A clock step at a real SYN also shows at the next packet.
            if by > STEP_BACK_NS && !is_initial_syn(seen) {
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

    /// Processes a TCP timestamp (RFC 7323) of a host. If the capture's clock has advanced by over a
    /// second more than the host's millisecond clock since the previous one, it was set forward.
    pub fn on_timestamp(&mut self, clock: &mut Clock, at_ns: u64, stamp: u32) {
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

    /// Whether a segment is a copy of the previous one in its direction; counts it if so.
    pub fn is_duplicate(&mut self, before: Option<&(u64, Segment)>, at_ns: u64, s: &Segment) -> bool {
        let duplicate = before.is_some_and(|(then, old)| {
            old == s && at_ns.abs_diff(*then) < DUPLICATE_WITHIN_NS && (s.id != 0 || s.payload > 0)
        });
        self.duplicates += u64::from(duplicate);
        duplicate
    }

    /// Warnings as text, one per line; empty if the capture has none of these defects.
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
                    "the file ends early, after packet {}: {why}; the packets before it were imported",
                    footer.packets
                ),
            );
        }
        let (dropped, homeless) = (footer.dropped, footer.homeless);
        say(
            dropped > 0,
            format!("the capturing system lost {dropped} packets: some retransmissions and losses may be artefacts of the capture"),
        );
        say(
            homeless > 0,
            format!(
                "{homeless} packets have no timestamp, or an interface that the file does not describe: ignored"
            ),
        );
        let (steps, by) = self.back;
        let by_s = Nanos(by).as_secs_f64();
        say(steps > 0, format!("the clock of the capture stepped back {steps} times, by up to {by_s:.6} s: RTTs across a step are wrong"));
        let (steps, by) = self.ahead;
        say(steps > 0, format!("the clock of the capture was set forward {steps} times, by up to {by} s, but the hosts' clocks were not: RTTs across a step are wrong"));
        let n = self.duplicates;
        say(
            n > 0,
            format!("{n} TCP packets are in the file twice (captured on two interfaces?): counted once"),
        );
        let n = self.cut;
        say(n > 0, format!("{n} packets have truncated or damaged headers: ignored (capture with a snap length of at least 128 bytes)"));
        let n = self.fragments;
        say(n > 0, format!("{n} packets are IP fragments after the first: their data is not counted"));
        let n = self.other;
        say(n > 0, format!("{n} packets are neither TCP nor UDP: ignored"));
        for (kind, n) in &self.links {
            say(true, format!("{n} packets have link type {kind}, which is not supported: ignored"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::End;

    #[test]
    fn a_backward_step_is_counted_unless_only_a_syn_is_earlier() {
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
            packets.iter().for_each(|(s, seen)| warnings.on_packet(s * 1_000_000_000, seen));
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
