// Dialogs that add, edit and delete notes.
import { useState } from "preact/hooks";
import { del, post, put } from "../../api";
import { plural, shell } from "../../format";
import { go } from "../../router";
import { attempt, CopyCLI, Dialog, notify } from "../../ui";
import type { Cleared, Note, Remembered } from "../../wire";
import { asQuery, command, here, notePath, type Place } from "./place";
import { undoChange } from "./undo";

interface Props {
  place: Place;
  close: () => void;
  changed: () => void;
}

const types = ["preference", "project", "pattern", "decision", "constraint"];

export function AddDialog({ place, close, changed }: Props) {
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [about, setAbout] = useState("");
  const [type, setType] = useState("");
  const add = async () => {
    const note = { text, name: name || undefined, description: about || undefined, type: type || undefined };
    const done = await attempt(() => post<Remembered>("/v1/memory", note, { query: asQuery(place) }));
    if (!done) return;
    close();
    changed();
    go(here(place, { note: `${done.scope}/${done.note}` }));
    const fresh = (done.refs ?? []).length;
    if (fresh === 0 && done.known) notify("Already noted");
    else notify(name ? `Added ${name}` : `Added ${plural(Math.max(1, fresh), "fact")}`, undoChange(place, done.change, changed));
  };
  const words = ["add", shell(text || "TEXT"), name && `--name ${shell(name)}`, about && `--description ${shell(about)}`, type && `--type ${shell(type)}`].filter(Boolean) as string[];
  return (
    <Dialog
      title="Add a note"
      close={close}
      submit={() => void add()}
      actions={
        <>
          <CopyCLI small command={command(place, ...words)} />
          <button type="submit" class="button primary" disabled={!text.trim()}>
            Add
          </button>
        </>
      }
    >
      <label class="field">
        <span>Text. Without a name, each line becomes a fact in today's note</span>
        <textarea class="input" rows={4} autoFocus value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Name (optional, creates a separate note)</span>
        <input class="input" value={name} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      {name && (
        <label class="field">
          <span>Description</span>
          <input class="input" value={about} onInput={(e) => setAbout(e.currentTarget.value)} />
        </label>
      )}
      <label class="field">
        <span>Type</span>
        <select class="select" value={type} onChange={(e) => setType(e.currentTarget.value)}>
          <option value="">none</option>
          {types.map((t) => (
            <option key={t} value={t}>
              {t}
            </option>
          ))}
        </select>
      </label>
    </Dialog>
  );
}

export function EditDialog({ place, note, close, changed }: Props & { note: Note }) {
  const [text, setText] = useState(note.body ?? "");
  const save = async () => {
    const done = await attempt(() => put<Remembered>(notePath(note.ref), { text }, asQuery(place)));
    if (!done) return;
    close();
    changed();
    notify(`Saved ${note.title || note.name}`, undoChange(place, done.change, changed));
  };
  return (
    <Dialog
      title={`Edit ${note.title || note.name}`}
      class="wide-dialog"
      close={close}
      submit={() => void save()}
      actions={
        <>
          <CopyCLI small command={command(place, "edit", shell(note.ref))} />
          <button type="submit" class="button primary" disabled={!text.trim() || text === note.body}>
            Save
          </button>
        </>
      }
    >
      <label class="field">
        <span>Markdown text. {"<!-- from … -->"} is the source of a fact</span>
        <textarea class="input mono mem-text" rows={16} autoFocus value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}

export function ClearDialog({ place, close, changed }: Props) {
  const clear = async () => {
    const done = await attempt(() => del<Cleared>("/v1/memory", asQuery(place)));
    if (!done) return;
    close();
    go(here(place));
    changed();
    const changes = done.changes ?? [];
    notify("Deleted all notes", async () => {
      for (const c of changes) await undoChange(place, c.id, () => {})?.();
      changed();
    });
  };
  return (
    <Dialog
      title="Delete all listed notes?"
      close={close}
      submit={() => void clear()}
      actions={
        <>
          <CopyCLI small command={command(place, "clear", "--yes")} />
          <button type="submit" class="button danger">
            Delete all
          </button>
        </>
      }
    >
      <p>All listed notes are deleted and no longer sent to models. You can undo this under Changes.</p>
    </Dialog>
  );
}
