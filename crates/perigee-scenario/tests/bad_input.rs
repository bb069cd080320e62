// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rejection of every kind of invalid input with its place, key and remedy, without panics.

use perigee_scenario::file::apps::APPS;
use perigee_scenario::file::grammar::{Content, Section};
use perigee_scenario::file::schedules::SCHEDULES;
use perigee_scenario::sources;
use perigee_scenario::sources::Source;
use perigee_scenario::{Scenario, World};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const GOOD: &str = r#"[run]
duration = "10 s"
cc = ["newreno"]
[source.dumbbell]
rtt = "50 ms"
[port.bottleneck]
rate = "20 Mbit"
queue = "1 bdp"
[[flow]]
cc = "*"
"#;

fn read(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
    Scenario::parse(text, "s.toml", Path::new(""), &sets).map_err(|e| e.to_string())
}

/// (override that breaks the valid scenario, words that the message must contain)
const SPOILS: &[(&str, &[&str])] = &[
    ("run.duratoin=5s", &["run.duratoin", "unknown key", "did you mean \"duration\""]),
    ("run.duration=5", &["run.duration", "no unit"]),
    ("run.duration=5 parsec", &["unknown unit", "ms"]),
    ("run.duration=-5 s", &["negative"]),
    ("run.duration=1e9 s", &["largest allowed value"]),
    ("run.duration=NaN s", &["run.duration"]),
    ("run.duration=nan", &["run.duration"]),
    ("run.seed=-1", &["run.seed", "smallest"]),
    ("run.seed=1.5", &["an integer"]),
    ("run.sample=0 s", &["run.sample", "smallest"]),
    ("run.warmup=10 s", &["must be shorter than the run (10 s)"]),
    ("run.cc=[\"cubci\"]", &["run.cc", "did you mean \"cubic\""]),
    ("run.cc=[]", &["run.cc", "empty"]),
    ("port.bottleneck.rate=0 Mbit", &["zero", "outage"]),
    ("port.bottleneck.rate=-1 Mbit", &["negative"]),
    ("link.bottleneck.rate=-1 Mbit", &["negative"]),
    ("port.bottleneck.rate=1e9 Gbit", &["port.bottleneck.rate", "largest allowed value"]),
    ("port.bottleneck.queue=0 packets", &["no capacity", "1 packets"]),
    ("port.bottleneck.queue=0 bdp", &["no capacity"]),
    ("port.bottleneck.discipline=reed", &["drop-tail"]),
    ("port.bottleneck.framing=1000000", &["256"]),
    (
        "cc.astraea={below = \"cubic\", guard = \"off\"}",
        &["cc.astraea.guard", "no effect without below = \"nothing\"", "remove it"],
    ),
    ("cc.policy={window = \"3 s\"}", &["cc.policy.window", "no effect without lifetime = \"window\""]),
    ("port.bottleneck=5", &["must be a table"]),
    ("source.chain.links=3", &["more than one source", "chain", "dumbbell"]),
    ("source.dumbbell.loss=1.5", &["source.dumbbell.loss", "largest"]),
    ("source.dumbbell.loss=nan", &["not a finite number"]),
    ("source.dumbbell.pairs=10000000", &["100000"]),
    ("source.dumbbell.rtt=[\"1 ms\", \"2 ms\"]", &["2 round-trip times for 1 pairs"]),
    ("source.dumbell.rtt=1 ms", &["did you mean \"dumbbell\""]),
    ("flow.0.start=10 s", &["flow.0.start", "after the end"]),
    ("flow.0.stop=0 s", &["flow.0.stop", "must be after the start"]),
    ("flow.0.count=10000000", &["100000"]),
    ("flow.0.cc=vegass", &["no such congestion control"]),
    ("flow.0.from=s1", &["flow.0.to", "from and to must be given together"]),
    ("flow.0.bytes=0 B", &["zero"]),
    ("flow.0.cc_params.beta=0.5", &["named congestion control", "[cc.SCHEME]"]),
    ("flow.5.cc=cubic", &["flow has 1 entries"]),
    ("flow=3", &["[[flow]]"]),
    ("tcp.init_cwnd=0", &["tcp.init_cwnd", "1 to 100000"]),
    ("tcp.init_cwdn=2", &["did you mean \"init_cwnd\""]),
    ("cc.cubci.beta=0.5", &["did you mean \"cubic\""]),
    ("cc.newreno.nonsense=0.5", &["cc.newreno.nonsense", "unknown parameter"]),
    ("handover.outage=uniform(120 ms, 45 ms)", &["larger"]),
    ("handover.mode=flsh", &["did you mean \"flush\""]),
    (
        "flow.0={app=\"on-off\", on=\"0 s\", off=\"0 s\"}",
        &["flow.0.on", "the mean duration is too short", "app = \"bulk\""],
    ),
    (
        "flow.0={app=\"on-off\", off=\"exponential(1 us)\"}",
        &["flow.0.off", "the mean duration is too short", "100 us"],
    ),
    ("flow.0={app=\"cbr\", rate=\"9 Tbit\", size=28}", &["flow.0.rate", "reduce the rate"]),
    ("schedule.every=0 s", &["schedule.every"]),
    ("schedule.first=1 s", &["one of every, file, recipe is required"]),
    ("node.london.place=London", &["requires a [source.constellation]"]),
    ("nonsense", &["key=value"]),
    ("run..x=1", &["key=value"]),
];

#[test]
fn the_good_scenario_is_good() {
    let s = read(GOOD, &[]).unwrap();
    assert_eq!(s.schemes(&[]).unwrap(), ["newreno"]);
    let again = read(&s.resolved_toml, &[]).unwrap();
    assert_eq!(again.resolved_toml, s.resolved_toml, "what the manifest keeps can be read again");
}

#[test]
fn every_spoiled_scenario_is_refused_in_words() {
    for (set, words) in SPOILS {
        let e = read(GOOD, &[set]).map(|_| ()).expect_err(set);
        for w in *words {
            assert!(e.contains(w), "{set}\n  says: {e}\n  but not: {w}");
        }
        // A missing key has no place of its own, so that of the section is given.
        assert!(e.contains("--set") || e.contains("s.toml:"), "{set}: where? {e}");
    }
}

#[test]
fn several_problems_are_reported_at_once_with_their_lines() {
    let text = GOOD.replace("20 Mbit", "20 MB").replace("duration", "durration");
    let e = read(&text, &[]).unwrap_err();
    assert!(e.contains("s.toml:7: port.bottleneck.rate") && e.contains("s.toml:2: run.durration"), "{e}");
    // Each problem once: the misspelt key is not missing as well, and a value is quoted once.
    assert!(e.contains("did you mean \"duration\"?") && !e.contains("required key is missing"), "{e}");
    assert_eq!(e.matches("20 MB").count(), 1, "{e}");
    let e = read(GOOD, &["run.duration=true"]).unwrap_err();
    assert_eq!(e.matches("a time such as").count(), 1, "{e}");
}

#[test]
fn things_that_are_missing_are_named() {
    let e = read("", &[]).unwrap_err();
    assert!(e.contains("run.duration: required key is missing"), "{e}");
    let e = read("[run]\nduration = \"1 s\"\n[source.dumbbell]\nrtt = \"20 ms\"\n", &[]).unwrap_err();
    assert!(e.contains("flow: required key is missing") && e.contains("or a [demand]"), "{e}");
    let e = read(&GOOD.replace("cc = [\"newreno\"]", ""), &[]).unwrap().schemes(&[]).unwrap_err().to_string();
    assert!(e.contains("--cc"), "{e}");
    let e = read(GOOD, &[]).unwrap().schemes(&["renno".into()]).unwrap_err().to_string();
    assert!(e.contains("no such congestion control"), "{e}");
    let own = GOOD.replace("cc = \"*\"", "cc = \"bbr\"");
    let e = read(&own, &[]).unwrap().schemes(&["cubic".into()]).unwrap_err().to_string();
    assert!(
        e.contains("--cc (or run.cc) cubic has no effect: every flow names its congestion control"),
        "{e}"
    );
    assert!(e.contains("set cc = \"*\""), "{e}");
}

#[test]
fn two_nodes_with_one_name_are_refused_with_the_line() {
    let text = "[node.a]\nplace = \"London\"\n[node.a]\nplace = \"Paris\"\n";
    assert!(read(text, &[]).unwrap_err().starts_with("s.toml:3"), "{:?}", read(text, &[]));
}

#[test]
fn a_scheduled_rate_of_zero_is_allowed() {
    let text = format!("{GOOD}[[change]]\nat = \"1 s\"\nrate = \"0 bit\"\n");
    assert!(read(&text, &[]).is_ok());
}

#[test]
fn files_extend_each_other_and_circles_are_noticed() {
    let folder = std::env::temp_dir().join(format!("perigee-extends-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("base.toml", GOOD);
    write("child.toml", "extends = \"base.toml\"\n[run]\nseed = 9\n");
    write("circle.toml", "extends = \"circle.toml\"\n");
    write("orphan.toml", "extends = \"nowhere.toml\"\n");
    let load = |name: &str| Scenario::load(&folder.join(name), &[]).map_err(|e| e.to_string());
    let child = load("child.toml").unwrap();
    assert_eq!((child.run.seed, child.run.duration.0), (9, 10_000_000_000));
    assert!(load("circle.toml").unwrap_err().contains("circle"));
    assert!(load("orphan.toml").unwrap_err().contains("orphan.toml:1: extends: cannot read"));
    assert!(load("absent.toml").unwrap_err().contains("cannot read"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn garbage_never_panics() {
    for text in
        ["\u{0}", "[", "[[flow]", "a = {b = ", "[run]\nduration = [[[1]]]", "flow = [1, 2]", "= 1", "é = 'ü'"]
    {
        let _ = read(text, &[]);
        let _ = read(GOOD, &[text]);
    }
}

fn shipped(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        match entry.extension().is_some_and(|e| e == "toml") {
            _ if entry.is_dir() => shipped(&entry, found),
            true => found.push(entry),
            false => {}
        }
    }
}

/// Paths of all tables and values of a document, as keys from the root.
fn places(value: &toml::Value, here: &[String], found: &mut Vec<Vec<String>>) {
    let mut below = |key: String, inner: &toml::Value| {
        let place = [here, &[key]].concat();
        places(inner, &place, found);
        found.push(place);
    };
    match value {
        toml::Value::Table(t) => t.iter().for_each(|(key, inner)| below(key.clone(), inner)),
        toml::Value::Array(l) => l.iter().enumerate().for_each(|(i, inner)| below(i.to_string(), inner)),
        _ => {}
    }
}

fn at<'a>(value: &'a mut toml::Value, place: &[String]) -> &'a mut toml::Value {
    let Some((first, rest)) = place.split_first() else { return value };
    match value {
        toml::Value::Array(l) => at(&mut l[first.parse::<usize>().unwrap()], rest),
        other => at(other.get_mut(first).unwrap(), rest),
    }
}

fn without(document: &toml::Value, place: &[String]) -> String {
    let mut document = document.clone();
    let (last, parent) = place.split_last().unwrap();
    match at(&mut document, parent) {
        toml::Value::Array(l) => drop(l.remove(last.parse().unwrap())),
        toml::Value::Table(t) => drop(t.remove(last)),
        _ => unreachable!("a place has a parent"),
    }
    toml::to_string(&document).unwrap()
}

#[test]
fn shipped_scenarios_that_lack_anything_are_read_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["scenarios", "studies/perigee_studies/scenarios", "python/perigee_lab/templates"] {
        shipped(&root.join(folder), &mut files);
    }
    let mut refused = 0;
    for file in &files {
        let folder = file.parent().unwrap();
        let whole: toml::Value = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut all = Vec::new();
        places(&whole, &[], &mut all);
        for place in all {
            let text = without(&whole, &place);
            let read = Scenario::parse(&text, "s.toml", folder, &[]);
            refused += usize::from(read.is_err());
            // A sky takes a while to build; keys missing in its file are found before that.
            let small = read.ok().filter(|s| !matches!(s.source, Source::Constellation(_)));
            let _ = small.map(|s| World::build(Arc::new(s), 1));
        }
    }
    assert!(files.len() > 50 && refused > 100, "{} files, {refused} refused", files.len());
}

#[test]
fn a_hundred_thousand_flows_without_names_are_named() {
    let build = |text: &str| World::build(Arc::new(read(text, &[]).unwrap()), 1).map_err(|e| e.to_string());
    let arrivals = GOOD.replace("cc = \"*\"", "cc = \"newreno\"\narrivals = \"100 us\"\nobject = \"1 kB\"");
    let world = build(&arrivals).unwrap();
    assert_eq!((world.flows.len(), world.flows[99_999].name.as_str()), (100_000, "s1->d1.100000"));
    let e = build(&arrivals.replace("100 us", "99 us")).err().unwrap();
    assert!(e.contains("too many flows"), "{e}");
    let pairs = GOOD.replace("rtt = ", "pairs = 100000\nrtt = ");
    let world = build(&pairs).unwrap();
    assert_eq!((world.flows.len(), world.flows[99_999].name.as_str()), (100_000, "s100000->d100000"));
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_device_is_refused_wherever_a_file_is_named() {
    let folder = std::env::temp_dir().join(format!("perigee-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let e = read(&format!("extends = {pipe:?}\n{GOOD}"), &[]).unwrap_err();
    assert!(e.contains("s.toml:1: extends: cannot read") && e.contains("is a pipe, not a file"), "{e}");
    let sky = "[run]\nduration = \"1 s\"\n[node.a]\nplace = \"London\"\n[node.b]\nplace = \"Paris\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    for named in [
        format!("[source.trace]\nrate_file = {pipe:?}\n"),
        format!("[source.path_log]\nfile = {pipe:?}\n"),
        format!("[source.timeline]\nfile = {pipe:?}\n"),
        format!("[source.dumbbell]\n[schedule]\nfile = {pipe:?}\n"),
        format!("[source.constellation]\ntle = {pipe:?}\n{sky}"),
        format!("[source.constellation]\npreset = \"starlink-shell1\"\n[[nodes]]\nfile = {pipe:?}\n"),
    ] {
        let text = if named.contains("[run]") {
            named
        } else {
            format!("{named}[run]\nduration = \"1 s\"\n[[flow]]\n")
        };
        let built = read(&text, &[]).and_then(|s| World::build(Arc::new(s), 1).map_err(|e| e.to_string()));
        let e = built.err().unwrap_or_else(|| panic!("{text} was read"));
        assert!(e.contains("it is a pipe, not a file"), "{e}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn keys_of<'a>(kinds: &[&'a Section], name: &str) -> Vec<&'a str> {
    kinds.iter().filter(|k| k.name == name).flat_map(|k| k.keys).map(|k| k.name).collect()
}

#[test]
fn keys_of_another_application_or_schedule_are_refused_in_a_sentence() {
    let mut tried = 0;
    for (kinds, text) in [(APPS, "flow=[{{app=\"{}\", {}=1}}]"), (SCHEDULES, "schedule={{{}=1, {}=1}}")] {
        for kind in kinds {
            let own = keys_of(kinds, kind.name);
            let others = kinds.iter().flat_map(|k| k.keys).map(|k| k.name).filter(|k| !own.contains(k));
            for key in others {
                let set = text
                    .replacen("{}", kind.name, 1)
                    .replacen("{}", key, 1)
                    .replace("{{", "{")
                    .replace("}}", "}");
                let e = read(GOOD, &[&set]).err().unwrap_or_else(|| panic!("{set} was read"));
                // Of two keys that select a schedule, the one that comes first in the grammar
                // applies.
                let says = [format!(".{key}: no effect"), format!(".{}: no effect", kind.name)];
                assert!(says.iter().any(|s| e.contains(s)) && e.contains("remove it"), "{set}: {e}");
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "{tried}");
    for source in sources::Sources::SECTION.keys.iter().filter(|s| s.name != "dumbbell") {
        let Content::One(section) = source.content else { panic!() };
        let Content::One(own) =
            sources::Sources::SECTION.keys.iter().find(|k| k.name == "dumbbell").unwrap().content
        else {
            panic!()
        };
        for key in section.keys.iter().filter(|k| own.keys.iter().all(|o| o.name != k.name)) {
            let set = format!("source.dumbbell.{}=1", key.name);
            let e = read(GOOD, &[&set]).map(|_| ()).unwrap_err();
            assert!(e.contains(&format!("source.dumbbell.{}: unknown key", key.name)), "{set}: {e}");
        }
    }
}

#[test]
fn handovers_after_the_end_are_not_reached_where_an_override_shortens_the_run() {
    let sky = GOOD.replace("[source.dumbbell]\nrtt = \"50 ms\"", "[source.constellation]\npreset = \"starlink-shell1\"\n[handover]\nevery = \"2 s\"\nfirst = \"5 s\"\n[node.a]\nplace = \"London\"\n[node.b]\nplace = \"Paris\"");
    let sky = sky.replace("[port.bottleneck]", "[port.ground]");
    assert_eq!(read(&sky, &[]).unwrap().handover.first.unwrap().as_secs_f64(), 5.0);
    let short = read(&sky, &["run.duration=5 s"]).unwrap();
    assert_eq!((short.handover.every, short.handover.first), (None, None));
    assert_eq!(short.remarks.len(), 2, "{:?}", short.remarks);
    let says =
        "handover.first: no effect: the first forced handover is at 5 s, the run ends at 5 s; use an earlier";
    assert!(short.remarks[0].contains(says), "{:?}", short.remarks);
    let again = read(&short.resolved_toml, &[]).unwrap();
    assert!(again.remarks.is_empty(), "{:?}", again.remarks);
    assert_eq!((again.handover.every, again.handover.first), (None, None));
    for (text, sets) in
        [(sky.replace("10 s", "5 s"), vec![]), (sky.clone(), vec!["run.duration=5 s", "handover.first=6 s"])]
    {
        let e = read(&text, &sets).map(|_| ()).unwrap_err();
        assert!(e.contains("handover.first: no effect: the first forced handover is at"), "{e}");
    }
}

#[test]
fn changes_and_failures_after_the_end_are_not_reached_where_an_override_shortens_the_run() {
    let text = "[run]\nduration = \"120 s\"\n[source.constellation]\npreset = \"iridium\"\n[node.g]\nkind = \"station\"\n\
        place = \"London\"\n[demand]\nset = \"cities\"\ncount = 3\nterminals = 1000\n\
        [[demand.failure]]\ngateway = \"g\"\nat = \"15 s\"\n[[demand.failure]]\ngateway = \"g\"\nat = \"60 s\"\n\
        [[change]]\non = \"g\"\nat = \"60 s\"\noutage = \"15 s\"\n";
    let counts = |s: &Scenario| (s.changes.len(), s.demand.as_ref().unwrap().keys.failure.len());
    assert_eq!(counts(&read(text, &[]).unwrap()), (1, 2));
    let short = read(text, &["run.duration=60 s"]).unwrap();
    assert_eq!(counts(&short), (0, 1));
    let says = [
        "change.0: no effect: it is at 60 s, the run ends at 60 s; use a longer run.duration",
        "demand.failure.1: no effect: it is at 60 s, the run ends at 60 s",
    ];
    assert_eq!(short.remarks.len(), 2, "{:?}", short.remarks);
    assert!(short.remarks.iter().zip(says).all(|(r, says)| r.contains(says)), "{:?}", short.remarks);
    let again = read(&short.resolved_toml, &[]).unwrap();
    assert_eq!((counts(&again), again.remarks.len()), ((0, 1), 0), "{:?}", again.remarks);
    for (text, sets) in [
        (text.replace("120 s", "60 s"), vec![]),
        (text.into(), vec!["run.duration=60 s", "change=[{on=\"g\", at=\"60 s\", outage=\"15 s\"}]"]),
    ] {
        let e = read(&text, &sets).map(|_| ()).unwrap_err();
        assert!(e.contains("change.0.at: must be before the end of the run (60 s)"), "{e}");
    }
}

#[test]
fn keys_that_wait_for_another_one_are_refused_without_it() {
    let sky = GOOD.replace("[source.dumbbell]\nrtt = \"50 ms\"", "[source.constellation]\npreset = \"starlink-shell1\"\n[node.a]\nplace = \"London\"\n[node.b]\nplace = \"Paris\"");
    let sky = sky.replace("[port.bottleneck]", "[port.ground]");
    let no_effect = |text: &str, set: &str| {
        let e = read(text, &[set]).err().unwrap_or_else(|| panic!("{set} was read"));
        assert!(e.contains("no effect"), "{set}: {e}");
        e
    };
    assert!(read(&sky, &[]).is_ok());
    for set in [
        "source.dumbbell={rtt_at=\"even\", bottleneck_delay=\"1 ms\"}",
        "change=[{at=\"1 s\", rate=\"1 Mbit\", mode=\"hold\"}]",
        "jitter={preset=\"geo\", loss_slot=\"1 s\"}",
        "flow.0.object=1 kB",
        "flow.0={arrivals=\"1 s\", object=\"1 kB\", bytes=\"1 kB\"}",
        "flow.0.via_spoof=false",
        "flow.0={app=\"ping\", cc=\"cubic\"}",
        "flow.0={app=\"cbr\", rate=\"1 Mbit\", tcp={sack=false}}",
        "handover={outage=\"1 s\"}",
    ] {
        no_effect(GOOD, set);
    }
    for key in [
        "longitude=\"5 deg\"",
        "hold=\"5 s\"",
        "load_delay=\"1 ms\"",
        "load_demand=\"1 Mbit\"",
        "load_period=\"1 s\"",
        "min_altitude=\"400 km\"",
        "breaks=\"none\"",
    ] {
        let e = no_effect(&sky, &format!("source.constellation={{preset=\"starlink-shell1\", {key}}}"));
        assert!(e.contains("remove it, or"), "{e}");
    }
    for set in [
        "flow.0={app=\"request\", object=\"1 kB\", think=\"1 s\"}",
        "flow.0={app=\"cbr\", rate=\"1 Mbit\", size=100}",
        "schedule={recipe=\"orbcc\", loss=true}",
        "schedule={every=\"1 s\", loss=0.1}",
    ] {
        assert!(read(GOOD, &[set]).is_ok(), "{set}");
    }
    no_effect(&sky, "source.constellation={preset=\"leoem-compat\", step=\"1 s\"}");
    no_effect(&sky, "node.a={place=\"London\", dishes=3}");
    assert!(read(&sky, &["handover.every=2 s", "handover.first=1 s"]).is_ok());
    no_effect(&sky, "handover.first=1 s");
    let stations = sky.replace("place", "kind = \"station\"\nplace");
    no_effect(&stations, "handover.every=2 s");
    no_effect(&sky, "handover.every=15 min");
    for preset in ["hypatia-compat-starlink", "orbtcp-compat"] {
        no_effect(&sky.replace("starlink-shell1", preset), "handover.outage=1 s");
    }
    let e = read(&sky, &["node={\"any gateway\"={place=\"Paris\"}}"]).map(|_| ()).unwrap_err();
    assert!(e.contains("any gateway") && e.contains("reserved"), "{e}");
    let e = read(&sky, &["handover.every=15.05 s"]).map(|_| ()).unwrap_err();
    assert!(e.contains("not a multiple of source.constellation.step (100 ms)"), "{e}");
    let e = no_effect(&GOOD.replace("cc = \"*\"", "cc = \"*\"\nrate = \"3 Mbit\""), "run.seed=1");
    let says = "s.toml:11: flow.0.rate: no effect with app = \"bulk\"; found \"3 Mbit\"; remove it; it belongs to app = \"cbr\"";
    assert!(e.contains(says), "{e}");
}

#[test]
fn what_an_override_makes_idle_gives_way_with_a_remark() {
    let text = GOOD.replace("cc = \"*\"", "cc = \"*\"\nbytes = \"1 MB\"");
    let s = read(&text, &["flow.0.app=ping"]).unwrap();
    assert_eq!(s.remarks.len(), 2, "{:?}", s.remarks);
    assert!(s
        .remarks
        .iter()
        .any(|r| r.starts_with("s.toml:11: flow.0.bytes: no effect with app = \"ping\"")));
    assert!(read(&text.replace("bytes", "app = \"ping\"\nbytes"), &[]).is_err());
}

#[test]
fn what_an_override_makes_idle_is_not_in_the_scenario_as_resolved() {
    let s = read(GOOD, &["flow.0.app=ping", "flow.0.interval=20 ms"]).unwrap();
    assert!(s.remarks.iter().any(|r| r.contains("flow.0.cc")), "{:?}", s.remarks);
    let again = read(&s.resolved_toml, &[]).unwrap_or_else(|e| panic!("{e}\n{}", s.resolved_toml));
    assert_eq!((again.remarks.len(), again.resolved_toml), (0, s.resolved_toml));
}
