//! Pieces of a page: figures, tables, keys and the page around them.

use super::groups::Group;
use super::palette;
use super::picture::{Arrangement, Drawing, Values, markup};

pub(super) const STYLE: &str = include_str!("style.css");
const MARKS: &str = include_str!("marks.css");
const SCRIPT: &str = include_str!("script.js");

/// Most columns of a table: more are left to the files of values.
const COLUMNS_MAX: usize = 24;

/// Pictures with what they say and the numbers behind them.
pub(super) struct Figure {
    pub(super) heading: String,
    /// What there is to see, in a sentence or two.
    pub(super) caption: String,
    pub(super) drawings: Vec<Drawing>,
    pub(super) arrangement: Arrangement,
    pub(super) table: Table,
}

/// Rows of text under headers; the first column names the row.
pub(super) struct Table {
    pub(super) headers: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A whole page around `body`, which is markup; the title is text.
pub fn document(title: &str, body: &str) -> String {
    let colors = palette::style();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"wane\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{colors}{MARKS}{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(super) fn swatch(group: &Group<'_>) -> String {
    format!("<i class=\"swatch {}\"></i>", group.class())
}

/// A box with sentences to keep in mind; empty if there are none.
pub(super) fn warning_box(told: &[String]) -> String {
    if told.is_empty() {
        return String::new();
    }
    let items: String = told.iter().take(20).map(|warning| format!("<li>{}</li>\n", escape(warning))).collect();
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><p>To keep in mind</p><ul>\n{items}</ul></aside>\n")
}

/// Note on what of the runs lies outside of what was validated, and where to read more; empty if all lies inside.
pub(super) fn beyond_box(told: &[String], more: &str) -> String {
    if told.is_empty() {
        return String::new();
    }
    format!("<p class=\"caption\">Beyond what was validated: {}; {}.</p>\n", escape(&told.join("; ")), escape(more))
}

/// Pictures with their caption, and their numbers to unfold.
pub(super) fn figure(figure: &Figure, values: Values) -> String {
    // The headline is above the first picture of a comparison.
    let heading = match figure.heading.as_str() {
        "" => String::new(),
        heading => format!("<h2>{}</h2>\n", escape(heading)),
    };
    let (caption, numbers) = (escape(&figure.caption), table(&figure.table, "numbers"));
    let drawn = match &figure.drawings[..] {
        [] => format!("<p class=\"caption\">{caption}</p>"),
        drawings => format!(
            "<figure>\n{}\n<figcaption class=\"caption\">{caption}</figcaption>\n</figure>",
            markup(drawings, figure.arrangement, values)
        ),
    };
    format!("<section>\n{heading}{drawn}\n<details><summary>Numbers</summary>\n{numbers}</details>\n</section>\n")
}

/// The picture that answers, below the headline.
pub(super) fn hero(answer: &Figure, values: Values) -> String {
    figure(answer, values).replacen("<section>", "<section class=\"hero\">", 1)
}

/// A table that scrolls by itself where it is wider than the screen.
pub(super) fn table(table: &Table, class: &str) -> String {
    let columns = table.headers.len();
    debug_assert!(table.rows.iter().all(|row| row.len() == columns), "a row has a cell for each of {columns} headers");
    let head: String =
        table.headers.iter().take(COLUMNS_MAX).map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().take(COLUMNS_MAX).enumerate().map(|(index, cell)| {
            let cell = escape(cell);
            if index == 0 { format!("<th scope=\"row\">{cell}</th>") } else { format!("<td>{cell}</td>") }
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = table.rows.iter().map(row).collect();
    let left = if columns > COLUMNS_MAX {
        format!("<p class=\"caption\">{COLUMNS_MAX} of {columns} columns; wane report --figures writes all.</p>\n")
    } else {
        String::new()
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\">\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n{left}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selectors and bodies of the rules in a piece of a style sheet.
    fn rules(style: &str) -> Vec<(&str, &str)> {
        style.split('}').filter_map(|rule| rule.split_once('{')).map(|(one, body)| (one.trim(), body)).collect()
    }

    #[test]
    fn a_printed_page_has_no_tint_and_no_page_that_a_section_left_half_empty() {
        let (screen, print) = STYLE.split_once("@media print {").expect("the style has one for print");
        let print = rules(print);
        let of = |selector: &str| -> String {
            let means = |rule: &&(&str, &str)| rule.0.split(", ").any(|one| one == selector);
            print.iter().filter(means).map(|rule| rule.1).collect()
        };
        for (selectors, body) in rules(screen).into_iter().filter(|rule| rule.1.contains("background: var(--r")) {
            for selector in selectors.split(", ") {
                let is_hidden = of(selector.split(' ').next().unwrap_or_default()).contains("display: none");
                assert!(is_hidden || of(selector).contains("background: none"), "{selector} {{{body}}} has a tint");
            }
        }
        let ground = palette::style().split("@media print").nth(1).map(|rest| rest.contains("--ground: #ffffff"));
        assert_eq!(ground, Some(true), "paper is white");
        for whole in ["section", "figure", "details", "table"] {
            assert!(!of(whole).contains("break"), "{whole} moves as a whole and leaves its page half empty");
        }
        assert!(of("h2").contains("break-after: avoid") && of(".drawing").contains("break-inside: avoid"));
        assert!(of("figcaption").contains("break-before: avoid"));
        // A sheet of A4 is about 700 pixels wide.
        assert!(!screen.contains("@media (max-width"), "paper gets the layout of narrow screens");
    }
}
