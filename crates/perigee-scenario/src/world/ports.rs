// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rates, queues and framing of ports: defaults of their class, `[port.all]`, `[port.CLASS]`,
//! `[port.NAME]`; and the number of bytes in a `bdp`.

use super::beam::CarrierReport;
use super::dama::{self, DamaKeys, DamaReport};
use crate::file::disciplines::{not_its_own, Chosen};
use crate::file::error::{Problem, ScenarioError};
use crate::file::port as file;
use crate::file::suggestions;
use crate::file::unused_telemetry::OF_RECORDS;
use perigee_queue::Setup;
use perigee_timeline::{
    transmission, Discipline, Header, LinkId, Port, PortSpec, Queue, QueueLimit, TelemetryFaults,
};
use perigee_units::{BitRate, Nanos, Size};
use serde::Serialize;
use std::sync::Arc;

/// The smallest queue to which `bdp` resolves: one full packet with its framing.
const FULL_PACKET: u64 = 1500;

/// Settings of a port, complete except for the RTT of `bdp`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Rate of the transmitter.
    pub rate: BitRate,
    queue: Size,
    bdp_rate: Option<BitRate>,
    bdp_rtt: Option<Nanos>,
    /// Bytes added to each packet.
    pub framing: u32,
    /// Depth of the token bucket in bytes; 0 = none.
    burst: u64,
    dama: DamaKeys,
    discipline: Chosen,
    count_in_service: bool,
    probe_priority: bool,
    metered: bool,
    integer_meter: bool,
    telemetry_faults: TelemetryFaults,
    /// Loss probability on each of its links; `None` = that of the source.
    pub loss: Option<f64>,
}

fn defaults(class: &str) -> Settled {
    let base = Settled {
        rate: BitRate::from_mbit(100),
        queue: Size::Bdp(1.0),
        bdp_rate: None,
        bdp_rtt: None,
        framing: 0,
        burst: 0,
        dama: DamaKeys::default(),
        discipline: Chosen::default(),
        count_in_service: false,
        probe_priority: false,
        metered: true,
        integer_meter: false,
        telemetry_faults: TelemetryFaults::default(),
        loss: None,
    };
    let fast = Settled { rate: BitRate::from_mbit(10_000), ..base.clone() };
    match class {
        "access" => Settled { queue: Size::Packets(100_000), metered: false, ..fast },
        "isl" => fast,
        _ => base,
    }
}

impl Settled {
    /// Overrides the settings with the keys of `[port.NAME]`.
    fn apply(&mut self, port: &file::Port) {
        self.discipline.add(&port.discipline);
        self.rate = port.rate.unwrap_or(self.rate);
        self.queue = port.queue.unwrap_or(self.queue);
        self.framing = port.framing.unwrap_or(self.framing);
        self.burst = port.burst.map_or(self.burst, |b| b.0);
        self.dama.apply(port);
        self.count_in_service = port.count_in_service.unwrap_or(self.count_in_service);
        self.probe_priority = port.probe_priority.unwrap_or(self.probe_priority);
        self.metered = port.metered.unwrap_or(self.metered);
        self.integer_meter = port.meter.as_ref().map_or(self.integer_meter, |w| w == "integer");
        let faults = &mut self.telemetry_faults;
        faults.delay = port.telemetry_delay.unwrap_or(faults.delay);
        faults.error = port.telemetry_error.unwrap_or(faults.error);
        faults.clock_ppm = port.telemetry_clock_ppm.unwrap_or(faults.clock_ppm);
        faults.stale = port.telemetry_stale.unwrap_or(faults.stale);
        faults.flow_count_error = port.telemetry_flow_count_error.unwrap_or(faults.flow_count_error);
        faults.flow_table = port.telemetry_flow_table.unwrap_or(faults.flow_table);
        self.bdp_rate = port.bdp_rate.or(self.bdp_rate);
        self.bdp_rtt = port.bdp_rtt.or(self.bdp_rtt);
        self.loss = port.loss.or(self.loss);
    }

    /// Keys of demand assignment.
    pub(crate) fn dama(&self) -> DamaKeys {
        self.dama
    }

    /// Transmission time of a lone packet of `ip_bytes`.
    pub fn transmission(&self, ip_bytes: u64) -> Nanos {
        transmission(self.rate, self.burst, ip_bytes + u64::from(self.framing))
    }

    /// Specification of the port; `rtt`: the largest base RTT of its flows at time zero.
    pub fn spec(&self, rtt: Nanos) -> PortSpec {
        let limit = match self.queue {
            Size::Packets(n) => QueueLimit::Packets(n),
            Size::Bytes(b) => QueueLimit::Bytes(b),
            Size::Bdp(x) => {
                let bdp = self.bdp_rate.unwrap_or(self.rate).bytes_in(self.bdp_rtt.unwrap_or(rtt));
                let bytes = (x * bdp as f64 + 0.5) as u64;
                QueueLimit::Bytes(bytes.max(FULL_PACKET + u64::from(self.framing)))
            }
        };
        let queue = Queue {
            limit,
            discipline: self.discipline.resolve(&setup(limit, self.framing)),
            count_in_service: self.count_in_service,
            probe_priority: self.probe_priority,
            // Without a meter its options have no effect.
            integer_meter: self.metered && self.integer_meter,
        };
        let Settled { rate, framing, burst, metered, .. } = *self;
        let dama = self.dama.resolved().map(Box::new);
        let telemetry_faults = self.telemetry_faults.any().filter(|_| metered).map(Box::new);
        PortSpec { rate, queue, framing, burst, dama, carrier: None, metered, telemetry_faults }
    }
}

/// Setup of a discipline for a queue of this size.
fn setup(limit: QueueLimit, framing: u32) -> Setup {
    match limit {
        QueueLimit::Bytes(n) => Setup::bytes(n),
        QueueLimit::Packets(n) => Setup::packets(n, framing),
    }
}

/// Tables that apply to a class, the most general first.
fn layers(class: &str) -> Vec<&str> {
    match class {
        // Settings of the data direction also apply to the return path, unless it has its own.
        "reverse" => vec!["all", "bottleneck", "reverse"],
        "dish" | "host" => vec!["all", "hop", class],
        _ => vec!["all", class],
    }
}

/// All `[port.NAME]` tables of a scenario.
#[derive(Clone, Debug)]
pub struct PortTable<'a> {
    settings: &'a [(String, file::Port)],
}

/// A port or a class of ports, as reported in the manifest.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PortReport {
    pub name: String,
    pub class: &'static str,
    pub rate_bps: u64,
    pub queue_bytes: Option<u64>,
    pub queue_packets: Option<u64>,
    pub framing_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dama: Option<DamaReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<CarrierReport>,
    pub metered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry_faults: Option<TelemetryFaultsReport>,
    pub discipline: Arc<Discipline>,
}

/// Faults of the telemetry of a port, as reported in the manifest.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct TelemetryFaultsReport {
    pub delay_ns: u64,
    pub error: f64,
    pub clock_ppm: f64,
    pub stale_ns: u64,
    pub flow_count_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_table: Option<u32>,
}

impl From<&TelemetryFaults> for TelemetryFaultsReport {
    fn from(f: &TelemetryFaults) -> Self {
        TelemetryFaultsReport {
            delay_ns: f.delay.0,
            error: f.error,
            clock_ppm: f.clock_ppm,
            stale_ns: f.stale.0,
            flow_count_error: f.flow_count_error,
            flow_table: (f.flow_table > 0).then_some(f.flow_table),
        }
    }
}

/// Sizes of a full data packet and of a plain ACK, for base RTTs at time zero.
const PACKET_BYTES: [u64; 2] = [FULL_PACKET, 52];

impl<'a> PortTable<'a> {
    /// Checks the names against the source's classes and the ports known at the start.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn new(
        settings: &'a [(String, file::Port)],
        classes: &[&str],
        ports: &[Port],
    ) -> Result<Self, ScenarioError> {
        let mut problems = Vec::new();
        for (name, section) in settings {
            let name = name.as_str();
            if name == "all" || classes.contains(&name) || ports.iter().any(|p| p.name == name) {
                continue;
            }
            let mut p = Problem::new(format!("port.{name}"), "no such port or class of ports");
            p = p.at(section.place());
            p.allowed = Some(known_names(classes, ports));
            p.hint = suggestions::hint(name, classes.iter().copied());
            problems.push(p);
        }
        let table = PortTable { settings };
        problems.extend(table.without_effect(classes));
        match problems.is_empty() {
            true => Ok(table),
            false => Err(ScenarioError(problems)),
        }
    }

    /// Parameters of disciplines, and orders of service, that no port uses. Keys of a table with
    /// its own `discipline` are checked with the grammar, keys that rely on another table's
    /// discipline here.
    fn without_effect(&self, classes: &[&str]) -> Vec<Problem> {
        let mut problems = Vec::new();
        // Every port named by a table, as a port of any class, since its class is not known here.
        let is_port = |name: &&str| *name != "all" && !classes.contains(name);
        let names = || self.settings.iter().map(|(name, _)| name.as_str()).filter(is_port).chain([""]);
        let ports: Vec<(&str, &str)> = classes.iter().flat_map(|c| names().map(|n| (*c, n))).collect();
        for (own, section) in self.settings {
            if section.burst.is_some() && section.count_in_service.is_some() {
                let why = "no effect: a packet that waits for tokens always counts";
                let p = Problem::new(format!("port.{own}.count_in_service"), why).at(section.place());
                problems.push(p.hint("remove it, or remove burst"));
            }
            let concerned =
                || ports.iter().filter(|(class, name)| layers(class).contains(&own.as_str()) || *name == own);
            // Rows of a network, or a trace, may specify a different rate than the tables of all
            // ports.
            let as_own = |n: &str| n == own || (n != "all" && layers(own).contains(&n));
            let says_rate = |(n, c): &(String, file::Port)| c.rate.is_some() && as_own(n);
            let said = !classes.contains(&"link") && self.settings.iter().any(says_rate);
            problems.extend(dama::problems(own, section, concerned().map(|(c, n)| self.settled(c, n)), said));
            let of_meters: Vec<&str> =
                ["meter"].into_iter().chain(OF_RECORDS).filter(|k| section.written.has(k)).collect();
            if !of_meters.is_empty() && concerned().all(|(class, name)| !self.settled(class, name).metered) {
                let why = "no effect: no port of this table is metered";
                problems.extend(of_meters.into_iter().map(|key| {
                    let p = Problem::new(format!("port.{own}.{key}"), why).at(section.place());
                    p.hint("remove it, or set metered = true")
                }));
            }
            let counts = |(class, name): &(&str, &str)| !self.settled(class, name).integer_meter;
            if section.written.has("telemetry_flow_table") && !concerned().any(counts) {
                let why = "no effect: an integer meter counts flows in a bitmap";
                let p = Problem::new(format!("port.{own}.telemetry_flow_table"), why).at(section.place());
                problems.push(p.hint("remove it, or set meter = \"reference\""));
            }
            let (params, probe_priority) = (&section.discipline.params, section.probe_priority == Some(true));
            if params.is_empty() && !probe_priority {
                continue;
            }
            let disciplines = || concerned().map(|(class, name)| self.settled(class, name).discipline.info());
            let Some(first) = disciplines().next() else { continue };
            for (key, (_, place)) in params {
                if disciplines().all(|d| d.parameter(key).is_none()) {
                    problems.push(not_its_own(&format!("port.{own}.{key}"), key, first).at(place));
                }
            }
            if probe_priority && disciplines().all(|d| d.has_own_queues()) {
                let why = format!("no effect: {} has its own order of service", first.id);
                let p = Problem::new(format!("port.{own}.probe_priority"), why).at(section.place());
                problems.push(p.hint("remove it, or use a discipline with one queue"));
            }
        }
        problems
    }

    /// The tables, without a check of names.
    pub(crate) fn unchecked(settings: &'a [(String, file::Port)]) -> Self {
        PortTable { settings }
    }

    /// The tables.
    pub(crate) fn all(&self) -> &'a [(String, file::Port)] {
        self.settings
    }

    /// Problems of the tables' contents, names excluded.
    pub(crate) fn problems(&self, classes: &[&str]) -> Vec<Problem> {
        self.without_effect(classes)
    }

    /// Settings of a port of `class` from the tables with these names, the most general first.
    pub(crate) fn layered(&self, class: &str, names: &[&str]) -> Settled {
        let mut s = defaults(class);
        for name in names {
            self.settings.iter().filter(|(n, _)| n == name).for_each(|(_, section)| s.apply(section));
        }
        s
    }

    /// Rejects random loss of ports if the source determines the loss.
    ///
    /// # Errors
    /// If a port has a loss.
    pub(crate) fn refuse_loss(&self, why: &str) -> Result<(), ScenarioError> {
        match self.settings.iter().find(|(_, s)| s.loss.is_some()) {
            Some((name, s)) => Err(Problem::new(format!("port.{name}.loss"), why).at(s.place()).into()),
            None => Ok(()),
        }
    }

    /// Whether any table is for this class.
    pub fn names(&self, class: &str) -> bool {
        self.settings.iter().any(|(name, _)| name == class)
    }

    /// Settings of a port of `class`.
    pub fn settled(&self, class: &str, name: &str) -> Settled {
        let mut s = defaults(class);
        for layer in layers(class).iter().chain(std::iter::once(&name)) {
            self.settings.iter().filter(|(n, _)| n == *layer).for_each(|(_, section)| s.apply(section));
        }
        s
    }

    /// Sets all ports of a complete header; `ways`: links of each pair, forward and back. Returns
    /// the base RTT of each pair at time zero.
    pub fn apply_to(
        &self,
        header: &mut Header,
        classes: &[&'static str],
        ways: &[[Vec<LinkId>; 2]],
    ) -> Vec<Nanos> {
        let settled: Vec<Settled> =
            header.ports.iter().zip(classes).map(|(p, class)| self.settled(class, &p.name)).collect();
        apply_settled(header, &settled, ways)
    }

    /// Settings of a link of a user-defined network: its row takes precedence over the tables.
    ///
    /// # Errors
    /// If neither the row nor the tables specify a rate.
    pub(crate) fn of_row(
        &self,
        name: &str,
        given: &perigee_sources::network::Given,
    ) -> Result<Settled, String> {
        let mut s = self.layered("link", &["all", "link"]);
        s.rate = given.rate.unwrap_or(s.rate);
        s.queue = given.queue_packets.map_or(s.queue, Size::Packets);
        let says_rate =
            |(n, c): &&(String, file::Port)| [name, "all", "link"].contains(&n.as_str()) && c.rate.is_some();
        if given.rate.is_none() && self.settings.iter().find(says_rate).is_none() {
            return Err(format!("no rate is given for {name}"));
        }
        self.settings.iter().filter(|(n, _)| n == name).for_each(|(_, section)| s.apply(section));
        Ok(s)
    }
    /// Ports for the manifest.
    pub fn report(&self, ports: &[Port], classes: &[&'static str]) -> Vec<PortReport> {
        ports.iter().zip(classes).map(|(p, class)| PortReport::new(&p.name, class, &p.spec)).collect()
    }
}

/// Sets each port of a complete header to its settings. Returns the base RTT of each pair at time
/// zero.
pub(crate) fn apply_settled(
    header: &mut Header,
    settled: &[Settled],
    ways: &[[Vec<LinkId>; 2]],
) -> Vec<Nanos> {
    let hop = |l: &LinkId, bytes: u64| {
        let link = &header.links[l.ix()];
        let s = &settled[link.port.ix()];
        link.delay.base + s.transmission(bytes)
    };
    let one_way = |links: &[LinkId], bytes| links.iter().fold(Nanos::ZERO, |sum, l| sum + hop(l, bytes));
    let base: Vec<Nanos> =
        ways.iter().map(|[go, back]| one_way(go, PACKET_BYTES[0]) + one_way(back, PACKET_BYTES[1])).collect();
    // A port that no flow uses is sized for the longest RTT.
    let longest = base.iter().copied().max().unwrap_or_default();
    let mut largest = vec![Nanos::ZERO; header.ports.len()];
    for (way, &rtt) in ways.iter().zip(&base) {
        for link in way.iter().flatten() {
            let at = &mut largest[header.links[link.ix()].port.ix()];
            *at = rtt.max(*at);
        }
    }
    for ((port, s), rtt) in header.ports.iter_mut().zip(settled).zip(largest) {
        port.spec = s.spec(if rtt > Nanos::ZERO { rtt } else { longest });
    }
    for link in &mut header.links {
        link.loss = settled[link.port.ix()].loss.unwrap_or(link.loss);
    }
    base
}

impl PortReport {
    /// Report of a resolved port.
    pub fn new(name: &str, class: &'static str, spec: &PortSpec) -> Self {
        let (bytes, packets) = match spec.queue.limit {
            QueueLimit::Bytes(b) => (Some(b), None),
            QueueLimit::Packets(p) => (None, Some(p)),
        };
        PortReport {
            name: name.into(),
            class,
            rate_bps: spec.rate.0,
            queue_bytes: bytes,
            queue_packets: packets,
            framing_bytes: spec.framing,
            burst_bytes: (spec.burst > 0).then_some(spec.burst),
            dama: spec.dama.as_deref().map(DamaReport::from),
            carrier: spec.carrier.as_deref().map(CarrierReport::from),
            metered: spec.metered,
            meter: spec.queue.integer_meter.then_some("integer"),
            telemetry_faults: spec.telemetry_faults.as_deref().map(TelemetryFaultsReport::from),
            discipline: spec.queue.discipline.clone(),
        }
    }
}

fn known_names(classes: &[&str], ports: &[Port]) -> String {
    let some: Vec<_> = ports.iter().take(4).map(|p| format!("{:?}", p.name)).collect();
    let example =
        if some.is_empty() { String::new() } else { format!(", or a port such as {}", some.join(", ")) };
    format!("all, {}{example}", classes.join(", "))
}
