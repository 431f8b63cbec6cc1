// Header shows a session's title, metadata and actions.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sessionPath, useGet } from "../../api";
import { clock, cost, count, plural, shell, shortId, shortPath, titleOf, tokens } from "../../format";
import { bound, mayWrite } from "../../me";
import { toolOf } from "../../plaintext";
import { toSession } from "../../router";
import { copy, CopyCLI, Icon, Menu, SourceBadge, Time, WindowBar } from "../../ui";
import { Unread } from "../parts";
import type { Breaker, Session, SessionPage, TagPage } from "../../wire";
import { change } from "./order";
import { pinTag } from "../../recent";
import { commands } from "../commands";
import { ExportDialog, TagDialog } from "../dialogs";
import { fork } from "../moves";
import { CliDialog, CompactDialog } from "./ordering";
import type { Watch } from "./watch";

type Open = "" | "tags" | "export" | "compact" | "cli";

export function Header({ watch, session }: { watch: Watch; session: Session | undefined }) {
  if (session) return <Known watch={watch} session={session} />;
  return (
    <header class="session-head">
      <div class="session-title">
        <h1 class="one-line faint">{shortId(watch.id)}</h1>
      </div>
      <p class="session-meta" />
    </header>
  );
}

function Known({ watch, session }: { watch: Watch; session: Session }) {
  const open = useSignal<Open>("");
  const editing = useSignal(false);
  const close = () => (open.value = "");
  const st = session.state;
  const c = st?.counters;
  return (
    <header class="session-head">
      <div class="session-title">
        <span class={"dot" + (watch.live.value ? " on" : "")} role="img" aria-label={watch.live.value ? "Turn running" : "Idle"} title={watch.live.value ? "Turn running" : "Idle"} />
        {editing.value ? (
          <TitleBox watch={watch} session={session} close={() => (editing.value = false)} />
        ) : (
          <h1 class="one-line" title={titleOf(session)} onDblClick={() => mayWrite() && (editing.value = true)}>
            {titleOf(session)}
          </h1>
        )}
        {session.archived && <span class="chip">archived</span>}
        {session.hidden && <span class="chip">hidden</span>}
        <Unread session={session} />
        {session.tags?.map((t) => (
          <a key={t} class="chip" href={"/sessions?tag=" + encodeURIComponent(t)}>
            {t}
          </a>
        ))}
        <span class="session-menu">
          <SessionMenu watch={watch} session={session} rename={() => (editing.value = true)} show={(o) => (open.value = o)} />
        </span>
      </div>
      <p class="session-meta num">
        {session.imported && <SourceBadge source={session.imported} />}
        <Origin session={session} />
        {st?.model && <span title={st.provider}>{st.model}</span>}
        {st && st.window.window > 0 && (
          <a href={toSession(session.id, "window")} class="quiet-link">
            <WindowBar usage={st.window} />
          </a>
        )}
        {st && <span title={st.branches > 1 ? "On all branches" : undefined}>{plural(st.turns, "turn") + (st.branches > 1 ? " in total" : "")}</span>}
        {c && (c.input > 0 || c.output > 0) && <span title={`${count(c.input)} in, ${count(c.output)} out, ${count(c.cacheRead)} cache read, ${count(c.cacheWrite)} cache write`}>{tokens(c.input + c.output + c.cacheRead + c.cacheWrite)} tokens</span>}
        {c && c.cost > 0 && <span>{cost(c.cost)}</span>}
        {st && st.branches > 1 && (
          <a class="quiet-link" href={toSession(session.id, "tree")}>
            {plural(st.branches, "branch")}
          </a>
        )}
        {st && st.compactions > 0 && <span>{plural(st.compactions, "compaction")}</span>}
        {session.parent && <Parent of={session.parent} how={session.subagent ? "sub-agent of" : "forked from"} />}
        <Time at={session.updated} />
      </p>
      <Children of={session.id} />
      {session.fault && <p class="session-fault">{session.fault}</p>}
      {st?.breaker && <BreakerNote breaker={st.breaker} />}
      {!!session.unread && (
        <p class="session-fault" role="note">
          {plural(session.unread, "place")} unreadable. <CopyCLI command={`firn verify ${shell(session.id)}`} />
        </p>
      )}
      {open.value === "tags" && <Tags watch={watch} session={session} close={close} />}
      {open.value === "export" && <ExportDialog sessions={[session]} close={close} />}
      {open.value === "compact" && <CompactDialog watch={watch} session={session} close={close} />}
      {open.value === "cli" && <CliDialog session={session} close={close} />}
    </header>
  );
}

// BreakerNote shows compaction failures and the pause.
function BreakerNote({ breaker: b }: { breaker: Breaker }) {
  const until = b.until && clock(new Date(b.until));
  return (
    <p class="session-fault" role="note">
      {b.open ? `Compaction is paused until ${until}, after ${plural(b.failures, "failure")} in a row` : `Compaction failed ${plural(b.failures, "time")} in a row`}
      {b.error && `: ${b.error}`}
    </p>
  );
}

// Tags edits the session's tags, suggesting all known tags.
function Tags({ watch, session, close }: { watch: Watch; session: Session; close: () => void }) {
  const known = useGet<TagPage>(bound() ? "" : "/v1/tags");
  const old = session.tags ?? [];
  const save = (add: string[], drop: string[]) => {
    const tags = [...new Set([...old, ...add])].filter((t) => !drop.includes(t));
    void change(watch, { tags }, { tags: old }, "Tags updated");
  };
  return <TagDialog sessions={[session]} tags={(known.data?.items ?? []).map((t) => t.name)} save={save} close={close} />;
}

// Children links to the session's sub-agents.
function Children({ of }: { of: string }) {
  const children = useGet<SessionPage>(sessionPath(of, "children")).data?.items ?? [];
  if (children.length === 0) return null;
  return (
    <p class="session-meta">
      <span>{plural(children.length, "sub-agent")}:</span>
      {children.map((s) => (
        <a key={s.id} class="quiet-link" href={toSession(s.id)} title={s.agent}>
          {titleOf(s)}
          {s.archived && " (archived)"}
        </a>
      ))}
    </p>
  );
}

// Parent links to the session this one was forked from or started by. Other tools name it by a
// file, which may not exist here.
function Parent({ of, how }: { of: string; how: string }) {
  if (/[/\\]/.test(of)) return <span title={of}>{how} a session that is not stored here</span>;
  return (
    <a class="quiet-link" href={toSession(of)}>
      {how} {shortId(of)}
    </a>
  );
}

function Origin({ session }: { session: Session }) {
  if (session.source) {
    return (
      <a class="quiet-link" href={"/sessions?source=" + encodeURIComponent(session.source)} title={session.source}>
        {toolOf(session.source) && <span class="chip source-badge">{toolOf(session.source)}</span>} {shortPath(session.source)}
      </a>
    );
  }
  if (session.key) {
    return (
      <a class="quiet-link" href={"/keys/" + encodeURIComponent(session.key)} title={session.current ? "This key points at this session" : "This key pointed at this session"}>
        {session.key.replace(/^agent:/, "")}
      </a>
    );
  }
  return session.agent ? <span>{session.agent}</span> : <span class="mono">{shortId(session.id)}</span>;
}

function TitleBox({ watch, session, close }: { watch: Watch; session: Session; close: () => void }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.select(), []);
  const over = useRef(false);
  const done = (back?: boolean) => {
    if (over.current) return;
    over.current = true;
    const title = box.current?.value.trim() ?? "";
    const menu = box.current?.parentElement?.querySelector<HTMLElement>(".session-menu button");
    close();
    if (back) menu?.focus();
    if (title && title !== session.title) void change(watch, { title }, { title: session.title ?? "" }, "Renamed");
  };
  return (
    <input
      ref={box}
      class="input session-name"
      aria-label="Title"
      defaultValue={session.title || session.prompt}
      onBlur={() => done()}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          e.stopPropagation();
          if (box.current) box.current.value = "";
        }
        if (e.key !== "Enter" && e.key !== "Escape") return;
        e.preventDefault(); // Enter is not for the button that gets the focus
        done(true);
      }}
    />
  );
}

interface MenuProps {
  watch: Watch;
  session: Session;
  rename: () => void;
  show: (what: Open) => void;
}

function SessionMenu({ watch, session, rename, show }: MenuProps) {
  const writes = mayWrite();
  const id = shell(session.id);
  const tags = session.tags ?? [];
  const pinned = tags.includes(pinTag);
  const pin = () => change(watch, { tags: pinned ? tags.filter((t) => t !== pinTag) : [...tags, pinTag] }, { tags }, pinned ? "Unpinned" : "Pinned");
  const flip = (what: "archived" | "hidden", on: string, off: string) => {
    const was = !!session[what];
    void change(watch, { [what]: !was }, { [what]: was }, was ? off : on);
  };
  return (
    <Menu
      label="Session actions"
      class="icon-button"
      align="end"
      items={[
        writes && { label: "Rename", cli: commands.rename(session, session.title ?? ""), run: rename },
        writes && { label: "Tags…", run: () => show("tags") },
        writes && { label: "Fork", cli: `firn fork ${id}`, run: () => void fork(session.id) },
        writes && { label: pinned ? "Unpin" : "Pin", cli: commands.tag([session], pinned ? [] : [pinTag], pinned ? [pinTag] : []), run: () => void pin() },
        writes && { label: "Compact…", disabled: watch.live.value, run: () => show("compact") },
        writes && "-",
        { label: "Export…", run: () => show("export") },
        { label: "Copy link", run: () => void copy(location.origin + toSession(session.id), "the link") },
        { label: "Copy ID", run: () => void copy(session.id, "the ID") },
        { label: "Copy as CLI…", run: () => show("cli") },
        writes && "-",
        writes && { cli: commands.archive([session], !session.archived), label: session.archived ? "Unarchive" : "Archive", run: () => flip("archived", "Archived", "Unarchived") },
        writes && { cli: commands.hide([session], !session.hidden), label: session.hidden ? "Show in lists" : "Hide from lists", run: () => flip("hidden", "Hidden; nothing was erased", "Shown in lists") },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
