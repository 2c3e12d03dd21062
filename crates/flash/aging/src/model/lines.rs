//! A line for each block.
//!
//! Lines over several periods use simulated time alone: predicted periods have no part in a slope, so that no model learns from
//! its own predictions.

use super::Model;
use crate::regression::{least_squares, theil_sen};
use crate::{History, Period};

/// pred = y1 + (y1 - y0): the latest period continues. This is what the released code does (dissertation 000, §3.3.1: "only the
/// latest history"). y0 is the count when the period began, which is the projected one if there was a projection.
#[derive(Clone, Debug, Default)]
pub(super) struct TwoPoint {
    last: Option<Period>,
}

impl Model for TwoPoint {
    fn observe(&mut self, period: &Period) {
        self.last = Some(period.clone());
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        along(now, ahead, |block| self.last.as_ref().map_or(0.0, |last| last.rate(block)))
    }
}

/// Moves each block from its present count along its slope.
fn along(now: &[u32], ahead: f64, slope: impl Fn(usize) -> f64) -> Vec<f64> {
    now.iter().enumerate().map(|(block, now)| f64::from(*now) + ahead * slope(block)).collect()
}

/// A block's points over a window: simulated time and erases since the window began. The first is (0, 0).
fn points(history: &History, block: usize, points: &mut Vec<(f64, f64)>) {
    points.clear();
    let (mut time, mut erases) = (0.0, 0.0);
    points.push((time, erases));
    for period in history.periods() {
        time += period.span;
        erases += f64::from(period.after[block] - period.before[block]);
        points.push((time, erases));
    }
}

/// Slopes of all blocks over a window. `slope` computes one from a block's points.
fn slopes(history: &History, blocks: usize, mut slope: impl FnMut(&[(f64, f64)]) -> f64) -> Vec<f64> {
    if history.last().is_none() {
        return vec![0.0; blocks];
    }
    let mut of_block = Vec::new();
    (0..blocks)
        .map(|block| {
            points(history, block, &mut of_block);
            slope(&of_block)
        })
        .collect()
}

/// Least squares over the points of a window.
#[derive(Clone, Debug)]
pub(super) struct LeastSquares {
    history: History,
}

impl LeastSquares {
    pub(super) fn new(window: usize) -> Self {
        Self { history: History::new(window) }
    }
}

impl Model for LeastSquares {
    fn observe(&mut self, period: &Period) {
        self.history.push(period.clone()).expect("periods are of one drive");
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let slopes = slopes(&self.history, now.len(), |points| least_squares(points).1);
        along(now, ahead, |block| slopes[block])
    }
}

/// Theil-Sen slopes over the points of a window.
#[derive(Clone, Debug)]
pub(super) struct TheilSen {
    history: History,
}

impl TheilSen {
    pub(super) fn new(window: usize) -> Self {
        Self { history: History::new(window) }
    }
}

impl Model for TheilSen {
    fn observe(&mut self, period: &Period) {
        self.history.push(period.clone()).expect("periods are of one drive");
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let slopes = slopes(&self.history, now.len(), theil_sen);
        along(now, ahead, |block| slopes[block])
    }
}
