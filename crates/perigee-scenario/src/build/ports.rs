// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rates, queues and framing of ports: defaults of their class, `[port.all]`, `[port.CLASS]`, `[port.NAME]`; and the
//! bytes behind `bdp`.

use crate::file::error::{Problem, ScenarioError};
use crate::file::scenario::{AqmSetting, PortSetting};
use crate::file::spell;
use perigee_timeline::topology::PortSpec;
use perigee_timeline::{Discipline, Header, LinkId, Port, Queue, QueueLimit};
use perigee_units::{BitRate, Nanos, Size};
use serde::Serialize;

/// The smallest queue that `bdp` resolves to: one full packet with its framing.
const FULL_PACKET: u64 = 1500;

/// Settings of one port, nothing left open but the RTT of `bdp`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Of the transmitter.
    pub rate: BitRate,
    queue: Size,
    bdp_rate: Option<BitRate>,
    bdp_rtt: Option<Nanos>,
    /// Bytes added to each packet.
    pub framing: u32,
    discipline: AqmSetting,
    count_in_service: bool,
    probe_priority: bool,
    metered: bool,
}

fn defaults(class: &str) -> Settled {
    let base = Settled {
        rate: BitRate::from_mbit(100),
        queue: Size::Bdp(1.0),
        bdp_rate: None,
        bdp_rtt: None,
        framing: 0,
        discipline: AqmSetting::default(),
        count_in_service: false,
        probe_priority: false,
        metered: true,
    };
    let fast = Settled { rate: BitRate::from_mbit(10_000), ..base.clone() };
    match class {
        "access" => Settled { queue: Size::Packets(100_000), metered: false, ..fast },
        "laser" => fast,
        _ => base,
    }
}

impl Settled {
    fn apply(&mut self, s: &PortSetting) {
        fn set<T: Copy>(target: &mut T, given: Option<T>) {
            if let Some(v) = given {
                *target = v;
            }
        }
        fn keep<T: Clone>(target: &mut Option<T>, given: &Option<T>) {
            if given.is_some() {
                target.clone_from(given);
            }
        }
        let (mine, theirs) = (&mut self.discipline, &s.discipline);
        keep(&mut mine.name, &theirs.name);
        keep(&mut mine.target, &theirs.target);
        keep(&mut mine.interval, &theirs.interval);
        keep(&mut mine.quantum, &theirs.quantum);
        keep(&mut mine.queues, &theirs.queues);
        keep(&mut mine.burst, &theirs.burst);
        keep(&mut mine.red_min, &theirs.red_min);
        keep(&mut mine.red_max, &theirs.red_max);
        keep(&mut mine.red_p, &theirs.red_p);
        keep(&mut mine.red_floor, &theirs.red_floor);
        keep(&mut mine.red_weight, &theirs.red_weight);
        set(&mut self.rate, s.rate);
        set(&mut self.queue, s.queue);
        set(&mut self.framing, s.framing);
        set(&mut self.count_in_service, s.count_in_service);
        set(&mut self.probe_priority, s.probe_priority);
        set(&mut self.metered, s.metered);
        self.bdp_rate = s.bdp_rate.or(self.bdp_rate);
        self.bdp_rtt = s.bdp_rtt.or(self.bdp_rtt);
    }

    /// The port; `rtt` is the largest base RTT among its flows at time zero.
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
            discipline: discipline(&self.discipline, limit, self.framing),
            count_in_service: self.count_in_service,
            probe_priority: self.probe_priority,
        };
        PortSpec { rate: self.rate, queue, framing: self.framing, metered: self.metered }
    }
}

fn discipline(a: &AqmSetting, limit: QueueLimit, framing: u32) -> Discipline {
    let ms = Nanos::from_millis;
    let whole = match limit {
        QueueLimit::Bytes(b) => b,
        QueueLimit::Packets(n) => n.saturating_mul(FULL_PACKET + u64::from(framing)),
    };
    let interval = a.interval.unwrap_or(ms(100));
    match a.name.as_deref() {
        Some("red") => Discipline::Red {
            min: a.red_min.unwrap_or(whole / 2),
            max: a.red_max.unwrap_or(whole),
            p_ppb: ppb(a.red_p.unwrap_or(0.1)),
            floor_ppb: ppb(a.red_floor.unwrap_or(0.0)),
            weight_ppb: ppb(a.red_weight.unwrap_or(1.0)),
        },
        Some("codel") => Discipline::CoDel { target: a.target.unwrap_or(ms(5)), interval },
        Some("fq_codel") => Discipline::FqCodel {
            target: a.target.unwrap_or(ms(5)),
            interval,
            quantum: a.quantum.unwrap_or(1514),
            queues: a.queues.unwrap_or(1024),
        },
        Some("pie") => {
            Discipline::Pie { target: a.target.unwrap_or(ms(15)), burst: a.burst.unwrap_or(ms(150)) }
        }
        _ => Discipline::DropTail,
    }
}

fn ppb(share: f64) -> u32 {
    (share * 1e9 + 0.5) as u32
}

/// All `[port.NAME]` of a scenario, ready to be applied.
#[derive(Clone, Debug)]
pub struct PortTable<'a> {
    settings: &'a [PortSetting],
}

/// A port, or a class of ports, as the manifest tells it.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PortReport {
    pub name: String,
    pub class: &'static str,
    pub rate_bps: u64,
    pub queue_bytes: Option<u64>,
    pub queue_packets: Option<u64>,
    pub framing_bytes: u32,
    pub metered: bool,
    pub discipline: Discipline,
}

/// Size of a full data packet and of a plain ACK, for base RTTs at time zero.
const PACKET_BYTES: [u64; 2] = [FULL_PACKET, 52];

impl<'a> PortTable<'a> {
    /// Checks the names against the source's classes and the ports known at the start.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn new(settings: &'a [PortSetting], classes: &[&str], ports: &[Port]) -> Result<Self, ScenarioError> {
        let mut problems = Vec::new();
        for s in settings {
            let name = s.name.as_str();
            if name == "all" || classes.contains(&name) || ports.iter().any(|p| p.name == name) {
                continue;
            }
            let mut p = Problem::new(format!("port.{name}"), "no such port or class of ports").at(&s.place);
            p.allowed = Some(known_names(classes, ports));
            p.hint = spell::hint(name, classes.iter().copied());
            problems.push(p);
        }
        if problems.is_empty() {
            Ok(PortTable { settings })
        } else {
            Err(ScenarioError(problems))
        }
    }

    /// Whether anything is said of this class.
    pub fn names(&self, class: &str) -> bool {
        self.settings.iter().any(|s| s.name == class)
    }

    /// The settings of a port of `class`.
    pub fn settled(&self, class: &str, name: &str) -> Settled {
        let mut s = defaults(class);
        // What is said of the data direction holds for the way back too, unless that is spoken of.
        let layers: &[&str] = match class {
            "reverse" => &["all", "bottleneck", "reverse"],
            "dish" | "host" => &["all", "hop", class],
            _ => &["all", class],
        };
        for layer in layers.iter().chain(std::iter::once(&name)) {
            self.settings.iter().filter(|x| x.name == **layer).for_each(|x| s.apply(x));
        }
        s
    }

    /// Sets every port of a header that is complete; `ways` are the links of each pair, forward and back. Returns the
    /// base RTT of each pair at time zero.
    pub fn dress(
        &self,
        header: &mut Header,
        classes: &[&'static str],
        ways: &[[Vec<LinkId>; 2]],
    ) -> Vec<Nanos> {
        let settled: Vec<Settled> =
            header.ports.iter().zip(classes).map(|(p, class)| self.settled(class, &p.name)).collect();
        let hop = |l: &LinkId, bytes: u64| {
            let link = &header.links[l.ix()];
            let s = &settled[link.port.ix()];
            link.delay.base + s.rate.time_for(bytes + u64::from(s.framing))
        };
        let one_way = |links: &[LinkId], bytes| links.iter().fold(Nanos::ZERO, |sum, l| sum + hop(l, bytes));
        let base: Vec<Nanos> = ways
            .iter()
            .map(|[go, back]| one_way(go, PACKET_BYTES[0]) + one_way(back, PACKET_BYTES[1]))
            .collect();
        // A port that no flow uses is sized for the longest.
        let longest = base.iter().copied().max().unwrap_or_default();
        let mut largest = vec![Nanos::ZERO; header.ports.len()];
        for (way, &rtt) in ways.iter().zip(&base) {
            for link in way.iter().flatten() {
                let at = &mut largest[header.links[link.ix()].port.ix()];
                *at = rtt.max(*at);
            }
        }
        for ((port, s), rtt) in header.ports.iter_mut().zip(&settled).zip(largest) {
            let spec = s.spec(if rtt > Nanos::ZERO { rtt } else { longest });
            port.rate = spec.rate;
            port.queue = spec.queue;
            port.framing = spec.framing;
            port.metered = spec.metered;
        }
        base
    }

    /// Ports for the manifest.
    pub fn report(&self, ports: &[Port], classes: &[&'static str]) -> Vec<PortReport> {
        let spec =
            |p: &Port| PortSpec { rate: p.rate, queue: p.queue, framing: p.framing, metered: p.metered };
        ports.iter().zip(classes).map(|(p, class)| PortReport::new(&p.name, class, &spec(p))).collect()
    }
}

impl PortReport {
    /// From a resolved port.
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
            metered: spec.metered,
            discipline: spec.queue.discipline,
        }
    }
}

fn known_names(classes: &[&str], ports: &[Port]) -> String {
    let some: Vec<_> = ports.iter().take(4).map(|p| format!("{:?}", p.name)).collect();
    let example =
        if some.is_empty() { String::new() } else { format!(", or a port such as {}", some.join(", ")) };
    format!("all, {}{example}", classes.join(", "))
}
