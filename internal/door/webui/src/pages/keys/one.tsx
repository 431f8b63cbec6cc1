// A key's page: its current session, reset rule and history. Pointing it elsewhere can be undone.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, put, sessionPath, useGet, useLoad } from "../../api";
import { bytes, plural, shell, shortId, titleOf } from "../../format";
import { useStream, useThrottled } from "../../live";
import { mayWrite } from "../../me";
import { toSession } from "../../router";
import { noteRunning, running } from "../../running";
import { attempt, CopyCLI, Dialog, Problem, Skeleton, notify, Time } from "../../ui";
import type { Key, Page, Routed, Session } from "../../wire";
import { Figure, Section, useRows } from "../parts";
import { shortKey } from "./name";

const pathOf = (key: string) => `/v1/keys/${encodeURIComponent(key)}`;

// useMoves returns the actions on a key. Undo points it back.
function useMoves(key: string, current: string | undefined, changed: () => void) {
  const point = (session: string) => put<Key>(pathOf(key), { key, agent: "", session });
  const back = current
    ? async () => {
        await point(current);
        changed();
      }
    : undefined;
  const run = async (notice: string, what: () => Promise<unknown>) => {
    const done = await attempt(async () => (await what(), true));
    if (!done) return;
    changed();
    notify(notice, back);
  };
  return {
    point: (s: Session) => run(`The key now points at ${titleOf(s)}`, () => point(s.id)),
    reset: () => run("Started a new session; the old one is kept", () => post<Routed>(pathOf(key) + "/reset")),
    previous: () => run("The key points at the previous session again", () => post<Key>(pathOf(key) + "/continue-previous")),
  };
}

export function OneKey({ name }: { name: string }) {
  const key = useGet<Key>(pathOf(name));
  const [asking, setAsking] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const k = key.data;
  const moves = useMoves(name, k?.session, key.reload);
  const history = k?.history ?? [];
  useRows("Key", root);
  useEffect(() => {
    document.title = `${shortKey(name)} · firn`;
  }, [name]);
  const soon = useThrottled(key.reload);
  useStream("/v1/events", {}, {
    event: (e) => {
      noteRunning(e);
      if (e.name === "session.updated" || (e.name === "turn.completed" && history.some((s) => s.id === e.session))) soon();
    },
    opened: (again) => again && key.reload(),
  });
  const known = history.find((s) => s.id === k?.session);
  // A key may point at a session that is not in its history.
  const other = useGet<Session>(k?.session && !known ? sessionPath(k.session) : "");
  const now = known ?? (other.data?.id === k?.session ? other.data : undefined);
  return (
    <div class="page" ref={root}>
      <header class="page-head">
        <h1>
          <a class="crumb" href="/keys">
            Keys
          </a>{" "}
          <span class="mono key-name">{shortKey(name)}</span>
        </h1>
        <CopyCLI small command={`firn keys show ${shell(name)}`} />
      </header>
      {key.error && (
        <Problem error={key.error} retry={key.reload}>
          <a class="button" href="/keys">
            All keys
          </a>
        </Problem>
      )}
      {!k && !key.error && <Skeleton />}
      {k && (
        <div class="page-body">
          <dl class="figures">
            <Figure name="Kind" value={[k.kind, k.chatType].filter((x, i, all) => x && all.indexOf(x) === i).join(", ") || "–"} />
            <Figure name="Agent" value={<a href={`/sessions?agent=${encodeURIComponent(k.agent)}`}>{k.agent}</a>} />
            <Figure name="Reset" value={k.reset || "never"} />
            <Figure name="Updated" value={k.updated ? <Time at={k.updated} /> : "never"} />
          </dl>
          <Section title="Current session">
            {k.session ? (
              <p>
                <a href={toSession(k.session)}>{now ? titleOf(now) : shortId(k.session)}</a>
                {running.value.has(k.session) && <span class="chip live-chip">turn running</span>}
              </p>
            ) : (
              <p class="muted">None: the next message starts one.</p>
            )}
            {mayWrite() && (
              <div class="actions">
                <Act run={() => setAsking(true)} command={`firn keys set ${shell(name)} SESSION`}>
                  Point to…
                </Act>
                <Act run={() => void moves.reset()} command={`firn keys reset ${shell(name)}`}>
                  Start a new session
                </Act>
                {history.length > 1 && (
                  <Act run={() => void moves.previous()} command={`firn keys previous ${shell(name)}`}>
                    Continue the previous session
                  </Act>
                )}
              </div>
            )}
          </Section>
          <Section title="History" note={plural(history.length, "session")}>
            <History sessions={history} current={k.session} point={moves.point} name={name} />
          </Section>
        </div>
      )}
      {asking && (
        <Point
          name={name}
          close={() => setAsking(false)}
          take={(s) => {
            setAsking(false);
            void moves.point(s);
          }}
        />
      )}
    </div>
  );
}

function Act({ run, command, children }: { run: () => void; command: string; children: string }) {
  return (
    <span class="act">
      <button type="button" class="button" onClick={run}>
        {children}
      </button>
      <CopyCLI small command={command} />
    </span>
  );
}

interface HistoryProps {
  sessions: Session[];
  current?: string;
  name: string;
  point: (s: Session) => void;
}

function History({ sessions, current, name, point }: HistoryProps) {
  return (
    <table class="table stacks">
      <thead>
        <tr>
          <th>Session</th>
          <th class="num">Size</th>
          <th class="num">Created</th>
          <th class="num">Updated</th>
          {mayWrite() && <th class="cell-acts"><span class="sr">Actions</span></th>}
        </tr>
      </thead>
      <tbody>
        {sessions.map((s) => (
          <tr key={s.id} data-row={s.id}>
            <td class="cell-name">
              <a href={toSession(s.id)}>{titleOf(s)}</a> {s.id === current && <span class="chip">current</span>}
            </td>
            <td class="num">{bytes(s.bytes)}</td>
            <td class="num" data-label="created">
              <Time at={s.created} />
            </td>
            <td class="num" data-label="updated">
              <Time at={s.updated} />
            </td>
            {mayWrite() && (
              <td class="cell-acts">
                {s.id !== current && (
                  <>
                    <button type="button" class="button quiet" aria-label={`Point here: ${titleOf(s)}`} onClick={() => point(s)}>
                      Point here
                    </button>
                    <CopyCLI small command={`firn keys set ${shell(name)} ${shell(s.id)}`} />
                  </>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Point is the dialog that selects the session for a key.
function Point({ name, close, take }: { name: string; close: () => void; take: (s: Session) => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<Session>();
  const found = useLoad("point " + text, (signal) => get<Page<Session>>("/v1/sessions", { text, limit: 30 }, signal));
  return (
    <Dialog
      title={`Point ${shortKey(name)} to…`}
      close={close}
      submit={() => chosen && take(chosen)}
      actions={
        <>
          <CopyCLI small command={`firn keys set ${shell(name)} ${chosen ? shell(chosen.id) : "SESSION"}`} />
          <button type="submit" class="button primary" disabled={!chosen}>
            Point
          </button>
        </>
      }
    >
      <label class="field">
        <span>Session title or first message</span>
        <input class="input" autoFocus value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <fieldset class="field pick-list">
        <legend class="sr">Sessions</legend>
        {(found.data?.items ?? []).map((s) => (
          <label key={s.id} class="check">
            <input type="radio" name="session" checked={chosen?.id === s.id} onChange={() => setChosen(s)} />
            <span class="one-line">{titleOf(s)}</span>
            <Time at={s.updated} class="faint" />
          </label>
        ))}
        {found.data && (found.data.items ?? []).length === 0 && <span class="faint">No matching sessions</span>}
      </fieldset>
    </Dialog>
  );
}
