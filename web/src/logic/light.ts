// In: how a step is lit beside others. Out: how much of its colour is seen, and in what its words are written, so that they can be read. Pure.

/** How a step is drawn beside what is looked at. */
export type Light = "plain" | "selected" | "chain" | "dim";

/** What a filter leaves out is a tint, what lies beside a lit chain a stronger one. */
export const DIM_ALPHA = 0.11;
export const BESIDE_ALPHA = 0.34;

export function alphaOf(light: Light, hasChain: boolean): number {
  if (light === "dim") return DIM_ALPHA;
  return light === "plain" && hasChain ? BESIDE_ALPHA : 1;
}

/** The colour of words on a fill that is seen so much. */
export function inkOn(alpha: number): "paper" | "ink" | "dim" {
  if (alpha >= 1) return "paper";
  return alpha > DIM_ALPHA ? "ink" : "dim";
}
