//! The drive of a scenario. Any two of capacity, spare factor and geometry give the third.

use std::num::NonZeroU32;

use toml::Table;
use wane_ftl::policies::recovery::Summaries;
use wane_ftl::{EraseGroup, Layout, Pooling, Room, metadata_blocks};
use wane_units::{Bytes, Geometry, GeometryError, Ratio, floor_exact};

use super::settings::{DriveSettings, RatedBlocks};
use super::synonyms::{SURPLUS_MAX, over_provisioning_of, spare_of};
use super::written::value_of;

/// A resolved drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// The flash.
    pub geometry: Geometry,
    /// Bytes of a mapping unit.
    pub unit: Bytes,
    /// Mapping units in a page.
    pub units_per_page: u32,
    /// Logical units exported when new.
    pub logical_units: u32,
    /// Firmware blocks: flash blocks, or superblocks.
    pub blocks: u32,
    /// Firmware blocks without the reserve: the rated blocks T of the released FTLSim.
    pub rated_blocks: u32,
    /// Free firmware blocks that garbage collection keeps in each domain.
    pub gc_reserve: u32,
    /// (physical - logical) / physical: as written, or computed from capacity and geometry.
    pub spare_factor: f64,
    /// Rated P/E cycles.
    pub endurance: Option<u32>,
    /// Logical bytes of the larger drive that this one is a scaled copy of.
    pub scaled_from: Option<Bytes>,
    /// The controller's page buffers survive a power cut.
    pub power_loss_protection: bool,
    /// Pages of a block that share a wordline.
    pub wordline_pages: NonZeroU32,
    /// Pages of a block as the preset or the default has them, if the drive's blocks are cut to carry its over-provisioning.
    pub cut_from: Told,
}

/// A number that is told of a drive, and is no part of what it is: all are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told(pub(super) Option<u32>);

impl PartialEq for Told {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A key and what is wrong with it.
pub(super) type Refusal = (&'static str, String);

/// How the firmware groups blocks.
#[derive(Clone, Copy)]
pub(super) struct Grouping {
    pub(super) erase_group: EraseGroup,
    pub(super) domain: Pooling,
    /// Blocks being written in each domain.
    pub(super) streams: u32,
    /// The stripes, if every host write joins one.
    pub(super) stripes: Option<Stripes>,
    pub(super) gc_reserve: u32,
    pub(super) rated: RatedBlocks,
    /// What the summaries of the recovery policy say of a logical unit; `None` without recovery.
    pub(super) summaries: Option<Summaries>,
    /// The controller's buffers survive a power cut.
    pub(super) power_loss_protection: bool,
    /// Pages of a block that share a wordline.
    pub(super) wordline_pages: NonZeroU32,
}

/// Stripes that protect host writes.
#[derive(Clone, Copy)]
pub(super) struct Stripes {
    /// Data pages of a stripe, which has one parity page in addition.
    pub(super) data_pages: u32,
    /// Open blocks of each domain that the host and garbage collection write.
    pub(super) streams: u32,
}

/// Largest number of units that 32-bit maps can hold.
const UNITS_MAX: u64 = u32::MAX as u64 - 1;

/// The values of `[drive]`, and which of its keys the scenario and its preset write.
pub(super) struct Written<'a> {
    /// The values of all layers together.
    pub(super) settings: &'a DriveSettings,
    /// What the scenario writes.
    pub(super) set: &'a Table,
    /// What its preset writes.
    pub(super) inherited: &'a Table,
}

/// Which of the three values fix the size of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    CapacityAndSpare,
    GeometryAndSpare,
    CapacityAndGeometry,
    All,
}

impl Written<'_> {
    /// The table whose `blocks` or `blocks-per-plane` counts. Either key in the scenario displaces both of the preset. If one table has both
    /// keys, they must agree.
    fn geometry(&self) -> &Table {
        if self.set.contains_key("blocks") || self.set.contains_key("blocks-per-plane") {
            self.set
        } else {
            self.inherited
        }
    }

    /// Returns which values fix the size. A key of the scenario displaces a key of the preset. Of the preset's keys the geometry is kept before
    /// the spare factor, and the spare factor before the capacity.
    fn given(&self) -> Result<Given, Refusal> {
        let groups = |table: &Table| {
            let has = |key: &str| table.contains_key(key);
            (has("logical-capacity"), has("spare-factor"), has("blocks") || has("blocks-per-plane"))
        };
        let (set, below) = (groups(self.set), groups(self.inherited));
        // (capacity, spare factor, geometry)
        let given = match (set, below) {
            ((true, true, true), _) => Given::All,
            ((true, true, false), _) => Given::CapacityAndSpare,
            ((true, false, true), _) => Given::CapacityAndGeometry,
            ((false, true, true), _) => Given::GeometryAndSpare,
            ((true, false, false), (_, true, _)) => Given::CapacityAndSpare,
            ((true, false, false), (_, false, true)) => Given::CapacityAndGeometry,
            ((false, true, false), (_, _, true)) => Given::GeometryAndSpare,
            ((false, true, false), (true, _, false)) => Given::CapacityAndSpare,
            ((false, false, true), (_, true, _)) => Given::GeometryAndSpare,
            ((false, false, true), (true, false, _)) => Given::CapacityAndGeometry,
            ((false, false, false), (true, true, _)) => Given::CapacityAndSpare,
            ((false, false, false), (true, false, true)) => Given::CapacityAndGeometry,
            ((false, false, false), (false, true, true)) => Given::GeometryAndSpare,
            _ => {
                let message = "its size is open; give two of logical-capacity, spare-factor and blocks";
                return Err(("drive", message.to_owned()));
            }
        };
        Ok(given)
    }
}

/// Surplus over what is asked for, as a share of that or in all, with which a drive is what was asked for. Whole blocks and the reserve add some to
/// any drive.
const CARRIED: (f64, f64) = (0.5, 0.05);
/// The same, beyond which a drive lives another life and is refused.
const REFUSED: (f64, f64) = (1.0, 0.5);
/// Fewest pages to which blocks are cut.
const PAGES_LEAST: u32 = 64;

/// Resolves the drive. Where each die keeps a reserve, and blocks of the preset or of the defaults are too large for the capacity, they get fewer
/// pages.
pub(super) fn device(drive: &Written<'_>, grouping: Grouping) -> Result<Device, Refusal> {
    let given = drive.given()?;
    let whole = Shape::new(drive, drive.settings.pages_per_block, grouping)?;
    let made = whole.device(drive, given);
    // A drive whose blocks are all of one domain keeps one reserve, which is told (see `unasked`).
    let keeps_many = given == Given::CapacityAndSpare && whole.domains > 1;
    let beyond = |device: &Device, limit| !is_within(device.over_provisioning(), device.spare_factor, limit);
    if !keeps_many || made.as_ref().is_ok_and(|device| !beyond(device, CARRIED)) {
        return made;
    }
    let says = |table: &Table| table.contains_key("pages-per-block");
    // Where there is no room at all, the defaults are not what takes it.
    let may_cut = !says(drive.set) && (made.is_ok() || says(drive.inherited));
    let halves = std::iter::successors(Some(whole.pages_per_block / 2), |pages| Some(pages / 2));
    let smaller = halves.take_while(|pages| *pages >= PAGES_LEAST && may_cut);
    let cut = smaller
        .filter_map(|pages| Shape::new(drive, pages, grouping).and_then(|shape| shape.device(drive, given)).ok());
    let cut: Vec<Device> = cut.map(|device| Device { cut_from: Told(Some(whole.pages_per_block)), ..device }).collect();
    // The first that is as asked for, or else the nearest.
    let nearest = cut.iter().find(|device| !beyond(device, CARRIED)).or(cut.last()).copied();
    match (nearest, made) {
        (Some(device), _) | (None, Ok(device)) if !beyond(&device, REFUSED) => Ok(device),
        (Some(device), _) | (None, Ok(device)) => Err(whole.too_coarse(drive, &device)),
        (None, refused) => refused,
    }
}

/// Everything but the size. Counts are wide, so that no product of allowed values overflows.
struct Shape {
    channels: u32,
    dies_per_channel: u32,
    planes_per_die: u32,
    pages_per_block: u32,
    /// Bytes of a page.
    page: u64,
    /// Bytes of a mapping unit.
    unit: u64,
    /// Planes of the drive.
    planes: u128,
    units_per_flash_block: u128,
    /// Flash blocks in a firmware block.
    width: u128,
    /// The reserve of all domains, in firmware blocks.
    reserve: u128,
    domains: u128,
    grouping: Grouping,
}

impl Shape {
    fn new(drive: &Written<'_>, pages_per_block: u32, grouping: Grouping) -> Result<Self, Refusal> {
        let settings = drive.settings;
        let (channels, dies_per_channel) = (settings.channels, settings.dies_per_channel);
        let planes_per_die = settings.planes_per_die;
        let page = settings.page_size.0;
        // A page size set here displaces an inherited mapping unit.
        let inherits = drive.set.contains_key("mapping-unit") || !drive.set.contains_key("page-size");
        let unit = settings.mapping_unit.filter(|_| inherits).map_or(page, |unit| unit.0);
        if !page.is_multiple_of(unit) {
            let message =
                format!("found {}, which is no whole fraction of the page, {}", Bytes(unit).exactly(), Bytes(page));
            return Err(("drive.mapping-unit", message));
        }
        let units_per_flash_block = u128::from(page / unit) * u128::from(pages_per_block);
        if units_per_flash_block < 2 {
            return Err(("drive.pages-per-block", "a block holds 1 mapping unit; at least 2 are needed".to_owned()));
        }
        let dies = u128::from(channels) * u128::from(dies_per_channel);
        let planes = dies * u128::from(planes_per_die);
        let domains = if grouping.domain == Pooling::Die { dies } else { 1 };
        Ok(Self {
            channels,
            dies_per_channel,
            planes_per_die,
            pages_per_block,
            page,
            unit,
            planes,
            units_per_flash_block,
            width: if grouping.erase_group == EraseGroup::Superblock { planes / domains } else { 1 },
            reserve: u128::from(grouping.gc_reserve) * domains,
            domains,
            grouping,
        })
    }

    /// The drive of this shape.
    fn device(&self, drive: &Written<'_>, given: Given) -> Result<Device, Refusal> {
        let spare = drive.settings.spare_factor.map_or(0.0, Ratio::get);
        if spare >= 1.0 && given != Given::CapacityAndGeometry {
            let message = "found 100 %, which leaves no logical capacity; less than 100 % is allowed";
            return Err(("drive.spare-factor", message.to_owned()));
        }
        let logical = self.logical(drive)?;
        let (blocks_per_plane, logical) = match given {
            Given::CapacityAndSpare => (self.per_plane(self.needed(logical, spare)), logical),
            Given::GeometryAndSpare => {
                let blocks = self.blocks_per_plane(drive)?;
                (blocks, u128::from(floor_exact((1.0 - spare) * self.units(blocks) as f64)))
            }
            Given::CapacityAndGeometry => (self.blocks_per_plane(drive)?, logical),
            Given::All => {
                let blocks = self.blocks_per_plane(drive)?;
                self.agree(blocks, logical, spare)?;
                (blocks, logical)
            }
        };
        self.fits(blocks_per_plane, logical)?;
        self.finish(drive, blocks_per_plane, logical, given)
    }

    /// Logical units by `logical-capacity`; 0 if it is not written.
    fn logical(&self, drive: &Written<'_>) -> Result<u128, Refusal> {
        let Some(Bytes(bytes)) = drive.settings.logical_capacity else { return Ok(0) };
        if !bytes.is_multiple_of(self.unit) {
            let written =
                [drive.set, drive.inherited].into_iter().find_map(|table| table.get("logical-capacity")?.as_str());
            let written = written.unwrap_or_default();
            let nearest = [bytes / self.unit, bytes / self.unit + 1].into_iter().filter(|units| *units > 0);
            let nearest: Vec<String> = nearest.map(|units| Bytes(units * self.unit).written_like(written)).collect();
            let message = format!(
                "found {}, which is no multiple of the mapping unit, {}; nearest are {}",
                Bytes(bytes).exactly(),
                Bytes(self.unit),
                nearest.join(" and ")
            );
            return Err(("drive.logical-capacity", message));
        }
        Ok(u128::from(bytes / self.unit))
    }

    fn units_per_block(&self) -> u128 {
        self.units_per_flash_block * self.width
    }

    /// Physical units with `blocks_per_plane` blocks in each plane.
    fn units(&self, blocks_per_plane: u128) -> u128 {
        blocks_per_plane * self.planes * self.units_per_flash_block
    }

    /// Flash blocks that hold a capacity and its spare space: T = floor(U / (1 - s)) firmware blocks plus the reserve. U is the capacity in
    /// firmware blocks and may be a fraction.
    fn needed(&self, logical: u128, spare: f64) -> u128 {
        let rated = floor_exact(logical as f64 / (self.units_per_block() as f64 * (1.0 - spare)));
        (u128::from(rated) + self.reserve) * self.width
    }

    /// The refusal of a drive with far more spare space than what is asked for, since its blocks are few.
    fn too_coarse(&self, drive: &Written<'_>, device: &Device) -> Refusal {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let logical = u128::from(device.logical_units);
        let enough = (1..u64::BITS).map(|power| logical << power).find(|logical| {
            let units = self.units(self.per_plane(self.needed(*logical, device.spare_factor)));
            units <= u128::from(UNITS_MAX)
                && is_within(units as f64 / *logical as f64 - 1.0, device.spare_factor, CARRIED)
        });
        let enough = enough.map_or_else(String::new, |logical| format!(" ({} is enough)", self.shown(logical)));
        let block = Bytes((self.units_per_block() * u128::from(self.unit)) as u64);
        let domains = if self.domains > 1 { " of each die" } else { "" };
        let key =
            if drive.set.contains_key("logical-capacity") { "drive.logical-capacity" } else { "drive.spare-factor" };
        let message = format!(
            "{} in {} blocks of {block}, with the {} that garbage collection keeps{domains} (ftl.gc-reserve), leaves an over-provisioning of {} \
             where {} is asked for, and would live another life; allowed are blocks of fewer pages (drive.pages-per-block), fewer dies, that much \
             over-provisioning, a larger capacity{enough}, or the real one with --scale auto",
            self.shown(logical),
            device.blocks,
            device.gc_reserve,
            percent(device.over_provisioning()),
            percent(over_provisioning_of(device.spare_factor)),
        );
        (key, message)
    }

    /// Blocks of each plane for `flash_blocks` in all, rounded up.
    fn per_plane(&self, flash_blocks: u128) -> u128 {
        flash_blocks.div_ceil(self.planes).max(1)
    }

    fn blocks_per_plane(&self, drive: &Written<'_>) -> Result<u128, Refusal> {
        let layer = drive.geometry();
        let own = |key: &str, count: Option<u32>| count.filter(|_| layer.contains_key(key)).map(u128::from);
        let planes = self.planes;
        match (own("blocks", drive.settings.blocks), own("blocks-per-plane", drive.settings.blocks_per_plane)) {
            (Some(flat), _) if !flat.is_multiple_of(planes) => {
                Err(("drive.blocks", format!("found {flat}, which is no multiple of the drive's {planes} planes")))
            }
            (Some(flat), Some(each)) if flat != each * planes => {
                let message = format!("found {flat}, but {planes} planes of {each} blocks are {}", each * planes);
                Err(("drive.blocks", message))
            }
            (Some(flat), _) => Ok(flat / planes),
            (None, Some(each)) => Ok(each),
            (None, None) => Err(("drive.blocks", "missing; give blocks or blocks-per-plane".to_owned())),
        }
    }

    /// Checks that capacity, spare factor and geometry, all given, describe the same drive to within a block.
    fn agree(&self, blocks_per_plane: u128, logical: u128, spare: f64) -> Result<(), Refusal> {
        let flash_blocks = blocks_per_plane * self.planes;
        let needed = self.needed(logical, spare);
        let rounded = self.per_plane(needed) * self.planes;
        let on_top = (needed.saturating_sub(1)..=rounded + 1).contains(&flash_blocks);
        let exported = (1.0 - spare) * self.units(blocks_per_plane) as f64;
        let inside = (exported - logical as f64).abs() <= self.units_per_block() as f64;
        if on_top || inside {
            return Ok(());
        }
        let capacity = self.shown(logical);
        let spare = Ratio::new(spare).unwrap_or(Ratio::ZERO);
        Err((
            "drive",
            format!(
                "logical-capacity {capacity} and spare-factor {spare} ask for {rounded} blocks, but the geometry has \
                 {flash_blocks}; leave one of the three out"
            ),
        ))
    }

    /// Refuses more mapping units than the maps can hold. The message names the smallest unit that fits.
    fn fits(&self, blocks_per_plane: u128, logical: u128) -> Result<(), Refusal> {
        let units = self.units(blocks_per_plane).max(logical);
        if units <= u128::from(UNITS_MAX) {
            return Ok(());
        }
        let bytes = units.saturating_mul(u128::from(self.unit));
        let least = bytes.div_ceil(u128::from(UNITS_MAX));
        let page = u128::from(self.page);
        // At most 2^15 fractions, by the range of the sizes.
        let fraction = (1..=page / least.max(1)).rev().find(|parts| page.is_multiple_of(*parts));
        let advice = match fraction {
            Some(parts) => format!("the smallest unit that fits is {}", self.sized(page / parts)),
            None => {
                let unit = self.sized(least.next_power_of_two());
                format!("the smallest unit that fits is {unit}, and page-size must be at least that")
            }
        };
        let unit = Bytes(self.unit);
        let message =
            format!("{units} mapping units of {unit} are more than the {UNITS_MAX} that the maps hold; {advice}");
        Err(("drive.mapping-unit", message))
    }

    fn sized(&self, bytes: u128) -> Bytes {
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    fn shown(&self, units: u128) -> Bytes {
        self.sized(units.saturating_mul(u128::from(self.unit)))
    }

    /// Makes the drive. Its numbers of units fit 32 bits, as [`Self::fits`] has checked.
    fn finish(&self, drive: &Written<'_>, per_plane: u128, logical: u128, given: Given) -> Result<Device, Refusal> {
        assert!(per_plane <= u128::from(u32::MAX), "blocks that do not fit the maps were refused, found {per_plane}");
        let (channels, dies, planes) = (self.channels, self.dies_per_channel, self.planes_per_die);
        let geometry = Geometry::new(channels, dies, planes, per_plane as u32, self.pages_per_block, Bytes(self.page))
            .map_err(|error: GeometryError| ("drive", error.to_string()))?;
        assert!(logical <= u128::from(UNITS_MAX), "units that do not fit the maps were refused");
        let units_per_page = (self.page / self.unit) as u32;
        let blocks = Layout::new(geometry, self.grouping.erase_group, self.grouping.domain, units_per_page).blocks();
        let spare = drive.settings.spare_factor.map_or(0.0, Ratio::get);
        let spare = (given != Given::CapacityAndGeometry).then_some(spare);
        if logical == 0 {
            let key = if given == Given::GeometryAndSpare { "drive.spare-factor" } else { "drive.logical-capacity" };
            return Err((key, format!("leaves no logical capacity: less than one mapping unit, {}", Bytes(self.unit))));
        }
        let rooms = self.rooms(blocks, logical);
        if rooms.iter().any(|room| logical > u128::from(room.units_max())) {
            let (advised, message) = self.no_room(drive, &rooms, logical as u64, given);
            // The error is at the key of the advice, unless the scenario wrote the capacity instead.
            let is_capacity = advised == "drive.spare-factor"
                && !drive.set.contains_key("spare-factor")
                && drive.set.contains_key("logical-capacity");
            return Err((if is_capacity { "drive.logical-capacity" } else { advised }, message));
        }
        Ok(Device {
            geometry,
            unit: Bytes(self.unit),
            units_per_page,
            logical_units: logical as u32,
            blocks,
            rated_blocks: match self.grouping.rated {
                RatedBlocks::BesideReserve => blocks - self.reserve as u32,
                RatedBlocks::All => blocks,
            },
            gc_reserve: self.grouping.gc_reserve,
            spare_factor: spare.unwrap_or(1.0 - logical as f64 / self.units(per_plane) as f64),
            endurance: drive.settings.endurance,
            scaled_from: drive.settings.scaled_from,
            power_loss_protection: self.grouping.power_loss_protection,
            wordline_pages: self.grouping.wordline_pages,
            cut_from: Told(None),
        })
    }

    /// The rooms for data in `blocks` firmware blocks: one without stripes, and one with them if there are any. The logical capacity must fit
    /// each room. A room counts open blocks, and with stripes the parity. The firmware refuses stripes wider than the drive.
    fn rooms(&self, blocks: u32, logical: u128) -> Vec<Room> {
        let open = |streams: u32| u64::from(streams) * self.domains as u64;
        let plain = Room {
            blocks: u64::from(blocks),
            units_per_block: self.units_per_block() as u64,
            reserve: self.reserve as u64,
            open: open(self.grouping.streams),
            bad: 0,
            metadata: self.grouping.summaries.map_or(0, |summaries| self.metadata(summaries, logical)),
            padding: match self.grouping.summaries {
                Some(_) if !self.grouping.power_loss_protection => {
                    let per_page = u128::from(self.page / self.unit);
                    let pages = (self.units_per_block() / per_page) as u32;
                    let wordline = Room::wordline(self.grouping.wordline_pages, self.width as u32, pages);
                    Room::padding(wordline * per_page as u32, open(self.grouping.streams))
                }
                _ => 0,
            },
            data_pages: None,
        };
        let is_closed_early = self.grouping.summaries.is_some() && !self.grouping.power_loss_protection;
        let fits = |stripes: &Stripes| stripes.data_pages < self.channels * self.dies_per_channel;
        let striped = self.grouping.stripes.filter(fits).map(|Stripes { data_pages, streams }| Room {
            open: open(streams),
            // Without power-loss protection a flush closes a stripe, which may have a single data page.
            data_pages: Some(if is_closed_early { 1 } else { u64::from(data_pages) }),
            ..plain
        });
        [plain].into_iter().chain(striped).collect()
    }

    /// Number of blocks of the metadata area.
    fn metadata(&self, summaries: Summaries, logical: u128) -> u64 {
        let pages = self.units_per_block() * u128::from(self.unit) / u128::from(self.page);
        let (logical, pages) = (u64::try_from(logical).unwrap_or(u64::MAX), u32::try_from(pages).unwrap_or(u32::MAX));
        metadata_blocks(summaries, logical, self.page as u32, pages.max(2))
    }

    /// The error of a drive that is too small for its capacity: the key at fault, and a message that says what takes the blocks and what would
    /// fit.
    fn no_room(&self, drive: &Written<'_>, rooms: &[Room], logical: u64, given: Given) -> (&'static str, String) {
        let room = rooms.iter().copied().reduce(Room::tighter).expect("a drive has a room, striped or not");
        let max = room.units_max();
        let needed = |units: u64| rooms.iter().map(|room| room.blocks_needed(units)).max().unwrap_or_default();
        // Exact to the byte, as a scenario writes it.
        let exact = |units: u64| value_of(&Bytes(units * self.unit)).as_str().unwrap_or_default().to_owned();
        let least =
            |logical: u64, blocks: u64| rounded_up(1.0 - logical as f64 / (blocks * room.units_per_block) as f64);
        let smallest = |share: Ratio| match surplus_of(share) {
            Some(surplus) => format!("{share}, an over-provisioning of {surplus}"),
            None => share.to_string(),
        };
        let (key, advice) = match given {
            _ if room.padding >= room.units_per_block => (
                "drive.pages-per-block",
                "more pages of a block, fewer of a wordline (drive.wordline-pages), or drive.power-loss-protection leave some".to_owned(),
            ),
            // The number of blocks follows from the spare factor: more spare space means more blocks.
            Given::CapacityAndSpare => {
                let rated = needed(logical) - room.reserve;
                let smallest = smallest(least(logical, rated));
                ("drive.spare-factor", format!("the smallest spare-factor for {} is {smallest}", exact(logical)))
            }
            _ if max == 0 => self.more_blocks(drive, logical, given),
            Given::GeometryAndSpare => {
                ("drive.spare-factor", format!("the smallest spare-factor is {}", smallest(least(max, room.blocks))))
            }
            Given::CapacityAndGeometry => {
                ("drive.logical-capacity", format!("the largest logical-capacity is {}", exact(max)))
            }
            Given::All => {
                let smallest = smallest(least(max, room.blocks));
                let advice = format!("the largest logical-capacity is {}, spare-factor {smallest}", exact(max));
                ("drive.logical-capacity", advice)
            }
        };
        let (capacity, block) = (Bytes(logical * self.unit), Bytes(room.units_per_block * self.unit));
        (key, format!("leaves no spare space: {capacity} of logical capacity on {room}, each of {block}; {advice}"))
    }
}

/// An over-provisioning in percent, with few digits, whose spare factor is at least `share`; `None` beyond the allowed range.
fn surplus_of(share: Ratio) -> Option<String> {
    let surplus = over_provisioning_of(share.get());
    let rounded = [1e4, 1e6, 1e8, 1e10].map(|digits| (surplus * digits).ceil() / digits);
    let enough = rounded.into_iter().find(|rounded| rounded - surplus < 5e-2 * rounded).unwrap_or(surplus);
    let percent = format!("{:.8}", 100.0 * enough);
    (enough <= SURPLUS_MAX).then(|| format!("{} %", percent.trim_end_matches('0').trim_end_matches('.')))
}

impl Shape {
    /// Says how many blocks the drive would need for its capacity: the key and the advice.
    fn more_blocks(&self, drive: &Written<'_>, logical: u64, given: Given) -> (&'static str, String) {
        let spare = drive.settings.spare_factor.map_or(0.0, Ratio::get);
        let asked = |per_plane: u128| match given {
            Given::GeometryAndSpare => floor_exact((1.0 - spare) * self.units(per_plane) as f64),
            _ => logical,
        };
        let rooms = |per_plane: u128| {
            let (all, width) = (per_plane * self.planes, self.width);
            self.rooms(u32::try_from(all / width).unwrap_or(u32::MAX), u128::from(asked(per_plane)))
        };
        let holds = |per_plane: &u128| {
            let asked = asked(*per_plane);
            asked > 0 && rooms(*per_plane).iter().all(|room| asked <= room.units_max())
        };
        let powers =
            (0..u32::BITS).map(|power| 1_u128 << power).take_while(|count| self.units(*count) <= u128::from(UNITS_MAX));
        let enough = powers.clone().find(holds);
        let (per_plane, beside) = match enough {
            Some(most) => ((most / 2 + 1..=most).find(holds).unwrap_or(most), String::new()),
            // No number of blocks is enough, since the spare factor is too small.
            None => {
                let some =
                    powers.clone().find(|count| rooms(*count).iter().all(|room| room.units_max() > 0)).unwrap_or(1);
                let left = rooms(some).iter().map(Room::units_max).min().unwrap_or(1);
                let share = Ratio::new(1.0 - left as f64 / self.units(some) as f64).unwrap_or(Ratio::ONE);
                (some, format!(", and then spare-factor {}", rounded_up(share.get())))
            }
        };
        if drive.geometry().contains_key("blocks") {
            ("drive.blocks", format!("at least {} blocks are needed{beside}", per_plane * self.planes))
        } else {
            ("drive.blocks-per-plane", format!("at least {per_plane} blocks of each plane are needed{beside}"))
        }
    }
}

/// Rounds a share up to as few digits as possible while it stays below 1, so that the scenario may write it.
fn rounded_up(share: f64) -> Ratio {
    let rounded = [1e4, 1e6, 1e8, 1e10].map(|digits| (share * digits).ceil() / digits);
    rounded.into_iter().find(|share| *share < 1.0).and_then(Ratio::new).unwrap_or(Ratio::ONE)
}

/// Whether a surplus is no more than what a spare factor asks for and a limit: a share of that, or so much in all.
fn is_within(surplus: f64, spare_factor: f64, (share, least): (f64, f64)) -> bool {
    let asked = over_provisioning_of(spare_factor);
    surplus - asked <= least.max(share * asked)
}

impl Device {
    /// Logical bytes when new.
    pub fn logical_bytes(&self) -> u64 {
        u64::from(self.logical_units) * self.unit.0
    }

    /// Physical mapping units.
    pub fn physical_units(&self) -> u64 {
        u64::from(self.geometry.pages()) * u64::from(self.units_per_page)
    }

    /// Physical / logical capacity - 1. Physical capacity includes bad blocks and the reserve of garbage collection.
    pub fn over_provisioning(&self) -> f64 {
        debug_assert!(self.physical_units() > u64::from(self.logical_units), "a drive has more flash than it exports");
        self.physical_units() as f64 / f64::from(self.logical_units) - 1.0
    }

    /// The flash beyond the logical capacity as text, as over-provisioning and as spare factor.
    pub fn spare_in_words(&self) -> String {
        let percent = |share: f64| format!("{} %", (share * 1e4).round() / 1e2);
        let surplus = self.over_provisioning();
        let spare = spare_of(surplus);
        let told = format!(
            "over-provisioning (physical / logical - 1) {}, spare factor (1 - logical / physical) {}",
            percent(surplus),
            percent(spare)
        );
        // A spare factor given with a capacity leaves out the reserve, which comes on top.
        if percent(spare) == percent(self.spare_factor) {
            return told;
        }
        let (surplus, spare) = (percent(over_provisioning_of(self.spare_factor)), percent(self.spare_factor));
        format!("{told}; {surplus} and {spare} beside the reserve of garbage collection and what rounding adds")
    }

    /// Memory that a run takes, in bytes: two maps, a validity bit for each unit, and a record for each block.
    pub fn memory_bytes(&self) -> u64 {
        // A block takes a place in the index's queues, an entry in a leveler's order, and a row with its state and validity bits,
        // rounded up.
        const PER_BLOCK: u64 = 176;
        let units_per_block = self.physical_units() / u64::from(self.geometry.blocks());
        let row = 8 * (2 + units_per_block.div_ceil(64)).next_power_of_two().max(8);
        let maps = 4 * u64::from(self.logical_units) + 4 * self.physical_units();
        maps + u64::from(self.geometry.blocks()) * (PER_BLOCK + row) + (16 << 20)
    }
}
