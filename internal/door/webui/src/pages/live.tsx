// Live shows all running turns with their streamed text and a stop button.
import { useEffect, useRef, useState } from "preact/hooks";
import { post, sessionPath, useGet } from "../api";
import { count, plural, shell, shortId, shortPath, titleOf } from "../format";
import { useStream } from "../live";
import { mayWrite } from "../me";
import { toSession } from "../router";
import { noteRunning, running } from "../running";
import { lost } from "../lost";
import { newSession } from "../palette";
import { attempt, CopyCLI, Empty, Icon, Problem, Skeleton, notify, Time } from "../ui";
import type { Event, Page, Partial, Problem as Trouble, Session, Tool } from "../wire";
import { rowAt, useEvery, useRows } from "./parts";

// TurnState is the streamed state of a turn.
interface TurnState {
  text: string;
  thinking: boolean;
  tool: string;
}

// Ended is a turn that ended while the page was open.
interface Ended {
  session: Session;
  at: string;
  error: string;
}

// Only the end of an answer is shown and stored.
const most = 600;

async function stop(id: string): Promise<void> {
  const done = await attempt(() => post<{ stopped: boolean }>(sessionPath(id, "kill")));
  if (done) notify(done.stopped ? "Stopped. The partial answer is saved" : "The turn had already ended");
}

// updateState updates a turn's state from an event.
function updateState(states: Map<string, TurnState>, e: Event): boolean {
  const id = e.session ?? "";
  const now = states.get(id) ?? { text: "", thinking: false, tool: "" };
  switch (e.name) {
    case "delta.text":
    case "delta.thinking": {
      const thinking = e.name === "delta.thinking";
      const before = thinking === now.thinking ? now.text : "";
      states.set(id, { text: (before + ((e.data as { text?: string })?.text ?? "")).slice(-most), thinking, tool: "" });
      return true;
    }
    case "turn.partial": {
      const partial = (e.data ?? {}) as Partial;
      const tool = partial.tools?.at(-1)?.name ?? "";
      const thinking = !partial.text && !!partial.thinking;
      states.set(id, { text: ((thinking ? partial.thinking : partial.text) ?? "").slice(-most), thinking, tool });
      return true;
    }
    case "tool.started":
      states.set(id, { ...now, tool: (e.data as Tool | undefined)?.name ?? "a tool" });
      return true;
    case "tool.completed":
      states.set(id, { text: "", thinking: false, tool: "" });
      return true;
    case "turn.completed":
    case "turn.failed":
      return states.delete(id);
  }
  return false;
}

function useLive() {
  const list = useGet<Page<Session>>("/v1/running");
  const states = useRef(new Map<string, TurnState>());
  const timer = useRef(0);
  const known = useRef(new Map<string, Session>());
  const [ended, setEnded] = useState<Ended[]>([]);
  const [, draw] = useState(0);
  for (const s of list.data?.items ?? []) known.current.set(s.id, s);
  useEffect(() => {
    if (list.data) running.value = new Set((list.data.items ?? []).map((s) => s.id));
  }, [list.data]);
  const soon = (what: () => void, ms: number) => {
    if (timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      what();
    }, ms);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useStream("/v1/events", {}, {
    event: (e) => {
      noteRunning(e);
      if (updateState(states.current, e)) soon(() => draw((n) => n + 1), 120);
      if (e.name === "turn.completed" || e.name === "turn.failed") {
        const session = known.current.get(e.session ?? "") ?? { id: e.session ?? "", bytes: 0, end: 0, parts: 0 };
        const error = e.name === "turn.failed" ? ((e.data as Trouble | undefined)?.message ?? "failed") : "";
        setEnded((old) => [{ session, at: new Date().toISOString(), error }, ...old].slice(0, 8));
        list.set((old) => old && { ...old, items: (old.items ?? []).filter((s) => s.id !== e.session) });
      }
      if (/^turn\.(started|queued|completed|failed)$/.test(e.name)) list.reload();
    },
    opened: (again) => again && list.reload(),
  });
  return { list, states: states.current, ended };
}

export function Live() {
  const { list, states, ended } = useLive();
  const root = useRef<HTMLDivElement>(null);
  const [, tick] = useState(0);
  const items = list.data?.items ?? [];
  const waiting = items.reduce((n, s) => n + (s.queued ?? 0), 0);
  useEvery(items.length ? 1000 : 0, () => tick((n) => n + 1));
  useRows("Live", root, [{ key: "s", does: "Stop", run: () => void (mayWrite() && rowAt() && stop(rowAt())) }]);
  return (
    <div class="page live" ref={root}>
      <header class="page-head">
        <h1>Live</h1>
        <span class="faint num head-note" role="status">
          {items.length > 0 && `${count(items.length)} running`}
          {waiting > 0 && ` · ${plural(waiting, "message")} queued`}
        </span>
        <CopyCLI small command="firn ls --live" />
      </header>
      {list.error && <Problem error={list.error} retry={list.reload} />}
      {!list.data && !list.error && <Skeleton />}
      {list.data && items.length === 0 && (
        <Empty icon="live" title="No running turns" action={mayWrite() ? { label: "New session", run: () => void newSession() } : { label: "All sessions", href: "/sessions" }} command="firn chat">
          Turns appear here as soon as they start.
        </Empty>
      )}
      <ul class="turns" aria-label="Running turns">
        {items.map((s) => (
          <Turn key={s.id} session={s} state={states.get(s.id)} />
        ))}
      </ul>
      {ended.length > 0 && <Over ended={ended} />}
    </div>
  );
}

function lasting(since: string | undefined): string {
  if (!since) return "";
  const s = Math.max(0, Math.round((Date.now() - new Date(since).getTime()) / 1000));
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

function Turn({ session: s, state }: { session: Session; state?: TurnState }) {
  return (
    <li class="turn" data-row={s.id}>
      <span class="dot on" role="img" aria-label="running" />
      <div class="turn-main">
        <p class="turn-head">
          <a class="turn-name" href={toSession(s.id)}>
            {titleOf(s)}
          </a>
          <span class="faint">{[s.agent, s.key?.replace(/^agent:/, "") || (s.cwd ? shortPath(s.cwd) : shortId(s.id))].filter(Boolean).join(" · ")}</span>
          {!!s.queued && <span class="chip">{count(s.queued)} queued</span>}
        </p>
        <p class={"turn-text" + (state?.thinking ? " thought" : "")}>
          {state?.tool ? (
            <span class="faint">
              running <code>{state.tool}</code>
            </span>
          ) : state?.text ? (
            state.text
          ) : (
            <span class="faint">{s.title ? (s.prompt ?? "…") : "…"}</span>
          )}
        </p>
      </div>
      <span class="turn-since num" title={s.since}>
        {lasting(s.since)}
      </span>
      {mayWrite() && (
        <span class="turn-acts">
          <button type="button" class="button" aria-label={`Stop ${titleOf(s)}`} disabled={lost.value} onClick={() => void stop(s.id)}>
            <Icon name="stop" /> Stop
          </button>
          <CopyCLI small command={`firn stop ${shell(s.id)}`} />
        </span>
      )}
    </li>
  );
}

function Over({ ended }: { ended: Ended[] }) {
  return (
    <section class="turns-over" aria-label="Recently ended">
      <h2>Recently ended</h2>
      <ul>
        {ended.map((e) => (
          <li key={e.session.id + e.at} data-row={e.session.id}>
            <a href={toSession(e.session.id)}>{titleOf(e.session) === "untitled" ? shortId(e.session.id) : titleOf(e.session)}</a>
            {e.error && <span class="bad"> {e.error}</span>} <Time at={e.at} class="faint" />
          </li>
        ))}
      </ul>
    </section>
  );
}
