// SessionPage is the page of a session with its tabs.
import type { ComponentType } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { titleOf } from "../../format";
import { toSession } from "../../router";
import { Problem, Skeleton } from "../../ui";
import type { Session } from "../../wire";
import { Header } from "./header";
import { Log } from "./log";
import type { PageProps } from "../props";
import { Raw } from "./raw";
import type { TabProps } from "./tab";
import { Tree } from "./tree";
import { SessionUsage } from "./usage";
import { Watch } from "./watch";
import { Window } from "./window";

// The log does not wait for the session's metadata.
const tabs: [path: string, name: string, tab?: ComponentType<TabProps>][] = [
  ["", "Log"],
  ["tree", "Tree", Tree],
  ["window", "Window", Window],
  ["usage", "Usage", SessionUsage],
  ["raw", "Raw", Raw],
];

export function SessionPage({ parts }: PageProps) {
  const id = parts["id"] ?? "";
  return <OneSession key={id} id={id} tab={parts["tab"] === "log" ? "" : (parts["tab"] ?? "")} />;
}

function OneSession({ id, tab }: { id: string; tab: string }) {
  const watch = useMemo(() => new Watch(id), [id]);
  useEffect(() => () => watch.close(), [watch]);
  const session = watch.session.value;
  const error = watch.error.value;
  const name = session ? titleOf(session) : "";
  useEffect(() => {
    if (name) document.title = `${name} · firn`;
  }, [name, tab]);
  if (!session && error) {
    return (
      <div class="page session-page">
        <h1 class="sr">Session</h1>
        <Problem error={error} retry={() => void watch.load()}>
          <a class="button primary" href="/sessions">
            All sessions
          </a>
        </Problem>
      </div>
    );
  }
  const [here, , Tab] = tabs.find(([path]) => path === tab) ?? tabs[0]!;
  return (
    <div class="page session-page" aria-busy={!session}>
      <Header watch={watch} session={session} />
      <nav class="tabs" aria-label="Session views">
        {tabs.map(([path, label]) => (
          <a key={path} href={toSession(id, path)} aria-current={path === here ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div class={"session-body" + (here === "" ? " fixed" : "")}>
        {here === "" ? <Log watch={watch} /> : session && Tab ? <Other watch={watch} session={session} tab={Tab} /> : <Skeleton />}
      </div>
    </div>
  );
}

// Other is a tab that needs the session's metadata.
function Other({ watch, session, tab: Tab }: { watch: Watch; session: Session; tab: ComponentType<TabProps> }) {
  useEffect(() => void watch.listen(), [watch]);
  return <Tab session={session} reload={watch.soon} watch={watch} />;
}
