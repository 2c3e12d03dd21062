//! A fitted model as TOML, to paste into a scenario or to save.

use std::fmt::Write as _;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wane_nand::rber::{Ranges, RberModel};
use wane_units::did_you_mean;

use super::RberError;

const RANGES: [&str; 3] = ["cycles", "days", "reads"];

/// A model with the ranges of the data that it was fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The model.
    pub model: RberModel,
    /// The ranges of its data. Outside them the model extrapolates.
    pub ranges: Ranges,
}

impl Preset {
    /// The preset as TOML, from which [`Self::parse`] reads the same numbers.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("[rber]\n");
        for (name, value) in RberModel::NAMES.iter().zip(self.model.parameters()) {
            let _ = writeln!(text, "{name} = {value:?}");
        }
        text.push_str("[rber.data]\n");
        for (name, (least, most)) in RANGES.iter().zip([self.ranges.cycles, self.ranges.days, self.ranges.reads]) {
            let _ = writeln!(text, "{name} = [{least:?}, {most:?}]");
        }
        debug_assert_eq!(Self::parse("it", &text).as_ref().ok(), Some(self), "what is written is read back the same");
        text
    }

    /// Reads a preset; messages begin with `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, RberError> {
        let file = File { name, text };
        let document = DeTable::parse(text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            file.error(error.span(), "", &format!("this is no TOML: {message}"))
        })?;
        let root = document.get_ref();
        file.check_names(root, "", &["rber"])?;
        let rber = file.table(root, "", "rber")?;
        let known: Vec<&str> = RberModel::NAMES.into_iter().chain(["data"]).collect();
        file.check_names(rber, "rber.", &known)?;
        let mut parameters = [0.0; 9];
        for (value, name) in parameters.iter_mut().zip(RberModel::NAMES) {
            *value = file.number(file.value(rber, "rber.", name)?, &format!("rber.{name}"))?;
        }
        let data = file.table(rber, "rber.", "data")?;
        file.check_names(data, "rber.data.", &RANGES)?;
        let range = |name: &str| file.range(file.value(data, "rber.data.", name)?, &format!("rber.data.{name}"));
        let ranges = Ranges { cycles: range("cycles")?, days: range("days")?, reads: range("reads")? };
        Ok(Self { model: RberModel::from_parameters(parameters), ranges })
    }
}

struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, span: Option<Range<usize>>, key: &str, message: &str) -> RberError {
        let line = span.map_or_else(String::new, |span| {
            let before = self.text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
            format!(", line {}", before + 1)
        });
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        RberError(format!("{}{line}: {key}{message}", self.name))
    }

    fn check_names(&self, table: &DeTable<'_>, path: &str, known: &[&str]) -> Result<(), RberError> {
        for name in table.keys() {
            let text = name.get_ref().as_ref();
            if !known.contains(&text) {
                let hint = match did_you_mean(text, known) {
                    hint if hint.is_empty() => format!("; allowed are {}", known.join(", ")),
                    hint => hint,
                };
                return Err(self.error(Some(name.span()), &format!("{path}{text}"), &format!("unknown key{hint}")));
            }
        }
        Ok(())
    }

    fn value<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        path: &str,
        name: &str,
    ) -> Result<&'t Spanned<DeValue<'i>>, RberError> {
        table.get(name).ok_or_else(|| {
            let missing = "is missing; `wane rber fit` writes all keys";
            self.error(None, &format!("{path}{name}"), missing)
        })
    }

    fn table<'t, 'i>(&self, table: &'t DeTable<'i>, path: &str, name: &str) -> Result<&'t DeTable<'i>, RberError> {
        let value = self.value(table, path, name)?;
        let key = format!("{path}{name}");
        value.get_ref().as_table().ok_or_else(|| {
            self.error(Some(value.span()), &key, &format!("found {}, expected a table [{key}]", self.shown(value)))
        })
    }

    fn number(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<f64, RberError> {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|whole| whole as f64)
            }
            _ => None,
        };
        let largest = RberModel::largest(key.rsplit('.').next().unwrap_or(key));
        number.filter(|number: &f64| (0.0..=largest).contains(number)).ok_or_else(|| {
            let most = if largest == f64::MAX { "on".to_owned() } else { format!("to {largest}") };
            let message = format!("found {}, allowed is a number from 0 {most}", self.shown(value));
            self.error(Some(value.span()), key, &message)
        })
    }

    fn range(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<(f64, f64), RberError> {
        if let DeValue::Array(items) = value.get_ref()
            && let [least, most] = &items[..]
        {
            let (least, most) = (self.number(least, key)?, self.number(most, key)?);
            if least <= most {
                return Ok((least, most));
            }
        }
        let message = format!("found {}, allowed is [least, most]", self.shown(value));
        Err(self.error(Some(value.span()), key, &message))
    }

    /// The value as it is written, on one line.
    fn shown(&self, value: &Spanned<DeValue<'_>>) -> String {
        match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            _ => {
                let written = self.text.get(value.span()).unwrap_or_default();
                let line = written.split_whitespace().collect::<Vec<_>>().join(" ");
                if line.chars().count() > 60 {
                    format!("{}\u{2026}", line.chars().take(60).collect::<String>())
                } else {
                    line
                }
            }
        }
    }
}
