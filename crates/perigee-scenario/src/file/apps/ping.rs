// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `app = "ping"`.

use crate::file::apps::Spec;
use crate::file::error::Problem;
use crate::file::rows::SOME_TIME;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use perigee_timeline::App;
use perigee_units::Nanos;

parameters! {
    /// `app = "ping"`.
    Ping = "ping", "Small UDP packets that the receiver echoes, to measure the RTT of the path with negligible load.";
    interval: Nanos = key(SOME_TIME, "100 ms", "interval between pings");
    size: u32 = key(Notation::Int(28, 1500), "64", "size of the IP packet in bytes, in both directions");
}

impl Ping {
    pub(super) fn spec(self, _: &mut Vec<Problem>) -> Spec {
        App::Ping { interval: self.interval, size: self.size }.into()
    }
}
