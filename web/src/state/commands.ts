// Everything that a key or the palette can do, in one list: the sheet of keys is made from it.
import { signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { isReport } from "../api/report.ts";
import { VIEWS } from "../logic/route.ts";
import { prefer, preferences, type Theme } from "./preferences.ts";
import { isPlaying, pause, play } from "./replay.ts";
import { hasOthers } from "./report.ts";
import { go, openList, route, select, selected, selectedEdge, sessionId, showView } from "./route.ts";
import { markedRange, markRange } from "./timeline.ts";
import { failed } from "./trouble.ts";
import { chooseFiles } from "./uploads.ts";
import { nextLink } from "./walk.ts";

export interface Command {
  title: string;
  /** As it is written on the sheet; empty for none. */
  keys: string;
  isThere(): boolean;
  run(): void;
}

export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);
export const isExportOpen = signal(false);
export const isCompareOpen = signal(false);
export const isPreferencesOpen = signal(false);

const anywhere = () => true;
const inSession = () => route.value.page === "session";
const hasChoice = () => inSession() && (selected.value !== "" || selectedEdge.value !== "");

async function nextError(by: 1 | -1): Promise<void> {
  const id = sessionId.value;
  try {
    const found = await get("/api/v1/query", {}, { q: "is:error", session: [id] });
    const steps = found.sessions.flatMap((session) => session.steps.map((step) => step.id));
    if (steps.length === 0) return;
    const at = steps.indexOf(selected.value);
    select(steps[at < 0 ? 0 : (at + by + steps.length) % steps.length]);
  } catch (error) {
    failed(error);
  }
}

function focusSearch(): void {
  const field = document.getElementById("search");
  if (field instanceof HTMLInputElement) field.select();
}

export function openPalette(): void {
  isPaletteOpen.value = true;
}

const THEMES: Theme[] = ["system", "light", "dark"];

function nextTheme(): void {
  prefer({ theme: THEMES[(THEMES.indexOf(preferences.value.theme) + 1) % THEMES.length] ?? "system" });
}

export const COMMANDS: Command[] = [
  { title: "Find anything", keys: "Ctrl K", isThere: anywhere, run: openPalette },
  { title: "Search or filter", keys: "/", isThere: anywhere, run: focusSearch },
  { title: "All sessions", keys: "g", isThere: hasOthers, run: openList },
  ...VIEWS.map((name, n) => ({ title: `Show the ${name}`, keys: String(n + 1), isThere: inSession, run: () => showView(name) })),
  { title: "Next error", keys: "e", isThere: inSession, run: () => void nextError(1) },
  { title: "Previous error", keys: "E", isThere: inSession, run: () => void nextError(-1) },
  { title: "Next link of the step, and why", keys: "l", isThere: hasChoice, run: () => void nextLink(1) },
  { title: "Previous link", keys: "L", isThere: hasChoice, run: () => void nextLink(-1) },
  { title: "Mark no range", keys: "Escape", isThere: () => inSession() && markedRange.value !== undefined, run: () => markRange(undefined) },
  { title: "Choose no step", keys: "Escape", isThere: hasChoice, run: () => select(undefined) },
  { title: "Play or pause", keys: "p", isThere: inSession, run: () => (isPlaying.value ? pause() : play()) },
  { title: "Compare with another session…", keys: "c", isThere: () => inSession() && hasOthers(), run: () => (isCompareOpen.value = true) },
  { title: "Issues of all sessions", keys: "i", isThere: () => !isReport, run: () => go({ page: "issues", id: "", params: {} }) },
  { title: "Usage: tokens by caller and window", keys: "u", isThere: () => !isReport, run: () => go({ page: "usage", id: "", params: {} }) },
  { title: "Open files…", keys: "o", isThere: () => !isReport, run: chooseFiles },
  { title: "Export…", keys: "x", isThere: inSession, run: () => (isExportOpen.value = true) },
  { title: "Theme: system, light, dark", keys: "t", isThere: anywhere, run: nextTheme },
  { title: "Preferences…", keys: ",", isThere: anywhere, run: () => (isPreferencesOpen.value = true) },
  { title: "Keys", keys: "?", isThere: anywhere, run: () => (isHelpOpen.value = true) },
];

/** Fields that take no letters. */
const WORDLESS = ["checkbox", "radio", "range", "button", "submit"];

function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (target instanceof HTMLInputElement) return !WORDLESS.includes(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName));
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.value;
      return;
    }
    const isOpen = [isPaletteOpen, isHelpOpen, isExportOpen, isCompareOpen, isPreferencesOpen].find((open) => open.value);
    if (event.key === "Escape" && isOpen) {
      isOpen.value = false;
      return;
    }
    if (isOpen || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const command = COMMANDS.find((one) => one.keys === event.key && one.isThere());
    if (!command) return;
    event.preventDefault();
    command.run();
  });
}
