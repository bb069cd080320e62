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
            near: Option<$ty> = optional($notation, "the value, with a deviation of at most `within`");
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
    Goodput = "goodput", Notation::Rate, BitRate, "Payload handed to the receiving application, over the window.";
    Share = "share", SHARE, f64, "The same, of what the path could carry. With from, until or flow, the flows must share their bottleneck.";
    Rtt = "rtt", ANY_TIME, Nanos, "RTT samples of the transport; with from or until, means of each run.sample.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile instead of the mean, as \"95 %\""); }
    Queue = "queue", ANY_TIME, Nanos, "RTT above that of the empty path, means of each run.sample.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile instead of the mean"); }
    Loss = "loss", SHARE, f64, "Data packets that the sender marked lost, of those sent; with real hosts those sent again.";
    Timeouts = "timeouts", COUNT, f64, "Number of retransmission timeouts.";
    Undos = "undos", COUNT, f64, "Number of reductions undone as spurious.";
    Jain = "jain", SHARE, f64, "Jain's index of the flows' payload over the window, while all of them are active.";
    Completion = "completion", ANY_TIME, Nanos, "Completion times of transfers and requested objects that started in the window; unfinished transfers count as infinite.";
        { quantile: Option<f64> = optional(QUANTILE, "quantile instead of the mean"); }
    Convergence = "convergence", ANY_TIME, Nanos, "Time from the start of the last flow (or from) until each flow's goodput stays near its fair share; infinite if it never does. A single flow's share is what its path carries.";
        {
            tolerance: f64 = key(Notation::Share(0.0, 1.0), "0.25", "largest deviation from the fair share");
            over: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "1 s", "time over which goodputs are averaged");
            hold: Nanos = key(Notation::Time(Nanos::from_millis(1), Nanos::from_secs(3600)), "5 s", "time for which they must stay");
        }
    Rise = "rise", ANY_TIME, Nanos, "Time from the start of the last flow (or from) until the flows together deliver a share of what their path carries, over one run.sample; infinite if they never do.";
        { level: f64 = key(SHARE, "0.9", "that share"); }
    RiseRounds = "rise_rounds", COUNT, f64, "The same in round trips of the empty path.";
        { level: f64 = key(SHARE, "0.9", "that share"); }
    Visits = "visits", COUNT, f64, "Number of times that a state of the scheme is entered (its first state counts).";
        {
            state: String = required(Notation::Text, "name of the state, as in the column mode of the table flows");
            previous: Option<String> = optional(Notation::Text, "entries from this state only");
        }
    Reached = "reached", ANY_TIME, Nanos, "Time from the start of the flow (or from) until a state is entered; infinite if it never is.";
        {
            state: String = required(Notation::Text, "name of the state");
            previous: Option<String> = optional(Notation::Text, "entries from this state only");
        }
    Stay = "stay", ANY_TIME, Nanos, "Time for which the scheme stays in a state, of the stays that begin in the window and end before the run does.";
        {
            state: String = required(Notation::Text, "name of the state");
            quantile: f64 = key(QUANTILE, "1", "quantile of the stays: 1 = the longest, 0 = the shortest");
        }
    StayRounds = "stay_rounds", COUNT, f64, "The same in round trips of the empty path.";
        {
            state: String = required(Notation::Text, "name of the state");
            quantile: f64 = key(QUANTILE, "1", "quantile of the stays: 1 = the longest, 0 = the shortest");
        }
    Variable = "variable", NUMBER, f64, "A variable of the scheme or of its transport: a numeric column of the table flows, in its unit.";
        {
            variable: String = required(Notation::Text, "name of the column, without cc_ for those of the scheme: max_bw_bps, cwnd_bytes");
            state: Option<String> = optional(Notation::Text, "samples in this state of the scheme only");
            quantile: Option<f64> = optional(QUANTILE, "quantile of the samples instead of the mean: 0 = smallest, 1 = largest");
        }
    Column = "column", NUMBER, f64, "A column of summary.csv (`perigee columns` lists them), in its unit.";
        { column: String = required(Notation::Text, "its name, such as page_p95_s or mos"); }
}
