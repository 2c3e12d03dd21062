//! Forecasts from the logs of real drives that were read for months (Liu et al., ASPLOS 2021). A log gives the bytes written to
//! flash and the mean erase count; percentage used is that count relative to the last one.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use wane_aging::{LogEntry, forecast};

/// Raw values of attributes, by the reading's time and the attribute's id.
fn readings(path: &Path) -> Vec<BTreeMap<u32, u64>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let month = |name: &str| {
        let months = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        months.iter().position(|month| *month == name).unwrap()
    };
    let mut found: BTreeMap<(u32, usize, u32, u32), BTreeMap<u32, u64>> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(".txt-") else { continue };
        let parts: Vec<&str> = name.split('_').skip(1).collect();
        let [year, name, day, hour] = parts[..] else { continue };
        let at = (year.parse().unwrap(), month(name), day.parse().unwrap(), hour.parse().unwrap());
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u64>().ok());
        if let (Some(id), Some(raw), true) = (number(words.first()), number(words.get(9)), words.len() >= 10) {
            found.entry(at).or_default().insert(id as u32, raw);
        }
    }
    found.into_values().collect()
}

/// Forecasts from the first two thirds of a log's erases what was written by its end, and compares it with what was.
fn check(name: &str, log: &[(f64, u64)], within: f64) {
    let (first, last) = (log[0].1 as f64, log[log.len() - 1].1 as f64);
    // The life of this log begins at its first turn and ends at its last.
    let end = log.iter().find(|(_, erases)| *erases as f64 == last).unwrap().0;
    let percent = |erases: u64| 100.0 * (erases as f64 - first) / (last - first);
    let entries = log.iter().map(|(written, erases)| LogEntry { at: *written, percentage_used: percent(*erases) });
    let known: Vec<LogEntry> = entries.take_while(|entry| entry.percentage_used <= 67.0).collect();
    let now = known[known.len() - 1].at;
    // The count of erases is what is rounded.
    let found = forecast(&known, 100.0 / (last - first)).unwrap();
    let [least, left, most] = [found.left_least, found.left, found.left_most].map(Option::unwrap);
    let (ours, real) = (now + left - log[0].0, end - log[0].0);
    eprintln!(
        "{name}: {} readings, forecast {ours:.4e} bytes, came to {real:.4e}: {:+.1} %; {found:?}",
        known.len(),
        100.0 * (ours / real - 1.0)
    );
    assert!((ours / real - 1.0).abs() < within, "{name}: {ours} and {real}");
    assert!(least <= left && left <= most, "{found:?}");
    assert!(least <= end - now && end - now <= most, "{name}: {} is not between {least} and {most}", end - now);
}

#[test]
fn real_logs_are_forecast() {
    let Some(folder) = std::env::var_os("WANE_TEST_DATA").map(|folder| Path::new(&folder).join("endurance")) else {
        // Like every test without its data, so that it does not count as passed.
        eprintln!("skipped: WANE_TEST_DATA, a folder with logs of real drives, is not set");
        return;
    };
    // A writes in units of 32 MiB and reports its mean erases; E reports gigabytes in two kinds of cells.
    let a = readings(&folder.join("ssd_A_smartctl.txt.gz"));
    let log: Vec<(f64, u64)> = a
        .iter()
        .filter_map(|reading| Some((*reading.get(&245)? as f64 * f64::from(32 << 20), *reading.get(&167)?)))
        .collect();
    check("A", &log, 0.15);
    let e = readings(&folder.join("ssd_E_smartctl.txt.gz"));
    let log: Vec<(f64, u64)> = e
        .iter()
        .filter_map(|reading| Some(((reading.get(&233)? + reading.get(&234)?) as f64 * 1e9, *reading.get(&173)?)))
        .filter(|(written, _)| *written > 0.0)
        .collect();
    check("E", &log, 0.15);
}
