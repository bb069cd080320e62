// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Drop-tail: a packet that does not fit is dropped when it comes. The port does that by itself, so there is no state.

use crate::DisciplineInfo;

/// Its line of the list.
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "drop-tail",
    label: "Drop-tail",
    summary: "drops what does not fit",
    params: &[],
    make: None,
};
