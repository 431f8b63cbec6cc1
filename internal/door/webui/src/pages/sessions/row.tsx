// A row of the session list.
import { memo } from "./memo";
import { cost, count, shortId, shortPath, tokens, titleOf } from "../../format";
import { toSession } from "../../router";
import { running } from "../../running";
import { Icon, Menu, Time, WindowBar, type MenuItem } from "../../ui";
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
}

export const SessionRow = memo(function SessionRow({ session: s, depth, selected, select, menu, focused }: Props) {
  const live = s.live || running.value.has(s.id);
  const name = titleOf(s);
  return (
    <div class={"srow" + (selected ? " selected" : "")} data-depth={Math.min(depth, 3)}>
      <span class="srow-pick">
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
      <span class="srow-main">
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
      <span class="srow-agent" title={s.source || s.agent}>{s.source || s.agent}</span>
      <State session={s} />
      <Time at={s.updated} class="srow-time num" />
      <Menu label={`Actions for ${name}`} class="icon-button srow-more" align="end" items={() => menu(s)}>
        <Icon name="more" />
      </Menu>
    </div>
  );
});

function State({ session }: { session: Session }) {
  const st = session.state;
  if (!st) {
    return (
      <>
        <span class="srow-marks" />
        <span class="srow-turns" />
        <span class="srow-window" />
        <span class="srow-tokens" />
      </>
    );
  }
  const used = st.counters.input + st.counters.output + st.counters.cacheRead + st.counters.cacheWrite;
  return (
    <>
      <span class="srow-marks num">
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
      <span class="srow-turns num" title={`${count(st.turns)} turns`}>
        {count(st.turns)}
      </span>
      <span class="srow-window">
        <WindowBar usage={st.window} />
      </span>
      <span class="srow-tokens num" title={`${count(used)} tokens in total, ${cost(st.counters.cost)}`}>
        {tokens(used)}
      </span>
    </>
  );
}

// PlaceholderRow is a placeholder for a row that is not loaded.
export function PlaceholderRow() {
  return (
    <div class="srow coming" aria-busy="true">
      <span class="srow-pick" />
      <span class="srow-main">
        <span class="ghost" />
      </span>
    </div>
  );
}
