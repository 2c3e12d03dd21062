//! Axes: where the ticks stand and how they are written.

use super::along::share_in_words;
use super::numbers::{counted, duration, grouped};
use super::text::width;

/// One direction of a chart: the values it spans and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) min: f64,
    pub(super) max: f64,
    scale: Scale,
}

/// How values are laid out along an axis.
#[derive(Clone, Debug, PartialEq)]
enum Scale {
    /// Evenly; a tick at each multiple of this step.
    Even(f64),
    /// Evenly; ticks at these values under these names.
    Named(Vec<(f64, String)>),
    /// Evenly by [`nines`]; ticks at these under these names.
    Depth(Vec<(f64, String)>),
    /// By ratio; ticks at powers of ten, between them at 2 and 5 where there is room.
    Ratio(Ticks),
}

/// How the ticks of an axis of ratios are written, which decides how many fit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ticks {
    Powers,
    /// Nanoseconds as durations, which are wider: there is less room along the x axis.
    Durations {
        decades_fine: f64,
    },
}

impl Ticks {
    /// Most decades with ticks between the powers of ten.
    const fn decades_fine(self) -> f64 {
        match self {
            Self::Powers => 3.5,
            Self::Durations { decades_fine } => decades_fine,
        }
    }
}

/// The deepest tail that an axis shows: 99.9999 %.
const NINES_MAX: f64 = 6.0;
/// Least pixels between two ticks along the bottom.
const TICKS_APART: f64 = 8.0;
/// Least pixels between two ticks above each other.
const LINE_APART: f64 = 14.0;
/// Most powers of ten that all get a tick.
const DECADES_ALL: f64 = 9.0;

impl Axis {
    /// An axis from `min` to `max` with about `target` ticks, widened to end on ticks.
    pub(super) fn rounded(min: f64, max: f64, target: usize) -> Self {
        let exact = Self::exact(min, max, target);
        let step = step((exact.max - exact.min) / target.max(1) as f64);
        // A value a rounding error above a tick should not open another step.
        let slack = 1e-9;
        let (low, high) = ((exact.min / step + slack).floor(), (exact.max / step - slack).ceil());
        debug_assert!(low < high, "an axis has a tick at each of its ends: {min} to {max} by {step}");
        Self { min: low * step, max: high * step, ..exact }
    }

    /// An axis that spans exactly `min` to `max`.
    pub(super) fn exact(min: f64, max: f64, target: usize) -> Self {
        debug_assert!(min.is_finite() && max.is_finite(), "an axis spans numbers: {min} to {max}");
        let max = if max > min { max } else { min + 1.0 };
        Self { min, max, scale: Scale::Even(step((max - min) / target.max(1) as f64)) }
    }

    /// An axis on which equal distances are equal ratios, from `min` above zero to `max`, widened to end on ticks.
    pub(super) fn ratio(min: f64, max: f64) -> Self {
        Self::by_ratio(min, max, Ticks::Powers)
    }

    /// As [`Self::ratio`], of durations in nanoseconds, upwards.
    pub(super) fn durations_up(min: f64, max: f64) -> Self {
        Self::by_ratio(min, max, Ticks::Durations { decades_fine: 3.5 })
    }

    /// As [`Self::ratio`], of durations in nanoseconds, along the bottom.
    pub(super) fn durations_along(min: f64, max: f64) -> Self {
        Self::by_ratio(min, max, Ticks::Durations { decades_fine: 1.5 })
    }

    /// From `min` to `max` with ticks that have names.
    pub(super) fn named(min: f64, max: f64, ticks: Vec<(f64, String)>) -> Self {
        debug_assert!(ticks.is_sorted_by(|one, next| one.0 <= next.0), "ticks are told along their axis");
        Self { min, max: if max > min { max } else { min + 1.0 }, scale: Scale::Named(ticks) }
    }

    /// Shares, placed by their distance to all: 90 %, 99 % and 99.9 % are equally far apart. Values are those of
    /// [`nines`]; the axis holds those of `depth`.
    pub(super) fn nines(depth: f64) -> Self {
        let deepest = depth.ceil().clamp(2.0, NINES_MAX) as i32;
        let tail = (1..=deepest).map(|nines| {
            let decimals = (nines - 2).max(0) as usize;
            (f64::from(nines), format!("{:.decimals$}\u{a0}%", 100.0 - 10f64.powi(2 - nines)))
        });
        let ticks = [(0.0, "0\u{a0}%".to_owned()), (nines(0.5), "50\u{a0}%".to_owned())].into_iter().chain(tail);
        Self { min: 0.0, max: f64::from(deepest), scale: Scale::Depth(ticks.collect()) }
    }

    fn by_ratio(min: f64, max: f64, ticks: Ticks) -> Self {
        let min = min.max(1e-300);
        let slack = 1e-9;
        let low = step_below(min * (1.0 + slack));
        let high = step(max.max(1e-300) * (1.0 - slack));
        debug_assert!(low > 0.0, "ratios are above zero");
        Self { min: low, max: if high > low { high } else { step(low * 1.5) }, scale: Scale::Ratio(ticks) }
    }

    /// The ticks, in order: multiples of 1, 2 or 5 times a power of ten.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let slack = 1e-9;
        match &self.scale {
            Scale::Named(ticks) | Scale::Depth(ticks) => ticks.iter().map(|tick| tick.0).collect(),
            Scale::Even(step) => {
                let (first, last) = ((self.min / step - slack).ceil(), (self.max / step + slack).floor());
                (first as i64..=last as i64).map(|index| index as f64 * *step).collect()
            }
            Scale::Ratio(kind) => {
                let (first, last) = (self.min.log10().floor() as i32, self.max.log10().ceil() as i32);
                let decades = (self.max / self.min).log10();
                let leads: &[f64] = if decades <= kind.decades_fine() { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let every = (decades / DECADES_ALL).ceil().max(1.0) as usize;
                let powers = (first..=last).rev().step_by(every).map(|power| 10f64.powi(power));
                let mut ticks: Vec<f64> = powers.flat_map(|power| leads.iter().map(move |lead| lead * power)).collect();
                ticks.sort_by(f64::total_cmp);
                ticks.retain(|tick| (self.min * (1.0 - slack)..=self.max * (1.0 + slack)).contains(tick));
                ticks
            }
        }
    }

    /// The ticks that can be written side by side along `pixels` pixels: all of them, or every second, fifth or tenth.
    pub(super) fn ticks_within(&self, pixels: f64) -> Vec<f64> {
        let ticks = self.ticks();
        if let Scale::Named(_) = self.scale {
            return self.apart(&ticks, pixels);
        }
        let fits = |every: usize| {
            let mut end = f64::NEG_INFINITY;
            ticks.iter().step_by(every).all(|tick| {
                let (middle, half) = (self.place(*tick) * pixels, width(&self.text(*tick)) / 2.0);
                let apart = middle - half >= end;
                end = middle + half + TICKS_APART;
                apart
            })
        };
        let every = [1, 2, 5, 10].into_iter().find(|every| fits(*every)).unwrap_or(ticks.len().max(1));
        ticks.into_iter().step_by(every).collect()
    }

    /// The ticks that can be written above each other within `pixels` pixels, the uppermost first.
    pub(super) fn ticks_up(&self, pixels: f64) -> Vec<f64> {
        let mut free = f64::INFINITY;
        let mut kept = self.ticks();
        kept.reverse();
        kept.retain(|tick| {
            let at = self.place(*tick) * pixels;
            let apart = at <= free;
            if apart {
                free = at - LINE_APART;
            }
            apart
        });
        kept
    }

    /// From the first on, each tick that does not touch the one before it.
    fn apart(&self, ticks: &[f64], pixels: f64) -> Vec<f64> {
        let mut end = f64::NEG_INFINITY;
        let mut kept = Vec::new();
        for tick in ticks {
            let (middle, half) = (self.place(*tick) * pixels, width(&self.text(*tick)) / 2.0);
            if middle - half >= end {
                kept.push(*tick);
                end = middle + half + TICKS_APART;
            }
        }
        kept
    }

    /// How values are laid out and written, for the script of a page: a letter each.
    pub(super) const fn kind(&self) -> (char, char) {
        match self.scale {
            Scale::Even(_) => ('e', 'n'),
            Scale::Named(_) => ('n', 'n'),
            Scale::Depth(_) => ('n', 'd'),
            Scale::Ratio(Ticks::Powers) => ('r', 'p'),
            Scale::Ratio(Ticks::Durations { .. }) => ('r', 't'),
        }
    }

    /// A tick as text, with as many decimals as the step needs.
    pub(super) fn text(&self, tick: f64) -> String {
        match &self.scale {
            Scale::Even(step) => grouped(tick, (-step.log10().floor()).max(0.0) as usize),
            Scale::Named(ticks) | Scale::Depth(ticks) => {
                ticks.iter().find(|(value, _)| *value == tick).map_or_else(String::new, |(_, name)| name.clone())
            }
            Scale::Ratio(Ticks::Powers) => power_of_ten(tick),
            Scale::Ratio(Ticks::Durations { .. }) => duration(tick),
        }
    }

    /// A value of a point in words.
    pub(super) fn told(&self, value: f64) -> String {
        match &self.scale {
            Scale::Ratio(Ticks::Durations { .. }) => duration(value),
            Scale::Depth(_) => share_in_words(1.0 - 10f64.powf(-value)),
            Scale::Even(_) | Scale::Named(_) | Scale::Ratio(Ticks::Powers) => counted(value),
        }
    }

    /// Unit of the values of its points, if its ticks are written differently; otherwise empty.
    pub(super) const fn unit(&self) -> &'static str {
        match self.scale {
            Scale::Ratio(Ticks::Durations { .. }) => "ns",
            Scale::Depth(_) => "-log10(1 - share)",
            Scale::Even(_) | Scale::Named(_) | Scale::Ratio(Ticks::Powers) => "",
        }
    }

    /// A value as written to a file: the name of its tick on an axis of names, whose places mean nothing.
    pub(super) fn written(&self, value: f64) -> String {
        let named =
            if let Scale::Named(ticks) = &self.scale { ticks.iter().find(|tick| tick.0 == value) } else { None };
        named.map_or_else(|| value.to_string(), |(_, name)| name.clone())
    }

    /// The place of a bar from `left` to `right` as written to a file: the name of the tick within it, or where it begins.
    pub(super) fn named_within(&self, left: f64, right: f64) -> String {
        let Scale::Named(ticks) = &self.scale else { return left.to_string() };
        let within = ticks.iter().find(|tick| (left..=right).contains(&tick.0));
        within.map_or_else(|| left.to_string(), |(_, name)| name.clone())
    }

    /// Where `value` lies, 0 at the low end and 1 at the high end, held within.
    pub(super) fn place(&self, value: f64) -> f64 {
        debug_assert!(self.min < self.max, "an axis goes from one value to another: {self:?}");
        match self.scale {
            Scale::Even(_) | Scale::Named(_) | Scale::Depth(_) => {
                ((value - self.min) / (self.max - self.min)).clamp(0.0, 1.0)
            }
            Scale::Ratio(_) => ((value / self.min).max(1e-300).log10() / (self.max / self.min).log10()).clamp(0.0, 1.0),
        }
    }
}

/// How deep in the tail a share lies: 1 at 90 %, 2 at 99 %, 3 at 99.9 %. A share of 1 is as deep as an axis goes.
pub(super) fn nines(share: f64) -> f64 {
    -(1.0 - share).max(10f64.powf(-NINES_MAX)).log10()
}

/// A tick of an axis of ratios: "10" and a raised power, with 2 or 5 before it.
fn power_of_ten(tick: f64) -> String {
    let power = (tick.log10() + 1e-9).floor();
    let lead = (tick / 10f64.powf(power)).round();
    let raised: String = format!("{power}")
        .chars()
        .map(|digit| match digit {
            '-' => '\u{207b}',
            '1' => '\u{b9}',
            '2' => '\u{b2}',
            '3' => '\u{b3}',
            other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
        })
        .collect();
    match (power == 0.0, lead == 1.0) {
        (true, _) => format!("{lead}"),
        (false, true) => format!("10{raised}"),
        (false, false) => format!("{lead}\u{b7}10{raised}"),
    }
}

/// The greatest of 1, 2, 5, 10, ... that is not above `raw`.
fn step_below(raw: f64) -> f64 {
    let power = 10f64.powf(raw.max(1e-300).log10().floor());
    let nice = [5.0, 2.0, 1.0].into_iter().find(|nice| nice * power <= raw).unwrap_or(1.0);
    nice * power
}

/// The least of 1, 2, 5, 10, ... that is not below `raw`.
pub(super) fn step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.max(1e-300).log10().floor());
    let lead = raw / power;
    debug_assert!((1.0 - 1e-9..10.0 + 1e-9).contains(&lead), "{raw} is {lead} times a power of ten");
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| lead <= nice * (1.0 + 1e-9)).unwrap_or(10.0);
    nice * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_multiples_of_one_two_or_five() {
        let table: [(f64, f64, usize, &[&str]); 6] = [
            (0.0, 100.0, 5, &["0", "20", "40", "60", "80", "100"]),
            (0.0, 34.2, 6, &["0", "10", "20", "30", "40"]),
            (0.0, 0.93, 5, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (480.0, 500.0, 4, &["480", "485", "490", "495", "500"]),
            (0.0, 12_000.0, 4, &["0", "5,000", "10,000", "15,000"]),
            (7.0, 7.0, 4, &["7.0", "7.5", "8.0"]),
        ];
        for (min, max, target, expected) in table {
            let axis = Axis::rounded(min, max, target);
            let found: Vec<String> = axis.ticks().into_iter().map(|tick| axis.text(tick)).collect();
            assert_eq!(found, expected, "{min} to {max}");
            assert!(axis.min <= min && axis.max >= max);
        }
    }

    #[test]
    fn an_exact_axis_keeps_its_ends_and_its_ticks_inside() {
        let axis = Axis::exact(0.0, 34.2, 6);
        assert_eq!(axis.ticks(), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!((axis.place(0.0), axis.place(34.2), axis.place(99.0)), (0.0, 1.0, 1.0));
    }

    #[test]
    fn ticks_that_would_touch_are_left_out() {
        let axis = Axis::exact(0.0, 40_000.0, 8);
        let within = |pixels| axis.ticks_within(pixels).into_iter().map(|tick| axis.text(tick)).collect::<Vec<_>>();
        assert_eq!(within(800.0).len(), 9);
        assert_eq!(within(300.0), ["0", "10,000", "20,000", "30,000", "40,000"]);
        assert_eq!(within(20.0), ["0"]);
    }

    #[test]
    fn an_axis_of_ratios_has_ticks_at_powers_of_ten() {
        let table: [(f64, f64, &[&str]); 4] = [
            (
                5.1e-8,
                3e-3,
                &[
                    "10\u{207b}\u{2077}",
                    "10\u{207b}\u{2076}",
                    "10\u{207b}\u{2075}",
                    "10\u{207b}\u{2074}",
                    "10\u{207b}\u{b3}",
                ],
            ),
            (
                1.5e-3,
                0.0164,
                &[
                    "10\u{207b}\u{b3}",
                    "2\u{b7}10\u{207b}\u{b3}",
                    "5\u{b7}10\u{207b}\u{b3}",
                    "10\u{207b}\u{b2}",
                    "2\u{b7}10\u{207b}\u{b2}",
                ],
            ),
            (0.3, 1.0, &["2\u{b7}10\u{207b}\u{b9}", "5\u{b7}10\u{207b}\u{b9}", "1"]),
            (1e-3, 1e-3, &["10\u{207b}\u{b3}", "2\u{b7}10\u{207b}\u{b3}"]),
        ];
        for (min, max, expected) in table {
            let axis = Axis::ratio(min, max);
            let found: Vec<String> = axis.ticks().into_iter().map(|tick| axis.text(tick)).collect();
            assert_eq!(found, expected, "{min} to {max}");
            assert!(axis.min <= min && axis.max >= max);
        }
        let axis = Axis::ratio(1e-4, 1e-2);
        assert!((axis.place(1e-3) - 0.5).abs() < 1e-12 && axis.place(0.0) == 0.0);
    }
}
