// SessionPage is one session: its name, and a tab for each way to look at it.
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { sessionPath, useGet, type Loaded } from "../../api";
import { toSession } from "../../router";
import { Problem } from "../../ui";
import type { Session } from "../../wire";
import { Log } from "./log";
import { Raw } from "./raw";
import { Tree } from "./tree";
import { SessionUsage } from "./usage";
import { Window } from "./window";

// TabProps is what every tab is given. Reload fetches the session again.
export interface TabProps {
  session: Session;
  reload: Loaded<Session>["reload"];
}

const tabs: [path: string, name: string, tab: ComponentType<TabProps>][] = [
  ["", "Log", Log],
  ["tree", "Tree", Tree],
  ["window", "Window", Window],
  ["usage", "Usage", SessionUsage],
  ["raw", "Raw", Raw],
];

export function SessionPage({ parts }: { parts: Record<string, string> }) {
  const id = parts["id"] ?? "";
  const loaded = useGet<Session>(sessionPath(id));
  const session = loaded.data;
  const name = session ? session.title || session.prompt || "untitled" : "";
  useEffect(() => {
    if (name) document.title = `${name} · firn`;
  }, [name]);
  if (loaded.error && !session) return <Problem error={loaded.error} retry={loaded.reload} />;
  if (!session) return <div class="page" aria-busy="true" />;
  const [, , Tab] = tabs.find(([path]) => path === (parts["tab"] ?? "")) ?? tabs[0]!;
  return (
    <div class="page session-page">
      <header class="page-head">
        <h1>{name}</h1>
      </header>
      <nav class="tabs" aria-label="Ways to look at the session">
        {tabs.map(([path, label]) => (
          <a key={path} href={toSession(session.id, path)} aria-current={path === (parts["tab"] ?? "") ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <Tab key={session.id} session={session} reload={loaded.reload} />
    </div>
  );
}
