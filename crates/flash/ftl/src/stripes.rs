//! Stripes: which physical pages protect each other, and how many of their units are still valid.
//!
//! Parity is mapped like data, under logical units above those of the host: with `u` units in a page, stripe `i` has the `u` logical
//! units from `logical_initial + i * u` on. So garbage collection moves parity without knowing what it is.

mod rows;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::Task;
use wane_units::{DieId, Divisor, prefetch};

use crate::config::PageId;
use crate::policies::redundancy::RedundancyPolicy;
use crate::table::Table;
use rows::{Rows, Stage, State};

/// Distance of the second prefetch, in writes. By then the first one has loaded the number of a page's stripe, which says where the
/// stripe lies.
const SECOND_PREFETCH: usize = 8;

/// How many stripes ahead of the one that takes a page are prefetched. A die that collects fills one after the other.
const STRIPES_AHEAD: usize = 8;

/// An entry of a table that names no page or no stripe.
const NONE: u32 = u32::MAX;

/// Number of a stripe. Numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StripeId(pub(crate) u32);

impl StripeId {
    /// The id as an index into a table.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Most stripes that fill at the same time for each task; each group of dies has an equal share. Beyond it the fullest is closed with
/// fewer pages. A die that collects many nearly full blocks in a row begins a stripe for each page that it programs.
const FILLING_MAX: usize = 16_384;

/// [`FILLING_MAX`], but at most the pages of a drive.
fn filling_max(pages: u32) -> usize {
    FILLING_MAX.min(pages as usize)
}

#[derive(Clone)]
pub(crate) struct Stripes {
    pub(crate) policy: Box<dyn RedundancyPolicy>,
    data_pages: usize,
    /// Whether the policy has reads go around a die.
    pub(crate) reads_around: bool,
    /// Whether pages carry the number of their stripe in their out-of-band data. The number is reused once no page carries it any more.
    in_out_of_band: bool,
    filling_max: usize,
    /// By [`PageId`]: the stripe that the page is in, or [`NONE`]. Kept until the page is erased if it lies in the out-of-band data.
    stripe_of: Table<u32>,
    rows: Rows,
    vacant: Vec<StripeId>,
    /// Number of dies in a group. The pages of a stripe lie in one group.
    group_dies: u32,
    by_group: Divisor,
    /// By task, and by group of dies within a task.
    filling: Vec<Filling>,
    /// Stripes that are full and wait for their parity.
    pub(crate) full: Full,
    /// Stripes that lost their last valid unit, whose parity is to be dropped.
    emptied: Vec<StripeId>,
    /// The domain that is asked first for room for the next parity.
    pub(crate) turn: u32,
    /// The dies of [`Stripes::note_dies`].
    noted: Vec<DieId>,
    /// The pages that the last calls of [`Stripes::prefetch_unit`] named, each at the call's number modulo the length. Only speed
    /// depends on them.
    prefetched: [u32; SECOND_PREFETCH],
}

/// Stripes that are full and wait for their parity, in the order in which they became full or were last passed over, each
/// with the task that filled it.
///
/// A drive that has no room for parity keeps thousands of them waiting, and releases most before their parity is written.
/// So a released stripe only loses its ticket, and its entry is skipped when it comes up.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Full {
    /// Ticket, stripe, task. An entry is valid while its stripe holds the same ticket.
    queue: VecDeque<(u64, StripeId, Task)>,
    /// Ticket of each stripe; 0: the stripe does not wait.
    tickets: Vec<u64>,
    issued: u64,
    waiting: usize,
}

impl Full {
    /// Number of stripes that wait.
    pub(crate) fn len(&self) -> usize {
        debug_assert!(self.waiting <= self.queue.len(), "every stripe that waits has an entry");
        self.waiting
    }

    pub(crate) fn push_back(&mut self, stripe: StripeId, task: Task) {
        if self.tickets.len() <= stripe.index() {
            self.tickets.resize(stripe.index() + 1, 0);
        }
        debug_assert_eq!(self.tickets[stripe.index()], 0, "a stripe waits once");
        self.issued += 1;
        self.tickets[stripe.index()] = self.issued;
        self.queue.push_back((self.issued, stripe, task));
        self.waiting += 1;
        // There are at most as many entries without a ticket as with one, so memory is bounded and the cost amortized.
        if self.queue.len() > 2 * self.waiting + 64 {
            let tickets = &self.tickets;
            self.queue.retain(|(ticket, stripe, _)| tickets[stripe.index()] == *ticket);
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<(StripeId, Task)> {
        while let Some((ticket, stripe, task)) = self.queue.pop_front() {
            if self.tickets[stripe.index()] == ticket {
                self.tickets[stripe.index()] = 0;
                self.waiting -= 1;
                return Some((stripe, task));
            }
        }
        debug_assert_eq!(self.waiting, 0, "every stripe that waits has an entry");
        None
    }

    fn waits(&self, stripe: StripeId) -> bool {
        self.tickets.get(stripe.index()).is_some_and(|ticket| *ticket != 0)
    }

    /// The stripes that wait, with their tasks.
    fn waiting(&self) -> impl Iterator<Item = (StripeId, Task)> {
        let counts = |(ticket, stripe, _): &&(u64, StripeId, Task)| self.tickets[stripe.index()] == *ticket;
        self.queue.iter().filter(counts).map(|(_, stripe, task)| (*stripe, *task))
    }

    /// Removes a stripe, if it waits.
    fn remove(&mut self, stripe: StripeId) {
        let Some(ticket) = self.tickets.get_mut(stripe.index()) else { return };
        if std::mem::take(ticket) != 0 {
            self.waiting -= 1;
        }
    }
}

/// Stripes of a group of dies that take pages, numbered in the order in which they began. Each die fills them in that order, so one number
/// for each die is enough: all stripes below it have a page of the die.
#[derive(Clone, Serialize, Deserialize)]
struct Filling {
    stripes: VecDeque<StripeId>,
    /// Number of the first of them.
    first: u64,
    /// By die of the group: the number of the first stripe that has no page of it.
    next: Vec<u64>,
}

impl Filling {
    fn new(dies: u32) -> Self {
        Self { stripes: VecDeque::new(), first: 0, next: vec![0; dies as usize] }
    }
}

impl Stripes {
    /// Makes an empty set of stripes over `pages` pages of `dies` dies.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub(crate) fn new(
        policy: Box<dyn RedundancyPolicy>,
        pages: u32,
        dies: u32,
        in_out_of_band: bool,
    ) -> std::io::Result<Self> {
        assert!(policy.data_pages() > 0, "a stripe without a page of data would never be full");
        let group_dies = policy.group_dies().unwrap_or(dies);
        assert!(policy.data_pages() < group_dies, "the pages of a stripe and its parity lie on different dies");
        assert_eq!(dies % group_dies, 0, "every die is in a group");
        let mut stripe_of = Table::zeroed(pages as usize)?;
        stripe_of.fill(NONE);
        let data_pages = policy.data_pages() as usize;
        Ok(Self {
            data_pages,
            reads_around: policy.reads_around(),
            policy,
            in_out_of_band,
            filling_max: filling_max(pages).div_ceil((dies / group_dies) as usize),
            stripe_of,
            rows: Rows::new(data_pages, Self::count_max(pages))?,
            vacant: Vec::new(),
            group_dies,
            by_group: Divisor::new(group_dies),
            filling: vec![Filling::new(group_dies); Task::ALL.len() * (dies / group_dies) as usize],
            full: Full::default(),
            emptied: Vec::new(),
            turn: 0,
            noted: Vec::with_capacity(data_pages),
            prefetched: [0; SECOND_PREFETCH],
        })
    }

    /// Writes all stripes to a file, or reads them back. The targets of the last prefetches are only hints and are not kept.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("stripes.data-pages", &(self.data_pages as u32))?;
        archive.fixed("stripes.of-pages", &mut self.stripe_of)?;
        let (mut states, mut members) = self.rows.taken_apart();
        archive.field("stripes.stripes", &mut states)?;
        archive.list("stripes.members", &mut members)?;
        if !self.rows.put_together(&states, &members) {
            return Err(ArchiveError::Damaged { name: "stripes.members".to_owned() });
        }
        archive.field("stripes.vacant", &mut self.vacant)?;
        archive.same("stripes.group-dies", &self.group_dies)?;
        archive.field("stripes.filling-by-group", &mut self.filling)?;
        archive.field("stripes.full", &mut self.full)?;
        archive.field("stripes.emptied", &mut self.emptied)?;
        archive.field("stripes.turn", &mut self.turn)
    }

    /// Whether the counts of a stripe of `data_pages` pages of `units_per_page` units are in range.
    pub(crate) fn are_counted(data_pages: u32, units_per_page: u32) -> bool {
        rows::are_counted(data_pages, units_per_page)
    }

    /// Most stripes at a time. Each keeps a data page from being erased, and also a page of parity once it has parity.
    pub(crate) fn count_max(pages: u32) -> u32 {
        (pages / 2).saturating_add(2 * (filling_max(pages) * Task::ALL.len()) as u32)
    }

    /// The stripe that a page is in.
    #[inline]
    pub(crate) fn stripe_of(&self, page: PageId) -> Option<StripeId> {
        let stripe = Some(self.stripe_of[page.index()]).filter(|stripe| *stripe != NONE).map(StripeId)?;
        (!self.in_out_of_band || self.rows.state(stripe).stage != Stage::Spent).then_some(stripe)
    }

    /// The number of the stripe that a page's out-of-band data carry.
    pub(crate) fn named_by(&self, page: PageId) -> Option<StripeId> {
        Some(self.stripe_of[page.index()]).filter(|stripe| *stripe != NONE).map(StripeId)
    }

    /// The pages of a stripe that were not erased.
    pub(crate) fn members(&self, stripe: StripeId) -> impl Iterator<Item = PageId> + '_ {
        self.rows.members(stripe).iter().copied().filter(|page| *page != NONE).map(PageId)
    }

    /// Adds programmed pages of a die, given with their numbers of valid units. Each joins the oldest filling stripe that has no page on the die.
    /// Returns the number of pages that stay unprotected because there is no room for another stripe.
    pub(crate) fn join(&mut self, task: Task, die: DieId, pages: impl Iterator<Item = (PageId, u32)>) -> u64 {
        if !self.policy.protects(task) {
            return 0;
        }
        let (group, die) = self.by_group.split(die.0);
        let (place, die) = (self.place(task, group), die as usize);
        let mut unprotected = 0;
        for (page, live) in pages {
            let filling = &mut self.filling[place];
            let next = filling.next[die].max(filling.first);
            let position = (next - filling.first) as usize;
            if position == filling.stripes.len() {
                let Some(stripe) = Self::take_vacant(&mut self.vacant, &mut self.rows) else {
                    unprotected += 1;
                    continue;
                };
                filling.stripes.push_back(stripe);
            }
            if let Some(ahead) = filling.stripes.get(position + STRIPES_AHEAD) {
                self.rows.prefetch(ahead.0);
            }
            filling.next[die] = next + 1;
            let stripe = filling.stripes[position];
            debug_assert_eq!(self.stripe_of[page.index()], NONE, "a page is in one stripe");
            self.stripe_of[page.index()] = stripe.0;
            let state = self.rows.join(stripe, page, live);
            debug_assert_eq!(state.stage, Stage::Filling, "pages join stripes whose parity is not made yet");
            // The first stripe has a page of every die that any other stripe has, so it is full first. A die that is written far
            // more than the others would leave more and more stripes unfinished.
            if position == 0 && state.joined as usize == self.data_pages || filling.stripes.len() > self.filling_max {
                self.close_first(task, place);
            }
        }
        unprotected
    }

    /// Index of the filling stripes for pages that a task programs on the dies of a group.
    #[inline]
    fn place(&self, task: Task, group: u32) -> usize {
        let groups = self.filling.len() / Task::ALL.len();
        task as usize * groups + group as usize
    }

    /// Notes the dies that hold the pages of a stripe, for [`Stripes::is_apart`], which is then asked for many dies.
    pub(crate) fn note_dies(&mut self, stripe: StripeId, die_of: impl Fn(PageId) -> DieId) {
        self.noted.clear();
        for page in self.rows.members(stripe).iter().filter(|page| **page != NONE) {
            self.noted.push(die_of(PageId(*page)));
        }
    }

    /// Whether `die` belongs to the group of the last noted dies and is not one of them.
    #[inline]
    pub(crate) fn is_apart(&self, die: DieId) -> bool {
        let is_of_group = self.noted.first().is_none_or(|noted| self.group_of(*noted) == self.group_of(die));
        is_of_group && !self.noted.contains(&die)
    }

    /// The group that a die belongs to. The pages of a stripe lie in one group.
    #[inline]
    pub(crate) fn group_of(&self, die: DieId) -> u32 {
        self.by_group.divide(die.0)
    }

    fn close_first(&mut self, task: Task, place: usize) {
        let filling = &mut self.filling[place];
        let Some(stripe) = filling.stripes.pop_front() else { return };
        filling.first += 1;
        let state = self.rows.state(stripe);
        debug_assert_eq!(state.stage, Stage::Filling, "a stripe is closed once");
        self.rows.set(stripe, State { stage: Stage::Closed, ..state });
        self.full.push_back(stripe, task);
        if state.live == 0 {
            self.emptied.push(stripe);
        }
    }

    /// Closes every stripe that takes pages, full or not.
    pub(crate) fn close_filling(&mut self) {
        let groups = self.filling.len() / Task::ALL.len();
        for place in 0..self.filling.len() {
            while !self.filling[place].stripes.is_empty() {
                self.close_first(Task::ALL[place / groups], place);
            }
        }
    }

    fn take_vacant(vacant: &mut Vec<StripeId>, rows: &mut Rows) -> Option<StripeId> {
        let fresh = State::new(Stage::Filling);
        let Some(stripe) = vacant.pop() else { return rows.add(fresh) };
        if let Some(ahead) = vacant.len().checked_sub(STRIPES_AHEAD) {
            rows.prefetch(vacant[ahead].0);
        }
        debug_assert_eq!(rows.state(stripe).stage, Stage::Vacant, "a stripe in use is not taken again");
        rows.set(stripe, fresh);
        Some(stripe)
    }

    /// Prefetches the stripes of `count` pages from `first` on, and the members of each.
    pub(crate) fn prefetch(&self, first: PageId, count: u32) {
        for stripe in &self.stripe_of[first.index()..][..count as usize] {
            if *stripe != NONE {
                self.rows.prefetch(*stripe);
            }
        }
    }

    /// Prefetches for a unit of a page that will soon no longer be valid: the number of the page's stripe, and the stripe of the page
    /// that was named [`SECOND_PREFETCH`] calls ago. `position` is the number of the call.
    #[inline]
    pub(crate) fn prefetch_unit(&mut self, position: usize, page: PageId) {
        prefetch(&self.stripe_of, page.index());
        let before = std::mem::replace(&mut self.prefetched[position % SECOND_PREFETCH], page.0);
        self.rows.prefetch(self.stripe_of[before as usize]);
    }

    /// Notes that a unit of a page is no longer valid.
    #[inline(always)]
    pub(crate) fn unit_gone(&mut self, page: PageId) {
        let Some(stripe) = self.stripe_of(page) else { return };
        let state = self.rows.lose_unit(stripe);
        if state.live == 0 && state.stage == Stage::Closed {
            self.emptied.push(stripe);
        }
    }

    /// Notes that a unit of a page is valid again, since its relocation failed.
    pub(crate) fn unit_back(&mut self, page: PageId) {
        if let Some(stripe) = self.stripe_of(page) {
            let state = self.rows.state(stripe);
            debug_assert_ne!(state.stage, Stage::Vacant, "a released stripe holds no page");
            self.rows.set(stripe, State { live: state.live + 1, ..state });
        }
    }

    /// Takes the next stripe that holds nothing valid.
    #[inline]
    pub(crate) fn next_emptied(&mut self) -> Option<StripeId> {
        while let Some(stripe) = self.emptied.pop() {
            let state = self.rows.state(stripe);
            if state.live == 0 && state.stage == Stage::Closed {
                return Some(stripe);
            }
        }
        None
    }

    /// Takes `count` pages from `first` on, which are erased, out of their stripes.
    pub(crate) fn pages_erased(&mut self, first: PageId, count: u32) {
        let stripes = &mut self.stripe_of[first.index()..][..count as usize];
        for (stripe, page) in stripes.iter_mut().zip(first.0..) {
            let stripe = StripeId(std::mem::replace(stripe, NONE));
            if stripe.0 == NONE {
                continue;
            }
            let state = self.rows.leave(stripe, PageId(page));
            if state.stage == Stage::Spent && self.rows.members(stripe).iter().all(|member| *member == NONE) {
                self.rows.set(stripe, State { stage: Stage::Vacant, ..state });
                self.vacant.push(stripe);
            }
        }
    }

    /// Releases a stripe that holds nothing valid. Its parity was already dropped.
    pub(crate) fn release(&mut self, stripe: StripeId) {
        let state = self.rows.state(stripe);
        debug_assert_eq!(state.live, 0, "a stripe that protects data stays");
        debug_assert_eq!(state.stage, Stage::Closed, "a stripe is released once, and not while it fills");
        self.full.remove(stripe);
        if self.in_out_of_band && self.members(stripe).next().is_some() {
            self.rows.set(stripe, State { stage: Stage::Spent, ..state });
            return;
        }
        for member in self.rows.members_mut(stripe) {
            let page = std::mem::replace(member, NONE);
            if page != NONE {
                self.stripe_of[page as usize] = NONE;
            }
        }
        self.rows.set(stripe, State { stage: Stage::Vacant, ..state });
        self.vacant.push(stripe);
    }

    /// The stripe numbers of all pages, as in their out-of-band data.
    pub(crate) fn named(&self) -> &Table<u32> {
        &self.stripe_of
    }

    /// Stripes that take pages or are full, each with the task that filled it. The map says whether they have parity.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = (StripeId, Task)> {
        let groups = self.filling.len() / Task::ALL.len();
        let filling = self.filling.chunks(groups).zip(Task::ALL).flat_map(|(of_task, task)| {
            of_task.iter().flat_map(|filling| &filling.stripes).map(move |stripe| (*stripe, task))
        });
        let waiting: BTreeMap<u32, Task> = self.full.waiting().map(|(stripe, task)| (stripe.0, task)).collect();
        let task_of = move |stripe| waiting.get(&stripe).copied().unwrap_or(Task::GarbageCollection);
        let is_closed = |stripe: &StripeId| self.rows.state(*stripe).stage == Stage::Closed;
        let closed = self.rows.ids().filter(is_closed).map(move |stripe| (stripe, task_of(stripe.0)));
        filling.chain(closed)
    }

    /// Whether the parity of a stripe is still in the controller.
    pub(crate) fn is_held(&self, stripe: StripeId) -> bool {
        self.rows.state(stripe).stage == Stage::Filling || self.full.waits(stripe)
    }

    /// Rebuilds the stripes as a power cut left them. `named` are the stripe numbers in the pages' out-of-band data; only pages for which
    /// `is_member` holds count. All stripes are then closed, without valid units.
    pub(crate) fn regroup(&mut self, named: Table<u32>, is_member: impl Fn(PageId) -> bool) {
        self.stripe_of = named;
        for page in 0..self.stripe_of.len() as u32 {
            let stripe = self.stripe_of[page as usize];
            if stripe == NONE {
                continue;
            }
            if !is_member(PageId(page)) {
                self.stripe_of[page as usize] = NONE;
                continue;
            }
            while self.rows.len() <= stripe {
                self.rows.add(State::new(Stage::Vacant)).expect("no page carries a number beyond the most stripes");
            }
            let stripe = StripeId(stripe);
            let joined = self.rows.state(stripe).joined as usize;
            assert!(joined < self.data_pages, "a number is used again once no page carries it");
            let state = self.rows.join(stripe, PageId(page), 0);
            self.rows.set(stripe, State { stage: Stage::Closed, ..state });
        }
        let is_vacant = |stripe: &StripeId| self.rows.state(*stripe).stage == Stage::Vacant;
        self.vacant = self.rows.ids().filter(is_vacant).collect();
        self.vacant.reverse();
    }

    /// Closed stripes that hold pages, without released ones.
    pub(crate) fn closed(&self) -> Vec<StripeId> {
        let is_closed = |stripe: &StripeId| self.rows.state(*stripe).stage == Stage::Closed;
        self.rows.ids().filter(is_closed).collect()
    }

    /// Sets the number of valid data units of a stripe, after [`Stripes::regroup`].
    pub(crate) fn set_live(&mut self, stripe: StripeId, live: u32) {
        self.rows.set(stripe, State { live, ..self.rows.state(stripe) });
    }

    /// For the invariants: every page that is in a stripe, with that stripe, and the valid units that each stripe counts.
    pub(crate) fn tally(&self) -> (Vec<(PageId, StripeId)>, Vec<u32>) {
        let pages = (0..self.stripe_of.len() as u32).map(PageId);
        let in_stripes = pages.filter_map(|page| Some((page, self.named_by(page)?)));
        (in_stripes.collect(), self.rows.ids().map(|stripe| self.rows.state(stripe).live).collect())
    }
}
