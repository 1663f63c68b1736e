// One step: what it was, why it is linked as it is, and its records as they were written.
import { useMemo, useState } from "preact/hooks";
import type { RecordDoc, StepBriefDoc, StepDetailDoc, StepEdgeDoc } from "../api/types.ts";
import { address } from "../api/client.ts";
import { MAX_PARTS, parsedRecord, readable } from "../logic/readable.ts";
import { clock, count, duration, money, plain, plural } from "../logic/words.ts";
import { select, selected, sessionId } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { detail } from "../state/session.ts";
import { failed } from "../state/trouble.ts";
import { Copy, Fact, Guess, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { Save } from "../widgets/save.tsx";
import { EdgeSaid, Links } from "./Links.tsx";
import { JsonTree, PartView } from "../widgets/Text.tsx";

const TABS = ["What", "Why", "Record"] as const;
type Tab = (typeof TABS)[number];

function lookOf(kind: string): string {
  return words.value?.step_kinds.find((known) => known.name === kind)?.look ?? "other";
}

function Other({ step }: { step: StepBriefDoc | null | undefined }) {
  if (!step) return <span class="quiet">nothing that is shown</span>;
  return (
    <button class="link" onClick={() => select(step.id)}>
      <Swatch look={lookOf(step.kind)} error={step.is_error} /> {step.label} <span class="quiet">#{step.seq}</span>
    </button>
  );
}

function Edge({ edge }: { edge: StepEdgeDoc }) {
  return (
    <li class={edge.is_error ? "edge failed" : "edge"}>
      <div class="edge-head">
        <Other step={edge.other} />
        <span class="tag">{plain(edge.kind)}</span>
        {edge.inferred ? <Guess confidence={edge.confidence} /> : <span class="tag exact">{edge.said ? "declared" : "exact"}</span>}
        {edge.is_error && <span class="tag failed">error</span>}
      </div>
      <p>{edge.rule_sentence}</p>
      <p class="quiet">
        rule {edge.rule}
        {edge.tool_use_id && <> · {edge.tool_use_id}</>}
        {edge.evidence.length > 0 && <> · shown by {plural(edge.evidence.length, "record")}</>}
      </p>
      <EdgeSaid edge={edge} />
    </li>
  );
}

function Edges({ title, edges }: { title: string; edges: StepEdgeDoc[] }) {
  return (
    <>
      <h3>{title}</h3>
      {edges.length === 0 ? <p class="quiet">Nothing.</p> : <ul class="edges">{edges.map((edge) => <Edge key={`${edge.from}${edge.to}${edge.kind}`} edge={edge} />)}</ul>}
    </>
  );
}

function Why({ doc }: { doc: StepDetailDoc }) {
  return (
    <>
      <Edges title="What led to it" edges={doc.edges_in} />
      <Edges title="What it led to" edges={doc.edges_out} />
      <Links doc={doc} />
      {doc.started.length > 0 && <h3>Agents it started</h3>}
      {doc.started.map((one) => (
        <div key={one.agent.id} class="edge">
          <div class="edge-head"><b>{one.agent.label}</b> <span class="quiet">{one.agent.detail}</span>{one.inferred ? <Guess confidence={one.confidence} /> : <span class="tag exact">exact</span>}</div>
          <p>{one.rule_sentence}</p>
          {one.rival_count > 0 && <p class="quiet">{plural(one.rival_count, "other start")} considered and not believed: {one.rivals.map((rival) => `${rival.tool_use_id} (${plain(rival.reason)})`).join(", ")}</p>}
        </div>
      ))}
      {doc.explanation && (
        <>
          <h3>In sentences</h3>
          {doc.explanation.sections.map((section) => (
            <div key={section.heading} class="explained">
              <h4>{section.heading}</h4>
              {section.lines.map((line, n) => <p key={n}>{line}</p>)}
            </div>
          ))}
        </>
      )}
    </>
  );
}

function Readable({ record, about, isOnly }: { record: RecordDoc; about: string; isOnly: boolean }) {
  const value = useMemo(() => (record.encoding === "utf-8" ? parsedRecord(record.content) : undefined), [record.id]);
  if (value === undefined) return record.encoding === "utf-8" ? <pre class="code">{record.content}</pre> : <p class="quiet">{record.encoding === "none" ? "The bytes cannot be had." : `${count(record.bytes)} bytes that are no text.`}</p>;
  const { parts, more } = readable(value, about);
  if (parts.length === 0) return isOnly ? <JsonTree value={value} /> : <p class="quiet">Record {record.ordinal} of {record.format} has nothing to read; Records has it as it was written.</p>;
  return (
    <>
      {parts.map((part, n) => <PartView key={n} part={part} />)}
      {more > 0 && <p class="quiet">{plural(more, "text")} more than `max_parts` ({MAX_PARTS}) are in the record.</p>}
    </>
  );
}

function Native({ record }: { record: RecordDoc }) {
  const [isRaw, raw] = useState(false);
  const value = useMemo(() => (record.encoding === "utf-8" ? parsedRecord(record.content) : undefined), [record.id]);
  const url = address("/api/v1/sessions/{id}/records/{record}", { id: sessionId.value, record: record.id });
  return (
    <div class="record">
      <div class="record-head">
        <b>{record.format}</b>
        <span class="quiet" title={record.stream}>{record.stream.split("/").pop()} · record {record.ordinal} · {count(record.bytes)} bytes</span>
        <span class="grow" />
        {value !== undefined && <button class="small" onClick={() => raw(!isRaw)}>{isRaw ? "Tree" : "Bytes"}</button>}
        <Save url={url} name={`${record.id}.txt`} failed={failed}>Save</Save>
        <Copy text={record.id} label="Copy id" />
      </div>
      {value !== undefined && !isRaw ? <JsonTree value={value} /> : <pre class="code">{record.content}</pre>}
      {record.bytes_left_out > 0 && <p class="quiet">{count(record.bytes_left_out)} bytes more than `max_record_bytes_shown`; Save has them all.</p>}
    </div>
  );
}

function Facts({ doc }: { doc: StepDetailDoc }) {
  const { step } = doc;
  const { usage } = step;
  return (
    <dl class="facts">
      <Fact name="kind">{plain(step.kind)}</Fact>
      <Fact name="began">{clock(step.started_at)}{step.started_at_estimated && <span class="guess" title="No record has this time; it follows from others"> estimated</span>}</Fact>
      <Fact name="took">{duration(step.duration_ms)}{step.pending && " so far"}</Fact>
      {doc.agent && <Fact name="agent" title={doc.agent.detail}>{doc.agent.label}{step.agent_source !== "stated" && <span class="guess"> {step.agent_source}</span>}</Fact>}
      {step.model && <Fact name="model">{step.model}</Fact>}
      {usage && <Fact name="tokens" title="Buckets that never overlap">{count(usage.input)} in · {count(usage.cache_read)} cached · {count(usage.cache_write)} written · {count(usage.output)} out{usage.reasoning > 0 && ` · ${count(usage.reasoning)} thinking`}</Fact>}
      {doc.cost_usd !== null && doc.cost_usd !== undefined && <Fact name="cost">{money(doc.cost_usd)}</Fact>}
      {step.witnesses.length > 1 && <Fact name="witnesses">{step.witnesses.length}</Fact>}
    </dl>
  );
}

function What({ doc }: { doc: StepDetailDoc }) {
  const { step } = doc;
  return (
    <>
      <Facts doc={doc} />
      {step.is_error && <div class="failed-box"><b>Failed.</b> {step.error}</div>}
      {step.intent && <p><span class="quiet">for </span>{step.intent.text} {step.intent.inferred && <Guess />}</p>}
      {doc.parent && <p><span class="quiet">below </span><Other step={doc.parent} /></p>}
      {doc.children.length > 0 && <p><span class="quiet">above </span>{doc.children.slice(0, 6).map((child) => <Other key={child.id} step={child} />)}{doc.child_count > 6 && <span class="quiet"> and {doc.child_count - 6} more</span>}</p>}
      {doc.records.map((record) => <Readable key={record.id} record={record} about={step.tool_use_id ?? ""} isOnly={doc.records.length === 1} />)}
    </>
  );
}

/** The step as text for a note or a message. */
function asMarkdown({ step, label, detail: about }: StepDetailDoc): string {
  const lines = [`**${label}** ${about}`, "", `- step \`${step.id}\`, ${plain(step.kind)}`, `- began ${step.started_at ?? "–"}, took ${duration(step.duration_ms)}`];
  if (step.is_error) lines.push(`- failed: ${step.error ?? ""}`);
  return lines.join("\n");
}

export function Detail() {
  const [tab, setTab] = useState<Tab>("What");
  if (selected.value === "") return <aside class="detail" aria-label="Step"><Empty title="No step chosen"><p class="quiet">Click a bar, a row or a node. Press <kbd>e</kbd> for the next error, <kbd>?</kbd> for all keys.</p></Empty></aside>;
  const { data, error, loading } = detail.value;
  return (
    <aside class="detail" aria-label="Step">
      {error ? <Wrong error={error} /> : !data ? loading && <Loading what="the step" /> : (
        <>
          <header class="detail-head">
            <h2><Swatch look={lookOf(data.step.kind)} error={data.step.is_error} /> {data.label}</h2>
            <button class="small close" aria-label="Close" onClick={() => select(undefined)}>×</button>
            <p class="quiet detail-about">{data.detail}</p>
            <div class="detail-tools">
              <div role="tablist" class="tabs small-tabs">{TABS.map((name) => <button key={name} role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>{name === "Record" ? `Records ${data.records.length}` : name}</button>)}</div>
              <span class="grow" />
              <Copy text={data.step.id} label="Copy id" />
              <Copy text={asMarkdown(data)} label="Copy Markdown" />
            </div>
          </header>
          <div class="detail-body" role="tabpanel" aria-label={tab} tabIndex={0}>
            {tab === "What" ? <What doc={data} /> : tab === "Why" ? <Why doc={data} /> : data.records.map((record) => <Native key={record.id} record={record} />)}
          </div>
        </>
      )}
    </aside>
  );
}
