// Lines of the file as they came. What a browser makes of JSON is not what was
// in it: large numbers, order and spelling change. So the lines are cut out of
// the text of the answer.

// Line is a line of the file, or a gap where nothing could be read.
export interface Line {
  n: number;
  at: number;
  text: string;
  gap?: string;
}

interface Told {
  items: { at: number; n?: number; line?: unknown; gap?: string }[] | null;
  cursor?: string;
}

// linesOf takes an answer of the entries apart.
export function linesOf(answer: string): { lines: Line[]; cursor?: string } {
  const told = JSON.parse(answer) as Told;
  const raw = rawLines(answer);
  let next = 0;
  const lines = (told.items ?? []).map((e) => ({
    n: e.n ?? 0,
    at: e.at,
    gap: e.gap,
    text: e.line === undefined ? "" : (raw[next++] ?? JSON.stringify(e.line)),
  }));
  return { lines, cursor: told.cursor };
}

// rawLines are the values of "line" of the items, as they are spelt. Items are
// objects in the array that is the value of "items" of the outermost object:
// their members have depth 3.
function rawLines(json: string): string[] {
  const out: string[] = [];
  let depth = 0;
  for (let i = 0; i < json.length; i++) {
    const c = json[i];
    if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") depth--;
    else if (c === '"') {
      const end = stringEnd(json, i);
      if (depth === 3 && json.slice(i, end) === '"line"' && json[end] === ":") {
        const stop = valueEnd(json, end + 1);
        out.push(json.slice(end + 1, stop));
        i = stop - 1;
      } else i = end - 1;
    }
  }
  return out;
}

// stringEnd is behind the string that begins at a place.
function stringEnd(json: string, at: number): number {
  let i = at + 1;
  while (i < json.length && json[i] !== '"') i += json[i] === "\\" ? 2 : 1;
  return i + 1;
}

// valueEnd is behind the value that begins at a place.
function valueEnd(json: string, at: number): number {
  let depth = 0;
  for (let i = at; i < json.length; i++) {
    const c = json[i];
    if (c === '"') i = stringEnd(json, i) - 1;
    else if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") {
      if (depth === 0) return i;
      depth--;
    } else if (c === "," && depth === 0) return i;
    if (depth === 0 && i > at && (c === "}" || c === "]")) return i + 1;
  }
  return json.length;
}
