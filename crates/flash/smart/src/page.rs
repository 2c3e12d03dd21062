//! Log pages as bytes: fields at fixed places of 512 bytes, little-endian. A page's fields are declared once, for reading and for
//! writing.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::{EnduranceGroupLog, HealthLog, HealthRecord, OcpLog, RequirementLog};

/// Bytes of each of the log pages.
pub const PAGE_BYTES: usize = 512;

/// A value in a page.
pub(crate) trait Field: Sized {
    /// Writes it. A number that does not fit the place becomes the largest that does.
    fn put(&self, place: &mut [u8]);
    /// Reads it.
    fn take(place: &[u8]) -> Self;
    /// Its text for people.
    fn told(&self) -> String;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Field for $kind {
            fn put(&self, place: &mut [u8]) {
                debug_assert!((1..=16).contains(&place.len()), "a number takes 1 to 16 bytes of its page");
                let unused = u128::BITS - 8 * place.len() as u32;
                let value = u128::from(*self).min(u128::MAX >> unused);
                place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
            }

            fn take(place: &[u8]) -> Self {
                let mut wide = [0; 16];
                wide[..place.len()].copy_from_slice(place);
                Self::try_from(u128::from_le_bytes(wide)).expect("a place is no wider than its field")
            }

            fn told(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

number!(u8, u16, u32, u64, u128);

impl<const N: usize> Field for [u16; N] {
    fn put(&self, place: &mut [u8]) {
        debug_assert_eq!(place.len(), 2 * N, "each number of a list takes two bytes of its page");
        self.iter().zip(place.chunks_exact_mut(2)).for_each(|(value, place)| value.put(place));
    }

    fn take(place: &[u8]) -> Self {
        debug_assert_eq!(place.len(), 2 * N, "each number of a list takes two bytes of its page");
        std::array::from_fn(|index| u16::take(&place[2 * index..2 * index + 2]))
    }

    fn told(&self) -> String {
        self.map(|value| value.to_string()).join(" ")
    }
}

/// Letters of a field of this many bytes, ASCII, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// As many letters of a text as fit; others than ASCII become `?`.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; N];
        let letters = text.chars().map(|letter| u8::try_from(letter).ok().filter(u8::is_ascii).unwrap_or(b'?'));
        bytes.iter_mut().zip(letters).for_each(|(byte, letter)| *byte = letter);
        Self(bytes)
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.0);
        write!(f, "{}", text.trim_end_matches(['\0', ' ']).escape_default())
    }
}

impl<const N: usize> Serialize for Text<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<const N: usize> Field for Text<N> {
    fn put(&self, place: &mut [u8]) {
        place.copy_from_slice(&self.0);
    }

    fn take(place: &[u8]) -> Self {
        let mut bytes = [0; N];
        bytes.copy_from_slice(place);
        Self(bytes)
    }

    fn told(&self) -> String {
        self.to_string()
    }
}

/// A GUID as a number. Its page stores the lowest byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guid(pub u128);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#034x}", self.0)
    }
}

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Field for Guid {
    fn put(&self, place: &mut [u8]) {
        self.0.put(place);
    }

    fn take(place: &[u8]) -> Self {
        Self(u128::take(place))
    }

    fn told(&self) -> String {
        self.to_string()
    }
}

/// Declares a page once: its fields, with the bytes of each. Bytes outside all fields are reserved, and zero.
macro_rules! log_page {
    ($(#[$doc:meta])* $page:ident {
        $($(#[$about:meta])* $field:ident: $kind:ty = $start:literal..$end:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct $page {
            $($(#[$about])* pub $field: $kind,)*
        }

        impl $page {
            /// Each field's name, its first byte, and the first byte after it.
            pub const LAYOUT: &'static [(&'static str, usize, usize)] = &[$((stringify!($field), $start, $end)),*];

            /// Encodes the page. A number that does not fit its place becomes the largest that does.
            pub fn encode(&self) -> [u8; $crate::PAGE_BYTES] {
                let mut bytes = [0; $crate::PAGE_BYTES];
                $($crate::page::Field::put(&self.$field, &mut bytes[$start..$end]);)*
                bytes
            }

            /// Each field's name, and its value as text for people.
            pub fn fields(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), $crate::page::Field::told(&self.$field))),*]
            }

            fn read(bytes: &[u8]) -> Result<Self, $crate::LogError> {
                if bytes.len() != $crate::PAGE_BYTES {
                    return Err($crate::LogError::Length(bytes.len()));
                }
                Ok(Self { $($field: $crate::page::Field::take(&bytes[$start..$end])),* })
            }
        }
    };
}

/// Why bytes are no log page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// Another number of bytes.
    #[error("a log page has {PAGE_BYTES} bytes, found {0}")]
    Length(usize),
    /// A page C0h that is not OCP's: vendors use this number for other pages.
    #[error("log page c0h has the GUID {found}, and OCP's is {want}")]
    Guid {
        /// The page's GUID.
        found: Guid,
        /// OCP's GUID.
        want: Guid,
    },
    /// A page CAh that is not wane's.
    #[error("log page cah has the GUID {found}, and wane's is {want}")]
    Foreign {
        /// The page's GUID.
        found: Guid,
        /// wane's GUID.
        want: Guid,
    },
}

/// Number of a log page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogId {
    /// 02h, SMART / Health Information.
    Health,
    /// 09h, Endurance Group Information.
    EnduranceGroup,
    /// C0h, OCP's SMART / Health Information Extended.
    Ocp,
    /// CAh, wane's own: what the host requires.
    Requirement,
}

impl LogId {
    /// All log pages, by number.
    pub const ALL: [Self; 4] = [Self::Health, Self::EnduranceGroup, Self::Ocp, Self::Requirement];

    /// Its number, as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "02h",
            Self::EnduranceGroup => "09h",
            Self::Ocp => "c0h",
            Self::Requirement => "cah",
        }
    }

    /// Its name in the specification.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Health => "SMART / Health Information",
            Self::EnduranceGroup => "Endurance Group Information",
            Self::Ocp => "OCP SMART / Health Information Extended",
            Self::Requirement => "Requirement (wane)",
        }
    }
}

impl FromStr for LogId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|id| id.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("{} are allowed", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Any of the log pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LogPage {
    /// 02h.
    Health(HealthLog),
    /// 09h.
    EnduranceGroup(EnduranceGroupLog),
    /// C0h.
    Ocp(OcpLog),
    /// CAh.
    Requirement(RequirementLog),
}

impl LogPage {
    /// The page of a drive with this health record.
    pub fn of(id: LogId, record: &HealthRecord) -> Self {
        match id {
            LogId::Health => Self::Health(HealthLog::of(record)),
            LogId::EnduranceGroup => Self::EnduranceGroup(EnduranceGroupLog::of(record)),
            LogId::Ocp => Self::Ocp(OcpLog::of(record)),
            LogId::Requirement => Self::Requirement(RequirementLog::of(record)),
        }
    }

    /// Encodes the page.
    pub fn encode(&self) -> [u8; PAGE_BYTES] {
        match self {
            Self::Health(log) => log.encode(),
            Self::EnduranceGroup(log) => log.encode(),
            Self::Ocp(log) => log.encode(),
            Self::Requirement(log) => log.encode(),
        }
    }

    /// Decodes a page.
    ///
    /// # Errors
    /// The number of bytes is not that of a page, or the page is not OCP's.
    pub fn decode(id: LogId, bytes: &[u8]) -> Result<Self, LogError> {
        Ok(match id {
            LogId::Health => Self::Health(HealthLog::decode(bytes)?),
            LogId::EnduranceGroup => Self::EnduranceGroup(EnduranceGroupLog::decode(bytes)?),
            LogId::Ocp => Self::Ocp(OcpLog::decode(bytes)?),
            LogId::Requirement => Self::Requirement(RequirementLog::decode(bytes)?),
        })
    }

    /// Each field's name, and its value as text for people.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Health(log) => log.fields(),
            Self::EnduranceGroup(log) => log.fields(),
            Self::Ocp(log) => log.fields(),
            Self::Requirement(log) => log.fields(),
        }
    }
}
