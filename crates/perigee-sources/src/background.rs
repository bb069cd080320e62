// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fluid background traffic of ports, added to the chunks of any source as changes of the timeline.

use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// IP bytes of a packet of elastic flows.
const PACKET: u32 = 1500;

/// Selection of ports by an entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Ports {
    /// By name; `*` matches any text.
    Named(Vec<String>),
    /// By index in the header.
    Numbered(BTreeSet<u32>),
}

/// Amount of inelastic traffic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// A rate.
    Rate(BitRate),
    /// A fraction of the rate that the port has when it appears.
    Load(f64),
}

/// Traffic from an instant until the next step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Start of the step.
    pub at: Nanos,
    /// Inelastic traffic.
    pub amount: Amount,
    /// Number of elastic flows.
    pub flows: u32,
}

/// Name of the port, if the file has a column for it, and the steps in order of time.
pub type StepsOf = (Option<String>, Vec<Step>);

/// Background traffic of some ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Ports; each of them carries the full amount.
    pub on: Ports,
    /// Bytes of inelastic traffic that arrive at once.
    pub burst: u32,
    /// RTT of elastic flows, without the queueing delay of the port.
    pub rtt: Nanos,
    /// Maximum rate of an elastic flow; `None` = unlimited.
    pub most: Option<BitRate>,
    /// Number of RTTs in which an elastic flow recovers from a loss; `None` = as Cubic does.
    pub recovery: Option<f64>,
    /// Traffic, in order of time.
    pub steps: Vec<Step>,
}

impl Entry {
    fn is_on(&self, number: u32, name: &str) -> bool {
        match &self.on {
            Ports::Named(names) => names.iter().any(|pattern| matches(pattern, name)),
            Ports::Numbered(numbers) => numbers.contains(&number),
        }
    }

    fn step_at(&self, t: Nanos) -> Option<&Step> {
        self.steps[..self.steps.partition_point(|s| s.at <= t)].last()
    }
}

/// Whether a name matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    (0..=rest.len()).any(|i| rest.is_char_boundary(i) && matches(after, &rest[i..]))
}

/// A source with background traffic added to it.
pub struct Loaded<S> {
    inner: S,
    check: fn(&Port) -> Result<(), String>,
    entries: Vec<Entry>,
    /// Number of ports that have appeared.
    ports: u32,
    /// Indices of the entries, and initial rate, of each port with background traffic.
    of_port: BTreeMap<PortId, (Vec<usize>, BitRate)>,
    /// Ports that appeared with the current chunk.
    new: Vec<PortId>,
}

impl<S: ChunkSource> Loaded<S> {
    /// Adds the traffic of the entries to the chunks that follow a header. `check` rejects ports that
    /// cannot have background traffic, with a reason.
    ///
    /// # Errors
    /// If `check` rejects a selected port, or a port has elastic flows of two entries.
    pub fn new(
        inner: S,
        header: &Header,
        entries: Vec<Entry>,
        check: fn(&Port) -> Result<(), String>,
    ) -> Result<Self, String> {
        let mut loaded =
            Loaded { inner, check, entries, ports: 0, of_port: BTreeMap::new(), new: Vec::new() };
        loaded.add_ports(&header.ports)?;
        Ok(loaded)
    }

    /// Indices of the entries that have matched no port so far.
    pub fn unused(&self) -> Vec<usize> {
        let used: BTreeSet<usize> = self.of_port.values().flat_map(|(e, _)| e.iter().copied()).collect();
        (0..self.entries.len()).filter(|i| !used.contains(i)).collect()
    }

    fn add_ports(&mut self, ports: &[Port]) -> Result<(), String> {
        for port in ports {
            let (number, id) = (self.ports, PortId(self.ports));
            self.ports += 1;
            let entries: Vec<usize> =
                (0..self.entries.len()).filter(|&i| self.entries[i].is_on(number, &port.name)).collect();
            if entries.is_empty() {
                continue;
            }
            (self.check)(port)?;
            let elastic = |i: &&usize| self.entries[**i].steps.iter().any(|s| s.flows > 0);
            if entries.iter().filter(elastic).count() > 1 {
                return Err(format!("port {:?} has elastic flows (key flows) of two [[background]] entries; only one is possible", port.name));
            }
            self.of_port.insert(id, (entries, port.spec.rate));
            self.new.push(id);
        }
        Ok(())
    }

    /// Total traffic of a port with these entries at an instant; `rate` is the port's initial rate.
    fn traffic(&self, own: &[usize], rate: BitRate, t: Nanos) -> Background {
        let (mut inelastic, mut bursts, mut elastic) = (0.0, 0.0, None);
        for entry in own.iter().map(|&i| &self.entries[i]) {
            let Some(step) = entry.step_at(t) else { continue };
            let bps = match step.amount {
                Amount::Rate(rate) => rate.0 as f64,
                Amount::Load(share) => share * rate.0 as f64,
            };
            inelastic += bps;
            bursts += bps * f64::from(entry.burst);
            if step.flows > 0 {
                elastic = Some((entry, step.flows));
            }
        }
        let spare = (rate.0 as f64 - inelastic).max(0.0);
        let elastic = elastic.map(|(entry, flows)| {
            let demand = entry.most.map_or(f64::INFINITY, |most| most.0 as f64 * f64::from(flows));
            Elastic {
                flows,
                rtt: entry.rtt,
                start: BitRate(spare.min(demand) as u64),
                most: entry.most,
                recovery: entry.recovery,
                packet: PACKET,
            }
        });
        let burst = if inelastic > 0.0 { (bursts / inelastic).round() as u32 } else { 0 };
        Background { inelastic: BitRate(inelastic as u64), burst, elastic }
    }

    /// Changes of background traffic within a chunk.
    fn changes(&mut self, start: Nanos, end: Nanos) -> Vec<Timed> {
        let new: BTreeSet<PortId> = std::mem::take(&mut self.new).into_iter().collect();
        let mut out = Vec::new();
        for (port, (own, rate)) in &self.of_port {
            let steps = own.iter().flat_map(|&i| &self.entries[i].steps).map(|s| s.at);
            let mut times: BTreeSet<Nanos> = steps.filter(|t| (start..end).contains(t)).collect();
            let is_active = |i: &usize| self.entries[*i].step_at(start).is_some();
            if new.contains(port) && own.iter().any(is_active) {
                times.insert(start);
            }
            for at in times {
                let traffic = Arc::new(self.traffic(own, *rate, at));
                out.push(Timed { at, change: Change::Background(*port, traffic) });
            }
        }
        out
    }
}

impl<S: ChunkSource> ChunkSource for Loaded<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let Some(chunk) = self.inner.next_chunk()? else { return Ok(None) };
        self.add_ports(&chunk.ports)?;
        let more = self.changes(chunk.start, chunk.end);
        if more.is_empty() {
            return Ok(Some(chunk));
        }
        let mut chunk = Arc::unwrap_or_clone(chunk);
        chunk.changes.extend(more);
        // The sort is stable: changes of the source precede simultaneous ones added here.
        chunk.changes.sort_by_key(|c| c.at);
        Ok(Some(Arc::new(chunk)))
    }
}

/// Parses background traffic over time: CSV with the columns `t_s` (s), `rate_mbps` (Mbit/s) and
/// optionally `flows`, in order of time. With `port` as the first column, that of several ports.
///
/// # Errors
/// If the header is none of these, a line is invalid (with its number), or there are no rows.
pub fn read_steps(text: &str) -> Result<Vec<StepsOf>, String> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let (named, columns) = match lines.next().map(|(_, head)| head.trim()) {
        Some("t_s,rate_mbps") => (false, 2),
        Some("t_s,rate_mbps,flows") => (false, 3),
        Some("port,t_s,rate_mbps") => (true, 2),
        Some("port,t_s,rate_mbps,flows") => (true, 3),
        _ => {
            return Err(
                "the header must be t_s,rate_mbps, optionally with port, before and ,flows after it".into()
            )
        }
    };
    let mut found: BTreeMap<Option<String>, Vec<Step>> = BTreeMap::new();
    for (n, line) in lines {
        let wrong = |why: &str| format!("line {}: {why}: {line:?}", n + 1);
        let (port, rest) = match line.split_once(',') {
            Some((port, rest)) if named => (Some(unquoted(port.trim()).to_string()), rest),
            _ => (None, line),
        };
        let step = step(rest, columns).map_err(|why| wrong(&why))?;
        let steps = found.entry(port).or_default();
        if steps.last().is_some_and(|s| s.at >= step.at) {
            return Err(wrong("not later than the preceding line"));
        }
        steps.push(step);
    }
    match found.is_empty() {
        true => Err("the file has no rows".into()),
        false => Ok(found.into_iter().collect()),
    }
}

/// A name without the apostrophe that tables of Perigee have before what a spreadsheet would take for a
/// formula, as in `perigee_lab.common.quoting`.
fn unquoted(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.trim_start_matches('\'').starts_with(['=', '+', '-', '@']) => rest,
        _ => cell,
    }
}

fn step(cells: &str, columns: usize) -> Result<Step, String> {
    let cells: Vec<Option<f64>> = cells.split(',').map(|c| c.trim().parse().ok()).collect();
    let in_range = |c: &Option<f64>| c.is_some_and(|x| (0.0..=1e9).contains(&x));
    if cells.len() != columns || !cells.iter().all(in_range) {
        return Err(format!("expected {columns} numbers from 0 to 1e9"));
    }
    let value = |i: usize| cells.get(i).copied().flatten().unwrap_or(0.0);
    let rate = BitRate((value(1) * 1e6).round() as u64);
    Ok(Step {
        at: Nanos::from_secs_f64(value(0)),
        amount: Amount::Rate(rate),
        flows: value(2).round() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ports_are_those_before_they_were_quoted() {
        let text = "port,t_s,rate_mbps\n'=1+1->a,0,1\n''-b,0,1\n'c',0,1\n=d,0,1\n";
        let found: Vec<_> = read_steps(text).unwrap().into_iter().map(|(port, _)| port.unwrap()).collect();
        assert_eq!(found, ["'-b", "'c'", "=1+1->a", "=d"]);
    }

    fn entry(on: &str, steps: &str) -> Vec<Entry> {
        let of = |(port, steps): StepsOf| Entry {
            on: Ports::Named(vec![port.unwrap_or(on.into())]),
            burst: 1500,
            rtt: Nanos::from_millis(50),
            most: None,
            recovery: None,
            steps,
        };
        read_steps(steps).unwrap().into_iter().map(of).collect()
    }

    fn changes(entries: Vec<Entry>) -> Result<Vec<(u64, u32, u64, u32)>, String> {
        let port = |name: &str| Port { name: name.into(), node: NodeId(0), spec: PortSpec::default() };
        let header = Header { ports: vec![port("a"), port("b")], ..Header::default() };
        let second = |n| Nanos::from_secs(n);
        let chunks = [(0, vec![]), (10, vec![port("b2")]), (20, vec![])].map(|(start, ports)| {
            let (start, end) = (second(start), second(start + 10));
            Arc::new(Chunk { start, end, ports, ..Chunk::default() })
        });
        let timeline = Timeline { header: header.clone(), chunks: chunks.to_vec() };
        let mut loaded = Loaded::new(timeline.reader(), &header, entries, |_| Ok(()))?;
        let mut found = Vec::new();
        while let Some(chunk) = loaded.next_chunk()? {
            for c in &chunk.changes {
                let Change::Background(port, b) = &c.change else { panic!("another change") };
                let flows = b.elastic.as_ref().map_or(0, |e| e.flows);
                found.push((c.at.0 / 1_000_000_000, port.0, b.inelastic.0 / 1_000_000, flows));
            }
        }
        Ok(found)
    }

    #[test]
    fn rows_hold_until_the_next_and_from_the_start_of_later_ports() {
        let found = changes(entry("b*", "t_s,rate_mbps,flows\n2,10,0\n5,20,7\n25,0,0\n")).unwrap();
        let b = [(2, 1, 10, 0), (5, 1, 20, 7), (25, 1, 0, 0)];
        let b2 = [(10, 2, 20, 7), (25, 2, 0, 0)];
        let mut all = [&b[..], &b2[..]].concat();
        all.sort_unstable();
        assert_eq!(found, all);
    }

    #[test]
    fn entries_on_one_port_add_up() {
        let two = [
            entry("a", "t_s,rate_mbps\n0,10\n"),
            entry("", "port,t_s,rate_mbps,flows\nb,0,1,0\na,1,5,3\nc,0,9,9\n"),
        ];
        assert_eq!(changes(two.concat()).unwrap(), [(0, 0, 10, 0), (0, 1, 1, 0), (1, 0, 15, 3)]);
        let elastic = entry("a", "t_s,rate_mbps,flows\n0,10,1\n");
        assert!(changes([elastic.clone(), elastic].concat())
            .unwrap_err()
            .contains("two [[background]] entries"));
    }

    #[test]
    fn damaged_files_are_rejected_with_the_line() {
        for (text, why) in [
            ("t,rate\n", "header must be"),
            ("t_s,rate_mbps\n", "no rows"),
            ("t_s,rate_mbps\n0,-1\n", "line 2"),
            ("t_s,rate_mbps\n0,1\n0,2\n", "line 3: not later"),
            ("port,t_s,rate_mbps,flows\na,0,1\n", "3 numbers"),
        ] {
            let found = read_steps(text).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
    }
}
