// Keyboard shortcuts. Mounted components bind keys; the latest binding wins; the help dialog lists
// them.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { hold } from "./typeahead";

// Binding is a key, or a sequence of two ("g s"), and its action. mod is Ctrl, or Command on a Mac.
export interface Binding {
  key: string;
  does: string;
  run: (e: KeyboardEvent) => void;
  // typing enables the key in text boxes too.
  typing?: boolean;
}

interface Group {
  name: string;
  bindings: Binding[];
}

const groups = signal<Group[]>([]);

// bound returns the groups for the help dialog, latest first.
export function bound(): Group[] {
  return [...groups.value].reverse();
}

export const mac = /Mac|iPhone|iPad/.test(navigator.platform);

// keyName returns the display name of a key.
export function keyName(key: string): string {
  return key
    .replace("mod+", mac ? "⌘" : "Ctrl ")
    .replace("Enter", "↵")
    .replace("Escape", "Esc")
    .replace("ArrowDown", "↓")
    .replace("ArrowUp", "↑");
}

let begun = "";
let forget = 0;

function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return !!t && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)) && (t as HTMLInputElement).type !== "checkbox";
}

// A focused button or link handles Enter and Space itself.
function taken(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return (e.key === "Enter" || e.key === " ") && !!t?.closest?.("button, a, summary, [role=menuitem], [role=option]");
}

function press(e: KeyboardEvent): void {
  if (e.defaultPrevented || e.isComposing || e.altKey) return;
  const mod = e.metaKey || e.ctrlKey;
  const name = (mod ? "mod+" : "") + (e.key.length === 1 && mod ? e.key.toLowerCase() : e.key);
  const pair = begun ? `${begun} ${name}` : "";
  const open = document.querySelector("dialog[open]");
  if (!open && !mod && !typing(e) && !taken(e) && hold(e)) return;
  begun = "";
  clearTimeout(forget);
  // The second key of a sequence takes precedence over its own binding.
  const wanted = pair && groups.peek().some((g) => g.bindings.some((b) => b.key === pair)) ? pair : name;
  for (let i = groups.peek().length - 1; i >= 0; i--) {
    for (const b of groups.peek()[i]!.bindings) {
      if (typing(e) && !b.typing) continue;
      if (open && !b.typing) continue;
      if (b.key === wanted && (wanted === pair || !taken(e))) {
        e.preventDefault();
        b.run(e);
        return;
      }
    }
  }
  if (typing(e) || mod || e.key.length !== 1) return;
  if (groups.peek().some((g) => g.bindings.some((b) => b.key.startsWith(name + " ")))) {
    begun = name;
    forget = window.setTimeout(() => (begun = ""), 1200);
  }
}

export function startKeys(): void {
  document.addEventListener("keydown", press);
}

// useKeys binds keys while a component is mounted. Actions may change with each render; keys may
// not.
export function useKeys(name: string, bindings: Binding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const keys = bindings.map((b) => b.key).join("\n");
  // In a layout effect, so that a key that is pressed before the page was drawn is not lost.
  useLayoutEffect(() => {
    const group: Group = {
      name,
      bindings: latest.current.map((b, i) => ({ ...b, run: (e) => latest.current[i]?.run(e) })),
    };
    groups.value = [...groups.peek(), group];
    return () => (groups.value = groups.peek().filter((g) => g !== group));
  }, [name, keys]);
}
