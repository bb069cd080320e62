// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Warnings about the numbers of a run.

use perigee_cc::{info, start_info, Caps, CongestionControl, ConnInit, TelemetryNeed};
use perigee_record::RunOutcome;
use perigee_scenario::{PortReport, World};
use perigee_sim::FlowSetup;
use perigee_units::Nanos;
use std::collections::BTreeSet;

/// Number of warnings of one kind that are listed; the others are counted.
const LISTED: usize = 3;
/// A queue with less room than this, in full packets, drops whenever two packets meet.
const TINY_QUEUE_BYTES: u64 = 2 * 1500;

/// Warnings about a finished run.
pub fn after(world: &World, cc: &str, setups: &[FlowSetup], outcome: &RunOutcome) -> Vec<String> {
    let mut out = world.warnings.clone();
    out.extend(outcome.remarks.iter().cloned());
    if outcome.conserved == Some(false) {
        out.push("packets were not conserved: the simulator has a bug, do not use this run".into());
    }
    if outcome.stopped {
        let (end, whole) = (outcome.end, world.scenario.run.duration);
        let why = outcome.broken.as_ref().map_or(String::new(), |why| format!(": {why}"));
        out.push(format!("the run was stopped at {end} of {whole}{why}"));
    }
    tiny_queues(world, &mut out);
    unread_records(world, cc, setups, &mut out);
    let name = |i: usize| world.flows[i].name.as_str();
    let flows = || outcome.flows.iter().enumerate();
    let bulk = |i: &usize| setups[*i].app.is_tcp();
    let silent = flows().filter(|(i, t)| t.started.is_none() || (bulk(i) && t.goodput_bytes == 0));
    several(&mut out, silent.map(|(i, _)| format!("flow {:?} never delivered anything", name(i))));
    let gaps = flows().filter_map(|(i, t)| {
        let start = t.started?;
        let life = t.completed.unwrap_or(world.flows[i].stop).min(outcome.end).saturating_sub(start);
        let gap = life.saturating_sub(t.routed);
        (gap > Nanos::ZERO).then(|| {
            format!("flow {:?} had no path for {gap} of {life} ({} times)", name(i), t.unreachable.max(1))
        })
    });
    several(&mut out, gaps);
    let blind = flows().filter(|(i, t)| {
        bulk(i)
            && t.started.is_some()
            && t.goodput_bytes > 0
            && t.telemetry_acks == 0
            && wants_telemetry(&setups[*i])
    });
    several(
        &mut out,
        blind.map(|(i, _)| {
            let scheme = world.scheme_of(&world.flows[i], cc);
            format!("flow {:?} runs {scheme}, which needs telemetry, and got none: no port of its path is metered", name(i))
        }),
    );
    out.extend(kept_starts(world, cc));
    let blank = setups.iter().enumerate().filter(|(i, s)| bulk(i) && lacks_policy(s));
    several(
        &mut out,
        blank.map(|(i, _)| {
            let scheme = world.scheme_of(&world.flows[i], cc);
            format!(
                "flow {:?} runs {scheme} without a policy: its window stays as it begins; name one with [cc.{scheme}] weights = \"FILE\"",
                name(i)
            )
        }),
    );
    out
}

/// Whether a scheme that decides by a trained network has no such policy.
fn lacks_policy(setup: &FlowSetup) -> bool {
    let Some((info, params)) = setup.scheme.builtin() else { return false };
    info.files().iter().any(|f| !params.has_file(f.name)) && params.choice("trained") == "none"
}

/// Schemes that keep their own start because they cannot have that of the run.
fn kept_starts(world: &World, cc: &str) -> Vec<String> {
    let id = &world.scenario.run.slow_start;
    let Some(start) = start_info(id) else { return Vec::new() };
    let flows = world.flows.iter().filter(|flow| flow.has_start_of_run());
    let schemes: BTreeSet<&str> = flows.map(|flow| world.scheme_of(flow, cc)).collect();
    let unsuited = schemes.into_iter().filter(|cc| !info(cc).is_some_and(|scheme| start.suits(scheme)));
    unsuited.map(|cc| format!("{cc} keeps its own start: it cannot have run.slow_start = {id:?}")).collect()
}

fn tiny_queues(world: &World, out: &mut Vec<String>) {
    let tiny = world.ports.iter().filter(|p| {
        p.queue_packets.is_some_and(|n| n <= 1) || p.queue_bytes.is_some_and(|b| b < TINY_QUEUE_BYTES)
    });
    several(out, tiny.map(|p| format!("the queue of port {:?} holds a single packet", p.name)));
}

/// Ports with faults of telemetry, where the flows have telemetry of another form.
fn unread_records(world: &World, cc: &str, setups: &[FlowSetup], out: &mut Vec<String>) {
    let tcp = || setups.iter().enumerate().filter(|(_, s)| s.app.is_tcp());
    if tcp().any(|(_, s)| caps(s).reads_records()) {
        return;
    }
    let other = tcp().find(|(_, s)| caps(s).telemetry != TelemetryNeed::None);
    let Some((flow, _)) = other else { return };
    let scheme = world.scheme_of(&world.flows[flow], cc);
    let ports = world.ports.iter().filter(|p| p.telemetry_faults.is_some());
    let line = |p: &PortReport| {
        format!("telemetry_* of port {:?} has no effect: {scheme} reads no records of ports", p.name)
    };
    several(out, ports.map(line));
}

fn wants_telemetry(setup: &FlowSetup) -> bool {
    caps(setup).telemetry != TelemetryNeed::None
}

fn caps(setup: &FlowSetup) -> Caps {
    let init = ConnInit {
        now: Nanos::ZERO,
        mss: setup.tcp.mss,
        init_cwnd: u64::from(setup.tcp.mss) * u64::from(setup.tcp.init_cwnd),
        srtt: None,
        seed: 0,
        hz: setup.tcp.hz,
    };
    setup.scheme.build(&init).caps()
}

/// Lists the first ones and counts the rest.
fn several(out: &mut Vec<String>, remarks: impl Iterator<Item = String>) {
    let mut rest = 0;
    for (i, remark) in remarks.enumerate() {
        if i < LISTED {
            out.push(remark);
        } else {
            rest += 1;
        }
    }
    if rest > 0 {
        out.push(format!("… and {rest} more like this"));
    }
}
