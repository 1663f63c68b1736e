// The time split of the API as parts of a bar.
import type { SplitDoc } from "../api/types.ts";
import { duration } from "../logic/words.ts";
import type { Palette } from "../state/schema.ts";
import type { Share } from "../widgets/Small.tsx";
import { classColour } from "./timeline-frame.ts";

const PARTS: [keyof SplitDoc, string, string][] = [
  ["model_ms", "model", "model"], ["tool_ms", "tool", "tools"], ["human_ms", "human", "people"], ["retry_ms", "retry", "retries"], ["other_ms", "other", "other"], ["idle_ms", "idle", "idle"],
];

export function splitShares(split: SplitDoc, colours: Palette): Share[] {
  return PARTS.map(([field, name, title]) => ({ name: title, value: split[field], colour: classColour(name, colours), text: duration(split[field]) }));
}
