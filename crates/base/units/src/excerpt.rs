//! User input as messages quote it, short and on one line, and as texts and tables hold it.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// Most characters of user input that a message quotes.
pub const EXCERPT_CHARS_MAX: usize = 200;

/// Shows at most [`EXCERPT_CHARS_MAX`] characters of `text`, with control characters escaped and `...` at the end if it was longer.
///
/// Messages quote keys, values, lines and names this way, so that input can neither flood nor control a terminal.
pub fn excerpt(text: &str) -> Excerpt<'_> {
    Excerpt(text)
}

/// Shows a path as [`excerpt`] shows text.
pub fn excerpt_path(path: &Path) -> String {
    excerpt(&path.to_string_lossy()).to_string()
}

/// See [`excerpt`].
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(&'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, letter) in self.0.chars().enumerate() {
            if number == EXCERPT_CHARS_MAX {
                return f.write_str("...");
            }
            if steers(letter) { write!(f, "{}", letter.escape_default())? } else { fmt::Write::write_char(f, letter)? }
        }
        Ok(())
    }
}

/// Text of several lines on which no terminal acts. Line ends and tabs stay; each other letter that would steer becomes `\uXXXX`, which
/// JSON and TOML read as that letter.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| !steers(letter) || matches!(letter, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let written = |letter: char| {
        if is_plain(letter) { letter.to_string() } else { format!("\\u{:04x}", u32::from(letter)) }
    };
    Cow::Owned(text.chars().map(written).collect())
}

/// Beginnings of a cell that a spreadsheet takes for a formula, in both widths.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Text as a cell of CSV, before it is quoted. A text that a spreadsheet would compute gets an apostrophe in front, after which it is text there;
/// numbers and dashes stay.
pub fn cell(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    let is_number = || trimmed.parse::<f64>().is_ok() || trimmed.chars().all(|letter| letter == '-');
    if trimmed.starts_with(FORMULA) && !is_number() {
        return Cow::Owned(format!("'{}", printable(text)));
    }
    printable(text)
}

/// Whether a terminal would act on the character, or show the following text in another order, instead of printing it.
pub fn steers(letter: char) -> bool {
    let reorders =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || reorders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal_or_a_spreadsheet() {
        let table = [
            ("two\nlines\tand 7 %", "two\nlines\tand 7 %"),
            ("a\u{1b}]0;owned\u{7}", "a\\u001b]0;owned\\u0007"),
            ("\u{202e}txt\r", "\\u202etxt\\u000d"),
            ("\u{9b}31m", "\\u009b31m"),
        ];
        for (text, want) in table {
            assert_eq!((printable(text).as_ref(), cell(text).as_ref()), (want, want));
        }
        for text in ["=cmd|x!A1", " @sum", "+a", "-a", "\u{ff1d}1+1", "=1"] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        for text in ["-1.5e3", "+4", "-", "--", "7 %", "a=b", "", "-inf"] {
            assert_eq!(cell(text), text);
        }
    }

    #[test]
    fn long_input_is_cut_and_control_characters_are_escaped() {
        let long = "ä".repeat(EXCERPT_CHARS_MAX);
        let table = [
            ("plain \"text\" 'ä'", "plain \"text\" 'ä'".to_owned()),
            ("a\nb\t\u{1b}[31m\u{7f}\u{0}", "a\\nb\\t\\u{1b}[31m\\u{7f}\\u{0}".to_owned()),
            ("\u{202e}txt", "\\u{202e}txt".to_owned()),
            (&long, long.clone()),
            (&(long.clone() + "x"), long.clone() + "..."),
        ];
        for (text, want) in table {
            assert_eq!(excerpt(text).to_string(), want);
        }
    }
}
