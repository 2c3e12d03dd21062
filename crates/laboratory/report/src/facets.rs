//! Charts of one measure in rows and columns: on the same axes, under titles that rows and columns share, with one key for all.
//!
//! Only the outer charts have ticks. A narrow picture has them below each other, each under its whole heading.

use svg::Node;
use svg::node::element::{Group, Path, SVG};

use super::axis::Axis;
use super::chart::{Chart, Frame, Layer, Names, Size, Written, described, short, text};
use super::labels::{self, LINE, Sample};
use super::text::{BOLD, width, wrap};

/// A chart among others, without names of its own.
#[derive(Clone, Debug)]
pub(super) struct Facet {
    pub(super) chart: Chart,
    /// What sets it apart from the others, whole: "strength = 40, over-provisioning = 7 %".
    pub(super) heading: String,
    /// Its row and its column.
    pub(super) place: (usize, usize),
}

/// Charts that share their axes.
#[derive(Clone, Debug)]
pub(super) struct Facets {
    /// Unique on the page.
    pub(super) id: String,
    /// Read out by screen readers.
    pub(super) title: String,
    /// What there is to see.
    pub(super) description: String,
    /// Row by row; at least one. All have the same axes.
    pub(super) all: Vec<Facet>,
    pub(super) columns: usize,
    /// Titles of the rows and of the columns; empty where charts of a single key follow each other, each under its heading.
    pub(super) titles: [Vec<String>; 2],
}

/// Least pixels between two plots of a row.
const GAP: f64 = 16.0;
/// Pixels between two rows.
const ROW_GAP: f64 = 14.0;
/// Height of a plot in a column of charts.
const PLOT: f64 = 130.0;
/// Height of a plot by its width, where several share a row.
const SHAPE: f64 = 0.6;
const PLOT_MIN: f64 = 84.0;
const PLOT_MAX: f64 = 140.0;
/// Height of all plots of a column of several, so that the picture fits on a printed page.
const PLOTS_MAX: f64 = 700.0;
/// Heights of a row of ticks, and of the name of the axis below it.
const TICKS: f64 = 22.0;
const NAME: f64 = 18.0;

impl Facets {
    /// The chart whose axes all have.
    fn first(&self) -> &Chart {
        &self.all[0].chart
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.all.iter().all(|facet| facet.chart.is_empty())
    }

    /// What the key of all charts has: each curve and each level once.
    fn key(&self) -> Vec<(String, String)> {
        let mut named: Vec<(String, String)> = Vec::new();
        let level = |layer: &Layer| match layer {
            Layer::Level { label, .. } => Some(("level".to_owned(), label.clone())),
            _ => None,
        };
        // A chart of one run is named by its heading.
        let is_headed = |facet: &Facet| match &facet.chart.named()[..] {
            [] => true,
            [(_, name)] => name.starts_with(&facet.heading),
            _ => false,
        };
        let are_headed = self.all.iter().all(is_headed);
        let curves = self.all.iter().filter(|_| !are_headed).flat_map(|facet| facet.chart.named());
        let levels = self.all.iter().flat_map(|facet| facet.chart.layers.iter().filter_map(level));
        for one in curves.chain(levels) {
            if !named.contains(&one) {
                named.push(one);
            }
        }
        named
    }

    pub(super) fn draw(&self, size: Size) -> SVG {
        let whole = size.pixels().0;
        let layout = Layout::of(self, size);
        let key = self.key();
        let mut drawn = Group::new();
        let mut top = labels::key(&mut drawn, Sample::Line, &key, whole, 0.0);
        drawn.append(text(&self.first().y_label, (0.0, top + 13.0), "start", "name"));
        top += LINE + 6.0;
        if layout.is_titled {
            let titles: Vec<Vec<String>> =
                self.titles[1].iter().map(|title| wrap(title, (layout.wide + GAP / 2.0) / BOLD)).collect();
            for (column, lines) in titles.iter().enumerate() {
                let middle = layout.left_of(column) + layout.wide / 2.0;
                labels::lines(&mut drawn, lines, (middle, top + 11.0), "middle", "head");
            }
            top += LINE * titles.iter().map(Vec::len).max().unwrap_or(0) as f64 + 6.0;
        }
        for row in 0..rows_of(&layout.places) {
            top = self.row(&mut drawn, &layout, row, top) + ROW_GAP;
        }
        let id = format!("{}-{}", self.id, size.class());
        let mut picture = described(&id, size.class(), (whole, top - ROW_GAP), &self.title, &self.description);
        picture.append(drawn);
        picture
    }

    /// Draws a row of charts below `top`; returns where it ends.
    fn row(&self, picture: &mut Group, layout: &Layout, row: usize, mut top: f64) -> f64 {
        let here = || layout.places.iter().zip(&self.all).filter(|(place, _)| place.0 == row);
        let Some(first) = here().map(|(place, _)| place.1).min() else { return top - ROW_GAP };
        if layout.is_titled {
            let title = wrap(&self.titles[0][row], layout.whole / BOLD);
            top += labels::lines(picture, &title, (0.0, top + 11.0), "start", "head") + 9.0;
        } else {
            // A heading begins with its plot, and the first with its ticks.
            let wide = layout.wide + if layout.columns == 1 { layout.left } else { 0.0 };
            let headings = here().map(|(place, facet)| (place.1, wrap(&facet.heading, wide / BOLD)));
            let headings: Vec<(usize, Vec<String>)> = headings.collect();
            for (column, lines) in &headings {
                let left = if layout.columns == 1 { 0.0 } else { layout.left_of(*column) };
                labels::lines(picture, lines, (left, top + 11.0), "start", "head");
            }
            top += LINE * headings.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0) as f64 + 10.0;
        }
        let bottom = top + layout.high;
        let mut end = bottom;
        for (place, facet) in here() {
            let (along, up) = (layout.along(*place), if place.1 == first { Written::Ticks } else { Written::Nothing });
            end = end.max(match along {
                Written::Nothing => bottom + 4.0,
                Written::Ticks => bottom + TICKS,
                Written::TicksAndName => bottom + TICKS + NAME,
            });
            let left = layout.left_of(place.1);
            let (chart, right) = (&facet.chart, left + layout.wide);
            let frame = Frame { chart, left, right, top, bottom, names: Names::Shared, written: [along, up] };
            let mut drawn = Group::new().set("data-chart", chart.id.as_str());
            // The pointer is seen between the lines as well.
            let corners = [left, top, layout.wide, layout.high, -layout.wide].map(short);
            let [left, top, wide, high, back] = &corners;
            drawn.append(Path::new().set("d", format!("M{left} {top}h{wide}v{high}h{back}Z")).set("class", "hit"));
            chart.draw_in(&mut drawn, &frame);
            picture.append(drawn);
        }
        end
    }

    /// The values of all charts, each row with the heading of its chart.
    pub(super) fn rows(&self, of: impl Fn(&Chart) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
        let led = |name: &str, row: Vec<String>| std::iter::once(name.to_owned()).chain(row).collect::<Vec<String>>();
        let header = of(self.first()).into_iter().take(1).map(|row| led("panel", row));
        let rows = self.all.iter().flat_map(|facet| {
            of(&facet.chart).into_iter().skip(1).map(|row| led(&facet.heading, row)).collect::<Vec<_>>()
        });
        header.chain(rows).collect()
    }
}

/// Where the charts stand in a picture of a size.
struct Layout {
    whole: f64,
    columns: usize,
    /// The row and the column of each chart.
    places: Vec<(usize, usize)>,
    /// Whether rows and columns have titles, rather than charts headings.
    is_titled: bool,
    /// Pixels to the left of the first plot, between plots, and of a plot.
    left: f64,
    gap: f64,
    wide: f64,
    high: f64,
}

impl Layout {
    fn of(facets: &Facets, size: Size) -> Self {
        let whole = size.pixels().0;
        let is_wide = matches!(size, Size::Wide | Size::Across);
        let columns = if is_wide { facets.columns } else { 1 };
        let in_column = (0..facets.all.len()).map(|row| (row, 0)).collect();
        let places = if is_wide { facets.all.iter().map(|facet| facet.place).collect::<Vec<_>>() } else { in_column };
        let (chart, left) = (facets.first(), facets.first().left());
        let (first, last) = ends(&chart.x);
        let gap = GAP.max(first + last + 8.0);
        let wide = (whole - left - last - 3.0 - gap * (columns - 1) as f64) / columns as f64;
        let rows = rows_of(&places) as f64;
        let high = if is_wide { (SHAPE * wide).min(PLOTS_MAX / rows).clamp(PLOT_MIN, PLOT_MAX) } else { PLOT };
        let is_titled = is_wide && facets.titles.iter().any(|titles| !titles.is_empty());
        debug_assert!(!is_titled || facets.titles[1].len() == columns, "each column has a title");
        Self { whole, columns, places, is_titled, left, gap, wide, high }
    }

    fn left_of(&self, column: usize) -> f64 {
        self.left + (self.wide + self.gap) * column as f64
    }

    /// What is written along the bottom of a chart: ticks below the last one of each column, and the name of the axis to the right.
    fn along(&self, place: (usize, usize)) -> Written {
        let is_last = |place: (usize, usize)| !self.places.iter().any(|other| other.1 == place.1 && other.0 > place.0);
        let rightmost = self.places.iter().map(|place| place.1).max();
        match (is_last(place), Some(place.1) == rightmost) {
            (true, true) => Written::TicksAndName,
            (true, false) => Written::Ticks,
            (false, _) if self.columns == 1 => Written::Ticks,
            (false, _) => Written::Nothing,
        }
    }
}

fn rows_of(places: &[(usize, usize)]) -> usize {
    places.iter().map(|place| place.0 + 1).max().unwrap_or(1)
}

/// Pixels by which the first and the last tick of an axis reach beyond its ends.
fn ends(axis: &Axis) -> (f64, f64) {
    let ticks = axis.ticks();
    let half = |tick: Option<&f64>| tick.map_or(0.0, |tick| width(&axis.text(*tick)) / 2.0);
    (half(ticks.first()), half(ticks.last()))
}
