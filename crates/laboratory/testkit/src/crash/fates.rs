//! Outcomes of what was under way when the power failed: all combinations of a few, some of many.

use wane_sim::Stream;
use wane_units::Fate;

/// How many combinations are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enumeration {
    /// Most operations of which every combination is tried.
    pub(crate) each_of: usize,
    /// Combinations that are tried of more.
    pub(crate) some: usize,
    /// Outcomes of an operation, from these on: undone, done, torn.
    pub(crate) outcomes: usize,
}

const OUTCOMES: [Fate; 3] = [Fate::Undone, Fate::Done, Fate::Torn];

impl Enumeration {
    /// Whether every combination is tried.
    pub(crate) const fn is_complete(&self, operations: usize) -> bool {
        operations <= self.each_of
    }

    /// The combinations for N operations.
    pub(crate) fn combinations(&self, operations: usize, stream: &mut Stream) -> Vec<Vec<Fate>> {
        let all = self.is_complete(operations);
        let count = if all { self.outcomes.pow(operations as u32) } else { self.some };
        let one = |number: usize| {
            let mut rest = number;
            let fate = |_| {
                let chosen = if all { rest % self.outcomes } else { stream.below(self.outcomes as u64) as usize };
                rest /= self.outcomes;
                OUTCOMES[chosen]
            };
            (0..operations).map(fate).collect()
        };
        (0..count).map(one).collect()
    }
}

/// A letter: done, torn, undone.
pub(crate) const fn letter(fate: Fate) -> char {
    match fate {
        Fate::Done => 'd',
        Fate::Torn => 't',
        Fate::Undone => 'u',
    }
}

/// The fate of a letter.
pub(crate) const fn parse_letter(letter: char) -> Option<Fate> {
    match letter {
        'd' => Some(Fate::Done),
        't' => Some(Fate::Torn),
        'u' => Some(Fate::Undone),
        _ => None,
    }
}
