//! The results of a run: counters, the wear of its blocks, a timeline, a summary, and the folder that keeps them.
//!
//! Everything here is a plain value that the run fills in. Other crates run scenarios and draw pictures of
//! results. Names of keys and columns are stable and documented in `docs/src/results.md`.

mod ages;
mod array;
mod counters;
mod fingerprint;
mod folder;
mod forecast;
mod grid;
mod latency;
mod life;
mod statistics;
mod summary;
mod tables;
mod timeline;
mod wear;

pub use ages::{Age, Common, LatencyByGc, LatencyOf};
pub use array::{ArrayDrive, ArrayDriveLatency, ArrayFigures, ArrayLatency, ArrayProbe, DriveState, Unfinished};
pub use counters::{Counters, WriteAmplification, write_amplification};
pub use fingerprint::Fingerprints;
pub use folder::{
    Folder, GRID, Inputs, MadeBy, Member, REPORT, RUNS, Render, ResultError, RunResult, SCENARIO, STATISTICS,
    TRACE_COPY, Traces, WINDOWS_CSV, read_run, read_runs,
};
pub use forecast::{Alternative, FirstFailure, Forecast, Interval, Outlook, OutlookFigures, OutlookYear, UberAtWear};
pub use grid::{GridCell, SeededCell, grid_columns, grid_csv, leaves_of, number, seeded_grid_csv, windows_csv};
pub use latency::{
    BreakdownMeans, Errors, Latency, LatencyDistribution, LatencyFigures, OpThroughput, OperationFigures,
    OperationLatency, Thermal, Throughput, Window, WindowKind,
};
pub use life::{Calendar, CalendarOrigin, Life, WARRANTY_YEARS};
pub use statistics::{
    BandPoint, Estimate, Statistics, band, is_same, seeds_made_no_difference, student_t_975, whole_runs,
};
pub use summary::{
    BlocksErased, Capacity, EXTRAPOLATED, End, EndCause, EndReason, FastForwarded, FileSystem, Flash, Gc, Host,
    OVERLOADED, PagesProgrammed, Run, Scaled, Scenario, Summary, SummaryWriteAmplification, Wear,
};
pub use tables::{Column, Values, block_columns, panic_is_caught, timeline_columns, window_columns};
pub use timeline::{BlockAges, Row, TIMELINE_ROWS_MAX, Timeline, windows};
pub use wane_units::{BlockState, DAYS_PER_YEAR, Trigger};
pub use wear::{BlockRow, EraseCounts, WearSnapshot};

#[cfg(any(test, feature = "test-runs"))]
pub mod test_runs;
