// The sessions that match a filter, loaded page by page, latest first. The state of a session is
// loaded when its row becomes visible.
import { computed, signal } from "@preact/signals";
import { aborted, asProblem, get, sessionPath, type Problem, type Query } from "../../api";
import type { Event, Page, Session } from "../../wire";

// Rows is the order of rows, with forks below their parents. Keys are session IDs; keys of rows not
// loaded yet begin with a question mark, those of groups with a number sign.
export interface Rows {
  keys: string[];
  depths: Map<string, number>; // of nested rows
}

// isSession reports whether the key of a row is the ID of a session.
export function isSession(key: string): boolean {
  return key !== "" && key[0] !== "?" && key[0] !== "#";
}

const quick = 40; // size of the first page
const small = 100; // page size while scrolling
const large = 1000; // page size after a long jump
const rest = 150; // ms a row must be visible before its state is loaded

export class SessionList {
  readonly total = signal(-1);
  readonly error = signal<Problem | undefined>(undefined);
  readonly loading = signal(true);
  // shape changes when rows are added or removed, changed when their content changes.
  private readonly shape = signal(0);
  readonly changed = signal(0);

  private items = new Map<string, Session>();
  private order: string[] = [];
  // parents holds the parents known when forks were loaded, so that a visible row does not move
  // later.
  private parents = new Map<string, string>();
  private asked = new Set<string>();
  private cursor = "";
  private done = false;
  private wanted = 1;
  private abort = new AbortController();
  private timer = 0;
  private front = 0;
  private frame = 0;

  constructor(readonly query: Query) {
    void this.load();
  }

  close(): void {
    this.abort.abort();
    clearTimeout(this.timer);
    clearTimeout(this.front);
  }

  get(id: string): Session | undefined {
    return this.items.get(id);
  }

  // rows returns all rows, with placeholders for those not loaded, so that the scroll bar is
  // correct.
  readonly rows = computed<Rows>(() => {
    this.shape.value;
    const rows = this.plain ? nest(this.order, this.parents) : { keys: this.grouped(), depths: new Map<string, number>() };
    if (!this.done) for (let i = this.order.length; i < this.total.value; i++) rows.keys.push("?" + i);
    return rows;
  });

  // plain is set for the usual order, in which new sessions come first and forks are nested.
  private get plain(): boolean {
    return !this.query["sort"] && !this.query["order"] && !this.query["group"];
  }

  // grouped returns the order with a row before each group. A group has one such row, wherever its
  // sessions are in the order.
  private grouped(): string[] {
    if (!this.query["group"]) return [...this.order];
    const groups = new Map<string, string[]>();
    for (const id of this.order) {
      const group = this.items.get(id)?.group ?? "";
      const ids = groups.get(group);
      if (ids) ids.push(id);
      else groups.set(group, [id]);
    }
    return [...groups].flatMap(([group, ids]) => ["#" + group, ...ids]);
  }

  readonly tags = computed<string[]>(() => {
    this.shape.value;
    const all = new Set<string>();
    for (const s of this.items.values()) for (const t of s.tags ?? []) all.add(t);
    return [...all].sort();
  });

  private reshape(): void {
    this.shape.value++;
    this.changed.value++;
  }

  // see sets the visible range.
  see(first: number, last: number): void {
    this.wanted = Math.max(this.wanted, last + small / 2);
    void this.load();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.fill(first, last), rest);
  }

  private busy = false;

  private async load(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      for (;;) {
        if (this.reordered < this.stale) await this.reorder();
        else if (!this.done && this.order.length < this.wanted) await this.more();
        else break;
      }
      this.error.value = undefined;
    } catch (err) {
      if (!aborted(err)) this.error.value = asProblem(err);
    }
    this.busy = false;
    this.loading.value = false;
  }

  retry(): void {
    this.error.value = undefined;
    this.loading.value = true;
    void this.load();
  }

  // more loads the next page. After a long jump, states are loaded later.
  private async more(): Promise<void> {
    const far = this.wanted - this.order.length > 3 * small;
    const first = this.cursor === "";
    const query = { ...this.query, limit: far ? large : first ? quick : small, state: !far, cursor: this.cursor, count: first };
    const page = await get<Page<Session>>("/v1/sessions", query, this.abort.signal);
    for (const s of page.items ?? []) {
      if (!this.items.has(s.id)) this.order.push(s.id);
      this.take(s);
    }
    this.cursor = page.cursor ?? "";
    this.done = !this.cursor;
    if (first) this.total.value = page.total;
    if (this.done) this.total.value = this.order.length;
    this.reshape();
  }

  private take(s: Session): void {
    this.items.set(s.id, { ...s, state: s.state ?? this.items.get(s.id)?.state });
    if (s.parent) this.parents.set(s.id, s.parent);
  }

  // fill loads the states of visible rows.
  private async fill(first: number, last: number): Promise<void> {
    const jobs: Promise<void>[] = [];
    for (const id of this.rows.peek().keys.slice(first, last + 1)) {
      const known = this.items.get(id);
      if (!known || known.state || known.fault || this.asked.has(id)) continue;
      this.asked.add(id);
      jobs.push(get<Session>(sessionPath(id), undefined, this.abort.signal).then((s) => this.merge(s)));
    }
    await Promise.allSettled(jobs); // a row works without its state
  }

  private merge(s: Session): void {
    const known = this.items.get(s.id);
    if (!known) return;
    this.items.set(s.id, { ...s, group: known.group }); // only lists have groups
    // Batch the updates.
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.changed.value++;
    });
  }

  // touch schedules a reload of the first page after a burst of events. In another order a known
  // session is loaded again and keeps its place; touch then reports whether the list is to be
  // reloaded because of a session that is not loaded.
  touch(e?: Event): boolean {
    const id = e?.session;
    if (id) this.asked.delete(id);
    if (!this.plain) {
      if (!id || !this.items.has(id)) return !e || this.mayChange(e);
      this.touched.add(id);
    }
    this.front ||= window.setTimeout(() => {
      this.front = 0;
      void (this.plain ? this.refresh() : this.reread());
    }, 400);
    return false;
  }

  // mayChange reports whether an event of a session that is not loaded may change the list. The turns
  // of such a session do not, except the next one after an update: a new session is listed only
  // once it has a message.
  private mayChange(e: Event): boolean {
    const id = e.session ?? "";
    if (e.name.startsWith("turn.")) return this.updated.delete(id);
    if (e.name === "entry.appended") return false;
    this.updated.add(id);
    return true;
  }

  private readonly touched = new Set<string>();
  private readonly updated = new Set<string>();
  // stale counts the wishes to reload the list, reordered those that are fulfilled.
  private stale = 0;
  private reordered = 0;

  // reload reloads the loaded part of the list.
  reload(): void {
    this.stale++;
    void this.load();
  }

  // reread loads the touched sessions again.
  private async reread(): Promise<void> {
    const ids = [...this.touched];
    this.touched.clear();
    await Promise.allSettled(ids.map((id) => get<Session>(sessionPath(id), undefined, this.abort.signal).then((s) => this.merge(s))));
  }

  // reorder reloads the loaded part of a list in another order.
  private async reorder(): Promise<void> {
    const wish = this.stale;
    const page = await get<Page<Session>>("/v1/sessions", { ...this.query, limit: Math.min(large, Math.max(quick, this.order.length)), count: true }, this.abort.signal);
    const items = page.items ?? [];
    this.order = items.map((s) => s.id);
    for (const s of items) this.take(s);
    // What is not among them is loaded again with the pages that follow.
    const kept = new Set(this.order);
    for (const id of this.items.keys()) if (!kept.has(id)) this.items.delete(id);
    this.asked.clear();
    this.cursor = page.cursor ?? "";
    this.done = !this.cursor;
    this.total.value = page.total;
    this.reordered = wish;
    this.reshape();
  }

  private async refresh(): Promise<void> {
    try {
      const query = { ...this.query, state: true, limit: 50, count: true };
      const page = await get<Page<Session>>("/v1/sessions", query, this.abort.signal);
      const latest = page.items ?? [];
      const ids = new Set(latest.map((s) => s.id));
      // Sessions above the last of these that are not among them no longer match.
      const end = page.cursor ? this.order.findIndex((id) => id === latest.at(-1)?.id) : this.order.length;
      const gone = new Set(this.order.slice(0, Math.max(0, end)).filter((id) => !ids.has(id)));
      this.order = [...latest.map((s) => s.id), ...this.order.filter((id) => !ids.has(id) && !gone.has(id))];
      for (const s of latest) this.take(s);
      for (const id of gone) this.items.delete(id);
      if (page.total >= 0) this.total.value = page.total;
      if (!page.cursor) this.done = true;
      this.reshape();
    } catch {
      // The next event retries.
    }
  }

  // put applies an optimistic change and returns a function that reverts it for some sessions. null
  // removes a session from the list.
  put(ids: string[], change: (s: Session) => Session | null): (back: string[]) => void {
    const before = { items: new Map(this.items), order: this.order };
    for (const id of ids) {
      const old = this.items.get(id);
      if (!old) continue;
      const now = change(old);
      if (now) this.items.set(id, now);
      else this.items.delete(id);
    }
    this.order = this.order.filter((id) => this.items.has(id));
    if (this.total.peek() >= 0) this.total.value -= before.order.length - this.order.length;
    this.reshape();
    return (back) => {
      if (back.length === 0) return;
      for (const id of back) {
        const old = before.items.get(id);
        if (old) this.items.set(id, old);
      }
      const here = new Set(this.order);
      const wanted = new Set(back);
      const added = this.order.filter((id) => !before.items.has(id));
      const order = [...added, ...before.order.filter((id) => here.has(id) || wanted.has(id))];
      if (this.total.peek() >= 0) this.total.value += order.length - this.order.length;
      this.order = order;
      this.reshape();
    };
  }
}

// nest places forks below their parents. A family is placed by its latest member.
export function nest(order: readonly string[], parents: ReadonlyMap<string, string>): Rows {
  const depths = new Map<string, number>();
  if (parents.size === 0) return { keys: [...order], depths };
  const known = new Set(order);
  const parentOf = (id: string): string | undefined => {
    const p = parents.get(id);
    return p !== undefined && p !== id && known.has(p) ? p : undefined;
  };
  const forks = new Map<string, string[]>();
  for (const id of order) {
    const p = parentOf(id);
    if (p === undefined) continue;
    const list = forks.get(p);
    if (list) list.push(id);
    else forks.set(p, [id]);
  }
  const rootOf = (id: string): string => {
    const met = new Set<string>();
    for (let p = parentOf(id); p !== undefined && !met.has(p); p = parentOf(p)) {
      met.add(p);
      id = p;
    }
    return id;
  };
  const keys: string[] = [];
  const shown = new Set<string>();
  // Iterative, because chains of forks may be long.
  const show = (first: string) => {
    const next: [id: string, depth: number][] = [[first, 0]];
    for (let at = next.pop(); at; at = next.pop()) {
      const [id, depth] = at;
      if (shown.has(id)) continue;
      shown.add(id);
      keys.push(id);
      if (depth > 0) depths.set(id, depth);
      for (const f of [...(forks.get(id) ?? [])].reverse()) next.push([f, depth + 1]);
    }
  };
  for (const id of order) if (!shown.has(id)) show(rootOf(id));
  for (const id of order) show(id); // rows left over from a cycle of parents
  return { keys, depths };
}
