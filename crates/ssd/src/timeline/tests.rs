//! The short way for reads against the long one.

use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes};

use super::*;

const DIES: u32 = 6;
const BLOCKS: u32 = 8;
const PAGES: u32 = 16;

fn timeline(long_way: bool) -> Timeline {
    let geometry = Geometry::new(3, DIES / 3, 1, BLOCKS, PAGES, Bytes(4096)).unwrap();
    let timing = Timing {
        read_ns: vec![50_000, 70_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: Some(333_000_000),
    };
    let mut timeline = Timeline::new(&geometry, timing, SchedulerConfig::default()).unwrap();
    timeline.long_way = long_way;
    timeline
}

/// Mostly reads of the host, some of several pages, with re-reads or with a recovery; now and then a write with a
/// collection.
fn command(stream: &mut Stream, open: &mut [u32], ops: &mut Vec<FlashOp>) -> CommandKind {
    ops.clear();
    let mut push = |kind, task, block, page, rereads| {
        ops.push(FlashOp { kind, task, block: BlockId(block), page, bytes: 4096, rereads });
    };
    let place =
        |stream: &mut Stream| (stream.below(u64::from(DIES * BLOCKS)) as u32, stream.below(u64::from(PAGES)) as u32);
    if stream.chance(0.9) {
        for _ in 0..1 + stream.below(8) / 6 {
            let (block, page) = place(stream);
            push(OpKind::Read(Purpose::Serve), Task::Host, block, page, stream.below(8).saturating_sub(5) as u32);
            for _ in 0..if stream.chance(0.05) { 3 } else { 0 } {
                let (block, page) = place(stream);
                push(OpKind::Read(Purpose::Recover), Task::Host, block, page, 0);
            }
        }
        return CommandKind::Read;
    }
    let die = stream.below(u64::from(DIES)) as u32;
    let (block, page) = (die * BLOCKS, open[die as usize]);
    if page == 0 {
        let target = block + 1;
        let task = if stream.chance(0.5) { Task::GarbageCollection } else { Task::Scrub };
        push(OpKind::Read(Purpose::Relocate(BlockId(target))), task, place(stream).0, 3, 0);
        push(OpKind::Program, task, target, 0, 0);
        push(OpKind::Erase, task, target, 0, 0);
        push(OpKind::Erase, task, block, 0, 0);
    }
    push(OpKind::Program, Task::Host, block, page, 0);
    open[die as usize] = (page + 1) % PAGES;
    CommandKind::Write
}

fn completions(long_way: bool, gap_ns: u64) -> (Vec<Completion>, Utilization, u64) {
    let mut stream = Streams::new(5).stream("reads");
    let mut timeline = timeline(long_way);
    let (mut open, mut ops, mut done, mut at) = ([0; DIES as usize], Vec::new(), Vec::new(), 0);
    for token in 0..20_000 {
        // Bursts and pauses, so that dies are idle at times.
        at += if stream.chance(0.2) { stream.below(10 * gap_ns) } else { 0 };
        done.extend(std::iter::from_fn(|| timeline.next_completion(at).copied()));
        let kind = command(&mut stream, &mut open, &mut ops);
        timeline.submit(at, Command { token, kind, bytes: 4096 }, &ops);
    }
    done.extend(std::iter::from_fn(|| timeline.next_completion(u64::MAX).copied()));
    (done, timeline.utilization(), timeline.buffered_reads())
}

#[test]
fn reads_among_reads_take_the_short_way_to_the_same_end() {
    for gap_ns in [20_000, 60_000, 300_000] {
        let (short, long) = (completions(false, gap_ns), completions(true, gap_ns));
        assert_eq!(short.0.len(), 20_000);
        for (short, long) in short.0.iter().zip(&long.0) {
            assert_eq!(short, long);
            assert_eq!(short.breakdown.total_ns(), short.latency_ns());
        }
        assert_eq!((short.1, short.2), (long.1, long.2));
        assert!(short.2 > 0, "some pages are still being programmed");
    }
}

#[test]
fn a_channel_gives_the_earliest_time_that_it_remembers_to_be_free() {
    let mut stream = Streams::new(6).stream("gaps");
    let (mut all, mut remembered) = (0, 0);
    for _ in 0..2000 {
        let (mut channel, mut taken, mut most) = (Channel::new(), Vec::<(u64, u64)>::new(), 0);
        for _ in 0..30 {
            let (from, length) = (stream.below(400), 1 + stream.below(12));
            let begin = channel.take(from, length);
            taken.sort_unstable();
            let fits = |at: u64| taken.iter().all(|(start, end)| at + length <= *start || *end <= at);
            assert!(begin >= from && fits(begin), "{begin} is taken: {taken:?}");
            // Free times between what is taken, the one from 0 on included.
            let ends = std::iter::once(0).chain(taken.iter().map(|(_, end)| *end));
            most = ends.zip(&taken).filter(|(end, (start, _))| end < start).count().max(most);
            let earliest = (from..=begin).find(|at| fits(*at)) == Some(begin);
            assert!(earliest || most > 8, "{begin} from {from} for {length} in {taken:?}");
            all += 1;
            remembered += u32::from(most <= 8);
            taken.push((begin, begin + length));
        }
    }
    assert!(remembered > all / 3, "{remembered} of {all} with all gaps remembered");
}
