//! The name that someone who misspelt one probably meant.

/// How alike two names must be, from 0 to 1 as Jaro and Winkler measure it, for one to be taken for the other.
const ALIKE: f64 = 0.8;

/// The known name that a misspelt one is nearest to; none where none is near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Who shouts or whispers means the same.
    let name = name.to_lowercase();
    let close = known.iter().map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), *candidate));
    close.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// As [`nearest`], as the end of a sentence; empty where none is near.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbor_and_a_strange_one_nothing() {
        let known = ["greedy", "random", "fifo"];
        assert_eq!((nearest("gredy", &known), nearest("xyz", &known)), (Some("greedy"), None));
        assert_eq!(did_you_mean("fifi", &known), "; did you mean \"fifo\"?");
        assert_eq!(did_you_mean("xyz", &known), "");
        assert_eq!(nearest("GREEDY", &known), Some("greedy"));
        assert_eq!((nearest("WL11", &["MF1", "WL1"]), nearest("wl1", &["MF1", "WL1"])), (Some("WL1"), Some("WL1")));
    }
}
