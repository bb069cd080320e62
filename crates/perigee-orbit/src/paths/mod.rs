// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path searches over the links of one instant.

pub mod a_star;
pub mod disjoint;
pub(crate) mod incremental_tree;
pub(crate) mod search_graph;
pub mod tree;
