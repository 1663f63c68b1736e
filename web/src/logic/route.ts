// In: an address. Out: what it means, and back. The address is the state: session, view, selection, filter, zoom.

export const VIEWS = ["timeline", "tree", "graph", "workflow", "runs", "stats"] as const;
export type View = (typeof VIEWS)[number];

const PAGES = ["issues", "usage", "diff"] as const;

export interface Route {
  page: "sessions" | "session" | (typeof PAGES)[number];
  /** Of the session. */
  id: string;
  params: Readonly<Record<string, string>>;
}

export function parseRoute(path: string, search: string): Route {
  const params: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) params[name] = value;
  const session = /^\/sessions\/([^/]+)\/?$/.exec(path);
  if (session) return { page: "session", id: decoded(session[1] ?? ""), params };
  const page = PAGES.find((name) => path === `/${name}`) ?? "sessions";
  return { page, id: "", params };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function formatRoute(route: Route): string {
  const path = route.page === "session" ? `/sessions/${encodeURIComponent(route.id)}` : route.page === "sessions" ? "/" : `/${route.page}`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(route.params)) if (value !== "") search.set(name, value);
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** With other parameters; an empty one is gone. */
export function withParams(route: Route, changed: Record<string, string | number | undefined>): Route {
  const params: Record<string, string> = { ...route.params };
  for (const [name, value] of Object.entries(changed)) {
    if (value === undefined || value === "") delete params[name];
    else params[name] = String(value);
  }
  return { ...route, params };
}

export function viewOf(route: Route): View {
  const view = route.params["view"];
  return VIEWS.find((known) => known === view) ?? "timeline";
}
