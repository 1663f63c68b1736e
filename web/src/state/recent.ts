// What was chosen lately in the palette, remembered in the browser.
import { signal } from "@preact/signals";
import { remembered } from "../logic/recent.ts";

const KEY = "unspool.recent";

function kept(): string[] {
  try {
    const told: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(told) ? told.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export const recent = signal<readonly string[]>(kept());

export function choose(key: string): void {
  recent.value = remembered(recent.value, key);
  try {
    localStorage.setItem(KEY, JSON.stringify(recent.value));
  } catch {
    // A browser that keeps nothing forgets; nothing else depends on it.
  }
}
