//! Compares the closed form of the best trade-off with a general convex solver, on random shares of blocks.

#![allow(clippy::unwrap_used, reason = "a test")]

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{NonnegativeConeT, ZeroConeT};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus};
use wane_theory::occupancy::half_full_occupancy;
use wane_theory::tradeoff::optimum;

/// The solver's most even wear at a cost, in the chances x_i = w_i pi_i: the least of sum x_i^2 / pi_i.
fn solved(occupancy: &[f64], cost: f64) -> Option<f64> {
    let states = occupancy.len();
    let rows = 2 + states;
    let quadratic = CscMatrix::new(
        states,
        states,
        (0..=states).collect(),
        (0..states).collect(),
        occupancy.iter().map(|share| 2.0 / share).collect(),
    );
    // Per state: its part of the sum, of the cost, and -x_i <= 0.
    let (mut row, mut value) = (Vec::new(), Vec::new());
    for state in 0..states {
        row.extend([0, 1, 2 + state]);
        value.extend([1.0, state as f64, -1.0]);
    }
    let starts = (0..=states).map(|state| 3 * state).collect();
    let constraints = CscMatrix::new(rows, states, starts, row, value);
    let mut bounds = vec![0.0; rows];
    (bounds[0], bounds[1]) = (1.0, cost);
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-13,
        tol_gap_rel: 1e-13,
        tol_feas: 1e-13,
        ..DefaultSettings::default()
    };
    let cones = [ZeroConeT(2), NonnegativeConeT(states)];
    let mut solver =
        DefaultSolver::new(&quadratic, &vec![0.0; states], &constraints, &bounds, &cones, settings).unwrap();
    solver.solve();
    (solver.solution.status == SolverStatus::Solved).then(|| 1.0 / solver.solution.obj_val)
}

/// Draws numbers strictly between 0 and 1.
struct Dice(u64);

impl Dice {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }
}

#[test]
fn the_closed_form_is_what_a_convex_solver_finds() {
    let mut dice = Dice(7);
    let (mut compared, mut worst) = (0, 0.0f64);
    for round in 0..400 {
        let pages = 2 + round % 18;
        let mut occupancy = match round % 3 {
            0 => half_full_occupancy(pages),
            // Exponential draws, normalized: a flat Dirichlet distribution.
            1 => (0..=pages).map(|_| -dice.draw().ln()).collect(),
            _ => {
                let (mean, spread) = (f64::from(pages) * dice.draw(), 0.5 + f64::from(pages) * dice.draw());
                (0..=pages).map(|valid| (-((f64::from(valid) - mean) / spread).powi(2) / 2.0).exp().max(1e-9)).collect()
            }
        };
        let sum: f64 = occupancy.iter().sum();
        occupancy.iter_mut().for_each(|share| *share /= sum);
        // Both branches without their ends, where one weight takes all and the solver is not accurate.
        let cost = f64::from(pages) * (0.02 + 0.96 * dice.draw());
        let Some(want) = solved(&occupancy, cost) else { continue };
        let found = optimum(&occupancy, cost).unwrap();
        let off = (found.point.wear_leveling / want - 1.0).abs();
        assert!(off < 1e-7, "round {round}, {pages} pages, cost {cost}: {found:?} for {want}");
        (compared, worst) = (compared + 1, worst.max(off));
        let reached: f64 = found.weights.iter().zip(&occupancy).enumerate().map(|(i, (w, p))| i as f64 * w * p).sum();
        assert!((reached - cost).abs() < 1e-9, "round {round}: cost {reached} for {cost}");
    }
    println!("{compared} of 400 instances solved, the largest difference is {worst:.1e}");
    assert!(compared > 350, "the solver came to an end {compared} times");
}
