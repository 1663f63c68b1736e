// What can be typed in a session: the values of its fields, and its agents. Asked for once somebody is about to type.
import { computed, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { Values } from "../logic/complete.ts";
import { answerOf } from "./answers.ts";
import { versionOf } from "./live.ts";
import { sessionId } from "./route.ts";

/** Somebody types, or may at once. */
export const isTypedIn = signal(false);

export const known = answerOf(() => {
  const id = sessionId.value;
  if (id === "" || !isTypedIn.value) return undefined;
  void versionOf(id).value;
  return { key: id, get: (signal) => get("/api/v1/sessions/{id}/values", { id }, {}, signal) };
});

export const values = computed<Values>(() => new Map((known.value.data?.fields ?? []).map(({ field, values: all }) => [field, all])));
