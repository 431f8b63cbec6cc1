// Numbers, sizes and times as people read them. Short, and the same everywhere.

import type { Damage } from "./wire";

const units = ["B", "kB", "MB", "GB", "TB"];

// bytes is a size: 512 B, 1.4 kB, 23 MB.
export function bytes(n: number): string {
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 || n >= 9.95 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

// tokens is a count: 512, 1.9k, 612k, 1.2M.
export function tokens(n: number): string {
  if (n < 1000) return String(Math.round(n));
  if (n < 999_500) return n < 9_950 ? (n / 1000).toFixed(1) + "k" : Math.round(n / 1000) + "k";
  return (n / 1e6).toFixed(1) + "M";
}

const whole = new Intl.NumberFormat("en");

// count is a number with its thousands set apart: 1,284.
export function count(n: number): string {
  return whole.format(n);
}

// plural is a count with its noun: 1 session, 3 sessions, 2 branches.
export function plural(n: number, noun: string): string {
  const es = /(s|x|ch|sh)$/.test(noun);
  const y = /[^aeiou]y$/.test(noun);
  const many = y ? noun.slice(0, -1) + "ies" : noun + (es ? "es" : "s");
  return `${count(n)} ${n === 1 ? noun : many}`;
}

// percent is a share of a whole; what is there is never said to be nothing.
export function percent(part: number, of: number): string {
  if (of <= 0) return "–";
  const p = (part / of) * 100;
  return p > 0 && p < 1 ? "<1%" : `${Math.round(p)}%`;
}

// cost is money in dollars; small sums have their cents and more.
export function cost(dollars: number): string {
  if (dollars === 0) return "$0";
  return dollars < 0.01 ? "<$0.01" : "$" + dollars.toFixed(2);
}

// duration is a time that something took.
export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${Math.round(s % 60)} s`;
  return `${Math.floor(m / 60)} h ${m % 60} min`;
}

// ago is how long ago a time is, in one unit: now, 5m, 2h, 3d, else a date.
export function ago(then: Date, now: Date): string {
  const s = Math.round((now.getTime() - then.getTime()) / 1000);
  if (s < 45) return "now";
  if (s < 3570) return `${Math.max(1, Math.round(s / 60))}m ago`;
  if (s < 86_400) return `${Math.round(s / 3600)}h ago`;
  if (s < 7 * 86_400) return `${Math.round(s / 86_400)}d ago`;
  const sameYear = then.getFullYear() === now.getFullYear();
  return then.toLocaleDateString("en", { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}

// moment is a time in full.
export function moment(t: Date): string {
  return t.toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
}

// shortId is as much of an id as the command line shows: all that tells the time it
// was made. It can be typed where an id is wanted.
export function shortId(id: string): string {
  return id.slice(0, 13);
}

// shortPath is a path with the home directory as ~.
export function shortPath(path: string): string {
  return path.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root)(?=\/|$)/, "~");
}

// Characters that steer a terminal, where a command is pasted, or turn text round.
const steering = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// shell is a word as a shell takes it. What steers a terminal is left out: it
// would be done when the command is pasted.
export function shell(word: string): string {
  word = word.replace(/[\t\n\r]+/g, " ").replace(steering, "");
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

// free is a word of a command that may begin like an option: a title, a name.
export function free(word: string): string {
  return (word.startsWith("-") ? "-- " : "") + shell(word);
}

// The gateway tells so many bytes of how a session begins.
const promptLen = 100;

// titleOf is what a session is called: by people, or by how it begins.
export function titleOf(s: { title?: string; prompt?: string }): string {
  if (s.title || !s.prompt) return s.title || "untitled";
  return new TextEncoder().encode(s.prompt).length > promptLen - 4 ? s.prompt + "…" : s.prompt;
}

// sentence is what a program says, as a sentence. Commands stay as they are typed.
export function sentence(s: string): string {
  const command = /^firn\b/.test(s);
  const bare = command ? s.split(" ").length < 4 : /(: |with |by )firn [^.]*$/.test(s);
  return (command ? s : s.charAt(0).toUpperCase() + s.slice(1)) + (bare || /[.!?)…]$/.test(s) ? "" : ".");
}

// roleName is who says something in a transcript, in the words of the pages.
export function roleName(role: string): string {
  return role === "toolResult" ? "tool" : role;
}

// damageText says what is wrong with an entry, and where it stands.
export function damageText(d: Damage): string {
  const what = d.kind === "bad-text" ? "has bytes that are not text" : d.lost ? "could not be read" : "is out of place";
  const where = d.part ? `at byte ${count(d.offset ?? 0)} of part ${d.part}` : `at position ${count(d.at)}`;
  const who = d.n ? `entry #${d.n}` : d.after ? `an entry after #${d.after}` : "an entry here";
  return `${who} ${what} (${d.reason}; ${where})`;
}
