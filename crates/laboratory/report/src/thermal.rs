//! The pictures of a drive with heat of its own: how warm it was, and how much of the time it slowed itself down.

use super::along::{Along, over_windows, rows};
use super::figures::columns;
use super::groups::Group;
use super::html::{Figure, Table};
use super::numbers::{percent, short};
use super::panels::told;
use super::picture::Arrangement;
use wane_results::{Thermal, Window};

fn celsius(window: &Window) -> Option<f64> {
    window.thermal.map(|thermal| thermal.celsius_mean)
}

fn throttled(window: &Window) -> Option<f64> {
    window.thermal.map(|thermal| 100.0 * thermal.throttled_share)
}

/// Temperature and throttle over the windows; nothing of drives without heat of their own.
pub(super) fn heat(groups: &[Group<'_>], coarseness: usize) -> Option<Figure> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    if runs().all(|run| run.windows.len() < 2 || run.windows.iter().all(|window| window.thermal.is_none())) {
        return None;
    }
    let (along, columns) = (Along::of(groups), columns(groups, coarseness));
    let picture = |id, what, figure| over_windows(groups, along, columns, (id, what), figure);
    let mut drawings = vec![
        picture("celsius", "mean temperature of a window, \u{b0}C", celsius),
        picture("throttled", "time of a window throttled, %", throttled),
    ];
    drawings.retain(|drawing| !drawing.is_empty());
    let arrangement = Arrangement::of(&drawings);
    let alone = groups.len() == 1;
    let first = if alone { along.label() } else { "run".to_owned() };
    let headers = [&first, "mean temperature", "at the end", "mean power", "throttled"].map(str::to_owned).into();
    let told_of = |name: String, thermal: Thermal| {
        vec![
            name,
            format!("{:.1} \u{b0}C", thermal.celsius_mean),
            format!("{:.1} \u{b0}C", thermal.celsius_end),
            format!("{:.2} W", thermal.watts_mean),
            percent(thermal.throttled_share),
        ]
    };
    let rows = groups.iter().flat_map(|group| {
        let run = group.first();
        let places = along.places(run);
        let windows = rows(run.windows.len()).filter(|_| alone);
        let windows = windows.filter_map(|index| Some((short(places[index]), run.windows[index].thermal?)));
        let name = if alone { "whole run".to_owned() } else { group.label.clone() };
        let all = run.summary.thermal.map(|thermal| (name, thermal));
        windows.chain(all).map(|(name, thermal)| told_of(name, thermal)).collect::<Vec<_>>()
    });
    let table = Table { headers, rows: rows.collect() };
    let caption = "The drive slows itself down above one temperature until it has cooled to another: operations of flash and link take longer, and dissipate \
                   less."
        .to_owned();
    Some(Figure { heading: "Temperature".to_owned(), caption: caption + &told(groups), drawings, arrangement, table })
}
