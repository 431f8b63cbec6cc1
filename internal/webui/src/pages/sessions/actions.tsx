// What can be done with sessions: with one, or with many at once. All of it can
// be taken back.
import { useState } from "preact/hooks";
import { post, Problem, request, saveAs, sessionPath, useGet } from "../../api";
import { plural, shell } from "../../format";
import { attempt, complain, CopyCLI, Dialog, say } from "../../ui";
import type { Batch, BatchResult, Format, Page, Patch, Session } from "../../wire";
import type { SessionList } from "./list";
import { nameOf } from "./row";
import { tar } from "./tar";

// each runs something for many sessions, a few at a time, and gives those for
// which it did not work.
async function each(ids: string[], what: (id: string) => Promise<unknown>): Promise<{ id: string; err: unknown }[]> {
  const failed: { id: string; err: unknown }[] = [];
  const left = [...ids];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await what(id);
      } catch (err) {
        failed.push({ id, err });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, ids.length) }, work));
  return failed;
}

function named(sessions: Session[]): string {
  return sessions.length === 1 ? `“${nameOf(sessions[0]!)}”` : plural(sessions.length, "session");
}

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
  if (good.length < ids.length) {
    revert();
    list.touch();
  }
  if (good.length === 0) return;
  const done = new Set(good.map((r) => r.id));
  say(`${o.done} ${named(sessions.filter((s) => done.has(s.id)))}`, async () => {
    await undo(good);
    if (good.length === ids.length) revert();
    list.touch();
  });
}

export function archive(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, { patch: { archived: on }, shown: () => null, done: on ? "Archived" : "Took out of the archive:" });
}

export function hide(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, { patch: { hidden: on }, shown: () => null, done: on ? "Hid" : "Restored" });
}

// The commands that do the same.
export const commands = {
  archive: (s: Session[], on: boolean) => `firn archive ${on ? "" : "--undo "}${s.map((x) => x.id).join(" ")}`,
  hide: (s: Session[], on: boolean) => (on ? `firn rm ${s.map((x) => x.id).join(" ")}` : s.map((x) => `firn restore ${x.id}`).join("\n")),
  tag: (s: Session[], add: string[], drop: string[]) =>
    s.map((x) => ["firn tag", x.id, ...add.map((t) => shell("+" + t)), ...drop.map((t) => shell("-" + t))].join(" ")).join("\n"),
  export: (s: Session[], format: string) => s.map((x) => `firn export ${x.id} --format ${format} -o ${fileName(x, format)}`).join("\n"),
  rename: (s: Session, title: string) => `firn rename ${s.id} ${shell(title)}`,
};

interface DialogProps {
  list: SessionList;
  sessions: Session[];
  close: () => void;
}

export function TagDialog({ list, tags, sessions, close }: DialogProps & { tags: string[] }) {
  const had = [...new Set(sessions.flatMap((s) => s.tags ?? []))].sort();
  const [text, setText] = useState("");
  const [drop, setDrop] = useState<string[]>([]);
  const add = text.split(/[\s,]+/).filter((t) => t && !drop.includes(t));
  const tagsOf = (s: Session) => [...new Set([...(s.tags ?? []), ...add])].filter((t) => !drop.includes(t));
  const nothing = add.length === 0 && drop.length === 0;
  const submit = () => {
    if (nothing) return;
    close();
    void change(list, sessions, {
      add,
      drop,
      shown: (s) => ({ ...s, tags: tagsOf(s) }),
      done: "Tagged",
    });
  };
  return (
    <Dialog
      title={`Tag ${named(sessions)}`}
      close={close}
      submit={submit}
      actions={
        <>
          {!nothing && <CopyCLI small command={commands.tag(sessions, add, drop)} />}
          <button type="submit" class="button primary" disabled={nothing}>
            Save
          </button>
        </>
      }
    >
      <label class="field">
        <span>Add tags, with spaces between them</span>
        <input class="input" list="all-tags" autofocus autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <datalist id="all-tags">
        {tags.map((t) => (
          <option key={t} value={t} />
        ))}
      </datalist>
      {had.length > 0 && (
        <fieldset class="field">
          <legend>Tags they have</legend>
          {had.map((t) => (
            <label key={t} class="check">
              <input
                type="checkbox"
                checked={!drop.includes(t)}
                onChange={() => setDrop(drop.includes(t) ? drop.filter((d) => d !== t) : [...drop, t])}
              />
              {t}
            </label>
          ))}
        </fieldset>
      )}
    </Dialog>
  );
}

export function RenameDialog({ list, sessions, close }: DialogProps) {
  const s = sessions[0]!;
  const [title, setTitle] = useState(s.title ?? "");
  return (
    <Dialog
      title="Rename the session"
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

function fileName(s: Session, format: string): string {
  return `${s.id}.${format === "html" ? "html" : "jsonl"}`;
}

export function ExportDialog({ sessions, close }: DialogProps) {
  const formats = useGet<Page<Format>>("/v1/formats");
  const [format, setFormat] = useState("html");
  const [done, setDone] = useState(-1);
  const names = ["html", ...(formats.data?.items ?? []).map((f) => f.name).filter((n) => n !== "html")];
  const run = async () => {
    const files: { name: string; body: Blob }[] = [];
    setDone(0);
    const failed = await each(
      sessions.map((s) => s.id),
      async (id) => {
        const reply = await request("GET", sessionPath(id, "export"), { query: { format }, headers: { Accept: "*/*" } });
        files.push({ name: fileName(sessions.find((s) => s.id === id)!, format), body: await reply.blob() });
        setDone(files.length);
      },
    );
    close();
    if (failed.length > 0) complain(failed[0]!.err);
    if (files.length === 0) return;
    if (files.length === 1) saveAs(files[0]!.body, files[0]!.name);
    else saveAs(await tar(files), "sessions.tar");
    say(`Exported ${files.length === 1 ? nameOf(sessions[0]!) : plural(files.length, "session")}`);
  };
  return (
    <Dialog
      title={`Export ${named(sessions)}`}
      close={close}
      submit={() => void attempt(run)}
      actions={
        <>
          <CopyCLI small command={commands.export(sessions, format)} />
          <button type="submit" class="button primary" disabled={done >= 0}>
            {done >= 0 ? `${done} of ${sessions.length}…` : "Export"}
          </button>
        </>
      }
    >
      <label class="field">
        <span>Format</span>
        <select class="select" value={format} onChange={(e) => setFormat(e.currentTarget.value)}>
          {names.map((n) => (
            <option key={n} value={n}>
              {n === "html" ? "html: a page to read" : n}
            </option>
          ))}
        </select>
      </label>
      <p class="faint field">{sessions.length > 1 ? "Several sessions come as one tar file. " : ""}Secrets are masked in pages; other formats have what is in the file.</p>
    </Dialog>
  );
}
