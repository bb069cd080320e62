// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table `windows`: payload of each flow in its goodput window, and the capacity of the network in
//! that window.

use crate::capacity::{Capacity, Carried, Steps};
use perigee_record::tables::{WindowRow, WindowTable};
use perigee_record::{RunOutcome, Table};
use perigee_sim::SimEvent;
use perigee_timeline::{App, Workload};
use perigee_units::Nanos;

/// Goodput windows of the flows of a run.
pub struct Windows {
    capacity: Capacity,
    /// Payload that each flow had delivered at its stop, if that was before the end.
    delivered_at_stop: Vec<Option<u64>>,
    datagrams: Vec<Datagrams>,
    classes: Vec<&'static str>,
}

impl Windows {
    /// Windows for the flows of a workload. Goodput counts from the sample that represents the end
    /// of the warm-up: the latest one not after it.
    pub fn new(workload: &Workload, warmup: Nanos, sample: Nanos, duration: Nanos, steps: Steps) -> Self {
        let begin = Nanos(warmup.0 - warmup.0 % sample.0.max(1));
        let flows = workload.flows.len();
        Windows {
            capacity: Capacity::new(&workload.flows, begin, duration, steps),
            delivered_at_stop: vec![None; flows],
            datagrams: vec![Datagrams::default(); flows],
            classes: workload.flows.iter().map(|f| class(&f.app)).collect(),
        }
    }

    /// Handles an event of a flow.
    pub fn event(&mut self, at: Nanos, e: &SimEvent<'_>) {
        match *e {
            SimEvent::FlowStart(flow) => self.capacity.start(at, flow),
            SimEvent::FlowComplete(flow) => self.capacity.complete(at, flow),
            SimEvent::Idle(flow) => self.capacity.silence(at, flow, true),
            SimEvent::Busy(flow) => self.capacity.silence(at, flow, false),
            SimEvent::FlowStop { flow, delivered_bytes } if at >= self.capacity.stop_of(flow) => {
                self.delivered_at_stop[flow as usize] = Some(delivered_bytes);
            }
            _ => {}
        }
    }

    /// Handles the arrival of a datagram.
    pub fn datagram(&mut self, flow: u32, delay: Nanos) {
        self.datagrams[flow as usize].push(delay);
    }

    /// Handles a sampling instant, which limits memory.
    pub fn sampled(&mut self, at: Nanos) {
        self.capacity.advance(at);
    }

    /// Table with a row per flow, and one for all flows together; a warning if these delivered more
    /// than the network carried in the window. `before`: payload that each had delivered at the
    /// start of the window.
    pub fn table(self, outcome: &RunOutcome, before: &[u64]) -> (Table, Option<String>) {
        let mut table = WindowTable::default();
        let counts: Vec<bool> = (0..before.len() as u32).map(|f| self.capacity.counts(f)).collect();
        let (each, all) = self.capacity.finish(outcome.end);
        let mut together = 0;
        for (i, t) in outcome.flows.iter().enumerate() {
            let payload = self.delivered_at_stop[i].unwrap_or(t.goodput_bytes).saturating_sub(before[i]);
            together += if counts[i] { payload } else { 0 };
            let datagrams = Some(self.datagrams[i]).filter(|_| [CBR, VOICE].contains(&self.classes[i]));
            table.push(row(Some(i as u32), self.classes[i], payload, each[i], datagrams));
        }
        table.push(row(None, "", together, all, None));
        (table.finish(), backlog(together, all))
    }
}

/// Warning about goodput beyond the capacity of the ports: in its window the application received
/// data that had been sent before.
fn backlog(payload_bytes: u64, carried: Carried) -> Option<String> {
    let bits = 8.0 * payload_bytes as f64;
    (carried.bits > 0.0 && bits > carried.bits).then(|| {
        let mbps = |bits: f64| bits / carried.there.as_secs_f64() / 1e6;
        format!(
            "goodput of {:.2} Mbit/s in a window in which the path carried at most {:.2}: it includes data that was queued, or \
             waited for a lost packet, before the window; lengthen the window or end the warm-up earlier",
            mbps(bits),
            mbps(carried.bits)
        )
    })
}

const CBR: &str = "cbr";
const VOICE: &str = "voice";

/// Class of an application, as named in the record.
fn class(app: &App) -> &'static str {
    match app {
        App::Bulk { bytes: None } => "bulk",
        App::Bulk { bytes: Some(_) } => "transfer",
        App::OnOff { .. } => "on-off",
        App::Request { .. } => "request",
        App::Web(_) => "web",
        App::Video(_) => "video",
        App::Voice(_) => VOICE,
        App::Cbr { .. } => CBR,
        App::Ping { .. } => "ping",
        App::Programs => "programs",
    }
}

fn row(
    flow: Option<u32>,
    class: &'static str,
    payload_bytes: u64,
    carried: Carried,
    d: Option<Datagrams>,
) -> WindowRow {
    WindowRow {
        flow,
        class,
        payload_bytes,
        there_ns: carried.there.0,
        open_ns: Some(carried.open.0),
        capacity_bits: Some(carried.bits),
        datagrams: d.map(|d| d.arrived),
        delay_sum_ns: d.map(|d| d.delay_sum.0),
        delay_max_ns: d.filter(|d| d.arrived > 0).map(|d| d.delay_max.0),
        jitter_sum_ns: d.map(|d| d.jitter_sum.0),
    }
}

/// Delays of a flow's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Datagrams {
    arrived: u64,
    /// Sum and maximum of their one-way delays.
    delay_sum: Nanos,
    delay_max: Nanos,
    /// Sum of |D| of RFC 3550 section 6.4.1: differences between the delays of successive arrivals.
    jitter_sum: Nanos,
    last: Option<Nanos>,
}

impl Datagrams {
    fn push(&mut self, delay: Nanos) {
        self.arrived += 1;
        self.delay_sum += delay;
        self.delay_max = self.delay_max.max(delay);
        if let Some(last) = self.last.replace(delay) {
            self.jitter_sum += Nanos(delay.0.abs_diff(last.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_and_their_differences_are_summed() {
        let mut d = Datagrams::default();
        [20, 26, 23].map(Nanos::from_millis).into_iter().for_each(|delay| d.push(delay));
        let ms = Nanos::from_millis;
        assert_eq!((d.arrived, d.delay_sum, d.delay_max, d.jitter_sum), (3, ms(69), ms(26), ms(6 + 3)));
    }

    #[test]
    fn goodput_beyond_what_was_carried_is_remarked() {
        let carried = |bits: f64| Carried { there: Nanos::from_secs(2), open: Nanos::from_secs(2), bits };
        assert_eq!(backlog(25_000_000, carried(200e6)), None);
        let remark = backlog(26_475_000, carried(192.2e6)).expect("a remark");
        assert!(
            remark
                .starts_with("goodput of 105.90 Mbit/s in a window in which the path carried at most 96.10"),
            "{remark}"
        );
        assert_eq!(backlog(1, carried(0.0)), None, "a source that does not know capacities");
    }
}
