// Which side of a step is looked at; other views can open one.
import { signal } from "@preact/signals";

export const TABS = ["What", "Why", "Record"] as const;
export type Tab = (typeof TABS)[number];

export const detailTab = signal<Tab>("What");
