// A row of the session list.
import { memo } from "./memo";
import { bytes, cost, count, longDay, plural, shortId, shortPath, tokens, titleOf } from "../../format";
import { toSession } from "../../router";
import { running } from "../../running";
import { Icon, Menu, SourceBadge, Time, WindowBar, type MenuItem } from "../../ui";
import { Unread } from "../parts";
import type { Session } from "../../wire";

interface Props {
  session: Session;
  depth: number;
  selected: boolean;
  // select receives whether a range is selected.
  select: (id: string, range: boolean) => void;
  menu: (s: Session) => (MenuItem | "-" | false)[];
  focused: (id: string) => void;
  // sort is the field that the list is sorted by; the last columns show it.
  sort: string;
}

export const SessionRow = memo(function SessionRow({ session: s, depth, selected, select, menu, focused, sort }: Props) {
  const live = s.live || running.value.has(s.id);
  const name = titleOf(s);
  const from = s.source || s.imported;
  return (
    <div class={"srow" + (selected ? " selected" : "")} data-depth={Math.min(depth, 3)}>
      <span class="srow-pick" role="cell">
        <input
          type="checkbox"
          checked={selected}
          aria-label={`Select ${name}`}
          tabIndex={-1}
          onClick={(e) => {
            e.preventDefault();
            select(s.id, e.shiftKey);
          }}
        />
        <span class={"dot" + (live ? " on" : "")} role={live ? "img" : undefined} aria-label={live ? "turn running" : undefined} />
      </span>
      <span class="srow-main" role="cell">
        {depth > 0 && <span class="srow-fork" role="img" aria-label="fork" title="fork" />}
        <a class={"srow-name" + (s.title ? "" : " untitled")} href={toSession(s.id)} title={name} onFocus={() => focused(s.id)}>
          {name}
        </a>
        {s.queued ? <span class="chip">{s.queued} waiting</span> : null}
        {s.fault && (
          <span class="srow-fault" title={s.fault}>
            unreadable
          </span>
        )}
        <Unread session={s} />
        {s.tags?.map((t) => (
          <span key={t} class="chip">
            {t}
          </span>
        ))}
        <span class="srow-where">{s.key ? s.key.replace(/^agent:/, "") : s.cwd ? shortPath(s.cwd) : shortId(s.id)}</span>
      </span>
      <span class="srow-agent" role="cell" title={s.source || s.agent}>
        {from ? <SourceBadge source={from} /> : s.agent}
      </span>
      <State session={s} sort={sort} />
      <span class="srow-time num" role="cell">
        <Time at={sort === "created" ? s.created : s.updated} />
      </span>
      <span class="srow-acts" role="cell">
        <Menu label={`Actions for ${name}`} class="icon-button srow-more" align="end" items={() => menu(s)}>
          <Icon name="more" />
        </Menu>
      </span>
    </div>
  );
});

function State({ session, sort }: { session: Session; sort: string }) {
  const st = session.state;
  if (!st) {
    return (
      <>
        <span class="srow-marks" role="cell" />
        {sort === "turns" ? <CountedTurns session={session} /> : <span class="srow-turns" role="cell" />}
        <span class="srow-window" role="cell" />
        <span class="srow-tokens num" role="cell">
          {sort === "size" && bytes(session.bytes)}
          {sort === "cost" && countedCost(session)}
        </span>
      </>
    );
  }
  const used = st.counters.input + st.counters.output + st.counters.cacheRead + st.counters.cacheWrite;
  return (
    <>
      <span class="srow-marks num" role="cell">
        {st.branches > 1 && (
          <span title={`${st.branches} branches`} aria-label={`${st.branches} branches`} role="img">
            ⎇{st.branches}
          </span>
        )}
        {st.compactions > 0 && (
          <span title={`${st.compactions} compactions`} aria-label={`${st.compactions} compactions`} role="img">
            ◆{st.compactions}
          </span>
        )}
        {st.interrupted && (
          <span title="last turn interrupted" aria-label="interrupted" role="img" class="srow-broken">
            ↯
          </span>
        )}
      </span>
      {sort === "turns" ? (
        <CountedTurns session={session} />
      ) : (
        <span class="srow-turns num" role="cell" title={plural(st.turns, "turn")}>
          {count(st.turns)}
        </span>
      )}
      <span class="srow-window" role="cell">
        <WindowBar usage={st.window} />
      </span>
      <span class="srow-tokens num" role="cell" title={`${count(used)} tokens in total, ${cost(st.counters.cost)}, ${bytes(session.bytes)}`}>
        {sort === "size" ? bytes(session.bytes) : sort === "cost" ? countedCost(session) : tokens(used)}
      </span>
    </>
  );
}

// A list sorted by turns or cost shows the numbers that it is sorted by: those of the end of the
// latest turn.
function CountedTurns({ session: { counts } }: { session: Session }) {
  return (
    <span class="srow-turns num" role="cell" title={counts ? `${plural(counts.turns, "turn")} at the end of the latest turn` : "not counted yet"}>
      {counts ? count(counts.turns) : "–"}
    </span>
  );
}

function countedCost({ counts }: Session): string {
  return counts ? cost(counts.cost) : "–";
}

// PlaceholderRow is a placeholder for a row that is not loaded.
export function PlaceholderRow() {
  return (
    <div class="srow coming" aria-busy="true">
      <span class="srow-pick" role="cell" />
      <span class="srow-main" role="cell">
        <span class="ghost" />
      </span>
    </div>
  );
}

// GroupRow is the row before the sessions of a group.
export function GroupRow({ by, group }: { by: string; group: string }) {
  return (
    <div class="srow-group">
      <span role="rowheader" aria-colspan={9}>
        {by === "source" ? group === "firn" ? "firn" : <SourceBadge source={group} /> : groupName(by, group)}
      </span>
    </div>
  );
}

function groupName(by: string, group: string): string {
  if (by !== "day") return group ? shortPath(group) : "No directory";
  const [y = 0, m = 1, d = 1] = group.split("-").map(Number);
  return longDay(new Date(y, m - 1, d));
}
