//! Checks for tests that the text of a page outside its pictures fits its width, before any browser lays it out.
//!
//! Text fits where it may break anywhere or its box scrolls, as the style sheet says; elsewhere its longest word must fit. In a table that does
//! not scroll, the longest words of all columns must fit together.

use super::html::STYLE;
use super::text::{BOLD, SIZE, width};

/// Margins of the page, its largest width, and its width below which it is laid out for a narrow screen, in pixels.
const MARGINS: f64 = 32.0;
const WIDEST: f64 = 912.0;
const NARROW: f64 = 700.0;
/// Space to the left of each cell of a table of cards, but the first.
const CELL: f64 = 12.0;
/// Elements that have no end tag.
const VOID: [&str; 4] = ["meta", "link", "br", "input"];
/// Elements without text to be laid out here.
const APART: [&str; 2] = ["svg", "script"];

/// An element that is open.
#[derive(Clone, Debug, Default)]
struct Element {
    name: String,
    classes: Vec<String>,
}

impl Element {
    fn of(tag: &str) -> Self {
        let name = tag.split([' ', '\n', '/']).next().unwrap_or_default().to_owned();
        let classes = tag.split("class=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        Self { name, classes: classes.split(' ').map(str::to_owned).collect() }
    }

    /// Whether a selector such as `p`, `.lead` or `.chart.wide` means it.
    fn is(&self, simple: &str) -> bool {
        let simple = simple.split(':').next().unwrap_or_default();
        let mut parts = simple.split('.');
        let name = parts.next().unwrap_or_default();
        (name.is_empty() || name == self.name) && parts.all(|class| self.classes.iter().any(|own| own == class))
    }
}

/// The selectors whose text may break anywhere or whose box scrolls, in a page of this width: each from the outermost element on.
fn yielding(page: f64) -> Vec<Vec<&'static str>> {
    let (common, narrow) =
        STYLE.split_once("@media screen and (max-width: 700px) {").expect("the style has one for narrow screens");
    let narrow = narrow.split("@media").next().unwrap_or_default();
    let style = [common, if page <= NARROW { narrow } else { "" }];
    let rules = style.into_iter().flat_map(|style| style.split('}')).filter_map(|rule| rule.split_once('{'));
    let yields = |body: &str| body.contains("overflow-wrap: anywhere") || body.contains("overflow-x: auto");
    let selectors = rules.filter(|(_, body)| yields(body)).flat_map(|(selectors, _)| selectors.split(','));
    selectors.map(|selector| selector.split_whitespace().filter(|part| *part != ">").collect()).collect()
}

fn means(selector: &[&str], open: &[Element]) -> bool {
    let mut parts = selector.iter().peekable();
    for element in open {
        if parts.peek().is_some_and(|simple| element.is(simple)) {
            parts.next();
        }
    }
    parts.peek().is_none()
}

/// Pixels that a box has for its text, and the size of its letters.
fn room(open: &[Element], page: f64) -> (f64, f64) {
    let whole = page.min(WIDEST) - MARGINS;
    let within = |simple: &str| open.iter().any(|element| element.is(simple));
    let letters = match () {
        () if within(".tiles") && within("dd") && !within("small") => {
            if page <= NARROW {
                21.6
            } else {
                25.6
            }
        }
        () if within("h1") => 32.0,
        () if within("h2") => 19.2,
        () => 17.0,
    };
    let bold = if within("h1") || within("h2") || within("dd") || within("th") || within("b") { BOLD } else { 1.0 };
    let columns = match () {
        () if within(".tiles") => {
            if page <= NARROW {
                2.0
            } else {
                4.0
            }
        }
        () => 1.0,
    };
    let padding = if within(".tiles") { 28.0 } else { 0.0 };
    (whole / columns - padding, letters * bold)
}

/// The longest word of a text, in pixels at [`SIZE`]. A space that may not break is a letter.
fn longest(text: &str) -> (f64, &str) {
    let words = text.split([' ', '\n']).map(|word| (width(word), word));
    words.max_by(|left, right| left.0.total_cmp(&right.0)).unwrap_or_default()
}

/// What does not fit on a page that is `page` pixels wide; one sentence for each.
pub(super) fn faults(markup: &str, page: f64) -> Vec<String> {
    let selectors = yielding(page);
    let (mut open, mut faults): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    // Of the table that is read, the longest word of each column, and the column.
    let (mut columns, mut column): (Vec<f64>, usize) = (Vec::new(), 0);
    let body = markup.split_once("<body>").map_or(markup, |(_, body)| body);
    let mut rest = body.split("<script>").next().unwrap_or_default();
    while let Some((text, tail)) = rest.split_once('<') {
        let (tag, tail) = tail.split_once('>').expect("each element ends");
        rest = tail;
        let text = text
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let is_apart = open.iter().any(|element| APART.contains(&element.name.as_str()));
        let yields = selectors.iter().any(|selector| means(selector, &open));
        if !is_apart && !yields && !text.trim().is_empty() {
            let (word, letters) = (longest(&text), room(&open, page));
            let pixels = word.0 * letters.1 / SIZE;
            if pixels > letters.0 {
                faults.push(format!("\"{}\" is {pixels:.0} pixels wide, there are {:.0}", word.1, letters.0));
            }
            if let Some(of_column) = columns.get_mut(column) {
                *of_column = of_column
                    .max(word.0 * 14.0 / SIZE * if open.iter().any(|element| element.is("th")) { BOLD } else { 1.0 });
            }
        }
        match tag.strip_prefix('/') {
            Some("table") => {
                let needed = columns.iter().sum::<f64>() + CELL * columns.len().saturating_sub(1) as f64;
                if needed > page.min(WIDEST) - MARGINS {
                    faults.push(format!("a table of {} columns is {needed:.0} pixels wide", columns.len()));
                }
                columns.clear();
                open.pop();
            }
            Some(name) => {
                column += usize::from(matches!(name, "th" | "td"));
                let closed = open.pop();
                assert!(closed.is_some_and(|closed| closed.name == name), "</{name}> ends another element");
            }
            None if tag.starts_with('!') || tag.ends_with('/') => {}
            None => {
                let element = Element::of(tag);
                match element.name.as_str() {
                    "tr" => column = 0,
                    "th" | "td" if columns.len() == column => columns.push(0.0),
                    _ => {}
                }
                if !VOID.contains(&element.name.as_str()) {
                    open.push(element);
                }
            }
        }
    }
    faults
}
