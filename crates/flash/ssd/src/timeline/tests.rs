//! The timeline gives the same results as the event scheduler, whatever the firmware does.

use wane_nand::{OpKind, Purpose};
use wane_sim::Streams;
use wane_units::BlockId;

use super::*;
use crate::EventScheduler;
use crate::config::{Processors as ProcessorsConfig, WriteCache};
use crate::event::tests::{Firmware, geometry};

const COMMANDS: u64 = 60;

/// The completions of both schedulers for the same lists. With these times, two operations hardly ever end together by chance.
fn completions(seed: u64, config: SchedulerConfig) -> [Vec<Completion>; 2] {
    let mut stream = Streams::new(seed).stream("run");
    let mut times = |bound: u64| (0..1 + stream.below(3)).map(|_| 1 + stream.below(bound)).collect::<Vec<_>>();
    let (read_ns, program_ns) = (times(60_000), times(400_000));
    let erase_ns = 1 + stream.below(2_000_000);
    let channel_bytes_per_second = Some(20_000_000 + stream.below(1_000_000_000));
    let timing = Timing { read_ns, program_ns, erase_ns, channel_bytes_per_second };
    let mut event = EventScheduler::new(&geometry(), timing.clone(), config).unwrap();
    let mut timeline = Timeline::new(&geometry(), timing, config).unwrap();
    let (mut firmware, mut done, mut at) = (Firmware::new(seed), [Vec::new(), Vec::new()], 0);
    for token in 0..COMMANDS {
        at += if stream.chance(0.3) { 0 } else { stream.below(600_000 >> (4 * (seed % 3))) };
        let command = firmware.command(token);
        event.submit(at, command, &firmware.ops);
        timeline.submit(at, command, &firmware.ops);
        let until = if token == COMMANDS - 1 { u64::MAX } else { at };
        if until > at || stream.chance(0.7) {
            done[0].extend(std::iter::from_fn(|| event.next_completion(until).copied()));
            done[1].extend(std::iter::from_fn(|| timeline.next_completion(until).copied()));
        }
    }
    assert_eq!(event.outstanding_time_ns(), timeline.outstanding_time_ns());
    assert_eq!((event.operations(), event.buffered_reads()), (timeline.operations(), timeline.buffered_reads()));
    assert_eq!(event.utilization().die_held_ns, timeline.utilization().die_held_ns);
    assert_eq!(event.utilization().channel_held_ns, timeline.utilization().channel_held_ns);
    assert_eq!((timeline.outstanding(), timeline.operations_pending()), (0, 0));
    done
}

#[test]
fn every_command_ends_as_by_events() {
    let plain = SchedulerConfig::default();
    let write_cache = Some(WriteCache { bytes: 9000, latency_ns: 797 });
    let processors = Some(ProcessorsConfig { count: 2, think_ns: 1109 });
    for config in [
        plain,
        SchedulerConfig { write_cache, ..plain },
        SchedulerConfig { processors, ..plain },
        SchedulerConfig { write_cache, processors, ..plain },
    ] {
        let (mut waits, mut apart) = (0, 0);
        for seed in 0..300 {
            let [event, timeline] = completions(seed, config);
            let ends = |all: &[Completion]| all.iter().map(|one| (one.token, one.at)).collect::<Vec<_>>();
            assert_eq!(ends(&event), ends(&timeline), "seed {seed}, {config:?}");
            assert_eq!(event.len() as u64, COMMANDS);
            waits += event.iter().filter(|one| one.breakdown.gc_ns > 0).count();
            apart += event.iter().zip(&timeline).filter(|(one, other)| one != other).count();
        }
        // If two pages of a command end in the same nanosecond, either may be the last.
        assert!(apart <= 10 && waits > 500, "{config:?}: {apart} told apart, {waits} behind collections");
    }
}

#[test]
fn what_the_drive_does_for_itself_goes_on_while_time_passes() {
    let timing = Timing {
        read_ns: vec![100],
        program_ns: vec![1000],
        erase_ns: 5000,
        channel_bytes_per_second: Some(1_000_000_000),
    };
    let mut timeline = Timeline::new(&geometry(), timing, SchedulerConfig::default()).unwrap();
    let gc = |kind, block| FlashOp {
        kind,
        task: Task::GarbageCollection,
        block: BlockId(block),
        page: 0,
        bytes: 10,
        rereads: 0,
    };
    let job = [gc(OpKind::Read(Purpose::Relocate(BlockId(1))), 0), gc(OpKind::Program, 1), gc(OpKind::Erase, 0)];
    let trim = Command { token: 0, kind: CommandKind::Trim, bytes: 0 };
    timeline.submit(0, trim, &job);
    // Read to 110, programmed to 1,120, erased to 6,120; the channel is asked for at 100 and 110.
    for (at, placed, next) in [
        (0, 0, Some(100)),
        (99, 0, Some(100)),
        (100, 1, Some(110)),
        (109, 1, Some(110)),
        (110, 2, Some(1120)),
        (1119, 2, Some(1120)),
        (1120, 3, Some(6120)),
        (6119, 3, Some(6120)),
        (6120, 3, None),
    ] {
        timeline.pass_to(at);
        assert_eq!((timeline.now(), timeline.operations(), timeline.next_work_at()), (at, placed, next));
        assert_eq!(timeline.outstanding_of(Task::GarbageCollection) > 0, next.is_some(), "at {at} ns");
    }
    timeline.submit(
        6120,
        Command { token: 1, kind: CommandKind::Read, bytes: 10 },
        &[FlashOp { task: Task::Host, ..gc(OpKind::Read(Purpose::Serve), 1) }],
    );
    let ends: Vec<_> =
        std::iter::from_fn(|| timeline.next_completion(u64::MAX).map(|done| (done.token, done.at))).collect();
    assert_eq!(ends, [(0, 0), (1, 6230)]);
}
