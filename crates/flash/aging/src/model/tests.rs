//! Models on lives whose future is known.

use super::*;
use crate::{Next, Projector, Schedule, accuracy};

/// Erase counts after `periods` periods at acceleration factor `factor`. `rate` is how often a block is erased in a period of
/// life.
fn lived(kind: ModelKind, factor: f64, periods: usize, blocks: usize, rate: impl Fn(usize, f64) -> u32) -> Vec<u32> {
    let mut model = kind.build(8, 2);
    let mut schedule = Schedule::new(factor, model.needs()).unwrap();
    let mut projector = Projector::default();
    let (mut counts, mut at) = (vec![10; blocks], 0.0);
    while at < periods as f64 - 1e-9 {
        match schedule.decide() {
            Next::Simulate => {
                let before = counts.clone();
                counts.iter_mut().enumerate().for_each(|(block, count)| *count += rate(block, at));
                model.observe(&Period { from: at, span: 1.0, before, after: counts.clone(), write_amplification: 2.0 });
                schedule.simulated();
                at += 1.0;
            }
            Next::Predict(ahead) => {
                let ahead = ahead.min(periods as f64 - at);
                counts = projector.project(&counts, &model.predict(&counts, ahead), None).erase_counts;
                at += ahead;
            }
        }
    }
    counts
}

#[test]
fn two_points_make_a_line() {
    let mut model = ModelKind::TwoPoint.build(2, 2);
    assert_eq!(model.predict(&[14], 1.0), [14.0], "without an observation nothing moves");
    model.observe(&Period { from: 0.0, span: 1.0, before: vec![10], after: vec![14], write_amplification: 1.0 });
    assert_eq!(model.predict(&[14], 1.0), [18.0]);
    assert_eq!(model.predict(&[14], 2.0), [22.0]);
    let clamped = Projector::default().project(&[14], &model.predict(&[14], 1.0), Some(16));
    assert_eq!((clamped.erase_counts, clamped.clamped), (vec![16], 1));
    // A slope is measured over simulated periods, starting from the projected count.
    model.observe(&Period { from: 2.0, span: 1.0, before: vec![18], after: vec![19], write_amplification: 1.0 });
    assert_eq!(model.predict(&[19], 3.0), [22.0]);
    // Half a period shows half of its erases.
    model.observe(&Period { from: 6.0, span: 0.5, before: vec![22], after: vec![24], write_amplification: 1.0 });
    assert_eq!(model.predict(&[24], 1.0), [28.0]);
}

#[test]
fn constant_wear_is_predicted_exactly() {
    let rate = |block: usize, _: f64| [0, 1, 3, 7][block % 4];
    for kind in [ModelKind::TwoPoint, ModelKind::LeastSquares, ModelKind::TheilSen, ModelKind::Devs] {
        for factor in [1.0, 1.5, 2.0, 3.0, 4.0, 10.0] {
            let (found, want) = (lived(kind, factor, 40, 64, rate), lived(kind, 1.0, 40, 64, rate));
            assert_eq!(accuracy::id_matched(&found, &want), Ok(1.0), "{kind:?} {factor}");
        }
    }
    // Ranks of equal growth too.
    let alike = |_: usize, _: f64| 3;
    for factor in [1.5, 2.0, 4.0] {
        assert_eq!(lived(ModelKind::Ranks, factor, 40, 64, alike), lived(ModelKind::Ranks, 1.0, 40, 64, alike));
    }
}

#[test]
fn a_step_of_the_rate_costs_one_period_of_the_difference() {
    for step in 3..20 {
        let rate = |_: usize, at: f64| if at < f64::from(step) { 2 } else { 9 };
        let (found, want) =
            (lived(ModelKind::TwoPoint, 2.0, 30, 4, rate), lived(ModelKind::TwoPoint, 1.0, 30, 4, rate));
        assert!(found[0].abs_diff(want[0]) <= 7, "step at {step}: {} and {}", found[0], want[0]);
    }
}

#[test]
fn one_odd_period_does_not_move_theil_and_sen() {
    let periods = [3, 40, 3, 3, 3, 3, 3];
    let predict = |kind: ModelKind| {
        let (mut model, mut count) = (kind.build(8, 2), 0);
        for (from, erases) in periods.into_iter().enumerate() {
            let (before, after) = (vec![count], vec![count + erases]);
            model.observe(&Period { from: from as f64, span: 1.0, before, after, write_amplification: 1.0 });
            count += erases;
        }
        model.predict(&[count], 1.0)[0] - f64::from(count)
    };
    assert_eq!(predict(ModelKind::TheilSen), 3.0);
    assert!(predict(ModelKind::LeastSquares) > 5.0);
}

#[test]
fn ranks_keep_chance_out_of_the_blocks() {
    // One block in four rests. For the others it is drawn for each period whether and how often they are erased.
    let drawn = |block: usize, at: f64| {
        let mut mixed = (block as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        for _ in 0..2 {
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
        mixed >> 62
    };
    let rate = |block: usize, at: f64| if block.is_multiple_of(4) { 0 } else { drawn(block, at) as u32 };
    let (full, found) = (lived(ModelKind::Ranks, 1.0, 60, 512, rate), lived(ModelKind::Ranks, 4.0, 60, 512, rate));
    let by_block = lived(ModelKind::TwoPoint, 4.0, 60, 512, rate);
    let distance = |found: &[u32]| accuracy::wasserstein(found, &full).unwrap();
    assert!(
        distance(&found) < 4.0 && distance(&found) < distance(&by_block),
        "{} {}",
        distance(&found),
        distance(&by_block)
    );
}

#[test]
fn groups_move_a_skew_normal_distribution() {
    let of = crate::skew_normal::SkewNormal { shape: 0.75, location: 310.0, scale: 15.1 };
    let now: Vec<u32> = (0..2000).map(|rank| (of.quantile((f64::from(rank) + 0.5) / 2000.0) + 0.5) as u32).collect();
    let before: Vec<u32> = now.iter().map(|count| count - 5).collect();
    let mut model = ModelKind::SkewNormal.build(2, 2);
    model.observe(&Period { from: 0.0, span: 1.0, before, after: now.clone(), write_amplification: 1.0 });
    let predicted = Projector::default().project(&now, &model.predict(&now, 2.0), None).erase_counts;
    let want: Vec<u32> = now.iter().map(|count| count + 10).collect();
    assert!(accuracy::wasserstein(&predicted, &want).unwrap() < 0.5);
    // Blocks that are all alike have no distribution, and move.
    let mut model = ModelKind::SkewNormal.build(2, 2);
    model.observe(&Period { from: 0.0, span: 1.0, before: vec![3; 20], after: vec![4; 20], write_amplification: 1.0 });
    assert_eq!(model.predict(&[4; 20], 1.0), [5.0; 20]);
}

#[test]
fn what_is_never_erased_is_left_alone() {
    for kind in ModelKind::ALL.into_iter().filter(|kind| *kind != ModelKind::SkewNormal) {
        let found = lived(kind, 2.0, 20, 8, |_, _| 0);
        assert_eq!(found, [10; 8], "{kind:?}");
    }
}

#[test]
fn baselines_fall_behind_in_the_published_order() {
    // Wear that speeds up by a third in mid-life.
    let rate = |block: usize, at: f64| 6 + (block % 3) as u32 + if at > 30.0 { 2 } else { 0 };
    let want = lived(ModelKind::TwoPoint, 1.0, 100, 30, rate);
    let [framework, devs, cml] = [ModelKind::TwoPoint, ModelKind::Devs, ModelKind::Cml]
        .map(|kind| accuracy::id_matched(&lived(kind, 2.0, 100, 30, rate), &want).unwrap());
    assert!(framework > 0.98 && framework > devs && devs > cml && cml < 0.65, "{framework} {devs} {cml}");
}

#[test]
fn devs_chooses_by_one_step() {
    let growth = |values: &[f64]| {
        let mut model = reconstructed::Devs::new(2);
        for (from, pair) in values.windows(2).enumerate() {
            let (before, after) = (vec![pair[0] as u32], vec![pair[1] as u32]);
            model.observe(&Period { from: from as f64, span: 1.0, before, after, write_amplification: 1.0 });
        }
        let now = values[values.len() - 1];
        model.predict(&[now as u32], 1.0)[0] - now
    };
    assert_eq!(growth(&[4.0, 4.0, 4.0, 4.0, 4.0]), 0.0);
    assert!((growth(&[0.0, 5.0, 10.0, 15.0, 20.0]) - 5.0).abs() < 1e-9);
    // Squares continue as squares: 16 to 25.
    assert!((growth(&[0.0, 1.0, 4.0, 9.0, 16.0]) - 9.0).abs() < 1e-9);
}

#[test]
fn devs_fits_its_choice_anew_every_so_many_predictions() {
    // One erase a period, from the sixth period on three. Periods 5, 7, 9 and so on are predicted.
    let predicted = |refit: u32| {
        let mut model = reconstructed::Devs::new(refit);
        let mut found = Vec::new();
        for at in [0, 1, 2, 3, 5, 7, 9, 11, 13] {
            let more = if at < 5 { 1 } else { 3 };
            let period = Period {
                from: f64::from(at),
                span: 1.0,
                before: vec![100],
                after: vec![100 + more],
                write_amplification: 1.0,
            };
            model.observe(&period);
            found.push(model.predict(&[100], 1.0)[0] - 100.0);
        }
        found.split_off(3)
    };
    assert_eq!(predicted(0), [1.0; 6]);
    let (always, second) = (predicted(1), predicted(2));
    // A line of least squares through five values gives the rates in its middle more weight than those at its ends.
    let want = [1.0, 1.4, 2.0, 2.6, 3.0, 3.0];
    assert!(always.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-9), "{always:?}");
    assert_eq!(second, [always[0], always[0], always[2], always[2], always[4], always[4]]);
}
