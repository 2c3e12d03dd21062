//! Parity of relocated pages is programmed behind the collection that filled its stripe, and holds back no later one.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_ssd::{Collection, Command, CommandKind, EventScheduler, Scheduler, SchedulerConfig, Timeline, Timing};
use wane_units::{BlockId, Bytes, Geometry};

/// Blocks that are collected, the one that takes their data, one of the host and the one of parity: the first three on the
/// first die, the others on the second.
const VICTIMS: [u32; 2] = [0, 1];
const TARGET: u32 = 2;
const HOST: u32 = 4;
const PARITY: u32 = 5;

/// Pages that the host programs on the die of the parity before it: 20 ms.
const AHEAD: u32 = 40;

fn op(kind: OpKind, task: Task, block: u32, page: u32) -> FlashOp {
    FlashOp { kind, task, block: BlockId(block), page, bytes: 4096, rereads: 0 }
}

/// What comes of one victim with one valid page.
fn collection(number: u32) -> Vec<FlashOp> {
    let (task, victim) = (Task::GarbageCollection, VICTIMS[number as usize]);
    let read = OpKind::Read(Purpose::Relocate(BlockId(TARGET)));
    vec![op(read, task, victim, 0), op(OpKind::Program, task, TARGET, number), op(OpKind::Erase, task, victim, 0)]
}

/// How collections lie in lists: each in its own, or both in one.
#[derive(Clone, Copy, Debug)]
enum Lists {
    Apart,
    Together,
}

/// When the host's write to the second victim has ended, behind two collections, the first of which may fill a stripe.
fn written_at(mut scheduler: Scheduler, lists: Lists, parity: bool) -> u64 {
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
    if parity {
        first.push(op(OpKind::Program, Task::GarbageCollection, PARITY, 0));
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
fn parity_of_relocated_pages_delays_no_later_collection() {
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
    for lists in [Lists::Apart, Lists::Together] {
        for ((name, with), (_, without)) in schedulers().zip(schedulers()) {
            let (with, without) = (written_at(with, lists, true), written_at(without, lists, false));
            assert_eq!(with, without, "{name}, {lists:?}");
            // Two reads, two programs, two erases and the write.
            assert!(without <= 2 * (50_000 + 500_000 + 5_000_000) + 500_000, "{name}, {lists:?}: {without}");
        }
    }
}
