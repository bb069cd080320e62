// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every kind of bad input is refused with its place, key and remedy, and nothing panics.

use perigee_scenario::Scenario;
use std::path::Path;

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

/// (an override that spoils the good scenario, words that the message must have)
const SPOILS: &[(&str, &[&str])] = &[
    ("run.duratoin=5s", &["run.duratoin", "unknown key", "did you mean \"duration\""]),
    ("run.duration=5", &["run.duration", "no unit"]),
    ("run.duration=5 parsec", &["unknown unit", "ms"]),
    ("run.duration=-5 s", &["negative"]),
    ("run.duration=1e9 s", &["largest allowed value"]),
    ("run.duration=NaN s", &["run.duration"]),
    ("run.duration=nan", &["run.duration"]),
    ("run.seed=-1", &["run.seed", "smallest"]),
    ("run.seed=1.5", &["whole number"]),
    ("run.sample=0 s", &["run.sample", "smallest"]),
    ("run.warmup=10 s", &["nothing is left"]),
    ("run.cc=[\"cubci\"]", &["run.cc", "did you mean \"cubic\""]),
    ("run.cc=[]", &["run.cc", "empty"]),
    ("port.bottleneck.rate=0 Mbit", &["zero", "outage"]),
    ("port.bottleneck.rate=-1 Mbit", &["negative"]),
    ("link.bottleneck.rate=-1 Mbit", &["negative"]),
    ("port.bottleneck.rate=1e9 Gbit", &["port.bottleneck.rate", "largest allowed value"]),
    ("port.bottleneck.queue=0 packets", &["holds nothing", "1 packets"]),
    ("port.bottleneck.queue=0 bdp", &["holds nothing"]),
    ("port.bottleneck.discipline=reed", &["drop-tail"]),
    ("port.bottleneck.framing=1000000", &["256"]),
    ("port.bottleneck=5", &["must be a table"]),
    ("source.chain.links=3", &["more than one source", "chain", "dumbbell"]),
    ("source.dumbbell.loss=1.5", &["source.dumbbell.loss", "largest"]),
    ("source.dumbbell.loss=nan", &["not a finite number"]),
    ("source.dumbbell.pairs=10000000", &["100000"]),
    ("source.dumbbell.rtt=[\"1 ms\", \"2 ms\"]", &["2 round-trip times for 1 pairs"]),
    ("source.dumbell.rtt=1 ms", &["did you mean \"dumbbell\""]),
    ("flow.0.start=10 s", &["flow.0.start", "after the end"]),
    ("flow.0.stop=0 s", &["flow.0.stop", "not after its start"]),
    ("flow.0.count=10000000", &["100000"]),
    ("flow.0.cc=vegass", &["no such congestion control"]),
    ("flow.0.from=s1", &["flow.0.to", "other end"]),
    ("flow.0.bytes=0 B", &["zero"]),
    ("flow.0.cc_params.beta=0.5", &["named scheme", "[cc.SCHEME]"]),
    ("flow.5.cc=cubic", &["flow has 1 entries"]),
    ("flow=3", &["[[flow]]"]),
    ("tcp.init_cwnd=0", &["tcp.init_cwnd", "1 to 100000"]),
    ("tcp.init_cwdn=2", &["did you mean \"init_cwnd\""]),
    ("cc.cubci.beta=0.5", &["did you mean \"cubic\""]),
    ("cc.newreno.nonsense=0.5", &["cc.newreno.nonsense", "unknown parameter"]),
    ("handover.outage=uniform(120 ms, 45 ms)", &["larger"]),
    ("handover.mode=flsh", &["did you mean \"flush\""]),
    ("schedule.every=0 s", &["schedule.every"]),
    ("schedule.first=1 s", &["give one of file, recipe and every"]),
    ("node.london.place=London", &["belongs to a constellation"]),
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
        // What is missing has no place of its own: the section's is given.
        assert!(e.contains("--set") || e.contains("s.toml:"), "{set}: where? {e}");
    }
}

#[test]
fn several_problems_are_reported_at_once_with_their_lines() {
    let text = GOOD.replace("20 Mbit", "20 MB").replace("duration", "durration");
    let e = read(&text, &[]).unwrap_err();
    assert!(e.contains("s.toml:7: port.bottleneck.rate") && e.contains("s.toml:2: run.durration"), "{e}");
    assert!(e.contains("run.duration: must be given"), "{e}");
}

#[test]
fn things_that_are_missing_are_named() {
    let e = read("", &[]).unwrap_err();
    assert!(e.contains("flow: must be given"), "{e}");
    let e = read(&GOOD.replace("cc = [\"newreno\"]", ""), &[]).unwrap().schemes(&[]).unwrap_err().to_string();
    assert!(e.contains("--cc"), "{e}");
    let e = read(GOOD, &[]).unwrap().schemes(&["renno".into()]).unwrap_err().to_string();
    assert!(e.contains("no such congestion control"), "{e}");
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
