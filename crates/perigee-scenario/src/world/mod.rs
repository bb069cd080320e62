// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worlds from scenarios: a network over time and the flows on it, for one seed.
//!
//! * [`from_source`]: the [`network`] of each kind of source: [`small`] ones with their [`changes`]
//!   and [`jitter`], recorded (`replay`) and [`saved`] ones, [`sky`], `own_network`. [`ports`],
//!   `radio`: rates and queues; [`dama`]: capacity on request; [`fading`]: bursts and weather;
//!   [`background`]: users as a fluid at ports; `beam`: terminals of others on the carriers.
//! * [`traffic`], [`legs`]: patterns, arrivals and split flows as single flows.
//! * [`assembly`]: the complete world; [`shared`]: one timeline for all schemes; [`estimate`]: cost
//!   of a run.
//! * [`demand`]: users of a constellation as a fluid.
//! * [`exchange`], [`survey`]: networks to and from the files of other tools, and views of a sky by
//!   pairs ([`timeline_paths`]: of other networks).

pub(crate) mod any_gateway;
pub mod assembly;
pub mod background;
mod beam;
pub mod changes;
pub mod dama;
pub mod demand;
pub mod estimate;
pub mod exchange;
pub mod fading;
mod fibre;
pub mod from_source;
mod graph;
pub mod jitter;
pub mod legs;
pub mod network;
pub(crate) mod node_outages;
mod own_network;
pub mod ports;
mod radio;
mod regularity;
mod replay;
pub mod saved;
pub mod shared;
pub mod sky;
mod sky_spec;
pub mod small;
mod starts;
pub mod survey;
pub mod timeline_paths;
pub mod traffic;
mod unmetered;
