// In: the live stream. Out: its events, one by one; after a break it goes on behind the last one. Never here: what a change means for a view.
// A stream of our own instead of EventSource, because that cannot send a token.
import { ask, address } from "./client.ts";

export interface LiveEvent {
  name: string;
  id: string;
  data: string;
}

export interface Listener {
  event(event: LiveEvent): void;
  /** Whether the stream is connected. */
  standing(connected: boolean): void;
}

/** Cuts text of a stream into events; text may break off anywhere. */
export class EventReader {
  private rest = "";

  push(text: string): LiveEvent[] {
    this.rest += text.replace(/\r\n?/g, "\n");
    const events: LiveEvent[] = [];
    for (let end = this.rest.indexOf("\n\n"); end >= 0; end = this.rest.indexOf("\n\n")) {
      const event = parsed(this.rest.slice(0, end));
      this.rest = this.rest.slice(end + 2);
      if (event) events.push(event);
    }
    return events;
  }
}

function parsed(block: string): LiveEvent | undefined {
  const event: LiveEvent = { name: "message", id: "", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "event") event.name = value ?? "";
    else if (field === "id") event.id = value ?? "";
    else if (field === "data") data.push(value ?? "");
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : undefined;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Listens until the answer is called; comes back after every break. */
export function listen(listener: Listener): () => void {
  const stop = new AbortController();
  void follow(listener, stop.signal);
  return () => stop.abort();
}

async function follow(listener: Listener, signal: AbortSignal): Promise<void> {
  let last = "";
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const response = await ask(address("/api/v1/live", {}, { since: last }), { signal });
      listener.standing(true);
      pause = FIRST_PAUSE_MS;
      const decoder = new TextDecoder();
      const events = new EventReader();
      const reader = response.body?.getReader();
      for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
        for (const event of events.push(decoder.decode(piece.value, { stream: true }))) {
          if (event.id !== "") last = event.id;
          listener.event(event);
        }
      }
    } catch {
      // Whatever broke it: the next try tells.
    }
    if (signal.aborted) return;
    listener.standing(false);
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}
