// Entries is the loaded part of a branch: some hundred consecutive entries. More are loaded near
// both ends, and distant ones are unloaded, so that a log can have any length.
import { batch, signal } from "@preact/signals";
import { aborted, asProblem, get, sessionPath, type Problem, type Query } from "../../api";
import type { Card, Entry, Event, Missed, Page } from "../../wire";

// Item is an entry with its card, or an unreadable gap.
export type Item = Entry & { key: string };

// Sizes of the first page, of each further page, of the shown part and of the loaded part.
const pageSize = 60;
const step = 40;
const most = 300;
const kept = 6000;

export class Entries {
  // items are the shown entries.
  readonly items = signal<readonly Item[]>([]);
  // first is set if there are no older entries, last if there are no newer ones.
  readonly first = signal(false);
  readonly last = signal(false);
  readonly busy = signal<"" | "all" | "older" | "newer">("all");
  readonly error = signal<Problem | undefined>(undefined);
  // fresh counts entries added while the end is not shown.
  readonly fresh = signal(0);
  // aside is set if the shown branch is not the current one.
  readonly aside = signal(false);
  // at is the requested entry.
  readonly at = signal("");

  // all are the loaded entries; from and to delimit the shown ones. start and end are set if the
  // branch has no more on that side.
  private all: Item[] = [];
  private from = 0;
  private to = 0;
  private start = false;
  private end = false;
  // cursors maps the oldest entry of a page to the cursor of the page before it.
  private cursors = new Map<number, string>();
  private head = "";
  private abort = new AbortController();
  // Requests run one at a time, in order, so that results are placed correctly.
  private queue: Promise<void> = Promise.resolve();
  private again: Promise<void> | undefined;
  // Events wait while a request runs.
  private waiting: Event[] | undefined;

  constructor(readonly id: string) {}

  close(): void {
    this.abort.abort();
  }

  // show sets the shown part of the loaded entries.
  private show(from: number, to: number): void {
    this.from = Math.max(0, from);
    this.to = Math.min(this.all.length, to);
    batch(() => {
      this.items.value = this.all.slice(this.from, this.to);
      this.first.value = this.start && this.from === 0;
      this.last.value = this.end && this.to === this.all.length;
      if (this.last.value) this.fresh.value = 0;
    });
  }

  // fetch also aborts when the response has already arrived.
  private async fetch(signal: AbortSignal, query: Query): Promise<Page<Entry>> {
    signal.throwIfAborted();
    const all = { view: "branch", as: "html", limit: pageSize, head: this.head, ...query };
    const page = await get<Page<Entry>>(sessionPath(this.id, "entries"), all, signal);
    signal.throwIfAborted();
    return page;
  }

  // open shows the end of the branch, or the entries around one. head selects the branch that ends
  // there.
  async open(at: string, head: string): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    this.queue = Promise.resolve();
    this.again = undefined;
    this.head = head;
    this.cursors.clear();
    await this.busily("all", async (signal) => {
      const found = at ? await this.around(signal, at) : await this.ending(signal);
      this.all = found.items;
      this.start = !found.older;
      this.end = found.last;
      batch(() => {
        this.at.value = found.at;
        this.aside.value = this.head !== "";
        this.show(0, this.all.length);
      });
    });
  }

  private async ending(signal: AbortSignal): Promise<Found> {
    const page = await this.fetch(signal, { back: true });
    const items = itemsOf(page).reverse();
    this.remember(items, page.cursor);
    return { items, older: !!page.cursor, last: true, at: "" };
  }

  // around loads an entry with those before and after it. An entry of another branch becomes the
  // end of the shown branch.
  private async around(signal: AbortSignal, ref: string): Promise<Found> {
    const before = await this.fetch(signal, { back: true, head: ref, limit: pageSize / 2 });
    const items = itemsOf(before).reverse();
    this.remember(items, before.cursor);
    const target = items.at(-1);
    const at = target?.card?.id ?? "";
    const found = { items, older: !!before.cursor, last: true, at };
    if (!target || this.head === at) return found;
    const after = await this.fetch(signal, { after: target.next, limit: pageSize / 2 });
    const next = itemsOf(after);
    // The entry after damage may name a lost parent.
    const follower = next.find((i) => i.card);
    if (follower && follower.card?.parent !== at && !next[0]!.gap && !follower.damage) {
      this.head = at;
      return found;
    }
    return { ...found, items: [...items, ...next], last: !after.cursor };
  }

  // branch returns the last entry of the shown branch; empty if it is the current one.
  branch(): string {
    return this.aside.peek() ? this.head : "";
  }

  // position returns the end of the shown log, if its end is loaded.
  position(): number | undefined {
    return this.end && !this.head ? (this.all.at(-1)?.next ?? 0) : undefined;
  }

  private remember(items: readonly Item[], cursor: string | undefined): void {
    if (items[0] && cursor) this.cursors.set(items[0].at, cursor);
  }

  // older shows entries before the first. If there are too many, those from beyond on, far below
  // the viewport, are unloaded.
  async older(beyond: string): Promise<void> {
    if (this.busy.value || this.first.value || !this.all.length) return;
    if (this.from > 0) return this.showOlder(beyond);
    await this.busily("older", async (signal) => {
      const front = this.all[0];
      if (!front || this.start) return;
      const cursor = this.cursors.get(front.at);
      const page = await this.fetch(signal, { back: true, limit: step, ...(cursor ? { cursor } : { before: front.at }) });
      const items = itemsOf(page).reverse();
      this.remember(items, page.cursor);
      this.all = [...items, ...this.all];
      this.start = !page.cursor;
      this.shift(items.length);
      if (this.all.length > kept) this.end = false;
      this.all = this.all.slice(0, kept);
      this.showOlder(beyond);
    });
  }

  private showOlder(beyond: string): void {
    const from = Math.max(0, this.from - step);
    const far = this.to - from > most ? this.place(beyond) : -1;
    this.show(from, far > from ? Math.min(this.to, far) : this.to);
  }

  // newer shows entries after the last, and unloads those before beyond.
  async newer(beyond: string): Promise<void> {
    if (this.busy.value || this.last.value || !this.all.length) return;
    if (this.to < this.all.length) return this.showNewer(beyond);
    await this.busily("newer", async (signal) => {
      const back = this.all.at(-1);
      if (!back || this.end) return;
      const page = await this.fetch(signal, { after: back.next, limit: step });
      this.all = [...this.all, ...itemsOf(page)];
      this.end = !page.cursor;
      const over = Math.max(0, this.all.length - kept);
      if (over) {
        this.start = false;
        this.all = this.all.slice(over);
        this.shift(-over);
      }
      this.showNewer(beyond);
    });
  }

  private showNewer(beyond: string): void {
    const to = Math.min(this.all.length, this.to + step);
    const far = to - this.from > most ? this.place(beyond) : -1;
    this.show(Math.max(this.from, far), to);
  }

  // place returns the index of an entry among the loaded ones, or -1.
  private place(key: string): number {
    return key ? this.all.findIndex((i) => i.key === key) : -1;
  }

  // shift adjusts the shown range after a change of indexes.
  private shift(by: number): void {
    this.from = Math.max(0, this.from + by);
    this.to += by;
  }

  // refresh reloads the shown entries, whose window state or branch may have changed. A queued
  // refresh serves all requests meanwhile.
  refresh(): Promise<void> {
    this.again ??= this.busily("all", async (signal) => {
      this.again = undefined;
      const n = Math.max(pageSize, Math.min(2 * most, this.items.value.length));
      const before = this.last.value ? undefined : this.items.value.at(-1)?.next;
      let page = await this.fetch(signal, { back: true, limit: n, before });
      const items = itemsOf(page);
      // A page may be short if its entries are large.
      while (page.cursor && items.length < n) {
        page = await this.fetch(signal, { back: true, limit: n - items.length, cursor: page.cursor });
        items.push(...itemsOf(page));
      }
      this.all = items.reverse();
      this.cursors.clear();
      this.remember(this.all, page.cursor);
      this.start = !page.cursor;
      this.end = before === undefined;
      this.show(0, this.all.length);
    });
    return this.again;
  }

  private busily(what: "all" | "older" | "newer", work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const mine = this.abort;
    this.queue = this.queue.then(() => this.now(mine, what, work));
    return this.queue;
  }

  private async now(mine: AbortController, what: "all" | "older" | "newer", work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (mine.signal.aborted) return;
    this.busy.value = what;
    this.waiting ??= [];
    try {
      await work(mine.signal);
      if (mine === this.abort) this.error.value = undefined;
    } catch (err) {
      if (aborted(err) || mine !== this.abort) return;
      this.error.value = asProblem(err);
    }
    if (mine !== this.abort) return;
    this.busy.value = "";
    const late = this.waiting ?? [];
    this.waiting = undefined;
    for (const e of late) this.event(e);
  }

  // event handles a stream event.
  event(e: Event): void {
    if (!changing.has(e.name)) return;
    if (this.waiting) {
      this.waiting.push(e);
      return;
    }
    if (this.head) return; // another branch does not change
    if ((e.data as Missed | undefined)?.anew) void this.open("", "");
    else if (e.name !== "entry.appended") void this.refresh();
    else this.append(e.data as Entry);
  }

  private append(entry: Entry): void {
    if (entry.card?.kind === "session") return; // a header is not on a branch
    const back = this.all.at(-1);
    if (back && entry.next <= back.next) return; // already loaded
    const shown = this.last.value;
    if (!shown) this.fresh.value++;
    if (!this.end) return;
    if (entry.gap || !entry.card || (back && entry.card.parent !== back.card?.id)) {
      void this.refresh();
      return;
    }
    this.all.push(item(entry));
    if (shown) this.show(Math.max(this.from, this.all.length - 2 * most), this.all.length);
    else this.last.value = false;
    // Some entries change how others look.
    if (veils.has(entry.card.kind)) void this.refresh();
  }

  // whole loads the complete text of a truncated entry.
  async whole(id: string): Promise<void> {
    const entry = await get<Entry>(sessionPath(this.id, "entries", id), { as: "html" });
    this.all = this.all.map((i) => (i.card?.id === id ? { ...i, card: keep(i.card, entry.card) } : i));
    this.show(this.from, this.to);
  }
}

interface Found {
  items: Item[];
  older: boolean;
  last: boolean;
  at: string;
}

// Events that change the log or how it is shown.
const changing = new Set(["entry.appended", "head.moved", "compaction.completed", "compaction.undone", "gap"]);
const veils = new Set(["label", "tombstone", "compaction"]);

function item(e: Entry): Item {
  return { ...e, key: e.card?.id || "@" + e.at };
}

function itemsOf(page: Page<Entry>): Item[] {
  return (page.items ?? []).map(item);
}

// keep merges a complete card with the fields that only lists have.
function keep(old: Card, whole: Card | undefined): Card {
  return whole ? { ...whole, label: whole.label ?? old.label, hidden: whole.hidden ?? old.hidden } : old;
}
