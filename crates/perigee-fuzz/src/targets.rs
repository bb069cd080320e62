// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz targets: each parser and codec of untrusted input, with small valid inputs. Records, archives
//! and job files are read in Python; `tests/fuzz_readers.py` damages those.

use crate::{captures, guests, learning, tables};
use perigee_orbit::interop::hypatia;
use perigee_orbit::motion::{omm, tle};
use perigee_scenario::file::cells as demand_cells;
use perigee_scenario::Scenario;
use perigee_sources::fading;
use perigee_sources::graphml;
use perigee_sources::leoem::PathLog;
use perigee_sources::mahimahi::{DelayTrace, RateTrace};
use perigee_sources::topology::{chain, ChainSpec};
use perigee_telemetry::wire::{read_stack, COMPACT_BYTES};
use perigee_telemetry::{BottleneckEcho, StackDecoder, WireCompact, WireHop};
use perigee_timeline::{store, Change, Delay, LinkId, Timed};
use perigee_units::{parse_rate, parse_size, parse_time, Nanos};
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A parser or codec.
pub struct Target {
    /// Name on the command line.
    pub name: &'static str,
    /// Valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Parses an input; true if it was accepted.
    pub feed: fn(&[u8]) -> bool,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "quantity", seeds: quantities, feed: quantity },
    Target { name: "scenario", seeds: scenarios, feed: scenario },
    Target { name: "elements", seeds: elements, feed: element },
    Target { name: "graphs", seeds: graphs, feed: |b| text(b).is_some_and(|t| graphml::parse(t).is_ok()) },
    Target { name: "rates", seeds: rates, feed: |b| text(b).is_some_and(|t| RateTrace::parse(t).is_ok()) },
    Target {
        name: "delays",
        seeds: delays,
        feed: |b| text(b).is_some_and(|t| DelayTrace::parse(t, STEP).is_ok()),
    },
    Target { name: "path-log", seeds: path_logs, feed: path_log },
    Target {
        name: "weather",
        seeds: weather,
        feed: |b| text(b).is_some_and(|t| fading::read_weather(t).is_ok()),
    },
    Target { name: "cells", seeds: cells, feed: |b| text(b).is_some_and(|t| demand_cells::parse(t).is_ok()) },
    Target {
        name: "curve",
        seeds: curves,
        feed: |b| text(b).is_some_and(|t| demand_cells::curve(t).is_ok()),
    },
    Target { name: "links", seeds: tables::links, feed: tables::link },
    Target { name: "routes", seeds: tables::routes, feed: tables::route },
    Target { name: "schedule", seeds: tables::schedules, feed: tables::schedule },
    Target { name: "amounts", seeds: tables::amounts, feed: tables::amount },
    Target { name: "epoch", seeds: tables::epochs, feed: tables::epoch },
    Target { name: "timeline", seeds: timelines, feed: timeline },
    Target { name: "hypatia", seeds: hypatia_folders, feed: hypatia_folder },
    Target { name: "telemetry", seeds: stacks, feed: stack },
    Target { name: "echo", seeds: echoes, feed: echo },
    Target { name: "device", seeds: guests::devices, feed: guests::device },
    Target { name: "clock", seeds: guests::clocks, feed: guests::clock },
    Target { name: "reports", seeds: guests::reports, feed: guests::report },
    Target { name: "frames", seeds: guests::frames, feed: guests::frame },
    Target { name: "capture", seeds: captures::seeds, feed: captures::feed },
    Target { name: "policy", seeds: learning::policies, feed: learning::policy },
    Target { name: "recipe", seeds: learning::recipes, feed: learning::recipe },
    Target { name: "experience", seeds: learning::experiences, feed: learning::experience },
];

fn cells() -> Vec<Vec<u8>> {
    let table = "name,lat,lon,population,terminals\nRome,41.9,12.5,2800000,900\n,-33.9,18.4,4.6e6,\n";
    let raster = "X,Y,Z\n12.5,41.9,2800000\n-70.25,-33.5,1e3\n";
    let features = r#"{"type": "FeatureCollection", "features": [
        {"geometry": {"type": "Point", "coordinates": [12.5, 41.9]}, "properties": {"name": "a", "population": 3}},
        {"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 4], [0, 0]]]}, "properties": {"terminals": 7}}]}"#;
    // Numbers must be there in every column.
    let table = table.replace(",\n", ",5\n");
    vec![table.into_bytes(), raster.into(), features.into()]
}

fn curves() -> Vec<Vec<u8>> {
    vec!["hour,share\n0,0.5\n6.5,0.25\n20,1\n".into()]
}

const STEP: Nanos = Nanos::from_millis(100);

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn texts(list: &[&str]) -> Vec<Vec<u8>> {
    list.iter().map(|t| t.as_bytes().to_vec()).collect()
}

fn quantities() -> Vec<Vec<u8>> {
    texts(&["50 ms", "1.5 s", "100 Mbit", "20 kB", "0.2 bdp", "500 packets", "1e3 us"])
}

fn quantity(bytes: &[u8]) -> bool {
    let Some(t) = text(bytes) else { return false };
    parse_time(t).is_ok() | parse_rate(t).is_ok() | parse_size(t).is_ok()
}

/// Bundled scenarios that name no file.
fn scenarios() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut found = Vec::new();
    for folder in ["micro", "leo"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        let mut files: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        files.sort();
        found.extend(files.iter().filter_map(|f| std::fs::read(f).ok()).filter(|b| scenario(b)));
    }
    found.push(GRAMMAR.as_bytes().to_vec());
    found
}

/// Keys not used by the bundled scenarios.
const GRAMMAR: &str = r#"[run]
duration = "9 s"
warmup = "1 s"
runs = 3
cc = ["cubic", "orbcc"]
[source.parking_lot]
bottlenecks = 3
rtt = "50 ms"
[port.all]
framing = 7
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
discipline = "codel"
target = "5 ms"
[[change]]
at = "2 s"
outage = "0.5 s"
mode = "hold"
[cc.cubic]
hystart = false
[tcp]
ecn = true
[[flow]]
cc = "*"
[[flow]]
app = "request"
object = "pareto(100 kB, 1.5)"
think = "uniform(0.1 s, 2 s)"
cc = "cubic"
[[flow]]
app = "web"
pages = 3
[[flow]]
app = "video"
ladder = ["1 Mbit", "3 Mbit"]
abr = "rate"
[[flow]]
app = "voice"
codec = "g729"
[[flow]]
app = "ping"
interval = "20 ms"
"#;

fn scenario(bytes: &[u8]) -> bool {
    text(bytes).is_some_and(|t| Scenario::parse(t, "fuzz.toml", Path::new(""), &[]).is_ok())
}

const TWO_LINES: &str = "\
STARLINK-24
1 44238U 19029D   22257.46316094  .00217935  00000+0  35067-2 0  9992
2 44238  53.0028  47.8601 0007663 290.4472  69.5712 15.51686006181960
STARLINK-71
1 44252U 19029T   22257.66652686  .00210967  00000+0  31977-2 0  9994
2 44252  52.9931  41.1318 0006495 306.7007  53.3405 15.53381077183735
";

fn elements() -> Vec<Vec<u8>> {
    texts(&[
        TWO_LINES,
        r#"[{"OBJECT_NAME": "STARLINK-24", "OBJECT_ID": "2019-029D", "EPOCH": "2022-09-14T11:06:57.105216", "MEAN_MOTION": 15.51686006, "ECCENTRICITY": 0.0007663, "INCLINATION": 53.0028, "RA_OF_ASC_NODE": 47.8601, "ARG_OF_PERICENTER": 290.4472, "MEAN_ANOMALY": 69.5712, "NORAD_CAT_ID": 44238, "BSTAR": "0.0035067"}]"#,
        "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,NORAD_CAT_ID,BSTAR\nSTARLINK-24,2019-029D,2022-09-14T11:06:57.105216,15.51686006,.0007663,53.0028,47.8601,290.4472,69.5712,44238,.0035067\n",
    ])
}

fn element(bytes: &[u8]) -> bool {
    let Some(t) = text(bytes) else { return false };
    omm::read_elements(t).is_ok()
        | tle::parse(t).is_ok()
        | omm::parse_json(t).is_ok()
        | omm::parse_csv(t).is_ok()
}

fn graphs() -> Vec<Vec<u8>> {
    let text = r#"<graphml><key attr.name="Latitude" for="node" id="a"/><key attr.name="LinkSpeedRaw" for="edge" id="s"/>
<key attr.name="delay_ms" for="edge" id="d"><default>3</default></key><graph edgedefault="undirected"><node id="0"><data key="a">51.5</data></node>
<node id="1"/><node id="2"/><edge source="0" target="1"><data key="s">1e9</data></edge><edge source="1" target="2"/></graph></graphml>"#;
    vec![text.into()]
}

fn rates() -> Vec<Vec<u8>> {
    texts(&["1\n2\n2\n5\n9\n12\n", "0\n0\n1000\n"])
}

fn delays() -> Vec<Vec<u8>> {
    texts(&["12\n13\n17\n12\n", "0\n250\n"])
}

fn path_logs() -> Vec<Vec<u8>> {
    texts(&["1$[-1, 7, 8, -2]$4$[0.001, 0.002, 0.003]$0.006\n2$NULL\n3$[-1, 9, -2]$3$[0.001, 0.004]$0.005\n"])
}

fn path_log(bytes: &[u8]) -> bool {
    let Some(Ok(log)) = text(bytes).map(PathLog::parse) else { return false };
    let _ = log.timeline(&Default::default());
    true
}

fn weather() -> Vec<Vec<u8>> {
    texts(&["t_s,rate_share,loss\n0,1,0\n10,0.5,0.01\n20,0,1\n"])
}

fn timelines() -> Vec<Vec<u8>> {
    let built = chain(&ChainSpec { links: 2, ..ChainSpec::default() }).expect("a chain");
    let change = Change::Delay(LinkId(0), Delay::constant(STEP));
    let timeline = built.timeline(Nanos::from_secs(2), vec![Timed { at: STEP, change }]);
    let mut bytes = Vec::new();
    store::save(&timeline, &mut bytes).expect("memory");
    vec![bytes]
}

fn timeline(bytes: &[u8]) -> bool {
    store::load(BufReader::new(bytes)).is_ok_and(|t| store::check(&t).is_ok())
}

/// A folder as a single text: files start with a line `== NAME`.
fn hypatia_folders() -> Vec<Vec<u8>> {
    let tles = TWO_LINES.replace("STARLINK-24", "Starlink-550 0").replace("STARLINK-71", "Starlink-550 1");
    vec![format!(
        "== tles.txt\n1 2\n{tles}== isls.txt\n0 1\n== ground_stations.txt\n0,London,51.5,-0.12,0.0,1,2,3\n1,Paris,48.86,2.35,0.0,1,2,3\n\
         == description.txt\nmax_gsl_length_m=1089686.4\nmax_isl_length_m=5016591.2\n== fstate_0.txt\n2,3,0,0,0\n0,3,3,1,0\n3,2,0,0,0\n0,2,2,1,0\n"
    )
    .into_bytes()]
}

fn hypatia_folder(bytes: &[u8]) -> bool {
    let Some(t) = text(bytes) else { return false };
    // Tests run in threads of one process.
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("perigee-fuzz-{}-{call}", std::process::id()));
    let states = folder.join("dynamic_state_1000ms_for_1s");
    let _ = std::fs::remove_dir_all(&folder);
    if std::fs::create_dir_all(&states).is_err() {
        return false;
    }
    for part in t.split("== ").skip(1) {
        let (name, content) = part.split_once('\n').unwrap_or((part, ""));
        // Only names of the format are accepted: a mutated name must not reach outside the folder.
        let path = match name.trim() {
            known @ ("tles.txt" | "isls.txt" | "ground_stations.txt" | "description.txt") => {
                folder.join(known)
            }
            "fstate_0.txt" => states.join("fstate_0.txt"),
            _ => continue,
        };
        let _ = std::fs::write(path, content);
    }
    let read = hypatia::read_folder(&folder, None).map(|state| state.paths(&[(0, 1)]).is_ok());
    let _ = std::fs::remove_dir_all(&folder);
    read.is_ok()
}

fn stacks() -> Vec<Vec<u8>> {
    use perigee_telemetry::wire::write_stack;
    let hop = WireHop::encode(&Default::default());
    let stamp = perigee_telemetry::Stamp::default();
    [0usize, 1, 5]
        .map(|n| {
            let mut bytes = Vec::new();
            write_stack(&mut bytes, 77, &stamp, &vec![hop; n]);
            bytes
        })
        .into()
}

fn stack(bytes: &[u8]) -> bool {
    let mut hops = Vec::new();
    let Some(header) = read_stack(bytes, &mut hops) else { return false };
    let mut decoder = StackDecoder::default();
    let mut echo = BottleneckEcho::new();
    for n in 0..3 {
        let _ = decoder.decode(header.path_id, &hops, n, n == 1);
        let _ = echo.on_data(STEP * u64::from(n), header.path_id, &hops);
    }
    true
}

fn echoes() -> Vec<Vec<u8>> {
    vec![vec![0; COMPACT_BYTES], (0..COMPACT_BYTES as u8).collect()]
}

fn echo(bytes: &[u8]) -> bool {
    let Some(first) = bytes.get(..COMPACT_BYTES).and_then(|b| b.try_into().ok()) else { return false };
    let read = WireCompact::from_bytes(first);
    let _ = read.decode(3, false);
    read.to_bytes().len() == COMPACT_BYTES
}
