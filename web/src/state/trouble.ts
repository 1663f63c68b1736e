// What went wrong that is not part of a view, and whether a token is asked for.
import { signal } from "@preact/signals";
import { ApiError, useToken } from "../api/client.ts";
import { isReport } from "../api/report.ts";

export const needsToken = signal(false);
export const trouble = signal<ApiError | undefined>(undefined);

const KEY = "unspool.token";
// A report asks nobody, and not every browser lets a file keep something.
if (!isReport) useToken(sessionStorage.getItem(KEY) ?? "");

/** Keeps a token as long as the tab is open. */
export function giveToken(text: string): void {
  sessionStorage.setItem(KEY, text);
  location.reload();
}

/** Any error as one of the API, told to whoever shows it. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    if (error.status === 401) needsToken.value = true;
    return error;
  }
  return new ApiError(0, "failed", error instanceof Error ? error.message : String(error));
}

export function failed(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  trouble.value = asApiError(error);
}
