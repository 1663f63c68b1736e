//! Colours of types of agents: one type has one colour, in every session and everywhere.
//!
//! In: a name. Out: one of a few colours that people who do not see red, green or blue tell apart, and that text in the colour of the paper can be read on.
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
    use crate::draw::seen::assert_told_apart;

    #[test]
    fn colours_are_told_apart_by_everybody_and_bear_text() {
        let (light, dark) = colours_of();
        assert_told_apart(&light, &AGENT_COLOURS.map(|one| one.light), 8.0);
        assert_told_apart(&dark, &AGENT_COLOURS.map(|one| one.dark), 8.0);
    }

    #[test]
    fn a_name_has_one_colour() {
        let names = ["main", "Explore", "Plan", "general-purpose", "code-reviewer", "agent"];
        assert_eq!(names.map(agent_colour), [0, 1, 4, 2, 6, 7]);
    }
}
