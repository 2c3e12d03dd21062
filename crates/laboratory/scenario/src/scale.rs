//! Scales a large drive to a smaller one of the same shape.
//!
//! The result of a life depends on ratios: spare space over capacity, footprint over capacity, drive writes. These are kept, and so are the
//! pages of a block and the planes of a die. Blocks of a plane are cut first, which changes neither parallelism nor any latency. Dies are cut
//! next, and arrivals of requests with them, so that the load of a die stays the same. The reserve of blocks is cut as far as
//! firmware can live with it. If it then is a larger share of the drive, the logical capacity shrinks, so that the ratio of spare space is kept.

use toml::{Table, Value};
use wane_ftl::{EraseGroup, Layout, Pooling};
use wane_units::{Bytes, Geometry, Nanos, Rate, Ratio};
use wane_workload::Arrival;

use super::phase::Phase;
use super::policies::Family;
use super::workload::{SAMPLE_MAX, Workload};
use super::{ArraySpec, Device, FileSystemSpec, FtlSettings, Scenario, Sources};

/// Least blocks of a scaled drive. With fewer, whole blocks are too coarse a measure of its spare space.
const BLOCKS_MIN: u64 = 4096;
/// Least firmware blocks of a domain that is cut, so that open and reserved blocks are a small part of it.
const DOMAIN_BLOCKS_MIN: u64 = 512;
/// Largest ratio of a scaled drive's blocks to those that `--scale` asks for. A larger drive is refused.
const ASKED_ALIKE: f64 = 1.1;
/// Least dies of a timed drive that is cut, so that a large request still spreads over them.
const TIMED_DIES_MIN: u32 = 32;
/// A reserve is not cut below this. It is for blocks that retire in a row, one by one on a drive of any size.
const RESERVE_MIN: u32 = 4;

/// Most dies of a miniature, and its least blocks, blocks of a domain, and pages of a block.
const MINIATURE_DIES: u32 = 16;
const MINIATURE_BLOCKS: u64 = 256;
const MINIATURE_DOMAIN_BLOCKS: u64 = 64;
const MINIATURE_PAGES: u64 = 8;

/// How much smaller than the original a drive is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// As small as the shape allows.
    Auto,
    /// This share of the blocks, above 0 and at most 1.
    Ratio(f64),
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "auto, or a ratio above 0 and at most 1, such as 1/4, are allowed";
        let ratio = match text.trim().split_once('/') {
            _ if text.trim().eq_ignore_ascii_case("auto") => return Ok(Self::Auto),
            Some((over, under)) => {
                let part = |text: &str| text.trim().parse::<f64>().ok().filter(|part| part.is_finite());
                part(over).zip(part(under)).map(|(over, under)| over / under)
            }
            None => text.parse::<Ratio>().ok().map(Ratio::get).or_else(|| text.trim().parse::<f64>().ok()),
        };
        ratio.filter(|ratio| *ratio > 0.0 && *ratio <= 1.0).map(Self::Ratio).ok_or_else(|| wanted.to_owned())
    }
}

/// The numbers of a drive that scaling cuts.
#[derive(Clone, Copy)]
struct Shape {
    channels: u32,
    dies_per_channel: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
}

impl Shape {
    const fn dies(self) -> u32 {
        self.channels * self.dies_per_channel
    }
}

impl Scenario {
    /// Whether the phases age the drive without a clock, so that the times of their requests do not matter.
    fn phases_age(&self) -> bool {
        !self.time.is_timed() || self.probe.is_some()
    }

    /// Whether a scaled drive serves all requests of the larger drive's trace, folded onto its smaller address space.
    pub fn folds_traces(&self) -> bool {
        self.device.scaled_from.is_some() && !self.phases_age() && !self.traces().is_empty()
    }

    /// Returns the same scenario on a smaller drive of the same shape; unchanged if the drive is small already.
    ///
    /// # Errors
    /// A ratio would leave too few blocks, or too few dies for the scenario.
    pub fn scaled(&self, scale: Scale) -> Result<Self, String> {
        if let Some(files) = &self.file_system {
            return self.files_scaled(files, scale);
        }
        if let Some(array) = &self.array {
            return self.array_scaled(array, scale);
        }
        let from = &self.device;
        let shape = self.shape(scale)?;
        if shape.dies() == from.geometry.dies() && shape.blocks_per_plane == from.geometry.blocks_per_plane() {
            return Ok(self.clone());
        }
        self.on(shape)
    }

    /// The same file system, on a smaller drive or array, with its files in proportion to what it has for them. Its segments are those of a file
    /// system of its size, or as large as the scenario says.
    fn files_scaled(&self, files: &FileSystemSpec, scale: Scale) -> Result<Self, String> {
        let mut scaled = Self { file_system: None, ..self.clone() }.scaled(scale)?;
        let device = scaled.host_device();
        if device.logical_units == self.host_device().logical_units {
            return Ok(self.clone());
        }
        let smaller = FileSystemSpec::new(files.settings.clone(), device);
        let smaller =
            smaller.map_err(|(key, message)| format!("makes a file system that cannot be: {key}: {message}"))?;
        let ages = self.phases_age();
        for (phase, of) in scaled.phases.iter_mut().zip(&self.phases) {
            phase.workload = of.workload.clone();
            scale_phase(phase, &files.device, &smaller.device, ages);
        }
        if let (Some(probe), Some(of)) = (&mut scaled.probe, &self.probe) {
            probe.workload = of.workload.clone();
            scale_workload(&mut probe.workload, &files.device, &smaller.device, Folded::Whole);
        }
        scaled.file_system = Some(smaller);
        if scaled.array.is_some() {
            scaled.array = scaled.resolved_again("a file system on an array")?.array;
        }
        Ok(scaled)
    }

    /// What the text of a scaled array makes of it: its members have the one firmware and the requests that the text gives them.
    fn resolved_again(&self, what: &str) -> Result<Self, String> {
        let sources = Sources { file: Some((&self.name, &self.to_toml())), ..Sources::default() };
        Self::resolve(&sources).map_err(|error| format!("makes {what} that cannot be: {}", error.to_string().trim()))
    }

    /// The same array of smaller members: all have the same share of their blocks, so that their sizes keep their proportions. With a clock they keep all
    /// dies, and each die its load.
    fn array_scaled(&self, array: &ArraySpec, scale: Scale) -> Result<Self, String> {
        let least = array.members.iter().map(Self::least_share).fold(0.0, f64::max);
        let share = match scale {
            Scale::Auto => least,
            Scale::Ratio(share) if share * ASKED_ALIKE < least => {
                return Err(format!(
                    "leaves too few blocks of the smallest member, of which 1/{:.1} or more is needed; --scale auto takes it for all members",
                    (10.0 / least).floor() / 10.0
                ));
            }
            Scale::Ratio(share) => share.max(least),
        };
        if share >= 1.0 {
            return Ok(self.clone());
        }
        let members = array.members.iter().map(|member| member.on(member.cut_to(share)));
        let members = members.collect::<Result<Vec<Self>, String>>()?;
        let largest = array.members.iter().map(|member| member.device.logical_bytes()).max().unwrap_or(0);
        let mut scaled = self.clone();
        (scaled.array, scaled.probe) = (None, None);
        let base = scaled.on(scaled.cut_to(share))?;
        (scaled.device, scaled.ftl, scaled.probe) = (base.device, base.ftl, self.probe.clone());
        // One firmware is that of all members: its reserve is enough for each.
        let reserves = members.iter().map(|member| member.ftl.gc_reserve);
        scaled.ftl.gc_reserve = reserves.fold(scaled.ftl.gc_reserve, u32::max);
        let resized = array.replace_members(members)?;
        let (from, to) = (&array.device, &resized.device);
        let (ages, part_of) = (self.phases_age(), f64::from(to.logical_units) / f64::from(from.logical_units));
        for phase in &mut scaled.phases {
            scale_phase(phase, from, to, ages);
            phase.until.requests = phase.until.requests.map(|count| if ages { part(count, part_of) } else { count });
        }
        if let Some(probe) = &mut scaled.probe {
            scale_workload(&mut probe.workload, from, to, Folded::Whole);
        }
        if let Some(forecast) = &mut scaled.forecast {
            // What is bought is the larger drive.
            forecast.drive_capacity.get_or_insert(Bytes(largest));
        }
        scaled.array = Some(resized);
        let resolved = scaled.resolved_again("an array")?;
        Ok(Self { array: resolved.array, device: resolved.device, ftl: resolved.ftl, ..scaled })
    }

    /// The shapes of a member with fewer and fewer dies, each with its least blocks. With a clock there is only that of all dies.
    fn smaller_shapes(&self) -> Vec<Shape> {
        let dies_min = if self.time.is_timed() { self.device.geometry.dies() } else { self.dies_min() };
        let with_least = |shape: Shape| Shape { blocks_per_plane: self.least_blocks(shape.dies()), ..shape };
        let (mut shape, mut all) = (self.whole(), vec![with_least(self.whole())]);
        while shape.channels > 1 || shape.dies_per_channel > 1 {
            if shape.channels > 1 {
                shape.channels /= 2;
            } else {
                shape.dies_per_channel /= 2;
            }
            let least = with_least(shape);
            let blocks =
                u64::from(least.dies() * self.device.geometry.planes_per_die()) * u64::from(least.blocks_per_plane);
            if shape.dies() < dies_min || blocks < BLOCKS_MIN {
                break;
            }
            all.push(least);
        }
        all
    }

    /// The share of its blocks that a shape of the drive has.
    fn share_of(&self, shape: Shape) -> f64 {
        let geometry = &self.device.geometry;
        let blocks = f64::from(shape.dies() * geometry.planes_per_die()) * f64::from(shape.blocks_per_plane);
        blocks / f64::from(geometry.blocks())
    }

    /// The least share of its blocks that a member can be cut to.
    fn least_share(&self) -> f64 {
        self.smaller_shapes().into_iter().map(|shape| self.share_of(shape)).fold(1.0, f64::min)
    }

    /// The shape of a member with this share of its blocks, and as many of its dies as that allows.
    fn cut_to(&self, share: f64) -> Shape {
        let whole = self.whole();
        let fits = |shape: &Shape| self.share_of(*shape) <= share * (1.0 + 1e-9);
        let shape = self.smaller_shapes().into_iter().find(fits).unwrap_or(whole);
        let dies = f64::from(whole.dies()) / f64::from(shape.dies());
        let blocks = (share * f64::from(whole.blocks_per_plane) * dies).round() as u32;
        Shape { blocks_per_plane: blocks.clamp(1, whole.blocks_per_plane), ..shape }
    }

    /// The shape that the drive has.
    fn whole(&self) -> Shape {
        let geometry = &self.device.geometry;
        Shape {
            channels: geometry.channels(),
            dies_per_channel: geometry.dies_per_channel(),
            blocks_per_plane: geometry.blocks_per_plane(),
            pages_per_block: geometry.pages_per_block(),
        }
    }

    /// Least blocks of a plane where the drive has N dies.
    fn least_blocks(&self, dies: u32) -> u32 {
        let geometry = &self.device.geometry;
        let all = BLOCKS_MIN.div_ceil(u64::from(dies) * u64::from(geometry.planes_per_die()));
        let of_domain = DOMAIN_BLOCKS_MIN.div_ceil(self.domain_width(dies));
        all.max(of_domain).min(u64::from(geometry.blocks_per_plane())) as u32
    }

    /// Returns a miniature of at most about `units_most` units, to measure how long it runs. It does the same kind of work, but its results are
    /// only roughly the same, since its blocks are few and short. A drive of up to twice `units_most` units is returned unchanged.
    ///
    /// # Errors
    /// The scenario does not fit so small a drive.
    pub fn miniature(&self, units_most: u64) -> Result<Self, String> {
        let of = &self.device.geometry;
        if self.device.physical_units() <= 2 * units_most {
            return Ok(self.clone());
        }
        let mut shape = self.whole();
        let dies_most = self.dies_min().min(MINIATURE_DIES).max(self.stripe());
        while shape.dies() > dies_most && (shape.channels > 1 || shape.dies_per_channel > 1) {
            if shape.channels > 1 { shape.channels /= 2 } else { shape.dies_per_channel /= 2 }
        }
        let planes = u64::from(shape.dies() * of.planes_per_die());
        let in_domain = self.domain_width(shape.dies());
        let least = MINIATURE_BLOCKS.div_ceil(planes).max(MINIATURE_DOMAIN_BLOCKS.div_ceil(in_domain));
        shape.blocks_per_plane = least.min(u64::from(of.blocks_per_plane())) as u32;
        let pages = units_most / (planes * u64::from(shape.blocks_per_plane) * u64::from(self.device.units_per_page));
        shape.pages_per_block =
            pages.clamp(MINIATURE_PAGES.min(u64::from(of.pages_per_block())), u64::from(of.pages_per_block())) as u32;
        self.on(shape)
    }

    /// One drive of an array alone, with the array's clock and requests on as many addresses as it has, and its probe: to measure how long it runs. `None` if
    /// there is no such drive.
    pub fn of_member(&self, place: usize) -> Option<Self> {
        let array = self.array.as_ref()?;
        let mut member = array.members.get(place)?.clone();
        (member.phases, member.precondition) = (self.phases.clone(), self.precondition);
        (member.probe, member.time) = (self.probe.clone(), self.time);
        let of = self.workload_device();
        if member.device.logical_units < of.logical_units {
            let ages = self.phases_age();
            member.phases.iter_mut().for_each(|phase| scale_phase(phase, of, &member.device, ages));
            member
                .probe
                .iter_mut()
                .for_each(|probe| scale_workload(&mut probe.workload, of, &member.device, Folded::Whole));
        }
        Some(member)
    }

    /// The scenario on a drive of this shape.
    fn on(&self, shape: Shape) -> Result<Self, String> {
        let from = &self.device;
        let device = self.device_of(shape)?;
        let load = f64::from(shape.dies()) / f64::from(from.geometry.dies());
        let mut scaled = self.clone();
        scaled.ftl.gc_reserve = device.gc_reserve;
        scaled.device = device;
        scaled.time.write_cache =
            self.time.write_cache.map(|Bytes(bytes)| Bytes(((bytes as f64 * load) as u64).max(512)));
        scaled.time.processors = self.time.processors.map(|count| part(u64::from(count), load) as u32);
        // The link serves fewer commands a second, in proportion to the dies; each command waits as long as before.
        scaled.time.link_rate = self.time.link_rate.map(|Rate(rate)| Rate(part(rate, load).max(1_000)));
        scaled.time.command_time = Nanos((self.time.command_time.0 as f64 / load) as u64).min(Nanos::SECOND);
        let share = f64::from(device.logical_units) / f64::from(from.logical_units);
        scaled.ftl.scale_parameters(&Shares {
            capacity: share,
            blocks: f64::from(device.blocks) / f64::from(from.blocks),
            reserve: f64::from(device.blocks / self.domains(&device.geometry))
                / f64::from(from.blocks / self.domains(&from.geometry)),
        })?;
        let ages = self.phases_age();
        for phase in &mut scaled.phases {
            scale_phase(phase, from, &device, ages);
            phase.until.requests =
                phase.until.requests.map(|requests| if ages { part(requests, share) } else { requests });
            phase.arrival = scale_arrival(phase.arrival, load);
        }
        if let Some(probe) = &mut scaled.probe {
            scale_workload(&mut probe.workload, from, &device, Folded::Whole);
            probe.arrival = scale_arrival(probe.arrival, load);
        }
        Ok(scaled)
    }

    /// The smallest shape that a scale asks for and the scenario allows.
    fn shape(&self, scale: Scale) -> Result<Shape, String> {
        let geometry = &self.device.geometry;
        let whole = self.whole();
        let ratio = match scale {
            Scale::Auto => 0.0,
            Scale::Ratio(ratio) => ratio,
        };
        let wanted = (ratio * f64::from(geometry.blocks())).max(1.0);
        let in_all = u64::from(geometry.dies()) * u64::from(geometry.planes_per_die());
        let least = |dies: u32| self.least_blocks(dies);
        let even = (wanted / in_all as f64).round() as u32;
        let mut shape = Shape { blocks_per_plane: even.max(least(whole.dies())), ..whole };
        let blocks =
            |shape: Shape| u64::from(shape.dies() * geometry.planes_per_die()) * u64::from(shape.blocks_per_plane);
        let dies_min = self.dies_min();
        loop {
            let cut = match shape {
                Shape { channels, .. } if channels > 1 => Shape { channels: channels / 2, ..shape },
                Shape { dies_per_channel, .. } if dies_per_channel > 1 => {
                    Shape { dies_per_channel: dies_per_channel / 2, ..shape }
                }
                _ => break,
            };
            let fewer_blocks_would_do = blocks(cut) >= BLOCKS_MIN && blocks(cut) as f64 >= 0.75 * wanted;
            if cut.dies() < dies_min || !fewer_blocks_would_do || cut.blocks_per_plane < least(cut.dies()) {
                break;
            }
            shape = cut;
        }
        if let Scale::Ratio(_) = scale {
            // The remaining dies get the blocks of the dies that were cut.
            let planes = f64::from(shape.dies() * geometry.planes_per_die());
            shape.blocks_per_plane =
                ((wanted / planes).round() as u32).clamp(least(shape.dies()), whole.blocks_per_plane);
        }
        if let Scale::Ratio(_) = scale
            && (blocks(shape) as f64 > ASKED_ALIKE * wanted || blocks(shape) == u64::from(geometry.blocks()))
            && wanted < f64::from(geometry.blocks())
        {
            let (found, all) = (blocks(shape), geometry.blocks());
            // Rounded down, so that the ratio in the message is allowed.
            let parts = (f64::from(all) / found as f64 * 10.0).floor() / 10.0;
            let allowed = if parts > 1.0 {
                format!("--scale auto takes it, and 1/{parts} or more does")
            } else {
                "this drive is run whole, without --scale".to_owned()
            };
            return Err(format!(
                "leaves {wanted:.0} of {all} blocks, but the smallest drive of this shape for this scenario has {found}: {allowed}"
            ));
        }
        Ok(shape)
    }

    /// Blocks of a domain for each block of a plane, on a drive of `dies` dies. Superblocks of a die count as its blocks, since more of them would
    /// take as much more flash; those of the whole drive count as one.
    fn domain_width(&self, dies: u32) -> u64 {
        let planes = u64::from(self.device.geometry.planes_per_die());
        match (self.ftl.erase_group, self.ftl.domain) {
            (EraseGroup::Superblock, Pooling::Die) => planes,
            (EraseGroup::Superblock, Pooling::Drive) => 1,
            (EraseGroup::Block, Pooling::Die) => planes,
            (EraseGroup::Block, Pooling::Drive) => planes * u64::from(dies),
        }
    }

    /// Least number of dies that the scenario needs.
    fn dies_min(&self) -> u32 {
        let dies = self.device.geometry.dies();
        let arrivals =
            self.phases.iter().map(|phase| phase.arrival).chain(self.probe.iter().map(|probe| probe.arrival));
        let by_trace = self.time.is_timed() && arrivals.into_iter().any(|arrival| arrival == Arrival::Trace);
        let stripe = self.stripe();
        match self.medium.faults.lost_die {
            // The times of a trace are the load of all dies.
            _ if by_trace => dies,
            Some(_) => dies,
            None if self.time.is_timed() => stripe.max(TIMED_DIES_MIN.min(dies)),
            None => stripe,
        }
    }

    /// Dies that a stripe lies on; 1 without redundancy.
    fn stripe(&self) -> u32 {
        let redundancy = self.ftl.redundancy.policy();
        if redundancy.acts() { redundancy.data_pages() + 1 } else { 1 }
    }

    /// Domains of a drive of this geometry.
    fn domains(&self, geometry: &Geometry) -> u32 {
        match self.ftl.domain {
            Pooling::Die => geometry.dies(),
            Pooling::Drive => 1,
        }
    }

    /// The parameters of its policies that count what a drive of another size has more or fewer of, such as blocks: their keys and values.
    /// A share is not among them.
    pub fn sized_parameters(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for family in Family::all() {
            for (name, _, value) in family.sized(self.ftl.table(family)) {
                found.push((format!("ftl.{}.{name}", family.key()), value.to_string()));
            }
        }
        found
    }

    fn device_of(&self, shape: Shape) -> Result<Device, String> {
        let from = &self.device;
        let of = &from.geometry;
        let geometry = Geometry::new(
            shape.channels,
            shape.dies_per_channel,
            of.planes_per_die(),
            shape.blocks_per_plane,
            shape.pages_per_block,
            of.page_size(),
        )
        .map_err(|error| error.to_string())?;
        let blocks = Layout::new(geometry, self.ftl.erase_group, self.ftl.domain, from.units_per_page).blocks();
        let (before, now) = (self.domains(of), self.domains(&geometry));
        let by_domain = f64::from(blocks / now) / f64::from(from.blocks / before);
        let least = from.gc_reserve.min(RESERVE_MIN);
        let gc_reserve = ((f64::from(from.gc_reserve) * by_domain).round() as u32).max(least);
        // Blocks for data and spare space: all but the reserve and the open blocks.
        let streams = self.ftl.streams();
        let usable =
            |blocks: u32, domains: u32, reserve: u32| f64::from(blocks) - f64::from(domains * (reserve + streams));
        let units_per_block = |geometry: &Geometry, blocks: u32| {
            f64::from(geometry.pages()) * f64::from(from.units_per_page) / f64::from(blocks)
        };
        let room = usable(blocks, now, gc_reserve) * units_per_block(&geometry, blocks);
        let room_before = usable(from.blocks, before, from.gc_reserve) * units_per_block(of, from.blocks);
        let logical_units = (f64::from(from.logical_units) * room / room_before).floor() as u32;
        if logical_units == 0 {
            return Err("leaves no logical capacity".to_owned());
        }
        let physical = f64::from(geometry.pages()) * f64::from(from.units_per_page);
        Ok(Device {
            geometry,
            logical_units,
            blocks,
            rated_blocks: blocks - gc_reserve * now,
            gc_reserve,
            spare_factor: 1.0 - f64::from(logical_units) / physical,
            scaled_from: Some(from.scaled_from.unwrap_or(Bytes(from.logical_bytes()))),
            ..*from
        })
    }
}

/// The shares of a larger drive that a smaller one has.
struct Shares {
    /// Of its capacity.
    capacity: f64,
    /// Of its firmware blocks.
    blocks: f64,
    /// Of the blocks of a domain, for what stands beside the reserve.
    reserve: f64,
}

impl FtlSettings {
    /// Scales the parameters of policies that count blocks, units or writes.
    ///
    /// # Errors
    /// A policy refuses them; one sentence.
    fn scale_parameters(&mut self, shares: &Shares) -> Result<(), String> {
        for family in Family::all() {
            let sized: Vec<_> = family.sized(self.table(family)).collect();
            let scaled = sized.into_iter().filter_map(|(name, scales, value)| {
                let (share, least) = match scales {
                    "capacity" => (shares.capacity, 1),
                    "blocks" => (shares.blocks, 1),
                    _ => (shares.reserve, u64::from(RESERVE_MIN) + 1),
                };
                let scale = |count: u64| part(count, share).max(least.min(count));
                let scaled = match &value {
                    Value::Integer(count) => Value::Integer(scale(u64::try_from(*count).ok()?) as i64),
                    Value::String(text) => Value::String(Bytes(scale(text.parse::<Bytes>().ok()?.0)).exactly()),
                    _ => return None,
                };
                Some((name, scaled))
            });
            let scaled: Table = scaled.collect();
            if !scaled.is_empty() {
                let table = self.table(family).clone().into_iter().chain(scaled).collect();
                family.choose(self, table).map_err(|refused| refused.message)?;
            }
        }
        Ok(())
    }
}

/// Which of a trace's requests a smaller drive serves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folded {
    /// All of them, folded onto its addresses: the number of requests at a time matters.
    Whole,
    /// Those to its share of the addresses: the data that they overwrite matter.
    Share,
}

/// Returns a share of a count, at least 1.
fn part(count: u64, share: f64) -> u64 {
    ((count as f64 * share).round() as u64).max(1)
}

fn scale_phase(phase: &mut Phase, from: &Device, to: &Device, ages: bool) {
    let folded = if ages { Folded::Share } else { Folded::Whole };
    scale_workload(&mut phase.workload, from, to, folded);
}

fn scale_workload(workload: &mut Workload, from: &Device, to: &Device, folded: Folded) {
    let share = f64::from(to.logical_units) / f64::from(from.logical_units);
    debug_assert!(share > 0.0, "a scaled drive exports a unit");
    match workload {
        Workload::Pattern(pattern) => {
            let scaled = part(u64::from(pattern.footprint_units), share) as u32;
            pattern.footprint_units = scaled.clamp(pattern.request_units.min(to.logical_units), to.logical_units);
            pattern.request_units = pattern.request_units.min(pattern.footprint_units);
            assert!(pattern.footprint_units <= to.logical_units, "a pattern stays on the scaled drive");
        }
        Workload::Trace(trace) if folded == Folded::Share => {
            let sample = f64::from(trace.sample) / share;
            trace.sample = (sample.round() as u32).clamp(1, SAMPLE_MAX);
        }
        Workload::Mix(parts) => {
            parts.iter_mut().for_each(|(_, part)| scale_workload(part, from, to, folded));
        }
        Workload::Lsm(store) => store.scale(share, to.logical_units, to.unit),
        // A stand-in adapts to the drive that it runs on.
        Workload::Trace(_) | Workload::Standin(_) => {}
    }
}

/// Scales arrivals so that the load of a die stays the same.
fn scale_arrival(arrival: Arrival, load: f64) -> Arrival {
    assert!(0.0 < load && load <= 1.0, "a scaled drive has some of the dies, found {load} of them");
    let longer = |ns: u64| (ns as f64 / load) as u64;
    match arrival {
        Arrival::QueueDepth(depth) => Arrival::QueueDepth(part(u64::from(depth), load) as u32),
        Arrival::Poisson(mean) => Arrival::Poisson(longer(mean)),
        Arrival::Normal { mean_ns, sd_ns } => Arrival::Normal { mean_ns: longer(mean_ns), sd_ns: longer(sd_ns) },
        Arrival::Trace => Arrival::Trace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;

    fn scenario(text: &str) -> Scenario {
        let sources = Sources { file: Some(("test.toml", text)), ..Sources::default() };
        Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}"))
    }

    const LARGE: &str = "[drive]\npreset = 'tlc-enterprise-3.84t'\n";

    /// A file system is scaled with what it stands on, and its files with what it has for them.
    #[test]
    fn a_file_system_is_scaled_with_its_drive_or_array() {
        let files = "[file-system]\nutilization = 0.7\n[workload]\nfootprint = '50 %'\n[until]\nrequests = 1_000_000\n";
        let raid = "[array]\nlayout = 'raid'\nmember = [{ count = 5 }]\n";
        for text in [format!("{LARGE}{files}"), format!("{LARGE}{raid}{files}")] {
            let large = scenario(&text);
            let scaled = large.scaled(Scale::Auto).unwrap();
            let share = |scenario: &Scenario| match &scenario.phases[0].workload {
                Workload::Pattern(spec) => {
                    f64::from(spec.footprint_units) / f64::from(scenario.workload_device().logical_units)
                }
                other => panic!("{other:?}"),
            };
            assert!((share(&scaled) - 0.5).abs() < 1e-3 && (share(&large) - 0.5).abs() < 1e-6, "{}", share(&scaled));
            let of = |scenario: &Scenario| {
                let files = f64::from(scenario.workload_device().logical_units);
                (files, files / f64::from(scenario.host_device().logical_units))
            };
            let ((was, before), (is, after)) = (of(&large), of(&scaled));
            assert!(is < was / 10.0 && (after / before - 1.0).abs() < 0.05, "{is} of {was}, {after} for {before}");
            let segment = |scenario: &Scenario| scenario.file_system.as_ref().unwrap().segment;
            assert_eq!((segment(&large), segment(&scaled)), (Bytes(2 << 20), Bytes(2 << 20)), "the largest by default");
            let again = scenario(&scaled.to_toml());
            assert_eq!((again.hash(), &again), (scaled.hash(), &scaled));
        }
        let few =
            "logical-capacity = '64 GiB'\npages-per-block = 16\n[file-system]\nfiles = 60_000\nsegment = '2 MiB'\n";
        let few = scenario(&format!("{LARGE}{few}[until]\nrequests = 1\n"));
        let refused = few.scaled(Scale::Auto).map(|_| ()).unwrap_err();
        assert!(refused.contains("makes a file system that cannot be: file-system"), "{refused}");
    }

    #[test]
    fn a_scale_is_a_word_or_a_ratio() {
        let table =
            [("auto", Some(Scale::Auto)), ("1/64", Some(Scale::Ratio(1.0 / 64.0))), ("25 %", Some(Scale::Ratio(0.25)))];
        for (text, want) in
            table.into_iter().chain([("0", None), ("2/1", None), ("1/0", None), ("small", None), ("", None)])
        {
            assert_eq!(text.parse::<Scale>().ok(), want, "{text}");
        }
    }

    #[test]
    fn members_of_an_array_are_scaled_alike_and_the_forecast_is_of_the_large_ones() {
        let text = "[drive]\npreset = 'tlc-client-2t'\n[array]\nlayout = 'raid'\ncode = 'xor'\nwidth = 3\n\
                    [[array.member]]\ncount = 2\ndrive.logical-capacity = '4 TB'\n[[array.member]]\ncount = 2\n\
                    [[array.member]]\ndrive = { preset = 'sata-tlc-480g', logical-capacity = '1 TB' }\n\
                    [workload]\npattern = 'zipf'\nexponent = 0.9\nfootprint = '50 %'\n[time]\ndrive-writes-per-day = 0.1\n\
                    [until]\nend-of-life = true\n[forecast]\narrays = 1000\nyears = [1, 3]\n";
        let whole = scenario(text);
        let scaled = whole.scaled(Scale::Auto).unwrap();
        let sizes = |scenario: &Scenario| -> Vec<f64> {
            let members = &scenario.array.as_ref().unwrap().members;
            members.iter().map(|member| member.device.logical_bytes() as f64).collect()
        };
        let (before, after) = (sizes(&whole), sizes(&scaled));
        assert!(after[0] < 0.1 * before[0], "{after:?}");
        for (before_it, after_it) in before.iter().zip(&after) {
            let share = (after_it / after[0]) / (before_it / before[0]);
            assert!((share - 1.0).abs() < 0.02, "{before:?} {after:?}");
        }
        for (one, other) in whole.array.iter().zip(&scaled.array) {
            for (one, other) in one.members.iter().zip(&other.members) {
                let spare = |of: &Scenario| of.device.spare_factor;
                assert!((spare(one) - spare(other)).abs() < 0.02, "{} {}", spare(one), spare(other));
                assert!(one.device.geometry.dies() >= other.device.geometry.dies());
            }
        }
        assert_eq!(scaled.forecast.as_ref().unwrap().drive_capacity, Some(Bytes(before[0] as u64)));
        assert_eq!(scaled.hash(), scenario(&scaled.to_toml()).hash());
        // Drives of few blocks are small already.
        let small = scenario(
            &text
                .replace("'4 TB'", "'8 GiB'")
                .replace("'1 TB'", "'2 GiB'")
                .replace("preset = 'tlc-client-2t'", "preset = 'tlc-client-2t'\nlogical-capacity = '4 GiB'"),
        );
        assert_eq!(sizes(&small.scaled(Scale::Auto).unwrap()), sizes(&small));
        let refused = whole.scaled(Scale::Ratio(1e-6)).unwrap_err();
        assert!(refused.contains("--scale auto takes it for all members"), "{refused}");
        // With a clock each die keeps its load.
        let timed = scenario(
            &text
                .replace("[forecast]\narrays = 1000\nyears = [1, 3]\n", "")
                .replace("drive-writes-per-day = 0.1", "scheduler = 'event'"),
        );
        let dies = |of: &Scenario| of.array.as_ref().unwrap().members[0].device.geometry.dies();
        assert_eq!(dies(&timed), dies(&timed.scaled(Scale::Auto).unwrap()));
        let half = whole.scaled(Scale::Ratio(0.5)).unwrap();
        assert!((sizes(&half)[4] / before[4] - 0.5).abs() < 0.02, "{:?}", sizes(&half));
    }

    #[test]
    fn blocks_of_a_plane_are_cut_before_dies_and_arrivals_with_dies() {
        let timed = "[time]\nscheduler = 'event'\n[until]\nrequests = 1_000\n";
        let depth = "[workload]\narrival = { queue-depth = 64 }\n";
        let whole = scenario(&format!("{LARGE}{timed}{depth}"));
        let quarter = whole.scaled(Scale::Ratio(0.26)).unwrap();
        assert_eq!((quarter.device.geometry.dies(), quarter.device.geometry.blocks_per_plane()), (64, 129));
        assert_eq!(
            (quarter.phases[0].arrival, quarter.phases[0].until.requests),
            (whole.phases[0].arrival, Some(1_000))
        );
        let least = whole.scaled(Scale::Auto).unwrap();
        assert_eq!((least.device.geometry.dies(), least.device.geometry.blocks()), (32, 16_384));
        assert_eq!((least.phases[0].arrival, least.time.write_cache), (Arrival::QueueDepth(32), Some(Bytes(32 << 20))));
        let kept = |scenario: &Scenario| {
            let shape = &scenario.device.geometry;
            (
                shape.pages_per_block(),
                shape.planes_per_die(),
                shape.page_size(),
                scenario.device.endurance,
                scenario.device.gc_reserve,
            )
        };
        assert_eq!((kept(&whole), kept(&whole)), (kept(&quarter), kept(&least)));
        let error = whole.scaled(Scale::Ratio(0.001)).unwrap_err();
        assert!(error.contains("has 16384: --scale auto takes it, and 1/7."), "{error}");
        let ratio: f64 = error.split("1/").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
        assert!(whole.scaled(Scale::Ratio(1.0 / ratio)).is_ok(), "what the message allows is allowed: {error}");
        // Halving the dies leaves each of the others more blocks: what is asked for comes out, or is refused.
        for parts in 2..=12 {
            let asked = whole.device.geometry.blocks() / parts;
            if let Ok(found) = whole.scaled(Scale::Ratio(1.0 / f64::from(parts))) {
                let found = found.device.geometry.blocks();
                assert!(
                    (f64::from(found) / f64::from(asked) - 1.0).abs() <= 0.1,
                    "1/{parts}: {found} of {asked} blocks"
                );
            }
        }
        let small = scenario("[drive]\npreset = 'tiny'\n[until]\ndrive-writes = 1\n");
        let error = small.scaled(Scale::Ratio(0.5)).unwrap_err();
        assert!(error.contains("is run whole, without --scale"), "{error}");
        assert_eq!(small.scaled(Scale::Auto).unwrap(), small, "it is small already");
    }

    /// Counts of blocks, units and writes among policies' parameters mean the same share of the smaller drive; shares stay.
    #[test]
    fn parameters_that_count_are_scaled_with_the_drive() {
        let of = |gc: &str| {
            let text = format!(
                "{LARGE}[ftl]\ngc = {gc}\nplacement = {{ policy = 'autostream-sfr', decay = 1_000_000 }}\n\
                 capacity = {{ policy = 'variant', shrink = 'graceful', keep = 'spare', relocation-bound = '64 GiB', step = 8 }}\n[until]\nend-of-life = true\n"
            );
            let whole = scenario(&text);
            let scaled = whole.scaled(Scale::Auto).unwrap();
            let smaller = whole.device.logical_bytes() as f64 / scaled.device.logical_bytes() as f64;
            (f64::from(whole.device.blocks) / f64::from(scaled.device.blocks), smaller, scaled)
        };
        let (times, smaller, counted) = of("{ policy = 'windowed-greedy', window = 4096 }");
        let found: std::collections::BTreeMap<String, String> = counted.sized_parameters().into_iter().collect();
        let number = |key: &str| found[key].parse::<f64>().unwrap();
        assert!(times > 3.0, "{times}");
        assert!((number("ftl.gc.window") * times / 4096.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!((number("ftl.placement.decay") * smaller / 1e6 - 1.0).abs() < 1e-3, "{found:?}");
        assert_eq!(found["ftl.capacity.step"], (8.0 / times).round().max(1.0).to_string());
        let bound: Bytes = found["ftl.capacity.relocation-bound"].trim_matches('"').parse().unwrap();
        assert!((bound.0 as f64 * smaller / f64::from(64 << 10) / f64::from(1 << 20) - 1.0).abs() < 1e-3, "{found:?}");
        let (_, _, shared) = of("{ policy = 'windowed-greedy', window = '5 %' }");
        assert!(shared.sized_parameters().iter().all(|(key, _)| key != "ftl.gc.window"), "a share is no count");
        let again = scenario(&counted.to_toml());
        assert_eq!((again.hash(), again.sized_parameters()), (counted.hash(), counted.sized_parameters()));
    }

    #[test]
    fn a_trace_that_ages_is_sampled_and_one_that_is_timed_is_folded() {
        let trace = "[workload]\ntrace = 'a.csv'\narrival = 'trace'\n[time]\nscheduler = 'event'\n";
        let probed = scenario(&format!("{LARGE}{trace}[probe]\nat-years = [1]\n[until]\nyears = 1\n"));
        let scaled = probed.scaled(Scale::Auto).unwrap();
        let sample = |workload: &Workload| match workload {
            Workload::Trace(trace) => trace.sample,
            other => panic!("{other:?}"),
        };
        // The times of a trace are the load of all dies, which are therefore kept.
        assert_eq!((scaled.device.geometry.dies(), scaled.device.geometry.blocks_per_plane()), (64, 128));
        assert_eq!((sample(&scaled.phases[0].workload), sample(&scaled.probe.as_ref().unwrap().workload)), (4, 1));
        let again = scenario(&scaled.to_toml());
        assert_eq!((again.hash(), again.device), (scaled.hash(), scaled.device));
        let timed = scenario(&format!("{LARGE}{trace}[until]\nrequests = 5\n")).scaled(Scale::Auto).unwrap();
        assert_eq!(sample(&timed.phases[0].workload), 1);
    }
}
