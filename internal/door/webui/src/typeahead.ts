// Buffers the keys that are pressed before a session's page has loaded its composer.
let held: KeyboardEvent[] | undefined;
let limit = 0;

// holdKeys keeps the keys that are pressed from now on, until releaseKeys is called or 10
// seconds have passed.
export function holdKeys(): void {
  held ??= [];
  clearTimeout(limit);
  limit = window.setTimeout(() => releaseKeys(), 10_000);
}

// hold keeps a key and reports whether it did.
export function hold(e: KeyboardEvent): boolean {
  if (!held || (e.key.length !== 1 && e.key !== "Backspace" && e.key !== "Enter")) return false;
  e.preventDefault();
  held.push(e);
  return true;
}

// releaseKeys passes the kept keys to a composer as text, or else to the page as shortcuts.
export function releaseKeys(write?: (text: string) => void): void {
  clearTimeout(limit);
  const keys = held ?? [];
  held = undefined;
  if (!write) {
    for (const e of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: e.key, bubbles: true, cancelable: true, shiftKey: e.shiftKey }));
    return;
  }
  let text = "";
  for (const e of keys) text = e.key === "Backspace" ? text.slice(0, -1) : text + (e.key === "Enter" ? "\n" : e.key);
  if (text) write(text);
}
