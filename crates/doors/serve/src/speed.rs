//! How fast a served drive's time runs.

use std::fmt;
use std::str::FromStr;

use wane_sim::{Clock, PacedClock, VirtualClock};
use wane_units::{Nanos, SimTime};

/// How fast a served drive's time runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Requests are answered as soon as their state is known; the drive's time runs as if the host had waited.
    Max,
    /// Seconds of the drive in a second.
    Factor(f64),
}

impl Speed {
    /// Its clock, which goes on from `at` and `real`.
    pub(crate) fn clock(self, at: SimTime, real: Nanos) -> Box<dyn Clock + Send> {
        match self {
            Self::Max => Box::new(VirtualClock::starting_at(at)),
            Self::Factor(factor) => Box::new(PacedClock::new(at, real, factor)),
        }
    }

    /// Seconds of the drive in a second; `None` if it does not wait.
    pub const fn factor(self) -> Option<f64> {
        match self {
            Self::Max => None,
            Self::Factor(factor) => Some(factor),
        }
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed == "max" {
            return Ok(Self::Max);
        }
        let [least, most] = PacedClock::SPEEDS;
        let number = trimmed.strip_suffix('x').unwrap_or(trimmed).trim_end().parse::<f64>().ok();
        number.filter(|factor| (least..=most).contains(factor)).map(Self::Factor).ok_or_else(|| {
            format!("a speed is `max`, or a factor such as `1x`, `10x` or `0.1x`, from {least:e} to {most:e}")
        })
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Factor(factor) => write!(f, "{factor}x"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_written_as_they_are_read() {
        for text in ["max", "1x", "0.1x", "250x"] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
        }
        assert_eq!("10".parse(), Ok(Speed::Factor(10.0)));
        for wrong in ["", "x", "0x", "-1x", "fast", "NaN", "inf", "1e10"] {
            let told = wrong.parse::<Speed>().unwrap_err();
            assert!(told.contains("`10x`"), "{told}");
        }
    }
}
