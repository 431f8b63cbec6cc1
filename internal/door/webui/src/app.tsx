// App renders the current page.
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { asProblem } from "./api";
import { Layout } from "./layout";
import { down, loadMe, me } from "./me";
import { Keys } from "./pages/keys";
import { Live } from "./pages/live";
import { Login } from "./pages/login";
import { Memory } from "./pages/memory";
import { Ops } from "./pages/ops";
import type { PageProps } from "./pages/props";
import { Search } from "./pages/search";
import { SessionPage } from "./pages/session";
import { Sessions } from "./pages/sessions";
import { Settings } from "./pages/settings";
import { Sources } from "./pages/sources";
import { Usage } from "./pages/usage";
import { closed } from "./nav";
import { match, path } from "./router";
import { Empty, Problem, Skeleton, Toasts } from "./ui";

const pages: [pattern: string, title: string, page: ComponentType<PageProps>][] = [
  ["/", "Sessions", Sessions],
  ["/sessions", "Sessions", Sessions],
  ["/sessions/:id/:tab?", "Session", SessionPage],
  ["/live", "Live", Live],
  ["/search", "Search", Search],
  ["/memory", "Memory", Memory],
  ["/usage", "Usage", Usage],
  ["/keys/:key?", "Keys", Keys],
  ["/sources", "Sources", Sources],
  ["/ops", "Ops", Ops],
  ["/settings", "Settings", Settings],
];

export function App() {
  return (
    <>
      <Body />
      <Toasts />
    </>
  );
}

function Body() {
  // A gateway that did not answer at first is asked again.
  useEffect(() => {
    if (down.value === undefined) return;
    const t = setInterval(() => void loadMe(), 2_000);
    return () => clearInterval(t);
  }, [down.value !== undefined]);
  if (path.value === "/login" || me.value === null) return <Login />;
  if (down.value !== undefined) {
    return (
      <main class="alone">
        <h1 class="sr">firn</h1>
        <Problem error={asProblem(down.value)} retry={() => void loadMe()} />
      </main>
    );
  }
  if (me.value === undefined) {
    return (
      <main class="alone" aria-busy="true">
        <h1 class="sr">firn</h1>
        <Skeleton />
      </main>
    );
  }
  for (const [pattern, title, Page] of pages) {
    const parts = match(pattern, path.value);
    if (parts && closed(path.value)) return <Closed title={title} />;
    if (parts) {
      return (
        <Layout>
          <Titled title={title} />
          <Page key={pattern} parts={parts} />
        </Layout>
      );
    }
  }
  return (
    <Layout>
      <Titled title="Not found" />
      <h1 class="sr">Page not found</h1>
      <Empty icon="search" title="Page not found" action={{ label: "All sessions", href: "/sessions" }} />
    </Layout>
  );
}

// Closed replaces a page about all sessions for bound logins.
function Closed({ title }: { title: string }) {
  const mine = [...(me.value?.agents ?? []), ...(me.value?.keys ?? [])].join(", ");
  return (
    <Layout>
      <Titled title={title} />
      <h1 class="sr">{title}</h1>
      <Empty icon="hide" title={`${title} covers all sessions`} action={{ label: "Your sessions", href: "/sessions" }}>
        This login is limited to {mine}. This page needs a login without limits.
      </Empty>
    </Layout>
  );
}

// Titled sets the document title. Pages may set a more specific one.
function Titled({ title }: { title: string }) {
  useEffect(() => {
    document.title = `${title} · firn`;
  }, [title]);
  return null;
}
