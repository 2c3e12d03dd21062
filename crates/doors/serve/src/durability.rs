//! What an acknowledgment survives.

use std::str::FromStr;

/// When an answer leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the drive's model says. The drive is saved at a clean end; a server that is killed loses all since then.
    None,
    /// When the system has it, too: a server that is killed loses nothing that it acknowledged.
    #[default]
    Process,
    /// A flush, and a write with FUA, also wait until it is on this machine's disk: a machine that dies loses nothing that was flushed.
    Host,
}

impl Durability {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Process => "process",
            Self::Host => "host",
        }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "process" => Ok(Self::Process),
            "host" => Ok(Self::Host),
            _ => Err("process, host and none are allowed".to_owned()),
        }
    }
}
