// Rows of the log: entries, calls with their results, and groups of notes.
import type { Block } from "../../wire";
import type { Item } from "./entries";

// Result is the result of a call and its entry.
export interface Result {
  block: Block;
  item: Item;
  // more are additional blocks, such as images.
  more: Block[];
}

export interface Row {
  key: string;
  kind: "entry" | "notes" | "gap" | "tools";
  items: Item[];
  // rows are the entries of a group of tool calls.
  rows?: Row[];
  // results are the results of the entry's calls, chains the messages of their sub-agents.
  results?: Map<string, Result>;
  chains?: Map<string, Item[]>;
  // day is set on the first row of a day, same if the author is that of the row before.
  day?: string;
  same?: boolean;
}

// isNote reports whether an entry is bookkeeping, such as progress, of the program that wrote it.
export function isNote(item: Item): boolean {
  return !!item.card?.bookkeeping;
}

// isNaming reports whether a note changed the title or the tags. The header shows both, so such a
// note alone is no reason to offer notes.
export function isNaming(item: Item): boolean {
  return item.card?.kind === "session_info" || item.card?.type === "firn.tags";
}

// rowsOf joins calls and results. A result without its call is a separate row. Bookkeeping is left
// out without notes, except the entry at.
export function rowsOf(items: readonly Item[], notes: boolean, at: string): Row[] {
  const calls = new Map<string, Row>();
  const rows: Row[] = [];
  const keys = new Set<string>();
  let day = "";
  let spoke: Row | undefined;
  const chains = new Chains();
  for (const item of items) {
    if (chains.join(item)) continue;
    if (books.has(item.card?.type ?? "") || (!notes && isNote(item) && item.card!.id !== at) || joined(item, calls)) continue;
    const row = rowOf(item);
    const before = rows.at(-1);
    const now = dayOf(item);
    if (now && now !== day) {
      row.day = now;
      day = now;
    }
    if (row.kind === "notes" && before?.kind === "notes" && !row.day) {
      before.items.push(item);
      continue;
    }
    if (row.kind === "entry") {
      row.same = !row.day && !!spoke && continues(spoke, row);
      spoke = row;
    }
    for (const block of item.card?.blocks ?? []) {
      if (block.kind !== "call" || !block.call) continue;
      calls.set(block.call, row);
      if (block.tool === "agent") chains.add(block, row);
    }
    // A file may use an id twice.
    if (keys.has(row.key)) row.key += "@" + item.at;
    keys.add(row.key);
    rows.push(row);
  }
  return rows;
}

// Chains assigns the messages of sub-agents to the calls that started them. A chain begins with the
// prompt of its call.
class Chains {
  private open: { call: Block; row: Row; begun: boolean }[] = [];
  private now: { call: Block; row: Row } | undefined;

  add(call: Block, row: Row): void {
    this.open.push({ call, row, begun: false });
  }

  // join adds a message to the chain of its call, if the call is loaded.
  join(item: Item): boolean {
    const c = item.card;
    if (!c?.sidechain) return false;
    if (c.sidechain === "user" && c.blocks?.some((b) => b.kind === "text")) {
      const text = c.blocks.find((b) => b.kind === "text")?.html ?? "";
      const begun = this.open.find((o) => !o.begun && text !== "" && o.call.html?.startsWith(text)) ?? this.open.find((o) => !o.begun);
      if (begun) begun.begun = true;
      this.now = begun ?? this.now;
    }
    if (!this.now) return false;
    const chains = (this.now.row.chains ??= new Map<string, Item[]>());
    const chain = chains.get(this.now.call.call!);
    if (chain) chain.push(item);
    else chains.set(this.now.call.call!, [item]);
    return true;
  }
}

// The gateway's internal entries are shown only in the Raw tab.
const books = new Set(["firn.counters", "firn.usage", "firn.draft", "firn.queued"]);

function rowOf(item: Item): Row {
  const c = item.card;
  if (!c) return { key: item.key, kind: "gap", items: [item] };
  const isMessage = !!c.role || !!c.compaction || c.kind === "branch_summary";
  return { key: item.key, kind: isMessage ? "entry" : "notes", items: [item] };
}

// joined attaches an entry's results to their calls, if all are loaded.
function joined(item: Item, calls: Map<string, Row>): boolean {
  const blocks = item.card?.blocks ?? [];
  const results = blocks.filter((b) => b.kind === "result");
  if (item.card?.role === "assistant" || results.length === 0) return false;
  if (!results.every((b) => b.call && calls.has(b.call))) return false;
  if (blocks.some((b) => b.kind === "text")) return false;
  let last: Result | undefined;
  for (const block of blocks) {
    if (block.kind !== "result") {
      last?.more.push(block);
      continue;
    }
    const row = calls.get(block.call!)!;
    last = { block, item, more: [] };
    (row.results ??= new Map()).set(block.call!, last);
  }
  return true;
}

function speaker(row: Row): string {
  const c = row.items[0]?.card;
  if (!c || c.compaction || !c.role) return row.key;
  return [c.role === "tool" ? "assistant" : c.role, c.sender, c.model].join(" ");
}

// continues reports whether a row needs no header.
function continues(before: Row, row: Row): boolean {
  const card = row.items[0]!.card!;
  return !card.label && !card.note && !card.masked && speaker(before) === speaker(row) && before.items[0]!.out === row.items[0]!.out;
}

function dayOf(item: Item): string {
  const t = item.card?.time;
  return t ? new Date(t).toDateString() : "";
}

// holds reports whether a row shows an entry, also as a call's result.
export function holds(row: Row, id: string): boolean {
  if (row.items.some((i) => i.card?.id === id)) return true;
  for (const r of row.results?.values() ?? []) if (r.item.card?.id === id) return true;
  for (const items of row.chains?.values() ?? []) if (items.some((i) => i.card?.id === id)) return true;
  return false;
}
