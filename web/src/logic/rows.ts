// In: how far a list is scrolled. Out: which of its rows can be seen. Pure.

export interface Seen {
  first: number;
  /** Behind the last. */
  end: number;
}

/** Rows that exist before those that can be seen, and behind them. */
const MORE = 8;

/** How many rows exist at most. */
export function mostSeen(height: number, rowPx: number, more = MORE): number {
  return Math.ceil(height / rowPx) + 1 + 2 * more;
}

/** The rows that can be seen, and some before and behind them. */
export function seenRows(scrollTop: number, height: number, rowPx: number, total: number, more = MORE): Seen {
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

/**
 * Brings a row into sight. Where it lies then depends on how high the list is, not on how high it was when the row was chosen: while nobody scrolls,
 * another height places it anew.
 */
export class Reveal {
  private row: number | undefined;
  /** Where the list was before, and where it is because of the row. */
  private before = 0;
  private put = 0;

  /** A row is chosen. */
  to(row: number, scrollTop: number, height: number, rowPx: number): number {
    this.row = row;
    this.before = scrollTop;
    return scrollTo(row, scrollTop, height, rowPx);
  }

  /** The list has another height. */
  resized(scrollTop: number, height: number, rowPx: number): number {
    if (Math.abs(scrollTop - this.put) > SAME_PX) this.row = undefined;
    return this.row === undefined ? scrollTop : scrollTo(this.row, this.before, height, rowPx);
  }

  /** Where the list is now: it goes no further than its end. */
  isAt(scrollTop: number): void {
    this.put = scrollTop;
  }
}

/** Browsers round. */
const SAME_PX = 1;

/** Blocks of so many rows that hold the seen ones, by number. */
export function blocksOf(seen: Seen, size: number): number[] {
  const blocks: number[] = [];
  for (let n = Math.floor(seen.first / size); n * size < seen.end; n += 1) blocks.push(n);
  return blocks;
}
