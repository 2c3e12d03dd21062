//! Guesses the known name that a misspelt one probably means.

/// Least similarity, from 0 to 1 by Jaro and Winkler, at which one name is taken for another.
const ALIKE: f64 = 0.8;

/// The known name that is nearest to a misspelt one; `None` if none is near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Upper and lower case mean the same.
    let name = name.to_lowercase();
    let close = known.iter().map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), *candidate));
    close.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// As [`nearest`], as the end of a sentence; empty if none is near.
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
