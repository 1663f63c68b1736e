//! Colours of types of agents: one type has one colour, in every session and everywhere.
//!
//! In: a name. Out: one of a few colours that people who do not see red or green tell apart, and that text in the colour of the paper can be read on.
//! More types than colours share them, so a name always stands beside.

use schemars::JsonSchema;
use serde::Serialize;

/// A colour for both themes, as `#rrggbb`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct AgentColour {
    /// In the light theme.
    pub light: &'static str,
    /// In the dark theme.
    pub dark: &'static str,
}

/// All of them.
pub const AGENT_COLOURS: [AgentColour; 8] = [
    AgentColour { light: "#3068e0", dark: "#5f9df7" },
    AgentColour { light: "#9c6400", dark: "#e8913f" },
    AgentColour { light: "#008078", dark: "#2fc9a4" },
    AgentColour { light: "#8a1c86", dark: "#d86bb8" },
    AgentColour { light: "#4d3e00", dark: "#f4d65a" },
    AgentColour { light: "#0c2a63", dark: "#c4dcff" },
    AgentColour { light: "#343b45", dark: "#9aa5b4" },
    AgentColour { light: "#2a6e4e", dark: "#f7f3d0" },
];

/// Where the hash begins: types that many sessions have get colours of their own.
const SEED: u32 = 0x811c_a1a2;

/// The place of a name's colour among them.
pub fn agent_colour(name: &str) -> u32 {
    // FNV-1a and a last mix: the same on every machine and in every version.
    let mut hash = name.bytes().fold(SEED, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    (hash ^ (hash >> 13)) % u32::try_from(AGENT_COLOURS.len()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{AGENT_COLOURS, agent_colour};
    use crate::draw::colours_of;

    type Triple = [f64; 3];

    /// How colours look to people who see all, no red or no green (Machado, Oliveira and Fernandes 2009, the strongest form).
    const EYES: [[Triple; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ];

    fn dot(a: &Triple, b: &Triple) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn linear(hex: &str) -> Triple {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance(hex: &str) -> f64 {
        dot(&linear(hex), &[0.2126, 0.7152, 0.0722])
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    fn lab(rgb: Triple) -> Triple {
        let curve = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = curve(dot(&rgb, &[0.4124, 0.3576, 0.1805]).max(0.0) / 0.950_47);
        let y = curve(dot(&rgb, &[0.2126, 0.7152, 0.0722]).max(0.0));
        let z = curve(dot(&rgb, &[0.0193, 0.1192, 0.9505]).max(0.0) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The least difference anybody sees.
    fn difference(a: &str, b: &str) -> f64 {
        let seen = |eyes: &[Triple; 3], hex: &str| lab(eyes.map(|row| dot(&row, &linear(hex))));
        let apart = |eyes: &[Triple; 3]| {
            let (a, b) = (seen(eyes, a), seen(eyes, b));
            a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        EYES.iter().map(apart).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn colours_are_told_apart_by_everybody_and_bear_text() {
        let (light, dark) = colours_of();
        let themes = [(light, AGENT_COLOURS.map(|one| one.light)), (dark, AGENT_COLOURS.map(|one| one.dark))];
        for (colours, mut all) in themes.map(|(colours, all)| (colours, all.to_vec())) {
            assert!(all.iter().all(|one| contrast(one, colours.paper) >= 4.5), "{all:?}");
            all.push(colours.error);
            for (n, one) in all.iter().enumerate() {
                for other in &all[..n] {
                    assert!(difference(one, other) > 8.0, "{one} {other} {}", difference(one, other));
                }
            }
        }
    }

    #[test]
    fn a_name_has_one_colour() {
        let names = ["main", "Explore", "Plan", "general-purpose", "code-reviewer", "agent"];
        assert_eq!(names.map(agent_colour), [0, 1, 4, 2, 6, 7]);
    }
}
