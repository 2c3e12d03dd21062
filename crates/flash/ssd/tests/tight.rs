//! Every resource to the nanosecond: not ready one before, and ready then.
//!
//! One channel at a byte a nanosecond, two dies of two planes of two blocks; pages of 10 bytes are read in 100 ns,
//! programmed in 1,000 and erased in 5,000. Blocks 0 and 1 are on plane 0 of die 0, 2 and 3 on plane 1, 4 to 7 on die 1.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_ssd::{
    Breakdown, Collection, Command, CommandKind, EventScheduler, Link, MultiPlane, Order, Processors, ReadPriority,
    Scheduler, SchedulerConfig, Suspend, Timeline, Timing, WriteCache,
};
use wane_units::{BlockId, Bytes, Geometry};

use Collection::{Background, Preemptible};
use CommandKind::{Flush, Read, Trim, Write};
use Task::{GarbageCollection as Gc, Host, Scrub, WearLeveling};

fn op(kind: OpKind, task: Task, block: u32, page: u32) -> FlashOp {
    FlashOp { kind, task, block: BlockId(block), page, bytes: 10, rereads: 0 }
}

fn read(task: Task, block: u32) -> FlashOp {
    op(OpKind::Read(Purpose::Serve), task, block, 0)
}

fn again(block: u32, rereads: u32) -> FlashOp {
    FlashOp { rereads, ..read(Host, block) }
}

fn recover(block: u32) -> FlashOp {
    op(OpKind::Read(Purpose::Recover), Host, block, 0)
}

fn relocate(task: Task, from: u32, to: u32) -> FlashOp {
    op(OpKind::Read(Purpose::Relocate(BlockId(to))), task, from, 0)
}

fn program(task: Task, block: u32, page: u32) -> FlashOp {
    op(OpKind::Program, task, block, page)
}

fn erase(task: Task, block: u32) -> FlashOp {
    op(OpKind::Erase, task, block, 0)
}

/// Moves a page within die 0 and erases its block: read to 110, program to 1,120, erase to 6,120.
fn job() -> Vec<FlashOp> {
    vec![relocate(Gc, 0, 1), program(Gc, 1, 0), erase(Gc, 0)]
}

type Step = (u64, CommandKind, Vec<FlashOp>);

fn reads(at: u64, block: u32) -> Step {
    (at, Read, vec![read(Host, block)])
}

fn writes(at: u64, block: u32, page: u32) -> Step {
    (at, Write, vec![program(Host, block, page)])
}

fn schedulers(config: SchedulerConfig, channel: Option<u64>) -> Vec<(&'static str, Scheduler)> {
    let geometry = Geometry::new(1, 2, 2, 2, 8, Bytes(10)).unwrap();
    let timing =
        Timing { read_ns: vec![100], program_ns: vec![1000], erase_ns: 5000, channel_bytes_per_second: channel };
    let event = EventScheduler::new(&geometry, timing.clone(), config).unwrap();
    let mut all = vec![("event", Scheduler::Event(Box::new(event)))];
    // The timeline takes what it can do, and then it says the same.
    if let Ok(timeline) = Timeline::new(&geometry, timing, config) {
        all.push(("timeline", Scheduler::Timeline(Box::new(timeline))));
    }
    all
}

/// Submits each step with its place as token, and expects the commands to be done in this order, at these times.
fn check_on(claim: &str, channel: Option<u64>, config: SchedulerConfig, steps: &[Step], done: &[(u64, u64)]) {
    for (name, mut scheduler) in schedulers(config, channel) {
        let mut waiting = steps.iter().zip(0u64..).peekable();
        let mut latencies = 0;
        for (token, at) in done {
            while let Some(((time, kind, ops), token)) = waiting.next_if(|((time, ..), _)| time < at || *at == 0) {
                scheduler.submit(*time, Command { token, kind: *kind, bytes: 10 }, ops);
            }
            if *at > 0 && scheduler.now() < *at {
                assert_eq!(scheduler.next_completion(at - 1), None, "{claim} ({name}): too early for {token} at {at}");
            }
            while let Some(((time, kind, ops), token)) = waiting.next_if(|((time, ..), _)| time == at) {
                scheduler.submit(*time, Command { token, kind: *kind, bytes: 10 }, ops);
            }
            let found = scheduler.next_completion(*at).copied();
            let found = found.unwrap_or_else(|| panic!("{claim} ({name}): {token} is not done at {at}"));
            assert_eq!((found.token, found.at), (*token, *at), "{claim} ({name})");
            assert_eq!(found.breakdown.total_ns(), found.latency_ns(), "{claim} ({name}): {found:?}");
            latencies += u128::from(found.latency_ns());
        }
        assert_eq!(scheduler.next_completion(u64::MAX), None, "{claim} ({name})");
        assert_eq!(scheduler.outstanding_time_ns(), latencies, "{claim} ({name}): Little's law");
    }
}

fn check(claim: &str, config: SchedulerConfig, steps: &[Step], done: &[(u64, u64)]) {
    check_on(claim, Some(1_000_000_000), config, steps, done);
}

fn plain() -> SchedulerConfig {
    SchedulerConfig::default()
}

fn preemptible(order: Order) -> SchedulerConfig {
    SchedulerConfig { order, collection: Preemptible, ..plain() }
}

#[test]
fn dies_and_channels_serve_one_at_a_time() {
    check("a die", plain(), &[reads(0, 0), reads(0, 0)], &[(0, 110), (1, 220)]);
    check("planes are no dies", plain(), &[reads(0, 0), reads(0, 2)], &[(0, 110), (1, 220)]);
    check("a channel", plain(), &[reads(0, 0), reads(0, 4)], &[(0, 110), (1, 120)]);
    check(
        "the die is held while its data wait",
        plain(),
        &[reads(0, 0), reads(0, 4), reads(1, 4)],
        &[(0, 110), (1, 120), (2, 230)],
    );
    check("a read just before the die is free", plain(), &[reads(0, 0), reads(109, 0)], &[(0, 110), (1, 220)]);
    check("a read when it is free", plain(), &[reads(0, 0), reads(110, 0)], &[(0, 110), (1, 220)]);
    check("a read after that", plain(), &[reads(0, 0), reads(111, 0)], &[(0, 110), (1, 221)]);
    check("re-reads", plain(), &[(0, Read, vec![again(0, 3)])], &[(0, 410)]);
    check_on("no channel", None, plain(), &[reads(0, 0), reads(0, 4)], &[(0, 100), (1, 100)]);
    check(
        "programs load one by one and run together",
        plain(),
        &[writes(0, 0, 0), writes(0, 4, 0)],
        &[(0, 1010), (1, 1020)],
    );
    check(
        "a gap in the channel's time is used",
        plain(),
        &[writes(0, 0, 0), writes(0, 0, 1), reads(500, 4)],
        &[(2, 610), (0, 1010), (1, 2020)],
    );
    check("a command waits for its last page", plain(), &[(0, Read, vec![read(Host, 0), read(Host, 4)])], &[(0, 120)]);
}

#[test]
fn operations_wait_for_what_they_depend_on() {
    let first = preemptible(Order::FirstCome);
    check(
        "a program after the erase of its block",
        plain(),
        &[(0, Write, vec![erase(Host, 0)]), writes(1, 0, 0)],
        &[(0, 5000), (1, 6010)],
    );
    let moved = vec![relocate(Host, 0, 4), program(Host, 4, 0)];
    check("a relocation's program after its read", plain(), &[(0, Write, moved.clone())], &[(0, 1120)]);
    let both = vec![relocate(Host, 0, 4), relocate(Host, 2, 4), program(Host, 4, 0)];
    check("a page of two reads after both", plain(), &[(0, Write, both)], &[(0, 1230)]);
    check(
        "a page that an earlier command began",
        plain(),
        &[(0, Write, vec![relocate(Host, 0, 4)]), (5, Write, vec![program(Host, 4, 0)])],
        &[(0, 110), (1, 1120)],
    );
    check(
        "a page whose data are on the channel, so that a later read goes first",
        plain(),
        &[(0, Write, vec![relocate(Host, 0, 4)]), (105, Write, vec![program(Host, 4, 0)]), reads(106, 5)],
        &[(0, 110), (2, 216), (1, 1226)],
    );
    let mut all = moved;
    all.push(erase(Host, 0));
    check("an erase after the relocations", plain(), &[(0, Write, all)], &[(0, 6120)]);
    check(
        "an erase after the programs of its block",
        plain(),
        &[(0, Write, vec![program(Host, 0, 0), erase(Host, 0)])],
        &[(0, 6010)],
    );
    let late = SchedulerConfig { order: Order::Priority, collection: Preemptible, ..plain() };
    check(
        "an erase after low reads of its block",
        late,
        &[reads(0, 2), (1, Trim, vec![read(WearLeveling, 0), erase(Gc, 0)]), (2, Write, vec![program(Host, 0, 0)])],
        &[(1, 1), (0, 110), (2, 110 + 110 + 5000 + 1010)],
    );
    check(
        "host programs of a block in order",
        first,
        &[writes(0, 0, 0), reads(1, 1), writes(2, 0, 1)],
        &[(0, 1010), (1, 1120), (2, 2130)],
    );
    check(
        "a host program behind a program of a lower class in its block",
        late,
        &[reads(0, 0), (1, Trim, vec![program(Scrub, 1, 0)]), writes(2, 1, 1), reads(3, 0)],
        &[(1, 1), (0, 110), (3, 220), (2, 2240)],
    );
    let failed = vec![read(Host, 0), recover(4), recover(5)];
    check("recovery after the failed read", plain(), &[(0, Read, failed)], &[(0, 330)]);
}

#[test]
fn an_erase_waits_for_lone_reads_of_its_block() {
    let erases = |at| (at, Trim, vec![erase(WearLeveling, 0)]);
    check(
        "an erase after a read of its block that waits, so that a later read goes first",
        plain(),
        &[reads(0, 2), reads(0, 0), erases(1), reads(2, 2)],
        &[(2, 1), (0, 110), (1, 220), (3, 330)],
    );
    check(
        "an erase after a read of its block that senses",
        plain(),
        &[reads(0, 0), erases(50), reads(60, 2)],
        &[(1, 50), (0, 110), (2, 220)],
    );
    check(
        "an erase after a read of its block that is on the channel",
        plain(),
        &[reads(0, 0), erases(105), reads(106, 2)],
        &[(1, 105), (0, 110), (2, 220)],
    );
}

#[test]
fn a_page_in_flight_is_served_from_the_buffer() {
    check("in flight", plain(), &[writes(0, 4, 0), reads(500, 4)], &[(1, 510), (0, 1010)]);
    check("until its last moment", plain(), &[writes(0, 4, 0), reads(1009, 4)], &[(0, 1010), (1, 1019)]);
    check("but not when it is done", plain(), &[writes(0, 4, 0), reads(1010, 4)], &[(0, 1010), (1, 1120)]);
    let second = (1500, Read, vec![op(OpKind::Read(Purpose::Serve), Host, 4, 1)]);
    check(
        "the page before is in flash",
        plain(),
        &[writes(0, 4, 0), writes(0, 4, 1), reads(1500, 4), second],
        &[(0, 1010), (3, 1510), (1, 2020), (2, 2130)],
    );
    check(
        "what waits for the rest of its page",
        plain(),
        &[(3, Read, vec![op(OpKind::Buffered, Host, u32::MAX, 0)])],
        &[(0, 13)],
    );
    let waiting = op(OpKind::Buffered, Host, u32::MAX, 0);
    let several = |at| (at, Read, vec![waiting, op(OpKind::Read(Purpose::Serve), Host, 4, 0), waiting]);
    check(
        "pages of one command, one after the other",
        plain(),
        &[writes(0, 4, 0), several(500), several(505)],
        &[(1, 530), (2, 535), (0, 1010)],
    );
    let (mut scheduler, _) = (schedulers(plain(), None).remove(0).1, ());
    scheduler.submit(0, Command { token: 0, kind: Write, bytes: 10 }, &[program(Host, 4, 0), read(Host, 4)]);
    assert_eq!(scheduler.buffered_reads(), 1);
}

#[test]
fn host_reads_suspend_what_they_may() {
    let config = |suspend| SchedulerConfig { suspend, suspend_ns: 50, ..plain() };
    let erases = |at| [(0, Write, vec![erase(Host, 0)]), reads(at, 2)];
    check("an erase", config(Suspend::Erase), &erases(1000), &[(1, 1160), (0, 5160)]);
    check("an erase that ends later than the overhead", config(Suspend::Both), &erases(4949), &[(1, 5109), (0, 5160)]);
    check("not one that ends with it", config(Suspend::Both), &erases(4950), &[(0, 5000), (1, 5110)]);
    check("not by an option for programs", config(Suspend::Program), &erases(1000), &[(0, 5000), (1, 5110)]);
    check(
        "reads that come meanwhile go before the rest",
        config(Suspend::Erase),
        &[(0, Write, vec![erase(Host, 0)]), reads(1000, 2), reads(1159, 2)],
        &[(1, 1160), (2, 1270), (0, 5270)],
    );
    check(
        "once more when the rest has gone on",
        config(Suspend::Erase),
        &[(0, Write, vec![erase(Host, 0)]), reads(1000, 2), reads(1160, 2)],
        &[(1, 1160), (2, 1320), (0, 5320)],
    );
    check(
        "a program, once its data are in",
        config(Suspend::Program),
        &[writes(0, 0, 0), reads(5, 2)],
        &[(1, 170), (0, 1170)],
    );
    check("a program in the array", config(Suspend::Both), &[writes(0, 0, 0), reads(500, 2)], &[(1, 660), (0, 1170)]);
    check(
        "writes wait",
        config(Suspend::Both),
        &[(0, Write, vec![erase(Host, 0)]), writes(10, 2, 0), reads(1000, 2)],
        &[(2, 1010), (0, 5000), (1, 6010)],
    );
}

#[test]
fn the_write_cache_admits_and_acknowledges() {
    let cache = |bytes| SchedulerConfig { write_cache: Some(WriteCache { bytes, latency_ns: 7 }), ..plain() };
    let three = [writes(0, 0, 0), writes(0, 0, 1), writes(0, 0, 2)];
    check("what fits, and the next when a program is done", cache(20), &three, &[(0, 7), (1, 7), (2, 1017)]);
    check("all of it", cache(30), &three, &[(0, 7), (1, 7), (2, 7)]);
    check("one byte too little", cache(29), &three, &[(0, 7), (1, 7), (2, 1017)]);
    check("a write larger than the cache, alone", cache(5), &three, &[(0, 7), (1, 1017), (2, 2027)]);
    let half = (0, Write, vec![]);
    let loose = [half.clone(), writes(0, 0, 0), half.clone(), half];
    check(
        "writes without a program leave with the next one",
        cache(20),
        &loose,
        &[(0, 7), (1, 7), (2, 1017), (3, 1017)],
    );
    check(
        "without any operation",
        cache(20),
        &[(5, Read, vec![]), (5, Trim, vec![]), (5, Write, vec![])],
        &[(1, 5), (0, 12), (2, 12)],
    );
}

#[test]
fn flushes_wait_for_every_program_before() {
    let cached = SchedulerConfig { write_cache: Some(WriteCache { bytes: 100, latency_ns: 7 }), ..plain() };
    let steps = [writes(0, 0, 0), writes(0, 4, 0), (1, Flush, vec![]), writes(2, 0, 1), (3, Flush, vec![])];
    check("without a cache", plain(), &steps, &[(0, 1010), (1, 1020), (2, 1020), (3, 2020), (4, 2020)]);
    check("with a cache", cached, &steps, &[(0, 7), (1, 7), (3, 9), (2, 1020), (4, 2020)]);
    check("nothing to wait for", plain(), &[(4, Flush, vec![])], &[(0, 4)]);
    check("its own programs", plain(), &[(4, Flush, vec![program(Host, 0, 0)])], &[(0, 1014)]);
    check(
        "a trim waits for nothing",
        plain(),
        &[writes(0, 0, 0), (1, Trim, vec![]), (2, Read, vec![])],
        &[(1, 1), (2, 2), (0, 1010)],
    );
}

#[test]
fn processors_take_their_number_at_a_time() {
    let processors = |count| SchedulerConfig { processors: Some(Processors { count, think_ns: 30 }), ..plain() };
    let two = [reads(0, 0), reads(0, 4)];
    check("one", processors(1), &two, &[(0, 140), (1, 170)]);
    check("two", processors(2), &two, &[(0, 140), (1, 150)]);
    check("the third waits", processors(2), &[reads(0, 0), reads(0, 4), reads(29, 4)], &[(0, 140), (1, 150), (2, 260)]);
}

#[test]
fn planes_work_together_where_they_may() {
    let on = SchedulerConfig { multi_plane: MultiPlane::On, ..plain() };
    check("off", plain(), &[writes(0, 0, 0), writes(0, 2, 0)], &[(0, 1010), (1, 2020)]);
    let busy = |rest: [Step; 2]| [vec![reads(0, 1)], rest.to_vec()].concat();
    check("programs", on, &busy([writes(1, 0, 0), writes(2, 2, 0)]), &[(0, 110), (1, 1130), (2, 1130)]);
    check("not on one plane", on, &busy([writes(1, 0, 0), writes(2, 1, 0)]), &[(0, 110), (1, 1120), (2, 2130)]);
    check("reads", on, &busy([reads(1, 0), reads(2, 2)]), &[(0, 110), (1, 220), (2, 230)]);
    check(
        "erases",
        on,
        &busy([(1, Write, vec![erase(Host, 0)]), (2, Write, vec![erase(Host, 2)])]),
        &[(0, 110), (1, 5110), (2, 5110)],
    );
    check("not two kinds", on, &busy([reads(1, 0), writes(2, 2, 0)]), &[(0, 110), (1, 220), (2, 1230)]);
    let between = [reads(0, 1), reads(1, 0), writes(2, 0, 0), reads(3, 2)];
    check("not past another", on, &between, &[(0, 110), (1, 220), (2, 1230), (3, 1340)]);
    check("the longer of two", on, &busy([(1, Read, vec![again(0, 2)]), reads(2, 2)]), &[(0, 110), (1, 420), (2, 430)]);
}

#[test]
fn classes_go_in_their_order() {
    let low = |task| [reads(0, 0), (1, Trim, vec![erase(task, 1)]), reads(2, 2)];
    for task in [Gc, Scrub, WearLeveling] {
        check("first come", preemptible(Order::FirstCome), &low(task), &[(1, 1), (0, 110), (2, 5220)]);
        check("priority", preemptible(Order::Priority), &low(task), &[(1, 1), (0, 110), (2, 220)]);
    }
    let all = [
        reads(0, 0),
        (1, Trim, vec![relocate(WearLeveling, 2, 4), relocate(Scrub, 2, 5), relocate(Gc, 2, 6)]),
        (2, Write, vec![program(Host, 4, 0)]),
        (2, Write, vec![program(Host, 5, 0)]),
        (2, Write, vec![program(Host, 6, 0)]),
    ];
    // The programs of die 1 start in the order in which their reads end: at 220, 330 and 440.
    check(
        "one class after the other",
        preemptible(Order::Priority),
        &all,
        &[(1, 1), (0, 110), (4, 1230), (3, 2240), (2, 3250)],
    );
    let overtaken = [reads(0, 0), writes(1, 1, 0), reads(2, 2)];
    check("reads wait for writes", plain(), &overtaken, &[(0, 110), (1, 1120), (2, 1230)]);
    let yes = SchedulerConfig { read_priority: ReadPriority::Yes, ..plain() };
    check("reads overtake writes", yes, &overtaken, &[(0, 110), (2, 220), (1, 1230)]);
}

#[test]
fn collections_hold_dies_as_they_say() {
    let mode = |order, collection| SchedulerConfig { order, collection, ..plain() };
    let foreground = plain();
    let background = mode(Order::Priority, Background);
    let begun = [(0, Trim, job()), reads(1, 2), reads(2000, 4)];
    check("foreground", foreground, &begun, &[(0, 0), (2, 2110), (1, 6230)]);
    check(
        "foreground and priority",
        mode(Order::Priority, Collection::Foreground),
        &begun,
        &[(0, 0), (2, 2110), (1, 6230)],
    );
    check("background that has begun", background, &begun, &[(0, 0), (2, 2110), (1, 6230)]);
    check("preemptible", preemptible(Order::Priority), &begun, &[(0, 0), (1, 220), (2, 2110)]);
    let waiting = [reads(0, 2), (1, Trim, job()), reads(2, 2), reads(500, 2)];
    check("foreground behind a read", foreground, &waiting, &[(1, 1), (0, 110), (2, 6340), (3, 6450)]);
    check("background that has not begun", background, &waiting, &[(1, 1), (0, 110), (2, 220), (3, 6450)]);
    check(
        "preemptible behind a read",
        preemptible(Order::Priority),
        &waiting,
        &[(1, 1), (0, 110), (2, 220), (3, 1450)],
    );
    let mut same = job();
    same.push(program(Host, 2, 0));
    check("the rest of the list waits", foreground, &[(0, Write, same.clone())], &[(0, 7130)]);
    let second = vec![relocate(Gc, 2, 1), program(Gc, 1, 1), erase(Gc, 2), program(Host, 3, 0)];
    let between = [(0, Trim, job()), reads(1, 3), (2, Write, second)];
    check("a later collection does not overtake", foreground, &between, &[(0, 0), (1, 6230), (2, 13_360)]);
    check("unless it may get in between", preemptible(Order::FirstCome), &[(0, Write, same)], &[(0, 1120)]);
    let other = [(0, Trim, vec![relocate(Gc, 0, 4), program(Gc, 4, 0), erase(Gc, 0)]), reads(1, 2), reads(200, 5)];
    check("the die that is only written is free", foreground, &other, &[(0, 0), (2, 1230), (1, 6230)]);
}

/// A read of die 0 that block 6, on die 1, could also serve, and one the other way round.
#[test]
fn reads_go_around_a_die_that_collects_unless_another_one_does() {
    let instead = |block| op(OpKind::Read(Purpose::Instead), Host, block, 0);
    let (there, back) = (vec![read(Host, 2), instead(6)], vec![read(Host, 6), instead(2)]);
    let other = || vec![relocate(Gc, 4, 5), program(Gc, 5, 0), erase(Gc, 4)];
    let mode = |collection| SchedulerConfig { collection, group_dies: Some(2), ..plain() };
    let modes = [Collection::Foreground, Background, Collection::Rotating].map(mode);
    for config in modes {
        let one = [(0, Trim, job()), (1, Read, there.clone()), (7000, Read, there.clone())];
        check("one die collects, then none", config, &one, &[(0, 0), (1, 120), (2, 7110)]);
        let in_flight = [(0, Trim, job()), (1, Write, vec![program(Host, 2, 0)]), (2, Read, there.clone())];
        check("a page in flight", config, &in_flight, &[(0, 0), (2, 12), (1, 7130)]);
    }
    let both = [(0, Trim, [job(), other()].concat()), (1, Read, there.clone())];
    for config in [mode(Collection::Foreground), mode(Background)] {
        check("both dies collect", config, &both, &[(0, 0), (1, 6240)]);
    }
    check("preemptible collections keep no die", preemptible(Order::FirstCome), &both, &[(0, 0), (1, 220)]);
    let in_turn = [
        (0, Trim, [job(), other()].concat()),
        (1, Read, there),
        (2, Read, back.clone()),
        (7000, Read, back),
        (13_000, Read, vec![read(Host, 6)]),
    ];
    check("in turn", mode(Collection::Rotating), &in_turn, &[(0, 0), (1, 120), (2, 230), (3, 7110), (4, 13_110)]);
    // Apart from each other's group they do not wait: the second collection has ended when the read comes.
    let apart = SchedulerConfig { group_dies: Some(1), ..mode(Collection::Rotating) };
    let no_way = [(0, Trim, [job(), other()].concat()), (6135, Read, vec![read(Host, 6)])];
    check("in groups of their own", apart, &no_way, &[(0, 0), (1, 6250)]);
    check("in one group", mode(Collection::Rotating), &no_way, &[(0, 0), (1, 12_350)]);
}

/// The breakdown of the last step's command.
fn check_parts(claim: &str, config: SchedulerConfig, steps: &[Step], want: Breakdown) {
    for (name, mut scheduler) in schedulers(config, Some(1_000_000_000)) {
        for ((at, kind, ops), token) in steps.iter().zip(0..) {
            scheduler.submit(*at, Command { token, kind: *kind, bytes: 10 }, ops);
        }
        let last = std::iter::from_fn(|| scheduler.next_completion(u64::MAX).copied())
            .find(|done| done.token + 1 == steps.len() as u64);
        assert_eq!(last.unwrap().breakdown, want, "{claim} ({name})");
    }
}

#[test]
fn each_wait_is_told_by_who_held_the_resource() {
    let read_only = Breakdown { sensing_ns: 100, transfer_ns: 10, ..Breakdown::default() };
    check_parts("alone", plain(), &[reads(0, 0)], read_only);
    check_parts("re-reads", plain(), &[(0, Read, vec![again(0, 3)])], Breakdown { rereads_ns: 300, ..read_only });
    check_parts("a host read", plain(), &[reads(0, 0), reads(30, 0)], Breakdown { host_ns: 80, ..read_only });
    check_parts("the channel", plain(), &[reads(0, 0), reads(3, 4)], Breakdown { host_ns: 7, ..read_only });
    let first = preemptible(Order::FirstCome);
    let behind = |task| [(0, Trim, vec![erase(task, 0)]), reads(10, 2)];
    for config in [plain(), first] {
        check_parts("collection", config, &behind(Gc), Breakdown { gc_ns: 4990, ..read_only });
        check_parts("scrubbing", config, &behind(Scrub), Breakdown { scrub_ns: 4990, ..read_only });
        check_parts("wear leveling", config, &behind(WearLeveling), Breakdown { wear_leveling_ns: 4990, ..read_only });
        let mixed = [(0, Trim, vec![read(Scrub, 0), erase(WearLeveling, 2)]), reads(10, 0), reads(20, 0)];
        let parts = Breakdown { scrub_ns: 90, wear_leveling_ns: 5000, host_ns: 110, ..read_only };
        check_parts("one after the other", config, &mixed, parts);
    }
    check_parts(
        "a job's gaps",
        plain(),
        &[(0, Trim, vec![relocate(Gc, 0, 4), program(Gc, 4, 0), erase(Gc, 0)]), reads(1, 2)],
        Breakdown { gc_ns: 6119, ..read_only },
    );
    let held = [(0, Trim, job()), writes(1, 2, 0)];
    let write = Breakdown { program_ns: 1000, transfer_ns: 10, ..Breakdown::default() };
    check_parts("a write after a job", plain(), &held, Breakdown { gc_ns: 6119, ..write });
    let suspend = SchedulerConfig { suspend: Suspend::Erase, suspend_ns: 50, ..first };
    check_parts("an interruption", suspend, &behind(Gc), Breakdown { gc_ns: 50, ..read_only });
    let failed = (0, Read, vec![again(0, 1), recover(4), recover(5)]);
    check_parts("recovery", plain(), &[failed], Breakdown { rereads_ns: 100, recovery_ns: 220, ..read_only });
    let processors = SchedulerConfig { processors: Some(Processors { count: 1, think_ns: 30 }), ..plain() };
    check_parts("processors", processors, &[reads(0, 0), reads(0, 4)], Breakdown { think_ns: 60, ..read_only });
    check_parts("a write", plain(), &[writes(0, 0, 0)], write);
    let erased = [(0, Trim, vec![erase(Gc, 0)]), writes(1, 0, 0)];
    check_parts("an erase before", first, &erased, Breakdown { dependency_ns: 4999, ..write });
    let on = SchedulerConfig { multi_plane: MultiPlane::On, ..plain() };
    check_parts(
        "a mate's longer sensing",
        on,
        &[reads(0, 1), (1, Read, vec![again(0, 2)]), reads(2, 2)],
        Breakdown { host_ns: 108 + 200 + 10, ..read_only },
    );
}

#[test]
fn commands_cross_the_link_one_after_the_other() {
    // The link needs 10 ns for 10 bytes and 40 ns a command.
    let linked =
        SchedulerConfig { link: Some(Link { bytes_per_second: Some(1_000_000_000), command_ns: 40 }), ..plain() };
    let alone = Breakdown { sensing_ns: 100, transfer_ns: 10, link_ns: 50, ..Breakdown::default() };
    check("alone", linked, &[reads(0, 0)], &[(0, 160)]);
    check_parts("alone", linked, &[reads(0, 0)], alone);
    // Pages of two dies have come at 110 and 120.
    check("two reads", linked, &[reads(0, 0), reads(0, 4)], &[(0, 160), (1, 210)]);
    check_parts("two reads", linked, &[reads(0, 0), reads(0, 4)], Breakdown { host_ns: 10, link_ns: 90, ..alone });
    let mixed = [writes(0, 0, 0), reads(0, 4), reads(2000, 4)];
    check("who is done first crosses first", linked, &mixed, &[(1, 160), (0, 1060), (2, 2160)]);
    // The program of die 1 and the transfer of die 0 end at 1,010, and ends of dies come first.
    let at_once = [writes(0, 4, 0), reads(900, 0)];
    check("of those done at once the program", linked, &at_once, &[(0, 1060), (1, 1110)]);
    let others = [(0, Flush, vec![]), (0, Trim, vec![])];
    check("a flush crosses, a trim does not", linked, &others, &[(1, 0), (0, 50)]);
    let cached = SchedulerConfig { write_cache: Some(WriteCache { bytes: 100, latency_ns: 7 }), ..linked };
    check_parts(
        "a cached write crosses",
        cached,
        &[writes(0, 0, 0)],
        Breakdown { cache_ns: 7, link_ns: 50, ..Breakdown::default() },
    );
    let free = SchedulerConfig { link: Some(Link { bytes_per_second: None, command_ns: 0 }), ..plain() };
    check("a link without time", free, &[reads(0, 0), reads(0, 4)], &[(0, 110), (1, 120)]);
}

/// Two channels of two dies: pages of dies 2 and 1 have come at 110, and die 2 is on the first channel.
#[test]
fn transfers_that_end_together_cross_the_link_by_channel() {
    let geometry = Geometry::new(2, 2, 1, 2, 8, Bytes(10)).unwrap();
    let timing = Timing {
        read_ns: vec![100],
        program_ns: vec![1000],
        erase_ns: 5000,
        channel_bytes_per_second: Some(1_000_000_000),
    };
    let link = Some(Link { bytes_per_second: None, command_ns: 50 });
    let mut scheduler = EventScheduler::new(&geometry, timing, SchedulerConfig { link, ..plain() }).unwrap();
    for (token, block) in [(0, 4), (1, 2)] {
        scheduler.submit(0, Command { token, kind: Read, bytes: 10 }, &[read(Host, block)]);
    }
    let done = std::iter::from_fn(|| scheduler.next_completion(u64::MAX).map(|done| (done.token, done.at)));
    assert_eq!(done.collect::<Vec<_>>(), [(0, 160), (1, 210)]);
}

#[test]
fn two_reads_of_one_die_with_three_re_reads_take_200_and_400_us() {
    let geometry = Geometry::new(1, 1, 1, 4, 8, Bytes(4096)).unwrap();
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![500_000],
        erase_ns: 5_000_000,
        channel_bytes_per_second: None,
    };
    let mut both = [
        Scheduler::Event(Box::new(EventScheduler::new(&geometry, timing.clone(), plain()).unwrap())),
        Scheduler::Timeline(Box::new(Timeline::new(&geometry, timing, plain()).unwrap())),
    ];
    for scheduler in &mut both {
        for token in 0..2 {
            scheduler.submit(0, Command { token, kind: Read, bytes: 4096 }, &[again(0, 3)]);
        }
        let done: Vec<u64> =
            std::iter::from_fn(|| scheduler.next_completion(u64::MAX).copied()).map(|done| done.at).collect();
        assert_eq!(done, [200_000, 400_000]);
    }
}

#[test]
fn page_types_take_turns() {
    let geometry = Geometry::new(1, 1, 1, 4, 8, Bytes(10)).unwrap();
    let timing =
        Timing { read_ns: vec![10, 20, 40], program_ns: vec![100, 300], erase_ns: 1, channel_bytes_per_second: None };
    let mut scheduler = EventScheduler::new(&geometry, timing, plain()).unwrap();
    let mut at = 0;
    for (kind, page, want) in [
        (OpKind::Read(Purpose::Serve), 0, 10),
        (OpKind::Read(Purpose::Serve), 4, 20),
        (OpKind::Read(Purpose::Serve), 5, 40),
        (OpKind::Program, 0, 100),
        (OpKind::Program, 1, 300),
        (OpKind::Program, 2, 100),
    ] {
        scheduler.submit(at, Command { token: 0, kind: Write, bytes: 10 }, &[op(kind, Host, 0, page)]);
        let done = *scheduler.next_completion(u64::MAX).unwrap();
        assert_eq!(done.at - at, want, "{kind:?} of page {page}");
        at = done.at;
    }
}
