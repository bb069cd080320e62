// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Applications of real hosts: random draws that the simulator makes during a run are made before
//! it, with the same seed.

use perigee_guest::job::Application;
use perigee_timeline::workload::{object_bytes, think_time, turn, SHORTEST};
use perigee_timeline::App;
use perigee_units::Nanos;

/// Maximum number of draws of a flow, as they are written into the job.
const MOST: usize = 200_000;

/// Application of a flow for `time`; `seed` determines its draws.
///
/// # Errors
/// If an on/off source changes more often than a job can hold.
pub fn of(app: &App, seed: u64, time: Nanos) -> Result<Application, String> {
    match app {
        App::OnOff { on, off } => {
            let turns = until(time, |n| turn(on, off, seed, n), |length| *length);
            let last: Nanos = turns.iter().copied().fold(Nanos::ZERO, Nanos::saturating_add);
            if last < time {
                return Err(format!(
                    "it is switched on and off more than {MOST} times, the limit of real hosts"
                ));
            }
            Ok(Application::OnOff(turns))
        }
        App::Request { size, think, period, count } => {
            let draw = |n| (object_bytes(size, seed, n), think_time(think, seed, n));
            let mut objects = until(time, draw, |(_, think)| (*think).max(*period).max(SHORTEST));
            objects.truncate(usize::try_from(*count).unwrap_or(usize::MAX));
            Ok(Application::Request { wanted: *count, period: *period, objects })
        }
        _ => Ok(Application::Bulk),
    }
}

/// Draws until the sum of `takes` reaches `time`.
fn until<T>(time: Nanos, draw: impl Fn(u64) -> T, takes: impl Fn(&T) -> Nanos) -> Vec<T> {
    let mut out = Vec::new();
    let mut passed = Nanos::ZERO;
    while passed < time && out.len() < MOST {
        let drawn = draw(out.len() as u64);
        passed = passed.saturating_add(takes(&drawn));
        out.push(drawn);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_timeline::Law;

    #[test]
    fn an_on_off_source_is_told_until_it_stops() {
        let app = App::OnOff { on: Law::Fixed(0.3), off: Law::Fixed(0.2) };
        let Ok(Application::OnOff(turns)) = of(&app, 7, Nanos::from_secs(1)) else { panic!("turns") };
        assert_eq!(turns.iter().map(|t| t.0 / 1_000_000).collect::<Vec<_>>(), [300, 200, 300, 200]);
        let app = App::OnOff { on: Law::Fixed(0.0), off: Law::Fixed(0.0) };
        assert!(of(&app, 7, Nanos::from_secs(1)).unwrap_err().contains("200000"));
    }

    #[test]
    fn a_client_is_told_as_much_as_it_can_ask_for() {
        let (size, think) = (Law::Uniform(1e3, 9e3), Law::Exponential(0.1));
        let ask = |period, count| {
            let app = App::Request { size, think, period, count };
            let Ok(Application::Request { objects, .. }) = of(&app, 7, Nanos::from_secs(10)) else {
                panic!()
            };
            objects
        };
        assert_eq!(ask(Nanos::from_secs(2), u64::MAX).len(), 5);
        let three = ask(Nanos::ZERO, 3);
        assert_eq!(three.len(), 3);
        assert_eq!(three[1], (size.bytes(7, 2), think.time(7, 3)));
    }
}
