//! What a record holds.

use wane_blockdev::{Entry, Request};

/// A record's input.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A call of the device.
    Call(Entry),
    /// A command of the device's owner, in the owner's encoding. An aging is one command, without its batches.
    Command(Vec<u8>),
    /// It changes nothing, such as the real time.
    Comment(Vec<u8>),
}

/// Why an input cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Of no kind that this build knows.
    #[error("is of kind {0}, which this wane does not know; use a later one")]
    Kind(u8),
    /// Its fields are not those of its kind.
    #[error("is not what wane writes: {0}")]
    Malformed(postcard::Error),
    /// A command that its owner does not know.
    #[error("is a command that this wane does not know; use a later one")]
    Command,
    /// It is too short.
    #[error("ends too early")]
    Short,
}

const CALL: u8 = 1;
/// A request with bytes, which follow it.
const CALL_WITH_BYTES: u8 = 2;
const COMMAND: u8 = 3;
const COMMENT: u8 = 4;

impl Input {
    /// Appends it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Call(entry) => encode_call(entry, out),
            Self::Command(bytes) => tagged(COMMAND, bytes, out),
            Self::Comment(bytes) => tagged(COMMENT, bytes, out),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is of a later version, or not what this crate writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, InputError> {
        let (kind, rest) = bytes.split_first().ok_or(InputError::Short)?;
        match *kind {
            CALL => Ok(Self::Call(whole(rest)?)),
            CALL_WITH_BYTES => {
                let (length, rest) = rest.split_first_chunk().ok_or(InputError::Short)?;
                let (head, data) =
                    rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(InputError::Short)?;
                let mut entry: Entry = whole(head)?;
                if let Entry::Submit { request, .. } = &mut entry {
                    request.bytes = Some(data.to_vec());
                }
                Ok(Self::Call(entry))
            }
            COMMAND => Ok(Self::Command(rest.to_vec())),
            COMMENT => Ok(Self::Comment(rest.to_vec())),
            other => Err(InputError::Kind(other)),
        }
    }
}

fn tagged(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(bytes);
}

fn whole(bytes: &[u8]) -> Result<Entry, InputError> {
    let (entry, rest) = postcard::take_from_bytes(bytes).map_err(InputError::Malformed)?;
    if rest.is_empty() { Ok(entry) } else { Err(InputError::Malformed(postcard::Error::SerdeDeCustom)) }
}

/// Data are appended as they are: serde would take them byte by byte.
fn encode_call(entry: &Entry, out: &mut Vec<u8>) {
    const PLAIN: &str = "an entry is plain data";
    match entry {
        Entry::Submit { at, request: Request { bytes: Some(bytes), kind, range, source, flags, origin, stream } } => {
            let bare = Request {
                kind: *kind,
                range: *range,
                source: *source,
                flags: *flags,
                origin: *origin,
                stream: *stream,
                bytes: None,
            };
            let head = postcard::to_allocvec(&Entry::Submit { at: *at, request: bare }).expect(PLAIN);
            out.push(CALL_WITH_BYTES);
            out.extend((head.len() as u32).to_le_bytes());
            out.extend(head);
            out.extend_from_slice(bytes);
        }
        entry => {
            out.push(CALL);
            out.extend(postcard::to_allocvec(entry).expect(PLAIN));
        }
    }
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Passing, SectorRange};
    use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

    use super::*;

    #[test]
    fn inputs_are_read_as_they_were_written() {
        let at = SimTime(7);
        let range = SectorRange::new(Lba(8), Sectors(2));
        let inputs = [
            Input::Call(Entry::Submit {
                at,
                request: Request::write(range, (0..1024).map(|byte| byte as u8).collect()),
            }),
            Input::Call(Entry::Submit { at, request: Request::read(range) }),
            Input::Call(Entry::Submit { at, request: Request::write(range, Vec::new()) }),
            Input::Call(Entry::Pass { at, time: Passing::Idle(Nanos(9)) }),
            Input::Call(Entry::PowerOff { at, fates: vec![Fate::Done, Fate::Undone] }),
            Input::Command(b"age".to_vec()),
            Input::Comment(Vec::new()),
        ];
        for input in inputs {
            let mut bytes = Vec::new();
            input.encode(&mut bytes);
            assert_eq!(Input::decode(&bytes).unwrap(), input);
        }
        for (bytes, told) in
            [(&b""[..], "ends too early"), (b"\x09", "is of kind 9"), (b"\x01\xff", "is not what wane writes")]
        {
            assert!(Input::decode(bytes).unwrap_err().to_string().contains(told), "{bytes:?}");
        }
    }
}
