//! The handshake: what a client asks before it sends requests.

use crate::Violation;
use crate::take::Take;

/// Bytes that a server sends first.
pub const GREETING_BYTES: usize = 18;

/// Most bytes of an option's data: two names of 4,096 bytes, and as many queries as anyone has contexts.
pub const OPTION_MAX: u32 = 64 << 10;

/// Most options of a handshake.
const OPTIONS_MAX: u32 = 256;

/// Most bytes of a name, by the protocol.
const NAME_MAX: usize = 4096;

pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943;
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054;
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;

pub(crate) const FIXED_NEWSTYLE: u16 = 1;
pub(crate) const NO_ZEROES: u16 = 1 << 1;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
pub(crate) const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;

pub(crate) const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
pub(crate) const REP_INFO: u32 = 3;
const REP_META_CONTEXT: u32 = 4;
const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
const REP_ERR_INVALID: u32 = (1 << 31) + 3;
const REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;

pub(crate) const INFO_EXPORT: u16 = 0;
pub(crate) const INFO_NAME: u16 = 1;
const INFO_DESCRIPTION: u16 = 2;
pub(crate) const INFO_BLOCK_SIZE: u16 = 3;

const HAS_FLAGS: u16 = 1;
pub(crate) const READ_ONLY: u16 = 1 << 1;
pub(crate) const SEND_FLUSH: u16 = 1 << 2;
pub(crate) const SEND_FUA: u16 = 1 << 3;
pub(crate) const SEND_TRIM: u16 = 1 << 5;
pub(crate) const SEND_WRITE_ZEROES: u16 = 1 << 6;
const SEND_DF: u16 = 1 << 7;
const CAN_MULTI_CONN: u16 = 1 << 8;
const SEND_CACHE: u16 = 1 << 10;
const SEND_FAST_ZERO: u16 = 1 << 11;

/// Zeros behind the answer to EXPORT_NAME, for clients that did not renounce them.
const PADDING: usize = 124;

/// Bytes of an option's head.
const OPTION_HEAD: usize = 16;

/// Sizes of requests, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Requests are multiples of it.
    pub least: u32,
    /// Multiples of it are served best.
    pub preferred: u32,
    /// Most bytes that are moved.
    pub most: u32,
}

/// A name space of BLOCK_STATUS. Its number is that of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Whether bytes are allocated, and whether they read as zeros.
    Allocation = 1,
    /// How worn the blocks are in which they lie.
    Wear = 2,
}

impl Context {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Allocation, Self::Wear];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allocation => "base:allocation",
            Self::Wear => "wane:wear",
        }
    }

    /// Whether a query of LIST_META_CONTEXT finds it: its name, or its name space alone.
    fn is_found_by(self, query: &[u8]) -> bool {
        let name = self.name().as_bytes();
        query == name || (query.ends_with(b":") && name.starts_with(query))
    }
}

/// What is served under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// Whether the empty name stands for it too.
    pub is_default: bool,
    /// What it is, for people.
    pub description: String,
    /// Its size, in bytes.
    pub size: u64,
    /// Whether it takes no writes any more.
    pub is_read_only: bool,
    /// Sizes of requests.
    pub block: Block,
}

impl Export {
    const fn flags(&self, structured: bool) -> u16 {
        let always = HAS_FLAGS
            | SEND_FLUSH
            | SEND_FUA
            | SEND_TRIM
            | SEND_WRITE_ZEROES
            | SEND_FAST_ZERO
            | SEND_CACHE
            | CAN_MULTI_CONN;
        always | if self.is_read_only { READ_ONLY } else { 0 } | if structured { SEND_DF } else { 0 }
    }
}

/// The export that a client means.
fn called<'a>(name: &[u8], exports: &'a [Export]) -> Option<(usize, &'a Export)> {
    exports.iter().enumerate().find(|(_, export)| match name.is_empty() {
        true => export.is_default,
        false => name == export.name.as_bytes(),
    })
}

/// The contexts that a client chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contexts {
    chosen: [bool; Context::ALL.len()],
}

impl Contexts {
    /// They, in their order.
    pub fn iter(self) -> impl Iterator<Item = Context> {
        Context::ALL.into_iter().zip(self.chosen).filter(|(_, is_chosen)| *is_chosen).map(|(context, _)| context)
    }

    /// Adds one.
    pub const fn choose(&mut self, context: Context) {
        self.chosen[context as usize - 1] = true;
    }
}

/// What was agreed upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The place of the export that the client chose, among those that were there when it chose.
    pub export: usize,
    /// Answers are structured.
    pub structured: bool,
    /// What BLOCK_STATUS answers; without any it is refused.
    pub contexts: Contexts,
}

/// Where the handshake stands after what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// More has to come.
    More,
    /// The client ends it.
    Over,
    /// Requests follow.
    Ready(Session),
}

/// A handshake under way.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    /// The client's flags, once they are known.
    flags: Option<u32>,
    options: u32,
    session: Session,
    /// The name of the export for which contexts were chosen.
    chosen_of: String,
}

/// How the option that is being read ends.
enum Answer {
    Over,
    Ready,
    Goes,
}

impl Handshake {
    /// What a server sends first.
    pub fn greeting() -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        bytes[..8].copy_from_slice(&GREETING.to_be_bytes());
        bytes[8..16].copy_from_slice(&OPTION.to_be_bytes());
        bytes[16..].copy_from_slice(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
        bytes
    }

    /// Takes what a client sent, and adds the answers to `out`. `exports` are those that are there now. Returns how many bytes it took: what is
    /// left belongs to an option that is not complete, or to requests.
    ///
    /// # Errors
    /// The client does not keep to the protocol.
    pub fn feed(&mut self, sent: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Result<(usize, Turn), Violation> {
        let mut rest = Take(sent);
        let taken = |rest: &Take<'_>| sent.len() - rest.0.len();
        if self.flags.is_none() {
            let Some(flags) = rest.u32() else { return Ok((0, Turn::More)) };
            let wanted = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
            if flags & !wanted != 0 {
                return Err(Violation::ClientFlags { found: flags, wanted });
            }
            self.flags = Some(flags);
        }
        loop {
            let before = taken(&rest);
            let Some((option, data)) = next_option(&mut rest)? else { return Ok((before, Turn::More)) };
            self.options += 1;
            if self.options > OPTIONS_MAX {
                return Err(Violation::ManyOptions { most: OPTIONS_MAX });
            }
            match self.answer(option, data, exports, out)? {
                Answer::Goes => {}
                Answer::Over => return Ok((taken(&rest), Turn::Over)),
                Answer::Ready => return Ok((taken(&rest), Turn::Ready(self.session))),
            }
        }
    }

    fn answer(&mut self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Result<Answer, Violation> {
        let is_bare = data.is_empty();
        match option {
            EXPORT_NAME => {
                let Some((place, export)) = called(data, exports) else { return Err(Violation::UnknownExport) };
                self.choose(place, export);
                out.extend(export.size.to_be_bytes());
                out.extend(export.flags(self.session.structured).to_be_bytes());
                if self.flags.is_none_or(|flags| flags & u32::from(NO_ZEROES) == 0) {
                    out.extend([0; PADDING]);
                }
                return Ok(Answer::Ready);
            }
            ABORT => {
                reply(out, option, REP_ACK, &[]);
                return Ok(Answer::Over);
            }
            LIST if is_bare => {
                for export in exports {
                    let name = export.name.as_bytes();
                    reply(out, option, REP_SERVER, &[&length(name), name, export.description.as_bytes()].concat());
                }
                reply(out, option, REP_ACK, &[]);
            }
            STRUCTURED_REPLY if is_bare => {
                self.session.structured = true;
                reply(out, option, REP_ACK, &[]);
            }
            LIST | STRUCTURED_REPLY => refuse(out, option, REP_ERR_INVALID, "this option has no data"),
            INFO | GO => return Ok(self.inform(option, data, exports, out)),
            LIST_META_CONTEXT | SET_META_CONTEXT => self.contexts(option, data, exports, out),
            _ => refuse(out, option, REP_ERR_UNSUP, "this option is not known here"),
        }
        Ok(Answer::Goes)
    }

    /// INFO and GO.
    fn inform(&mut self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Answer {
        let mut from = Take(data);
        let asked = from.text().zip(from.u16()).filter(|(name, _)| name.len() <= NAME_MAX);
        let Some((name, _)) = asked.filter(|(_, count)| from.0.len() == 2 * usize::from(*count)) else {
            refuse(out, option, REP_ERR_INVALID, "its lengths contradict each other");
            return Answer::Goes;
        };
        let Some((place, export)) = called(name, exports) else {
            refuse(out, option, REP_ERR_UNKNOWN, "no export has this name");
            return Answer::Goes;
        };
        let wants = |kind: u16| from.0.chunks_exact(2).any(|asked| asked == kind.to_be_bytes());
        let mut tell = |kind: u16, data: &[u8]| reply(out, option, REP_INFO, &[&kind.to_be_bytes(), data].concat());
        let flags = export.flags(self.session.structured).to_be_bytes();
        tell(INFO_EXPORT, &[&export.size.to_be_bytes()[..], &flags].concat());
        if wants(INFO_NAME) {
            tell(INFO_NAME, export.name.as_bytes());
        }
        if wants(INFO_DESCRIPTION) {
            tell(INFO_DESCRIPTION, export.description.as_bytes());
        }
        // Told to everyone: who asks for what is no multiple is refused.
        let Block { least, preferred, most } = export.block;
        tell(INFO_BLOCK_SIZE, &[least.to_be_bytes(), preferred.to_be_bytes(), most.to_be_bytes()].concat());
        reply(out, option, REP_ACK, &[]);
        if option == INFO {
            return Answer::Goes;
        }
        self.choose(place, export);
        Answer::Ready
    }

    /// LIST_META_CONTEXT and SET_META_CONTEXT.
    fn contexts(&mut self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) {
        let sets = option == SET_META_CONTEXT;
        if sets {
            self.session.contexts = Contexts::default();
        }
        if sets && !self.session.structured {
            return refuse(out, option, REP_ERR_INVALID, "structured replies come first");
        }
        let mut from = Take(data);
        let queries = from.text().zip(from.u32()).and_then(|(name, count)| {
            // Each takes four bytes at least, so that a count cannot ask for more memory than came.
            let queries: Option<Vec<&[u8]>> = (0..count).map(|_| from.text()).collect();
            queries.filter(|_| from.0.is_empty()).map(|queries| (name, queries))
        });
        let Some((name, queries)) = queries else {
            return refuse(out, option, REP_ERR_INVALID, "its lengths contradict each other");
        };
        let Some((_, export)) = called(name, exports) else {
            return refuse(out, option, REP_ERR_UNKNOWN, "no export has this name");
        };
        for context in Context::ALL {
            let is_found = match queries.is_empty() {
                true => !sets,
                false if sets => queries.iter().any(|query| *query == context.name().as_bytes()),
                false => queries.iter().any(|query| context.is_found_by(query)),
            };
            if is_found {
                let id = if sets { context as u32 } else { 0 };
                reply(out, option, REP_META_CONTEXT, &[&id.to_be_bytes()[..], context.name().as_bytes()].concat());
                if sets {
                    self.session.contexts.choose(context);
                }
            }
        }
        if sets {
            self.chosen_of.clone_from(&export.name);
        }
        reply(out, option, REP_ACK, &[]);
    }

    /// The client chooses an export. Contexts hold for the one for which they were chosen.
    fn choose(&mut self, place: usize, export: &Export) {
        self.session.export = place;
        if export.name != self.chosen_of {
            self.session.contexts = Contexts::default();
        }
    }
}

/// The next option, if it is complete.
fn next_option<'a>(rest: &mut Take<'a>) -> Result<Option<(u32, &'a [u8])>, Violation> {
    let mut ahead = Take(rest.0);
    let Some(magic) = ahead.u64() else { return Ok(None) };
    if magic != OPTION {
        return Err(Violation::Magic { place: "an option", found: magic, wanted: OPTION });
    }
    let Some((option, found)) = ahead.u32().zip(ahead.u32()) else { return Ok(None) };
    if found > OPTION_MAX {
        return Err(Violation::LongOption { option, found, most: OPTION_MAX });
    }
    let Some(data) = ahead.bytes(found as usize) else { return Ok(None) };
    debug_assert_eq!(rest.0.len() - ahead.0.len(), OPTION_HEAD + data.len());
    rest.0 = ahead.0;
    Ok(Some((option, data)))
}

pub(crate) fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).expect("a name is short").to_be_bytes()
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(length(data));
    out.extend(data);
}

/// An error, with a sentence for people.
fn refuse(out: &mut Vec<u8>, option: u32, kind: u32, why: &str) {
    reply(out, option, kind, why.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exports() -> [Export; 2] {
        let export = |name: &str, size| Export {
            name: name.to_owned(),
            is_default: name == "old",
            description: "a worn drive".to_owned(),
            size,
            is_read_only: false,
            block: Block { least: 512, preferred: 4096, most: 32 << 20 },
        };
        [export("old", 1 << 30), export("older", 1 << 29)]
    }

    fn option(number: u32, data: &[u8]) -> Vec<u8> {
        [&OPTION.to_be_bytes()[..], &number.to_be_bytes(), &length(data), data].concat()
    }

    fn go(name: &[u8], asked: &[u16]) -> Vec<u8> {
        let asked: Vec<u8> = asked.iter().flat_map(|kind| kind.to_be_bytes()).collect();
        [&length(name), name, &((asked.len() / 2) as u16).to_be_bytes()[..], &asked].concat()
    }

    fn contexts(name: &[u8], queries: &[&str]) -> Vec<u8> {
        let mut data = [&length(name), name, &(queries.len() as u32).to_be_bytes()].concat();
        queries.iter().for_each(|query| data.extend([&length(query.as_bytes()), query.as_bytes()].concat()));
        data
    }

    /// Kinds of the replies to options, with their data.
    fn replies(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            assert_eq!(&bytes[..8], OPTION_REPLY.to_be_bytes());
            let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            let end = 20 + number(16) as usize;
            found.push((number(12), bytes[20..end].to_vec()));
            bytes = &bytes[end..];
        }
        found
    }

    fn shake(sent: &[&[u8]]) -> (Result<(usize, Turn), Violation>, Vec<u8>) {
        let mut out = Vec::new();
        let all = [&3u32.to_be_bytes()[..], &sent.concat()].concat();
        (Handshake::default().feed(&all, &exports(), &mut out), out)
    }

    #[test]
    fn a_client_learns_what_it_asks_for() {
        let chosen = option(SET_META_CONTEXT, &contexts(b"", &["wane:wear", "other:thing"]));
        let sent = [option(STRUCTURED_REPLY, b""), chosen, option(GO, &go(b"old", &[INFO_NAME]))];
        let (turn, out) = shake(&[&sent[0], &sent[1], &sent[2], b"request"]);
        let (taken, Turn::Ready(session)) = turn.unwrap() else { panic!("it is ready") };
        assert_eq!(taken, 4 + sent.concat().len(), "requests are left alone");
        assert!(session.structured && session.contexts.iter().eq([Context::Wear]));
        let found = replies(&out);
        assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [1, 4, 1, 3, 3, 3, 1]);
        assert_eq!(found[1].1, [&2u32.to_be_bytes()[..], b"wane:wear"].concat());
        let flags = u16::from_be_bytes(found[3].1[10..].try_into().unwrap());
        assert_eq!((flags & SEND_DF, flags & READ_ONLY, flags & CAN_MULTI_CONN), (SEND_DF, 0, CAN_MULTI_CONN));
        assert_eq!(found[5].1[2..6], 512u32.to_be_bytes());
    }

    #[test]
    fn what_is_wrong_is_refused_and_the_handshake_goes_on() {
        let sent = [
            option(LIST, b"x"),
            option(5, b""),
            option(GO, &go(b"new", &[])),
            option(GO, b"\0\0\0\x09old"),
            option(SET_META_CONTEXT, &contexts(b"", &["base:allocation"])),
            option(LIST_META_CONTEXT, &contexts(b"old", &[])),
            option(LIST_META_CONTEXT, &contexts(b"old", &["base:"])),
            option(LIST_META_CONTEXT, b"\0\0\0\0\xff\xff\xff\xff"),
            option(ABORT, b""),
        ];
        let (turn, out) = shake(&sent.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(turn.unwrap().1, Turn::Over);
        let kinds: Vec<u32> = replies(&out).iter().map(|(kind, _)| *kind).collect();
        let (invalid, unsupported, unknown) = (REP_ERR_INVALID, REP_ERR_UNSUP, REP_ERR_UNKNOWN);
        assert_eq!(kinds, [invalid, unsupported, unknown, invalid, invalid, 4, 4, 1, 4, 1, invalid, 1]);
    }

    #[test]
    fn an_old_client_gets_the_old_answer() {
        let mut out = Vec::new();
        let sent = [&1u32.to_be_bytes()[..], &option(EXPORT_NAME, b"")].concat();
        let (taken, turn) = Handshake::default().feed(&sent, &exports(), &mut out).unwrap();
        assert_eq!((taken, turn), (sent.len(), Turn::Ready(Session::default())));
        assert_eq!((out.len(), &out[..8]), (8 + 2 + PADDING, &(1u64 << 30).to_be_bytes()[..]));
        assert_eq!(shake(&[&option(EXPORT_NAME, b"new")]).0, Err(Violation::UnknownExport));
    }

    #[test]
    fn contexts_of_another_export_do_not_hold() {
        let chosen_of = |of: &[u8], then: &[u8]| {
            let chosen = option(SET_META_CONTEXT, &contexts(of, &["base:allocation"]));
            let (turn, out) = shake(&[&option(STRUCTURED_REPLY, b""), &chosen, &option(GO, &go(then, &[]))]);
            let Turn::Ready(session) = turn.unwrap().1 else { panic!("it is ready") };
            (replies(&out)[1].0, session.export, session.contexts.iter().count())
        };
        assert_eq!(chosen_of(b"new", b"old"), (REP_ERR_UNKNOWN, 0, 0));
        assert_eq!(chosen_of(b"old", b""), (REP_META_CONTEXT, 0, 1), "they are the same");
        assert_eq!(chosen_of(b"older", b"older"), (REP_META_CONTEXT, 1, 1));
        assert_eq!(chosen_of(b"", b"older"), (REP_META_CONTEXT, 1, 0));
    }

    #[test]
    fn each_export_is_listed_and_told_by_its_name() {
        let (turn, out) = shake(&[&option(LIST, b""), &option(GO, &go(b"older", &[INFO_NAME]))]);
        let Turn::Ready(session) = turn.unwrap().1 else { panic!("it is ready") };
        assert_eq!(session.export, 1);
        let found = replies(&out);
        assert_eq!(found[0].1, b"\0\0\0\x03olda worn drive");
        assert_eq!(found[1].1, b"\0\0\0\x05oldera worn drive");
        assert_eq!(found[3].1[2..10], (1u64 << 29).to_be_bytes());
        assert_eq!(found[4].1[2..], *b"older");
    }

    #[test]
    fn a_client_that_does_not_keep_to_the_protocol_is_told_how() {
        let mut long = option(LIST, b"");
        long[12..16].copy_from_slice(&(OPTION_MAX + 1).to_be_bytes());
        let many = option(LIST, b"").repeat(OPTIONS_MAX as usize + 1);
        for (sent, wanted) in [
            (b"GET / HTTP/1.1".to_vec(), "an option: found the magic number"),
            (long, "option 3: found 65537 bytes of data, and 65536 are allowed"),
            (many, "the handshake: found more than 256 options"),
        ] {
            let told = shake(&[&sent]).0.unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
        let flags = Handshake::default().feed(&8u32.to_be_bytes(), &exports(), &mut Vec::new());
        assert_eq!(flags.unwrap_err().to_string(), "the handshake: found client flags 0x8, and 0x3 are allowed");
    }

    proptest! {
        /// However bytes are cut on their way, the answers are the same.
        #[test]
        fn bytes_may_come_in_any_pieces(cuts in prop::collection::vec(1usize..40, 1..40)) {
            let sent = [
                3u32.to_be_bytes().to_vec(),
                option(LIST, b""),
                option(STRUCTURED_REPLY, b""),
                option(SET_META_CONTEXT, &contexts(b"old", &["base:allocation"])),
                option(GO, &go(b"", &[INFO_BLOCK_SIZE, INFO_DESCRIPTION])),
            ].concat();
            let mut whole = Vec::new();
            let ended = Handshake::default().feed(&sent, &exports(), &mut whole).unwrap();
            let (mut shake, mut out, mut held, mut last) = (Handshake::default(), Vec::new(), Vec::new(), Turn::More);
            let mut rest = &sent[..];
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                held.extend(now);
                rest = later;
                let (taken, turn) = shake.feed(&held, &exports(), &mut out).unwrap();
                held.drain(..taken);
                last = turn;
                if turn != Turn::More {
                    break;
                }
            }
            prop_assert_eq!((last, out), (ended.1, whole));
        }

        #[test]
        fn any_bytes_are_answered_or_a_violation(sent in prop::collection::vec(any::<u8>(), 0..300), option in 0u32..12) {
            let head = [&3u32.to_be_bytes()[..], &OPTION.to_be_bytes(), &option.to_be_bytes()].concat();
            let all = [&head[..], &(sent.len() as u32).to_be_bytes(), &sent].concat();
            for bytes in [&sent, &all] {
                if let Ok((taken, _)) = Handshake::default().feed(bytes, &exports(), &mut Vec::new()) {
                    prop_assert!(taken <= bytes.len());
                }
            }
        }
    }
}
