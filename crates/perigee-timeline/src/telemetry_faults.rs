// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults and limits of the telemetry that a port writes.

use perigee_units::Nanos;
use serde::{Deserialize, Serialize};

/// Faults of the telemetry records of a port; zero = none of the kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TelemetryFaults {
    /// Age of records.
    #[serde(default)]
    pub delay: Nanos,
    /// Largest relative error of rates and backlogs.
    #[serde(default)]
    pub error: f64,
    /// Drift of the port's clock in parts per million.
    #[serde(default)]
    pub clock_ppm: f64,
    /// Time for which the rate reported stays old after a change.
    #[serde(default)]
    pub stale: Nanos,
    /// Relative error of the number of flows.
    #[serde(default)]
    pub flow_count_error: f64,
    /// Entries of the table in which flows are counted; zero = one for each flow.
    #[serde(default)]
    pub flow_table: u32,
}

impl TelemetryFaults {
    /// The faults, if there are any.
    pub fn any(self) -> Option<Self> {
        (self != TelemetryFaults::default()).then_some(self)
    }

    /// Bounds of [`TelemetryFaults::delay`].
    pub const DELAY: [Nanos; 2] = [Nanos::ZERO, Nanos::from_secs(10)];
    /// Bounds of [`TelemetryFaults::stale`].
    pub const STALE: [Nanos; 2] = [Nanos::ZERO, Nanos::from_secs(60)];
    /// Bounds of [`TelemetryFaults::clock_ppm`], of either sign.
    pub const CLOCK_PPM: f64 = 100_000.0;
    /// Upper bound of [`TelemetryFaults::flow_count_error`].
    pub const FLOW_COUNT_ERROR: f64 = 100.0;
    /// Upper bound of [`TelemetryFaults::flow_table`].
    pub const FLOW_TABLE: u32 = 1_000_000;

    /// Checks the values of a saved timeline.
    ///
    /// # Errors
    /// A value outside of its bounds.
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, ok: bool| match ok {
            true => Ok(()),
            false => Err(format!("telemetry fault {name} is out of its bounds")),
        };
        within("delay", self.delay <= Self::DELAY[1])?;
        within("stale", self.stale <= Self::STALE[1])?;
        within("flow_table", self.flow_table <= Self::FLOW_TABLE)?;
        within("error", (0.0..=1.0).contains(&self.error))?;
        within("clock_ppm", self.clock_ppm.abs() <= Self::CLOCK_PPM)?;
        within("flow_count_error", (-1.0..=Self::FLOW_COUNT_ERROR).contains(&self.flow_count_error))
    }
}
