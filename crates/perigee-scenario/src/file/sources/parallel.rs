// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `[source.parallel]`.

use crate::file::error::Problem;
use crate::file::grammar::Only;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::RTT;
use crate::file::sources::{one_for_each, SourceSpec};
use perigee_timeline::SpreadBy;
use perigee_units::Nanos;

const BY_FLOWLET: &[Only] = &[Only::With("ecmp", &["flowlet"])];
const BY_TURNS: &[Only] = &[Only::With("ecmp", &["turns"])];
const PERIOD: Notation = Notation::Time(Nanos::from_micros(1), Nanos::from_secs(1000));

parameters! {
    /// `[source.parallel]`.
    Parallel = "parallel", "Senders s1, s2, … and receivers d1, d2, … on either side of parallel paths r1 -> m1 -> r2, r1 -> m2 -> r2, …, among which the data are spread (ECMP); ACKs return over the first. Base RTTs, capacities and shares in a record are those of the first path. Ports: bottleneck (m1->r2, m2->r2, …), reverse, access.";
    pairs: usize = key(Notation::Int(1, 10_000), "1", "number of sender-receiver pairs");
    paths: usize = key(Notation::Int(2, 64), "2", "number of parallel paths");
    rtt: Vec<Nanos> = key(Notation::OneOrMany(&RTT), "50 ms", "round-trip propagation time of all pairs without path_delay, or a list with one value per pair");
    path_delay: Vec<Nanos> = key(Notation::OneOrMany(&RTT), "0 s", "time that a path adds to the delay of the data: one value for all, or a list with one per path");
    ecmp: String = key(Notation::Word(&["flow", "flowlet", "packet", "turns"]), "flow", "choice of the path: flow = by a hash of the flow; flowlet = drawn again after each gap of flowlet_gap in the packets of a flow; packet = drawn for each packet; turns = a path that flaps: all packets take the first for the time turn, then the next, and so on");
    flowlet_gap: Nanos = key(PERIOD, "10 ms", "shortest gap between packets of a flow after which its path is drawn again"), only BY_FLOWLET;
    turn: Nanos = key(PERIOD, "1 s", "time for which all packets take the same path"), only BY_TURNS;
}

impl SourceSpec for Parallel {
    fn check(self, problems: &mut Vec<Problem>) -> Option<Self> {
        let rtt = one_for_each(&self.written, &self.rtt, self.pairs, problems)?;
        let path_delay = match self.path_delay[..] {
            [one] => vec![one; self.paths],
            ref each if each.len() == self.paths => each.to_vec(),
            ref some => {
                let why = format!("{} delays for {} paths", some.len(), self.paths);
                problems.push(self.written.problem("path_delay", why).allowed("one, or one per path"));
                return None;
            }
        };
        Some(Parallel { rtt, path_delay, ..self })
    }
}

impl Parallel {
    /// Choice among the paths.
    pub fn by(&self) -> SpreadBy {
        match self.ecmp.as_str() {
            "flowlet" => SpreadBy::Flowlet(self.flowlet_gap),
            "packet" => SpreadBy::Packet,
            "turns" => SpreadBy::Turns(self.turn),
            _ => SpreadBy::Flow,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::file::scenario::Scenario;
    use std::path::Path;

    fn read(keys: &str) -> Result<Scenario, String> {
        let text = format!("[run]\nduration = \"1 s\"\n[source.parallel]\n{keys}\n[[flow]]\ncc = \"cubic\"\n");
        Scenario::parse(&text, "s", Path::new("/"), &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn gaps_and_turns_are_keys_of_their_choices_alone() {
        for keys in ["", "ecmp = \"flowlet\"\nflowlet_gap = \"1 ms\"", "ecmp = \"turns\"\nturn = \"1 ms\""] {
            assert!(read(keys).is_ok(), "{keys}");
        }
        for keys in ["flowlet_gap = \"1 ms\"", "ecmp = \"packet\"\nturn = \"1 ms\""] {
            assert!(read(keys).expect_err(keys).contains("no effect"), "{keys}");
        }
    }

    #[test]
    fn there_is_a_delay_for_each_path_or_one_for_all() {
        assert!(read("paths = 3\npath_delay = [\"0 s\", \"1 ms\", \"2 ms\"]").is_ok());
        let error = read("path_delay = [\"0 s\", \"1 ms\", \"2 ms\"]").expect_err("two paths");
        assert!(error.contains("3 delays for 2 paths"), "{error}");
    }
}
