// The preferences of this browser. They are in localStorage under these names, and nowhere else:
//
//   firn.theme     auto, light, dark        theme.ts
//   firn.contrast  auto, more               theme.ts
//   firn.density   comfortable, compact     theme.ts
//   firn.dates     a language, or iso       format.ts
//   firn.notices   normal, long, stay       ui/Toast.tsx
//
// A preference that is not stored has its default, which is the first of its values.
import { signal, type Signal } from "@preact/signals";

export interface Pref {
  // key is the name in localStorage.
  key: string;
  name: string;
  about: string;
  values: readonly (readonly [value: string, name: string])[];
  now: Signal<string>;
  // set is whether the value is stored.
  set: Signal<boolean>;
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // without storage, a preference lasts until the page is closed
  }
}

function pref(key: string, name: string, about: string, values: Pref["values"]): Pref {
  const value = stored(key);
  const known = values.some(([v]) => v === value);
  return { key, name, about, values, now: signal(known ? value! : values[0]![0]), set: signal(known) };
}

export const dates = pref("firn.dates", "Dates", "The language and order of dates and times.", [
  ["en", "English"],
  ["en-GB", "English (UK)"],
  ["iso", "ISO 8601 (2026-03-02)"],
  ["de", "Deutsch"],
  ["es", "Español"],
  ["fr", "Français"],
  ["it", "Italiano"],
  ["pt", "Português"],
  ["ja", "日本語"],
  ["zh", "中文"],
]);

export const notices = pref("firn.notices", "Notices", "How long a notice at the bottom of the page stays.", [
  ["normal", "4 seconds, 12 with Undo"],
  ["long", "20 seconds"],
  ["stay", "Until it is closed"],
]);

// choose stores a value; without one it removes it, and the default counts.
export function choose(p: Pref, value?: string): void {
  p.now.value = value ?? p.values[0]![0];
  p.set.value = value !== undefined;
  try {
    if (value === undefined) localStorage.removeItem(p.key);
    else localStorage.setItem(p.key, value);
  } catch {
    return; // see stored
  }
}

// startPrefs follows changes in other tabs.
export function startPrefs(): void {
  addEventListener("storage", (e) => {
    for (const p of [dates, notices]) {
      if (e.key !== p.key) continue;
      const known = p.values.some(([v]) => v === e.newValue);
      p.now.value = known ? e.newValue! : p.values[0]![0];
      p.set.value = known;
    }
  });
}
