//! Values between and beyond the temperatures of the tables, each with its basis.
//!
//! Values are linear between two measurements, and the nearest measurement's beyond them. That is our choice: the paper gives only points. Above 66 °C
//! drives throttle (002, section 6.2.3), which the tables do not cover.

use super::{Benchmark, FIO_CELSIUS, Load, Metric, Model, Op, REPLAY_CELSIUS, measured, percent, replayed};
use crate::FleetError;
use crate::error::within;
use crate::named::{Named, named};

/// Lowest temperature around the drive, in °C: the limit that most drives are rated for (002, section 6.2.3).
pub const AMBIENT_MIN: f64 = 0.0;

/// Highest temperature around the drive, in °C: there NVMe drives begin to throttle by default (002, section 6.2.3).
pub const AMBIENT_MAX: f64 = 66.0;

/// The basis of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// A measurement at a temperature of the table.
    Measured,
    /// A straight line between two measurements.
    Interpolated,
    /// The nearest measurement, since the temperature is beyond all.
    Clamped,
}

named!(Basis, "basis", Measured = "measured", Interpolated = "interpolated", Clamped = "clamped");

/// A value and its basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The value, in the table's unit.
    pub value: f64,
    /// Its basis.
    pub basis: Basis,
}

fn read(points: &[f64], values: &[f64], celsius: f64) -> Result<Reading, FleetError> {
    debug_assert_eq!(points.len(), values.len(), "a table has a value at each temperature");
    debug_assert!(points.is_sorted_by(|one, next| one < next), "temperatures of a table rise");
    within("the temperature around the drive in °C", celsius, AMBIENT_MIN, AMBIENT_MAX)?;
    let after = points.partition_point(|point| *point < celsius);
    if points.get(after) == Some(&celsius) {
        return Ok(Reading { value: values[after], basis: Basis::Measured });
    }
    if after == 0 || after == points.len() {
        let nearest = after.min(points.len() - 1);
        return Ok(Reading { value: values[nearest], basis: Basis::Clamped });
    }
    let (x0, x1, y0, y1) = (points[after - 1], points[after], values[after - 1], values[after]);
    Ok(Reading { value: y0 + (y1 - y0) * (celsius - x0) / (x1 - x0), basis: Basis::Interpolated })
}

/// The result of a job of fio at a temperature around the drive, 0 to 66 °C, in MB/s, operations per second or microseconds.
///
/// It is from tables 6.4 and 6.5 of 002, which have 25, 35 and 50 °C. Between 35 and 50 °C it is probably too pessimistic: see [`held_out`].
///
/// # Errors
///
/// [`FleetError::OutOfRange`] beyond those temperatures.
pub fn performance(model: Model, benchmark: Benchmark, metric: Metric, celsius: f64) -> Result<Reading, FleetError> {
    read(&FIO_CELSIUS, &measured(model, benchmark, metric), celsius)
}

/// How much worse [`performance`] is than at 25 °C, in percent; negative if it is better.
///
/// # Errors
///
/// As [`performance`].
pub fn loss(model: Model, benchmark: Benchmark, metric: Metric, celsius: f64) -> Result<Reading, FleetError> {
    let reading = performance(model, benchmark, metric, celsius)?;
    let cold = measured(model, benchmark, metric)[0];
    Ok(Reading { value: percent(metric, cold, reading.value), ..reading })
}

/// Throughput of a replayed Hadoop load at a temperature around the drive, 0 to 66 °C, in MB/s.
///
/// It is from tables 6.12 and 6.13 of 002, which have 25, 35, 45 and 50 °C.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] beyond those temperatures, [`FleetError::Unfit`] for the reads of Pagerank, which has none.
pub fn throughput(model: Model, load: Load, op: Op, celsius: f64) -> Result<Reading, FleetError> {
    let Some(values) = replayed(model, load, op) else {
        let found = format!("{} of {}", op.name(), load.name());
        return Err(FleetError::Unfit {
            what: "throughput",
            found,
            needed: "is a direction that the load moves data in",
        });
    };
    read(&REPLAY_CELSIUS, &values, celsius)
}

/// Errors of a straight line from 35 to 50 °C against the measurements at 45 °C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// Number of loads and directions of both models.
    pub count: usize,
    /// Mean of (line - measured) / measured, in percent.
    pub mean: f64,
    /// The error farthest from 0, in percent.
    pub worst: f64,
}

/// The error of interpolation that can be measured: the loads' values at 45 °C are left out and interpolated from 35 and 50 °C.
///
/// Loads of one model lose most between 45 and 50 °C, so that the line is too low.
pub fn held_out() -> HeldOut {
    let mut errors = Vec::new();
    for &model in Model::ALL {
        for &load in Load::ALL {
            // The few megabytes of the other direction are rounded too coarsely.
            let Some([_, warm, at_45, hot]) = replayed(model, load, load.main()) else { continue };
            let line = warm + (hot - warm) * (45.0 - 35.0) / (50.0 - 35.0);
            errors.push(100.0 * (line - at_45) / at_45);
        }
    }
    assert!(!errors.is_empty(), "loads were replayed at each temperature");
    let worst =
        errors.iter().copied().fold(0.0, |worst: f64, error| if error.abs() > worst.abs() { error } else { worst });
    HeldOut { count: errors.len(), mean: errors.iter().sum::<f64>() / errors.len() as f64, worst }
}
