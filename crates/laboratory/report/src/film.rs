//! The page of a film: a drive's blocks and pages, with a slider over the steps of its work.

use serde::Serialize;

use super::html::{document, escape};

const SCRIPT: &str = include_str!("film.js");

const STYLE: &str = "\
:root { --film-data: #4c78a8; --film-new: #e07b39; --film-dead: #d5d3cf; }
@media (prefers-color-scheme: dark) { :root { --film-data: #7aa6d6; --film-new: #f09a5d; --film-dead: #45423d; } }
.film { position: sticky; top: 0; padding: 8px 0 12px; background: var(--ground); }
.film input { width: 100%; }
.film button { margin-right: 8px; padding: 4px 12px; font: inherit; }
.film p { min-height: 4.6em; max-width: 84ch; margin-top: 8px; }
.key i { display: inline-block; width: 12px; height: 12px; margin: 0 6px 0 16px; vertical-align: -1px; }
";

/// A film as its page has it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FilmPage {
    /// Title of the page.
    #[serde(skip)]
    pub title: String,
    /// What is shown, in a sentence or two.
    #[serde(skip)]
    pub lead: String,
    /// The sentence before the first step.
    pub begin: String,
    /// Pages of a block.
    pub units: u32,
    /// A digit for each page at the beginning: 0 free, 1 valid, 2 invalid. Those of a block follow each other.
    pub pages: String,
    /// State (0 free, 1 open, 2 closed, 3 retired) and erases of each block at the beginning.
    pub blocks: Vec<[u32; 2]>,
    /// The steps.
    pub frames: Vec<FilmFrame>,
}

/// A step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FilmFrame {
    /// Pages that the host wrote so far.
    #[serde(rename = "w")]
    pub written: u64,
    /// Write amplification so far.
    #[serde(rename = "a")]
    pub amplification: f64,
    /// Free blocks.
    #[serde(rename = "f")]
    pub free: u32,
    /// Blocks that were collected.
    #[serde(rename = "v")]
    pub victims: Vec<u32>,
    /// What happened, in sentences.
    #[serde(rename = "t")]
    pub told: String,
    /// Pages that changed: number and digit in turns.
    #[serde(rename = "p")]
    pub pages: Vec<u32>,
    /// Blocks that changed: number, state and erases in turns.
    #[serde(rename = "b")]
    pub blocks: Vec<u32>,
}

/// The page, with all that it needs.
pub fn film(page: &FilmPage) -> String {
    // A text of the data must not end the element that holds them.
    let data = serde_json::to_string(page).unwrap_or_default().replace('<', "\\u003c");
    let (title, lead) = (escape(&page.title), escape(&page.lead));
    let body = format!(
        "<style>{STYLE}</style>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n\
         <div class=\"film\">\n<input type=\"range\" id=\"step\" min=\"0\" value=\"0\" aria-label=\"step\">\n\
         <button id=\"back\">a step back</button><button id=\"on\">a step on</button><button id=\"victim\">to the next victim</button>\n\
         <p><strong id=\"sum\"></strong><br><span id=\"told\"></span></p>\n\
         <div class=\"key\">each square is a block, each dot a page:<i style=\"background: var(--film-data)\"></i>holds data\
         <i style=\"background: var(--film-new)\"></i>written in this step<i style=\"background: var(--film-dead)\"></i>replaced; \
         a dashed frame is a free block, a thick one was collected in this step</div>\n</div>\n\
         <canvas id=\"drive\" role=\"img\" aria-label=\"The blocks of the drive and what their pages hold\"></canvas>\n\
         <script type=\"application/json\" id=\"film\">{data}</script>\n<script>\n{SCRIPT}</script>\n"
    );
    document(&page.title, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_its_data_and_no_text_ends_them_early() {
        let page = FilmPage {
            title: "</script> & co".to_owned(),
            begin: "</script><b>".to_owned(),
            units: 2,
            pages: "0012".to_owned(),
            blocks: vec![[0, 7], [2, 9]],
            frames: vec![FilmFrame { victims: vec![1], told: "block 1 </script>".to_owned(), ..FilmFrame::default() }],
            ..FilmPage::default()
        };
        let text = film(&page);
        let (_, data) = text.split_once("id=\"film\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read["begin"], "</script><b>");
        assert_eq!((read["frames"][0]["v"][0].as_u64(), read["blocks"][1][1].as_u64()), (Some(1), Some(9)));
        assert!(text.contains("<h1>&lt;/script&gt; &amp; co</h1>") && !data.contains("title"));
    }
}
