// The filter of a session: a query with what can be typed offered below it, and what is wrong underlined.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { around, offersAt, taken, type Offer, type Offers } from "../logic/complete.ts";
import { actOf } from "../logic/keys.ts";
import { plural } from "../logic/words.ts";
import { query, replaceParams } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { queryTrouble, wanted } from "../state/session.ts";
import { isTypedIn, values } from "../state/values.ts";

const PAUSE_MS = 250;
const NONE: Offers = { from: 0, to: 0, offers: [] };

/** What is wrong, below the letters that it is about. */
function Underline({ text, left, trouble }: { text: string; left: number; trouble: ApiError | undefined }) {
  if (trouble?.position === undefined || text !== query.value) return null;
  const [before, wrong, behind] = around(text, trouble.position, trouble.length ?? 1);
  return <div class="underline" aria-hidden="true"><span style={{ transform: `translateX(${-left}px)` }}>{before}<u>{wrong}</u>{behind}</span></div>;
}

/** Without the name of the parameter, which nobody typed. */
function said({ message }: ApiError): string {
  return message.replace(/^`q`: /, "");
}

/** The same with room for all of it, while somebody types. */
function Hint({ trouble }: { trouble: ApiError }) {
  return <div class="offers hint" aria-hidden="true"><p class="errors">{said(trouble)}</p>{trouble.hint && <p class="quiet">{trouble.hint}</p>}</div>;
}

function Note({ trouble }: { trouble: ApiError | undefined }) {
  if (!trouble) return wanted.value ? <span class="filter-note quiet" role="status">{plural(wanted.value.size, "step")}</span> : null;
  const place = trouble.position === undefined ? "" : ` (at letter ${trouble.position + 1})`;
  return <span id="query-trouble" class="filter-note errors" role="alert" title={trouble.hint}>{said(trouble)}{place}{trouble.hint && `: ${trouble.hint}`}</span>;
}

function OfferList({ offers, at, take }: { offers: readonly Offer[]; at: number; take(n: number): void }) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <ul ref={list} id="query-offers" role="listbox" class="offers" aria-label="What can be typed">
      {offers.map((offer, n) => (
        <li key={offer.title} id={`query-offer-${n}`} role="option" aria-selected={n === at} class={n === at ? "current" : ""} onPointerDown={(event) => { event.preventDefault(); take(n); }}>
          <code>{offer.title}</code><span class="quiet">{offer.about}</span>
        </li>
      ))}
    </ul>
  );
}

/** Something was typed that may go on. */
function isInWord({ value, selectionStart }: HTMLInputElement): boolean {
  return /[^\s()]/.test(value[(selectionStart ?? 0) - 1] ?? "");
}

export function QueryBox() {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(query.value);
  const [caret, setCaret] = useState<number | undefined>(undefined);
  const [at, setAt] = useState(0);
  const [left, setLeft] = useState(0);
  // What was typed and asked for comes back with the address, maybe when more has been typed: only what others put there is taken from it.
  const asked = useRef(query.value);
  const ask = (q: string) => {
    asked.current = q;
    replaceParams({ q });
  };
  useEffect(() => {
    if (query.value === asked.current) return;
    asked.current = query.value;
    setText(query.value);
  }, [query.value]);
  useEffect(() => {
    if (text === query.peek()) return;
    const timer = setTimeout(() => ask(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const shown = caret === undefined ? NONE : offersAt(text, caret, words.value?.query_fields ?? [], values.value);
  const isOpen = shown.offers.length > 0;
  // What is being typed is not wrong yet.
  const wrong = queryTrouble.value;
  const trouble = isOpen && (wrong?.position ?? 0) >= [...text.slice(0, shown.from)].length ? undefined : wrong;
  const open = () => {
    setCaret(input.current?.selectionStart ?? undefined);
    setAt(0);
  };
  const take = (n: number) => {
    const offer = shown.offers[n];
    if (!offer) return;
    const next = taken(text, shown, offer);
    setText(next.text);
    setAt(0);
    setCaret(offer.goesOn ? next.caret : undefined);
    const field = input.current;
    // The caret goes behind what was put in, once it is there.
    queueMicrotask(() => {
      if (!field) return;
      field.value = next.text;
      field.focus();
      field.setSelectionRange(next.caret, next.caret);
    });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === " " && event.ctrlKey) open();
    else if (!isOpen && event.key === "ArrowDown") open();
    else if (!isOpen || event.shiftKey) return;
    else {
      const act = actOf("offers", event.key);
      if (act === "down") setAt((at + 1) % shown.offers.length);
      else if (act === "up") setAt((at + shown.offers.length - 1) % shown.offers.length);
      else if (act === "take" || act === "complete") take(at);
      else if (act === "close") setCaret(undefined);
      else return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="filter">
      <div class="query">
        <input
          ref={input} type="text" id="search" role="combobox" autocomplete="off" spellcheck={false} class={trouble ? "wrong" : ""}
          aria-label="Filter steps" aria-autocomplete="list" aria-expanded={isOpen} aria-controls="query-offers" aria-activedescendant={isOpen ? `query-offer-${at}` : undefined} aria-invalid={trouble !== undefined} aria-describedby={trouble ? "query-trouble" : undefined}
          placeholder="Filter steps: tool:Bash is:error, duration>5s, under:agent:Explore" value={text}
          onFocus={() => (isTypedIn.value = true)} onBlur={() => { setCaret(undefined); isTypedIn.value = false; }} onKeyDown={onKey} onClick={() => isOpen && open()}
          onInput={(event) => { setText(event.currentTarget.value); isInWord(event.currentTarget) ? open() : setCaret(undefined); }} onScroll={(event) => setLeft(event.currentTarget.scrollLeft)}
        />
        <Underline text={text} left={left} trouble={trouble} />
        {text !== "" && <button class="clear" aria-label="Clear the filter" onClick={() => { setText(""); ask(""); input.current?.focus(); }}>×</button>}
        {!isOpen && trouble && isTypedIn.value && text === query.value && <Hint trouble={trouble} />}
        {isOpen && <OfferList offers={shown.offers} at={at} take={take} />}
      </div>
      <Note trouble={trouble} />
    </div>
  );
}
