//! How far programs and erases are, and what waits at a barrier, in both schedulers.

#![allow(missing_docs, reason = "tests")]

use std::sync::atomic::AtomicBool;

use wane_nand::{Barrier, FlashOp, OpKind, Task};
use wane_ssd::{Clock, ClockSpec, Command, CommandKind, Link, Progress, SchedulerConfig, Timing, WriteCache};
use wane_units::{BlockId, Bytes, Geometry};

static GO: AtomicBool = AtomicBool::new(false);
const US: u64 = 1_000;

/// Two dies of four blocks: a page of 4 KiB takes 10 us on the channel and 100 us in the array, an erase 1,000 us.
fn clock(by_events: bool, write_cache: Option<WriteCache>) -> Clock {
    clock_of(by_events, SchedulerConfig { write_cache, ..SchedulerConfig::default() })
}

fn clock_of(by_events: bool, config: SchedulerConfig) -> Clock {
    let geometry = Geometry::new(2, 1, 1, 4, 8, Bytes(4096)).expect("two dies");
    let timing = Timing {
        read_ns: vec![50 * US],
        program_ns: vec![100 * US],
        erase_ns: 1_000 * US,
        channel_bytes_per_second: Some(409_600_000),
    };
    let mut clock = Clock::new(&ClockSpec { by_events, timing, config, rereads_max: 0, thermal: None }, &geometry)
        .expect("it fits");
    clock.track_changes();
    clock
}

fn op(kind: OpKind, block: u32, page: u32) -> FlashOp {
    let bytes = if kind == OpKind::Program { 4096 } else { 0 };
    FlashOp { kind, task: Task::Host, block: BlockId(block), page, bytes, rereads: 0 }
}

fn barrier(barrier: Barrier) -> FlashOp {
    op(OpKind::Barrier(barrier), 0, 0)
}

fn submit(clock: &mut Clock, token: u64, kind: CommandKind, ops: &[FlashOp]) {
    assert!(clock.submit(Command { token, kind, bytes: 4096 }, ops), "the clock has time enough");
}

fn at(clock: &mut Clock, us: u64) -> Vec<Progress> {
    clock.arrive_at(us * US, &GO, &mut |_| {});
    clock.progress()
}

#[test]
fn a_program_has_begun_once_its_data_are_there() {
    use Progress::{Begun, Done, NotBegun};
    for by_events in [true, false] {
        let mut clock = clock(by_events, None);
        // Blocks 0 and 4 lie on the two dies. The second page of block 0 comes when the first one is done.
        let ops = [op(OpKind::Program, 0, 0), op(OpKind::Erase, 4, 0), op(OpKind::Program, 0, 1)];
        submit(&mut clock, 0, CommandKind::Write, &ops);
        for (us, told) in [
            (5, [NotBegun, Begun, NotBegun]),
            (10, [Begun, Begun, NotBegun]),
            (109, [Begun, Begun, NotBegun]),
            (110, [Done, Begun, NotBegun]),
            (120, [Done, Begun, Begun]),
            (220, [Done, Begun, Done]),
        ] {
            assert_eq!(at(&mut clock, us), told, "{us} us, by events: {by_events}");
        }
        assert_eq!((clock.settle_changes(), clock.changes_seen()), (1, 3), "the erase goes on");
        assert_eq!(at(&mut clock, 1_000), [Done, Done]);
        assert_eq!((clock.settle_changes(), clock.progress().len()), (3, 0));
    }
}

#[test]
fn what_comes_behind_a_barrier_waits_for_what_it_names() {
    let program = |block, page| op(OpKind::Program, block, page);
    let erase = |block| op(OpKind::Erase, block, 0);
    // Something long on die 0, and on die 1 something that would not wait for it: the latest time at which that begins.
    for (first, named, last, begins_us) in [
        (program(0, 0), None, erase(4), 0),
        (program(0, 0), Some(Barrier::Programs), erase(4), 110),
        (program(0, 0), Some(Barrier::Changes), program(4, 0), 120),
        (program(0, 0), Some(Barrier::Erases), program(4, 0), 10),
        (erase(0), Some(Barrier::Erases), program(4, 0), 1_010),
        (erase(0), Some(Barrier::Changes), program(4, 0), 1_010),
        (erase(0), Some(Barrier::Programs), program(4, 0), 10),
    ] {
        for by_events in [true, false] {
            let mut clock = clock(by_events, None);
            let ops: Vec<FlashOp> = [Some(first), named.map(barrier), Some(last)].into_iter().flatten().collect();
            submit(&mut clock, 0, CommandKind::Write, &ops);
            let what = format!("{first:?} {named:?} {last:?} by events: {by_events}");
            if begins_us > 0 {
                assert_eq!(at(&mut clock, begins_us - 1).last(), Some(&Progress::NotBegun), "{what}");
            }
            assert_eq!(at(&mut clock, begins_us).last(), Some(&Progress::Begun), "{what}");
        }
    }
}

#[test]
fn two_barriers_add_up() {
    for by_events in [true, false] {
        let mut clock = clock(by_events, None);
        let both = [barrier(Barrier::Erases), barrier(Barrier::Programs)];
        let ops = [op(OpKind::Program, 0, 0), op(OpKind::Erase, 1, 0), both[0], both[1], op(OpKind::Program, 4, 0)];
        submit(&mut clock, 0, CommandKind::Write, &ops);
        assert_eq!(at(&mut clock, 1_119).last(), Some(&Progress::NotBegun));
        assert_eq!(at(&mut clock, 1_120).last(), Some(&Progress::Begun));
    }
}

#[test]
fn pages_that_the_drive_fills_up_hold_no_earlier_write_back() {
    for by_events in [true, false] {
        let mut clock = clock(by_events, Some(WriteCache { bytes: 4096, latency_ns: US }));
        let page = |page| op(OpKind::Program, 0, page);
        submit(&mut clock, 0, CommandKind::Write, &[page(0)]);
        // Larger than the cache: it waits until no program is left that could make room.
        let large = Command { token: 1, kind: CommandKind::Write, bytes: 8192 };
        assert!(clock.submit(large, &[page(1)]), "the clock has time enough");
        // On the drive's own account, as when a drive without power-loss protection erases a block.
        submit(&mut clock, 2, CommandKind::Trim, &[barrier(Barrier::Programs), page(2)]);
        submit(&mut clock, 3, CommandKind::Flush, &[]);
        submit(&mut clock, 4, CommandKind::Write, &[page(3)]);
        let mut done = Vec::new();
        clock.drain(&GO, &mut |completion| done.push((completion.token, completion.at / US)));
        // The second write fits when the first page is programmed, and the third one when the second is.
        assert_eq!(done, [(2, 0), (0, 1), (1, 111), (4, 221), (3, 330)], "by events: {by_events}");
    }
}

#[test]
fn a_protected_flush_waits_for_acknowledgments_and_for_no_program() {
    let cache = Some(WriteCache { bytes: 4096, latency_ns: US });
    let link = Some(Link { bytes_per_second: None, command_ns: 5 * US });
    let page = |block, page| op(OpKind::Program, block, page);
    // The second write is for the other die. With a cache it waits until the first page makes room.
    let writes = [(CommandKind::Write, page(0, 0)), (CommandKind::Write, page(4, 0))];
    // What the drive does on its own account: programs that end long after the writes.
    let background = [page(1, 0), page(1, 1), page(1, 2)].map(|op| FlashOp { task: Task::GarbageCollection, ..op });
    /// A cache, a link, and the ends of commands by their numbers.
    type Row = (Option<WriteCache>, Option<Link>, &'static [(u64, u64)]);
    let table: [Row; 3] = [
        (None, None, &[(0, 0), (1, 110), (2, 110), (3, 110), (4, 110), (5, 440)]),
        (cache, None, &[(0, 0), (1, 1), (2, 1), (3, 111), (4, 111), (5, 440)]),
        (cache, link, &[(0, 0), (1, 6), (2, 11), (3, 116), (4, 121), (5, 445)]),
    ];
    for (write_cache, link, want) in table {
        for by_events in [true, false].into_iter().filter(|by_events| link.is_none() || *by_events) {
            let mut clock = clock_of(by_events, SchedulerConfig { write_cache, link, ..SchedulerConfig::default() });
            for (number, (kind, op)) in (0..).zip(writes) {
                submit(&mut clock, 1 + 2 * number, kind, &[op]);
                submit(&mut clock, 2 + 2 * number, CommandKind::ProtectedFlush, &[]);
                if number == 0 {
                    submit(&mut clock, 0, CommandKind::Trim, &background);
                }
            }
            submit(&mut clock, 5, CommandKind::Flush, &[]);
            let mut done = Vec::new();
            clock.drain(&GO, &mut |completion| {
                assert_eq!(completion.breakdown.total_ns(), completion.latency_ns());
                done.push((completion.token, completion.at / US));
            });
            assert_eq!(done, want, "by events: {by_events}");
        }
    }
}
