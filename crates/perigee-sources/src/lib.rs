// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sources of timelines that need no satellites: small topologies, schedules of changes, recorded paths and rates.
//!
//! Each source makes a [`Timeline`](perigee_timeline::Timeline) or changes to one; none knows what carries packets over it.
//! Constellations are the sources of `perigee-orbit`.
//!
//! * [`topology`]: chain, dumbbell, parking lot; [`crossing`]: two dumbbells whose pairs change sides.
//! * [`schedule`]: changes at given times, listed or drawn as published studies did ([`python_random`]).
//! * [`fading`]: bursts of loss and weather over any source.
//! * [`leoem`] (with [`breaks`]), [`mahimahi`]: recorded paths, rates and delays; [`trace`]: what their readers share.

pub mod beside;
pub mod breaks;
pub mod crossing;
pub mod fading;
pub mod graphml;
pub mod leoem;
pub mod mahimahi;
pub mod network;
mod part;
pub mod python_random;
pub mod schedule;
#[cfg(test)]
mod testdata;
pub mod topology;
pub mod trace;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
