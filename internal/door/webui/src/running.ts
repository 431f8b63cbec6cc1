// The set of sessions with a running turn.
import { signal } from "@preact/signals";
import { get, Problem } from "./api";
import { connected } from "./live";
import { lost } from "./lost";
import type { Event, Page, Session } from "./wire";

export const running = signal<ReadonlySet<string>>(new Set());

export async function loadRunning(): Promise<void> {
  try {
    const page = await get<Page<Session>>("/v1/running");
    running.value = new Set((page.items ?? []).map((s) => s.id));
    if (connected.peek() !== "waiting") lost.value = false;
  } catch (err) {
    // The set stays stale.
    if (!(err instanceof Problem)) lost.value = true;
  }
}

// noteRunning updates the set from an event.
export function noteRunning(e: Event): void {
  if (!e.session) return;
  const now = e.name === "turn.started" ? true : e.name === "turn.completed" || e.name === "turn.failed" ? false : undefined;
  if (now === undefined || running.peek().has(e.session) === now) return;
  const set = new Set(running.peek());
  if (now) set.add(e.session);
  else set.delete(e.session);
  running.value = set;
}
