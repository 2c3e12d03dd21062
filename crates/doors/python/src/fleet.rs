//! The crate `fleet` on arrays: names choose rows of its tables, and arguments with many values come as arrays of any length.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wane_fleet::economics::{Cost, FIGURES, INPUTS, Inputs, Owned, compare};
use wane_fleet::heat::{
    self, Basis, Benchmark, Load, Metric, Model, Op, Reading, Sample, TTest, Variances, recomputed,
};
use wane_fleet::{FleetError, Named, economics};

use crate::error;
use crate::result::array;

type Numbers<'py> = PyReadonlyArray1<'py, f64>;
type Array<'py> = PyResult<Bound<'py, PyAny>>;
/// Values, and the name of each value's basis.
type Readings<'py> = PyResult<(Bound<'py, PyAny>, Vec<&'static str>)>;

/// The values of an array, whatever its strides.
fn values(array: &Numbers<'_>) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

/// An answer, or its refusal.
fn asked<T>(answer: impl FnOnce() -> Result<T, FleetError>) -> PyResult<T> {
    error::guarded(|| answer().map_err(|error| error::fleet(&error)))
}

fn readings<'py>(
    py: Python<'py>,
    celsius: &Numbers<'py>,
    read: impl Fn(f64) -> Result<Reading, FleetError>,
) -> Readings<'py> {
    let found = asked(|| values(celsius).into_iter().map(&read).collect::<Result<Vec<Reading>, _>>())?;
    let bases = found.iter().map(|reading| Basis::name(reading.basis)).collect();
    Ok((array(py, found.iter().map(|reading| reading.value).collect())?, bases))
}

fn job(model: &str, benchmark: &str, metric: &str) -> Result<(Model, Benchmark, Metric), FleetError> {
    Ok((Model::by_name(model)?, Benchmark::by_name(benchmark)?, Metric::by_name(metric)?))
}

/// The names of models, benchmarks, metrics, loads and directions, in the order of the tables.
#[pyfunction]
pub(crate) fn heat_names() -> Vec<Vec<&'static str>> {
    fn of<T: Named>() -> Vec<&'static str> {
        T::ALL.iter().map(|one| one.name()).collect()
    }
    vec![of::<Model>(), of::<Benchmark>(), of::<Metric>(), of::<Load>(), of::<Op>()]
}

#[pyfunction]
pub(crate) fn heat_performance<'py>(
    py: Python<'py>,
    model: &str,
    benchmark: &str,
    metric: &str,
    celsius: Numbers<'py>,
) -> Readings<'py> {
    let (model, benchmark, metric) = asked(|| job(model, benchmark, metric))?;
    readings(py, &celsius, |celsius| heat::performance(model, benchmark, metric, celsius))
}

#[pyfunction]
pub(crate) fn heat_loss<'py>(
    py: Python<'py>,
    model: &str,
    benchmark: &str,
    metric: &str,
    celsius: Numbers<'py>,
) -> Readings<'py> {
    let (model, benchmark, metric) = asked(|| job(model, benchmark, metric))?;
    readings(py, &celsius, |celsius| heat::loss(model, benchmark, metric, celsius))
}

#[pyfunction]
pub(crate) fn heat_throughput<'py>(
    py: Python<'py>,
    model: &str,
    load: &str,
    direction: &str,
    celsius: Numbers<'py>,
) -> Readings<'py> {
    let (model, load, op) = asked(|| Ok((Model::by_name(model)?, Load::by_name(load)?, Op::by_name(direction)?)))?;
    readings(py, &celsius, |celsius| heat::throughput(model, load, op, celsius))
}

#[pyfunction]
pub(crate) fn heat_degradation<'py>(
    py: Python<'py>,
    metric: &str,
    cold: Numbers<'py>,
    hot: Numbers<'py>,
) -> Array<'py> {
    let pairs = values(&cold).into_iter().zip(values(&hot));
    let found = asked(|| {
        let metric = Metric::by_name(metric)?;
        pairs.map(|(cold, hot)| heat::degradation(metric, cold, hot)).collect::<Result<Vec<f64>, _>>()
    })?;
    array(py, found)
}

/// Model, benchmark, metric, temperature, ours, the printed one, and whether rounding explains their difference.
type Row = (&'static str, &'static str, &'static str, f64, f64, f64, bool);

#[pyfunction]
pub(crate) fn heat_recomputed() -> Vec<Row> {
    let row = |one: heat::Recomputed| {
        let names = (one.model.name(), one.benchmark.name(), one.metric.name());
        (names.0, names.1, names.2, one.celsius, one.percent, one.printed, one.is_rounding())
    };
    recomputed().into_iter().map(row).collect()
}

/// Place, printed text, and finding.
#[pyfunction]
pub(crate) fn heat_misprints() -> Vec<(&'static str, &'static str, &'static str)> {
    heat::MISPRINTS.iter().map(|one| (one.place, one.printed, one.found)).collect()
}

/// Statistic, degrees of freedom, p.
#[pyfunction]
pub(crate) fn heat_t_test(one: (f64, f64, u32), other: (f64, f64, u32), variances: &str) -> PyResult<(f64, f64, f64)> {
    let sample = |(mean, variance, count)| Sample { mean, variance, count };
    let TTest { statistic, freedom, p_value } =
        asked(|| heat::t_test(&sample(one), &sample(other), Variances::by_name(variances)?))?;
    Ok((statistic, freedom, p_value))
}

/// Mean, variance, number.
#[pyfunction]
pub(crate) fn heat_sample(measured: Numbers<'_>) -> PyResult<(f64, f64, u32)> {
    let Sample { mean, variance, count } = asked(|| Sample::of(&values(&measured)))?;
    Ok((mean, variance, count))
}

#[pyfunction]
pub(crate) fn heat_pooled_deviation(mean: f64, other_mean: f64, p: f64, count: u32) -> PyResult<f64> {
    asked(|| heat::pooled_deviation(mean, other_mean, p, count))
}

/// Deviations at 25, 35, 45 and 50 °C, and the mismatch.
#[pyfunction]
pub(crate) fn heat_spread(model: &str, load: &str, direction: &str) -> PyResult<Option<([Option<f64>; 4], f64)>> {
    let (model, load, op) = asked(|| Ok((Model::by_name(model)?, Load::by_name(load)?, Op::by_name(direction)?)))?;
    Ok(heat::spread(model, load, op).map(|found| (found.deviations, found.mismatch)))
}

/// Three arrays of one length: temperatures, references, activation energies.
#[pyfunction]
pub(crate) fn heat_acceleration<'py>(
    py: Python<'py>,
    celsius: Numbers<'py>,
    reference: Numbers<'py>,
    energy: Numbers<'py>,
) -> Array<'py> {
    let (celsius, reference, energy) = (values(&celsius), values(&reference), values(&energy));
    let each = celsius.into_iter().zip(reference).zip(energy);
    let found = asked(|| {
        each.map(|((celsius, reference), energy)| heat::acceleration(celsius, reference, energy))
            .collect::<Result<Vec<f64>, _>>()
    })?;
    array(py, found)
}

/// Name, the paper's value, unit and source of each input.
#[pyfunction]
pub(crate) fn economics_inputs() -> Vec<(&'static str, f64, &'static str, &'static str)> {
    INPUTS.iter().map(|input| (input.name, input.value, input.unit, input.source)).collect()
}

#[pyfunction]
pub(crate) fn economics_figures() -> Vec<&'static str> {
    FIGURES.to_vec()
}

/// Takes an array for each input, all of one length; returns an array for each figure.
#[pyfunction]
pub(crate) fn economics_compare<'py>(py: Python<'py>, inputs: Vec<Numbers<'py>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let columns: Vec<Vec<f64>> = inputs.iter().map(values).collect();
    let count = columns.first().map_or(0, Vec::len);
    if columns.len() != INPUTS.len() || columns.iter().any(|column| column.len() != count) {
        return Err(error::fleet_sentence(format!("inputs: allowed are {} arrays of one length", INPUTS.len())));
    }
    let rows = (0..count).map(|row| Inputs::from_values(std::array::from_fn(|column| columns[column][row])));
    let found = asked(|| rows.map(|inputs| Ok(compare(&inputs)?.values())).collect::<Result<Vec<_>, FleetError>>())?;
    (0..FIGURES.len()).map(|figure| array(py, found.iter().map(|values| values[figure]).collect())).collect()
}

/// Takes seven arrays of one length, in the order of `Owned`'s fields; returns purchase, energy and their sum.
#[pyfunction]
pub(crate) fn economics_ownership<'py>(py: Python<'py>, owned: [Numbers<'py>; 7]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let columns = owned.each_ref().map(values);
    let count = columns[0].len();
    if columns.iter().any(|column| column.len() != count) {
        return Err(error::fleet_sentence("drives to own: allowed are arrays of one length"));
    }
    let of = |row: usize| {
        let [drives, dollars_per_gb, gigabytes, watts, years, dollars_per_kwh, power_usage_effectiveness] =
            std::array::from_fn(|column| columns[column][row]);
        let owned =
            Owned { drives, dollars_per_gb, gigabytes, watts, years, dollars_per_kwh, power_usage_effectiveness };
        economics::ownership(&owned)
    };
    let found = asked(|| (0..count).map(of).collect::<Result<Vec<Cost>, _>>())?;
    let figures: [fn(&Cost) -> f64; 3] = [|cost| cost.purchase, |cost| cost.energy, |cost| cost.total];
    figures.into_iter().map(|figure| array(py, found.iter().map(figure).collect())).collect()
}

/// Brand, cells and capacity, then MB/s, IOPS and latency of writes and of reads.
type Benchmarked = (String, &'static str, f64, (f64, f64, f64), (f64, f64, f64));

#[pyfunction]
pub(crate) fn economics_benchmarked() -> Vec<Benchmarked> {
    let side = |side: economics::Side| (side.mb_per_s, side.iops, side.latency_us);
    let row = |drive: &economics::Benchmarked| {
        (drive.brand.to_string(), drive.cells, drive.gigabytes, side(drive.write), side(drive.read))
    };
    economics::BENCHMARKED.iter().map(row).collect()
}
