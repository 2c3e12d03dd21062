//! How the targets of aging are written.

use std::str::FromStr;

use wane_units::{DAYS_PER_YEAR, Ratio};

use super::Target;

const TARGETS: &str = "drive-writes=NUMBER, wear=SHARE such as wear='75 %', years=NUMBER, days=NUMBER, end-of-life, \
                       drive-writes-left=NUMBER and days-left=NUMBER are allowed";

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').map_or((text.trim(), None), |(name, value)| (name.trim(), Some(value)));
        match (name, value) {
            ("end-of-life", None) => Ok(Self::EndOfLife),
            ("drive-writes", Some(value)) => number(name, value).map(Self::DriveWrites),
            ("days", Some(value)) => number(name, value).map(Self::Days),
            ("years", Some(value)) => number(name, value).map(|years| Self::Days(DAYS_PER_YEAR * years)),
            ("drive-writes-left", Some(value)) => number(name, value).map(Self::DriveWritesLeft),
            ("days-left", Some(value)) => number(name, value).map(Self::DaysLeft),
            ("wear", Some(value)) => match value.trim().parse::<Ratio>() {
                Ok(share) if share.get() > 0.0 => Ok(Self::Wear(share.get())),
                _ => Err("wear is above 0 and at most 1, or above \"0 %\" and at most \"100 %\"".to_owned()),
            },
            _ => Err(TARGETS.to_owned()),
        }
    }
}

fn number(name: &str, value: &str) -> Result<f64, String> {
    let number = value.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= 1e9);
    number.ok_or_else(|| format!("{name} is a number above 0 and up to 1e9"))
}
