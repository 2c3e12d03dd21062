//! `wane array plan`: what drives give as one array.

use wane_raid::code::{CODES, Coder, code};
use wane_raid::placement::{self, tiles};
use wane_raid::{
    EQUAL, Fast, FrontierPoint, Group, Journal, MANUAL, PLACEMENTS, Placement, PlacementError, Site, UNEQUAL, frontier,
};
use wane_units::Bytes;

use super::layers::{self, Layer};
use super::members::Members;
use super::words;
use crate::DONE;
use crate::args::array::PlanArguments;
use crate::output::{Failure, print, print_json, unknown};

/// Sizes that a tile may have on a member.
const TILE: [Bytes; 2] = [Bytes(64 << 10), Bytes(1 << 40)];
/// Steps of the frontier.
const STEPS: u64 = 8;

/// Bytes of a small change.
pub(super) const CHANGE: u64 = 4096;

/// The narrowest stripes win that give at least this share of the most data: the rest is what tiles do not fill.
pub(super) const BEST: f64 = 0.999;

/// What a layout gives.
pub(super) struct Layout {
    pub(super) name: &'static str,
    pub(super) groups: Vec<Group>,
    pub(super) tiles: u64,
    /// Bytes of data.
    pub(super) data: u64,
    /// Bytes of data on fast drives only.
    pub(super) fast: u64,
    /// Bytes of each drive that no tile has.
    pub(super) stranded: Vec<u64>,
}

/// The most data of stripes that differ in width, which no array of wane has.
pub(super) struct Several {
    /// Bytes of data, and of drives that they take.
    pub(super) data: u64,
    pub(super) used: u64,
    /// One way to it; empty for copies, where the narrowest stripes hold as much.
    pub(super) layers: Vec<Layer>,
}

/// All that is told.
pub(super) struct Planned {
    pub(super) members: Members,
    pub(super) sites: Vec<Site>,
    pub(super) fast: Vec<usize>,
    pub(super) coder: Coder,
    pub(super) tile: Bytes,
    /// The layout that was asked for.
    pub(super) layout: Layout,
    /// Of each drive, bytes of data of an array without it.
    pub(super) without: Vec<u64>,
    /// The same drives in other ways.
    pub(super) others: Vec<Layout>,
    /// Widths, if none was asked for, each with its layout.
    pub(super) widths: Vec<(Coder, Layout)>,
    pub(super) several: Several,
    pub(super) frontier: Vec<FrontierPoint>,
    /// Bytes that each drive gets of the journal for a byte of small changes.
    pub(super) journal: Vec<f64>,
    /// Each code that the drives allow, at its best width.
    pub(super) codes: Vec<(Coder, Layout)>,
    /// Whether data were asked for on fast drives only.
    pub(super) wants_fast: bool,
}

impl Planned {
    /// Bytes of data in N tiles.
    pub(super) fn data(&self, tiles: u64) -> u64 {
        tiles * self.coder.data() as u64 * self.tile.0
    }
}

pub(super) fn plan(arguments: &PlanArguments) -> Result<i32, Failure> {
    let planned = planned(arguments)?;
    if arguments.json {
        print_json(&words::as_json(&planned))?;
    } else {
        print(&words::in_words(&planned))?;
    }
    Ok(DONE)
}

fn planned(arguments: &PlanArguments) -> Result<Planned, Failure> {
    let names: Vec<&str> = CODES.iter().map(|code| code.name()).collect();
    let code = code(&arguments.code).ok_or_else(|| unknown("code", &arguments.code, &names))?;
    let names: Vec<&str> = PLACEMENTS.iter().map(|placement| placement.name()).collect();
    let placement =
        placement::placement(&arguments.placement).ok_or_else(|| unknown("placement", &arguments.placement, &names))?;
    if arguments.tile < TILE[0] || arguments.tile > TILE[1] {
        let [least, most] = TILE.map(Bytes::exactly);
        let found = arguments.tile.exactly();
        return Err(Failure::wrong(format!("--tile: found {found}, allowed are {least} to {most}")));
    }
    let members = Members::read(arguments.drives.as_deref(), &arguments.members)?;
    let (sites, fast) = (members.sites(arguments.tile), members.fast());
    let found = sites.iter().filter(|site| site.slots > 0).count();
    let coders: Vec<Coder> = (1..=found).filter_map(|width| Coder::new(code, width)).collect();
    let Some(widest) = coders.last() else {
        let least = (1..=MOST).find(|width| code.data(*width).is_some()).unwrap_or(MOST);
        return Err(Failure::wrong(format!(
            "--code: {} needs {least} drives at least, found {found} that hold a tile of {}",
            code.name(),
            arguments.tile.exactly()
        )));
    };
    let wanted = arguments.fast;
    let view = View { sites: &sites, fast: &fast, members: &members, tile: arguments.tile, wanted };
    let (coder, widths) = match arguments.width {
        Some(width) => (chosen(arguments, width, &coders, widest, found)?, Vec::new()),
        None => {
            let layouts = view.layouts(placement, &coders).map_err(Failure::wrong)?;
            let best = best(&layouts).map(|number| layouts[number].0.clone());
            // If no width holds what is wanted of fast drives, the sentence is about the one that holds the most there.
            let most_there = coders.iter().rfind(|coder| coder.width() <= fast.len()).unwrap_or(widest);
            (best.unwrap_or_else(|| most_there.clone()), layouts)
        }
    };
    let layout = match arguments.fast {
        None => view.layout(placement, &coder).map_err(Failure::wrong)?,
        Some(size) => view.with_fast(placement, &coder, size)?,
    };
    let others = [&UNEQUAL as &dyn Placement, &MANUAL, &EQUAL];
    let others = others.into_iter().filter(|other| other.name() != layout.name);
    let others = others.map(|other| view.layout(other, &coder)).collect::<Result<_, _>>().map_err(Failure::wrong)?;
    let without = (0..sites.len()).map(|drive| view.without(drive, placement, &coder)).collect();
    let is_mixed = !fast.is_empty() && fast.len() < sites.len();
    let frontier = if is_mixed { frontier(&sites, &fast, coder.width(), STEPS) } else { Ok(Vec::new()) };
    let mut frontier = frontier.map_err(Failure::wrong)?;
    if frontier.last().is_some_and(|last| last.fast == 0) {
        frontier.clear();
    }
    let narrowest = coders.first().unwrap_or(&coder);
    let several = view.several(narrowest).map_err(Failure::wrong)?;
    let tile = arguments.tile;
    let tiles: Vec<u64> = sites.iter().map(|site| site.slots).collect();
    let journal = Journal::Full.bytes_for_each(code, &tiles, CHANGE);
    let codes = by_codes(&view, placement, found).map_err(Failure::wrong)?;
    Ok(Planned {
        members,
        sites,
        fast,
        coder,
        tile,
        layout,
        without,
        others,
        widths,
        several,
        frontier,
        journal,
        codes,
        wants_fast: wanted.is_some(),
    })
}

/// The best layout of each code that these drives allow.
fn by_codes(view: &View<'_>, placement: &dyn Placement, found: usize) -> Result<Vec<(Coder, Layout)>, PlacementError> {
    let best_of = |code| {
        let coders: Vec<Coder> = (1..=found).filter_map(|width| Coder::new(code, width)).collect();
        let mut layouts = view.layouts(placement, &coders)?;
        Ok(best(&layouts).map(|number| layouts.swap_remove(number)))
    };
    let codes: Vec<Option<(Coder, Layout)>> = CODES.into_iter().map(best_of).collect::<Result<_, PlacementError>>()?;
    Ok(codes.into_iter().flatten().collect())
}

/// The number of the narrowest of layouts that gives the most data.
fn best(layouts: &[(Coder, Layout)]) -> Option<usize> {
    let most = layouts.iter().map(|(_, layout)| layout.data).max().unwrap_or(0);
    layouts.iter().position(|(_, layout)| layout.data as f64 >= BEST * most as f64)
}

/// The widest stripe of any code.
const MOST: usize = 256;

/// The coder of a width that was asked for.
fn chosen(
    arguments: &PlanArguments,
    width: usize,
    coders: &[Coder],
    widest: &Coder,
    found: usize,
) -> Result<Coder, Failure> {
    if let Some(coder) = coders.iter().find(|coder| coder.width() == width) {
        return Ok(coder.clone());
    }
    let (name, widest) = (&arguments.code, widest.width());
    Err(Failure::wrong(if width > found {
        format!(
            "--width: a stripe of {width} chunks needs {width} drives, found {found}; the largest that works has {widest}"
        )
    } else {
        let allowed: Vec<String> = coders.iter().map(|coder| coder.width().to_string()).collect();
        format!(
            "--width: {name} has no stripes of {width} chunks on {found} drives; allowed are {}",
            allowed.join(", ")
        )
    }))
}

/// What layouts are made of.
struct View<'a> {
    sites: &'a [Site],
    fast: &'a [usize],
    members: &'a Members,
    tile: Bytes,
    /// Data that are to lie on fast drives only, at least.
    wanted: Option<Bytes>,
}

impl View<'_> {
    fn layout(&self, placement: &dyn Placement, coder: &Coder) -> Result<Layout, PlacementError> {
        let groups = placement.groups(self.sites, coder.width())?;
        let mut stranded: Vec<u64> = self.members.list.iter().map(|member| member.size.0).collect();
        for group in &groups {
            group.members.iter().for_each(|member| stranded[usize::from(*member)] -= group.tiles * self.tile.0);
        }
        let data = |tiles: u64| tiles * coder.data() as u64 * self.tile.0;
        let is_fast = |group: &&Group| group.members.iter().all(|member| self.fast.contains(&usize::from(*member)));
        let fast = groups.iter().filter(is_fast).map(|group| group.tiles).sum();
        let tiles = tiles(&groups);
        Ok(Layout { name: placement.name(), groups, tiles, data: data(tiles), fast: data(fast), stranded })
    }

    /// The layouts of stripes of several widths, each alone, without those whose fast drives do not hold what is wanted of them.
    fn layouts(&self, placement: &dyn Placement, coders: &[Coder]) -> Result<Vec<(Coder, Layout)>, PlacementError> {
        let mut layouts = Vec::new();
        for coder in coders {
            let made = match self.wanted {
                Some(size) => self.layout(&self.first_fast(coder, size), coder),
                None => self.layout(placement, coder),
            };
            match made {
                Ok(layout) => layouts.push((coder.clone(), layout)),
                Err(PlacementError::Fast { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(layouts)
    }

    /// The placement that puts this much data on fast drives only.
    fn first_fast(&self, coder: &Coder, size: Bytes) -> Fast {
        Fast { tiles: size.0.div_ceil(self.a_tile(coder)), members: self.fast.to_vec() }
    }

    /// Bytes of data of a stripe of tiles.
    fn a_tile(&self, coder: &Coder) -> u64 {
        coder.data() as u64 * self.tile.0
    }

    /// The most data of stripes that differ in width, the narrowest of which are these.
    fn several(&self, narrowest: &Coder) -> Result<Several, PlacementError> {
        if words::are_copies(narrowest) {
            let layout = self.layout(&UNEQUAL, narrowest)?;
            let used = layout.tiles * narrowest.width() as u64 * self.tile.0;
            return Ok(Several { data: layout.data, used, layers: Vec::new() });
        }
        let tiles: Vec<u64> = self.sites.iter().map(|site| site.slots).collect();
        let parities = narrowest.parities();
        let layers = layers::layers(&tiles, parities);
        let (data, used) = (layers::data(&layers, parities) * self.tile.0, layers::used(&layers) * self.tile.0);
        Ok(Several { data, used, layers })
    }

    /// Bytes of data without a drive; none where the others are too few.
    fn without(&self, drive: usize, placement: &dyn Placement, coder: &Coder) -> u64 {
        let mut sites = self.sites.to_vec();
        sites[drive].slots = 0;
        View { sites: &sites, ..*self }.layout(placement, coder).map_or(0, |layout| layout.data)
    }

    /// The layout with at least this much data on fast drives only.
    fn with_fast(&self, placement: &dyn Placement, coder: &Coder, size: Bytes) -> Result<Layout, Failure> {
        if placement.name() != UNEQUAL.name() {
            let sentence = format!("--fast: goes with the placement unequal, found {}", placement.name());
            return Err(Failure::wrong(sentence));
        }
        if self.fast.is_empty() {
            let sentence =
                "--fast: no drive is known to be fast; give drives a class, such as \"nvme0=894GiB:fast\", or speeds";
            return Err(Failure::wrong(sentence));
        }
        let a_tile = self.a_tile(coder);
        self.layout(&self.first_fast(coder, size), coder).map_err(|error| match error {
            PlacementError::Fast { most: 0, .. } => Failure::wrong(format!(
                "--fast: stripes of {} chunks need as many fast drives, found {}",
                coder.width(),
                self.fast.len()
            )),
            PlacementError::Fast { most, .. } => Failure::wrong(format!(
                "--fast: found {}, and the fast drives hold at most {} of data in stripes of {}",
                size.exactly(),
                self.members.told(most * a_tile),
                coder.width()
            )),
            error => Failure::wrong(error),
        })
    }
}
