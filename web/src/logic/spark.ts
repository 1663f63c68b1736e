// In: when the steps of a session began, as shares of its busiest part. Out: a small picture of it, as a path. Pure.

const MOST = 255;

/** Bars side by side, each as high as its share; what is not nothing can be seen. */
export function sparkPath(shares: readonly number[], width: number, height: number): string {
  const step = width / Math.max(1, shares.length);
  const bars = shares.flatMap((share, n) => {
    if (share <= 0) return [];
    const high = Math.max(1.5, (share / MOST) * height);
    return [`M${round(n * step)} ${round(height - high)}h${round(Math.max(0.5, step - 1))}v${round(high)}h-${round(Math.max(0.5, step - 1))}z`];
  });
  return bars.join("");
}

function round(n: number): number {
  return Math.round(n * 100) / 100;
}
