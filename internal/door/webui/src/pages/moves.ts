// Fork and rewind, used by several pages.
import { del, post, sessionPath } from "../api";
import { go, toSession } from "../router";
import { attempt, notify } from "../ui";
import type { Moved, Session } from "../wire";

// fork creates a session that continues from an entry or the head of another, and opens it. Undo
// hides it.
export async function fork(session: string, at?: string): Promise<void> {
  const made = await attempt(() => post<Session>(sessionPath(session, "fork"), at ? { at } : {}));
  if (!made) return;
  const from = location.pathname + location.search;
  go(toSession(made.id));
  notify("Forked. This is the new session", async () => {
    await del(sessionPath(made.id));
    go(from);
  });
}

// rewind moves the head of a session. Undo moves it back.
export function rewind(session: string, to: string, back?: number): Promise<Moved | undefined> {
  return attempt(() => post<Moved>(sessionPath(session, "rewind"), back ? { back } : { to }));
}
