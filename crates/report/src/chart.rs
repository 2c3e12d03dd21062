//! Charts of curves over a common axis, drawn as SVG for a wide and a narrow screen.
//!
//! Curves are labeled where they end instead of in a legend, while there is room. Colors come from classes only.

use svg::Node;
use svg::node::element::{Description, Group, Line, Path, Rectangle, SVG, Text, Title};

use super::axis::Axis;

/// A point of a curve.
pub(super) type Point = (f64, f64);

/// What is drawn, back to front.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    /// The space between two curves.
    Area {
        /// Color and weight.
        class: String,
        /// x, low, high.
        points: Vec<(f64, f64, f64)>,
    },
    /// Bars that stand on the axis.
    Bars {
        /// Color.
        class: String,
        /// Left, right, height.
        bars: Vec<(f64, f64, f64)>,
    },
    /// Bars that stand on each other.
    Stack {
        /// Color.
        class: String,
        /// Left, right, low, high.
        bars: Vec<(f64, f64, f64, f64)>,
    },
    /// A curve.
    Curve(Curve),
    /// Marks at single values.
    Dots {
        /// Color.
        class: String,
        /// Where.
        points: Vec<Point>,
    },
    /// A limit that lies across the x axis.
    Mark {
        /// Color, or none.
        class: String,
        /// Where.
        x: f64,
        /// What it is.
        label: String,
    },
    /// A level that curves are held against.
    Level {
        /// Where.
        y: f64,
        /// What it is.
        label: String,
    },
}

/// A curve and what stands at its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    pub(super) class: String,
    pub(super) points: Vec<Point>,
    /// Nothing, or what the curve is.
    pub(super) label: String,
    pub(super) shape: Shape,
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Straight,
    /// A value holds until the next one.
    Steps,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Open,
    /// The run ended, the drive lives.
    Dot,
    /// The drive died.
    Cross,
}

/// Where the names of curves stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Where they end.
    Beside,
    /// There on a wide screen; in a key above on a narrow one.
    BesideWhenWide,
    /// In a key above: there are too many.
    InKey,
}

/// A chart, before it has a size.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Unique on the page.
    pub(super) id: String,
    /// Read out by screen readers.
    pub(super) title: String,
    /// What there is to see.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) x_label: String,
    pub(super) y: Axis,
    pub(super) y_label: String,
    /// Appended to the ticks of the y axis.
    pub(super) y_unit: &'static str,
    pub(super) layers: Vec<Layer>,
    pub(super) names: Names,
    /// Most points that a curve keeps for each column of a few pixels, times columns.
    pub(super) columns: usize,
}

/// A width that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Wide,
    Narrow,
    /// Half a wide row; fits a narrow one as well.
    Half,
}

impl Size {
    const fn pixels(self) -> (f64, f64) {
        match self {
            Self::Wide => (880.0, 330.0),
            Self::Narrow => (400.0, 300.0),
            Self::Half => (430.0, 290.0),
        }
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Wide => "chart wide",
            Self::Narrow => "chart narrow",
            Self::Half => "chart half",
        }
    }
}

const CHARACTER: f64 = 6.5;
const LINE: f64 = 15.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 42.0;

/// Where the plot lies within a picture.
struct Frame<'a> {
    chart: &'a Chart,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    label_characters: usize,
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        self.left + self.chart.x.place(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.chart.y.place(value) * (self.bottom - self.top)
    }
}

impl Chart {
    /// The chart for wide and for narrow screens; the page shows the one that fits.
    pub(super) fn both(&self) -> String {
        self.draw(Size::Wide) + &self.draw(Size::Narrow)
    }

    /// The chart in one size.
    pub(super) fn draw(&self, size: Size) -> String {
        let (width, height) = size.pixels();
        let frame = self.frame(size);
        let mut picture = picture(&format!("{}-{}", self.id, size.class()), size, (width, height), self);
        grid(&mut picture, &frame);
        let mut notes = Vec::new();
        for layer in &self.layers {
            match layer {
                Layer::Area { class, points } => picture.append(area(&frame, class, points)),
                Layer::Bars { class, bars } => picture.append(bars_of(&frame, class, bars)),
                Layer::Stack { class, bars } => picture.append(stack(&frame, class, bars)),
                Layer::Dots { class, points } => picture.append(dots(&frame, class, points)),
                Layer::Mark { class, x, label } => mark(&mut picture, &frame, (class, *x), label),
                Layer::Level { y, label } => level(&mut picture, &frame, *y, label),
                Layer::Curve(curve) => {
                    picture.append(curve_of(&frame, curve));
                    notes.extend(note(&frame, curve));
                }
            }
        }
        for layer in &self.layers {
            if let Layer::Curve(curve) = layer {
                end_mark(&mut picture, &frame, curve);
            }
        }
        spread(&mut notes, frame.top, frame.bottom);
        for note in &notes {
            write_note(&mut picture, &frame, note);
        }
        picture.to_string()
    }

    fn frame(&self, size: Size) -> Frame<'_> {
        let (width, height) = size.pixels();
        let label_characters = match (self.names, size) {
            (Names::Beside | Names::BesideWhenWide, Size::Wide) => 30,
            (Names::Beside, _) => 16,
            (Names::BesideWhenWide | Names::InKey, _) => 0,
        };
        let ticks = self.y.ticks();
        let tick_characters = ticks.iter().map(|tick| self.y.text(*tick).chars().count()).max().unwrap_or(1);
        let left = (tick_characters + self.y_unit.chars().count()) as f64 * CHARACTER + 12.0;
        let labels = self.layers.iter().map(|layer| if let Layer::Curve(curve) = layer { &curve.label } else { "" });
        let widest = labels.map(|label| label.chars().count().min(label_characters)).max().unwrap_or(0);
        let last_tick = self.x.ticks().last().map_or(0, |tick| self.x.text(*tick).chars().count());
        let margin =
            if widest > 0 { widest as f64 * CHARACTER + 12.0 } else { last_tick as f64 * CHARACTER / 2.0 + 2.0 };
        Frame { chart: self, left, right: width - margin, top: TOP, bottom: height - BOTTOM, label_characters }
    }
}

/// An empty picture that says what it shows.
pub(super) fn described(id: &str, class: &str, size: (f64, f64), title: &str, description: &str) -> SVG {
    let id = id.replace(' ', "-");
    SVG::new()
        .set("viewBox", format!("0 0 {} {}", short(size.0), short(size.1)))
        .set("class", class)
        .set("role", "img")
        .set("aria-labelledby", format!("{id}-title {id}-desc"))
        .add(Title::new(title).set("id", format!("{id}-title")))
        .add(Description::new().set("id", format!("{id}-desc")).add(svg::node::Text::new(description)))
}

fn picture(id: &str, size: Size, pixels: (f64, f64), chart: &Chart) -> SVG {
    described(id, size.class(), pixels, &chart.title, &chart.description)
}

pub(super) fn text(content: &str, x: f64, y: f64, anchor: &str) -> Text {
    Text::new(content).set("x", short(x)).set("y", short(y)).set("text-anchor", anchor)
}

/// A coordinate to a tenth of a pixel, without a needless ".0".
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

fn grid(picture: &mut SVG, frame: &Frame<'_>) {
    let chart = frame.chart;
    let mut lines = Group::new().set("class", "grid");
    let mut ticks = Group::new().set("class", "ticks");
    for tick in chart.y.ticks() {
        let y = frame.y(tick);
        lines.append(line((frame.left, y), (frame.right, y)));
        ticks.append(text(&format!("{}{}", chart.y.text(tick), chart.y_unit), frame.left - 7.0, y + 4.0, "end"));
    }
    for tick in chart.x.ticks() {
        let x = frame.x(tick);
        ticks.append(line((x, frame.bottom), (x, frame.bottom + 4.0)));
        ticks.append(text(&chart.x.text(tick), x, frame.bottom + 18.0, "middle"));
    }
    picture.append(lines);
    picture.append(line((frame.left, frame.bottom), (frame.right, frame.bottom)).set("class", "axis"));
    picture.append(ticks);
    picture.append(text(&chart.y_label, 0.0, 13.0, "start").set("class", "axis-label"));
    picture.append(text(&chart.x_label, frame.right, frame.bottom + 36.0, "end").set("class", "axis-label"));
}

fn line(from: Point, to: Point) -> Line {
    Line::new().set("x1", short(from.0)).set("y1", short(from.1)).set("x2", short(to.0)).set("y2", short(to.1))
}

fn level(picture: &mut SVG, frame: &Frame<'_>, y: f64, label: &str) {
    let at = frame.y(y);
    picture.append(line((frame.left, at), (frame.right, at)).set("class", "level"));
    // At the top the name of the axis is above.
    let below = if at < frame.top + LINE { 14.0 } else { -5.0 };
    picture.append(text(label, frame.left + 4.0, at + below, "start").set("class", "level-label"));
}

fn mark(picture: &mut SVG, frame: &Frame<'_>, (class, x): (&str, f64), label: &str) {
    let at = frame.x(x);
    picture.append(line((at, frame.top), (at, frame.bottom)).set("class", format!("level {class}")));
    // Written to the side with more room.
    let (shift, anchor) = if at > (frame.left + frame.right) / 2.0 { (-5.0, "end") } else { (5.0, "start") };
    picture.append(text(label, at + shift, frame.top + 12.0, anchor).set("class", "level-label"));
}

fn dot(at: Point) -> String {
    format!("M{} {}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z", short(at.0 - 3.5), short(at.1))
}

fn dots(frame: &Frame<'_>, class: &str, points: &[Point]) -> Path {
    let data: String = points.iter().map(|(x, y)| dot((frame.x(*x), frame.y(*y)))).collect();
    Path::new().set("d", data).set("class", format!("dot {class}"))
}

fn stack(frame: &Frame<'_>, class: &str, bars: &[(f64, f64, f64, f64)]) -> Group {
    let mut group = Group::new().set("class", format!("bars {class}"));
    for (left, right, low, high) in bars.iter().filter(|bar| bar.3 > bar.2) {
        let (x, width) = (frame.x(*left), frame.x(*right) - frame.x(*left));
        let gap = if width > 6.0 { 1.0 } else { 0.0 };
        group.append(
            Rectangle::new()
                .set("x", short(x))
                .set("y", short(frame.y(*high)))
                .set("width", short((width - gap).max(0.5)))
                .set("height", short(frame.y(*low) - frame.y(*high))),
        );
    }
    group
}

fn area(frame: &Frame<'_>, class: &str, points: &[(f64, f64, f64)]) -> Path {
    let edge =
        |of: fn(&(f64, f64, f64)) -> Point| thin(&points.iter().map(of).collect::<Vec<_>>(), frame.chart.columns);
    let (low, high) = (edge(|point| (point.0, point.1)), edge(|point| (point.0, point.2)));
    let mut data = trace(frame, &high);
    for (x, y) in low.iter().rev() {
        data.push_str(&format!("L{} {}", short(frame.x(*x)), short(frame.y(*y))));
    }
    data.push('Z');
    Path::new().set("d", data).set("class", format!("area {class}"))
}

fn bars_of(frame: &Frame<'_>, class: &str, bars: &[(f64, f64, f64)]) -> Group {
    let mut group = Group::new().set("class", format!("bars {class}"));
    for (left, right, height) in bars.iter().filter(|bar| bar.2 > 0.0) {
        let (x, width, y) = (frame.x(*left), frame.x(*right) - frame.x(*left), frame.y(*height));
        // A gap keeps bars apart, unless it would eat them.
        let gap = if width > 3.0 { 1.0 } else { 0.0 };
        group.append(
            Rectangle::new()
                .set("x", short(x))
                .set("y", short(y.min(frame.bottom - 1.0)))
                .set("width", short((width - gap).max(0.5)))
                .set("height", short((frame.bottom - y).max(1.0))),
        );
    }
    group
}

fn curve_of(frame: &Frame<'_>, curve: &Curve) -> Path {
    let points = thin(&curve.points, frame.chart.columns);
    let points = if curve.shape == Shape::Steps { steps(&points) } else { points };
    Path::new().set("d", trace(frame, &points)).set("class", format!("curve {}", curve.class))
}

fn trace(frame: &Frame<'_>, points: &[Point]) -> String {
    let mut data = String::new();
    let mut last = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let at = format!("{} {}", short(frame.x(*x)), short(frame.y(*y)));
        if at != last {
            data.push(if index == 0 { 'M' } else { 'L' });
            data.push_str(&at);
        }
        last = at;
    }
    data
}

/// Adds the corners of steps.
fn steps(points: &[Point]) -> Vec<Point> {
    let corners = points.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    points.first().copied().into_iter().chain(corners).collect()
}

/// Keeps the first, least, greatest and last point of each of `columns` stretches of x: what a screen can show.
pub(super) fn thin(points: &[Point], columns: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= 4 * columns || last.0 <= first.0 {
        return points.to_vec();
    }
    let column = |point: &Point| ((point.0 - first.0) / (last.0 - first.0) * columns as f64) as usize;
    let mut kept = Vec::with_capacity(4 * columns + 4);
    for stretch in points.chunk_by(|left, right| column(left) == column(right)) {
        let by_y = |left: &&Point, right: &&Point| left.1.total_cmp(&right.1);
        let index = |found: Option<&Point>| {
            found.map_or(0, |found| stretch.iter().position(|point| point == found).unwrap_or(0))
        };
        let least = index(stretch.iter().min_by(by_y));
        let greatest = index(stretch.iter().max_by(by_y));
        let mut wanted = [0, least, greatest, stretch.len() - 1];
        wanted.sort_unstable();
        for (position, at) in wanted.iter().enumerate() {
            if position == 0 || wanted[position - 1] != *at {
                kept.push(stretch[*at]);
            }
        }
    }
    kept
}

fn end_mark(picture: &mut SVG, frame: &Frame<'_>, curve: &Curve) {
    let Some(&(x, y)) = curve.points.last() else { return };
    let (x, y) = (frame.x(x), frame.y(y));
    let data = match curve.end {
        End::Open => return,
        End::Dot => dot((x, y)),
        End::Cross => format!("M{} {}l9 9m0 -9l-9 9", short(x - 4.5), short(y - 4.5)),
    };
    let kind = if curve.end == End::Dot { "dot" } else { "cross" };
    picture.append(Path::new().set("d", data).set("class", format!("{kind} {}", curve.class)));
}

/// A curve's label beyond the right edge of the plot.
#[derive(Debug)]
struct Note {
    text: String,
    class: String,
    /// Where the curve ends.
    end: Point,
    /// Where the label stands.
    y: f64,
}

/// The label, and a faint line to it from a curve that ended before the others.
fn write_note(picture: &mut SVG, frame: &Frame<'_>, note: &Note) {
    let (end, height) = note.end;
    if frame.right - end > LINE {
        let leader = line((end + 8.0, height), (frame.right + 4.0, height));
        picture.append(leader.set("class", format!("leader {}", note.class)));
    }
    let written = text(&note.text, frame.right + 8.0, note.y + 4.0, "start");
    picture.append(written.set("class", format!("note {}", note.class)));
}

fn note(frame: &Frame<'_>, curve: &Curve) -> Option<Note> {
    let &(x, y) = curve.points.last()?;
    if curve.label.is_empty() || frame.label_characters == 0 {
        return None;
    }
    let text = cut(&curve.label, frame.label_characters);
    Some(Note { text, class: curve.class.clone(), end: (frame.x(x), frame.y(y)), y: frame.y(y) })
}

/// At most `characters` of a text, with an ellipsis where some are missing.
pub(super) fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['\u{2026}']).collect()
}

/// Moves labels apart that would overlap, as little as needed, within `top..bottom`.
fn spread(notes: &mut [Note], top: f64, bottom: f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_every_extreme() {
        let mut points: Vec<Point> = (0..2048).map(|at| (f64::from(at), 1.0)).collect();
        points[790].1 = 9.0;
        points[1500].1 = -9.0;
        let thinned = thin(&points, 50);
        assert!(thinned.len() <= 204, "{}", thinned.len());
        assert_eq!((thinned.first(), thinned.last()), (points.first(), points.last()));
        assert!(thinned.contains(&(790.0, 9.0)) && thinned.contains(&(1500.0, -9.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn labels_that_meet_are_moved_apart_and_stay_inside() {
        let table: [(&[f64], &[f64]); 3] = [
            (&[50.0, 20.0], &[20.0, 50.0]),
            (&[98.0, 97.0, 20.0], &[20.0, 85.0, 100.0]),
            (&[10.0, 10.0, 12.0], &[10.0, 25.0, 40.0]),
        ];
        for (heights, expected) in table {
            let note = |y: &f64| Note { text: String::new(), class: String::new(), end: (0.0, *y), y: *y };
            let mut notes: Vec<Note> = heights.iter().map(note).collect();
            spread(&mut notes, 10.0, 100.0);
            assert_eq!(notes.iter().map(|note| note.y).collect::<Vec<_>>(), expected, "{heights:?}");
        }
    }

    #[test]
    fn steps_hold_a_value_until_the_next() {
        assert_eq!(steps(&[(0.0, 1.0), (2.0, 5.0)]), [(0.0, 1.0), (2.0, 1.0), (2.0, 5.0)]);
    }
}
