//! The picture of a chip's errors over its cycles, days or reads.

use super::axis::Axis;
use super::chart::{Chart, Curve, Layer};
use super::html::{Figure, Table, document, escape, figure, warning_box};
use super::numbers::grouped;
use super::palette::ordered;
use super::picture::{Arrangement, Drawing, Values};

/// Most curves that can be told apart.
pub const CURVES_MAX: usize = 12;
/// Most rows of the table behind the picture.
const ROWS_MAX: usize = 50;

/// What is drawn: one page.
#[derive(Clone, Debug)]
pub struct RberPicture {
    /// The chip or the file.
    pub name: String,
    /// Where the model comes from.
    pub source: String,
    /// Names and values of the model's parameters.
    pub parameters: Vec<(&'static str, f64)>,
    /// Least and most cycles, days and reads of the data that the model comes from.
    pub ranges: [(f64, f64); 3],
    /// What the curves run over: "cycles", "days" or "reads".
    pub over: &'static str,
    /// What all curves share, such as "0 days, 0 reads".
    pub at: String,
    /// At most [`CURVES_MAX`] curves.
    pub curves: Vec<RberCurve>,
    /// What a reader should keep in mind.
    pub warnings: Vec<String>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct RberCurve {
    /// What sets it apart, such as "30 days".
    pub label: String,
    /// Input and RBER, by rising input; every curve has the same inputs.
    pub points: Vec<(f64, f64)>,
}

impl RberPicture {
    /// One page that needs nothing else.
    pub fn render(&self) -> String {
        assert!(
            self.curves.len() <= CURVES_MAX,
            "{} curves; the caller refuses more than there are colors",
            self.curves.len()
        );
        let heading = format!("RBER of {} over {}", self.name, self.over);
        let body = format!(
            "<header>\n<p class=\"eyebrow\">wane rber \u{b7} {}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n{}{}{}",
            escape(&self.name),
            escape(&heading),
            escape(&self.lead()),
            warning_box(&self.warnings),
            figure(&self.picture(), Values::Beside),
            self.facts(),
        );
        document(&format!("{heading} \u{2013} wane"), &body)
    }

    fn lead(&self) -> String {
        let ends = self.curves.iter().filter_map(|curve| Some((curve, curve.points.first()?, curve.points.last()?)));
        let steepest = ends.max_by(|left, right| left.2.1.total_cmp(&right.2.1));
        let Some((curve, first, last)) = steepest else { return String::new() };
        let shared = [self.at.as_str(), if self.curves.len() > 1 { &curve.label } else { "" }];
        let shared: Vec<&str> = shared.into_iter().filter(|part| !part.is_empty()).collect();
        let opening = if shared.is_empty() { "Raw".to_owned() } else { format!("At {}, raw", shared.join(", ")) };
        format!(
            "{opening} bit errors go from {} at {} {over} to {} at {} {over}.",
            share(first.1),
            input(first.0),
            share(last.1),
            input(last.0),
            over = self.over
        )
    }

    fn picture(&self) -> Figure {
        let values = || self.curves.iter().flat_map(|curve| &curve.points);
        let positive = || values().map(|point| point.1).filter(|rber| *rber > 0.0);
        let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        let (first, last) = values()
            .fold((f64::INFINITY, 0.0), |(first, last), point| (point.0.min(first), point.0.max(last)) as (f64, f64));
        let alone = self.curves.len() == 1;
        let count = self.curves.len();
        let layers = self.curves.iter().enumerate().map(|(index, curve)| {
            let label = if alone { String::new() } else { curve.label.clone() };
            // Curves come by rising days or reads.
            Layer::Curve(Curve {
                class: ordered(index, count),
                points: curve.points.clone(),
                label,
                ..Curve::default()
            })
        });
        let chart = Chart {
            id: "rber".to_owned(),
            title: format!("RBER over {}", self.over),
            description: self.lead(),
            x: Axis::exact(first, last, 8),
            x_label: match self.over {
                "cycles" => "P/E cycles".to_owned(),
                "days" => "days since programming".to_owned(),
                _ => "reads of the block since its erase".to_owned(),
            },
            y: if most > 0.0 { Axis::ratio(least, most) } else { Axis::exact(0.0, 1.0, 5) },
            y_label: "RBER".to_owned(),
            y_unit: "",
            layers: layers.collect(),
            columns: 220,
        };
        Figure {
            heading: "Raw bit errors".to_owned(),
            caption: "Share of bits that read wrong before error correction; equal distances upwards are equal ratios."
                .to_owned(),
            drawings: vec![Drawing::Chart(Box::new(chart))],
            arrangement: Arrangement::Whole,
            table: self.table(),
        }
    }

    /// The curves' numbers, thinned evenly.
    fn table(&self) -> Table {
        let names = self.curves.iter().map(|curve| if curve.label.is_empty() { "RBER" } else { &curve.label });
        let headers = std::iter::once(self.over).chain(names).map(str::to_owned).collect();
        let points = self.curves.first().map_or(0, |curve| curve.points.len());
        let rows = points.min(ROWS_MAX);
        let place = |row: usize| if rows > 1 { row * (points - 1) / (rows - 1) } else { 0 };
        let row = |row: usize| {
            let at = place(row);
            let cells = self.curves.iter().map(|curve| format!("{:.4e}", curve.points[at].1));
            std::iter::once(input(self.curves[0].points[at].0)).chain(cells).collect()
        };
        Table { headers, rows: (0..rows).map(row).collect() }
    }

    fn facts(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|(name, value)| format!("<span>{name} =</span> {}", parameter(*value)))
            .collect();
        let range = |(least, most): (f64, f64), what: &str| format!("{} to {} {what}", input(least), input(most));
        let [cycles, days, reads] = self.ranges;
        let holds = [range(cycles, "cycles"), range(days, "days"), range(reads, "reads")];
        format!(
            "<section>\n<h2>The model</h2>\n<dl class=\"facts\">\n<div><dt>law</dt><dd>RBER = epsilon + alpha c<sup>k</sup> + \
             beta c<sup>m</sup> t<sup>n</sup> + gamma c<sup>p</sup> r<sup>q</sup>, with c in P/E cycles, t in days, r in \
             reads</dd></div>\n<div><dt>parameters</dt><dd>{}</dd></div>\n<div><dt>data</dt><dd>{}</dd></div>\n\
             <div><dt>source</dt><dd>{}</dd></div>\n</dl>\n</section>\n",
            parameters.join(" \u{b7} "),
            holds.join(", "),
            escape(&self.source),
        )
    }
}

/// A parameter as people write it: small ones with a power of ten.
pub fn parameter(value: f64) -> String {
    let (text, power) = (format!("{value}"), format!("{value:e}"));
    if power.len() < text.len() { power } else { text }
}

/// An input as people write it.
pub fn input(value: f64) -> String {
    let text = format!("{value}");
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    grouped(value, decimals.min(6))
}

/// An RBER in a sentence.
fn share(rber: f64) -> String {
    format!("{rber:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(curves: usize) -> String {
        let chip = wane_nand::rber::chip("tlc-72l-2018").unwrap();
        let curve = |index: usize| {
            let days = index as f64 * 30.0;
            let points = (0..=200).map(|step| {
                let cycles = f64::from(step) * 50.0;
                (cycles, chip.model.rber(cycles, days, 0.0))
            });
            RberCurve { label: format!("{days} <days>"), points: points.collect() }
        };
        let picture = RberPicture {
            name: "a & b".to_owned(),
            source: chip.source.to_owned(),
            parameters: wane_nand::rber::RberModel::NAMES.into_iter().zip(chip.model.parameters()).collect(),
            ranges: [chip.ranges.cycles, chip.ranges.days, chip.ranges.reads],
            over: "cycles",
            at: "0 reads".to_owned(),
            curves: (0..curves).map(curve).collect(),
            warnings: vec!["20,000 <cycles>".to_owned()],
        };
        picture.render()
    }

    #[test]
    fn the_page_holds_every_curve_and_needs_nothing_else() {
        for curves in [1, 2, CURVES_MAX] {
            let page = picture(curves);
            let rest = page.replace("http://www.w3.org/2000/svg", "");
            for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "NaN", "<days>"] {
                assert!(!rest.contains(outside), "{outside}");
            }
            // Each is drawn for a wide and for a narrow screen.
            assert_eq!(page.matches(" data-l=\"").count(), 2 * curves);
            assert!(page.contains("RBER of a &amp; b over cycles") && page.contains("20,000 &lt;cycles&gt;"));
            assert!(page.contains("6.3291e-2") && page.len() < 200_000, "{} bytes", page.len());
        }
    }
}
