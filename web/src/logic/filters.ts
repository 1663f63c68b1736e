// What the list of sessions can be narrowed by, in one table: controls, the address and the question to the server are made from it. Pure.

export interface Choice {
  /** The parameter, of the address and of the API alike. */
  name: string;
  label: string;
  /** When nothing is chosen. */
  any: string;
  /** What else is offered, with words for it; without, the values that there are. */
  fixed?: readonly [value: string, words: string][];
}

export const CHOICES: readonly Choice[] = [
  { name: "status", label: "Status", any: "Any status" },
  { name: "since", label: "Began", any: "Any time", fixed: [["hour", "last hour"], ["day", "last day"], ["week", "last week"], ["month", "last month"]] },
  { name: "format", label: "Written by", any: "Any format" },
  { name: "agent", label: "Agent", any: "Any agent" },
  { name: "model", label: "Model", any: "Any model" },
  { name: "cwd", label: "Project", any: "Any project" },
  { name: "source", label: "Source", any: "Any source" },
  { name: "min_cost", label: "Cost", any: "Any cost", fixed: [["0.01", "from $0.01"], ["0.1", "from $0.10"], ["1", "from $1"], ["10", "from $10"], ["100", "from $100"]] },
];

export const FLAGS: readonly { name: "errors" | "issues" | "gaps"; label: string; about: string }[] = [
  { name: "errors", label: "with errors", about: "A step failed" },
  { name: "issues", label: "issues", about: "Something was odd" },
  { name: "gaps", label: "incomplete", about: "Something of it is missing" },
];

const HOURS: Record<string, number> = { hour: 1, day: 24, week: 168, month: 720 };

/** A moment, or a word for one, as a moment. */
export function momentOf(since: string, nowMs: number): string {
  const hours = HOURS[since];
  return hours === undefined ? since : new Date(nowMs - hours * 3_600_000).toISOString();
}

/** What stands in the address as a question; `since` may be a word. */
export function asked(params: Readonly<Record<string, string>>, nowMs: number): Record<string, string> {
  const names = ["q", "sort", "order", "session", ...CHOICES.map(({ name }) => name), ...FLAGS.map(({ name }) => name)];
  const all = names.flatMap((name) => (params[name] ? [[name, params[name]] as [string, string]] : []));
  const question = Object.fromEntries(all);
  if (question["since"]) question["since"] = momentOf(question["since"], nowMs);
  return question;
}

/** Whether anything narrows the list. */
export function isNarrowed(params: Readonly<Record<string, string>>): boolean {
  return Object.keys(cleared()).some((name) => (params[name] ?? "") !== "");
}

/** Parameters that let everything through again. */
export function cleared(): Record<string, string> {
  const names = ["q", "session", ...CHOICES.map(({ name }) => name), ...FLAGS.map(({ name }) => name)];
  return Object.fromEntries(names.map((name) => [name, ""]));
}
