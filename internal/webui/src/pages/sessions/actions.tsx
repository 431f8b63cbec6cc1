// What can be done with sessions: with one, or with many at once. All of it can
// be taken back.
import { useState } from "preact/hooks";
import { patch, request, saveAs, sessionPath, useGet } from "../../api";
import { plural, shell } from "../../format";
import { attempt, complain, CopyCLI, Dialog, say } from "../../ui";
import type { Format, Page, Patch, Session } from "../../wire";
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

// change patches sessions. The list shows it at once; what the gateway refuses is
// put back and said. The undo patches them back.
async function change(
  list: SessionList,
  sessions: Session[],
  o: { to: (s: Session) => Patch; back: (s: Session) => Patch; shown: (s: Session) => Session | null; done: string },
): Promise<void> {
  const ids = sessions.map((s) => s.id);
  const old = new Map(sessions.map((s) => [s.id, s]));
  const revert = list.put(ids, o.shown);
  const failed = await each(ids, (id) => patch(sessionPath(id), o.to(old.get(id)!)));
  if (failed.length > 0) {
    complain(failed[0]!.err);
    revert();
    if (failed.length < ids.length) list.touch();
  }
  const bad = new Set(failed.map((f) => f.id));
  const good = ids.filter((id) => !bad.has(id));
  if (good.length === 0) return;
  say(`${o.done} ${named(good.map((id) => old.get(id)!))}`, async () => {
    const stuck = await each(good, (id) => patch(sessionPath(id), o.back(old.get(id)!)));
    if (failed.length === 0) revert();
    if (stuck.length > 0) complain(stuck[0]!.err);
    list.touch();
  });
}

export function archive(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, {
    to: () => ({ archived: on }),
    back: () => ({ archived: !on }),
    shown: () => null,
    done: on ? "Archived" : "Took out of the archive:",
  });
}

export function hide(list: SessionList, sessions: Session[], on: boolean): Promise<void> {
  return change(list, sessions, {
    to: () => ({ hidden: on }),
    back: () => ({ hidden: !on }),
    shown: () => null,
    done: on ? "Hid" : "Restored",
  });
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

export function TagDialog({ list, sessions, close }: DialogProps) {
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
      to: (s) => ({ tags: tagsOf(s) }),
      back: (s) => ({ tags: s.tags ?? [] }),
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
        {list.tags.value.map((t) => (
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
          to: () => ({ title }),
          back: () => ({ title: s.title ?? "" }),
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
