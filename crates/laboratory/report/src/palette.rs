//! Colors: of series, of ordered series, of heat and wear, in light and dark and on paper.
//!
//! Eight hues can be told apart by people with any of the three kinds of color blindness, which a test computes; each also
//! has a dash pattern, for gray print. Values that have an order get a ramp from pale to strong instead.

/// Hues of series.
pub(super) const HUES: usize = 8;
/// Steps of a ramp.
pub(super) const STEPS: usize = 8;

/// Colors by what they are for.
pub(super) struct Theme {
    /// Name and value of each color of the page.
    pub(super) page: &'static [(&'static str, &'static str)],
    /// Series without an order.
    pub(super) series: [&'static str; HUES],
    /// Series with an order, from the least: every step is seen on the ground as a line.
    pub(super) ordered: [&'static str; STEPS],
    /// Wear and heat, from the least: fills, which may be faint.
    pub(super) wear: [&'static str; STEPS],
    /// Parts of a latency.
    pub(super) parts: [&'static str; 13],
}

/// On a light ground.
pub(super) const LIGHT: Theme = Theme {
    page: &[
        ("ground", "#fcfcfa"),
        ("raised", "#f3f3ef"),
        ("ink", "#1c1e21"),
        ("soft", "#5a6069"),
        ("rule", "#d5d7d4"),
        ("grid", "#e6e7e3"),
        ("warn", "#8a5a00"),
    ],
    series: ["#1b3f5a", "#b43f00", "#007e6c", "#cf5ab4", "#6c87fc", "#a2902d", "#7e36a2", "#6c2409"],
    ordered: ["#c38323", "#c06522", "#b54937", "#a1324b", "#86245a", "#661c62", "#451760", "#261354"],
    wear: ["#f2ecd0", "#eed694", "#eab667", "#df8f4e", "#c6634a", "#a03c4d", "#702352", "#3d1548"],
    parts: [
        "#0063ac", "#2b83a8", "#77b2cc", "#9a3a8c", "#b84a00", "#dd8a3a", "#7d6400", "#c2a83a", "#5a6069", "#007a59",
        "#6db79d", "#a8adb3", "#c4567a",
    ],
};

/// On a dark ground.
pub(super) const DARK: Theme = Theme {
    page: &[
        ("ground", "#141619"),
        ("raised", "#1d2024"),
        ("ink", "#e7e8ea"),
        ("soft", "#a2a8b1"),
        ("rule", "#383d44"),
        ("grid", "#272b30"),
        ("warn", "#e9b958"),
    ],
    series: ["#75bdd8", "#c64800", "#24f3b4", "#995a90", "#1b6cd8", "#cfc624", "#a287fc", "#cf907e"],
    ordered: ["#7750b1", "#a356ae", "#cb60a0", "#ea708b", "#fe8876", "#feac78", "#fecb82", "#fbe991"],
    wear: ["#2b2340", "#472a63", "#6f2f6c", "#983a67", "#c04b58", "#e06b43", "#f3a03f", "#fbdc6a"],
    parts: [
        "#62b3ff", "#8ed6f2", "#3d7f9c", "#e19bd6", "#ff9357", "#b8632b", "#e2c552", "#94802f", "#a2a8b1", "#42cfa1",
        "#2b8568", "#626973", "#e06a90",
    ],
};

/// On paper: as on a light ground, which is white.
pub(super) const PAPER: Theme = Theme {
    page: &[
        ("ground", "#ffffff"),
        ("raised", "#f3f3ef"),
        ("ink", "#1c1e21"),
        ("soft", "#4a4f57"),
        ("rule", "#9a9da1"),
        ("grid", "#e2e3e1"),
        ("warn", "#8a5a00"),
    ],
    ..LIGHT
};

/// The variable that holds the color of a series.
const SERIES: &str = "var(--series)";

/// Dash pattern of each hue, in addition to its color; the first is a solid line.
const DASHES: [&str; HUES] = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "6 3 2 3 2 3", "1 2"];

/// Classes of the series at this place: its hue and its dashes.
pub(super) fn series(index: usize) -> String {
    format!("s{}", index % HUES)
}

/// Classes of the series at this place among `count` that have an order; every second one is dashed.
pub(super) fn ordered(index: usize, count: usize) -> String {
    debug_assert!(index < count.max(1), "a series of {count} has a place among them, found {index}");
    let step = if count > 1 { index * (STEPS - 1) / (count - 1) } else { STEPS - 1 };
    format!("o{step}{}", if index % 2 == 1 { " odd" } else { "" })
}

impl Theme {
    /// Class and color of everything that has one.
    fn classes(&self) -> impl Iterator<Item = (String, &'static str)> {
        let named = |letter: char, colors: &[&'static str]| -> Vec<(String, &'static str)> {
            colors.iter().enumerate().map(|(index, color)| (format!("{letter}{index}"), *color)).collect()
        };
        [named('s', &self.series), named('o', &self.ordered), named('w', &self.wear), named('p', &self.parts)]
            .into_iter()
            .flatten()
    }

    #[cfg(test)]
    fn of_page(&self, name: &str) -> &'static str {
        self.page.iter().find(|(known, _)| *known == name).map_or("#000000", |(_, color)| color)
    }

    fn variables(&self) -> String {
        let page = self.page.iter().map(|(name, color)| format!("--{name}: {color};"));
        let classes = self.classes().map(|(class, color)| format!("--{class}: {color};"));
        page.chain(classes).collect::<Vec<_>>().join(" ")
    }

    /// Rules of marks as a stylesheet without variables, for readers of SVG that know none.
    pub(super) fn resolved(&self, rules: &str) -> String {
        let mut resolved = String::new();
        for rule in rules.split_inclusive('}').map(str::trim).filter(|rule| rule.contains('{')) {
            let rule = self
                .page
                .iter()
                .fold(rule.to_owned(), |rule, (name, color)| rule.replace(&format!("var(--{name})"), color));
            let Some((selector, body)) = rule.split_once('{') else { continue };
            let declarations = || body.trim_end_matches('}').split(';').map(str::trim).filter(|one| !one.is_empty());
            let (colored, plain): (Vec<&str>, Vec<&str>) = declarations().partition(|one| one.contains(SERIES));
            resolved.push_str(&format!("{selector}{{{}}}", plain.join(";")));
            for (class, color) in self.classes().filter(|_| !colored.is_empty()) {
                let body = colored.join(";").replace(SERIES, color);
                resolved.push_str(&format!("{}.{class}{{{body}}}", selector.trim_end()));
            }
        }
        resolved
    }
}

/// The colors of a page as variables, in both themes, and the classes that take them.
pub(super) fn style() -> String {
    let mut style = format!(
        ":root {{ {} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {} }} }}\n@media print {{ :root {{ {} }} }}\n",
        LIGHT.variables(),
        DARK.variables(),
        PAPER.variables()
    );
    for (class, _) in LIGHT.classes() {
        style.push_str(&format!(".{class} {{ --series: var(--{class}); }}\n"));
    }
    style + &dashes()
}

/// The dash patterns of lines.
pub(super) fn dashes() -> String {
    let patterns = DASHES.iter().enumerate().filter(|(_, dashes)| !dashes.is_empty());
    let rules: String =
        patterns.map(|(hue, dashes)| format!(".curve.s{hue} {{ stroke-dasharray: {dashes}; }}\n")).collect();
    rules + ".curve.odd { stroke-dasharray: 6 3; }\n.curve.solid { stroke-dasharray: none; }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    type Color = [f64; 3];

    /// What people see who lack a kind of cone, in linear RGB: Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, at
    /// full severity. The first is full color vision.
    const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
        ("full color vision", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        ),
        (
            "deuteranopia",
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        ),
        (
            "tritanopia",
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ),
    ];

    fn linear(hex: &str) -> Color {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: &[[f64; 3]; 3], color: Color) -> Color {
        matrix.map(|row| row.iter().zip(color).map(|(factor, value)| factor * value).sum())
    }

    /// Ottosson's Oklab of linear RGB, in which distances are about as large as they look.
    fn oklab(color: Color) -> Color {
        const TO_CONES: [[f64; 3]; 3] = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const TO_LAB: [[f64; 3]; 3] = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        times(&TO_LAB, times(&TO_CONES, color.map(|value| value.clamp(0.0, 1.0))).map(f64::cbrt))
    }

    fn distance(left: Color, right: Color) -> f64 {
        left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum::<f64>().sqrt()
    }

    /// The contrast of WCAG 2.
    fn contrast(left: &str, right: &str) -> f64 {
        let luminance =
            |hex| linear(hex).iter().zip([0.2126, 0.7152, 0.0722]).map(|(value, part)| value * part).sum::<f64>();
        let (left, right) = (luminance(left) + 0.05, luminance(right) + 0.05);
        (left / right).max(right / left)
    }

    const THEMES: [(&str, &Theme); 2] = [("light", &LIGHT), ("dark", &DARK)];

    #[test]
    fn hues_are_told_apart_by_every_eye() {
        for (name, theme) in THEMES {
            for (vision, matrix) in &VISIONS {
                let seen = theme.series.map(|color| oklab(times(matrix, linear(color))));
                for (first, second) in (0..HUES).flat_map(|first| (0..first).map(move |second| (first, second))) {
                    let found = distance(seen[first], seen[second]);
                    // A difference of 0.02 is just seen where both lie side by side; lines lie apart.
                    assert!(found > 0.11, "{name}, {vision}: series {second} and {first} are {found:.3} apart");
                }
            }
        }
    }

    #[test]
    fn lines_and_text_stand_out_from_the_ground() {
        for (name, theme) in THEMES {
            let ground = theme.of_page("ground");
            for color in theme.series.iter().chain(&theme.ordered) {
                let found = contrast(color, ground);
                assert!(found >= 3.0, "{name}: {color} has a contrast of {found:.2}; WCAG asks for 3 of graphics");
            }
            for text in ["ink", "soft", "warn"] {
                let found = contrast(theme.of_page(text), ground);
                assert!(found >= 4.5, "{name}: {text} has a contrast of {found:.2}; WCAG asks for 4.5 of text");
            }
        }
    }

    #[test]
    fn a_ramp_goes_one_way_for_every_eye_and_in_gray() {
        for (name, theme) in THEMES {
            for (ramp, colors) in [("ordered", theme.ordered), ("wear", theme.wear)] {
                for (vision, matrix) in &VISIONS {
                    let lightness = colors.map(|color| oklab(times(matrix, linear(color)))[0]);
                    let signs = lightness.windows(2).map(|pair| (pair[1] - pair[0]).signum());
                    let first = (lightness[1] - lightness[0]).signum();
                    assert!(signs.into_iter().all(|sign| sign == first), "{name}, {ramp}, {vision}: {lightness:?}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_a_ramp_are_used() {
        assert_eq!((ordered(0, 3), ordered(1, 3), ordered(2, 3)), ("o0".into(), "o3 odd".into(), "o7".into()));
        assert_eq!(ordered(0, 1), "o7");
    }

    #[test]
    fn no_variable_is_left_where_none_is_known() {
        let resolved = LIGHT.resolved(include_str!("marks.css"));
        assert!(!resolved.contains("var("), "{resolved}");
        assert!(resolved.contains(".curve.s1{stroke: ") && resolved.contains(LIGHT.series[1]), "{resolved}");
    }
}
