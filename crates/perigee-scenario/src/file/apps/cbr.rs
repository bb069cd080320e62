// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "cbr"`: a constant bit rate.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::App;
use perigee_units::{BitRate, Nanos};

/// Minimum interval between packets: 1.2 Tbit/s in packets of 1500 bytes.
const SHORTEST_GAP: Nanos = Nanos(10);

parameters! {
    /// `app = "cbr"`.
    Cbr = "cbr", "UDP packets at a constant rate, without replies.";
    rate: BitRate = required(Notation::Rate, "rate of the IP packets");
    size: u32 = key(Notation::Int(28, 1500), "1500", "size of the IP packets in bytes");
}

impl Cbr {
    pub(super) fn spec(self, problems: &mut Vec<Problem>) -> Spec {
        let interval = self.rate.time_for(u64::from(self.size));
        if interval < SHORTEST_GAP {
            let why = format!("packets of {} bytes would be sent every {interval}", self.size);
            problems.push(self.written.problem("rate", why).hint("reduce the rate, or send larger packets"));
        }
        App::Cbr { interval: interval.max(SHORTEST_GAP), size: self.size }.into()
    }
}
