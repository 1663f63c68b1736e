// The range of time that is marked: what began in it, and what can be done with it.
import { count, duration, knownCost, plural } from "../logic/words.ts";
import { setParams } from "../state/route.ts";
import { markedRange, markRange, rangeSums, showWindow } from "../state/timeline.ts";

export function TimelineRange() {
  const range = markedRange.value;
  if (!range) return null;
  const { data, error } = rangeSums.value;
  return (
    <div class="tools-line range" role="group" aria-label="Range">
      <b>{duration((range.to - range.from) / 1e6)}</b>
      {error ? <span class="errors">{error.message}</span> : !data ? <span class="quiet">…</span> : (
        <span role="status">
          {data.totals.steps === 0 ? "no step began in it" : <>{plural(data.totals.steps, "step")} of {plural(data.agents, "agent")} began in it</>}
          {data.totals.errors > 0 && <span class="errors">, {plural(data.totals.errors, "error")}</span>}
          {data.tokens !== null && data.tokens !== undefined && <>, {count(data.tokens)} tokens, {knownCost(data.totals.cost_usd, data.totals.unpriced_calls)}</>}
        </span>
      )}
      <span class="grow" />
      <button class="small" onClick={() => { showWindow(range); markRange(undefined); }}>Zoom to it</button>
      <button class="small" disabled={!data} onClick={() => setParams({ q: data?.query })}>Filter by it</button>
      <button class="small close" aria-label="Clear the range" title="Escape" onClick={() => markRange(undefined)}>×</button>
    </div>
  );
}
