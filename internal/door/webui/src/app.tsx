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
import { Sources } from "./pages/sources";
import { Usage } from "./pages/usage";
import { closed } from "./nav";
import { match, path } from "./router";
import { Empty, Problem, Toasts } from "./ui";

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
  if (path.value === "/login" || me.value === null) return <Login />;
  if (down.value !== undefined) {
    return (
      <main class="alone">
        <Problem error={asProblem(down.value)} retry={() => void loadMe()} />
      </main>
    );
  }
  if (me.value === undefined) return <main class="alone" aria-busy="true" />;
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
      <Empty title="Page not found">
        <a href="/sessions">All sessions</a>
      </Empty>
    </Layout>
  );
}

// Closed replaces a page about all sessions for bound logins.
function Closed({ title }: { title: string }) {
  const mine = [...(me.value?.agents ?? []), ...(me.value?.keys ?? [])].join(", ");
  return (
    <Layout>
      <Titled title={title} />
      <Empty title={`${title} covers all sessions`}>
        <p>This login is limited to {mine}. This page needs a login without limits.</p>
        <a href="/sessions">Your sessions</a>
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
