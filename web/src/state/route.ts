// The address as a signal: everything that can be shared or gone back to is in it.
import { computed, signal } from "@preact/signals";
import { isReport } from "../api/report.ts";
import { formatRoute, parseRoute, viewOf, withParams, type Route, type View } from "../logic/route.ts";
import { preferences } from "./preferences.ts";

// In a report the address is behind the `#`: the rest of it is where the file lies.
const here = () => {
  if (!isReport) return parseRoute(location.pathname, location.search);
  const [path, search] = location.hash.slice(1).split("?", 2);
  return parseRoute(path ?? "", search ?? "");
};
const shown = () => (isReport ? location.hash.slice(1) : location.pathname + location.search);
const addressOf = (to: Route) => (isReport ? `#${formatRoute(to)}` : formatRoute(to));

export const route = signal<Route>(here());
export const view = computed<View>(() => viewOf(route.value));
export const sessionId = computed(() => (route.value.page === "session" ? route.value.id : ""));
/** The step that is looked at, in every view. */
export const selected = computed(() => route.value.params["step"] ?? "");
/** The link that is looked at, as FROM..TO; then no step is. */
export const selectedEdge = computed(() => route.value.params["edge"] ?? "");
/** The query that filters every view. */
export const query = computed(() => route.value.params["q"] ?? "");

addEventListener("popstate", () => {
  route.value = here();
});

/** Changes the address; where a browser lets a file have none of its own, the page works without. */
function put(how: "pushState" | "replaceState", to: Route): void {
  try {
    history[how](null, "", addressOf(to));
  } catch {
    // Only sharing the address and going back are missing.
  }
}

/** Goes there; the back button comes back. */
export function go(to: Route): void {
  if (formatRoute(to) === shown()) return;
  put("pushState", to);
  route.value = to;
}

/** Goes there without a way back, as zooming does. */
export function replace(to: Route): void {
  put("replaceState", to);
  route.value = to;
}

export function setParams(changed: Record<string, string | number | undefined>): void {
  go(withParams(route.value, changed));
}

export function replaceParams(changed: Record<string, string | number | undefined>): void {
  replace(withParams(route.value, changed));
}

let caught: (step: string | undefined) => boolean = () => false;

/** Asks somebody first whenever a step is chosen; who says true takes it. */
export function catchSelection(take: (step: string | undefined) => boolean): void {
  caught = take;
}

/** Looks at a link, as FROM..TO. */
export function selectLink(link: string): void {
  setParams({ edge: link, step: undefined });
}

export function selectEdge(from: string, to: string): void {
  selectLink(`${from}..${to}`);
}

/** How an address says a view: the first one needs no saying. */
const said = (name: View) => (name === "timeline" ? "" : name);

export function showView(name: View): void {
  setParams({ view: said(name), at: undefined });
}

export function select(step: string | undefined): void {
  if (!caught(step)) setParams({ step, edge: undefined });
}

/** Opens a session with the view somebody likes; the address says it, so that it can be shared. */
export function openSession(id: string): void {
  go(withParams({ page: "session", id, params: {} }, { view: said(preferences.peek().view) }));
}

export function openList(): void {
  go({ page: "sessions", id: "", params: {} });
}
