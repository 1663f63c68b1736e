// The words and colours of the API: kinds, looks and formats are not known here, so new ones need no change of the page.
import { computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { LookDoc, WordsDoc } from "../api/types.ts";
import { isDark } from "./preferences.ts";
import { failed } from "./trouble.ts";

export const words = signal<WordsDoc | undefined>(undefined);

export async function loadWords(): Promise<void> {
  try {
    words.value = await get("/api/v1/schema");
  } catch (error) {
    failed(error);
  }
}

export interface Palette {
  paper: string;
  ink: string;
  dim: string;
  line: string;
  node: string;
  border: string;
  frame: string;
  frameBorder: string;
  error: string;
  errorFill: string;
  spawn: string;
  look(name: string): string;
  /** Of a type of agent, by the place the API tells. */
  agent(place: number | null | undefined): string;
}

const PLAIN = "#888888";

export const palette = computed<Palette>(() => {
  const known = words.value;
  const dark = isDark.value;
  const colours = dark ? known?.dark : known?.light;
  const looks = new Map<string, string>((known?.looks ?? []).map((look: LookDoc) => [look.name, dark ? look.dark : look.light]));
  return {
    paper: colours?.paper ?? (dark ? "#111" : "#fff"),
    ink: colours?.ink ?? (dark ? "#eee" : "#111"),
    dim: colours?.dim ?? PLAIN,
    line: colours?.line ?? PLAIN,
    node: colours?.node ?? (dark ? "#111" : "#fff"),
    border: colours?.border ?? PLAIN,
    frame: colours?.frame ?? "transparent",
    frameBorder: colours?.frame_border ?? PLAIN,
    error: colours?.error ?? "#c00",
    errorFill: colours?.error_fill ?? "transparent",
    spawn: colours?.spawn ?? PLAIN,
    look: (name) => looks.get(name) ?? PLAIN,
    agent: (place) => (place === null || place === undefined ? PLAIN : (known?.agent_colours[place]?.[dark ? "dark" : "light"] ?? PLAIN)),
  };
});

/** What a look is called. */
export function lookTitle(name: string): string {
  return words.value?.looks.find((look: LookDoc) => look.name === name)?.title ?? name;
}

/** What an issue means. */
export function issueAbout(code: string): string {
  return words.value?.issues.find((issue) => issue.name === code)?.about ?? code;
}

effect(() => {
  if (!words.value) return;
  const { style } = document.documentElement;
  const colours = palette.value;
  for (const name of ["paper", "ink", "dim", "line", "node", "border", "error", "spawn"] as const) style.setProperty(`--${name}`, colours[name]);
  style.setProperty("--error-fill", colours.errorFill);
  for (const look of words.value.looks) style.setProperty(`--look-${look.name}`, colours.look(look.name));
});
