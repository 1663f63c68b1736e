// The address as a signal: everything that can be shared or gone back to is in it.
import { computed, signal } from "@preact/signals";
import { formatRoute, parseRoute, viewOf, withParams, type Route, type View } from "../logic/route.ts";
import { preferences } from "./preferences.ts";

const here = () => parseRoute(location.pathname, location.search);

export const route = signal<Route>(here());
export const view = computed<View>(() => viewOf(route.value));
export const sessionId = computed(() => (route.value.page === "session" ? route.value.id : ""));
/** The step that is looked at, in every view. */
export const selected = computed(() => route.value.params["step"] ?? "");
/** The query that filters every view. */
export const query = computed(() => route.value.params["q"] ?? "");

addEventListener("popstate", () => {
  route.value = here();
});

/** Goes there; the back button comes back. */
export function go(to: Route): void {
  const url = formatRoute(to);
  if (url === location.pathname + location.search) return;
  history.pushState(null, "", url);
  route.value = to;
}

/** Goes there without a way back, as zooming does. */
export function replace(to: Route): void {
  history.replaceState(null, "", formatRoute(to));
  route.value = to;
}

export function setParams(changed: Record<string, string | number | undefined>): void {
  go(withParams(route.value, changed));
}

export function replaceParams(changed: Record<string, string | number | undefined>): void {
  replace(withParams(route.value, changed));
}

/** How an address says a view: the first one needs no saying. */
const said = (name: View) => (name === "timeline" ? "" : name);

export function showView(name: View): void {
  setParams({ view: said(name) });
}

export function select(step: string | undefined): void {
  setParams({ step });
}

/** Opens a session with the view somebody likes; the address says it, so that it can be shared. */
export function openSession(id: string): void {
  go(withParams({ page: "session", id, params: {} }, { view: said(preferences.peek().view) }));
}

export function openList(): void {
  go({ page: "sessions", id: "", params: {} });
}
