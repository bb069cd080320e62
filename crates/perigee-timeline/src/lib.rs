// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network over time, and the traffic put on it: the first waist of the laboratory.
//!
//! A [`Timeline`] is plain data: nodes, ports, directed links, and everything that changes, in time order. It can be
//! saved, loaded, diffed, plotted and replayed. It knows nothing of satellites and nothing of TCP; sources
//! (constellations, recorded paths, schedules) make it, backends (the simulator) consume it.
//!
//! Floors:
//! * [`model`]: the types.
//! * [`workload`]: the flows.
//! * [`store`]: save, load, check; [`follow`]: where packets go at an instant; [`view`]: what a pair sees over time;
//!   [`diff`]: two timelines compared.
//! * [`topology`]: chain, dumbbell, parking lot; [`crossing`]: two dumbbells whose pairs change sides.
//! * [`schedule`]: changes at given times, listed or drawn as published studies did ([`python_random`]).
//! * [`fading`]: bursts of loss and weather over any source.
//! * [`files`]: files that people name, read or refused in words.
//! * [`leoem`] (with [`breaks`]), [`mahimahi`]: recorded paths, rates and delays; [`trace`]: what their readers share.
//!
//! A timeline is carried in [`Chunk`]s so that long ones stream: the [`Header`] is the state at time zero, each chunk
//! adds nodes, ports and links that appear and lists the changes of its time span.

pub mod breaks;
pub mod crossing;
pub mod diff;
mod discipline;
pub mod fading;
pub mod files;
pub mod follow;
pub mod leoem;
pub mod mahimahi;
pub mod model;
mod part;
pub mod python_random;
pub mod schedule;
pub mod stop;
pub mod store;
#[cfg(test)]
mod testdata;
pub mod topology;
pub mod trace;
pub mod view;
pub mod workload;

pub use discipline::Discipline;
pub use model::*;
pub use workload::*;
