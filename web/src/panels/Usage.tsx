// Tokens as limits of APIs count them: by caller, in windows that begin with a first call, and by model.
import { useEffect, useMemo } from "preact/hooks";
import type { ModelUsageDoc, UsageWindowDoc, UsageWindowsDoc } from "../api/types.ts";
import { barParts, BUCKETS, callersOf, longest, shortKey, type Caller } from "../logic/usage.ts";
import { count, knownCost, moment, plain, plural } from "../logic/words.ts";
import { replaceParams, route } from "../state/route.ts";
import { watchUsage } from "../state/usage.ts";
import { Copy, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Partial, Wrong } from "../widgets/States.tsx";
import { bucketLook } from "./Header.tsx";
import { serverFlag } from "./Start.tsx";

const SINCE = [["day", "Last day"], ["", "Last 7 days"], ["month", "Last month"]] as const;
const HOURS = [["1", "1 hour"], ["", "5 hours"], ["24", "24 hours"], ["168", "7 days"]] as const;

function Pick({ name, label, options }: { name: string; label: string; options: readonly (readonly [string, string])[] }) {
  const chosen = route.value.params[name] ?? "";
  return (
    <select class={chosen === "" ? "pick" : "pick chosen"} aria-label={label} title={label} value={chosen} onChange={(event) => replaceParams({ [name]: event.currentTarget.value })}>
      {!options.some(([value]) => value === chosen) && <option value={chosen}>{chosen}</option>}
      {options.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
    </select>
  );
}

type Sum = Omit<ModelUsageDoc, "model">;

function Sums({ sum }: { sum: Sum }) {
  const { usage, uncounted_calls: uncounted, unpriced_calls: unpriced } = sum;
  const about = uncounted > 0 ? `${plural(uncounted, "call")} reported no tokens` : undefined;
  return (
    <>
      <td>{count(sum.calls)}</td>
      <td>{sum.errors > 0 ? <span class="errors">{count(sum.errors)}</span> : <span class="quiet">0</span>}</td>
      {BUCKETS.map((name) => <td key={name} title={about}>{usage ? count(usage[name]) + (uncounted > 0 ? "+" : "") : "–"}</td>)}
      <td title={unpriced > 0 ? `${plural(unpriced, "call")} of models without a price` : undefined}>{knownCost(sum.cost_usd, unpriced)}</td>
    </>
  );
}

/** As long as the tokens of the window, beside the one with the most. */
function Bar({ window: { usage }, most }: { window: UsageWindowDoc; most: number }) {
  if (!usage) return null;
  return (
    <div class="usage-bar" aria-hidden="true">
      {barParts(usage, most).map(({ name, percent }) => <span key={name} title={`${plain(name)}: ${count(usage[name])}`} style={{ width: `${percent}%`, background: `var(--look-${bucketLook(name)})` }} />)}
    </div>
  );
}

function Window({ window, most }: { window: UsageWindowDoc; most: number }) {
  return (
    <tbody>
      <tr class="usage-window">
        <th scope="rowgroup">{moment(window.started_at)} – {moment(window.ends_at)}{window.open && <> <span class="tag exact" title="It has not ended yet">open</span></>}</th>
        <Sums sum={window} />
        <td class="usage-cell"><Bar window={window} most={most} /></td>
      </tr>
      {window.models.map((one) => (
        <tr key={one.model ?? ""} class="usage-model">
          <th scope="row">{one.model ?? <span class="quiet">model not stated</span>}</th>
          <Sums sum={one} />
          <td />
        </tr>
      ))}
    </tbody>
  );
}

function CallerTable({ caller: { key, windows }, most }: { caller: Caller; most: number }) {
  return (
    <div class="table-box">
      <table class="numbers usage-table">
        <caption>
          {key === undefined ? "No known key" : <>Key <code title="A keyed hash: the same for the same key, and nothing of it">{shortKey(key)}</code></>}
          <span class="quiet"> · {plural(windows.length, "window")}{key === undefined && " · only the proxy sees which key a call is made with"}</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">window, model</th><th scope="col">calls</th><th scope="col">errors</th>
            {BUCKETS.map((name) => <th key={name} scope="col"><Swatch look={bucketLook(name)} /> {plain(name)}</th>)}
            <th scope="col">cost</th><th scope="col" class="usage-cell">tokens</th>
          </tr>
        </thead>
        {windows.map((window) => <Window key={window.started_at} window={window} most={most} />)}
      </table>
    </div>
  );
}

function Nothing() {
  const commands = [
    ["unspool serve --proxy-listen 127.0.0.1:4690", "this server, with a proxy; clients set one variable"],
    ["unspool proxy", "the same in place of this server; it watches no folders"],
    [`unspool run${serverFlag()} -- claude`, "a command through that proxy; where no server runs, through its own"],
  ] as const;
  return (
    <Empty title="No model call in this time">
      <p class="quiet">Calls of every session count. Which key they were made with is known where the proxy carried them:</p>
      <dl class="start-commands">{commands.map(([command, about]) => <div key={command}><dt><code>{command}</code></dt><dd class="quiet">{about}</dd><dd><Copy text={command} label="Copy" /></dd></div>)}</dl>
    </Empty>
  );
}

function Told({ doc }: { doc: UsageWindowsDoc }) {
  return (
    <>
      <p class="quiet">A window begins with a key’s first call behind the window before, and lasts {plural(doc.window_hours, "hour")}. {plural(doc.looked_into, "session")} looked into. What the limit is, no source says.</p>
      {doc.not_looked_into > 0 && <Partial>{plural(doc.not_looked_into, "older session")} not looked into (max_usage_sessions).</Partial>}
      {doc.calls_without_time > 0 && <Partial>{plural(doc.calls_without_time, "call")} of no known time: in no window.</Partial>}
    </>
  );
}

export function Usage() {
  const { answer, stop } = useMemo(watchUsage, []);
  useEffect(() => stop, [stop]);
  const { data, error } = answer.value;
  if (error && !data) return <main class="sessions"><Wrong error={error} /></main>;
  if (!data) return <main class="sessions"><Loading what="the usage" /></main>;
  const most = longest(data.windows);
  return (
    <main class="sessions">
      {error && <div class="trouble" role="alert">{error.message}{error.hint && `: ${error.hint}`}</div>}
      <section class="stats" tabIndex={0} aria-label="Usage">
        <div class="stats-wide">
          <div class="issues-head">
            <h2>Tokens by caller and window</h2>
            <Pick name="since" label="Calls of" options={SINCE} />
            <Pick name="hours" label="Length of a window" options={HOURS} />
          </div>
          <Told doc={data} />
          {data.windows.length === 0 && <Nothing />}
          {callersOf(data.windows).map((caller) => <CallerTable key={caller.key ?? ""} caller={caller} most={most} />)}
        </div>
      </section>
    </main>
  );
}
