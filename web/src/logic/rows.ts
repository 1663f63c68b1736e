// In: how far a list is scrolled. Out: which of its rows can be seen. Pure.

export interface Seen {
  first: number;
  /** Behind the last. */
  end: number;
}

/** The rows that can be seen, and some before and behind them. */
export function seenRows(scrollTop: number, height: number, rowPx: number, total: number, more = 8): Seen {
  const first = Math.max(0, Math.floor(scrollTop / rowPx) - more);
  const end = Math.min(total, Math.ceil((scrollTop + height) / rowPx) + more);
  return { first: Math.min(first, end), end };
}

/** Where to scroll so that a row can be seen; where it is now if it can be. */
export function scrollTo(row: number, scrollTop: number, height: number, rowPx: number): number {
  const top = row * rowPx;
  if (top < scrollTop) return Math.max(0, top - height / 3);
  if (top + rowPx > scrollTop + height) return Math.max(0, top - (2 * height) / 3);
  return scrollTop;
}

/** Blocks of so many rows that hold the seen ones, by number. */
export function blocksOf(seen: Seen, size: number): number[] {
  const blocks: number[] = [];
  for (let n = Math.floor(seen.first / size); n * size < seen.end; n += 1) blocks.push(n);
  return blocks;
}
