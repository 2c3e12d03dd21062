//! Measures stand-ins against the published figures, and checks what a source writes.

use super::*;
use crate::standin::*;
use wane_sim::Streams;

/// Footprint in pages, mean pages, r at h = 1 - r, and sequential share, as in Table 4 of the dissertation (000).
fn measure(source: &mut StandinSource, logical: u32, requests: usize) -> (u32, f64, f64, f64) {
    let mut counts = vec![0u32; logical as usize];
    let (mut pages, mut sequential, mut end) = (0u64, 0u32, u64::MAX);
    for _ in 0..requests {
        let request = Iterator::next(source).unwrap();
        sequential += u32::from(request.offset == end);
        end = request.offset + request.length;
        for page in request.offset / 4096..end / 4096 {
            counts[page as usize] += 1;
            pages += 1;
        }
    }
    let touched = counts.iter().filter(|count| **count > 0).count();
    let requests = requests as f64;
    (touched as u32, pages as f64 / requests, hotness(&counts).0, f64::from(sequential) / requests)
}

/// Shares of the writes that the most written h = 1 - r of the touched pages receive, and the most written fifth.
fn hotness(counts: &[u32]) -> (f64, f64) {
    let mut touched: Vec<u32> = counts.iter().copied().filter(|count| *count > 0).collect();
    touched.sort_unstable_by(|a, b| b.cmp(a));
    let pages: u64 = touched.iter().map(|count| u64::from(*count)).sum();
    let share =
        |ranks: usize| touched[..ranks].iter().map(|count| u64::from(*count)).sum::<u64>() as f64 / pages as f64;
    let (mut cumulative, mut ranks) = (0u64, 0);
    while (cumulative as f64 / pages as f64) < 1.0 - ranks as f64 / touched.len() as f64 {
        cumulative += u64::from(touched[ranks]);
        ranks += 1;
    }
    (cumulative as f64 / pages as f64, share(touched.len() / 5))
}

#[test]
fn stand_ins_measure_back_to_what_was_published() {
    for standin in STANDINS.iter().chain(&MIXTURES) {
        // A loop is drawn once, so that chance blurs it on a small drive.
        let (logical, writes) = match standin.spread {
            Spread::Mixture => (1 << 16, 400.0),
            Spread::Looped { writes_per_page } => (1 << 20, writes_per_page),
        };
        let mut source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
        let wanted_pages = standin.footprint_gib / 256.0 * f64::from(logical);
        let size = standin.write_kib / 4.0;
        // A page of a mixture is written 400 times, so that chance hardly blurs its count.
        let requests = (writes * wanted_pages / size) as usize;
        let (footprint, pages, r, sequential) = measure(&mut source, logical, requests);
        let name = standin.name;
        assert!(
            (f64::from(footprint) / wanted_pages - 1.0).abs() < 0.02,
            "{name}: footprint {footprint} {wanted_pages}"
        );
        assert!((pages / size - 1.0).abs() < 0.03, "{name}: size {pages} {size}");
        assert!((r - standin.r).abs() < 0.02, "{name}: r {r} {}", standin.r);
        assert!((sequential - standin.sequential_share).abs() < 0.02, "{name}: sequential {sequential}");
    }
}

/// Footprint in pages, share of the data on its most accessed fifth, and GiB moved, of a stand-in's reads or writes.
fn measure_traffic(standin: &TrafficStandin, op: Op, logical: u32) -> (u32, f64, f64) {
    let mut source = traffic_source(standin, logical, 4096, traffic_streams(Streams::new(1), "t"));
    let mut counts = vec![0u32; logical as usize];
    let mut batch = Batch::default();
    // The whole trace, with as many accesses of a page as it has.
    let requests = (standin.requests() * f64::from(logical) * 4096.0 / (TRAFFIC_GIB * 1024.0 * 1024.0 * 1024.0)) as u64;
    let mut served = 0;
    while served < requests {
        source.next(&mut batch, 1 << 20, 1).unwrap();
        served += batch.requests;
        if batch.op == op {
            batch.pages.iter().for_each(|page| counts[*page as usize] += 1);
        }
    }
    let pages = counts.iter().map(|count| u64::from(*count)).sum::<u64>() as f64;
    let touched = counts.iter().filter(|count| **count > 0).count();
    let traffic = if op == Op::Read { standin.read } else { standin.write };
    let footprint = traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical);
    let hot: u32 = counts[..(footprint / 5.0).round() as usize].iter().sum();
    (touched as u32, f64::from(hot) / pages, pages / f64::from(logical) * TRAFFIC_GIB)
}

#[test]
fn stand_ins_with_reads_measure_back_to_what_was_published() {
    let logical = 1 << 20;
    for (standin, op) in TRAFFIC_STANDINS.iter().flat_map(|standin| [(standin, Op::Read), (standin, Op::Write)]) {
        let traffic = if op == Op::Read { standin.read } else { standin.write };
        let (touched, hotness, gib) = measure_traffic(standin, op, logical);
        let name = format!("{} {op:?}", standin.name);
        let footprint = traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical);
        // What is accessed about once leaves pages out: exp(-accesses) of them.
        let each =
            |share: f64, part: f64| part * libm::exp(-traffic.accessed_gib * share / (traffic.footprint_gib * part));
        let missed = each(traffic.hotness, 0.2) + each(1.0 - traffic.hotness, 0.8);
        assert!((f64::from(touched) / footprint - 1.0 + missed).abs() < 0.1, "{name}: {touched} {footprint} {missed}");
        assert!((hotness - traffic.hotness).abs() < 0.05, "{name}: {hotness} {}", traffic.hotness);
        assert!((gib / traffic.accessed_gib - 1.0).abs() < 0.1, "{name}: {gib} {}", traffic.accessed_gib);
    }
}

#[test]
fn footprints_fill_the_bottom_and_keep_a_tail_at_the_top() {
    let logical = 1u32 << 16;
    let pages = |gib: f64| (gib / 256.0 * f64::from(logical)).round() as u32;
    for standin in &STANDINS {
        let mut source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
        let (footprint, tail) = (source.footprint_pages(), pages(standin.tail_gib));
        let mut touched = vec![false; logical as usize];
        for _ in 0..1_000_000 {
            let request = Iterator::next(&mut source).unwrap();
            let first = (request.offset / 4096) as usize;
            touched[first..first + (request.length / 4096) as usize].fill(true);
        }
        // What a loop touches is drawn, and so is how much of it lies at the top.
        let bottom = touched.iter().position(|touched| !touched).unwrap_or(touched.len()) as u32;
        let free = logical - footprint;
        let wanted: Vec<bool> = (0..logical).map(|page| page < bottom || page >= bottom + free).collect();
        assert_eq!(touched, wanted, "{}", standin.name);
        let exact = standin.spread == Spread::Mixture;
        let off = if exact { 0.0 } else { 0.02 * f64::from(footprint) };
        let top = footprint - bottom;
        assert!(f64::from(top.abs_diff(tail)) <= off, "{}: {top} pages at the top, wanted {tail}", standin.name);
    }
}

/// A uniform run over the footprint of `of`, with its sizes and runs and as long as its published trace.
fn uniform(of: &Standin, traffic: &TrafficStandin, logical: u32) -> (f64, f64) {
    let standin = looped(*of, traffic);
    let mut source = StandinSource::new(&standin, logical, 4096, Streams::new(1).stream(standin.name));
    let pages = (f64::from(logical) * of.footprint_gib / 256.0 * traffic.write.accessed_gib
        / traffic.write.footprint_gib) as u64;
    let mut counts = vec![0u32; logical as usize];
    let mut written = 0;
    while written < pages {
        let request = Iterator::next(&mut source).unwrap();
        (request.offset / 4096..(request.offset + request.length) / 4096).for_each(|page| counts[page as usize] += 1);
        written += request.length / 4096;
    }
    hotness(&counts)
}

/// The table of the book's page on stand-ins.
#[test]
fn uniform_writes_have_the_published_hotness_of_two_traces() {
    // (trace, r and share of the most written fifth: uniform writes of the published amount, published)
    let table = [
        ("dap-ds", (0.586, 0.330), (0.7862, 0.778)),
        ("dap-ps", (0.550, 0.345), (0.5502, 0.346)),
        ("lm-tbe", (0.602, 0.359), (0.6029, 0.344)),
        ("msn-befs", (0.602, 0.355), (0.7018, 0.569)),
        ("msn-cfs", (0.608, 0.373), (0.6928, 0.585)),
        ("rad-as", (0.594, 0.347), (0.7090, 0.633)),
        ("rad-be", (0.596, 0.348), (0.6551, 0.490)),
    ];
    for (traffic, (name, ours, published)) in TRAFFIC_STANDINS.iter().zip(table) {
        let standin = find(name).unwrap();
        assert_eq!((traffic.writes, standin.r, traffic.write.hotness), (name, published.0, published.1));
        let logical = if standin.footprint_gib > 100.0 { 1 << 22 } else { 1 << 24 };
        let found = uniform(standin, traffic, logical);
        assert!((found.0 - ours.0).abs() < 0.004 && (found.1 - ours.1).abs() < 0.004, "{name}: {found:?} {ours:?}");
        let by_chance = (found.0 - published.0).abs() < 0.005;
        assert_eq!(by_chance, standin.spread != Spread::Mixture, "{name}: {found:?} {published:?}");
    }
}

/// The r at which the most written 1 - r of the touched pages receive a share r of uniform writes, of which a page
/// receives `each` on average. Counts are Poisson's.
fn poisson_r(each: f64) -> f64 {
    let mut shares = vec![libm::exp(-each)];
    for count in 1..100 {
        shares.push(shares[count - 1] * each / count as f64);
    }
    let (touched, mut pages, mut writes) = (1.0 - shares[0], 0.0, 0.0);
    for (count, share) in shares.iter().enumerate().skip(1).rev() {
        let (more_pages, more_writes) = (share / touched, count as f64 * share / each);
        let missing = 1.0 - pages - writes;
        if more_pages + more_writes >= missing {
            return writes + more_writes * missing / (more_pages + more_writes);
        }
        (pages, writes) = (pages + more_pages, writes + more_writes);
    }
    unreachable!("all pages receive all writes")
}

#[test]
fn no_amount_of_uniform_writes_is_as_hot_as_seven_of_the_traces() {
    let highest = (1..2000).map(|hundredths| poisson_r(f64::from(hundredths) / 100.0)).fold(0.0, f64::max);
    assert!((highest - 0.6104).abs() < 1e-4, "{highest}");
    let below: Vec<&str> = STANDINS.iter().filter(|standin| standin.r < highest).map(|standin| standin.name).collect();
    assert_eq!(below, ["wbs", "dtrs", "dap-ps", "lm-tbe"]);
}

#[test]
fn a_loop_repeats_itself() {
    for name in ["dap-ps", "lm-tbe"] {
        let standin = find(name).unwrap();
        let source = StandinSource::new(standin, 1 << 14, 4096, Streams::new(5).stream(name));
        let Draws::Looped(turn) = &source.draws else { panic!("{name} is a loop") };
        let pages = turn.pages;
        let mut loops: Vec<Vec<Request>> = vec![Vec::new()];
        let mut written = 0;
        for request in source.take(20_000) {
            if written >= pages {
                loops.push(Vec::new());
                written = 0;
            }
            written += request.length / 4096;
            loops.last_mut().unwrap().push(request);
        }
        let whole = loops.len() - 1;
        assert!(whole >= 2, "{name}: {whole} loops");
        assert!(loops[1..whole].iter().all(|later| *later == loops[0]), "{name}");
    }
}

#[test]
fn a_scattered_stand_in_writes_the_same_pages_elsewhere() {
    let logical = 1u32 << 16;
    for standin in &STANDINS {
        let make =
            |layout| StandinSource::laid_out(standin, layout, logical, 4096, Streams::new(1).stream(standin.name));
        let mut first_of = vec![u32::MAX; logical as usize];
        let (mut packed, mut scattered) = (make(Layout::Packed), make(Layout::Scattered));
        let (mut one, mut other) = (Batch::default(), Batch::default());
        for _ in 0..100 {
            Source::next(&mut packed, &mut one, 1 << 12, u64::MAX).unwrap();
            Source::next(&mut scattered, &mut other, 1 << 12, u64::MAX).unwrap();
            for (page, elsewhere) in one.pages.iter().zip(&other.pages) {
                let known = &mut first_of[*page as usize];
                assert!(*known == u32::MAX || *known == *elsewhere, "{}: page {page}", standin.name);
                *known = *elsewhere;
            }
        }
        // Spread evenly: half of the footprint lies in each half of the drive.
        let mut elsewhere: Vec<u32> = first_of.into_iter().filter(|page| *page != u32::MAX).collect();
        elsewhere.sort_unstable();
        let pages = elsewhere.len();
        elsewhere.dedup();
        assert_eq!(elsewhere.len(), pages, "{}: two pages became one", standin.name);
        assert!(elsewhere.last().is_some_and(|last| *last < logical), "{}", standin.name);
        if pages > 1000 {
            let low = elsewhere.partition_point(|page| *page < logical / 2) as f64 / pages as f64;
            assert!((low - 0.5).abs() < 0.05, "{}: {low} in the lower half", standin.name);
        }
    }
}

#[test]
fn the_smallest_drives_hold_every_stand_in() {
    let standins = || STANDINS.iter().chain(&MIXTURES);
    let layouts = [Layout::Packed, Layout::Scattered];
    for (logical, standin, layout) in [2, 3, 7, 100]
        .into_iter()
        .flat_map(|logical| standins().flat_map(move |s| layouts.map(|layout| (logical, s, layout))))
    {
        let stream = Streams::new(1).stream(standin.name);
        let source = StandinSource::laid_out(standin, layout, logical, 4096, stream);
        for request in source.take(1000) {
            assert!(request.length > 0 && request.offset + request.length <= u64::from(logical) * 4096, "{logical}");
        }
    }
}

#[test]
fn a_source_writes_what_its_requests_say() {
    for (name, layout) in [("rad-be", Layout::Packed), ("dap-ps", Layout::Scattered)] {
        let standin = find(name).unwrap();
        let make = || StandinSource::laid_out(standin, layout, 10_000, 4096, Streams::new(3).stream("workload"));
        let wanted: Vec<u32> = make()
            .take(500)
            .flat_map(|request| (request.offset / 4096) as u32..((request.offset + request.length) / 4096) as u32)
            .collect();
        let (mut source, mut batch, mut found) = (make(), Batch::default(), Vec::new());
        while found.len() < wanted.len() {
            Source::next(&mut source, &mut batch, 7, u64::MAX).unwrap();
            found.extend_from_slice(&batch.pages);
        }
        assert_eq!(found[..wanted.len()], wanted, "{name}");
        assert!(wanted.iter().all(|page| *page < 10_000), "{name}");
    }
}
