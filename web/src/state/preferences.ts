// What somebody likes, remembered in the browser.
import { computed, effect, signal } from "@preact/signals";

import type { View } from "../logic/route.ts";

export type Theme = "system" | "light" | "dark";
export type Density = "comfortable" | "compact";

export interface Arrows {
  tool: boolean;
  spawn: boolean;
  return: boolean;
  other: boolean;
  error: boolean;
}

/** What colours tell: the kind of a step, or the type of its agent. */
export type Colouring = "kind" | "agent";

export interface Kept {
  theme: Theme;
  density: Density;
  /** The view a session opens with. */
  view: View;
  arrows: Arrows;
  path: boolean;
  /** Long stretches in which nothing happened are drawn short. */
  fold: boolean;
  /** Arrows that are believed less are hidden; from 0 to 1. */
  sure: number;
  colouring: Colouring;
  detailPx: number;
  /** Who somebody is when they say something about a link. */
  who: string;
}

const KEY = "unspool.preferences";
export const USUAL: Kept = { theme: "system", density: "comfortable", view: "timeline", arrows: { tool: true, spawn: true, return: true, other: true, error: true }, path: true, fold: true, sure: 0, colouring: "kind", detailPx: 420, who: "" };

function kept(): Kept {
  try {
    const told = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    return { ...USUAL, ...told, arrows: { ...USUAL.arrows, ...told.arrows } };
  } catch {
    return USUAL;
  }
}

export const preferences = signal<Kept>(kept());

export function prefer(changed: Partial<Kept>): void {
  preferences.value = { ...preferences.value, ...changed };
}

effect(() => {
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences.value));
  } catch {
    // A browser that keeps nothing forgets; nothing else depends on it.
  }
});

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => {
  isSystemDark.value = system.matches;
});

/** The height of a row of a list or tree. */
export const rowPx = computed(() => (preferences.value.density === "compact" ? 21 : 26));

effect(() => {
  document.documentElement.dataset["density"] = preferences.value.density;
});

export const isDark = signal(false);
effect(() => {
  const { theme } = preferences.value;
  isDark.value = theme === "dark" || (theme === "system" && isSystemDark.value);
  document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
});
