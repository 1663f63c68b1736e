// What somebody says about links: sent, waited for, refused. And the link that is being added, whose other end may be chosen in any view.
import { signal } from "@preact/signals";
import { get, takeBackLink, sayLink, type ApiError } from "../api/client.ts";
import type { LinkWantedDoc, StepBriefDoc } from "../api/types.ts";
import { prefer, preferences } from "./preferences.ts";
import { catchSelection, sessionId } from "./route.ts";
import { asApiError } from "./trouble.ts";

/** What is under way, by what it is about; the last refusal stays until something else is said. */
export interface Saying {
  about: string;
  busy: boolean;
  error: ApiError | undefined;
}

export const saying = signal<Saying | undefined>(undefined);

async function attempt(about: string, work: () => Promise<unknown>): Promise<boolean> {
  if (saying.peek()?.busy) return false;
  saying.value = { about, busy: true, error: undefined };
  try {
    await work();
    saying.value = undefined;
    return true;
  } catch (error) {
    saying.value = { about, busy: false, error: asApiError(error) };
    return false;
  }
}

/** Says something; the views change when the server tells of it. */
export function say(about: string, wanted: LinkWantedDoc): Promise<boolean> {
  return attempt(about, () => sayLink(sessionId.peek(), { ...wanted, who: preferences.peek().who || null }));
}

export function takeBack(about: string, link: string): Promise<boolean> {
  return attempt(about, () => takeBackLink(sessionId.peek(), link, preferences.peek().who));
}

/** A link that is being added to a step. */
export interface Draft {
  step: string;
  isCause: boolean;
  kind: string;
  note: string;
  other: StepBriefDoc | undefined;
}

export const draft = signal<Draft | undefined>(undefined);

export function changeDraft(changed: Partial<Draft>): void {
  if (draft.value) draft.value = { ...draft.value, ...changed };
}

export function beginDraft(step: string, kind: string): void {
  saying.value = undefined;
  draft.value = { step, isCause: true, kind, note: "", other: undefined };
}

export function endDraft(): void {
  draft.value = undefined;
  saying.value = undefined;
}

export async function sendDraft(): Promise<void> {
  const { step, isCause, kind, note, other } = draft.peek() ?? {};
  if (!step || !other || !kind) return;
  const [from, to] = isCause ? [step, other.id] : [other.id, step];
  if (await say("draft", { action: "add", from, to, kind, note: note || null })) endDraft();
}

export function nameMyself(who: string): void {
  prefer({ who });
}

/** So many steps are offered. */
const OFFERED = 8;

/** Steps of the session for which a query holds, to be the other end. */
export async function findEnds(text: string): Promise<StepBriefDoc[]> {
  const { sessions } = await get("/api/v1/query", {}, { q: text, session: [sessionId.peek()], limit: OFFERED });
  const steps = sessions.flatMap((session) => session.steps);
  return steps.map((step) => ({ id: step.id, seq: step.seq, kind: step.kind, label: [step.name ?? step.kind, step.intent ?? step.preview ?? ""].join(" "), is_error: step.is_error }));
}

// While a link is being added, choosing a step in any view chooses its other end.
catchSelection((step) => {
  const now = draft.peek();
  if (!now || step === undefined || step === now.step) return false;
  const id = sessionId.peek();
  void get("/api/v1/sessions/{id}/steps/{step}", { id, step }).then(
    ({ step: found, label }) => changeDraft({ other: { id: found.id, seq: found.seq, kind: found.kind, label, is_error: found.is_error } }),
    (error: unknown) => (saying.value = { about: "draft", busy: false, error: asApiError(error) }),
  );
  return true;
});
