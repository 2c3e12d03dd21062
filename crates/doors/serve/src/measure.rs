//! What requests took: as the drive modelled it, and how much later they were answered in truth.

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use wane_units::Nanos;

/// Significant digits of a histogram, and its longest time, an hour.
const DIGITS: u8 = 3;
const LONGEST_NS: u64 = 3600 * Nanos::SECOND.0;

/// A figure with a lag above this share of it is marked.
const LAG_SHARE: f64 = 0.1;

/// Kinds of requests that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    Read,
    Write,
    Flush,
    Trim,
}

impl Measured {
    pub(crate) const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Trim];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Trim => "trim",
        }
    }
}

/// Times of one kind of request.
struct Times {
    /// From its arrival to its completion, on the drive's clock.
    latency: Histogram<u64>,
    /// By how much it was answered later, on the real clock. Empty at full speed.
    lag: Histogram<u64>,
}

impl Times {
    fn new() -> Self {
        let histogram = || Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are fine");
        Self { latency: histogram(), lag: histogram() }
    }
}

/// Latencies and lags since they were last cleared.
pub(crate) struct Measures {
    times: [Times; Measured::ALL.len()],
}

impl Measures {
    pub(crate) fn new() -> Self {
        Self { times: Measured::ALL.map(|_| Times::new()) }
    }

    pub(crate) fn note(&mut self, kind: Measured, latency: Nanos, lag: Option<Nanos>) {
        let times = &mut self.times[kind as usize];
        times.latency.saturating_record(latency.0.max(1));
        if let Some(lag) = lag {
            times.lag.saturating_record(lag.0.max(1));
        }
    }

    /// Figures by kind, in microseconds. `speed`: how many nanoseconds of the drive pass in one of the real world.
    pub(crate) fn told(&self, speed: Option<f64>) -> Value {
        let mut kinds = serde_json::Map::new();
        for (kind, times) in Measured::ALL.iter().zip(&self.times).filter(|(_, times)| !times.latency.is_empty()) {
            let (latency, lag) = (figures(&times.latency), figures(&times.lag));
            let mut marked = Vec::new();
            for (name, of_latency) in &latency {
                let of_lag = lag.iter().find(|(other, _)| other == name).map_or(0.0, |(_, lag)| *lag);
                // A lag is real time, a latency the drive's.
                if speed.is_some_and(|speed| of_lag * speed > LAG_SHARE * of_latency) {
                    marked.push(*name);
                }
            }
            let object = |figures: Vec<(&'static str, f64)>| -> Value {
                figures
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), json!(value)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            };
            let mut told = json!({ "requests": times.latency.len(), "latency_us": object(latency) });
            if !times.lag.is_empty() {
                told["lag_us"] = object(lag);
                told["lag_above_a_tenth"] = json!(marked);
            }
            kinds.insert(kind.name().to_owned(), told);
        }
        kinds.into()
    }
}

fn figures(times: &Histogram<u64>) -> Vec<(&'static str, f64)> {
    let microseconds = |ns: f64| (ns / 1e3 * 1e3).round() / 1e3;
    let at = |quantile: f64| microseconds(times.value_at_quantile(quantile) as f64);
    vec![
        ("mean", microseconds(times.mean())),
        ("p50", at(0.5)),
        ("p95", at(0.95)),
        ("p99", at(0.99)),
        ("p99.9", at(0.999)),
        ("max", microseconds(times.max() as f64)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_with_too_much_lag_is_marked() {
        let mut measures = Measures::new();
        for number in 0..100 {
            let lag = if number < 98 { 1_000 } else { 50_000 };
            measures.note(Measured::Read, Nanos(100_000), Some(Nanos(lag)));
            measures.note(Measured::Write, Nanos(2_000), None);
        }
        let told = measures.told(Some(1.0));
        assert_eq!(told["read"]["requests"], 100);
        assert_eq!(told["read"]["lag_above_a_tenth"], json!(["p99", "p99.9", "max"]));
        assert!((told["read"]["latency_us"]["p50"].as_f64().unwrap() - 100.0).abs() < 0.2);
        assert_eq!((&told["write"]["lag_us"], &told["trim"]), (&Value::Null, &Value::Null));
        // At a tenth of the speed a lag is a tenth of the drive's time.
        assert_eq!(measures.told(Some(0.1))["read"]["lag_above_a_tenth"], json!([]));
    }
}
