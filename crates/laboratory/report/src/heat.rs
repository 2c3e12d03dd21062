//! A field of cells for two keys, each colored by its value, which is written in it.

use svg::Node;
use svg::node::element::{Path, SVG, Title};

use super::chart::{Size, described, short, text};
use super::labels::{self, LINE};
use super::palette::STEPS;
use super::picture::in_unit;
use super::series::assigned_to;
use super::text::{BOLD, width, wrap};

/// A value, its text, and the interval of its mean.
pub(super) type HeatCell = (f64, String, Option<(f64, f64)>);

/// A measure over two keys.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    /// Unique on the page.
    pub(super) id: String,
    /// What is measured, in a few words.
    pub(super) measure: String,
    /// Unit of the values; empty if the measure names it.
    pub(super) unit: &'static str,
    /// Read out by screen readers.
    pub(super) description: String,
    /// Name and values of the key from left to right.
    pub(super) columns: (String, Vec<String>),
    /// Name and values of the key from top to bottom.
    pub(super) rows: (String, Vec<String>),
    /// Value, text and interval of each cell, row by row; `None` where nothing was run.
    pub(super) cells: Vec<Option<HeatCell>>,
    /// The cells that are best: several where they tie.
    pub(super) best: Vec<usize>,
}

const TOP: f64 = 46.0;
const BOTTOM: f64 = 42.0;
const SWATCH: f64 = 14.0;
/// Least height of a cell.
const HIGH: f64 = 32.0;

impl Heat {
    /// The least and the greatest value.
    fn ends(&self) -> (f64, f64) {
        let values = || self.cells.iter().flatten().map(|cell| cell.0);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Values that span more than a decade are shaded by ratio.
    fn shade(&self, value: f64, (low, high): (f64, f64)) -> usize {
        let share = if low > 0.0 && high / low > 10.0 {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low).max(1e-300)
        };
        ((share * STEPS as f64) as usize).min(STEPS - 1)
    }

    pub(super) fn draw(&self, size: Size) -> SVG {
        let whole = size.pixels().0;
        let ((column_name, columns), (row_name, rows)) = (&self.columns, &self.rows);
        let names = rows.iter().map(|name| width(name)).fold(0.0, f64::max).min(0.3 * whole);
        let left = names + 10.0;
        let row_names: Vec<Vec<String>> = rows.iter().map(|name| wrap(name, names)).collect();
        let most = row_names.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let (wide, high) = ((whole - left) / columns.len() as f64, HIGH.max(LINE * most + 4.0));
        let (column_names, below) = self.column_names(wide);
        let (measure, above) = self.measure_lines(whole);
        let top = TOP + above;
        let bottom = top + high * rows.len() as f64;
        let height = bottom + BOTTOM + below;
        let id = format!("{}-{}", self.id, size.class());
        let mut picture = described(&id, size.class(), (whole, height), &self.measure, &self.description);
        picture.append(text(row_name, (0.0, top - 8.0), "start", "name"));
        self.legend(&mut picture, &measure, whole);
        for (row, lines) in row_names.iter().enumerate() {
            let middle = top + high * (row as f64 + 0.5) - LINE * lines.len().saturating_sub(1) as f64 / 2.0;
            labels::lines(&mut picture, lines, (names, middle + 4.0), "end", "tick");
        }
        for (column, lines) in &column_names {
            // The last one may be wider than its column.
            let half = lines.iter().map(|line| width(line)).fold(0.0, f64::max) / 2.0;
            let at = (left + wide * (*column as f64 + 0.5)).min(whole - half);
            labels::lines(&mut picture, lines, (at, bottom + 18.0), "middle", "tick");
        }
        picture.append(text(column_name, (whole, bottom + 36.0 + below), "end", "name"));
        debug_assert_eq!(self.cells.len(), rows.len() * columns.len(), "there is a cell for each row and column");
        let ends = self.ends();
        for (index, cell) in self.cells.iter().enumerate() {
            let Some((value, told, _)) = cell else { continue };
            let (row, column) = (index / columns.len(), index % columns.len());
            let (x, y) = (left + wide * column as f64, top + high * row as f64);
            let shade = self.shade(*value, ends);
            let data = format!(
                "M{} {}h{}v{}h{}Z",
                short(x),
                short(y),
                short(wide - 1.0),
                short(high - 1.0),
                short(1.0 - wide)
            );
            let [of_row, of_column] = [assigned_to(row_name, &rows[row]), assigned_to(column_name, &columns[column])];
            let title = Title::new(format!("{of_row}, {of_column}: {told}"));
            let drawn = Path::new().set("d", data.clone()).set("class", format!("fill w{shade}"));
            picture.append(drawn.add(title));
            if self.best.contains(&index) {
                picture.append(Path::new().set("d", data).set("class", "best"));
            }
            if width(told) <= wide - 6.0 {
                let class = if shade < STEPS / 2 { "value" } else { "inverse" };
                picture.append(text(told, (x + wide / 2.0, y + high / 2.0 + 4.0), "middle", class));
            }
        }
        picture
    }

    /// The columns whose names are written, with the lines of each, and the pixels that these need beyond one line. Of numbers that do not fit side by
    /// side some are left out, as their neighbors tell them; words are broken.
    fn column_names(&self, wide: f64) -> (Vec<(usize, Vec<String>)>, f64) {
        let columns = &self.columns.1;
        let widest = columns.iter().map(|name| width(name)).fold(0.0, f64::max);
        let numbers = columns.iter().all(|name| name.starts_with(|letter: char| letter.is_ascii_digit()));
        let fits = widest + 4.0 <= wide || !numbers;
        let every = if fits { 1 } else { ((widest + 8.0) / wide).ceil().max(1.0) as usize };
        let named = columns.iter().enumerate().step_by(every);
        let named: Vec<(usize, Vec<String>)> =
            named.map(|(column, name)| (column, wrap(name, wide * every as f64 - 4.0))).collect();
        let most = named.iter().map(|(_, lines)| lines.len()).max().unwrap_or(1);
        (named, LINE * most.saturating_sub(1) as f64)
    }

    /// The texts of the least and of the greatest value.
    fn told(&self) -> [&str; 2] {
        let told = |wanted: fn(f64, f64) -> bool| {
            let cells = self.cells.iter().flatten();
            cells.reduce(|best, cell| if wanted(cell.0, best.0) { cell } else { best }).map_or("", |cell| &cell.1)
        };
        [told(|cell, best| cell < best), told(|cell, best| cell > best)]
    }

    /// What is measured, in lines beside the shades, and the pixels that these need beyond one line.
    fn measure_lines(&self, whole: f64) -> (Vec<String>, f64) {
        let [low, high] = self.told();
        let shades = SWATCH * STEPS as f64;
        let lines = wrap(&self.measure, (whole - width(high) - 6.0 - shades - width(low) - 24.0) / BOLD);
        let more = LINE * lines.len().saturating_sub(1) as f64;
        (lines, more)
    }

    /// What is measured, and the shades between the least and the greatest value.
    fn legend(&self, picture: &mut SVG, measure: &[String], whole: f64) {
        let [low, high] = self.told();
        let left = whole - width(high) - 6.0 - SWATCH * STEPS as f64;
        labels::lines(picture, measure, (0.0, 13.0), "start", "head");
        picture.append(text(low, (left - 6.0, 13.0), "end", "tick"));
        for shade in 0..STEPS {
            let data = format!("M{} 3h{SWATCH}v11h-{SWATCH}Z", short(left + SWATCH * shade as f64));
            picture.append(Path::new().set("d", data).set("class", format!("fill w{shade}")));
        }
        picture.append(text(high, (whole, 13.0), "end", "tick"));
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let columns = self.columns.1.len();
        let measure = in_unit(&self.measure, self.unit);
        let header = [&self.rows.0, &self.columns.0, &measure, "low", "high"].map(str::to_owned).to_vec();
        let row = |(index, cell): (usize, &Option<HeatCell>)| {
            let written = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let (value, interval) = (cell.as_ref().map(|cell| cell.0), cell.as_ref().and_then(|cell| cell.2));
            let (row, column) = (self.rows.1[index / columns].clone(), self.columns.1[index % columns].clone());
            let ends = [interval.map(|ends| ends.0), interval.map(|ends| ends.1)].map(written);
            [row, column, written(value)].into_iter().chain(ends).collect()
        };
        std::iter::once(header).chain(self.cells.iter().enumerate().map(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::{Font, faults};

    #[test]
    fn numbers_of_many_columns_are_left_out_and_never_cut() {
        let values: Vec<String> = (2..=20).map(|share| format!("{} %", 2 * share)).collect();
        let heat = Heat {
            id: "field".to_owned(),
            measure: "write amplification".to_owned(),
            description: String::new(),
            columns: ("over-provisioning".to_owned(), values),
            rows: ("policy".to_owned(), vec!["greedy".to_owned(), "d-choices, d = 8".to_owned()]),
            unit: "",
            cells: vec![Some((1.0, "1.00".to_owned(), None)); 38],
            best: vec![0],
        };
        for (size, font) in [(Size::Column, Font::Noto), (Size::Across, Font::Noto), (Size::Wide, Font::DejaVu)] {
            let picture = heat.draw(size);
            assert!(!picture.to_string().contains('\u{2026}'), "{size:?}: a number is cut");
            let shown = [size.pixels().0];
            assert_eq!(faults(&picture, &shown, font), Vec::<String>::new(), "{size:?}");
        }
    }
}
