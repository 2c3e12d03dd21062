//! What a trace says of itself: lost events, requests that failed or were requeued, and lines of nobody.

use super::recorded::read;
use super::*;

/// Twenty writes of blkparse's text, of the kernel's and of blktrace, of each of which all of `kinds` are told: its letter and the error.
fn twenty(kinds: &[(char, u16)]) -> [Vec<u8>; 3] {
    let (mut text, mut kernel, mut binary) = (String::new(), String::new(), Vec::new());
    for sector in (0..160u64).step_by(8) {
        for &(kind, error) in kinds {
            let last = if kind == 'C' { error.to_string() } else { "fio".to_owned() };
            text.push_str(&format!("8,0 1 {sector} {sector}.0 1 {kind} W {sector} + 8 [{last}]\n"));
            let (name, bytes, action) = match kind {
                'D' => ("block_rq_issue", "4096 () ", 7u32),
                'R' => ("block_rq_requeue", "() ", 6),
                _ => ("block_rq_complete", "() ", 8),
            };
            let last = if kind == 'C' { format!("{}", error as i16) } else { last };
            kernel
                .push_str(&format!("a-1 [000] .... {sector}.0: {name}: 8,0 W {bytes}{sector} + 8 none,0,0 [{last}]\n"));
            binary.extend(0x6561_7407u32.to_le_bytes());
            binary.extend([0; 4]);
            binary.extend((sector * 1_000_000_000).to_le_bytes());
            binary.extend(sector.to_le_bytes());
            binary.extend(4096u32.to_le_bytes());
            binary.extend((action | 2 << 16).to_le_bytes());
            binary.extend([0; 8]);
            binary.extend(u32::from(sector % 16 == 0).to_le_bytes());
            binary.extend(error.to_le_bytes());
            binary.extend([0; 2]);
        }
    }
    [text.into_bytes(), kernel.into_bytes(), binary]
}

fn has(notes: &[String], told: &str) -> bool {
    notes.iter().any(|note| note.contains(told))
}

/// A trace with a line in its middle.
fn with(trace: &[u8], line: &str) -> Vec<u8> {
    let at = trace.len() / 2;
    let at = at + trace[at..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    [&trace[..at], line.as_bytes(), b"\n", &trace[at..]].concat()
}

#[test]
fn requeued_requests_count_once() {
    for bytes in twenty(&[('D', 0), ('R', 0), ('D', 0), ('C', 0)]) {
        let (format, requests, notes) = read(&bytes);
        assert_eq!(requests.len(), 20, "{format}");
        assert!(has(&notes, "20 requests that were requeued and issued again count once"), "{notes:?}");
    }
    for bytes in twenty(&[('D', 0), ('C', 0), ('D', 0), ('C', 0)]) {
        assert_eq!(read(&bytes).1.len(), 40, "written twice");
    }
    // An append that is requeued is issued twice and completed once.
    let appends: String = [('D', 0), ('R', 0), ('D', 0), ('C', 64)]
        .map(|(kind, sector)| format!("8,0 1 1 0.0 1 {kind} ZAS {sector} + 8 [0]\n"))
        .concat();
    let (_, requests, notes) = read(appends.as_bytes());
    assert!(requests.len() == 1 && !has(&notes, "were passed over"), "{notes:?}");
}

#[test]
fn failed_requests_are_told() {
    for bytes in twenty(&[('D', 0), ('C', 65_531)]) {
        let (format, requests, notes) = read(&bytes);
        assert_eq!(requests.len(), 20, "{format}");
        assert!(has(&notes, "20 requests failed at the device and are counted"), "{format} {notes:?}");
    }
    for bytes in twenty(&[('C', 65_531)]) {
        assert!(has(&read(&bytes).2, "20 requests failed"), "completions alone");
    }
    for bytes in twenty(&[('D', 0), ('C', 0)]) {
        assert!(!has(&read(&bytes).2, "failed"));
    }
}

#[test]
fn a_trace_that_says_that_events_are_missing_is_told() {
    let [text, kernel, _] = twenty(&[('D', 0), ('C', 0)]);
    let (header, lost) =
        ("# entries-in-buffer/entries-written: 40/98321   #P:4", "says itself that 98281 events were lost");
    let table: [(&[u8], &str, &str); 12] = [
        (&kernel, "CPU:1 [LOST 4711 EVENTS]", "says itself that 4711 events were lost"),
        (&kernel, "CPU:1 [4711 EVENTS DROPPED]", "says itself that 4711 events were lost"),
        (&kernel, "CPU:1 [LOST EVENTS]", "says itself that events were lost, and not how many"),
        (&kernel, "LOST 12 events!", "says itself that 12 events were lost"),
        (&kernel, "a 1 [001] 1.0: PERF_RECORD_LOST lost 5", "says itself that 5 events were lost"),
        (&kernel, header, lost),
        (&text, "Skips: 37 forward (112,334 -  72.1%)", "says itself that 112334 events were lost"),
        (&text, "You have 17 dropped events", "says itself that 17 events were lost"),
        (
            &text,
            "Total (8,0):\n Writes Completed:   900,   3600KiB",
            "its summary counts 900 requests, of which 20 were read",
        ),
        (
            &text,
            "CPU0 (8,0):\n Read Dispatches:  9, 4KiB\t Write Dispatches: 12, 4KiB",
            "its summary counts 21 requests",
        ),
        (&text, "CPU0 (8,0):\n Writes Queued:   900,   3600KiB", ""),
        (&text, "Total (8,0):\n Write Dispatches: 20, 4KiB\nSkips: 0 forward (0 -   0.0%)", ""),
    ];
    for (trace, line, want) in table {
        let (_, requests, notes) = read(&with(trace, line));
        assert_eq!(requests.len(), 20, "{line}");
        assert!(
            if want.is_empty() { notes.len() == 1 } else { has(&notes, want) && notes.len() == 2 },
            "{line}: {notes:?}"
        );
    }
    assert_eq!(read(&with(&kernel, "# entries-in-buffer/entries-written: 40/40   #P:4")).2.len(), 1);
}

const SNOOP: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 dd 1 sda W 8 4096 0.3\n0.2 dd 1 sda W 16 4096 0.3\n0.3 dd 1 sda W 24 4096 0.3\n";

#[test]
fn lines_that_nobody_understands_are_counted() {
    let [text, kernel, _] = twenty(&[('D', 0), ('C', 0)]);
    let junk = "@@@ no line at all\nand another one";
    let etw = b"BeginHeader\nEndHeader\n DiskWrite, 9120, System (4), 96, 0xf0, 0x1000, 0x1000, 212, 0, 0x060043\n DiskWrite, 9121, System (4), 96, 0xf0, 0x1000, 0x1000, 212, 0, 0x060043\n";
    for trace in [&text[..], &kernel, SNOOP.as_bytes(), etw] {
        let (format, _, notes) = read(&with(trace, junk));
        let found =
            notes.iter().find(|note| note.contains("2 lines were not understood and passed over, the first is line "));
        assert!(found.is_some_and(|note| note.ends_with(": '@@@ no line at all'")), "{format}: {notes:?}");
        assert!(!has(&read(trace).2, "understood"), "{format}");
    }
    // Known company of events.
    for line in [
        "8,0 1 1 1.0 1 UT N [a] 3",
        "8,0 1 1 1.0 1 A W 8 + 8 <- (8,1) 0",
        "8,0 1 1 1.0 0 m N cfq1 put",
        "Throughput (R/W): 0KiB/s",
    ] {
        assert!(!has(&read(&with(&text, line)).2, "understood"), "{line}");
    }
    for line in [
        "a-1 [0] 1.0: sched_switch: a ==> b",
        " => blk_start (ff)",
        "cpus=4",
        "ffffffff8135 blk_a ([kernel])",
        " 0)  0.5 us  |  a();",
        "#",
    ] {
        assert!(!has(&read(&with(&kernel, line)).2, "understood"), "{line}");
    }
    for line in ["8,0 1 1 1.0 1 D? W 8 - 8 [a]", "8,0 1 1 1.0 1 C W cut"] {
        assert!(has(&read(&with(&text, line)).2, "1 lines were not understood"), "{line}");
    }
}

#[test]
fn a_second_format_in_one_file_is_refused_by_name() {
    let [text, kernel, _] = twenty(&[('D', 0)]);
    let iolog = b"fio version 3 iolog\n0 f write 0 4096\n1 f write 0 4096\n";
    let older = b"fio version 2 iolog\nf write 0 4096\nf write 0 4096\n";
    let parts: [(&[u8], Format); 5] = [
        (&text, Format::Blkparse),
        (&kernel, Format::Ftrace),
        (SNOOP.as_bytes(), Format::Biosnoop),
        (iolog, Format::FioIolog3),
        (older, Format::FioIolog2),
    ];
    for (first, format) in parts {
        for (second, other) in parts.iter().filter(|(_, other)| *other != format) {
            let options = Options { format: Some(format), ..Options::default() };
            let error = reader(&[first, second].concat(), &options).unwrap().find_map(Result::err).unwrap().to_string();
            let want = format!("is one of format {other}, and the trace is one of format {format}");
            assert!(error.contains(&want), "{error}");
        }
    }
}

#[test]
fn a_trace_of_unnamed_requests_alone_is_known() {
    for kind in ["block_rq_issue: 7,0 NS 32768 ()", "block_rq_complete: 7,0 NS ()"] {
        let text = format!(" dd-1 [000] .... 2.0: {kind} 2048 + 64 none,0,0 [0]\n").repeat(20);
        let error = info(reader(text.as_bytes(), &Options::default()).unwrap()).unwrap_err().to_string();
        assert!(
            error.contains("holds no request: ") && error.contains("20 requests of 655360 bytes were passed over"),
            "{error}"
        );
    }
}

#[test]
fn times_and_lengths_in_other_units_are_told() {
    let msr = |time: u64| format!("{time},hm,1,Read,4096,4096,11\n{},hm,1,Write,4096,4096,11\n", time + 100);
    let units = [
        (1_280_030_000, "Unix seconds: then they pass 10000000"),
        (1_280_030_000_000, "Unix milliseconds: then they pass 10000 times"),
    ];
    for (time, told) in units {
        assert!(has(&read(msr(time).as_bytes()).2, told), "{time}");
    }
    for time in [0, 128_166_372_003_061_629] {
        assert!(!has(&read(msr(time).as_bytes()).2, "Unix"), "{time}");
    }
    assert!(has(&read(b"2,914641,8,r,0.0\n2,507111,8,w,0.001\n").2, "2 requests are shorter than a sector"));
    assert!(!has(&read(b"2,914641,512,r,0.0\n2,507111,8192,w,0.001\n").2, "shorter"));
}
