// In: a query, where the caret is, the fields of the language and the values that there are. Out: what may be meant, and what text it replaces. Pure.
import type { FieldValue, QueryFieldDoc } from "../api/types.ts";
import { fitting } from "./fuzzy.ts";

export interface Offer {
  /** What is put in. */
  text: string;
  /** What is shown. */
  title: string;
  about: string;
  /** Something follows: the caret stays right behind. */
  goesOn: boolean;
}

export interface Offers {
  from: number;
  to: number;
  offers: Offer[];
}

export type Values = ReadonlyMap<string, readonly FieldValue[]>;

/** So many are offered. */
const MOST = 12;
/** A word alone is also looked for among so many values. */
const MOST_VALUES = 4;
const NONE: Offers = { from: 0, to: 0, offers: [] };

/** Where the word begins that the caret is in; quotes hold spaces. */
function startOf(text: string, caret: number): number {
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < caret; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /[\s()]/.test(text[at] ?? "")) start = at + 1;
  }
  return start;
}

function written(value: string): string {
  return /[\s()",*?]/.test(value) ? `"${value.replace(/(["\\])/g, "\\$1")}"` : value;
}

function named(fields: readonly QueryFieldDoc[], name: string): QueryFieldDoc | undefined {
  const spelled = name.toLowerCase().replaceAll("_", "-");
  return fields.find((field) => field.name === spelled || field.aliases.includes(spelled));
}

const SIGNS: Record<string, string> = { number: ">" };

function fieldOffer(field: QueryFieldDoc): Offer {
  const text = field.name + (SIGNS[field.takes] ?? ":");
  return { text, title: text, about: `${field.about} · ${field.example}`, goesOn: true };
}

function valueOffer(value: FieldValue, before = ""): Offer {
  return { text: before + written(value.value), title: before + value.value, about: `${value.steps} ${value.steps === 1 ? "step" : "steps"}`, goesOn: false };
}

/** Those that hold what was typed; only if there are none, those that hold its letters in order. */
function meant<T>(typed: string, all: readonly T[], name: (one: T) => string): T[] {
  const inside = all.filter((one) => name(one).toLowerCase().includes(typed.toLowerCase()));
  return fitting(typed, inside.length > 0 ? inside : all, name);
}

function ofValues(field: QueryFieldDoc, typed: string, values: Values): Offer[] {
  const known = values.get(field.name) ?? [];
  if (field.takes !== "choice") return meant(typed, known, ({ value }) => value).map((value) => valueOffer(value));
  const steps = new Map(known.map(({ value, steps: count }) => [value, count]));
  const offers = field.choices.map((choice): Offer => {
    const count = steps.get(choice.name);
    return { text: choice.name, title: choice.name, about: [choice.about, count === undefined ? "" : `${count} ${count === 1 ? "step" : "steps"}`].filter((part) => part !== "").join(" · "), goesOn: false };
  });
  // Of a list whose values were counted, those that occur come first.
  const inside = offers.filter(({ title }) => title.includes(typed.toLowerCase()));
  return fitting(typed, inside.length > 0 ? inside : offers, ({ title }) => title, ({ title }) => (steps.has(title) ? 1 : 0));
}

function ofWord(word: string, fields: readonly QueryFieldDoc[], values: Values): Offer[] {
  const starts = (field: QueryFieldDoc) => [field.name, ...field.aliases].some((name) => name.startsWith(word.toLowerCase()));
  const offers = fields.filter(starts).map(fieldOffer);
  if (word.length < 2) return offers;
  const all = fields.flatMap((field) => (field.name === "name" ? [] : (values.get(field.name) ?? []).map((value) => ({ field, value }))));
  const found = meant(word, all, ({ value }) => value.value).slice(0, MOST_VALUES);
  return [...offers, ...found.map(({ field, value }) => valueOffer(value, `${field.name}:`))];
}

/** What may be meant by the word at the caret. */
export function offersAt(text: string, caret: number, fields: readonly QueryFieldDoc[], values: Values): Offers {
  let from = startOf(text, caret);
  const rest = /^[^\s()]*/.exec(text.slice(caret))?.[0] ?? "";
  const to = caret + rest.length;
  if (text[from] === "-") from += 1;
  for (;;) {
    const typed = text.slice(from, caret);
    const sign = /^([A-Za-z_-]+)(:|=|~)/.exec(typed);
    const field = sign && named(fields, sign[1] ?? "");
    if (!sign || !field) {
      if (/[:=~<>"]/.test(typed)) return NONE;
      return { from, to, offers: ofWord(typed, fields, values).slice(0, MOST) };
    }
    from += sign[0].length;
    if (field.takes === "condition") continue;
    if (field.takes !== "text" && field.takes !== "choice") return NONE;
    const comma = text.slice(from, caret).lastIndexOf(",");
    if (comma >= 0) from += comma + 1;
    const value = text.slice(from, caret).replace(/^"/, "");
    const offers = ofValues(field, value, values).slice(0, MOST);
    // What is typed already needs no offer.
    const isWhole = offers.length > 0 && offers[0]?.text === text.slice(from, to);
    return { from, to, offers: isWhole ? [] : offers };
  }
}

/** The text with an offer taken, and where the caret is then. */
export function taken(text: string, { from, to }: Offers, offer: Offer): { text: string; caret: number } {
  const behind = text.slice(to);
  const space = offer.goesOn || behind.startsWith(" ") || behind.startsWith(")") ? "" : " ";
  const before = text.slice(0, from) + offer.text + space;
  return { text: before + behind, caret: before.length };
}

/** A text cut at what is wrong in it, by letters as the server counts them. */
export function around(text: string, position: number, length: number): [string, string, string] {
  const letters = [...text];
  const end = position + Math.max(1, length);
  const part = letters.slice(position, end).join("");
  return [letters.slice(0, position).join(""), part === "" ? " " : part, letters.slice(end).join("")];
}
