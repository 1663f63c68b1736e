// What a session was, in a few lines: its state, its time, tokens and cost by bucket, and what all of that rests on.
import type { BucketDoc, CompletenessDoc, NumbersDoc, SessionLineDoc } from "../api/types.ts";
import { bucketWords, count, duration, moment, plain, plural, isUncounted, knownCost, sessionTokens, shortPath } from "../logic/words.ts";
import { playedMs } from "../state/replay.ts";
import { go, setParams } from "../state/route.ts";
import { palette, type Palette } from "../state/schema.ts";
import { line, numbers, path } from "../state/session.ts";
import { Fact, SplitBar, Status, type Share } from "../widgets/Small.tsx";
import { splitShares } from "./split.ts";

/** The look whose colour a bucket of tokens has. */
const BUCKETS: Record<string, string> = { input: "user", cache_read: "tool", cache_write: "run", output: "model", reasoning: "memory" };

export function bucketLook(name: string): string {
  return BUCKETS[name] ?? "other";
}

export function bucketShares(buckets: BucketDoc[], colours: Palette, unpricedCalls = 0): Share[] {
  return buckets.map((bucket) => ({ name: plain(bucket.name), value: bucket.tokens, colour: colours.look(bucketLook(bucket.name)), text: bucketWords(bucket, unpricedCalls) }));
}

function gapWords({ missing, inferred, estimated }: CompletenessDoc): string {
  const words = [missing > 0 && `${count(missing)} missing`, inferred > 0 && `${count(inferred)} inferred`, estimated > 0 && `${count(estimated)} estimated`].filter(Boolean);
  return words.length === 0 ? "nothing missing" : words.join(" · ");
}

/** What is missing, inferred or estimated, and a way to each. */
function Gaps({ gaps }: { gaps: CompletenessDoc }) {
  const words = gapWords(gaps);
  if (gaps.parts.length === 0) return <span class="quiet" title="Every record was understood and linked by explicit ids">{words}</span>;
  return (
    <details class="gaps" onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}>
      <summary class={gaps.missing > 0 ? "warned" : ""} title="What this picture rests on">{words}</summary>
      <div class="gaps-box">
        <h2>What this picture rests on</h2>
        <ul>
          {gaps.parts.map((gap, n) => (
            <li key={n}>
              <span class={`tag gap-${gap.sort}`}>{gap.sort}</span>
              <div>
                <b>{count(gap.count)} × {gap.label}</b>{" "}
                {gap.query && <button class="link" onClick={() => setParams({ q: gap.query ?? "" })}>show them</button>}
                <p class="quiet">{gap.sentence}</p>
              </div>
            </li>
          ))}
        </ul>
        <button class="small" onClick={() => go({ page: "issues", id: "", params: {} })}>Issues of all sessions</button>
      </div>
    </details>
  );
}

function Facts({ row, doc }: { row: SessionLineDoc; doc: NumbersDoc | undefined }) {
  const isPart = playedMs.value !== undefined && doc?.until_ms !== null && doc?.until_ms !== undefined;
  const errors = isPart ? doc.totals.errors : row.errors;
  const sums = isPart ? { tokens: doc.tokens ? { total: doc.tokens } : null, uncounted_calls: doc.totals.uncounted_calls, cost_usd: doc.totals.cost_usd ?? null } : row;
  const { tokens } = row;
  const stated = tokens ? `${count(tokens.input)} in · ${count(tokens.cache_read)} read from cache · ${count(tokens.cache_write)} written to cache · ${count(tokens.output)} out · ${count(tokens.reasoning)} thinking` : "";
  const buckets = [stated, row.uncounted_calls > 0 && `${plural(row.uncounted_calls, "call")} reported none`].filter(Boolean).join(" · ");
  return (
    <dl class="facts">
      <Fact name="took">{duration(isPart ? doc.until_ms : row.duration_ms)}</Fact>
      <Fact name="steps">{count(isPart ? doc.totals.steps : row.steps)}</Fact>
      <Fact name="agents">{count(isPart ? doc.agents : row.agents)}</Fact>
      <Fact name="runs">{count(isPart ? doc.runs : row.runs)}</Fact>
      <Fact name="errors">{errors > 0 ? <button class="link errors" onClick={() => setParams({ q: "is:error" })}>{count(errors)}</button> : "0"}</Fact>
      <Fact name="tokens" title={buckets}>{sessionTokens(sums)}</Fact>
      <Fact name="cost" title={doc && doc.totals.unpriced_calls > 0 ? `${plural(doc.totals.unpriced_calls, "call")} of models without a price left out` : ""}>{isUncounted(sums) ? "–" : knownCost(sums.cost_usd, doc?.totals.unpriced_calls ?? 0)}</Fact>
    </dl>
  );
}

export function Header() {
  const { data: row } = line.value;
  const split = path.value.data?.path.split;
  const doc = numbers.value.data;
  if (!row) return <header class="session-head" aria-busy="true"><div class="skeleton" /><div class="skeleton short" /></header>;
  const buckets = doc?.buckets ?? [];
  return (
    <header class="session-head">
      <div class="session-title">
        <h1 title={row.title ?? row.id}>{row.title ?? row.native_ids[0] ?? row.id}</h1>
        <Status status={row.status} />
        {doc && <Gaps gaps={doc.completeness} />}
        <span class="session-when">{moment(row.started_at)}</span>
        <span class="session-from" title={[row.cwd ?? "", ...row.formats].join("\n")}>{row.cwd && `${shortPath(row.cwd)} · `}{row.formats.join(", ")}</span>
      </div>
      <Facts row={row} doc={doc} />
      <div class="session-splits">
        <SplitBar label="Time" shares={split ? splitShares(split, palette.value) : []}>{!split && <span class="quiet">{path.value.error ? "how the time was spent cannot be told" : "…"}</span>}</SplitBar>
        <SplitBar label="Tokens" shares={bucketShares(buckets, palette.value, doc?.totals.unpriced_calls)}>{buckets.length === 0 && <span class="quiet">{doc ? "no call says how many tokens it took" : "…"}</span>}</SplitBar>
      </div>
    </header>
  );
}
