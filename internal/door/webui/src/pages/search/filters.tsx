// The search box and filters, stored in the URL.
import type { Ref } from "preact";
import { useGet, type Query } from "../../api";
import { bound } from "../../me";
import { shell } from "../../format";
import { param, setQuery } from "../../router";
import { CopyCLI } from "../../ui";
import type { Agent, Key, Page, Source } from "../../wire";
import { Box, Choice, withChosen } from "../parts";

const roles = ["user", "assistant", "tool", "shell", "system", "summary", "title"];
const times: [string, string][] = [
  ["12h", "12 hours ago"],
  ["1d", "a day ago"],
  ["7d", "7 days ago"],
  ["30d", "30 days ago"],
  ["365d", "a year ago"],
];
const places: [string, string][] = [
  ["tools", "tool output"],
  ["all", "both"],
];

const machines: [string, string][] = [
  ["equal", "ranked equally"],
  ["hide", "hidden"],
  ["only", "only these"],
];

const names = ["role", "tool", "agent", "key", "source", "path", "session", "since", "until", "in", "machines"] as const;

export type Filter = Record<(typeof names)[number] | "q", string>;

export function currentFilter(): Filter {
  const f = { q: param("q") } as Filter;
  for (const n of names) f[n] = param(n);
  return f;
}

// asked reports whether a query or filter is set.
export function asked(f: Filter): boolean {
  return Object.values(f).some(Boolean);
}

export function asQuery(f: Filter, around: number): Query {
  return { ...f, before: around, after: around };
}

export function isGrouped(): boolean {
  return param("group") === "session";
}

export function asCommand(f: Filter): string {
  const words = ["firn search"];
  if (isGrouped()) words.push("--group");
  for (const n of names) if (f[n]) words.push(`--${n} ${shell(f[n])}`);
  if (f.q) words.push(f.q.startsWith("-") ? "-- " + shell(f.q) : shell(f.q));
  return words.join(" ");
}

// On a narrow screen the examples of the search language do not fit.
const narrow = matchMedia("(max-width: 719px)");

export function Filters({ filter, box }: { filter: Filter; box: Ref<HTMLInputElement> }) {
  const agents = useGet<Page<Agent>>("/v1/agents");
  const keys = useGet<Page<Key>>("/v1/keys");
  const sources = useGet<Page<Source>>(bound() ? "" : "/v1/sources");
  const tools = [...new Set((sources.data?.items ?? []).map((s) => s.tool))];
  const narrowed = names.some((n) => filter[n]);
  const clear = Object.fromEntries(names.map((n) => [n, ""]));
  return (
    <>
      <div class="search-line">
        <Box name="q" label="Search messages" placeholder={narrow.matches ? "words or a phrase" : 'words, "a phrase", prefix*, role:user, since:7d …'} value={filter.q} box={box} wait={350} class="search-box" autofocus={!asked(filter)} />
        <CopyCLI small command={asCommand(filter)} />
      </div>
      <div class="filters" role="group" aria-label="Filters">
        <Choice name="role" label="Role" any="any" chosen={filter.role} choices={withChosen(roles, filter.role)} />
        <Choice name="in" label="In" any="messages" chosen={filter.in} choices={places} />
        <Choice name="since" label="Since" any="any time" chosen={filter.since} choices={named(times, filter.since)} />
        <Choice name="until" label="Until" any="now" chosen={filter.until} choices={named(times, filter.until)} />
        <Choice name="agent" label="Agent" any="any" chosen={filter.agent} choices={withChosen((agents.data?.items ?? []).map((a) => a.id), filter.agent)} />
        <Choice name="source" label="Source" any="any" chosen={filter.source} choices={withChosen(tools, filter.source)} />
        <Choice name="key" label="Key" any="any" none="No keys yet" chosen={filter.key} choices={withChosen((keys.data?.items ?? []).map((k) => k.key), filter.key)} />
        <Choice name="machines" label="Jobs and sub-agents" any="ranked lower" chosen={filter.machines} choices={machines} />
        <Tool chosen={filter.tool} />
        {(["path", "session"] as const).map((n) => filter[n] && <Taken key={n} name={n} value={filter[n]} />)}
        {narrowed && (
          <button type="button" class="button quiet" onClick={() => setQuery(clear, { push: true })}>
            Clear
          </button>
        )}
      </div>
    </>
  );
}

function named(list: [string, string][], chosen: string): [string, string][] {
  return chosen && !list.some(([v]) => v === chosen) ? [...list, [chosen, chosen]] : list;
}

// Tool is a free text box: there is no list of used tools.
function Tool({ chosen }: { chosen: string }) {
  return (
    <input
      class={"input search-tool" + (chosen ? " on" : "")}
      aria-label="Only calls and output of this tool"
      placeholder="Tool"
      value={chosen}
      spellcheck={false}
      onChange={(e) => setQuery({ tool: e.currentTarget.value.trim() }, { push: true })}
    />
  );
}

function Taken({ name, value }: { name: string; value: string }) {
  return (
    <button type="button" class="button quiet choice on" title="Remove filter" onClick={() => setQuery({ [name]: "" }, { push: true })}>
      <span class="choice-label">{name}</span> <span class="choice-value">{value.slice(0, 24)}</span> ×
    </button>
  );
}
