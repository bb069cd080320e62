// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of skies.

use crate::motion::tle::TleError;

/// Errors of a sky.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkyError {
    /// An invalid element set file.
    #[error("{0}: {1}")]
    Tle(String, TleError),
    /// An inconsistent configuration, or a satellite that cannot be propagated.
    #[error("{0}")]
    Spec(String),
    /// Traffic that can never flow.
    #[error("{0}")]
    Unreachable(String),
}
