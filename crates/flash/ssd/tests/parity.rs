//! After a collection that filled a stripe, firmware fills up the last page of the collection and programs parity. Neither holds
//! back a later collection.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_ssd::{Collection, Command, CommandKind, EventScheduler, Scheduler, SchedulerConfig, Timeline, Timing};
use wane_units::{BlockId, Bytes, Geometry};

/// Blocks that are collected, the block that takes their data, a block of the host, and one for what is programmed after a
/// collection. The first three are on the first die, the others on the second.
const VICTIMS: [u32; 2] = [0, 1];
const TARGET: u32 = 2;
const HOST: u32 = 4;
const BEHIND: u32 = 5;

/// Pages that the host programs on the second die before what comes after the collection: 20 ms.
const AHEAD: u32 = 40;

fn op(kind: OpKind, task: Task, block: u32, page: u32) -> FlashOp {
    FlashOp { kind, task, block: BlockId(block), page, bytes: 4096, rereads: 0 }
}

/// What firmware programs after the erase of the first victim.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Behind {
    /// The parity of a stripe that the collection filled.
    Parity,
    /// The last page of the collection, filled up with padding.
    Padding,
}

/// The operations for one victim with one valid page, which goes to a page of its own.
fn collection(number: u32) -> Vec<FlashOp> {
    let (task, victim) = (Task::GarbageCollection, VICTIMS[number as usize]);
    let read = OpKind::Read(Purpose::Relocate(BlockId(TARGET)));
    vec![op(read, task, victim, 0), op(OpKind::Program, task, TARGET, number), op(OpKind::Erase, task, victim, 0)]
}

/// How collections are distributed over lists: each in its own, or both in one.
#[derive(Clone, Copy, Debug)]
enum Lists {
    Apart,
    Together,
}

/// When the host's write to the second victim has ended, after two collections. With `programmed`, what comes after the first
/// collection is programmed.
fn written_at(mut scheduler: Scheduler, lists: Lists, behind: Behind, programmed: bool) -> u64 {
    let mut token = 0;
    let mut submit = |scheduler: &mut Scheduler, at, ops: &[FlashOp]| {
        token += 1;
        scheduler.submit(at, Command { token, kind: CommandKind::Write, bytes: 4096 }, ops);
        token
    };
    let filled = VICTIMS.map(|victim| op(OpKind::Program, Task::Host, victim, 0));
    submit(&mut scheduler, 0, &filled);
    while scheduler.next_completion(u64::MAX / 4).is_some() {}
    let at = 1_000_000_000;
    let ahead: Vec<FlashOp> = (0..AHEAD).map(|page| op(OpKind::Program, Task::Host, HOST, page)).collect();
    submit(&mut scheduler, at, &ahead);
    let mut first = collection(0);
    if behind == Behind::Padding {
        first[0].kind = OpKind::Read(Purpose::Relocate(BlockId(BEHIND)));
        first.remove(1);
    }
    if programmed {
        first.push(op(OpKind::Program, Task::GarbageCollection, BEHIND, 0));
    }
    match lists {
        Lists::Apart => {
            submit(&mut scheduler, at, &first);
            submit(&mut scheduler, at, &collection(1));
        }
        Lists::Together => {
            submit(&mut scheduler, at, &[first, collection(1)].concat());
        }
    }
    let last = submit(&mut scheduler, at, &[op(OpKind::Program, Task::Host, VICTIMS[1], 0)]);
    let mut written = None;
    while let Some(completion) = scheduler.next_completion(u64::MAX / 4) {
        if completion.token == last {
            written = Some(completion.at - at);
        }
    }
    written.unwrap()
}

#[test]
fn what_is_programmed_behind_a_collection_delays_no_later_one() {
    let geometry = Geometry::new(1, 2, 1, 4, 64, Bytes(4096)).unwrap();
    let timing = || Timing {
        read_ns: vec![50_000],
        program_ns: vec![500_000],
        erase_ns: 5_000_000,
        channel_bytes_per_second: None,
    };
    let schedulers = || {
        let modes = [Collection::Foreground, Collection::Background, Collection::Preemptible];
        let event = modes.map(|collection| {
            let config = SchedulerConfig { collection, ..SchedulerConfig::default() };
            let scheduler = EventScheduler::new(&geometry, timing(), config).unwrap();
            (format!("event, {collection:?}"), Scheduler::Event(Box::new(scheduler)))
        });
        let timeline = Timeline::new(&geometry, timing(), SchedulerConfig::default()).unwrap();
        event.into_iter().chain([("timeline".to_owned(), Scheduler::Timeline(Box::new(timeline)))])
    };
    for (lists, behind) in [Lists::Apart, Lists::Together]
        .into_iter()
        .flat_map(|lists| [Behind::Parity, Behind::Padding].map(|behind| (lists, behind)))
    {
        for ((name, with), (_, without)) in schedulers().zip(schedulers()) {
            let with = written_at(with, lists, behind, true);
            let without = written_at(without, lists, behind, false);
            assert_eq!(with, without, "{name}, {lists:?}, {behind:?}");
            // Two reads, two programs, two erases and the write.
            assert!(without <= 2 * (50_000 + 500_000 + 5_000_000) + 500_000, "{name}, {lists:?}: {without}");
        }
    }
}
