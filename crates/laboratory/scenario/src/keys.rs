//! Every key of a scenario by its dotted path, with the words that it takes. Shells complete them after `--set` and `--sweep`.
//!
//! The list is made of the schema, so that a new key needs no change here.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::Family;
use super::schema::{Form, Node};

/// A key of the scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its dotted path, such as `ftl.gc.d`.
    pub path: String,
    /// What it means.
    pub about: String,
    /// The words that it takes; empty if it takes numbers, sizes or any text.
    pub words: Vec<String>,
}

/// Every key that `--set` can name, in the order of the manual. Items of lists are left out, since their paths have numbers.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    collect(Node::root(), "", &mut keys);
    let mut told = BTreeSet::new();
    keys.retain(|key| told.insert(key.path.clone()));
    keys
}

fn collect(table: Node, prefix: &str, keys: &mut Vec<Key>) {
    for (name, node) in table.keys() {
        let path = format!("{prefix}{name}");
        match node.form() {
            Form::Keys => collect(node, &format!("{path}."), keys),
            Form::List => {
                if !node.lists_tables() {
                    keys.push(Key { path, about: node.doc(), words: Vec::new() });
                }
            }
            Form::Policy(key) => policy(key, &path, &node.doc(), keys),
            Form::Either(branches) => {
                keys.push(Key { path: path.clone(), about: node.doc(), words: words(node) });
                for branch in branches.into_iter().filter(|branch| matches!(branch.form(), Form::Keys)) {
                    collect(branch, &format!("{path}."), keys);
                }
            }
            _ => keys.push(Key { path, about: node.doc(), words: words(node) }),
        }
    }
}

/// The key that chooses a policy, as a word and as a table, and the parameters of all policies of its family.
fn policy(family: &str, path: &str, about: &str, keys: &mut Vec<Key>) {
    let Some(family) = Family::of_key(family) else { return };
    let names: Vec<String> = family.names().into_iter().map(str::to_owned).collect();
    for path in [path.to_owned(), format!("{path}.policy")] {
        keys.push(Key { path, about: about.to_owned(), words: names.clone() });
    }
    for (policy, name, schema) in family.parameters() {
        let about = schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let words = schema["enum"].as_array().into_iter().flatten().filter_map(Json::as_str);
        keys.push(Key {
            path: format!("{path}.{name}"),
            about: format!("{policy}: {about}"),
            words: words.map(str::to_owned).collect(),
        });
    }
}

fn words(node: Node) -> Vec<String> {
    match node.form() {
        Form::Words(words) => words.into_iter().map(str::to_owned).collect(),
        Form::Flag => vec!["true".to_owned(), "false".to_owned()],
        Form::Either(branches) => branches.into_iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_kind_are_there_with_their_words() {
        let keys = keys();
        let words = |path: &str| keys.iter().find(|key| key.path == path).map(|key| key.words.join(" "));
        assert_eq!(words("ftl.gc"), words("ftl.gc.policy"));
        assert!(words("ftl.gc.policy").is_some_and(|words| words.starts_with("greedy cost-benefit ")));
        assert_eq!(words("ftl.gc.d").as_deref(), Some(""), "a parameter of a policy");
        assert_eq!(words("until.end-of-life").as_deref(), Some("true false"));
        assert_eq!(words("drive.timing.channel-rate").as_deref(), Some("none"));
        assert!(words("drive.preset").is_some_and(|words| words.contains("tiny")));
        assert!(words("drive.chip").is_some_and(|words| words.contains("tlc-72l-2018")));
        assert!(words("workload.arrival").is_some(), "a key that takes a word or a table");
        assert!(words("probe.workload.pattern").is_some_and(|words| words.contains("zipf")), "a table told before");
        assert_eq!(words("phase"), None, "items of lists have numbers in their paths");
        let about = &keys.iter().find(|key| key.path == "ftl.gc.d").expect("it was found above").about;
        assert!(about.starts_with("d-choices: "), "{about}");
    }

    #[test]
    fn no_key_is_told_twice() {
        let paths: Vec<String> = keys().into_iter().map(|key| key.path).collect();
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    }
}
