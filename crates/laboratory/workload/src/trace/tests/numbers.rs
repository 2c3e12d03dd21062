//! Files of numbers alone: what they are taken for, and what they are refused as.

use super::recorded::read;
use super::*;

/// Why a text fits no format.
fn refused(text: &str) -> String {
    match reader(text.as_bytes(), &Options::default()) {
        Ok(reader) => panic!("it was taken for {}:\n{text}", reader.format()),
        Err(error) => error.to_string(),
    }
}

/// Lines of numbers, `count` of them.
fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// A number that looks drawn, below `most`.
fn drawn(number: u64, most: u64) -> u64 {
    (number + 7) * 2_654_435_761 % 1_000_003 % most
}

/// As fio 3.33 wrote them: with and without log_avg_msec, log_offset, log_prio, and in older and newer versions with other columns.
#[test]
fn logs_of_fio_are_refused_by_name() {
    let averages = lines(40, |n| format!("{}, {}, {}, 0, 0", 500 * (n / 2), 100_000 + drawn(n, 700_000), n % 2));
    let reads = lines(40, |n| format!("{}, {}, 0, 0, 0", 500 * n + drawn(n, 3), 400 + drawn(n, 9)));
    let each = lines(40, |n| format!("{}, {}, {}, 4096, 0", n, 10_000 + drawn(n, 90_000), drawn(n, 3)));
    let iops = lines(40, |n| format!("{n}, 1, {}, 4096, 0", n % 2));
    let offsets = lines(40, |n| format!("{n}, {}, 0, 4096, {}", drawn(n, 90_000), 4096 * drawn(n, 4000)));
    let priorities = lines(40, |n| format!("{n}, {}, 1, 4096, {}, 0x0000", drawn(n, 90_000), 4096 * drawn(n, 4000)));
    let issued = lines(40, |n| format!("{n}, {}, 1, 4096, 0, 0x4001, {}", drawn(n, 90_000), 1000 * n));
    let both = lines(40, |n| format!("{}, {}, {}, {}, 0, 0, 0", 500 * n, drawn(n, 90_000), drawn(n, 900_000), n % 2));
    let old = lines(40, |n| format!("{}, {}, 0, 4096", n, drawn(n, 90_000)));
    let epoch = lines(40, |n| format!("{}, {}, 0, 0, 0", 1_700_000_000_000 + 500 * n, drawn(n, 90_000)));
    for text in [&averages, &reads, &each, &iops, &offsets, &priorities, &issued, &both, &old, &epoch] {
        let others =
            [text.replace(", ", ","), text.replace(", ", ";"), format!("time,value,direction,size,offset\n{text}")];
        let apart = [" ", "\t"].map(|gap| text.replace(", ", gap)).into_iter().filter(|_| text != &old);
        for text in others.iter().chain([text]).cloned().chain(apart) {
            let why = refused(&text);
            assert!(
                why.contains("a log of fio's figures") && why.contains("the requests are in write_iolog"),
                "{why}\n{text}"
            );
        }
    }
    let histogram = lines(4, |n| format!("{}, {}, 4096{}", 500 * n, n % 2, ", 0".repeat(1216)));
    assert!(refused(&histogram).contains("fio's histograms"));
}

#[test]
fn figures_by_time_are_no_requests() {
    for gap in [",", " ", ";", "\t"] {
        // Bandwidth, operations and latency of reads and writes, each second and each ten milliseconds.
        let each = |start: u64, step: u64| {
            lines(40, |n| {
                let figures = [start + step * (n / 2), 1000 + drawn(n, 90_000), 100 + drawn(n, 400), n % 2, 7];
                figures.map(|figure| figure.to_string()).join(gap)
            })
        };
        for text in [each(1_700_000_000, 1), each(0, 10_000_000)] {
            assert!(refused(&text).contains("figures for each direction at even steps of time"), "{text}");
        }
        // Of one direction; with a device; with the direction as the last column.
        let one = lines(40, |n| {
            [1_700_000_000 + n, 1000 + drawn(n, 90_000), 101 + drawn(n, 400), 0, 7].map(|n| n.to_string()).join(gap)
        });
        let last = lines(40, |n| {
            [500 * n, 1000 + drawn(n, 90_000), 1000 + drawn(n, 5000), 3 + drawn(n, 90), 1]
                .map(|n| n.to_string())
                .join(gap)
        });
        let four = lines(40, |n| [500 * n, 300 + drawn(n, 90), 0, 0].map(|n| n.to_string()).join(gap));
        for text in [one, last, four] {
            refused(&text);
        }
    }
}

#[test]
fn traces_of_caches_are_refused_by_name() {
    let size = |n| [512, 3400, 65_536, 1 << 20][drawn(n, 4) as usize];
    for gap in [" ", ",", "\t"] {
        let join = |cells: &[u64]| cells.iter().map(u64::to_string).collect::<Vec<_>>().join(gap);
        for text in [
            lines(300, |n| join(&[n / 3, drawn(n, 90), size(n), drawn(n, 4)])),
            lines(300, |n| join(&[n / 3, drawn(n, 90), size(n)])),
            lines(300, |n| join(&[n / 3, drawn(n, 90), size(n), drawn(n, 4), n % 2])),
            lines(300, |n| join(&[1_700_000_000 + n / 3, drawn(n, 90), size(n), drawn(n, 4), n % 2])),
            lines(300, |n| join(&[n / 3, drawn(n, 90), size(n), n + 12])),
            "timestamp,obj_id,obj_size\n".to_owned() + &lines(300, |n| join(&[n / 3, drawn(n, 90), size(n)])),
        ] {
            let why = refused(&text);
            assert!(
                why.contains("the trace of a cache (time, object, bytes)") && why.contains("oracle-general"),
                "{why}\n{text}"
            );
        }
    }
}

#[test]
fn what_differs_from_a_format_in_its_separators_or_its_header_is_told() {
    let tencent = lines(40, |n| {
        format!("{},{},{},{},1283", 1_538_323_200 + n / 4, 8 * drawn(n, 9999), 8 + 8 * (n % 5), drawn(n, 2))
    });
    let mqsim = lines(40, |n| format!("{} 0 {} {} {}", 1000 * n, 8 * drawn(n, 9999), 8 + 8 * (n % 5), drawn(n, 2)));
    let alibaba =
        lines(40, |n| format!("3,{},{},4096,{}", if n % 3 == 0 { "R" } else { "W" }, 4096 * drawn(n, 99), 1000 * n));
    assert_eq!(
        [&tencent, &mqsim, &alibaba].map(|text| read(text.as_bytes()).0),
        [Format::Tencent, Format::Mqsim, Format::Alibaba]
    );
    let named = "Timestamp,Offset,Size,IOType,VolumeID\n".to_owned() + &tencent;
    assert_eq!(read(named.as_bytes()).0, Format::Tencent);
    for gap in [" ", ";", "\t", ", ", "|"] {
        for (text, format) in [(&tencent, "tencent"), (&alibaba, "alibaba")] {
            if gap == ", " && format == "alibaba" {
                continue;
            }
            let why = refused(&text.replace(',', gap));
            assert!(why.contains(&format!("would be those of {format} with commas alone between the cells")), "{why}");
        }
    }
    assert!(refused(&mqsim.replace(' ', ",")).contains("would be those of mqsim with blanks alone"));
    assert!(
        refused(&format!("# time device sector\n{mqsim}"))
            .contains("those of mqsim but for the lines above its first number")
    );
    let figures = "time,bandwidth,rate,kind,job\n".to_owned() + &tencent;
    assert!(refused(&figures).contains("those of tencent but for the lines above"), "its header names no addresses");
}

#[test]
fn columns_of_numbers_say_how_they_are_read_and_can_be_turned() {
    let tencent = "1538323200,100,8,1,1283\n1538323201,200,16,0,1283\n";
    let table = [
        (
            "1000 0 100 8 1\n2000 0 200 16 0\n",
            "read as nanoseconds, device, sector, sectors and direction: 1 is a read",
            Op::Read,
        ),
        (
            "1.5 0 100 8 1\n2.5 0 200 16 0\n",
            "read as milliseconds, device, sector, sectors and direction: 1 is a read",
            Op::Read,
        ),
        (tencent, "read as seconds since 1970, sector, sectors, direction and volume: 1 is a write", Op::Write),
    ];
    for (text, note, first) in table {
        let (_, requests, notes) = read(text.as_bytes());
        let second = if first == Op::Read { Op::Write } else { Op::Read };
        assert_eq!([requests[0].op, requests[1].op], [first, second]);
        assert!(notes[0].contains(note) && notes[0].contains("--assume 1="), "{notes:?}");
        for one in [Op::Read, Op::Write] {
            let options = Options { assume: Assume { one: Some(one), ..Assume::default() }, ..Options::default() };
            let mut reader = reader(text.as_bytes(), &options).unwrap();
            let ops: Vec<Op> = (&mut reader).map(|request| request.unwrap().op).collect();
            assert_eq!((ops[0], ops[1] == one), (one, false));
            assert!(reader.notes()[0].contains(", as was assumed"), "{:?}", reader.notes());
        }
    }
    let options = Options { assume: Assume { one: Some(Op::Write), ..Assume::default() }, ..Options::default() };
    let notes = reader(sample(Format::Msr).as_bytes(), &options).unwrap().notes();
    assert_eq!(notes, ["that 1 is a write was assumed without effect: format msr has no such numbers"]);
}

#[test]
fn bytes_in_place_of_sectors_are_noted_and_never_proposed() {
    let bytes = lines(30, |n| format!("{} 0 {} 4096 {}", 1000 * n, 4096 * drawn(n, 9999), n % 2));
    let (format, _, notes) = read(bytes.as_bytes());
    assert!(format == Format::Mqsim && notes[1].contains("multiples of 512: if they are bytes"), "{notes:?}");
    assert!(!refused(&bytes.replace(' ', ",")).contains("mqsim with blanks"));
    assert_eq!(read(b"1000 0 4096 1024 1\n2000 0 5120 8 0\n").2.len(), 1);
}

#[test]
fn files_that_are_mixed_up_with_traces_are_refused_by_name() {
    let table = [
        ("{\n  \"fio version\" : \"fio-3.33\",\n", "the requests are in write_iolog"),
        ("Linux 6.1 (a)\n\navg-cpu:  %user   %nice\n", "averages of iostat"),
        (
            "Attaching 4 probes...\nTIME(ms)     DISK    COMM   PID     LAT(ms)\n65362 sda a 8 0\n",
            "bcc's biosnoop prints them",
        ),
        (" fio-41 [2] 912.0: io_uring_submit_req: ring 0, opcode WRITE\n", "block_rq_issue and block_rq_complete do"),
        ("PERFILE2h\0\0\0\0\0\0", "`perf script` prints"),
        ("\u{17}\u{8}Dtracing6\0\0", "`trace-cmd report` prints"),
        ("\"Time of Day\",\"Process Name\",\"PID\"\n", "Process Monitor"),
        ("12:00:00.0 pwrite64(3, \"\", 4096, 0) = 4096\n", "strace"),
        ("Histogram: IO lengths of Write commands\nmin,4096\n", "vscsiStats"),
    ];
    for (text, want) in table {
        let why = refused(text);
        assert!(why.contains(want), "{why}");
    }
}

#[test]
fn numbers_of_two_digits_are_no_opcodes() {
    let text = lines(40, |n| format!("1,{},{},{},{}", 10 + n, 10 + n, 4096 + n, drawn(n, 99)));
    assert!(refused(&text).contains("fits no known trace format"));
}

#[test]
fn opcodes_without_a_header_say_what_they_are_taken_for() {
    let named = sample(Format::CloudphysicsCsv);
    assert!(read(named.as_bytes()).2.is_empty());
    let (format, _, notes) = read(named.split_once('\n').unwrap().1.as_bytes());
    assert_eq!(
        (format, &notes[..]),
        (
            Format::CloudphysicsCsv,
            &["columns of numbers, read as VERSION,SECONDS,SCSI-OPCODE,BYTES,SECTOR".to_owned()][..]
        )
    );
}

/// Without a fraction the lines of DiskSim are those of MQSim, a millionth as long.
#[test]
fn a_file_that_fits_two_formats_is_told_with_both_names() {
    let text = sample(Format::Mqsim).as_bytes();
    let told = |reader: Reader| {
        reader.notes().iter().any(|note| note.contains("those of disksim are the same, but in milliseconds"))
    };
    assert!(told(reader(text, &Options::default()).unwrap()));
    assert!(
        !told(reader(text, &Options { format: Some(Format::Mqsim), ..Options::default() }).unwrap()),
        "its format was named"
    );
}

#[test]
fn what_people_have_still_fits() {
    // Sixteen devices in a few lines; one that writes one address; a volume 0; several requests in each second.
    let devices = lines(30, |n| format!("{} {} {} 16 {}", 1000 * n, drawn(n, 16), 8 * drawn(n, 99_999), drawn(n, 2)));
    let one = lines(30, |n| format!("{} 0 4096 8 0", 1000 * n));
    let volume = lines(30, |n| format!("{},{},8,{},0", 1_538_323_200 + n / 4, 8 * drawn(n, 9999), drawn(n, 2)));
    let every = lines(30, |n| format!("{},{},{},{},5", 1_538_323_200 + n, 8 * drawn(n, 9999), 8 + 8 * (n % 3), n % 2));
    let blocks = lines(30, |n| format!("{} 1 0 0", n + 1));
    let numbered = lines(30, |n| format!("{} {} 0 {n}", drawn(n, 9999), 1 + n % 4));
    // A damaged line.
    let damaged = devices.clone() + "99999999 0 x 8 0\n" + &devices;
    for (text, format) in [
        (devices, Format::Mqsim),
        (one, Format::Mqsim),
        (volume, Format::Tencent),
        (every, Format::Tencent),
        (blocks, Format::Lis),
        (numbered, Format::Lis),
        (damaged, Format::Mqsim),
    ] {
        assert_eq!(reader(text.as_bytes(), &Options::default()).unwrap().format(), format, "{text}");
    }
}

#[test]
fn cells_of_a_tencent_line_are_five() {
    let options = Options { format: Some(Format::Tencent), ..Options::default() };
    for line in
        ["1538323200,100,8,1", "1538323200,100,8,1,1283,0", "1538323200, 100, 8, 1, 1283", "1538323200,100,8,2,1283"]
    {
        let error = reader(line.as_bytes(), &options).unwrap().find_map(Result::err).unwrap().to_string();
        assert!(error.contains("expected UNIX-SECONDS,SECTOR,SECTORS,0|1,VOLUME"), "{error}");
    }
}
