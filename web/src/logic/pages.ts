// In: rows of the list and news about them. Out: the list as it is then. Rows stay where they are while somebody reads.
import type { SessionLineDoc } from "../api/types.ts";

export interface Page {
  rows: readonly SessionLineDoc[];
  next: string | null;
  matching: number;
  /** Everything was looked into. */
  complete: boolean;
}

export const NO_PAGE: Page = { rows: [], next: null, matching: 0, complete: true };

export function appended(page: Page, rows: readonly SessionLineDoc[], next: string | null, matching: number, complete: boolean): Page {
  const known = new Set(page.rows.map((row) => row.id));
  return { rows: [...page.rows, ...rows.filter((row) => !known.has(row.id))], next, matching, complete };
}

/** A row that is different now, in its place; `undefined` when it is not in the list. */
export function changed(page: Page, id: string, row: SessionLineDoc | null | undefined): Page | undefined {
  const at = page.rows.findIndex((one) => one.id === id);
  if (at < 0) return undefined;
  const rows = row ? page.rows.with(at, row) : page.rows.toSpliced(at, 1);
  return { ...page, rows, matching: page.matching - (row ? 0 : 1) };
}
