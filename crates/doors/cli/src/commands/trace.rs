//! `wane trace`: info, convert, formats, synthesize.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use wane_report::{plain, traffic};
use wane_units::{Bytes, excerpt, excerpt_path};
use wane_workload::standin::{
    self, MIXTURES, STANDINS, Spread, StandinSource, TRAFFIC_STANDINS, Traffic, TrafficStandin,
};
use wane_workload::trace::{self, Assume, Converted, Format, Info, Options, Reader, TraceError};
use wane_workload::{Op, Request};

use super::life;
use crate::DONE;
use crate::args::{Reading, Target, TraceArguments, TraceCommand};
use crate::output::{Failure, Others, pretty, print, unknown, unwritable, write_file};

/// Page of a synthesized trace.
const PAGE: u64 = 4096;

pub(crate) fn trace(arguments: &TraceArguments) -> Result<i32, Failure> {
    match &arguments.command {
        TraceCommand::Info { file, capacity, json, reading } => info(file, capacity.as_deref(), *json, reading),
        TraceCommand::Convert { file, target, to, force, reading } => {
            let form = form(target, *to, Target::Compact)?;
            let reader = Reader::open(file, &options(reading)?).map_err(Failure::wrong)?;
            let converted = write(target, Others::of(*force), |out| trace::convert(reader, out, form))?;
            tell(target, converted)
        }
        TraceCommand::Formats => formats(),
        TraceCommand::Synthesize { standin, target, capacity, requests, seed, to, force } => {
            if standin == "list" {
                return list();
            }
            let requests =
                synthesize(standin, capacity, *seed)?.take(usize::try_from(*requests).unwrap_or(usize::MAX)).map(Ok);
            let form = form(target, *to, Target::Iolog)?;
            let converted = write(target, Others::of(*force), |out| trace::write_requests(requests, out, form))?;
            tell(target, converted)
        }
    }
}

fn formats() -> Result<i32, Failure> {
    let line = |format: &Format| format!("{:<16} {}\n", format.name(), format.summary());
    print(&Format::ALL.iter().map(line).collect::<String>())?;
    Ok(DONE)
}

/// Returns the form of a trace to write: that of `--to`, or that of the target's extension, or `otherwise` without an extension. `--to` and the
/// extension may not contradict each other, since readers of `x.iolog` expect an iolog.
fn form(target: &Path, to: Option<Target>, otherwise: Target) -> Result<trace::Target, Failure> {
    let extension = target.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let meant = match extension.to_ascii_lowercase().as_str() {
        "iolog" => Some(Target::Iolog),
        "wane" => Some(Target::Compact),
        _ => None,
    };
    if let (Some(meant), Some(to)) = (meant, to)
        && meant != to
    {
        let (meant, to) = (word(meant), word(to));
        return Err(Failure::wrong(format!(
            "{}: .{extension} means --to {meant}, found --to {to}: change one of them",
            excerpt_path(target)
        )));
    }
    if to.is_none() && meant.is_none() && !extension.is_empty() {
        let (name, extension) = (excerpt_path(target), excerpt(extension));
        return Err(Failure::wrong(format!(
            "{name}: .{extension} is no form of a trace: use .iolog or .wane, or give --to"
        )));
    }
    Ok(match to.or(meant).unwrap_or(otherwise) {
        Target::Iolog => trace::Target::FioIolog,
        Target::Compact => trace::Target::Compact,
    })
}

/// Returns the name of a form in `--to`.
const fn word(target: Target) -> &'static str {
    match target {
        Target::Iolog => "iolog",
        Target::Compact => "compact",
    }
}

fn write(
    target: &Path,
    others: Others,
    write: impl FnOnce(&mut dyn Write) -> Result<Converted, TraceError>,
) -> Result<Converted, Failure> {
    if target == Path::new("-") {
        return write(&mut std::io::stdout().lock()).map_err(|error| match error {
            TraceError::Unwritable(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            error => unwritten(Path::new("stdout"), error),
        });
    }
    write_file(target, others, |file| write(file).map_err(|error| unwritten(target, error)))
}

/// Says why a trace was not written. The sentence names the target, unless the trace that is read is at fault.
fn unwritten(target: &Path, error: TraceError) -> Failure {
    match error {
        TraceError::Unwritable(error) => unwritable(target, &error),
        error => Failure::wrong(error),
    }
}

fn tell(target: &Path, converted: Converted) -> Result<i32, Failure> {
    if target != Path::new("-") {
        print(&format!("{}: {} requests\n", target.display(), converted.requests))?;
    }
    Ok(DONE)
}

fn options(reading: &Reading) -> Result<Options, Failure> {
    let format = reading.format.as_ref().map(|name| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        name.parse::<Format>().map_err(|_| unknown("trace format", name, &known))
    });
    let assume = reading.assume.as_ref().map(|text| assume(text)).transpose()?.unwrap_or_default();
    Ok(Options { format: format.transpose()?, assume, skip_bad_lines: reading.skip_bad_lines })
}

fn assume(text: &str) -> Result<Assume, Failure> {
    let wrong = || {
        Failure::wrong(format!(
            "--assume {}: expected read or write and a block size, such as read,4KiB, or what a 1 stands for, such as 1=write",
            excerpt(text)
        ))
    };
    let op = |word: &str| match word {
        "read" => Ok(Op::Read),
        "write" => Ok(Op::Write),
        _ => Err(wrong()),
    };
    let (ones, others): (Vec<&str>, Vec<&str>) =
        text.split(',').map(str::trim).partition(|item| item.starts_with("1="));
    let mut assume = Assume::default();
    match ones[..] {
        [] => {}
        [one] => assume.one = Some(op(&one[2..])?),
        _ => return Err(wrong()),
    }
    match others[..] {
        [] => {}
        [direction, size] => {
            assume.op = op(direction)?;
            assume.block_bytes = size.parse::<Bytes>().ok().filter(|bytes| bytes.0 > 0).ok_or_else(wrong)?.0;
        }
        _ => return Err(wrong()),
    }
    Ok(assume)
}

fn info(file: &Path, capacity: Option<&str>, json: bool, reading: &Reading) -> Result<i32, Failure> {
    let drive = capacity.map(|text| {
        let bytes: Bytes = text.parse().map_err(|error| Failure::wrong(format!("--capacity: {error}")))?;
        let least = Bytes(PAGE);
        if bytes < least {
            return Err(Failure::wrong(format!("--capacity {}: at least {least} are allowed", excerpt(text))));
        }
        Ok(bytes)
    });
    let drive = drive.transpose()?;
    let reader = Reader::open(file, &options(reading)?).map_err(Failure::wrong)?;
    let info = trace::info(reader).map_err(Failure::wrong)?;
    let info = OnDrive { drive_writes_per_day: drive.and_then(|drive| writes_per_day(&info, drive)), info };
    print(&if json { pretty(&info)? } else { words(&info, drive) })?;
    Ok(DONE)
}

/// The figures of a trace, and its drive writes a day on a drive.
#[derive(serde::Serialize)]
struct OnDrive {
    #[serde(flatten)]
    info: Info,
    /// Drive writes a day; absent without a drive, or if the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none")]
    drive_writes_per_day: Option<f64>,
}

fn writes_per_day(info: &Info, Bytes(drive): Bytes) -> Option<f64> {
    info.figures.bytes_written_per_day.map(|bytes| bytes / drive as f64)
}

/// Says how long the trace is, and how fast it writes.
fn pace(info: &OnDrive, drive: Option<Bytes>) -> [(&'static str, String); 2] {
    let figures = &info.info.figures;
    let Some((duration, bytes)) = figures.duration_ns.zip(figures.bytes_written_per_day) else {
        let why = "none: the trace has no times".to_owned();
        return [("duration", why.clone()), ("written a day", why)];
    };
    let days = duration as f64 / wane_units::Nanos::DAY.0 as f64;
    let on_drive = info.drive_writes_per_day.zip(drive).map(|(writes, drive)| {
        format!("; {} drive writes a day of a drive of {}", life::number(writes), plain(&traffic(drive.0 as f64)))
    });
    let a_day = plain(&traffic(bytes)) + &on_drive.unwrap_or_default();
    [("duration", life::time(days)), ("written a day", a_day)]
}

fn words(info: &OnDrive, drive: Option<Bytes>) -> String {
    let timing = pace(info, drive);
    let info = &info.info;
    let figures = &info.figures;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<14} {value}");
    };
    let percent =
        |share: Option<f64>| share.map_or_else(|| "none".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    line("format", info.format.clone());
    line(
        "requests",
        format!(
            "{}: {} reads, {} writes, {} trims; {} flushes",
            figures.requests, figures.reads, figures.writes, figures.trims, figures.flushes
        ),
    );
    line("read", Bytes(figures.bytes_read).to_string());
    line("written", Bytes(figures.bytes_written).to_string());
    line(
        "footprint",
        format!("{}, {} of it written", Bytes(figures.footprint_bytes), Bytes(figures.footprint_written_bytes)),
    );
    line(
        "request mean",
        figures.request_bytes_mean.map_or_else(|| "none".to_owned(), |bytes| format!("{:.2} KiB", bytes / 1024.0)),
    );
    let hotness = |hot: &trace::Hotness| {
        format!("{:.1} % of the accesses go to {:.1} % of the pages", 100.0 * hot.r, 100.0 * hot.h)
    };
    line("hotness", figures.hotness.as_ref().map_or_else(|| "none".to_owned(), hotness));
    line("sequential", percent(figures.sequential_share));
    let one_way = |way: &trace::OneWay| {
        let skew =
            way.hotness.map_or_else(String::new, |hot| format!(", r/h {:.2}/{:.2}", 100.0 * hot.r, 100.0 * hot.h));
        format!(
            "{} of pages, {:.2} KiB each, {:.1} % sequential{skew}, {:.1} % of the accesses to a fifth of the pages",
            Bytes(way.footprint_bytes),
            way.request_bytes_mean / 1024.0,
            100.0 * way.sequential_share,
            100.0 * way.top_fifth_share
        )
    };
    for (name, way) in [("reads alone", figures.of_reads), ("writes alone", figures.of_writes)] {
        line(name, way.as_ref().map_or_else(|| "none".to_owned(), one_way));
    }
    line(
        "interarrival",
        figures.interarrival_ns_mean.map_or_else(|| "none".to_owned(), |nanos| format!("{:.3} ms", nanos / 1e6)),
    );
    for (name, told) in timing {
        line(name, told);
    }
    info.notes.iter().for_each(|note| line("note", note.clone()));
    text
}

fn list() -> Result<i32, Failure> {
    let line = |standin: &standin::Standin| {
        let spread = match standin.spread {
            Spread::Mixture => "hot and cold part".to_owned(),
            Spread::Looped { writes_per_page } => format!("loop of {writes_per_page:.2} writes a page"),
        };
        format!(
            "{:<14} {:>7.2} GiB of 256 written, {:>6.2} KiB a write, r {:.4}, {:>2.0} % sequential, {spread}\n",
            standin.name,
            standin.footprint_gib,
            standin.write_kib,
            standin.r,
            100.0 * standin.sequential_share
        )
    };
    let with_reads = |standin: &TrafficStandin| {
        let part = |traffic: &Traffic| {
            format!(
                "{:>6.1} GiB over {:>5.1} of 200, {:>2.0} % of it to a fifth",
                traffic.accessed_gib,
                traffic.footprint_gib,
                100.0 * traffic.hotness
            )
        };
        format!("{:<16} writes {}; reads {}\n", standin.name, part(&standin.write), part(&standin.read))
    };
    let lines = STANDINS.iter().chain(&MIXTURES).map(line).chain(TRAFFIC_STANDINS.iter().map(with_reads));
    print(&lines.collect::<String>())?;
    Ok(DONE)
}

fn synthesize(name: &str, capacity: &str, seed: u64) -> Result<Box<dyn Iterator<Item = Request>>, Failure> {
    if standin::names().all(|known| known != name) {
        return Err(unknown("stand-in", name, &standin::names().collect::<Vec<_>>()));
    }
    let bytes: Bytes = capacity.parse().map_err(|error| Failure::wrong(format!("--capacity: {error}")))?;
    let pages = u32::try_from(bytes.0 / PAGE).ok().filter(|pages| *pages >= 256);
    let pages = pages.ok_or_else(|| {
        Failure::wrong(format!("--capacity {}: from 1 MiB to less than 16 TiB is allowed", excerpt(capacity)))
    })?;
    // As a run of the stand-in draws them.
    let (streams, stream) = (wane_sim::Streams::new(seed), "workload.0");
    if let Some(traffic) = standin::find_traffic(name) {
        let streams = standin::traffic_streams(streams, stream);
        return Ok(Box::new(standin::traffic_requests(traffic, pages, PAGE, streams)));
    }
    let standin = standin::find(name).expect("its name is known");
    Ok(Box::new(StandinSource::new(standin, pages, PAGE, streams.stream(stream))))
}
