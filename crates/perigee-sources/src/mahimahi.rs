// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recorded rates and delays in the formats of mahimahi and LeoReplayer.
//!
//! A rate file has a line for each opportunity to deliver 1500 bytes: its time in milliseconds.
//! Opportunities are counted over a window (such as 100 ms) and determine the rate of that window;
//! shorter windows follow the trace more closely, but starve packets between two opportunities. A
//! delay file has a line per step (10 ms): the one-way delay, in milliseconds, of packets that
//! enter in that step.

use crate::line_error::{lines, TraceError};
use perigee_timeline::*;
use perigee_units::{BitRate, Nanos};

/// Bytes of one delivery opportunity.
const OPPORTUNITY_BYTES: u64 = 1500;

/// Behaviour when a trace ends before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// The trace repeats (mahimahi).
    #[default]
    Loop,
    /// The last value is held.
    Hold,
}

/// Delivery opportunities by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// Times in milliseconds, in order.
    pub opportunities_ms: Vec<u64>,
}

/// Delays, one per step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayTrace {
    /// One-way delays.
    pub delays: Vec<Nanos>,
    /// Time between entries.
    pub step: Nanos,
}

/// Maximum plausible trace and delay.
const MAX_TRACE_MS: u64 = 6 * 3_600_000;
const MAX_DELAY_MS: f64 = 10_000.0;

/// Text of a line for messages, truncated: a file of another kind may have a single line of
/// megabytes.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn whole(line: usize, text: &str, what: &str, most: u64) -> Result<u64, TraceError> {
    let value: u64 = text.parse().map_err(|_| {
        TraceError::at(line, format!("the {what} {} is not a whole number of milliseconds", shown(text)))
    })?;
    if value > most {
        return Err(TraceError::at(line, format!("the {what} {value} ms is more than {most} ms")));
    }
    Ok(value)
}

/// A delay in milliseconds, possibly with fractions.
fn milliseconds(line: usize, text: &str) -> Result<Nanos, TraceError> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=MAX_DELAY_MS).contains(&ms) => Ok(Nanos((ms * 1e6 + 0.5) as u64)),
        Ok(ms) if ms > MAX_DELAY_MS => {
            Err(TraceError::at(line, format!("the delay {ms} ms is more than {MAX_DELAY_MS} ms")))
        }
        _ => Err(TraceError::at(line, format!("the delay {} is not a number of milliseconds", shown(text)))),
    }
}

impl RateTrace {
    /// Parses a rate file.
    ///
    /// # Errors
    /// The first line that is not a number or goes back in time; an empty file.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut opportunities_ms = Vec::new();
        for (n, line) in lines(text) {
            let ms = whole(n, line, "time", MAX_TRACE_MS)?;
            if let Some(last) = opportunities_ms.last().filter(|last| **last > ms) {
                return Err(TraceError::at(n, format!("time {ms} comes after {last}")));
            }
            opportunities_ms.push(ms);
        }
        match opportunities_ms.last() {
            None => Err(TraceError::at(1, "the file is empty")),
            Some(0) => Err(TraceError::at(opportunities_ms.len(), "all opportunities are at time 0")),
            Some(_) => Ok(RateTrace { opportunities_ms }),
        }
    }

    /// Length: the time of the last opportunity, as in mahimahi.
    pub fn length(&self) -> Nanos {
        Nanos::from_millis(self.opportunities_ms.last().copied().unwrap_or(0))
    }

    /// Mean rate of each window (a millisecond or more) of the trace; the last window may be
    /// shorter.
    pub fn rates(&self, window: Nanos) -> Vec<BitRate> {
        let length = self.length();
        let windows = length.0.div_ceil(window.0);
        let mut counts = vec![0u64; windows as usize];
        for &ms in &self.opportunities_ms {
            // The last opportunity is at the end of the last window, and belongs to it.
            let k = (Nanos::from_millis(ms).0 / window.0).min(windows - 1);
            counts[k as usize] += 1;
        }
        let rate = |(k, &n): (usize, &u64)| {
            let span = window.0.min(length.0 - k as u64 * window.0);
            BitRate((u128::from(n * OPPORTUNITY_BYTES * 8) * 1_000_000_000 / u128::from(span)) as u64)
        };
        counts.iter().enumerate().map(rate).collect()
    }

    /// Changes that make a port follow the trace. An empty window blocks the port.
    pub fn changes(&self, port: PortId, window: Nanos, duration: Nanos, end: AtEnd) -> Vec<Timed> {
        let rates = self.rates(window);
        let value = |rate: &BitRate| Change::Rate(port, *rate);
        replay(&rates, window, self.length(), duration, end, value)
    }
}

impl DelayTrace {
    /// Parses a delay file.
    ///
    /// # Errors
    /// The first line that is not a number; an empty file.
    pub fn parse(text: &str, step: Nanos) -> Result<Self, TraceError> {
        let delays: Vec<Nanos> = lines(text).map(|(n, l)| milliseconds(n, l)).collect::<Result<_, _>>()?;
        if delays.is_empty() {
            return Err(TraceError::at(1, "the file is empty"));
        }
        Ok(DelayTrace { delays, step })
    }

    /// Length.
    pub fn length(&self) -> Nanos {
        self.step * self.delays.len() as u64
    }

    /// Changes that make a link follow the trace. LeoReplayer delays both directions: to emulate
    /// it, call this for both links, and set them to [`LinkOrder::Reorder`].
    pub fn changes(&self, link: LinkId, duration: Nanos, end: AtEnd) -> Vec<Timed> {
        let value = |delay: &Nanos| Change::Delay(link, Delay::constant(*delay));
        replay(&self.delays, self.step, self.length(), duration, end, value)
    }
}

/// A change wherever the value differs from the previous one.
fn replay<T: PartialEq>(
    values: &[T],
    step: Nanos,
    length: Nanos,
    duration: Nanos,
    end: AtEnd,
    change: impl Fn(&T) -> Change,
) -> Vec<Timed> {
    let rounds = if end == AtEnd::Loop { duration.0.div_ceil(length.0) } else { 1 };
    let mut out = Vec::new();
    let mut last: Option<&T> = None;
    for round in 0..rounds {
        for (k, value) in values.iter().enumerate() {
            let at = length * round + step * k as u64;
            if at >= duration {
                break;
            }
            if last != Some(value) {
                out.push(Timed { at, change: change(value) });
                last = Some(value);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testdata;

    #[test]
    fn opportunities_become_the_rate_of_their_window() {
        // 10 opportunities in the first 100 ms: 1.2 Mbit/s; none in the second; 5 in the last 50
        // ms: 1.2 Mbit/s.
        let mut text = String::new();
        for ms in (5..100).step_by(10).chain((205..=245).step_by(10)) {
            text += &format!("{ms}\n");
        }
        text += "250\n";
        let t = RateTrace::parse(&text).unwrap();
        let rates = t.rates(Nanos::from_millis(100));
        assert_eq!(rates, [BitRate(1_200_000), BitRate(0), BitRate(1_440_000)]);
        let looped = t.changes(PortId(3), Nanos::from_millis(100), Nanos::from_millis(600), AtEnd::Loop);
        let times: Vec<_> = looped.iter().map(|c| c.at.as_millis_f64() as u64).collect();
        assert_eq!(times, [0, 100, 200, 250, 350, 450, 500]);
        let held = t.changes(PortId(3), Nanos::from_millis(100), Nanos::from_millis(600), AtEnd::Hold);
        assert_eq!(held.len(), 3);
    }

    #[test]
    fn a_line_of_another_kind_of_file_is_not_repeated_whole() {
        for text in ["\0", "é", "-"] {
            let said = RateTrace::parse(&text.repeat(1_000_000)).unwrap_err().to_string();
            assert!(said.len() < 300 && said.contains('…'), "{} bytes", said.len());
            let said =
                DelayTrace::parse(&text.repeat(1_000_000), Nanos::from_millis(10)).unwrap_err().to_string();
            assert!(said.len() < 300 && said.contains('…'), "{} bytes", said.len());
        }
    }

    #[test]
    fn delays_are_written_where_they_change() {
        let t = DelayTrace::parse("12\n12\n16\n14\n", Nanos::from_millis(10)).unwrap();
        let c = t.changes(LinkId(1), Nanos::from_secs(1), AtEnd::Hold);
        assert_eq!(c.iter().map(|c| c.at.as_millis_f64() as u64).collect::<Vec<_>>(), [0, 20, 30]);
        assert_eq!(c[1].change, Change::Delay(LinkId(1), Delay::constant(Nanos::from_millis(16))));
    }

    #[test]
    #[cfg_attr(
        not(reference_data),
        ignore = "the reference data is not there: PERIGEE_SHARED_DATA names its folder"
    )]
    fn a_recorded_pair_of_starlink_has_its_rates_and_delays() {
        let rate = testdata::read("leocc/bw_example_0-60s.txt");
        let rate = RateTrace::parse(&rate).unwrap();
        let delay = testdata::read("leocc/delay_example_0-60s.txt");
        let delay = DelayTrace::parse(&delay, Nanos::from_millis(10)).unwrap();
        assert_eq!(delay.length(), Nanos::from_secs(60));
        let rates = rate.rates(Nanos::from_secs(1));
        let mean = rates.iter().map(|r| r.as_mbit()).sum::<f64>() / rates.len() as f64;
        // Over all 120 s: mean 48.7 Mbit/s, seconds between 30.2 and 73.3 Mbit/s.
        assert!((40.0..60.0).contains(&mean), "{mean}");
        assert!(rates[..59].iter().all(|r| (30.0..74.0).contains(&r.as_mbit())));
        assert!(delay.delays.iter().all(|d| (7..=68).contains(&(d.0 / 1_000_000))));
        // Windows preserve the number of bytes, although the last one is shorter.
        let window = Nanos::from_millis(100);
        let rates = rate.rates(window);
        let span = |k: usize| Nanos(window.0.min(rate.length().0 - k as u64 * window.0));
        let bytes: u64 = rates.iter().enumerate().map(|(k, r)| r.bytes_in(span(k))).sum();
        let all = 1500 * rate.opportunities_ms.len() as u64;
        assert!(bytes <= all && all - bytes <= rates.len() as u64, "{bytes} of {all}");
    }

    #[test]
    fn damaged_files_are_refused_with_their_line() {
        let rate = |text| RateTrace::parse(text).unwrap_err().to_string();
        assert_eq!(rate(""), "line 1: the file is empty");
        assert_eq!(rate("1\n\n5\n4\n"), "line 4: time 4 comes after 5");
        assert!(rate("1\n-2\n").starts_with("line 2: the time \"-2\" is not"));
        assert!(rate("0\n0\n").contains("time 0"));
        assert!(rate("99999999\n").contains("more than"));
        assert!(DelayTrace::parse("12\nNaN\n", Nanos::from_millis(10)).is_err());
    }
}
