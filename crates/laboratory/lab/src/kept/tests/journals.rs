//! Journals of kept drives: what is in them, what is done again, and what damage does.

use wane_folder::Disk;
use wane_raid::redundant_of;

use super::*;

/// Drives that are served: recovery with and without power-loss protection, both schedulers, one without a clock.
pub(super) const SERVED: [&str; 7] = [
    "[drive]\npreset = \"tiny\"\nendurance = 60\nchip = \"tlc-72l-2018\"\n[drive.ecc]\nstrength = 75\n[ftl]\nrecovery = \"checkpoint\"\n\
     [time]\nscheduler = \"event\"\n[until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\npower-loss-protection = false\n[ftl]\nrecovery = \"full-scan\"\n[time]\nscheduler = \"timeline\"\n\
     [until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\n[until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\nendurance = 60\nchip = \"tlc-72l-2018\"\n[drive.ecc]\nstrength = 75\n[ftl]\nrecovery = \"checkpoint\"\n\
     [time]\nscheduler = \"event\"\n[array]\nat-end-of-life = \"gone\"\n[until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\npower-loss-protection = false\n[ftl]\nrecovery = \"full-scan\"\n[array]\nlayout = \"stripe\"\n\
     [until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\nlogical-capacity = \"16 MiB\"\n[ftl]\nrecovery = \"full-scan\"\n[array]\nlayout = \"raid\"\n\
     chunk = \"8 KiB\"\ncode = \"pq\"\njournal = \"none\"\n[[array.member]]\ncount = 4\n[until]\nend-of-life = true\n",
    "[drive]\npreset = \"tiny\"\nlogical-capacity = \"16 MiB\"\n[ftl]\nrecovery = \"full-scan\"\n[time]\nscheduler = \"event\"\n[array]\nlayout = \"raid\"\n\
     chunk = \"8 KiB\"\n[[array.member]]\ncount = 3\n[until]\nend-of-life = true\n",
];

/// What its server does to a drive: notes it in the journal and does it, in this order or the other.
struct Server {
    kept: Kept,
    journal: wane_journal::Journal,
    at: SimTime,
}

impl Server {
    fn of(path: &Path) -> Self {
        let mut kept = Kept::open(path).unwrap();
        let journal = kept.journal().unwrap();
        let at = kept.device().now();
        Self { kept, journal, at }
    }

    fn call(&mut self, entry: Entry) {
        let input = Input::Call(entry.clone());
        self.journal.append(self.at.0, &input).unwrap();
        self.at = self.at.max(entry.repeat(self.kept.device_mut()));
    }

    fn act(&mut self, act: &Act) {
        let at = self.kept.device().now();
        self.kept.act(act).unwrap();
        self.journal.append(at.0, &Input::Command(act.encode())).unwrap();
        self.at = self.at.max(self.kept.device().now());
    }

    /// A while of all that clients and control do.
    fn serve(&mut self, stream: &mut Stream, steps: usize) {
        let units = self.kept.device().capacity().0 / 8;
        for _ in 0..steps {
            self.at = SimTime(self.at.0 + stream.below(300_000));
            let at = self.at;
            let range = SectorRange::new(Lba(8 * stream.below(units - 8)), Sectors(1 + stream.below(64)));
            let request = match stream.below(100) {
                0..45 => Request::write(range, vec![stream.below(250) as u8 + 1; range.len_bytes()]),
                45..80 => Request::read(range),
                80..88 => Request::trim(range),
                88..93 => Request::flush(),
                93 => return self.rarely(stream),
                _ => {
                    // Whether answers are taken out changes nothing.
                    self.kept.device_mut().complete(at, &mut Vec::new());
                    continue;
                }
            };
            self.call(Entry::Submit { at, request });
        }
    }

    /// Control waits until nothing is under way.
    fn waits(&mut self) {
        drain(self.kept.device_mut(), self.at, &mut Vec::new());
        self.at = self.at.max(self.kept.device().now());
    }

    fn rarely(&mut self, stream: &mut Stream) {
        self.waits();
        let at = self.at;
        let can_recover = self.kept.scenario().ftl.recovery.policy().acts();
        let here = self.kept.drive_writes();
        if self.kept.repairs().is_some() && stream.chance(0.5) {
            return self.tend(stream);
        }
        match stream.below(7) {
            0 => self.act(&Act::Days(3.0)),
            1 => {
                let lost = Act::Lose((0..5).map(|_| stream.below(1000) as u32).collect());
                self.act(&if self.kept.is_array() { Act::Of(1, Box::new(lost)) } else { lost });
            }
            2 => self.act(&Act::Flush),
            3 => self.call(Entry::Pass { at, time: Passing::Idle(Nanos(5_000_000)) }),
            4 => {
                let aging = Aging { target: Target::DriveWrites(here + 0.2), fast_forward: None, stopped_at: None };
                self.act(&Act::Age(aging));
            }
            5 if can_recover => {
                let mut fates = (0..400).map(|_| [Fate::Done, Fate::Torn, Fate::Undone][stream.below(3) as usize]);
                let fates: Vec<Fate> = fates.by_ref().collect();
                self.call(Entry::PowerOff { at, fates });
                self.call(Entry::PowerOn { at: SimTime(at.0 + 1_000_000) });
            }
            _ => {
                let fast_forward = Some(4.0).filter(|_| !self.kept.is_array());
                let aging = Aging { target: Target::DriveWrites(here + 9.0), fast_forward, stopped_at: None };
                self.act(&Act::Age(aging));
            }
        }
    }

    /// Its operator takes a drive of a mirror or a raid out, puts it back, or has a new one.
    fn tend(&mut self, stream: &mut Stream) {
        let absent = self.kept.members().iter().find(|member| member.state == MemberState::Absent).map(|one| one.place);
        let place = stream.below(2) as u32;
        let sooner = self.at.saturating_add(Nanos(stream.below(20_000_000)));
        match (absent, stream.below(3)) {
            (Some(place), 0) if self.kept.drive().end_of_life().is_none() => self.act(&Act::Replace(place as u32)),
            (Some(place), _) => {
                let back = Act::PutBack(place as u32);
                self.act(&back);
            }
            (None, 0) => self.act(&Act::TakeOut(place)),
            (None, 1) => self.act(&Act::Scrub),
            (None, _) => self.call(Entry::Pass { at: self.at, time: Passing::Idle(Nanos(sooner.0 - self.at.0)) }),
        }
    }

    /// Its server dies. Returns what the drive was.
    fn dies(mut self) -> Vec<u8> {
        self.journal.write().unwrap();
        at_rest(&mut self.kept)
    }
}

/// A drive at rest, without answers for nobody.
pub(super) fn at_rest(kept: &mut Kept) -> Vec<u8> {
    let sector = kept.device().features().sector;
    kept.come_to_rest();
    let now = kept.device().now();
    kept.device_mut().complete(now, &mut Vec::new());
    assert_eq!(kept.device().features().sector, sector);
    bytes(kept)
}

#[test]
fn a_drive_whose_server_died_is_bit_by_bit_what_it_was() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in SERVED.into_iter().enumerate() {
        let path = place.path().join(format!("{number}.wane"));
        let mut kept = Kept::create(&path, &scenario(text), &go()).unwrap();
        kept.keep_bytes().unwrap();
        kept.save("to be served".to_owned()).unwrap();
        drop(kept);
        let mut stream = Streams::new(number as u64).stream("clients");
        for round in 0..3 {
            let mut server = Server::of(&path);
            server.act(&Act::KeepBytes);
            for _ in 0..4 {
                server.serve(&mut stream, 100);
            }
            if round == 1 {
                // Saved meanwhile, and then served on.
                server.waits();
                server.act(&Act::Flush);
                server.act(&Act::ComeToRest);
                server.kept.save_beside("saved meanwhile".to_owned(), &mut server.journal).unwrap();
                server.serve(&mut stream, 60);
            }
            let was = server.dies();
            let mut again = Kept::open(&path).unwrap();
            assert!(again.repeated() > 20, "{text} {round}: {} records", again.repeated());
            again.check().unwrap();
            assert!(at_rest(&mut again) == was, "{text} {round}: another drive");
        }
        // A save ends the journal, and a fork before has it.
        let fork = place.path().join(format!("{number}-fork.wane"));
        Kept::fork(&path, &fork).unwrap();
        let mut saved = Kept::open(&path).unwrap();
        saved.save("looked at".to_owned()).unwrap();
        drop(saved);
        let is_segment = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("journal.");
        assert_eq!(std::fs::read_dir(&path).unwrap().flatten().filter(is_segment).count(), 0);
        let (mut saved, mut fork) = (Kept::open(&path).unwrap(), Kept::open(&fork).unwrap());
        assert!(saved.repeated() == 0 && fork.repeated() > 20);
        assert!(at_rest(&mut saved) == at_rest(&mut fork));
    }
}

#[test]
fn a_damaged_journal_is_refused_and_nothing_is_changed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap());
    let mut server = Server::of(&path);
    server.act(&Act::KeepBytes);
    server.journal.sync().unwrap();
    server.act(&Act::Days(2.0));
    server.journal.sync().unwrap();
    drop(server);
    let segment = path.join("journal.1");
    let whole = std::fs::read(&segment).unwrap();
    let mut bytes = whole.clone();
    bytes[80] ^= 4;
    std::fs::write(&segment, &bytes).unwrap();
    let refused = Kept::open(&path).err().unwrap().to_string();
    assert!(refused.contains("a.wane: journal.1 is damaged at byte 68: record 0 was on the disk"), "{refused}");
    assert!(std::fs::read(&segment).unwrap() == bytes, "it is as it was");
    std::fs::write(&segment, &whole).unwrap();
    assert_eq!(Kept::open(&path).unwrap().drive().day(), 2.0);
}

/// The newest file of a drive's journal, and its bytes up to the last that is not zero.
fn newest(path: &Path) -> (std::path::PathBuf, Vec<u8>) {
    let number =
        wane_folder::System.names(path).unwrap().iter().filter_map(|name| wane_journal::segment_of(name)).max();
    let file = path.join(wane_journal::name(number.unwrap()));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1);
    (file, bytes)
}

#[test]
fn a_journal_that_was_closed_is_refused_wherever_it_is_cut_off() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap());
    for days in [1.0, 2.0] {
        let mut kept = Kept::open(&path).unwrap();
        kept.act(&Act::Days(days)).unwrap();
        kept.keep(format!("{days} days")).unwrap();
    }
    let is_whole = JournalEnd { records: 8, unmarked: 0, is_known: true };
    assert_eq!(Kept::open(&path).unwrap().journal_end(), Some(is_whole));
    let (file, bytes) = newest(&path);
    for length in 0..bytes.len() {
        std::fs::write(&file, &bytes[..length]).unwrap();
        let refused =
            Kept::open(&path).err().unwrap_or_else(|| panic!("cut off at byte {length}, it opens")).to_string();
        assert!(refused.contains("was cut off, or is an older copy") || refused.contains("is damaged at"), "{refused}");
    }
    std::fs::remove_file(&file).unwrap();
    let refused = Kept::open(&path).err().unwrap().to_string();
    assert!(refused.contains("journal.1 ends before record 4, and 8 records were on the disk"), "{refused}");
    // Its owner goes on from what is there.
    std::fs::remove_file(path.join("lock")).unwrap();
    let mut kept = Kept::open(&path).unwrap();
    assert_eq!((kept.drive().day(), kept.journal_end().unwrap().is_known), (1.0, false));
    kept.act(&Act::Days(3.0)).unwrap();
    kept.keep("3 days".to_owned()).unwrap();
    drop(kept);
    assert!(Kept::open(&path).unwrap().journal_end().unwrap().is_known);
}

#[test]
fn of_a_journal_whose_server_died_it_is_said_what_nobody_knows_to_be_on_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap());
    assert_eq!(Kept::open(&path).unwrap().journal_end(), None);
    let mut server = Server::of(&path);
    server.act(&Act::KeepBytes);
    server.act(&Act::Days(1.0));
    server.journal.sync().unwrap();
    let mut places = Vec::new();
    for days in [2.0, 3.0] {
        server.act(&Act::Days(days));
        places.push(server.journal.place().offset as usize);
    }
    server.dies();
    let end = || Kept::open(&path).unwrap().journal_end();
    assert_eq!(end(), Some(JournalEnd { records: 4, unmarked: 2, is_known: false }));
    let file = path.join("journal.1");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..places[0]]).unwrap();
    assert_eq!(end(), Some(JournalEnd { records: 3, unmarked: 1, is_known: false }));
    std::fs::write(&file, &bytes[..places[0] - 1]).unwrap();
    assert_eq!(end(), Some(JournalEnd { records: 2, unmarked: 2, is_known: false }), "no record says what was there");
    // Who goes on with it puts it on the disk first.
    drop(Server::of(&path));
    assert_eq!(end(), Some(JournalEnd { records: 2, unmarked: 0, is_known: false }));
}

/// Makes of a drive's journal one of the format before, as an older wane left it.
fn made_old(path: &Path) {
    let manifest = path.join(wane_shelf::MANIFEST);
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let start: JournalStart = serde_json::from_value(value["journal"].clone()).unwrap();
    let Place { segment, number, digest, .. } = start.place;
    let mut bytes = b"wanejr01".to_vec();
    for field in [start.device, segment, number, number] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([digest.to_le_bytes(), [0; 4]].concat());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let mut each = |record: &Record<'_>, _: &str| {
        let length = (record.bytes.len() as u32).to_le_bytes();
        let fields = [record.number, record.at, record.number].into_iter().flat_map(|field| field.to_le_bytes());
        let rest: Vec<u8> = fields.chain(record.bytes.iter().copied()).collect();
        let salted = [&start.device.to_le_bytes()[..], &segment.to_le_bytes(), &length, &rest].concat();
        bytes.extend([&length[..], &crc32fast::hash(&salted).to_le_bytes(), &rest].concat());
        Ok::<_, JournalError>(())
    };
    Journal::look(&wane_folder::System, path, &start.lineage(), start.place, &mut each).unwrap();
    for name in wane_folder::System.names(path).unwrap().iter().filter(|name| wane_journal::segment_of(name).is_some())
    {
        std::fs::remove_file(path.join(name)).unwrap();
    }
    std::fs::write(path.join(wane_journal::name(segment)), bytes).unwrap();
    (value["version"], value["journal"]["place"]["offset"], value["checksum"]) = (2.into(), 52.into(), 0.into());
    let bare: Manifest = serde_json::from_value(value.clone()).unwrap();
    value["checksum"] = crc32fast::hash(serde_json::to_string(&bare).unwrap().as_bytes()).into();
    std::fs::write(manifest, value.to_string()).unwrap();
    std::fs::remove_file(path.join("lock")).unwrap();
}

#[test]
fn a_drive_with_an_old_journal_is_what_it_was_and_goes_on_in_a_new_one() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in [SERVED[0], SERVED[4]].into_iter().enumerate() {
        let path = place.path().join(format!("{number}.wane"));
        let mut kept = Kept::create(&path, &scenario(text), &go()).unwrap();
        kept.keep_bytes().unwrap();
        kept.save("to be served".to_owned()).unwrap();
        drop(kept);
        let mut stream = Streams::new(number as u64).stream("clients");
        let mut server = Server::of(&path);
        server.act(&Act::KeepBytes);
        (0..4).for_each(|_| server.serve(&mut stream, 100));
        let was = server.dies();
        made_old(&path);
        let mut again = Kept::open(&path).unwrap();
        assert!(again.repeated() > 20 && again.folder.manifest().version == 2);
        assert!(at_rest(&mut again) == was, "{text}: another drive");
        drop(again);
        // Torn in its last record, it has all before that.
        let file = path.join("journal.1");
        let bytes = std::fs::read(&file).unwrap();
        let records = Kept::open(&path).unwrap().repeated();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(Kept::open(&path).unwrap().repeated(), records - 1);
        std::fs::write(&file, &bytes).unwrap();
        // An older wane would not know what comes now, and is told so by the manifest.
        let mut server = Server::of(&path);
        assert_eq!(server.kept.folder.manifest().version, VERSION);
        server.act(&Act::KeepBytes);
        (0..4).for_each(|_| server.serve(&mut stream, 100));
        let was = server.dies();
        assert!(at_rest(&mut Kept::open(&path).unwrap()) == was, "{text}: another drive");
    }
}

fn write(kept: &mut Kept, stream: &mut Stream) {
    let units = kept.device().capacity().0 / 8;
    let range = SectorRange::new(Lba(8 * stream.below(units - 64)), Sectors(8 * (1 + stream.below(60))));
    kept.perform(Request::write(range, vec![stream.below(250) as u8 + 1; range.len_bytes()])).unwrap();
}

/// One command of many kinds. Returns its note.
fn command(kept: &mut Kept, stream: &mut Stream) -> String {
    let is_array = kept.is_array();
    let of_one = |act: Act| if is_array { Act::Of(1, Box::new(act)) } else { act };
    let can_recover = kept.scenario().ftl.recovery.policy().acts();
    match stream.below(7) {
        0 => {
            kept.act(&Act::Wait(2.5, None)).unwrap();
        }
        1 => {
            kept.act(&of_one(Act::Retire(Retire::MostWorn(1)))).unwrap();
        }
        2 => {
            kept.act(&of_one(Act::Inject(0..40, Injection::FlippedBits(3), stream.below(99)))).unwrap();
        }
        3 if can_recover => {
            let mut fates = (0..).map(|number| [Fate::Done, Fate::Torn][number % 2]);
            // A drive that can be spared is lost in the same instant.
            let can_spare = redundant_of(kept.device()).is_some_and(|array| array.safety().spare > 0);
            kept.cut_power(if can_spare { &[1] } else { &[] }, || fates.next().unwrap()).unwrap();
            if can_spare {
                write(kept, stream);
                [Act::PutBack(1), Act::CopyAll].iter().for_each(|act| _ = kept.act(act).unwrap());
            }
        }
        4 => {
            let units = kept.device().capacity().0 / 8;
            kept.perform(Request::read(SectorRange::new(Lba(8 * stream.below(units)), Sectors(8)))).unwrap();
        }
        _ => (0..3).for_each(|_| write(kept, stream)),
    }
    format!("command {}", stream.below(1 << 40))
}

/// Segments of a drive's journal.
fn segments(path: &Path) -> usize {
    let is_segment = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("journal.");
    std::fs::read_dir(path).unwrap().flatten().filter(is_segment).count()
}

#[test]
fn what_a_command_does_is_in_the_journal_and_is_what_a_save_would_have_kept() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in SERVED.into_iter().enumerate() {
        let (journaled, saved) = (place.path().join(format!("{number}-j")), place.path().join(format!("{number}-s")));
        for path in [&journaled, &saved] {
            let mut kept = Kept::create(path, &scenario(text), &go()).unwrap();
            kept.act(&Act::KeepBytes).unwrap();
            (0..40).for_each(|_| write(&mut kept, &mut Streams::new(5).stream("first")));
            kept.save("bytes".to_owned()).unwrap();
        }
        let mut journals = 0;
        for round in 0..12 {
            let open = if round % 2 == 0 { Kept::open_late } else { Kept::open };
            let (mut one, mut other) = (open(&journaled).unwrap(), Kept::open(&saved).unwrap());
            let stream = || Streams::new(round).stream("command");
            let note = command(&mut one, &mut stream());
            command(&mut other, &mut stream());
            one.keep(note.clone()).unwrap();
            other.save(note).unwrap();
            assert_eq!(one.history().last(), other.history().last());
            drop((one, other));
            journals += usize::from(segments(&journaled) > 0);
            let (mut one, mut other) = (Kept::open_late(&journaled).unwrap(), Kept::open(&saved).unwrap());
            one.load().unwrap();
            one.check().unwrap();
            assert_eq!(one.history(), other.history());
            assert!(at_rest(&mut one) == at_rest(&mut other), "{text}, round {round}");
        }
        assert!(journals > 9, "{journals}");
        // What is done otherwise is kept by a save.
        let mut kept = Kept::open(&journaled).unwrap();
        age(&mut kept, Target::DriveWrites(0.1));
        kept.keep("aged".to_owned()).unwrap();
        drop(kept);
        assert_eq!(segments(&journaled), 0);
    }
}

#[test]
fn a_command_that_was_not_ended_was_never_done() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[0]), &go()).unwrap());
    let mut kept = Kept::open(&path).unwrap();
    kept.act(&Act::KeepBytes).unwrap();
    write(&mut kept, &mut Streams::new(1).stream("w"));
    kept.keep("the first".to_owned()).unwrap();
    drop(kept);
    let was = at_rest(&mut Kept::open(&path).unwrap());
    // The process dies before it wrote the note.
    let mut kept = Kept::open(&path).unwrap();
    let mut journal = kept.journal().unwrap();
    for act in [Act::Begin { command: true }, Act::Days(3.0)] {
        journal.append(0, &Input::Command(act.encode())).unwrap();
    }
    journal.sync().unwrap();
    drop((kept, journal));
    assert!(at_rest(&mut Kept::open(&path).unwrap()) == was);
    let mut kept = Kept::open(&path).unwrap();
    kept.act(&Act::Days(1.0)).unwrap();
    kept.keep("the second".to_owned()).unwrap();
    drop(kept);
    let kept = Kept::open(&path).unwrap();
    assert!((1.0..1.001).contains(&kept.drive().day()), "the three days of the other never were");
    assert_eq!(kept.history().len(), 3);
}

#[test]
fn damage_of_bytes_is_found_when_they_are_touched_and_nothing_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut kept = Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap();
    kept.keep_bytes().unwrap();
    let range = SectorRange::new(Lba(0), Sectors(2048));
    let mut stream = Streams::new(3).stream("bytes");
    kept.perform(Request::write(range, (0..range.len_bytes()).map(|_| stream.below(256) as u8).collect())).unwrap();
    kept.save("written".to_owned()).unwrap();
    drop(kept);
    let state = path.join("state.2");
    let mut bytes = std::fs::read(&state).unwrap();
    let middle = bytes.len() - 200_000;
    bytes[middle] ^= 1;
    std::fs::write(&state, &bytes).unwrap();
    assert!(Kept::open(&path).is_err(), "everything is verified");
    let mut kept = Kept::open_late(&path).unwrap();
    kept.check_bytes().unwrap();
    kept.perform(Request::read(range)).unwrap();
    let told = kept.check_bytes().unwrap_err().to_string();
    assert!(told.contains("a.wane: its state cannot be read: it is damaged in \"payload.chunk in state.2\""), "{told}");
    assert!(kept.keep("read".to_owned()).is_err() && kept.save("read".to_owned()).is_err());
    drop(kept);
    assert_eq!((segments(&path), path.join("state.3").exists()), (0, false));
}

#[test]
fn another_process_saves_a_served_drive_and_forks_go_their_own_way() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in SERVED.into_iter().enumerate() {
        let path = |name: &str| place.path().join(format!("{name}-{number}.wane"));
        let parent = path("parent");
        let mut kept = Kept::create(&parent, &scenario(text), &go()).unwrap();
        kept.keep_bytes().unwrap();
        kept.save("to be served".to_owned()).unwrap();
        drop(kept);
        let mut stream = Streams::new(number as u64).stream("clients");
        let mut server = Server::of(&parent);
        server.act(&Act::KeepBytes);
        for round in 0..4 {
            server.serve(&mut stream, 80);
            let fork = path(&format!("fork-{round}"));
            server.kept.fork_live(&fork, &mut server.journal).unwrap();
            assert!(server.kept.fork_live(&fork, &mut server.journal).is_err(), "it is there");
            let forked = at_rest(&mut Kept::open(&fork).unwrap());
            // Requests are under way, and time goes on, while the other process saves.
            let up_to = server.journal.seal().unwrap();
            server.serve(&mut stream, 30);
            Kept::save_up_to(&parent, server.kept.share_lock().unwrap(), up_to).unwrap();
            server.kept.renew().unwrap();
            if round == 1 {
                // Its server dies before it did anything else.
                server.journal.write().unwrap();
                drop(server);
                let again = Kept::open(&parent).unwrap();
                assert!(again.check_data().unexplained.is_empty());
                drop(again);
                server = Server::of(&parent);
                server.act(&Act::KeepBytes);
            }
            server.serve(&mut stream, 30);
            if round == 2 {
                let state = server.kept.state_bytes();
                server.waits();
                server.kept.save_beside("saved by itself".to_owned(), &mut server.journal).unwrap();
                assert!(server.kept.state_bytes() < 3 * state, "what did not change is not written again");
            }
            // The fork knows nothing of what its parent did since.
            assert!(at_rest(&mut Kept::open(&fork).unwrap()) == forked, "{text} {round}");
            let mut child = Server::of(&fork);
            child.act(&Act::KeepBytes);
            child.serve(&mut Streams::new(77).stream("child"), 50);
            let was = child.dies();
            assert!(at_rest(&mut Kept::open(&fork).unwrap()) == was, "{text} {round}");
        }
        let was = server.dies();
        let mut again = Kept::open(&parent).unwrap();
        again.check().unwrap();
        assert!(at_rest(&mut again) == was, "{text}");
    }
}

#[test]
fn a_replay_has_the_same_times_and_stops_at_an_instant() {
    let place = tempfile::tempdir().unwrap();
    let (path, copy) = (place.path().join("a.wane"), place.path().join("copy.wane"));
    let mut kept = Kept::create(&path, &scenario(SERVED[0]), &go()).unwrap();
    kept.keep_bytes().unwrap();
    kept.save("to be served".to_owned()).unwrap();
    drop(kept);
    let replayed = |until: Option<SimTime>| {
        let (mut submitted, mut completed) = (Vec::new(), Vec::new());
        let kept = Kept::replay(&path, until, &mut |seen| match seen {
            Seen::Submitted { id, at, .. } => submitted.push((id, at)),
            Seen::Completed(answer) => completed.push((answer.id, answer.at)),
            Seen::Done { .. } => {}
        });
        kept.map(|(kept, _)| (kept, submitted, completed))
    };
    assert!(replayed(None).err().unwrap().to_string().contains("--keep-journal"));
    let mut server = Server::of(&path);
    server.act(&Act::KeepBytes);
    let mut stream = Streams::new(2).stream("clients");
    let (mut submitted, mut completed) = (Vec::new(), Vec::new());
    for number in 0..300u64 {
        // Stalls of any length.
        server.at = SimTime(server.at.0 + stream.below(400_000));
        let range = SectorRange::new(Lba(8 * stream.below(8000)), Sectors(8));
        let request =
            if stream.chance(0.5) { Request::write(range, vec![number as u8; 4096]) } else { Request::read(range) };
        let at = server.at;
        let input = Input::Call(Entry::Submit { at, request: request.clone() });
        server.journal.append(at.0, &input).unwrap();
        submitted.push((server.kept.device_mut().submit(at, request), at));
        if stream.chance(0.3) {
            let mut answers = Vec::new();
            server.kept.device_mut().complete(at, &mut answers);
            completed.extend(answers.into_iter().map(|answer| (answer.id, answer.at)));
        }
    }
    let mut answers = Vec::new();
    drain(server.kept.device_mut(), server.at, &mut answers);
    completed.extend(answers.into_iter().map(|answer| (answer.id, answer.at)));
    let was = server.dies();
    let (mut kept, again, ended) = replayed(None).unwrap();
    assert!(again == submitted && ended == completed);
    assert!(at_rest(&mut kept) == was);
    drop(kept);
    let beyond = replayed(Some(SimTime(1 << 60))).unwrap().0.drive().now();
    assert!(beyond < SimTime(1 << 40), "no time passes behind the end: {beyond}");
    let until = submitted[150].1;
    let (mut kept, again, ended) = replayed(Some(until)).unwrap();
    assert!(again == submitted[..=150] || again.len() > 151 && again == submitted[..again.len()]);
    assert!(ended.iter().all(|(_, at)| *at <= until) && ended == completed[..ended.len()]);
    kept.copy_to(&copy, "as it was at an instant".to_owned()).unwrap();
    let was = at_rest(&mut kept);
    drop(kept);
    let mut copied = Kept::open(&copy).unwrap();
    assert!(copied.check_data().is_whole(), "what was under way harms nobody");
    assert!(at_rest(&mut copied) == was);
}

#[test]
fn a_drive_whose_making_was_stopped_is_made_to_its_end_as_if_it_had_not_been() {
    let place = tempfile::tempdir().unwrap();
    let (whole, parts) = (place.path().join("whole.wane"), place.path().join("parts.wane"));
    let text = "[drive]\npreset = \"tiny\"\n[precondition]\nfill = \"90 %\"\nrandom-drive-writes = 0.7\n[until]\ndrive-writes = 1\n";
    let scenario = scenario(text);
    let make = |path: &Path, steps: usize, pause: u64| {
        let stop = go();
        let mut left = steps;
        let step = &mut |_: &crate::run::Step| {
            left -= 1;
            stop.store(left == 0, Ordering::Relaxed);
        };
        let watch = &mut Watch { step, stop: &stop };
        Kept::create_preconditioned(path, &scenario, Duration::from_secs(pause), watch)
    };
    // Stopped before it was kept for the first time, nothing is left.
    assert!(matches!(make(&parts, 3, 1000), Err(KeptError::Interrupted)));
    assert!(!parts.exists());
    let mut times = 0;
    let mut made = loop {
        times += 1;
        match make(&parts, 40, 0) {
            Ok(kept) => break kept,
            Err(KeptError::Unfinished(_)) => {
                let told = Kept::open(&parts).err().unwrap().to_string();
                assert!(told.contains("parts.wane: is not finished"), "{told}");
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert!(times > 2, "it was stopped on the way");
    let mut at_once = make(&whole, usize::MAX, 1000).unwrap();
    assert!(bytes(&mut made) == bytes(&mut at_once));
    made.check().unwrap();
    drop(made);
    assert!(matches!(make(&parts, usize::MAX, 1000), Err(KeptError::Shelf(_))), "it is there already");
    assert_eq!(Kept::open(&parts).unwrap().history().len(), 1);
}

#[test]
fn a_replay_that_ends_without_power_gives_it_and_copies_lie_outside() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut kept = Kept::create(&path, &scenario(SERVED[0]), &go()).unwrap();
    kept.keep_bytes().unwrap();
    kept.save("to be served".to_owned()).unwrap();
    drop(kept);
    let mut server = Server::of(&path);
    server.act(&Act::KeepBytes);
    let at = server.at;
    server.call(Entry::PowerOff { at, fates: Vec::new() });
    server.journal.write().unwrap();
    let at = SimTime(at.0 + 5_000);
    server.at = at;
    assert!(matches!(server.kept.fork_live(&path.join("in.wane"), &mut server.journal), Err(KeptError::Inside(_))));
    drop(server);
    // Opening gives it power. The journal has that once something else is in it.
    for round in 0..2 {
        let mut kept = Kept::open(&path).unwrap();
        write(&mut kept, &mut Streams::new(round).stream("after"));
        kept.keep("written after the cut".to_owned()).unwrap();
        let was = at_rest(&mut kept);
        drop(kept);
        assert!(at_rest(&mut Kept::open(&path).unwrap()) == was);
    }
    let mut server = Server::of(&path);
    server.serve(&mut Streams::new(9).stream("clients"), 30);
    let was = server.dies();
    assert!(at_rest(&mut Kept::open(&path).unwrap()) == was);
    let (mut kept, _) = Kept::replay(&path, None, &mut |_| {}).unwrap();
    kept.check().unwrap();
    assert!(matches!(kept.copy_to(&path.join("in.wane"), String::new()), Err(KeptError::Inside(_))));
    kept.copy_to(&place.path().join("out.wane"), "as it was".to_owned()).unwrap();
}

#[test]
fn answers_for_which_nobody_waits_harm_nobody() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut kept = Kept::create(&path, &scenario(SERVED[0]), &go()).unwrap();
    kept.keep_bytes().unwrap();
    let now = kept.device().now();
    for number in 0..20u64 {
        let range = SectorRange::new(Lba(8 * number), Sectors(8));
        kept.device_mut().submit(now, Request::write(range, vec![7; range.len_bytes()]));
    }
    // They end on the way to rest, at earlier instants than that.
    kept.save("saved in the midst of requests".to_owned()).unwrap();
    drop(kept);
    let found = Kept::open(&path).unwrap().check_data();
    assert!(found.is_whole() && found.mapped == 20, "{found:?}");
}

#[test]
fn a_drive_whose_servers_are_killed_again_and_again_is_overdue_for_a_save() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[0]), &go()).unwrap());
    for opened in 0..=SEGMENTS_MOST {
        let mut kept = Kept::open(&path).unwrap();
        assert_eq!(kept.is_overdue(), opened >= SEGMENTS_MOST, "opened {opened} times before");
        if kept.is_overdue() {
            kept.save("saved".to_owned()).unwrap();
            assert!(!kept.is_overdue());
        }
        drop(kept.journal().unwrap());
    }
}
