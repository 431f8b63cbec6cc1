// Lanes turn the shape of a session into rows with lines beside them, as logs of
// version control are drawn: newest first, a lane for each branch.
import type { Node } from "../../wire";

// Row is an entry worth a line of its own: what the user said, where branches
// part and end, labels, compactions. What lies between it and the next one below
// is counted.
export interface Row {
  node: Node;
  // between is how many entries are left out below it.
  between: number;
  leaf: boolean;
  lane: number;
  // through are lanes that pass by; into are those that end in this row.
  through: number[];
  into: number[];
  // onward says that the lane goes on below.
  onward: boolean;
}

export interface Shape {
  rows: Row[];
  lanes: number;
  // parent is the entry each one follows, quiet ones left out.
  parent: Map<string, string>;
  // head is what was said last on the branch of the head.
  head?: string;
  leaves: Node[];
}

// quiet says that an entry is not part of what one wants to see branch: counters,
// tags and the like, which hang between what was said.
const quiet = (n: Node) => !n.role && !n.compaction && !n.label && !n.fault && n.kind !== "branch_summary";

export function shapeOf(nodes: Node[], head: string | undefined): Shape {
  const all = new Map(nodes.map((n) => [n.id, n]));
  // said is the entry itself, or what was said last before a quiet one.
  const said = (id: string | undefined): string | undefined => {
    let n = id === undefined ? undefined : all.get(id);
    while (n && quiet(n) && n.parent && all.has(n.parent)) n = all.get(n.parent);
    return n?.id;
  };
  const now = said(head);
  const parent = new Map<string, string>();
  const children = new Map<string, number>();
  const loud = nodes.filter((n) => said(n.id) === n.id);
  for (const n of loud) {
    const p = said(n.parent);
    if (!p) continue;
    parent.set(n.id, p);
    children.set(p, (children.get(p) ?? 0) + 1);
  }
  const isLeaf = (n: Node) => !children.has(n.id);
  const worth = (n: Node) =>
    n.id === now || isLeaf(n) || (children.get(n.id) ?? 0) > 1 || !parent.has(n.id) || !!n.label || !!n.compaction || !!n.fault || n.role === "user";
  const kept = new Map(loud.filter(worth).map((n) => [n.id, n]));
  const newest = [...kept.values()].sort((a, b) => b.n - a.n);
  const rows: Row[] = [];
  // Each lane waits for the entry that its line goes down to.
  const waits: (string | undefined)[] = [];
  let lanes = 0;
  for (const node of newest) {
    const mine = waits.flatMap((w, i) => (w === node.id ? [i] : []));
    const lane = mine[0] ?? free(waits);
    const through = waits.flatMap((w, i) => (w !== undefined && !mine.includes(i) ? [i] : []));
    for (const i of mine) waits[i] = undefined;
    const below = down(node.id, parent, kept);
    if (below.to) waits[lane] = below.to;
    rows.push({ node, between: below.between, leaf: isLeaf(node), lane, through, into: mine.slice(1), onward: !!below.to });
    lanes = Math.max(lanes, waits.length, lane + 1);
  }
  return { rows, lanes, parent, head: now, leaves: newest.filter(isLeaf) };
}

function free(waits: (string | undefined)[]): number {
  const i = waits.indexOf(undefined);
  if (i >= 0) return i;
  waits.push(undefined);
  return waits.length - 1;
}

// down is the next row below an entry, and how many lie between.
function down(id: string, parent: Map<string, string>, kept: Map<string, Node>): { to?: string; between: number } {
  let between = 0;
  for (let p = parent.get(id); p; p = parent.get(p)) {
    if (kept.has(p)) return { to: p, between };
    between++;
  }
  return { between };
}

// parting is where two branches part: the last entry that is on both.
export function parting(shape: Shape, a: string, b: string): string | undefined {
  const seen = new Set<string>();
  for (let p: string | undefined = a; p; p = shape.parent.get(p)) seen.add(p);
  for (let p: string | undefined = b; p; p = shape.parent.get(p)) if (seen.has(p)) return p;
  return undefined;
}
