//! Stripes: which physical pages protect each other, and how much of them is still valid.
//!
//! A page is a flash page in the firmware's numbering, physical unit / units per page. The parity of stripe `i` is
//! mapped like data, under the logical units above those of the host, so that garbage collection moves it without
//! knowing what it is.

use std::collections::VecDeque;

use wane_nand::Task;
use wane_units::DieId;

use crate::policies::redundancy::RedundancyPolicy;
use crate::table::{Table, prefetch};

/// Distance of the second prefetch, in writes: the number of a page's stripe arrives within so many, and only then is it known
/// where the stripe lies.
const COMING: usize = 8;

/// No page, no stripe.
pub(crate) const NONE: u32 = u32::MAX;

/// Stripes that fill at the same time, for each task. Beyond, the fullest goes without its last pages. A die that collects
/// many nearly full blocks in a row fills as many stripes as these have pages.
const FILLING_MAX: usize = 16_384;

#[derive(Clone)]
pub(crate) struct Stripes {
    pub(crate) policy: Box<dyn RedundancyPolicy>,
    data_pages: usize,
    stripe_of: Table<u32>,
    stripes: Vec<Stripe>,
    /// `data_pages` for each stripe.
    members: Vec<u32>,
    vacant: Vec<u32>,
    stripes_max: u32,
    /// By task.
    filling: [Filling; 4],
    /// Full, and waiting for their parity.
    pub(crate) full: Full,
    /// Without a valid page since the last look; their parity is to go.
    emptied: Vec<u32>,
    /// The domain that is asked first for room for the next parity.
    pub(crate) turn: u32,
    /// See [`Stripes::unit_goes_soon`].
    /// What the last [`COMING`] prefetches named, each at its number modulo [`COMING`]. A hint: nothing depends on it but speed.
    coming: [u32; COMING],
}

/// Stripes that are full and wait for their parity, in the order in which they became full or were last passed over, each
/// with the task that filled it.
///
/// A drive that has no room for parity keeps thousands of them waiting, and releases most before their parity is written.
/// So a released stripe only loses its ticket, and its entry is skipped when it comes up.
#[derive(Clone, Default)]
pub(crate) struct Full {
    /// Ticket, stripe, task. An entry counts while its ticket is the one that its stripe holds.
    queue: VecDeque<(u64, u32, Task)>,
    /// By stripe; 0: it does not wait.
    tickets: Vec<u64>,
    issued: u64,
    waiting: usize,
}

impl Full {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting
    }

    pub(crate) fn push_back(&mut self, stripe: u32, task: Task) {
        if self.tickets.len() <= stripe as usize {
            self.tickets.resize(stripe as usize + 1, 0);
        }
        debug_assert_eq!(self.tickets[stripe as usize], 0, "a stripe waits once");
        self.issued += 1;
        self.tickets[stripe as usize] = self.issued;
        self.queue.push_back((self.issued, stripe, task));
        self.waiting += 1;
        // Entries without a ticket are at most as many as those with one, so memory is bounded and the cost amortized.
        if self.queue.len() > 2 * self.waiting + 64 {
            let tickets = &self.tickets;
            self.queue.retain(|(ticket, stripe, _)| tickets[*stripe as usize] == *ticket);
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<(u32, Task)> {
        while let Some((ticket, stripe, task)) = self.queue.pop_front() {
            if self.tickets[stripe as usize] == ticket {
                self.tickets[stripe as usize] = 0;
                self.waiting -= 1;
                return Some((stripe, task));
            }
        }
        debug_assert_eq!(self.waiting, 0, "whoever waits has an entry");
        None
    }

    /// The stripe waits no longer, if it did.
    fn remove(&mut self, stripe: u32) {
        let Some(ticket) = self.tickets.get_mut(stripe as usize) else { return };
        if std::mem::take(ticket) != 0 {
            self.waiting -= 1;
        }
    }
}

/// Stripes that take pages, numbered in the order in which they began. Each die fills them in that order, so a number a
/// die says which have a page of it.
#[derive(Clone)]
struct Filling {
    stripes: VecDeque<u32>,
    /// Number of the first of them.
    first: u64,
    /// By die: the first that has no page of it.
    next: Vec<u64>,
}

impl Filling {
    fn new(dies: u32) -> Self {
        Self { stripes: VecDeque::new(), first: 0, next: vec![0; dies as usize] }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stripe {
    /// Members so far, those whose block was erased included.
    joined: u32,
    /// Valid data units.
    live: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Vacant,
    Filling,
    /// Full; its parity is written or about to be.
    Closed,
}

impl Stripes {
    /// No stripes over `pages` pages of `dies` dies.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub(crate) fn new(policy: Box<dyn RedundancyPolicy>, pages: u32, dies: u32) -> std::io::Result<Self> {
        let mut stripe_of = Table::zeroed(pages as usize)?;
        stripe_of.fill(NONE);
        Ok(Self {
            data_pages: policy.data_pages() as usize,
            policy,
            stripe_of,
            stripes: Vec::new(),
            members: Vec::new(),
            vacant: Vec::new(),
            stripes_max: Self::count_max(pages),
            filling: std::array::from_fn(|_| Filling::new(dies)),
            full: Full::default(),
            emptied: Vec::new(),
            turn: 0,
            coming: [0; COMING],
        })
    }

    /// Most stripes at a time: each keeps a data page and a page of parity from being erased, but for those that have no
    /// parity yet.
    pub(crate) fn count_max(pages: u32) -> u32 {
        (pages / 2).saturating_add(2 * (FILLING_MAX * Task::ALL.len()) as u32)
    }

    pub(crate) fn stripe_of(&self, page: u32) -> Option<u32> {
        Some(self.stripe_of[page as usize]).filter(|stripe| *stripe != NONE)
    }

    /// Pages of a stripe that were not erased.
    pub(crate) fn members(&self, stripe: u32) -> impl Iterator<Item = u32> + '_ {
        let first = stripe as usize * self.data_pages;
        self.members[first..first + self.data_pages].iter().copied().filter(|page| *page != NONE)
    }

    /// A page with `live` valid units was programmed: it joins the oldest filling stripe that has no page on its die.
    /// False when there is no room for another stripe, and the page stays unprotected.
    pub(crate) fn join(&mut self, task: Task, page: u32, live: u32, die: DieId) -> bool {
        if !self.policy.protects(task) {
            return true;
        }
        let filling = &mut self.filling[task as usize];
        let next = filling.next[die.index()].max(filling.first);
        let position = (next - filling.first) as usize;
        if position == self.filling[task as usize].stripes.len() {
            let Some(stripe) = self.take_vacant() else { return false };
            self.filling[task as usize].stripes.push_back(stripe);
        }
        let filling = &mut self.filling[task as usize];
        filling.next[die.index()] = next + 1;
        let stripe = filling.stripes[position];
        let state = &mut self.stripes[stripe as usize];
        self.members[stripe as usize * self.data_pages + state.joined as usize] = page;
        self.stripe_of[page as usize] = stripe;
        state.joined += 1;
        state.live += live;
        // The first stripe has a page of every die that any other one has, so it is the first to be full. One die that is
        // written far more than the others would leave ever more stripes unfinished.
        if position == 0 && state.joined as usize == self.data_pages || filling.stripes.len() > FILLING_MAX {
            self.close_first(task);
        }
        true
    }

    fn close_first(&mut self, task: Task) {
        let filling = &mut self.filling[task as usize];
        let Some(stripe) = filling.stripes.pop_front() else { return };
        filling.first += 1;
        let state = &mut self.stripes[stripe as usize];
        state.stage = Stage::Closed;
        self.full.push_back(stripe, task);
        if state.live == 0 {
            self.emptied.push(stripe);
        }
    }

    fn take_vacant(&mut self) -> Option<u32> {
        let fresh = Stripe { joined: 0, live: 0, stage: Stage::Filling };
        if let Some(stripe) = self.vacant.pop() {
            self.stripes[stripe as usize] = fresh;
            return Some(stripe);
        }
        let stripe = self.stripes.len() as u32;
        if stripe >= self.stripes_max {
            return None;
        }
        self.stripes.push(fresh);
        self.members.resize(self.members.len() + self.data_pages, NONE);
        Some(stripe)
    }

    /// Prefetches the stripes of these pages and the members of each.
    pub(crate) fn prefetch(&self, pages: std::ops::Range<u32>) {
        for stripe in &self.stripe_of[pages.start as usize..pages.end as usize] {
            if *stripe != NONE {
                prefetch(&self.stripes, *stripe as usize);
                prefetch(&self.members, *stripe as usize * self.data_pages);
            }
        }
    }

    /// A unit of a page will soon no longer be valid. Prefetches the number of its stripe, and the stripe of the page that was
    /// named [`COMING`] calls ago. `position` is the number of the call.
    #[inline]
    pub(crate) fn unit_goes_soon(&mut self, position: usize, page: u32) {
        prefetch(&self.stripe_of, page as usize);
        let before = std::mem::replace(&mut self.coming[position % COMING], page);
        prefetch(&self.stripes, self.stripe_of[before as usize] as usize);
    }

    /// A unit of a page is no longer valid.
    #[inline]
    pub(crate) fn unit_gone(&mut self, page: u32) {
        let stripe = self.stripe_of[page as usize];
        if stripe == NONE {
            return;
        }
        let state = &mut self.stripes[stripe as usize];
        debug_assert!(state.live > 0, "a stripe counts each valid unit of its pages");
        state.live -= 1;
        if state.live == 0 && state.stage == Stage::Closed {
            self.emptied.push(stripe);
        }
    }

    /// A unit of a page is valid after all: its relocation failed.
    pub(crate) fn unit_back(&mut self, page: u32) {
        let stripe = self.stripe_of[page as usize];
        if stripe != NONE {
            self.stripes[stripe as usize].live += 1;
        }
    }

    /// The next stripe that holds nothing valid.
    pub(crate) fn next_emptied(&mut self) -> Option<u32> {
        while let Some(stripe) = self.emptied.pop() {
            let state = &self.stripes[stripe as usize];
            if state.live == 0 && state.stage == Stage::Closed {
                return Some(stripe);
            }
        }
        None
    }

    /// A page is erased: its stripe goes on without it.
    pub(crate) fn page_erased(&mut self, page: u32) {
        let stripe = std::mem::replace(&mut self.stripe_of[page as usize], NONE);
        if stripe == NONE {
            return;
        }
        let first = stripe as usize * self.data_pages;
        let members = &mut self.members[first..first + self.data_pages];
        if let Some(member) = members.iter_mut().find(|member| **member == page) {
            *member = NONE;
        }
    }

    /// Forgets a stripe that holds nothing valid. Its parity has been given up.
    pub(crate) fn release(&mut self, stripe: u32) {
        let first = stripe as usize * self.data_pages;
        for member in &mut self.members[first..first + self.data_pages] {
            let page = std::mem::replace(member, NONE);
            if page != NONE {
                self.stripe_of[page as usize] = NONE;
            }
        }
        debug_assert_eq!(self.stripes[stripe as usize].live, 0, "a stripe that protects data stays");
        self.stripes[stripe as usize].stage = Stage::Vacant;
        self.full.remove(stripe);
        self.vacant.push(stripe);
    }

    /// Valid data units of every page that is in a stripe, for the invariants: (page, stripe), and what stripes count.
    pub(crate) fn tally(&self) -> (Vec<(u32, u32)>, Vec<u32>) {
        let pages = (0u32..).zip(self.stripe_of.iter().copied()).filter(|(_, stripe)| *stripe != NONE);
        (pages.collect(), self.stripes.iter().map(|stripe| stripe.live).collect())
    }
}
