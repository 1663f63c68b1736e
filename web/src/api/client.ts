// In: a path of the server, or of a report without one, its parts and parameters. Out: the typed answer, or an ApiError. Never here: what an answer means.
import { askReport, isReport } from "./report.ts";
import type { Answers, ErrorDoc, LinkKeptDoc, LinkWantedDoc, Questions, UploadDoc } from "./types.ts";

/** What went wrong, as the server or the network said it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly position: number | undefined;
  readonly length: number | undefined;

  constructor(status: number, code: string, message: string, hint?: string, position?: number, length?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.position = position;
    this.length = length;
  }
}

type Value = string | number | boolean | string[] | undefined | null;

let token = "";

/** The token that is sent with every request; empty for none. */
export function useToken(text: string): void {
  token = text;
}

/** Whether a link to an answer leads nowhere by itself: a report has nobody to follow it to, and a browser sends no token with it. */
export function isOnlyAsked(): boolean {
  return isReport || token !== "";
}

export function headers(): Record<string, string> {
  return token === "" ? {} : { authorization: `Bearer ${token}` };
}

/** The address of a path with its `{parts}` filled in. */
export function address(path: string, parts: Record<string, string> = {}, query: Record<string, Value> = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name] ?? ""));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) asked.append(name, String(one));
  }
  const text = asked.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** An error as the server wrote it; every error of it has one form. */
export async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorDoc;
    return new ApiError(response.status, error.code, error.message, error.hint ?? undefined, error.position ?? undefined, error.length ?? undefined);
  } catch {
    return new ApiError(response.status, "no_answer", `the server answered ${response.status} without saying why`);
  }
}

/** How far the server's clock is ahead of this one's. */
export let serverAheadMs = 0;
/** The server tells its time in seconds, so that less is no difference. */
const LEAST_AHEAD_MS = 1_500;

function hearClock(response: Response): void {
  const told = Date.parse(response.headers.get("date") ?? "");
  if (Number.isNaN(told)) return;
  const ahead = told + 500 - Date.now();
  serverAheadMs = Math.abs(ahead) < LEAST_AHEAD_MS ? 0 : ahead;
}

/** Asks for anything. */
export async function ask(url: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = isReport ? await askReport(url, options.signal) : await fetch(url, { ...options, headers: { ...headers(), ...(options.headers as Record<string, string> | undefined) } });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "the server cannot be reached", "is `unspool serve` still running?");
  }
  hearClock(response);
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** Asks for a document. */
export async function get<P extends keyof Answers & keyof Questions>(
  path: P,
  parts: Record<string, string> = {},
  query: Questions[P] = {} as Questions[P],
  signal?: AbortSignal,
  read: (response: Response) => Promise<unknown> = (response) => response.json(),
): Promise<Answers[P]> {
  const response = await ask(address(path, parts, query as Record<string, Value>), signal ? { signal } : {});
  return (await read(response)) as Answers[P];
}

/** Sends a file as it is. */
export async function upload(file: File): Promise<UploadDoc> {
  const path = (file as File & { webkitRelativePath?: string }).webkitRelativePath || file.name;
  const response = await ask(address("/v1/ingest", {}, { name: path }), { method: "POST", body: file });
  return (await response.json()) as UploadDoc;
}

/** Says something about a link of a session. */
export async function sayLink(id: string, wanted: LinkWantedDoc): Promise<LinkKeptDoc> {
  const url = address("/api/v1/sessions/{id}/links", { id });
  const response = await ask(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(wanted) });
  return (await response.json()) as LinkKeptDoc;
}

/** Takes back what was said about a link. */
export async function takeBackLink(id: string, link: string, who: string): Promise<LinkKeptDoc> {
  const response = await ask(address("/api/v1/sessions/{id}/links/{link}", { id, link }, { who }), { method: "DELETE" });
  return (await response.json()) as LinkKeptDoc;
}
