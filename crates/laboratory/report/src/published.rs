//! Figures of a paper drawn with our numbers: grouped bars and distributions, with the paper's numbers as levels.

use super::axis::Axis;
use super::chart::{Chart, Curve, Layer};
use super::grouped::Grouped;
use super::html::{Figure, Table, document, escape, figure};
use super::numbers::short;
use super::palette::series;
use super::picture::{Arrangement, Drawing, Values};

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

/// A page of figures that needs nothing else.
pub fn page(title: &str, lead: &str, pictures: &[Picture]) -> String {
    let mut body = format!(
        "<header>\n<p class=\"eyebrow\">wane reproduce</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
        escape(title),
        escape(lead)
    );
    for (number, picture) in pictures.iter().enumerate() {
        body += &figure(
            &match picture {
                Picture::Bars(bars) => bars.figure(number),
                Picture::Distributions(distributions) => distributions.figure(number),
            },
            Values::Beside,
        );
    }
    document(&format!("{title} \u{2013} wane"), &body)
}

impl Bars {
    fn figure(&self, number: usize) -> Figure {
        let rows = self.groups.iter().map(|(name, values)| {
            std::iter::once(name.clone()).chain(values.iter().map(|value| format!("{value:.3}"))).collect()
        });
        let named = self.series.iter().enumerate().map(|(index, name)| (series(index), name.clone()));
        let grouped = Grouped {
            id: format!("published-{number}"),
            title: self.heading.to_owned(),
            description: self.caption.clone(),
            measure: self.measure.to_owned(),
            series: named.collect(),
            groups: self.groups.clone(),
            levels: self.levels.iter().map(|(value, label)| (*value, told(*value, label))).collect(),
        };
        Figure {
            heading: self.heading.to_owned(),
            caption: self.caption.clone(),
            drawings: vec![Drawing::Grouped(grouped)],
            arrangement: Arrangement::Whole,
            table: Table {
                headers: std::iter::once(self.measure.to_owned()).chain(self.series.iter().cloned()).collect(),
                rows: rows.collect(),
            },
        }
    }
}

fn told(value: f64, label: &str) -> String {
    format!("{label}: {}", short(value))
}

impl Distributions {
    fn figure(&self, number: usize) -> Figure {
        let ends = || self.curves.iter().filter_map(|(_, points)| Some((points.first()?.0, points.last()?.0)));
        let (first, last) =
            ends().fold((f64::INFINITY, 0.0), |(low, high), (a, b)| (a.min(low), b.max(high)) as (f64, f64));
        let levels = self.levels.iter().map(|(value, label)| Layer::Level { y: *value, label: told(*value, label) });
        let curves = self.curves.iter().enumerate().map(|(index, (name, points))| {
            Layer::Curve(Curve {
                class: series(index),
                points: points.clone(),
                label: name.clone(),
                ..Curve::default()
            })
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
            columns: 220,
        };
        Figure {
            heading: self.heading.to_owned(),
            caption: self.caption.clone(),
            drawings: vec![Drawing::Chart(Box::new(chart))],
            arrangement: Arrangement::Whole,
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
        assert_eq!(page.matches("class=\"bars s").count(), 2 * 3, "in two sizes");
        assert!(page.contains("paper: 3.20") && page.contains("a &lt; b") && page.contains("4.000"), "{page}");
    }
}
