//! States of the blocks over the life: young, middle-aged, retired, and when the drive was degraded.

use super::{Axis, Figure, Group, Life, Row, Shape, counted, each, layers_of, percent};
use wane_results::{BlockAges, RunResult, Trigger};

/// The picture of runs whose timelines distinguish young blocks from others; `None` if no run's does.
pub(super) fn states(life: &Life<'_>) -> Option<Figure> {
    let tells = |run: &&RunResult| last(run).is_some_and(|ages| ages.young.is_some());
    if !life.groups.iter().any(|group| group.runs.iter().any(&tells)) {
        return None;
    }
    let alone = life.groups.len() == 1;
    let layers = |groups: &[Group<'_>]| {
        let mut layers = Vec::new();
        for group in groups {
            let blocks = group.first().blocks.len().max(1) as f64;
            let share = |of: fn(&Row) -> Option<u32>| {
                move |rows: &[Row]| {
                    rows.iter().map(|row| Some(100.0 * f64::from(of(row)?) / blocks)).collect::<Vec<_>>()
                }
            };
            let young = share(|row| row.states.and_then(|ages| ages.young));
            let middle = share(|row| row.states.and_then(|ages| ages.middle_aged));
            let label = if alone { "middle-aged" } else { &group.label };
            layers.extend(layers_of(group, &group.class(), label, Shape::Steps, &middle));
            if alone {
                layers.extend(layers_of(group, "s2", "young", Shape::Steps, &young));
                let retired = share(|row| Some(row.blocks_retired));
                layers.extend(layers_of(group, "s1", "retired", Shape::Steps, &retired));
            }
        }
        layers
    };
    let y_label = if alone { "share of all blocks" } else { "middle-aged blocks, share of all" };
    let y = (Axis::rounded(0.0, 100.0, 5), y_label, "\u{a0}%");
    Some(life.figure(("states", "Young, middle-aged and retired blocks"), &caption(life.groups), y, &layers))
}

fn caption(groups: &[Group<'_>]) -> String {
    let meant = "Middle-aged blocks are those in service whose pages are read more than once, right after they were programmed.";
    if let [group] = groups {
        let run = group.first();
        let surplus = last(run).and_then(|ages| ages.effective_over_provisioning);
        let surplus = surplus.map_or_else(String::new, |surplus| {
            format!(" At the end the effective over-provisioning was {}.", percent(surplus))
        });
        return format!(
            "{meant} {}{surplus}",
            degraded(run).unwrap_or_else(|| "The drive was never degraded.".to_owned())
        );
    }
    let middle = |group: &Group<'_>| {
        let share = |run: &&RunResult| Some(f64::from(last(run)?.middle_aged?) / run.blocks.len().max(1) as f64);
        let shares: Vec<f64> = group.runs.iter().filter_map(share).collect();
        if shares.is_empty() {
            "\u{2013}".to_owned()
        } else {
            percent(shares.iter().sum::<f64>() / shares.len() as f64)
        }
    };
    format!("{meant} At the end: {}.", each(groups, middle))
}

/// When a run's drive first was degraded, and by what.
fn degraded(run: &RunResult) -> Option<String> {
    let first = run.timeline.iter().find_map(|row| Some((row.drive_writes, row.states?.degraded?)))?;
    let (drive_writes, trigger) = first;
    let by = match trigger {
        Trigger::OverProvisioning => "its effective over-provisioning had fallen below that of the new drive",
        Trigger::Watermark => "its flash in service had fallen below the watermark",
        Trigger::LowPool => "few blocks were free, and none was more than half invalid",
        Trigger::Host => "its host could not shrink any further",
    };
    Some(format!("The drive was degraded after {} drive writes: {by}.", counted(drive_writes)))
}

fn last(run: &RunResult) -> Option<BlockAges> {
    run.timeline.last()?.states
}
