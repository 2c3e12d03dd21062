//! Any input: random bytes and random values give a scenario or a sentence, never a panic.

use super::*;

/// Checks that a resolved scenario resolves to itself, or that the error is a sentence of one line.
fn check_total(result: Result<Scenario, ScenarioError>, context: &str) -> bool {
    match result {
        Ok(scenario) => {
            let again = resolve(&scenario.to_toml(), &[]).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(again.hash(), scenario.hash(), "{context}");
            true
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!error.message.is_empty() && !sentence.contains('\n'), "{context}: {sentence:?}");
            let inside = |span: std::ops::Range<usize>| span.start <= span.end && span.end <= error.text.len();
            assert!(error.span.is_none_or(inside), "{context}: {sentence}");
            false
        }
    }
}

#[test]
fn any_bytes_give_a_scenario_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(11).stream("fuzz");
    let mut good = 0;
    for round in 0..4000 {
        let mut bytes = [EXAMPLE, PHASES, crate::timed_tests::ALL][round as usize % 3].as_bytes().to_vec();
        for _ in 0..=round % 6 {
            let at = stream.below(bytes.len() as u64) as usize;
            match stream.below(4) {
                0 => bytes[at] = stream.bits() as u8,
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"0123456789\"'[]{}=.%-\n"[stream.below(21) as usize]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        good += u32::from(check_total(resolve_bytes(&bytes), &format!("round {round}")));
    }
    assert!(good > 100, "only {good} mutants were scenarios: the test explores too little");
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = 100_000;
    let dotted = vec!["drive"; deep].join(".");
    let texts = [
        format!("seed = {}", "[".repeat(deep)),
        format!("workload = {}", "{mix=[".repeat(deep)),
        format!("{dotted} = 1"),
        format!("[{dotted}]"),
    ];
    for text in texts {
        assert!(resolve(&text, &[]).is_err(), "{}", &text[..40]);
    }
    assert!(resolve(EXAMPLE, &[&format!("{dotted}=1")]).is_err());
    assert!(resolve(EXAMPLE, &[&format!("seed={}", "[".repeat(deep))]).is_err());
    assert!(resolve("\u{feff}[until]\ndrive-writes = 1", &[]).is_ok(), "a byte order mark is no content");
}

#[test]
fn any_values_give_a_scenario_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(12).stream("fuzz");
    // Values that fit their key alone, so that the draws explore how keys go together.
    let tables = sections().iter().filter(|section| !section.is_list);
    let paths = tables.flat_map(|section| section.keys.iter().map(|(key, _)| format!("{}.{key}", section.name)));
    let fitting = |path: String| -> Vec<String> {
        let assign = |value: &&str| format!("{}={value}", path.trim_start_matches('.'));
        VALUES.iter().map(assign).filter(|assignment| Layer::set("--set", assignment).is_ok()).collect()
    };
    let keys: Vec<Vec<String>> = paths.map(fitting).filter(|fitting| !fitting.is_empty()).collect();
    let mut good = 0;
    for round in 0..20_000 {
        let mut set = vec!["until.drive-writes=1".to_owned()];
        for _ in 0..1 + round % 5 {
            let key = &keys[stream.below(keys.len() as u64) as usize];
            set.push(key[stream.below(key.len() as u64) as usize].clone());
        }
        let result = Scenario::resolve(&Sources { set: &set, ..Sources::default() });
        good += u32::from(check_total(result, &set.join(" ")));
    }
    assert!(good > 1000, "only {good} draws were scenarios: the test explores too little");
}
