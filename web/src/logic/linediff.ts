// In: a text before and after. Out: its lines as a diff. Pure.

/** With more pairs of lines, the texts stand one after the other: `max_diff_pairs`. */
export const MAX_DIFF_PAIRS = 1_000_000;

/** Lines with `-`, `+` or a space before them; what stays the same is found by the longest common run of lines. */
export function lineDiff(before: string, after: string): string {
  const [a, b] = [before === "" ? [] : before.split("\n"), after === "" ? [] : after.split("\n")];
  let [first, lastA, lastB] = [0, a.length, b.length];
  while (first < lastA && first < lastB && a[first] === b[first]) first += 1;
  while (lastA > first && lastB > first && a[lastA - 1] === b[lastB - 1]) {
    lastA -= 1;
    lastB -= 1;
  }
  const same = (lines: string[]) => lines.map((line) => ` ${line}`);
  return [...same(a.slice(0, first)), ...middle(a.slice(first, lastA), b.slice(first, lastB)), ...same(a.slice(lastA))].join("\n");
}

function middle(a: string[], b: string[]): string[] {
  if (a.length * b.length > MAX_DIFF_PAIRS) return ["@@ too long to align (max_diff_pairs) @@", ...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(` ${a[i]}`);
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`-${a[i]}`);
      i += 1;
    } else {
      lines.push(`+${b[j]}`);
      j += 1;
    }
  }
  return lines;
}
