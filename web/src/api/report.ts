// In: what a report carries, as text in the page: its records, and what answers about them, as WebAssembly. Out: answers as a server gives them.
// Never here: what an answer means.
import { bytesOf } from "./letters.ts";

/** The elements of a report that hold its data, packed. */
const ANSWERS = "unspool-answers";
const RECORDS = "unspool-records";

function carried(id: string): string | undefined {
  return typeof document === "undefined" ? undefined : (document.getElementById(id)?.textContent ?? undefined);
}

/** Whether this page is a report: a file that needs no server. */
export const isReport = carried(RECORDS) !== undefined;

/** What the report says about itself: when running was judged, and how many secrets were masked, if they were. */
export const about: { asOf: string | undefined; masked: number | undefined } = (() => {
  const { asOf, masked } = (typeof document === "undefined" ? undefined : document.getElementById(RECORDS))?.dataset ?? {};
  return { asOf, masked: masked === undefined ? undefined : Number(masked) };
})();

/** What is sent to the one who answers: first what the report carries, then addresses, and which of them nobody waits for any more. */
interface Asked {
  id: number;
  address: string;
  answers?: string;
  records?: string;
  isDropped?: boolean;
}

interface Told {
  id: number;
  status: number;
  media: string;
  file: string;
  body: Uint8Array<ArrayBuffer>;
}

interface Port {
  onmessage: ((event: MessageEvent<Asked>) => void) | null;
  postMessage(told: Told, moved: Transferable[]): void;
}

interface Exports {
  memory: WebAssembly.Memory;
  room(bytes: number): number;
  open(): number;
  ask(nowMs: number): number;
  answer(): number;
  answer_len(): number;
}

/** Answers. It runs in a worker, as text, so it uses nothing from outside of itself. */
function answering(port: Port, read: typeof bytesOf): void {
  /** Answers about all of a session, which the others need not wait for. */
  const long = /\/(path|metrics|failures|findings)(\?|$)/;
  let wasm: Exports | undefined;
  let waiting: Asked[] = [];

  const unpacked = async (text: string): Promise<Uint8Array<ArrayBuffer>> => {
    const stream = new Blob([read(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const give = ({ memory, room }: Exports, bytes: Uint8Array): void => {
    const at = room(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  };
  const tell = (id: number, status: number): void => {
    const at = (wasm?.answer() ?? 0) >>> 0;
    const whole = new Uint8Array(wasm?.memory.buffer ?? new ArrayBuffer(0), at, wasm?.answer_len() ?? 0);
    const first = whole.indexOf(10);
    const second = whole.indexOf(10, first + 1);
    const text = new TextDecoder();
    const body = whole.slice(second + 1);
    port.postMessage({ id, status, media: text.decode(whole.subarray(0, Math.max(0, first))), file: text.decode(whole.subarray(first + 1, Math.max(0, second))), body }, [body.buffer]);
  };
  const open = async (answers: string, records: string): Promise<number> => {
    const [code, data] = await Promise.all([unpacked(answers), unpacked(records)]);
    const { instance } = await WebAssembly.instantiate(code, {});
    wasm = instance.exports as unknown as Exports;
    give(wasm, data);
    return wasm.open();
  };
  const answer = async ({ id, address, answers, records }: Asked): Promise<void> => {
    if (answers !== undefined && records !== undefined) return tell(id, await open(answers, records));
    if (!wasm) throw new Error("the report is not open");
    give(wasm, new TextEncoder().encode(address));
    tell(id, wasm.ask(Date.now()));
  };
  const next = (): void => {
    const short = waiting.findIndex(({ address }) => !long.test(address));
    const [first] = waiting.splice(Math.max(0, short), 1);
    if (!first) return;
    answer(first).catch((error: unknown) => {
      const body = new TextEncoder().encode(String(error));
      port.postMessage({ id: first.id, status: 500, media: "text/plain", file: "", body }, [body.buffer]);
    });
  };
  port.onmessage = ({ data }) => {
    if (data.isDropped) {
      waiting = waiting.filter(({ id }) => id !== data.id);
      return;
    }
    waiting.push(data);
    // What was asked in the same breath is here by then, and the short ones go first.
    setTimeout(next);
  };
}

interface Answerer {
  postMessage(asked: Asked): void;
  onmessage: ((event: MessageEvent<Told>) => void) | null;
}

/** In a worker, so that the page stays smooth; in the page, where a browser allows a file none. */
function answerer(): Answerer {
  try {
    const code = new Blob([`(${answering.toString()})(self, ${bytesOf.toString()})`], { type: "text/javascript" });
    return new Worker(URL.createObjectURL(code));
  } catch {
    const { port1, port2 } = new MessageChannel();
    answering(port2 as unknown as Port, bytesOf);
    return port1;
  }
}

const waiting = new Map<number, (told: Told) => void>();
let asked = 0;
let opened: Promise<Answerer> | undefined;

function send(to: Answerer, question: Omit<Asked, "id">, signal?: AbortSignal | null): Promise<Told> {
  const id = (asked += 1);
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    to.postMessage({ id, ...question });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      to.postMessage({ id, address: "", isDropped: true });
      reject(new DOMException("nobody waits for it", "AbortError"));
    });
  });
}

/** What went wrong with the report itself, as the server says what went wrong with it. */
function broken(why: string): Response {
  const error = { code: "broken_report", message: "this report cannot be opened", hint: why };
  return new Response(JSON.stringify({ error }), { status: 500, headers: { "content-type": "application/json" } });
}

function open(): Promise<Answerer> {
  const to = answerer();
  to.onmessage = ({ data }) => {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  };
  const texts = { answers: carried(ANSWERS) ?? "", records: carried(RECORDS) ?? "" };
  return send(to, { address: "", ...texts }).then((told) => {
    // The page need not hold what the worker has.
    for (const id of [ANSWERS, RECORDS]) document.getElementById(id)?.replaceChildren();
    if (told.status !== 200) throw new Error(new TextDecoder().decode(told.body));
    return to;
  });
}

/** Asks the report. */
export async function askReport(address: string, signal?: AbortSignal | null): Promise<Response> {
  let told: Told;
  try {
    opened ??= open();
    const to = await opened;
    signal?.throwIfAborted();
    told = await send(to, { address }, signal);
  } catch (error) {
    if (error instanceof DOMException) throw error;
    return broken(error instanceof Error ? error.message : String(error));
  }
  if (told.media === "text/plain" && told.status === 500) return broken(new TextDecoder().decode(told.body));
  const headers: Record<string, string> = { "content-type": told.media };
  if (told.file !== "") headers["content-disposition"] = `attachment; filename="${told.file}"`;
  return new Response(told.body, { status: told.status, headers });
}
