// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPU time used by a guest: that of all processes of its session. Wall-clock time is not a measure
//! of it on a loaded machine.

use std::time::Duration;

/// Ticks per second in /proc on Linux for x86-64 (proc_pid_stat(5)).
const TICKS_PER_SECOND: u64 = 100;

/// CPU time used so far by the processes of a session, and by those that its leader has waited for.
pub fn used_by(leader: u32) -> Duration {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Duration::ZERO };
    let pids = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let ticks: u64 = pids.filter_map(|pid| ticks_of(pid, leader)).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

fn ticks_of(pid: u32, leader: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Names may contain spaces and parentheses: fields are counted after the last parenthesis,
    // starting with the third.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    (field(6)? == u64::from(leader)).then_some(())?;
    let children = if pid == leader { field(16)? + field(17)? } else { 0 };
    Some(field(14)? + field(15)? + children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_session_computes_is_counted() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let leader = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().parse().unwrap();
        let (before, begin) = (used_by(leader), crate::wall_clock::now());
        let mut rounds = 0u64;
        while used_by(leader) < before + Duration::from_millis(100) && begin.elapsed().as_secs() < 60 {
            rounds = std::hint::black_box(rounds + 1);
        }
        assert!(used_by(leader) >= before + Duration::from_millis(100));
        assert_eq!(used_by(u32::MAX), Duration::ZERO);
    }
}
