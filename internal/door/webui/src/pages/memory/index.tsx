// Memory is the page of notes: facts with sources, changes, and dreams.
import { useRef, useState } from "preact/hooks";
import { useGet } from "../../api";
import { bytes, percent, plural } from "../../format";
import { mayWrite } from "../../me";
import { param } from "../../router";
import { CopyCLI, Empty, Icon, Problem, Skeleton, Time } from "../../ui";
import type { Note, Page, Recalled } from "../../wire";
import { Box, Evidence, toBox, useRows } from "../parts";
import { Changes } from "./changes";
import { AddDialog, ClearDialog } from "./dialogs";
import { DreamView } from "./dream";
import { NoteView } from "./note";
import { asQuery, command, currentPlace, here, PlaceChoices, scopeName, type Place } from "./place";

const views: [id: string, name: string][] = [
  ["", "Notes"],
  ["changes", "Changes"],
  ["dream", "Dream"],
];

export function Memory() {
  const place = currentPlace();
  const view = views.some(([id]) => id === param("view")) ? param("view") : "";
  const notes = useGet<Page<Note>>("/v1/memory", asQuery(place));
  const [ask, setAsk] = useState<"" | "add" | "clear">("");
  const root = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLInputElement>(null);
  useRows("Memory", root, [toBox(box, "Search"), { key: "n", does: "New note", run: () => mayWrite() && setAsk("add") }]);
  const all = notes.data?.items ?? [];
  const facts = all.reduce((n, x) => n + (x.count ?? 0), 0);
  return (
    <div class="page memory" ref={root}>
      <header class="page-head">
        <h1>Memory</h1>
        <span class="faint num head-note">{notes.data && `${plural(all.length, "note")}${facts ? ` · ${plural(facts, "fact")}` : ""}`}</span>
        <CopyCLI small command={command(place, "ls")} />
        {mayWrite() && (
          <button type="button" class="button" title={command(place, "add", "TEXT")} onClick={() => setAsk("add")}>
            <Icon name="plus" /> Add
          </button>
        )}
      </header>
      <nav class="tabs" aria-label="Memory views">
        {views.map(([id, name]) => (
          <a key={id} href={here(place, { view: id })} aria-current={id === view ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div class="filters" role="search">
        {view === "" && <Box name="q" label="Search notes and messages" value={param("q")} box={box} wait={300} />}
        <PlaceChoices place={place} />
      </div>
      {notes.error && <Problem error={notes.error} retry={notes.reload} />}
      {view === "changes" && <Changes place={place} changed={notes.reload} />}
      {view === "dream" && <DreamView place={place} changed={notes.reload} />}
      {view === "" && !param("q") && !notes.data && !notes.error && <Skeleton />}
      {view === "" && (param("q") ? <Found place={place} words={param("q")} /> : notes.data && <Notes place={place} notes={all} changed={notes.reload} clear={() => setAsk("clear")} add={() => setAsk("add")} />)}
      {ask === "add" && <AddDialog place={place} close={() => setAsk("")} changed={notes.reload} />}
      {ask === "clear" && <ClearDialog place={place} close={() => setAsk("")} changed={notes.reload} />}
    </div>
  );
}

interface NotesProps {
  place: Place;
  notes: Note[];
  changed: () => void;
  clear: () => void;
  add: () => void;
}

function Notes({ place, notes, changed, clear, add }: NotesProps) {
  const open = param("note");
  if (notes.length === 0) {
    return (
      <Empty icon="memory" title="No notes yet" action={mayWrite() && { label: "Add a note", run: add }} command={command(place, "add", "'Releases are on Fridays.'")}>
        Notes hold facts worth keeping beyond one conversation. Agents write them, and so can you. Matching notes are sent to the model with each turn.
      </Empty>
    );
  }
  const scopes = [...new Set(notes.map((n) => n.scope))];
  // A changed note is remounted.
  const note = notes.find((n) => n.ref === open);
  return (
    <div class={"mem-notes" + (open ? " opened" : "")}>
      <nav class="notes-list" aria-label="Notes">
        {scopes.map((scope) => (
          <section key={scope}>
            <h2 class="notes-scope">{scopeName(scope)}</h2>
            {notes.filter((n) => n.scope === scope).map((n) => (
              <a key={n.ref} data-row={n.ref} class="note-row" href={here(place, { note: n.ref })} aria-current={n.ref === open ? "true" : undefined}>
                <NoteName note={n} />
              </a>
            ))}
          </section>
        ))}
        {mayWrite() && (
          <p class="notes-foot">
            <button type="button" class="button quiet danger" onClick={clear}>
              Delete all…
            </button>
          </p>
        )}
      </nav>
      {note && <NoteView key={`${note.ref} ${note.bytes} ${note.count ?? 0}`} place={place} id={note.ref} changed={changed} />}
      {!note && (
        <p class={"faint" + (open ? "" : " notes-none")}>
          {open ? `The note ${open} no longer exists. ` : "Select a note to see its facts and their sources."}
          {open && <a href={here(place)}>All notes</a>}
        </p>
      )}
    </div>
  );
}

function NoteName({ note: n }: { note: Note }) {
  const small = [n.type, n.count ? plural(n.count, "fact") : bytes(n.bytes), n.confidence ? percent(n.confidence, 1) + " confidence" : ""].filter(Boolean).join(" · ");
  return (
    <>
      <span class="note-name">{n.title || n.name}</span>
      <span class="note-about">{n.description}</span>
      <span class="note-small faint">
        {small}
        {n.created && (
          <>
            {" · "}
            <Time at={n.created} />
          </>
        )}
      </span>
    </>
  );
}

// Found lists matching notes and messages.
function Found({ place, words }: { place: Place; words: string }) {
  const found = useGet<Page<Recalled>>("/v1/memory/search", { ...asQuery(place), q: words, limit: 30 });
  const all = found.data?.items ?? [];
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  if (!found.data) return <Skeleton />;
  if (all.length === 0) {
    return (
      <Empty
        icon="search"
        title="No matching notes"
        action={{ label: "Search messages", href: "/search?q=" + encodeURIComponent(words) }}
        command={command(place, "search", `'${words.replaceAll("'", "'\\''")}'`)}
      />
    );
  }
  return (
    <ul class="page-body facts recalled" aria-label="Results">
      {all.map((r) => (
        <li key={r.ref} class="fact" data-row={r.ref}>
          <p class="fact-text">{r.text}</p>
          <p class="fact-small">
            {r.scope ? <a href={here(place, { note: r.ref.split("#")[0]! })}>{r.title || r.ref}</a> : <Evidence sources={[r.ref]} />}
            {r.type && <span class="chip">{r.type}</span>}
            {!!r.confidence && <span>{percent(r.confidence, 1)} confidence</span>}
            {r.time && <Time at={r.time} />}
            <span>match {percent(r.score, 1)}</span>
            {r.scope && <Evidence sources={r.sources} />}
          </p>
        </li>
      ))}
    </ul>
  );
}
