// What is shown while nothing is there: under way, empty, or wrong.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client.ts";

/** Something is under way: bars where rows will be, or two in the middle. */
export function Loading({ what, rows = 0 }: { what: string; rows?: number }) {
  if (rows > 0) {
    return (
      <div class="state-rows" role="status" aria-label={`Loading ${what}`}>
        {Array.from({ length: rows }, (_, n) => <div key={n} class="skeleton" style={{ maxWidth: `${[92, 74, 83, 61, 88, 70][n % 6]}%` }} />)}
        <span class="quiet">Loading {what}…</span>
      </div>
    );
  }
  return (
    <div class="state" role="status">
      <div class="skeleton" />
      <div class="skeleton short" />
      <span class="quiet">Loading {what}…</span>
    </div>
  );
}

/** Something is there, and something of it is not. */
export function Partial({ children }: { children: ComponentChildren }) {
  return <p class="partial" role="note">{children}</p>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Wrong({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="state wrong" role="alert">
      <h2>{error.message}</h2>
      {error.hint && <p>{error.hint}</p>}
      <p class="quiet">
        {error.code}
        {error.status > 0 && ` · ${error.status}`}
      </p>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  );
}
