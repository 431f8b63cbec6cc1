// What is done with a whole session, and how it is called.
import { patch, sessionPath } from "../../api";
import { shell } from "../../format";
import { attempt, say } from "../../ui";
import type { Patch, Session } from "../../wire";
import type { Watch } from "./watch";

// titleOf is what a session is called: by people, or by how it begins.
export function titleOf(s: Session): string {
  return s.title || s.prompt || "Untitled";
}

// change changes a session, and can be taken back by changing it again.
export async function change(watch: Watch, to: Patch, back: Patch, done: string): Promise<boolean> {
  const changed = await attempt(() => patch<Session>(sessionPath(watch.id), to));
  if (!changed) return false;
  watch.patched(changed);
  say(done, () => change(watch, back, to, "As it was before"));
  return true;
}

// commands are those that do the same on the command line.
export function commands(s: Session): [what: string, command: string][] {
  const id = shell(s.id);
  return [
    ["Talk", `firn chat -r ${id}`],
    ["Print", `firn cat ${id}`],
    ["Rename", `firn rename ${id} ${shell(s.title || "TITLE")}`],
    ["Tag", `firn tag ${id} +NAME`],
    ["Fork", `firn fork ${id}`],
    ["Compact", `firn compact ${id}`],
    ["Export", `firn export ${id} --format html -o session.html`],
    [s.archived ? "Take out of the archive" : "Archive", `firn archive ${s.archived ? "--undo " : ""}${id}`],
    [s.hidden ? "Show in lists" : "Hide from lists", `firn ${s.hidden ? "restore" : "rm"} ${id}`],
  ];
}
