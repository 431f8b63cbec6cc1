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

// Shape goes by the numbers of entries: a file may use an id twice. What an entry
// follows has a smaller number, so that no walk goes in circles.
export interface Shape {
  rows: Row[];
  lanes: number;
  nodes: ReadonlyMap<number, Node>;
  // shadowed are those whose id a later one has too: nobody can mean them by it.
  shadowed: ReadonlySet<number>;
  // head is what was said last on the branch of the head.
  head?: Node;
  leaves: Node[];
}

// quiet says that an entry is not part of what one wants to see branch: counters,
// tags and the like, which hang between what was said.
const quiet = (n: Node) => !n.role && !n.compaction && !n.label && !n.fault && n.kind !== "branch_summary";

// above is the entry that another follows, if it is at hand.
function above(nodes: ReadonlyMap<number, Node>, n: Node): Node | undefined {
  return n.up && n.up < n.n ? nodes.get(n.up) : undefined;
}

// shapeOf draws entries; the head is the one with the number head.
export function shapeOf(all: Node[], head: number): Shape {
  const nodes = new Map(all.map((n) => [n.n, n]));
  // said is the entry itself, or what was said last before a quiet one.
  const said = (n: Node | undefined): Node | undefined => {
    while (n && quiet(n)) {
      const up = above(nodes, n);
      if (!up) break;
      n = up;
    }
    return n;
  };
  const now = said(nodes.get(head));
  const parent = new Map<number, number>();
  const children = new Map<number, number>();
  const loud = all.filter((n) => said(n) === n);
  for (const n of loud) {
    const p = said(above(nodes, n));
    if (!p) continue;
    parent.set(n.n, p.n);
    children.set(p.n, (children.get(p.n) ?? 0) + 1);
  }
  const isLeaf = (n: Node) => !children.has(n.n);
  const worth = (n: Node) =>
    n === now || isLeaf(n) || (children.get(n.n) ?? 0) > 1 || !parent.has(n.n) || !!n.label || !!n.compaction || !!n.fault || n.role === "user";
  const newest = loud.filter(worth).sort((a, b) => b.n - a.n);
  const kept = new Set(newest.map((n) => n.n));
  const rows: Row[] = [];
  // Each lane waits for the entry that its line goes down to.
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

// down is the next row below an entry, and how many lie between.
function down(n: number, parent: Map<number, number>, kept: Set<number>): { to?: number; between: number } {
  let between = 0;
  for (let p = parent.get(n); p; p = parent.get(p)) {
    if (kept.has(p)) return { to: p, between };
    between++;
  }
  return { between };
}

// Parting is where two branches part: the last entry that is on both, zero if
// there is none, and how many each has of its own.
export interface Parting {
  at: number;
  left: number;
  right: number;
}

// parting finds it; undefined if it is not among the entries at hand.
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

// refOf names an entry: by its id, or by its number where that is another's.
export function refOf(shape: Shape, n: Node): string {
  return shape.shadowed.has(n.n) ? "#" + n.n : n.id;
}

// named is the entry that such a name means: the latest, of those with an id.
export function named(nodes: ReadonlyMap<number, Node>, ref: string): Node | undefined {
  if (/^#[0-9]+$/.test(ref)) return nodes.get(Number(ref.slice(1)));
  let found: Node | undefined;
  for (const n of nodes.values()) if (n.id === ref && n.n > (found?.n ?? 0)) found = n;
  return found;
}
