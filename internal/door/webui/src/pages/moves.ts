// Forks and moves of the head, wherever they are asked for.
import { del, post, sessionPath } from "../api";
import { go, toSession } from "../router";
import { attempt, say } from "../ui";
import type { Moved, Session } from "../wire";

// fork makes a session that goes on from an entry of another, or from its head, and
// opens it. To hide it is the way back.
export async function fork(session: string, at?: string): Promise<void> {
  const made = await attempt(() => post<Session>(sessionPath(session, "fork"), at ? { at } : {}));
  if (!made) return;
  const from = location.pathname + location.search;
  go(toSession(made.id));
  say("Forked. This is the new session", async () => {
    await del(sessionPath(made.id));
    go(from);
  });
}

// rewind moves the head of a session. To move it to where it was is the undo.
export function rewind(session: string, to: string): Promise<Moved | undefined> {
  return attempt(() => post<Moved>(sessionPath(session, "rewind"), { to }));
}
