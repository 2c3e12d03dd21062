//! What `wane array plan` prints.

use serde_json::{Value, json};
use wane_raid::placement::speed;

use super::members::Members;
use super::plan::{Layout, Planned};
use crate::output::{columns, line};

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The names of drives.
fn names(members: &Members, numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| members.list[number].name.as_str()).collect::<Vec<&str>>().join(" ")
}

pub(super) fn in_words(planned: &Planned) -> String {
    let (members, layout, coder) = (&planned.members, &planned.layout, &planned.coder);
    let mut text = String::new();
    if !planned.widths.is_empty() {
        text += &columns(&widths(planned));
        text.push('\n');
    }
    let parities = match coder.parities() {
        1 if coder.code().name().starts_with("copies") => "1 copy of it".to_owned(),
        more if coder.code().name().starts_with("copies") => format!("{more} copies of it"),
        parities => format!("{parities} parity"),
    };
    let stripe = format!("{} chunks on as many drives: {} data, {parities}", coder.width(), coder.data());
    line(&mut text, "stripe", &stripe);
    line(&mut text, "survives", &format!("the loss of any {}", count(coder.code().tolerates(), "drive")));
    let all: u64 = members.list.iter().map(|member| member.size.0).sum();
    let used = layout.tiles * coder.width() as u64 * planned.tile.0;
    line(&mut text, "data", &format!("{}, {} of all drives", members.told(layout.data), percent(layout.data, all)));
    line(
        &mut text,
        "redundancy",
        &format!("{}, {}", members.told(used - layout.data), percent(used - layout.data, all)),
    );
    line(&mut text, "stranded", &stranded(planned, all));
    if !planned.frontier.is_empty() {
        let fast = names(members, planned.fast.iter().copied());
        line(&mut text, "on fast drives only", &format!("{} of data; fast are {fast}", members.told(layout.fast)));
    }
    text.push('\n');
    text += &columns(&drives(planned));
    text.push('\n');
    text += &columns(&groups(planned));
    text.push('\n');
    text += &columns(&layouts(planned));
    if !planned.frontier.is_empty() {
        text.push('\n');
        text += &columns(&frontier(planned));
    }
    text
}

fn stranded(planned: &Planned, all: u64) -> String {
    let sum: u64 = planned.layout.stranded.iter().sum();
    format!("{}, {}", planned.members.told(sum), percent(sum, all))
}

/// What each drive gives, and what the array would be without it.
fn drives(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let mut rows = vec![row(&["drive", "size", "stranded", "data without it"])];
    for (number, member) in members.list.iter().enumerate() {
        let stranded = members.told(planned.layout.stranded[number]);
        let without = members.told(planned.without[number]);
        rows.push(vec![member.name.clone(), members.told(member.size.0), stranded, without]);
    }
    rows
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn reads(planned: &Planned, number: usize) -> String {
    let bytes = speed(&planned.layout.groups[number], &planned.sites);
    format!("{}/s", planned.members.told(bytes as u64))
}

fn groups(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let has_speeds = members.have_speeds();
    let mut head = row(&["from", "data"]);
    if has_speeds {
        head.push("reads up to".to_owned());
    }
    head.push("drives".to_owned());
    let (mut rows, mut from) = (vec![head], 0);
    for (number, group) in planned.layout.groups.iter().enumerate() {
        let data = planned.data(group.tiles);
        let mut cells = vec![members.told(from), members.told(data)];
        if has_speeds {
            cells.push(reads(planned, number));
        }
        cells.push(names(members, group.members.iter().map(|member| usize::from(*member))));
        rows.push(cells);
        from += data;
    }
    rows
}

fn layouts(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let has_fast = !planned.frontier.is_empty();
    let mut rows = vec![row(&["placement", "data", "stranded", "groups"])];
    if has_fast {
        rows[0].push("on fast drives only".to_owned());
    }
    for layout in std::iter::once(&planned.layout).chain(&planned.others) {
        let stranded = members.told(layout.stranded.iter().sum());
        let groups = layout.groups.len().to_string();
        let mut cells = vec![layout.name.to_owned(), members.told(layout.data), stranded, groups];
        if has_fast {
            cells.push(members.told(layout.fast));
        }
        rows.push(cells);
    }
    rows
}

fn widths(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let mut rows = vec![row(&["width", "data", "stranded", "redundancy", ""])];
    for (coder, layout) in &planned.widths {
        let used = layout.tiles * coder.width() as u64 * planned.tile.0;
        let mark = if coder.width() == planned.coder.width() { "most data" } else { "" };
        rows.push(vec![
            coder.width().to_string(),
            members.told(layout.data),
            members.told(layout.stranded.iter().sum()),
            members.told(used - layout.data),
            mark.to_owned(),
        ]);
    }
    rows
}

fn frontier(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let most = planned.frontier.iter().map(|point| point.tiles).max().unwrap_or(0);
    let mut rows = vec![row(&["--fast", "all data", "price"])];
    for point in &planned.frontier {
        let price = planned.data(most - point.tiles);
        let price = if price == 0 { "none".to_owned() } else { members.told(price) };
        rows.push(vec![members.told(planned.data(point.fast)), members.told(planned.data(point.tiles)), price]);
    }
    rows
}

fn layout_json(planned: &Planned, layout: &Layout) -> Value {
    json!({
        "placement": layout.name,
        "tiles": layout.tiles,
        "data_bytes": layout.data,
        "fast_data_bytes": layout.fast,
        "stranded_bytes": layout.stranded.iter().sum::<u64>(),
        "groups": layout.groups.len(),
        "redundancy_bytes": layout.tiles * planned.coder.width() as u64 * planned.tile.0 - layout.data,
    })
}

pub(super) fn as_json(planned: &Planned) -> Value {
    let (members, layout, coder) = (&planned.members, &planned.layout, &planned.coder);
    let has_speeds = members.have_speeds();
    let drives = members.list.iter().enumerate().map(|(number, member)| {
        json!({
            "name": member.name,
            "bytes": member.size.0,
            "bytes_per_second": member.speed.map(|speed| speed.0),
            "is_fast": planned.fast.contains(&number),
            "stranded_bytes": layout.stranded[number],
            "data_bytes_without": planned.without[number],
        })
    });
    let mut from = 0;
    let groups = layout.groups.iter().map(|group| {
        let (start, data) = (from, planned.data(group.tiles));
        from += data;
        let names = group.members.iter().map(|member| &members.list[usize::from(*member)].name);
        json!({
            "from_byte": start,
            "data_bytes": data,
            "tiles": group.tiles,
            "drives": names.collect::<Vec<&String>>(),
            "read_bytes_per_second": has_speeds.then(|| speed(group, &planned.sites)),
        })
    });
    let groups: Vec<Value> = groups.collect();
    let widths = planned.widths.iter().map(|(coder, layout)| {
        json!({
            "width": coder.width(),
            "data_bytes": layout.data,
            "stranded_bytes": layout.stranded.iter().sum::<u64>(),
        })
    });
    let frontier = planned
        .frontier
        .iter()
        .map(|point| json!({ "fast_data_bytes": planned.data(point.fast), "data_bytes": planned.data(point.tiles) }));
    json!({
        "code": coder.code().name(),
        "width": coder.width(),
        "data_chunks": coder.data(),
        "survives": coder.code().tolerates(),
        "tile_bytes": planned.tile.0,
        "layout": layout_json(planned, layout),
        "drives": drives.collect::<Vec<Value>>(),
        "groups": groups,
        "other_layouts": planned.others.iter().map(|other| layout_json(planned, other)).collect::<Vec<Value>>(),
        "widths": widths.collect::<Vec<Value>>(),
        "frontier": frontier.collect::<Vec<Value>>(),
    })
}
