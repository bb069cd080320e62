// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schemes of the OrbCC authors' simulator on its own TCP, over one link.

mod support;
use perigee_cc::Value;
use perigee_sim::*;
use perigee_tcp::Config;
use perigee_timeline::*;
use support::*;

const SCHEMES: [&str; 4] = ["cubic", "bbr", "bbr3", "leocc_omnet"];

/// Transport options of the profile `inet`.
fn tcp() -> Config {
    let config = Config::default();
    let rto = perigee_tcp::config::RtoRule { rfc6298_gain: Some(8), ..config.rto };
    Config { rto, delayed_ack: 1, sack_compression: false, init_ssthresh: 400, initial_rto: s(3), ..config }
}

fn flow_of(built: &perigee_sources::topology::Built, cc: &str, app: App) -> FlowSetup {
    let model = [("variant", Value::Text("inet".into()))];
    FlowSetup { tcp: tcp(), app, ..flow_with(built, 0, cc, &model) }
}

/// Goodput in Mbit/s after two seconds, over 20 Mbit/s and 50 ms for 20 s.
fn goodput(cc: &str, loss: f64, changes: Vec<Timed>) -> (f64, FlowTotals) {
    let mut built = net(20, 125_000, &[50]);
    let link = built.bottlenecks[0].forward.link.ix();
    built.header.links[link].loss = loss;
    let f = flow_of(&built, cc, App::Bulk { bytes: None });
    let (out, _) = run(&built.timeline(s(20), changes), vec![f], 1);
    let totals = out.flows[0].clone();
    (totals.goodput_bytes as f64 * 8e-6 / 20.0, totals)
}

#[test]
fn every_model_fills_a_clean_link() {
    for cc in SCHEMES {
        let (mbit, _) = goodput(cc, 0.0, vec![]);
        assert!(mbit > 16.0, "{cc}: {mbit}");
    }
}

#[test]
fn every_model_comes_back_after_an_outage() {
    let link = net(20, 125_000, &[50]).bottlenecks[0].forward.link;
    for cc in SCHEMES {
        let outage =
            vec![change(s(4), Change::Down(link, OutageMode::Flush)), change(ms(5000), Change::Up(link))];
        let (mbit, totals) = goodput(cc, 0.0, outage);
        assert!(totals.timeouts >= 1, "{cc}");
        // LeoCC's model never probes for bandwidth: it keeps the value of its second startup.
        let least = if cc == "leocc_omnet" { 3.0 } else { 8.0 };
        assert!(mbit > least, "{cc}: {mbit}");
    }
}

#[test]
fn every_model_gets_something_through_a_lossy_link() {
    for cc in SCHEMES {
        let (mbit, totals) = goodput(cc, 0.03, vec![]);
        assert!(mbit > 0.2 && totals.retrans > 10, "{cc}: {mbit}");
    }
}

/// Sources in that simulator never end; here they may, and their last packets may be lost.
#[test]
fn a_transfer_whose_last_packets_are_lost_is_completed() {
    for cc in SCHEMES {
        for loss in [0.0, 0.05, 0.2] {
            let mut built = net(20, 125_000, &[50]);
            let link = built.bottlenecks[0].forward.link.ix();
            built.header.links[link].loss = loss;
            let f = flow_of(&built, cc, App::Bulk { bytes: Some(60_000) });
            let (out, _) = run(&built.timeline(s(120), vec![]), vec![f], 3);
            let done = out.flows[0].completed;
            assert!(done.is_some_and(|t| t < s(60)), "{cc} {loss}: {done:?}");
            assert_eq!(out.flows[0].goodput_bytes, 60_000, "{cc} {loss}");
        }
    }
}

/// The SYN has 40 bytes of TCP and 20 of IP, a bare ACK precedes the data, and SACK options share
/// the padding of the timestamps.
#[test]
fn the_handshake_ends_with_an_ack_of_its_own() {
    let built = net(20, 125_000, &[50]);
    let sent = |cc: &str, model: bool| {
        let app = App::Bulk { bytes: Some(1448) };
        let f = match model {
            true => flow_of(&built, cc, app),
            false => FlowSetup { app, ..flow(&built, 0, cc) },
        };
        run(&built.clone().timeline(s(2), vec![]), vec![f], 1).0.flows[0].sent
    };
    assert_eq!(sent("cubic", true), sent("cubic", false) + 1);
}

#[test]
fn runs_are_the_same_to_the_bit() {
    let once = |cc| goodput(cc, 0.01, vec![]).1;
    for cc in SCHEMES {
        assert_eq!(format!("{:?}", once(cc)), format!("{:?}", once(cc)), "{cc}");
    }
}
