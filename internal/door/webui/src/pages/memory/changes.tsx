// The changes of notes, which can be undone completely or by edit.
import { post, useGet } from "../../api";
import { plural, shell } from "../../format";
import { mayWrite } from "../../me";
import { attempt, CopyCLI, Empty, Problem, Skeleton, notify, Time } from "../../ui";
import type { MemoryChange, MemoryEdit, Page } from "../../wire";
import { Evidence } from "../parts";
import { asQuery, command, type Place } from "./place";
import { undoChange, undoPath } from "./undo";

const kinds: Record<string, string> = {
  add: "Added",
  edit: "Edited",
  forget: "Deleted",
  clear: "Deleted all",
  extract: "Learned from a conversation",
  dream: "Consolidated",
  undo: "Undone",
};

export function Changes({ place, changed }: { place: Place; changed: () => void }) {
  const list = useGet<Page<MemoryChange>>("/v1/memory/changes", asQuery(place));
  const again = () => {
    list.reload();
    changed();
  };
  const undo = async (c: MemoryChange, edits?: number[]) => {
    const done = await attempt(() => post<MemoryChange>(undoPath(c.id ?? ""), edits ? { edits } : {}, { query: asQuery(place) }));
    if (!done) return;
    again();
    notify(edits ? "Edit undone" : "Change undone", undoChange(place, done.id, again));
  };
  if (list.error) return <Problem error={list.error} retry={list.reload} />;
  const all = list.data?.items ?? [];
  if (!list.data) return <Skeleton />;
  if (all.length === 0) {
    return (
      <Empty icon="memory" title="No changes yet" command={command(place, "changes")}>
        Changes to notes are listed here and can be undone.
      </Empty>
    );
  }
  return (
    <ul class="changes page-body" aria-label="Changes, newest first">
      {all.map((c) => (
        <li key={c.id} class={"change" + (c.undone ? " taken-back" : "")} data-row={c.id}>
          <header class="change-head">
            <h2>{kinds[c.kind] ?? c.kind}</h2>
            <span class="faint">
              {c.scope} · <Time at={c.time} />
              {(c.edits ?? []).length > 1 && ` · ${plural((c.edits ?? []).length, "edit")}`}
            </span>
            {c.undone && <span class="chip">undone</span>}
            {mayWrite() && c.id && !c.undone && (
              <span class="change-acts">
                <button type="button" class="button" onClick={() => void undo(c)}>
                  Undo
                </button>
                <CopyCLI small command={command(place, "undo", shell(c.id))} />
              </span>
            )}
          </header>
          <Edits edits={c.edits ?? []} undo={mayWrite() && c.id && !c.undone && (c.edits ?? []).length > 1 ? (i) => void undo(c, [i]) : undefined} />
        </li>
      ))}
    </ul>
  );
}

// Edits shows a change: removed and added lines, reason and sources.
export function Edits({ edits, undo }: { edits: MemoryEdit[]; undo?: (i: number) => void }) {
  return (
    <ol class="edits">
      {edits.map((e, i) => (
        <li key={i} class="edit">
          <p class="edit-head">
            <b>{e.do}</b> {e.note && <span class="mono">{e.note}</span>} {e.why && <span class="faint">{e.why}</span>} <Evidence sources={e.sources} />
            {undo && (
              <button type="button" class="button quiet edit-undo" aria-label={`Undo edit ${i + 1}`} onClick={() => undo(i)}>
                Undo
              </button>
            )}
          </p>
          <div class="edit-lines mono">
            {(e.old ?? []).map((line, n) => (
              <del key={"old" + n}>{tidy(line)}</del>
            ))}
            {(e.new ?? []).map((line, n) => (
              <ins key={"new" + n}>{tidy(line)}</ins>
            ))}
          </div>
        </li>
      ))}
    </ol>
  );
}

// tidy removes the source comment of a line, which is shown separately.
function tidy(line: string): string {
  return line.replace(/\s*<!-- from [^>]*-->/, "");
}
