// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Captures of flows with traces of IOAM: a trace is one option of at most 255 bytes.

use crate::run::RunError;
use perigee_scenario::cc::{self, CongestionControl, ConnInit};
use perigee_scenario::units::Nanos;
use perigee_telemetry::ioam;
use perigee_timeline::{Flow, Workload};

/// Rejects captures of flows that reserve room for more ports than an option holds: their
/// packets would be shorter than those that were simulated.
///
/// # Errors
/// The first such flow, with the number of ports that fit.
pub(crate) fn check(workload: &Workload, ports: usize) -> Result<(), RunError> {
    let Some((flow, word, most)) = workload.flows.iter().find_map(|f| too_long(f, ports)) else {
        return Ok(());
    };
    Err(RunError::Failed(format!(
        "flow {:?} cannot be captured: with carrier = {word:?} its packets have room for {ports} ports, and an option of \
         IPv6 with a trace of IOAM (RFC 9197) holds {most} in its 255 bytes; set telemetry.max_hops = {most}, \
         telemetry.overhead = \"none\", or leave out --pcap",
        flow.name
    )))
}

/// A flow with a longer trace, its carrier, and the number of ports that fit.
fn too_long(flow: &Flow, ports: usize) -> Option<(&Flow, String, usize)> {
    let info = cc::info(&flow.cc).filter(|info| info.is_whole())?;
    let params = info.params(flow.cc_params.clone()).ok()?;
    let init = ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 0, hz: 1000 };
    let caps = info.build(&params, &init).caps();
    let most = ioam::most_ports(caps.carrier).filter(|most| caps.telemetry_on_wire && ports > *most)?;
    Some((flow, params.choice("carrier"), most))
}
