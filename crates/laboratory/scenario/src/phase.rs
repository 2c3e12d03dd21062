//! Phases of a run as plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_workload::Arrival;

use super::schema::in_field_order;
use super::workload::Workload;

/// When the run, or a phase, ends: at the first of these limits. It also ends with a trace that has no `loop`. A drive at its end of life always
/// ends the run.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct Until {
    /// Bytes that the host wrote over the initial capacity, since preconditioning or the start of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub drive_writes: Option<f64>,
    /// Days since preconditioning or the start of the phase, by the calendar of `time.drive-writes-per-day` or, in a timed run, by its
    /// clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub days: Option<f64>,
    /// The same as `days`, in years of 365 days; give one of the two. A resolved scenario has days.
    #[serde(skip_serializing)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub years: Option<f64>,
    /// Requests served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = i64::MAX))]
    pub requests: Option<u64>,
    /// Run until the drive's end of life.
    pub end_of_life: bool,
}

/// One phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Where its requests come from.
    pub workload: Workload,
    /// When its requests arrive, in a timed run.
    pub arrival: Arrival,
    /// When it ends.
    pub until: Until,
}
