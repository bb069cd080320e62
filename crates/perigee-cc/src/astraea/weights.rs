// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Policies of Astraea: a user-supplied file, and the bundled ones.

use super::{Policy, INPUTS};
use crate::params::{FileSpec, Params};
use std::any::Any;
use std::sync::{Arc, LazyLock};

/// The policy's file.
pub const FILES: &[FileSpec] = &[FileSpec {
    name: "weights",
    help: "policy in Perigee's plain text format, with 50 inputs and 1 output, in place of the bundled one",
    parse: parse_weights,
}];

fn parse_weights(text: &str) -> Result<Arc<dyn Any + Send + Sync>, String> {
    let policy = Policy::parse(text).map_err(|e| e.to_string())?;
    if (policy.inputs(), policy.outputs()) != (INPUTS, 1) {
        return Err(format!(
            "the policy has {} inputs and {} outputs, Astraea's has {INPUTS} and 1",
            policy.inputs(),
            policy.outputs()
        ));
    }
    Ok(Arc::new(policy))
}

/// Policy trained by `perigee train astraea`; design/astraea-policy.md documents its training and
/// quality.
static REPRODUCTION: LazyLock<Arc<Policy>> =
    LazyLock::new(|| Arc::new(Policy::parse(REPRODUCTION_TEXT).expect("a policy that tests have read")));
/// File of the bundled policy.
pub const REPRODUCTION_TEXT: &str = include_str!("reproduction.policy");
/// Policy trained by `perigee train astraea-leo`.
static SATELLITE: LazyLock<Arc<Policy>> =
    LazyLock::new(|| Arc::new(Policy::parse(SATELLITE_TEXT).expect("a policy that tests have read")));
/// File of the bundled policy for changing paths.
pub const SATELLITE_TEXT: &str = include_str!("satellite.policy");

/// Policy in use: the attached one, or a bundled one.
pub(super) fn policy_of(params: &Params) -> Option<Arc<Policy>> {
    params.file::<Policy>("weights").or_else(|| match params.choice("trained").as_str() {
        "none" => None,
        "satellite" => Some(SATELLITE.clone()),
        _ => Some(REPRODUCTION.clone()),
    })
}
