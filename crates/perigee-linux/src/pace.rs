// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pacing of a run with a user at the terminal of a host: virtual time is no faster than wall-clock
//! time, and keys reach the host at the instant at which they are pressed.

use perigee_units::Nanos;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Waits for keys for up to this time: returns a message to the agent (`keys` of its terminal.c),
/// an empty message, or `None` = the end.
pub type Keyboard = Arc<Mutex<dyn FnMut(Duration) -> Option<Vec<u8>> + Send>>;

/// Maximum time that a host runs ahead, so that keys are not pressed in its past.
const AHEAD: Nanos = Nanos::from_millis(5);

/// Maximum wait, and interval of keyboard checks.
const LOOK: Duration = Duration::from_millis(20);
/// Lag of virtual time beyond which it does not catch up.
const LAG: Duration = Duration::from_millis(50);

/// Ethernet header of frames to the agent: its report interface, and an EtherType for local
/// experiments (IEEE 802).
const TO_AGENT: [u8; 14] = [2, 0, 0, 0, 0xff, 0xfe, 2, 0, 0, 0, 0xff, 0xff, 0x88, 0xb6];

/// Outcome of a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited {
    /// The time to continue has come.
    Due,
    /// Frame to deliver to the agent now.
    Keys(Nanos, Box<[u8]>),
    /// The user has left.
    Ended,
}

/// Wall-clock time in relation to virtual time.
pub struct Pace {
    keyboard: Keyboard,
    /// Wall-clock time at virtual time zero.
    zero: Option<Instant>,
    looked: Instant,
}

impl Pace {
    /// Pacing with a keyboard.
    pub fn new(keyboard: Keyboard) -> Self {
        Pace { keyboard, zero: None, looked: perigee_guest::wall_clock::now() }
    }

    /// Instant up to which hosts may run.
    pub fn limit(&self) -> Nanos {
        let clock = self.zero.map_or(Duration::ZERO, |zero| zero.elapsed());
        Nanos(clock.as_nanos() as u64) + AHEAD
    }

    /// Waits until virtual time may reach `due`, or until keys arrive; virtual time has reached
    /// `now`.
    pub fn wait(&mut self, now: Nanos, due: Nanos) -> Waited {
        let zero = *self.zero.get_or_insert_with(perigee_guest::wall_clock::now);
        loop {
            let clock = zero.elapsed();
            let left = Duration::from_nanos(due.0).saturating_sub(clock);
            if left.is_zero() && self.looked.elapsed() < LOOK {
                self.zero = Some(zero + clock.saturating_sub(Duration::from_nanos(due.0) + LAG));
                return Waited::Due;
            }
            let mut keyboard = self.keyboard.lock().unwrap_or_else(PoisonError::into_inner);
            let keys = keyboard(left.min(LOOK));
            self.looked = perigee_guest::wall_clock::now();
            match keys {
                None => return Waited::Ended,
                Some(keys) if keys.is_empty() => {}
                Some(keys) => {
                    let at = Nanos(zero.elapsed().as_nanos() as u64).min(due).max(now);
                    return Waited::Keys(at, [&TO_AGENT[..], &keys].concat().into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typing(keys: Vec<Option<Vec<u8>>>) -> Pace {
        let mut keys = keys.into_iter();
        Pace::new(Arc::new(Mutex::new(move |_| keys.next().unwrap_or(Some(Vec::new())))))
    }

    #[test]
    fn keys_come_before_what_is_due_later() {
        let mut pace = typing(vec![Some(vec![]), Some(b"kx".to_vec()), None]);
        let far = Nanos::from_secs(3600);
        let Waited::Keys(at, frame) = pace.wait(Nanos(5), far) else { panic!("no keys") };
        assert!((Nanos(5)..far).contains(&at));
        assert_eq!(&frame[12..], b"\x88\xb6kx");
        assert_eq!(pace.wait(at, far), Waited::Ended);
    }

    #[test]
    fn what_is_due_goes_on() {
        let mut pace = typing(Vec::new());
        assert_eq!(pace.wait(Nanos(0), Nanos(0)), Waited::Due);
        assert_eq!(pace.wait(Nanos(0), Nanos::from_millis(1)), Waited::Due);
    }
}
