// A note: its facts with confidence and sources, and actions.
import { useState } from "preact/hooks";
import { del, useGet } from "../../api";
import { percent, shell, shortPath } from "../../format";
import { mayWrite } from "../../me";
import { go } from "../../router";
import { attempt, Bar, CopyCLI, Icon, Problem, Skeleton, notify, Time } from "../../ui";
import type { Fact, MemoryChange, Note } from "../../wire";
import { Evidence } from "../parts";
import { EditDialog } from "./dialogs";
import { asQuery, command, here, notePath, type Place } from "./place";
import { undoChange } from "./undo";

interface Props {
  place: Place;
  id: string;
  // changed is called when notes changed.
  changed: () => void;
}

export function NoteView({ place, id, changed }: Props) {
  const note = useGet<Note>(notePath(id), asQuery(place));
  const [editing, setEditing] = useState(false);
  const again = () => {
    note.reload();
    changed();
  };
  const forget = async (ref: string, what: string) => {
    const change = await attempt(() => del<MemoryChange>(notePath(ref), asQuery(place)));
    if (!change) return;
    const whole = ref === n?.ref;
    if (whole) go(here(place));
    changed();
    if (!whole) note.reload();
    notify(`Deleted ${what}`, undoChange(place, change.id, again));
  };
  const n = note.data;
  if (note.error) return <Problem error={note.error} retry={note.reload} />;
  if (!n) return <Skeleton rows={4} text />;
  return (
    <article class="mem-note" aria-label={n.title || n.name}>
      <header class="note-head">
        <a class="button quiet note-back" href={here(place)}>
          All notes
        </a>
        <h2>{n.title || n.name}</h2>
        {mayWrite() && (
          <span class="note-acts">
            <button type="button" class="button" onClick={() => setEditing(true)}>
              Edit…
            </button>
            <button type="button" class="button danger" onClick={() => void forget(n.ref, n.title || n.name)}>
              Delete
            </button>
            <CopyCLI small command={command(place, "forget", shell(n.ref))} />
          </span>
        )}
      </header>
      {n.description && <p class="muted">{n.description}</p>}
      <p class="fact-small">
        {n.type && <span class="chip">{n.type}</span>}
        {!!n.confidence && <span>{percent(n.confidence, 1)} confidence</span>}
        {n.created && (
          <span>
            created <Time at={n.created} />
          </span>
        )}
        {n.file && (
          <span class="mono note-file" title={n.file}>
            {shortPath(n.file)}
          </span>
        )}
        <Evidence sources={n.sources} />
      </p>
      {n.facts && n.facts.length > 0 ? (
        <ul class="facts" aria-label="Facts">
          {n.facts.map((f) => (
            <OneFact key={f.ref} fact={f} place={place} forget={() => void forget(f.ref, "a fact")} />
          ))}
        </ul>
      ) : (
        <p class="note-body">{n.body}</p>
      )}
      <CopyCLI command={command(place, "show", shell(n.ref))} />
      {editing && <EditDialog place={place} note={n} close={() => setEditing(false)} changed={again} />}
    </article>
  );
}

function OneFact({ fact: f, place, forget }: { fact: Fact; place: Place; forget: () => void }) {
  const sure = f.confidence ? percent(f.confidence, 1) : "";
  return (
    <li class={"fact" + (f.superseded ? " superseded" : "")}>
      <p class="fact-text">{f.text}</p>
      <p class="fact-small">
        {f.category && <span class="chip">{f.category}</span>}
        {f.superseded && <span>replaced by a newer fact</span>}
        {sure && (
          <span class="fact-sure">
            <Bar part={f.confidence!} of={1} label={`${sure} confidence`} warn={2} /> {sure} confidence
          </span>
        )}
        {f.day && <time dateTime={f.day}>{f.day.slice(0, 10)}</time>}
        {f.sources?.length ? <Evidence sources={f.sources} /> : <span>added manually</span>}
      </p>
      {mayWrite() && (
        <span class="fact-acts">
          <button type="button" class="icon-button" aria-label={`Delete: ${f.text.slice(0, 80)}`} title="Delete" onClick={forget}>
            <Icon name="close" />
          </button>
          <CopyCLI small command={command(place, "forget", shell(f.ref))} />
        </span>
      )}
    </li>
  );
}
