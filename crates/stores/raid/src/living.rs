//! What arrays do word for word alike as living devices. Each macro writes methods into an `impl` block of an array.

/// Of any array, as a block device.
macro_rules! device_of_members {
    () => {
        fn features(&self) -> Features {
            self.features
        }

        fn capacity(&self) -> Sectors {
            self.capacity
        }
    };
}

/// Of any array, as an array.
macro_rules! times_of_members {
    () => {
        fn keep_times(&mut self, keeps: bool) {
            self.times.keep(keeps);
        }

        fn take_times(&mut self, out: &mut Vec<MemberTime>) {
            self.times.take(out);
        }
    };
}

/// Of any array, as a living device.
macro_rules! life_of_members {
    () => {
        fn now(&self) -> SimTime {
            self.now
        }

        fn counters(&self) -> &Counters {
            &self.members.counters
        }

        fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
            self.members.devices().for_each(each);
        }

        fn is_off(&self) -> bool {
            self.is_off
        }

        fn another(&self) -> Box<dyn Living> {
            Box::new(self.clone())
        }
    };
}

/// Of an array that goes on without some members, for itself.
macro_rules! array_that_goes_on {
    () => {
        /// Notes the instant of a call without power.
        fn come_to(&mut self, at: SimTime) {
            assert!(at >= self.now, "time falls from {:?} to {at:?}", self.now);
            self.now = at;
        }

        /// The condition of a member.
        pub fn state(&self, member: usize) -> MemberState {
            self.members[member].state
        }

        fn tell(&mut self, kind: NoticeKind) {
            self.notices.push(Notice { at: self.now, kind });
        }

        /// Runs all members to an instant. Takes note of what they complete.
        fn run_members(&mut self, until: SimTime) {
            for (number, completion) in self.members.complete(until) {
                self.absorb(number, completion);
            }
        }

        /// Adds up what members counted. Of the host's own units it counts each once.
        fn count(&mut self) {
            if !self.is_off {
                self.members.count(Some(&self.host));
            }
        }
    };
}

/// Of an array that goes on without some members, for its operator. What differs: what a loss is without power (`lose_without_power`), and what
/// follows when a member is there again (`take_in_at`).
macro_rules! tending_that_goes_on {
    () => {
        /// Takes a member out: its power goes off. With the power of the whole array off, it will not come back with the others.
        ///
        /// # Panics
        /// `at` lies before an instant that the device was given earlier.
        pub fn take_out(&mut self, at: SimTime, member: usize, fate: &mut dyn FnMut() -> Fate) {
            if self.is_off {
                self.come_to(at);
            } else {
                self.catch_up(at);
            }
            self.members[member].device.power_off(at, fate);
            self.members[member].is_out = true;
            if self.is_off {
                return self.lose_without_power(member);
            }
            self.lose(member, MemberState::Absent);
            // Its answers say that it is gone.
            self.catch_up(at);
        }

        /// Puts a member back that was taken out, or could not be reached. It is given what was written meanwhile.
        ///
        /// # Errors
        /// It does not come back.
        ///
        /// # Panics
        /// As of [`Self::take_out`].
        pub fn put_back(&mut self, at: SimTime, member: usize) -> Result<(), PowerError> {
            if self.is_off {
                self.members[member].is_out = false;
                return Ok(());
            }
            self.catch_up(at);
            if self.members[member].device.is_off() {
                // Nothing was asked of it since its power went.
                self.lose(member, MemberState::Absent);
            }
            self.members[member].put_back(at)?;
            self.take_in_at(self.now.max(self.members[member].device.now()), member);
            Ok(())
        }

        /// Whether a scrub is under way.
        pub const fn is_scrubbing(&self) -> bool {
            self.own.scrub.is_some()
        }
    };
}

/// Of an array that goes on without some members, as a block device. It refuses requests as `reason_to_refuse` says, and begins others with `begin`.
macro_rules! device_that_goes_on {
    () => {
        $crate::living::device_of_members!();

        fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
            if self.is_off {
                self.come_to(at);
            } else {
                self.catch_up(at);
            }
            let id = RequestId(self.next_id);
            self.next_id += 1;
            let Request { kind, range, .. } = request;
            let is_gone = self.is_off || self.members.are_gone();
            let gone = || Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
            let told = self.reason_to_refuse(&request).or_else(|| is_gone.then(gone));
            let is_empty = kind != Kind::Flush && range.is_empty();
            if told.is_some() || is_empty {
                let bytes = (told.is_none() && kind == Kind::Read && self.features.keeps_bytes).then(Vec::new);
                let status = told.unwrap_or(Status::Done);
                self.ended.push(Completion { id, submitted_at: at, at, kind, range, status, bytes });
                return id;
            }
            self.count_host(kind, range);
            self.begin(id, request);
            id
        }

        fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
            if self.is_off {
                self.come_to(until);
            } else {
                self.catch_up(until);
                self.count();
            }
            self.ended.pop_until(until, out);
        }
    };
}

/// Of an array that goes on without some members, as a living device. What differs: what it does with a batch (`take_batch`), whether it has work
/// of its own (`$has_work`, `step_at_once`, `works_until`), what follows from settings of members (`follow_settings`), what a power cut leaves
/// (`cut`), and how it comes back (`recover`).
macro_rules! life_that_goes_on {
    ($has_work:ident) => {
        $crate::living::life_of_members!();

        fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
            if self.is_off {
                return Took::new(Sectors::ZERO, Stop::Gone);
            }
            self.catch_up(at);
            if self.members.are_gone() {
                return Took::new(Sectors::ZERO, Stop::Gone);
            }
            if batch.work != Work::Flush && !batch.extents.iter().all(|range| range.lies_within(self.capacity)) {
                return Took::new(Sectors::ZERO, Stop::OutOfRange);
            }
            let took = self.take_batch(at, batch);
            self.members.close_own();
            self.count();
            took
        }

        fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
            if self.is_off {
                return after;
            }
            self.catch_up(at);
            match after {
                Stop::Paused | Stop::Wants(_) => self.carry_on(at),
                other => other,
            }
        }

        fn work(&mut self, at: SimTime) -> Option<Stop> {
            if self.is_off {
                return None;
            }
            self.catch_up(at);
            let mut done = self.members.work(at);
            // Where time stands still, its own work would never be due.
            if !self.members.are_timed() && self.$has_work() {
                self.step_at_once();
                done = done.or(Some(Stop::Done));
            }
            self.count();
            done
        }

        fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
            let end = time.end(at);
            if !self.is_off {
                self.catch_up(at);
                if matches!(time, Passing::Idle(_)) && self.works_until(end) {
                    self.catch_up(end);
                    self.count();
                    return self.now;
                }
            }
            self.now = self.members.pass(at, time, self.now.max(end));
            self.count();
            self.now
        }

        fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
            if !self.is_off {
                // What was due by now comes before what is changed now.
                self.catch_up(self.now);
            }
            self.members.devices_mut().for_each(|device| each(&mut **device));
            self.follow_settings();
        }

        fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
            if self.is_off {
                return;
            }
            // What is complete by now was not cut.
            self.catch_up(at);
            self.count();
            self.is_off = true;
            self.members.power_off(at, fate);
            self.cut(at);
        }

        fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
            if !self.is_off {
                return Err(PowerError::IsOn);
            }
            self.come_to(at);
            self.recover(at)
        }
    };
}

pub(crate) use {
    array_that_goes_on, device_of_members, device_that_goes_on, life_of_members, life_that_goes_on,
    tending_that_goes_on, times_of_members,
};
