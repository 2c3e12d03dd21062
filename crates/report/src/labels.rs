//! Names of curves, beyond the right edge of the plot: each behind a piece of its line, none over another.

use svg::Node;
use svg::node::element::{Group, Path, SVG};

use super::chart::{Frame, Point, line, short, text};
use super::text::{fit, width};

/// Height of a line of text.
pub(super) const LINE: f64 = 15.0;

/// A curve's name.
#[derive(Debug)]
pub(super) struct Note {
    /// As written: it may be cut.
    pub(super) text: String,
    /// In full.
    pub(super) name: String,
    pub(super) class: String,
    /// Where the curve ends.
    pub(super) end: Point,
    /// Where the name stands.
    pub(super) y: f64,
}

/// Moves names apart that would overlap, as little as needed, within `top..bottom`.
pub(super) fn spread(notes: &mut [Note], top: f64, bottom: f64) {
    debug_assert!(top <= bottom, "names stand between the top and the bottom of their plot");
    notes.sort_by(|left, right| left.y.total_cmp(&right.y));
    let mut least = top;
    for note in notes.iter_mut() {
        note.y = note.y.max(least);
        least = note.y + LINE;
    }
    let mut most = bottom;
    for note in notes.iter_mut().rev() {
        note.y = note.y.min(most);
        most = note.y - LINE;
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
pub(super) fn write(picture: &mut SVG, frame: &Frame<'_>, note: &Note) {
    let mut group = Group::new().set("class", "named").set("data-s", note.name.as_str());
    if let Some((from, to)) = leader(frame, note) {
        group.append(line(from, to).set("class", format!("leader {}", note.class)));
    }
    let (from, to) = ((frame.right + 6.0, note.y), (frame.right + 24.0, note.y));
    group.append(line(from, to).set("class", format!("curve {}", note.class)));
    group.append(text(&note.text, (frame.right + 28.0, note.y + 4.0), "start", "note"));
    picture.append(group);
}

/// Draws names behind their colors, in as many lines as they need from `top` on; returns the height of all.
pub(super) fn key(picture: &mut SVG, named: &[(String, String)], whole: f64, top: f64) -> f64 {
    let (mut x, mut y) = (0.0, top);
    for (class, name) in named {
        let name = fit(name, whole - 20.0);
        let wide = 18.0 + width(&name);
        if x > 0.0 && x + wide > whole {
            (x, y) = (0.0, y + LINE + 2.0);
        }
        let swatch = Path::new().set("d", format!("M{} {}h12v9h-12Z", short(x), short(y + 2.0)));
        picture.append(swatch.set("class", format!("fill {class}")));
        picture.append(text(&name, (x + 17.0, y + 11.0), "start", "note"));
        x += wide + 14.0;
    }
    if named.is_empty() { 0.0 } else { y + LINE + 4.0 - top }
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
                text: String::new(),
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
}
