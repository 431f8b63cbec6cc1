// Loading of the entries of a turn.
import type { Item } from "../pages/session/entries";
import type { Card, Entry, Page } from "../wire";

export type Get = (path: string, query: Record<string, string | number | boolean | undefined>) => Promise<Page<Entry>>;

// Entries that are read at most: of a turn before and after an entry, and of each sub-agent.
const most = 2000;
const ofChild = 300;
const children = 10;

// Loaded is a turn. cut is set if it has more entries than were read.
export interface Loaded {
  items: Item[];
  children: Map<string, Item[]>;
  cut: boolean;
}

function item(e: Entry): Item {
  return { ...e, key: e.card?.id || "@" + e.at };
}

// startsTurn reports whether an entry is the message that a turn begins with.
export function startsTurn(c: Card | undefined): boolean {
  return c?.role === "user" && c.kind === "message" && !c.blocks?.some((b) => b.kind === "result");
}

// loadTurn reads the turn that an entry belongs to, on the branch that ends with head.
export async function loadTurn(get: Get, path: (id: string) => string, id: string, entry: string, head: string): Promise<Loaded> {
  const base = { view: "branch", as: "html" };
  const before: Item[] = [];
  let cut = true;
  let cursor: string | undefined;
  do {
    const page = await get(path(id), { ...base, back: true, head: entry, limit: before.length ? 200 : 20, cursor });
    for (const e of page.items ?? []) {
      before.push(item(e));
      cut = !startsTurn(e.card);
      if (!cut) break;
    }
    cursor = page.cursor;
  } while (cut && cursor && before.length < most);
  if (!cursor) cut = false;
  const items = before.reverse();
  cursor = undefined;
  const after = items.at(-1)?.next;
  reading: do {
    const page = await get(path(id), { ...base, head: head || undefined, after, limit: 200, cursor });
    for (const e of page.items ?? []) {
      if (startsTurn(e.card)) break reading;
      items.push(item(e));
    }
    cursor = page.cursor;
    if (cursor && items.length > 2 * most) cut = true;
  } while (cursor && !cut);
  return { items, children: await loadChildren(get, path, items), cut };
}

// loadChildren reads the sessions of sub-agents. One that cannot be read stays a link.
async function loadChildren(get: Get, path: (id: string) => string, items: readonly Item[]): Promise<Map<string, Item[]>> {
  const ids = [...new Set(items.flatMap((i) => i.card?.session ?? []))].slice(0, children);
  const all = await Promise.allSettled(ids.map((id) => get(path(id), { view: "branch", as: "html", limit: ofChild })));
  const out = new Map<string, Item[]>();
  for (const [i, page] of all.entries()) if (page.status === "fulfilled") out.set(ids[i]!, (page.value.items ?? []).map(item));
  return out;
}
