// In: rows of the list and news about them. Out: the list as it is then. Rows stay where they are while somebody reads.
import type { SessionLineDoc } from "../api/types.ts";

export interface Page {
  rows: readonly SessionLineDoc[];
  next: string | null;
  matching: number;
  /** Sessions that may match and were not looked into. */
  unsearched: number;
}

export const NO_PAGE: Page = { rows: [], next: null, matching: 0, unsearched: 0 };

export function appended(page: Page, rows: readonly SessionLineDoc[], next: string | null, matching: number, unsearched: number): Page {
  const known = new Set(page.rows.map((row) => row.id));
  return { rows: [...page.rows, ...rows.filter((row) => !known.has(row.id))], next, matching, unsearched };
}

/** A row that is different now, in its place; `undefined` when it is not in the list. */
export function changed(page: Page, id: string, row: SessionLineDoc | null | undefined): Page | undefined {
  const at = page.rows.findIndex((one) => one.id === id);
  if (at < 0) return undefined;
  const rows = row ? page.rows.with(at, row) : page.rows.toSpliced(at, 1);
  return { ...page, rows, matching: page.matching - (row ? 0 : 1) };
}

/** All rows that are different now, in their places, and how many sessions are there that the list does not have. */
export function changedAll(page: Page, news: ReadonlyMap<string, SessionLineDoc | null | undefined>): { page: Page; unknown: number } {
  let [next, unknown] = [page, 0];
  for (const [id, row] of news) {
    const after = changed(next, id, row);
    if (after) next = after;
    else if (row) unknown += 1;
  }
  return { page: next, unknown };
}
