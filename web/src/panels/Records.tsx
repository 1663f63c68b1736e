// A record as it was written, beside what was made of it.
import { useMemo, useState } from "preact/hooks";
import { address, ask } from "../api/client.ts";
import type { RecordDoc, StepDoc } from "../api/types.ts";
import { parsedRecord, recordText } from "../logic/readable.ts";
import { count, plain, plural } from "../logic/words.ts";
import { sessionId } from "../state/route.ts";
import { asApiError, failed } from "../state/trouble.ts";
import { Copy } from "../widgets/Small.tsx";
import { Open, Save } from "../widgets/save.tsx";
import { JsonTree, Long } from "../widgets/Text.tsx";

/** Records up to this are shown whole in the page; longer ones are saved: `max_bytes_in_page`. */
const MAX_BYTES_IN_PAGE = 32_000_000;

/** What was made of the records of a step: the words of the model beside those of the source. */
const MADE: [keyof StepDoc, string][] = [["id", "id"], ["kind", "kind"], ["name", "name"], ["agent_id", "agent"], ["run_id", "run"], ["parent_id", "parent"], ["tool_use_id", "tool call"], ["message_id", "message"], ["uuid", "uuid"], ["native_id", "native id"], ["model", "model"], ["started_at", "began"], ["ended_at", "ended"], ["duration_ms", "took, ms"], ["is_error", "failed"], ["pending", "no end yet"], ["is_async", "returned early"], ["meta", "injected"]];

function Made({ step }: { step: StepDoc }) {
  const told = MADE.filter(([field]) => step[field] !== null && step[field] !== undefined && step[field] !== false);
  return <dl class="fields">{told.map(([field, title]) => <div key={field}><dt>{title}</dt><dd>{String(step[field])}{field === "started_at" && step.started_at_estimated ? " (estimated)" : ""}{field === "agent_id" && step.agent_source !== "stated" ? ` (${plain(step.agent_source)})` : ""}</dd></div>)}</dl>;
}

type Shown = "tree" | "bytes" | "made";

export function Native({ record, step }: { record: RecordDoc; step: StepDoc }) {
  const [shown, show] = useState<Shown>("tree");
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const [trouble, setTrouble] = useState("");
  const value = useMemo(() => { const text = whole ?? recordText(record); return text === undefined ? undefined : parsedRecord(text); }, [record.id, record.content, whole]);
  const url = (text?: true) => address("/api/v1/sessions/{id}/records/{record}", { id: sessionId.value, record: record.id }, { text });
  const isShort = record.bytes_left_out > 0 && whole === undefined;
  const load = async () => {
    try {
      setWhole(await (await ask(url(true))).text());
      show("bytes");
    } catch (error) {
      setTrouble(asApiError(error).message);
    }
  };
  return (
    <div class="record">
      <div class="record-head">
        <b>{record.format}</b>
        <span class="quiet" title={record.stream}>{record.stream.split("/").pop()} · record {record.ordinal} · {count(record.bytes)} bytes</span>
      </div>
      <div class="record-head">
        <div role="group" aria-label="As" class="choice">
          {value !== undefined && <button aria-pressed={shown === "tree"} onClick={() => show("tree")}>tree</button>}
          <button aria-pressed={shown === "bytes" || (shown === "tree" && value === undefined)} onClick={() => show("bytes")}>bytes</button>
          <button aria-pressed={shown === "made"} title="What was made of it" onClick={() => show("made")}>with what was made of it</button>
        </div>
        <span class="grow" />
        <Open url={url(true)} name={`${record.id}.txt`} failed={failed} title="Exactly as it was written, in a tab of its own">Open raw</Open>
        <Save url={url()} name={`${record.id}.txt`} failed={failed}>Save</Save>
        <Copy text={record.id} label="Copy id" />
      </div>
      {isShort && (
        <p class="partial" role="note">{record.texts_cut > 0 ? `${plural(record.texts_cut, "text")} cut: ` : ""}{count(record.bytes_left_out)} of {count(record.bytes)} bytes are not here (max_record_bytes_shown).{" "}
          {record.bytes <= MAX_BYTES_IN_PAGE ? <button class="link" onClick={() => void load()}>Show all of it</button> : "Open raw and Save have them all."}{trouble !== "" && <span class="errors"> {trouble}</span>}
        </p>
      )}
      {record.readable && shown !== "bytes" && <p class="quiet">Its bytes are no text; this is what they say.</p>}
      <div class={shown === "made" ? "beside" : ""}>
        {shown === "made" && <Made step={step} />}
        {value !== undefined && shown !== "bytes" ? <JsonTree value={value} /> : <Long text={whole ?? record.content} />}
      </div>
    </div>
  );
}
