//! The tables against the paper's statements about them, statistics against values of scipy 1.17, and refused inputs.

use super::*;

fn near(ours: f64, want: f64, relative: f64) {
    assert!((ours - want).abs() <= relative * want.abs(), "{ours}, wanted {want}");
}

#[test]
fn all_but_four_degradations_come_out_of_the_raw_tables() {
    let all = recomputed();
    assert_eq!(all.len(), 72);
    let told: Vec<_> = all.iter().filter(|one| !one.agrees()).collect();
    let places: Vec<_> = told.iter().map(|one| (one.model, one.benchmark, one.metric, one.celsius)).collect();
    let (model, read) = (Model::A, Benchmark::ReadRandomData);
    let wanted = [
        (model, read, Metric::Latency, 35.0),
        (model, read, Metric::Latency, 50.0),
        (model, Benchmark::RandomRead, Metric::Throughput, 35.0),
        (model, Benchmark::RandomWrite, Metric::Latency, 50.0),
    ];
    assert_eq!(places, wanted);
    let values: Vec<_> = told.iter().map(|one| (format!("{:.2}", one.percent), one.printed)).collect();
    let wanted = [("15.90", 15.88), ("6.02", 5.95), ("20.30", 20.40), ("177.23", 177.20)];
    assert_eq!(values, wanted.map(|(ours, printed)| (ours.to_owned(), printed)));
    // Rounding of latencies to three digits explains two of the four.
    assert_eq!(told.iter().map(|one| one.is_rounding()).collect::<Vec<_>>(), [true, false, false, true]);
    assert_eq!(all.iter().filter(|one| one.agrees() && !one.is_rounding()).count(), 0);
}

#[test]
fn throughput_lost_in_the_heat_has_the_ends_of_the_tables() {
    let ends = |model| {
        let lost = Benchmark::ALL.iter().map(|job| loss(model, *job, Metric::Throughput, 50.0).unwrap().value);
        lost.fold((f64::INFINITY, 0.0f64), |(least, most), lost| (least.min(lost), most.max(lost)))
    };
    let ((a_least, a_most), (b_least, b_most)) = (ends(Model::A), ends(Model::B));
    for (ours, want) in [(a_least, 14.28), (a_most, 76.56), (b_least, 18.69), (b_most, 28.49)] {
        assert!((ours - want).abs() < 0.005, "{ours} {want}");
    }
}

#[test]
fn a_reading_says_what_it_rests_on() {
    let read = |celsius| performance(Model::A, Benchmark::RandomRead, Metric::Throughput, celsius).unwrap();
    let table = [
        (25.0, 1652.14, Basis::Measured),
        (30.0, (1652.14 + 1316.74) / 2.0, Basis::Interpolated),
        (35.0, 1316.74, Basis::Measured),
        (45.0, 1316.74 - (1316.74 - 387.29) * 2.0 / 3.0, Basis::Interpolated),
        (50.0, 387.29, Basis::Measured),
        (66.0, 387.29, Basis::Clamped),
        (0.0, 1652.14, Basis::Clamped),
    ];
    for (celsius, value, basis) in table {
        let found = read(celsius);
        assert!((found.value - value).abs() < 1e-9 && found.basis == basis, "{celsius}: {found:?}");
    }
    let lost = loss(Model::A, Benchmark::RandomWrite, Metric::Latency, 50.0).unwrap();
    near(lost.value, 177.23, 1e-4);
    let replay = throughput(Model::B, Load::Sort, Op::Write, 47.5).unwrap();
    near(replay.value, (527.88 + 354.63) / 2.0, 1e-12);
    for celsius in [-0.1, 66.1, f64::NAN] {
        let refused = performance(Model::B, Benchmark::ReadZero, Metric::Iops, celsius).unwrap_err().to_string();
        let wanted = format!("the temperature around the drive in °C: found {celsius}, allowed is 0 to 66");
        assert_eq!(refused, wanted);
    }
    let refused = throughput(Model::A, Load::Pagerank, Op::Read, 25.0).unwrap_err().to_string();
    assert_eq!(refused, "throughput: found read of pagerank, needed is a direction that the load moves data in");
}

#[test]
fn a_line_between_35_and_50_degrees_lies_below_what_45_degrees_measured() {
    let error = held_out();
    assert_eq!(error.count, 16);
    near(error.mean, -12.924, 1e-3);
    near(error.worst, -24.619, 1e-3);
}

#[test]
fn every_load_but_one_is_slowest_at_50_degrees() {
    for &model in Model::ALL {
        for &load in Load::ALL {
            let [a, b, c, hot] = replayed(model, load, load.main()).unwrap();
            let slowest = hot < a.min(b).min(c);
            assert_eq!(slowest, (model, load) != (Model::B, Load::Pagerank), "{model:?} {load:?}");
        }
    }
}

#[test]
fn names_are_found_and_misspelt_ones_refused() {
    assert_eq!(Load::by_name("PageRank"), Ok(Load::Pagerank));
    for (place, load) in Load::ALL.iter().enumerate() {
        assert_eq!((Load::by_name(load.name()), load.row()), (Ok(*load), place));
    }
    let refused = Metric::by_name("latencies").unwrap_err().to_string();
    let wanted = "metric: found \"latencies\", allowed are throughput, iops, latency; did you mean \"latency\"?";
    assert_eq!(refused, wanted);
}

#[test]
fn t_tests_meet_scipy() {
    let (one, other) = ([4.1, 5.2, 6.3, 5.9], [6.0, 7.5, 9.1, 7.7, 8.8]);
    let (one, other) = (Sample::of(&one).unwrap(), Sample::of(&other).unwrap());
    let equal = t_test(&one, &other, Variances::Equal).unwrap();
    near(equal.statistic, SCIPY_EQUAL.0, 1e-12);
    near(equal.p_value, SCIPY_EQUAL.1, 1e-11);
    assert_eq!(equal.freedom, 7.0);
    let apart = t_test(&one, &other, Variances::Apart).unwrap();
    near(apart.statistic, SCIPY_APART.0, 1e-12);
    near(apart.p_value, SCIPY_APART.1, 1e-11);
    near(apart.freedom, SCIPY_APART.2, 1e-12);
    let flipped = t_test(&other, &one, Variances::Equal).unwrap();
    assert_eq!((flipped.statistic, flipped.p_value), (-equal.statistic, equal.p_value));
}

#[test]
fn p_values_and_their_statistics_are_inverses() {
    // Closed forms: one degree of freedom is Cauchy's distribution, two have p = 1 - t / sqrt(2 + t^2).
    near(two_sided_p(1.0, 1.0), 0.5, 1e-12);
    near(two_sided_p(2.0, 2.0), 1.0 - 2.0 / 6f64.sqrt(), 1e-12);
    // Where the two methods meet.
    for statistic in [0.5, 2.0, 6.0] {
        near(two_sided_p(statistic, 100_001.0), two_sided_p(statistic, 100_000.0), 5e-6);
    }
    near(two_sided_p(1.959_963_984_540_054, 1e12), 0.05, 1e-9);
    near(two_sided_p(12.706_204_736_174_7, 1.0), 0.05, 1e-12);
    near(statistic_of(0.01, 2.0).unwrap(), (1.9602f64 / 0.0199).sqrt(), 1e-12);
    near(statistic_of(4.66e-200, 198.0).unwrap(), SCIPY_T, 1e-10);
    for freedom in [2.0, 3.3, 198.0, 1e4, 1e10] {
        for p in [0.999, 0.5, 0.05, 1e-3, 1e-12] {
            near(two_sided_p(statistic_of(p, freedom).unwrap(), freedom), p, 1e-8);
        }
    }
    assert_eq!((two_sided_p(0.0, 3.0), two_sided_p(f64::INFINITY, 3.0), two_sided_p(1e200, 3.0)), (1.0, 0.0, 0.0));
    for (statistic, freedom) in [(f64::NAN, 3.0), (1.0, 0.0), (1.0, f64::NAN)] {
        assert!(two_sided_p(statistic, freedom).is_nan());
    }
    assert_eq!(statistic_of(1.0, 5.0), Ok(0.0));
    assert!(statistic_of(0.0, 5.0).is_err() && statistic_of(0.5, 1.0).is_err());
}

/// Of `ttest_ind(one, other)` and of `ttest_ind(one, other, equal_var=False)`: t, p, and the second one's degrees of freedom;
/// `t.isf(2.33e-200, 198)`.
const SCIPY_EQUAL: (f64, f64) = (-3.2478663650708826, 0.014098812055497295);
const SCIPY_APART: (f64, f64, f64) = (-3.346829995836769, 0.01230734384603535, 6.99872362620053);
const SCIPY_T: f64 = 140.15001523392627;

#[test]
fn samples_that_no_test_can_use_are_refused() {
    let table = [
        (Sample::of(&[1.0]), "a sample: found 1, needed are two or more finite numbers"),
        (Sample::of(&[1.0, f64::NAN]), "a sample: found NaN, needed are two or more finite numbers"),
    ];
    for (sample, sentence) in table {
        assert_eq!(sample.unwrap_err().to_string(), sentence);
    }
    let still = Sample::of(&[1.0, 1.0]).unwrap();
    let refused = t_test(&still, &still, Variances::Apart).unwrap_err().to_string();
    assert_eq!(refused, "samples of a t-test: found two that do not vary, needed are measurements that vary");
    let odd = Sample { variance: -1.0, ..still };
    assert!(t_test(&odd, &still, Variances::Equal).is_err());
    assert!(t_test(&Sample { count: 1, ..still }, &still, Variances::Equal).is_err());
}

/// Samples with known deviations give p-values, which give the deviations back.
#[test]
fn pooled_deviations_are_recovered_from_p_values() {
    let sample = |mean, deviation: f64| Sample { mean, variance: deviation * deviation, count: REPLAYS };
    let test = t_test(&sample(100.0, 3.0), &sample(98.0, 4.0), Variances::Equal).unwrap();
    near(pooled_deviation(100.0, 98.0, test.p_value, REPLAYS).unwrap(), 12.5f64.sqrt(), 1e-9);
    assert!(pooled_deviation(1.0, 1.0, 0.5, 100).is_err() && pooled_deviation(1.0, 2.0, 1.0, 100).is_err());
}

#[test]
fn printed_p_values_tell_one_spread_and_it_is_seldom_widest_in_the_heat_of_model_a() {
    let mut widest = Vec::new();
    for &model in Model::ALL {
        for &load in Load::ALL {
            let found = spread(model, load, load.main()).unwrap();
            assert!(found.mismatch < 0.02, "six pairs agree on four variances: {model:?} {load:?} {found:?}");
            if found.is_widest_when_hot() {
                widest.push((model, load));
            }
        }
    }
    let of = |model| widest.iter().filter(|one| one.0 == model).map(|one| one.1).collect::<Vec<_>>();
    assert_eq!(of(Model::A), [Load::Wordcount, Load::DfsioeWrite, Load::Pagerank]);
    assert_eq!(of(Model::B), Load::ALL[..7]);
    // As a weighted solution in floating point by another program has it.
    let count = spread(Model::A, Load::Wordcount, Op::Read).unwrap().deviations.map(Option::unwrap);
    for (ours, want) in count.into_iter().zip([26.53, 25.35, 26.85, 69.19]) {
        near(ours, want, 1e-3);
    }
    assert_eq!(spread(Model::A, Load::Pagerank, Op::Read), None);
    assert_eq!(spread(Model::B, Load::DfsioeWrite, Op::Read), None, "means of 0.06 MB/s are printed too coarsely");
}

#[test]
fn retention_meets_the_bakes_of_jesd218() {
    let (enterprise, client) = (91.25 * 24.0, 365.0 * 24.0);
    for (hours, baked) in [(96.0, 66.0), (500.0, 52.0)] {
        for (kept, celsius) in [(enterprise, 40.0), (client, 30.0)] {
            let stands_for = hours * acceleration(baked, celsius, ACTIVATION_ENERGY).unwrap();
            near(stands_for, kept, 0.05);
        }
    }
    near(acceleration(40.0, 30.0, 1.1).unwrap(), 3.837, 1e-3);
    near(retention(12.0, 30.0, 40.0, 1.1).unwrap(), 12.0 / 3.837, 1e-3);
    assert_eq!(acceleration(40.0, 40.0, 1.1), Ok(1.0));
    let refused = acceleration(40.0, 30.0, 0.0).unwrap_err().to_string();
    assert_eq!(refused, "the activation energy in eV: found 0, allowed is above 0 and up to 3");
    let refused = acceleration(400.0, 30.0, 1.1).unwrap_err().to_string();
    assert_eq!(refused, "the temperature in °C: found 400, allowed is -55 to 150");
    assert!(retention(0.0, 30.0, 40.0, 1.1).is_err());
}

#[test]
fn marks_follow_from_p_values_but_for_what_is_named() {
    let p = printed_p_value(Model::A, Benchmark::ReadRandomData, Metric::Iops);
    assert!(p > 0.01 && p <= 0.05, "table 6.8 marks it **: {p}");
    let p = replay_p_values(Model::A, Load::Pagerank, Op::Write).unwrap()[0];
    assert!(p > 0.05, "table 6.14 does not mark it: {p}");
    for place in ["table 5.3", "table 6.8", "table 6.14"] {
        assert!(MISPRINTS.iter().any(|misprint| misprint.place == place), "{place} is named");
    }
}
