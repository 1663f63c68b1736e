// Find anything: commands, sessions, agents, findings and steps by some of their letters; what was chosen lately first.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { fitting } from "../logic/fuzzy.ts";
import { actOf } from "../logic/keys.ts";
import { recency } from "../logic/recent.ts";
import { isPaletteOpen } from "../state/commands.ts";
import { choose, recent } from "../state/recent.ts";
import { commandThings, lookedFor, namedThings, type Thing } from "../state/things.ts";
import { Dialog } from "../widgets/Dialog.tsx";

const PAUSE_MS = 150;
/** So many are shown. */
const SHOWN = 60;

function distinct(things: readonly Thing[]): Thing[] {
  return [...new Map(things.toReversed().map((thing) => [thing.key, thing])).values()].toReversed();
}

export function Palette() {
  const text = useSignal("");
  const named = useSignal<Thing[]>([]);
  const found = useSignal<Thing[]>([]);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => void namedThings().then((things) => (named.value = things)), []);
  useEffect(() => {
    const typed = text.value.trim();
    found.value = [];
    if (typed === "") return;
    const timer = setTimeout(() => void lookedFor(typed).then((things) => { if (text.peek().trim() === typed) found.value = things; }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text.value]);
  useLayoutEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  const typed = text.value.trim();
  const known = fitting(typed, [...commandThings(), ...named.value], ({ title, sort }) => `${title} ${sort}`, ({ key }) => recency(recent.value, key) * (typed === "" ? 1 : 0.5));
  // Among what has only some of the letters, what was looked for is more likely meant.
  const close = known.filter(({ title }) => title.toLowerCase().includes(typed.toLowerCase()));
  const things = distinct(typed === "" ? known : [...close, ...found.value, ...known]).slice(0, SHOWN);
  const take = (thing: Thing | undefined) => {
    isPaletteOpen.value = false;
    if (!thing) return;
    choose(thing.key);
    thing.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const act = actOf("offers", event.key);
    if (act === "down") setAt(Math.min(things.length - 1, at + 1));
    else if (act === "up") setAt(Math.max(0, at - 1));
    else if (act === "take") take(things[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open={isPaletteOpen} label="Find anything">
      <input autofocus class="palette-text" role="combobox" aria-expanded="true" aria-autocomplete="list" aria-controls="palette-list" aria-activedescendant={things.length > 0 ? `palette-${at}` : undefined} aria-label="Find anything" placeholder="A command, session, agent or finding, or a query such as tool:Bash is:error" value={text.value} onInput={(event) => { text.value = event.currentTarget.value; setAt(0); }} onKeyDown={onKey} />
      <ul ref={list} id="palette-list" role="listbox" class="palette-list" aria-label="Found">
        {things.map((thing, n) => (
          <li key={thing.key} id={`palette-${n}`} role="option" aria-selected={n === at} class={n === at ? "current" : ""} onClick={() => take(thing)}>
            <span class="tag">{thing.sort}</span><span class="palette-title">{thing.title}</span>{recency(recent.value, thing.key) > 0 && <span class="quiet">recent</span>}<span class="quiet">{thing.note}</span>
          </li>
        ))}
      </ul>
      {things.length === 0 && <p class="quiet">Nothing is called so.</p>}
    </Dialog>
  );
}
