// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sources of timelines without satellites: small topologies, schedules of changes, recorded paths
//! and rates.
//!
//! Each source builds a [`Timeline`](perigee_timeline::Timeline), or changes to one, independently
//! of the backend that carries packets over it. Constellations are in `perigee-orbit`.
//!
//! * [`topology`]: chain, dumbbell, parking lot; [`parallel`]: paths among which packets are spread;
//!   [`crossing`]: two dumbbells with pairs that change
//!   sides.
//! * [`schedule`]: changes at given times, from a file or drawn as in published studies
//!   ([`python_random`]).
//! * [`fading`]: bursts of loss and weather over any source.
//! * [`leoem`] (with [`leoem_outages`]), [`mahimahi`]: recorded paths, rates and delays;
//!   [`line_error`]: errors of their parsers.

pub mod background;
pub mod crossing;
pub mod fading;
pub mod graphml;
mod legs;
pub mod leoem;
pub mod leoem_outages;
pub mod line_error;
pub mod mahimahi;
pub mod network;
pub mod overlay;
pub mod parallel;
pub mod python_random;
pub mod schedule;
#[cfg(test)]
mod testdata;
pub mod topology;

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
