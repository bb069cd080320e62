// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion control with decisions from outside the simulation: by a learner or a program under
//! test. Between two decisions the window stays constant, regardless of loss.

use crate::setup::Scheme;
use perigee_cc::{AckEvent, Caps, CongestionControl, Cx, OnRto, Signal, Window};
use std::sync::Arc;

/// The controller of a flow that [`Simulation::control`](crate::Simulation::control) steers.
#[derive(Clone, Copy, Debug, Default)]
pub struct External;

impl External {
    /// The same, as a flow's scheme.
    pub fn scheme() -> Scheme {
        Scheme::Custom(Arc::new(|_| Box::new(External)))
    }
}

impl CongestionControl for External {
    fn caps(&self) -> Caps {
        Caps { on_rto: OnRto::Keep, pacing: perigee_cc::Pacing::HostDefault, ..Caps::MODEL }
    }

    fn on_ack(&mut self, _cx: &Cx, _w: &mut Window, _ev: &AckEvent<'_>) {}

    fn ssthresh(&mut self, _cx: &Cx, w: &Window) -> u64 {
        w.cwnd
    }

    fn on_signal(&mut self, _cx: &Cx, w: &mut Window, s: &Signal<'_>) {
        if let Signal::Decision { cwnd, pacing } = *s {
            (w.cwnd, w.pacing) = (cwnd, pacing);
        }
    }

    fn mode(&self, _w: &Window) -> &'static str {
        "external"
    }
}
