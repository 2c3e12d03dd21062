//! Time and energy of coding on drives, for arrays of inputs.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use wane_fleet::FleetError;
use wane_fleet::coding::{Coding, INPUTS, Placed, Shares, Taken, Work};

use crate::error;
use crate::result::array;

/// Number of arguments besides the inputs: K, M, megabytes, drives, and lost shares, which are below 0 if data are encoded.
const ASKED: usize = 5;

/// Name, value, unit and source of each input.
#[pyfunction]
pub(crate) fn coding_inputs() -> Vec<(&'static str, f64, &'static str, &'static str)> {
    INPUTS.iter().map(|input| (input.name, input.value, input.unit, input.source)).collect()
}

/// Answers the question `what` for arrays of one length: the inputs in their order, then the arguments that [`ASKED`] counts. Returns an array for
/// each figure.
#[pyfunction]
pub(crate) fn coding<'py>(
    py: Python<'py>,
    what: &str,
    asked: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let columns: Vec<Vec<f64>> = asked.iter().map(|column| column.as_array().iter().copied().collect()).collect();
    let count = columns.first().map_or(0, Vec::len);
    if columns.len() != INPUTS.len() + ASKED || columns.iter().any(|column| column.len() != count) {
        return Err(error::fleet_sentence(format!(
            "coding: allowed are {} arrays of one length",
            INPUTS.len() + ASKED
        )));
    }
    let answer = match what {
        "on_drives" => on_drives,
        "on_server" => on_server,
        "put" => put,
        "put_by_server" => put_by_server,
        "matched" => matched,
        _ => return Err(error::fleet_sentence("coding: no such question")),
    };
    let of = |row: usize| {
        let value = |column: usize| columns[column][row];
        let model = Coding::from_values(std::array::from_fn(value));
        let [needed, made, megabytes, drives, lost] = std::array::from_fn(|place| value(INPUTS.len() + place));
        let shares = Shares { needed: whole("shares needed (K)", needed)?, made: whole("shares made (M)", made)? };
        let work = if lost < 0.0 { Work::Encode } else { Work::Decode { lost: whole("lost shares", lost)? } };
        answer(&model, &Question { shares, work, megabytes, drives: whole("drives", drives)? })
    };
    let answers = || (0..count).map(of).collect::<Result<Vec<Vec<f64>>, FleetError>>();
    let found = py.detach(|| error::guarded(|| answers().map_err(|error| error::fleet(&error))))?;
    let figures = found.first().map_or(0, Vec::len);
    (0..figures).map(|figure| array(py, found.iter().map(|row| row[figure]).collect())).collect()
}

struct Question {
    shares: Shares,
    work: Work,
    megabytes: f64,
    drives: u32,
}

type Answer = Result<Vec<f64>, FleetError>;

fn whole(what: &'static str, found: f64) -> Result<u32, FleetError> {
    if (0.0..=f64::from(u32::MAX)).contains(&found) && found.fract() == 0.0 {
        return Ok(found as u32);
    }
    Err(FleetError::OutOfRange { what, found, allowed: "a whole number".into() })
}

fn taken(taken: &Taken) -> Vec<f64> {
    vec![taken.seconds, taken.processor_seconds, taken.watt_hours_min, taken.watt_hours_max]
}

fn placed(placed: &Placed) -> Vec<f64> {
    vec![placed.seconds, placed.watt_hours_min, placed.watt_hours_max, placed.busiest_link_mb]
}

fn on_drives(model: &Coding, asked: &Question) -> Answer {
    model.on_drives(asked.shares, asked.work, asked.megabytes, asked.drives).map(|found| taken(&found))
}

fn on_server(model: &Coding, asked: &Question) -> Answer {
    model.on_server(asked.shares, asked.work, asked.megabytes).map(|found| taken(&found))
}

fn put(model: &Coding, asked: &Question) -> Answer {
    model.put(asked.shares, asked.megabytes).map(|found| placed(&found))
}

fn put_by_server(model: &Coding, asked: &Question) -> Answer {
    model.put_by_server(asked.shares, asked.megabytes).map(|found| placed(&found))
}

fn matched(model: &Coding, asked: &Question) -> Answer {
    let found = model.matched(asked.shares, asked.work, asked.megabytes)?;
    let mut values = vec![f64::from(found.drives)];
    values.extend(taken(&found.by_drives));
    values.extend(taken(&found.by_server));
    values.extend([found.break_even_watts_min, found.break_even_watts_max]);
    Ok(values)
}
