// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Common parts of the models of the OrbCC authors' simulator (`variant = inet` of BBR, BBRv3,
//! Cubic and LeoCC): the list of models, rates in bytes per second, the maximum filter, and the
//! random number generator.

use crate::*;

/// Maximum rate: bytes per second are counted in 32 bits.
const MAX_RATE: f64 = 500e6;
/// Pacing rate as a fraction of the estimated rate.
const PACING_SHARE: f64 = 0.99;
/// Seed of every connection's generator.
const SEED: u32 = 6;

/// Schemes with a model in that simulator. Others share a parameter table with one of these.
const MODELLED: [&str; 5] = ["bbr", "bbr3", "cubic", "leocc", "leocc_omnet"];

fn is_selected(params: &Params) -> bool {
    let inet = Value::Text("inet".into());
    params.resolved().iter().any(|(name, value)| *name == "variant" && *value == inet)
}

/// # Errors
/// Rejects parameters that select a model which the simulator does not have.
pub(crate) fn check(id: &str, params: &Params) -> Result<(), ParamError> {
    if MODELLED.contains(&id) || !is_selected(params) {
        return Ok(());
    }
    let allowed = format!(
        "another variant: the simulator of the OrbCC study has no model of {id}, of {} it has",
        MODELLED.join(", ")
    );
    Err(ParamError::Value { name: "variant".into(), found: Value::Text("inet".into()), allowed })
}

/// The simulator's model of a scheme, if selected by the parameters.
pub(crate) fn model(id: &str, params: &Params, init: &ConnInit) -> Option<Box<dyn CongestionControl>> {
    if !is_selected(params) {
        return None;
    }
    Some(match id {
        "bbr" => Box::new(bbr::inet::Bbr::new(params, init)),
        "bbr3" => Box::new(bbr3::inet::Bbr3::new(init)),
        "cubic" => Box::new(cubic::inet::Cubic::new(params)),
        "leocc" | "leocc_omnet" => Box::new(leocc::inet::LeoCc::new(params, init)),
        _ => return None,
    })
}

/// Rate of a sample in bytes per second, truncated.
pub(crate) fn rate_of(rs: &RateSample) -> u32 {
    (rs.delivered as f64 / (rs.interval.0 as f64 * 1e-9)) as u32
}

/// Setting of the pacer as a rate; in these models it is the interval between packets in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace(f64);

impl Pace {
    /// Sets the initial rate, assuming a millisecond if there is no RTT sample. Returns the
    /// bandwidth.
    pub fn begin(&mut self, cx: &Cx, w: &mut Window, gain: f64) -> u32 {
        let floor = Nanos::from_millis(1);
        let rtt = if cx.min_rtt == Nanos::MAX { floor } else { cx.min_rtt.max(floor) };
        let nominal = (w.cwnd as f64 / rtt.as_secs_f64()) as u32;
        self.set(w, gain * f64::from(nominal));
        nominal
    }

    /// Sets the rate to `gain` times `bw`, if that is higher or if `always`.
    pub fn follow(&mut self, w: &mut Window, gain: f64, bw: u32, always: bool) {
        let rate = f64::from((f64::from((gain * f64::from(bw)) as u32) * PACING_SHARE) as u32).min(MAX_RATE);
        if rate > 0.0 && (always || rate > self.0) {
            self.set(w, rate);
        }
    }

    fn set(&mut self, w: &mut Window, rate: f64) {
        self.0 = rate;
        w.pacing = Some(BitRate((rate * 8.0) as u64));
    }
}

/// Windowed maximum from three samples over ten rounds, with the boundary conditions of QUIC's
/// filter (as in ns-3).
#[derive(Clone, Debug)]
pub(crate) struct MaxFilter {
    /// Value that represents the absence of a sample.
    none: u32,
    samples: [(u32, u32); 3],
}

impl MaxFilter {
    const WINDOW: u32 = 10;

    /// A filter with `value`, which the next sample replaces.
    pub fn new(value: u32) -> Self {
        MaxFilter { none: value, samples: [(value, 0); 3] }
    }

    pub fn get(&self) -> u32 {
        self.samples[0].0
    }

    pub fn update(&mut self, value: u32, at: u32) {
        let new = (value, at);
        let s = &mut self.samples;
        let age = |old: (u32, u32)| at.wrapping_sub(old.1);
        if s[0].0 == self.none || value >= s[0].0 || age(s[2]) > Self::WINDOW {
            *s = [new; 3];
            return;
        }
        if value >= s[1].0 {
            (s[1], s[2]) = (new, new);
        } else if value >= s[2].0 {
            s[2] = new;
        }
        if age(s[0]) > Self::WINDOW {
            *s = [s[1], s[2], new];
            if age(s[0]) > Self::WINDOW {
                (s[0], s[1]) = (s[1], s[2]);
            }
        } else if s[1].0 == s[0].0 && age(s[1]) > Self::WINDOW / 4 {
            (s[1], s[2]) = (new, new);
        } else if s[2].0 == s[1].0 && age(s[2]) > Self::WINDOW / 2 {
            s[2] = new;
        }
    }
}

const LENGTH: usize = 624;

/// The Mersenne twister (Matsumoto and Nishimura 1998) with that simulator's seed: every connection
/// draws the same numbers.
#[derive(Clone)]
pub(crate) struct Twister {
    state: [u32; LENGTH],
    at: usize,
}

impl Default for Twister {
    fn default() -> Self {
        let mut state = [SEED; LENGTH];
        for i in 1..LENGTH {
            let before = state[i - 1];
            state[i] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Twister { state, at: LENGTH }
    }
}

impl Twister {
    fn next(&mut self) -> u32 {
        if self.at == LENGTH {
            for i in 0..LENGTH {
                let word = (self.state[i] & 1 << 31) | (self.state[(i + 1) % LENGTH] & !(1 << 31));
                let odd = if word & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % LENGTH] ^ (word >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Uniform in `0..=most`, by Boost's division into buckets.
    pub fn up_to(&mut self, most: u32) -> u32 {
        let values = most + 1;
        let bucket = u32::MAX / values + u32::from(u32::MAX % values == most);
        loop {
            let drawn = self.next() / bucket;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_schemes_of_the_simulator_have_its_variant() {
        let given = || [("variant".to_string(), Value::Text("inet".into()))].into();
        for id in MODELLED {
            let params = info(id).unwrap().params(given()).unwrap();
            let init =
                ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 14_480, srtt: None, seed: 1, hz: 0 };
            let stack = info(id).unwrap().build(&params, &init).caps().stack;
            assert_eq!(stack, Stack::Inet { smooths_from_zero: id == "cubic" }, "{id}");
        }
        for id in ["bbr3_hint", "satcp", "starquic_cubic", "starquic_bbr3"] {
            let error = info(id).unwrap().params(given()).unwrap_err().to_string();
            assert!(error.contains("has no model of") && error.contains("bbr3"), "{error}");
        }
    }

    /// First draws of mt19937 with seed 6, as produced by other implementations.
    #[test]
    fn the_generator_is_the_mersenne_twister() {
        let mut t = Twister::default();
        let first: Vec<u32> = (0..4).map(|_| t.next()).collect();
        assert_eq!(first, [3_834_805_130, 4_069_378_761, 1_425_842_403, 899_393_492]);
    }

    #[test]
    fn the_first_sample_replaces_what_was_assumed_and_a_maximum_lasts_ten_rounds() {
        let mut f = MaxFilter::new(5_792_000);
        f.update(14_480, 1);
        assert_eq!(f.get(), 14_480);
        f.update(50_000, 2);
        for round in 3..=12 {
            f.update(20_000, round);
            assert_eq!(f.get(), 50_000, "round {round}");
        }
        f.update(20_000, 13);
        assert_eq!(f.get(), 20_000);
    }

    #[test]
    fn a_pacer_slows_down_only_once_the_pipe_is_full() {
        let mut w =
            ConnInit { now: Nanos::ZERO, mss: 1448, init_cwnd: 5792, srtt: None, seed: 0, hz: 0 }.window();
        let mut pace = Pace::default();
        let cx = Cx { min_rtt: Nanos::MAX, mss: 1448, ..Cx::default() };
        assert_eq!(pace.begin(&cx, &mut w, 2.89), 5_792_000);
        let assumed = w.pacing;
        pace.follow(&mut w, 1.0, 1_000_000, false);
        assert_eq!(w.pacing, assumed);
        pace.follow(&mut w, 1.0, 1_000_000, true);
        assert_eq!(w.pacing, Some(BitRate(7_920_000)));
    }
}
