// Toast is a notification, optionally with an undo button.
import { signal } from "@preact/signals";
import { asProblem } from "../api";
import { notices } from "../prefs";
import { Icon } from "./Icon";

interface Note {
  id: number;
  text: string;
  undo?: () => unknown;
  bad?: boolean;
  hint?: string;
  // cause ends the notification when it ends.
  cause?: string;
}

const notes = signal<Note[]>([]);
const timers = new Map<number, number>();
let next = 1;

// Notifications with undo stay longer.
const short = 4_000;
const long = 12_000;

function show(note: Omit<Note, "id">, ms: number): void {
  const id = next++;
  notes.value = [...notes.value.slice(-2), { ...note, id }];
  // A browser may keep notices longer, or until they are closed.
  const wish = notices.now.peek();
  if (wish !== "stay") timers.set(id, window.setTimeout(() => dismiss(id), wish === "long" ? Math.max(ms, 20_000) : ms));
}

function dismiss(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
  notes.value = notes.value.filter((n) => n.id !== id);
}

// notify shows a notification, with an undo button if undo is given.
export function notify(text: string, undo?: () => unknown, cause?: string): void {
  show({ text, undo, cause }, undo ? long : short);
}

// endToasts dismisses the notifications of a cause that has ended.
export function endToasts(cause: string): void {
  for (const n of notes.peek()) if (n.cause === cause) dismiss(n.id);
}

// notifyError shows an error.
export function notifyError(err: unknown): void {
  const p = asProblem(err);
  show({ text: p.message, hint: p.hint, bad: true, cause: p.kind }, long);
}

// attempt runs an operation. On an error it shows the error and returns undefined.
export async function attempt<T>(what: () => Promise<T>): Promise<T | undefined> {
  try {
    return await what();
  } catch (err) {
    notifyError(err);
    return undefined;
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notes.value.map((n) => (
        <div key={n.id} class={"toast" + (n.bad ? " bad" : "")}>
          <p>
            {n.text}
            {n.hint && <span class="toast-hint">{n.hint}</span>}
          </p>
          {n.undo && (
            <button
              type="button"
              class="toast-undo"
              onClick={() => {
                dismiss(n.id);
                void attempt(async () => n.undo?.());
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(n.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
