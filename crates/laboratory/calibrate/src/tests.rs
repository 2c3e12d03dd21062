//! Fits of made-up measurements, and errors of measurements and presets.

use wane_nand::rber::{CHIPS, RberModel, chip};
use wane_scenario::{ChipSpec, Scenario, Sources};
use wane_sim::{Stream, Streams};

use super::*;

const DAYS: [f64; 6] = [0.0, 0.1, 1.0, 10.0, 100.0, 365.0];
const READS: [f64; 6] = [0.0, 10.0, 100.0, 1_000.0, 3_000.0, 10_000.0];

/// Shares of the rated cycles in even ratios, from 2 %. Errors grow by orders of magnitude, so that a grid in even steps would
/// hardly show how they begin.
fn cycles(rated: f64) -> Vec<f64> {
    (0..6).map(|step| (rated * 0.02 * libm::pow(50.0, f64::from(step) / 5.0)).round()).collect()
}

/// A normal deviate by Box and Muller's transform.
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - stream.unit())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * stream.unit())
}

/// Measurements on a grid, off by a factor of e to the `noise` times a normal deviate.
fn measured(model: &RberModel, [cycles, days, reads]: [&[f64]; 3], noise: f64, seed: u64) -> Vec<Sample> {
    let mut stream = Streams::new(seed).stream("noise");
    let mut samples = Vec::new();
    for (cycles, days) in cycles.iter().flat_map(|cycles| days.iter().map(move |days| (*cycles, *days))) {
        for reads in reads.iter().copied() {
            let rber = model.rber(cycles, days, reads) * libm::exp(noise * normal(&mut stream));
            samples.push(Sample { line: samples.len() as u64 + 2, cycles, days, reads, rber: rber.min(1.0) });
        }
    }
    samples
}

/// The largest deviation of a fit from the truth at the points of its data.
fn deviation(truth: &RberModel, samples: &[Sample]) -> f64 {
    let fitted = fit(&Data::new("made up", samples.to_vec()).unwrap(), 1).unwrap().preset.model;
    let rber = |model: &RberModel, sample: &Sample| model.rber(sample.cycles, sample.days, sample.reads);
    samples.iter().map(|sample| (rber(&fitted, sample) / rber(truth, sample) - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn a_fit_to_noisy_measurements_is_within_5_percent_for_nine_of_ten_seeds() {
    for chip in CHIPS {
        let grid = [&cycles(chip.ranges.cycles.1)[..], &DAYS, &READS];
        let found: Vec<f64> =
            (1..=10).map(|seed| 100.0 * deviation(&chip.model, &measured(&chip.model, grid, 0.05, seed))).collect();
        println!("{}: {found:.1?} %", chip.name);
        assert!(found.iter().filter(|deviation| **deviation <= 5.0).count() >= 9, "{}: {found:?}", chip.name);
    }
}

#[test]
fn exact_measurements_give_the_exact_curve() {
    for chip in CHIPS {
        let grid = [&cycles(chip.ranges.cycles.1)[..], &DAYS, &READS];
        let found = deviation(&chip.model, &measured(&chip.model, grid, 0.0, 1));
        assert!(found < 1e-4, "{}: {found}", chip.name);
    }
}

#[test]
fn rows_far_off_hardly_move_the_fit() {
    for chip in CHIPS {
        let mut samples = measured(&chip.model, [&cycles(chip.ranges.cycles.1), &DAYS, &READS], 0.02, 3);
        for (number, sample) in samples.iter_mut().step_by(20).enumerate() {
            sample.rber = (sample.rber * if number % 2 == 0 { 5.0 } else { 0.2 }).min(1.0);
        }
        let found = deviation(&chip.model, &samples);
        assert!(found < 0.06, "{}: {found}", chip.name);
        let fit = fit(&Data::new("made up", samples).unwrap(), 1).unwrap();
        assert!((8..=11).contains(&fit.outliers), "{}: {}", chip.name, fit.outliers);
    }
}

#[test]
fn a_fit_is_the_same_every_time() {
    let tlc = chip("tlc-72l-2018").unwrap();
    let data = Data::new("d", measured(&tlc.model, [&cycles(10_000.0), &DAYS, &READS], 0.05, 1)).unwrap();
    let text = |seed| fit(&data, seed).unwrap().preset.to_toml();
    assert_eq!(text(1), text(1));
    let numbers = |seed| Preset::parse("p", &text(seed)).unwrap().model.rber(5_000.0, 30.0, 1_000.0);
    assert!((numbers(1) / numbers(2) - 1.0).abs() < 1e-4, "another seed finds the same curve");
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let truth = chip("tlc-72l-2018").unwrap().model;
    let (mut inside, mut all) = (0, 0);
    for seed in 1..=20 {
        let samples = measured(&truth, [&cycles(10_000.0), &DAYS, &READS], 0.05, seed);
        let fit = fit(&Data::new("d", samples).unwrap(), 1).unwrap();
        for (parameter, truth) in fit.parameters.iter().zip(truth.parameters()) {
            if let Determined::Within(low, high) = parameter.determined {
                all += 1;
                inside += u32::from((low..=high).contains(&truth));
            }
        }
    }
    assert!(all >= 160, "{all} intervals");
    // 95 % of 180, and three binomial standard deviations for rows that share noise.
    assert!(f64::from(inside) / f64::from(all) > 0.87, "{inside} of {all}");
}

#[test]
fn what_the_data_do_not_determine_is_named() {
    let steep = cycles(10_000.0);
    let some = [0.0, 30.0];
    // (cycles, days, reads, chip, the parameters that cannot be known)
    let table: [([&[f64]; 3], &str, &str); 8] = [
        ([&steep, &[0.0], &READS], "tlc-72l-2018", "beta m n"),
        ([&steep, &DAYS, &[0.0]], "tlc-72l-2018", "gamma p q"),
        ([&[3_000.0], &DAYS, &READS], "tlc-72l-2018", "alpha beta gamma k m p"),
        ([&steep, &some, &READS], "tlc-72l-2018", "beta n"),
        ([&[0.0, 3_000.0], &DAYS, &READS], "tlc-72l-2018", "alpha beta gamma k m p"),
        ([&steep, &DAYS, &READS], "tlc-72l-cvss", "beta m n"),
        ([&steep, &DAYS, &READS], "mlc-3xnm-2011", ""),
        ([&steep, &DAYS, &READS], "tlc-72l-2018", ""),
    ];
    for (grid, name, expected) in table {
        let model = chip(name).unwrap().model;
        let scale = if name == "tlc-72l-cvss" { 0.03 } else { 1.0 };
        let cycles: Vec<f64> = grid[0].iter().map(|cycles| cycles * scale).collect();
        let data = Data::new("made up", measured(&model, [&cycles, grid[1], grid[2]], 0.02, 5)).unwrap();
        let fit = fit(&data, 1).unwrap();
        let unknown = |parameter: &&Parameter| matches!(parameter.determined, Determined::No(_));
        let found: Vec<&str> = fit.parameters.iter().filter(unknown).map(|parameter| parameter.name).collect();
        assert_eq!(found.join(" "), expected, "{name} on {grid:?}: {:?}", fit.parameters);
        assert!(fit.rms < 0.03 && fit.r2 > 0.99, "{name}: {} {}", fit.rms, fit.r2);
    }
}

#[test]
fn a_preset_is_read_back_to_the_same_numbers() {
    for chip in CHIPS {
        let preset = Preset { model: chip.model, ranges: chip.ranges };
        assert_eq!(Preset::parse("p.toml", &preset.to_toml()), Ok(preset));
    }
}

#[test]
fn wrong_measurements_are_told_with_their_place() {
    let rows = |row: &str| format!("cycles,days,reads,rber\n{}{row}\n", "1000,0,0,0.01\n".repeat(12));
    let varied = |rber: &str| {
        let rows: String = (1..=12).map(|cycles| format!("{cycles}000,0,0,{rber}\n")).collect();
        format!("cycles,days,reads,rber\n{rows}")
    };
    let table: [(String, &str); 20] = [
        (String::new(), "d.csv: is empty; expected a header with cycles, days, reads, rber"),
        ("\n\n".to_owned(), "d.csv: is empty"),
        ("cycles,days,reads,ber\n".to_owned(), "d.csv, line 1: no column \"rber\"; found cycles, days, reads, ber"),
        ("cycles;days;reads;rber\n1;2;3;4\n".to_owned(), "d.csv, line 1: no column \"cycles\"; found cycles;days"),
        ("1000,0,0,0.01\n".repeat(13), "d.csv, line 1: no column \"cycles\"; found 1000, 0, 0, 0.01"),
        ("cycles,days,reads,rber,days\n".to_owned(), "d.csv, line 1: the column \"days\" stands there twice"),
        (
            "cycles,days,reads,rber\n1,0,0,0.1\n".to_owned(),
            "d.csv: found 1 row of measurements, a fit needs at least 12",
        ),
        (rows("1000,0,0,0"), "d.csv, line 14: rber: found 0, allowed is a number above 0, at most 1; pool more bits"),
        (rows("1000,0,0,-1e-3"), "d.csv, line 14: rber: found -1e-3, allowed is a number above 0, at most 1"),
        (rows("1000,0,0,1.5"), "line 14: rber: found 1.5"),
        (rows("1000,0,0,NaN"), "line 14: rber: found NaN"),
        (rows("1000,0,0,"), "line 14: rber: found \"\", allowed"),
        (rows("1000,0,0,much"), "line 14: rber: found \"much\""),
        (rows("-5,0,0,0.01"), "line 14: cycles: found -5, allowed is a number from 0 to 1e15"),
        (rows("1,inf,0,0.01"), "line 14: days: found inf"),
        (rows("1,0,nan,0.01"), "line 14: reads: found nan"),
        (rows("1,0,0"), "d.csv, line 14: found 3 columns, the header has 4"),
        (rows("1000,0,0,0.02"), "d.csv: all rows have the same cycles, days and reads"),
        (varied("0.01"), "d.csv: rber is 0.01 in every row"),
        (format!("cycles,days,reads,rber\n{}", "\u{0}".repeat(80)), "d.csv, line 2: found 1 columns"),
    ];
    for (text, expected) in table {
        let error = Data::read("d.csv", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = Data::read("d.csv", &b"cycles,days,reads,rber\n1,0,0,\xff\n"[..]).unwrap_err().to_string();
    assert!(error.contains("d.csv, line 2: found bytes that are no text"), "{error}");
}

#[test]
fn columns_stand_in_any_order_among_others() {
    let rows: String = (1..=12).map(|row| format!("x{row}, 0.0{row:02} ,7,{row}e3,30\n")).collect();
    let text = format!("\u{feff}# measured\nchip,RBER, reads ,cycles,days\n{rows}");
    let data = Data::read("d.csv", text.as_bytes()).unwrap();
    let expected = Sample { line: 4, cycles: 2_000.0, days: 30.0, reads: 7.0, rber: 0.002 };
    assert_eq!((data.samples().len(), data.samples()[1]), (12, expected));
    assert_eq!(data.ranges().cycles, (1_000.0, 12_000.0));
}

#[test]
fn wrong_presets_are_told_with_their_key() {
    let good = Preset { model: CHIPS[0].model, ranges: CHIPS[0].ranges }.to_toml();
    let table: [(String, &str); 10] = [
        (String::new(), "p.toml: rber: is missing"),
        ("[rber".to_owned(), "p.toml, line 1: this is no TOML"),
        ("rber = 3".to_owned(), "p.toml, line 1: rber: found 3, expected a table [rber]"),
        (good.replace("alpha", "alhpa"), "p.toml, line 3: rber.alhpa: unknown key; did you mean \"alpha\"?"),
        (good.replace("q = 1.45\n", ""), "p.toml: rber.q: is missing"),
        (good.replace("q = 1.45", "q = -1"), "p.toml, line 10: rber.q: found -1, allowed is a number from 0 to 10"),
        (good.replace("q = 1.45", "q = nan"), "rber.q: found nan"),
        (good.replace("q = 1.45", "q = '1'"), "rber.q: found '1'"),
        (
            good.replace("[0.0, 365.0]", "[365, 0]"),
            "p.toml, line 13: rber.data.days: found [365, 0], allowed is [least",
        ),
        (
            good.clone() + "hours = 3\n",
            "p.toml, line 15: rber.data.hours: unknown key; allowed are cycles, days, reads",
        ),
    ];
    for (text, expected) in table {
        let error = Preset::parse("p.toml", &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn lines_that_end_in_two_characters_are_counted_once() {
    let text = "cycles,days,reads,rber\r\n1,2,3,1e-4\r\n1,2,3,x\r\n";
    let error = Data::read("m.csv", text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("m.csv, line 3: rber"), "{error}");
}

#[test]
fn whatever_is_measured_the_preset_can_be_read_back() {
    let mut stream = Streams::new(9).stream("measurements");
    let levels = [0.0, 1e-300, 1e-9, 0.1, 1.0, 10.0, 365.0, 1e4, 1e15];
    let rbers = [5e-324, 1e-320, 1e-30, 1e-6, 1e-3, 0.07, 0.6, 1.0];
    let mut fitted = 0;
    for round in 0..30 {
        let mut level = |most: u64| levels[stream.below(most) as usize];
        let widths = [level(2), level(2), level(2)].map(|first| if first == 0.0 { 9 } else { 2 });
        let mut samples = Vec::new();
        for line in 2..16 {
            let [cycles, days, reads] = widths.map(|width| levels[stream.below(width) as usize]);
            let rber = rbers[stream.below(8) as usize] * (1.0 - 0.9 * stream.unit());
            samples.push(Sample { line, cycles, days, reads, rber: rber.max(5e-324) });
        }
        let Ok(data) = Data::new("m.csv", samples) else { continue };
        match fit(&data, round) {
            Ok(fit) => {
                let preset = Preset::parse("p.toml", &fit.preset.to_toml());
                assert_eq!(preset.as_ref(), Ok(&fit.preset), "round {round}: {}", fit.preset.to_toml());
                fitted += 1;
            }
            Err(error) => assert!(error.to_string().starts_with("m.csv: "), "round {round}: {error}"),
        }
    }
    assert!(fitted > 10, "{fitted} fits");
}

#[test]
fn a_scale_that_runs_off_is_left_out_and_told() {
    // The rows contradict each other, so that more errors than bits would fit best.
    let rows = "0,1,1000,0.068671\n0,10,10,0.0018626\n0,10,3000,0.1299\n0,0.1,100,0.022365\n0,0,10,0.001809\n\
                0,365,100,0.0052797\n0,365,100,0.0095845\n0,0,10000,0.63229\n0,100,100,0.0029922\n0,0,1000,0.014055\n\
                0,365,0,0.0058528\n0,1,3000,1e-320\n";
    let data = Data::read("m.csv", format!("cycles,days,reads,rber\n{rows}").as_bytes()).unwrap();
    for seed in 0..4 {
        if let Ok(fit) = fit(&data, seed) {
            assert_eq!(Preset::parse("p.toml", &fit.preset.to_toml()), Ok(fit.preset));
        }
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let endless = |head: &'static str| std::io::Read::chain(head.as_bytes(), std::io::repeat(b'7'));
    for head in ["", "cycles,days,reads,rber\n", "cycles,days,reads,rber\n1,2,3,\""] {
        let error = Data::read("m.csv", endless(head)).unwrap_err().to_string();
        assert!(error.starts_with("m.csv") && error.contains("more than 16 MiB"), "{error}");
    }
}

#[test]
fn what_a_fit_prints_pastes_into_a_scenario() {
    let chip = chip("mlc-2ynm-2015").unwrap();
    let printed = Preset { model: chip.model, ranges: chip.ranges }.to_toml();
    let text = printed.replace("[rber", "[drive.chip") + "\n[until]\ndrive-writes = 1";
    let sources = Sources { file: Some(("pasted.toml", &text)), ..Sources::default() };
    let pasted = Scenario::resolve(&sources).unwrap().medium.chip.unwrap();
    assert_eq!((pasted.model, pasted.ranges, pasted.name.as_str()), (chip.model, chip.ranges, ChipSpec::OWN));
}
