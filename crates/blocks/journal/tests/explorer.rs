//! Journals on a disk that fails at every call, of processes that are killed and machines that crash at every call, and damaged at every byte:
//! what was acknowledged is there, and nothing that was never written, whatever clients write.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "explorer/contents.rs"]
mod contents;
#[path = "explorer/old.rs"]
mod old;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use wane_folder::{Disk, Failing, Simulated};
use wane_journal::{Input, Journal, JournalConfig, JournalError, Lineage, Opened, Place, Record};
use wane_sim::{Stream, Streams};

use contents::{KINDS, contents};

const FOLDER: &str = "/drive";
const DEVICE: u64 = 0xfeed;
const CONFIG: JournalConfig = JournalConfig { segment_bytes: 700, step_bytes: 200 };

fn create(disk: &Simulated) -> Result<Journal, JournalError> {
    Journal::create(Arc::new(disk.clone()), Path::new(FOLDER), DEVICE, CONFIG)
}

/// Where a new journal begins.
fn begin() -> Place {
    create(&Simulated::default()).unwrap().place()
}

type Records = Vec<(u64, Input)>;

/// Opens a journal. Returns its records beside it.
fn open(disk: &Simulated, place: Place) -> Result<(Journal, Opened, Records), JournalError> {
    let mut records = Vec::new();
    let mut each = |record: &Record<'_>, file: &str| {
        let input = Input::decode(record.bytes).map_err(|error| JournalError::Meaningless {
            file: file.to_owned(),
            number: record.number,
            error,
        })?;
        records.push((record.at, input));
        Ok::<_, JournalError>(())
    };
    let (journal, opened) =
        Journal::open(Arc::new(disk.clone()), Path::new(FOLDER), &Lineage::of(DEVICE), CONFIG, (place, 0), &mut each)?;
    assert_eq!(opened.records, records.len() as u64);
    Ok((journal, opened, records))
}

/// What was done to a journal.
#[derive(Clone, Debug, Default)]
struct Model {
    appended: Vec<(u64, Input)>,
    /// Records that were acknowledged: a kill of the process does not lose them, and a crash of the machine does not.
    written: usize,
    synced: usize,
}

/// Lives a while, for clients that write [`contents`] of a kind. Ends at the first failure, which it returns.
fn live(
    journal: &mut Journal,
    model: &mut Model,
    (disk, kind): (&Simulated, u64),
    stream: &mut Stream,
    steps: usize,
) -> Result<(), JournalError> {
    for _ in 0..steps {
        match stream.below(11) {
            9 => {
                // Another thread makes it. What is done meanwhile is not part of it.
                if let Some(syncing) = journal.sync_later()? {
                    model.written = journal.written() as usize;
                    if stream.chance(0.5) {
                        syncing.run();
                    } else {
                        let input = Input::Comment(vec![9; 20]);
                        let at = 10 * model.appended.len() as u64;
                        journal.make_room(21)?;
                        model.appended.push((at, input.clone()));
                        syncing.run();
                        let appended = journal.append(at, &input);
                        if appended.is_err() {
                            model.appended.pop();
                        }
                        appended?;
                    }
                }
                model.synced = model.synced.max(journal.settle()? as usize);
            }
            0..5 => {
                let input = Input::Command(contents(kind, journal.number(), disk, stream));
                let at = 10 * model.appended.len() as u64;
                journal.make_room(old::encoded(&input).len())?;
                journal.append(at, &input)?;
                model.appended.push((at, input));
            }
            5..7 => model.written = journal.write()? as usize,
            7..9 => {
                model.synced = journal.sync()? as usize;
                model.written = model.synced;
            }
            10.. => {
                journal.seal()?;
                (model.synced, model.written) = (model.appended.len(), model.appended.len());
            }
        }
        // An append may have gone over to the next segment, and synced for that.
        model.synced = model.synced.max(journal.synced() as usize);
        model.written = model.written.max(journal.written() as usize);
    }
    Ok(())
}

/// The records are those that were appended, up to some point, and at least `least`. Forgets what is not there.
fn holds(records: &[(u64, Input)], model: &mut Model, least: usize, case: &str) {
    assert!(records.len() >= least, "{case}: {} records, and {least} were acknowledged", records.len());
    assert!(records.len() <= model.appended.len(), "{case}: a record that nobody wrote");
    assert_eq!(records, &model.appended[..records.len()], "{case}");
    model.appended.truncate(records.len());
    (model.written, model.synced) = (records.len(), model.synced.min(records.len()));
}

#[test]
fn what_is_written_survives_a_kill_and_what_is_synced_a_crash_at_every_call() {
    // The number of calls of a life is known once it was lived.
    for seed in 0..seeds(2) {
        let kind = seed % KINDS;
        for call in 0.. {
            let disk = Simulated::default();
            let mut stream = Streams::new(seed).stream("life");
            let mut model = Model::default();
            disk.fail(call, if seed % 2 == 0 { Failing::Io } else { Failing::NoSpace });
            let case = format!("seed {seed}, call {call}");
            let Ok(mut journal) = create(&disk) else { continue };
            let failed = live(&mut journal, &mut model, (&disk, kind), &mut stream, 40).is_err();
            if failed {
                // Nothing is acknowledged any more, or all goes on: a third is not allowed.
                let after = journal.sync();
                if let Ok(synced) = after {
                    model.synced = synced as usize;
                    model.written = model.synced;
                }
            }
            drop(journal);
            disk.heal();
            let mut killed = model.clone();
            let alive = disk.clone();
            for crash in 0..6 {
                let crashed = disk.crashed(crash);
                let mut left = model.clone();
                let (mut journal, _, records) =
                    open(&crashed, begin()).unwrap_or_else(|error| panic!("{case}, crash {crash}: {error}"));
                holds(&records, &mut left, model.synced, &case);
                // It lives on, and crashes again.
                let mut again = Streams::new(crash).stream("again");
                let _ = live(&mut journal, &mut left, (&crashed, kind), &mut again, 15);
                let twice = crashed.crashed(crash + 1);
                let synced = left.synced;
                let (_, _, records) =
                    open(&twice, begin()).unwrap_or_else(|error| panic!("{case}, crash {crash} twice: {error}"));
                holds(&records, &mut left, synced, &format!("{case}, crash {crash} twice"));
            }
            // After a kill the system still has in memory what it was given, even what it failed to write.
            let (mut journal, _, records) = open(&alive, begin()).unwrap_or_else(|error| panic!("{case}: {error}"));
            let written = killed.written;
            holds(&records, &mut killed, written, &case);
            let mut again = Streams::new(seed).stream("killed");
            let _ = live(&mut journal, &mut killed, (&alive, kind), &mut again, 15);
            let synced = killed.synced.max(killed.appended.len().min(journal.synced() as usize));
            for crash in 0..4 {
                let mut left = killed.clone();
                let case = format!("{case}, killed, crash {crash}");
                let (_, _, records) =
                    open(&alive.crashed(crash), begin()).unwrap_or_else(|error| panic!("{case}: {error}"));
                holds(&records, &mut left, synced, &case);
            }
            if !failed {
                break;
            }
        }
    }
}

/// N seeds of an explorer for each kind of [`contents`]; `WANE_JOURNAL_SEEDS` says another N.
fn seeds(of_each: u64) -> u64 {
    std::env::var("WANE_JOURNAL_SEEDS").map_or(of_each, |given| given.parse().unwrap()) * KINDS
}

/// A life of which each call is the last.
fn killed_at_each_call(seed: u64) {
    let kind = seed % KINDS;
    for call in 0.. {
        let disk = Simulated::default();
        let mut stream = Streams::new(seed).stream("life");
        let mut kills = Streams::new(seed).stream(&format!("kill {call}"));
        let mut model = Model::default();
        disk.fail(call, Failing::Killed(kills.below(256) as u8));
        let Ok(mut journal) = create(&disk) else { continue };
        let is_killed = live(&mut journal, &mut model, (&disk, kind), &mut stream, 40).is_err();
        drop(journal);
        disk.heal();
        for opened in 0..3 {
            let case = format!("seed {seed}, killed at call {call}, opened {opened} times");
            if opened < 2 {
                // Who opens it is killed, too.
                disk.fail(kills.below(8), Failing::Killed(kills.below(256) as u8));
                let _ = open(&disk, begin());
                disk.heal();
            }
            let (mut journal, found, records) = open(&disk, begin()).unwrap_or_else(|error| panic!("{case}: {error}"));
            let least = model.written;
            holds(&records, &mut model, least, &case);
            assert_eq!(found.dropped, 0, "{case}: a kill leaves no whole record behind a torn one");
            if opened == 1 {
                disk.fail(kills.below(12), Failing::Killed(kills.below(256) as u8));
            }
            let _ = live(&mut journal, &mut model, (&disk, kind), &mut kills, 6);
            disk.heal();
        }
        // And then the machine dies.
        let (synced, case) = (model.synced, format!("seed {seed}, killed at call {call}, and crashed"));
        for crash in 0..2 {
            let (_, _, records) =
                open(&disk.crashed(crash), begin()).unwrap_or_else(|error| panic!("{case} {crash}: {error}"));
            holds(&records, &mut model.clone(), synced, &case);
        }
        if !is_killed {
            break;
        }
    }
}

#[test]
fn a_process_that_is_killed_at_any_call_loses_nothing_that_was_written_and_its_journal_opens() {
    (0..seeds(2)).for_each(killed_at_each_call);
}

/// A journal of some segments, of which all but the last records are known to be on the disk.
fn lived(disk: &Simulated) -> Model {
    let mut journal = create(disk).unwrap();
    let mut model = Model::default();
    for number in 0..12u64 {
        let input = Input::Command(vec![number as u8 + 1; 40 + 20 * number as usize % 90]);
        journal.append(number, &input).unwrap();
        model.appended.push((number, input));
        if number % 3 == 2 {
            model.synced = journal.sync().unwrap() as usize;
        }
    }
    for number in 12..15u64 {
        let input = Input::Comment(vec![7; 9]);
        journal.append(number, &input).unwrap();
        model.appended.push((number, input));
    }
    model.written = journal.write().unwrap() as usize;
    model
}

#[test]
fn a_flip_or_a_cut_anywhere_is_cut_off_or_refused() {
    let whole = Simulated::default();
    let model = lived(&whole);
    // What its last records say was on the disk when they were written.
    let marked = 12;
    let names = whole.names(Path::new(FOLDER)).unwrap();
    assert!(names.len() > 2, "{names:?}");
    let (mut cut, mut refused, mut unharmed) = (0, 0, 0);
    for name in &names {
        let path = Path::new(FOLDER).join(name);
        let length = whole.read(&path).unwrap().len();
        for place in 0..length {
            for flips in [true, false] {
                let disk = whole.crashed(0);
                let all = whole.read(&path).unwrap();
                disk.damage(&path, |bytes| {
                    *bytes = all.clone();
                    if flips {
                        bytes[place] ^= 1 << (place % 8);
                    } else {
                        bytes.truncate(place);
                    }
                });
                for other in names.iter().filter(|other| *other != name) {
                    let other = Path::new(FOLDER).join(other);
                    let all = whole.read(&other).unwrap();
                    disk.damage(&other, |bytes| *bytes = all);
                }
                let case = format!("{name}, byte {place}, flips {flips}");
                match open(&disk, begin()) {
                    Ok((_, _, records)) => {
                        assert!(records.len() >= marked, "{case}: {} records", records.len());
                        let mut left = model.clone();
                        holds(&records, &mut left, marked, &case);
                        if records.len() == model.appended.len() { unharmed += 1 } else { cut += 1 }
                    }
                    Err(JournalError::Damaged { .. } | JournalError::Missing { .. }) => refused += 1,
                    Err(other) => panic!("{case}: {other}"),
                }
            }
        }
    }
    // Bytes behind the records mean nothing.
    assert!(cut > 50 && refused > 500 && unharmed > 20, "{cut} {refused} {unharmed}");
}

#[test]
fn segments_of_others_are_refused() {
    let (disk, other) = (Simulated::default(), Simulated::default());
    let model = lived(&disk);
    let mut stranger = Journal::create(Arc::new(other.clone()), Path::new(FOLDER), DEVICE + 1, CONFIG).unwrap();
    stranger.append(1, &Input::Comment(vec![1; 9])).unwrap();
    stranger.sync().unwrap();
    let path = Path::new(FOLDER).join("journal.1");
    let (own, strange) = (disk.read(&path).unwrap(), other.read(&path).unwrap());
    disk.damage(&path, |bytes| *bytes = strange);
    assert!(matches!(open(&disk, begin()), Err(JournalError::Stranger { file }) if file == "journal.1"));
    // A segment of this device at another place is one too.
    let second = disk.read(&Path::new(FOLDER).join("journal.2")).unwrap();
    disk.damage(&path, |bytes| *bytes = own.clone());
    disk.damage(&Path::new(FOLDER).join("journal.3"), |bytes| *bytes = second);
    assert!(matches!(open(&disk, begin()), Err(JournalError::Stranger { file }) if file == "journal.3"));
    assert!(model.synced > 0);
}

#[test]
fn a_record_that_finds_no_room_is_refused_and_nothing_else() {
    let disk = Simulated::default();
    let mut journal = create(&disk).unwrap();
    let input = Input::Command(vec![3; 500]);
    journal.append(0, &input).unwrap();
    disk.fail(1, Failing::NoSpace);
    assert!(matches!(journal.make_room(501), Err(JournalError::NoRoom(_))));
    // Where there is room again, it goes on.
    journal.make_room(501).unwrap();
    journal.append(1, &input).unwrap();
    assert_eq!(journal.sync().unwrap(), 2);
    // What is longer than a segment gets a longer one.
    let long = Input::Command(vec![4; 5000]);
    journal.append(2, &long).unwrap();
    journal.sync().unwrap();
    let (_, _, records) = open(&disk.crashed(1), begin()).unwrap();
    assert_eq!(records, [(0, input.clone()), (1, input), (2, long)]);
}

#[test]
fn a_journal_goes_on_from_a_checkpoint_and_forgets_what_lies_before() {
    let disk = Simulated::default();
    let mut journal = create(&disk).unwrap();
    let input = |number: u64| Input::Command(vec![number as u8; 30]);
    for number in 0..20 {
        journal.append(number, &input(number)).unwrap();
    }
    let place = journal.seal().unwrap();
    assert_eq!((place.number, place.offset), (20, begin().offset));
    for number in 20..25 {
        journal.append(number, &input(number)).unwrap();
    }
    journal.sync().unwrap();
    journal.remove_before(place);
    drop(journal);
    let (mut journal, opened, records) = open(&disk, place).unwrap();
    assert_eq!((records.len(), opened.records, opened.cut), (5, 5, 0));
    assert_eq!(records[0], (20, input(20)));
    assert!(matches!(open(&disk, begin()), Err(JournalError::Missing { .. })));
    // To look changes nothing.
    let calls = disk.calls();
    let looked =
        Journal::look(&disk, Path::new(FOLDER), &Lineage::of(DEVICE), place, &mut |_, _| Ok::<_, JournalError>(()))
            .unwrap();
    assert_eq!((looked.records, disk.calls()), (5, calls));
    // A place within a segment is one too.
    let within = journal.place();
    journal.append(25, &input(25)).unwrap();
    journal.sync().unwrap();
    let (_, opened, _) = open(&disk, within).unwrap();
    assert_eq!(opened.records, 1);
}

#[test]
fn a_fork_goes_on_from_its_parents_segments_and_takes_no_later_ones() {
    let (parent, fork) = (Simulated::default(), Simulated::default());
    let mut journal = create(&parent).unwrap();
    let input = |number: u64| Input::Command(vec![number as u8; 30]);
    for number in 0..9 {
        journal.append(number, &input(number)).unwrap();
    }
    let end = journal.seal().unwrap();
    let copy = |number: u64| {
        let path = Path::new(FOLDER).join(wane_journal::name(number));
        let bytes = parent.read(&path).unwrap();
        let mut file = fork.create(&path).unwrap();
        file.write_all(&bytes).unwrap();
    };
    (1..end.segment).for_each(copy);
    let lineage = Lineage::of(DEVICE).forked(end.segment - 1, DEVICE + 7);
    let reopen = || {
        let mut records = 0;
        let mut each = |_: &Record<'_>, _: &str| {
            records += 1;
            Ok::<_, JournalError>(())
        };
        let place = (begin(), 0);
        let (journal, _) =
            Journal::open(Arc::new(fork.clone()), Path::new(FOLDER), &lineage, CONFIG, place, &mut each)?;
        Ok::<_, JournalError>((journal, records))
    };
    let (mut own, records) = reopen().unwrap();
    assert_eq!((records, own.place().segment), (9, end.segment), "the parent has a segment of this number, too");
    own.append(9, &input(99)).unwrap();
    own.sync().unwrap();
    drop(own);
    assert_eq!(reopen().unwrap().1, 10);
    // What the parent wrote afterwards is a stranger's.
    journal.append(9, &input(9)).unwrap();
    journal.sync().unwrap();
    copy(end.segment);
    assert!(matches!(reopen(), Err(JournalError::Stranger { .. })));
}

#[test]
fn a_newest_segment_without_its_head_is_refused_if_any_of_it_was_on_the_disk() {
    let folder = Path::new(FOLDER);
    for groups in [1, 2] {
        let disk = Simulated::default();
        let mut journal = create(&disk).unwrap();
        journal.append(0, &Input::Comment(vec![1; 9])).unwrap();
        let newest = wane_journal::name(journal.seal().unwrap().segment);
        for number in 1..=groups {
            journal.append(number, &Input::Comment(vec![1; 9])).unwrap();
            journal.sync().unwrap();
        }
        drop(journal);
        disk.damage(&folder.join(&newest), |bytes| bytes[3] ^= 1);
        match (groups, open(&disk, begin())) {
            // Nothing says of the last group that it was.
            (1, Ok((_, opened, records))) => assert_eq!((records.len(), opened.dropped), (1, 1)),
            (2, Err(JournalError::Damaged { file, .. })) => assert_eq!(file, newest),
            (_, other) => panic!("{groups}: {:?}", other.map(|(_, opened, _)| opened)),
        }
    }
}

#[test]
fn a_segment_that_is_missing_is_named() {
    let disk = Simulated::default();
    lived(&disk);
    disk.remove(&Path::new(FOLDER).join("journal.2")).unwrap();
    assert!(matches!(open(&disk, begin()), Err(JournalError::Missing { file }) if file == "journal.2"));
}

#[test]
fn whole_records_behind_a_torn_one_are_counted_whatever_bytes_lie_there() {
    let mut stream = Streams::new(1).stream("bytes");
    let random: Vec<u8> = (0..4 << 20).map(|_| stream.below(256) as u8).collect();
    let heads = old::head(1 << 16, (3, 0)).repeat(1 << 15);
    let config = JournalConfig { segment_bytes: 64 << 20, step_bytes: 1 << 20 };
    for (bytes, last) in [(random.clone(), 9), (random, 0), (heads, 9)] {
        let disk = Simulated::default();
        let arc: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut journal = Journal::create(arc, Path::new(FOLDER), DEVICE, config).unwrap();
        let mut places = Vec::new();
        for number in 0..4 {
            let input = if number == 2 { bytes.clone() } else { vec![last; 9] };
            places.push(journal.place().offset as usize);
            journal.append(number, &Input::Command(input)).unwrap();
        }
        journal.write().unwrap();
        disk.damage(&Path::new(FOLDER).join("journal.1"), |all| all[(places[2] + places[3]) / 2] ^= 1);
        let (_, opened, records) = open(&disk, begin()).unwrap();
        assert_eq!((records.len(), opened.dropped), (2, 1));
    }
}

#[test]
fn what_nobody_knows_to_be_on_the_disk_is_counted() {
    let disk = Simulated::default();
    let mut journal = create(&disk).unwrap();
    let input = Input::Comment(vec![1; 9]);
    let look = || {
        let mut each = |_: &Record<'_>, _: &str| Ok::<_, JournalError>(());
        Journal::look(&disk, Path::new(FOLDER), &Lineage::of(DEVICE), begin(), &mut each).unwrap()
    };
    for (number, syncs) in [(0, false), (1, false), (2, true), (3, false), (4, true)] {
        journal.append(number, &input).unwrap();
        let _ = if syncs { journal.sync().unwrap() } else { journal.write().unwrap() };
        // The record after a sync says that it was made.
        assert_eq!((look().records, look().unmarked), [(1, 1), (2, 2), (3, 3), (4, 1), (5, 2)][number as usize]);
    }
    drop(journal);
    let known = |known: u64| {
        let mut each = |_: &Record<'_>, _: &str| Ok::<_, JournalError>(());
        let (arc, lineage): (Arc<dyn Disk>, _) = (Arc::new(disk.clone()), Lineage::of(DEVICE));
        Journal::open(arc, Path::new(FOLDER), &lineage, CONFIG, (begin(), known), &mut each)
    };
    assert!(matches!(known(6), Err(JournalError::Damaged { number: 5, .. })), "somebody knows of a sixth");
    for (of_first, repeated) in [(0, 2), (4, 1)] {
        let (journal, _) = known(of_first).unwrap();
        assert_eq!(journal.place().offset - begin().offset, repeated * 58, "what is on the disk is not written again");
        assert_eq!((look().records, look().unmarked), (5, repeated), "no record says that the last ones are");
    }
}
