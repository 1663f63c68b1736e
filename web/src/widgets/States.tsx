// What is shown while nothing is there: under way, empty, or wrong.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client.ts";

export function Loading({ what }: { what: string }) {
  return (
    <div class="state" role="status">
      <div class="skeleton" />
      <div class="skeleton short" />
      <span class="quiet">Loading {what}…</span>
    </div>
  );
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
