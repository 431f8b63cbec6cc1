// The sessions that fit a filter, as far as they have been asked for. They come
// page by page, latest first; what of a session takes long to tell comes when
// its row is seen.
import { computed, signal } from "@preact/signals";
import { aborted, asProblem, get, sessionPath, type Problem, type Query } from "../../api";
import type { Page, Session } from "../../wire";

// Rows is where sessions are shown: forks are below what they were forked from.
// Keys are ids; of rows that have not come yet they begin with a question mark.
export interface Rows {
  keys: string[];
  depths: Map<string, number>; // of those that are below another one
}

const quick = 40; // what the first page has, which is waited for
const small = 100; // what one page has while one scrolls
const large = 1000; // and when somebody jumps far ahead
const rest = 150; // how long a row must be in sight before its state is asked for

export class SessionList {
  readonly total = signal(-1);
  readonly error = signal<Problem | undefined>(undefined);
  readonly loading = signal(true);
  // shape changes with which rows there are, changed with what they show.
  private readonly shape = signal(0);
  readonly changed = signal(0);

  private items = new Map<string, Session>();
  private order: string[] = [];
  // parents tells what was known of forks when they came: a row that is looked
  // at does not move to its parent later.
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

  // rows are all rows there are, with those that have not come as empty ones, so
  // that the scroll bar is honest.
  readonly rows = computed<Rows>(() => {
    this.shape.value;
    const rows = nest(this.order, this.parents);
    if (!this.done) for (let i = rows.keys.length; i < this.total.value; i++) rows.keys.push("?" + i);
    return rows;
  });

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

  // see tells which rows are in sight.
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
      while (!this.done && this.order.length < this.wanted) await this.more();
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

  // more asks for the next page. Who jumps far ahead is told only names at first.
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

  // fill asks for the states of what is in sight.
  private async fill(first: number, last: number): Promise<void> {
    const jobs: Promise<void>[] = [];
    for (const id of this.rows.peek().keys.slice(first, last + 1)) {
      const known = this.items.get(id);
      if (!known || known.state || known.fault || this.asked.has(id)) continue;
      this.asked.add(id);
      jobs.push(get<Session>(sessionPath(id), undefined, this.abort.signal).then((s) => this.merge(s)));
    }
    await Promise.allSettled(jobs); // a row without its state is a row all the same
  }

  private merge(s: Session): void {
    if (!this.items.has(s.id)) return;
    this.items.set(s.id, s);
    // Many come at once: they are shown together.
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.changed.value++;
    });
  }

  // touch tells that something happened: what is latest now is asked for once
  // things have calmed down a little.
  touch(id?: string): void {
    if (id) this.asked.delete(id);
    if (this.front) return;
    this.front = window.setTimeout(() => {
      this.front = 0;
      void this.refresh();
    }, 400);
  }

  private async refresh(): Promise<void> {
    try {
      const query = { ...this.query, state: true, limit: 50, count: true };
      const page = await get<Page<Session>>("/v1/sessions", query, this.abort.signal);
      const latest = page.items ?? [];
      const ids = new Set(latest.map((s) => s.id));
      // What was in the list before the last of these, and is not among them, fits no more.
      const end = page.cursor ? this.order.findIndex((id) => id === latest.at(-1)?.id) : this.order.length;
      const gone = new Set(this.order.slice(0, Math.max(0, end)).filter((id) => !ids.has(id)));
      this.order = [...latest.map((s) => s.id), ...this.order.filter((id) => !ids.has(id) && !gone.has(id))];
      for (const s of latest) this.take(s);
      for (const id of gone) this.items.delete(id);
      if (page.total >= 0) this.total.value = page.total;
      if (!page.cursor) this.done = true;
      this.reshape();
    } catch {
      // The next event asks again.
    }
  }

  // put changes sessions here at once, before the gateway has said yes. It gives
  // what takes the change back, for some of them. Null takes a session out of the
  // list.
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

// nest puts forks below their parents. A family stands where its latest member
// does, so that what happens is at the top.
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
  // A fork of a fork of a fork may go on for long: no call for each.
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
  for (const id of order) show(id); // of a ring of parents, who is left
  return { keys, depths };
}
