//! Sessions of some folders, routes and paths have windows of their own.
//!
//! In: the `[[project]]` tables of a file, and where a session is at work. Out: the table it is linked by.

use crate::table::{Table, TableError, over};
use serde::{Deserialize, Serialize};

/// What sessions somewhere have for themselves, and the table they are linked by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Project {
    windows: RawProject,
    table: Table,
}

/// Where sessions are at work, and windows that count once that is known. All that is said about the place must fit.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawProject {
    path: Option<String>,
    upstream: Option<String>,
    route: Option<String>,
    prompt_window_s: Option<u32>,
    type_window_s: Option<u32>,
    clock_tolerance_ms: Option<u32>,
    coarse_clock_tolerance_ms: Option<u32>,
    fusion_window_s: Option<u32>,
    running_window_s: Option<u32>,
}

/// Where a session is at work; what is not known is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// Its working directory.
    pub folder: &'a str,
    /// The name of the proxy's route its requests went by.
    pub upstream: &'a str,
    /// The path of its requests.
    pub route: &'a str,
}

impl RawProject {
    /// The same in one way of writing, or why it cannot be.
    fn settled(mut self) -> Result<RawProject, TableError> {
        let wrong = |why: &str| Err(TableError::new(format!("a [[project]] {why}")));
        if self.path.is_none() && self.upstream.is_none() && self.route.is_none() {
            return wrong("has no `path`, no `upstream` and no `route`");
        }
        let without_end = |text: String| text.trim_end_matches(['/', '\\']).to_string();
        if let Some(route) = &self.route
            && (!route.starts_with('/') || route.contains(['?', '#']))
        {
            return wrong(&format!(
                "has the `route` \"{route}\"; write it as a path without a query, such as \"/v1/messages\""
            ));
        }
        if let Some(name) = self.upstream.as_ref().filter(|name| name.is_empty() || name.contains('/')) {
            return wrong(&format!("has the `upstream` \"{name}\"; write the NAME of --upstream NAME=URL"));
        }
        self.path = self.path.map(without_end);
        self.route = self.route.map(without_end);
        for (name, said) in [("path", &self.path), ("route", &self.route)] {
            if said.as_ref().is_some_and(String::is_empty) {
                return wrong(&format!(
                    "has a `{name}` that is everywhere; leave it out, and set the window for all"
                ));
            }
        }
        Ok(self)
    }

    fn is_same_place(&self, other: &RawProject) -> bool {
        (&self.path, &self.upstream, &self.route) == (&other.path, &other.upstream, &other.route)
    }

    fn fits_folder(&self, folder: &str) -> bool {
        self.path.as_ref().is_none_or(|path| is_below(folder, path))
    }

    fn fits(&self, place: &Place<'_>) -> bool {
        self.fits_folder(place.folder)
            && self.upstream.as_ref().is_none_or(|name| name == place.upstream)
            && self.route.as_ref().is_none_or(|route| is_below(place.route, route))
    }

    /// How closely it names a place: by the folder first, then the path of requests, then the route.
    fn closeness(&self) -> (usize, usize, bool) {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        (length(&self.path), length(&self.route), self.upstream.is_some())
    }
}

/// Whether a path is another one, or lies below it.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

impl Table {
    /// Takes over windows of projects; those that were there before are worked out anew, over what the others are now.
    pub(crate) fn add_projects(&mut self, new: Vec<RawProject>) -> Result<(), TableError> {
        let mut all: Vec<RawProject> =
            std::mem::take(&mut self.projects).into_iter().map(|project| project.windows).collect();
        for windows in new {
            let windows = windows.settled()?;
            all.retain(|known| !known.is_same_place(&windows));
            all.push(windows);
        }
        let seconds = |value: Option<u32>| value.map(|s| i64::from(s) * 1000);
        let of = |windows: RawProject| {
            let mut table = self.clone();
            over(&mut table.prompt_window_ms, seconds(windows.prompt_window_s));
            over(&mut table.type_window_ms, seconds(windows.type_window_s));
            over(&mut table.clock_tolerance_ms, windows.clock_tolerance_ms.map(i64::from));
            over(&mut table.coarse_clock_tolerance_ms, windows.coarse_clock_tolerance_ms.map(i64::from));
            over(&mut table.fusion_window_ms, seconds(windows.fusion_window_s));
            over(&mut table.running_window_ms, seconds(windows.running_window_s));
            Project { windows, table }
        };
        self.projects = all.into_iter().map(of).collect();
        Ok(())
    }

    /// Whether sessions anywhere have windows of their own.
    pub(crate) fn has_projects(&self) -> bool {
        !self.projects.is_empty()
    }

    /// The table for sessions somewhere: that of the project that names the place most closely.
    pub fn of_place(&self, place: &Place<'_>) -> &Table {
        let fits = self.projects.iter().filter(|project| project.windows.fits(place));
        let closest = fits.max_by_key(|project| project.windows.closeness());
        closest.map_or(self, |project| &project.table)
    }

    /// The shortest time after which a session in a folder may no longer count as running, whichever way its requests go.
    pub fn shortest_running_window_ms(&self, folder: &str) -> i64 {
        let here = self.of_place(&Place { folder, ..Place::default() }).running_window_ms;
        let other_ways = self.projects.iter().filter(|project| {
            let windows = &project.windows;
            (windows.upstream.is_some() || windows.route.is_some()) && windows.fits_folder(folder)
        });
        other_ways.map(|project| project.table.running_window_ms).fold(here, i64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Table};

    #[test]
    fn folders_may_have_windows_of_their_own() {
        let text = "[[project]]\npath = \"/w/\"\ntype_window_s = 5\n[[project]]\npath = \"/w/slow\"\ntype_window_s = 900";
        let table = Table::default().with(text).unwrap().with("prompt_window_s = 7").unwrap();
        let of = |folder: &'static str| table.of_place(&Place { folder, ..Place::default() });
        let windows = ["/w", "/w/a", "/w/slow/b", "/wide", ""].map(|folder| of(folder).type_window_ms);
        assert_eq!(windows, [5_000, 5_000, 900_000, 60_000, 60_000]);
        assert_eq!(of("/w/a").prompt_window_ms, 7_000, "what is set later counts there, too");
    }

    #[test]
    fn so_may_routes_and_paths_of_requests() {
        let text = "
            [[project]]\nupstream = \"local\"\ntype_window_s = 1\nrunning_window_s = 30
            [[project]]\nroute = \"/v1/\"\ntype_window_s = 2
            [[project]]\nupstream = \"local\"\nroute = \"/v1/responses\"\ntype_window_s = 3
            [[project]]\npath = \"/w\"\nupstream = \"local\"\ntype_window_s = 4";
        let table = Table::default().with(text).unwrap();
        let window =
            |folder, upstream, route| table.of_place(&Place { folder, upstream, route }).type_window_ms;
        assert_eq!(window("", "local", ""), 1_000);
        assert_eq!(window("", "other", "/v1/messages"), 2_000);
        assert_eq!(window("", "local", "/v1/messages"), 2_000, "a path counts more than the route");
        assert_eq!(window("", "local", "/v1/responses/compact"), 3_000);
        assert_eq!(window("/w/a", "local", "/v1/responses"), 4_000, "a folder counts more than both");
        assert_eq!(window("/w/a", "other", "/v2"), 60_000, "all that is said must fit");
        assert_eq!(table.shortest_running_window_ms("/elsewhere"), 30_000);
    }

    #[test]
    fn places_that_say_nothing_are_refused() {
        let refused = |text: &str| {
            Table::default().with(&format!("[[project]]\n{text}")).map(|_| ()).unwrap_err().to_string()
        };
        assert!(refused("type_window_s = 5").contains("no `path`, no `upstream` and no `route`"));
        assert!(refused("path = \"/\"").contains("`path` that is everywhere"));
        assert!(refused("upstream = \"a/b\"").contains("--upstream NAME=URL"));
        assert!(refused("route = \"v1/messages\"").contains("\"/v1/messages\""));
        assert!(refused("route = \"/v1?x=1\"").contains("without a query"));
        assert!(refused("path = \"/w\"\nsession_gap_s = 5").contains("session_gap_s"));
        assert!(refused("path = \"/w\"\nup_stream = \"a\"").contains("up_stream"));
    }
}
