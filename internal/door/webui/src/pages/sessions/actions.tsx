// What can be done with sessions: with one, or with many at once. All of it can
// be taken back.
import { useState } from "preact/hooks";
import { post, Problem } from "../../api";
import { plural } from "../../format";
import { attempt, complain, CopyCLI, Dialog, say } from "../../ui";
import type { Batch, BatchResult, Page, Patch, Session } from "../../wire";
import { commands } from "../commands";
import { named } from "../dialogs";
import type { SessionList } from "./list";

const mostBatch = 500;

// batch changes many sessions and gives what came of each.
async function batch(b: Batch & { ids: string[] }): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  for (let i = 0; i < b.ids.length; i += mostBatch) {
    const page = await post<Page<BatchResult>>("/v1/sessions/batch", { ...b, ids: b.ids.slice(i, i + mostBatch) });
    results.push(...(page.items ?? []));
  }
  return results;
}

// undo makes sessions what they were before; those that were alike go together.
async function undo(results: BatchResult[]): Promise<void> {
  const alike = new Map<string, BatchResult[]>();
  for (const r of results) {
    const key = JSON.stringify(r.before);
    alike.set(key, [...(alike.get(key) ?? []), r]);
  }
  for (const group of alike.values()) refuse(await batch({ ids: group.map((r) => r.id), patch: group[0]!.before ?? {} }));
}

// refuse says what of a batch did not work, and gives what did.
function refuse(results: BatchResult[]): BatchResult[] {
  const bad = results.filter((r) => r.error);
  if (bad.length > 0) complain(new Problem(0, { kind: "invalid", message: bad[0]!.error, hint: bad.length > 1 ? `and ${plural(bad.length - 1, "session")} more` : "" }));
  return results.filter((r) => !r.error);
}

// change changes sessions. The list shows it at once; what the gateway refuses
// is put back and said.
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
  say(`${o.done} ${named(sessions.filter((s) => done.has(s.id)))}`, async () => {
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

// tag puts tags on sessions and takes others away.
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
