//! Bars side by side in groups: one of each series in each group, with levels to compare them with.

use svg::Node;
use svg::node::element::{Group, Path, SVG, Title};

use super::axis::Axis;
use super::chart::{Size, described, line, short, text};
use super::labels::{self, LINE, Sample};
use super::numbers;
use super::text::{fit, width, wrap};

/// Grouped bars of one measure.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    /// Unique on the page.
    pub(super) id: String,
    /// Read out by screen readers.
    pub(super) title: String,
    /// What there is to see.
    pub(super) description: String,
    /// What the bars measure.
    pub(super) measure: String,
    /// Classes and names of the bars of a group.
    pub(super) series: Vec<(String, String)>,
    /// Names of the groups with their bars.
    pub(super) groups: Vec<(String, Vec<f64>)>,
    /// Levels and what they are.
    pub(super) levels: Vec<(f64, String)>,
}

const PLOT: f64 = 230.0;
const BOTTOM: f64 = 26.0;

impl Grouped {
    pub(super) fn draw(&self, size: Size) -> SVG {
        let whole = size.pixels().0;
        let lines = labels::key(&mut SVG::new(), Sample::Fill, &self.series, whole, 0.0);
        let (top, bottom) = (lines + 34.0, lines + 34.0 + PLOT);
        let values = self.groups.iter().flat_map(|(_, values)| values).copied();
        let most = values.chain(self.levels.iter().map(|level| level.0)).filter(|value| value.is_finite());
        let axis = Axis::rounded(0.0, most.fold(0.0, f64::max), 5);
        let left = axis.ticks().iter().map(|tick| width(&axis.text(*tick))).fold(8.0, f64::max) + 9.0;
        let y = |value: f64| bottom - axis.place(value) * (bottom - top);
        let wide = (whole - left) / self.groups.len().max(1) as f64;
        let names: Vec<Vec<String>> = self.groups.iter().map(|(name, _)| wrap(name, wide - 6.0)).collect();
        let more = LINE * names.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1) as f64;
        let id = format!("{}-{}", self.id, size.class());
        let mut picture = described(&id, size.class(), (whole, bottom + BOTTOM + more), &self.title, &self.description);
        labels::key(&mut picture, Sample::Fill, &self.series, whole, 0.0);
        picture.append(text(&fit(&self.measure, whole), (0.0, top - 17.0), "start", "name"));
        for tick in axis.ticks() {
            picture.append(line((left, y(tick)), (whole, y(tick))).set("class", "grid"));
            picture.append(text(&axis.text(tick), (left - 7.0, y(tick) + 4.0), "end", "tick"));
        }
        let bar = 0.8 * wide / self.series.len().max(1) as f64;
        for (position, (name, values)) in self.groups.iter().enumerate() {
            let from = left + wide * (position as f64 + 0.1);
            let middle = (from + 0.4 * wide, bottom + 18.0);
            labels::lines(&mut picture, &names[position], middle, "middle", "tick");
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let x = from + bar * index as f64;
                let thick = (bar - 1.0).max(0.5);
                let data =
                    format!("M{} {}V{}h{}V{}Z", short(x), short(bottom), short(y(*value)), short(thick), short(bottom));
                let (class, series) = &self.series[index];
                let told = Title::new(format!("{name}, {series}: {}", numbers::short(*value)));
                picture.append(Path::new().set("d", data).set("class", format!("bars {class}")).add(told));
            }
        }
        picture.append(line((left, bottom), (whole, bottom)).set("class", "axis"));
        self.draw_levels(&mut picture, (left, whole), &y);
        picture
    }

    /// Draws levels with their names above them; names that would meet are moved apart.
    fn draw_levels(&self, picture: &mut SVG, (left, whole): (f64, f64), y: &dyn Fn(f64) -> f64) {
        let mut levels: Vec<&(f64, String)> = self.levels.iter().collect();
        levels.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut free, mut names) = (f64::INFINITY, Group::new());
        for (value, label) in levels {
            picture.append(line((left, y(*value)), (whole, y(*value))).set("class", "level"));
            let height = (y(*value) - 5.0).min(free);
            names.append(text(&fit(label, whole - left - 8.0), (left + 4.0, height), "start", "name halo"));
            free = height - LINE;
        }
        // Above all lines, which they keep off.
        picture.append(names);
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let header = std::iter::once(self.measure.clone()).chain(self.series.iter().map(|(_, name)| name.clone()));
        let row = |(name, values): &(String, Vec<f64>)| {
            std::iter::once(name.clone()).chain(values.iter().map(f64::to_string)).collect()
        };
        std::iter::once(header.collect()).chain(self.groups.iter().map(row)).collect()
    }
}
