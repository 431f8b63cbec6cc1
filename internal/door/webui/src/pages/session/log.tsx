// Log shows the conversation: the end of the branch first, older entries on scrolling, and the
// streaming answer.
import "../../style/code.css";
import "../../style/log.css";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { get, sessionPath } from "../../api";
import { plural, sentence, shell } from "../../format";
import { useKeys } from "../../keys";
import { mayWrite } from "../../me";
import { param, setQuery } from "../../router";
import { holdKeys, releaseKeys } from "../../typeahead";
import { lost } from "../../lost";
import { attempt, Empty, Icon, Problem, Skeleton } from "../../ui";
import { RowView } from "./card";
import { Approvals } from "./approvals";
import { Composer } from "./composer";
import { FindBar } from "./find";
import { LogDialogs } from "./dialogs";
import { Growing } from "../../html";
import { Outline } from "./outline";
import { plain } from "./parts";
import { grouped } from "./grouping";
import { holds, isNaming, isNote, rowsOf } from "./rows";
import { find, useStill, type Still } from "./scroll";
import type { Item } from "./entries";
import { Talk } from "./talk";
import type { Entry, Page, Tool } from "../../wire";
import type { Watch } from "./watch";

const none: ReadonlyMap<string, Tool> = new Map();

export function Log({ watch }: { watch: Watch }) {
  const talk = useMemo(() => new Talk(watch), [watch]);
  const entries = talk.entries;
  const box = useRef<HTMLTextAreaElement>(null);
  const outline = useSignal(wide());
  const still = useStill(
    (where, beyond) => void (where === "top" ? entries.older(beyond) : entries.newer(beyond)),
    () => entries.last.peek(),
  );
  const notes = useSignal(false);
  const rows = useComputed(() => grouped(rowsOf(entries.items.value, notes.value, entries.at.value)));
  const at = param("at");
  const head = param("head");

  useEffect(() => {
    holdKeys();
    const unsubscribe = watch.subscribe((e) => entries.event(e));
    return () => {
      releaseKeys();
      unsubscribe();
      entries.close();
    };
  }, [talk]);

  // An outline beside the log would cover it in a window that became narrow.
  useEffect(() => {
    const close = () => wide() || (outline.value = false);
    wideScreen.addEventListener("change", close);
    return () => wideScreen.removeEventListener("change", close);
  }, []);

  // The URL selects the entry. An entry that is loaded is only scrolled into view.
  useEffect(() => {
    const there = at && !head && rowFor(talk, at);
    if (there) reveal(still, there);
    else
      void entries.open(at, head).then(() => {
        void watch.listen(entries.position());
        focusComposer(talk, box.current);
        if (at) reveal(still, rowFor(talk, entries.at.value));
        else still.toEnd();
      });
  }, [talk, at, head]);

  // The arrows between branches follow the number of branches and the end of each turn.
  const branches = watch.session.value?.state?.branches ?? 1;
  useEffect(() => void talk.loadSiblings(), [talk, branches, watch.live.value]);

  // Added and removed rows may have equal heights, which no resize event reports.
  useLayoutEffect(still.hold, [rows.value, entries.last.value]);
  // Rows that do not fill the window cannot be scrolled: more are loaded once the last request ended.
  useLayoutEffect(() => void (!entries.busy.value && !entries.error.peek() && still.hold()), [entries.busy.value]);

  const jump = (entry: string) => {
    // Back leads to what is visible now.
    const from = still.end.peek() ? "" : (still.first() ?? "");
    if (from && from !== param("at")) setQuery({ at: from });
    if (param("at") === entry) reveal(still, rowFor(talk, entry));
    else setQuery({ at: entry }, { push: true });
    if (!wide()) outline.value = false;
  };
  const toEnd = () => {
    if (entries.last.value && !head) return still.toEnd();
    if (at || head) setQuery({ at: undefined, head: undefined }, { push: true });
    else void entries.open("", "").then(still.toEnd);
  };
  // toStart shows the first entry of the branch, also if it is not loaded.
  const toStart = async () => {
    const page = await attempt(() => get<Page<Entry>>(sessionPath(talk.id, "entries"), { view: "branch", head: entries.branch(), as: "html", limit: 10 }));
    const first = page?.items?.find((e) => e.card?.role) ?? page?.items?.find((e) => e.card);
    if (first?.card) jump(first.card.id);
  };
  useLogKeys(still, talk, () => void toStart(), () => box.current?.focus(), () => (outline.value = !outline.value), () => {
    if (at && entries.last.value && !head) setQuery({ at: undefined });
    toEnd();
  });

  const items = entries.items.value;
  const calls = watch.calls.value;
  return (
    <div class={"log" + (outline.value ? " with-outline" : "")}>
      <div class="log-main">
        <h2 class="sr">Conversation</h2>
        {talk.finding.open.value && <FindBar talk={talk} jump={jump} />}
        <div class="log-scroll" ref={still.scroller}>
          <div class="log-column" ref={still.content}>
            <Top talk={talk} />
            {entries.aside.value && <Aside talk={talk} toEnd={toEnd} />}
            {rows.value.map((row) => (
              <RowView key={row.key} row={row} talk={talk} here={isHere(row, entries.at.value)} calls={calls.size && row.items[0]!.card?.role === "assistant" ? calls : none} />
            ))}
            {entries.last.value && !entries.aside.value && <Tail talk={talk} />}
            {entries.error.value && (
              <Problem error={entries.error.value} retry={() => void entries.open(at, head)}>
                {(at || head) && (
                  <button type="button" class="button primary" onClick={toEnd}>
                    Go to the latest entry
                  </button>
                )}
              </Problem>
            )}
            {!entries.busy.value && !entries.error.value && entries.last.value && (items.length === 0 || entries.first.value) && !items.some(isMessage) && !watch.live.value && (
              <Empty
                icon="write"
                title="No messages yet"
                action={mayWrite() ? { label: "Write a message", run: () => box.current?.focus() } : { label: "All sessions", href: "/sessions" }}
                command={`firn chat -r ${shell(talk.id)}`}
              />
            )}
          </div>
        </div>
        <div class="log-float">
          <Below talk={talk} still={still} toEnd={toEnd} />
          {items.some((i) => isNote(i) && !isNaming(i)) && (
            <button type="button" class="button notes-toggle" aria-pressed={notes.value} onClick={() => (notes.value = !notes.value)}>
              {notes.value ? "Hide notes" : "Show notes"}
            </button>
          )}
          <button type="button" class="button outline-toggle" aria-expanded={outline.value} title="Outline (o)" onClick={() => (outline.value = !outline.value)}>
            <Icon name="sessions" />
            <span class="outline-word">Outline</span>
          </button>
        </div>
        {mayWrite() && (
          <div class="composer-frame">
            {!entries.aside.value && <Approvals talk={talk} />}
            <Composer talk={talk} box={box} sent={toEnd} />
          </div>
        )}
      </div>
      {outline.value && <Outline talk={talk} still={still} jump={jump} close={() => (outline.value = false)} />}
      <LogDialogs talk={talk} />
    </div>
  );
}

// focusComposer gives the focus to the composer of an empty session, with what was typed before.
function focusComposer(talk: Talk, box: HTMLTextAreaElement | null): void {
  const empty = !talk.entries.items.peek().some((i) => i.card?.role) && !talk.entries.error.peek();
  if (!box || !empty) return releaseKeys();
  const elsewhere = document.querySelector("dialog[open]");
  if (!elsewhere) box.focus();
  releaseKeys((typed) => talk.write(talk.draft.peek() + typed));
}

// isMessage reports whether an entry is more than a note, such as a title.
function isMessage(i: Item): boolean {
  return !i.card || !!i.card.role || !!i.card.compaction || !!i.damage;
}

const wideScreen = matchMedia("(min-width: 1240px)");

function wide(): boolean {
  return wideScreen.matches;
}

function isHere(row: { items: { card?: { id: string } }[] } & Parameters<typeof holds>[0], at: string): boolean {
  return at !== "" && holds(row, at);
}

// rowFor returns the key of the row with an entry, or an empty string.
function rowFor(talk: Talk, id: string): string {
  if (!id) return "";
  return grouped(rowsOf(talk.entries.items.peek(), true, id)).find((r) => holds(r, id))?.key ?? "";
}

function reveal(still: Still, key: string): void {
  if (!key) return;
  requestAnimationFrame(() => {
    // Whoever steps through hits stays in the box.
    const finding = !!document.activeElement?.closest(".find");
    if (still.reveal(key, "center") && !finding) find(still.content.current, key)?.focus({ preventScroll: true });
  });
}

// Top shows whether there are older entries.
function Top({ talk }: { talk: Talk }) {
  const { first, busy, items } = talk.entries;
  if (items.value.length === 0) return busy.value ? <Skeleton rows={5} text /> : null;
  if (first.value) return <p class="log-edge">Start of the session</p>;
  return <p class="log-edge">{busy.value === "older" ? "Loading older entries…" : "Scroll up for older entries."}</p>;
}

function Aside({ talk, toEnd }: { talk: Talk; toEnd: () => void }) {
  talk.entries.items.value; // subscribe
  const end = talk.entries.branch();
  return (
    <p class="log-aside" role="status">
      <span>This is another branch. A message continues it.</span>
      {mayWrite() && end && (
        <button type="button" class="button" onClick={() => void talk.rewind(end)}>
          Continue here
        </button>
      )}
      <button type="button" class="button quiet" onClick={toEnd}>
        Go to the current branch
      </button>
    </p>
  );
}

// Tail shows the streaming answer and the state of the last turn.
function Tail({ talk }: { talk: Talk }) {
  const { watch } = talk;
  const live = watch.live.value;
  return (
    <div class="log-tail">
      {live && <StreamingAnswer talk={talk} />}
      {watch.compacting.value && <p class="log-state" role="status">Compacting: writing a summary…</p>}
      {!live && <Broken talk={talk} />}
    </div>
  );
}

function StreamingAnswer({ talk }: { talk: Talk }) {
  const { watch } = talk;
  const { thinking, text, notice } = watch.streaming.value;
  const last = talk.entries.items.value.at(-1)?.card;
  const same = last?.role === "assistant" || last?.role === "tool";
  const name = watch.session.value?.state?.model || "Assistant";
  return (
    <article class={"message assistant streaming" + (same ? " same" : "")} aria-label={`${name} is answering`}>
      <header class="message-head">
        <span class="message-author">{same ? "" : name}</span>
      </header>
      <div class="message-body">
        {thinking.length > 0 && <Thinking blocks={thinking} on={text.length === 0} />}
        <div class="streaming-text" aria-live="polite" aria-atomic="false">
          <Growing class="prose" blocks={text} />
        </div>
        {notice && <p class="log-quiet">{notice}</p>}
        {text.length === 0 && <p class="streaming-dots" role="status" aria-label="Waiting for the answer"><i /><i /><i /></p>}
      </div>
    </article>
  );
}

// tail returns the end of the thinking on one line.
function tail(blocks: readonly string[]): string {
  const text = plain((blocks.at(-1) ?? "").slice(-2000));
  return text.length > 90 ? "…" + text.slice(-90) : text;
}

function Thinking({ blocks, on }: { blocks: readonly string[]; on: boolean }) {
  const open = useSignal(false);
  return (
    <div class="fold thinking">
      <button type="button" class="fold-line" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        <Icon name={open.value ? "down" : "right"} />
        <span class="fold-name">Thinking{on ? "…" : ""}</span>
        {!open.value && <span class="fold-preview">{tail(blocks)}</span>}
      </button>
      {open.value && (
        <div class="fold-body">
          <Growing class="prose" blocks={blocks} />
        </div>
      )}
    </div>
  );
}

// Broken shows a failed or interrupted turn with a retry button.
function Broken({ talk }: { talk: Talk }) {
  const failed = talk.watch.failed.value;
  const interrupted = talk.watch.session.value?.state?.interrupted;
  if (!failed && !interrupted) return null;
  return (
    <div class="log-broken" role="status">
      <p>
        {failed ? sentence(failed.message) : "The last turn was interrupted."}
        {failed?.hint && <span class="muted"> {sentence(failed.hint)}</span>}
      </p>
      {mayWrite() && (
        <button type="button" class="button" onClick={() => void talk.retry()}>
          Retry
        </button>
      )}
    </div>
  );
}

// Below is the button that scrolls to the end.
function Below({ talk, still, toEnd }: { talk: Talk; still: Still; toEnd: () => void }) {
  const { entries, watch } = talk;
  const away = !still.end.value || !entries.last.value || entries.aside.value;
  if (!away || entries.items.value.length === 0) return null;
  const fresh = entries.fresh.value;
  return (
    <button type="button" class={"button below" + (fresh || watch.live.value ? " primary" : "")} onClick={toEnd}>
      <Icon name="down" />
      {fresh ? plural(fresh, "new entry") + " below" : watch.live.value ? "New below" : "Latest"}
    </button>
  );
}

// useLogKeys binds the log's shortcuts.
function useLogKeys(still: Still, talk: Talk, toStart: () => void, write: () => void, outline: () => void, toEnd: () => void): void {
  const all = () => [...(still.content.current?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
  const current = () => (document.activeElement as HTMLElement | null)?.closest<HTMLElement>("[data-entry]") ?? null;
  const step = (by: 1 | -1) => {
    const list = all();
    const here = current();
    let to: HTMLElement | undefined;
    if (here) to = list[list.indexOf(here) + by];
    else {
      const top = still.scroller.current!.getBoundingClientRect();
      const seen = list.filter((el) => el.getBoundingClientRect().bottom > top.top && el.getBoundingClientRect().top < top.bottom);
      to = by > 0 ? seen[0] : seen.at(-1);
    }
    if (!to) return;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  };
  const within = (selector: string) => current()?.querySelector<HTMLElement>(selector);
  useKeys("Log", [
    { key: "j", does: "Next entry", run: () => step(1) },
    { key: "k", does: "Previous entry", run: () => step(-1) },
    { key: "Enter", does: "Expand or collapse", run: () => within("button[aria-expanded]:not(.entry-menu)")?.click() },
    { key: ".", does: "Entry actions", run: () => within(".entry-menu")?.click() },
    { key: "w", does: "Timeline of the turn", run: () => talk.timeline(current()?.dataset["entry"]) },
    { key: "o", does: "Outline", run: outline },
    { key: "c", does: "Write a message", run: write },
    { key: "Home", does: "Go to the first entry", run: toStart },
    { key: "mod+f", does: "Find in this session", typing: true, run: () => (talk.finding.open.value = true) },
    { key: "G", does: "Go to the latest entry", run: toEnd },
    { key: "Escape", does: "Stop the turn", run: () => talk.watch.live.peek() && mayWrite() && !lost.peek() && void talk.stop() },
  ]);
}
