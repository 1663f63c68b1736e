// A report: the sessions in it. One is opened at once; of several there is a list.
import { signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { isReport } from "../api/report.ts";
import type { SessionLineDoc } from "../api/types.ts";
import { replace, route } from "./route.ts";
import { failed } from "./trouble.ts";

export const reported = signal<SessionLineDoc[] | undefined>(undefined);

/** Whether there are other sessions to go to. */
export function hasOthers(): boolean {
  return !isReport || (reported.value?.length ?? 0) > 1;
}

export async function startReport(): Promise<void> {
  try {
    const { sessions } = await get("/api/v1/sessions");
    const [first] = sessions;
    reported.value = sessions;
    if (first && sessions.length === 1 && route.value.page !== "session") replace({ page: "session", id: first.id, params: {} });
  } catch (error) {
    failed(error);
  }
}
