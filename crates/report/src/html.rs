//! Pieces of a page: figures, tables, keys and the page around them.

use super::chart::Names;
use super::groups::Group;

const STYLE: &str = include_str!("style.css");

/// A picture with what it says and the numbers behind it.
pub(super) struct Figure {
    pub(super) heading: &'static str,
    /// What there is to see, in a sentence or two.
    pub(super) caption: String,
    /// Markup of the picture.
    pub(super) picture: String,
    pub(super) table: Table,
}

/// Rows of text under headers; the first column names the row.
pub(super) struct Table {
    pub(super) headers: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A whole page around `body`, which is markup; the title is text.
pub(super) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"wane\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
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

/// Names of the groups beside their colors, where charts do not have them.
pub(super) fn key(groups: &[Group<'_>], names: Names) -> String {
    key_of(groups.iter().map(|group| (group.class(), group.label.as_str())), names)
}

/// Classes and names as a key, where charts do not have the names.
pub(super) fn key_of<'a>(curves: impl Iterator<Item = (String, &'a str)>, names: Names) -> String {
    let class = match names {
        Names::Beside => return String::new(),
        Names::BesideWhenWide => "key narrow",
        Names::InKey => "key",
    };
    let names = curves.map(|(class, name)| format!("<span><i class=\"swatch {class}\"></i>{}</span>", escape(name)));
    format!("<p class=\"{class}\">{}</p>", names.collect::<String>())
}

pub(super) fn swatch(group: &Group<'_>) -> String {
    format!("<i class=\"swatch {}\"></i>", group.class())
}

/// Sentences to keep in mind; nothing where there are none.
pub(super) fn warning_box(told: &[String]) -> String {
    if told.is_empty() {
        return String::new();
    }
    let items: String = told.iter().take(20).map(|warning| format!("<li>{}</li>\n", escape(warning))).collect();
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><p>To keep in mind</p><ul>\n{items}</ul></aside>\n")
}

/// What of the runs lies outside of what was validated, and where more is told; nothing where all lies inside.
pub(super) fn beyond_box(told: &[String], more: &str) -> String {
    if told.is_empty() {
        return String::new();
    }
    format!("<p class=\"caption\">Beyond what was validated: {}; {}.</p>\n", escape(&told.join("; ")), escape(more))
}

/// A picture with its caption, and its numbers to unfold.
pub(super) fn figure(figure: &Figure) -> String {
    format!(
        "<section>\n<h2>{}</h2>\n<figure>\n<figcaption class=\"caption\">{}</figcaption>\n{}\n</figure>\n\
         <details><summary>Numbers</summary>\n{}</details>\n</section>\n",
        figure.heading,
        escape(&figure.caption),
        figure.picture,
        table(&figure.table, "numbers"),
    )
}

/// A table that scrolls by itself where it is wider than the screen.
pub(super) fn table(table: &Table, class: &str) -> String {
    let head: String = table.headers.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate().map(|(index, cell)| {
            let cell = escape(cell);
            if index == 0 { format!("<th scope=\"row\">{cell}</th>") } else { format!("<td>{cell}</td>") }
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = table.rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\">\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}
