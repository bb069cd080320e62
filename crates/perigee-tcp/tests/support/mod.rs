// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender with the test as its receiver.
#![allow(dead_code)] // each test file uses its own part

use perigee_cc::{info, CaState};
use perigee_tcp::config::TsoDefer;
use perigee_tcp::{Ack, AckBlocks, Config, Seg, Sender, Transmit};
use perigee_units::Nanos;
use std::collections::BTreeMap;

pub const MSS: u64 = 1000;
pub const RTT: Nanos = Nanos::from_millis(100);

pub fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// Segments sent; the flag marks retransmissions.
pub type Sent = Vec<(Seg, bool)>;

pub fn fresh(segs: std::ops::Range<Seg>) -> Sent {
    segs.map(|s| (s, false)).collect()
}

pub fn again(segs: std::ops::Range<Seg>) -> Sent {
    segs.map(|s| (s, true)).collect()
}

pub fn taken(out: &[Transmit]) -> Sent {
    out.iter().map(|t| (t.seg, t.retrans)).collect()
}

/// Configuration without deferral: each ACK sends as many segments as it permits, as in the RFCs.
pub fn plain() -> Config {
    Config { mss: MSS as u32, timestamps: false, tso_defer: TsoDefer::Off, ..Config::default() }
}

/// A connection with the test as its receiver; the handshake took 100 ms.
pub struct Script {
    pub sender: Sender,
    pub now: Nanos,
}

impl Script {
    pub fn new(cc: &str, cfg: Config, segments: Seg) -> Self {
        let scheme = info(cc).unwrap();
        let params = scheme.params(BTreeMap::new()).unwrap();
        let mut sender = Sender::new(cfg, |init| scheme.build(&params, init), RTT, Some(RTT), 1);
        sender.limit(segments);
        Script { sender, now: RTT }
    }

    pub fn cubic(segments: Seg) -> Self {
        Script::new("cubic", plain(), segments)
    }

    pub fn send(&mut self) -> Sent {
        let mut out = vec![];
        self.sender.transmit(self.now, &mut out);
        taken(&out)
    }

    /// Makes segments up to this number available to the sender.
    pub fn write(&mut self, segments: Seg) -> Sent {
        self.sender.limit(segments);
        self.send()
    }

    pub fn told(&mut self, blocks: AckBlocks) -> Sent {
        self.sender.on_ack(self.now, &Ack { blocks: &blocks, telemetry: None });
        self.send()
    }

    pub fn sacks(&mut self, ack: Seg, given: &[(Seg, Seg)]) -> Sent {
        let mut sacks = [(0, 0); 4];
        sacks[..given.len()].copy_from_slice(given);
        self.told(AckBlocks { ack, sacks, count: given.len() as u8, covered: 1, ..AckBlocks::default() })
    }

    pub fn ack(&mut self, ack: Seg) -> Sent {
        self.sacks(ack, &[])
    }

    /// Reports a duplicate.
    pub fn dsack(&mut self, ack: Seg, seg: Seg) -> Sent {
        self.told(AckBlocks { ack, dsack: Some((seg, seg + 1)), covered: 1, ..AckBlocks::default() })
    }

    /// Waits for the next timer; returns the waiting time and the segments sent.
    pub fn wait(&mut self) -> (Nanos, Sent) {
        let at = self.sender.next_timer();
        let waited = at - self.now;
        self.now = at;
        let mut out = vec![];
        self.sender.on_timer(at, &mut out);
        self.sender.transmit(at, &mut out);
        (waited, taken(&out))
    }

    pub fn cwnd(&self) -> u64 {
        self.sender.window().cwnd / MSS
    }

    pub fn ssthresh(&self) -> u64 {
        self.sender.window().ssthresh / MSS
    }

    pub fn state(&self) -> CaState {
        self.sender.ca_state()
    }
}
