// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replay of packets that arrived at Linux receivers: this receiver must acknowledge them at the
//! same times, with the same blocks.
//!
//! Recorded on real hosts by docs/make/acknowledgements.py, where the columns are documented.

use flate2::read::GzDecoder;
use perigee_tcp::{AckBlocks, Config, Receiver, Seg};
use perigee_units::Nanos;
use std::io::Read;

/// A packet that arrived, or an ACK that was sent.
enum Event {
    Data { seg: Seg, stamp: u32, push: bool, echo: u32 },
    Ack(Told),
}

/// Fields of an ACK, its blocks in order.
#[derive(Debug, PartialEq)]
struct Told {
    at: Nanos,
    ack: Seg,
    blocks: Vec<(Seg, Seg)>,
}

impl Told {
    fn new(at: Nanos, ack: Seg, mut blocks: Vec<(Seg, Seg)>) -> Self {
        blocks.sort_unstable();
        Told { at, ack, blocks }
    }

    fn of(at: Nanos, a: &AckBlocks) -> Self {
        Told::new(at, a.ack, a.sacks().iter().copied().chain(a.dsack).collect())
    }
}

fn recording(name: &str) -> Vec<(Nanos, Event)> {
    let path = format!("{}/tests/recorded/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut above = [[0i64; 5]; 2];
    let event = |line: &str| {
        let words: Vec<&str> = line.split(',').collect();
        let (is_data, columns) = (words[0] == "D", if words[0] == "D" { 5 } else { 2 });
        let here = &mut above[usize::from(is_data)];
        for (value, word) in here.iter_mut().zip(&words[1..=columns]) {
            *value += word.parse::<i64>().unwrap();
        }
        let at = Nanos(here[0] as u64);
        if is_data {
            let [_, seg, stamp, push, echo] = *here;
            return (
                at,
                Event::Data { seg: seg as Seg, stamp: stamp as u32, push: push == 1, echo: echo as u32 },
            );
        }
        let edge = |word: &str| word.parse::<Seg>().unwrap();
        let block = |word: &&str| word.split_once('-').map(|(s, e)| (edge(s), edge(e))).unwrap();
        (at, Event::Ack(Told::new(at, here[1] as Seg, words[3..].iter().map(block).collect())))
    };
    text.lines().map(event).collect()
}

/// ACKs of this receiver and of Linux for the same packets.
fn played(name: &str, change: impl FnOnce(&mut Config)) -> (Vec<Told>, Vec<Told>) {
    let mut config = Config::default();
    change(&mut config);
    let events = recording(name);
    let mut receiver = Receiver::new(&config, config.delayed_ack, events[0].0);
    if config.sack_compression {
        receiver.compress_sacks(Some(Nanos::from_millis(20)));
    }
    let (mut ours, mut theirs) = (vec![], vec![]);
    for (now, event) in events {
        while receiver.deadline() <= now {
            let at = receiver.deadline();
            ours.extend(receiver.on_timer(at).map(|a| Told::of(at, &a)));
        }
        match event {
            Event::Ack(told) => theirs.push(told),
            Event::Data { seg, stamp, push, echo } => {
                receiver.on_echo(now, echo);
                ours.extend(receiver.on_data(now, seg, stamp, push).map(|a| Told::of(now, &a)));
            }
        }
    }
    // The recording may end while an ACK is pending.
    theirs.truncate(ours.len());
    (ours, theirs)
}

/// Compares both: equal ACKs, those of Linux at the same time or earlier by up to the slack of the
/// compression timer (another timer of the host may trigger it). Returns the number of differences.
fn different(ours: &[Told], theirs: &[Told]) -> usize {
    const SLACK: Nanos = Nanos::from_micros(100);
    const CLOCK: Nanos = Nanos::from_micros(2);
    let same = |(a, b): &(&Told, &Told)| {
        let on_time = b.at <= a.at + CLOCK && a.at <= b.at + SLACK + CLOCK;
        a.ack == b.ack && a.blocks == b.blocks && on_time
    };
    ours.iter().zip(theirs).filter(|pair| !same(pair)).count() + ours.len().abs_diff(theirs.len())
}

const RECORDINGS: [&str; 3] = ["bbr-short-queue", "bbr-loss", "cubic-loss"];

#[test]
fn every_ack_of_a_kernel_is_ours() {
    for name in RECORDINGS {
        let (ours, theirs) = played(name, |_| {});
        assert!(theirs.len() > 1000, "{name}: {} ACKs", theirs.len());
        let first = ours.iter().zip(&theirs).find(|(a, b)| a.ack != b.ack || a.blocks != b.blocks);
        assert_eq!(different(&ours, &theirs), 0, "{name}, of {}: {first:?}", theirs.len());
    }
}

#[test]
fn a_receiver_with_another_rule_answers_otherwise() {
    type Change = fn(&mut Config);
    let changes: [(&str, Change); 5] = [
        ("no bundles", |c| c.sack_compression = false),
        ("no ACK at once for the end of a burst", |c| c.push_acks = false),
        ("an ACK for each packet", |c| c.delayed_ack = 1),
        ("fewer quick ACKs", |c| c.quickack = 8),
        ("a window that is whole at once", |c| c.rmem = 0),
    ];
    for (what, change) in changes {
        let noticed = RECORDINGS.iter().any(|name| {
            let (ours, theirs) = played(name, change);
            different(&ours, &theirs) > 0
        });
        assert!(noticed, "{what}");
    }
}
