// What the server wants people to know: a line in the frame of every page, and all of it among the issues.
import { inShort, type Told } from "../logic/notices.ts";
import { count } from "../logic/words.ts";
import { news, putNoticesAway, told } from "../state/notices.ts";
import { go, route } from "../state/route.ts";

function All({ words, reasons }: Told) {
  return (
    <>
      <ul>{words.map((one) => <li key={one}>{one}</li>)}</ul>
      {reasons.length > 0 && (
        <table class="numbers">
          <caption>What could not be recorded, by the reason</caption>
          <thead><tr><th scope="col">reason</th><th scope="col">exchanges</th><th scope="col">what that is</th></tr></thead>
          <tbody>{reasons.map(({ name, count: many, about }) => <tr key={name}><th scope="row"><code>{name}</code></th><td>{count(many)}</td><td class="about">{about}</td></tr>)}</tbody>
        </table>
      )}
    </>
  );
}

/** Where the rest is. */
const openIssues = () => go({ page: "issues", id: "", params: {} });

export function Notices() {
  const shown = news.value;
  return (
    <div role="status" aria-label="Notices">
      {shown && (
        <div class="frame-notice notice">
          <details onKeyDown={(event) => event.key === "Escape" && (event.currentTarget.open = false)}>
            <summary>{inShort(shown)}</summary>
            <All {...shown} />
          </details>
          <span class="grow" />
          {route.value.page !== "issues" && <button class="small" onClick={openIssues}>Issues</button>}
          <button class="small" title="Until it says something else" onClick={putNoticesAway}>Dismiss</button>
        </div>
      )}
    </div>
  );
}

/** All of it, also what was put away. */
export function NoticesListed() {
  if (told.value.words.length === 0) return null;
  return (
    <section class="told" aria-label="What the server says">
      <h2>What the server says</h2>
      <All {...told.value} />
    </section>
  );
}
