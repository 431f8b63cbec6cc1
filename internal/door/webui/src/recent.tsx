// Recent lists the latest sessions in the sidebar, pinned ones first, with a search box.
import { useEffect, useState } from "preact/hooks";
import { get, useLoad } from "./api";
import { titleOf } from "./format";
import { path, toSession } from "./router";
import { running } from "./running";
import { Icon } from "./ui";
import type { Page, Session } from "./wire";

// pinTag is the tag of pinned sessions.
export const pinTag = "pinned";

const most = 20;

export function Recent() {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const t = setTimeout(() => setAsked(text.trim()), 150);
    return () => clearTimeout(t);
  }, [text]);
  // The list follows what is opened, and turns that start or end.
  const stamp = [...running.value].sort().join();
  const found = useLoad(`recent ${asked} ${path.value} ${stamp}`, async (signal) => {
    const query = { text: asked, limit: most };
    const [pinned, latest] = await Promise.all([
      get<Page<Session>>("/v1/sessions", { ...query, tag: pinTag }, signal),
      get<Page<Session>>("/v1/sessions", query, signal),
    ]);
    const first = pinned.items ?? [];
    const ids = new Set(first.map((s) => s.id));
    return [...first, ...(latest.items ?? []).filter((s) => !ids.has(s.id))].slice(0, most);
  });
  const sessions = found.data ?? [];
  if (sessions.length === 0 && !asked) return null;
  return (
    <section class="recent" aria-label="Recent sessions">
      <input class="input recent-box" type="search" aria-label="Search sessions" placeholder="Search sessions" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <ul class="recent-list">
        {sessions.map((s) => (
          <One key={s.id} session={s} />
        ))}
      </ul>
      {sessions.length === 0 && !found.loading && <p class="faint">No matching sessions</p>}
    </section>
  );
}

function One({ session: s }: { session: Session }) {
  const live = s.live || running.value.has(s.id);
  const here = path.value === toSession(s.id) || path.value.startsWith(toSession(s.id) + "/");
  return (
    <li>
      <a class="recent-one" href={toSession(s.id)} aria-current={here ? "page" : undefined} title={titleOf(s)}>
        <span class={"dot" + (live ? " on" : "")} role={live ? "img" : undefined} aria-label={live ? "turn running" : undefined} />
        <span class="one-line">{titleOf(s)}</span>
        {s.tags?.includes(pinTag) && <Icon name="pin" />}
      </a>
    </li>
  );
}
