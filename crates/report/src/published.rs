//! Figures of a paper drawn with our numbers: grouped bars and distributions, with the paper's numbers as levels.

use svg::Node;
use svg::node::element::{Group, Line, Rectangle};

use super::axis::Axis;
use super::chart::{Chart, Curve, Layer, Names, described, short as pixel, text};
use super::groups::class;
use super::html::{Figure, Table, document, escape, figure, key_of};
use super::numbers::short;

/// Bars side by side in groups: one of each series in each group.
pub struct Bars {
    /// Which figure of the paper.
    pub heading: &'static str,
    /// What there is to see, and what the paper says.
    pub caption: String,
    /// What the bars measure.
    pub measure: &'static str,
    /// Names of the bars within a group.
    pub series: Vec<String>,
    /// Names of the groups with their bars.
    pub groups: Vec<(String, Vec<f64>)>,
    /// The paper's numbers.
    pub levels: Vec<(f64, String)>,
}

/// Distributions over a common axis.
pub struct Distributions {
    /// Which figure of the paper.
    pub heading: &'static str,
    /// What there is to see, and what the paper says.
    pub caption: String,
    /// What they run over.
    pub over: &'static str,
    /// Names and points; shares rise from 0 to 1.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
    /// The paper's numbers.
    pub levels: Vec<(f64, String)>,
}

/// A picture of either kind.
pub enum Picture {
    /// Grouped bars.
    Bars(Bars),
    /// Distributions.
    Distributions(Distributions),
}

const SIZE: (f64, f64) = (880.0, 330.0);
const LEFT: f64 = 46.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 288.0;

/// A page of figures that needs nothing else.
pub fn page(title: &str, lead: &str, pictures: &[Picture]) -> String {
    let mut body = format!(
        "<header>\n<p class=\"eyebrow\">wane reproduce</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
        escape(title),
        escape(lead)
    );
    for (number, picture) in pictures.iter().enumerate() {
        body += &figure(&match picture {
            Picture::Bars(bars) => bars.figure(number),
            Picture::Distributions(distributions) => distributions.figure(number),
        });
    }
    document(&format!("{title} \u{2013} wane"), &body)
}

impl Bars {
    fn figure(&self, number: usize) -> Figure {
        let keyed = self.series.iter().enumerate().map(|(index, name)| (class(index), name.as_str()));
        let rows = self.groups.iter().map(|(name, values)| {
            std::iter::once(name.clone()).chain(values.iter().map(|value| format!("{value:.3}"))).collect()
        });
        Figure {
            heading: self.heading,
            caption: self.caption.clone(),
            picture: key_of(keyed, Names::InKey) + &self.draw(number),
            table: Table {
                headers: std::iter::once(self.measure.to_owned()).chain(self.series.iter().cloned()).collect(),
                rows: rows.collect(),
            },
        }
    }

    fn draw(&self, number: usize) -> String {
        let values = self.groups.iter().flat_map(|(_, values)| values).copied();
        let most =
            values.chain(self.levels.iter().map(|level| level.0)).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let axis = Axis::rounded(0.0, most, 5);
        let y = |value: f64| BOTTOM - axis.place(value) * (BOTTOM - TOP);
        let mut picture = described(&format!("published-{number}"), "chart wide", SIZE, self.heading, &self.caption);
        let (mut lines, mut ticks) = (Group::new().set("class", "grid"), Group::new().set("class", "ticks"));
        for tick in axis.ticks() {
            lines.append(line((LEFT, y(tick)), (SIZE.0, y(tick))));
            ticks.append(text(&axis.text(tick), LEFT - 7.0, y(tick) + 4.0, "end"));
        }
        let width = (SIZE.0 - LEFT) / self.groups.len().max(1) as f64;
        let bar = 0.8 * width / self.series.len().max(1) as f64;
        let mut series: Vec<Group> =
            (0..self.series.len()).map(|index| Group::new().set("class", format!("bars {}", class(index)))).collect();
        for (position, (name, values)) in self.groups.iter().enumerate() {
            let left = LEFT + width * (position as f64 + 0.1);
            ticks.append(text(name, left + 0.4 * width, BOTTOM + 18.0, "middle"));
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let x = left + bar * index as f64;
                series[index].append(
                    Rectangle::new()
                        .set("x", pixel(x))
                        .set("y", pixel(y(*value)))
                        .set("width", pixel((bar - 1.0).max(0.5)))
                        .set("height", pixel(BOTTOM - y(*value))),
                );
            }
        }
        picture.append(lines);
        series.into_iter().for_each(|group| picture.append(group));
        picture.append(line((LEFT, BOTTOM), (SIZE.0, BOTTOM)).set("class", "axis"));
        picture.append(ticks);
        picture.append(text(self.measure, 0.0, 13.0, "start").set("class", "axis-label"));
        for (value, label) in &self.levels {
            picture.append(line((LEFT, y(*value)), (SIZE.0, y(*value))).set("class", "level"));
            picture
                .append(text(&told(*value, label), LEFT + 4.0, y(*value) - 5.0, "start").set("class", "level-label"));
        }
        picture.to_string()
    }
}

fn told(value: f64, label: &str) -> String {
    format!("{label}: {}", short(value))
}

fn line(from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new().set("x1", pixel(from.0)).set("y1", pixel(from.1)).set("x2", pixel(to.0)).set("y2", pixel(to.1))
}

impl Distributions {
    fn figure(&self, number: usize) -> Figure {
        let ends = || self.curves.iter().filter_map(|(_, points)| Some((points.first()?.0, points.last()?.0)));
        let (first, last) =
            ends().fold((f64::INFINITY, 0.0), |(low, high), (a, b)| (a.min(low), b.max(high)) as (f64, f64));
        let levels = self.levels.iter().map(|(value, label)| Layer::Level { y: *value, label: told(*value, label) });
        let curves = self.curves.iter().enumerate().map(|(index, (name, points))| {
            Layer::Curve(Curve { class: class(index), points: points.clone(), label: name.clone(), ..Curve::default() })
        });
        let chart = Chart {
            id: format!("published-{number}"),
            title: self.heading.to_owned(),
            description: self.caption.clone(),
            x: Axis::exact(first.min(last), last, 8),
            x_label: self.over.to_owned(),
            y: Axis::exact(0.0, 1.0, 5),
            y_label: "share".to_owned(),
            y_unit: "",
            layers: levels.chain(curves).collect(),
            names: Names::BesideWhenWide,
            columns: 220,
        };
        let keyed = self.curves.iter().enumerate().map(|(index, (name, _))| (class(index), name.as_str()));
        Figure {
            heading: self.heading,
            caption: self.caption.clone(),
            picture: key_of(keyed, Names::BesideWhenWide) + &chart.both(),
            table: self.table(),
        }
    }

    /// Every fifth point.
    fn table(&self) -> Table {
        let points = self.curves.first().map_or(&[][..], |(_, points)| points);
        let rows = points.iter().enumerate().step_by(5).map(|(index, (x, _))| {
            let shares = self
                .curves
                .iter()
                .map(|(_, points)| points.get(index).map_or(String::new(), |point| format!("{:.3}", point.1)));
            std::iter::once(short(*x)).chain(shares).collect()
        });
        Table {
            headers: std::iter::once(self.over.to_owned())
                .chain(self.curves.iter().map(|(name, _)| name.clone()))
                .collect(),
            rows: rows.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_and_level_is_drawn_and_told() {
        let bars = Bars {
            heading: "Figure 4",
            caption: "a < b".to_owned(),
            measure: "latency",
            series: vec!["x".to_owned(), "y".to_owned()],
            groups: vec![("one".to_owned(), vec![1.0, 2.0]), ("two".to_owned(), vec![f64::NAN, 4.0])],
            levels: vec![(3.2, "paper".to_owned())],
        };
        let page = page("RE3", "lead", &[Picture::Bars(bars)]);
        assert_eq!(page.matches("<rect").count(), 3);
        assert!(page.contains("paper: 3.20") && page.contains("a &lt; b") && page.contains("4.000"), "{page}");
    }
}
