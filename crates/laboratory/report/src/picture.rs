//! Everything that can be drawn in a size, and how several drawings are arranged on a page.

use svg::node::element::SVG;

use super::axis::Axis;
use super::bars::Bars;
use super::chart::{Chart, Curve, Layer, Size};
use super::facets::Facets;
use super::grouped::Grouped;
use super::heat::Heat;
use super::map::Map;

/// One picture, before it has a size.
#[derive(Clone, Debug)]
pub(super) enum Drawing {
    Chart(Box<Chart>),
    Facets(Facets),
    Bars(Bars),
    Heat(Heat),
    Map(Map),
    Grouped(Grouped),
}

/// How the drawings of a figure stand on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Below each other, each as wide as the page.
    Whole,
    /// Two in a row.
    Pair,
}

/// Whether the values of charts stand beside them for the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Beside,
    /// The page would be too large with them.
    Left,
}

impl Arrangement {
    /// The sizes that a page draws: the style shows the one that fits.
    const fn sizes(self) -> &'static [Size] {
        match self {
            Self::Whole => &[Size::Wide, Size::Narrow],
            Self::Pair => &[Size::Half],
        }
    }

    /// Two in a row, if there are several that are small enough.
    pub(super) fn of(drawings: &[Drawing]) -> Self {
        if drawings.len() > 1 && !drawings.iter().any(Drawing::is_wide) { Self::Pair } else { Self::Whole }
    }
}

impl Drawing {
    pub(super) fn draw(&self, size: Size) -> SVG {
        match self {
            Self::Chart(chart) => chart.draw(size),
            Self::Facets(facets) => facets.draw(size),
            Self::Bars(bars) => bars.draw(size),
            Self::Heat(heat) => heat.draw(size),
            Self::Map(map) => map.draw(size),
            Self::Grouped(grouped) => grouped.draw(size),
        }
    }

    /// Unique on the page.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.id,
            Self::Facets(facets) => &facets.id,
            Self::Bars(bars) => &bars.id,
            Self::Heat(heat) => &heat.id,
            Self::Map(map) => &map.id,
            Self::Grouped(grouped) => &grouped.id,
        }
    }

    /// Whether it needs the width of a page: side by side its charts would be too small in a column.
    pub(super) const fn is_wide(&self) -> bool {
        matches!(self, Self::Facets(_))
    }

    /// Its charts, if it consists of some.
    pub(super) fn charts(&self) -> Vec<&Chart> {
        match self {
            Self::Chart(chart) => vec![&**chart],
            Self::Facets(facets) => facets.all.iter().map(|facet| &facet.chart).collect(),
            Self::Bars(_) | Self::Heat(_) | Self::Map(_) | Self::Grouped(_) => Vec::new(),
        }
    }

    /// Whether its charts have nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Chart(chart) => chart.is_empty(),
            Self::Facets(facets) => facets.is_empty(),
            Self::Bars(_) | Self::Heat(_) | Self::Map(_) | Self::Grouped(_) => false,
        }
    }

    /// The values behind the picture: a header and rows.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        match self {
            Self::Chart(chart) => rows_of(chart),
            Self::Facets(facets) => facets.rows(rows_of),
            Self::Bars(bars) => bars.rows(),
            Self::Heat(heat) => heat.rows(),
            Self::Map(map) => map.rows(),
            Self::Grouped(grouped) => grouped.rows(),
        }
    }
}

/// Drawings as markup.
pub(super) fn markup(drawings: &[Drawing], arrangement: Arrangement, values: Values) -> String {
    let drawn: String = drawings
        .iter()
        .map(|drawing| {
            let sizes: String = arrangement.sizes().iter().map(|size| drawing.draw(*size).to_string()).collect();
            let charts = if values == Values::Beside { drawing.charts() } else { Vec::new() };
            let data: String = charts.into_iter().map(super::data::script).collect();
            format!("<div class=\"drawing\">{sizes}{data}</div>")
        })
        .collect();
    match arrangement {
        Arrangement::Whole => drawn,
        Arrangement::Pair => format!("<div class=\"pair\">{drawn}</div>"),
    }
}

/// A name with the unit behind it, as it heads a column of a file.
pub(super) fn in_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// What precedes the first value of an axis in its name.
pub(super) const FROM: &str = " (from ";

/// Names of an area's edges by its last class; without one of these they are those of an interval.
const EDGES: [(&str, [&str; 2]); 3] = [
    ("outer", ["1st percentile", "99th percentile"]),
    ("inner", ["10th percentile", "90th percentile"]),
    ("raw", ["least", "most"]),
];

/// A row for each point of each curve, edge or bar.
fn rows_of(chart: &Chart) -> Vec<Vec<String>> {
    let named = |label: &str| if label.is_empty() { chart.title.clone() } else { label.to_owned() };
    let unit = |axis: &Axis, of_ticks: &str| match of_ticks.trim_matches([' ', '\u{a0}']) {
        "" => axis.unit().to_owned(),
        of_ticks => of_ticks.to_owned(),
    };
    let place = if chart.x_label.is_empty() { "place" } else { &chart.x_label };
    // Where the axis begins is no part of the name.
    let measure = chart.y_label.split(FROM).next().unwrap_or_default();
    let heads = [in_unit(place, &unit(&chart.x, "")), in_unit(measure, &unit(&chart.y, chart.y_unit))];
    let mut rows = vec![std::iter::once("series".to_owned()).chain(heads).collect::<Vec<String>>()];
    let row = |name: &str, x: f64, y: f64| vec![name.to_owned(), chart.x.written(x), y.to_string()];
    // The curves of single seeds stand before that of their mean, which has the name.
    let (mut runs, mut before) = (0, "");
    for layer in &chart.layers {
        match layer {
            Layer::Curve(curve) => {
                let of_seed = curve.class.strip_suffix(" faint").filter(|_| curve.label.is_empty());
                let name = of_seed.map_or_else(
                    || named(&curve.label),
                    |class| {
                        runs = if class == before { runs + 1 } else { 1 };
                        before = class;
                        let mean = chart.curves().find(|other| other.class == class && !other.label.is_empty());
                        format!("{}, run {runs}", named(mean.map_or("", |mean| &mean.label)))
                    },
                );
                rows.extend(curve.points.iter().map(|(x, y)| row(&name, *x, *y)));
            }
            Layer::Area { class, points } | Layer::Whiskers { class, points } => {
                let is_of = |curve: &&Curve| {
                    !curve.label.is_empty()
                        && class
                            .strip_prefix(curve.class.as_str())
                            .is_some_and(|rest| !rest.starts_with(|letter: char| letter != ' '))
                };
                let name = named(chart.curves().find(is_of).map_or("", |curve| &curve.label));
                let edges =
                    EDGES.iter().find(|(end, _)| class.ends_with(end)).map_or(["low", "high"], |(_, edges)| *edges);
                let [low, high] = edges.map(|edge| format!("{name}, {edge}"));
                rows.extend(points.iter().map(|(x, at, _)| row(&low, *x, *at)));
                rows.extend(points.iter().map(|(x, _, at)| row(&high, *x, *at)));
            }
            Layer::Bars { label, bars, .. } => {
                rows.extend(bars.iter().map(|(left, right, low, high)| {
                    vec![named(label), chart.x.named_within(*left, *right), (high - low).to_string()]
                }));
            }
            Layer::Mark { x, label, .. } => rows.push(vec![label.clone(), chart.x.written(*x), String::new()]),
            Layer::Level { y, label } => rows.push(vec![label.clone(), String::new(), y.to_string()]),
            Layer::Dots { .. } | Layer::Ring { .. } => {}
        }
    }
    rows
}
