//! How erases are spread over the blocks at the end: histogram and cumulative share.

use super::axis::{Axis, step};
use super::chart::{Chart, Curve, Layer, Shape};
use super::groups::Group;
use super::html::{Figure, Table};
use super::numbers::{counted, short, short_or_dash};
use super::palette::HUES;
use super::panels::{drawn, told};
use super::picture::{Arrangement, Drawing};
use super::words::jain_in_digits;
use wane_results::Wear;

/// About how many bars the histogram has.
const BINS: f64 = 32.0;
/// Columns that a curve is thinned to, where the page has room.
const COLUMNS: usize = 150;

/// Erase counts in order, over all seeds of a group.
struct Counts<'a> {
    group: &'a Group<'a>,
    sorted: Vec<u32>,
}

impl Counts<'_> {
    /// Share of blocks, in percent, with counts in `low..high`.
    fn share(&self, low: f64, high: f64) -> f64 {
        let below = |limit: f64| self.sorted.partition_point(|count| f64::from(*count) < limit);
        100.0 * (below(high) - below(low)) as f64 / self.sorted.len() as f64
    }
}

/// The distribution of erase counts; `None` without blocks.
pub(super) fn distribution(groups: &[Group<'_>], coarseness: usize) -> Option<Figure> {
    let counts: Vec<Counts<'_>> = groups.iter().map(counts_of).filter(|counts| !counts.sorted.is_empty()).collect();
    let least = counts.iter().map(|counts| counts.sorted[0]).min()?;
    let most = counts.iter().filter_map(|counts| counts.sorted.last().copied()).max()?;
    let width = step(f64::from(most - least + 1) / BINS).max(1.0);
    let start = (f64::from(least) / width).floor() * width;
    let bins = ((f64::from(most) - start) / width).floor() as u32 + 1;
    let edges: Vec<f64> = (0..=bins).map(|bin| start + f64::from(bin) * width).collect();
    let is_whole = |counts: &Counts<'_>| counts.share(edges[0], edges[bins as usize]) == 100.0;
    debug_assert!(counts.iter().all(is_whole), "each block is in one of the bins");
    let x = Axis::exact(start, edges[bins as usize], 6);
    let caption = caption(&counts) + &told(groups);
    let columns = (COLUMNS / coarseness).max(10);
    let drawings = draw(groups, &counts, (&edges, &x), columns);
    let arrangement = Arrangement::of(&drawings);
    let mut headers = vec!["erases".to_owned()];
    headers.extend(counts.iter().map(|counts| format!("{} (% of blocks)", counts.group.label)));
    let rows = edges.windows(2).map(|edge| {
        let name =
            if width > 1.0 { format!("{} to {}", counted(edge[0]), counted(edge[1] - 1.0)) } else { counted(edge[0]) };
        let shares = counts.iter().map(|counts| short(counts.share(edge[0], edge[1])));
        std::iter::once(name).chain(shares).collect()
    });
    let table = Table { headers, rows: rows.collect() };
    Some(Figure { heading: "Erase counts at the end".to_owned(), caption, drawings, arrangement, table })
}

/// Two charts side by side; of more runs than a chart holds, panels of shares up to a count.
fn draw(groups: &[Group<'_>], counts: &[Counts<'_>], (edges, x): (&[f64], &Axis), columns: usize) -> Vec<Drawing> {
    let cumulative =
        |groups: &[Group<'_>]| groups.iter().filter_map(|group| cumulative(&counts_of(group), x)).collect();
    let shares = chart("cumulative", "share of blocks up to a count", x, Axis::rounded(0.0, 100.0, 5), Vec::new());
    let shares = Chart { columns, ..shares };
    if groups.len() > HUES {
        return vec![drawn(groups, &shares, &cumulative)];
    }
    let charts = [histogram(counts, edges, x), Chart { layers: cumulative(groups), ..shares }];
    charts.map(|chart| Drawing::Chart(Box::new(chart))).into()
}

fn counts_of<'a>(group: &'a Group<'a>) -> Counts<'a> {
    let blocks = group.runs.iter().flat_map(|run| &run.blocks);
    let mut sorted: Vec<u32> = blocks.map(|block| block.erase_count).collect();
    sorted.sort_unstable();
    Counts { group, sorted }
}

fn caption(counts: &[Counts<'_>]) -> String {
    let figures = |counts: &Counts<'_>| {
        let wear = |of: fn(&Wear) -> f64| counts.group.mean(|summary| Some(of(&summary.wear)));
        let mean = short_or_dash(wear(|wear| wear.erase_count.mean));
        let deviation = short_or_dash(wear(|wear| wear.erase_count.sd));
        let jain = wear(|wear| wear.jain_index).map_or_else(String::new, jain_in_digits);
        (counts.group.label.clone(), mean, deviation, jain)
    };
    match counts {
        [one] => {
            let (_, mean, deviation, jain) = figures(one);
            format!(
                "Blocks were erased {mean} times on average, with a standard deviation of {deviation}; Jain\u{2019}s index is {jain}."
            )
        }
        several => {
            let told = several.iter().take(6).map(figures);
            let told = told.map(|(name, mean, deviation, _)| format!("{mean} \u{b1} {deviation} ({name})"));
            format!("Mean erase count and standard deviation: {}.", told.collect::<Vec<_>>().join("; "))
        }
    }
}

fn chart(id: &str, title: &str, x: &Axis, y: Axis, layers: Vec<Layer>) -> Chart {
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!("{title}, at the end of the run."),
        x: x.clone(),
        x_label: "erases of a block".to_owned(),
        y,
        y_label: title.to_owned(),
        y_unit: "\u{a0}%",
        layers,
        columns: COLUMNS,
    }
}

fn histogram(counts: &[Counts<'_>], edges: &[f64], x: &Axis) -> Chart {
    let mut layers = Vec::new();
    let mut most: f64 = 0.0;
    for counts in counts {
        let bars: Vec<(f64, f64, f64)> =
            edges.windows(2).map(|edge| (edge[0], edge[1], counts.share(edge[0], edge[1]))).collect();
        most = bars.iter().map(|bar| bar.2).fold(most, f64::max);
        layers.push(bars);
    }
    let alone = layers.len() == 1;
    let layers = layers.into_iter().zip(counts).map(|(bars, counts)| {
        let (class, label) = (counts.group.class(), "share of blocks".to_owned());
        if alone {
            return Layer::Bars { class, label, bars: bars.iter().map(|bar| (bar.0, bar.1, 0.0, bar.2)).collect() };
        }
        let outline = std::iter::once((edges[0], 0.0)).chain(bars.iter().map(|bar| (bar.0, bar.2)));
        let points = outline.chain([(edges[edges.len() - 1], 0.0)]).collect();
        let label = counts.group.label.clone();
        Layer::Curve(Curve { class, points, label, shape: Shape::Steps, ..Curve::default() })
    });
    chart("histogram", "share of blocks at each count", x, Axis::rounded(0.0, most, 5), layers.collect())
}

fn cumulative(counts: &Counts<'_>, x: &Axis) -> Option<Layer> {
    let blocks = counts.sorted.len() as f64;
    let mut seen = 0;
    let rises = counts.sorted.chunk_by(|left, right| left == right).map(|same| {
        seen += same.len();
        (f64::from(same[0]), 100.0 * seen as f64 / blocks)
    });
    let rises: Vec<(f64, f64)> = rises.collect();
    debug_assert!(rises.last().is_none_or(|last| last.1 == 100.0), "all blocks have at most the most erases");
    let points = std::iter::once((x.min, 0.0)).chain(rises).chain([(x.max, 100.0)]).collect();
    let (class, label) = (counts.group.class(), counts.group.label.clone());
    (blocks > 0.0).then(|| Layer::Curve(Curve { class, points, label, shape: Shape::Steps, ..Curve::default() }))
}
