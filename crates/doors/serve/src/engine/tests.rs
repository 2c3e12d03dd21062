use std::os::unix::net::UnixStream;
use std::sync::Arc;

use wane_folder::{Failing, Simulated};
use wane_journal::{JournalConfig, Lineage, Place, Record};
use wane_lab::held::Held;
use wane_lab::overrides::PolicyOverrides;
use wane_nbd::{Contexts, Frame};
use wane_scenario::{Scenario, Sources};
use wane_sim::{ReplayClock, Streams};

use super::*;
use crate::client::{Client, Socket};
use crate::memory::Memory;

/// A small drive that can be served.
fn shelf(set: &[&str]) -> Shelf {
    let always = ["time.scheduler=\"event\"", "ftl.recovery=\"checkpoint\"", "until.drive-writes=1"];
    let set: Vec<String> = always.iter().chain(set).map(|key| (*key).to_owned()).collect();
    let sources = Sources { preset: Some("tiny"), set: &set, ..Sources::default() };
    let held = Held::new(&Scenario::resolve(&sources).unwrap(), PolicyOverrides::default()).unwrap();
    let mut shelf = Shelf::Scratch(Box::new(held));
    shelf.keep_bytes().unwrap();
    shelf
}

fn engine(speed: Speed) -> Engine {
    Engine::new(shelf(&[]), speed, Memory::new(1 << 30).part(0).unwrap(), Nanos(0), Pool::default())
}

fn client() -> Arc<Client> {
    let (ours, _) = UnixStream::pair().unwrap();
    Arc::new(Client::new(1, Socket::Unix(ours), Pool::default()).unwrap())
}

fn asked(action: Action, offset: u64, length: u32, cookie: u64) -> Asked {
    let frame = Frame { action, fua: false, cookie, offset, length };
    let data = vec![cookie as u8; frame.data()];
    Asked { client: client(), frame, data, contexts: Contexts::default(), arrived: Nanos(0) }
}

const READ: Action = Action::Read { whole: false };

/// Asks one after the other at full speed, and returns the answers.
fn ask(engine: &mut Engine, asked: impl IntoIterator<Item = Asked>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for asked in asked {
        engine.take(asked, Nanos(0));
        while engine.due() != Due::Never {
            engine.go_on(Nanos(0), &mut answers);
        }
    }
    answers
}

fn data(answer: &Answer) -> Vec<u8> {
    match &answer.reply {
        Reply::Data { pieces, .. } => pieces.concat(),
        other => panic!("a read brings data, and not {other:?}"),
    }
}

#[test]
fn long_requests_are_answered_whole() {
    let mut engine = engine(Speed::Max);
    let length = 5 << 20;
    let answers = ask(
        &mut engine,
        [
            asked(Action::Write, 512, length, 7),
            asked(READ, 0, length + 1024, 2),
            asked(Action::Trim, 0, 64 << 20, 3),
            asked(READ, 0, 4096, 4),
            asked(Action::Flush, 0, 0, 5),
        ],
    );
    assert_eq!(answers.iter().map(|answer| answer.reply.errno()).collect::<Vec<_>>(), [None; 5]);
    let read = data(&answers[1]);
    assert!(read[..512].iter().all(|byte| *byte == 0) && read[512..][..length as usize].iter().all(|byte| *byte == 7));
    assert_eq!((read.len(), read.last()), (length as usize + 1024, Some(&0)));
    assert!(data(&answers[3]).iter().all(|byte| *byte == 0));
    assert!(answers.windows(2).all(|pair| pair[0].modelled <= pair[1].submitted), "a host waited for each");
}

#[test]
fn a_drive_that_is_ahead_of_its_server_is_not_turned_back() {
    let mut engine = engine("1x".parse().unwrap());
    engine.take(asked(Action::Write, 0, 4096, 1), Nanos(0));
    let mut answers = Vec::new();
    // It works for a second of its time while its answer is outstanding.
    let now = engine.now_of_drive(Nanos(0));
    engine.shelf.device_mut().pass(now, wane_blockdev::Passing::Idle(Nanos::SECOND));
    while answers.is_empty() {
        let Due::At(due) = engine.due() else { panic!("an answer is outstanding") };
        engine.go_on(due, &mut answers);
    }
    assert!(answers[0].modelled < SimTime(Nanos::SECOND.0) && engine.now(Nanos(0)).0 >= Nanos::SECOND.0);
}

#[test]
fn errors_are_the_drives() {
    let mut engine = engine(Speed::Max);
    let end = engine.shelf.device().capacity().0 * SECTOR;
    let cases = [
        (asked(READ, end, 512, 1), Some(Errno::Invalid)),
        (asked(Action::Write, end - 512, 1024, 1), Some(Errno::NoSpace)),
        (asked(READ, u64::MAX - 511, 512, 1), Some(Errno::Invalid)),
        (asked(READ, 1, 512, 1), Some(Errno::Invalid)),
        (asked(Action::Unknown, 0, 512, 1), Some(Errno::Invalid)),
        (asked(Action::BlockStatus { one: false }, 0, 512, 1), Some(Errno::Invalid)),
        (asked(Action::WriteZeroes { no_hole: true, fast: true }, 0, 512, 1), Some(Errno::NotSupported)),
        (asked(Action::WriteZeroes { no_hole: false, fast: true }, 0, 512, 1), None),
        (asked(Action::Cache, 0, 512, 1), None),
        (asked(READ, 0, 0, 1), None),
    ];
    for (asked, want) in cases {
        let frame = asked.frame;
        let answers = ask(&mut engine, [asked]);
        assert_eq!(answers[0].reply.errno(), want, "{frame:?}");
    }
    ask(&mut engine, (0..64).map(|number| asked(Action::Write, 65536 * number, 65536, 1)));
    let mut torn = || Fate::Torn;
    let at = engine.now(Nanos(0));
    engine.cut_power(at, &mut torn);
    for action in [READ, Action::Write, Action::Flush, Action::Trim, Action::Cache] {
        let answers = ask(&mut engine, [asked(action, 0, 4096, 1)]);
        assert_eq!(answers[0].reply.errno(), Some(Errno::Shutdown), "{action:?}");
    }
    let took = engine.give_power(at).unwrap();
    assert!(took > Nanos(0), "a recovery reads flash");
    assert!(
        ask(&mut engine, [asked(READ, 0, 4096, 1)])[0].submitted >= at.saturating_add(took),
        "requests wait for it"
    );
}

/// A drive that hands out its extents in pieces is told in few answers: 16 of them were needed for a gibibyte without data.
#[test]
fn one_answer_tells_what_is_allocated_of_many_pieces() {
    let shelf = shelf(&["drive.logical-capacity=\"1 GiB\""]);
    let mut engine = Engine::new(shelf, Speed::Max, Memory::new(1 << 30).part(0).unwrap(), Nanos(0), Pool::default());
    let end = engine.shelf.device().capacity().0 * SECTOR;
    let half = end / 2 / 65536 * 65536;
    ask(&mut engine, [asked(Action::Write, half, 65536, 1), asked(Action::Write, half + 131_072, 65536, 1)]);
    let mut spans = |one| {
        let mut status = asked(Action::BlockStatus { one }, 0, u32::try_from(end).unwrap(), 1);
        status.contexts.choose(wane_nbd::Context::Allocation);
        let answers = ask(&mut engine, [status]);
        let Reply::Status(contexts) = &answers[0].reply else { panic!("{:?}", answers[0].reply) };
        contexts[0].1.iter().map(|span| (u64::from(span.length), span.flags)).collect::<Vec<_>>()
    };
    let rest = end - half - 3 * 65536;
    assert_eq!(spans(false), [(half, 3), (65536, 0), (65536, 3), (65536, 0), (rest, 3)]);
    assert_eq!(spans(true), [(half, 3)]);
}

#[test]
fn a_lost_page_is_an_error_at_its_sectors_alone() {
    let mut engine = engine(Speed::Max);
    ask(&mut engine, [asked(Action::Write, 0, 16384, 9)]);
    assert_eq!(engine.shelf.act(&Act::Lose(vec![2])).map(|acted| acted.units).ok(), Some(1));
    let answers = ask(&mut engine, [asked(READ, 0, 16384, 1)]);
    let Reply::Data { failed: Some(failed), .. } = &answers[0].reply else { panic!("it failed in part") };
    assert_eq!((failed.errno, &failed.bytes[..]), (Errno::Io, std::slice::from_ref(&(8192..12288))));
    // Written again it is there.
    ask(&mut engine, [asked(Action::Write, 8192, 4096, 3)]);
    assert_eq!(ask(&mut engine, [asked(READ, 0, 16384, 1)])[0].reply.errno(), None);
}

#[test]
fn memory_bounds_what_is_kept() {
    let mut engine =
        Engine::new(shelf(&[]), Speed::Max, Memory::new(1 << 20).part(0).unwrap(), Nanos(0), Pool::default());
    let mut refused = 0;
    for number in 0..1024 {
        let answers = ask(&mut engine, [asked(Action::Write, number * 4096, 4096, 1)]);
        match answers[0].reply.errno() {
            None => assert_eq!(refused, 0, "what is full stays full"),
            Some(errno) => {
                assert_eq!(errno, Errno::NoSpace);
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && engine.refused_for_memory == refused);
    assert!(engine.shelf.drive().payload_memory() <= 1 << 20);
    // What is there can be replaced, and zeros need no memory.
    assert_eq!(ask(&mut engine, [asked(Action::Write, 0, 4096, 2)])[0].reply.errno(), None);
    let zeroes = Action::WriteZeroes { no_hole: true, fast: false };
    assert_eq!(ask(&mut engine, [asked(zeroes, 4 << 20, 4096, 2)])[0].reply.errno(), None);
}

#[test]
fn nobody_is_answered_before_the_model_says() {
    let mut engine = engine(Speed::Factor(1.0));
    let mut answers = Vec::new();
    ask_paced(&mut engine, &mut answers, asked(Action::Write, 0, 65536, 1), Nanos(0));
    let (mut real, mut last) = (Nanos(0), Nanos(0));
    while let Due::At(due) = engine.due() {
        assert!(due > real, "it sleeps until something is due");
        (last, real) = (real, due);
        engine.go_on(Nanos(due.0 - 1), &mut answers);
        assert!(answers.is_empty(), "1 ns too early");
        engine.go_on(due, &mut answers);
        if !answers.is_empty() {
            break;
        }
    }
    assert_eq!((answers.len(), engine.due()), (1, Due::Never));
    assert_eq!((answers[0].modelled, answers[0].submitted), (SimTime(real.0), SimTime(0)));
    assert!(last < real && real.0 > 100_000, "programs take their time: {real}");
}

fn ask_paced(engine: &mut Engine, answers: &mut Vec<Answer>, asked: Asked, real: Nanos) {
    engine.take(asked, real);
    engine.go_on(real, answers);
}

#[test]
fn faults_meet_requests() {
    let fault = |effect, range: Option<(u64, u64)>| Fault {
        number: 0,
        effect,
        kinds: Kinds::ALL,
        range: range.map(|(start, count)| SectorRange::new(Lba(start), Sectors(count))),
        left: None,
        rate: 1.0,
        stream: Streams::new(1).stream("inject"),
        met: 0,
    };
    let mut engine = engine(Speed::Max);
    ask(&mut engine, [asked(Action::Write, 0, 32768, 5)]);
    engine.faults.add(fault(Effect::Error, Some((8, 8))));
    let answers = ask(&mut engine, [asked(Action::Write, 0, 32768, 6), asked(READ, 0, 32768, 1)]);
    assert_eq!(answers[0].reply.errno(), Some(Errno::Io));
    let Reply::Data { failed: Some(failed), pieces, .. } = &answers[1].reply else { panic!("it failed in part") };
    assert_eq!(failed.bytes, std::slice::from_ref(&(4096..8192)));
    assert_eq!((pieces.concat()[0], pieces.concat()[8192], pieces.concat().len()), (6, 6, 32768));
    engine.faults.clear(None);
    let read = data(&ask(&mut engine, [asked(READ, 0, 32768, 1)])[0]);
    assert_eq!((read[0], read[4096], read[8191], read[8192]), (6, 5, 5, 6), "what failed keeps its contents");
    // Slowness is time, and what is stuck is answered only when the fault ends.
    engine.faults.add(fault(Effect::Slow(Nanos(1 << 30)), None));
    let slow = ask(&mut engine, [asked(READ, 0, 4096, 1)]);
    assert!(slow[0].modelled.saturating_since(slow[0].submitted) > Nanos(1 << 30));
    engine.faults.clear(None);
    engine.faults.add(fault(Effect::Stuck, None));
    assert_eq!(ask(&mut engine, [asked(READ, 0, 4096, 1)]).len(), 0);
    assert_eq!((engine.outstanding(), engine.is_idle()), ((0, 1), true));
    engine.faults.clear(None);
    engine.release();
    let mut answers = Vec::new();
    engine.go_on(Nanos(0), &mut answers);
    assert_eq!(answers[0].reply.errno(), Some(Errno::Io));
}

#[test]
fn a_session_that_is_replayed_takes_the_same_times() {
    let mut stream = Streams::new(3).stream("session");
    let mut requests = Vec::new();
    let mut real = 0;
    for cookie in 0..400 {
        real += stream.below(200_000);
        let action = [READ, Action::Write, Action::Write, Action::Flush, Action::Trim][stream.below(5) as usize];
        requests.push((real, action, 4096 * stream.below(4000), 4096 * (1 + stream.below(16)) as u32, cookie));
    }
    let mut paced = engine(Speed::Factor(1.0));
    let mut lived = Vec::new();
    for (real, action, offset, length, cookie) in &requests {
        let arrived = Nanos(*real);
        paced.go_on(arrived, &mut lived);
        let asked = Asked { arrived, ..asked(*action, *offset, *length, *cookie) };
        paced.take(asked, arrived);
    }
    while let Due::At(due) = paced.due() {
        paced.go_on(due, &mut lived);
    }
    lived.sort_by_key(|answer| answer.number);
    let clock = ReplayClock::new(lived.iter().map(|answer| answer.submitted));
    let mut replayed = engine(Speed::Max).with_clock(Box::new(clock));
    let mut again = Vec::new();
    for (_, action, offset, length, cookie) in &requests {
        replayed.take(asked(*action, *offset, *length, *cookie), Nanos(0));
    }
    while replayed.due() != Due::Never {
        replayed.go_on(Nanos(0), &mut again);
    }
    again.sort_by_key(|answer| answer.number);
    let times = |answers: &[Answer]| -> Vec<(u64, SimTime, SimTime)> {
        answers.iter().map(|answer| (answer.asked.frame.cookie, answer.submitted, answer.modelled)).collect()
    };
    assert_eq!(times(&lived), times(&again));
}

const FOLDER: &str = "/drive";

fn journal_on(disk: &Simulated) -> Result<Journal, JournalError> {
    let config = JournalConfig { segment_bytes: 1 << 17, step_bytes: 1 << 14 };
    Journal::create(Arc::new(disk.clone()), Path::new(FOLDER), 7, config)
}

/// Offsets and first bytes of the writes in a journal, and its number of flushes.
fn kept_on(disk: &Simulated) -> (Vec<(u64, u8)>, u64) {
    let (mut writes, mut flushes) = (Vec::new(), 0);
    let begin = Place { segment: 1, offset: 68, number: 0, digest: 0 };
    let mut each = |record: &Record<'_>, _: &str| {
        if let Ok(Input::Call(Entry::Submit { request, .. })) = Input::decode(record.bytes) {
            match &request.bytes {
                Some(bytes) => writes.push((request.range.start.0 * SECTOR, bytes[0])),
                None => flushes += u64::from(request.kind == Kind::Flush),
            }
        }
        Ok::<_, JournalError>(())
    };
    Journal::look(disk, Path::new(FOLDER), &Lineage::of(7), begin, &mut each).unwrap();
    (writes, flushes)
}

#[test]
fn nobody_is_answered_after_the_disk_failed_and_what_was_answered_is_there() {
    let (mut failures, mut refused) = (0, 0);
    for call in 0.. {
        let disk = Simulated::default();
        let mut engine = engine(Speed::Max).with_journal(Some(journal_on(&disk).unwrap()));
        engine.commit(true).unwrap();
        let how = if call % 2 == 0 { Failing::Io } else { Failing::NoSpace };
        disk.fail(call, how);
        let (mut answered, mut flushed, mut failed) = (Vec::new(), 0, false);
        for number in 0..24u64 {
            let fill = number as u8 + 1;
            let is_flush = number % 6 == 5;
            let asks = if is_flush {
                asked(Action::Flush, 0, 0, u64::from(fill))
            } else {
                asked(Action::Write, 8192 * number, 8192, u64::from(fill))
            };
            let answers = ask(&mut engine, [asks]);
            // As the server does: nothing leaves before this.
            let committed = engine.commit(is_flush);
            assert!(!failed || committed.is_err(), "call {call}: an answer after the failure");
            failed |= committed.is_err();
            for answer in answers.iter().filter(|_| committed.is_ok()) {
                match answer.reply.errno() {
                    None if is_flush => flushed = answered.len(),
                    None => answered.push((8192 * number, fill)),
                    // Refused for want of room, before anything was done.
                    Some(errno) => {
                        assert_eq!(errno, Errno::NoSpace);
                        refused += 1;
                    }
                }
            }
        }
        disk.heal();
        let (writes, flushes) = kept_on(&disk);
        assert!(answered.iter().all(|write| writes.contains(write)), "call {call}: a kill loses an answered write");
        assert!(flushes > 0 || flushed == 0);
        for seed in 0..4 {
            let (writes, _) = kept_on(&disk.crashed(seed));
            assert!(
                answered[..flushed].iter().all(|write| writes.contains(write)),
                "call {call}, crash {seed}: the machine's death loses a flushed write"
            );
        }
        failures += u32::from(failed);
        if !failed && answered.len() == 20 && disk.calls() < call {
            break;
        }
    }
    assert!(failures > 10 && refused > 0, "{failures} failures, {refused} refused");
}

/// An array loses a drive, gets it back and rebuilds, though nobody asks for anything.
#[test]
fn a_served_array_rebuilds_beside_its_clients_and_tells_of_it() {
    rebuilds(&["array.layout=mirror"], 65536);
    // A parity of 3 drives of 4 lies on it.
    rebuilds(
        &["array.layout=raid", "array.member=[{count=4}]", "drive.logical-capacity=16MiB", "array.chunk=16KiB"],
        32768,
    );
}

fn rebuilds(set: &[&str], missed: u64) {
    let memory = Memory::new(1 << 30).part(0).unwrap();
    let speed = "1x".parse().unwrap();
    let mut engine = Engine::new(shelf(set), speed, memory, Nanos(0), Pool::default());
    let mut heard = engine.watcher.listen();
    let mut real = Nanos(0);
    let mut answers = Vec::new();
    let mut write = |engine: &mut Engine, real: &mut Nanos, at: u64, value: u64| {
        engine.take(Asked { arrived: *real, ..asked(Action::Write, at, 65536, value) }, *real);
        while let Due::At(due) = engine.due() {
            *real = due.max(*real);
            engine.go_on(*real, &mut answers);
        }
    };
    write(&mut engine, &mut real, 0, 1);
    engine.act(&Act::Flush).unwrap();
    engine.act(&Act::TakeOut(1)).unwrap();
    write(&mut engine, &mut real, 65536, 2);
    let facts = engine.facts(real, &Facts::default());
    let told: Vec<_> = facts.members.iter().map(|member| (member.state, member.stale_bytes)).collect();
    assert_eq!(told[..2], [("online", 0), ("absent", missed)]);
    assert!(facts.firmware.blocks > 0 && facts.state == State::Serving);
    engine.act(&Act::PutBack(1)).unwrap();
    // Real time passes, and nothing else.
    for _ in 0..50 {
        real = Nanos(real.0 + Nanos::SECOND.0 / 10);
        engine.go_on(real, &mut answers);
    }
    assert!(engine.members().iter().all(|member| member.stale_bytes == 0 && member.state == "online"));
    let events: Vec<String> =
        std::iter::from_fn(|| heard.try_recv().ok()).map(|told| told["event"].to_string()).collect();
    assert_eq!(events, ["\"member-lost\"", "\"degraded\"", "\"rebuilt\""]);
    // What was written meanwhile is on it: the other may go.
    engine.act(&Act::TakeOut(0)).unwrap();
    engine.take(Asked { arrived: real, ..asked(READ, 65536, 65536, 3) }, real);
    answers.clear();
    while let Due::At(due) = engine.due() {
        real = due.max(real);
        engine.go_on(real, &mut answers);
    }
    assert!(data(&answers[0]).iter().all(|byte| *byte == 2));
}
