// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of skies.

use crate::motion::tle::TleError;

/// Why a sky cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkyError {
    /// An element set file is damaged.
    #[error("{0}: {1}")]
    Tle(String, TleError),
    /// The description contradicts itself, or a satellite cannot be moved.
    #[error("{0}")]
    Spec(String),
    /// Traffic that can never flow.
    #[error("{0}")]
    Unreachable(String),
}
