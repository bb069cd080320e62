// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Behaviour of ns-3 3.48 around timeouts (`reduction = "ns3"`), ACK by ACK.

mod support;

use perigee_cc::CaState;
use perigee_tcp::config::{LossDetection, Reduction};
use perigee_tcp::Config;
use support::*;

/// Configuration of ns-3, without its rules of [`Reduction::Ns3`].
fn like_ns3(reduction: Reduction) -> Config {
    let loss_detection = LossDetection::DupThresh;
    Config { reduction, loss_detection, tlp: false, frto: false, undo: false, sack_rtt: false, ..plain() }
}

#[test]
fn after_a_timeout_ns3_sends_again_what_lies_below_the_highest_sack_and_then_goes_on() {
    for (reduction, then) in [(Reduction::Rfc6937, again(9..10)), (Reduction::Ns3, fresh(12..13))] {
        let mut s = Script::new("newreno", like_ns3(reduction), 100);
        s.send();
        s.now += RTT;
        // Missing are 5, 7 and all segments above 8, and the ACKs for those below 5.
        s.sacks(0, &[(6, 7)]);
        s.sacks(0, &[(8, 9), (6, 7)]);
        assert_eq!((s.sender.una_nxt(), s.wait().1), ((0, 12), again(0..1)));
        s.now += RTT;
        let sent = s.sacks(5, &[(8, 9), (6, 7)]);
        assert_eq!(sent[..3], [again(5..6), again(7..8), then].concat(), "{reduction:?}");
    }
}

#[test]
fn ns3_neither_grows_nor_restarts_its_timer_on_an_ack_that_tells_of_a_hole() {
    for (reduction, cwnd, restarts) in [(Reduction::Rfc9937, 13, true), (Reduction::Ns3, 10, false)] {
        let mut s = Script::new("newreno", like_ns3(reduction), 100);
        s.send();
        let before = s.sender.next_timer();
        s.now += RTT;
        s.sacks(2, &[(3, 4)]);
        assert_eq!((s.state(), s.cwnd()), (CaState::Disorder, cwnd), "{reduction:?}");
        assert_eq!(s.sender.next_timer() > before, restarts);
    }
}

#[test]
fn in_ns3_the_ack_that_ends_the_repair_after_a_timeout_opens_no_window() {
    for (reduction, cwnd) in [(Reduction::Rfc9937, 6), (Reduction::Ns3, 1)] {
        let mut s = Script::new("newreno", like_ns3(reduction), 10);
        s.send();
        s.now += RTT;
        s.wait();
        s.now += RTT;
        s.ack(10);
        assert_eq!((s.state(), s.cwnd()), (CaState::Open, cwnd), "{reduction:?}");
    }
}

#[test]
fn a_timeout_in_a_recovery_reduces_again_with_ns3() {
    for (reduction, ssthresh) in [(Reduction::Rfc9937, 7), (Reduction::Ns3, 4)] {
        let cfg = Config { reduction, tlp: false, frto: false, undo: false, ..plain() };
        let mut s = Script::new("cubic", cfg, 10);
        s.send();
        s.now += RTT;
        s.sacks(0, &[(4, 10)]);
        assert_eq!((s.state(), s.ssthresh()), (CaState::Recovery, 7));
        let window = s.cwnd();
        s.wait();
        assert_eq!(s.state(), CaState::Loss);
        assert_eq!(s.ssthresh(), ssthresh, "{reduction:?}: window {window}");
    }
}
