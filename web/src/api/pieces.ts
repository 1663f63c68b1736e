// In: a document as it comes in, text by text. Out: the document. Never here: what is in it.
// Reading megabytes of JSON at once holds the page up for more than a frame; the lists of a document are read in pieces instead.

type Json = unknown;

/** So many letters are read at once. */
const PIECE_LETTERS = 64 << 10;

const QUOTE = 34;
const COMMA = 44;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN = 123;
const CLOSE = 125;

/** A document of which each list that stands in it by name is read in pieces. */
export class Pieces {
  /** The document with the number of each list in its place. */
  private frame = "";
  /** Of a list: what was read of it, in their order. */
  private readonly lists: Json[][] = [];
  private depth = 0;
  private isText = false;
  private isEscaped = false;
  private hasNames = false;
  private isList = false;
  /** What came and is not read. */
  private held = "";

  push(text: string): void {
    // Behind the last comma between two things of a list, or behind the frame.
    let from = 0;
    let at = 0;
    while (at < text.length) {
      if (this.isText) {
        at = this.textEnd(text, at);
        continue;
      }
      const letter = text.charCodeAt(at);
      at += 1;
      if (letter === QUOTE) this.isText = true;
      else if (letter === OPEN || letter === OPEN_LIST) {
        this.depth += 1;
        if (this.depth === 1) this.hasNames = letter === OPEN;
        if (letter === OPEN_LIST && this.depth === 2 && this.hasNames) {
          this.frame += `${this.held}${text.slice(from, at)}${this.lists.length}`;
          [this.held, this.isList, from] = ["", true, at];
          this.lists.push([]);
        }
      } else if (letter === CLOSE || letter === CLOSE_LIST) {
        this.depth -= 1;
        if (this.depth === 1 && this.isList) {
          this.read(text.slice(from, at - 1));
          [this.isList, from] = [false, at - 1];
        }
      } else if (letter === COMMA && this.isList && this.depth === 2 && this.held.length + at - from > PIECE_LETTERS) {
        this.read(text.slice(from, at - 1));
        from = at;
      }
    }
    this.held += text.slice(from);
  }

  end(): Json {
    const document = JSON.parse(this.frame + this.held) as Json;
    if (document === null || typeof document !== "object" || Array.isArray(document)) return document;
    const fields = document as Record<string, Json>;
    for (const [name, value] of Object.entries(fields)) if (Array.isArray(value)) fields[name] = this.lists[value[0] as number];
    return document;
  }

  private read(text: string): void {
    const list = this.lists.at(-1);
    for (const one of JSON.parse(`[${this.held}${text}]`) as Json[]) list?.push(one);
    this.held = "";
  }

  /** Behind the end of a text that began before. */
  private textEnd(text: string, from: number): number {
    let at = from;
    if (this.isEscaped) [this.isEscaped, at] = [false, at + 1];
    for (;;) {
      const end = text.indexOf('"', at);
      const last = end < 0 ? text.length : end;
      let slashes = 0;
      while (last - slashes > at && text.charCodeAt(last - slashes - 1) === BACKSLASH) slashes += 1;
      const isOdd = slashes % 2 === 1;
      if (end < 0) {
        this.isEscaped = isOdd;
        return text.length;
      }
      at = end + 1;
      if (isOdd) continue;
      this.isText = false;
      return at;
    }
  }
}

/** The page works on other things after so long. */
const TURN_MS = 4;

/** Lets the page draw and hear. */
function others(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** The document of an answer that may be large. */
export async function readInPieces(response: Response): Promise<Json> {
  const pieces = new Pieces();
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  if (!reader) return response.json();
  let since = performance.now();
  const push = async (text: string) => {
    for (let at = 0; at < text.length; at += PIECE_LETTERS) {
      pieces.push(text.slice(at, at + PIECE_LETTERS));
      if (performance.now() - since < TURN_MS) continue;
      await others();
      since = performance.now();
    }
  };
  for (;;) {
    const { done, value } = await reader.read();
    await push(decoder.decode(value, { stream: !done }));
    if (done) return pieces.end();
  }
}
