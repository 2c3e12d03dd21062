//! The map of blocks, colored by wear. Cells follow the block ids, die by die.

use std::ops::Range;

use svg::Node;
use svg::node::element::{Group as Together, Path, SVG};

use super::chart::{Size, described, short as pixel, text};
use super::groups::Group;
use super::html::{Figure, Table};
use super::labels::{self, LINE};
use super::numbers::{count, counted, short};
use super::palette::STEPS as SHADES;
use super::picture::{Arrangement, Drawing};
use super::text::{BOLD, width as wide, wrap};
use wane_results::{BlockRow, BlockState};

/// Most cells of one map, and of all maps of a page.
const CELLS_MAX: usize = 4096;
const CELLS_OF_PAGE: usize = 6 * CELLS_MAX;
/// Most maps of a page.
const MAPS_MAX: usize = 12;
/// Drives with more dies are drawn as one field.
const DIES_MAX: u32 = 32;

/// Several blocks in one square.
#[derive(Clone, Copy, Debug)]
struct Cell {
    erase_count: f64,
    /// At least half of its blocks.
    retired: bool,
}

/// A range of erase counts as shades.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Covers all blocks, and at least a fifth of the highest erase count, so that even wear looks even.
    fn of(groups: &[Group<'_>]) -> Option<Self> {
        let counts = || groups.iter().flat_map(|group| &group.first().blocks).map(|block| f64::from(block.erase_count));
        let high = counts().reduce(f64::max)?;
        let low = counts().fold(high, f64::min);
        Some(Self { low: low.min(0.8 * high).floor(), high: high.max(1.0) })
    }

    fn shade(&self, value: f64) -> usize {
        (((value - self.low) / (self.high - self.low) * SHADES as f64) as usize).min(SHADES - 1)
    }
}

/// The map of a drive.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// Unique on the page.
    pub(super) id: String,
    /// Stands above it: the run.
    heading: String,
    blocks: usize,
    scale: Scale,
    fields: Vec<(u32, Vec<Cell>)>,
}

/// The maps of all groups; `None` without blocks. A page that would grow too large asks for coarser ones.
pub(super) fn maps(groups: &[Group<'_>], coarseness: usize) -> Option<Figure> {
    let shown = &groups[..groups.len().min(MAPS_MAX)];
    let scale = Scale::of(shown)?;
    let limit = (CELLS_OF_PAGE / shown.len()).min(CELLS_MAX) / coarseness;
    let alone = shown.len() == 1;
    let map = |group: &Group<'_>| {
        let blocks = &group.first().blocks;
        Drawing::Map(Map {
            id: format!("map-{}", group.index),
            heading: if alone { String::new() } else { group.label.clone() },
            blocks: blocks.len(),
            scale,
            fields: fields(blocks, blocks.len().div_ceil(limit)),
        })
    };
    let drawings = shown.iter().filter(|group| !group.first().blocks.is_empty()).map(map).collect();
    let per_cell = shown.iter().map(|group| group.first().blocks.len().div_ceil(limit)).max().unwrap_or(1);
    let mut caption = if per_cell > 1 {
        format!("Each square is up to {per_cell} blocks with consecutive ids, colored by their mean erase count.")
    } else {
        "Each square is a block, in order of id, colored by its erase count.".to_owned()
    };
    if shown.iter().any(|group| group.first().blocks.iter().any(|block| block.state == BlockState::Retired)) {
        caption.push_str(" A hole marks a retired block.");
    }
    if shown.iter().any(|group| group.runs.len() > 1) {
        caption.push_str(" Of several seeds the first is shown.");
    }
    if shown.len() < groups.len() {
        caption.push_str(&format!(" Only the first {MAPS_MAX} of {} runs are shown.", groups.len()));
    }
    let arrangement = if alone { Arrangement::Whole } else { Arrangement::Pair };
    let table = table(shown);
    Some(Figure { heading: "Blocks by wear".to_owned(), caption, drawings, arrangement, table })
}

const HEAD: f64 = 24.0;
const SWATCH: f64 = 14.0;

impl Map {
    pub(super) fn draw(&self, size: Size) -> SVG {
        let width = size.pixels().0;
        let labeled = self.fields.len() > 1;
        let left = if labeled { 48.0 } else { 0.0 };
        let most = if width > 600.0 { 128 } else { 64 };
        let cells: usize = self.fields.iter().map(|(_, cells)| cells.len()).sum();
        let widest = self.fields.iter().map(|(_, cells)| cells.len()).max().unwrap_or(1);
        // Few cells make a low picture of squares that can still be told apart.
        let columns = ((cells as f64 * 4.0).sqrt().ceil() as usize).clamp(16, most).min(widest.max(16));
        let side = (width - left) / columns as f64;
        let rows = |cells: &[Cell]| cells.len().div_ceil(columns) as f64;
        // A die is as high as its name.
        let high = |cells: &[Cell]| if labeled { (rows(cells) * side).max(LINE) } else { rows(cells) * side };
        let gap = if labeled { (side * 0.7).max(4.0) } else { 0.0 };
        let heading = self.heading_lines(width);
        let head = HEAD + LINE * heading.len().saturating_sub(1) as f64;
        let height = head + self.fields.iter().map(|(_, cells)| high(cells) + gap).sum::<f64>() - gap;
        let description = format!("{} blocks, {columns} squares a row, colored by wear.", self.blocks);
        let id = format!("{}-{}", self.id, size.class());
        let mut picture = described(&id, size.class(), (width, height), "Blocks by wear", &description);
        self.legend(&mut picture, &heading, width);
        let mut top = head;
        for (die, cells) in &self.fields {
            if labeled {
                let middle = top + high(cells).min(3.0 * LINE) / 2.0 + 4.0;
                picture.append(text(&format!("die {die}"), (0.0, middle), "start", "tick"));
            }
            let place = format!("translate({} {}) scale({side:.4})", pixel(left), pixel(top));
            picture.append(field(cells, columns, &self.scale).set("transform", place));
            top += high(cells) + gap;
        }
        picture
    }

    /// The ends of the scale, and where its shades begin.
    fn scale_at(&self, whole: f64) -> (String, String, f64) {
        let (low, high) = (counted(self.scale.low), format!("{} erases", counted(self.scale.high)));
        let left = whole - wide(&high) - 6.0 - SWATCH * SHADES as f64;
        (low, high, left)
    }

    /// The run, in lines beside the scale.
    fn heading_lines(&self, whole: f64) -> Vec<String> {
        let (low, _, left) = self.scale_at(whole);
        wrap(&self.heading, (left - wide(&low) - 24.0) / BOLD)
    }

    /// The run, and the shades between the least and the most worn.
    fn legend(&self, picture: &mut SVG, heading: &[String], whole: f64) {
        let (low, high, left) = self.scale_at(whole);
        labels::lines(picture, heading, (0.0, 13.0), "start", "head");
        picture.append(text(&low, (left - 6.0, 13.0), "end", "tick"));
        for shade in 0..SHADES {
            let data = format!("M{} 3h{SWATCH}v11h-{SWATCH}Z", pixel(left + SWATCH * shade as f64));
            picture.append(Path::new().set("d", data).set("class", format!("fill w{shade}")));
        }
        picture.append(text(&high, (whole, 13.0), "end", "tick"));
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let header = ["die", "square", "mean erases", "retired"].map(str::to_owned).to_vec();
        let row = |die: u32, (index, cell): (usize, &Cell)| {
            vec![die.to_string(), index.to_string(), cell.erase_count.to_string(), cell.retired.to_string()]
        };
        let rows = self.fields.iter().flat_map(|(die, cells)| cells.iter().enumerate().map(|cell| row(*die, cell)));
        std::iter::once(header).chain(rows).collect()
    }
}

/// The cells of each die; of the whole drive where it has one die or too many.
fn fields(blocks: &[BlockRow], per_cell: usize) -> Vec<(u32, Vec<Cell>)> {
    let dies = blocks.iter().map(|block| block.die).max().unwrap_or(0) + 1;
    let apart = |left: &BlockRow, right: &BlockRow| dies > DIES_MAX || left.die == right.die;
    let mut fields: Vec<(u32, Vec<Cell>)> =
        blocks.chunk_by(apart).map(|die| (die[0].die, die.chunks(per_cell.max(1)).map(cell).collect())).collect();
    // Every die starts a row: of dies with a handful of cells each, only white space would be seen.
    let cells: usize = fields.iter().map(|(_, cells)| cells.len()).sum();
    debug_assert!(cells >= blocks.len().div_ceil(per_cell.max(1)), "a map shows every block, in {cells} squares");
    if fields.len() > 1 && fields.iter().any(|(_, cells)| cells.len() < 16) {
        fields = vec![(0, fields.into_iter().flat_map(|(_, cells)| cells).collect())];
    }
    fields
}

fn cell(blocks: &[BlockRow]) -> Cell {
    let erases: u64 = blocks.iter().map(|block| u64::from(block.erase_count)).sum();
    let retired = blocks.iter().filter(|block| block.state == BlockState::Retired).count();
    Cell { erase_count: erases as f64 / blocks.len() as f64, retired: 2 * retired >= blocks.len() }
}

/// One path a shade, and one for the holes of retired blocks.
fn field(cells: &[Cell], columns: usize, scale: &Scale) -> Together {
    let mut together = Together::new();
    for shade in 0..SHADES {
        let wanted = |cell: &Cell| scale.shade(cell.erase_count) == shade;
        let runs = stretches(cells, columns, wanted);
        if !runs.is_empty() {
            together.append(Path::new().set("d", lines(&runs)).set("class", format!("cell w{shade}")));
        }
    }
    let holes = stretches(cells, columns, |cell| cell.retired);
    if !holes.is_empty() {
        together.append(Path::new().set("d", lines(&holes)).set("class", "hole"));
    }
    together
}

/// Stretches as lines through the middle of their row, which the style draws one cell wide; dashed, for the holes.
fn lines(stretches: &[(u32, u32, u32)]) -> String {
    stretches.iter().map(|(column, row, length)| format!("M{column} {row}.5h{length}")).collect()
}

/// Stretches of wanted cells as (column, row, length), none across the end of a row.
fn stretches(cells: &[Cell], columns: usize, wanted: impl Fn(&Cell) -> bool) -> Vec<(u32, u32, u32)> {
    let mut found = Vec::new();
    for (row, cells) in cells.chunks(columns).enumerate() {
        let mut column = 0;
        for same in cells.chunk_by(|left, right| wanted(left) == wanted(right)) {
            if wanted(&same[0]) {
                found.push((column, row as u32, same.len() as u32));
            }
            column += same.len() as u32;
        }
        debug_assert_eq!(column as usize, cells.len(), "stretches take up their row");
    }
    found
}

/// Wear of each die, or of the drive in eight parts where it has one.
fn table(groups: &[Group<'_>]) -> Table {
    let mut headers = ["run", "blocks", "count", "least", "mean", "most", "retired"].map(str::to_owned).to_vec();
    headers[1] = "block ids".to_owned();
    let mut rows = Vec::new();
    for group in groups {
        for blocks in parts(&group.first().blocks) {
            let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { continue };
            let erases = || blocks.iter().map(|block| block.erase_count);
            let sum: u64 = erases().map(u64::from).sum();
            let retired = blocks.iter().filter(|block| block.state == BlockState::Retired).count();
            rows.push(vec![
                group.label.clone(),
                format!("{} to {}", first.block, last.block),
                count(blocks.len() as u64),
                count(u64::from(erases().min().unwrap_or(0))),
                short(sum as f64 / blocks.len() as f64),
                count(u64::from(erases().max().unwrap_or(0))),
                count(retired as u64),
            ]);
        }
    }
    Table { headers, rows }
}

fn parts(blocks: &[BlockRow]) -> impl Iterator<Item = &[BlockRow]> {
    let part = blocks.len().div_ceil(8).max(1);
    (0..8).map(move |index: usize| {
        let range: Range<usize> = (index * part).min(blocks.len())..((index + 1) * part).min(blocks.len());
        &blocks[range]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(block: u32, die: u32, erase_count: u32, state: BlockState) -> BlockRow {
        BlockRow { block, channel: 0, die, plane: 0, erase_count, valid_units: 0, state }
    }

    #[test]
    fn cells_bin_blocks_within_their_die() {
        let blocks: Vec<BlockRow> = (0..66).map(|id| block(id, id / 33, 10 * (id % 2), BlockState::Closed)).collect();
        let fields = fields(&blocks, 2);
        let sizes: Vec<(u32, usize)> = fields.iter().map(|(die, cells)| (*die, cells.len())).collect();
        assert_eq!(sizes, [(0, 17), (1, 17)]);
        assert_eq!(fields[0].1[0].erase_count, 5.0);
        assert_eq!(fields[0].1[16].erase_count, 0.0, "the odd block has a cell of its own");
    }

    #[test]
    fn a_cell_is_retired_when_half_of_it_is() {
        let of = |states: &[BlockState]| {
            cell(&states.iter().map(|state| block(0, 0, 1, *state)).collect::<Vec<_>>()).retired
        };
        assert!(of(&[BlockState::Retired, BlockState::Free]));
        assert!(!of(&[BlockState::Retired, BlockState::Free, BlockState::Closed]));
    }

    #[test]
    fn stretches_break_at_the_end_of_a_row() {
        let cell = |erase_count: f64| Cell { erase_count, retired: false };
        let cells = [1.0, 2.0, 2.0, 2.0, 1.0].map(cell);
        assert_eq!(stretches(&cells, 3, |cell| cell.erase_count == 2.0), [(1, 0, 2), (0, 1, 1)]);
    }
}
