//! The picture of cleaning cost against wear leveling: the best curve and where policies lie.

use super::axis::Axis;
use super::chart::{Chart, Curve, Layer};
use super::html::{Figure, Table, document, escape, figure, warning_box};
use super::palette::ordered;
use super::picture::{Arrangement, Drawing, Values};

/// What is drawn: one page.
#[derive(Clone, Debug)]
pub struct TradeoffPicture {
    /// Whose blocks these are.
    pub name: String,
    /// Cleaning cost and wear leveling of the best weights, by rising cost.
    pub curve: Vec<(f64, f64)>,
    /// Policies with their cleaning cost and wear leveling.
    pub points: Vec<(String, f64, f64)>,
    /// What a reader should keep in mind.
    pub warnings: Vec<String>,
}

impl TradeoffPicture {
    /// One page that needs nothing else.
    pub fn render(&self) -> String {
        let heading = "Cleaning cost against wear leveling";
        let body = format!(
            "<header>\n<p class=\"eyebrow\">wane tradeoff \u{b7} {}</p>\n<h1>{heading}</h1>\n<p class=\"lead\">{}</p>\n</header>\n{}{}",
            escape(&self.name),
            escape(&self.lead()),
            warning_box(&self.warnings),
            figure(&self.picture(), Values::Beside),
        );
        document(&format!("{heading} \u{2013} wane"), &body)
    }

    fn lead(&self) -> String {
        let (Some(first), Some(last)) = (self.curve.first(), self.curve.last()) else { return String::new() };
        format!(
            "No policy wears more evenly at its cost than the curve, from {:.2} valid pages a victim at a wear leveling of {:.2e} to {:.2} at {:.2}.",
            first.0, first.1, last.0, last.1
        )
    }

    fn picture(&self) -> Figure {
        let costs = || self.curve.iter().map(|point| point.0).chain(self.points.iter().map(|point| point.1));
        let (least, most) =
            costs().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), cost| (least.min(cost), most.max(cost)));
        let best =
            Curve { class: ordered(0, 2), points: self.curve.clone(), label: "best".to_owned(), ..Curve::default() };
        let dots = self.points.iter().map(|(_, cost, wear)| (*cost, *wear)).collect();
        let chart = Chart {
            id: "tradeoff".to_owned(),
            title: "Wear leveling over cleaning cost".to_owned(),
            description: self.lead(),
            x: Axis::exact(least, if most > least { most } else { least + 1.0 }, 8),
            x_label: "valid pages of a victim".to_owned(),
            y: Axis::exact(0.0, 1.0, 5),
            y_label: "wear leveling".to_owned(),
            y_unit: "",
            layers: vec![Layer::Curve(best), Layer::Dots { class: ordered(1, 2), points: dots }],
            columns: 220,
        };
        let row =
            |(name, cost, wear): &(String, f64, f64)| vec![name.clone(), format!("{cost:.4}"), format!("{wear:.6}")];
        let headers = ["policy", "valid pages of a victim", "wear leveling"].map(str::to_owned).to_vec();
        Figure {
            heading: "The best, and policies".to_owned(),
            caption: "Wear leveling is Jain's index of the chances with which blocks are chosen, 1 where all are alike. Dots are the policies of the table."
                .to_owned(),
            drawings: vec![Drawing::Chart(Box::new(chart))],
            arrangement: Arrangement::Whole,
            table: Table { headers, rows: self.points.iter().map(row).collect() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_policy_and_needs_nothing_else() {
        let picture = TradeoffPicture {
            name: "a <drive>".to_owned(),
            curve: vec![(0.0, 0.1), (1.0, 0.6), (2.0, 1.0)],
            points: vec![("random".to_owned(), 2.0, 1.0), ("d-choices, d = 2".to_owned(), 1.5, 0.7)],
            warnings: vec!["a & b".to_owned()],
        };
        let page = picture.render();
        for part in ["a &lt;drive&gt;", "a &amp; b", "d-choices, d = 2", "1.5000", "0.700000"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("http://www.w3.org/1999/xhtml\" src") && page.contains("<svg"));
    }
}
