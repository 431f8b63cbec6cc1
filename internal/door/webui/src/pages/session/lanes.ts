// Lanes lays out a session's tree as rows with lines, like a version control log: newest first, one
// lane per branch.
import type { Node } from "../../wire";

// Row is a notable entry: user messages, branch points and ends, labels, compactions. The entries
// between rows are counted.
export interface Row {
  node: Node;
  // between is the number of entries left out below.
  between: number;
  leaf: boolean;
  lane: number;
  // through are lanes that pass; into are lanes that end in this row.
  through: number[];
  into: number[];
  // onward is set if the lane continues below.
  onward: boolean;
}

// Shape uses entry numbers, because a file may use an ID twice. Parents have smaller numbers, so
// there are no cycles.
export interface Shape {
  rows: Row[];
  lanes: number;
  nodes: ReadonlyMap<number, Node>;
  // shadowed are entries whose ID a later entry has too.
  shadowed: ReadonlySet<number>;
  // head is the last message on the current branch.
  head?: Node;
  leaves: Node[];
}

// quiet reports whether an entry is not part of the conversation: counters, tags and the like.
const quiet = (n: Node) => !n.role && !n.compaction && !n.label && !n.fault && n.kind !== "branch_summary";

// above returns the parent of an entry, if it is loaded.
function above(nodes: ReadonlyMap<number, Node>, n: Node): Node | undefined {
  return n.up && n.up < n.n ? nodes.get(n.up) : undefined;
}

// shapeOf lays out entries; head is the number of the head.
export function shapeOf(all: Node[], head: number): Shape {
  const nodes = new Map(all.map((n) => [n.n, n]));
  // nearestMessage returns the entry itself, or the last message before a quiet entry.
  const nearestMessage = (n: Node | undefined): Node | undefined => {
    while (n && quiet(n)) {
      const up = above(nodes, n);
      if (!up) break;
      n = up;
    }
    return n;
  };
  const now = nearestMessage(nodes.get(head));
  const parent = new Map<number, number>();
  const children = new Map<number, number>();
  const messages = all.filter((n) => nearestMessage(n) === n);
  for (const n of messages) {
    const p = nearestMessage(above(nodes, n));
    if (!p) continue;
    parent.set(n.n, p.n);
    children.set(p.n, (children.get(p.n) ?? 0) + 1);
  }
  const isLeaf = (n: Node) => !children.has(n.n);
  const worth = (n: Node) =>
    n === now || isLeaf(n) || (children.get(n.n) ?? 0) > 1 || !parent.has(n.n) || !!n.label || !!n.compaction || !!n.fault || n.role === "user";
  const newest = messages.filter(worth).sort((a, b) => b.n - a.n);
  const kept = new Set(newest.map((n) => n.n));
  const rows: Row[] = [];
  // Each lane holds the entry it leads to.
  const waits: (number | undefined)[] = [];
  let lanes = 0;
  for (const node of newest) {
    const mine = waits.flatMap((w, i) => (w === node.n ? [i] : []));
    const lane = mine[0] ?? free(waits);
    const through = waits.flatMap((w, i) => (w !== undefined && !mine.includes(i) ? [i] : []));
    for (const i of mine) waits[i] = undefined;
    const below = down(node.n, parent, kept);
    if (below.to) waits[lane] = below.to;
    rows.push({ node, between: below.between, leaf: isLeaf(node), lane, through, into: mine.slice(1), onward: !!below.to });
    lanes = Math.max(lanes, waits.length, lane + 1);
  }
  return { rows, lanes, nodes, shadowed: shadowed(all), head: now, leaves: newest.filter(isLeaf) };
}

function free(waits: (number | undefined)[]): number {
  const i = waits.indexOf(undefined);
  if (i >= 0) return i;
  waits.push(undefined);
  return waits.length - 1;
}

// down returns the next row below an entry and the number of entries between.
function down(n: number, parent: Map<number, number>, kept: Set<number>): { to?: number; between: number } {
  let between = 0;
  for (let p = parent.get(n); p; p = parent.get(p)) {
    if (kept.has(p)) return { to: p, between };
    between++;
  }
  return { between };
}

// Parting is where two branches diverge: the last common entry, or zero, and the number of entries
// on each side.
export interface Parting {
  at: number;
  left: number;
  right: number;
}

// parting returns undefined if the point is not among the loaded entries.
export function parting(nodes: ReadonlyMap<number, Node>, a: number, b: number): Parting | undefined {
  let left = 0;
  let right = 0;
  while (a !== b) {
    const n = nodes.get(Math.max(a, b));
    if (!n) return undefined;
    const up = n.up && n.up < n.n ? n.up : 0;
    if (a > b) {
      a = up;
      left++;
    } else {
      b = up;
      right++;
    }
  }
  return { at: a, left, right };
}

function shadowed(all: Node[]): Set<number> {
  const last = new Map<string, number>();
  for (const n of all) last.set(n.id, Math.max(n.n, last.get(n.id) ?? 0));
  return new Set(all.filter((n) => last.get(n.id) !== n.n).map((n) => n.n));
}

// refOf returns a reference to an entry: its ID, or its number if the ID is shadowed.
export function refOf(shape: Shape, n: Node): string {
  return shape.shadowed.has(n.n) ? "#" + n.n : n.id;
}

// named resolves a reference; of several entries with an ID, the latest.
export function named(nodes: ReadonlyMap<number, Node>, ref: string): Node | undefined {
  if (/^#[0-9]+$/.test(ref)) return nodes.get(Number(ref.slice(1)));
  let found: Node | undefined;
  for (const n of nodes.values()) if (n.id === ref && n.n > (found?.n ?? 0)) found = n;
  return found;
}
