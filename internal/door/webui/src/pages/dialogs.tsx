// Dialogs for one or many sessions: tags and export.
import { useState } from "preact/hooks";
import { request, saveAs, sessionPath, useGet } from "../api";
import { bytes, plural, titleOf } from "../format";
import { attempt, notifyError, CopyCLI, Dialog, notify } from "../ui";
import type { FormatPage, Session } from "../wire";
import { commands, fileName } from "./commands";
import { tar } from "./sessions/tar";

interface Props {
  sessions: Session[];
  close: () => void;
}

// named returns a phrase for sessions: a title or a count.
export function named(sessions: Session[]): string {
  return sessions.length === 1 ? `“${titleOf(sessions[0]!)}”` : plural(sessions.length, "session");
}

interface TagProps extends Props {
  // tags are the known tags; save receives the tags to add and to remove.
  tags: string[];
  save: (add: string[], drop: string[]) => void;
}

export function TagDialog({ sessions, tags, save, close }: TagProps) {
  const had = [...new Set(sessions.flatMap((s) => s.tags ?? []))].sort();
  const [text, setText] = useState("");
  const [drop, setDrop] = useState<string[]>([]);
  const add = [...new Set(text.split(/[\s,]+/))].filter((t) => t && !drop.includes(t));
  const nothing = add.length === 0 && drop.length === 0;
  return (
    <Dialog
      title={`Tag ${named(sessions)}`}
      close={close}
      submit={() => {
        if (nothing) return;
        close();
        save(add, drop);
      }}
      actions={
        <>
          <CopyCLI small command={commands.tag(sessions, nothing ? ["NAME"] : add, drop)} />
          <button type="submit" class="button primary" disabled={nothing}>
            Save
          </button>
        </>
      }
    >
      <label class="field">
        <span>Add tags, separated by spaces</span>
        <input class="input" list="all-tags" autofocus autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <datalist id="all-tags">
        {tags.map((t) => (
          <option key={t} value={t} />
        ))}
      </datalist>
      {had.length > 0 && (
        <fieldset class="field">
          <legend>{sessions.length === 1 ? "Current tags" : "Current tags"}</legend>
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

// Maximum size of an archive, to limit memory.
const largest = 128 << 20;

// saving downloads sessions: one as it is, several as tar files. It returns their number.
async function saving(sessions: Session[], format: string, onSaved: (done: number) => void): Promise<number> {
  let files: { name: string; body: Blob }[] = [];
  let size = 0;
  let part = 0;
  let done = 0;
  const flush = async (last: boolean) => {
    if (files.length === 0) return;
    part++;
    if (sessions.length === 1) saveAs(files[0]!.body, files[0]!.name);
    else saveAs(await tar(files), last && part === 1 ? "sessions.tar" : `sessions-${part}.tar`);
    files = [];
    size = 0;
  };
  const left = [...sessions];
  const one = async (s: Session) => {
    const reply = await request("GET", sessionPath(s.id, "export"), { query: { format }, headers: { Accept: "*/*" } });
    const body = await reply.blob();
    files.push({ name: fileName(s, format), body });
    size += body.size;
    onSaved(++done);
  };
  let failed: unknown;
  while (left.length > 0) {
    const few = await Promise.allSettled(left.splice(0, 4).map(one));
    failed ??= few.find((r) => r.status === "rejected")?.reason;
    if (size >= largest) await flush(false);
  }
  await flush(true);
  if (failed) notifyError(failed);
  return done;
}

export function ExportDialog({ sessions, close }: Props) {
  const formats = useGet<FormatPage>("/v1/formats");
  const [format, setFormat] = useState("html");
  const [done, setDone] = useState(-1);
  const limits = formats.data?.items?.find((f) => f.name === format)?.limits ?? [];
  const others = (formats.data?.items ?? []).map((f) => f.name).filter((n) => n !== "html" && n !== "native");
  const run = async () => {
    setDone(0);
    const n = await saving(sessions, format, setDone);
    close();
    if (n > 0) notify(`Exported ${n === 1 ? named(sessions.slice(0, 1)) : plural(n, "session")}`);
  };
  return (
    <Dialog
      title={`Export ${named(sessions)}`}
      close={close}
      submit={() => void attempt(run).then(() => setDone(-1))}
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
          <option value="html">Web page (html)</option>
          <option value="native">firn's format (native)</option>
          {others.map((n) => (
            <option key={n} value={n}>
              {n}
            </option>
          ))}
        </select>
      </label>
      {limits.length > 0 && <p class="log-quiet">Not supported by this format: {limits.map((l) => l.what).join(", ")}.</p>}
      <p class="faint field">
        {sessions.length > 1 && `Saved as one tar file, or several of about ${bytes(largest)} each. `}
        {format === "html" ? "Recognized secrets are masked." : "Contains everything in the file, including secrets."}
      </p>
    </Dialog>
  );
}
