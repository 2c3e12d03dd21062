//! What a drive is that nobody asked for: spare space beyond what was wanted, blocks that were cut, dies and planes that stand idle.

use wane_ftl::{EraseGroup, Pooling};
use wane_nand::Task;
use wane_raid::Following;
use wane_units::Bytes;

use super::{ArrayLayout, ArraySpec, Device, Scenario, over_provisioning_of};

/// Surplus, as a multiple of what is asked for, from which the reserve of garbage collection is told.
const RESERVE_TOLD: f64 = 1.25;
/// Spare space beside parity, counted twice, and the reserve, with which drives lived.
const PARITY_ROOM: f64 = 0.02;

impl Scenario {
    /// A sentence for each way in which its drives are not what the scenario says, or do less than they could for want of a key.
    pub fn unasked(&self) -> Vec<String> {
        let Some(array) = &self.array else { return self.of_drive() };
        let mut told: Vec<String> = Vec::new();
        for (number, member) in array.members.iter().enumerate() {
            let new = |sentence: &String| !told.iter().any(|other| other.ends_with(&format!(": {sentence}")));
            let of_member: Vec<String> = member.of_drive().into_iter().filter(new).collect();
            told.extend(of_member.into_iter().map(|sentence| format!("drive {number}: {sentence}")));
        }
        told.extend(self.shrinks_unfollowed(array));
        told
    }

    /// A sentence if members shrink and their array gives them nothing back.
    fn shrinks_unfollowed(&self, array: &ArraySpec) -> Option<String> {
        let is_followed = array.settings.layout == ArrayLayout::Raid && array.settings.following == Following::Members;
        (self.ftl.capacity.policy().may_shrink() && !is_followed).then(|| {
            "members that shrink (ftl.capacity) get no space back from this array, and one that is full refuses writes as a dead one does: the array \
             may end while drives are alive. layout = \"raid\" with array.following = \"members\" gives space back"
                .to_owned()
        })
    }

    fn of_drive(&self) -> Vec<String> {
        let surplus = self.device.cut_in_words().or_else(|| self.device.reserve_in_words());
        surplus.into_iter().chain(self.idle_in_words()).chain(self.choked_by_parity()).collect()
    }

    /// A sentence if parity takes the spare space of a drive whose data are overwritten at random. A stripe keeps its parity until the last of its
    /// pages is overwritten, so that stripes that are half dead take twice the share of whole ones: drives of 32 dies whose spare space was below
    /// that ended within half a drive write (stripes of 3 to 31 pages at over-provisioning from 8 to 80 %, uniform writes).
    fn choked_by_parity(&self) -> Option<String> {
        let policy = self.ftl.redundancy.policy();
        if !policy.acts() || !policy.protects(Task::Host) {
            return None;
        }
        let device = &self.device;
        let domains = if self.ftl.domain == Pooling::Die { device.geometry.dies() } else { 1 };
        let kept = f64::from(domains * (device.gc_reserve + self.ftl.streams())) / f64::from(device.blocks);
        let doubled = 1.0 + 2.0 / f64::from(policy.data_pages());
        let room = (device.physical_units() as f64 / f64::from(device.logical_units)) * (1.0 - kept) / doubled;
        let enough = (1.0 + PARITY_ROOM) * doubled / (1.0 - kept) - 1.0;
        (room < 1.0 + PARITY_ROOM).then(|| {
            format!(
                "parity leaves hardly any room where data are overwritten at random, as a stripe keeps its parity while one of its pages is in use: the \
                 drive may end early, for want of a victim; with an over-provisioning of {:.0} % it has room",
                (100.0 * enough).ceil(),
            )
        })
    }

    /// A sentence if only one die, or one plane of a die, works at a time.
    fn idle_in_words(&self) -> Option<String> {
        let (geometry, ftl) = (&self.device.geometry, &self.ftl);
        let (dies, planes) = (geometry.dies(), geometry.planes_per_die());
        let blocks = ftl.erase_group == EraseGroup::Block;
        match () {
            () if !self.time.is_timed() => None,
            () if dies > 1 && blocks && ftl.domain == Pooling::Drive => Some(format!(
                "one of {dies} dies is written at a time, as ftl.domain is \"drive\" and ftl.unit is \"block\"; with ftl.domain = \"die\" all are"
            )),
            () if planes > 1 && blocks => Some(format!(
                "one of the {planes} planes of a die is written at a time, as ftl.unit is \"block\"; with \"superblock\" and time.multi-plane all are"
            )),
            () if planes > 1 && !self.time.multi_plane => Some(format!(
                "the {planes} planes of a die work one after the other, as time.multi-plane is false; with the event scheduler they can work together"
            )),
            () => None,
        }
    }
}

impl Device {
    /// A sentence if its blocks were cut: see [`Self::cut_from`].
    fn cut_in_words(&self) -> Option<String> {
        self.cut_from.0.map(|pages| {
            format!(
                "blocks have {} pages instead of {pages} (drive.pages-per-block), so that {} comes near the over-provisioning that was asked for: \
                 {:.1} %, and not {:.1} %; --scale auto is nearer to the preset",
                self.geometry.pages_per_block(),
                Bytes(self.logical_bytes()),
                100.0 * self.over_provisioning(),
                100.0 * over_provisioning_of(self.spare_factor),
            )
        })
    }

    /// A sentence if the blocks that garbage collection reserves, made for a large drive, are a large part of a small drive's spare space.
    fn reserve_in_words(&self) -> Option<String> {
        let (all, beside) = (self.over_provisioning(), over_provisioning_of(self.spare_factor));
        (all > RESERVE_TOLD * beside).then(|| {
            format!(
                "with the blocks that garbage collection reserves, over-provisioning is {:.0} % and not {:.0} %; a larger capacity, or --scale auto, \
                 is nearer to the preset",
                100.0 * all,
                100.0 * beside
            )
        })
    }
}
