// Formatting of numbers, sizes and times.

import { plainLine } from "./plaintext";
import { dates } from "./prefs";
import type { Damage } from "./wire";

const units = ["B", "kB", "MB", "GB", "TB"];

// bytes formats a size: 512 B, 1.4 kB, 23 MB.
export function bytes(n: number): string {
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 || n >= 9.95 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

// tokens formats a token count: 512, 1.9k, 612k, 1.2M.
export function tokens(n: number): string {
  if (n < 1000) return String(Math.round(n));
  if (n < 999_500) return n < 9_950 ? (n / 1000).toFixed(1) + "k" : Math.round(n / 1000) + "k";
  return n < 999.95e6 ? (n / 1e6).toFixed(1) + "M" : (n / 1e9).toFixed(1) + "B";
}

const whole = new Intl.NumberFormat("en");

// count formats a number with separators: 1,284.
export function count(n: number): string {
  return whole.format(n);
}

// plural formats a count with its noun: 1 session, 3 sessions, 2 branches.
export function plural(n: number, noun: string): string {
  const es = /(s|x|ch|sh)$/.test(noun);
  const y = /[^aeiou]y$/.test(noun);
  const many = y ? noun.slice(0, -1) + "ies" : noun + (es ? "es" : "s");
  return `${count(n)} ${n === 1 ? noun : many}`;
}

// percent formats a share; a positive share is never shown as 0%.
export function percent(part: number, of: number): string {
  if (of <= 0) return "–";
  const p = (part / of) * 100;
  return p > 0 && p < 1 ? "<1%" : `${Math.round(p)}%`;
}

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

// cost formats dollars: $0.00, <$0.01, $0.42, $1,284.00.
export function cost(dollars: number): string {
  if (dollars === 0) return "$0.00";
  return dollars < 0.01 ? "<$0.01" : "$" + money.format(dollars);
}

// duration formats milliseconds.
export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${Math.round(s % 60)} s`;
  return `${Math.floor(m / 60)} h ${m % 60} min`;
}

// locale returns the language of dates. Swedish dates have the form of ISO 8601.
function locale(): string {
  return dates.now.value === "iso" ? "sv" : dates.now.value;
}

// ago formats a relative time in one unit (now, 5m, 2h, 3d), else as a date.
export function ago(then: Date, now: Date): string {
  const s = Math.round((now.getTime() - then.getTime()) / 1000);
  if (s < 45) return "now";
  if (s < 3570) return `${Math.max(1, Math.round(s / 60))}m ago`;
  if (s < 86_400) return `${Math.round(s / 3600)}h ago`;
  if (s < 7 * 86_400) return `${Math.round(s / 86_400)}d ago`;
  const sameYear = then.getFullYear() === now.getFullYear();
  return then.toLocaleDateString(locale(), { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}

// moment formats a full date and time.
export function moment(t: Date): string {
  return t.toLocaleString(locale(), { dateStyle: dates.now.value === "iso" ? "short" : "medium", timeStyle: "medium" });
}

// longDay formats a day: Tuesday, 3 March 2026.
export function longDay(t: Date): string {
  return t.toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

// clock formats a time of day: 14:05.
export function clock(t: Date): string {
  return t.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", hour12: false });
}

// monthName formats a month: Mar.
export function monthName(t: Date): string {
  return t.toLocaleDateString(locale(), { month: "short" });
}

// shortId returns the prefix of an ID that the CLI shows. Commands accept it.
export function shortId(id: string): string {
  return id.slice(0, 13);
}

// shortPath replaces the home directory with ~.
export function shortPath(path: string): string {
  return path.replace(/^(\/home\/[^/]+|\/Users\/[^/]+|\/root)(?=\/|$)/, "~");
}

// Control and bidirectional characters, which could affect a terminal when pasted.
const steering = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// shell quotes a word for a shell and removes control characters.
export function shell(word: string): string {
  word = word.replace(/[\t\n\r]+/g, " ").replace(steering, "");
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

// free quotes a word that may begin with a dash, such as a title.
export function free(word: string): string {
  return (word.startsWith("-") ? "-- " : "") + shell(word);
}

// The gateway truncates prompts to this many bytes.
const promptLen = 100;

// titleOf returns a session's title, or the beginning of its first prompt.
export function titleOf(s: { title?: string; prompt?: string }): string {
  if (s.title || !s.prompt) return s.title ? plainLine(s.title) : "untitled";
  const line = plainLine(s.prompt);
  return new TextEncoder().encode(s.prompt).length > promptLen - 4 ? line + "…" : line;
}

// sentence turns an error message into a sentence; commands stay unchanged.
export function sentence(s: string): string {
  const command = /^firn\b/.test(s);
  const bare = command ? s.split(" ").length < 4 : /(: |with |by )firn [^.]*$/.test(s);
  return (command ? s : s.charAt(0).toUpperCase() + s.slice(1)) + (bare || /[.!?)…]$/.test(s) ? "" : ".");
}

// roleName returns the display name of a role.
export function roleName(role: string): string {
  return role === "toolResult" ? "tool" : role;
}

// damageText describes a damaged entry and its place.
export function damageText(d: Damage): string {
  const what = d.kind === "bad-text" ? "contains invalid UTF-8" : d.lost ? "could not be read" : "is out of place";
  const where = d.part ? `at byte ${count(d.offset ?? 0)} of part ${d.part}` : `at position ${count(d.at)}`;
  const who = d.n ? `entry #${d.n}` : d.after ? `an entry after #${d.after}` : "an entry here";
  return `${who} ${what} (${d.reason}; ${where})`;
}
