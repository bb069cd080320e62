// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Congestion controls of the laboratory, one file per scheme.
//!
//! The crate is pure: no clock (time is passed in), no I/O, no threads, no global randomness (the
//! host seeds each controller) and no allocation while ACKs are processed. The same object runs in
//! the simulator, under a C or Python caller and over real sockets.
//!
//! Layers:
//! * [`interface`]: inputs and decisions of a controller; the trait [`CongestionControl`].
//! * [`params`] (of `perigee-units`): the parameter table of each scheme, from which validation,
//!   schema and documentation derive.
//! * [`schemes`]: the registry. A new scheme is a file here and a line there.
//! * [`start`]: initial slow starts as parts of their own, and [`start::started`], a scheme with one.
//! * Shared parts: [`window`] (growth in packets), [`hystart`], [`filter`] (windowed maximum),
//!   [`freeze`] (a window kept over a repair), [`clock`] (timer ticks), [`notice`] (start of a new
//!   path), `grid` (instants of reallocation), [`rng`], `inet` (the models of the OrbCC authors' simulator), [`utilisation`]
//!   (utilisation of hops from two telemetry stacks).
//!
//! Loss detection, loss recovery (PRR), RTT estimation, delivery-rate sampling and pacing belong to
//! the transport (`perigee-tcp`), so that every scheme receives identical samples.

pub mod clock;
pub mod filter;
pub mod freeze;
pub(crate) mod grid;
pub mod hystart;
pub(crate) mod inet;
pub mod interface;
pub mod notice;
pub mod rng;
pub mod schemes;
pub mod start;
pub mod states;
pub mod utilisation;
pub mod window;

pub mod astraea;
pub mod bbr;
pub mod bbr3;
pub mod c4;
pub mod copa;
pub mod cubic;
pub mod hpcc;
pub mod hybla;
pub mod ledbatpp;
pub mod leo;
pub mod leocc;
pub mod newreno;
pub mod orbcc;
pub mod orbcc_next;
pub mod ppb;
pub mod prague;
pub mod rcp;
pub mod satcp;
pub mod satpipe;
pub mod starquic;
pub mod vegas;
pub mod vivace;
pub mod xcp;

#[cfg(test)]
mod battery;
#[cfg(test)]
mod closed_loop;

pub use interface::*;
pub use perigee_units::params;
pub use perigee_units::params::{Domain, FileError, FileSpec, ParamError, ParamSpec, Params, Value};
pub use schemes::{info, Controller, Needs, SchemeInfo, SCHEMES};
pub use start::{start_info, Start, StartInfo, STARTS};

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
