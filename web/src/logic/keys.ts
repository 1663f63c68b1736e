// Keys that a view hears while it has the focus, in one table: views ask it what a key means, and the sheet of keys is made from it. Pure.
import type { View } from "./route.ts";

export type Act =
  | "down" | "up" | "left" | "right" | "pageDown" | "pageUp" | "first" | "last" | "take" | "complete" | "close" | "issues"
  | "open" | "openAll" | "zoomIn" | "zoomOut" | "all" | "range";

export type Where = "list" | "offers" | "tree" | "timeline" | "graph";

interface ViewKey {
  where: Where;
  /** What a view does; nothing where a hand does it. */
  act?: Act;
  keys: readonly string[];
  title: string;
}

const VIEW_KEYS: readonly ViewKey[] = [
  { where: "list", act: "down", keys: ["ArrowDown", "j"], title: "Next" },
  { where: "list", act: "up", keys: ["ArrowUp", "k"], title: "Previous" },
  { where: "list", act: "pageDown", keys: ["PageDown"], title: "A page down" },
  { where: "list", act: "pageUp", keys: ["PageUp"], title: "A page up" },
  { where: "list", act: "first", keys: ["Home"], title: "The first" },
  { where: "list", act: "last", keys: ["End"], title: "The last" },
  { where: "list", act: "take", keys: ["Enter"], title: "Open it" },
  { where: "list", act: "issues", keys: ["i"], title: "What was odd in it" },
  { where: "timeline", act: "left", keys: ["ArrowLeft"], title: "Earlier" },
  { where: "timeline", act: "right", keys: ["ArrowRight"], title: "Later" },
  { where: "timeline", act: "up", keys: ["ArrowUp"], title: "Lanes above" },
  { where: "timeline", act: "down", keys: ["ArrowDown"], title: "Lanes below" },
  { where: "timeline", act: "zoomIn", keys: ["+", "="], title: "Zoom in" },
  { where: "timeline", act: "zoomOut", keys: ["-"], title: "Zoom out" },
  { where: "timeline", act: "all", keys: ["0"], title: "The whole session" },
  { where: "timeline", act: "range", keys: ["r"], title: "Mark what is shown as a range" },
  { where: "timeline", keys: ["Wheel"], title: "Zoom at the pointer; with Shift, move" },
  { where: "timeline", keys: ["Drag"], title: "Move; on the top strip, too" },
  { where: "timeline", keys: ["Shift drag"], title: "Mark a range; on the ruler without Shift" },
  { where: "timeline", keys: ["Double click"], title: "Zoom to a bar, or out" },
  { where: "tree", act: "down", keys: ["ArrowDown", "j"], title: "Next row" },
  { where: "tree", act: "up", keys: ["ArrowUp", "k"], title: "Previous row" },
  { where: "tree", act: "right", keys: ["ArrowRight"], title: "Open the agent, or go into it" },
  { where: "tree", act: "left", keys: ["ArrowLeft"], title: "Close the agent, or go to the one around" },
  { where: "tree", act: "open", keys: ["Enter", " "], title: "Open or close the agent" },
  { where: "tree", act: "openAll", keys: ["*"], title: "Open all agents" },
  { where: "tree", act: "pageDown", keys: ["PageDown"], title: "A page down" },
  { where: "tree", act: "pageUp", keys: ["PageUp"], title: "A page up" },
  { where: "tree", act: "first", keys: ["Home"], title: "The first row" },
  { where: "tree", act: "last", keys: ["End"], title: "The last row" },
  { where: "graph", act: "left", keys: ["ArrowLeft"], title: "Move left" },
  { where: "graph", act: "right", keys: ["ArrowRight"], title: "Move right" },
  { where: "graph", act: "up", keys: ["ArrowUp"], title: "Move up" },
  { where: "graph", act: "down", keys: ["ArrowDown"], title: "Move down" },
  { where: "graph", act: "zoomIn", keys: ["+", "="], title: "Zoom in" },
  { where: "graph", act: "zoomOut", keys: ["-"], title: "Zoom out" },
  { where: "graph", act: "all", keys: ["0"], title: "All of it" },
  { where: "graph", keys: ["Wheel"], title: "Zoom at the pointer; with Shift, move" },
  { where: "graph", keys: ["Drag"], title: "Move" },
  { where: "graph", keys: ["Double click"], title: "Make one node of an agent, or nodes again" },
  { where: "offers", act: "down", keys: ["ArrowDown"], title: "Next" },
  { where: "offers", act: "up", keys: ["ArrowUp"], title: "Previous" },
  { where: "offers", act: "take", keys: ["Enter"], title: "Take it" },
  { where: "offers", act: "complete", keys: ["Tab"], title: "Take it and go on typing" },
  { where: "offers", act: "close", keys: ["Escape"], title: "Close" },
];

/** What a key means there. */
export function actOf(where: Where, key: string): Act | undefined {
  return VIEW_KEYS.find((one) => one.where === where && one.keys.includes(key))?.act;
}

const SHOWN: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space" };
const TITLES: Record<Where, string> = { list: "The list of sessions", offers: "Offers while typing", tree: "The tree", timeline: "The timeline", graph: "The graph" };

/** What hears keys in a view. */
const HEARD: Record<View, readonly Where[]> = { timeline: ["timeline", "tree"], tree: ["tree"], graph: ["graph"], workflow: ["graph"], runs: [], stats: [] };

/** What hears keys on a page; of a session, in one of its views. */
export function heard(page: string, view: View): readonly Where[] {
  return page === "sessions" ? ["list", "offers"] : page === "session" ? [...HEARD[view], "offers"] : [];
}

export interface SheetPart {
  title: string;
  keys: { shown: string[]; title: string }[];
}

/** The table as the sheet shows it. */
export function sheetParts(parts: readonly Where[]): SheetPart[] {
  return parts.map((where) => ({
    title: TITLES[where],
    keys: VIEW_KEYS.filter((one) => one.where === where).map(({ keys, title }) => ({ shown: keys.map((key) => SHOWN[key] ?? key), title })),
  }));
}
