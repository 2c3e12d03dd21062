//! The drives of an array that is planned: from a file, and from the command line.

use std::path::Path;

use serde::Deserialize;
use wane_raid::Site;
use wane_units::{Bytes, QuantityError, Rate, excerpt};

use crate::output::{Failure, read_text};

/// Most drives of an array.
const MEMBERS_MAX: usize = 256;
/// What counts as fast if no class is given: at least this share of the fastest drive's speed.
const FAST_SHARE: f64 = 0.5;

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) size: Bytes,
    pub(super) speed: Option<Rate>,
    pub(super) class: Option<Class>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Class {
    Fast,
    Slow,
}

/// Drives, and in which units the user thinks of them.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    pub(super) units: Units,
}

/// Units of sizes that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    /// GiB.
    Binary,
    /// GB.
    Decimal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    member: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    size: String,
    speed: Option<String>,
    class: Option<Class>,
}

/// A size that may have a fraction of a byte, as in "3.33 GiB", without that.
fn whole(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic())?);
    let number: f64 = number.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
    let bytes = number * format!("1 {unit}").parse::<Bytes>().ok()?.0 as f64;
    (bytes < EXACT_MAX).then_some(Bytes(bytes as u64))
}

/// Up to here a number names each byte.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Members {
    /// Those of the file, then those of the options.
    pub(super) fn read(file: Option<&Path>, options: &[String]) -> Result<Self, Failure> {
        let mut members = Self { list: Vec::new(), units: Units::Binary };
        if let Some(file) = file {
            members.add_file(file)?;
        }
        for option in options {
            members.add_option(option)?;
        }
        members.check()?;
        Ok(members)
    }

    fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let (name, text) = read_text(path)?;
        let file: File = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let message = error.message().trim().replace('\n', ", ");
            Failure::wrong(format!("{name}: line {line}: {message}"))
        })?;
        for entry in file.member {
            let of = format!("{name}: drive \"{}\"", excerpt(&entry.name));
            self.add(&of, [&entry.name, &entry.size], entry.speed.as_deref(), entry.class)?;
        }
        Ok(())
    }

    fn add_option(&mut self, option: &str) -> Result<(), Failure> {
        let wrong = |why: &str| {
            Failure::wrong(format!(
                "--member: found \"{}\", {why}; allowed is NAME=SIZE, NAME=SIZE@SPEED and :fast or :slow behind it, such as \
                 \"nvme0=894GiB@3330MiB/s:fast\"",
                excerpt(option)
            ))
        };
        let (name, rest) = option.split_once('=').ok_or_else(|| wrong("which has no ="))?;
        let (rest, class) = match rest.rsplit_once(':') {
            None => (rest, None),
            Some((rest, "fast")) => (rest, Some(Class::Fast)),
            Some((rest, "slow")) => (rest, Some(Class::Slow)),
            Some(_) => return Err(wrong("whose class is neither fast nor slow")),
        };
        let (size, speed) = rest.split_once('@').map_or((rest, None), |(size, speed)| (size, Some(speed)));
        self.add(&format!("--member {}", excerpt(name)), [name, size], speed, class)
    }

    fn add(
        &mut self,
        of: &str,
        [name, written]: [&str; 2],
        speed: Option<&str>,
        class: Option<Class>,
    ) -> Result<(), Failure> {
        if name.trim().is_empty() {
            return Err(Failure::wrong(format!("{of}: a drive has a name, and this one's is empty")));
        }
        if self.list.iter().any(|member| member.name == name) {
            let sentence = format!("{of}: two drives have the name \"{}\", and each has one of its own", excerpt(name));
            return Err(Failure::wrong(sentence));
        }
        let wrong = |error: QuantityError| Failure::wrong(format!("{of}: {error}"));
        let size = whole(written).map_or_else(|| written.parse(), Ok).map_err(wrong)?;
        let rate = |text: &str| {
            let size = text.trim().strip_suffix("/s").and_then(whole);
            size.map_or_else(|| text.parse(), |size| Ok(Rate(size.0)))
        };
        let speed: Option<Rate> = speed.map(rate).transpose().map_err(wrong)?;
        if speed == Some(Rate(0)) {
            return Err(Failure::wrong(format!("{of}: found a speed of 0, allowed are speeds above 0")));
        }
        if self.list.is_empty() && !written.contains('i') {
            self.units = Units::Decimal;
        }
        self.list.push(Member { name: name.to_owned(), size, speed, class });
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        let count = self.list.len();
        if count == 0 || count > MEMBERS_MAX {
            let sentence = format!(
                "found {count} drives, allowed are 1 to {MEMBERS_MAX}; they come from a file or from --member, such as \"nvme0=894GiB\""
            );
            return Err(Failure::wrong(sentence));
        }
        let without = self.list.iter().find(|member| member.speed.is_none());
        if let (Some(without), Some(with)) = (without, self.list.iter().find(|member| member.speed.is_some())) {
            return Err(Failure::wrong(format!(
                "drive \"{}\" has no speed, and \"{}\" has one; all drives have one, or none has",
                excerpt(&without.name),
                excerpt(&with.name)
            )));
        }
        Ok(())
    }

    /// Whether speeds are known.
    pub(super) fn have_speeds(&self) -> bool {
        self.list.iter().all(|member| member.speed.is_some())
    }

    /// The drives as a placement sees them, in tiles of this size. Without speeds all are alike.
    pub(super) fn sites(&self, tile: Bytes) -> Vec<Site> {
        let speed = |member: &Member| member.speed.map_or(1.0, |speed| speed.0 as f64);
        self.list.iter().map(|member| Site { slots: member.size.0 / tile.0, speed: speed(member) }).collect()
    }

    /// Numbers of the fast drives. None are, or all, where nothing tells drives apart.
    pub(super) fn fast(&self) -> Vec<usize> {
        let numbers = 0..self.list.len();
        if self.list.iter().any(|member| member.class.is_some()) {
            return numbers.filter(|member| self.list[*member].class == Some(Class::Fast)).collect();
        }
        let fastest = self.list.iter().filter_map(|member| member.speed).map(|speed| speed.0).max().unwrap_or(0) as f64;
        let is_fast =
            |member: &usize| self.list[*member].speed.is_some_and(|speed| speed.0 as f64 >= FAST_SHARE * fastest);
        numbers.filter(is_fast).collect()
    }

    /// A size in the user's units, with four digits.
    pub(super) fn told(&self, bytes: u64) -> String {
        let (base, units) = match self.units {
            Units::Binary => (1024.0, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
            Units::Decimal => (1000.0, ["B", "kB", "MB", "GB", "TB", "PB"]),
        };
        let (mut value, mut unit) = (bytes as f64, 0);
        while value >= 0.9999 * base && unit + 1 < units.len() {
            value /= base;
            unit += 1;
        }
        let decimals = match value {
            value if value >= 1000.0 => 0,
            value if value >= 100.0 => 1,
            value if value >= 10.0 => 2,
            _ => 3,
        };
        let number = format!("{value:.decimals$}");
        let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
        format!("{number} {}", units[unit])
    }
}
