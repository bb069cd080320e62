// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Conversion of a workload's flows to the form of the simulator.

use crate::BackendError;
use perigee_cc::start::memory::Memory;
use perigee_cc::{start_info, Params, Start};
use perigee_sim::{CustomScheme, FlowSetup, Scheme};
use perigee_timeline::{Flow, Header, PairId, Workload};
use std::collections::BTreeMap;

/// Additional congestion controls, by their names in workloads.
pub type Plugins = BTreeMap<String, CustomScheme>;

/// Flows in the form of the simulator; `plugins`: schemes that are not built in.
///
/// # Errors
/// Unknown schemes, or parameters and options that contradict each other.
pub fn flow_setups(
    header: &Header,
    workload: &Workload,
    plugins: &Plugins,
) -> Result<Vec<FlowSetup>, BackendError> {
    let mut setups: Vec<FlowSetup> = Vec::with_capacity(workload.flows.len());
    let mut memories = Memories::new();
    for (i, flow) in workload.flows.iter().enumerate() {
        // With thousands of flows, most are like the previous one.
        let before = i.checked_sub(1).map(|b| (&workload.flows[b], &setups[b]));
        let alike = before.filter(|(other, _)| same_transport(other, flow));
        let (tcp, scheme) = match alike {
            Some((_, setup)) => (setup.tcp.clone(), setup.scheme.clone()),
            None => {
                let wrong = |why: String| BackendError::Unsupported { flow: flow.name.clone(), why };
                let params = Params::new(perigee_tcp::OPTIONS, flow.tcp.clone());
                let tcp = perigee_tcp::Config::new(&params.map_err(|e| wrong(e.to_string()))?);
                (tcp, scheme(flow, plugins, &mut memories).map_err(wrong)?)
            }
        };
        // A proxy continues to forward its buffered data after the application has stopped.
        let carries_on = flow.leg.is_some_and(|l| l.before.is_some());
        setups.push(FlowSetup {
            name: flow.name.clone(),
            forward: flow.forward,
            reverse: flow.reverse,
            start: flow.start,
            stop: if carries_on { header.duration } else { flow.stop },
            app: flow.app,
            scheme,
            tcp: perigee_tcp::Config { buffer: flow.buffer_bytes, ..tcp },
            notices: flow.notices.clone(),
            leg: flow.leg,
            outside: Default::default(),
        });
    }
    Ok(setups)
}

/// What flows remember of their paths, by the pair of the data.
type Memories = BTreeMap<PairId, Memory>;

fn scheme(flow: &Flow, plugins: &Plugins, memories: &mut Memories) -> Result<Scheme, String> {
    // UDP needs no scheme; any will do as a placeholder.
    let id = if flow.app.is_tcp() { flow.cc.as_str() } else { "newreno" };
    if let Some(plugin) = plugins.get(id) {
        return Ok(Scheme::Custom(plugin.clone()));
    }
    let info = perigee_cc::info(id).ok_or_else(|| format!("no congestion control {id:?}"))?;
    let mut params = info.params(flow.cc_params.clone()).map_err(|e| e.to_string())?;
    for (name, text) in &flow.cc_files {
        params.attach(info.files(), name, text).map_err(|e| e.reason)?;
    }
    let Some(given) = flow.slow_start.as_ref().filter(|_| flow.app.is_tcp()) else {
        return Ok(Scheme::Builtin(info, params));
    };
    let start = start_info(&given.id).ok_or_else(|| format!("no slow start {:?}", given.id))?;
    let of_start = start.params(given.params.clone())?;
    let shares = Start::remembers(start, &of_start);
    let memory = shares.then(|| memories.entry(flow.forward).or_default().clone());
    Ok(Scheme::Started(info, params, Start::new(start, of_start, memory)))
}

/// Whether two flows have the same transport options and the same congestion control.
fn same_transport(a: &Flow, b: &Flow) -> bool {
    // Flows of another path have another memory.
    let path = |f: &Flow| f.slow_start.as_ref().map(|_| f.forward);
    (a.app.is_tcp(), &a.cc, &a.tcp, &a.cc_params, &a.cc_files, &a.slow_start, path(a))
        == (b.app.is_tcp(), &b.cc, &b.tcp, &b.cc_params, &b.cc_files, &b.slow_start, path(b))
}
