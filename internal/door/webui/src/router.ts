// Where we are. The address holds the whole state of a page: what cannot be said
// in it cannot be shared or gone back to.
import { computed, signal } from "@preact/signals";

// Place is an address of ours, taken apart.
export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
}

export const place = signal<Place>(here());

// path is only the path, for who need not know of each change of the query.
export const path = computed(() => place.value.path);

export function startRouter(): void {
  addEventListener("popstate", () => (place.value = here()));
  document.addEventListener("click", follow);
}

// follow takes over plain clicks on links to our own pages. Files and the API
// are left to the browser.
function follow(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin) return;
  if (/^\/(v1|assets|metrics|openapi\.json)(\/|$)/.test(a.pathname)) return;
  if (a.pathname === location.pathname && a.search === location.search && a.hash) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
}

// go opens a page of ours. With replace it takes the place of this one.
export function go(url: string, o: { replace?: boolean } = {}): void {
  if (o.replace) history.replaceState(history.state, "", url);
  else history.pushState(null, "", url);
  place.value = here();
  if (!o.replace) scrollTo(0, 0);
}

// setQuery changes parts of the query; what is empty is taken out. Typing in a
// box replaces the address, so that back leaves the page.
export function setQuery(changes: Record<string, string | undefined>, o: { push?: boolean } = {}): void {
  const q = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") q.delete(name);
    else q.set(name, value);
  }
  const s = q.toString();
  go(place.peek().path + (s ? "?" + s : ""), { replace: !o.push });
}

// param is one part of the query; empty if it is not there.
export function param(name: string): string {
  return place.value.query.get(name) ?? "";
}

// match holds a path against a pattern like /sessions/:id/:tab and gives its
// parts, or null. A part with ? may be missing.
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

// toSession is the address of a session's page, at a tab and an entry.
export function toSession(id: string, tab = "", query: Record<string, string> = {}): string {
  const q = new URLSearchParams(query).toString();
  return `/sessions/${encodeURIComponent(id)}${tab ? "/" + tab : ""}${q ? "?" + q : ""}`;
}
