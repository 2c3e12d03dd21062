//! Where text stands in pictures and whether it is cut, clipped or lies over other text: for tests.

use std::sync::{Arc, LazyLock};

use svg::node::element::{SVG, Style, Text};
use usvg::fontdb::Database;
use usvg::{Node, Rect};

use super::paper::{FONTS, tree};

/// A font that text is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Font {
    /// The widest that browsers use.
    DejaVu,
    /// The font of files.
    Noto,
}

static DEJAVU: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    Arc::new(fonts)
});

/// Pixels by which text may be clipped or overlap other text: letters are smaller than their boxes.
const SLACK: (f64, f64) = (1.0, 4.0);

struct Found {
    text: String,
    place: Rect,
}

/// Width of a text of 12 pixels.
pub(super) fn of_text(text: &str, font: Font) -> f64 {
    let picture = SVG::new().set("viewBox", "0 0 1000 30").add(Text::new(text).set("x", 0).set("y", 20));
    found(&picture, font).first().map_or(0.0, |found| f64::from(found.place.width()))
}

/// The texts of a picture in its own size. Only they are laid out, by the rules for fonts alone: everything else would take most of the time.
fn found(picture: &SVG, font: Font) -> Vec<Found> {
    let (fonts, family) = match font {
        Font::DejaVu => (&*DEJAVU, "DejaVu Sans"),
        Font::Noto => (&*FONTS, "Noto Sans"),
    };
    let of_fonts = include_str!("marks.css").lines().filter(|rule| rule.contains("font"));
    let style = format!("text {{ font-family: '{family}'; font-size: 12px; }}\n{}", of_fonts.collect::<String>());
    let whole = picture.clone().add(Style::new(style)).to_string();
    let is_text = |line: &&str| !(line.starts_with("<path") && line.ends_with("/>"));
    let texts: Vec<&str> = whole.lines().filter(is_text).collect();
    let tree = tree(&texts.join("\n"), fonts);
    let mut all = Vec::new();
    gather(tree.root(), &mut all);
    all
}

fn gather(group: &usvg::Group, all: &mut Vec<Found>) {
    for node in group.children() {
        match node {
            Node::Group(group) => gather(group, all),
            Node::Text(text) => {
                let content: String = text.chunks().iter().map(|chunk| chunk.text()).collect();
                all.push(Found { text: content, place: text.abs_bounding_box() });
            }
            _ => {}
        }
    }
}

/// Faults in the text of a picture shown in these widths, in pixels; one sentence for each.
pub(super) fn faults(picture: &SVG, shown: &[f64], font: Font) -> Vec<String> {
    let view = picture.get_attributes().get("viewBox").map(ToString::to_string).unwrap_or_default();
    let sides: Vec<f64> = view.split(' ').filter_map(|side| side.parse().ok()).collect();
    // Laid out once: a picture is scaled with its text.
    let all = found(picture, font);
    shown.iter().flat_map(|pixels| faults_of(&all, (sides[2], sides[3]), pixels / sides[2])).collect()
}

fn faults_of(all: &[Found], (width, height): (f64, f64), scale: f64) -> Vec<String> {
    let mut faults = Vec::new();
    let sides =
        |place: &Rect| [place.left(), place.right(), place.top(), place.bottom()].map(|side| f64::from(side) * scale);
    let (width, height) = (width * scale, height * scale);
    for (index, one) in all.iter().enumerate() {
        let [left, right, top, bottom] = sides(&one.place);
        if one.text.contains('\u{2026}') {
            faults.push(format!("\"{}\" hides its end", one.text));
        }
        if left < -SLACK.0 || right > width + SLACK.0 || top < -SLACK.1 || bottom > height + SLACK.1 {
            let place = format!("{left:.1} to {right:.1}, {top:.1} to {bottom:.1}");
            faults.push(format!("\"{}\" is clipped: {place} in {width:.1} x {height:.1}", one.text));
        }
        for other in &all[..index] {
            let [other_left, other_right, other_top, other_bottom] = sides(&other.place);
            let across = right.min(other_right) - left.max(other_left);
            let down = bottom.min(other_bottom) - top.max(other_top);
            if across > SLACK.0 && down > SLACK.1 * scale {
                faults.push(format!("\"{}\" and \"{}\" overlap by {across:.1} x {down:.1}", one.text, other.text));
            }
        }
    }
    faults
}
