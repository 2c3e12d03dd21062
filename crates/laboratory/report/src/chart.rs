//! Charts of curves, areas and bars over a common axis: what they show, and how they are laid out in a size.
//!
//! Curves are named where they end, behind a piece of their line; in a key above the plot if there is no room. Colors come from classes only.
//! Every layer is one path, and the values behind it can be written beside the chart, so that a script can draw it again.

use svg::Node;
use svg::node::element::{Description, Group, Path, SVG, Text, Title};

use super::axis::Axis;
use super::labels::{self, LINE, Note, Sample};
use super::marks;
use super::text::{fit, width, wrap};

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
    /// Bars, each from its low to its high value.
    Bars {
        /// Color.
        class: String,
        /// What they are.
        label: String,
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
    /// Intervals, upright.
    Whiskers {
        /// Color.
        class: String,
        /// x, low, high.
        points: Vec<(f64, f64, f64)>,
    },
    /// A ring around the best value.
    Ring {
        /// Where.
        at: Point,
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
    /// A level to compare curves with.
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
    /// What the curve is; empty for an unnamed one.
    pub(super) label: String,
    pub(super) shape: Shape,
    pub(super) end: End,
    /// Whether another curve of the same name follows, at whose end the name stands.
    pub(super) goes_on: bool,
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
    /// Number of columns that a curve is thinned to, each with at most four points.
    pub(super) columns: usize,
}

/// A width that a picture is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// A page on a wide screen.
    Wide,
    /// A page on a narrow screen.
    Narrow,
    /// Half a wide row; fits a narrow one as well.
    Half,
    /// A column of a paper: 85 mm, at which the text is 7.6 pt high.
    Column,
    /// Both columns of a paper: 178 mm.
    Across,
}

impl Size {
    pub(super) const fn pixels(self) -> (f64, f64) {
        match self {
            Self::Wide => (880.0, 330.0),
            Self::Narrow => (400.0, 300.0),
            Self::Half => (430.0, 290.0),
            Self::Column => (380.0, 260.0),
            Self::Across => (796.0, 330.0),
        }
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Wide | Self::Across => "chart wide",
            Self::Narrow | Self::Column => "chart narrow",
            Self::Half => "chart half",
        }
    }

    /// Most pixels of a name beside the plot.
    const fn name_pixels(self) -> f64 {
        match self {
            Self::Wide | Self::Across => 220.0,
            Self::Narrow | Self::Column | Self::Half => 142.0,
        }
    }
}

const TOP: f64 = 30.0;
const BOTTOM: f64 = 42.0;
/// Between a curve's end and its name: a piece of its line, and gaps.
pub(super) const SAMPLE: f64 = 30.0;

/// Where the plot lies within a picture, and what is written around it.
pub(super) struct Frame<'a> {
    pub(super) chart: &'a Chart,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) names: Names,
    /// Along the bottom, and upwards.
    pub(super) written: [Written; 2],
}

/// Where curves and limits are named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Names {
    /// Curves beyond the right edge, in lines of at most this many pixels.
    Beside(f64),
    /// Curves in a key above the plot.
    Above,
    /// Curves and levels in a key that several charts share.
    Shared,
}

/// What is written at an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// A neighbor on the same axis has it.
    Nothing,
    Ticks,
    TicksAndName,
}

impl Frame<'_> {
    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + self.chart.x.place(value) * (self.right - self.left)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.bottom - self.chart.y.place(value) * (self.bottom - self.top)
    }
}

impl Chart {
    pub(super) fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.layers.iter().filter_map(|layer| if let Layer::Curve(curve) = layer { Some(curve) } else { None })
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.curves().all(|curve| curve.points.is_empty())
            && !self.layers.iter().any(|layer| matches!(layer, Layer::Bars { .. }))
    }

    /// The chart in one size, as a picture.
    pub(super) fn draw(&self, size: Size) -> SVG {
        let frame = self.frame(size);
        let id = format!("{}-{}", self.id, size.class());
        let (whole, height) = (size.pixels().0, frame.bottom + BOTTOM);
        let mut picture = described(&id, size.class(), (whole, height), &self.title, &self.description);
        picture.assign("data-chart", self.id.as_str());
        if frame.names == Names::Above {
            labels::key(&mut picture, Sample::Line, &self.named(), whole, 0.0);
        }
        self.draw_in(&mut picture, &frame);
        picture
    }

    /// Draws the plot and what is written around it.
    pub(super) fn draw_in(&self, picture: &mut impl Node, frame: &Frame<'_>) {
        picture.assign("data-frame", [frame.left, frame.top, frame.right, frame.bottom].map(short).join(" "));
        grid(picture, frame);
        let mut notes: Vec<Note> = self.curves().filter_map(|curve| note(frame, curve)).collect();
        labels::spread(&mut notes, frame.top, frame.bottom);
        let (mut limits, mut row) = (Vec::new(), 0);
        for (index, layer) in self.layers.iter().enumerate() {
            match layer {
                Layer::Mark { class, x, label } => {
                    let (limit, drawn_in) = mark(picture, frame, (class, *x), (label, row), &notes);
                    limits.push(limit);
                    row = drawn_in + 1;
                }
                Layer::Level { y, label } => limits.extend(level(picture, frame, *y, label, &notes)),
                drawn => {
                    let (class, name) = (layer_class(drawn), layer_name(drawn));
                    let path = marks::path(frame, drawn).set("class", class).set("data-l", index);
                    picture.append(if name.is_empty() { path } else { path.set("data-s", name) });
                }
            }
        }
        for curve in self.curves() {
            marks::end(picture, frame, curve);
        }
        for note in &notes {
            labels::write(picture, frame, note);
        }
        // Above curves and the lines to their names, which the names of limits avoid.
        for limit in limits {
            picture.append(limit);
        }
    }

    /// Classes and names of the curves that have one.
    pub(super) fn named(&self) -> Vec<(String, String)> {
        let is_named = |curve: &&Curve| !curve.label.is_empty() && !curve.points.is_empty() && !curve.goes_on;
        let named = self.curves().filter(is_named);
        named.map(|curve| (format!("curve {}", curve.class), curve.label.clone())).collect()
    }

    /// Pixels to the left of the plot, for the ticks.
    pub(super) fn left(&self) -> f64 {
        let tick = |tick: &f64| width(&self.y.text(*tick)) + width(self.y_unit);
        self.y.ticks().iter().map(tick).fold(8.0, f64::max) + 9.0
    }

    fn frame(&self, size: Size) -> Frame<'_> {
        let (whole, height) = size.pixels();
        let named = self.named();
        let beside: Vec<String> = named.iter().flat_map(|(_, name)| wrap(name, size.name_pixels())).collect();
        // Names that are higher than the plot stand above it.
        let fits = beside.len() as f64 * LINE <= height - TOP - BOTTOM + LINE;
        let names = if fits { Names::Beside(size.name_pixels()) } else { Names::Above };
        let above = if fits { 0.0 } else { labels::key(&mut Group::new(), Sample::Line, &named, whole, 0.0) };
        let widest = beside.iter().filter(|_| fits).map(|line| width(line)).fold(0.0, f64::max);
        let last_tick = self.x.ticks().last().map_or(0.0, |tick| width(&self.x.text(*tick)));
        let margin = if widest > 0.0 { widest + SAMPLE + 2.0 } else { last_tick / 2.0 + 3.0 };
        let (left, right, top, bottom) = (self.left(), whole - margin, above + TOP, above + height - BOTTOM);
        Frame { chart: self, left, right, top, bottom, names, written: [Written::TicksAndName; 2] }
    }
}

fn layer_class(layer: &Layer) -> String {
    match layer {
        Layer::Area { class, .. } => format!("area {class}"),
        Layer::Bars { class, .. } => format!("bars {class}"),
        Layer::Curve(curve) => format!("curve {}", curve.class),
        Layer::Dots { class, .. } => format!("dot {class}"),
        Layer::Whiskers { class, .. } => format!("whisker own {class}"),
        Layer::Ring { .. } => "best end".to_owned(),
        Layer::Mark { class, .. } => format!("level {class}"),
        Layer::Level { .. } => "level".to_owned(),
    }
}

/// The name of a layer; empty for marks and areas, which go with the curve of their color.
fn layer_name(layer: &Layer) -> &str {
    match layer {
        Layer::Bars { label, .. } => label,
        Layer::Curve(curve) => &curve.label,
        _ => "",
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

/// A text with its class.
pub(super) fn text(content: &str, (x, y): Point, anchor: &str, class: &str) -> Text {
    Text::new(content).set("x", short(x)).set("y", short(y)).set("text-anchor", anchor).set("class", class)
}

/// A coordinate to a tenth of a pixel, without a needless ".0".
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

fn grid(picture: &mut impl Node, frame: &Frame<'_>) {
    let (chart, [along, up]) = (frame.chart, frame.written);
    let mut drawn = Group::new().set("class", "scales");
    for (at, label) in
        chart.y.ticks_up(frame.bottom - frame.top).into_iter().map(|tick| (frame.y(tick), chart.y.text(tick)))
    {
        drawn.append(line((frame.left, at), (frame.right, at)).set("class", "grid"));
        if up != Written::Nothing {
            drawn.append(text(&format!("{label}{}", chart.y_unit), (frame.left - 7.0, at + 4.0), "end", "tick"));
        }
    }
    let ticks = chart.x.ticks_within(frame.right - frame.left);
    for (at, label) in ticks.into_iter().map(|tick| (frame.x(tick), chart.x.text(tick))) {
        drawn.append(line((at, frame.bottom), (at, frame.bottom + 4.0)).set("class", "axis"));
        if along != Written::Nothing {
            drawn.append(text(&label, (at, frame.bottom + 18.0), "middle", "tick"));
        }
    }
    drawn.append(line((frame.left, frame.bottom), (frame.right, frame.bottom)).set("class", "axis"));
    // The script writes no other ticks when it draws the scales again.
    let bare = [("x", along), ("y", up)].into_iter().filter(|(_, written)| *written == Written::Nothing);
    let bare: String = bare.map(|(axis, _)| axis).collect();
    if !bare.is_empty() {
        picture.assign("data-bare", bare);
    }
    picture.append(drawn);
    if up == Written::TicksAndName {
        picture.append(text(&chart.y_label, (0.0, frame.top - 17.0), "start", "name"));
    }
    if along == Written::TicksAndName {
        picture.append(text(&chart.x_label, (frame.right, frame.bottom + 36.0), "end", "name"));
    }
}

pub(super) fn line(from: Point, to: Point) -> Path {
    Path::new().set("d", format!("M{} {}L{} {}", short(from.0), short(from.1), short(to.0), short(to.1)))
}

/// Draws a level and returns its name, at the end where no line to another name passes, if there is one; `None` if a key has the name.
fn level(picture: &mut impl Node, frame: &Frame<'_>, y: f64, label: &str, notes: &[Note]) -> Option<Text> {
    let at = frame.y(y);
    picture.append(line((frame.left, at), (frame.right, at)).set("class", "level").set("data-y", y));
    if frame.names == Names::Shared {
        return None;
    }
    // At the top the name of the axis is above.
    let below = if at < frame.top + LINE { 14.0 } else { -5.0 };
    let label = fit(label, frame.right - frame.left - 8.0);
    let is_free = |left: f64| labels::is_free(frame, notes, (left, left + width(&label)), at + below);
    let (left, right) = (frame.left + 4.0, frame.right - 4.0);
    let (x, anchor) = if is_free(left) || !is_free(right - width(&label)) { (left, "start") } else { (right, "end") };
    Some(text(&label, (x, at + below), anchor, "name halo").set("data-y", y))
}

/// Most rows that are tried for the name of a limit.
const ROWS_TRIED: usize = 6;

/// Draws a limit and returns its name with the row that it stands in.
fn mark(
    picture: &mut impl Node,
    frame: &Frame<'_>,
    (class, x): (&str, f64),
    (label, row): (&str, usize),
    notes: &[Note],
) -> (Text, usize) {
    let at = frame.x(x);
    let class = if class.is_empty() { "level".to_owned() } else { format!("level own {class}") };
    picture.append(line((at, frame.top), (at, frame.bottom)).set("class", class).set("data-x", x));
    // Written to the side with more room, each below the one before and off the lines to other names.
    let is_right = at > (frame.left + frame.right) / 2.0;
    let (shift, anchor) = if is_right { (-5.0, "end") } else { (5.0, "start") };
    let sides = if is_right { (at - 5.0 - width(label), at - 5.0) } else { (at + 5.0, at + 5.0 + width(label)) };
    let height = |row: usize| frame.top + 12.0 + LINE * row as f64;
    let fits = |row: &usize| height(*row) < frame.bottom && labels::is_free(frame, notes, sides, height(*row));
    let row = (row..row + ROWS_TRIED).find(fits).unwrap_or(row);
    (text(label, (at + shift, height(row)), anchor, "name halo").set("data-x", x), row)
}

fn note(frame: &Frame<'_>, curve: &Curve) -> Option<Note> {
    let &(x, y) = curve.points.last()?;
    let Names::Beside(pixels) = frame.names else { return None };
    let is_named = !curve.label.is_empty() && !curve.goes_on;
    let lines = if is_named { wrap(&curve.label, pixels) } else { Vec::new() };
    let (end, half) = ((frame.x(x), frame.y(y)), LINE * lines.len().saturating_sub(1) as f64 / 2.0);
    let note = Note { name: curve.label.clone(), class: curve.class.clone(), end, y: end.1 - half, lines };
    (!note.lines.is_empty()).then_some(note)
}
