//! What can be asked of a served drive.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{broadcast, oneshot};
use wane_blockdev::Kind;
use wane_lab::kept::Target;
use wane_units::{Bytes, Nanos, Ratio};

use crate::Speed;
use crate::engine::Kinds;

/// A request, and where its answer goes.
pub(crate) struct Order {
    pub(crate) asks: Asks,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// The answer, or a sentence that says why not.
pub(crate) type Answer = Result<Value, String>;

/// What is asked.
#[derive(Debug)]
pub(crate) enum Asks {
    Status,
    Smart,
    Latency,
    Faults,
    /// Figures start anew.
    ClearLatency,
    Age(Age),
    Rest(Rest),
    Set(Set),
    Inject(Inject),
    /// This fault, or all.
    ClearFaults(Clear),
    PowerCut(PowerCut),
    PowerOn,
    Save,
    /// Save it in another process, while it is served.
    Checkpoint,
    Fork(Fork),
    /// End the server.
    Stop,
    /// Save the drive, and serve it no longer.
    Withdraw,
    /// Take a drive out of an array.
    TakeOut(Place),
    /// Put it back.
    PutBack(Place),
    /// Put a new drive in its place.
    Replace(Place),
    /// Compare all copies of an array, or its data and parities.
    Scrub,
    /// Events go there from now on.
    Listen(oneshot::Sender<broadcast::Receiver<Value>>),
}

/// A drive of an array.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) member: u32,
    /// Although it has the only copy of something.
    #[serde(default)]
    pub(crate) force: bool,
}

/// Ages the drive while clients wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Age {
    /// As of `wane drive age --until`.
    pub(crate) until: Option<Text<Target>>,
    /// Days that pass without writes.
    pub(crate) days: Option<f64>,
    /// The factor by which it is fast-forwarded.
    pub(crate) fast_forward: Option<f64>,
    /// Refused if it would take longer.
    #[serde(default = "Age::most")]
    pub(crate) most: Text<Nanos>,
}

impl Age {
    fn most() -> Text<Nanos> {
        Text(Nanos(60 * Nanos::SECOND.0))
    }
}

/// Lets time pass without requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rest {
    #[serde(rename = "for")]
    pub(crate) time: Text<Nanos>,
}

/// Settings; what is not given stays.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Set {
    pub(crate) speed: Option<Text<Speed>>,
    /// Erases, or an RBER below 1.
    pub(crate) retirement_threshold: Option<f64>,
    pub(crate) degraded: Option<bool>,
    /// Most re-reads of a read, or "none".
    pub(crate) read_recovery: Option<Value>,
    pub(crate) capacity: Option<Text<Bytes>>,
    /// Most bytes that may hold data at once.
    pub(crate) mapped_limit: Option<Text<Bytes>>,
}

/// A fault.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Inject {
    pub(crate) fault: FaultName,
    /// First byte, and how many; without them the whole drive.
    pub(crate) at: Option<Text<Bytes>>,
    pub(crate) length: Option<Text<Bytes>>,
    pub(crate) die: Option<u32>,
    /// The drive of an array whose data are lost.
    pub(crate) member: Option<u32>,
    /// Kinds of requests that meet it; without them all.
    #[serde(default)]
    pub(crate) kinds: Vec<KindName>,
    /// Requests that meet it before it ends; without it until it is cleared.
    pub(crate) count: Option<u64>,
    /// Share of requests that meet it, or of units that are lost.
    pub(crate) rate: Option<Text<Ratio>>,
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// Of a slow request.
    pub(crate) by: Option<Text<Nanos>>,
}

const fn one() -> u64 {
    1
}

/// Faults by their names.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultName {
    /// Data that cannot be read until they are written again.
    Lost,
    /// All data on a die.
    Die,
    /// Sectors that neither take data nor give them.
    Region,
    /// Requests that fail.
    Error,
    /// Requests that take longer.
    Slow,
    /// Requests that are never answered.
    Stuck,
}

/// Kinds of requests by their names.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KindName {
    Read,
    Write,
    WriteZeroes,
    Trim,
    Flush,
}

/// The kinds that are named; all if none is.
pub(crate) fn kinds(named: &[KindName]) -> Kinds {
    if named.is_empty() {
        return Kinds::ALL;
    }
    let mut kinds = [false; Kind::ALL.len()];
    for name in named {
        let kind = match name {
            KindName::Read => Kind::Read,
            KindName::Write => Kind::Write,
            KindName::WriteZeroes => Kind::WriteZeroes,
            KindName::Trim => Kind::Trim,
            KindName::Flush => Kind::Flush,
        };
        kinds[kind as usize] = true;
    }
    Kinds(kinds)
}

/// Which faults end.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clear {
    /// Its number; without it all.
    pub(crate) fault: Option<u64>,
}

/// Makes another drive of what this one is now.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    /// Its folder, which lies beside the drive's if the path is not absolute.
    pub(crate) name: std::path::PathBuf,
    /// Whether the server serves it too.
    #[serde(default)]
    pub(crate) serve: bool,
}

/// Takes the power away.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PowerCut {
    /// Whatever the flash is at work on is torn; otherwise the seed decides.
    #[serde(default)]
    pub(crate) torn: bool,
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// Drives of an array that are lost in the same instant.
    #[serde(default, rename = "take-out")]
    pub(crate) take_out: Vec<u32>,
}

/// A value that is written as its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Text).map_err(serde::de::Error::custom)
    }
}

impl Asks {
    /// What keeps the drive's thread busy, if it is anything that may take long.
    pub(crate) const fn doing(&self) -> Option<&'static str> {
        match self {
            Self::Age(_) => Some("age"),
            Self::Rest(_) => Some("rest"),
            Self::Replace(_) => Some("replace"),
            Self::Save => Some("save"),
            _ => None,
        }
    }

    /// What a name and a body ask for; `changes` says whether it was sent to change something.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and whether nothing has this name.
    pub(crate) fn of(name: &str, changes: bool, body: &[u8]) -> Result<Self, (bool, String)> {
        let wrong = |told: String| (false, told);
        let read = match (name, changes) {
            ("status", false) => return Ok(Self::Status),
            ("smart", false) => return Ok(Self::Smart),
            ("latency", false) => return Ok(Self::Latency),
            ("faults", false) => return Ok(Self::Faults),
            ("clear-latency", true) => return Ok(Self::ClearLatency),
            ("power-on", true) => return Ok(Self::PowerOn),
            ("save", true) => return Ok(Self::Save),
            ("checkpoint", true) => return Ok(Self::Checkpoint),
            ("fork", true) => parse(name, body).map(Self::Fork),
            ("stop", true) => return Ok(Self::Stop),
            ("withdraw", true) => return Ok(Self::Withdraw),
            ("age", true) => parse(name, body).map(Self::Age),
            ("rest", true) => parse(name, body).map(Self::Rest),
            ("set", true) => parse(name, body).map(Self::Set),
            ("inject", true) => parse(name, body).map(Self::Inject),
            ("clear-faults", true) => parse(name, body).map(Self::ClearFaults),
            ("power-cut", true) => parse(name, body).map(Self::PowerCut),
            ("take-out", true) => parse(name, body).map(Self::TakeOut),
            ("put-back", true) => parse(name, body).map(Self::PutBack),
            ("replace", true) => parse(name, body).map(Self::Replace),
            ("scrub", true) => return Ok(Self::Scrub),
            _ => {
                let (reads, changing) = (
                    "status, smart, latency, faults, events and drives",
                    "age, cancel, rest, set, inject, clear-faults, clear-latency, power-cut, power-on, take-out, put-back, replace, scrub, save, checkpoint, fork, withdraw, stop and drives",
                );
                let told = format!(
                    "{}: nothing is called so; GET answers for {reads}, POST for {changing}",
                    wane_units::excerpt(name)
                );
                return Err((true, told));
            }
        };
        read.map_err(wrong)
    }
}

fn parse<T: DeserializeOwned>(name: &str, body: &[u8]) -> Result<T, String> {
    let body: &[u8] = if body.trim_ascii().is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        let told = error.to_string();
        // Bodies are a line, mostly made from options: the place in it says nothing.
        let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told);
        format!("{name}: {told}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_orders_are_refused_by_name() {
        let told = |name: &str, body: &str| Asks::of(name, true, body.as_bytes()).unwrap_err();
        assert!(told("status", "").0, "it changes nothing, so it cannot be posted");
        for (name, body, wanted) in [
            ("age", "{\"until\": \"tomorrow\"}", "age: drive-writes=NUMBER"),
            ("age", "{\"unitl\": \"days=3\"}", "unknown field `unitl`, expected one of `until`"),
            ("rest", "", "missing field `for`"),
            ("rest", "{\"for\": \"5\"}", "rest: "),
            ("inject", "{\"fault\": \"fire\"}", "unknown variant `fire`, expected one of `lost`"),
            ("inject", "{\"fault\": \"slow\", \"kinds\": [\"x\"]}", "unknown variant `x`"),
            ("set", "[", "set: EOF"),
        ] {
            let (is_unknown, told) = told(name, body);
            assert!(!is_unknown && told.contains(wanted), "{told}");
        }
        assert!(matches!(Asks::of("power-cut", true, b" "), Ok(Asks::PowerCut(PowerCut { torn: false, seed: 1, .. }))));
    }
}
