// In: what was typed and names. Out: the names it may mean, best first. Letters must come in order; those side by side or at the start of a word count more. Pure.

const START = 8;
const NEXT = 5;
const FIRST = 6;
const SKIPPED = 0.2;

function startsWord(text: string, at: number): boolean {
  return at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1] ?? "") || (/\p{Ll}/u.test(text[at - 1] ?? "") && /\p{Lu}/u.test(text[at] ?? ""));
}

/** How well a name fits; `undefined` when a letter is missing. */
export function fit(typed: string, name: string): number | undefined {
  const wanted = typed.toLowerCase().replace(/\s+/g, "");
  if (wanted === "") return 0;
  const lower = name.toLowerCase();
  const whole = lower.indexOf(typed.trim().toLowerCase());
  if (whole >= 0) return wanted.length * (NEXT + START) + (whole === 0 ? FIRST : 0) + (startsWord(name, whole) ? START : 0) - SKIPPED * (lower.length - wanted.length);
  let [score, last] = [0, -1];
  for (const letter of wanted) {
    let at = lower.indexOf(letter, last + 1);
    // A letter at the start of a later word is meant rather than one inside this word.
    for (let later = at; later >= 0 && last + 1 !== at; later = lower.indexOf(letter, later + 1)) {
      if (!startsWord(name, later)) continue;
      at = later;
      break;
    }
    if (at < 0) return undefined;
    score += at === last + 1 && last >= 0 ? NEXT : 1;
    if (startsWord(name, at)) score += START;
    last = at;
  }
  return score - SKIPPED * (lower.length - wanted.length);
}

/** Those that fit, best first; equals stay in their order. */
export function fitting<T>(typed: string, all: readonly T[], name: (one: T) => string, bonus: (one: T) => number = () => 0): T[] {
  const scored = all.flatMap((one, n) => {
    const score = fit(typed, name(one));
    return score === undefined ? [] : [{ one, n, score: score + bonus(one) }];
  });
  return scored.sort((a, b) => b.score - a.score || a.n - b.n).map(({ one }) => one);
}
