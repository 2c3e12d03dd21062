//! Layers of a chart as paths, each a single one.

use svg::Node;
use svg::node::element::Path;

use super::axis::Axis;
use super::chart::{Curve, End, Frame, Layer, Point, Shape, short};

/// What a layer draws.
pub(super) fn path(frame: &Frame<'_>, layer: &Layer) -> Path {
    let data = match layer {
        Layer::Area { points, .. } => area(frame, points),
        Layer::Bars { bars, .. } => bars.iter().filter(|bar| bar.3 > bar.2).map(|bar| rectangle(frame, *bar)).collect(),
        Layer::Curve(curve) => {
            let points = thin(&curve.points, &frame.chart.x, frame.chart.columns);
            trace(frame, &if curve.shape == Shape::Steps { steps(&points) } else { points })
        }
        Layer::Dots { points, .. } => points.iter().map(|(x, y)| dot((frame.x(*x), frame.y(*y)))).collect(),
        Layer::Whiskers { points, .. } => points.iter().map(|point| whisker(frame, *point)).collect(),
        Layer::Ring { at } => ring((frame.x(at.0), frame.y(at.1))),
        Layer::Mark { .. } | Layer::Level { .. } => String::new(),
    };
    Path::new().set("d", data)
}

fn ring(at: Point) -> String {
    format!("M{} {}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0Z", short(at.0 - 7.0), short(at.1))
}

fn area(frame: &Frame<'_>, points: &[(f64, f64, f64)]) -> String {
    let (low, high) = edges(points, &frame.chart.x, frame.chart.columns);
    let mut data = trace(frame, &high);
    for (x, y) in low.iter().rev() {
        data.push_str(&format!("L{} {}", short(frame.x(*x)), short(frame.y(*y))));
    }
    data.push('Z');
    data
}

/// The lower and the upper edge of an area, thinned each by itself.
pub(super) fn edges(points: &[(f64, f64, f64)], x: &Axis, columns: usize) -> (Vec<Point>, Vec<Point>) {
    let edge = |of: fn(&(f64, f64, f64)) -> Point| thin(&points.iter().map(of).collect::<Vec<_>>(), x, columns);
    (edge(|point| (point.0, point.1)), edge(|point| (point.0, point.2)))
}

/// A bar at least a pixel high; a gap keeps it apart from the next one, unless that would eat it.
fn rectangle(frame: &Frame<'_>, (left, right, low, high): (f64, f64, f64, f64)) -> String {
    debug_assert!(left <= right && low <= high, "a bar goes from left to right and upwards");
    let (x, width) = (frame.x(left), frame.x(right) - frame.x(left));
    let gap = if width > 3.0 { 1.0 } else { 0.0 };
    let base = frame.y(low);
    let height = (base - frame.y(high)).max(1.0);
    let width = (width - gap).max(0.5);
    format!("M{} {}h{}v{}h{}Z", short(x), short(base), short(width), short(-height), short(-width))
}

fn whisker(frame: &Frame<'_>, (x, low, high): (f64, f64, f64)) -> String {
    debug_assert!(low <= high, "an interval goes upwards: {low} to {high}");
    let (x, low, high) = (frame.x(x), frame.y(low), frame.y(high));
    format!("M{} {}h8m-4 0V{}m-4 0h8", short(x - 4.0), short(low), short(high))
}

fn dot(at: Point) -> String {
    format!("M{} {}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z", short(at.0 - 3.5), short(at.1))
}

fn trace(frame: &Frame<'_>, points: &[Point]) -> String {
    let mut data = String::new();
    let mut last = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let at = format!("{} {}", short(frame.x(*x)), short(frame.y(*y)));
        if at != last {
            data.push(if index == 0 { 'M' } else { 'L' });
            data.push_str(&at);
        }
        last = at;
    }
    data
}

/// Adds the corners of steps.
pub(super) fn steps(points: &[Point]) -> Vec<Point> {
    let corners = points.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    points.first().copied().into_iter().chain(corners).collect()
}

/// Keeps the first, least, greatest and last point of each of `columns` stretches of an axis: what a screen can show.
pub(super) fn thin(points: &[Point], x: &Axis, columns: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let (left, right) = (x.place(first.0), x.place(last.0));
    if points.len() <= 4 * columns || right <= left {
        return points.to_vec();
    }
    let column = |point: &Point| ((x.place(point.0) - left) / (right - left) * columns as f64) as usize;
    let mut kept = Vec::with_capacity(4 * columns + 4);
    for stretch in points.chunk_by(|left, right| column(left) == column(right)) {
        let by_y = |left: &&Point, right: &&Point| left.1.total_cmp(&right.1);
        let index = |found: Option<&Point>| {
            found.map_or(0, |found| stretch.iter().position(|point| point == found).unwrap_or(0))
        };
        let least = index(stretch.iter().min_by(by_y));
        let greatest = index(stretch.iter().max_by(by_y));
        let mut wanted = [0, least, greatest, stretch.len() - 1];
        wanted.sort_unstable();
        for (position, at) in wanted.iter().enumerate() {
            if position == 0 || wanted[position - 1] != *at {
                kept.push(stretch[*at]);
            }
        }
    }
    debug_assert!(kept.len() <= 4 * columns + 4, "a column of pixels needs four points at most");
    debug_assert!(kept.first() == points.first() && kept.last() == points.last(), "a curve keeps its ends");
    kept
}

/// What stands at the end of a curve.
pub(super) fn end(picture: &mut impl Node, frame: &Frame<'_>, curve: &Curve) {
    let Some(&(x, y)) = curve.points.last() else { return };
    let (x, y) = (frame.x(x), frame.y(y));
    let (data, kind) = match curve.end {
        End::Open => return,
        End::Dot => (dot((x, y)), "dot"),
        End::Cross => (format!("M{} {}l9 9m0 -9l-9 9", short(x - 4.5), short(y - 4.5)), "cross"),
    };
    let mark = Path::new().set("d", data).set("class", format!("{kind} end {}", curve.class));
    picture.append(if curve.label.is_empty() { mark } else { mark.set("data-s", curve.label.as_str()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_every_extreme() {
        let mut points: Vec<Point> = (0..2048).map(|at| (f64::from(at), 1.0)).collect();
        points[790].1 = 9.0;
        points[1500].1 = -9.0;
        let thinned = thin(&points, &Axis::exact(0.0, 2047.0, 5), 50);
        assert!(thinned.len() <= 204, "{}", thinned.len());
        assert_eq!((thinned.first(), thinned.last()), (points.first(), points.last()));
        assert!(thinned.contains(&(790.0, 9.0)) && thinned.contains(&(1500.0, -9.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn thinning_keeps_what_an_axis_of_ratios_shows() {
        // Nearly all of what lies on the left half of such an axis is in the first hundredth of an even one.
        let points: Vec<Point> = (0..2000).map(|at| (10f64.powf(f64::from(at) / 500.0), f64::from(at))).collect();
        let thinned = thin(&points, &Axis::ratio(1.0, 1e4), 50);
        let in_left_half = thinned.iter().filter(|point| point.0 < 100.0).count();
        assert!(in_left_half.abs_diff(thinned.len() / 2) < 5, "{in_left_half} of {}", thinned.len());
    }

    #[test]
    fn steps_hold_a_value_until_the_next() {
        assert_eq!(steps(&[(0.0, 1.0), (2.0, 5.0)]), [(0.0, 1.0), (2.0, 1.0), (2.0, 5.0)]);
    }
}
