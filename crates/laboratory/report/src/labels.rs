//! Names of curves: beyond the right edge of the plot, each behind a piece of its line, none over another; or in a key above it.

use svg::Node;
use svg::node::element::{Group, Path};

use super::chart::{Frame, Point, line, short, text};
use super::text::{width, wrap};

/// Height of a line of text.
pub(super) const LINE: f64 = 15.0;

/// A curve's name.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) name: String,
    /// The name as written.
    pub(super) lines: Vec<String>,
    pub(super) class: String,
    /// Where the curve ends.
    pub(super) end: Point,
    /// Where the first line of the name stands.
    pub(super) y: f64,
}

impl Note {
    fn height(&self) -> f64 {
        LINE * self.lines.len().max(1) as f64
    }
}

/// Moves names apart that would overlap, as little as needed, within `top..bottom`.
pub(super) fn spread(notes: &mut [Note], top: f64, bottom: f64) {
    debug_assert!(top <= bottom, "names stand between the top and the bottom of their plot");
    notes.sort_by(|left, right| left.y.total_cmp(&right.y));
    let mut least = top;
    for note in notes.iter_mut() {
        note.y = note.y.max(least);
        least = note.y + note.height();
    }
    let mut most = bottom + LINE;
    for note in notes.iter_mut().rev() {
        note.y = note.y.min(most - note.height());
        most = note.y;
    }
}

/// The ends of the faint line from a curve that ended elsewhere to its name.
fn leader(frame: &Frame<'_>, note: &Note) -> Option<(Point, Point)> {
    let (end, height) = note.end;
    (frame.right - end > LINE).then_some(((end + 8.0, height), (frame.right + 4.0, note.y)))
}

/// Whether no line to a name passes through a text between `left` and `right` that stands on `base`.
pub(super) fn is_free(frame: &Frame<'_>, notes: &[Note], (left, right): (f64, f64), base: f64) -> bool {
    notes.iter().filter_map(|note| leader(frame, note)).all(|(from, to)| {
        let (first, last) = (left.max(from.0), right.min(to.0));
        let height = |x: f64| from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0);
        let (one, other) = (height(first), height(last));
        first >= last || one.max(other) < base - LINE + 3.0 || one.min(other) > base + 3.0
    })
}

/// The name, and a faint line to it from a curve that ended before the others or elsewhere.
pub(super) fn write(picture: &mut impl Node, frame: &Frame<'_>, note: &Note) {
    let mut group = Group::new().set("class", "named").set("data-s", note.name.as_str());
    if let Some((from, to)) = leader(frame, note) {
        group.append(line(from, to).set("class", format!("leader {}", note.class)));
    }
    let (from, to) = ((frame.right + 6.0, note.y), (frame.right + 24.0, note.y));
    group.append(line(from, to).set("class", format!("curve {}", note.class)));
    lines(&mut group, &note.lines, (frame.right + 28.0, note.y + 4.0), "start", "note");
    picture.append(group);
}

/// Writes lines of text below each other; returns the height of all.
pub(super) fn lines(picture: &mut impl Node, lines: &[String], (x, y): Point, anchor: &str, class: &str) -> f64 {
    for (index, written) in lines.iter().enumerate() {
        picture.append(text(written, (x, y + LINE * index as f64), anchor, class));
    }
    LINE * lines.len() as f64
}

/// What stands before a name in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// A patch of its color.
    Fill,
    /// A piece of its line, whose dashes are seen in gray print as well.
    Line,
}

/// Draws names behind samples, in as many rows as they need from `top` on; returns the height of all. Of each name its classes come first.
pub(super) fn key(picture: &mut impl Node, sample: Sample, named: &[(String, String)], whole: f64, top: f64) -> f64 {
    let indent = if sample == Sample::Fill { 17.0 } else { 26.0 };
    let (mut x, mut y, mut high) = (0.0, top, 0.0_f64);
    for (class, name) in named {
        let written = wrap(name, whole - indent - 2.0);
        let wide = indent + 1.0 + written.iter().map(|line| width(line)).fold(0.0, f64::max);
        if x > 0.0 && x + wide > whole {
            (x, y, high) = (0.0, y + high + 2.0, 0.0);
        }
        let mut group = Group::new();
        match sample {
            Sample::Fill => {
                let swatch = Path::new().set("d", format!("M{} {}h12v9h-12Z", short(x), short(y + 2.0)));
                group.append(swatch.set("class", format!("fill {class}")));
            }
            Sample::Line => {
                // A level has nothing to hide.
                if class.starts_with("curve") {
                    group.assign("class", "named");
                    group.assign("data-s", name.as_str());
                }
                group.append(line((x, y + 7.0), (x + 20.0, y + 7.0)).set("class", class.as_str()));
            }
        }
        high = high.max(lines(&mut group, &written, (x + indent, y + 11.0), "start", "note"));
        picture.append(group);
        x += wide + 14.0;
    }
    if named.is_empty() { 0.0 } else { y + high + 4.0 - top }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::along::chart;
    use crate::axis::Axis;
    use crate::chart::{Chart, Curve, Layer, Size};

    #[test]
    fn the_name_of_a_limit_keeps_off_the_lines_to_other_names() {
        // A curve that ends early, high up: the line to its name passes where the name of the limit would stand.
        let axes = || (Axis::exact(0.0, 100.0, 5), String::new());
        let curve = |end: f64, label: &str| {
            let points = vec![(0.0, 0.0), (end, 95.0)];
            Layer::Curve(Curve { points, label: label.to_owned(), class: "s0".to_owned(), ..Curve::default() })
        };
        let mark = Layer::Mark { class: String::new(), x: 60.0, label: "corrects 75".to_owned() };
        let height = |layers: Vec<Layer>| -> f64 {
            let chart = Chart { layers, ..chart("c".to_owned(), String::new(), axes(), axes()) };
            let picture = chart.draw(Size::Column).to_string();
            let (before, limit) = picture.split_once("corrects 75").expect("the limit has a name");
            assert!(!limit.contains("leader"), "the name of a limit lies above all lines");
            let text = before.rsplit("<text").next().unwrap_or_default();
            text.split(" y=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next()?.parse().ok())
                .expect("a text has a height")
        };
        let free = height(vec![mark.clone(), curve(100.0, "long")]);
        let crossed = height(vec![mark, curve(20.0, "short")]);
        assert!(crossed > free + LINE / 2.0, "{crossed} beside {free}");
    }

    #[test]
    fn labels_that_meet_are_moved_apart_and_stay_inside() {
        let table: [(&[f64], &[f64]); 3] = [
            (&[50.0, 20.0], &[20.0, 50.0]),
            (&[98.0, 97.0, 20.0], &[20.0, 85.0, 100.0]),
            (&[10.0, 10.0, 12.0], &[10.0, 25.0, 40.0]),
        ];
        for (heights, expected) in table {
            let note = |y: &f64| Note {
                lines: vec![String::new()],
                name: String::new(),
                class: String::new(),
                end: (0.0, *y),
                y: *y,
            };
            let mut notes: Vec<Note> = heights.iter().map(note).collect();
            spread(&mut notes, 10.0, 100.0);
            assert_eq!(notes.iter().map(|note| note.y).collect::<Vec<_>>(), expected, "{heights:?}");
        }
    }

    #[test]
    fn labels_of_several_lines_take_their_room() {
        let note = |lines: usize, y: f64| Note {
            lines: vec![String::new(); lines],
            name: String::new(),
            class: String::new(),
            end: (0.0, y),
            y,
        };
        let mut notes = [note(2, 50.0), note(1, 52.0), note(3, 100.0)];
        spread(&mut notes, 10.0, 100.0);
        assert_eq!(notes.iter().map(|note| note.y).collect::<Vec<_>>(), [25.0, 55.0, 70.0]);
    }

    #[test]
    fn a_name_that_is_wider_than_its_place_is_written_in_lines() {
        let axes = || (Axis::exact(0.0, 100.0, 5), String::new());
        let curve = |label: &str| {
            let points = vec![(0.0, 0.0), (100.0, 95.0)];
            Layer::Curve(Curve { points, label: label.to_owned(), class: "s1".to_owned(), ..Curve::default() })
        };
        let drawn = |labels: &[String]| {
            let layers = labels.iter().map(|label| curve(label)).collect();
            let chart = Chart { layers, ..chart("c".to_owned(), String::new(), axes(), axes()) };
            chart.draw(Size::Column)
        };
        let label = |number: usize| format!("strength = 40, over-provisioning = 7\u{a0}%, d-choices, d = {number}");
        let few = drawn(&[label(1)]).to_string();
        assert!(
            few.contains("\nover-provisioning =\n") && few.contains("d = 1\n") && !few.contains('\u{2026}'),
            "{few}"
        );
        // Eight such names are higher than the plot: they stand above it, each behind a piece of its line.
        let many = drawn(&(0..8).map(label).collect::<Vec<_>>());
        let height = |picture: &svg::node::element::SVG| {
            let view = picture.get_attributes().and_then(|all| all.get("viewBox")).map(ToString::to_string);
            let view = view.unwrap_or_default();
            view.rsplit(' ').next().and_then(|side| side.parse::<f64>().ok()).unwrap_or(0.0)
        };
        assert!(height(&many) > height(&drawn(&[label(1)])) + 8.0 * LINE, "{}", height(&many));
        assert_eq!(
            crate::boxes::faults(&many, &[Size::Column.pixels().0], crate::boxes::Font::Noto),
            Vec::<String>::new()
        );
        let many = many.to_string();
        assert!(!many.contains('\u{2026}') && !many.contains("leader"), "{many}");
    }
}
