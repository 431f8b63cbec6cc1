// Snippets as plain text: Markdown is removed, matches stay marked.
import type { Piece } from "./matches";

type Range = [from: number, to: number];

// Code is left as it is, except for its delimiters.
const code = /(^[ \t]*(?:```|~~~)[^\n]*\n?)([\s\S]*?)(^[ \t]*(?:```|~~~)[ \t]*$\n?|$(?![\s\S]))|(`+)([^`]+)\4/gm;

// Each rule removes its groups; the rest of the match stays.
const rules: RegExp[] = [
  /^(?<a>[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]*(?::?-{2,}:?)?[ \t]*\n?)/gm, // the line below the head of a table
  /^(?<a>[ \t]*(?:[-*_][ \t]*){3,}$\n?)/gm, // a rule
  /^(?<a>[ \t]*(?:>[ \t]?)+)/gm, // quotes
  /^(?<a>[ \t]*#{1,6}[ \t]+)/gm, // headings
  /^(?<a>[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)/gm, // lists
  /(?<a>!?\[)(?:[^\][\n]+)(?<b>\]\([^)\s]*(?:[ \t]+"[^"]*")?\))/g, // links and pictures
  /(?<a>\*\*|__|~~)(?=\S)(?:[^\n]*?\S)(?<b>\1)/g, // strong and deleted text
  /(?<![\w*])(?<a>\*)(?=[^\s*])(?:[^*\n]*[^\s*])(?<b>\*)(?![\w*])/g,
  /(?<!\w)(?<a>_)(?=[^\s_])(?:[^_\n]*[^\s_])(?<b>_)(?!\w)/g,
  /(?<a><\/?(?:kbd|br|b|i|u|em|strong|sub|sup|details|summary|p|div|span)(?:\s[^<>]*)?\/?>)/gi,
  /(?<a>\\)(?=[\\`*_{}[\]()#+.!|<>~-])/g, // escapes
];

// pipes are removed from the lines of tables.
const tableLine = /^[ \t]*\|.*\|[ \t]*$/gm;

// removals returns the parts of a text that are Markdown, in order.
function removals(text: string): Range[] {
  const out: Range[] = [];
  const kept: Range[] = [];
  for (const m of text.matchAll(code)) {
    const open = (m[1] ?? m[4])!.length;
    const close = m[1] === undefined ? open : (m[3] ?? "").length;
    const end = m.index + m[0].length;
    out.push([m.index, m.index + open], [end - close, end]);
    kept.push([m.index, end]);
  }
  const inCode = (at: number) => kept.some(([from, to]) => from <= at && at < to);
  for (const rule of rules) {
    for (const m of text.matchAll(rule)) {
      const { a = "", b = "" } = m.groups ?? {};
      const end = m.index + m[0].length;
      if (inCode(m.index) || (b && inCode(end - 1))) continue;
      out.push([m.index, m.index + a.length]);
      if (b) out.push([end - b.length, end]);
    }
  }
  for (const m of text.matchAll(tableLine)) {
    for (const bar of m[0].matchAll(/\|/g)) if (!inCode(m.index + bar.index)) out.push([m.index + bar.index, m.index + bar.index + 1]);
  }
  return out;
}

// plainPieces removes Markdown from the pieces of a text. What is marked stays.
export function plainPieces(pieces: readonly Piece[]): Piece[] {
  const text = pieces.map((p) => p.text).join("");
  const gone = new Uint8Array(text.length);
  for (const [from, to] of removals(text)) gone.fill(1, from, to);
  const out: Piece[] = [];
  let at = 0;
  for (const p of pieces) {
    const kept = p.marked ? p.text : [...Array(p.text.length).keys()].filter((i) => !gone[at + i]).map((i) => p.text[i]).join("");
    at += p.text.length;
    if (kept) out.push({ text: kept, marked: p.marked });
  }
  return out;
}

// plainSnippet removes Markdown from a text without marks.
export function plainSnippet(text: string): string {
  return plainPieces([{ text, marked: false }]).map((p) => p.text).join("");
}
