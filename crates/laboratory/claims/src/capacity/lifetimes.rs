//! CV1 to CV4 and CV8: what capacity variance does to lifetimes, over the traces (000 Fig. 22 and its text).

use super::{
    BY_TEXT, RANDOM_OF_TEXT, SMALL, TINY, all_traces, by_text, choice, claim, designs, finding, graceful, is_near,
    lifetime, mixture_of, most, percent, traces,
};
use crate::{Claim, Class, Finding, Others, Reading, Runs, gain, mean};

/// The designs of Fig. 22.
const DESIGNS: [&str; 8] = ["Fix_NoWL", "Fix_OBP", "Fix_DP", "Fix_PWL", "Var_NoWL", "Var_OBP", "Var_DP", "Var_PWL"];

/// Those with wear leveling, fixed and variant.
const LEVELED: [&str; 6] = ["Fix_OBP", "Var_OBP", "Fix_DP", "Var_DP", "Fix_PWL", "Var_PWL"];

/// The wear levelers in the order in which the paper names their gains.
const BY_GAIN: [&str; 3] = ["PWL", "DP", "OBP"];

/// Traces that CV3 also runs after the text's preconditioning: those with the largest gains after the scripts'.
const CV3_BY_TEXT: [&str; 2] = ["dap-ps", "msn-cfs"];

/// Has a small footprint too, as the paper's next paragraph says, though the sentence with CV3's figures does not list it.
const BEFS: &str = "msn-befs";

pub(super) fn claims() -> Vec<Claim> {
    vec![cv1_claim(), cv2_claim(), cv3_claim(), cv4_claim()]
}

fn cv1_claim() -> Claim {
    claim(
        [
            "CV1",
            "000 Fig. 22",
            "Var_NoWL over Fix_PWL: RAD-BE gains 2.94, the most of all; mean gain 1.33",
            "RAD-BE's gain and the mean each within 25 %, RAD-BE's the most",
        ],
        || all_traces(&DESIGNS),
        cv1,
        Others::Run {
            scenarios: || {
                traces().flat_map(|trace| by_text(trace, &CV1_DESIGNS)).chain(traces().map(graceful)).collect()
            },
            evaluate: cv1_others,
        },
    )
}

/// The designs that CV2 compares.
const CV2_DESIGNS: [&str; 2] = ["Fix_DP", "Fix_NoWL"];

fn cv2_claim() -> Claim {
    claim(
        ["CV2", "000 Fig. 22", "Fix_DP over Fix_NoWL: gain 0.18 on average", "positive"],
        || all_traces(&CV2_DESIGNS),
        cv2,
        Others::Run {
            scenarios: || {
                let mixed = traces().map(mixture_of).flat_map(|trace| designs(&[trace], &CV2_DESIGNS));
                mixed.chain(traces().flat_map(|trace| by_text(trace, &CV2_DESIGNS))).collect()
            },
            evaluate: cv2_others,
        },
    )
}

fn cv3_claim() -> Claim {
    Claim {
        class: Class::Mechanism,
        ..claim(
            [
                "CV3",
                "000 §4.5.1",
                "small footprints, Fix to Var: at most 9.2 % (PWL), 7.7 % (DP), 4.9 % (OBP)",
                "each at most 12 %",
            ],
            || designs(&SMALL, &LEVELED),
            cv3,
            Others::Run {
                scenarios: || {
                    let mixed = SMALL.into_iter().flat_map(|trace| designs(&[mixture_of(trace)], &LEVELED));
                    let text = CV3_BY_TEXT.into_iter().flat_map(|trace| by_text(trace, &LEVELED));
                    mixed.chain(text).chain(designs(&[BEFS], &LEVELED)).collect()
                },
                evaluate: cv3_others,
            },
        )
    }
}

fn cv4_claim() -> Claim {
    claim(
        ["CV4", "000 §4.5.1", "DAP-DS: Var_NoWL 13.9x Fix_NoWL; DP's amplification 1.80", "gain 8 to 20"],
        || designs(&["dap-ds"], &["Var_NoWL", "Fix_NoWL", "Fix_DP"]),
        cv4,
        Others::Run { scenarios: || by_text("dap-ds", &["Var_NoWL", "Fix_NoWL"]), evaluate: cv4_others },
    )
}

pub(super) fn cv8_claim() -> Claim {
    claim(
        [
            "CV8",
            "000 §4.1",
            "capacity variance with wear leveling takes up to 84 % more writes",
            "the highest gain over its fixed design between half of 84 % and twice that",
        ],
        || all_traces(&LEVELED),
        cv8,
        Others::Run {
            scenarios: || {
                let mixed = traces().map(mixture_of).flat_map(|trace| designs(&[trace], &LEVELED));
                mixed.chain(traces().flat_map(|trace| by_text(trace, &LEVELED))).collect()
            },
            evaluate: cv8_others,
        },
    )
}

/// The designs that CV1 compares.
const CV1_DESIGNS: [&str; 2] = ["Var_NoWL", "Fix_PWL"];

/// CV1's result for each trace's gain, and whether it agrees.
fn cv1_judged(gain: impl Fn(&'static str) -> f64) -> (String, bool) {
    let rad_be = gain("rad-be");
    let (trace, highest) = most(traces().map(|trace| (trace, gain(trace))));
    let all = mean(traces().map(gain));
    let words = format!("RAD-BE {rad_be:.2}; mean {all:.2}, most {highest:.2} ({trace})");
    (words, is_near(rad_be, 2.94) && is_near(all, 1.33) && trace == "rad-be")
}

fn cv1(runs: &Runs) -> Finding {
    let gain = |trace: &str| runs.gain(trace, "Var_NoWL", "Fix_PWL");
    let (ours, agrees) = cv1_judged(gain);
    let place = 1 + traces().filter(|trace| gain(trace) > gain("rad-be")).count();
    let note = format!(
        "the paper's largest gain is RAD-BE's; here RAD-BE is in place {place} of {}. Lifetimes of all designs in drive writes:",
        traces().count()
    );
    Finding { table: lifetimes_table(runs), ..finding(ours, agrees, note) }
}

fn cv1_others(runs: &Runs) -> Vec<Reading> {
    let (text, text_agrees) = cv1_judged(|trace| runs.gain_after(RANDOM_OF_TEXT, trace, "Var_NoWL", "Fix_PWL"));
    let gracefully = |trace: &str| gain(lifetime(runs.get(&graceful(trace))), runs.lifetime(trace, "Fix_PWL"));
    let (graceful, graceful_agrees) = cv1_judged(gracefully);
    vec![choice(BY_TEXT, text, text_agrees), choice("graceful instead of lazy shrink", graceful, graceful_agrees)]
}

/// Drive writes that each design lives under each trace.
fn lifetimes_table(runs: &Runs) -> String {
    let mut table = format!("| trace | {} |\n|---|{}\n", DESIGNS.join(" | "), "---:|".repeat(DESIGNS.len()));
    for trace in traces() {
        let lives = DESIGNS.map(|name| format!("{:.1}", runs.lifetime(trace, name)));
        table += &format!("| {trace} | {} |\n", lives.join(" | "));
    }
    table
}

fn cv2(runs: &Runs) -> Finding {
    let gain = |trace: &str| runs.gain(trace, "Fix_DP", "Fix_NoWL");
    let all = mean(traces().map(gain));
    let without = mean(traces().filter(|trace| !TINY.contains(trace)).map(gain));
    let of_tiny = TINY.map(|trace| format!("{trace} {}", percent(gain(trace)))).join(", ");
    let losing: Vec<&str> = traces().filter(|trace| gain(trace) < 0.0).collect();
    let note = format!(
        "the mean rests on the three traces with the smallest footprints ({of_tiny}); without them it is {without:.2}. DP shortens \
         the life under {}; the paper names VDI and DTRS",
        losing.join(", ")
    );
    finding(format!("mean gain {all:.2}"), all > 0.0, note)
}

fn cv2_others(runs: &Runs) -> Vec<Reading> {
    const MIXED: &str = "DAP-PS and LM-TBE with a hot and a cold part";
    let scripts = |trace: &str| runs.gain(trace, "Fix_DP", "Fix_NoWL");
    let mixed = |trace| scripts(mixture_of(trace));
    let text = |trace: &str| runs.gain_after(RANDOM_OF_TEXT, trace, "Fix_DP", "Fix_NoWL");
    let without = "without the three smallest footprints";
    let large = || traces().filter(|trace| !TINY.contains(trace));
    let of = |what: String, gain: f64| choice(what, format!("mean gain {gain:.3}"), gain > 0.0);
    vec![
        of(MIXED.to_owned(), mean(traces().map(mixed))),
        of(BY_TEXT.to_owned(), mean(traces().map(text))),
        of(without.to_owned(), mean(large().map(scripts))),
        of(format!("{without}; {MIXED}"), mean(large().map(mixed))),
        of(format!("{without}; {BY_TEXT}"), mean(large().map(text))),
    ]
}

/// The highest gains of PWL, DP and OBP, each with its trace.
type Highest = [(&'static str, f64); 3];

fn cv3_judged(highest: Highest) -> bool {
    highest.into_iter().all(|(_, gain)| gain <= 0.12)
}

fn cv3_words(highest: Highest) -> String {
    let word = |(name, (trace, gain)): (&str, (&str, f64))| format!("{name} {} ({trace})", percent(gain));
    BY_GAIN.into_iter().zip(highest).map(word).collect::<Vec<_>>().join(", ")
}

fn variant_over_fixed(name: &str) -> [String; 2] {
    ["Var", "Fix"].map(|capacity| format!("{capacity}_{name}"))
}

fn cv3(runs: &Runs) -> Finding {
    let gain = |trace: &str, name: &str| {
        let [new, base] = variant_over_fixed(name);
        runs.gain(trace, &new, &base)
    };
    let highest = BY_GAIN.map(|name| most(SMALL.map(|trace| (trace, gain(trace, name)))));
    let worn = |trace: &str, name: &str| runs.get(&super::design(trace, name)).summary.wear.erase_count;
    let ends = |name: &str, (trace, _): (&'static str, f64)| {
        let worn = worn(trace, &format!("Fix_{name}"));
        format!("{name} under {trace} with its 1st percentile at {} and its median at {}", worn.p1, worn.p50)
    };
    let note = format!(
        "a variant drive gains what wear leveling left uneven. In erases, of 500 rated, the fixed drives that leave most to gain end as \
         follows: {}; {}. PWL begins late, when half of the rated erases are used, and on such a small footprint not all blocks take part \
         before the end",
        ends("DP", highest[1]),
        ends("PWL", highest[0])
    );
    finding(cv3_words(highest), cv3_judged(highest), note)
}

fn cv3_others(runs: &Runs) -> Vec<Reading> {
    let mixed = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(SMALL.map(mixture_of).map(|trace| (trace, runs.gain(trace, &new, &base))))
    });
    let text = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(CV3_BY_TEXT.map(|trace| (trace, runs.gain_after(RANDOM_OF_TEXT, trace, &new, &base))))
    });
    let with_befs = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(SMALL.into_iter().chain([BEFS]).map(|trace| (trace, runs.gain(trace, &new, &base))))
    });
    let of_text = format!("{BY_TEXT}; {} alone", CV3_BY_TEXT.join(" and "));
    vec![
        choice(
            "MSN-BEFS is one of them: \"MSN-BEFS also has a small footprint\"",
            cv3_words(with_befs),
            cv3_judged(with_befs),
        ),
        choice("DAP-PS with a hot and a cold part", cv3_words(mixed), cv3_judged(mixed)),
        choice(of_text, cv3_words(text), cv3_judged(text)),
    ]
}

fn cv4_judged(gain: f64) -> bool {
    (8.0..=20.0).contains(&gain)
}

fn cv4(runs: &Runs) -> Finding {
    let gain = runs.gain("dap-ds", "Var_NoWL", "Fix_NoWL");
    let dp = runs.leveling("dap-ds", "Fix_DP");
    finding(format!("gain {gain:.1}; DP's amplification {dp:.2}"), cv4_judged(gain), "")
}

fn cv4_others(runs: &Runs) -> Vec<Reading> {
    let ratio = runs.gain("dap-ds", "Var_NoWL", "Fix_NoWL") + 1.0;
    let text = runs.gain_after(RANDOM_OF_TEXT, "dap-ds", "Var_NoWL", "Fix_NoWL");
    vec![
        choice("13.9x as a ratio", format!("ratio {ratio:.1}"), cv4_judged(ratio)),
        choice(BY_TEXT, format!("gain {text:.1}"), cv4_judged(text)),
    ]
}

fn cv8_judged(gain: f64) -> bool {
    (0.42..=1.68).contains(&gain)
}

fn cv8_words((trace, gain): (&str, f64)) -> String {
    format!("{} ({trace})", percent(gain))
}

fn cv8(runs: &Runs) -> Finding {
    let by = |name: &str| {
        let [new, base] = variant_over_fixed(name);
        most(traces().map(|trace| (trace, runs.gain(trace, &new, &base))))
    };
    let highest = most(BY_GAIN.map(by));
    let by_name = BY_GAIN.map(|name| format!("{name} {}", cv8_words(by(name)))).join(", ");
    let small = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(SMALL.map(|trace| (trace, runs.gain(trace, &new, &base))))
    });
    let note = format!(
        "the paper ties this number to no figure, and its text has at most 9.2 % for small footprints. Ours by wear leveler: {by_name}; \
         under small footprints at most {}",
        cv8_words(most(small))
    );
    finding(format!("up to {}", cv8_words(highest)), cv8_judged(highest.1), note)
}

fn cv8_others(runs: &Runs) -> Vec<Reading> {
    let mixed = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(traces().map(mixture_of).map(|trace| (trace, runs.gain(trace, &new, &base))))
    });
    let text = BY_GAIN.map(|name| {
        let [new, base] = variant_over_fixed(name);
        most(traces().map(|trace| (trace, runs.gain_after(RANDOM_OF_TEXT, trace, &new, &base))))
    });
    let of = |what, highest| choice(what, format!("up to {}", cv8_words(highest)), cv8_judged(highest.1));
    vec![of("DAP-PS and LM-TBE with a hot and a cold part", most(mixed)), of(BY_TEXT, most(text))]
}
