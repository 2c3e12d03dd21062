//! What is expected of many arrays, in sentences and tables: when the first member dies, what is lost, by what, and what else could be done.

use wane_results::{DAYS_PER_YEAR, FirstFailure, Forecast, Interval, Outlook, OutlookYear, UberAtWear};

use super::bars::{Bar, Bars};
use super::estimates::{
    amount, amount_between, bytes, bytes_between, difference, share, share_between, time, time_between,
};
use super::html::{Figure, Table, escape, figure, table};
use super::numbers::count;
use super::picture::{Arrangement, Drawing, Values};

/// Causes by their names in results, with words after "by".
const CAUSES: [(&str, &str); 5] = [
    ("wear-out", "worn members"),
    ("chance", "members that failed for other reasons than wear"),
    ("shock", "events that took several members"),
    ("unreadable", "sectors that a rebuild could not read"),
    ("latent", "sectors that no scrub had found"),
];

/// A time of the forecast, given in years.
fn years(years: f64) -> String {
    time(DAYS_PER_YEAR * years)
}

/// A quantile of the first failure.
fn when(first: &FirstFailure) -> String {
    let days = |years: Option<f64>| years.map(|years| DAYS_PER_YEAR * years);
    days(first.years).map_or_else(|| "later".to_owned(), |by| time_between(by, [days(first.low), days(first.high)]))
}

/// When the first member dies, in a sentence.
fn first_death(outlook: &Outlook) -> String {
    let of = |share: f64| outlook.first_failure.iter().find(|first| first.share == share);
    let by = |share: f64| of(share).and_then(|first| first.years);
    let last = outlook.years.last().map_or(0.0, |year| year.years);
    let half = match of(0.5) {
        Some(first) if first.years.is_some() => {
            format!("The first member has failed in half of the arrays after {}", when(first))
        }
        _ => format!("In more than half of the arrays no member fails in {}", years(last)),
    };
    let early =
        by(0.05).map(|by| format!("; in 5\u{a0}% of all arrays one has after {}", years(by))).unwrap_or_default();
    let late = by(0.95).map(|by| format!(", in 95\u{a0}% after {}", years(by))).unwrap_or_default();
    format!("{half}{early}{late}.")
}

/// What more failed members than the code stands take, in words.
fn taken(forecast: &Forecast) -> String {
    match forecast.lost_beyond_code {
        Some(part) if part >= 1.0 => ", which takes all data".to_owned(),
        Some(part) => format!(", which takes a part of the data, {} in the mean", share(part)),
        None => String::new(),
    }
}

/// What is lost until a year, in a sentence. `taken`: what more failed members than the code stands take.
fn lost(year: &OutlookYear, taken: &str) -> String {
    let figures = &year.figures;
    format!(
        "After {}: data are lost in {} of the arrays; in {} more members have failed than the code stands{taken}; {} lost of a TB in a year; {} \
         without a member.",
        years(year.years),
        share_between(&figures.any_lost),
        share(figures.array_lost.mean),
        bytes(figures.bytes_lost_per_tb_year.mean),
        time(figures.days_degraded.mean)
    )
}

/// What the losses until a year come from, most first; `None` without losses.
fn causes(year: &OutlookYear) -> Option<String> {
    let whole: f64 = year.loss_causes.values().sum();
    let told = |name: &str| {
        CAUSES.iter().find(|cause| cause.0 == name).map_or_else(|| name.to_owned(), |cause| cause.1.to_owned())
    };
    let mut parts: Vec<(String, f64)> =
        year.loss_causes.iter().map(|(name, chance)| (told(name), chance / whole)).collect();
    parts.retain(|(_, part)| *part >= 0.005);
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let listed: Vec<String> = parts.iter().map(|(cause, part)| format!("{} by {cause}", share(*part))).collect();
    (whole > 0.0).then(|| format!("Of the losses in {}: {}.", years(year.years), listed.join(", ")))
}

/// What an alternative changes until the last year, in a sentence.
fn gained(alternative: &wane_results::Alternative) -> Option<String> {
    let year = alternative.outlook.years.last()?;
    let change = year.changes?.any_lost;
    let size =
        if change.high < 0.0 { Interval { mean: -change.mean, low: -change.high, high: -change.low } } else { change };
    let verdict = match (change.low > 0.0, difference(&size)) {
        (_, None) => "no difference".to_owned(),
        (_, Some(told)) if change.high < 0.0 => format!("fewer lose data, by {told}"),
        (true, Some(told)) => format!("more lose data, by {told}"),
        (false, Some(told)) => format!("no difference beyond chance, {told}"),
    };
    Some(format!(
        "With {}: data are lost in {} after {}; {verdict}.",
        alternative.told,
        share(year.figures.any_lost.mean),
        years(year.years)
    ))
}

/// A forecast in sentences, the answer first.
pub fn forecast_in_words(forecast: &Forecast) -> Vec<String> {
    let mut told = vec![
        first_death(&forecast.planned),
        format!("Forecast of {} arrays of {}.", count(forecast.arrays), forecast.plan),
    ];
    let taken = taken(forecast);
    told.extend(forecast.planned.years.iter().map(|year| lost(year, &taken)));
    told.extend(forecast.planned.years.last().and_then(causes));
    told.extend(forecast.alternatives.iter().filter_map(gained));
    told.extend(forecast.assumptions.iter().cloned());
    told
}

/// The section of an array's page.
pub(super) fn section(forecast: &Forecast) -> String {
    let mut text = String::from("<h2>What to expect of such arrays</h2>\n");
    let paragraph = |told: &str| format!("<p>{}</p>\n", escape(told));
    text.push_str(&paragraph(&first_death(&forecast.planned)));
    text.push_str(&paragraph(&format!("{} arrays of {}.", count(forecast.arrays), forecast.plan)));
    text.push_str(&table(&of_years(&forecast.planned), "numbers"));
    text.push_str(
        "<p class=\"caption\">Means and their intervals of 95\u{a0}%. A loss counts at the first failure that leads to it.</p>\n",
    );
    let taken = taken(forecast);
    if !taken.is_empty() {
        text.push_str(&paragraph(&format!("In some arrays more members fail than the code stands{taken}.")));
    }
    if let Some(told) = forecast.planned.years.last().and_then(causes) {
        text.push_str(&paragraph(&told));
    }
    if !forecast.alternatives.is_empty() {
        let last = forecast.planned.years.last().map_or(0.0, |year| year.years);
        text.push_str(&format!("<h2>What else could be done, after {}</h2>\n", escape(&years(last))));
        text.push_str(&figure(&by_cause(forecast), Values::Left));
        text.push_str(&table(&of_alternatives(forecast), "numbers"));
        text.push_str(
            "<p class=\"caption\">The same arrays under each alternative: differences are of the same drives, batches and \
             events.</p>\n",
        );
    }
    let listed: String = forecast.assumptions.iter().map(|told| format!("<li>{}</li>\n", escape(told))).collect();
    let uber = if forecast.uber.is_empty() { String::new() } else { table(&of_uber(&forecast.uber), "numbers") };
    text.push_str(&format!(
        "<details open><summary>What this stands on</summary>\n<ul>\n{listed}</ul>\n{uber}</details>\n"
    ));
    text
}

/// The figures of the plan, a row a year.
fn of_years(outlook: &Outlook) -> Table {
    let headers = [
        "after",
        "any data lost",
        "more failed than the code stands",
        "lost a TB and a year",
        "without a member",
        "a member failed",
        "drives replaced",
    ];
    let row = |year: &OutlookYear| {
        let (figures, degraded) = (&year.figures, &year.figures.days_degraded);
        vec![
            years(year.years),
            share_between(&figures.any_lost),
            share_between(&figures.array_lost),
            bytes_between(&figures.bytes_lost_per_tb_year),
            time_between(degraded.mean, [Some(degraded.low), Some(degraded.high)]),
            share_between(&figures.member_failed),
            amount_between(&figures.drives_replaced),
        ]
    };
    Table { headers: headers.map(str::to_owned).to_vec(), rows: outlook.years.iter().map(row).collect() }
}

/// The UBER at each wear, a row each.
fn of_uber(uber: &[UberAtWear]) -> Table {
    let row = |at: &UberAtWear| vec![share(at.wear), format!("{:.1e}", at.uber)];
    let headers = ["rated erases used", "UBER, errors per bit read"];
    Table { headers: headers.map(str::to_owned).to_vec(), rows: uber.iter().map(row).collect() }
}

/// The plan and its alternatives, each with its outlook and a name.
fn plans(forecast: &Forecast) -> Vec<(&str, &Outlook)> {
    let others = forecast.alternatives.iter().map(|other| (other.told.as_str(), &other.outlook));
    std::iter::once(("the plan", &forecast.planned)).chain(others).collect()
}

/// A bar for the plan and for each alternative: the share of arrays that have lost data after the last year, by cause.
pub(super) fn by_cause(forecast: &Forecast) -> Figure {
    let last = forecast.planned.years.last().map_or(0.0, |year| year.years);
    let plans = plans(forecast);
    let at_last = |outlook: &Outlook, name: &str| {
        outlook.years.last().and_then(|year| year.loss_causes.get(name)).copied().unwrap_or(0.0)
    };
    let is_seen =
        |(_, (name, _)): &(usize, &(&str, &str))| plans.iter().any(|(_, outlook)| at_last(outlook, name) > 0.0);
    let causes: Vec<(usize, &(&str, &str))> = CAUSES.iter().enumerate().filter(is_seen).collect();
    let bar = |(name, outlook): &(&str, &Outlook)| {
        let any = outlook.years.last().map_or_else(Interval::default, |year| year.figures.any_lost);
        Bar {
            name: (*name).to_owned(),
            value: 100.0 * any.mean,
            told: share(any.mean),
            interval: Some((100.0 * any.low, 100.0 * any.high)),
            class: String::new(),
            parts: causes.iter().map(|(_, (cause, _))| 100.0 * at_last(outlook, cause)).collect(),
            best: false,
        }
    };
    let measure = format!("arrays that have lost any data after {}, by cause", years(last));
    let bars = Bars {
        id: "forecast".to_owned(),
        measure: measure.clone(),
        unit: "%",
        description: "The share of arrays that have lost any data, under the plan and under each alternative."
            .to_owned(),
        bars: plans.iter().map(bar).collect(),
        parts: causes.iter().map(|(place, (_, told))| (format!("p{place}"), (*told).to_owned())).collect(),
    };
    let mut rows = bars.rows();
    let headers = rows.remove(0);
    Figure {
        heading: String::new(),
        caption: "Lines at the ends of bars are intervals of 95\u{a0}%.".to_owned(),
        drawings: vec![Drawing::Bars(bars)],
        arrangement: Arrangement::Whole,
        table: Table { headers, rows },
    }
}

/// What each alternative comes to after the last year, a row each.
fn of_alternatives(forecast: &Forecast) -> Table {
    let headers = [
        "instead",
        "any data lost",
        "change",
        "more failed than the code stands",
        "change",
        "first member failed in half",
        "drives replaced",
    ];
    let half = |outlook: &Outlook| {
        outlook.first_failure.iter().find(|first| first.share == 0.5).map_or_else(String::new, when)
    };
    let row = |told: &str, outlook: &Outlook| {
        let Some(year) = outlook.years.last() else { return Vec::new() };
        let change = |of: fn(&wane_results::OutlookFigures) -> Interval| {
            let told = |changes| difference(&of(changes)).unwrap_or_else(|| "no difference".to_owned());
            year.changes.as_ref().map_or_else(|| "\u{2013}".to_owned(), told)
        };
        vec![
            told.to_owned(),
            share(year.figures.any_lost.mean),
            change(|figures| figures.any_lost),
            share(year.figures.array_lost.mean),
            change(|figures| figures.array_lost),
            half(outlook),
            amount(year.figures.drives_replaced.mean),
        ]
    };
    let rows = plans(forecast).into_iter().map(|(told, outlook)| row(told, outlook)).collect();
    Table { headers: headers.map(str::to_owned).to_vec(), rows }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wane_results::{Alternative, OutlookFigures};

    use super::*;

    fn outlook(any: f64, changes: Option<f64>) -> Outlook {
        let near = |mean: f64| Interval { mean, low: mean - 0.001, high: mean + 0.001 };
        let figures =
            |any: f64| OutlookFigures { any_lost: near(any), array_lost: near(3e-8), ..OutlookFigures::default() };
        let year = OutlookYear {
            years: 5.0,
            figures: figures(any),
            changes: changes.map(figures),
            loss_causes: BTreeMap::from([("unreadable".to_owned(), 0.03), ("wear-out".to_owned(), 0.01)]),
            first_causes: BTreeMap::new(),
        };
        let first = FirstFailure { share: 0.5, years: Some(4.25), low: Some(4.2), high: None };
        Outlook { first_failure: vec![first], years: vec![year] }
    }

    fn forecast() -> Forecast {
        let other = |name: &str, change: f64| Alternative {
            name: name.to_owned(),
            told: name.to_owned(),
            outlook: outlook(0.04 + change, Some(change)),
        };
        Forecast {
            arrays: 100_000,
            plan: "5 drives".to_owned(),
            lost_beyond_code: Some(0.2),
            assumptions: vec!["Wear is <assumed>.".to_owned()],
            uber: vec![UberAtWear { wear: 0.0, uber: 1e-17 }, UberAtWear { wear: 1.0, uber: 2.5e-15 }],
            planned: outlook(0.04, None),
            alternatives: vec![other("a spare", -0.03), other("nothing", 0.0005), other("harm", 0.02)],
        }
    }

    #[test]
    fn a_forecast_answers_in_sentences() {
        let told = forecast_in_words(&forecast()).join("\n").replace('\u{a0}', " ");
        for sentence in [
            "The first member has failed in half of the arrays after 4.25 years (4.20 to later).",
            "data are lost in 4.00 % (3.90 to 4.10 %) of the arrays; in 30 in a billion more members have failed than the code stands, which takes a \
             part of the data, 20 % in the mean; 0 B lost of a TB in a year; 0 days without a member.",
            "Of the losses in 5 years: 75 % by sectors that a rebuild could not read, 25 % by worn members.",
            "With a spare: data are lost in 1 % after 5 years; fewer lose data, by 3.00 percentage points (2.90 to 3.10).",
            "With nothing: data are lost in 4.05 % after 5 years; no difference beyond chance, 0.0500 percentage points (-0.0500 to 0.1500).",
            "With harm: data are lost in 6 % after 5 years; more lose data, by 2.00 percentage points",
        ] {
            assert!(told.contains(sentence), "{sentence} in\n{told}");
        }
    }

    #[test]
    fn what_does_not_differ_and_what_is_lost_whole_is_said_so() {
        let mut forecast = Forecast { lost_beyond_code: Some(1.0), ..forecast() };
        forecast.alternatives[0].outlook.years[0].changes = Some(OutlookFigures::default());
        let first = &mut forecast.planned.first_failure;
        first.insert(0, FirstFailure { share: 0.05, years: Some(0.0339), low: Some(0.0337), high: Some(0.0341) });
        let told = forecast_in_words(&forecast).join("\n").replace('\u{a0}', " ");
        assert!(told.contains("after 5 years; no difference.") && told.contains(", which takes all data;"), "{told}");
        assert!(told.contains("; in 5 % of all arrays one has after 12.4 days."), "{told}");
        let page = section(&forecast).replace('\u{a0}', " ");
        // What is said of chances beside percentages is never a power of ten.
        for text in [told, page.split("<details").next().unwrap_or_default().to_owned()] {
            let letters: Vec<char> = text.chars().collect();
            let is_power =
                |of: &[char]| of[0].is_ascii_digit() && of[1] == 'e' && (of[2] == '-' || of[2].is_ascii_digit());
            assert!(!letters.windows(3).any(is_power), "{text}");
        }
    }

    #[test]
    fn the_page_has_the_tables_and_escapes_what_it_is_told() {
        let page = section(&forecast());
        assert!(page.contains("Wear is &lt;assumed&gt;.") && page.matches("<table").count() == 4, "{page}");
        assert_eq!(page.matches("<tr>").count(), 2 + 1 + 4 + 3 + 5, "a head and a row each");
        assert!(page.contains("2.5e-15"), "{page}");
    }

    #[test]
    fn the_picture_has_a_bar_for_each_plan_in_parts_by_cause() {
        let Drawing::Bars(bars) = by_cause(&forecast()).drawings.remove(0) else { panic!("bars") };
        let names: Vec<&str> = bars.bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!(names, ["the plan", "a spare", "nothing", "harm"]);
        assert_eq!(bars.parts.len(), 2, "causes that nowhere lose have no color");
        let plan = &bars.bars[0];
        assert_eq!((plan.told.replace('\u{a0}', " ").as_str(), plan.value), ("4 %", 4.0));
        assert_eq!(plan.parts, [1.0, 3.0], "worn members, then sectors");
    }
}
