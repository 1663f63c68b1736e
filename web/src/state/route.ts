// The address as a signal: everything that can be shared or gone back to is in it.
import { computed, signal } from "@preact/signals";
import { formatRoute, parseRoute, viewOf, withParams, type Route, type View } from "../logic/route.ts";

const here = () => parseRoute(location.pathname, location.search);

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

export function select(step: string | undefined): void {
  setParams({ step, edge: undefined });
}

export function selectEdge(from: string, to: string): void {
  setParams({ edge: `${from}..${to}`, step: undefined });
}

export function openSession(id: string): void {
  go({ page: "session", id, params: {} });
}

export function openList(): void {
  go({ page: "sessions", id: "", params: {} });
}
