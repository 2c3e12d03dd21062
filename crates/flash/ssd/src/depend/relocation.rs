//! Relocations, and recoveries of reads that failed.
//!
//! A program waits for the relocation reads into its page. An erase waits for the relocations of its task since the erases
//! before.

use serde::{Deserialize, Serialize};
use wane_nand::Task;

use super::Graph;
use crate::command::Breakdown;
use crate::slab::NONE;

/// Relocation reads into one page: the number whose end is not known, and the latest end of the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Group {
    pending: u32,
    pub(super) program: u32,
    block: u32,
    end: u64,
}

/// Relocations up to the erases that they allow: the number whose end is not known, and the latest end of the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Epoch {
    pending: u32,
    is_erasing: bool,
    waiters: u32,
    end: u64,
}

/// A read that failed, and where its time had gone by then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recovery {
    failed: Breakdown,
    at: u64,
    left: u32,
}

impl Graph {
    /// Makes the next program of `target` wait for a relocation read.
    pub(super) fn join_group(&mut self, id: u32, task: Task, target: u32) {
        let mut group = self.blocks[target as usize].group;
        if group == NONE {
            group = self.groups.insert(Group { pending: 0, program: NONE, block: target, end: 0 });
            self.blocks[target as usize].group = group;
        }
        self.blocks[target as usize].relocates = self.collections[task as usize];
        debug_assert_eq!(self.groups[group].block, target, "reads of one group go to one block");
        self.groups[group].pending += 1;
        self.links[id].group = group;
    }

    #[inline(always)]
    pub(super) fn leave_group(&mut self, number: u32, end: u64) {
        let group = &mut self.groups[number];
        group.pending -= 1;
        group.end = group.end.max(end);
        if group.pending > 0 {
            return;
        }
        let Group { program, block, end, .. } = *group;
        self.groups.release(number);
        if program == NONE {
            let block = &mut self.blocks[block as usize];
            block.group = NONE;
            block.gathered = block.gathered.max(end);
        } else {
            self.satisfy(program, end);
        }
    }

    /// Makes the next erases of its task wait for a relocation.
    #[inline(always)]
    pub(super) fn join_epoch(&mut self, id: u32, task: Task) {
        debug_assert_eq!(self.links[id].epoch, NONE, "a relocation is waited for by the erases of one epoch");
        let filling = &mut self.filling[task as usize];
        if *filling != NONE && self.epochs[*filling].is_erasing {
            let epoch = &mut self.epochs[*filling];
            if epoch.pending > 0 {
                *filling = NONE;
            } else {
                // Its erases know when it ends.
                (epoch.is_erasing, epoch.end) = (false, 0);
            }
        }
        if *filling == NONE {
            *filling = self.epochs.insert(Epoch { pending: 0, is_erasing: false, waiters: NONE, end: 0 });
        }
        self.epochs[*filling].pending += 1;
        self.links[id].epoch = *filling;
    }

    /// Makes an erase wait for the relocations of its task so far.
    pub(super) fn wait_for_epoch(&mut self, id: u32, task: Task) {
        let epoch = self.filling[task as usize];
        if epoch == NONE {
            return;
        }
        let epoch = &mut self.epochs[epoch];
        epoch.is_erasing = true;
        let links = &mut self.links[id];
        links.wait_until(epoch.end);
        if epoch.pending > 0 {
            links.waits += 1;
            links.next_waiter = std::mem::replace(&mut epoch.waiters, id);
        }
    }

    #[inline(always)]
    pub(super) fn leave_epoch(&mut self, number: u32, task: Task, end: u64) {
        let epoch = &mut self.epochs[number];
        epoch.pending -= 1;
        epoch.end = epoch.end.max(end);
        if epoch.pending > 0 {
            return;
        }
        let (mut waiter, end) = (std::mem::replace(&mut epoch.waiters, NONE), epoch.end);
        if self.filling[task as usize] != number {
            self.epochs.release(number);
        }
        while waiter != NONE {
            let next = self.links[waiter].next_waiter;
            self.satisfy(waiter, end);
            waiter = next;
        }
    }

    /// Makes a recovery read wait for the read that failed. What waits for the failed read also waits for its recovery reads.
    pub(super) fn add_recovery(&mut self, id: u32, task: Task) {
        let failed = self.last_read;
        if failed == NONE {
            return;
        }
        let (recoveries, group) = (self.links[failed].recoveries, self.links[failed].group);
        if recoveries == NONE {
            let recovery = Recovery { failed: Breakdown::default(), at: 0, left: 0 };
            self.links[failed].recovery = self.recoveries.insert(recovery);
        }
        let recovery = self.links[failed].recovery;
        self.recoveries[recovery].left += 1;
        self.links[failed].recoveries = id;
        let links = &mut self.links[id];
        links.next_waiter = recoveries;
        links.recovery = recovery;
        links.waits += 1;
        if group != NONE && self.groups[group].program == NONE {
            links.group = group;
            self.groups[group].pending += 1;
            self.join_epoch(id, task);
        }
    }

    /// Records that at `end` a read fails, so that its recovery reads may start, or that one of these ends.
    #[cold]
    pub(super) fn recovery_ended(&mut self, id: u32, end: u64, known: impl Fn(u64) -> Breakdown) {
        let links = &self.links[id];
        let (number, mut waiting) = (links.recovery, links.recoveries);
        if waiting == NONE {
            let recovery = &mut self.recoveries[number];
            recovery.left -= 1;
            if recovery.left == 0 {
                // The record stays until the next recovery: the command's end may still be reported from it.
                self.recoveries.release(number);
            }
            return;
        }
        let failed = if links.command == NONE { Breakdown::default() } else { self.breakdown(id, end, known) };
        let recovery = &mut self.recoveries[number];
        (recovery.failed, recovery.at) = (failed, end);
        while waiting != NONE {
            let next = self.links[waiting].next_waiter;
            self.satisfy(waiting, end);
            waiting = next;
        }
    }

    /// Where the time went until the end of a recovery read.
    #[cold]
    pub(super) fn recovered(&self, recovery: u32, end: u64) -> Breakdown {
        let recovery = &self.recoveries[recovery];
        Breakdown { recovery_ns: end - recovery.at, ..recovery.failed }
    }
}
