// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Metrics of `[[expect]]`, each with its bounds in its unit and keys of its own.

use crate::file::grammar::Section;
use crate::file::notation::Notation;
use crate::file::parameters::parameters;
use crate::file::rows::ANY_TIME;
use perigee_units::{BitRate, Nanos};

const SHARE: Notation = Notation::Share(0.0, 10.0);
const QUANTILE: Notation = Notation::Share(0.0, 1.0);
const NUMBER: Notation = Notation::Number(-1e18, 1e18);
const COUNT: Notation = Notation::Number(0.0, 1e15);

/// Declares a metric: its name, help, notation of bounds with its type, and its other keys.
macro_rules! metrics {
    ($($name:ident = $word:literal, $notation:expr, $ty:ty, $help:literal;
        $({ $($field:ident: $field_ty:ty = $form:ident($($arg:expr),*);)* })?
    )*) => {
        $(parameters! {
            #[doc = concat!("`metric = \"", $word, "\"`.")]
            $name = $word, $help;
            $($($field: $field_ty = $form($($arg),*);)*)?
            at_least: Option<$ty> = optional($notation, "lower bound");
            at_most: Option<$ty> = optional($notation, "upper bound");
            near: Option<$ty> = optional($notation, "target value, with a deviation of at most `within`");
        })*

        /// All metrics.
        pub const METRICS: &[&Section] = &[$(&$name::SECTION),*];
        /// Their names.
        pub const NAMES: &[&str] = &[$($word),*];
    };
}

/// The keys of a metric.
pub fn of(name: &str) -> &'static Section {
    METRICS.iter().find(|m| m.name == name).expect("the grammar knows no other")
}

metrics! {
    Goodput = "goodput", Notation::Rate, BitRate, "Payload delivered to the receiving application, averaged over the window.";
    Share = "share", SHARE, f64, "Goodput as a fraction of the capacity of the path. With from, until or flow, the flows must share their bottleneck.";
    Rtt = "rtt", ANY_TIME, Nanos, "RTT samples of the transport; with from or until, their means over each run.sample.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile, in place of the mean, such as \"95 %\""); }
    Queue = "queue", ANY_TIME, Nanos, "Queueing delay: RTT in excess of that of the empty path, as means over each run.sample.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile, in place of the mean"); }
    Loss = "loss", SHARE, f64, "Data packets that the sender marked lost, as a fraction of those sent; with real hosts, retransmitted packets.";
    Timeouts = "timeouts", COUNT, f64, "Number of retransmission timeouts.";
    Undos = "undos", COUNT, f64, "Number of reductions undone as spurious.";
    Jain = "jain", SHARE, f64, "Jain's fairness index of the flows' payload over the window, while all of them are active.";
    Completion = "completion", ANY_TIME, Nanos, "Completion times of transfers and requested objects that started in the window; unfinished transfers count as infinite.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile, in place of the mean"); }
    Convergence = "convergence", ANY_TIME, Nanos, "Time from the start of the last flow (or `from`) until the goodput of every flow stays near its fair share; infinite if it never does. The fair share of a single flow is the capacity of its path.";
        {
            tolerance: f64 = key(Notation::Share(0.0, 1.0), "0.25", "maximum deviation from the fair share, as a fraction of it");
            over: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "1 s", "averaging interval of the goodputs");
            hold: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "5 s", "time for which goodputs must stay near the fair share");
        }
    Rise = "rise", ANY_TIME, Nanos, "Time from the start of the last flow (or `from`) until the flows together deliver a given fraction of the capacity of their path, over one run.sample; infinite if they never do.";
        { level: f64 = key(SHARE, "0.9", "fraction of the capacity"); }
    RiseRounds = "rise_rounds", COUNT, f64, "As rise, in round trips of the empty path.";
        { level: f64 = key(SHARE, "0.9", "fraction of the capacity"); }
    Visits = "visits", COUNT, f64, "Number of times that the congestion control enters a state (its initial state counts).";
        {
            state: String = required(Notation::Text, "name of the state, as in column mode of the table flows");
            previous: Option<String> = optional(Notation::Text, "count only entries from this state");
        }
    Reached = "reached", ANY_TIME, Nanos, "Time from the start of the flow (or `from`) until a state is entered; infinite if it never is.";
        {
            state: String = required(Notation::Text, "name of the state");
            previous: Option<String> = optional(Notation::Text, "count only entries from this state");
        }
    Stay = "stay", ANY_TIME, Nanos, "Duration of the visits to a state that start in the window and end before the run does.";
        {
            state: String = required(Notation::Text, "name of the state");
            quantile: f64 = key(QUANTILE, "1", "quantile of the durations: 1 = longest, 0 = shortest");
        }
    StayRounds = "stay_rounds", COUNT, f64, "As stay, in round trips of the empty path.";
        {
            state: String = required(Notation::Text, "name of the state");
            quantile: f64 = key(QUANTILE, "1", "quantile of the durations: 1 = longest, 0 = shortest");
        }
    Variable = "variable", NUMBER, f64, "A variable of the congestion control or of its transport: a numeric column of the table flows, in its unit.";
        {
            variable: String = required(Notation::Text, "name of the column, without cc_ for variables of the congestion control: max_bw_bps, cwnd_bytes");
            state: Option<String> = optional(Notation::Text, "use only samples in this state of the congestion control");
            quantile: Option<f64> = optional(QUANTILE, "quantile of the samples, in place of the mean: 0 = minimum, 1 = maximum");
        }
    Column = "column", NUMBER, f64, "A column of summary.csv (`perigee columns` lists them), in its unit.";
        { column: String = required(Notation::Text, "name of the column, such as page_p95_s or mos"); }
}
