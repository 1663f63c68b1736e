// In: stretches of positions, sorted, as the API tells them. Out: whether a position is in one. Pure.

export class Positions {
  private readonly stretches: readonly (readonly number[])[];

  constructor(stretches: readonly (readonly number[])[]) {
    this.stretches = stretches;
  }

  has(position: number): boolean {
    return this.hasAny(position, position);
  }

  /** Whether one of the positions from the first to the last is in it. */
  hasAny(first: number, last: number): boolean {
    let [least, most] = [0, this.stretches.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.stretches[middle]?.[1] ?? 0) < first) least = middle + 1;
      else most = middle;
    }
    const found = this.stretches[least];
    return found !== undefined && (found[0] ?? 0) <= last;
  }

  get isEmpty(): boolean {
    return this.stretches.length === 0;
  }
}
