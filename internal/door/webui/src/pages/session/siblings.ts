// Siblings are the messages that continue a conversation from the same place: those that were
// edited, and answers that were repeated.
import type { Node } from "../../wire";

export interface Siblings {
  // at is the index of the message among all.
  at: number;
  // ends are the last entries of the latest branch through each message.
  ends: string[];
}

// siblingsOf returns the messages that have siblings, by ID. Parents have smaller numbers.
export function siblingsOf(nodes: readonly Node[]): ReadonlyMap<string, Siblings> {
  const byNumber = new Map(nodes.map((n) => [n.n, n]));
  const above = (n: Node): Node | undefined => {
    for (let up = n.up; up && up < n.n; ) {
      const p = byNumber.get(up);
      if (!p || p.role) return p;
      n = p;
      up = p.up;
    }
    return undefined;
  };
  const children = new Map<number, Node[]>();
  for (const n of [...nodes].sort((a, b) => a.n - b.n)) {
    if (!n.role || n.fault) continue;
    const up = above(n)?.n ?? (complete(n, byNumber) ? 0 : -1);
    if (up < 0) continue;
    const known = children.get(up);
    if (known) known.push(n);
    else children.set(up, [n]);
  }
  const end = (n: Node): Node => {
    for (let below = children.get(n.n); below; below = children.get(n.n)) n = below.at(-1)!;
    return n;
  };
  const all = new Map<string, Siblings>();
  for (const same of children.values()) {
    if (same.length < 2) continue;
    const ends = same.map((n) => end(n).id);
    same.forEach((n, at) => all.set(n.id, { at, ends }));
  }
  return all;
}

// complete reports whether nothing above an entry is missing: it is one of the first.
function complete(n: Node, byNumber: ReadonlyMap<number, Node>): boolean {
  for (let p: Node | undefined = n; p; ) {
    if (!p.up || p.up >= p.n) return true;
    p = byNumber.get(p.up);
  }
  return false;
}
