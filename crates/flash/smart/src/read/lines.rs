//! The lines of a pasted or collected text, without what others put before each: blanks, a mail's or a forum's signs of
//! quotation, the time and the machine's name of a journal, the file's name of `grep`.
//!
//! What stands before a line is learned from lines whose beginning is known, and taken from the lines that follow if they
//! begin alike.

/// Beginnings of lines that are known.
const MARKS: [&str; 10] = [
    "=== START OF ",
    "Device Model:",
    "Model Number:",
    "Model Family:",
    "SMART overall-health self-assessment",
    "SMART/Health Information (NVMe",
    "ID# ATTRIBUTE_NAME",
    "Additional Smart Log for NVM",
    "Smart Log for NVME device",
    "SMART Health Status:",
];

/// Signs with which mails, forums and tables quote.
const QUOTES: [char; 6] = ['>', '|', '*', '#', ';', '\u{2502}'];

/// What stands before each line.
#[derive(Default)]
struct Before<'a> {
    /// Number of its words.
    words: usize,
    /// The last of them, each number in it as one digit.
    last: String,
    /// The file that `grep` names.
    file: Option<&'a str>,
    /// Whether a line begins with a sign of quotation without a space.
    is_quoted: bool,
}

/// The lines of a text, as they were before someone put something before each.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut before = Before::default();
    text.lines().map(|line| before.strip(without_file(line))).collect()
}

impl<'a> Before<'a> {
    fn strip(&mut self, line: &'a str) -> &'a str {
        if let Some(at) = mark(line) {
            *self = Self::of(&line[..at]);
            return line[at..].trim_end();
        }
        let line = line.trim();
        if let Some(rest) = self.file.and_then(|file| line.strip_prefix(file)?.strip_prefix([':', '-'])) {
            return rest.trim();
        }
        if self.is_quoted {
            return line.trim_start_matches(QUOTES).trim();
        }
        let mut rest = line;
        let mut last = "";
        for _ in 0..self.words {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (last, rest) = (&rest[..end], rest[end..].trim_start());
        }
        if self.words > 0 && masked(last) == self.last { rest } else { line }
    }

    /// Of what stands before a line whose beginning is known.
    fn of(before: &'a str) -> Self {
        let glued = &before[before.rfind(char::is_whitespace).map_or(0, |at| at + 1)..];
        if let Some(file) = glued.strip_suffix([':', '-']).filter(|file| !file.is_empty()) {
            return Self { file: Some(file), ..Self::default() };
        }
        if !glued.is_empty() {
            return Self { is_quoted: glued.chars().all(|letter| QUOTES.contains(&letter)), ..Self::default() };
        }
        let words = before.split_whitespace();
        Self { words: words.clone().count(), last: words.last().map(masked).unwrap_or_default(), ..Self::default() }
    }
}

/// Where a known beginning stands in a line.
fn mark(line: &str) -> Option<usize> {
    let known = MARKS.iter().filter_map(|mark| line.find(mark)).min();
    known.or_else(|| line.match_indices("smartctl ").map(|(at, _)| at).find(|at| is_version(&line[*at..])))
}

/// Whether a line is smartctl's first one: "smartctl 7.4 2023-08-01", "smartctl pre-7.5", and in old versions "smartctl version
/// 5.38".
pub(super) fn is_version(line: &str) -> bool {
    line.strip_prefix("smartctl ").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_digit())
            || rest.starts_with("pre")
            || rest.starts_with("version ")
    })
}

/// A word with each number in it as one digit: processes and seconds differ from line to line.
fn masked(word: &str) -> String {
    let mut masked = String::new();
    for letter in word.chars() {
        match letter {
            letter if !letter.is_ascii_digit() => masked.push(letter),
            _ if masked.ends_with('0') => {}
            _ => masked.push('0'),
        }
    }
    masked
}

/// A line without the file name that `grep` puts before it: "log_06.txt-", or "log_06.txt:" for a matching line.
fn without_file(line: &str) -> &str {
    let Some(at) = line.find(".txt").filter(|at| !line[..*at].contains(' ')) else { return line };
    line[at + 4..].strip_prefix(['-', ':']).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: [&str; 5] = [
        "smartctl 7.4 2023-08-01 r5530",
        "=== START OF INFORMATION SECTION ===",
        "Model Number:   X 1",
        "",
        "Power On Hours:  6,038",
    ];

    #[test]
    fn what_others_put_before_each_line_is_taken_off() {
        let forms: [fn(usize, &str) -> String; 11] = [
            |_, line| line.to_owned(),
            |_, line| format!("\t  {line}"),
            |_, line| format!("> {line}"),
            |_, line| format!("> > {line}"),
            |_, line| format!(">{line}"),
            |_, line| format!("# {line}"),
            |at, line| format!("nov 26 10:00:0{at} host smartd-report[{}]: {line}", 9 * at + 5),
            |at, line| format!("2026-02-23T10:00:0{at}.{at}Z {line}"),
            |_, line| format!("node_1  | {line}"),
            |at, line| format!("logs/host-a.log{}{line}", if at == 1 { ':' } else { '-' }),
            |_, line| format!("a.txt-{line}"),
        ];
        for form in forms {
            let text: Vec<String> = TEXT.iter().enumerate().map(|(at, line)| form(at, line)).collect();
            let text = text.join("\r\n");
            assert_eq!(lines(&text), TEXT, "{text}");
        }
    }

    #[test]
    fn a_line_that_begins_otherwise_is_kept() {
        let text = "> Model Number: X\n> Power Cycles: 7\nPower On Hours: 9\n";
        assert_eq!(lines(text), ["Model Number: X", "Power Cycles: 7", "Power On Hours: 9"]);
    }
}
