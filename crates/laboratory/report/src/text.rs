//! How wide a text is, before anything draws it.
//!
//! A page is read in the font of its reader, which is unknown. Widths are those of DejaVu Sans, the widest of the fonts
//! that browsers take for sans-serif, so that what fits here fits everywhere; a test compares them with the font itself.

/// Size of the text of charts, in pixels.
pub(super) const SIZE: f64 = 12.0;

/// Width of a text in pixels at [`SIZE`].
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(advance).sum::<f64>() * SIZE / 1000.0
}

/// Width of a bold text relative to a plain one.
pub(super) const BOLD: f64 = 1.16;

/// As much of a text as fits into `pixels` pixels, with an ellipsis if some is missing.
pub(super) fn fit(text: &str, pixels: f64) -> String {
    if width(text) <= pixels {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = pixels - advance('\u{2026}') * SIZE / 1000.0;
    for character in text.chars() {
        left -= advance(character) * SIZE / 1000.0;
        if left < 0.0 {
            break;
        }
        kept.push(character);
    }
    kept.trim_end().to_owned() + "\u{2026}"
}

/// A text in lines of at most `pixels` pixels, with nothing left out.
pub(super) fn wrap(text: &str, pixels: f64) -> Vec<String> {
    // A text that is as wide as its place may have a rounding error more.
    wrapped(text, pixels + 1e-6, width)
}

/// A text in lines that `measure` at most `most`, with nothing left out: broken behind a comma if that is enough, otherwise between words, and
/// within a word only if it is longer than a line. A key keeps its sign: "d =" and "8" are the words of "d = 8".
pub(super) fn wrapped(text: &str, most: f64, measure: impl Fn(&str) -> f64) -> Vec<String> {
    let fits = |part: &str| measure(part) <= most;
    let mut parts: Vec<String> = Vec::new();
    for clause in text.split_inclusive(", ").map(str::trim_end).filter(|clause| !clause.is_empty()) {
        if fits(clause) {
            parts.push(clause.to_owned());
            continue;
        }
        let clause = clause.replace(" = ", "\0 ");
        let words = clause.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('\0', " ="));
        for word in words {
            pieces(&word, &fits, &mut parts);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let longer = lines.last().map(|line| format!("{line} {part}")).filter(|longer| fits(longer));
        match (lines.last_mut(), longer) {
            (Some(line), Some(longer)) => *line = longer,
            _ => lines.push(part),
        }
    }
    lines
}

/// A word, cut into the longest pieces that fit; a piece has at least one letter.
fn pieces(word: &str, fits: &impl Fn(&str) -> bool, parts: &mut Vec<String>) {
    let mut piece = String::new();
    for letter in word.chars() {
        piece.push(letter);
        if !fits(&piece) && piece.chars().count() > 1 {
            piece.pop();
            parts.push(std::mem::take(&mut piece));
            piece.push(letter);
        }
    }
    parts.push(piece);
}

/// Advance of a character in thousandths of the font's size.
fn advance(character: char) -> f64 {
    const LOWER: [u16; 26] = [
        613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592,
        818, 592, 592, 525,
    ];
    const UPPER: [u16; 26] = [
        684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684,
        989, 685, 611, 685,
    ];
    f64::from(match character {
        'a'..='z' => LOWER[character as usize - 'a' as usize],
        'A'..='Z' => UPPER[character as usize - 'A' as usize],
        '0'..='9' => 636,
        ' ' | '\u{a0}' | '.' | ',' | '\'' | '\u{2019}' | '\u{b7}' => 318,
        '-' => 361,
        '(' | ')' | '[' | ']' => 391,
        '/' | ':' | ';' => 337,
        '"' | '\u{201c}' | '\u{201d}' => 518,
        '_' | '\u{2013}' => 500,
        '%' => 951,
        '\u{2026}' => 1000,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{2079}' => 401,
        '\u{207b}' => 528,
        '=' | '+' | '<' | '>' | '\u{b1}' | '\u{d7}' | '\u{2212}' | '#' => 838,
        '\u{b5}' | '\u{3bc}' => 636,
        // Unknown: as wide as the widest letters of our own words.
        _ => 1000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis_within_its_width() {
        assert_eq!(fit("greedy", 100.0), "greedy");
        for pixels in [20.0, 33.0, 60.0] {
            let cut = fit("a rather long name of a run", pixels);
            assert!(cut.ends_with('\u{2026}') && width(&cut) <= pixels, "{cut} in {pixels}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_broken_and_whole() {
        let letters = |most: usize, text: &str| wrapped(text, most as f64, |part| part.chars().count() as f64);
        let table: [(&str, usize, &[&str]); 7] = [
            ("d = 8", 20, &["d = 8"]),
            ("strength = 40, over-provisioning = 7\u{a0}%", 30, &["strength = 40,", "over-provisioning = 7\u{a0}%"]),
            ("strength = 40, over-provisioning = 7\u{a0}%", 20, &["strength = 40,", "over-provisioning =", "7\u{a0}%"]),
            ("d = 1, e = 2, f = 3", 13, &["d = 1, e = 2,", "f = 3"]),
            ("one two three", 7, &["one two", "three"]),
            ("a-long-trace.gz and", 8, &["a-long-t", "race.gz", "and"]),
            ("", 5, &[]),
        ];
        for (text, most, expected) in table {
            assert_eq!(letters(most, text), expected, "{text} in {most}");
        }
        assert_eq!(letters(0, "ab"), ["a", "b"], "a line has a letter");
    }

    #[test]
    fn widths_are_those_of_the_font() {
        let known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,'-()[]/:;_%\u{2026}=+<>\u{b1}\u{b5}\u{b7}\u{2013}\
                     \u{2212}\u{b2}\u{b3}\u{b9}\u{2074}\u{207b}";
        for character in known.chars().filter(|character| !character.is_whitespace()) {
            // Twenty of them between two bars, less the bars.
            let of = |count: usize| {
                crate::boxes::of_text(&format!("|{}|", character.to_string().repeat(count)), crate::boxes::Font::DejaVu)
            };
            let found = (of(21) - of(1)) / 20.0;
            let estimate = advance(character) * SIZE / 1000.0;
            // A letter is set apart from its twin by up to half a pixel.
            assert!((found - 0.5..found + 1.5).contains(&estimate), "'{character}': {found} and {estimate}");
        }
    }
}
