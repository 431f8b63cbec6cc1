// Entries is the part of a branch that is on the page: some hundred entries, one
// after the other. More is fetched at both ends as one comes near them, and what
// is far away is let go, so that a log may be as long as it likes.
import { signal } from "@preact/signals";
import { aborted, asProblem, get, sessionPath, type Problem, type Query } from "../../api";
import type { Card, Entry, Event, Missed, Page } from "../../wire";

// Item is an entry with its card, or a gap where nothing could be read.
export type Item = Entry & { key: string };

// How many a page has, and how many are kept.
const pageSize = 60;
const most = 300;

export class Entries {
  readonly items = signal<readonly Item[]>([]);
  // first says that there is nothing older, last that there is nothing newer.
  readonly first = signal(false);
  readonly last = signal(false);
  readonly busy = signal<"" | "all" | "older" | "newer">("all");
  readonly error = signal<Problem | undefined>(undefined);
  // fresh counts what came while the end was not on the page.
  readonly fresh = signal(0);
  // aside says that the branch shown is not the current one.
  readonly aside = signal(false);
  // at is the entry that was asked for, as it is called.
  readonly at = signal("");

  // Cursors know what is before an entry that was the oldest of a page.
  private cursors = new Map<string, string>();
  private head = "";
  private abort = new AbortController();
  // While all is fetched, what happens waits.
  private waiting: Event[] | undefined;

  constructor(readonly id: string) {}

  close(): void {
    this.abort.abort();
  }

  private fetch(query: Query): Promise<Page<Entry>> {
    return get(sessionPath(this.id, "entries"), { view: "branch", as: "html", limit: pageSize, head: this.head, ...query }, this.abort.signal);
  }

  // open shows the end of the branch, or the surroundings of an entry. With head
  // it is the branch that ends there.
  async open(at: string, head: string): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    this.head = head;
    this.cursors.clear();
    await this.busily("all", async () => {
      const found = at ? await this.around(at) : await this.end();
      this.error.value = undefined;
      this.at.value = found.at;
      this.fresh.value = 0;
      this.aside.value = this.head !== "";
      this.first.value = !found.older;
      this.last.value = found.last;
      this.items.value = found.items;
    });
  }

  private async end(): Promise<Found> {
    const page = await this.fetch({ back: true });
    const items = itemsOf(page).reverse();
    this.remember(items, page.cursor);
    return { items, older: !!page.cursor, last: true, at: "" };
  }

  // around finds an entry, what leads to it and what comes after it on the
  // branch. One of another branch is the end of the branch that is shown.
  private async around(ref: string): Promise<Found> {
    const target = await get<Entry>(sessionPath(this.id, "entries", ref), { as: "html" }, this.abort.signal);
    const id = target.card?.id ?? "";
    let before = await this.fetch({ back: true, before: target.next, limit: pageSize / 2 });
    let items = itemsOf(before).reverse();
    if (items.at(-1)?.card?.id !== id && !this.head) {
      this.head = id;
      before = await this.fetch({ back: true, limit: pageSize });
      items = itemsOf(before).reverse();
    }
    this.remember(items, before.cursor);
    if (this.head === id) return { items, older: !!before.cursor, last: true, at: id };
    const after = await this.fetch({ after: target.next, limit: pageSize / 2 });
    return { items: [...items, ...itemsOf(after)], older: !!before.cursor, last: !after.cursor, at: id };
  }

  private remember(items: readonly Item[], cursor: string | undefined): void {
    if (items[0] && cursor) this.cursors.set(items[0].key, cursor);
  }

  // older fetches what is before the first entry.
  async older(): Promise<void> {
    const front = this.items.value[0];
    if (this.busy.value || this.first.value || !front) return;
    await this.busily("older", async () => {
      const cursor = this.cursors.get(front.key);
      const page = await this.fetch(cursor ? { back: true, cursor } : { back: true, before: front.at });
      const items = itemsOf(page).reverse();
      this.remember(items, page.cursor);
      const all = [...items, ...this.items.value];
      this.first.value = !page.cursor;
      if (all.length > most) this.last.value = false;
      this.items.value = all.slice(0, most);
    });
  }

  // newer fetches what is behind the last entry.
  async newer(): Promise<void> {
    const end = this.items.value.at(-1);
    if (this.busy.value || this.last.value || !end) return;
    await this.busily("newer", async () => {
      const page = await this.fetch({ after: end.next });
      const all = [...this.items.value, ...itemsOf(page)];
      this.last.value = !page.cursor;
      if (this.last.value) this.fresh.value = 0;
      if (all.length > most) this.first.value = false;
      this.items.value = all.slice(-most);
    });
  }

  // refresh fetches again what is shown: why entries are in or out may be
  // otherwise now, and the branch may be another.
  async refresh(): Promise<void> {
    if (this.busy.value === "all") return;
    const n = Math.max(pageSize, Math.min(most, this.items.value.length));
    const end = this.items.value.at(-1);
    await this.busily("all", async () => {
      let page = await this.fetch({ back: true, limit: n, before: this.last.value ? undefined : end?.next });
      const items = itemsOf(page);
      // A page ends early if its entries are large.
      while (page.cursor && items.length < n) {
        page = await this.fetch({ back: true, limit: n - items.length, cursor: page.cursor });
        items.push(...itemsOf(page));
      }
      items.reverse();
      this.cursors.clear();
      this.remember(items, page.cursor);
      this.first.value = !page.cursor;
      this.items.value = items;
    });
  }

  private async busily(what: "all" | "older" | "newer", work: () => Promise<void>): Promise<void> {
    const mine = this.abort;
    this.busy.value = what;
    this.waiting ??= [];
    try {
      await work();
      this.error.value = undefined;
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

  // event takes what happened.
  event(e: Event): void {
    if (!stirs.has(e.name)) return;
    if (this.waiting) {
      this.waiting.push(e);
      return;
    }
    if (this.head) return; // another branch stays as it is
    if ((e.data as Missed | undefined)?.anew) void this.open("", "");
    else if (e.name !== "entry.appended") void this.refresh();
    else this.append(e.data as Entry);
  }

  private append(entry: Entry): void {
    const items = this.items.value;
    const end = items.at(-1);
    if (end && entry.next <= end.next) return; // it is here already
    if (!this.last.value) {
      this.fresh.value++;
      return;
    }
    if (entry.gap || !entry.card || (end && entry.card.parent !== end.card?.id)) {
      void this.refresh();
      return;
    }
    const all = [...items, item(entry)];
    if (all.length > most) this.first.value = false;
    this.items.value = all.slice(-most);
    // What says something of others changes how they look.
    if (veils.has(entry.card.kind)) void this.refresh();
  }

  // whole fetches all of an entry whose long texts were cut.
  async whole(id: string): Promise<void> {
    const entry = await get<Entry>(sessionPath(this.id, "entries", id), { as: "html" });
    this.items.value = this.items.value.map((i) => (i.card?.id === id ? { ...i, card: keep(i.card, entry.card) } : i));
  }
}

interface Found {
  items: Item[];
  older: boolean;
  last: boolean;
  at: string;
}

// Events that change what is in the log, or how it is seen.
const stirs = new Set(["entry.appended", "head.moved", "compaction.completed", "compaction.undone", "gap"]);
const veils = new Set(["label", "tombstone", "compaction"]);

function item(e: Entry): Item {
  return { ...e, key: e.card?.id || "@" + e.at };
}

function itemsOf(page: Page<Entry>): Item[] {
  return (page.items ?? []).map(item);
}

// keep is a card as it was fetched alone, with what only a list knows.
function keep(old: Card, whole: Card | undefined): Card {
  return whole ? { ...whole, label: whole.label ?? old.label, hidden: whole.hidden ?? old.hidden } : old;
}
