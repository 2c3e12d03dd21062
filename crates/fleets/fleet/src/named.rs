//! Choices from fixed lists, by name.

use crate::FleetError;

/// An entry of a fixed list, with a name.
pub trait Named: Copy + PartialEq + 'static {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// All of them, in the order of their tables.
    const ALL: &'static [Self];

    /// Its name, lowercase and with hyphens.
    fn name(self) -> &'static str;

    /// Finds the entry with this name, whatever the case of its letters.
    ///
    /// # Errors
    ///
    /// [`FleetError::Unknown`] with all names.
    fn by_name(name: &str) -> Result<Self, FleetError> {
        if let Some(found) = Self::ALL.iter().find(|one| one.name().eq_ignore_ascii_case(name)) {
            return Ok(*found);
        }
        let names: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
        Err(FleetError::Unknown {
            what: Self::WHAT,
            found: name.to_owned(),
            allowed: names.join(", "),
            hint: wane_units::did_you_mean(name, &names),
        })
    }

    /// Its row in tables.
    fn row(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).expect("every one is in the list of all")
    }
}

/// Implements [`Named`] for an enum.
macro_rules! named {
    ($kind:ident, $what:literal, $($variant:ident = $name:literal),+) => {
        impl $crate::Named for $kind {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use named;
