// The router. The URL holds the whole state of a page, so that it can be shared and revisited.
import { computed, signal } from "@preact/signals";

// Place is a parsed URL.
export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
}

export const place = signal<Place>(here());

// path is the path without the query.
export const path = computed(() => place.value.path);

export function startRouter(): void {
  addEventListener("popstate", () => (place.value = here()));
  document.addEventListener("click", follow);
}

// follow handles plain clicks on links to pages. The browser handles files and the API.
function follow(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin) return;
  if (/^\/(v1|assets|metrics|openapi\.json)(\/|$)/.test(a.pathname)) return;
  if (a.pathname === location.pathname && a.search === location.search && a.hash) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
}

// go navigates to a page, replacing the current history entry if replace is set.
export function go(url: string, o: { replace?: boolean } = {}): void {
  if (o.replace) history.replaceState(history.state, "", url);
  else history.pushState(null, "", url);
  place.value = here();
  if (!o.replace) scrollTo(0, 0);
}

// setQuery changes query parameters and removes empty ones. Without push it replaces the history
// entry, so that Back leaves the page.
export function setQuery(changes: Record<string, string | undefined>, o: { push?: boolean } = {}): void {
  const q = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") q.delete(name);
    else q.set(name, value);
  }
  const s = q.toString();
  go(place.peek().path + (s ? "?" + s : ""), { replace: !o.push });
}

// param returns a query parameter, or an empty string.
export function param(name: string): string {
  return place.value.query.get(name) ?? "";
}

// match matches a path against a pattern like /sessions/:id/:tab? and returns its parts, or null.
export function match(pattern: string, actual: string): Record<string, string> | null {
  const want = pattern.split("/").filter(Boolean);
  const have = actual.split("/").filter(Boolean);
  if (have.length > want.length) return null;
  const parts: Record<string, string> = {};
  for (const [i, w] of want.entries()) {
    const h = have[i];
    if (!w.startsWith(":")) {
      if (h !== w) return null;
      continue;
    }
    const optional = w.endsWith("?");
    if (h === undefined && !optional) return null;
    const name = w.slice(1, optional ? -1 : undefined);
    try {
      parts[name] = decodeURIComponent(h ?? "");
    } catch {
      return null;
    }
  }
  return parts;
}

// toSession returns the URL of a session's page.
export function toSession(id: string, tab = "", query: Record<string, string> = {}): string {
  const q = new URLSearchParams(query).toString();
  return `/sessions/${encodeURIComponent(id)}${tab ? "/" + tab : ""}${q ? "?" + q : ""}`;
}
