// Palette is the command palette: pages, sessions by title, actions.
import { useEffect, useState } from "preact/hooks";
import { useLoad, get } from "./api";
import { shortId, titleOf } from "./format";
import { logout, mayWrite } from "./me";
import { post } from "./api";
import { navItems } from "./nav";
import { go, toSession } from "./router";
import { contrast, density, switchContrast, switchDensity, theme } from "./theme";
import { holdKeys, releaseKeys } from "./typeahead";
import { attempt, Picker, Time } from "./ui";
import type { Page, Session } from "./wire";

interface Choice {
  id: string;
  kind: string;
  name: string;
  detail?: string;
  at?: string;
  run: () => void;
}

function pageChoices(): Choice[] {
  return navItems().map((r) => ({ id: r.path, kind: "Page", name: r.name, run: () => go(r.path) }));
}

function actions(): Choice[] {
  const all: Choice[] = (["auto", "light", "dark"] as const).map((t) => ({
    id: "theme-" + t,
    kind: "Action",
    name: t === "auto" ? "System theme" : t === "light" ? "Light theme" : "Dark theme",
    run: () => (theme.value = t),
  }));
  all.push({ id: "contrast", kind: "Action", name: contrast.value === "more" ? "Contrast of the system" : "High contrast", run: switchContrast });
  all.push({ id: "density", kind: "Action", name: density.value === "compact" ? "Comfortable density" : "Compact density", run: switchDensity });
  if (mayWrite()) all.unshift({ id: "new", kind: "Action", name: "New session", run: () => void newSession() });
  all.push({ id: "logout", kind: "Action", name: "Log out", run: () => void attempt(logout) });
  return all;
}

// newSession creates a session and opens it. What is typed meanwhile is for its composer.
export async function newSession(agent?: string): Promise<void> {
  holdKeys();
  const s = await attempt(() => post<Session>("/v1/sessions", agent ? { agent } : {}));
  if (s) go(toSession(s.id));
  else releaseKeys();
}

// fits reports whether a name contains all words.
function fits(name: string, words: string[]): boolean {
  const low = name.toLowerCase();
  return words.every((w) => low.includes(w));
}

export function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const t = setTimeout(() => setAsked(text.trim()), 120);
    return () => clearTimeout(t);
  }, [text]);
  const found = useLoad("palette " + asked, (signal) => get<Page<Session>>("/v1/sessions", { text: asked, limit: 12 }, signal));

  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const sessions: Choice[] = (found.data?.items ?? []).map((s) => ({
    id: s.id,
    kind: "Session",
    name: titleOf(s),
    detail: shortId(s.id),
    at: s.updated,
    run: () => go(toSession(s.id)),
  }));
  const own = [...pageChoices(), ...actions()].filter((c) => fits(c.name, words));
  const search: Choice[] = words.length
    ? [{ id: "search", kind: "Search", name: `Search all sessions for “${text.trim()}”`, run: () => go("/search?q=" + encodeURIComponent(text.trim())) }]
    : [];
  const choices = words.length ? [...own, ...sessions, ...search] : [...sessions.slice(0, 5), ...own];
  return (
    <Picker
      title="Command palette"
      label="Page, session or action"
      list="Results"
      text={text}
      onText={setText}
      items={choices}
      id={(c) => c.id}
      choose={(c) => c.run()}
      close={close}
      empty="No results"
      row={(c) => (
        <>
          <span class="palette-name">{c.name}</span>
          {c.detail && <span class="mono faint">{c.detail}</span>}
          <span class="faint palette-kind">{c.at ? <Time at={c.at} /> : c.kind}</span>
        </>
      )}
    />
  );
}
