//! User input as messages quote it: short, and on one line.

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

/// Whether a terminal would act on the character, or show the following text in another order, instead of printing it.
fn steers(letter: char) -> bool {
    let reorders = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || reorders
}

#[cfg(test)]
mod tests {
    use super::*;

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
