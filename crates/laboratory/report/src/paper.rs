//! Pictures as files for a paper: SVG, PDF or PNG at the width of a column and of a page, with their values as CSV.
//!
//! A file needs nothing of its reader: colors are resolved, and text is drawn in Noto Sans, as outlines in SVG and embedded
//! in PDF. Writing the files is left to the caller.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use svg::Document;
use svg::Node;
use svg::node::element::SVG;
use usvg::fontdb::Database;

use super::chart::Size;
use super::html::Figure;
use super::palette::{PAPER, Theme, dashes};
use super::picture::Drawing;

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable, text as outlines.
    Svg,
    /// Scalable, fonts embedded.
    Pdf,
    /// Dots, 600 an inch.
    Png,
}

impl Format {
    /// The end of a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureFile {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// A column of a paper in two columns, and both of them, in millimeters: what ACM, IEEE, USENIX and Elsevier print, within 2 mm.
const WIDTHS: [(Size, f64); 2] = [(Size::Column, 85.0), (Size::Across, 178.0)];
/// Publishers ask for 600 dots an inch of line art with shades.
const DOTS_PER_INCH: f64 = 600.0;
const MILLIMETERS_PER_INCH: f64 = 25.4;
/// Pixels of CSS, in which SVG measures.
const PIXELS_PER_INCH: f64 = 96.0;

/// Is among the first or last bytes of every picture, so that wane recognizes its own.
const DRAWN_BY: &str = "drawn by wane";

/// The font of files.
pub(super) static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    fonts.load_font_data(notosans::BOLD_TTF.to_vec());
    Arc::new(fonts)
});

/// The files of some figures: each picture in both widths, and the values behind it.
pub(super) fn files(figures: &[Figure], format: Format) -> Vec<FigureFile> {
    figures.iter().flat_map(|figure| of_figure(figure, format)).collect()
}

fn of_figure(figure: &Figure, format: Format) -> Vec<FigureFile> {
    let of = |drawing: &Drawing| {
        let widths = if drawing.is_wide() { &WIDTHS[1..] } else { &WIDTHS[..] };
        let pictures = widths.iter().map(|(size, width)| file(drawing.id(), *width, &drawing.draw(*size), format));
        pictures.chain([table(drawing.id(), &drawing.rows())]).collect::<Vec<_>>()
    };
    figure.drawings.iter().flat_map(of).collect()
}

fn table(id: &str, rows: &[Vec<String>]) -> FigureFile {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.iter().map(|text| wane_units::cell(text).into_owned()))
            .expect("writing to memory succeeds, and rows may differ in length");
    }
    FigureFile { name: format!("{id}.csv"), bytes: writer.into_inner().expect("writing to memory succeeds") }
}

fn file(id: &str, millimeters: f64, picture: &SVG, format: Format) -> FigureFile {
    let tree = tree(&standalone(picture, &PAPER, millimeters), &FONTS);
    let bytes = match format {
        Format::Svg => outlined(&tree, millimeters).into_bytes(),
        Format::Pdf => {
            let options = svg2pdf::ConversionOptions::default();
            let page = svg2pdf::PageOptions { dpi: PIXELS_PER_INCH as f32 };
            let mut bytes =
                svg2pdf::to_pdf(&tree, options, page).expect("a picture of lines and text is one that PDF can hold");
            // A comment behind the end changes no place that the file points to.
            bytes.extend(format!("\n% {DRAWN_BY}\n").bytes());
            bytes
        }
        Format::Png => rendered(&tree),
    };
    FigureFile { name: format!("{id}-{millimeters}mm.{}", format.extension()), bytes }
}

/// A picture with its colors and its size in it.
pub(super) fn standalone(picture: &SVG, theme: &Theme, millimeters: f64) -> String {
    let box_of = |picture: &SVG| {
        let attributes = picture.get_attributes();
        let size = attributes.and_then(|all| all.get("viewBox")).map(ToString::to_string).unwrap_or_default();
        let mut sides = size.split(' ').skip(2).filter_map(|side| side.parse::<f64>().ok());
        (sides.next().unwrap_or(1.0), sides.next().unwrap_or(1.0))
    };
    let (width, height) = box_of(picture);
    let rules = theme.resolved(include_str!("marks.css")) + &dashes();
    let style = format!("text {{ font-family: 'Noto Sans', sans-serif; font-size: 12px; }}\n{rules}");
    let mut document: Document = picture.clone();
    document = document.set("width", format!("{millimeters}mm"));
    document = document.set("height", format!("{:.3}mm", millimeters * height / width));
    let text = document.add(svg::node::element::Style::new(style)).to_string();
    // A style counts wherever it stands.
    text.replace("role=\"img\" ", "")
}

/// A picture as what it draws, in a font.
pub(super) fn tree(picture: &str, fonts: &Arc<Database>) -> usvg::Tree {
    let options = usvg::Options { fontdb: Arc::clone(fonts), dpi: PIXELS_PER_INCH as f32, ..Default::default() };
    usvg::Tree::from_str(picture, &options).expect("what the svg crate wrote is SVG")
}

/// SVG without text and styles, of a size in millimeters.
fn outlined(tree: &usvg::Tree, millimeters: f64) -> String {
    let written = tree.to_string(&usvg::WriteOptions { coordinates_precision: 3, ..Default::default() });
    let size = tree.size();
    let height = millimeters * f64::from(size.height()) / f64::from(size.width());
    let (width, height) = (format!("width=\"{millimeters}mm\""), format!("height=\"{height:.3}mm\""));
    let plain = |name: &str| {
        let start = written.find(&format!("{name}=\"")).unwrap_or(0);
        let end = written[start..].match_indices('"').nth(1).map_or(start, |(end, _)| start + end + 1);
        &written[start..end]
    };
    let sides = format!("{width} {height} viewBox=\"0 0 {} {}\"", size.width(), size.height());
    let (old_width, old_height) = (plain("width"), plain("height"));
    let sized = written.replacen(old_height, "", 1).replacen(old_width, &sides, 1);
    format!("<!-- {DRAWN_BY} -->\n{sized}")
}

/// Dots on white, with their size in print and who drew them.
fn rendered(tree: &usvg::Tree) -> Vec<u8> {
    let scale = (DOTS_PER_INCH / PIXELS_PER_INCH) as f32;
    let size = tree.size();
    let (width, height) = ((size.width() * scale).round() as u32, (size.height() * scale).round() as u32);
    let mut pixels = Pixmap::new(width.max(1), height.max(1)).expect("a page is not too large");
    pixels.fill(Color::WHITE);
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    // White lies under everything, so that nothing is left to see through.
    let mut colors = Vec::with_capacity(pixels.data().len() / 4 * 3);
    pixels.data().chunks_exact(4).for_each(|dot| colors.extend_from_slice(&dot[..3]));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    let dots = (DOTS_PER_INCH * 1000.0 / MILLIMETERS_PER_INCH).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: dots, yppu: dots, unit: png::Unit::Meter }));
    encoder
        .add_text_chunk("Software".to_owned(), DRAWN_BY.to_owned())
        .and_then(|()| encoder.write_header()?.write_image_data(&colors))
        .expect("encoding into memory succeeds");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::all_pictures;
    use wane_results::test_runs::{test_run, timed};

    fn of(format: Format) -> Vec<FigureFile> {
        files(&all_pictures(&[timed(test_run(1), 5)]), format)
    }

    #[test]
    fn every_picture_has_both_widths_and_its_values() {
        let names: Vec<String> = of(Format::Svg).into_iter().map(|file| file.name).collect();
        for id in ["wear", "amplification", "read-life-0", "map-0"] {
            for end in ["-85mm.svg", "-178mm.svg", ".csv"] {
                assert!(names.contains(&format!("{id}{end}")), "{id}{end}: {names:?}");
            }
        }
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len(), "no file overwrites another");
    }

    #[test]
    fn drawings_are_outlined_and_as_wide_as_a_column() {
        for file in of(Format::Svg).iter().filter(|file| file.name.ends_with("-85mm.svg")) {
            let text = String::from_utf8(file.bytes.clone()).unwrap();
            for outside in ["<text", "<style", "var(", "class=", "href", "font"] {
                assert!(!text.contains(outside), "{}: {outside}", file.name);
            }
            let tree = tree(&text, &FONTS);
            assert!((tree.size().width() - 321.26).abs() < 0.1, "{}: {}", file.name, tree.size().width());
        }
    }

    #[test]
    fn pages_embed_their_font_and_are_as_wide_as_a_column() {
        let file = of(Format::Pdf).into_iter().find(|file| file.name == "wear-85mm.pdf").unwrap();
        let text = String::from_utf8_lossy(&file.bytes);
        assert!(text.starts_with("%PDF-1.") && text.trim_end().ends_with(DRAWN_BY));
        assert!(text.contains("NotoSans") && text.contains("/FontFile"), "a font is embedded");
        let side = text.split("/MediaBox [0 0 ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!((side.parse::<f64>().unwrap() - 240.94).abs() < 0.1, "{side} points are not 85 mm");
    }

    #[test]
    fn dots_know_their_size() {
        // Other pictures would only be drawn in vain.
        let mut figures = all_pictures(&[timed(test_run(1), 5)]);
        figures.retain(|figure| figure.drawings.iter().any(|drawing| drawing.id() == "wear"));
        let file = files(&figures, Format::Png).into_iter().find(|file| file.name == "wear-85mm.png").unwrap();
        let reader = png::Decoder::new(file.bytes.as_slice()).read_info().unwrap();
        assert_eq!((reader.info().width, reader.info().pixel_dims.unwrap().xppu), (2008, 23_622));
    }
}
