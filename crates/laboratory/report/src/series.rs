//! What sets several runs apart: the keys that were swept, short names and colors.

use super::groups::{Group, Keys, differing};
use super::numbers::grouped;
use super::palette::{HUES, ordered, series};

/// A key in which runs differ, with its values in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    /// As a person calls it: "spare-factor".
    pub(super) name: String,
    /// As a person writes them: "7 %"; rising where they are numbers.
    pub(super) values: Vec<String>,
    /// The values as numbers, where all are.
    pub(super) numbers: Option<Vec<f64>>,
    /// Which value each group has.
    pub(super) of: Vec<usize>,
    /// Each value as a name.
    tags: Vec<String>,
    /// Each value as a name, with that of its key.
    headings: Vec<String>,
}

impl Key {
    /// The value of a group as its name.
    pub(super) fn tag(&self, group: usize) -> String {
        self.tag_of(self.of[group])
    }

    /// A value as a name: "10 %" and "greedy" say what they are, "4" does not.
    pub(super) fn tag_of(&self, value: usize) -> String {
        self.tags[value].clone()
    }

    /// The value of a group with the name of its key: "d = 8".
    pub(super) fn headed(&self, group: usize) -> String {
        self.headings[self.of[group]].clone()
    }

    /// Two keys as one axis: its places are the pairs of values that groups have, in the order of the key that tells them apart.
    fn joined(&self, other: &Self) -> Self {
        let pair = |group: usize| (self.of[group], other.of[group]);
        let mut pairs: Vec<(usize, usize)> = (0..self.of.len()).map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let tells_all = |key: &Self| key.values.len() == pairs.len();
        let by_other = tells_all(other) && (!tells_all(self) || self.numbers.is_none() && other.numbers.is_some());
        if by_other {
            pairs.sort_unstable_by_key(|pair| pair.1);
        }
        let lead = if by_other { other } else { self };
        let numbers = lead.numbers.clone().filter(|numbers| numbers.len() == pairs.len());
        let both = |one: &[String], two: &[String]| -> Vec<String> {
            pairs.iter().map(|pair| format!("{}, {}", one[pair.0], two[pair.1])).collect()
        };
        let place =
            |group| pairs.iter().position(|one| *one == pair(group)).expect("the pairs are those of the groups");
        Self {
            name: format!("{} + {}", self.name, other.name),
            values: both(&self.values, &other.values),
            numbers,
            of: (0..self.of.len()).map(place).collect(),
            tags: both(&self.tags, &other.tags),
            headings: both(&self.headings, &other.headings),
        }
    }

    /// Whether the groups are no field of two keys: one value determines the other, or at most half of the cells were run.
    fn moves_with(&self, other: &Self) -> bool {
        let mut pairs: Vec<(usize, usize)> = self.of.iter().copied().zip(other.of.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (one, two) = (self.values.len(), other.values.len());
        pairs.len() == one.max(two) || 2 * pairs.len() <= one * two
    }

    /// Classes of the lines and marks of a group's value.
    pub(super) fn style(&self, group: usize) -> String {
        self.style_of(self.of[group])
    }

    /// Classes of the lines and marks of a value.
    pub(super) fn style_of(&self, value: usize) -> String {
        if self.numbers.is_some() { ordered(value, self.values.len()) } else { series(value) }
    }
}

/// The keys that were swept: those that the scenarios' names set, or those that differ. None if each scenario has a name of its own.
pub(super) fn keys(groups: &[Group<'_>]) -> Vec<Key> {
    if groups.len() < 2 {
        return Vec::new();
    }
    let names: Vec<&str> = groups.iter().map(|group| group.first().summary.scenario.name.trim()).collect();
    let assigned: Vec<Vec<(String, String)>> = names.iter().map(|name| assignments(name)).collect();
    let same_keys = |one: &Vec<(String, String)>| {
        one.iter().map(|(key, _)| key).eq(assigned[0].iter().map(|(key, _)| key)) && !one.is_empty()
    };
    if assigned.iter().all(same_keys) {
        let of =
            |index: usize| (assigned[0][index].0.clone(), assigned.iter().map(|one| one[index].1.clone()).collect());
        let columns = (0..assigned[0].len()).map(of).chain(beside(groups, &assigned)).collect();
        return together(keys_of(columns, Follows::Kept));
    }
    let distinct = (1..names.len()).all(|index| !names[..index].contains(&names[index]));
    if distinct {
        return Vec::new();
    }
    let all: Vec<&Keys> = groups.iter().map(|group| &group.keys).collect();
    let of = |key: String| {
        let values = all.iter().map(|keys| keys.get(&key).cloned().unwrap_or_else(|| "none".to_owned())).collect();
        (key, values)
    };
    let mut apart: Vec<String> = differing(&all).into_iter().filter(|key| key != "name").collect();
    // A policy says more than the parameters that come with it.
    apart.sort_by_key(|key| !key.ends_with(".policy"));
    keys_of(apart.into_iter().map(of).collect(), Follows::LeftOut)
}

/// Further keys that set runs of the same name apart, such as cells of two sweeps of the same keys, with their value in each group.
fn beside(groups: &[Group<'_>], assigned: &[Vec<(String, String)>]) -> Vec<(String, Vec<String>)> {
    let mut apart: Vec<String> = Vec::new();
    for (index, name) in assigned.iter().enumerate() {
        if assigned[..index].contains(name) {
            continue;
        }
        let twins = groups.iter().zip(assigned).filter(|(_, other)| *other == name).map(|(group, _)| &group.keys);
        apart.extend(differing(&twins.collect::<Vec<_>>()).into_iter().filter(|key| key != "name"));
    }
    apart.sort();
    apart.dedup();
    let mut kept: Vec<(String, Vec<String>)> = Vec::new();
    for key in apart {
        let value = |group: &Group<'_>| group.keys.get(&key).cloned().unwrap_or_else(|| "none".to_owned());
        let values: Vec<String> = groups.iter().map(value).collect();
        if !kept.iter().any(|(_, before)| tells(before, &values)) {
            kept.push((key, values));
        }
    }
    kept
}

/// Whether the values of one key determine those of another: groups that share the one value share the other.
fn tells(one: &[String], other: &[String]) -> bool {
    let pairs = || one.iter().zip(other);
    pairs().all(|(left, right)| pairs().all(|(also, value)| (left == also) <= (right == value)))
}

/// What becomes of a key that always changes together with one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Of a sweep: the user swept both.
    Kept,
    /// Of scenarios: the other key determines it.
    LeftOut,
}

/// Keys that move together as one, so that those that are left span a field.
fn together(keys: Vec<Key>) -> Vec<Key> {
    let mut kept: Vec<Key> = Vec::new();
    for mut key in keys {
        while let Some(index) = kept.iter().position(|other| other.moves_with(&key)) {
            key = kept.remove(index).joined(&key);
        }
        kept.push(key);
    }
    kept
}

/// Keys by their values in each group, without those that do not differ.
fn keys_of(columns: Vec<(String, Vec<String>)>, follows: Follows) -> Vec<Key> {
    let mut kept: Vec<(String, Vec<String>)> = Vec::new();
    for (key, values) in columns {
        let differs = values.iter().any(|value| *value != values[0]);
        let follows = follows == Follows::LeftOut && kept.iter().any(|(_, before)| tells(before, &values));
        if differs && !follows {
            kept.push((key, values));
        }
    }
    let keys: Vec<String> = kept.iter().map(|(key, _)| key.clone()).collect();
    let mut keys: Vec<Key> = kept.into_iter().map(|(key, values)| key_of(&key, &values, &keys)).collect();
    // "10 %" says what it is, unless another key has percents as well.
    let dimensions: Vec<char> =
        keys.iter().map(|key| key.values.first().map_or(' ', |value| dimension(value))).collect();
    for (key, own) in keys.iter_mut().zip(&dimensions) {
        if *own != ' ' && dimensions.iter().filter(|other| *other == own).count() > 1 {
            key.tags.clone_from(&key.headings);
        }
    }
    keys
}

fn key_of(key: &str, values: &[String], keys: &[String]) -> Key {
    let shown: Vec<String> = values.iter().map(|value| shown(key, value)).collect();
    let numbers: Option<Vec<f64>> = shown.iter().map(|value| number(value)).collect();
    let dimensions: Vec<char> = shown.iter().map(|value| dimension(value)).collect();
    let numbers = numbers.filter(|_| dimensions.iter().all(|one| *one == dimensions[0]));
    let mut order: Vec<usize> = (0..shown.len()).collect();
    if let Some(numbers) = &numbers {
        order.sort_by(|left, right| numbers[*left].total_cmp(&numbers[*right]));
    }
    let (mut distinct, mut sorted): (Vec<String>, Vec<f64>) = (Vec::new(), Vec::new());
    for group in order {
        if !distinct.contains(&shown[group]) {
            distinct.push(shown[group].clone());
            sorted.extend(numbers.as_ref().map(|numbers| numbers[group]));
        }
    }
    debug_assert!(sorted.is_empty() || sorted.len() == distinct.len(), "a value that is a number has its number");
    let place = |value: &String| distinct.iter().position(|one| one == value);
    let of = shown.iter().map(|value| place(value).expect("distinct values are those shown")).collect();
    let last = |key: &str| {
        let key = key.strip_suffix(".policy").unwrap_or(key);
        key.rsplit('.').next().unwrap_or(key).to_owned()
    };
    let twins = keys.iter().filter(|other| last(other) == last(key)).count();
    let name = if twins > 1 { key.to_owned() } else { last(key) };
    debug_assert!(sorted.is_sorted(), "values that are numbers rise along an axis");
    let tags: Vec<String> = distinct.iter().map(|value| tag(&name, value)).collect();
    let headings = distinct.iter().map(|value| assigned_to(&name, value)).collect();
    Key { name, values: distinct, numbers: numbers.map(|_| sorted), of, tags, headings }
}

fn tag(name: &str, value: &str) -> String {
    let bare = value.chars().all(|letter| letter.is_ascii_digit() || ".,-".contains(letter));
    if bare || matches!(value, "true" | "false" | "none") { assigned_to(name, value) } else { value.to_owned() }
}

/// A key with its value, as everywhere in a report: "d = 8".
pub(super) fn assigned_to(key: &str, value: &str) -> String {
    format!("{key} = {value}")
}

/// The settings that a name of a sweep's cell consists of, without the seed; none of another name.
fn assignments(name: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for word in name.split(' ') {
        let setting = word.split_once('=').filter(|(key, _)| {
            !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter))
        });
        match (setting, found.last_mut()) {
            // A value that is a table: `{ policy = "d-choices", d = 8 }`.
            (_, Some((_, value))) if value.matches('{').count() > value.matches('}').count() => {
                *value = format!("{value} {word}");
            }
            (Some((key, value)), _) => found.push((key.to_owned(), value.to_owned())),
            // A value with a space in it: "7 %".
            (None, Some((_, value))) => *value = format!("{value} {word}"),
            (None, None) => return Vec::new(),
        }
    }
    found.retain(|(key, _)| key != "seed");
    found.iter_mut().for_each(|(_, value)| *value = value.trim().trim_matches(['"', '\'']).to_owned());
    found
}

/// Keys whose value names a table.
const NAMES: [&str; 5] = ["policy", "pattern", "standin", "trace", "queue-depth"];

/// A table as a name: "d-choices, d = 8"; `None` of other values.
fn named(value: &str) -> Option<String> {
    let mut parsed = format!("value = {value}").parse::<toml::Table>().ok()?;
    let toml::Value::Table(mut table) = parsed.remove("value")? else { return None };
    let bare = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let name = NAMES.iter().find_map(|name| table.remove(*name)).as_ref().map(bare);
    let rest = table.iter().map(|(key, value)| assigned_to(key, &bare(value)));
    Some(name.into_iter().chain(rest).collect::<Vec<_>>().join(", "))
}

/// A value as a person writes it: shares in percent.
fn shown(key: &str, value: &str) -> String {
    if let Some(name) = named(value) {
        return name;
    }
    const SHARES: [&str; 7] =
        ["spare-factor", "over-provisioning", "read-share", "trim-share", "footprint", "threshold", "share"];
    let last = key.rsplit('.').next().unwrap_or(key);
    match value.parse::<f64>() {
        // Five digits are more than a sweep needs, and drop binary rounding errors.
        Ok(share) if SHARES.contains(&last) && (0.0..=1.0).contains(&share) => {
            format!("{}\u{a0}%", (1e5 * share).round() / 1e3)
        }
        Ok(number) if number.abs() >= 10_000.0 && number.fract() == 0.0 => grouped(number, 0),
        _ => value.replace('_', ""),
    }
}

/// Units in which keys are written: sign, dimension, and how many of the dimension's smallest each is.
const UNITS: [(&str, char, f64); 17] = [
    ("", 'n', 1.0),
    ("%", '%', 1.0),
    ("B", 'b', 1.0),
    ("kB", 'b', 1e3),
    ("MB", 'b', 1e6),
    ("GB", 'b', 1e9),
    ("TB", 'b', 1e12),
    ("KiB", 'b', 1024.0),
    ("MiB", 'b', 1_048_576.0),
    ("GiB", 'b', 1_073_741_824.0),
    ("TiB", 'b', 1_099_511_627_776.0),
    ("us", 't', 1e-6),
    ("ms", 't', 1e-3),
    ("s", 't', 1.0),
    ("h", 't', 3600.0),
    ("days", 't', 86_400.0),
    ("years", 't', 31_536_000.0),
];

fn parted(value: &str) -> Option<(f64, &'static (&'static str, char, f64))> {
    let end = value.find(|letter: char| !(letter.is_ascii_digit() || ".,-+e".contains(letter))).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let unit = UNITS.iter().find(|known| known.0 == unit.trim())?;
    Some((digits.replace(',', "").parse().ok()?, unit))
}

fn number(value: &str) -> Option<f64> {
    parted(value).map(|(number, unit)| number * unit.2)
}

fn dimension(value: &str) -> char {
    parted(value).map_or(' ', |(_, unit)| unit.1)
}

/// Gives the groups short names and colors.
pub(super) fn style(groups: &mut [Group<'_>]) {
    let keys = keys(groups);
    if !keys.is_empty() {
        let labels: Vec<String> = (0..groups.len())
            .map(|index| keys.iter().map(|key| key.tag(index)).collect::<Vec<_>>().join(", "))
            .collect();
        let distinct = (1..labels.len()).all(|index| !labels[..index].contains(&labels[index]));
        if distinct {
            groups.iter_mut().zip(labels).for_each(|(group, label)| group.label = label);
        }
    }
    let count = groups.len();
    for (index, group) in groups.iter_mut().enumerate() {
        group.style = match &keys[..] {
            [key] if count <= HUES => key.style(index),
            _ if count <= HUES => series(index),
            _ => series(0),
        };
    }
}

/// A group by some keys, each with its name: "d = 8, gc = greedy".
pub(super) fn in_full<'a>(keys: impl IntoIterator<Item = &'a Key>, group: usize) -> String {
    keys.into_iter().map(|key| key.headed(group)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::groups;
    use wane_results::RunResult;
    use wane_results::test_runs::test_run;

    fn cells(names: &[&str]) -> Vec<RunResult> {
        let cell = |name: &&str| {
            let mut run = test_run(1);
            run.summary.scenario.name = (*name).to_owned();
            run.scenario_toml = format!("name = \"{name}\"\nx = \"{name}\"");
            run
        };
        names.iter().map(cell).collect()
    }

    #[test]
    fn cells_of_a_sweep_are_named_by_their_values() {
        let table: [(&[&str], &[&str]); 7] = [
            (
                &["ftl.gc={policy=\"d-choices\", d=2}", "ftl.gc={ policy = 'd-choices', d = 8 }"],
                &["d-choices, d = 2", "d-choices, d = 8"],
            ),
            (&["ftl.gc.policy=greedy", "ftl.gc.policy=fifo"], &["greedy", "fifo"]),
            (&["drive.spare-factor=0.07", "drive.spare-factor=0.1"], &["7\u{a0}%", "10\u{a0}%"]),
            (&["a.d=4 b=7 %", "a.d=8 b=7 %"], &["d = 4", "d = 8"]),
            (
                &["a.op=7 % b.share=0 %", "a.op=7 % b.share=9 %", "a.op=9 % b.share=9 %"],
                &["op = 7 %, share = 0 %", "op = 7 %, share = 9 %", "op = 9 %, share = 9 %"],
            ),
            (&["a.d=4 b=x seed=1", "a.d=8 b=y seed=1"], &["d = 4, x", "d = 8, y"]),
            (
                &["a.x=1 b.x=1", "a.x=1 b.x=2", "a.x=2 b.x=1"],
                &["a.x = 1, b.x = 1", "a.x = 1, b.x = 2", "a.x = 2, b.x = 1"],
            ),
        ];
        for (names, expected) in table {
            let runs = cells(names);
            let labels: Vec<String> = groups(&runs).into_iter().map(|group| group.label).collect();
            assert_eq!(labels, expected);
        }
    }

    #[test]
    fn cells_of_two_sweeps_are_told_apart_by_what_their_drives_differ_in() {
        let mut runs = cells(&["a.d=4 b=x", "a.d=8 b=x", "a.d=4 b=x", "a.d=8 b=x"]);
        for (run, endurance) in runs.iter_mut().zip([300, 300, 20, 20]) {
            run.scenario_toml.push_str(&format!("\n[drive]\nendurance = {endurance}\nblocks = {}\n", endurance + 1));
        }
        let groups = groups(&runs);
        let labels: Vec<&str> = groups.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(labels, ["d = 4, blocks = 301", "d = 8, blocks = 301", "d = 4, blocks = 21", "d = 8, blocks = 21"]);
        let [_, other] = &keys(&groups)[..] else { panic!("two keys") };
        assert_eq!(
            (other.values.as_slice(), &other.of[..]),
            (&["21".to_owned(), "301".to_owned()][..], &[1, 1, 0, 0][..])
        );
    }

    #[test]
    fn values_with_units_are_ordered_by_size() {
        let runs = cells(&["a.size=1 GiB", "a.size=64 MiB", "a.size=512 MiB"]);
        let keys = keys(&groups(&runs));
        assert_eq!(keys[0].values, ["64 MiB", "512 MiB", "1 GiB"]);
        assert_eq!(keys[0].of, [2, 0, 1]);
        let runs = cells(&["a.size=1 GiB", "a.size=3 days"]);
        assert_eq!(super::keys(&groups(&runs))[0].numbers, None, "sizes and times have no common order");
    }

    #[test]
    fn keys_that_move_together_are_one_axis() {
        // (cells, names of the axes, values of the first)
        let table: [(&[&str], &[&str], &[&str]); 5] = [
            (&["a.d=2 b.e=8", "a.d=4 b.e=16", "a.d=8 b.e=32"], &["d + e"], &["2, 8", "4, 16", "8, 32"]),
            // The second tells more apart, and is the one with numbers.
            (&["a.p=x b.e=3", "a.p=x b.e=1", "a.p=y b.e=2"], &["p + e"], &["x, 1", "y, 2", "x, 3"]),
            // A field, though a cell is missing.
            (&["a.d=1 b.e=1", "a.d=1 b.e=2", "a.d=2 b.e=1"], &["d", "e"], &["1", "2"]),
            // Neither tells the other, but they are no field.
            (
                &["a.d=1 b.e=3", "a.d=2 b.e=1", "a.d=3 b.e=2", "a.d=4 b.e=3", "a.d=1 b.e=2"],
                &["d + e"],
                &["1, 2", "1, 3", "2, 1", "3, 2", "4, 3"],
            ),
            (
                &["a.d=1 b.e=8 c.f=0", "a.d=1 b.e=8 c.f=1", "a.d=2 b.e=9 c.f=0", "a.d=2 b.e=9 c.f=1"],
                &["d + e", "f"],
                &["1, 8", "2, 9"],
            ),
        ];
        for (names, axes, values) in table {
            let runs = cells(names);
            let groups = groups(&runs);
            let keys = keys(&groups);
            assert_eq!(keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), axes, "{names:?}");
            assert_eq!(keys[0].values, values, "{names:?}");
            for (group, name) in keys[0].of.iter().zip(names) {
                let value = keys[0].values[*group].split(", ").next().unwrap_or_default();
                assert!(name.split(' ').next().unwrap_or_default().ends_with(&format!("={value}")), "{name}: {value}");
            }
        }
        let runs = cells(&["a.d=2 b.e=8", "a.d=4 b.e=16", "a.d=8 b.e=32"]);
        assert_eq!(in_full(&keys(&groups(&runs)), 1), "d = 4, e = 16");
    }
}
