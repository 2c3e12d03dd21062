//! Makes sources of workloads: patterns, stand-ins, traces, their mixtures, and key-value stores.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_scenario::{Device, Pattern, StandinSpec, TraceSpec, Workload};
use wane_sim::Streams;
use wane_workload::lsm::LsmSource;
use wane_workload::pattern::{PatternConfig, PatternSource, Shape};
use wane_workload::standin::{self, StandinSource};
use wane_workload::trace::{Assume, Options, Reader, Replay, TraceError, TraceSource, pace};
use wane_workload::{Batch, Drawn, Mix, Op, Pace, Source, SourceError};

use crate::build::PlanError;

/// Makes sources. A trace that is decoded whole is decoded once for all of them.
pub(crate) struct Opener {
    device: Device,
    pub(crate) streams: Streams,
    stop: Arc<AtomicBool>,
    /// Traces that are decoded whole, each with a source at its start.
    decoded: Vec<(TraceSpec, TraceSource)>,
}

impl Opener {
    /// Makes an opener for the sources of a drive. Once `stop` is true, traces are not read further.
    pub(crate) fn new(device: Device, streams: Streams, stop: Arc<AtomicBool>) -> Self {
        Self { device, streams, stop, decoded: Vec::new() }
    }

    /// Another opener that shares the decoded traces.
    pub(crate) fn another(&self) -> Self {
        let (device, streams, stop) = (self.device, self.streams, Arc::clone(&self.stop));
        let decoded = self.decoded.iter().filter_map(|(spec, source)| Some((spec.clone(), source.restarted()?)));
        Self { device, streams, stop, decoded: decoded.collect() }
    }

    /// Makes the source of a workload on what is left of its device, `units` units.
    pub(crate) fn source_on_the_rest(
        &mut self,
        workload: &Workload,
        units: u32,
        name: &str,
    ) -> Result<Box<dyn Source>, PlanError> {
        if units == self.device.logical_units {
            return self.source(workload, name);
        }
        let rest = workload.on_the_rest(&self.device, units)?;
        let device = Device { logical_units: units, ..self.device };
        Self::new(device, self.streams, Arc::clone(&self.stop)).source(&rest, name)
    }

    /// Makes the source of a workload. The names of its random streams begin with `name`.
    pub(crate) fn source(&mut self, workload: &Workload, name: &str) -> Result<Box<dyn Source>, PlanError> {
        let stream = self.streams.stream(name);
        Ok(match workload {
            Workload::Pattern(spec) => Box::new(PatternSource::new(
                PatternConfig {
                    shape: shape(&spec.pattern, spec.footprint_units),
                    footprint_pages: spec.footprint_units,
                    request_pages: spec.request_units,
                    read_share: spec.read_share.get(),
                    trim_share: spec.trim_share.get(),
                },
                stream,
            )),
            Workload::Standin(standin) => standin_source(standin, &self.device, self.streams, name),
            Workload::Trace(spec) => match self.trace(spec) {
                Err(PlanError::Trace(TraceError::Interrupted { .. })) => Box::new(Nothing),
                source => Box::new(source?),
            },
            Workload::Lsm(spec) => {
                let config = spec.config(self.device.logical_units, self.device.unit);
                config.check().map_err(|error| PlanError::Store(error.to_string()))?;
                Box::new(LsmSource::new(config, stream))
            }
            Workload::Mix(parts) => {
                let mut built = Vec::new();
                for (number, (share, part)) in parts.iter().enumerate() {
                    built.push((share.get(), self.source(part, &format!("{name}.{number}"))?));
                }
                Box::new(Mix::new(built, stream))
            }
        })
    }

    /// The pace at which a trace writes on this drive, by its own times. A trace that is not decoded is read once for it.
    pub(crate) fn pace(&mut self, spec: &TraceSpec) -> Result<Option<Pace>, PlanError> {
        if spec.looped || spec.compact {
            return Ok(self.trace(spec)?.pace());
        }
        if !spec.path.is_file() {
            return Ok(None);
        }
        let reader = Reader::open_stopped_by(&spec.path, &trace_options(spec), Arc::clone(&self.stop))?;
        Ok(pace(reader, replay(spec, &self.device))?)
    }

    fn trace(&mut self, spec: &TraceSpec) -> Result<TraceSource, PlanError> {
        let decoded = self.decoded.iter().find(|(known, _)| known == spec);
        if let Some(source) = decoded.and_then(|(_, decoded)| decoded.restarted()) {
            return Ok(source);
        }
        let reader = Reader::open_stopped_by(&spec.path, &trace_options(spec), Arc::clone(&self.stop))?;
        let replay = replay(spec, &self.device);
        let source = TraceSource::new(reader, replay)?;
        if let Some(another) = source.restarted() {
            self.decoded.push((spec.clone(), another));
        }
        Ok(source)
    }
}

/// How a trace is replayed on a drive.
fn replay(spec: &TraceSpec, device: &Device) -> Replay {
    Replay {
        page_bytes: device.unit.0,
        logical_pages: device.logical_units,
        compact: spec.compact,
        looped: spec.looped,
        sample: spec.sample,
    }
}

/// Makes sources of one workload, each with the same requests.
pub struct SourceMaker {
    opener: Opener,
    workload: Workload,
    name: &'static str,
    /// The first source, made in advance so that its errors are reported before the run.
    first: Option<Box<dyn Source>>,
}

impl SourceMaker {
    /// Makes a maker of sources. The names of their random streams begin with `name`.
    pub(crate) fn new(opener: &mut Opener, workload: &Workload, name: &'static str) -> Result<Self, PlanError> {
        let first = Some(opener.source(workload, name)?);
        Ok(Self { opener: opener.another(), workload: workload.clone(), name, first })
    }

    /// The next source.
    ///
    /// # Errors
    /// Its trace can no longer be read.
    pub(crate) fn make(&mut self) -> Result<Box<dyn Source>, SourceError> {
        match self.first.take() {
            Some(source) => Ok(source),
            None => {
                let made = self.opener.source(&self.workload, self.name);
                made.map_err(|error| SourceError::new(error.to_string()))
            }
        }
    }

    /// Another maker of the same sources.
    pub(crate) fn another(&self) -> Self {
        Self { opener: self.opener.another(), workload: self.workload.clone(), name: self.name, first: None }
    }
}

/// A source in place of a trace whose reading was interrupted. The run ends before it needs requests.
struct Nothing;

impl Source for Nothing {
    fn next(&mut self, batch: &mut Batch, _pages_max: usize, _requests_max: u64) -> Result<Drawn, SourceError> {
        batch.clear();
        batch.requests = 0;
        Ok(Drawn::End)
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(Self))
    }
}

fn shape(pattern: &Pattern, footprint: u32) -> Shape {
    match *pattern {
        Pattern::Uniform => Shape::Uniform,
        Pattern::HotCold { r, h } => Shape::HotCold { r: r.get(), hot_pages: h.floor_of(u64::from(footprint)) as u32 },
        Pattern::Zipf { exponent, scramble } => Shape::Zipf { exponent, scramble },
        Pattern::ZipfTable { exponent, scramble } => Shape::ZipfTable { exponent, scramble },
        Pattern::Sequential => Shape::Sequential,
        Pattern::Hybrid { sequential_share } => Shape::Hybrid { sequential_share: sequential_share.get() },
        Pattern::Jesd219 => Shape::Jesd219,
    }
}

fn standin_source(spec: &StandinSpec, device: &Device, streams: Streams, name: &str) -> Box<dyn Source> {
    let (logical, unit) = (device.logical_units, device.unit.0);
    if let Some(traffic) = standin::find_traffic(&spec.name) {
        let streams = standin::traffic_streams(streams, name);
        return Box::new(standin::traffic_source(traffic, logical, unit, streams));
    }
    let standin = standin::find(&spec.name).expect("resolved scenarios name known stand-ins");
    Box::new(StandinSource::laid_out(standin, spec.layout, logical, unit, streams.stream(name)))
}

/// How a scenario's trace is read.
pub fn trace_options(spec: &TraceSpec) -> Options {
    let op = |reads| if reads { Op::Read } else { Op::Write };
    Options {
        format: spec.format.as_deref().and_then(|format| format.parse().ok()),
        assume: Assume {
            op: op(spec.assume_read),
            block_bytes: spec.assume_block.0,
            one: spec.assume_one_reads.map(op),
        },
        skip_bad_lines: spec.skip_bad_lines,
    }
}
