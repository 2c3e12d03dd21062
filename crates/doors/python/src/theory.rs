//! The crate `theory` on arrays: tables come as one-dimensional arrays, and arguments with many values as arrays of any length.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wane_theory::occupancy::Rates;
use wane_theory::selection::OperatingPoint;
use wane_theory::utilization::{Blocks, Class, Victims, fifo, uniform};
use wane_theory::{TheoryError, occupancy, selection, tradeoff};

use crate::error;
use crate::result::array;

type Numbers<'py> = PyReadonlyArray1<'py, f64>;
type Array<'py> = PyResult<Bound<'py, PyAny>>;
type Point = (f64, f64, f64);

/// The values of an array, whatever its strides.
fn values(array: &Numbers<'_>) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

/// Returns a model's answer, or raises its refusal.
fn asked<T>(answer: impl FnOnce() -> Result<T, TheoryError>) -> PyResult<T> {
    error::guarded(|| answer().map_err(|error| error::theory(&error)))
}

/// Returns an answer for each of many questions.
fn each<'py>(
    py: Python<'py>,
    questions: &Numbers<'py>,
    answer: impl Fn(f64) -> Result<f64, TheoryError> + Sync,
) -> Array<'py> {
    let questions = values(questions);
    let answers = asked(|| py.detach(|| questions.into_iter().map(&answer).collect::<Result<Vec<f64>, _>>()))?;
    array(py, answers)
}

fn point(point: &OperatingPoint) -> Point {
    (point.cleaning_cost, point.wear_leveling, point.write_amplification)
}

#[pyfunction]
pub(crate) fn half_full_occupancy(py: Python<'_>, pages: u32) -> Array<'_> {
    if !(1..=16_384).contains(&pages) {
        return Err(error::theory_sentence(format!("pages of a block: found {pages}, allowed is 1 to 16384")));
    }
    array(py, asked(|| Ok(occupancy::half_full_occupancy(pages)))?)
}

#[pyfunction]
pub(crate) fn uniform_rates(py: Python<'_>, pages: u32) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let rates = asked(|| Rates::uniform(pages))?;
    Ok((array(py, rates.up().to_vec())?, array(py, rates.down().to_vec())?))
}

#[pyfunction]
pub(crate) fn occupancy_from_rates<'py>(
    py: Python<'py>,
    up: Numbers<'py>,
    down: Numbers<'py>,
    start: Option<Numbers<'py>>,
) -> Array<'py> {
    let shares = asked(|| {
        let rates = Rates::new(values(&up), values(&down))?;
        start.as_ref().map_or_else(|| rates.fixed_point(), |start| rates.fixed_point_from(&values(start)))
    })?;
    array(py, shares)
}

#[pyfunction]
pub(crate) fn occupancy_after<'py>(
    py: Python<'py>,
    up: Numbers<'py>,
    down: Numbers<'py>,
    start: Numbers<'py>,
    requests_per_block: f64,
) -> Array<'py> {
    let (up, down, start) = (values(&up), values(&down), values(&start));
    array(py, asked(|| py.detach(|| Rates::new(up, down)?.after(&start, requests_per_block)))?)
}

#[pyfunction]
pub(crate) fn total_variation(one: Numbers<'_>, other: Numbers<'_>) -> PyResult<f64> {
    asked(|| occupancy::total_variation(&values(&one), &values(&other)))
}

#[pyfunction]
pub(crate) fn operating_point(shares: Numbers<'_>, weights: Numbers<'_>) -> PyResult<Point> {
    asked(|| Ok(point(&selection::operating_point(&values(&shares), &values(&weights))?)))
}

#[pyfunction]
pub(crate) fn random_victims(shares: Numbers<'_>) -> PyResult<Point> {
    asked(|| Ok(point(&selection::random(&values(&shares))?)))
}

#[pyfunction]
pub(crate) fn greedy(shares: Numbers<'_>) -> PyResult<Point> {
    asked(|| Ok(point(&selection::greedy(&values(&shares))?)))
}

#[pyfunction]
pub(crate) fn d_choices<'py>(
    py: Python<'py>,
    shares: Numbers<'py>,
    d: Numbers<'py>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (shares, choices) = (values(&shares), values(&d));
    let points: Vec<OperatingPoint> =
        asked(|| choices.iter().map(|d| selection::d_choices(&shares, *d)).collect::<Result<_, _>>())?;
    let costs = points.iter().map(|point| point.cleaning_cost).collect();
    Ok((array(py, costs)?, array(py, points.iter().map(|point| point.wear_leveling).collect())?))
}

#[pyfunction]
pub(crate) fn d_choices_weights<'py>(py: Python<'py>, shares: Numbers<'py>, d: f64) -> Array<'py> {
    array(py, asked(|| selection::d_choices_weights(&values(&shares), d))?)
}

#[pyfunction]
pub(crate) fn optimal_wear_leveling<'py>(py: Python<'py>, shares: Numbers<'py>, costs: Numbers<'py>) -> Array<'py> {
    let shares = values(&shares);
    each(py, &costs, |cost| tradeoff::optimal_wear_leveling(&shares, cost))
}

#[pyfunction]
pub(crate) fn optimal_weights<'py>(py: Python<'py>, shares: Numbers<'py>, cost: f64) -> Array<'py> {
    array(py, asked(|| Ok(tradeoff::optimum(&values(&shares), cost)?.weights))?)
}

#[pyfunction]
pub(crate) fn d_for_cost<'py>(py: Python<'py>, shares: Numbers<'py>, costs: Numbers<'py>) -> Array<'py> {
    let shares = values(&shares);
    each(py, &costs, |cost| tradeoff::d_for_cost(&shares, cost))
}

#[pyfunction]
pub(crate) fn d_for_wear_leveling<'py>(py: Python<'py>, shares: Numbers<'py>, wanted: Numbers<'py>) -> Array<'py> {
    let shares = values(&shares);
    each(py, &wanted, |wear_leveling| tradeoff::d_for_wear_leveling(&shares, wear_leveling))
}

/// Returns write amplification under uniform writes. `policy` is one of those that `wane.theory` lists; only d-choices has a `d`.
#[pyfunction]
pub(crate) fn write_amplification<'py>(
    py: Python<'py>,
    policy: &str,
    spare_factors: Numbers<'py>,
    pages: u32,
    d: Option<f64>,
) -> Array<'py> {
    let victims = match (policy, d) {
        ("random", None) => Some(Victims::Random),
        ("greedy", None) => Some(Victims::Greedy),
        ("d-choices", Some(d)) => Some(Victims::DChoices(d)),
        ("fifo", None) => None,
        ("random" | "greedy" | "fifo", Some(_)) => {
            return Err(error::theory_sentence(format!("d: {policy} draws no blocks; only d-choices has a d")));
        }
        ("d-choices", None) => return Err(error::theory_sentence("d: found none, d-choices needs one from 1 on")),
        _ => {
            let known = "random, d-choices, greedy, fifo";
            return Err(error::theory_sentence(format!("policy: found \"{policy}\", allowed are {known}")));
        }
    };
    each(py, &spare_factors, |spare_factor| match victims {
        Some(victims) => Ok(uniform(victims, Blocks { pages, spare_factor })?.write_amplification),
        None => fifo(spare_factor, &[Class { pages: 1.0, writes: 1.0 }]),
    })
}
