//! The values behind a chart, next to it on the page: its script shows them under the pointer and redraws from them.
//!
//! A page is complete without them. Numbers have five significant digits, which is more than a screen shows.

use serde_json::{Map, Value, json};

use super::axis::Axis;
use super::chart::{Chart, Curve, Layer, Shape};
use super::marks::{edges, thin};

/// The data of a chart in an element that no browser runs or shows.
pub(super) fn script(chart: &Chart) -> String {
    let mut layers = Map::new();
    for (index, layer) in chart.layers.iter().enumerate() {
        if let Some(told) = of_layer(layer, &chart.x, chart.columns) {
            layers.insert(index.to_string(), told);
        }
    }
    let told = json!({
        "x": axis(&chart.x, "", &chart.x_label),
        "y": axis(&chart.y, chart.y_unit, &chart.y_label),
        "layers": layers,
    });
    // A name must not end the element.
    let text = told.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\" data-of=\"{}\">{text}</script>", chart.id)
}

fn axis(axis: &Axis, unit: &str, label: &str) -> Value {
    let (scale, format) = axis.kind();
    let names: Vec<Value> = if scale == 'n' {
        axis.ticks().iter().map(|tick| json!([tick, axis.text(*tick)])).collect()
    } else {
        Vec::new()
    };
    json!({ "scale": scale, "format": format, "min": rounded(axis.min), "max": rounded(axis.max), "unit": unit, "label": label,
            "names": names })
}

fn of_layer(layer: &Layer, x: &Axis, columns: usize) -> Option<Value> {
    let flat =
        |points: &[(f64, f64)]| -> Vec<Value> { points.iter().flat_map(|(x, y)| [rounded(*x), rounded(*y)]).collect() };
    match layer {
        Layer::Curve(Curve { label, shape, points, .. }) => {
            let kind = if *shape == Shape::Steps { "steps" } else { "curve" };
            Some(json!({ "kind": kind, "name": label, "points": flat(&thin(points, x, columns)) }))
        }
        // The script removes it when it redraws.
        Layer::Area { class, .. } if class.ends_with("end") => None,
        Layer::Area { points, .. } => {
            let (low, high) = edges(points, x, columns);
            Some(json!({ "kind": "area", "low": flat(&low), "points": flat(&high) }))
        }
        Layer::Bars { label, bars, .. } => {
            let values: Vec<Value> = bars.iter().flat_map(|bar| [bar.0, bar.1, bar.2, bar.3].map(rounded)).collect();
            Some(json!({ "kind": "bars", "name": label, "points": values }))
        }
        Layer::Dots { points, .. } => Some(json!({ "kind": "dots", "points": flat(points) })),
        Layer::Whiskers { points, .. } => {
            let values: Vec<Value> = points.iter().flat_map(|(x, low, high)| [*x, *low, *high].map(rounded)).collect();
            Some(json!({ "kind": "whiskers", "points": values }))
        }
        Layer::Ring { .. } | Layer::Mark { .. } | Layer::Level { .. } => None,
    }
}

/// A number with five significant digits, written as short as possible.
fn rounded(value: f64) -> Value {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(0.0);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 { json!(rounded as i64) } else { json!(rounded) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        for (value, expected) in [(3.0, "3"), (0.1 + 0.2, "0.3"), (123_456.7, "123460"), (1.234_567e-8, "1.2346e-8")] {
            assert_eq!(rounded(value).to_string(), expected);
        }
    }
}
