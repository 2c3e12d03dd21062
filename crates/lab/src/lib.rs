//! Scenario to system to run to results to report.
