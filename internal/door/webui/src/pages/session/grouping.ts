// Grouping of consecutive tool calls into one row.
import type { Row } from "./rows";

// A group has at most this many entries, so that a long run of calls stays scrollable.
const mostGrouped = 50;

// grouped replaces runs of rows that only call tools by groups. A run at the start of the loaded
// part is divided from its end, so that older entries do not change its groups.
export function grouped(rows: readonly Row[]): Row[] {
  const out: Row[] = [];
  for (let i = 0; i < rows.length; ) {
    let end = i;
    while (end < rows.length && isCalls(rows[end]!) && (end === i || goesOn(rows[end]!))) end++;
    if (end === i) {
      out.push(rows[i++]!);
      continue;
    }
    const run = rows.slice(i, end);
    const first = i === 0 ? run.length % mostGrouped : 0;
    if (first) out.push(...groupOf(run.slice(0, first), i === 0));
    for (let at = first; at < run.length; at += mostGrouped) out.push(...groupOf(run.slice(at, at + mostGrouped), i === 0));
    i = end;
  }
  return out;
}

// isCalls reports whether a row has calls and no text.
function isCalls(row: Row): boolean {
  const item = row.items[0]!;
  const card = item.card;
  if (row.kind !== "entry" || card?.role !== "assistant" || card.error || card.stop || card.label || item.damage) return false;
  const blocks = card.blocks ?? [];
  return blocks.some((b) => b.kind === "call") && blocks.every((b) => (b.kind === "call" && !!b.call) || b.kind === "thinking");
}

function goesOn(row: Row): boolean {
  return !!row.same && !row.day;
}

function groupOf(rows: Row[], open: boolean): Row[] {
  const calls = rows.reduce((n, r) => n + r.items[0]!.card!.blocks!.filter((b) => b.kind === "call").length, 0);
  if (calls < 2) return rows;
  const results = new Map(rows.flatMap((r) => [...(r.results ?? [])]));
  const chains = new Map(rows.flatMap((r) => [...(r.chains ?? [])]));
  const first = rows[0]!;
  return [{ key: (open ? rows.at(-1)! : first).key, kind: "tools", items: rows.map((r) => r.items[0]!), rows, results, chains, day: first.day, same: first.same }];
}
