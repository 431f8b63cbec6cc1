// Outline lists the turns of the branch as links.
import { useSignal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { sessionPath, useGet } from "../../api";
import { count, plural, tokens } from "../../format";
import { plainLine } from "../../plaintext";
import { Icon, Problem, Skeleton } from "../../ui";
import type { Course, Entry, Episode, Event, Hit } from "../../wire";
import type { Still } from "./scroll";
import type { Talk } from "./talk";

const none: Episode[] = [];

interface Props {
  talk: Talk;
  still: Still;
  jump: (entry: string) => void;
  close: () => void;
}

export function Outline({ talk, still, jump, close }: Props) {
  talk.entries.items.value; // subscribe: a branch changes with its entries
  // part is the range of turns that is zoomed into.
  const part = useSignal<{ from: number; to: number } | undefined>(undefined);
  const branch = talk.entries.branch();
  const course = useGet<Course>(sessionPath(talk.id, "course"), { head: branch, ...part.value });
  const step = course.data?.step ?? 1;
  const now = useSignal("");
  const list = useRef<HTMLOListElement>(null);
  const focus = useRef("");
  const zoom = (t: Episode) => {
    part.value = { from: t.turn, to: t.turn + step - 1 };
    focus.current = ".outline-all";
  };
  const showAll = () => {
    focus.current = `[data-zoom="${part.value?.from}"]`;
    part.value = undefined;
  };
  // Another branch has other turns.
  useEffect(() => void (part.value = undefined), [branch]);
  // The button that zoomed in or out disappears: its counterpart gets the focus.
  useLayoutEffect(() => {
    const next = focus.current && list.current?.parentElement?.querySelector<HTMLElement>(focus.current);
    if (!next) return;
    focus.current = "";
    const now = document.activeElement;
    if (!now || now === document.body || next.closest(".outline")?.contains(now)) next.focus();
  });
  const turns = course.data?.episodes ?? none;
  const found = talk.finding.hits.value;
  const hits = useMemo(() => hitsIn(turns, found), [turns, found]);

  // Reload on turns, rewinds and compactions.
  useEffect(() => {
    const changes = new Set(["turn.completed", "turn.failed", "head.moved", "compaction.completed", "compaction.undone"]);
    const asks = (e: Event) => e.name === "entry.appended" && (e.data as Entry).card?.role === "user";
    return talk.watch.subscribe((e) => {
      if (e.name === "head.moved") part.value = undefined; // the range may be gone
      if (changes.has(e.name) || asks(e)) course.reload();
    });
  }, [talk]);

  // Highlight the visible turn.
  useEffect(() => {
    const s = still.scroller.current;
    if (!s) return;
    let frame = 0;
    const highlight = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => (now.value = turnAt(s, talk, turns)));
    };
    highlight();
    s.addEventListener("scroll", highlight, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      s.removeEventListener("scroll", highlight);
    };
  }, [course.data, talk.entries.items.value]);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [now.value]);

  return (
    <aside class="outline" aria-label="Outline">
      <header class="outline-head">
        <h2>Outline</h2>
        {course.data && <span class="faint num">{plural(course.data.turns, "turn")}</span>}
        <button type="button" class="icon-button" aria-label="Close outline" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {(step > 1 || part.value) && course.data && (
        <p class="outline-thin" role="status">
          {part.value ? `Turns ${count(part.value.from)} to ${count(Math.min(part.value.to, course.data.turns))}` : `One line for every ${count(step)} turns`}
          {part.value && (
            <button type="button" class="button quiet small outline-all" onClick={showAll}>
              Show all turns
            </button>
          )}
        </p>
      )}
      {course.error && !course.data && <Problem error={course.error} retry={course.reload} />}
      {!course.data && !course.error && <Skeleton rows={6} />}
      {course.data && turns.length === 0 && <p class="outline-thin">No turns yet</p>}
      <ol class="outline-list" ref={list}>
        <Turns turns={turns} now={now.value} hits={hits} jump={jump} zoom={step > 1 ? zoom : undefined} />
      </ol>
    </aside>
  );
}

interface TurnsProps {
  turns: Episode[];
  now: string;
  // hits are the numbers of hits by the first entry of a turn.
  hits: ReadonlyMap<string, number>;
  jump: (entry: string) => void;
  // zoom shows each turn of a line that has several.
  zoom?: (t: Episode) => void;
}

const noHits: ReadonlyMap<string, number> = new Map();

// hitsIn counts the hits of each turn. Entry numbers increase along a branch.
function hitsIn(turns: readonly Episode[], hits: readonly Hit[]): ReadonlyMap<string, number> {
  if (hits.length === 0) return noHits;
  const all = new Map<string, number>();
  for (const h of hits) {
    const turn = turns.findLast((t) => (t.n ?? 0) <= h.n)?.first;
    if (turn) all.set(turn, (all.get(turn) ?? 0) + 1);
  }
  return all;
}

// Turns re-renders only if the turns or the visible one changed.
class Turns extends Component<TurnsProps> {
  override shouldComponentUpdate(next: TurnsProps): boolean {
    return next.turns !== this.props.turns || next.now !== this.props.now || next.hits !== this.props.hits || !next.zoom !== !this.props.zoom;
  }

  override render({ turns, now, hits, jump, zoom }: TurnsProps) {
    return <>{turns.map((t) => <Turn key={t.first} t={t} here={t.first === now} hits={hits.get(t.first) ?? 0} jump={jump} zoom={zoom} />)}</>;
  }
}

function Turn({ t, here, hits, jump, zoom }: { t: Episode; here: boolean; hits: number; jump: (entry: string) => void; zoom?: (t: Episode) => void }) {
  return (
    <li class={zoom ? "outline-part" : undefined}>
      <button type="button" class="outline-turn" aria-current={here ? "true" : undefined} onClick={() => jump(t.first)}>
        <span class="outline-n num">{count(t.turn)}</span>
        <span class="outline-preview">{plainLine(t.preview ?? "") || "…"}</span>
        <span class="outline-side num">
          {hits > 0 && <span class="outline-hits">{plural(hits, "hit")}</span>}
          {t.compactions?.length ? (
            <span class="outline-mark" title={plural(t.compactions.length, "compaction")}>
              ◆
            </span>
          ) : null}
          {t.own ? tokens(t.own) : ""}
        </span>
      </button>
      {zoom && (
        <button type="button" class="icon-button" data-zoom={t.turn} aria-label={`Show each turn from ${count(t.turn)}`} title="Show each turn" onClick={() => zoom(t)}>
          <Icon name="right" />
        </button>
      )}
    </li>
  );
}

// turnAt returns the first entry of the visible turn. Entry numbers increase along a branch.
function turnAt(s: HTMLElement, talk: Talk, turns: readonly Episode[]): string {
  const line = s.getBoundingClientRect().top + s.clientHeight / 3;
  const starts = new Set(turns.map((t) => t.first));
  let found = "";
  let seen = false;
  for (const el of s.querySelectorAll<HTMLElement>("[data-entry]")) {
    if (el.getBoundingClientRect().top > line) break;
    seen = true;
    if (starts.has(el.dataset["entry"]!)) found = el.dataset["entry"]!;
  }
  if (found || !seen) return found;
  const n = talk.entries.items.peek().find((i) => i.n)?.n ?? 0;
  return turns.findLast((t) => (t.n ?? 0) <= n)?.first ?? "";
}
