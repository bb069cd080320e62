// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Short constructors of packets, ports and parameters.
#![allow(dead_code)] // each test file uses its own part

use perigee_queue::{info, Discipline, Ecn, Packet, Port, Setup};
use perigee_units::params::{Params, Value};
use perigee_units::{BitRate, Nanos};
use std::collections::BTreeMap;

pub const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}
pub const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}
pub fn text(t: &str) -> Value {
    Value::Text(t.into())
}

pub fn params(id: &str, given: &[(&str, Value)]) -> Params {
    let given: BTreeMap<String, Value> = given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    Params::new(info(id).expect("a discipline of the list").params, given)
        .expect("parameters that are allowed")
}

pub fn of_queue(bytes: u64) -> Setup {
    Setup { queue_bytes: bytes }
}

pub fn made(id: &str, given: &[(&str, Value)]) -> Box<dyn Discipline> {
    info(id).unwrap().build(&params(id, given), &of_queue(1_000_000)).expect("a managed discipline")
}

/// A port of 100 Mbit/s.
pub fn port(now: Nanos, bytes: u64) -> Port {
    Port { now, rate: BitRate::from_mbit(100), bytes }
}

/// A full packet.
pub fn packet(id: u32, arrived: Nanos, ecn: Ecn) -> Packet {
    Packet { id, bytes: 1500, ip_bytes: 1500, arrived, flow: 0, ecn, link: 0, draw: 0.5, telemetry: false }
}

/// Numbers in 0..1 from a small generator (Numerical Recipes, 64-bit linear congruential).
pub struct Draws(pub u64);
impl Draws {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() * n as f64) as u64
    }
}
