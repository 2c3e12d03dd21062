//! A saved source continues at its place.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use wane_archive::{Archive, ArchiveError, Reader, Writer};
use wane_sim::{Stream, Streams};
use wane_workload::lsm::{Discard, Files, Load, Log, LsmConfig, LsmSource, Operations};
use wane_workload::pattern::{PatternConfig, PatternSource, Shape};
use wane_workload::standin::{self, StandinSource};
use wane_workload::trace::{Options, Reader as TraceReader, Replay, TraceSource};
use wane_workload::{Batch, Drawn, Milestone, Mix, Source};

const UNITS: u32 = 1 << 16;

type Make = Box<dyn Fn() -> Box<dyn Source>>;

fn stream(name: &str) -> Stream {
    Streams::new(3).stream(name)
}

fn pattern(shape: Shape, request_pages: u32, read_share: f64) -> Box<dyn Source> {
    let config =
        PatternConfig { shape, footprint_pages: 5000, request_pages, read_share, trim_share: read_share / 4.0 };
    Box::new(PatternSource::new(config, stream("pattern")))
}

fn trace(requests: u32, looped: bool, compact: bool) -> Box<dyn Source> {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("wane-kept-{}-{requests}-{looped}-{compact}.iolog", std::process::id()));
    let mut text = String::from("fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n");
    let mut draws = stream("trace");
    for at in 0..requests {
        let op = ["read", "write", "write", "trim"][draws.below(4) as usize];
        text.push_str(&format!("{at} /dev/a {op} {} {}\n", draws.below(9000) * 4096, 4096 * (1 + draws.below(9))));
    }
    std::fs::write(&path, text).unwrap();
    let reader = TraceReader::open(&path, &Options::default()).unwrap();
    let replay = Replay { page_bytes: 4096, logical_pages: UNITS, compact, looped, sample: 1 };
    let source = TraceSource::new(reader, replay).unwrap();
    std::fs::remove_file(&path).unwrap();
    Box::new(source)
}

fn store_config(operations: Operations) -> LsmConfig {
    LsmConfig {
        units: 8192,
        unit_bytes: 4096,
        data_bytes: 16 << 20,
        record_bytes: 512,
        memtable_bytes: 128 << 10,
        table_bytes: 128 << 10,
        level_base_bytes: 512 << 10,
        fan_out: 10,
        level0_tables: 4,
        block_bytes: 4096,
        false_positive: 0.01,
        cache_hits: 0.0,
        clients: 3,
        log: Log::Buffered,
        files: Files::Around,
        discard: Discard::Now,
        load: Load::Assumed,
        operations,
    }
}

fn makers() -> Vec<(&'static str, Make)> {
    let shapes = [
        Shape::Uniform,
        Shape::HotCold { r: 0.9, hot_pages: 100 },
        Shape::Zipf { exponent: 0.9, scramble: true },
        Shape::Sequential,
        Shape::Hybrid { sequential_share: 0.4 },
        Shape::Jesd219,
    ];
    let mut makers: Vec<(&'static str, Make)> = Vec::new();
    for shape in shapes {
        makers.push(("pattern", Box::new(move || pattern(shape, 1, 0.0))));
        makers.push(("requests", Box::new(move || pattern(shape, 5, 0.3))));
    }
    let mix = || -> Box<dyn Source> {
        let parts = vec![(0.3, pattern(Shape::Sequential, 3, 0.0)), (0.7, pattern(Shape::Uniform, 1, 0.5))];
        Box::new(Mix::new(parts, stream("mix")))
    };
    makers.push(("mix", Box::new(mix)));
    for name in ["lm-tbe", "dap-ps"] {
        let standin = standin::find(name).unwrap();
        makers.push((
            "stand-in",
            Box::new(move || Box::new(StandinSource::new(standin, UNITS, 4096, stream("standin")))),
        ));
    }
    for (looped, compact) in [(false, false), (true, false), (true, true)] {
        makers.push(("trace", Box::new(move || trace(3000, looped, compact))));
    }
    let store = || -> Box<dyn Source> {
        let operations = Operations::ycsb("ycsb-a").unwrap();
        Box::new(LsmSource::new(store_config(operations), stream("lsm")))
    };
    makers.push(("store", Box::new(store)));
    makers
}

/// All of a batch.
type Told = (u8, Vec<u32>, u64, Vec<u32>, u64, u64, Vec<Milestone>);

/// What comes next: of some batches everything that they say.
fn drawn(source: &mut dyn Source, sizes: &mut Stream, batches: u32) -> Vec<Told> {
    let mut drawn = Vec::new();
    let mut batch = Batch::default();
    for _ in 0..batches {
        let (pages, requests) = (1 + sizes.below(40) as usize, 1 + sizes.below(12));
        if source.next(&mut batch, pages, requests).unwrap() == Drawn::End {
            break;
        }
        let Batch { op, pages, parts: _, requests, ends, at, after, milestones } = batch.clone();
        drawn.push((op as u8, pages, requests, ends, at, after, milestones));
    }
    drawn
}

fn saved(source: &mut dyn Source) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    source.archive(&mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn sources_go_on_where_they_stood() {
    for (name, make) in makers() {
        let mut source = make();
        let mut sizes = stream("sizes");
        for batches in [0, 1, 300, 900] {
            drawn(source.as_mut(), &mut sizes, batches);
            let bytes = saved(source.as_mut());
            let mut again = make();
            let mut reader = Reader::new(bytes.as_slice()).unwrap();
            again.archive(&mut reader as &mut dyn Archive).unwrap();
            reader.finish().unwrap();
            let (mut ahead, mut ahead_again) = (source.try_clone().unwrap_or_else(|_| make()), sizes.clone());
            if source.try_clone().is_err() {
                // A source that can be read only once is compared by its state.
                assert_eq!(saved(again.as_mut()), bytes, "{name} after {batches}");
                continue;
            }
            let expected = drawn(ahead.as_mut(), &mut sizes.clone(), 500);
            assert_eq!(drawn(again.as_mut(), &mut ahead_again, 500), expected, "{name} after {batches}");
            assert_eq!(saved(again.as_mut()), saved(ahead.as_mut()), "{name} after {batches}");
        }
    }
}

#[test]
fn a_trace_that_became_shorter_is_refused() {
    let mut long = trace(3000, true, false);
    drawn(long.as_mut(), &mut stream("sizes"), 700);
    let bytes = saved(long.as_mut());
    let mut short = trace(20, true, false);
    let taken = short.archive(&mut Reader::new(bytes.as_slice()).unwrap());
    assert!(matches!(taken, Err(ArchiveError::Unsaved(_))), "{taken:?}");
}
