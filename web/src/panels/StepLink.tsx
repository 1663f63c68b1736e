// A step in a word, and the way to it.
import type { StepBriefDoc } from "../api/types.ts";
import { select } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { Swatch } from "../widgets/Small.tsx";

export function lookOf(kind: string): string {
  return words.value?.step_kinds.find((known) => known.name === kind)?.look ?? "other";
}

export function StepLink({ step }: { step: StepBriefDoc | null | undefined }) {
  if (!step) return <span class="quiet">nothing that is shown</span>;
  return (
    <button class="link" onClick={() => select(step.id)}>
      <Swatch look={lookOf(step.kind)} error={step.is_error} /> {step.label} <span class="quiet">#{step.seq}</span>
    </button>
  );
}
