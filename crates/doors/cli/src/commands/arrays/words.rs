//! What `wane array plan` prints.

use serde_json::{Value, json};
use wane_raid::Journal;
use wane_raid::code::Coder;
use wane_raid::placement::speed;
use wane_units::Bytes;

use super::layers::Layer;
use super::members::Members;
use super::plan::{BEST, CHANGE, Layout, Planned, Several};
use crate::output::{columns, line};

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Whether stripes have copies of their data, at any width.
pub(super) fn are_copies(coder: &Coder) -> bool {
    coder.code().name().starts_with("copies")
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
        several(&mut text, planned);
    }
    let parities = match coder.parities() {
        1 if are_copies(coder) => "1 copy of it".to_owned(),
        more if are_copies(coder) => format!("{more} copies of it"),
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
    line(&mut text, "journal", &journal(planned));
    text.push('\n');
    text += &columns(&drives(planned));
    text.push('\n');
    text += &columns(&groups(planned));
    text.push('\n');
    text += &columns(&layouts(planned));
    text.push('\n');
    text += &columns(&codes(planned));
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

/// What changes of pages cost the drives besides their places.
fn journal(planned: &Planned) -> String {
    let sum: f64 = planned.journal.iter().sum();
    let places = planned.coder.code().tolerates() + 1;
    format!(
        "{sum:.1} B on all drives for each byte that is written in changes of {}, and {places} B in their places; drives have the ring by their size",
        Bytes(CHANGE)
    )
}

/// What the journal costs a drive while the host writes as much as the array holds, in writes of the whole drive.
fn drive_writes(planned: &Planned, number: usize) -> f64 {
    let size = planned.members.list[number].size.0;
    planned.journal[number] * planned.layout.data as f64 / size.max(1) as f64
}

/// Each code that the drives allow: what it holds and stands, and what a byte of a small change costs.
fn codes(planned: &Planned) -> Vec<Vec<String>> {
    let mut rows = vec![row(&["code", "width", "data", "survives", "written for a byte of 4 KiB", "with a journal"])];
    for (coder, layout) in &planned.codes {
        let places = coder.code().tolerates() + 1;
        rows.push(vec![
            coder.code().name().to_owned(),
            coder.width().to_string(),
            planned.members.told(layout.data),
            count(coder.code().tolerates(), "drive"),
            format!("{places} B"),
            format!("{:.1} B", with_journal(planned, coder)),
        ]);
    }
    if planned.wants_fast {
        let fast = planned.codes.iter().map(|(_, layout)| planned.members.told(layout.fast));
        let column = std::iter::once("on fast drives".to_owned()).chain(fast);
        rows.iter_mut().zip(column).for_each(|(row, cell)| row.insert(3, cell));
    }
    rows
}

/// Bytes that drives write for a byte of a small change, the journal included.
fn with_journal(planned: &Planned, coder: &Coder) -> f64 {
    let tiles: Vec<u64> = planned.sites.iter().map(|site| site.slots).collect();
    let journal = Journal::Full.bytes_for_each(coder.code(), &tiles, CHANGE);
    (coder.code().tolerates() + 1) as f64 + journal.iter().sum::<f64>()
}

/// What each drive gives, what the array would be without it, and what the journal costs it.
fn drives(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let head = ["drive", "size", "stranded", "data without it", "journal of a byte", "journal of an array write"];
    let mut rows = vec![row(&head)];
    for (number, member) in members.list.iter().enumerate() {
        let stranded = members.told(planned.layout.stranded[number]);
        let without = members.told(planned.without[number]);
        let journal = format!("{:.3} B", planned.journal[number]);
        let writes = format!("{:.2} drive writes", drive_writes(planned, number));
        rows.push(vec![member.name.clone(), members.told(member.size.0), stranded, without, journal, writes]);
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

/// What stripes of several widths are, where they hold more than those of one.
fn several(text: &mut String, planned: &Planned) {
    let most = planned.widths.iter().map(|(_, layout)| layout.data).max().unwrap_or(0);
    // Tiles that a width does not fill are no difference.
    if planned.several.data as f64 * BEST <= most as f64 {
        return;
    }
    let layer = |layer: &Layer| {
        format!("{} of {}", planned.members.told(layer.tiles * planned.tile.0), count(layer.width, "drive"))
    };
    let layers: Vec<String> = planned.several.layers.iter().map(layer).collect();
    line(text, "of several widths", &format!("a stripe over each of these in turn: {}", layers.join(", ")));
    let built =
        "an array of wane has stripes of one width; several are one array for each layer, on partitions of the drives";
    line(text, "", built);
    text.push('\n');
}

fn widths(planned: &Planned) -> Vec<Vec<String>> {
    let members = &planned.members;
    let mut rows = vec![row(&["width", "data", "stranded", "redundancy", ""])];
    for (coder, layout) in &planned.widths {
        let used = layout.tiles * coder.width() as u64 * planned.tile.0;
        let mark = if coder.width() == planned.coder.width() { "most data of one width" } else { "" };
        rows.push(vec![
            coder.width().to_string(),
            members.told(layout.data),
            members.told(layout.stranded.iter().sum()),
            members.told(used - layout.data),
            mark.to_owned(),
        ]);
    }
    let all: u64 = members.list.iter().map(|member| member.size.0).sum();
    let Several { data, used, .. } = planned.several;
    rows.push(vec![
        "several".to_owned(),
        members.told(data),
        members.told(all - used),
        members.told(used - data),
        "most data of several widths".to_owned(),
    ]);
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

fn several_json(planned: &Planned) -> Value {
    let Several { data, used, layers } = &planned.several;
    let all: u64 = planned.members.list.iter().map(|member| member.size.0).sum();
    let layer = |layer: &Layer| json!({ "width": layer.width, "bytes_of_each_drive": layer.tiles * planned.tile.0 });
    json!({
        "data_bytes": data,
        "stranded_bytes": all - used,
        "redundancy_bytes": used - data,
        "layers": layers.iter().map(layer).collect::<Vec<Value>>(),
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
            "journal_bytes_per_byte": planned.journal[number],
            "journal_drive_writes_per_array_write": drive_writes(planned, number),
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
    let codes = planned.codes.iter().map(|(coder, layout)| {
        let survives = coder.code().tolerates();
        json!({
            "code": coder.code().name(),
            "width": coder.width(),
            "data_bytes": layout.data,
            "fast_data_bytes": layout.fast,
            "survives": survives,
            "bytes_per_byte": survives + 1,
            "bytes_per_byte_with_journal": with_journal(planned, coder),
        })
    });
    json!({
        "codes": codes.collect::<Vec<Value>>(),
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
        "several_widths": several_json(planned),
        "frontier": frontier.collect::<Vec<Value>>(),
    })
}
