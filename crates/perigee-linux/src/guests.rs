// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernels of a run: one for all hosts, one per host, or as many as the hosts need. Before an
//! instant at which the network can reach any of them they are independent: each runs up to that
//! instant on its own, and their frames are merged in order of time.

use perigee_backend::BackendError;
use perigee_guest::guest::PATIENCE;
use perigee_guest::job::{self, Job, MAX_HOSTS, REPORTS};
use perigee_guest::root::Root;
use perigee_guest::{GoOn, Guest, GuestError, GuestSpec, Offer, SentFrame};
use perigee_units::draw::mix;
use perigee_units::Nanos;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

/// Memory of a guest. With less memory, flows at gigabits per second reach TCP's memory limits, and
/// runs are no longer reproducible.
const MEMORY_MIB: u32 = 1024;
/// Maximum number of kernels of a run: each takes several processes and a hundred MB of memory.
const MAX_KERNELS: usize = 64;

/// Frame sent by a host.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Send time, in the guests' time.
    pub at: Nanos,
    /// Number of the host; `None` = a report of an agent.
    pub host: Option<usize>,
    /// Ethernet header and payload.
    pub bytes: Box<[u8]>,
}

/// Ranges of hosts, of `hosts` in total, for each kernel; `own` = one kernel per host.
///
/// # Errors
/// If the run would need too many kernels.
pub fn divide(hosts: usize, own: bool) -> Result<Vec<Range<usize>>, BackendError> {
    let each = if own { 1 } else { MAX_HOSTS };
    let kernels = hosts.div_ceil(each);
    if kernels > MAX_KERNELS {
        let how = if own { " with hosts.kernel = \"own\"" } else { "" };
        return Err(BackendError::Failed(format!(
            "{hosts} nodes with real flows: a run has {} at most{how}: let others stay simulated (backend = \"simulator\")",
            MAX_KERNELS * each
        )));
    }
    // The ranges differ by at most one host in size.
    Ok((0..kernels).map(|k| k * hosts / kernels..(k + 1) * hosts / kernels).collect())
}

/// Error of the hosts before a run has started.
pub fn refused(e: impl ToString) -> BackendError {
    BackendError::Hosts(e.to_string())
}

/// A kernel and its hosts.
struct Member {
    guest: Guest,
    root: Root,
    hosts: Range<usize>,
}

/// All kernels, in the order of their hosts.
pub struct Guests(Vec<Member>);

impl Guests {
    /// Boots the kernels one after the other, on one core: they never run at the same time.
    ///
    /// # Errors
    /// If the machine rejects one, or one does not boot.
    pub fn boot(
        kernel: &Path,
        job: &Job,
        kernels: &[Range<usize>],
        seed: u64,
        offer: Offer,
    ) -> Result<Self, BackendError> {
        let mut all: Vec<Member> = Vec::new();
        for (number, hosts) in (0u64..).zip(kernels) {
            let root = Root::make(kernel, job, hosts).map_err(refused)?;
            let spec = GuestSpec {
                kernel: kernel.join("linux"),
                folder: root.path().to_path_buf(),
                init: "/agent".into(),
                memory_mib: MEMORY_MIB,
                // Kernels with the same seed would draw the same ports and sequence numbers.
                seed: if number == 0 { seed } else { mix(seed ^ mix(number)) },
                interfaces: job.interfaces(hosts),
                offer,
                patience: PATIENCE,
            };
            let guest = match all.first() {
                None => Guest::boot(&spec),
                Some(first) => Guest::boot_beside(&first.guest, &spec),
            };
            all.push(Member { guest: guest.map_err(refused)?, root, hosts: hosts.clone() });
        }
        Ok(Guests(all))
    }

    /// Time of the next activity of any of them, in their time.
    pub fn wakes_at(&self) -> Option<Nanos> {
        self.0.iter().filter_map(|member| member.guest.wakes_at()).min()
    }

    /// Delivers a frame to a host at an instant of the guests' time. Calls must be in order of
    /// these instants.
    pub fn deliver(&mut self, host: usize, at: Nanos, frame: Box<[u8]>) {
        if let Some(member) = self.0.iter_mut().find(|member| member.hosts.contains(&host)) {
            member.guest.deliver(1 + host - member.hosts.start, at, frame);
        }
    }

    /// Delivers a frame to the agents of all kernels at an instant of their time, in order with
    /// other frames.
    pub fn tell(&mut self, at: Nanos, frame: &[u8]) {
        self.0.iter_mut().for_each(|member| member.guest.deliver(REPORTS, at, frame.into()));
    }

    /// Delivers a notice, a line of text, to a host at an instant of the guests' time.
    pub fn notify(&mut self, host: usize, at: Nanos, text: &str) {
        if let Some(member) = self.0.iter_mut().find(|member| member.hosts.contains(&host)) {
            member.guest.deliver(REPORTS, at, job::notice(host - member.hosts.start, text));
        }
    }

    /// Changes the carrier of a host's interface at an instant of the guests' time, in order with
    /// frames.
    pub fn set_carrier(&mut self, host: usize, at: Nanos, carrier: bool) {
        if let Some(member) = self.0.iter_mut().find(|member| member.hosts.contains(&host)) {
            member.guest.set_carrier(1 + host - member.hosts.start, at, carrier);
        }
    }

    /// Runs all kernels up to an instant of their time; appends the frames they send to `all`, in
    /// order of time and, at one instant, of the kernels.
    ///
    /// # Errors
    /// If one has exited or sends an invalid message, its time does not advance, or `go_on` returns
    /// false.
    pub fn run(
        &mut self,
        until: Nanos,
        go_on: &mut GoOn<'_>,
        all: &mut VecDeque<Sent>,
    ) -> Result<(), GuestError> {
        let mut sent = Vec::new();
        let mut went = Ok(());
        for Member { guest, hosts, .. } in &mut self.0 {
            while went.is_ok() && guest.wakes_at().is_some_and(|at| at < until) {
                went = guest.run(until, go_on);
                sent.extend(guest.sent().map(|frame| from(frame, hosts)));
            }
        }
        if self.0.len() > 1 {
            sent.sort_by_key(|frame| frame.at);
        }
        all.extend(sent);
        went
    }

    /// Number of frames lost because a host had provided no buffers for them.
    pub fn overruns(&self) -> u64 {
        self.0.iter().map(|member| member.guest.overruns()).sum()
    }

    /// Removes their files from disk, which are no longer needed after booting.
    pub fn unlink(&self) {
        self.0.iter().for_each(|member| member.root.unlink());
    }
}

fn from(frame: SentFrame, hosts: &Range<usize>) -> Sent {
    let SentFrame { at, interface, bytes } = frame;
    Sent { at, host: (interface != REPORTS).then(|| hosts.start + interface - 1), bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_share_a_kernel_as_long_as_they_fit() {
        assert_eq!(divide(0, false).unwrap(), []);
        assert_eq!(divide(48, false).unwrap().len(), 1);
        assert_eq!(divide(49, false).unwrap(), [0..24, 24..49]);
        assert_eq!(divide(3, true).unwrap(), [0..1, 1..2, 2..3]);
        let refused = divide(65, true).unwrap_err().to_string();
        assert!(refused.contains("64 at most") && refused.contains("own"), "{refused}");
        assert!(divide(64 * 48, false).is_ok() && divide(64 * 48 + 1, false).is_err());
    }
}
