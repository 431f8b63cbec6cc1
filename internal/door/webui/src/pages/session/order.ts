// Changes to a session, and its commands.
import { patch, sessionPath } from "../../api";
import { shell } from "../../format";
import { attempt, notify } from "../../ui";
import type { Patch, Session } from "../../wire";
import { commands } from "../commands";
import type { Watch } from "./watch";

// change patches a session, with undo.
export async function change(watch: Watch, to: Patch, back: Patch, done: string): Promise<boolean> {
  const changed = await attempt(() => patch<Session>(sessionPath(watch.id), to));
  if (!changed) return false;
  watch.patched(changed);
  notify(done, () => change(watch, back, to, "Undone"));
  return true;
}

// sessionCommands returns the equivalent commands.
export function sessionCommands(s: Session): [what: string, command: string][] {
  const id = shell(s.id);
  return [
    ["Chat", `firn chat -r ${id}`],
    ["Print", `firn cat ${id}`],
    ["Rename", commands.rename(s, s.title ?? "")],
    ["Tag", commands.tag([s], ["NAME"], [])],
    ["Fork", `firn fork ${id}`],
    ["Compact", `firn compact ${id}`],
    ["Export", commands.export([s], "html")],
    [s.archived ? "Unarchive" : "Archive", commands.archive([s], !s.archived)],
    [s.hidden ? "Show in lists" : "Hide from lists", commands.hide([s], !s.hidden)],
  ];
}
