//! Forms in which users' tools write their traces.

use super::*;

/// All requests of a trace whose format is found, with the format and the notes.
pub(super) fn read(bytes: &[u8]) -> (Format, Vec<Request>, Vec<String>) {
    let mut reader = reader(bytes, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let read: Result<Vec<Request>, _> = (&mut reader).collect();
    (reader.format(), read.unwrap_or_else(|error| panic!("{error}")), reader.notes())
}

/// Milliseconds, operation, sector and sectors of the requests of a text.
fn brief(text: &str) -> Vec<(u64, Op, u64, u64)> {
    let (_, requests, _) = read(text.as_bytes());
    requests.iter().map(|it| (it.at / 1_000_000, it.op, it.offset / SECTOR, it.length / SECTOR)).collect()
}

#[test]
fn biosnoop_of_either_kind_is_read_with_each_of_its_options() {
    let bcc = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
               11.269319   kworker/u16:4  2784813 vda       W 113638304  8192      5.49\n\
               11.270254   kworker/u16:4  2784813 vda       W 114100936  425984    6.68\n\
               12.844246   TsysAgent      2807548 vda       R 24798464   4096      0.80\n";
    let want = [(0, Op::Write, 113_638_304, 16), (0, Op::Write, 114_100_936, 832), (1574, Op::Read, 24_798_464, 8)];
    assert_eq!(brief(bcc), want);
    // The time in the queue, the pattern, both, and a command with a blank in its name.
    let more = [
        ("8192      5.49", "8192  0.02    5.49"),
        ("8192      5.49", "8192   R    5.49"),
        ("8192      5.49", "8192  0.02 S    5.49"),
    ];
    for (plain, with) in more.into_iter().chain([("kworker/u16:4", "Web Content"), ("LAT(ms)\n", "QUE(ms) LAT(ms)\n")])
    {
        assert_eq!(brief(&bcc.replace(plain, with)), want, "{with}");
    }
    let libbpf = "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
                  23:59:59.814 mount          163467  sde     WSM  41944043   524288    1.422\n\
                  00:00:00.015 mount          163467  sde     FF   18446744073709551615 0   -1.000   1.429\n\
                  00:00:01.814 mount          163467  sde     DS   41945067   524288    1.429\n";
    let want = [(0, Op::Write, 41_944_043, 1024), (201, Op::Flush, 0, 0), (2000, Op::Trim, 41_945_067, 1024)];
    assert_eq!(brief(libbpf), want, "the time of day goes on at midnight");
    let (format, _, notes) = read(libbpf.as_bytes());
    assert_eq!((format, notes), (Format::Biosnoop, vec!["its times are those of completions".to_owned()]));
}

#[test]
fn biosnoop_counts_what_goes_to_no_disk_and_refuses_damaged_lines() {
    let text = "Tracing block I/O... Hit Ctrl-C to end.\nTIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
                0.000000    ?              0              R 0          8         4.04\n\
                0.5         kworker/23:1   9126           R 18446744073709551615 0         0.61\n\
                1.0         sync           9   <unknown>  R 0          8         0.2\n\
                2.0         jbd2/sda1-8    184    sda     W 2694656    12288     6.72\n\
                3.0         postgres       188    sda     W 0          0         2.14\nPossibly lost 3 samples\n";
    let (_, requests, notes) = read(text.as_bytes());
    assert_eq!(requests, [Request { at: 0, op: Op::Write, offset: 2_694_656 * 512, length: 12_288 }]);
    let want = [
        "its times are those of completions",
        "the trace says itself that 3 events were lost: it is not whole",
        "3 requests of no disk were skipped",
        "1 requests of no length were skipped",
    ];
    assert_eq!(notes, want);
    let options = Options { format: Some(Format::Biosnoop), ..Options::default() };
    for line in [
        "1.0 cat 1 sda R 1 8",
        "1.0 cat 1 sda R x 8 0.1",
        "1:2 cat 1 sda R 1 8 0.1",
        "1.0 1 sda R 1 8 0.1",
        "1.0 cat 1 sda read 1 8 0.1",
    ] {
        let error = reader(line.as_bytes(), &options).unwrap().find_map(Result::err).map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("line 1: found")), "{line}: {error:?}");
    }
}

/// Two requests and a flush, in the words of each tool that prints the kernel's block events.
#[test]
fn block_events_are_read_from_each_tool_that_prints_them() {
    let want = [(0, Op::Flush, 0, 0), (245, Op::Read, 6_500_840, 32), (1914, Op::Write, 779, 16)];
    let tracefs = "# tracer: nop\n#\n rep-306069 [007] .... 19654.923315: block_bio_queue: 8,0 FWS 0 + 0 [rep]\n \
                   kworker/7:1H-250 [007] .... 19654.923352: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [kworker/7:1H]\n \
                   binder:815_3-815 [001] .... 19655.169100: block_rq_issue: 8,0 RA 16384 () 6500840 + 32 be,0,6 [binder:815_3]\n \
                   binder:815_3-815 [001] .... 19655.169500: block_rq_issue: 8,0 N 36 (12 00 00 00 24 00) 0 + 0 [udev]\n \
                   kworker/2:1-1234 [002] d..1 19656.837890: block_rq_issue: 8,0 W 8192 () 779 + 16 [kworker/2:1]\n";
    let report = "cpus=8\n    kworker/7:1H-250   [007] 19654.923352: block_rq_issue:       8,0 FF 0 () 0 + 0 [kworker/7:1H]\n    \
                  binder:815_3-815   [001] 19655.169100: block_rq_issue:       8,0 RA 0 () 6500840 + 32 [binder:815_3]\n    \
                  kworker/2:1-1234   [002] 19656.837890: block_rq_issue:       8,0 W 0 () 779 + 16 [kworker/2:1]\n";
    let script = "kworker/7:1H   250 [007] 19654.923352: block:block_rq_issue: 259,2   FF 0 ()     0 + 0 [kworker/7:1H]\n\
                  Web Content   815 [001] 19655.169100:          1 block:block_rq_issue: 259,2   RA 0 ()     6500840 + 32 [Web Content]\n\
                  swapper     0 [000] 19655.631612: block:block_rq_complete: 259,2 RA ()       6500840 + 32 [0]\n\
                  kworker/2:1  1234 [002] 19656.837890: block:block_rq_issue: 259,2   W 0 () 779 + 16 [kworker/2:1]\n";
    let live = "     0.000 kworker/7:1H/250 block:block_rq_issue:259,0 FF 0 () 0 + 0 [kworker/7:1H]\n   \
                245.748 :815/815 block:block_rq_issue:259,0 RA 16384 () 6500840 + 32 [binder:815_3]\n   \
                246.000 :815/815 block:block_rq_complete:259,0 RA () 6500840 + 32 [0]\n  \
                1914.538 (         ): kworker/2:1/1234 block:block_rq_issue:259,0 W 8192 () 779 + 16 [kworker/2:1]\n";
    let named = "     0.000 :0/0 block:block_rq_issue(dev: 266338304, rwbs: \"FF\", comm: \"kworker/3:1H\", cmd: \"\")\n   \
                 245.748 :0/0 block:block_rq_issue(dev: 266338304, sector: 6500840, nr_sector: 32, bytes: 16384, rwbs: \"RA\", comm: \"a, b\", cmd: \"\")\n  \
                 1914.538 :0/0 block:block_rq_issue(dev: 266338304, sector: 779, nr_sector: 16, bytes: 8192, rwbs: \"W\")\n";
    for text in [tracefs, report, script, live, named] {
        assert_eq!(brief(text), want, "{text}");
        let (format, _, notes) = read(text.as_bytes());
        assert_eq!((format, notes), (Format::Ftrace, vec!["counts issue (D) events".to_owned()]));
    }
    let error =
        reader(tracefs.replace("779 + 16", "779").as_bytes(), &Options::default()).unwrap().find_map(Result::err);
    assert!(error.is_some_and(|error| error.to_string().contains("line 7: found")));
    // Many lines of other events come first.
    let late = " a-1 [000] .... 1.000000: sched_switch: prev_comm=a block_size=1\n".repeat(300) + tracefs;
    assert_eq!(brief(&late), want);
}

#[test]
fn operations_of_zones_and_old_flags_are_told_apart() {
    let rwbs = [
        ("R", Some(Op::Read)),
        ("RM", Some(Op::Read)),
        ("WFSM", Some(Op::Write)),
        ("FWFS", Some(Op::Write)),
        ("ZA", Some(Op::Write)),
        ("ZR", None),
        ("N", None),
        ("DE", Some(Op::Trim)),
        ("FN", Some(Op::Flush)),
        ("FF", Some(Op::Flush)),
    ];
    for (rwbs, want) in rwbs {
        for text in [
            format!("8,0 1 1 0.0 1 D {rwbs} 8 + 8 [a]\n8,0 1 1 0.0 1 D R 0 + 8 [a]\n"),
            format!(
                "a-1 [0] 1.0: block_rq_issue: 8,0 {rwbs} 0 () 8 + 8 [a]\na-1 [0] 1.0: block_rq_issue: 8,0 R 0 () 0 + 8 [a]\n"
            ),
        ] {
            let ops: Vec<Op> = requests(text.as_bytes()).iter().map(|request| request.op).collect();
            assert_eq!(ops, want.into_iter().chain([Op::Read]).collect::<Vec<_>>(), "{text}");
        }
    }
}

/// Numbers of events, each with the letter of its kind.
type Kinds<'a> = &'a [(u64, char)];

/// A trace of blkparse, one of the kernel and one of blktrace, with as many events of each kind as `counts` says.
fn events_of(kinds: Kinds<'_>) -> [Vec<u8>; 3] {
    let (mut text, mut kernel, mut binary) = (String::new(), String::new(), Vec::new());
    let mut sector = 0;
    for &(count, kind) in kinds {
        for _ in 0..count {
            sector += 8;
            text.push_str(&format!("8,0 1 {sector} 1.0 1 {kind} W {sector} + 8 [a]\n"));
            let (name, bytes, action) = match kind {
                'D' => ("block_rq_issue", "4096 () ", 7u32),
                'Q' => ("block_bio_queue", "", 1),
                _ => ("block_rq_complete", "() ", 8),
            };
            kernel.push_str(&format!("a-1 [000] .... 1.000000: {name}: 8,0 W {bytes}{sector} + 8 [a]\n"));
            binary.extend(0x6561_7407u32.to_le_bytes());
            binary.extend([0; 12]);
            binary.extend(u64::to_le_bytes(sector));
            binary.extend(4096u32.to_le_bytes());
            binary.extend((action | 2 << 16).to_le_bytes());
            binary.extend([0; 8]);
            // Two processors take turns.
            binary.extend(u32::to_le_bytes(u32::from(sector % 16 == 0)));
            binary.extend([0; 4]);
        }
    }
    [text.into_bytes(), kernel.into_bytes(), binary]
}

#[test]
fn the_kind_of_events_that_tells_of_the_requests_counts() {
    let table: [(Kinds<'_>, usize, &str); 8] = [
        (&[(30, 'Q'), (30, 'D'), (30, 'C')], 30, "counts issue (D) events"),
        // A request that is queued twice, for LVM's device and for the disk below it.
        (&[(60, 'Q'), (30, 'D')], 30, "counts issue (D) events"),
        // Most go to a device that issues none.
        (&[(157, 'Q'), (2, 'D')], 157, "counts queue (Q) events"),
        (&[(2, 'D'), (157, 'Q'), (2, 'C')], 157, "counts queue (Q) events"),
        (&[(9, 'Q')], 9, "counts queue (Q) events"),
        (&[(9, 'C')], 9, "counts completion (C) events"),
        (&[(2, 'D'), (90, 'C')], 90, "counts completion (C) events"),
        (
            &[(10, 'D'), (35, 'Q')],
            10,
            "counts issue (D) events, of which there are 10; 35 queue (Q) events move 143360 bytes instead of 40960 and are left out",
        ),
    ];
    for (kinds, count, note) in table {
        for bytes in events_of(kinds) {
            let (format, requests, notes) = read(&bytes);
            assert_eq!((requests.len(), notes), (count, vec![note.to_owned()]), "{format} {kinds:?}");
        }
    }
}

#[test]
fn events_that_come_later_than_the_kind_is_chosen_are_told() {
    // The first bytes hold issues alone.
    for bytes in events_of(&[(2000, 'D'), (9000, 'Q')]) {
        let (format, requests, notes) = read(&bytes);
        assert_eq!(requests.len(), 2000, "{format}");
        assert!(notes[0].contains("of which there are 2000; 9000 queue (Q) events move"), "{notes:?}");
    }
}

#[test]
fn xperf_text_is_read_with_flushes_processors_and_other_events() {
    let text = "BeginHeader\n              DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize\n           \
                DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr\nEndHeader\nOS Version: 6.0.6001, Trace Start: 12\n           \
                DiskReadInit,       8200,        xperf.exe (3984),      11844, 0xffffe288b23f1b20\n              \
                DiskRead,       8612,        xperf.exe (3984),      11844, 0xffffe288b23f1b20, 0x018f0b8000, 0x00001000,        412,        0, 0x060043,  398, Normal, Original, 0xfffffa8012345678, \"C:\\x, y\"\n             \
                DiskWrite,       9120,       System (   4),         96,   1, 0xffffe288b23f1b20, 0x018f0b9000, 0x00002000,        212,        0, 0x060043\n             \
                DiskFlush,      10120,       System (   4),         96, 0xffffe288b23f1b20,        212,        0, 0x060043\n";
    let (format, requests, notes) = read(text.as_bytes());
    let want = [
        Request { at: 0, op: Op::Read, offset: 0x0001_8f0b_8000, length: 4096 },
        Request { at: 508_000, op: Op::Write, offset: 0x0001_8f0b_9000, length: 8192 },
        Request { at: 1_508_000, op: Op::Flush, offset: 0, length: 0 },
    ];
    assert_eq!((format, requests), (Format::Etw, want.to_vec()));
    assert!(notes.is_empty(), "{notes:?}");
    let bare = text.split_once("EndHeader\n").unwrap().1;
    assert_eq!(read(bare.as_bytes()).1, want, "without its header");
    let cut = text.replace("0x018f0b8000", "8192");
    let error = reader(cut.as_bytes(), &Options::default()).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.contains("line 7: found 'DiskRead,"), "{error}");
}

#[test]
fn systor_requests_without_a_type_are_counted() {
    let rows = "1456135200.013118000,0.000806000,R,4,899056122368,131072\n1456135200.113118000,,,4,4096,4096\n1456135201.013118000,0.001000000,W,4,8192,8192\n";
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    let want = [
        Request { at: 0, op: Op::Read, offset: 899_056_122_368, length: 131_072 },
        Request { at: 1_000_000_000, op: Op::Write, offset: 8192, length: 8192 },
    ];
    for text in [format!("{header}{rows}"), rows.to_owned()] {
        let (format, requests, notes) = read(text.as_bytes());
        assert_eq!((format, requests), (Format::Systor, want.to_vec()));
        assert_eq!(notes, ["1 requests that neither read nor write were skipped"]);
    }
    // Two hours in one file.
    assert_eq!(read(format!("{header}{rows}{header}{rows}").as_bytes()).1.len(), 4);
}

#[test]
fn disksim_has_milliseconds_and_flags() {
    // ASYNC is 0x100, TIME_CRITICAL 0x2; only the lowest bit decides.
    let text = "0 0 303567 7 0\n1.026214 0 1498536 8 101\n2.026214 0 1498544 8 2\n151.414000 1 55590 6 1\n";
    let (format, requests, notes) = read(text.as_bytes());
    assert_eq!(format, Format::Disksim);
    let told: Vec<(u64, Op)> = requests.iter().map(|request| (request.at, request.op)).collect();
    assert_eq!(told, [(0, Op::Write), (1_026_214, Op::Read), (2_026_214, Op::Write), (151_414_000, Op::Read)]);
    assert_eq!((requests[0].offset, requests[0].length), (303_567 * 512, 7 * 512));
    assert_eq!(notes[1], "1 requests go to other devices than the first one does; all share one address space");
    // The fraction comes late, and then never: such a file is MQSim's unless its format is named.
    let whole = "5 0 100 8 1\n".repeat(60);
    assert_eq!(read(format!("{whole}{text}").as_bytes()).0, Format::Disksim);
    assert_eq!(read(whole.as_bytes()).0, Format::Mqsim);
    let options = Options { format: Some(Format::Disksim), ..Options::default() };
    let last = reader(b"5 0 100 8 1\n7 0 100 8 1\n", &options).unwrap().last().unwrap().unwrap();
    assert_eq!(last.at, 2_000_000);
}

/// The two requests of [`wanted`] as objects of a cache, which have no direction and whole seconds.
pub(super) fn oracle_sample() -> Vec<u8> {
    oracle(&[(7, 25, 4096, 3), (8, 50, 8192, -1), (8, 25, 4096, -1)])
}

/// Seconds, object, bytes and next access.
type Access = (u32, u64, u32, i64);

fn oracle(records: &[Access]) -> Vec<u8> {
    let bytes = |&(seconds, object, bytes, next): &Access| {
        [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    records.iter().flat_map(bytes).collect()
}

#[test]
fn a_cache_trace_is_read_as_writes_of_objects_that_share_no_page() {
    let sample = oracle_sample();
    let write = |at, object: u64, length| Request { at, op: Op::Write, offset: object * 4096, length };
    let want = [write(0, 25, 4096), write(1_000_000_000, 50, 8192), write(1_000_000_000, 25, 4096)];
    for bytes in [sample.clone(), zstd::encode_all(&sample[..], 3).unwrap()] {
        let (format, requests, notes) = read(&bytes);
        assert_eq!((format, requests), (Format::OracleGeneral, want.to_vec()));
        assert!(
            notes[0].contains("read as writes of objects that begin at their number times 4096 bytes (see --assume)"),
            "{notes:?}"
        );
    }
    let assume = Assume { op: Op::Read, block_bytes: 65_536, ..Assume::default() };
    let first = reader(&sample, &Options { assume, ..Options::default() }).unwrap().next().unwrap().unwrap();
    assert_eq!((first.op, first.offset), (Op::Read, 25 * 65_536));
    let cut = reader(&sample[..60], &Options { format: Some(Format::OracleGeneral), ..Options::default() });
    assert!(cut.unwrap().find_map(Result::err).unwrap().to_string().contains("cut off"));
    // Numbers that are hashes.
    let hashed = oracle(&[(0, u64::MAX, u32::MAX, -1), (0, 1 << 63, 4096, -2), (1, 3, 512, i64::MAX)]);
    assert_eq!(read(&hashed).1.len(), 3);
}

#[test]
fn other_records_are_no_cache_trace() {
    let plain = [(7, 25, 4096, 3), (8, 50, 8192, -1)];
    let with = |change: fn(&mut [Access; 2])| {
        let mut records = plain;
        change(&mut records);
        oracle(&records)
    };
    assert!(reader(&with(|_| {}), &Options::default()).is_ok());
    let broken = [
        with(|records| records[1].0 = 6),
        with(|records| records[1].2 = 0),
        with(|records| records[0].3 = 0),
        with(|records| records[1].3 = 1),
        with(|records| records[1].3 = 1 << 50),
        with(|_| {})[..40].to_vec(),
    ];
    for (number, bytes) in broken.iter().enumerate() {
        assert!(reader(bytes, &Options::default()).is_err(), "{number}");
    }
}

#[test]
fn a_replayer_csv_is_no_known_format() {
    let text = b"0.0,0,1048576,4096,0\n0.5,0,2097152,8192,1\n12.25,0,4096,4096,0\n";
    assert!(reader(text, &Options::default()).err().unwrap().to_string().contains("fits no known trace format"));
}

#[test]
fn iologs_pass_over_what_fio_passes_over() {
    let two = "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf sync_file_range 0 4096\nf write 4096 4096\nf syncfs 0 0\nf unlink\nf close\n";
    let three = "fio version 3 iolog\n0 f add\n0 f open\n5 f write 0 4096\n90 f wait 9 0\n90 f jump 1 2\n100 f write 4096 4096\n110 f syncfs 0 0\n";
    for text in [two, three] {
        let (format, requests, notes) = read(text.as_bytes());
        let ops: Vec<Op> = requests.iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Write, Op::Write, Op::Flush], "{format}");
        assert_eq!(notes, ["2 lines with actions that are not replayed were passed over, as fio does"], "{format}");
    }
    let none = info(reader(b"fio version 2 iolog\nf jump\n", &Options::default()).unwrap()).unwrap_err().to_string();
    assert!(none.contains("holds no request: 1 lines with actions that are not replayed"), "{none}");
    // A line of version 3 in a log of version 2 is no action.
    let mixed = reader(b"fio version 2 iolog\n0 f write 0 4096\nf 5 write 0 4096\n", &Options::default()).unwrap();
    assert!(mixed.last().unwrap().is_err());
}

const WAITING: &str = "fio version 2 iolog\nf open\nf wait 5000 0\nf write 0 4096\nf wait 99 0\nf wait 14000 0\nf write 4096 4096\nf wait 14003 0\nf sync\n";

#[test]
fn waits_of_an_iolog_are_its_times() {
    let (_, requests, notes) = read(WAITING.as_bytes());
    let times: Vec<u64> = requests.iter().map(|request| request.at).collect();
    // Each is a time since fio began: one that has passed waits for nothing.
    assert_eq!(times, [0, 9_000_000_000, 9_003_000_000]);
    assert_eq!(notes, Vec::<String>::new());
    let replay = Replay { page_bytes: 4096, logical_pages: 100, compact: false, looped: true, sample: 1 };
    for looped in [true, false] {
        let source = source(WAITING, Replay { looped, ..replay }).unwrap();
        assert_eq!(source.timeless(), None);
    }
    let pace = super::super::pace(reader(WAITING.as_bytes(), &Options::default()).unwrap(), replay).unwrap().unwrap();
    assert_eq!((pace.bytes_written, pace.over_ns), (8192.0, 9_003_000_000));
    let none = source("fio version 2 iolog\nf write 0 4096\nf write 4096 4096\n", replay).unwrap();
    assert_eq!(
        none.timeless().unwrap(),
        "sample: requests of format fio-iolog-2 without a wait have no time of arrival"
    );
    let bad =
        reader(b"fio version 2 iolog\nf write 0 4096\nf wait x 0\n", &Options::default()).unwrap().last().unwrap();
    assert!(bad.is_err());
}

#[test]
fn a_wait_far_into_an_iolog_keeps_its_time() {
    let late = format!("fio version 2 iolog\n{}f wait 7 0\nf write 4096 4096\n", "f write 0 4096\n".repeat(9000));
    let (_, requests, _) = read(late.as_bytes());
    assert_eq!(requests.last().unwrap().at, 7_000_000);
    let replay = Replay { page_bytes: 4096, logical_pages: 100, compact: false, looped: true, sample: 1 };
    assert_eq!(source(&late, replay).unwrap().pace().unwrap().over_ns, 7_000_000, "a decoded trace is known whole");
    let mut bytes = Vec::new();
    convert(reader(late.as_bytes(), &Options::default()).unwrap(), &mut bytes, Target::FioIolog).unwrap();
    assert_eq!(self::requests(&bytes), requests);
    let mut bytes = Vec::new();
    convert(reader(WAITING.as_bytes(), &Options::default()).unwrap(), &mut bytes, Target::FioIolog).unwrap();
    assert!(bytes.starts_with(b"fio version 3 iolog\n"), "its first bytes hold a wait");
    assert_eq!(self::requests(&bytes), read(WAITING.as_bytes()).1);
}

#[test]
fn a_header_names_its_format_though_the_first_line_is_damaged() {
    let table: [(&str, Format, &str); 3] = [
        (
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 cat 1 sda\n",
            Format::Biosnoop,
            "line 2: found '0.1 cat 1 sda'",
        ),
        (
            "Timestamp,Response,IOType,LUN,Offset,Size\n1,0.1,X,4,0,512\n",
            Format::Systor,
            "line 2: found '1,0.1,X,4,0,512'",
        ),
        ("BeginHeader\nEndHeader\nDiskRead, 5\n", Format::Etw, "line 3: found 'DiskRead, 5'"),
    ];
    for (text, format, want) in table {
        let mut reader = reader(text.as_bytes(), &Options::default()).unwrap();
        assert_eq!(reader.format(), format);
        let error = reader.find_map(Result::err).unwrap().to_string();
        assert!(error.contains(want), "{error}");
    }
}
