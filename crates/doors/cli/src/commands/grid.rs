//! The grid of `--sweep`: keys, their values, and the cells of all combinations, made one at a time.

use std::collections::BTreeSet;

use wane_scenario::plain_key;
use wane_units::excerpt;

use crate::output::Failure;

/// Most cells of a grid, whose results are in memory until the report is made.
pub(crate) const CELLS_MAX: usize = 10_000;

/// Most repeated values that are named.
const REPEATED_MAX: usize = 3;

/// The command line's option for a grid. Messages begin with it.
pub(crate) const SWEEP: &str = "--sweep";

/// Swept keys that change together.
pub(crate) struct Axis {
    keys: Vec<String>,
    /// The values at each place along the axis, one for each key.
    places: Vec<Vec<String>>,
    /// Places that were given again; they are run only once.
    repeated: Vec<Vec<String>>,
}

/// An axis as given.
pub enum GivenAxis {
    /// `KEY=V1,V2,...`, as on the command line.
    Text(String),
    /// Keys that change together, and a value for each key at each place along the axis, written as on the command line.
    Places(Vec<String>, Vec<Vec<String>>),
}

/// Swept keys; without any, one cell that sets nothing.
pub struct Grid {
    /// Option with which messages begin.
    option: &'static str,
    pub(crate) axes: Vec<Axis>,
    /// From 1 to [`CELLS_MAX`].
    pub(crate) cells: usize,
}

impl Axis {
    /// Reads the axis of `KEY=V1,V2,...`, or of several of these joined by ` + `, which then change together.
    fn parse(option: &str, sweep: &str) -> Result<Self, Failure> {
        let wrong = |what: String| {
            let form = "expected KEY=V1,V2,..., such as ftl.gc.d=1,2,4,8 or ftl.gc.d=1..8:1";
            Failure::wrong(format!("{option} {}: {what}; {form}", excerpt(sweep)))
        };
        let mut columns: Vec<(String, Vec<String>)> = Vec::new();
        for part in split_outside(sweep, " + ") {
            let (key, values) = part.split_once('=').unwrap_or((&part, ""));
            let (key, values) = (key.trim(), values.trim());
            if key.is_empty() {
                return Err(wrong(format!("found no key in \"{}\"", excerpt(&part))));
            }
            if values.is_empty() {
                return Err(wrong(format!("found no values of {}", excerpt(key))));
            }
            let values =
                values_of(values).map_err(|message| Failure::wrong(format!("{option} {}: {message}", excerpt(key))))?;
            if values.iter().any(String::is_empty) {
                return Err(wrong(format!("found an empty value of {}", excerpt(key))));
            }
            columns.push((key.to_owned(), values));
        }
        let length = columns[0].1.len();
        if let Some((key, values)) = columns.iter().find(|(_, values)| values.len() != length) {
            let count = |count: usize| if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
            return Err(Failure::wrong(format!(
                "{option} {}: keys joined by + change together and need equally many values, but {} has {} and {} has {}; a {option} of its \
                 own for each of them makes a grid",
                excerpt(sweep),
                excerpt(&columns[0].0),
                count(length),
                excerpt(key),
                count(values.len())
            )));
        }
        let all: Vec<Vec<String>> =
            (0..length).map(|place| columns.iter().map(|(_, values)| values[place].clone()).collect()).collect();
        Ok(Self::of(columns.into_iter().map(|(key, _)| key).collect(), all))
    }

    /// Makes the axis of keys and the values at its places; leaves out a place that is given again.
    fn of(keys: Vec<String>, all: Vec<Vec<String>>) -> Self {
        let mut known: BTreeSet<Vec<String>> = BTreeSet::new();
        let is_new = |place: &Vec<String>| {
            known.insert(keys.iter().zip(place).map(|(key, value)| meaning(key, value)).collect())
        };
        let (places, repeated) = all.into_iter().partition(is_new);
        Self { keys, places, repeated }
    }

    fn given(option: &str, given: GivenAxis) -> Result<Self, Failure> {
        match given {
            GivenAxis::Text(text) => Self::parse(option, &text),
            GivenAxis::Places(keys, places) => {
                let lacking = if keys.is_empty() { "a key" } else { "values" };
                if keys.is_empty() || places.is_empty() {
                    let key = keys.join(" + ");
                    return Err(Failure::wrong(format!(
                        "{option} {}: found an axis without {lacking}, allowed is one with at least one",
                        excerpt(&key)
                    )));
                }
                assert!(places.iter().all(|place| place.len() == keys.len()), "a place has a value for each key");
                Ok(Self::of(keys, places))
            }
        }
    }
}

/// Returns a value's meaning. Two values mean the same if they are the same number or the same text.
fn meaning(key: &str, value: &str) -> String {
    let bare = value.trim().trim_matches(['"', '\'']).trim();
    // 1 is a block, and 1.0 or 100 % are all of them.
    if key == "ftl.gc.window" && bare.parse::<u64>().is_ok() {
        return format!("{bare} blocks");
    }
    wane_results::number(bare).map_or_else(|| bare.to_owned(), |number| format!("{number:e}"))
}

impl Grid {
    /// Reads the grid of `--sweep KEY=V1,V2,...`, given any number of times.
    pub(crate) fn parse(sweeps: &[String]) -> Result<Self, Failure> {
        Self::of(SWEEP, sweeps.iter().map(|sweep| Axis::parse(SWEEP, sweep)).collect::<Result<Vec<Axis>, Failure>>()?)
    }

    /// Makes the grid of axes that do not come from the command line. Messages begin with `option`. Each cell is run with each of the seeds,
    /// if there are any.
    ///
    /// # Errors
    /// An axis has no values, a key is swept twice, or the grid is too large; one sentence.
    pub fn given(option: &'static str, axes: Vec<GivenAxis>, seeds: Option<Vec<u64>>) -> Result<Self, String> {
        let axes = axes.into_iter().map(|axis| Axis::given(option, axis)).collect::<Result<Vec<Axis>, Failure>>();
        let grid = axes.and_then(|axes| Self::of(option, axes)).and_then(|mut grid| match seeds {
            Some(seeds) => grid.add_seeds(seeds).map(|()| grid),
            None => Ok(grid),
        });
        grid.map_err(|failure| failure.to_string())
    }

    /// Runs each cell with each of these seeds.
    pub(crate) fn add_seeds(&mut self, seeds: Vec<u64>) -> Result<(), Failure> {
        if self.axes.iter().flat_map(|axis| &axis.keys).any(|key| key == "seed") {
            let seeds = if self.option == SWEEP { "--seeds" } else { "seeds" };
            let sentence = format!("{seeds} is given beside {} seed=...; give one of them", self.option);
            return Err(Failure::wrong(sentence));
        }
        let places = seeds.into_iter().map(|seed| vec![seed.to_string()]).collect();
        let mut axes = std::mem::take(&mut self.axes);
        axes.push(Axis { keys: vec!["seed".to_owned()], places, repeated: Vec::new() });
        *self = Self::of(self.option, axes)?;
        Ok(())
    }

    fn of(option: &'static str, axes: Vec<Axis>) -> Result<Self, Failure> {
        let keys: Vec<&String> = axes.iter().flat_map(|axis| &axis.keys).collect();
        let same = |number: usize| keys[..number].iter().position(|other| plain_key(other) == plain_key(keys[number]));
        if let Some((number, other)) = (0..keys.len()).find_map(|number| Some((number, same(number)?))) {
            let (key, other) = (keys[number], keys[other]);
            let what = if key == other {
                "the key is swept twice; give all its values at once".to_owned()
            } else {
                format!("says the same as {}, which is swept as well; sweep one of the two", excerpt(other))
            };
            return Err(Failure::wrong(format!("{option} {}: {what}", excerpt(key))));
        }
        // A value that a later key overwrites would be reported for runs that did not have it.
        let outer = |key: &str| {
            let key = plain_key(key);
            format!("{}.", key.strip_suffix(".policy").unwrap_or(&key))
        };
        let lost =
            |number: usize| (0..number).find(|before| plain_key(keys[*before]).starts_with(&outer(keys[number])));
        if let Some((number, before)) = (0..keys.len()).find_map(|number| Some((number, lost(number)?))) {
            let (key, before) = (excerpt(keys[number]), excerpt(keys[before]));
            let sentence = format!("{option} {key}: overwrites {before}, which is swept before it; sweep {key} first");
            return Err(Failure::wrong(sentence));
        }
        let cells = axes.iter().fold(1u128, |cells, axis| cells.saturating_mul(axis.places.len() as u128));
        match usize::try_from(cells).ok().filter(|cells| *cells <= CELLS_MAX) {
            Some(cells) => Ok(Self { option, axes, cells }),
            None => {
                let lengths: Vec<String> = axes.iter().map(|axis| axis.places.len().to_string()).collect();
                let product = lengths.join(" x ");
                Err(Failure::wrong(format!(
                    "{option}: the grid has {} cells; {CELLS_MAX} are allowed, seeds included",
                    excerpt(&if lengths.len() > 1 { format!("{product} = {cells}") } else { product })
                )))
            }
        }
    }

    /// Returns a sentence for each axis with values that were given more than once.
    pub fn repeated(&self) -> Vec<String> {
        let told = |axis: &Axis| {
            let settings = |place: &Vec<String>| {
                let all = axis.keys.iter().zip(place).map(|(key, value)| format!("{key}={value}"));
                excerpt(&all.collect::<Vec<_>>().join(" ")).to_string()
            };
            let mut names: Vec<String> = axis.repeated.iter().map(settings).collect();
            names.dedup();
            let rest = names.len().saturating_sub(REPEATED_MAX);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            names.truncate(REPEATED_MAX);
            (!names.is_empty())
                .then(|| format!("{}: given more than once and run once: {}{rest}", self.option, names.join(", ")))
        };
        self.axes.iter().filter_map(told).collect()
    }

    /// The swept keys, in order.
    pub fn keys(&self) -> Vec<String> {
        self.axes.iter().flat_map(|axis| axis.keys.iter().cloned()).collect()
    }

    /// The values of each cell, the last key changing fastest.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        (0..self.cells).map(|cell| self.row(cell))
    }

    /// The values of a cell.
    ///
    /// # Panics
    /// There is no such cell.
    pub fn row(&self, cell: usize) -> Vec<String> {
        assert!(cell < self.cells, "cell {cell} of {}: it would be an earlier one again", self.cells);
        let mut rest = cell;
        let mut places = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            places.push(&axis.places[rest % axis.places.len()]);
            rest /= axis.places.len();
        }
        places.into_iter().rev().flatten().cloned().collect()
    }

    /// Returns a cell's settings, as `--set` takes them.
    pub fn assignments(&self, row: &[String]) -> Vec<String> {
        debug_assert_eq!(row.len(), self.keys().len(), "a row has a value for each key");
        self.keys().iter().zip(row).map(|(key, value)| format!("{key}={value}")).collect()
    }
}

/// Returns the values of a list whose parts may be ranges.
fn values_of(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for part in split_outside(text, ",") {
        match range(&part)? {
            Some(range) => values.extend(range),
            None => values.push(part),
        }
    }
    Ok(values)
}

/// Returns the values of `FIRST..LAST:STEP`, with or without a unit at the end; `None` for a text that is no range of numbers, such as a path.
/// Values are exact decimals. The last is included if the steps meet it.
fn range(part: &str) -> Result<Option<Vec<String>>, String> {
    let bare = part.trim_matches(['"', '\'']);
    let Some((first, rest)) = bare.split_once("..") else { return nearly_a_range(bare).map(|()| None) };
    let (first, unit_of_first) = split_unit(first);
    let Ok(first) = first.parse::<Decimal>() else { return Ok(None) };
    let wrong = |what: &str| format!("found \"{}\", {what}; {RANGE}", excerpt(part));
    let Some((last, step)) = rest.split_once(':') else {
        let is_path = !unit_of_first.is_empty() && split_unit(rest).0.parse::<Decimal>().is_err();
        return if is_path { Ok(None) } else { Err(wrong("which has no step")) };
    };
    let ((last, unit_of_last), (step, unit)) = (split_unit(last), split_unit(step));
    let number = |text: &str| {
        let not = || format!("but \"{}\" is no plain number of at most {} digits", excerpt(text), Decimal::DIGITS_MAX);
        text.parse::<Decimal>().map_err(|()| wrong(&not()))
    };
    let (last, step) = (number(last)?, number(step)?);
    if !unit_of_first.is_empty() || !unit_of_last.is_empty() {
        return Err(wrong("whose unit stands once, after the step"));
    }
    let decimals = first.decimals.max(last.decimals).max(step.decimals);
    let (first, last, step) = (first.scaled(decimals), last.scaled(decimals), step.scaled(decimals));
    if step <= 0 {
        return Err(wrong("whose step is not above 0"));
    }
    if last < first {
        return Err(wrong("which ends below where it begins"));
    }
    let steps = (last - first) / step;
    if steps >= CELLS_MAX as i128 {
        return Err(format!("\"{}\" is more than {CELLS_MAX} values", excerpt(part)));
    }
    debug_assert!(first + steps * step <= last, "a range ends where it says, or before");
    let value = |index: i128| {
        let number = Decimal { digits: first + index * step, decimals };
        if unit.is_empty() { number.to_string() } else { format!("{number} {unit}") }
    };
    Ok(Some((0..=steps).map(value).collect()))
}

/// How a range is written.
const RANGE: &str = "a range is FIRST..LAST:STEP and a unit, such as 1..8:1 or \"5..40:5 %\"";

/// Refuses numbers joined by a sign with which other programs write ranges; no key takes such a value.
fn nearly_a_range(part: &str) -> Result<(), String> {
    let is_number = |text: &str| split_unit(text).0.parse::<Decimal>().is_ok();
    let by = |sign: char| part.split(sign).count() > 1 && part.split(sign).all(is_number);
    // 1e-3 is one number.
    if part.parse::<f64>().is_err() && (by('-') || by(':')) {
        return Err(format!("found \"{}\", which is no number; {RANGE}", excerpt(part)));
    }
    Ok(())
}

/// Splits a number from the unit after it, which starts with a letter or a sign that no number has. An exponent is no unit.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let of_number = |letter: char| matches!(letter, '0'..='9' | '.' | '-' | '+');
    let end = text.find(|letter: char| !of_number(letter)).unwrap_or(text.len());
    let is_exponent = text[end..].strip_prefix(['e', 'E']).is_some_and(|rest| rest.starts_with(of_number));
    let end = if end == 0 || is_exponent { text.len() } else { end };
    (&text[..end], text[end..].trim())
}

/// A decimal number: `digits` over ten to the power of `decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    decimals: u32,
}

impl Decimal {
    /// Most digits, before or after the point.
    const DIGITS_MAX: usize = 15;

    /// Returns its digits with `decimals` decimals, which must be at least its own.
    const fn scaled(self, decimals: u32) -> i128 {
        debug_assert!(decimals >= self.decimals, "a number keeps its decimals");
        self.digits * 10i128.pow(decimals - self.decimals)
    }
}

impl std::str::FromStr for Decimal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        let is_number =
            |part: &str| part.len() <= Self::DIGITS_MAX && part.bytes().all(|letter| letter.is_ascii_digit());
        if digits.is_empty() || !is_number(digits) || !is_number(fraction) {
            return Err(());
        }
        let value = format!("{whole}{fraction}").parse().map_err(|_| ())?;
        Ok(Self { digits: value, decimals: fraction.len() as u32 })
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let scale = 10u128.pow(self.decimals);
        let (whole, rest) = (self.digits.unsigned_abs() / scale, self.digits.unsigned_abs() % scale);
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{rest:0width$}", width = self.decimals as usize);
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

/// Splits at a separator outside quotes, brackets and braces, so that a value may be a table.
fn split_outside(text: &str, separator: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0i32, None);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if depth == 0
            && quote.is_none()
            && let Some(after) = rest.strip_prefix(separator)
        {
            parts.push(std::mem::take(&mut part).trim().to_owned());
            rest = after;
            continue;
        }
        match letter {
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            '[' | '{' if quote.is_none() => depth += 1,
            ']' | '}' if quote.is_none() => depth -= 1,
            _ => {}
        }
        part.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    parts.push(part.trim().to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(sweeps: &[&str]) -> Result<Grid, String> {
        let sweeps: Vec<String> = sweeps.iter().map(|sweep| (*sweep).to_owned()).collect();
        Grid::parse(&sweeps).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn swept_values_may_be_tables() {
        assert_eq!(split_outside("1, 2,4", ","), ["1", "2", "4"]);
        assert_eq!(split_outside("{ a = 1, b = 2 },'x,y'", ","), ["{ a = 1, b = 2 }", "'x,y'"]);
    }

    #[test]
    fn ranges_are_exact_and_carry_their_unit() {
        let table: [(&str, &[&str]); 9] = [
            ("1..4:1", &["1", "2", "3", "4"]),
            ("5..18:5 %", &["5 %", "10 %", "15 %"]),
            ("\"5..10:5 %\"", &["5 %", "10 %"]),
            ("0.05..0.2:0.05", &["0.05", "0.1", "0.15", "0.2"]),
            ("-1..1:1", &["-1", "0", "1"]),
            ("8, 16..32:8 MiB", &["8", "16 MiB", "24 MiB", "32 MiB"]),
            ("../a,../b", &["../a", "../b"]),
            ("'x..y:z'", &["'x..y:z'"]),
            ("1e-3,-5,a-b,C:1", &["1e-3", "-5", "a-b", "C:1"]),
        ];
        for (text, expected) in table {
            assert_eq!(values_of(text).unwrap_or_else(|failure| panic!("{failure:?}")), expected, "{text}");
        }
        let refused = [
            ("1..4", "no step"),
            ("4..1:1", "ends below"),
            ("1..4:0", "not above 0"),
            ("1..4:-1", "not above 0"),
            ("1..4:x", "no plain number"),
            ("1..x:1", "\\\"x\\\" is no plain number"),
            ("0..1e9:1", "\\\"1e9\\\" is no plain number"),
            ("0..1:1e-1", "\\\"1e-1\\\" is no plain number"),
            ("5 %..15 %:5 %", "stands once"),
            ("5..15 %:5 %", "stands once"),
            ("7 %..28 %", "no step"),
            ("7-28", "FIRST..LAST:STEP"),
            ("7:28:7 %", "FIRST..LAST:STEP"),
            ("0..99999999:1", "more than 10000 values"),
        ];
        for (wrong, why) in refused {
            let message = grid(&[&format!("k={wrong}")]).map(|_| ()).unwrap_err();
            assert!(message.contains("--sweep k: ") && message.contains(wrong) && message.contains(why), "{message}");
        }
    }

    #[test]
    fn joined_keys_change_together() {
        let grid = grid(&["a=1..3:1 + b=x,y,z", "c=0,1"]).unwrap();
        assert_eq!(grid.keys(), ["a", "b", "c"]);
        let rows: Vec<Vec<String>> = grid.rows().collect();
        assert_eq!((rows.len(), &rows[2]), (6, &["2", "y", "0"].map(str::to_owned).to_vec()));
        assert_eq!(grid.assignments(&rows[5]), ["a=3", "b=z", "c=1"]);
        let refused = super::tests::grid(&["a=1,2 + b=x,y,z"]).map(|_| ()).unwrap_err();
        assert!(refused.contains("a has 2 values and b has 3"), "{refused}");
        let refused = super::tests::grid(&["a=1 + b=x,y"]).map(|_| ()).unwrap_err();
        assert!(refused.contains("a has 1 value and b has 2 values"), "{refused}");
        assert!(super::tests::grid(&["a=1 + a=2"]).is_err(), "a key stands once");
        for two in [["drive.over-provisioning=7 %", "drive.spare-factor=0.1"], ["until.days=1", "until.years=1"]] {
            let refused = super::tests::grid(&two).map(|_| ()).unwrap_err();
            assert!(refused.contains("says the same as"), "{refused}");
        }
    }

    #[test]
    fn a_key_that_a_later_one_would_set_anew_is_refused() {
        for sweeps in [
            ["ftl.gc.d=1,2", "ftl.gc.policy=greedy"],
            ["ftl.gc.d=1,2", "ftl.gc=greedy"],
            ["drive.endurance=9", "drive={}"],
        ] {
            let refused = grid(&sweeps).map(|_| ()).unwrap_err();
            let [before, key] = sweeps.map(|sweep| sweep.split('=').next().unwrap());
            let told = format!("--sweep {key}: overwrites {before}, which is swept before it; sweep {key} first");
            assert!(refused.contains(&told), "{refused}");
        }
        for sweeps in [
            ["ftl.gc.policy=d-choices", "ftl.gc.d=1,2"],
            ["ftl.gc=d-choices", "ftl.gc.d=1,2"],
            ["ftl.gc=fifo", "ftl.gc-reserve=3"],
        ] {
            assert!(grid(&sweeps).is_ok(), "{sweeps:?}");
        }
    }

    #[test]
    fn a_value_that_is_given_twice_is_run_once_and_told() {
        let table = [
            ("a=1,2,1", 2, "a=1"),
            ("a=1..4:1,3", 4, "a=3"),
            ("a=7 %,0.07,'7 %'", 1, "a=0.07, a='7 %'"),
            ("a=1 GiB,1024 MiB", 1, "a=1024 MiB"),
            ("a=x,y,\"x\"", 2, "a=\"x\""),
            ("a=1..9:1,1..9:1", 9, "a=1, a=2, a=3 and 6 more"),
            ("a=1,1,2 + b=x,y,x", 3, ""),
        ];
        for (sweep, cells, told) in table {
            let grid = grid(&[sweep]).unwrap();
            assert_eq!(grid.cells, cells, "{sweep}");
            let wanted = format!("--sweep: given more than once and run once: {told}");
            assert_eq!(grid.repeated(), if told.is_empty() { vec![] } else { vec![wanted] }, "{sweep}");
        }
    }

    #[test]
    fn what_lacks_values_is_named() {
        let table = [
            ("a=1,2 + b=", "found no values of b"),
            ("a=1,2 + b", "found no values of b"),
            ("a=1,,2", "found an empty value of a"),
            ("=1,2", "found no key in \\\"=1,2\\\""),
            ("", "found no key"),
        ];
        for (sweep, part) in table {
            let refused = grid(&[sweep]).map(|_| ()).unwrap_err();
            assert!(refused.contains(part), "{sweep}: {refused}");
        }
    }

    #[test]
    fn axes_of_values_make_the_grid_that_their_text_makes() {
        let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let places = |values: &[&[&str]]| values.iter().map(|place| texts(place)).collect::<Vec<_>>();
        let axes = || {
            vec![
                GivenAxis::Places(texts(&["a", "b"]), places(&[&["1", "x"], &["2", "y"]])),
                GivenAxis::Text("c=0..2:1,1".to_owned()),
            ]
        };
        let (given, typed) =
            (Grid::given("grid", axes(), None).unwrap(), grid(&["a=1,2 + b=x,y", "c=0..2:1,1"]).unwrap());
        assert_eq!((given.keys(), given.rows().collect::<Vec<_>>()), (typed.keys(), typed.rows().collect()));
        assert_eq!(given.repeated(), ["grid: given more than once and run once: c=1"]);
        let seeded = Grid::given("grid", axes(), Some(vec![5, 6])).unwrap();
        assert_eq!((seeded.keys().len(), seeded.row(1)), (4, texts(&["1", "x", "0", "6"])));
        let refused = [
            (GivenAxis::Places(texts(&["a"]), vec![]), "grid a: found an axis without values"),
            (GivenAxis::Places(vec![], places(&[&[]])), "grid : found an axis without a key"),
            (GivenAxis::Places(texts(&["seed"]), places(&[&["1"]])), "seeds is given beside grid seed="),
            (GivenAxis::Text("a".to_owned()), "grid a: found no values of a"),
        ];
        for (axis, told) in refused {
            let sentence = Grid::given("grid", vec![axis], Some(vec![1])).map(|_| ()).unwrap_err();
            assert!(sentence.contains(told), "{sentence}");
        }
    }

    #[test]
    fn the_last_key_changes_fastest() {
        let cells: Vec<Vec<String>> = grid(&["a=1,2", "b=x,y"]).unwrap().rows().collect();
        assert_eq!(cells, [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]);
        let none: Vec<Vec<String>> = grid(&[]).unwrap().rows().collect();
        assert_eq!(none, [Vec::<String>::new()]);
    }

    #[test]
    fn a_grid_is_refused_before_it_is_laid_out() {
        let hundred = (0..100).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
        let axis = |number: usize| format!("k{number}={hundred}");
        let axes: Vec<String> = (0..200).map(axis).collect();
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        assert_eq!(grid(&axes[..2]).unwrap().cells, CELLS_MAX);
        for (count, told) in [(3, "100 x 100 x 100 = 1000000 cells; 10000 are allowed"), (6, "= 1000000000000 cells")] {
            let refused = grid(&axes[..count]).map(|_| ()).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(grid(&axes).is_err(), "a product past 128 bits");
        let mut swept = grid(&axes[..2]).unwrap();
        assert!(swept.add_seeds(vec![1, 2]).is_err(), "seeds count as well");
    }
}
