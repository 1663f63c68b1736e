// What a node of the graph or workflow stands for, beside the pointer: which of its instances is looked at, how long, which model, what for.
import { useEffect, useMemo } from "preact/hooks";
import { signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { PlacedNodeDoc } from "../api/types.ts";
import { parsedRecord, previews } from "../logic/readable.ts";
import { count, duration, money, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { selected, sessionId } from "../state/route.ts";

/** A pointer that only passes by asks for nothing. */
const PAUSE_MS = 180;
const PREVIEW_LETTERS = 160;

function useInstance(step: string | undefined) {
  const wanted = useMemo(() => signal<string | undefined>(undefined), []);
  const answer = useMemo(() => answerOf(() => {
    const [id, one] = [sessionId.value, wanted.value];
    return id === "" || one === undefined ? undefined : { key: `${id}/${one}`, get: (abort) => get("/api/v1/sessions/{id}/steps/{step}", { id, step: one }, {}, abort) };
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  useEffect(() => {
    const timer = setTimeout(() => (wanted.value = step), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [step]);
  const { data } = answer.value;
  return data && data.step.id === step ? data : undefined;
}

export function NodeTip({ node, x, y, width, height }: { node: PlacedNodeDoc; x: number; y: number; width: number; height: number }) {
  const steps = node.step_ids;
  const at = Math.max(0, steps.indexOf(selected.value));
  const isChosen = steps.includes(selected.value);
  const doc = useInstance(steps[at]);
  const said = useMemo(() => doc && previews(doc.records.flatMap((record) => parsedRecord(record.content) ?? []), doc.step.tool_use_id ?? "", PREVIEW_LETTERS), [doc]);
  const side = x > width - 360 ? { right: `${width - x + 12}px` } : { left: `${x + 14}px` };
  const level = y > height - 220 ? { bottom: `${height - y + 12}px` } : { top: `${y + 14}px` };
  const { totals } = node;
  return (
    <div class="tip node-tip" style={{ ...side, ...level }}>
      <p class="node-tip-head"><b>{node.label}</b>{steps.length > 1 && <span class="tag">{at + 1}/{steps.length}</span>}</p>
      {node.detail !== "" && <p>{node.detail}</p>}
      <dl>
        <div><dt>{steps.length > 1 ? "all of them" : "took"}</dt><dd>{duration(node.busy_ms)}{totals.cost_usd ? ` · ${money(totals.cost_usd)}` : ""}{totals.errors > 0 && <span class="errors"> · {plural(totals.errors, "error")}</span>}</dd></div>
        {totals.usage && <div><dt>tokens</dt><dd>{count(totals.usage.input)} in · {count(totals.usage.cache_read)} cached · {count(totals.usage.output)} out</dd></div>}
        {doc && steps.length > 1 && <div><dt>this one</dt><dd>{duration(doc.step.duration_ms)}{doc.cost_usd ? ` · ${money(doc.cost_usd)}` : ""}</dd></div>}
        {doc?.step.model && <div><dt>model</dt><dd>{doc.step.model}</dd></div>}
        {doc && <div><dt>status</dt><dd class={doc.step.is_error ? "errors" : ""}>{doc.step.is_error ? "failed" : doc.step.pending ? "no end yet" : "done"}{doc.step.error && `: ${doc.step.error}`}</dd></div>}
        {said?.given && <div><dt>given</dt><dd>{said.given}</dd></div>}
        {said?.answer && <div><dt>answer</dt><dd>{said.answer}</dd></div>}
      </dl>
      <p class="quiet">{plain(node.kind)}{steps.length > 1 && ` · click for ${isChosen ? `${((at + 1) % steps.length) + 1}/${steps.length}` : `1/${steps.length}`}`}</p>
    </div>
  );
}
