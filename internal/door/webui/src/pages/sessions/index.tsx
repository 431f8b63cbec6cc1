// Sessions is the session list, the start page.
import { signal } from "@preact/signals";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { address, useGet } from "../../api";
import { count, plural } from "../../format";
import { useKeys } from "../../keys";
import { useStream, useThrottled } from "../../live";
import { bound, mayWrite } from "../../me";
import { newSession } from "../../palette";
import { go, toSession } from "../../router";
import { density } from "../../theme";
import { noteRunning, running } from "../../running";
import { copy, copyCommand, CopyCLI, Empty, Icon, Menu, Problem, Skeleton, VirtualList, type MenuItem, type VirtualHandle } from "../../ui";
import type { Event, Page, Session, Tag } from "../../wire";
import { commands } from "../commands";
import { ExportDialog, TagDialog } from "../dialogs";
import { archive, hide, RenameDialog, tag } from "./actions";
import { asQuery, clearFilter, currentFilter, currentSorting, direction, Filters, narrow, sortBy, type Filter, type Sorting } from "./filters";
import { isSession, SessionList } from "./list";
import { GroupRow, PlaceholderRow, SessionRow } from "./row";

// The selection survives opening a session and returning.
const chosen = signal<ReadonlySet<string>>(new Set());
const active = signal("");

// Events that affect the list.
const listEvents = /^(session\.updated|turn\.|head\.moved|compaction\.completed|compaction\.undone|entry\.appended)/;

interface Ask {
  what: "tag" | "export" | "rename";
  sessions: Session[];
}

function useList(filter: Filter, sorting: Sorting): SessionList {
  const key = address("", { ...filter, ...sorting });
  const list = useMemo(() => new SessionList({ ...asQuery(filter), ...sorting }), [key]);
  useEffect(() => () => list.close(), [list]);
  const soon = useThrottled(() => list.reload());
  useStream("/v1/events", {}, {
    event: (e: Event) => {
      noteRunning(e);
      if (listEvents.test(e.name) && list.touch(e)) soon();
    },
    opened: (again) => {
      if (again && list.touch()) soon();
    },
  });
  return list;
}

export function Sessions() {
  const filter = currentFilter();
  const sorting = currentSorting();
  const list = useList(filter, sorting);
  const [ask, setAsk] = useState<Ask>();
  const box = useRef<HTMLInputElement>(null);
  const view = useRef<VirtualHandle>(null);
  const { keys, depths } = list.rows.value;
  list.changed.value; // subscribe to row changes
  const picked = [...chosen.value].map((id) => list.get(id)).filter((s) => s !== undefined);

  useEffect(() => {
    chosen.value = new Set();
  }, [list]);
  const all = useGet<Page<Tag>>(bound() ? "" : "/v1/tags");
  const tags = [...new Set([...(all.data?.items ?? []).map((t) => t.name), ...list.tags.value])].sort();
  const select = useSelect(keys);
  const focused = useCallback((id: string) => (active.value = id), []);
  const menu = useCallback((s: Session) => rowMenu(list, filter, s, setAsk, select), [list]);
  const run = (what: (s: Session[]) => void) => {
    what(picked);
    chosen.value = new Set();
  };
  useListKeys({ keys, view, box, select, list, filter });

  return (
    <div class="page fixed sessions">
      <header class="page-head">
        <h1>Sessions</h1>
        <Count list={list} />
        {mayWrite() && (
          <span class="head-acts">
            <button type="button" class="button" onClick={() => void newSession()}>
              <Icon name="plus" /> New session
            </button>
            <CopyCLI small command="firn new" />
          </span>
        )}
      </header>
      {picked.length > 0 ? (
        <Picked list={list} filter={filter} sessions={picked} keys={keys} run={run} ask={(what) => setAsk({ what, sessions: picked })} />
      ) : (
        <Filters filter={filter} sorting={sorting} tags={tags} box={box} />
      )}
      {list.error.value && <Problem error={list.error.value} retry={() => list.retry()} />}
      {keys.length === 0 ? (
        list.loading.value ? <Skeleton rows={12} /> : !list.error.value && <None filter={filter} />
      ) : (
        <div class="stable" role="table" aria-label="Sessions" aria-rowcount={keys.length + 1}>
          <Heads sorting={sorting} />
          <VirtualList
            key={list}
            class={"srows" + (picked.length ? " picking" : "")}
            label="Sessions"
            table
            keys={keys}
            estimate={innerWidth < 720 ? 56 : density.value === "compact" ? 28 : 36}
            handle={view}
            seen={(first, last) => list.see(first, last)}
            row={(key) => {
              if (key[0] === "#") return <GroupRow by={sorting.group} group={key.slice(1)} />;
              const s = list.get(key);
              if (!s) return <PlaceholderRow />;
              return <SessionRow session={s} depth={depths.get(key) ?? 0} selected={chosen.value.has(key)} select={select} menu={menu} focused={focused} sort={sorting.sort} />;
            }}
          />
        </div>
      )}
      {ask?.what === "tag" && <TagDialog tags={tags} sessions={ask.sessions} save={(add, drop) => void tag(list, ask.sessions, add, drop)} close={() => setAsk(undefined)} />}
      {ask?.what === "export" && <ExportDialog sessions={ask.sessions} close={() => setAsk(undefined)} />}
      {ask?.what === "rename" && <RenameDialog list={list} sessions={ask.sessions} close={() => setAsk(undefined)} />}
    </div>
  );
}

// useSelect selects a session, or a range from the last one.
function useSelect(keys: string[]): (id: string, range: boolean) => void {
  const last = useRef("");
  const now = useRef(keys);
  now.current = keys;
  return useCallback((id, range) => {
    const set = new Set(chosen.peek());
    const from = now.current.indexOf(last.current);
    const to = now.current.indexOf(id);
    if (range && from >= 0 && to >= 0) {
      for (const k of now.current.slice(Math.min(from, to), Math.max(from, to) + 1)) if (isSession(k)) set.add(k);
    } else if (!set.delete(id)) set.add(id);
    last.current = id;
    chosen.value = set;
  }, []);
}

interface KeyParts {
  keys: string[];
  view: { current: VirtualHandle | null };
  box: { current: HTMLInputElement | null };
  select: (id: string, range: boolean) => void;
  list: SessionList;
  filter: Filter;
}

function useListKeys({ keys, view, box, select, list, filter }: KeyParts): void {
  const to = (key: string | undefined) => {
    if (!key || !isSession(key)) return;
    active.value = key;
    view.current?.reveal(key);
    // A row that was out of view is rendered in the next frame.
    requestAnimationFrame(() => {
      const row = view.current?.scroller()?.querySelector(`[data-key="${CSS.escape(key)}"] a`);
      (row as HTMLElement | null)?.focus({ preventScroll: true });
    });
  };
  const step = (by: number) => {
    const at = keys.indexOf(active.peek());
    let next = at < 0 ? 0 : Math.max(0, Math.min(keys.length - 1, at + by));
    while (keys[next]?.[0] === "#") next += at < 0 ? 1 : by;
    to(keys[next]);
  };
  const here = () => list.get(active.peek());
  const meant = () => {
    const many = [...chosen.peek()].map((id) => list.get(id)).filter((s) => s !== undefined);
    const one = here();
    return many.length ? many : one ? [one] : [];
  };
  const put = (what: (l: SessionList, s: Session[], on: boolean) => Promise<void>, off: string) => {
    const sessions = meant();
    if (!mayWrite() || sessions.length === 0) return;
    const at = keys.indexOf(active.peek());
    const gone = new Set(sessions.map((s) => s.id));
    to(keys.slice(at + 1).find((k) => isSession(k) && !gone.has(k)) ?? keys.slice(0, Math.max(0, at)).findLast((k) => isSession(k) && !gone.has(k)));
    chosen.value = new Set();
    void what(list, sessions, filter.show !== off);
  };
  useKeys("Sessions", [
    { key: "j", does: "Next", run: () => step(1) },
    { key: "k", does: "Previous", run: () => step(-1) },
    { key: "Enter", does: "Open", run: () => here() && go(toSession(active.peek())) },
    { key: "x", does: "Select", run: () => here() && select(active.peek(), false) },
    { key: "X", does: "Select range", run: () => here() && select(active.peek(), true) },
    { key: "e", does: "Archive", run: () => put(archive, "archived") },
    { key: "d", does: "Hide", run: () => put(hide, "hidden") },
    { key: "n", does: "New session", run: () => void (mayWrite() && newSession()) },
    {
      key: "/",
      does: "Filter",
      run: () => {
        chosen.value = new Set();
        setTimeout(() => box.current?.select()); // a tab that is not drawn has no frames
      },
    },
    { key: "Escape", does: "Clear selection", run: () => (chosen.value = new Set()) },
  ]);
}

function rowMenu(list: SessionList, f: Filter, s: Session, ask: (a: Ask) => void, select: KeyParts["select"]): (MenuItem | "-" | false)[] {
  const archived = f.show === "archived" || !!s.archived;
  const hidden = f.show === "hidden" || !!s.hidden;
  const write = mayWrite();
  return [
    { label: "Select", hint: "x", run: () => select(s.id, false) },
    "-",
    { label: "Tree", cli: `firn tree ${s.id}`, href: toSession(s.id, "tree") },
    { label: "Window", cli: `firn window ${s.id}`, href: toSession(s.id, "window") },
    "-",
    write && { label: "Rename…", run: () => ask({ what: "rename", sessions: [s] }) },
    write && { label: "Tag…", run: () => ask({ what: "tag", sessions: [s] }) },
    { label: "Export…", run: () => ask({ what: "export", sessions: [s] }) },
    write && { label: archived ? "Unarchive" : "Archive", hint: "e", cli: commands.archive([s], !archived), run: () => void archive(list, [s], !archived) },
    write && { label: hidden ? "Restore" : "Hide", hint: "d", cli: commands.hide([s], !hidden), run: () => void hide(list, [s], !hidden) },
    "-",
    { label: "Copy link", run: () => void copy(location.origin + toSession(s.id), "the link") },
    ...copies({
      "firn chat": `firn chat -r ${s.id}`,
      "firn show": `firn show ${s.id}`,
    }),
  ];
}

// copies returns menu items that copy commands.
function copies(list: Record<string, string | false>): MenuItem[] {
  return Object.entries(list)
    .filter(([, command]) => command)
    .map(([name, command]) => ({ label: <code>{name} …</code>, hint: "copy", run: () => void copyCommand(String(command)) }));
}

function Count({ list }: { list: SessionList }) {
  const total = list.total.value;
  const live = running.value.size;
  return (
    <span class="faint num sessions-count" role="status">
      {total >= 0 && count(total)}
      {live > 0 && ` · ${live} live`}
    </span>
  );
}

interface PickedProps {
  list: SessionList;
  filter: Filter;
  sessions: Session[];
  keys: string[];
  run: (what: (s: Session[]) => void) => void;
  ask: (what: Ask["what"]) => void;
}

function Picked({ list, filter, sessions, keys, run, ask }: PickedProps) {
  const archived = filter.show === "archived";
  const hidden = filter.show === "hidden";
  return (
    <div class="filters picked" role="toolbar" aria-label="Selection">
      <strong class="num">{plural(sessions.length, "session")} selected</strong>
      <button type="button" class="button quiet" onClick={() => (chosen.value = new Set(keys.filter(isSession)))}>
        Select all loaded
      </button>
      <span class="picked-gap" />
      {mayWrite() && (
        <>
          <button type="button" class="button" onClick={() => run((s) => void archive(list, s, !archived))}>
            {archived ? "Unarchive" : "Archive"}
          </button>
          <button type="button" class="button" onClick={() => ask("tag")}>
            Tag…
          </button>
        </>
      )}
      <button type="button" class="button" onClick={() => ask("export")}>
        Export…
      </button>
      {mayWrite() && (
        <button type="button" class="button" onClick={() => run((s) => void hide(list, s, !hidden))}>
          {hidden ? "Restore" : "Hide"}
        </button>
      )}
      <span class="filters-end">
        <Menu
          label="Copy as CLI"
          class="icon-button"
          align="end"
          items={() =>
            copies({
              "firn archive": mayWrite() && commands.archive(sessions, !archived),
              "firn rm": mayWrite() && commands.hide(sessions, !hidden),
              "firn tag": mayWrite() && commands.tag(sessions, ["TAG"], []),
              "firn export": commands.export(sessions, "html"),
            })
          }
        >
          <Icon name="terminal" />
        </Menu>
        <button type="button" class="icon-button" aria-label="Clear selection" title="Clear selection (Esc)" onClick={() => (chosen.value = new Set())}>
          <Icon name="close" />
        </button>
      </span>
    </div>
  );
}

function Heads({ sorting }: { sorting: Sorting }) {
  const last = sorting.sort === "size" ? "size" : sorting.sort === "cost" ? "cost" : "";
  const time = sorting.sort === "created" ? "created" : "updated";
  return (
    <div role="rowgroup" class="heads-group">
      <div class="srow heads" role="row" aria-rowindex={1}>
        <span class="srow-pick" role="columnheader">
          <span class="sr">Selection and state</span>
        </span>
        <Head class="srow-main" name="Title" field="title" sorting={sorting} />
        <span class="srow-agent" role="columnheader">
          Agent<span class="sr"> or source</span>
        </span>
        <span class="srow-marks" role="columnheader">
          <span class="sr">Marks</span>
        </span>
        <Head class="srow-turns" name="Turns" field="turns" sorting={sorting} />
        <span class="srow-window" role="columnheader">
          Window
        </span>
        {last ? (
          <Head class="srow-tokens" name={last === "size" ? "Size" : "Cost"} field={last} sorting={sorting} />
        ) : (
          <span class="srow-tokens" role="columnheader">
            Tokens
          </span>
        )}
        <Head class="srow-time" name={time === "created" ? "Created" : "Updated"} field={time} sorting={sorting} />
        <span class="srow-acts" role="columnheader">
          <span class="sr">Actions</span>
        </span>
      </div>
    </div>
  );
}

// Head is the header of a column that sorts the list.
function Head({ class: name, name: label, field, sorting }: { class: string; name: string; field: string; sorting: Sorting }) {
  const on = (sorting.sort || "updated") === field;
  const order = direction(sorting);
  return (
    <span class={name} role="columnheader" aria-sort={on ? (order === "asc" ? "ascending" : "descending") : "none"}>
      {bound() ? (
        label
      ) : (
        <button type="button" class="head-sort" onClick={() => sortBy(sorting, field)}>
          {label}
          {on && <Icon name={order === "asc" ? "up" : "down"} />}
        </button>
      )}
    </span>
  );
}

const empties: Record<string, string> = { archived: "No archived sessions", hidden: "No hidden sessions", live: "No running turns" };

// only returns the show filter if it is the only one.
function only(f: Filter): string {
  return f.show && !narrow({ ...f, show: "" }) ? f.show : "";
}

function None({ filter }: { filter: Filter }) {
  if (narrow(filter)) {
    return (
      <Empty icon="filter" title={empties[only(filter)] ?? "No matching sessions"} action={{ label: "Show all sessions", run: clearFilter }}>
        To find messages, use <a href={"/search" + (filter.text ? "?q=" + encodeURIComponent(filter.text) : "")}>search</a>.
      </Empty>
    );
  }
  return (
    <Empty icon="sessions" title="No sessions yet" action={mayWrite() && { label: "New session", run: () => void newSession() }} command="firn chat">
      Start a chat, or mirror other tools' sessions with firn adopt.
    </Empty>
  );
}
