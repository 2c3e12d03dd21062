//! Bars from left to right, one for each name, for what has no order of its own.

use svg::Node;
use svg::node::element::{Path, SVG, Title};

use super::axis::Axis;
use super::chart::{Size, described, short, text};
use super::labels::{self, LINE, Sample};
use super::numbers::percent;
use super::picture::in_unit;
use super::text::{BOLD, width, wrap};

/// Most bars of one picture.
pub(super) const BARS_MAX: usize = 24;

/// Bars of one measure.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    /// Unique on the page.
    pub(super) id: String,
    /// What is measured, in a few words.
    pub(super) measure: String,
    /// Unit of the values; empty if the measure names it.
    pub(super) unit: &'static str,
    /// Read out by screen readers.
    pub(super) description: String,
    pub(super) bars: Vec<Bar>,
    /// Classes and names of the parts of all bars; empty where bars are whole.
    pub(super) parts: Vec<(String, String)>,
}

/// A bar.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    /// The value as written at its end.
    pub(super) told: String,
    /// Interval of the mean.
    pub(super) interval: Option<(f64, f64)>,
    /// Color; the parts of a bar in parts have their own.
    pub(super) class: String,
    /// Value of each part, from left to right.
    pub(super) parts: Vec<f64>,
    pub(super) best: bool,
}

const ROW: f64 = 26.0;
const THICK: f64 = 16.0;
const TOP: f64 = 26.0;

impl Bars {
    pub(super) fn draw(&self, size: Size) -> SVG {
        let whole = size.pixels().0;
        let measure = wrap(&self.measure, whole);
        let below_measure = TOP + LINE * measure.len().saturating_sub(1) as f64;
        let top = below_measure + labels::key(&mut SVG::new(), Sample::Fill, &self.parts, whole, 0.0);
        let widest = |of: fn(&Bar) -> &str| self.bars.iter().map(|bar| width(of(bar))).fold(0.0, f64::max);
        // The best is written in bold.
        let name_pixels = (BOLD * widest(|bar| &bar.name)).min(0.4 * whole);
        let names: Vec<Vec<String>> = self.bars.iter().map(|bar| wrap(&bar.name, name_pixels / BOLD)).collect();
        let high = |lines: &Vec<String>| ROW.max(LINE * lines.len() as f64 + 6.0);
        let height = top + names.iter().map(high).sum::<f64>();
        let left = name_pixels + 10.0;
        let right = whole - BOLD * widest(|bar| &bar.told) - 12.0;
        let most = self.bars.iter().map(|bar| bar.interval.map_or(bar.value, |interval| interval.1.max(bar.value)));
        let axis = Axis::exact(0.0, most.fold(0.0, f64::max), 5);
        let place = |value: f64| left + axis.place(value) * (right - left);
        let id = format!("{}-{}", self.id, size.class());
        let mut picture = described(&id, size.class(), (whole, height), &self.measure, &self.description);
        labels::lines(&mut picture, &measure, (0.0, 13.0), "start", "name");
        labels::key(&mut picture, Sample::Fill, &self.parts, whole, below_measure - 6.0);
        let mut begin = top;
        for (bar, name) in self.bars.iter().zip(&names) {
            let middle = begin + high(name) / 2.0;
            begin += high(name);
            let class = if bar.best { "head" } else { "note" };
            let first = middle + 4.0 - LINE * name.len().saturating_sub(1) as f64 / 2.0;
            labels::lines(&mut picture, name, (name_pixels, first), "end", class);
            let mut from = 0.0;
            for (class, value, told) in bar.drawn(&self.parts) {
                let (x, long) = (place(from), (place(from + value) - place(from)).max(0.5));
                let data =
                    format!("M{} {}h{}v{THICK}h{}Z", short(x), short(middle - THICK / 2.0), short(long), short(-long));
                picture.append(Path::new().set("d", data).set("class", format!("bars {class}")).add(Title::new(told)));
                from += value;
            }
            let mut end = place(bar.value);
            if let Some((low, high)) = bar.interval {
                let (low, high) = (place(low.max(0.0)), place(high));
                let data = format!("M{} {}v8m0 -4H{}m0 -4v8", short(low), short(middle - 4.0), short(high));
                picture.append(Path::new().set("d", data).set("class", "whisker"));
                end = end.max(high);
            }
            picture.append(text(&bar.told, (end + 7.0, middle + 4.0), "start", class));
        }
        let base = Path::new().set("d", format!("M{} {}V{}", short(left), short(top), short(height)));
        picture.append(base.set("class", "axis"));
        picture
    }

    /// A header and a row for each bar.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let measure = in_unit(&self.measure, self.unit);
        let header = ["name", &measure, "low", "high"].into_iter().chain(self.parts.iter().map(|part| part.1.as_str()));
        let edge = |edge: Option<f64>| edge.map_or_else(String::new, |edge| edge.to_string());
        let row = |bar: &Bar| {
            let interval = bar.interval;
            [bar.name.clone(), bar.value.to_string(), edge(interval.map(|of| of.0)), edge(interval.map(|of| of.1))]
                .into_iter()
                .chain(bar.parts.iter().map(f64::to_string))
                .collect()
        };
        std::iter::once(header.map(str::to_owned).collect()).chain(self.bars.iter().map(row)).collect()
    }
}

impl Bar {
    /// Class, value and description of each piece.
    fn drawn<'a>(&'a self, parts: &'a [(String, String)]) -> Vec<(&'a str, f64, String)> {
        if self.parts.is_empty() {
            return vec![(&self.class, self.value, format!("{}: {}", self.name, self.told))];
        }
        debug_assert_eq!(self.parts.len(), parts.len(), "a part without a name would not be drawn");
        let pieces = parts.iter().zip(&self.parts).filter(|(_, value)| **value > 0.0);
        let told =
            |name: &str, value: f64| format!("{}, {name}: {} of {}", self.name, percent(value / self.value), self.told);
        pieces.map(|((class, name), value)| (class.as_str(), *value, told(name, *value))).collect()
    }
}
