//! smartctl's JSON as assignments, one a line, for `grep` (`--json=g`): `json.smartctl.exit_status = 0;`.

use serde_json::{Map, Value};

/// The name of the whole value.
const ROOT: &str = "json";

/// Greatest index of a list: no list of smartctl's is so long, and a list is filled up to its index.
const INDEX_MAX: usize = 100_000;

/// A step into a value.
enum Step {
    Key(String),
    Index(usize),
}

/// The value; `None` if the text has no such assignment. A line that is none, as `grep` or a shell leaves them, is left out.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut root = None;
    for line in text.lines() {
        if let Some((steps, value)) = assignment(line.trim()) {
            set(root.get_or_insert(Value::Null), &steps, value);
        }
    }
    root
}

fn assignment(line: &str) -> Option<(Vec<Step>, Value)> {
    let rest = line.strip_prefix(ROOT)?;
    let (path, value) = rest.split_once(" = ")?;
    let value = serde_json::from_str(value.trim_end().trim_end_matches(';')).ok()?;
    Some((steps(path)?, value))
}

/// The steps of `.key[0]["another key"]`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(key) = rest.strip_prefix('.') {
            let end = key.find(['.', '[']).unwrap_or(key.len());
            steps.push(Step::Key(key[..end].to_owned()));
            rest = &key[end..];
            continue;
        }
        let (inner, behind) = rest.strip_prefix('[')?.split_once(']')?;
        steps.push(match inner.strip_prefix('"') {
            Some(key) => Step::Key(key.strip_suffix('"')?.to_owned()),
            None => Step::Index(inner.parse().ok().filter(|index| *index <= INDEX_MAX)?),
        });
        rest = behind;
    }
    Some(steps)
}

fn set(root: &mut Value, steps: &[Step], value: Value) {
    let mut at = root;
    for step in steps {
        at = match step {
            Step::Key(key) => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                let Some(members) = at.as_object_mut() else { return };
                members.entry(key.clone()).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if !at.is_array() {
                    *at = Value::Array(Vec::new());
                }
                let Some(elements) = at.as_array_mut() else { return };
                if elements.len() <= *index {
                    elements.resize(index + 1, Value::Null);
                }
                &mut elements[*index]
            }
        };
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_make_the_value_that_they_are_of() {
        let text = "json = {};\njson.a = [];\njson.a[1] = {};\n$ a shell's line\njson.a[1].b = \"x; = y\";\njson[\"c d\"].e = 1.5;\njson.f[9999999] = 1;";
        assert_eq!(value(text).unwrap().to_string(), r#"{"a":[null,{"b":"x; = y"}],"c d":{"e":1.5}}"#);
        assert_eq!((value("a letter"), value("json: no")), (None, None));
    }
}
