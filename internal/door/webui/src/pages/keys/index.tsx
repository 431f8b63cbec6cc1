// Keys lists keys and the sessions they point at.
import { useRef, useState } from "preact/hooks";
import { useGet } from "../../api";
import { count, plural, shell, shortId } from "../../format";
import { useStream, useThrottled } from "../../live";
import { param, toSession } from "../../router";
import { noteRunning } from "../../running";
import { CopyCLI, Empty, Problem, Skeleton, Time } from "../../ui";
import type { Agent, Key, Page } from "../../wire";
import { Box, Choice, toBox, useRows, withChosen } from "../parts";
import type { PageProps } from "../props";
import { shortKey, toKey } from "./name";
import { OneKey } from "./one";

export function Keys({ parts }: PageProps) {
  return parts["key"] ? <OneKey name={parts["key"]} /> : <Table />;
}

// pageSize is the initial number of keys, mostKeys the maximum.
const pageSize = 100;
const mostKeys = 1000;

function Table() {
  const agent = param("agent");
  const text = param("q");
  const [limit, setLimit] = useState(pageSize);
  const list = useGet<Page<Key>>("/v1/keys", { agent, text, limit: String(limit) });
  const soon = useThrottled(list.reload);
  const agents = useGet<Page<Agent>>("/v1/agents");
  const root = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLInputElement>(null);
  useRows("Keys", root, [toBox(box, "Filter")]);
  useStream("/v1/events", {}, {
    event: (e) => {
      noteRunning(e);
      if (e.name === "session.updated") soon();
      // A turn changes the time of a shown key alone. The others need no request.
      if (e.name === "turn.started" && e.session) list.set((page) => page && used(page, e.session!));
    },
    opened: (again) => again && list.reload(),
  });
  const all = list.data?.items ?? [];
  const total = list.data?.total ?? 0;
  return (
    <div class="page" ref={root}>
      <header class="page-head">
        <h1>Keys</h1>
        <span class="faint num head-note">{list.data && plural(total, "key")}</span>
        <CopyCLI small command={"firn keys ls" + (agent ? " --agent " + shell(agent) : "")} />
      </header>
      <div class="filters" role="search">
        <Box name="q" label="Filter keys" value={text} box={box} wait={100} />
        <Choice name="agent" label="Agent" any="any" chosen={agent} choices={withChosen((agents.data?.items ?? []).map((a) => a.id), agent)} />
      </div>
      {list.error && <Problem error={list.error} retry={list.reload} />}
      {!list.data && !list.error && <Skeleton />}
      {list.data && all.length === 0 && <None narrow={text !== "" || agent !== ""} />}
      {all.length > 0 && (
        <div class="page-body">
          <table class="table stacks keys-table">
            <thead>
              <tr>
                <th>Key</th>
                <th>Kind</th>
                <th>Agent</th>
                <th>Current session</th>
                <th>Reset</th>
                <th class="num">Updated</th>
              </tr>
            </thead>
            <tbody>
              {all.map((k) => (
                <tr key={k.key} data-row={k.key}>
                  <td class="cell-name">
                    <a class="mono" href={toKey(k.key)}>
                      {shortKey(k.key)}
                    </a>
                  </td>
                  <td>{k.kind}</td>
                  <td class="cell-extra">{k.agent}</td>
                  <td class="keys-now">
                    {k.session ? (
                      <a class={k.title ? undefined : "mono"} href={toSession(k.session)} title={k.session}>
                        {k.title || shortId(k.session)}
                      </a>
                    ) : (
                      <span class="faint">none</span>
                    )}
                  </td>
                  <td data-label="reset">{k.reset}</td>
                  <td class="num">
                    <Time at={k.updated} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {all.length < total && limit < mostKeys && (
            <button class="button" onClick={() => setLimit(Math.min(limit * 2, mostKeys))}>
              Show more
            </button>
          )}
          {all.length < total && limit >= mostKeys && <p class="faint">Showing the first {count(all.length)}. Filter to see others.</p>}
        </div>
      )}
    </div>
  );
}

// used moves the keys of a session to the front, with the current time.
function used(page: Page<Key>, session: string): Page<Key> {
  const items = page.items ?? [];
  const now = items.filter((k) => k.session === session).map((k) => ({ ...k, updated: new Date().toISOString() }));
  return now.length ? { ...page, items: [...now, ...items.filter((k) => k.session !== session)] } : page;
}

function None({ narrow }: { narrow: boolean }) {
  if (narrow) return <Empty icon="keys" title="No matching keys" action={{ label: "Show all keys", href: "/keys" }} command="firn keys ls" />;
  return (
    <Empty icon="keys" title="No keys yet" command="firn chat --key agent:main:desk">
      A key names the other side of a conversation: a person, a group, a channel. It is created with its first message.
    </Empty>
  );
}
