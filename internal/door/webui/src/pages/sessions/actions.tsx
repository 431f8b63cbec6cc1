// Actions on one or many sessions, all with undo.
import { useState } from "preact/hooks";
import { post, Problem } from "../../api";
import { plural } from "../../format";
import { attempt, notifyError, CopyCLI, Dialog, notify } from "../../ui";
import type { Batch, BatchResult, Page, Patch, Session } from "../../wire";
import { commands } from "../commands";
import { named } from "../dialogs";
import type { SessionList } from "./list";

const mostBatch = 500;

// batch changes many sessions and returns the result of each.
async function batch(b: Batch & { ids: string[] }): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  for (let i = 0; i < b.ids.length; i += mostBatch) {
    const page = await post<Page<BatchResult>>("/v1/sessions/batch", { ...b, ids: b.ids.slice(i, i + mostBatch) });
    results.push(...(page.items ?? []));
  }
  return results;
}

// undo restores the previous state, grouped by equal patches.
async function undo(results: BatchResult[]): Promise<void> {
  const alike = new Map<string, BatchResult[]>();
  for (const r of results) {
    const key = JSON.stringify(r.before);
    alike.set(key, [...(alike.get(key) ?? []), r]);
  }
  for (const group of alike.values()) refuse(await batch({ ids: group.map((r) => r.id), patch: group[0]!.before ?? {} }));
}

// refuse reports the failures of a batch and returns the successes.
function refuse(results: BatchResult[]): BatchResult[] {
  const bad = results.filter((r) => r.error);
  if (bad.length > 0) notifyError(new Problem(0, { kind: "invalid", message: bad[0]!.error, hint: bad.length > 1 ? `and ${plural(bad.length - 1, "session")} more` : "" }));
  return results.filter((r) => !r.error);
}

// change changes sessions optimistically; failures are reverted and reported.
async function change(
  list: SessionList,
  sessions: Session[],
  o: { patch?: Patch; add?: string[]; drop?: string[]; shown: (s: Session) => Session | null; done: string },
): Promise<void> {
  const ids = sessions.map((s) => s.id);
  const revert = list.put(ids, o.shown);
  const results = await attempt(() => batch({ ids, patch: o.patch ?? {}, addTags: o.add, dropTags: o.drop }));
  const good = results ? refuse(results) : [];
  const done = new Set(good.map((r) => r.id));
  revert(ids.filter((id) => !done.has(id)));
  if (good.length === 0) return;
  notify(`${o.done} ${named(sessions.filter((s) => done.has(s.id)))}`, async () => {
    await undo(good);
    revert([...done]);
    list.touch();
  });
}

export function archive(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, { patch: { archived: on }, shown: () => null, done: on ? "Archived" : "Unarchived" });
}

export function hide(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, { patch: { hidden: on }, shown: () => null, done: on ? "Hidden:" : "Restored" });
}

interface DialogProps {
  list: SessionList;
  sessions: Session[];
  close: () => void;
}

// tag adds and removes tags.
export function tag(list: SessionList, sessions: Session[], add: string[], drop: string[]): Promise<void> {
  const tagsOf = (s: Session) => [...new Set([...(s.tags ?? []), ...add])].filter((t) => !drop.includes(t));
  return change(list, sessions, { add, drop, shown: (s) => ({ ...s, tags: tagsOf(s) }), done: "Tagged" });
}

export function RenameDialog({ list, sessions, close }: DialogProps) {
  const s = sessions[0]!;
  const [title, setTitle] = useState(s.title ?? "");
  return (
    <Dialog
      title="Rename session"
      close={close}
      submit={() => {
        close();
        void change(list, [s], {
          patch: { title },
          shown: (x) => ({ ...x, title }),
          done: "Renamed",
        });
      }}
      actions={
        <>
          <CopyCLI small command={commands.rename(s, title)} />
          <button type="submit" class="button primary" disabled={title === (s.title ?? "")}>
            Save
          </button>
        </>
      }
    >
      <label class="field">
        <span>Title</span>
        <input class="input" autofocus value={title} onInput={(e) => setTitle(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}
