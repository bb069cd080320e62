// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Drop-tail: a packet that does not fit is dropped on arrival. The port itself does that, so there
//! is no state.

use crate::DisciplineInfo;

/// Entry in [`DISCIPLINES`](crate::DISCIPLINES).
pub const INFO: DisciplineInfo = DisciplineInfo {
    id: "drop-tail",
    label: "Drop-tail",
    summary: "drops packets that do not fit",
    params: &[],
    make: None,
};
