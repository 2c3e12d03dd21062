//! Whatever can be drawn in a size, and how several drawings stand on a page.

use svg::node::element::SVG;

use super::bars::Bars;
use super::chart::{Chart, Layer, Size};
use super::grouped::Grouped;
use super::heat::Heat;
use super::map::Map;

/// One picture, before it has a size.
#[derive(Clone, Debug)]
pub(super) enum Drawing {
    Chart(Box<Chart>),
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
    /// As many in a row as there is room for.
    Panels,
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
            Self::Panels => &[Size::Panel],
        }
    }
}

impl Drawing {
    pub(super) fn draw(&self, size: Size) -> SVG {
        match self {
            Self::Chart(chart) => chart.draw(size),
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
            Self::Bars(bars) => &bars.id,
            Self::Heat(heat) => &heat.id,
            Self::Map(map) => &map.id,
            Self::Grouped(grouped) => &grouped.id,
        }
    }

    /// What stands above it, where it is one of several.
    pub(super) fn heading(&self) -> &str {
        if let Self::Chart(chart) = self { &chart.heading } else { "" }
    }

    /// Whether there is little to see.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self, Self::Chart(chart) if chart.is_flat())
    }

    /// The values behind the picture: a header and rows.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        match self {
            Self::Chart(chart) => rows_of(chart),
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
            let data = match (drawing, values) {
                (Drawing::Chart(chart), Values::Beside) => super::data::script(chart),
                _ => String::new(),
            };
            format!("<div class=\"drawing\">{sizes}{data}</div>")
        })
        .collect();
    match arrangement {
        Arrangement::Whole => drawn,
        Arrangement::Pair => format!("<div class=\"pair\">{drawn}</div>"),
        Arrangement::Panels => format!("<div class=\"panels\">{drawn}</div>"),
    }
}

/// A row for each point of each curve, edge or bar.
fn rows_of(chart: &Chart) -> Vec<Vec<String>> {
    let named = |label: &str| if label.is_empty() { chart.title.clone() } else { label.to_owned() };
    let mut rows = vec![vec!["series".to_owned(), chart.x_label.clone(), chart.y_label.clone()]];
    let mut band = 0;
    for layer in &chart.layers {
        match layer {
            Layer::Curve(curve) => {
                let point = |(x, y): &(f64, f64)| vec![named(&curve.label), x.to_string(), y.to_string()];
                rows.extend(curve.points.iter().map(point));
            }
            Layer::Area { points, .. } | Layer::Whiskers { points, .. } => {
                band += 1;
                let edge =
                    |edge: &str, x: f64, y: f64| vec![format!("band {band}, {edge}"), x.to_string(), y.to_string()];
                rows.extend(points.iter().map(|(x, low, _)| edge("low", *x, *low)));
                rows.extend(points.iter().map(|(x, _, high)| edge("high", *x, *high)));
            }
            Layer::Bars { label, bars, .. } => {
                let bar = |(left, _, low, high): &(f64, f64, f64, f64)| {
                    vec![named(label), left.to_string(), (high - low).to_string()]
                };
                rows.extend(bars.iter().map(bar));
            }
            Layer::Mark { x, label, .. } => rows.push(vec![label.clone(), x.to_string(), String::new()]),
            Layer::Level { y, label } => rows.push(vec![label.clone(), String::new(), y.to_string()]),
            Layer::Dots { .. } | Layer::Ring { .. } => {}
        }
    }
    if rows[0][1].is_empty() {
        rows[0][1] = "place".to_owned();
    }
    rows
}
