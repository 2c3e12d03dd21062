//! `wane array plan`: what drives give as one array.

use wane_raid::code::{CODES, Coder, code};
use wane_raid::placement::{self, tiles};
use wane_raid::{
    EQUAL, Fast, FrontierPoint, Group, MANUAL, PLACEMENTS, Placement, PlacementError, Site, UNEQUAL, frontier,
};
use wane_units::Bytes;

use super::members::Members;
use super::words;
use crate::DONE;
use crate::args::array::PlanArguments;
use crate::output::{Failure, print, print_json, unknown};

/// Sizes that a tile may have on a member.
const TILE: [Bytes; 2] = [Bytes(64 << 10), Bytes(1 << 40)];
/// Steps of the frontier.
const STEPS: u64 = 8;

/// The narrowest stripes win that give at least this share of the most data: the rest is what tiles do not fill.
const BEST: f64 = 0.999;

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
    pub(super) frontier: Vec<FrontierPoint>,
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
    let view = View { sites: &sites, fast: &fast, members: &members, tile: arguments.tile };
    let (coder, widths) = match arguments.width {
        Some(width) => (chosen(arguments, width, &coders, widest, found)?, Vec::new()),
        None => {
            let layouts = coders.iter().map(|coder| Ok((coder.clone(), view.layout(placement, coder)?)));
            let layouts: Vec<(Coder, Layout)> =
                layouts.collect::<Result<_, PlacementError>>().map_err(Failure::wrong)?;
            let most = layouts.iter().map(|(_, layout)| layout.data).max().unwrap_or(0);
            let is_best = |layout: &Layout| layout.data as f64 >= BEST * most as f64;
            let best = layouts.iter().find(|(_, layout)| is_best(layout)).map(|(coder, _)| coder.clone());
            (best.unwrap_or_else(|| widest.clone()), layouts)
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
    Ok(Planned { members, sites, fast, coder, tile: arguments.tile, layout, without, others, widths, frontier })
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
        let a_tile = coder.data() as u64 * self.tile.0;
        let fast = Fast { tiles: size.0.div_ceil(a_tile), members: self.fast.to_vec() };
        self.layout(&fast, coder).map_err(|error| match error {
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
