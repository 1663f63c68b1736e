// Keys that a view hears while it has the focus, in one table: views ask it what a key means, and the sheet of keys is made from it. Pure.

export type Act = "down" | "up" | "pageDown" | "pageUp" | "first" | "last" | "take" | "complete" | "close" | "issues";

interface ViewKey {
  where: "list" | "offers";
  act: Act;
  keys: readonly string[];
}

const VIEW_KEYS: readonly ViewKey[] = [
  { where: "list", act: "down", keys: ["ArrowDown", "j"] },
  { where: "list", act: "up", keys: ["ArrowUp", "k"] },
  { where: "list", act: "pageDown", keys: ["PageDown"] },
  { where: "list", act: "pageUp", keys: ["PageUp"] },
  { where: "list", act: "first", keys: ["Home"] },
  { where: "list", act: "last", keys: ["End"] },
  { where: "list", act: "take", keys: ["Enter"] },
  { where: "list", act: "issues", keys: ["i"] },
  { where: "offers", act: "down", keys: ["ArrowDown"] },
  { where: "offers", act: "up", keys: ["ArrowUp"] },
  { where: "offers", act: "take", keys: ["Enter"] },
  { where: "offers", act: "complete", keys: ["Tab"] },
  { where: "offers", act: "close", keys: ["Escape"] },
];

/** What a key means there. */
export function actOf(where: ViewKey["where"], key: string): Act | undefined {
  return VIEW_KEYS.find((one) => one.where === where && one.keys.includes(key))?.act;
}

const SHOWN: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };
const TITLES: Record<ViewKey["where"], string> = { list: "The list of sessions", offers: "Offers while typing" };
const MEANINGS: Record<Act, string> = {
  down: "Next", up: "Previous", pageDown: "A page down", pageUp: "A page up", first: "The first", last: "The last", take: "Open or take it", complete: "Take it", close: "Close", issues: "What was odd in it",
};

export interface SheetPart {
  title: string;
  keys: { shown: string[]; title: string }[];
}

/** The table as the sheet shows it. */
export function sheetParts(): SheetPart[] {
  return (["list", "offers"] as const).map((where) => ({
    title: TITLES[where],
    keys: VIEW_KEYS.filter((one) => one.where === where).map(({ act, keys }) => ({ shown: keys.map((key) => SHOWN[key] ?? key), title: MEANINGS[act] })),
  }));
}
