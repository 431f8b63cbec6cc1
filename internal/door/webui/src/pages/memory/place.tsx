// The selected notes: an agent's, and those about a person, group or directory. Stored in the URL.
import { useGet, type Query } from "../../api";
import { shell, shortPath } from "../../format";
import { param } from "../../router";
import type { Agent, Key, Page, Session } from "../../wire";
import { Choice, withChosen } from "../parts";

export interface Place {
  agent: string;
  key: string;
  project: string;
  scope: string;
}

export function currentPlace(): Place {
  return { agent: param("agent"), key: param("key"), project: param("project"), scope: param("scope") };
}

export function asQuery(p: Place): Query {
  return { agent: p.agent, key: p.key, project: p.project, scope: p.scope };
}

// notePath returns the API path of a note or a fact.
export const notePath = (ref: string) => `/v1/memory/notes/${encodeURIComponent(ref)}`;

// command returns a firn memory command for these notes.
export function command(p: Place, ...words: string[]): string {
  const flags = (["agent", "key", "project", "scope"] as const).filter((n) => p[n]).map((n) => `--${n} ${shell(p[n])}`);
  return ["firn memory", ...words, ...flags].join(" ");
}

// here returns the URL of a view of these notes.
export function here(p: Place, more: Record<string, string> = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...p, ...more })) if (value) q.set(name, value);
  const s = q.toString();
  return "/memory" + (s ? "?" + s : "");
}

const scopes: [string, string][] = [
  ["agent", "the agent"],
  ["user", "the person"],
  ["project", "the directory"],
];

// scopeName returns the heading of a scope.
export function scopeName(scope: string): string {
  return { agent: "About the agent's work", user: "About the person or group", project: "About the directory" }[scope] ?? scope;
}

export function PlaceChoices({ place }: { place: Place }) {
  const agents = useGet<Page<Agent>>("/v1/agents");
  const keys = useGet<Page<Key>>("/v1/keys", { agent: place.agent });
  const sessions = useGet<Page<Session>>("/v1/sessions", { limit: 200 });
  const dirs = [...new Set((sessions.data?.items ?? []).map((s) => s.cwd ?? "").filter(Boolean))].slice(0, 30);
  const all = place.project && !dirs.includes(place.project) ? [...dirs, place.project] : dirs;
  const able = scopes.filter(([s]) => s === "agent" || (s === "user" && place.key) || (s === "project" && place.project));
  const gone = { note: "" };
  return (
    <>
      <Choice name="agent" label="Agent" any="default" chosen={place.agent} choices={withChosen((agents.data?.items ?? []).map((a) => a.id), place.agent)} also={{ ...gone, key: "" }} />
      <Choice name="key" label="Person or group" any="none" none="No keys yet" chosen={place.key} choices={withChosen((keys.data?.items ?? []).map((k) => k.key), place.key)} also={{ ...gone, scope: "" }} />
      <Choice name="project" label="Directory" any="none" none="No sessions with a directory" chosen={place.project} choices={all.map((d) => [d, shortPath(d)])} also={{ ...gone, scope: "" }} />
      {able.length > 1 && <Choice name="scope" label="Only about" any="all" chosen={place.scope} choices={able} also={gone} />}
    </>
  );
}
