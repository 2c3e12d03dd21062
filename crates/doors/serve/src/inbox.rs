//! What other threads have for the one that owns the drive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use wane_units::Nanos;

use crate::client::Asked;
use crate::control::Order;
use crate::metrics::Snapshot;
use crate::real::{RealTime, duration};

/// A message.
pub(crate) enum Mail {
    /// Requests of a client, in their order.
    Asked(Vec<Asked>),
    /// A control request.
    Order(Order),
    /// A sync of the journal is over.
    Synced,
    /// Somebody wants to know how things are. Nothing changes for it.
    Look(oneshot::Sender<Snapshot>),
    /// The thread meets a bug.
    #[cfg(test)]
    Panic,
}

/// A round trip of a client that asks for one thing at a time, on a virtual machine, where waking a thread takes some 25 us.
const SOON: Nanos = Nanos(100_000);

/// Of the last eight times, how often messages came soon, a bit each. Where they mostly do, their reader looks for more before it sleeps.
#[derive(Default)]
pub(crate) struct Haste(u8);

impl Haste {
    /// Whether it pays to look for a message before sleeping.
    const fn pays(&self) -> bool {
        self.0.count_ones() >= 6
    }

    const fn note(&mut self, is_soon: bool) {
        self.0 = self.0 << 1 | is_soon as u8;
    }
}

/// Where threads leave messages.
pub(crate) struct Inbox {
    /// `None` once nobody reads it any more.
    mail: Mutex<Option<Vec<Mail>>>,
    came: Condvar,
    /// Whether there is any, for a reader that spins.
    is_full: AtomicBool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { mail: Mutex::new(Some(Vec::new())), came: Condvar::new(), is_full: AtomicBool::new(false) }
    }
}

impl Inbox {
    fn open(&self) -> MutexGuard<'_, Option<Vec<Mail>>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a message. One that nobody will read is dropped, and so who waits for its answer waits no longer.
    pub(crate) fn leave(&self, mail: Mail) {
        let mut open = self.open();
        let Some(all) = open.as_mut() else { return };
        all.push(mail);
        self.is_full.store(true, Ordering::Release);
        drop(open);
        self.came.notify_one();
    }

    /// Takes what is there into `to`, which is empty. If there is nothing, waits for it until `until`; the last `spin` of that time without sleep, and
    /// in haste the first moments too.
    pub(crate) fn take(&self, to: &mut Vec<Mail>, real: RealTime, (until, spin): (Nanos, Nanos), haste: &mut Haste) {
        let begun = real.now();
        if haste.pays() {
            let soon = until.min(begun.saturating_add(SOON));
            // Other threads of this core run meanwhile, such as the client's.
            while !self.is_full.load(Ordering::Acquire) && real.now() < soon {
                std::thread::yield_now();
            }
        }
        let mut open = self.open();
        while open.as_ref().is_some_and(Vec::is_empty) {
            let left = Nanos(until.0.saturating_sub(real.now().0));
            if left <= spin {
                drop(open);
                while !self.is_full.load(Ordering::Acquire) && real.now() < until {
                    std::hint::spin_loop();
                }
                open = self.open();
                break;
            }
            let sleep = duration(Nanos(left.0 - spin.0));
            open = self.came.wait_timeout(open, sleep).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(open) = open.as_mut() {
            std::mem::swap(open, to);
        }
        self.is_full.store(false, Ordering::Release);
        drop(open);
        haste.note(!to.is_empty() && real.now().0 - begun.0 < SOON.0);
    }

    /// Nobody reads it any more.
    pub(crate) fn close(&self) {
        *self.open() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_reader_is_in_haste_while_messages_come_soon() {
        let mut haste = Haste::default();
        assert!(!haste.pays(), "who begins sleeps");
        (0..6).for_each(|_| haste.note(true));
        assert!(haste.pays());
        (0..2).for_each(|_| haste.note(false));
        assert!(haste.pays(), "a pause is none");
        haste.note(false);
        assert!(!haste.pays());
    }

    #[test]
    fn whoever_leaves_a_message_is_heard_in_haste_and_out_of_it() {
        let (inbox, real) = (Arc::new(Inbox::default()), RealTime::begin());
        let (to, answers) = std::sync::mpsc::channel();
        let client = {
            let inbox = Arc::clone(&inbox);
            crate::threads::start("client", move || {
                for round in 0..300 {
                    inbox.leave(Mail::Synced);
                    answers.recv().unwrap();
                    if round % 50 == 49 {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                }
            })
            .unwrap()
        };
        let (mut mail, mut haste) = (Vec::new(), Haste::default());
        for _ in 0..300 {
            let until = Nanos(real.now().0 + 60 * Nanos::SECOND.0);
            inbox.take(&mut mail, real, (until, Nanos::ZERO), &mut haste);
            assert_eq!(mail.drain(..).count(), 1, "one is left at a time, and none is missed");
            to.send(()).unwrap();
        }
        client.join().unwrap();
        let begun = real.now();
        inbox.take(&mut mail, real, (Nanos(begun.0 + 1_000_000), Nanos::ZERO), &mut haste);
        assert!(mail.is_empty() && real.now().0 >= begun.0 + 1_000_000, "nothing came until then");
    }
}
