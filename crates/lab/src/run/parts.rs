//! Writes of which some pages are written only in part.

use std::sync::atomic::AtomicBool;

use wane_units::Lpn;
use wane_workload::Batch;

use super::{Budget, Run, Stop};

impl Run {
    /// Serves a write of which some pages are written in part. The drive reads what they held first.
    #[inline(never)]
    pub(super) fn write_parts(
        &mut self,
        batch: &Batch,
        done: &mut usize,
        budget: &mut Budget,
        stop: &AtomicBool,
    ) -> Result<(), Stop> {
        let parts = batch.parts_present();
        if *done == 0 && budget.units > 0 {
            let mut pages: Vec<u32> = parts.iter().map(|part| batch.pages[part.index as usize]).collect();
            self.host.find(&mut pages);
            self.drive.read_to_modify(Lpn::slice(&pages)).expect("the workload asks for what the drive exports");
        }
        let from = *done;
        let served = self.write(&batch.pages, done, budget, stop);
        let written = parts.iter().filter(|part| (from..*done).contains(&(part.index as usize)));
        let (units, around) = written.fold((0, 0), |(units, sum), part| (units + 1, sum + u64::from(part.around)));
        self.drive.count_written_in_part(units, around);
        served
    }
}
