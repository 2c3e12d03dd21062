mod losses;
mod numbers;
mod recorded;
mod zones;

use super::*;
use std::io::{Cursor, Write};

/// A small sample of each text format, in any order: the two requests of [`wanted`], a read of 8 sectors at sector 100 and,
/// half a second later, a write of 16 sectors at sector 200.
const SAMPLES: &[(Format, &str)] = &[
    (Format::FioIolog2, "fio version 2 iolog\nf add\nf open\nf read 51200 4096\nf write 102400 8192\nf close\n"),
    (
        Format::FioIolog3,
        "fio version 3 iolog\n0 f add\n0 f open\n10000 f read 51200 4096\n510000 f write 102400 8192\n",
    ),
    (
        Format::Blkparse,
        "  8,0    1        1     0.000000000   123  Q   R 100 + 8 [cat]\n  8,0    1        2     0.000000001   123  D   R 100 + 8 \
         [cat]\n  8,0    1        3     0.500000001   123  D  WS 200 + 16 [cat]\n  8,0    1        4     0.6   123  C  WS 200 + 16 \
         [0]\nCPU0 (8,0):\n Reads Queued:           1,        4KiB\n",
    ),
    (
        Format::Ftrace,
        "# tracer: nop\n cat-123 [001] .... 12.000001: block_bio_queue: 8,0 R 100 + 8 [cat]\n cat-123 [001] .... 12.000002: block_rq_issue: 8,0 R 4096 \
         () 100 + 8 be,0,4 [cat]\n kworker/1:1H-9 [001] d..1 12.500002: block_rq_issue: 8,0 WS 8192 () 200 + 16 [kworker/1:1H]\n",
    ),
    (
        Format::Biosnoop,
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n0.000000    cat            123     sda       R 100        4096      \
         0.25\n0.500000    a b            124     sda       W 200        8192      0.50\n",
    ),
    (
        Format::Etw,
        "BeginHeader\n  DiskRead,  TimeStamp,  Process Name ( PID),  ThreadID,  IrpPtr,  ByteOffset,  IOSize,  ElapsedTime,  DiskNum\nEndHeader\nOS \
         Version: 6.0\n  DiskRead,  1000, cat.exe (12),  7, 0xfffffa80, 0x0000c800, 0x00001000,  9,  0, 0x060043\n  DiskWrite,  501000, cat.exe (12),  \
         7, 0xfffffa80, 0x00019000, 0x00002000,  9,  0, 0x060043\n",
    ),
    (Format::Disksim, "1.5 0 100 8 1\n501.500000 0 200 16 0\n"),
    (
        Format::Systor,
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.0008,R,4,51200,4096\n1456135200.513118000,0.001,W,4,102400,8192\n",
    ),
    (Format::Mqsim, "1000 0 100 8 1\n500001000 0 200 16 0\n"),
    (Format::CloudphysicsCsv, "version,time,op,size,lbn\n1,10,28,4096,100\n1,10.5,2a,8192,200\n"),
    (Format::Fiu, "1000 12 cat 100 8 R 6 0 0123abcd\n500001000 12 cat 200 16 W 6 0 0123abcd\n"),
    (Format::Msr, "128166372003061629,usr,0,Read,51200,4096,100\n128166372008061629,usr,0,Write,102400,8192,100\n"),
    (Format::Spc, "0,100,4096,R,0.25\n0,200,8192,w,0.75\n"),
    (Format::Alibaba, "3,R,51200,4096,1577808000000000\n3,W,102400,8192,1577808000500000\n"),
    (Format::Tencent, "1538323200,100,8,0,1283\n1538323200.5,200,16,1,1283\n"),
    (Format::Lis, "100 8 0 1\n200 16 0 2\n"),
    (Format::Ssdsim, "1000 0 100 8 1\n500001000 0 200 16 0\n"),
];

/// The sample of a text format.
fn sample(format: Format) -> &'static str {
    let found = SAMPLES.iter().find(|(of, _)| *of == format);
    found.unwrap_or_else(|| panic!("{format} has no sample in SAMPLES")).1
}

fn reader(bytes: &[u8], options: &Options) -> Result<Reader, TraceError> {
    Reader::from_read("sample", Box::new(Cursor::new(bytes.to_vec())), options)
}

fn requests(bytes: &[u8]) -> Vec<Request> {
    reader(bytes, &Options::default()).unwrap().collect::<Result<_, _>>().unwrap()
}

fn wanted() -> [Request; 2] {
    [
        Request { at: 0, op: Op::Read, offset: 51_200, length: 4096 },
        Request { at: 500_000_000, op: Op::Write, offset: 102_400, length: 8192 },
    ]
}

use crate::{Batch, Request, Source};

#[test]
fn every_text_format_is_found_and_read() {
    for &(format, text) in SAMPLES {
        let mut reader =
            reader(text.as_bytes(), &Options::default()).unwrap_or_else(|error| panic!("{format}: {error}"));
        let found = if format == Format::Ssdsim { Format::Mqsim } else { format };
        assert_eq!(reader.format(), found, "{text}");
        let read: Vec<Request> =
            (&mut reader).collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{format}: {error}"));
        let mut wanted = wanted();
        if reader.is_timeless() {
            wanted[1].at = 0;
        }
        if format == Format::Lis {
            wanted[0].op = Op::Write;
        }
        assert_eq!(read, wanted, "{format}");
        let has_events = matches!(format, Format::Blkparse | Format::Ftrace | Format::Biosnoop);
        let has_notes = has_events || format.one().is_some() || format == Format::Lis;
        assert_eq!(reader.notes().is_empty(), !has_notes, "{format}: {:?}", reader.notes());
    }
}

#[test]
fn every_format_has_a_sample() {
    for format in Format::ALL {
        assert!(format.is_binary() || sample(*format).lines().count() >= 2, "{format}");
        assert_eq!(format.name().parse::<Format>().unwrap(), *format, "each name is one format's");
    }
}

fn vscsi_sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (serial, length, opcode, sector, micros) in
        [(1u32, 4096u32, 0x28u16, 100u64, 7u64), (2, 8192, 0x2a, 200, 500_007)]
    {
        bytes.extend(serial.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(opcode.to_le_bytes());
        bytes.extend(2u16.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(micros.to_le_bytes());
    }
    bytes
}

fn blktrace_sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    // (action, category, time, sector, bytes, payload)
    let events = [
        (1u32, 1u32, 5u64, 100u64, 4096u32, 0u16),
        // Its payload names a control group.
        (7 | 1 << 8, 1, 7, 100, 4096, 3),
        // A command that is passed through.
        (7, 1 | 1 << 9, 8, 0, 36, 0),
        (7, 2, 500_000_007, 200, 8192, 0),
        (8, 2, 600_000_000, 200, 8192, 0),
    ];
    for (action, category, time, sector, length, payload) in events {
        bytes.extend(0x6561_7407u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend((action | category << 16).to_le_bytes());
        bytes.extend([0; 14]);
        bytes.extend(payload.to_le_bytes());
        bytes.extend(vec![9; usize::from(payload)]);
    }
    bytes
}

#[test]
fn binary_formats_are_found_and_read() {
    for (format, bytes) in [(Format::Vscsi, vscsi_sample()), (Format::Blktrace, blktrace_sample())] {
        assert_eq!(reader(&bytes, &Options::default()).unwrap().format(), format);
        assert_eq!(requests(&bytes), wanted(), "{format}");
        let cut = &bytes[..bytes.len() - 5];
        let error = reader(cut, &Options::default()).unwrap().find_map(Result::err).unwrap();
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}

#[test]
fn compression_is_found() {
    let text = sample(Format::Mqsim).as_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip.write_all(text).unwrap();
    let packed = [gzip.finish().unwrap(), bzip.finish().unwrap(), zstd::encode_all(text, 1).unwrap()];
    for bytes in packed {
        assert_eq!(requests(&bytes), wanted());
        let cut = reader(&bytes[..bytes.len() / 2], &Options::default());
        assert!(cut.is_err() || cut.unwrap().any(|request| request.is_err()), "a cut file is noticed");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let table: [(&[u8], &str); 8] = [
        (b"", "it is empty"),
        (b"hello\nworld\n", "fits no known trace format"),
        (b"1 0 100 8 1\n2 0 200 16 0\n3 0 x 8 1\n", "line 3: found '3 0 x 8 1', expected NANOSECONDS"),
        (
            b"1 0 100 8 1\n2 0 36028797018963968 8 0\n",
            "line 2: found '2 0 36028797018963968 8 0', expected at most 4 GiB",
        ),
        (b"1 0 100 8 1\n2 0 100 8388609 0\n", "line 2: found '2 0 100 8388609 0', expected at most 4 GiB"),
        (b"1 0 100 8 2\n", "fits no known trace format"),
        (b"fio version 3 iolog\n0 f write x 2\n", "line 2: found '0 f write x 2'"),
        (b"WANETRC1\x00", "record 1: it is cut off"),
    ];
    for (bytes, want) in table {
        let mut error = reader(bytes, &Options::default()).err();
        if error.is_none() {
            // A line that is bad within the head is no reason to doubt a format that is given.
            error = reader(bytes, &Options::default()).unwrap().find_map(Result::err);
        }
        let format = if bytes.starts_with(b"1 0") && want.contains("line") { Some(Format::Mqsim) } else { None };
        if format.is_some() {
            error = reader(bytes, &Options { format, ..Options::default() }).unwrap().find_map(Result::err);
        }
        let error = error.expect("an error").to_string();
        assert!(error.contains(want), "said: {error}\nwant: {want}");
    }
}

#[test]
fn bad_lines_are_skipped_and_counted_when_asked() {
    let options = Options { format: Some(Format::Mqsim), skip_bad_lines: true, ..Options::default() };
    let mut reader = reader(b"1 0 100 8 1\nx\n2 0 1 0 0\n1 0 9 8 0\n", &options).unwrap();
    assert_eq!((&mut reader).filter(Result::is_ok).count(), 2);
    let notes = reader.notes().join("; ");
    for note in ["1 lines that do not parse", "1 requests of no length", "1 timestamps jump"] {
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn assumptions_change_what_is_read() {
    let assume = Assume { op: Op::Read, block_bytes: 4096, ..Assume::default() };
    let options = Options { assume, ..Options::default() };
    let first = reader(sample(Format::Lis).as_bytes(), &options).unwrap().next().unwrap().unwrap();
    assert_eq!((first.op, first.offset, first.length), (Op::Read, 409_600, 32_768));
}

#[test]
fn written_traces_read_back() {
    let mut all = wanted().to_vec();
    all.push(Request { at: 700_000_000, op: Op::Trim, offset: 0, length: 512 });
    all.push(Request { at: 800_000_000, op: Op::Flush, offset: 0, length: 0 });
    for (target, format) in [(Target::FioIolog, Format::FioIolog3), (Target::Compact, Format::Compact)] {
        let mut bytes = Vec::new();
        let converted = write_requests(all.iter().copied().map(Ok), &mut bytes, target).unwrap();
        assert_eq!(converted.requests, 4);
        assert_eq!(reader(&bytes, &Options::default()).unwrap().format(), format);
        assert_eq!(requests(&bytes), all);
    }
    let untimed: Vec<Request> = all.iter().map(|request| Request { at: 0, ..*request }).collect();
    let mut bytes = Vec::new();
    write_requests(untimed.iter().copied().map(Ok), &mut bytes, Target::FioIolog).unwrap();
    assert_eq!(requests(&bytes), untimed);
}

#[test]
fn a_damaged_compact_trace_is_noticed() {
    let mut bytes = Vec::new();
    write_requests(wanted().into_iter().map(Ok), &mut bytes, Target::Compact).unwrap();
    for at in 8..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(read_all(&damaged, Some(Format::Compact)).is_err(), "byte {at}");
    }
}

#[test]
fn figures_follow_their_definitions() {
    let write = |page: u64, pages: u64| Request { at: 0, op: Op::Write, offset: page * 4096, length: pages * 4096 };
    let mut measure = Measure::default();
    // Page 0 four times, pages 1, 2, 3 and 10 once: the top 2 of 5 pages get 5 of 8, the top 40 % less than 60 %.
    for request in [write(0, 1), write(0, 1), write(0, 1), write(0, 4), write(10, 1)] {
        measure.push(&request);
    }
    measure.push(&Request { at: 900, op: Op::Read, offset: 100, length: 100 });
    let figures = measure.finish();
    assert_eq!((figures.requests, figures.writes, figures.bytes_written), (6, 5, 8 * 4096));
    assert_eq!((figures.footprint_bytes, figures.footprint_written_bytes), (5 * 4096, 5 * 4096));
    assert_eq!(figures.hotness, Some(Hotness { r: 0.625, h: 0.4 }));
    assert_eq!(figures.sequential_share, Some(0.0));
    assert_eq!(figures.interarrival_ns_mean, Some(180.0));
    // Of five pages the hottest one takes 4 of 8 writes; the only page that is read is one of them, and a fifth of it takes a fifth.
    let one_way =
        |way: Option<OneWay>| way.map(|way| (way.footprint_bytes, way.request_bytes_mean, way.top_fifth_share));
    assert_eq!(one_way(figures.of_writes), Some((5 * 4096, 1.6 * 4096.0, 0.5)));
    assert_eq!(one_way(figures.of_reads), Some((4096, 100.0, 0.2)));
    assert_eq!(figures.of_writes.and_then(|way| way.hotness), figures.hotness);
    measure.push(&write(11, 1));
    let figures = measure.finish();
    assert_eq!(figures.sequential_share, Some(1.0 / 7.0));
    assert_eq!(
        [figures.of_reads, figures.of_writes].map(|way| way.map(|way| way.sequential_share)),
        [Some(0.0), Some(1.0 / 6.0)]
    );
}

fn source(text: &str, replay: Replay) -> Result<TraceSource, TraceError> {
    TraceSource::new(reader(text.as_bytes(), &Options::default())?, replay)
}

const TRIMMING: &str =
    "fio version 2 iolog\nf write 4095 2\nf write 40960 12288\nf trim 4095 8200\nf sync\nf read 8192000 1\n";

#[test]
fn pages_follow_the_remap() {
    use crate::{Batch, Drawn, Source};
    let modulo = Replay { page_bytes: 4096, logical_pages: 1000, compact: false, looped: false, sample: 1 };
    for (replay, want) in [
        (modulo, [vec![0, 1, 10, 11, 12], vec![1, 2], vec![], vec![0]]),
        (Replay { compact: true, ..modulo }, [vec![0, 1, 2, 3, 4], vec![1], vec![], vec![5]]),
    ] {
        let mut source = source(TRIMMING, replay).unwrap();
        let mut batch = Batch::default();
        for (pages, op) in want.iter().zip([Op::Write, Op::Trim, Op::Flush, Op::Read]) {
            assert_eq!(source.next(&mut batch, 100, 100).unwrap(), Drawn::More);
            assert_eq!((&batch.pages, batch.op), (pages, op));
        }
        assert_eq!(source.next(&mut batch, 100, 100).unwrap(), Drawn::End);
    }
}

#[test]
fn a_loop_repeats_itself_whatever_the_batches() {
    use crate::{Batch, Source};
    let replay = Replay { page_bytes: 4096, logical_pages: 1000, compact: false, looped: true, sample: 1 };
    let mut source = source(TRIMMING, replay).unwrap();
    let (mut batch, mut writes, mut requests) = (Batch::default(), Vec::new(), 0);
    while requests < 15 {
        source.next(&mut batch, 2, 1).unwrap();
        requests += batch.requests;
        if batch.op == Op::Write {
            writes.extend_from_slice(&batch.pages);
        }
    }
    assert_eq!(writes, [0, 1, 10, 11, 12].repeat(3));
}

#[test]
fn a_trace_that_does_not_fit_is_refused() {
    let replay = Replay { page_bytes: 4096, logical_pages: 3, compact: true, looped: true, sample: 1 };
    assert!(source(TRIMMING, replay).err().unwrap().to_string().contains("touches 6 pages, but the drive has 3"));
    let nothing = source("fio version 2 iolog\nf sync\n", replay).err().unwrap().to_string();
    assert!(nothing.contains("holds no read or write"), "{nothing}");
}

#[test]
fn version_2_of_vscsi_is_told_from_version_1() {
    let mut bytes = Vec::new();
    for (opcode, length, sector, micros) in [(0x28u16, 4096u32, 100u64, 7u64), (0x2a, 8192, 200, 500_007)] {
        bytes.extend(opcode.to_le_bytes());
        bytes.extend(0x0200u16.to_le_bytes());
        bytes.extend(9u32.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(micros.to_le_bytes());
        bytes.extend(77u64.to_le_bytes());
    }
    assert_eq!(requests(&bytes), wanted());
}

#[test]
fn what_moves_no_data_is_passed_over() {
    let blkparse = "8,0 1 1 0.0 1 D R 100 + 8 [cat]\n8,0 1 2 0.1 1 D R 36 (12 00 00 00 24 00) [udev]\n8,0 1 3 0.2 1 D N [x]\n\
                    8,0 1 4 0.3 1 D FWS [jbd2]\n8,0 1 5 0.4 1 D FN 0 + 0 [jbd2]\n8,0 1 6 0.5 1 D DS 200 + 16 [fstrim]\n";
    let scsi = "1,10,28,4096,100\n1,10,12,96,0\n1,10,35,0,0\n1,10,35,0,0\n1,10.5,42,8192,200\n";
    for text in [blkparse, scsi] {
        let ops: Vec<Op> = requests(text.as_bytes()).iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Read, Op::Flush, Op::Flush, Op::Trim], "{text}");
    }
    let cut = Options { format: Some(Format::Blkparse), ..Options::default() };
    let error = reader(b"8,0 1 1 0.0 1 D R\n", &cut).unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("line 1"), "{error}");
}

#[test]
fn sizes_of_one_format_are_no_opcodes_of_another() {
    let tencent = "1538323200,100,8,0,1283\n1538323201,200,28,1,1283\n";
    assert_eq!(reader(tencent.as_bytes(), &Options::default()).unwrap().format(), Format::Tencent);
    for (format, sample) in SAMPLES.iter().filter(|(format, _)| *format != Format::Ssdsim) {
        let marked = [b"\xef\xbb\xbf", sample.as_bytes()].concat();
        assert_eq!(requests(&marked), requests(sample.as_bytes()), "{format:?}");
    }
}

#[test]
fn one_odd_time_moves_no_other() {
    let month = 31 * 86_400 * 1_000_000_000u64;
    // (times in the file, times read, odd ones)
    let table: [(&[u64], &[u64], u64); 5] = [
        (&[5, 9, 7, 12], &[0, 4, 4, 7], 1),
        (&[5, 9, 9 + month, 12], &[0, 4, 4, 7], 1),
        (&[month, 5, 9, 12], &[0, 0, 0, 3], 2),
        (&[5, 9 + month, 12 + month, 15 + month], &[0, 0, 0, 3], 2),
        (&[5, u64::MAX, 9], &[0, 0, 4], 1),
    ];
    for (times, want, odd) in table {
        let text: String = times.iter().map(|at| format!("{at} 0 100 8 1\n")).collect();
        let mut reader = reader(text.as_bytes(), &Options::default()).unwrap();
        let found: Vec<u64> = (&mut reader).map(|request| request.unwrap().at).collect();
        assert_eq!(found, want, "{times:?}");
        let is_told = |note: &String| note.starts_with(&format!("{odd} timestamps"));
        assert!(reader.notes().iter().any(is_told), "{:?}", reader.notes());
    }
}

#[test]
fn times_too_coarse_to_be_replayed_are_told() {
    let second = 1_000_000_000u64;
    // (times in the file, what is told of them)
    let table: [(&[u64], Option<&str>); 5] = [
        (&[second, second, 3 * second, 4 * second], Some("whole seconds, and 1 of 4 requests")),
        (&[0, 2_000_000, 2_000_000, 6_000_000], Some("multiples of 2 ms, and 1 of 4 requests")),
        // Of coarse times that differ nothing is lost; fine ones may be the same.
        (&[0, second, 2 * second], None),
        (&[0, 0, 1_000, 1_000], None),
        (&[7, 7, 7], None),
    ];
    for (times, want) in table {
        let text: String = times.iter().map(|at| format!("{at} 0 100 8 1\n")).collect();
        let mut notes = info(reader(text.as_bytes(), &Options::default()).unwrap()).unwrap().notes;
        notes.retain(|note| note.starts_with("its times"));
        match want {
            Some(want) => assert!(notes.len() == 1 && notes[0].contains(want), "{times:?}: {notes:?}"),
            None => assert!(notes.is_empty(), "{times:?}: {notes:?}"),
        }
    }
}

#[test]
fn other_devices_are_noted() {
    let mut reader = reader(b"3,R,0,4096,1\n4,R,0,4096,2\n3,R,0,4096,3\n", &Options::default()).unwrap();
    assert_eq!((&mut reader).count(), 3);
    assert!(reader.notes()[0].starts_with("1 requests go to other devices"), "{:?}", reader.notes());
}

#[test]
fn bytes_behind_the_end_of_a_compact_trace_are_noticed() {
    let mut bytes = Vec::new();
    write_requests(wanted().into_iter().map(Ok), &mut bytes, Target::Compact).unwrap();
    bytes.push(0);
    let error = read_all(&bytes, None).unwrap_err().to_string();
    assert!(error.contains("bytes follow the end"), "{error}");
}

#[test]
fn the_times_of_a_trace_decide_its_iolog_version() {
    for (format, version) in [(Format::Mqsim, 3), (Format::Lis, 2)] {
        let mut bytes = Vec::new();
        let reader = reader(sample(format).as_bytes(), &Options::default()).unwrap();
        convert(reader, &mut bytes, Target::FioIolog).unwrap();
        assert!(bytes.starts_with(format!("fio version {version} iolog\n").as_bytes()));
    }
    // The time comes late.
    let mut late = vec![Request { at: 0, ..wanted()[0] }; 5000];
    late.push(Request { at: 1_000_000, ..wanted()[0] });
    let mut bytes = Vec::new();
    write_requests(late.iter().copied().map(Ok), &mut bytes, Target::FioIolog).unwrap();
    assert_eq!(requests(&bytes), late);
}

#[test]
fn a_trim_of_everything_ends() {
    use crate::{Batch, Drawn, Source};
    let text = "fio version 2 iolog\nf write 4096 4096\nf write 81920 4096\nf trim 0 18446744073709551615\n";
    let modulo = Replay { page_bytes: 4096, logical_pages: 100, compact: false, looped: false, sample: 1 };
    for (replay, want) in [(modulo, (0..100).collect::<Vec<u32>>()), (Replay { compact: true, ..modulo }, vec![0, 1])] {
        let mut source = source(text, replay).unwrap();
        let mut batch = Batch::default();
        assert_eq!(source.next(&mut batch, usize::MAX, u64::MAX).unwrap(), Drawn::More);
        assert_eq!(batch.requests, 2);
        assert_eq!(source.next(&mut batch, usize::MAX, u64::MAX).unwrap(), Drawn::More);
        assert_eq!((batch.op, &batch.pages), (Op::Trim, &want));
        assert_eq!(source.next(&mut batch, usize::MAX, u64::MAX).unwrap(), Drawn::End);
    }
}

#[test]
fn a_trace_read_once_says_at_its_end_that_it_moved_nothing() {
    use crate::{Batch, Drawn, Source};
    let replay = Replay { page_bytes: 4096, logical_pages: 3, compact: false, looped: false, sample: 1 };
    let mut source = source("fio version 2 iolog\nf sync\n", replay).unwrap();
    let mut batch = Batch::default();
    assert_eq!(source.next(&mut batch, 9, 9).unwrap(), Drawn::More);
    assert!(source.next(&mut batch, 9, 9).unwrap_err().0.contains("holds no read or write"));
}

/// Draws a few batches from a trace in every kind of replay.
fn replay_some(bytes: &[u8]) {
    use crate::{Batch, Drawn, Source};
    for (compact, looped) in [(false, false), (false, true), (true, false), (true, true)] {
        let replay = Replay { page_bytes: 4096, logical_pages: 1 << 30, compact, looped, sample: 1 };
        let Ok(reader) = reader(bytes, &Options::default()) else { return };
        let Ok(mut source) = TraceSource::new(reader, replay) else { continue };
        let mut batch = Batch::default();
        for _ in 0..20 {
            if !matches!(source.next(&mut batch, 64, 3), Ok(Drawn::More)) {
                break;
            }
            assert!(batch.pages.len() <= 64 && batch.requests <= 3);
            assert!(batch.pages.iter().all(|page| *page < 1 << 30));
        }
    }
}

#[test]
fn any_bytes_give_requests_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(5).stream("fuzz");
    let mut samples: Vec<Vec<u8>> = SAMPLES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    samples.extend([vscsi_sample(), blktrace_sample(), recorded::oracle_sample(), zones::version_8()]);
    samples.extend([zones::TEXT.as_bytes().to_vec(), TRIMMING.as_bytes().to_vec()]);
    let mut compact = Vec::new();
    write_requests(wanted().into_iter().map(Ok), &mut compact, Target::Compact).unwrap();
    samples.push(compact);
    for round in 0..6000usize {
        let mut bytes = samples[round % samples.len()].clone();
        for _ in 0..=round % 5 {
            let at = stream.below(bytes.len() as u64) as usize;
            match stream.below(4) {
                0 => bytes[at] = stream.bits() as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, stream.bits() as u8),
                _ => bytes = bytes.iter().chain(&bytes[at..]).copied().collect(),
            }
        }
        let forced = Format::ALL[stream.below(Format::ALL.len() as u64) as usize];
        replay_some(&bytes);
        let noise: Vec<u8> = (0..stream.below(200)).map(|_| stream.bits() as u8).collect();
        assert!(read_all(&noise, None).is_err() || noise.is_empty(), "noise is no trace");
        let _ = read_all(&noise, Some(forced));
        for format in [None, Some(forced)] {
            if let Err(error) = read_all(&bytes, format) {
                let sentence = error.to_string();
                assert!(!sentence.contains('\n') && sentence.len() < 400, "{sentence}");
            }
        }
    }
}

#[test]
fn a_line_without_end_is_refused_and_takes_no_memory() {
    use std::io::Read;
    for (format, letter) in [(Format::Blkparse, b' '), (Format::Mqsim, b'7')] {
        let options = Options { format: Some(format), skip_bad_lines: true, ..Options::default() };
        let endless = std::io::repeat(letter).take(1 << 30);
        let mut reader = Reader::from_read("t", Box::new(endless), &options).unwrap();
        let error = reader.next().unwrap().unwrap_err().to_string();
        assert!(error.starts_with("t: line 1 has more than 1048576 bytes"), "{error}");
    }
}

#[test]
fn a_reader_hears_its_flag_between_lines_that_hold_nothing() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let stop = Arc::new(AtomicBool::new(false));
    let text = "0 0 0 8 0\n".repeat(3);
    let reader = reader(text.as_bytes(), &Options::default()).unwrap();
    let mut reader = reader.stopped_by(Arc::clone(&stop));
    assert!(reader.next().unwrap().is_ok());
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(reader.next(), Some(Err(TraceError::Interrupted { .. }))));
    assert!(reader.next().is_none());
}

#[test]
fn sources_of_one_decoded_trace_do_not_move_each_other() {
    use crate::{Batch, Drawn, Source};
    let text: String = (0..9000).map(|n| format!("{n} 0 {} 8 0\n", n * 8)).collect();
    let replay = Replay { page_bytes: 4096, logical_pages: 1 << 20, compact: false, looped: true, sample: 1 };
    let mut first = TraceSource::new(reader(text.as_bytes(), &Options::default()).unwrap(), replay).unwrap();
    let mut second = first.restarted().unwrap();
    let mut batch = Batch::default();
    for page in 0..20_000u32 {
        for source in [&mut first, &mut second] {
            assert_eq!(source.next(&mut batch, 1, 1).unwrap(), Drawn::More);
            assert_eq!(batch.pages, [page % 9000]);
        }
        if page == 100 {
            second = first.restarted().unwrap();
            for _ in 0..=page {
                second.next(&mut batch, 1, 1).unwrap();
            }
        }
    }
}

#[test]
fn a_trace_that_is_held_gives_what_one_that_is_decoded_each_time_gives() {
    let mut text = String::new();
    for number in 0..300u64 {
        let op = if number % 7 == 3 { 1 } else { 0 };
        // A time that goes back now and then, and requests that begin within a page.
        let at = number * 1000 - if number % 50 == 49 { 5000 } else { 0 };
        text.push_str(&format!("{at} 0 {} {} {op}\n", number * 7919 % 5000 * 3, 1 + number % 40));
    }
    let options = Options { format: Some(Format::Mqsim), ..Options::default() };
    for (compact, looped, sample) in [(false, true, 1), (false, true, 3), (true, true, 1), (true, false, 1)] {
        let replay = Replay { page_bytes: 4096, logical_pages: 4000, compact, looped, sample };
        let source =
            |held_max| TraceSource::holding(reader(text.as_bytes(), &options).unwrap(), replay, held_max).unwrap();
        let (mut held, mut decoded) = (source(1 << 20), source(0));
        let mut batches = (Batch::default(), Batch::default());
        for round in 0..400 {
            // A clone goes on from the same place, and a restart from the first request.
            if round == 150 {
                held = held.restarted().unwrap();
                decoded = decoded.restarted().unwrap();
            }
            let mut clones = (held.try_clone().unwrap(), decoded.try_clone().unwrap());
            for (one, other) in
                [(&mut held as &mut dyn Source, &mut decoded as &mut dyn Source), (&mut *clones.0, &mut *clones.1)]
            {
                let ends = (one.next(&mut batches.0, 5, 2).unwrap(), other.next(&mut batches.1, 5, 2).unwrap());
                let told = |batch: &Batch| (batch.at, batch.op, batch.pages.clone(), batch.requests);
                assert_eq!((ends.0, told(&batches.0)), (ends.1, told(&batches.1)), "{replay:?}, batch {round}");
            }
        }
    }
}

#[test]
fn a_sample_keeps_whole_chunks_and_moves_them_together() {
    use crate::{Batch, Source};
    // Chunks have 16 pages of 4 KiB; of three, one is kept.
    let whole = Replay { page_bytes: 4096, logical_pages: 1000, compact: false, looped: true, sample: 1 };
    let sampled = Replay { sample: 3, ..whole };
    let text: String =
        [0u64, 15, 16, 47, 48, 63, 64, 96].iter().map(|page| format!("{page} 0 {} 8 0\n", page * 8)).collect();
    let mut source = source(&text, sampled).unwrap();
    let mut batch = Batch::default();
    let mut seen = Vec::new();
    for _ in 0..10 {
        source.next(&mut batch, 1, 1).unwrap();
        seen.push((batch.at, batch.pages[0]));
    }
    // The second round begins where the whole trace ended, at 96 ns, not where what is kept of it did.
    let round = [(0, 0), (15, 15), (48, 16), (63, 31), (96, 32)];
    let expected: Vec<(u64, u32)> = (0..2).flat_map(|n| round.map(|(at, page)| (at + 96 * n, page))).collect();
    assert_eq!(seen, expected);
    let pace = source.pace().unwrap();
    assert!((pace.bytes_written - 8.0 * 4096.0 / 3.0).abs() < 1e-9 && pace.over_ns == 96, "{pace:?}");
    // A request over many chunks keeps its share, in one piece.
    let mut large =
        self::source(&format!("1 0 {} {} 0\n", 8 * 8, 8 * 96), Replay { looped: false, ..sampled }).unwrap();
    large.next(&mut batch, 1000, 1).unwrap();
    assert_eq!(batch.pages, (8..40).collect::<Vec<u32>>());
    let nothing = self::source("1 0 128 8 0\n2 0 128 8 0\n", sampled).err().unwrap().to_string();
    assert!(nothing.contains("one chunk in 3"), "{nothing}");
}

/// 16 KiB pages: parts of pages are listed with the bytes that a request leaves alone, however the batches are cut.
#[test]
fn requests_within_pages_leave_the_rest_alone() {
    use crate::{Batch, Drawn, Op, Part, Source};
    // Writes: half of page 0; from within page 1 to within page 3; page 4 whole; the middle of page 5. A read of a quarter of page 6.
    let text = "0 0 16 16 0\n0 0 40 64 0\n0 0 128 32 0\n0 0 168 8 0\n0 0 192 8 1\n";
    for looped in [false, true] {
        let replay = Replay { page_bytes: 16384, logical_pages: 8, compact: false, looped, sample: 1 };
        for pages_max in [1, 2, 3, 100] {
            let (mut source, mut batch) = (source(text, replay).unwrap(), Batch::default());
            let (mut written, mut read) = (Vec::new(), Vec::new());
            while read.is_empty() {
                assert_eq!(source.next(&mut batch, pages_max, 100).unwrap(), Drawn::More);
                let parts = if batch.op == Op::Read { &mut read } else { &mut written };
                for Part { index, around } in &batch.parts {
                    parts.push((batch.pages[*index as usize], *around));
                }
            }
            assert_eq!(written, [(0, 8192), (1, 4096), (3, 12288), (5, 12288)], "{pages_max} pages");
            assert_eq!(read, [(6, 12288)]);
            let notes = source.notes();
            let writes = "3 of 4 writes begin or end within a page (mapping unit) of 16 KiB: in one round of the trace, of 98.30 kB in the pages that all writes touch, the host asked \
                          for 61.44 kB";
            assert!(notes[1].contains(writes) && notes[2].contains("1 of 1 reads begin or end"), "{notes:?}");
        }
    }
}

/// Addresses beyond the drive are folded onto it, which the notes say with both sizes.
#[test]
fn addresses_beyond_the_drive_are_told() {
    let text = "0 0 0 8 0\n0 0 800 8 0\n0 0 80000 8 0\n";
    let replay = Replay { page_bytes: 4096, logical_pages: 101, compact: false, looped: true, sample: 1 };
    let notes = |replay| {
        let mut notes = crate::Source::notes(&source(text, replay).unwrap());
        notes.retain(|note| note.contains("its addresses"));
        notes
    };
    let told = notes(replay);
    assert!(
        told[0].contains("its addresses reach 40.96 MB, the drive has 413.70 kB: 1 of 3 reads and writes"),
        "{told:?}"
    );
    assert_eq!(notes(Replay { compact: true, ..replay }), [""; 0]);
    assert_eq!(notes(Replay { logical_pages: 10_001, ..replay }), [""; 0]);
}

#[test]
fn the_pace_of_a_trace_is_the_same_however_it_is_read() {
    use crate::{Batch, Drawn, Pace, Source};
    // 3 writes of a page, one of two sectors over two pages, and a read, in 50 ns.
    let text = "0 0 0 8 0\n10 0 8 8 0\n20 0 80 8 0\n30 0 7 2 0\n50 0 0 8 1\n";
    let once = Replay { page_bytes: 4096, logical_pages: 1000, compact: false, looped: false, sample: 1 };
    let expected = Some(Pace { bytes_written: 3.0 * 4096.0 + 1024.0, over_ns: 50 });
    assert_eq!(source(text, Replay { looped: true, ..once }).unwrap().pace(), expected);
    assert_eq!(super::pace(reader(text.as_bytes(), &Options::default()).unwrap(), once).unwrap(), expected);
    let (mut read, mut batch) = (source(text, once).unwrap(), Batch::default());
    while read.next(&mut batch, 100, 100).unwrap() == Drawn::More {}
    assert_eq!(read.pace(), expected);
    assert_eq!(source(TRIMMING, Replay { looped: true, ..once }).unwrap().pace(), None, "all of it comes at once");
}

#[test]
fn a_trace_that_ends_tells_how_much_of_it_is_drawn() {
    use crate::{Batch, Drawn, Source};
    // More than is looked at before the first request.
    let text: String = (0..40_000).map(|n| format!("{n} 0 {} 8 0\n", n % 1000 * 8)).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let replay = Replay { page_bytes: 4096, logical_pages: 1000, compact: false, looped: false, sample: 1 };
    let source = |replay| TraceSource::new(Reader::open(file.path(), &Options::default()).unwrap(), replay).unwrap();
    for replay in [replay, Replay { compact: true, ..replay }] {
        let (mut source, mut batch, mut last) = (source(replay), Batch::default(), 0.0);
        let mut middle = false;
        while source.next(&mut batch, 100, 100).unwrap() == Drawn::More {
            let share = source.share_drawn().unwrap();
            assert!((last..=1.0).contains(&share), "{share} after {last}");
            middle |= (0.4..0.6).contains(&share);
            last = share;
        }
        assert!(middle && last > 0.99, "{last}");
    }
    assert_eq!(source(Replay { looped: true, ..replay }).share_drawn(), None, "it goes on for ever");
}
