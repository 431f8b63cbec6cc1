// Highlighting of matches. The gateway's ranges are UTF-8 byte offsets, not characters.

// Piece is a part of a text, marked if it matches.
export interface Piece {
  text: string;
  marked: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// pieces splits a text at byte ranges. Overlapping ranges are merged; ranges beyond the text are
// dropped.
export function pieces(text: string, ranges: readonly (readonly number[])[] | undefined): Piece[] {
  if (!ranges || ranges.length === 0) return [{ text, marked: false }];
  const bytes = encoder.encode(text);
  const sorted = ranges
    .map(([from = 0, to = 0]): [number, number] => [Math.max(0, from), Math.min(bytes.length, to)])
    .filter(([from, to]) => from < to)
    .sort((a, b) => a[0] - b[0]);
  const out: Piece[] = [];
  const add = (from: number, to: number, marked: boolean) => {
    if (from < to) out.push({ text: decoder.decode(bytes.subarray(from, to)), marked });
  };
  let at = 0;
  for (const [from, to] of sorted) {
    if (to <= at) continue;
    add(at, Math.max(at, from), false);
    add(Math.max(at, from), to, true);
    at = to;
  }
  add(at, bytes.length, false);
  return out;
}
