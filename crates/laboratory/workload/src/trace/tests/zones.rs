//! What the kernel tells of zones and of zeroes, by its versions; and of which processors it tells.

use super::recorded::read;
use super::*;

const SECTORS: u64 = 524_288;

/// Appends to two zones, as blkparse prints them of a kernel that names them, and the reset of a zone.
pub(super) const TEXT: &str = "259,0 3 1 0.000000000 41 Q ZA 0 + 64 [fio]\n259,0 3 2 0.000000200 41 D ZA 0 + 64 [fio]\n\
    259,0 3 3 0.000000900 0 C ZA 0 + 64 [0]\n259,0 3 4 0.000001000 41 D ZA 524288 + 64 [fio]\n259,0 3 5 0.000001900 0 C ZA 524352 + 64 [0]\n\
    259,0 3 6 0.000002000 41 D ZAS 0 + 64 [fio]\n259,0 3 7 0.000002900 0 C ZAS 64 + 64 [0]\n259,0 3 8 0.1 41 D ZR 0 + 0 [fio]\n\
    259,0 3 9 0.2 41 D ZRA 0 + 0 [fio]\n259,0 3 9 0.2 0 C ZRA 0 + 0 [0]\n259,0 3 9 0.2 41 D ZF 0 + 0 [fio]\n";

/// Operation, sector and sectors of each request.
fn brief(requests: &[Request]) -> Vec<(Op, u64, u64)> {
    requests.iter().map(|request| (request.op, request.offset / SECTOR, request.length / SECTOR)).collect()
}

fn has(notes: &[String], told: &str) -> bool {
    notes.iter().any(|note| note.contains(told))
}

#[test]
fn an_append_lies_where_its_completion_says() {
    let (_, requests, notes) = read(TEXT.as_bytes());
    assert_eq!(brief(&requests), [(Op::Write, 0, 64), (Op::Write, 524_352, 64), (Op::Write, 64, 64)]);
    assert!(has(&notes, "3 appends to zones count at their completion"), "{notes:?}");
    assert!(has(&notes, "2 zone resets were passed over, since no event tells how large a zone is"), "{notes:?}");
    // The kernel's own text.
    let (mut kernel, mut last) = (String::new(), 0);
    for (number, kind) in
        [("1.0", "block_rq_issue: 259,0 ZAS 32768 ()"), ("1.1", "block_rq_complete: 259,0 ZAS ()")].repeat(3)
    {
        let is_done = kind.contains("complete");
        kernel.push_str(&format!(
            " fio-1 [000] .... {number}: {kind} {} + 64 none,0,0 [fio]\n",
            if is_done { last } else { 0 }
        ));
        last += if is_done { 64 } else { 0 };
    }
    assert_eq!(brief(&read(kernel.as_bytes()).1), [(Op::Write, 0, 64), (Op::Write, 64, 64), (Op::Write, 128, 64)]);
    // An append beside other requests: those count as they are issued.
    let mixed = TEXT.replace("D ZR 0 + 0", "D W 4096 + 8") + "259,0 3 9 0.3 0 C W 4096 + 8 [0]\n";
    assert_eq!(brief(&read(mixed.as_bytes()).1)[3], (Op::Write, 4096, 8));
}

#[test]
fn appends_without_a_completion_are_told() {
    let issued: String = TEXT.lines().filter(|line| !line.contains(" C ")).map(|line| line.to_owned() + "\n").collect();
    let (_, requests, notes) = read(issued.as_bytes());
    assert_eq!(brief(&requests), [(Op::Write, 0, 64), (Op::Write, SECTORS, 64), (Op::Write, 0, 64)]);
    assert!(has(&notes, "3 appends to zones count at the start of the zone"), "{notes:?}");
    let cut = TEXT.replace("259,0 3 7 0.000002900 0 C ZAS 64 + 64 [0]\n", "");
    let (_, requests, notes) = read(cut.as_bytes());
    assert_eq!(requests.len(), 2);
    assert!(has(&notes, "1 appends to zones were passed over, since no completion"), "{notes:?}");
    // Version 8 of the events tells of each append twice.
    let twice = TEXT
        .replace("0 C ZA 524352 + 64 [0]\n", "0 C ZA 524352 + 64 [0]\n259,0 3 5 0.000001901 0 C ZA 524352 + 64 [0]\n");
    assert_eq!(read(twice.as_bytes()).1, read(TEXT.as_bytes()).1);
}

/// Linux 6.1, 6.12 and 6.18 print appends and zeroes as `N`, and commands to zones without an extent; 7.2 has words for them.
#[test]
fn zeroes_and_unnamed_requests_are_counted_by_version() {
    let event = |time: u64, what: &str| format!(" dd-1 [000] .... {time}.0: block_rq_issue: 7,0 {what} be,0,4 [dd]\n");
    let write = event(1, "WS 65536 () 0 + 128");
    let old = [
        &write,
        &event(2, "NS 1048576 () 2048 + 2048"),
        &event(3, "N 65536 () 8192 + 128"),
        &event(4, "NS 0 () 0 + 0"),
    ];
    let old: String = old.into_iter().map(String::as_str).collect();
    let passed_through = event(5, "N 36 (12 00 00 00 24 00) 0 + 0");
    let (_, requests, notes) = read((old + &passed_through).as_bytes());
    assert_eq!(brief(&requests), [(Op::Write, 0, 128)]);
    assert!(
        has(&notes, "2 requests of 1114112 bytes were passed over, of which this kernel does not say"),
        "{notes:?}"
    );
    assert!(has(&notes, "1 commands to zones, such as resets, were passed over"), "{notes:?}");
    let new = write + &event(2, "WZS 1048576 () 2048 + 2048") + &event(3, "ZRS 0 () 0 + 0");
    let (_, requests, notes) = read(new.as_bytes());
    assert_eq!(brief(&requests), [(Op::Write, 0, 128), (Op::Trim, 2048, 2048)]);
    assert!(has(&notes, "1 requests for zeroes, 1048576 bytes, count as trims"), "{notes:?}");
    assert!(has(&notes, "1 zone resets"), "{notes:?}");
}

/// Kind of action, category, sector and bytes of an event.
type Told = (u64, u64, u64, u32);

/// Events of version 7, of a processor each.
fn version_7(events: &[(Told, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, ((action, category, sector, length), processor)) in (0u32..).zip(events) {
        bytes.extend(0x6561_7407u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend((1000 * u64::from(number)).to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(((action | category << 16) as u32).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(processor.to_le_bytes());
        bytes.extend([0; 4]);
    }
    bytes
}

/// Events of version 8: an append that is told twice, zeroes, and commands to zones.
pub(super) fn version_8() -> Vec<u8> {
    const WRITE: u64 = 2;
    let events: [Told; 8] = [
        (7, WRITE | 1 << 16, 0, 32_768),
        (8, WRITE | 1 << 16, 64, 32_768),
        (8, 1 << 16, 64, 32_768),
        (7, WRITE, 4096, 4096),
        (7, WRITE | 1 << 22, 8192, 65_536),
        (7, WRITE | 1 << 17, 0, 0),
        (7, WRITE | 1 << 18, 0, 0),
        (7, WRITE | 1 << 19, 0, 0),
    ];
    let mut bytes = Vec::new();
    for (number, (action, category, sector, length)) in (0u32..).zip(events) {
        bytes.extend(0x6561_7408u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend((1000 * u64::from(number)).to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend((action | category << 16).to_le_bytes());
        bytes.extend(7u32.to_le_bytes());
        bytes.extend((number % 2).to_le_bytes());
        // An error of 0, and a payload of 3 bytes behind the padding.
        bytes.extend([0, 0, 3, 0]);
        bytes.extend([0; 12]);
        bytes.extend([9; 3]);
    }
    bytes
}

#[test]
fn events_of_version_8_are_read_with_what_they_name() {
    let bytes = version_8();
    let (format, requests, notes) = read(&bytes);
    assert_eq!(format, Format::Blktrace);
    assert_eq!(brief(&requests), [(Op::Write, 64, 64), (Op::Write, 4096, 8), (Op::Trim, 8192, 128)]);
    for told in ["1 appends to zones count at their completion", "1 requests for zeroes, 65536 bytes", "2 zone resets"]
    {
        assert!(has(&notes, told), "{told} in {notes:?}");
    }
    for (cut, want) in [
        (60, "it is cut off before its 64 bytes"),
        (65, "its payload is cut off"),
        (20, "it is cut off after 20 of 48 bytes"),
    ] {
        let options = Options { format: Some(Format::Blktrace), ..Options::default() };
        let error = reader(&bytes[..cut], &options).unwrap().find_map(Result::err).unwrap().to_string();
        assert!(error.contains(want), "{error}");
    }
    let mut later = bytes;
    later[0] = 9;
    let error = reader(&later, &Options::default()).unwrap().find_map(Result::err).unwrap().to_string();
    assert!(error.contains("record 1: its version is 9, and versions up to 8 are known"), "{error}");
}

/// The events of version 7 have no word for appends: they look like writes that complete elsewhere.
#[test]
fn writes_that_complete_elsewhere_count_at_their_completion() {
    let mut events = Vec::new();
    let mut text = String::new();
    for number in 0..20u64 {
        let (zone, sector) = (number % 4 * SECTORS, number % 4 * SECTORS + number / 4 * 64);
        events.push(((7, 2, zone, 32_768), 0));
        events.push(((8, 2, sector, 32_768), 1));
        text.push_str(&format!(
            "8,0 0 1 {number}.0 1 D W {zone} + 64 [a]\n8,0 1 1 {number}.1 0 C W {sector} + 64 [0]\n"
        ));
    }
    for bytes in [version_7(&events), text.into_bytes()] {
        let (format, requests, notes) = read(&bytes);
        let mut sectors: Vec<u64> = brief(&requests).iter().map(|request| request.1).collect();
        sectors.sort_unstable();
        sectors.dedup();
        assert_eq!((requests.len(), sectors.len()), (20, 20), "{format}");
        assert!(
            has(&notes, "counts completion (C) events") && has(&notes, "writes complete at other sectors"),
            "{notes:?}"
        );
    }
    // Requests that are still under way, and requests of which another processor's file has the other half.
    let halves: Vec<(Told, u32)> =
        (0..40).map(|n| (([7, 8][n as usize % 2], 2, 8 * (n * 37 % 101), 4096), 0)).collect();
    let (_, requests, notes) = read(&version_7(&halves));
    assert!(requests.len() == 20 && has(&notes, "counts issue (D) events"), "{notes:?}");
}

#[test]
fn files_of_single_processors_are_told() {
    let event = |number: u64, processor: u32| ((7, 2, 8 * number, 4096), processor);
    let one: Vec<(Told, u32)> = (0..20).map(|number| event(number, 3)).collect();
    let notes = read(&version_7(&one)).2;
    assert!(has(&notes, "all events are of processor 3; blktrace writes a file for each"), "{notes:?}");
    let merged: Vec<(Told, u32)> = (0..20).map(|number| event(number, number as u32 % 4)).collect();
    assert!(!has(&read(&version_7(&merged)).2, "processor"));
    // Each file begins where the one before did.
    let files: Vec<u8> =
        (0..4).flat_map(|processor| version_7(&[(event(1, processor)), event(2, processor)])).collect();
    let notes = read(&files).2;
    assert!(has(&notes, "events of 4 processors, one after the other, so that most times are lost"), "{notes:?}");
}
