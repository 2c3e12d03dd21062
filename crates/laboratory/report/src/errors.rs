//! The pictures of flash that errs: re-reads and lost pages over the life, and how many bits of a codeword are wrong.

use super::along::{Along, chart, into_the_tail, over_windows, rows, share_in_words};
use super::axis::Axis;
use super::chart::{Chart, Curve, Layer, Shape};
use super::figures::columns;
use super::groups::Group;
use super::html::{Figure, Table};
use super::latency::with_part;
use super::numbers::{count, counted, short, short_or_dash};
use super::panels::{drawn, told};
use super::picture::Arrangement;
use super::timed;
use wane_results::{Errors, Window};

/// Re-reads for each page read for the host.
fn rereads(window: &Window) -> Option<f64> {
    window.errors.and_then(|errors| errors.host_retry_rate())
}

/// The same for each page read in the background.
fn background_rereads(window: &Window) -> Option<f64> {
    window.errors.and_then(|errors| errors.background_retry_rate())
}

fn lost(window: &Window) -> Option<f64> {
    window.errors.map(|errors| errors.uncorrectable as f64)
}

/// The pictures that the runs allow; none of flash without errors.
pub(super) fn errors(groups: &[Group<'_>], coarseness: usize) -> Vec<Figure> {
    let columns = columns(groups, coarseness);
    over_life(groups, columns).into_iter().chain(raw_bit_errors(groups, columns)).collect()
}

fn over_life(groups: &[Group<'_>], columns: usize) -> Option<Figure> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    if runs().all(|run| run.windows.len() < 2 || run.windows.iter().all(|window| window.errors.is_none())) {
        return None;
    }
    let along = Along::of(groups);
    let picture = |id: &str, what: &str, figure: fn(&Window) -> Option<f64>| {
        over_windows(groups, along, columns, (id, what), figure)
    };
    let mut drawings = vec![picture("rereads", "re-reads for each page read for the host", rereads)];
    // They hold up the host's requests as well.
    if runs().flat_map(|run| &run.windows).any(|window| background_rereads(window).is_some_and(|rate| rate > 0.0)) {
        drawings.push(picture(
            "rereads-background",
            "re-reads for each page read in the background",
            background_rereads,
        ));
    }
    drawings.push(picture("lost", "pages lost in a window", lost));
    drawings.retain(|drawing| !drawing.is_empty());
    let arrangement = Arrangement::of(&drawings);
    let headers = [
        "page reads for the host",
        "re-reads for each",
        "page reads in the background",
        "re-reads for each",
        "recovered by redundancy",
        "uncorrectable",
    ];
    let mut headers: Vec<String> = headers.map(str::to_owned).into();
    headers.insert(0, if groups.len() == 1 { along.label() } else { with_part("errors", groups) });
    let rows = groups.iter().flat_map(|group| {
        let run = group.first();
        let places = along.places(run);
        let alone = groups.len() == 1;
        let windows = rows(run.windows.len()).filter(|_| alone);
        let windows = windows.filter_map(|index| Some((short(places[index]), run.windows[index].errors?)));
        let name = if alone { "whole run".to_owned() } else { group.label.clone() };
        let all = timed::errors(group).filter(|_| !alone || group.is_of_whole_runs()).map(|errors| (name, errors));
        let told = |(name, errors): (String, Errors)| {
            vec![
                name,
                count(errors.host_page_reads),
                short_or_dash(errors.host_retry_rate()),
                count(errors.background_page_reads),
                short_or_dash(errors.background_retry_rate()),
                count(errors.recoveries),
                count(errors.uncorrectable),
            ]
        };
        windows.chain(all).map(told).collect::<Vec<_>>()
    });
    let table = Table { headers, rows: rows.collect() };
    let mut caption = "Reads in the background are those of relocation, scrubbing and reconstruction; lost pages are those that the host asked for and that \
                   neither correction nor redundancy recovered."
        .to_owned();
    caption.push_str(&told(groups));
    Some(Figure { heading: "Re-reads and lost pages".to_owned(), caption, drawings, arrangement, table })
}

/// Codewords by their wrong bits, over the seeds of a group.
struct Codewords<'a> {
    group: &'a Group<'a>,
    counts: Vec<u64>,
}

impl Codewords<'_> {
    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The most wrong bits that a codeword had. The last count stands for all codewords with more.
    fn most(&self) -> usize {
        self.counts.iter().rposition(|count| *count > 0).unwrap_or(0)
    }

    /// Share of the codewords with at most `bits` wrong bits.
    fn share(&self, bits: usize) -> f64 {
        let below = self.counts.iter().take(bits + 1).sum::<u64>();
        below as f64 / self.total().max(1) as f64
    }

    fn curve(&self, label: String) -> Curve {
        // The last count is of all that have more: no value is known for them.
        let known = self.most().min(self.counts.len().saturating_sub(2));
        let shares = (0..=known).map(|bits| (bits as f64, self.share(bits)));
        let points = std::iter::once((0.0, 0.0)).chain(into_the_tail(shares, self.total())).collect();
        Curve { class: self.group.class(), points, label, shape: Shape::Steps, ..Curve::default() }
    }

    fn strength(&self) -> Option<f64> {
        self.group.keys.get("drive.ecc.strength")?.parse().ok()
    }
}

fn of_group<'a>(group: &'a Group<'a>) -> Option<Codewords<'a>> {
    let mut counts: Vec<u64> = Vec::new();
    for histogram in group.runs.iter().filter_map(|run| run.error_histogram.as_ref()) {
        counts.resize(counts.len().max(histogram.len()), 0);
        counts.iter_mut().zip(histogram).for_each(|(count, more)| *count += more);
    }
    let codewords = Codewords { group, counts };
    (codewords.total() > 0).then_some(codewords)
}

fn raw_bit_errors(groups: &[Group<'_>], columns: usize) -> Option<Figure> {
    let codewords: Vec<Codewords<'_>> = groups.iter().filter_map(of_group).collect();
    let total = codewords.iter().map(Codewords::total).max()?;
    let most = codewords.iter().map(|one| one.most().min(one.counts.len().saturating_sub(2))).max()? as f64;
    let strengths: Vec<Option<f64>> = codewords.iter().map(Codewords::strength).collect();
    let strongest = strengths.iter().flatten().copied().fold(most, f64::max);
    // A limit far beyond every error would squeeze them into a corner.
    let shown = |strength: f64| strength <= 4.0 * most.max(8.0);
    let end = if shown(strongest) { strongest * 1.05 } else { most.max(1.0) };
    let same = strengths.iter().all(|strength| *strength == strengths[0]);
    let alone = groups.len() == 1;
    let layers = |groups: &[Group<'_>]| {
        let some: Vec<Codewords<'_>> = groups.iter().filter_map(of_group).collect();
        let label = |one: &Codewords<'_>| if alone { String::new() } else { one.group.label.clone() };
        let mut layers: Vec<Layer> = some.iter().map(|one| Layer::Curve(one.curve(label(one)))).collect();
        layers.extend(some.iter().take(if same { 1 } else { some.len() }).filter_map(|one| {
            let x = one.strength()?;
            let class = if same { String::new() } else { one.group.class() };
            shown(x).then(|| Layer::Mark { class, x, label: format!("corrects {}", counted(x)) })
        }));
        layers
    };
    let x = (Axis::exact(0.0, end, 8), "wrong bits of a codeword".to_owned());
    let y = (Axis::nines((total as f64).log10()), "share of codewords with no more".to_owned());
    let title = "Raw bit errors of the codewords".to_owned();
    let chart = Chart { columns, ..chart("raw-bit-errors".to_owned(), title, x, y) };
    Some(Figure {
        heading: "Raw bit errors".to_owned(),
        caption: caption(&codewords) + &told(groups),
        drawings: vec![drawn(groups, &chart, &layers)],
        arrangement: Arrangement::Whole,
        table: table(&codewords),
    })
}

fn caption(drawn: &[Codewords<'_>]) -> String {
    let mut caption =
        "Wrong bits of a codeword at its first read, before correction; probes are not counted.".to_owned();
    if let [one] = drawn
        && let Some(strength) = one.strength()
    {
        let beyond = 1.0 - one.share(strength as usize);
        let told = match beyond {
            none if none <= 0.0 => "none had".to_owned(),
            some => format!("one in {} had", counted((1.0 / some).round())),
        };
        caption.push_str(&format!(" Error correction corrects {} bits a codeword; {told} more.", counted(strength)));
    }
    caption
}

fn table(drawn: &[Codewords<'_>]) -> Table {
    const SHARES: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0];
    let mut headers = vec!["share of codewords".to_owned()];
    headers.extend(drawn.iter().map(|one| format!("{} (wrong bits)", one.group.label)));
    let cell = |one: &Codewords<'_>, share: f64| {
        let bits = (0..one.counts.len()).find(|bits| one.share(*bits) >= share - 1e-12).unwrap_or(0);
        if bits + 1 == one.counts.len() { format!("more than {}", bits - 1) } else { bits.to_string() }
    };
    let row = |share: f64| {
        let name = share_in_words(share);
        std::iter::once(name).chain(drawn.iter().map(|one| cell(one, share))).collect()
    };
    Table { headers, rows: SHARES.map(row).into() }
}
