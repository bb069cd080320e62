// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The composition root: scenario and seed → network over time and flows, ready for a simulator.

use crate::file::error::{Problem, ScenarioError};
use crate::file::flow::FlowSpec;
use crate::file::scenario::Scenario;
use crate::file::suggestions;
use crate::file::tree::values;
use crate::world::from_source;
use crate::world::network::{self, PairPlace};
pub use crate::world::ports::PortReport;
use crate::world::regularity::{self, Offered};
use crate::world::shared::SharedTimeline;
use crate::world::starts;
use perigee_cc::{Params, SchemeInfo, Value};
use perigee_timeline::{App, Flow, Header, Timeline, Workload};
use perigee_units::files;
use perigee_units::Nanos;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A scenario with one seed, shared by all schemes of a comparison.
pub struct World {
    /// The scenario it was made from.
    pub scenario: Arc<Scenario>,
    /// Seed of all draws.
    pub seed: u64,
    /// Network at time zero.
    pub header: Header,
    /// Network over time.
    pub timeline: SharedTimeline,
    /// Ports as resolved.
    pub ports: Vec<PortReport>,
    /// Human-readable summary of the network.
    pub report: Vec<String>,
    /// Warnings about the scenario.
    pub warnings: Vec<String>,
    /// Maximum number of hops in a packet's telemetry.
    pub max_hops: usize,
    /// Flows, with their pairs.
    pub flows: Vec<FlowPlan>,
}

/// A flow before its congestion control is chosen.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Unique name.
    pub name: String,
    /// Where it runs.
    pub pair: PairPlace,
    /// When it starts.
    pub start: Nanos,
    /// When it stops sending.
    pub stop: Nanos,
    /// Base RTT of its pair at time zero.
    pub base_rtt: Option<Nanos>,
    /// Links of its route at time zero.
    pub hops: usize,
    /// Number of its slowest port at time zero: flows with the same number share it.
    pub bottleneck: u32,
    /// Its transport options, without those of its scheme if that is not chosen yet.
    pub tcp: perigee_tcp::Config,
    /// Bandwidth-delay product and queue of its slowest port at time zero.
    path_bytes: u64,
    spec: FlowSpec,
}

impl FlowPlan {
    /// Its application.
    pub fn app(&self) -> App {
        self.spec.app
    }
    /// Its scheme; "*" = the compared one.
    pub fn cc(&self) -> &str {
        &self.spec.cc
    }
    /// Whether it uses the start of the run, not one of its own.
    pub fn has_start_of_run(&self) -> bool {
        self.spec.app.is_tcp() && self.spec.slow_start.is_none()
    }
    /// Load offered to the network.
    fn offered(&self) -> Offered {
        Offered { forward: self.pair.forward, bottleneck: self.bottleneck, app: self.spec.app }
    }
    /// Its place among the legs of a split flow.
    pub fn leg(&self) -> Option<&crate::file::split::LegPlace> {
        self.spec.leg.as_ref()
    }
    /// Its group, and whether it is background.
    pub fn group(&self) -> Option<(&str, bool)> {
        self.spec.group.as_deref().map(|name| (name, self.spec.background))
    }
    /// Size of the transfer, if limited.
    pub fn bytes(&self) -> Option<u64> {
        match self.spec.app {
            App::Bulk { bytes } => bytes,
            App::Ping { .. } => Some(0),
            _ => None,
        }
    }
}

/// Values of parameters or options, by name.
type GivenValues = BTreeMap<String, Value>;
/// Contents of files, by the parameter that names them.
type Files = BTreeMap<String, Arc<str>>;

/// Number of hop records that fit one IPv6 option of 255 bytes.
const MAX_TELEMETRY_HOPS: usize = 14;

impl World {
    /// Builds the world; the chunks of its timeline are generated on a separate thread.
    ///
    /// # Errors
    /// Errors detected only when the network is built: unknown ports and nodes, unreadable files,
    /// unreachable pairs.
    pub fn build(scenario: Arc<Scenario>, seed: u64) -> Result<Self, ScenarioError> {
        if scenario.flows.is_empty() {
            return Err(scenario.without_flows());
        }
        let scenario = crate::world::traffic::expand(&scenario, seed);
        if scenario.flows.len() > crate::file::rows::MAX_FLOWS as usize {
            let place = scenario.flows.iter().map(|f| &f.place).next_back();
            let mut p = Problem::new("flow.arrivals", "too many flows");
            p.place = place.cloned();
            let most = format!("at most {}", crate::file::rows::MAX_FLOWS);
            return Err(p.allowed(most).hint("increase the time between arrivals, or stop earlier").into());
        }
        let net = from_source::build(&scenario, seed)?;
        let flows = plans(&scenario, &net)?;
        check_programs(&scenario, &flows)?;
        let max_hops = scenario.telemetry.max_hops.unwrap_or(net.longest.clamp(1, MAX_TELEMETRY_HOPS));
        let offered: Vec<Offered> = flows.iter().map(FlowPlan::offered).collect();
        let regular = regularity::warnings(&scenario, seed, &net.header, &offered);
        let unmetered = Vec::from_iter(crate::world::unmetered::warning(&scenario, &net));
        let again = {
            let scenario = scenario.clone();
            move || from_source::build(&scenario, seed).map(|net| net.source).map_err(|e| e.to_string())
        };
        Ok(World {
            seed,
            max_hops,
            flows,
            header: net.header,
            timeline: SharedTimeline::new(net.source, Arc::new(again)),
            ports: net.ports,
            report: net.report,
            warnings: [scenario.remarks.clone(), net.warnings, unmetered, regular].concat(),
            scenario,
        })
    }

    /// The timeline of the entire run, for saving.
    ///
    /// # Errors
    /// When the source cannot continue.
    pub fn whole_timeline(&self) -> Result<Timeline, String> {
        Ok(Timeline { header: self.header.clone(), chunks: self.timeline.all()? })
    }

    /// The flows under `cc` (which replaces `"*"`), as data. `foreign` returns true for plug-in
    /// schemes, of which only the name is known here.
    ///
    /// # Errors
    /// Parameters that contradict each other, files that cannot be read.
    pub fn workload(&self, cc: &str, foreign: &dyn Fn(&str) -> bool) -> Result<Workload, ScenarioError> {
        let flows = self.flows.iter().enumerate().map(|(i, plan)| self.flow(i, plan, cc, foreign));
        Ok(Workload { flows: flows.collect::<Result<_, _>>()? })
    }

    /// The scheme of a flow under `cc`.
    pub fn scheme_of<'a>(&'a self, flow: &'a FlowPlan, cc: &'a str) -> &'a str {
        match (flow.spec.app.without_tcp(), flow.spec.cc.as_str()) {
            (Some(app), _) => app,
            (None, "*") => cc,
            (None, named) => named,
        }
    }

    /// Transport options of a flow under `cc`, in the form of the transport and in that of the
    /// manifest.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn transport_of(
        &self,
        plan: &FlowPlan,
        cc: &str,
    ) -> Result<(perigee_tcp::Config, Params), ScenarioError> {
        let params = transport(&self.scenario, &plan.spec, self.scheme_of(plan, cc))?;
        let mut tcp = perigee_tcp::Config::new(&params);
        size_buffer(&mut tcp, plan.path_bytes);
        Ok((tcp, params))
    }

    /// Contents of the files that a scheme requires.
    fn files(&self, info: &'static SchemeInfo, plan: &FlowPlan) -> Result<Files, ScenarioError> {
        let own = (plan.spec.cc == info.id).then_some(&plan.spec.cc_params);
        let layers = [own, self.scenario.cc.get(info.id)];
        let mut found = BTreeMap::new();
        for file in info.files() {
            let given = layers.iter().flatten().find_map(|given| given.get(file.name));
            let Some((Value::Text(name), place)) = given else { continue };
            let wrong = |why: String| {
                let p = Problem::new(format!("cc.{}.{}", info.id, file.name), why).at(place);
                ScenarioError::from(p.found(format!("{name:?}")).allowed(file.help))
            };
            let text = files::read(&crate::file::tree::resolve(place, name)).map_err(wrong)?;
            (file.parse)(&text).map_err(wrong)?;
            found.insert(file.name.to_string(), text.into());
        }
        if let (false, Some(file)) =
            (info.is_whole(), info.files().iter().find(|f| !found.contains_key(f.name)))
        {
            let p = Problem::new(
                format!("cc.{}.{}", info.id, file.name),
                "required file is missing: it defines the congestion control",
            );
            return Err(p.at(&plan.spec.place).hint("pass --cc policy:FILE").into());
        }
        Ok(found)
    }

    fn flow(
        &self,
        index: usize,
        plan: &FlowPlan,
        cc: &str,
        foreign: &dyn Fn(&str) -> bool,
    ) -> Result<Flow, ScenarioError> {
        let leg = plan.spec.leg.as_ref().map(|l| l.leg(index));
        let scheme = self.scheme_of(plan, cc);
        let (cc_params, cc_files) = match plan.spec.app.without_tcp() {
            Some(_) => Default::default(),
            None if foreign(scheme) => Default::default(),
            None => self.built_in(plan, scheme)?,
        };
        Ok(Flow {
            name: plan.name.clone(),
            forward: plan.pair.forward,
            reverse: plan.pair.reverse,
            start: plan.start,
            stop: plan.stop,
            app: plan.spec.app,
            cc: scheme.to_string(),
            compared: plan.spec.cc == "*",
            background: plan.spec.background,
            hosts: plan.spec.hosts,
            cc_params,
            cc_files,
            slow_start: starts::of_flow(
                &self.scenario,
                &plan.spec,
                perigee_cc::info(scheme).filter(|_| !foreign(scheme)),
            )?,
            tcp: transport_values(&self.scenario, &plan.spec, scheme),
            buffer_bytes: self.transport_of(plan, cc)?.0.buffer,
            notices: self.scenario.notices.clone(),
            leg,
            bottleneck: plan.bottleneck,
            base_rtt: plan.base_rtt,
        })
    }

    /// Parameters and files of a scheme of the list.
    fn built_in(&self, plan: &FlowPlan, id: &str) -> Result<(GivenValues, Files), ScenarioError> {
        let wrong = |why: String| ScenarioError::from(Problem::new("flow", why).at(&plan.spec.place));
        let info = perigee_cc::info(id).ok_or_else(|| wrong(format!("no congestion control {id:?}")))?;
        let mut given = values(self.scenario.cc.get(id));
        let telemetry = &self.scenario.telemetry;
        for (name, value) in [("overhead", &telemetry.overhead), ("echo", &telemetry.echo)] {
            if let (Some(v), true) = (value, info.params.iter().any(|p| p.name == name)) {
                given.insert(name.into(), Value::Text(v.clone()));
            }
        }
        if plan.spec.cc == id {
            given.extend(values(Some(&plan.spec.cc_params)));
        }
        for file in info.files() {
            given.remove(file.name);
        }
        info.params(given.clone()).map_err(|e| wrong(e.to_string()))?;
        Ok((given, self.files(info, plan)?))
    }
}

fn plans(scenario: &Scenario, net: &network::Network) -> Result<Vec<FlowPlan>, ScenarioError> {
    let mut plans = Vec::new();
    let mut names = Names::default();
    let index = PairIndex::new(&net.pairs);
    for spec in &scenario.flows {
        for pair in index.chosen(spec)? {
            for k in 0..spec.count {
                let place = &net.pairs[pair];
                let mut plan_tcp = perigee_tcp::Config::new(&transport(scenario, spec, &spec.cc)?);
                let bottleneck = net.header.ports.get(net.bottlenecks[pair] as usize);
                let path_bytes = bottleneck.zip(net.base_rtts[pair]).map_or(0, |(p, rtt)| path_bytes(p, rtt));
                size_buffer(&mut plan_tcp, path_bytes);
                plans.push(FlowPlan {
                    name: names.unique(spec, place, k)?,
                    pair: place.clone(),
                    start: spec.start + spec.stagger * k,
                    stop: spec.stop.unwrap_or(scenario.run.duration).min(scenario.run.duration),
                    base_rtt: net.base_rtts[pair],
                    hops: net.hops[pair],
                    bottleneck: net.bottlenecks[pair],
                    tcp: plan_tcp,
                    path_bytes,
                    spec: spec.clone(),
                });
            }
        }
    }
    Ok(plans)
}

/// Checks that programs run at the ends of flows that carry their traffic.
fn check_programs(scenario: &Scenario, flows: &[FlowPlan]) -> Result<(), ScenarioError> {
    let carriers = flows.iter().filter(|f| f.app() == App::Programs);
    let ends: BTreeSet<&str> = carriers.flat_map(|f| [f.pair.from.as_str(), f.pair.to.as_str()]).collect();
    let Some(lost) = scenario.programs.iter().find(|p| !ends.contains(p.node.as_str())) else {
        return Ok(());
    };
    let why = "not an end of a flow with app = \"programs\"";
    let mut p = Problem::new("program.node", why).at(&lost.place).found(format!("{:?}", lost.node));
    p.allowed = Some(ends.iter().copied().collect::<Vec<_>>().join(", "));
    p.hint = suggestions::hint(&lost.node, ends);
    Err(p.into())
}

/// Options of a flow that runs `cc`. Later layers override earlier ones: all flows, all flows of
/// the scheme, the flow.
fn transport_values(scenario: &Scenario, spec: &FlowSpec, cc: &str) -> GivenValues {
    let mut given = values(Some(&scenario.tcp));
    given.extend(values(scenario.tcp_of.get(cc)));
    given.extend(values(Some(&spec.tcp)));
    given
}

fn transport(scenario: &Scenario, spec: &FlowSpec, cc: &str) -> Result<Params, ScenarioError> {
    let params = Params::new(perigee_tcp::OPTIONS, transport_values(scenario, spec, cc));
    params.map_err(|e| Problem::new("tcp", e.to_string()).at(&spec.place).into())
}

/// Capacity of a path in bytes: its bandwidth-delay product and its queue.
fn path_bytes(port: &perigee_timeline::Port, rtt: Nanos) -> u64 {
    const PACKET: u64 = 1500;
    let queue = match port.spec.queue.limit {
        perigee_timeline::QueueLimit::Bytes(b) => b,
        perigee_timeline::QueueLimit::Packets(n) => n.saturating_mul(PACKET),
    };
    port.spec.rate.bytes_in(rtt).saturating_add(queue)
}

fn size_buffer(tcp: &mut perigee_tcp::Config, path_bytes: u64) {
    if tcp.buffer == 0 && tcp.buffer_factor > 0.0 {
        tcp.buffer = (tcp.buffer_factor * path_bytes as f64) as u64;
    }
}

/// Pairs by their ends.
struct PairIndex<'a> {
    pairs: &'a [PairPlace],
    by_ends: HashMap<(&'a str, &'a str), usize>,
}

impl<'a> PairIndex<'a> {
    fn new(pairs: &'a [PairPlace]) -> Self {
        let mut by_ends = HashMap::with_capacity(pairs.len());
        for (i, p) in pairs.iter().enumerate() {
            by_ends.entry((p.from.as_str(), p.to.as_str())).or_insert(i);
        }
        PairIndex { pairs, by_ends }
    }

    /// Indices of the pairs selected by a `[[flow]]`.
    fn chosen(&self, spec: &FlowSpec) -> Result<Vec<usize>, ScenarioError> {
        let pairs = self.pairs;
        let Some((from, to)) = &spec.ends else {
            return Ok((0..pairs.len()).filter(|&i| !pairs[i].part).collect());
        };
        if let Some(&found) = self.by_ends.get(&(from.as_str(), to.as_str())) {
            return Ok(vec![found]);
        }
        let known = |name: &str| pairs.iter().any(|p| p.from == name || p.to == name);
        let stranger = [from, to].into_iter().find(|n| !known(n));
        let message = match stranger {
            Some(name) => format!("no such host: {name:?}"),
            None => format!("this source has no pair from {from:?} to {to:?}"),
        };
        let mut p = Problem::new("flow", message).at(&spec.place);
        let some: Vec<_> = pairs.iter().take(5).map(|p| format!("{} to {}", p.from, p.to)).collect();
        p.allowed = Some(format!("{}{}", some.join(", "), if pairs.len() > 5 { ", …" } else { "" }));
        let ends = || pairs.iter().flat_map(|p| [p.from.as_str(), p.to.as_str()]);
        p.hint = stranger.and_then(|s| suggestions::hint(s, ends()));
        Err(p.into())
    }
}

/// Names of flows assigned so far.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// Next number to try, by prefix: all smaller ones are taken. Avoids a scan from one for each
    /// of many unnamed flows.
    free: HashMap<String, u64>,
}

impl Names {
    /// The name of the `k`-th flow of an entry. Random draws depend on names, so a name depends
    /// only on its entry and the ends.
    fn unique(&mut self, spec: &FlowSpec, pair: &PairPlace, k: u64) -> Result<String, ScenarioError> {
        let base = spec.name.clone().unwrap_or_else(|| format!("{}->{}", pair.from, pair.to));
        let numbered = |n: u64| if n == 0 { base.clone() } else { format!("{base}.{}", n + 1) };
        if self.taken.insert(numbered(k)) {
            return Ok(numbered(k));
        }
        if let Some(name) = &spec.name {
            let p = Problem::new("flow.name", "duplicate name of a flow").at(&spec.place);
            return Err(p.found(format!("{name:?}")).into());
        }
        // An entry numbers its flows from 0, so that everything up to `k` is taken.
        let mut n = self.free.get(&base).copied().unwrap_or_default().max(k + 1);
        while !self.taken.insert(numbered(n)) {
            n += 1;
        }
        let name = numbered(n);
        self.free.insert(base, n + 1);
        Ok(name)
    }
}
