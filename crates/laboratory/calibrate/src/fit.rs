//! The fit of the model to measurements: its shape, its goodness, and which parameters the data determine.

use nalgebra::DMatrix;
use wane_nand::rber::RberModel;
use wane_sim::Streams;

use super::solve::{self, Coordinates, PARAMETERS, Point, SCALES, Shape};
use super::{Data, Preset, RberError, Sample};
use wane_results::student_t_975;

pub use super::solve::EXPONENT_MAX;

/// Number of rows for the search of starts. The last descents use all rows.
const SEARCH_ROWS: usize = 2_000;
/// Number of random starts, and number of the best ones that are followed.
const EFFORT: (usize, usize) = (160, 6);
const EFFORT_AGAIN: (usize, usize) = (24, 1);
/// Scale of the loss, in ln RBER, until the noise is known.
const DELTA_FIRST: f64 = 0.2;
/// Scale of the loss in robust standard deviations. With normal noise the fit is nearly least squares.
const DELTA_DEVIATIONS: f64 = 3.0;
const DELTA_MIN: f64 = 1e-3;
/// Robust standard deviations beyond which a row is an outlier.
const OUTLIER_DEVIATIONS: f64 = 5.0;
/// A scale is not identifiable if its 95 % interval spans more than this factor.
const SCALE_SPAN_MAX: f64 = 1e4;
/// An exponent is not identifiable if its 95 % interval is wider than this.
const EXPONENT_WIDTH_MAX: f64 = 2.0;
/// An exponent closer than this to an end of its range counts as at its end.
const AT_BOUND: f64 = 0.01;
/// The parameters of each term, in the order of the scales: scale, exponent of cycles, exponent of days or reads.
const TERMS: [&[usize]; SCALES] = [&[0], &[1, 4], &[2, 5, 6], &[3, 7, 8]];

/// A model fitted to measurements.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model with the ranges of its data.
    pub preset: Preset,
    /// Every parameter, in the order of [`RberModel::NAMES`].
    pub parameters: Vec<Parameter>,
    /// Rows fitted.
    pub rows: usize,
    /// Parameters fitted.
    pub freedom: usize,
    /// Share of the variance of ln RBER that the model explains.
    pub r2: f64,
    /// Root mean square of the residuals of ln RBER.
    pub rms: f64,
    /// Rows far from the fit, which count little.
    pub outliers: usize,
    /// The row farthest from the fit, by ratio.
    pub worst: Worst,
    /// Root of the random starts.
    pub seed: u64,
}

/// The row farthest from the fit.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    /// The measurement.
    pub sample: Sample,
    /// The model's value there.
    pub fitted: f64,
}

/// A fitted parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Whether the data determine it.
    pub determined: Determined,
}

/// Whether the data determine a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Determined {
    /// They do; its 95 % interval.
    Within(f64, f64),
    /// It is an exponent at an end of its range.
    AtBound,
    /// They do not, and why.
    No(&'static str),
}

/// Fits the model. The same data and seed give the same fit.
///
/// A term that does not lower the Bayesian information criterion is left out.
pub fn fit(data: &Data, seed: u64) -> Result<Fit, RberError> {
    let centers = Centers::of(data);
    let points: Vec<Point> = data.samples().iter().map(|sample| centers.point(sample)).collect();
    let (mut shape, mut reasons) = shape_of(data);
    if points.len() <= shape.freedom() {
        let (rows, needed) = (points.len(), shape.freedom() + 1);
        return Err(RberError(format!("{}: found {rows} rows, this fit needs at least {needed}", data.name())));
    }
    let mut stream = Streams::new(seed).stream("rber-fit");
    let few: Vec<Point> = points.iter().step_by(points.len().div_ceil(SEARCH_ROWS)).copied().collect();
    let mut at = solve::search(&few, &shape, None, EFFORT, DELTA_FIRST, &mut stream);
    let mut delta = DELTA_FIRST;
    for _ in 0..2 {
        delta = (DELTA_DEVIATIONS * deviation(&points, &at, &shape)).max(DELTA_MIN);
        at = solve::descend(&points, &shape, &at, delta);
    }
    let mut again = |less: &Shape, at: &Coordinates, delta: f64| {
        let rough = solve::search(&few, less, Some(at), EFFORT_AGAIN, delta, &mut stream);
        solve::descend(&points, less, &rough, delta)
    };
    while let Some((less, scale, found)) = {
        let mut refit = |less: &Shape| again(less, &at, delta);
        leave_out(&points, &shape, &at, delta, &mut refit)
    } {
        for index in TERMS[scale] {
            reasons[*index].get_or_insert("the data fit as well without its term");
        }
        (shape, at) = (less, found);
    }
    while let Some((scale, value)) = unwritable(&centers.model(&at), &shape, &at) {
        if shape.free().filter(|index| *index < SCALES).count() == 1 {
            let (name, allowed) = (RberModel::NAMES[scale], RberModel::largest(RberModel::NAMES[scale]));
            return Err(RberError(format!(
                "{}: the data do not determine {name}: its best value is {value:e}, allowed is above 0, at most {allowed:e}",
                data.name()
            )));
        }
        shape = without(&shape, scale);
        at = again(&shape, &at, delta);
        TERMS[scale]
            .iter()
            .for_each(|index| reasons[*index] = Some("the best value of its scale is none that a chip has"));
    }
    Ok(finish(data, &centers, &points, &shape, &reasons, &at, delta, seed))
}

/// ln of the largest inputs, at which the scales are fitted.
#[derive(Clone, Copy, Debug)]
struct Centers {
    cycles: f64,
    days: f64,
    reads: f64,
}

impl Centers {
    fn of(data: &Data) -> Self {
        let log = |most: f64| if most > 0.0 { libm::log(most) } else { 0.0 };
        let ranges = data.ranges();
        Self { cycles: log(ranges.cycles.1), days: log(ranges.days.1), reads: log(ranges.reads.1) }
    }

    fn point(&self, sample: &Sample) -> Point {
        Point {
            cycles: libm::log(sample.cycles) - self.cycles,
            days: libm::log(sample.days) - self.days,
            reads: libm::log(sample.reads) - self.reads,
            rber: libm::log(sample.rber),
        }
    }

    /// For each exponent: the index of its scale, its own index, and the ln of its center. At inputs of 1 the ln of the scale is lower by exponent x ln.
    fn shifts(&self) -> [(usize, usize, f64); 5] {
        [(1, 4, self.cycles), (2, 5, self.cycles), (2, 6, self.days), (3, 7, self.cycles), (3, 8, self.reads)]
    }

    fn model(&self, at: &Coordinates) -> RberModel {
        let mut parameters = *at;
        for (scale, exponent, log) in self.shifts() {
            parameters[scale] -= at[exponent] * log;
        }
        for (index, parameter) in parameters.iter_mut().enumerate() {
            if index < SCALES {
                *parameter = libm::exp(*parameter);
            } else if TERMS.iter().any(|term| term.contains(&index) && at[term[0]] == f64::NEG_INFINITY) {
                *parameter = 0.0;
            }
        }
        RberModel::from_parameters(parameters)
    }
}

/// The first term whose scale no preset can have, with its value. That includes a scale so small beside its largest
/// inputs that it becomes 0.
fn unwritable(model: &RberModel, shape: &Shape, at: &Coordinates) -> Option<(usize, f64)> {
    /// Smallest ln of a term at its largest inputs. Below it the term counts as 0.
    const NOTHING: f64 = -700.0;
    let values = model.parameters();
    (0..SCALES).filter(|scale| shape.free[*scale]).map(|scale| (scale, values[scale])).find(|(scale, value)| {
        let is_lost = *value == 0.0 && at[*scale] > NOTHING;
        is_lost || !(0.0..=RberModel::largest(RberModel::NAMES[*scale])).contains(value)
    })
}

/// A shape with one term less.
fn without(shape: &Shape, scale: usize) -> Shape {
    assert!(shape.free[scale], "a term that is not there is left out: the loop that leaves out terms would not end");
    let mut less = *shape;
    less.held[scale] = f64::NEG_INFINITY;
    TERMS[scale].iter().for_each(|index| less.free[*index] = false);
    less
}

type Reasons = [Option<&'static str>; PARAMETERS];

/// Which parameters the inputs allow to fit, and why not the others.
fn shape_of(data: &Data) -> (Shape, Reasons) {
    let mut shape = Shape { free: [true; PARAMETERS], held: [0.0; PARAMETERS] };
    let mut reasons: Reasons = [None; PARAMETERS];
    // If the data determine only a product of parameters, one factor is fixed and all its factors are reported as undetermined.
    let mut hold = |index: usize, value: Option<f64>, reason: &'static str| {
        if let Some(value) = value {
            shape.free[index] = false;
            shape.held[index] = value;
        }
        reasons[index].get_or_insert(reason);
    };
    let levels = |of: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = data.samples().iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let none = Some(f64::NEG_INFINITY);
    let by_cycles = [(1, 4), (2, 5), (3, 7)];
    match &levels(|sample| sample.cycles)[..] {
        [_] => {
            hold(1, none, "cycles do not vary");
            for (scale, exponent) in by_cycles {
                hold(scale, None, "cycles do not vary");
                hold(exponent, Some(0.0), "cycles do not vary");
            }
        }
        [0.0, _] => {
            for (scale, exponent) in by_cycles {
                hold(scale, None, "cycles take only one value above 0");
                hold(exponent, Some(1.0), "cycles take only one value above 0");
            }
        }
        _ => {}
    }
    let days = (levels(|sample| sample.days), 2, ["days do not vary", "days take only one value above 0"]);
    let reads = (levels(|sample| sample.reads), 3, ["reads do not vary", "reads take only one value above 0"]);
    for (levels, scale, [same, one]) in [days, reads] {
        match &levels[..] {
            [_] => {
                hold(scale, none, same);
                TERMS[scale][1..].iter().for_each(|index| hold(*index, Some(0.0), same));
            }
            [0.0, _] => {
                hold(scale, None, one);
                hold(TERMS[scale][2], Some(1.0), one);
            }
            _ => {}
        }
    }
    (shape, reasons)
}

fn residual(at: &Coordinates, point: &Point) -> f64 {
    solve::evaluate(at, point).0 - point.rber
}

/// The standard deviation of the noise in ln RBER, from the median, which outliers do not affect.
fn deviation(points: &[Point], at: &Coordinates, shape: &Shape) -> f64 {
    let mut sizes: Vec<f64> = points.iter().map(|point| residual(at, point).abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let rows = points.len() as f64;
    // 1.4826 converts the median size of a normal deviate to its standard deviation.
    1.4826 * sizes[sizes.len() / 2] * (rows / (rows - shape.freedom() as f64).max(1.0)).sqrt()
}

/// Finds the term that can best be left out, if the criterion is lower without it: the shape, the term, and the curve without it.
fn leave_out(
    points: &[Point],
    shape: &Shape,
    at: &Coordinates,
    delta: f64,
    again: &mut dyn FnMut(&Shape) -> Coordinates,
) -> Option<(Shape, usize, Coordinates)> {
    let rows = points.len() as f64;
    let criterion = |shape: &Shape, at: &Coordinates| {
        // With exact data, rounding errors must not count as evidence.
        let per_row = solve::objective(points, at, delta) / rows + 1e-12;
        rows * libm::log(per_row) + shape.freedom() as f64 * libm::log(rows)
    };
    let present: Vec<usize> = (0..SCALES).filter(|scale| shape.free[*scale]).collect();
    let mut best: Option<(f64, Shape, usize, Coordinates)> = None;
    for scale in present.iter().copied().filter(|_| present.len() > 1) {
        let less = without(shape, scale);
        let found = again(&less);
        let value = criterion(&less, &found);
        if value < best.as_ref().map_or_else(|| criterion(shape, at), |best| best.0) {
            best = Some((value, less, scale, found));
        }
    }
    best.map(|(_, shape, scale, at)| (shape, scale, at))
}

#[expect(clippy::too_many_arguments, reason = "what a fit consists of, gathered once")]
fn finish(
    data: &Data,
    centers: &Centers,
    points: &[Point],
    shape: &Shape,
    reasons: &Reasons,
    at: &Coordinates,
    delta: f64,
    seed: u64,
) -> Fit {
    let model = centers.model(at);
    let rows = points.len() as f64;
    let residuals: Vec<f64> = points.iter().map(|point| residual(at, point)).collect();
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let mean = points.iter().map(|point| point.rber).sum::<f64>() / rows;
    let spread: f64 = points.iter().map(|point| (point.rber - mean).powi(2)).sum();
    let far = OUTLIER_DEVIATIONS * deviation(points, at, shape).max(DELTA_MIN);
    let by_size = |left: &(usize, &f64), right: &(usize, &f64)| left.1.abs().total_cmp(&right.1.abs());
    let worst = residuals.iter().enumerate().max_by(by_size).map_or(0, |(index, _)| index);
    let sample = data.samples()[worst];
    let errors = standard_errors(centers, points, shape, at, delta);
    assert!(points.len() > shape.freedom(), "without a row to spare no interval can be told");
    let half = student_t_975(points.len() - shape.freedom());
    let parameters = RberModel::NAMES.iter().zip(model.parameters()).enumerate().map(|(index, (name, value))| {
        let determined = match reasons[index] {
            Some(reason) => Determined::No(reason),
            None => determined(index, value, half * errors[index]),
        };
        Parameter { name, value, determined }
    });
    Fit {
        preset: Preset { model, ranges: data.ranges() },
        parameters: parameters.collect(),
        rows: points.len(),
        freedom: shape.freedom(),
        r2: 1.0 - squares / spread,
        rms: (squares / rows).sqrt(),
        outliers: residuals.iter().filter(|residual| residual.abs() > far).count(),
        worst: Worst { sample, fitted: model.rber(sample.cycles, sample.days, sample.reads) },
        seed,
    }
}

/// Whether a parameter is determined, from half the width of its interval: in ln for a scale.
fn determined(index: usize, value: f64, half: f64) -> Determined {
    let is_scale = index < SCALES;
    if !is_scale && !(AT_BOUND..=EXPONENT_MAX - AT_BOUND).contains(&value) {
        return Determined::AtBound;
    }
    let widest = if is_scale { libm::log(SCALE_SPAN_MAX) } else { EXPONENT_WIDTH_MAX };
    if half.is_nan() || 2.0 * half > widest {
        return Determined::No(if is_scale {
            "its 95 % interval spans more than a factor of 10,000"
        } else {
            "its 95 % interval is wider than 2"
        });
    }
    debug_assert!(half >= 0.0, "half the width of an interval is no less than nothing, found {half}");
    if is_scale {
        Determined::Within(value * libm::exp(-half), value * libm::exp(half))
    } else {
        Determined::Within((value - half).max(0.0), (value + half).min(EXPONENT_MAX))
    }
}

/// Standard errors of the parameters (of the ln of a scale), by the usual covariance of a robust regression: that of least
/// squares times mean(psi^2) / mean(psi')^2 (Huber, 1981, 7.6). NaN for a parameter that is held; huge in directions that the
/// data do not determine.
fn standard_errors(
    centers: &Centers,
    points: &[Point],
    shape: &Shape,
    at: &Coordinates,
    delta: f64,
) -> [f64; PARAMETERS] {
    /// Added to a matrix of columns of length 1, so that directions that the data do not determine get a variance of 10^12.
    const RIDGE: f64 = 1e-12;
    let free: Vec<usize> = shape.free().collect();
    assert!(!free.is_empty(), "a fit has a parameter, or its matrix would be empty");
    let mut gram = DMatrix::<f64>::zeros(free.len(), free.len());
    let (mut force, mut stiffness) = (0.0, 0.0);
    for point in points {
        let slopes = solve::evaluate(at, point).1;
        let x = residual(at, point) / delta;
        let weight = (1.0 + x * x).sqrt();
        force += (x * delta / weight).powi(2);
        stiffness += weight.powi(-3);
        for (row, i) in free.iter().enumerate() {
            for (column, j) in free.iter().enumerate() {
                gram[(row, column)] += slopes[*i] * slopes[*j];
            }
        }
    }
    let rows = points.len() as f64;
    let noise = force / (rows - free.len() as f64) / (stiffness / rows).powi(2);
    let lengths: Vec<f64> = (0..free.len()).map(|index| gram[(index, index)].sqrt().max(1e-150)).collect();
    let unit = DMatrix::from_fn(free.len(), free.len(), |i, j| {
        gram[(i, j)] / (lengths[i] * lengths[j]) + if i == j { RIDGE } else { 0.0 }
    });
    let mut errors = [f64::NAN; PARAMETERS];
    let Some(inverse) = unit.cholesky().map(|factors| factors.inverse()) else { return errors };
    // Parameters are sums of coordinates: from each scale its exponents times the centers are subtracted.
    for (index, parameter) in free.iter().enumerate() {
        let mut sum = vec![0.0; free.len()];
        sum[index] = 1.0;
        for (_, exponent, log) in centers.shifts().iter().filter(|(scale, _, _)| scale == parameter) {
            if let Some(place) = free.iter().position(|other| other == exponent) {
                sum[place] -= log;
            }
        }
        let part = |i: usize, j: usize| sum[i] * sum[j] * inverse[(i, j)] / (lengths[i] * lengths[j]);
        let variance: f64 = (0..free.len()).map(|i| (0..free.len()).map(|j| part(i, j)).sum::<f64>()).sum();
        let open = inverse[(index, index)] > 0.01 / RIDGE;
        errors[*parameter] = if open { f64::INFINITY } else { (noise * variance).max(0.0).sqrt() };
    }
    errors
}
