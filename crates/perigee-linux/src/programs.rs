// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of a run: their state, and how they ended.

use crate::plan::Program;
use crate::Listener;
use perigee_guest::report::{Exit, Report, Stream};
use perigee_guest::Busy;
use perigee_units::Nanos;
use std::sync::PoisonError;

/// State of programs during a run.
pub struct Programs<'a> {
    programs: &'a [Program],
    states: Vec<State>,
    /// Bytes of each program, by stream, beyond the limit of its output.
    discarded: Vec<[u64; 2]>,
    listener: Option<&'a Listener>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waits,
    Runs,
    Ended(Exit),
}

impl<'a> Programs<'a> {
    /// Initial state: no program has started.
    pub fn new(programs: &'a [Program], listener: Option<&'a Listener>) -> Self {
        let (states, discarded) = (vec![State::Waits; programs.len()], vec![[0; 2]; programs.len()]);
        Programs { programs, states, discarded, listener }
    }

    /// Processes a report of a host. True once all awaited programs have ended.
    pub fn update(&mut self, report: &Report) -> bool {
        let (id, state) = match report {
            Report::Begun(_, id) => (*id, Some(State::Runs)),
            Report::Exited(_, id, exit) => (*id, Some(State::Ended(*exit))),
            Report::Wrote(_, id, ..) | Report::Discarded(_, id, ..) => (*id, None),
            _ => return false,
        };
        // The number comes from the guest and may be invalid.
        if id as usize >= self.states.len() {
            return false;
        }
        self.listen(report);
        if let Report::Discarded(_, _, stream, total) = report {
            self.discarded[id as usize][usize::from(*stream == Stream::Errors)] = *total;
        }
        let known = &mut self.states[id as usize];
        *known = state.unwrap_or(*known);
        let awaits = self.programs[id as usize].awaited && matches!(known, State::Ended(_));
        awaits && self.awaited().all(|state| matches!(state, State::Ended(_)))
    }

    /// Notifies the listener that the run has ended; the programs that still run receive SIGTERM.
    pub fn ending(&self, at: Nanos) {
        self.listen(&Report::Ending(at));
    }

    /// Passes reports that arrive after the end to the listener: [`Programs::remarks`] stays as of
    /// the end. True if no process of a kernel is left.
    pub fn update_after_end(&self, report: &Report) -> bool {
        let id = match report {
            Report::Gone => return true,
            Report::Exited(_, id, _) | Report::Wrote(_, id, ..) | Report::Discarded(_, id, ..) => *id,
            _ => return false,
        };
        if (id as usize) < self.states.len() {
            self.listen(report);
        }
        false
    }

    /// Reports to the listener that programs keep a guest busy. The report of a program's start may
    /// still be in the guest.
    pub fn report_busy(&self, at: Nanos, busy: &Busy) {
        let all = self.programs.iter().zip(&self.states);
        let left: Vec<String> =
            all.filter(|(_, state)| !matches!(state, State::Ended(_))).map(|(p, _)| named(p)).collect();
        if !left.is_empty() {
            self.listen(&Report::Busy(at, format!("{busy}\nnot ended: {}", left.join("; "))));
        }
    }

    fn listen(&self, report: &Report) {
        if let Some(listener) = self.listener {
            listener.lock().unwrap_or_else(PoisonError::into_inner)(report);
        }
    }

    fn awaited(&self) -> impl Iterator<Item = &State> {
        self.programs.iter().zip(&self.states).filter(|(p, _)| p.awaited).map(|(_, state)| state)
    }

    /// Programs that have started but not ended.
    pub fn running(&self) -> Vec<String> {
        let all = self.programs.iter().zip(&self.states);
        all.filter(|(_, state)| **state == State::Runs).map(|(p, _)| named(p)).collect()
    }

    /// Warnings at the end: programs that failed, and awaited ones that did not end.
    pub fn remarks(&self) -> Vec<String> {
        let remark = |(p, state): (&Program, &State)| {
            let how = match state {
                State::Ended(Exit::Code(0)) => return None,
                State::Ended(Exit::Code(code)) => format!("ended with exit code {code}"),
                State::Ended(Exit::Signal(signal)) => format!("was killed by signal {signal}"),
                State::Runs if p.awaited => "was still running at the end".into(),
                State::Waits if p.awaited => "was not started before the end".into(),
                State::Runs | State::Waits => return None,
            };
            Some(format!("program {}: {how}", named(p)))
        };
        let ends = self.programs.iter().zip(&self.states).filter_map(remark);
        let excess = self.programs.iter().zip(&self.discarded).flat_map(|(p, beyond)| {
            let streams = beyond.iter().zip(["output", "error"]).filter(|(bytes, _)| **bytes > 0);
            streams.map(move |(bytes, stream)| {
                format!(
                    "program {}: {bytes} bytes of its standard {stream} were discarded: those beyond hosts.output_limit",
                    named(p)
                )
            })
        });
        ends.chain(excess).collect()
    }
}

fn named(p: &Program) -> String {
    format!("{} at {}", p.words.join(" "), p.node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn the_run_ends_with_the_last_program_that_is_awaited() {
        let program = |word: &str, awaited| Program {
            node: "a".into(),
            words: vec![word.into()],
            awaited,
            ..Program::default()
        };
        let all = [program("server", false), program("one", true), program("two", true)];
        let mut programs = Programs::new(&all, None);
        let exited = |id, exit| Report::Exited(Nanos(5), id, exit);
        (0..3).for_each(|id| assert!(!programs.update(&Report::Begun(Nanos(1), id))));
        assert!(!programs.update(&exited(2, Exit::Signal(9))));
        assert_eq!(programs.running(), ["server at a", "one at a"]);
        assert_eq!(
            programs.remarks(),
            ["program one at a: was still running at the end", "program two at a: was killed by signal 9"]
        );
        // A guest may send any value.
        assert!(!programs.update(&exited(7, Exit::Code(0))));
        assert!(programs.update(&exited(1, Exit::Code(0))));
        assert!(!programs.update(&exited(0, Exit::Code(0))), "not awaited");
    }

    #[test]
    fn discarded_output_is_a_warning() {
        let all = [Program { node: "a".into(), words: vec!["yes".into()], ..Program::default() }];
        let mut programs = Programs::new(&all, None);
        for (at, total) in [(1, 5), (2, 70)] {
            assert!(!programs.update(&Report::Discarded(Nanos(at), 0, Stream::Errors, total)));
        }
        // A guest may send any number.
        assert!(!programs.update(&Report::Discarded(Nanos(3), 9, Stream::Output, 1)));
        let expected = "program yes at a: 70 bytes of its standard error were discarded: those beyond hosts.output_limit";
        assert_eq!(programs.remarks(), [expected]);
    }

    #[test]
    fn programs_that_exit_after_the_end_were_running_at_the_end() {
        let server = Program { words: vec!["server".into()], awaited: true, ..Program::default() };
        let all = [server];
        let received = Arc::new(Mutex::new(Vec::new()));
        let copy = received.clone();
        let listener: Listener = Arc::new(Mutex::new(move |r: &Report| copy.lock().unwrap().push(r.clone())));
        let mut programs = Programs::new(&all, Some(&listener));
        programs.update(&Report::Begun(Nanos(1), 0));
        programs.ending(Nanos(5));
        let exited = Report::Exited(Nanos(6), 0, Exit::Code(0));
        assert!(!programs.update_after_end(&exited));
        assert!(!programs.update_after_end(&Report::Exited(Nanos(6), 9, Exit::Code(0))), "of any value");
        assert!(programs.update_after_end(&Report::Gone));
        assert_eq!(*received.lock().unwrap(), [Report::Begun(Nanos(1), 0), Report::Ending(Nanos(5)), exited]);
        assert_eq!(programs.remarks(), ["program server at : was still running at the end"]);
    }
}
