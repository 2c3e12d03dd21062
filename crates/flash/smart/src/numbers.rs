//! Numbers as tools print them: in groups of three digits, parted as the machine's locale and code page have it.
//!
//! A separator that a terminal or an editor could not show is a question mark, a replacement character, or letters of another
//! code page. So what parts two groups is recognized by the three digits behind it, and only then by what it is. A number that
//! goes on in a way that no locale has is cut off, and its value is not used: a part of a number is a wrong number.

use serde_json::Value;

/// Most characters between two groups of digits: the three bytes of U+202F, shown in a code page of one byte.
const SEPARATOR_CHARS_MAX: usize = 4;

/// A number at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Amount<'a> {
    /// Its value.
    pub(crate) value: f64,
    /// What follows it.
    pub(crate) rest: &'a str,
    /// Number of its digits behind the decimal mark.
    pub(crate) decimals: usize,
}

impl Amount<'_> {
    /// Whether further digits follow where the number ends, so that the value is perhaps only a part of it.
    pub(crate) fn is_cut(&self) -> bool {
        let goes_on = |letter: char| letter.is_alphanumeric() || "/:+%([".contains(letter);
        let behind = self.rest.trim_start_matches(|letter| !goes_on(letter));
        behind.starts_with(|first: char| first.is_ascii_digit())
    }
}

/// A separator and the digits behind it.
#[derive(Clone, Copy)]
struct Group<'a> {
    separator: &'a str,
    digits: &'a str,
}

impl Group<'_> {
    fn bytes(&self) -> usize {
        self.separator.len() + self.digits.len()
    }
}

/// The number at the start of a text; `None` if it begins with none. "100%" is 100, "4,731,158 [2.42 TB]" 4731158, "0x04" 4.
pub(crate) fn amount(text: &str) -> Option<Amount<'_>> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let (digits, rest) =
            digits.split_at(digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len()));
        return u64::from_str_radix(digits, 16).ok().map(|value| Amount { value: value as f64, rest, decimals: 0 });
    }
    let (sign, unsigned) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(unsigned) => (-1.0, unsigned),
        None => (1.0, text),
    };
    let (first, mut rest) = digits(unsigned);
    if first.is_empty() {
        return None;
    }
    let mut groups = Vec::new();
    while let Some(next) = group(rest) {
        groups.push(next);
        rest = &rest[next.bytes()..];
    }
    // The longest beginning that a locale would print.
    let taken = (0..=groups.len()).rev().find(|count| form(first, &groups[..*count]).is_some()).unwrap_or(0);
    let decimals = form(first, &groups[..taken]).unwrap_or(0);
    let mut plain = first.to_owned();
    for (at, group) in groups[..taken].iter().enumerate() {
        if decimals > 0 && at + 1 == taken {
            plain.push('.');
        }
        plain += group.digits;
    }
    let bytes: usize = first.len() + groups[..taken].iter().map(Group::bytes).sum::<usize>();
    let value = sign * plain.parse::<f64>().ok()?;
    Some(Amount { value, rest: &unsigned[bytes..], decimals })
}

/// A number whose last point or comma is a decimal mark, as in SCSI's "97311.440" gigabytes.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let Some((whole, fraction)) = text.rsplit_once(['.', ',']) else { return whole_amount(text) };
    let fraction = (!fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())).then_some(fraction)?;
    format!("{}.{fraction}", whole_amount(whole)?).parse().ok()
}

/// A number that is the whole text.
pub(crate) fn whole_amount(text: &str) -> Option<f64> {
    amount(text).filter(|amount| amount.rest.trim().is_empty()).map(|amount| amount.value)
}

/// Keys under which tools wrap a number: `{"value": 3}`, `{"n": 3, "s": "3"}`.
const WRAPPED: [&str; 2] = ["value", "n"];

/// A number of JSON, which may be written as text, as large counts are, in two halves of 64 bits, alone in a list, or wrapped.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => whole_amount(text).or_else(|| {
            // "1e20", which no tool prints in groups.
            text.trim().parse().ok().filter(|value: &f64| value.is_finite())
        }),
        Value::Array(elements) => match &elements[..] {
            [one] => number(one),
            _ => None,
        },
        Value::Object(members) => match members.get("hi").zip(members.get("lo")) {
            Some((high, low)) => Some(number(high)? * 2f64.powi(64) + number(low)?),
            None => WRAPPED.iter().find_map(|key| members.get(*key)).and_then(number),
        },
        _ => None,
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}

/// What parts two groups, and the group behind it.
fn group(text: &str) -> Option<Group<'_>> {
    let end = text.find(|letter: char| letter.is_ascii_digit())?;
    let separator = &text[..end];
    let strange = |letter: char| letter == '?' || !letter.is_ascii();
    let is_one = matches!(separator, " " | "," | "." | "'" | "_" | "`" | "\t");
    let is_strange = separator.chars().count() <= SEPARATOR_CHARS_MAX && separator.chars().all(strange);
    (!separator.is_empty() && (is_one || is_strange)).then(|| Group { separator, digits: digits(&text[end..]).0 })
}

/// The number of decimals of these digits if a locale prints a number so: 0 for a whole number; `None` if none does.
fn form(first: &str, groups: &[Group<'_>]) -> Option<usize> {
    let Some((last, before)) = groups.split_last() else { return Some(0) };
    if is_grouped(first, groups) {
        return Some(0);
    }
    let is_mark = matches!(last.separator, "." | ",") && before.iter().all(|group| group.separator != last.separator);
    (is_mark && (before.is_empty() || is_grouped(first, before))).then_some(last.digits.len())
}

/// Whether these are thousands, in groups of three or as India parts them: 4,13,27,562.
fn is_grouped(first: &str, groups: &[Group<'_>]) -> bool {
    let Some((last, before)) = groups.split_last() else { return false };
    let is_same = before.iter().all(|group| group.separator == last.separator);
    let threes = before.iter().all(|group| group.digits.len() == 3);
    let twos = last.separator == "," && first.len() <= 2 && before.iter().all(|group| group.digits.len() == 2);
    // "0.123" has no thousands.
    is_same && first.len() <= 3 && first != "0" && last.digits.len() == 3 && (threes || twos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted_as_locales_do() {
        for (text, want, rest) in [
            ("4,731,158 [2.42 TB]", 4_731_158.0, " [2.42 TB]"),
            ("4.731.158 [2,42 TB]", 4_731_158.0, " [2,42 TB]"),
            ("41.257", 41_257.0, ""),
            ("41'257", 41_257.0, ""),
            ("41\u{2019}257", 41_257.0, ""),
            ("7\u{202f}069\u{202f}809", 7_069_809.0, ""),
            ("7 069 809", 7_069_809.0, ""),
            ("7 069", 7_069.0, ""),
            ("7\u{a0}069\u{a0}809 [3,61 TB]", 7_069_809.0, " [3,61 TB]"),
            ("7\u{fffd}069\u{fffd}809", 7_069_809.0, ""),
            ("7?069?809", 7_069_809.0, ""),
            // UTF-8's spaces in a terminal of ASCII, and in code pages 1252, 1250, 437 and 850.
            ("7??069??809", 7_069_809.0, ""),
            ("7???069???809", 7_069_809.0, ""),
            ("7\u{c2}\u{a0}069\u{c2}\u{a0}809", 7_069_809.0, ""),
            ("7\u{e2}\u{20ac}\u{af}069", 7_069.0, ""),
            ("7\u{e2}\u{20ac}\u{17b}069", 7_069.0, ""),
            ("7\u{252c}\u{e1}069", 7_069.0, ""),
            ("7\u{ff}069", 7_069.0, ""),
            ("4,13,27,562 [21,1 TB]", 41_327_562.0, " [21,1 TB]"),
            ("10,00,000", 1_000_000.0, ""),
            ("35.5", 35.5, ""),
            ("1.234,5", 1234.5, ""),
            ("1 234,56 x", 1234.56, " x"),
            ("0.123", 0.123, ""),
            ("2.1415", 2.1415, ""),
            ("100%", 100.0, "%"),
            ("43 Celsius", 43.0, " Celsius"),
            ("12. of", 12.0, ". of"),
            ("0x04", 4.0, ""),
            ("-5 Celsius", -5.0, " Celsius"),
        ] {
            let found = amount(text).unwrap_or_else(|| panic!("{text}: no number"));
            assert_eq!((found.value, found.rest), (want, rest), "{text}");
            assert!(!found.is_cut(), "{text}");
        }
        assert_eq!(amount("none"), None);
    }

    #[test]
    fn a_number_that_goes_on_in_no_known_way_is_cut() {
        for text in [
            "6 38",
            "6 0384",
            "4 4 7",
            "1234 567",
            "1 000,000 000",
            "6?3",
            "1,000.000.5",
            "12\u{fffd}3456",
            "6~038",
            "6 | 38",
        ] {
            assert!(amount(text).is_some_and(|found| found.is_cut()), "{text}: {:?}", amount(text));
        }
    }

    #[test]
    fn decimals_and_texts_of_json_are_whole() {
        for (text, want) in
            [("97311.440", 97_311.44), ("97311,440", 97_311.44), ("1.097.311,440", 1_097_311.44), ("12", 12.0)]
        {
            assert_eq!(decimal(text), Some(want), "{text}");
        }
        assert_eq!((decimal("x.5"), decimal("5.x"), decimal("")), (None, None, None));
        for (text, want) in
            [("2,000", 2000.0), ("2 000", 2000.0), ("0x10", 16.0), ("1e20", 1e20), ("97311.44", 97_311.44)]
        {
            assert_eq!(number(&Value::String(text.to_owned())), Some(want), "{text}");
        }
        let wrapped = [r#"{"value":61}"#, r#"{"n":61,"s":"61"}"#, "[61]", r#"[{"value":"61"}]"#, r#"{"hi":0,"lo":61}"#];
        for text in wrapped {
            assert_eq!(number(&serde_json::from_str(text).unwrap()), Some(61.0), "{text}");
        }
        for text in ["[]", "[6, 1]", "{}", "null", "true", r#"{"s":"61"}"#] {
            assert_eq!(number(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
        for text in ["nan", "inf", "6 38", "7 apples", ""] {
            assert_eq!(number(&Value::String(text.to_owned())), None, "{text}");
        }
    }
}
