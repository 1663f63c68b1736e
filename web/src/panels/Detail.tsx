// One step: what it was, why it is linked as it is, and its records as they were written.
import { useMemo } from "preact/hooks";
import type { RecordDoc, StepDetailDoc } from "../api/types.ts";
import { asMarkdown } from "../logic/asmarkdown.ts";
import { MAX_PARTS, parsedRecord, readable, recordText } from "../logic/readable.ts";
import { clock, count, duration, money, plain, plural } from "../logic/words.ts";
import { detailTab, TABS } from "../state/detail.ts";
import { select, selected, setParams } from "../state/route.ts";
import { palette } from "../state/schema.ts";
import { detail } from "../state/session.ts";
import { Copy, Fact, Guess, SplitBar, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { JsonTree, PartView } from "../widgets/Text.tsx";
import { bucketShares } from "./Header.tsx";
import { Native } from "./Records.tsx";
import { lookOf, StepLink } from "./StepLink.tsx";
import { Trouble } from "./Trouble.tsx";
import { Why } from "./Why.tsx";

function Readable({ record, about, isOnly }: { record: RecordDoc; about: string; isOnly: boolean }) {
  const value = useMemo(() => { const text = recordText(record); return text === undefined ? undefined : parsedRecord(text); }, [record.id, record.content]);
  const found = useMemo(() => (value === undefined ? undefined : readable(value, about)), [value, about]);
  if (value === undefined || !found) return record.encoding === "utf-8" ? <pre class="code">{record.content}</pre> : <p class="quiet">{record.encoding === "none" ? "The bytes cannot be had." : `${count(record.bytes)} bytes that are no text.`}</p>;
  const { parts, more } = found;
  if (parts.length === 0) return isOnly ? <JsonTree value={value} /> : <p class="quiet">Record {record.ordinal} of {record.format} has nothing to read; Records has it as it was written.</p>;
  return (
    <>
      {parts.map((part, n) => <PartView key={n} part={part} />)}
      {more > 0 && <p class="quiet">{plural(more, "text")} more than `max_parts` ({MAX_PARTS}) are in the record.</p>}
      {record.texts_cut > 0 && <p class="quiet">{plural(record.texts_cut, "text")} too long to be told whole (max_record_bytes_shown); Records has a way to all of it.</p>}
    </>
  );
}

function Facts({ doc }: { doc: StepDetailDoc }) {
  const { step } = doc;
  return (
    <dl class="facts">
      <Fact name="kind">{plain(step.kind)}</Fact>
      {step.request && <Fact name="request" title="What the request was for: not an agent's work"><button class="link" onClick={() => setParams({ q: `request:${step.request ?? ""}` })}>{plain(step.request)}</button></Fact>}
      <Fact name="began" title={step.started_at ?? ""}>{clock(step.started_at)}{step.started_at_estimated && <span class="guess" title="No record has this time; it follows from others"> estimated</span>}</Fact>
      <Fact name="took">{duration(step.duration_ms)}{step.pending && " so far"}</Fact>
      {doc.agent && <Fact name="agent" title={doc.agent.detail}><button class="link" onClick={() => setParams({ q: `agent:${doc.agent?.id ?? ""}` })}>{doc.agent.label}</button>{step.agent_source !== "stated" && <span class="guess"> {step.agent_source}</span>}</Fact>}
      {step.model && <Fact name="model">{step.model}</Fact>}
      {doc.cost_usd !== null && doc.cost_usd !== undefined && <Fact name="cost">{money(doc.cost_usd)}</Fact>}
      <Fact name="witnesses"><button class="link" onClick={() => (detailTab.value = "Record")}>{plural(step.witnesses.length, "record")}</button></Fact>
    </dl>
  );
}

/** Tokens bucket by bucket, and why they are counted. */
function Tokens({ doc }: { doc: StepDetailDoc }) {
  if (doc.buckets.length === 0 && doc.why_counted.length === 0) return null;
  return (
    <div class="tokens">
      {doc.buckets.length > 0 && <SplitBar label="Tokens" shares={bucketShares(doc.buckets, palette.value)} />}
      <details><summary>{doc.buckets.length > 0 ? "Why these tokens are counted" : "Why no tokens are counted"}</summary><ul>{doc.why_counted.map((sentence, n) => <li key={n}>{sentence}</li>)}</ul></details>
    </div>
  );
}

function What({ doc }: { doc: StepDetailDoc }) {
  const { step } = doc;
  return (
    <>
      <Facts doc={doc} />
      <Tokens doc={doc} />
      {step.is_error && <div class="failed-box"><b>Failed.</b> {step.error ?? "Its source does not say why."}</div>}
      {step.intent && <p><span class="quiet">for </span>{step.intent.text} {step.intent.inferred && <Guess />}</p>}
      {doc.parent && <p><span class="quiet">below </span><StepLink step={doc.parent} /></p>}
      {doc.children.length > 0 && <p><span class="quiet">above </span>{doc.children.slice(0, 6).map((child) => <StepLink key={child.id} step={child} />)}{doc.child_count > 6 && <span class="quiet"> and {doc.child_count - 6} more</span>}</p>}
      {doc.records.length === 0 && <p class="quiet">No record is kept of it.</p>}
      {doc.records.map((record) => <Readable key={record.id} record={record} about={step.tool_use_id ?? ""} isOnly={doc.records.length === 1} />)}
    </>
  );
}

export function Detail() {
  if (selected.value === "") return <Trouble />;
  const { data, error, loading } = detail.value;
  const tab = detailTab.value;
  return (
    <aside class="detail" aria-label="Step">
      {error ? <Wrong error={error} /> : !data ? loading && <Loading what="the step" /> : (
        <>
          <header class="detail-head">
            <h2><Swatch look={lookOf(data.step.kind)} error={data.step.is_error} /> {data.label}</h2>
            <button class="small close" aria-label="Close" onClick={() => select(undefined)}>×</button>
            <p class="quiet detail-about">{data.detail}</p>
            <div class="detail-tools">
              <div role="tablist" class="tabs small-tabs">{TABS.map((name) => <button key={name} role="tab" aria-selected={tab === name} onClick={() => (detailTab.value = name)}>{name === "Record" ? `Records ${data.records.length}` : name}</button>)}</div>
              <span class="grow" />
              <Copy text={data.step.id} label="Copy id" />
              <Copy text={() => asMarkdown(data)} label="Copy Markdown" />
            </div>
          </header>
          <div class="detail-body" role="tabpanel" aria-label={tab} tabIndex={0}>
            {tab === "What" ? <What doc={data} /> : tab === "Why" ? <Why doc={data} /> : data.records.length === 0 ? <Empty title="No record is kept of it" /> : <div class="natives">{data.records.map((record) => <Native key={record.id} record={record} step={data.step} />)}</div>}
          </div>
        </>
      )}
    </aside>
  );
}
