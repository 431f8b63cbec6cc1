// The filters of the session list, stored in the URL.
import type { Ref } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useGet, type Query } from "../../api";
import { shell } from "../../format";
import { bound } from "../../me";
import { param, setQuery } from "../../router";
import { CopyCLI, Icon, Menu } from "../../ui";
import type { Agent, Page, Source } from "../../wire";

const spans: Record<string, { name: string; hours: number }> = {
  "1d": { name: "last 24 hours", hours: 24 },
  "7d": { name: "last 7 days", hours: 24 * 7 },
  "30d": { name: "last 30 days", hours: 24 * 30 },
  "365d": { name: "last year", hours: 24 * 365 },
};

const shows: Record<string, string> = { live: "live", archived: "archived", hidden: "hidden" };

// Filter is the filter in the URL.
export interface Filter {
  text: string;
  agent: string;
  source: string;
  tag: string;
  updated: string;
  show: string;
}

export function currentFilter(): Filter {
  return {
    text: param("q"),
    agent: param("agent"),
    source: param("source"),
    tag: param("tag"),
    updated: param("updated") in spans ? param("updated") : "",
    show: param("show") in shows ? param("show") : "",
  };
}

// asQuery returns the API parameters of a filter.
export function asQuery(f: Filter): Query {
  const span = spans[f.updated];
  const hour = 3_600_000;
  // Rounded to minutes, so that the same filter keeps the same URL for a while.
  const since = span ? new Date(Math.floor((Date.now() - span.hours * hour) / 60_000) * 60_000).toISOString() : undefined;
  return { text: f.text, agent: f.agent, source: f.source, tag: f.tag, since, live: f.show === "live", archived: f.show === "archived", hidden: f.show === "hidden" };
}

// asCommand returns the equivalent command.
export function asCommand(f: Filter): string {
  const words = ["firn ls"];
  if (f.agent) words.push("--agent " + shell(f.agent));
  if (f.source) words.push("--source " + shell(f.source));
  if (f.tag) words.push("--tag " + shell(f.tag));
  if (f.updated) words.push("--since " + f.updated);
  if (f.show) words.push("--" + f.show);
  if (f.text) words.push("--text " + shell(f.text));
  return words.join(" ");
}

export function narrow(f: Filter): boolean {
  return Object.values(f).some(Boolean);
}

export function clearFilter(): void {
  setQuery({ q: "", agent: "", source: "", tag: "", updated: "", show: "" }, { push: true });
}

// Sorting is the order of the list in the URL. An empty field is the default.
export interface Sorting {
  sort: string;
  order: string;
  group: string;
}

// sorts are the fields to sort by. Titles ascend by default, others descend.
export const sorts: Record<string, string> = { updated: "updated", created: "created", title: "title", turns: "turns", size: "size", cost: "cost" };
const groups: Record<string, string> = { project: "project", day: "day", source: "source" };

// currentSorting returns the order in the URL. The gateway refuses any but the default to bound logins.
export function currentSorting(): Sorting {
  if (bound()) return { sort: "", order: "", group: "" };
  const sort = param("sort") in sorts && param("sort") !== "updated" ? param("sort") : "";
  const usual = sort === "title" ? "asc" : "desc";
  const order = /^(asc|desc)$/.test(param("order")) && param("order") !== usual ? param("order") : "";
  return { sort, order, group: param("group") in groups ? param("group") : "" };
}

// direction returns the order of a field.
export function direction(s: Sorting): "asc" | "desc" {
  return s.order === "asc" || s.order === "desc" ? s.order : s.sort === "title" ? "asc" : "desc";
}

// sortBy sorts by a field, in reverse if the list is sorted by it already.
export function sortBy(s: Sorting, field: string): void {
  const same = (s.sort || "updated") === field;
  const usual = field === "title" ? "asc" : "desc";
  const next = same && direction(s) === usual ? (usual === "asc" ? "desc" : "asc") : "";
  setQuery({ sort: field === "updated" ? "" : field, order: next }, { push: true });
}

interface Props {
  sorting: Sorting;
  filter: Filter;
  tags: string[];
  box: Ref<HTMLInputElement>;
}

export function Filters({ filter, sorting, tags, box }: Props) {
  const agents = useGet<Page<Agent>>("/v1/agents");
  const sources = useGet<Page<Source>>(bound() ? "" : "/v1/sources");
  const [text, setText] = useState(filter.text);
  useEffect(() => setText(filter.text), [filter.text]);
  useEffect(() => {
    if (text === filter.text) return;
    const t = setTimeout(() => setQuery({ q: text }), 200);
    return () => clearTimeout(t);
  }, [text]);
  const names = (list: string[], chosen: string) => (chosen && !list.includes(chosen) ? [...list, chosen] : list);
  return (
    <div class="filters" role="search">
      <span class="filter-box">
        <Icon name="search" />
        <input
          ref={box}
          class="input"
          type="search"
          aria-label="Title or first message"
          placeholder="Title or first message"
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Escape") {
              setText("");
              e.currentTarget.blur();
            }
          }}
        />
      </span>
      <Choice name="agent" label="Agent" chosen={filter.agent} choices={names((agents.data?.items ?? []).map((a) => a.id), filter.agent).map((a) => [a, a])} />
      <Choice name="source" label="Source" chosen={filter.source} choices={names((sources.data?.items ?? []).map((s) => s.name), filter.source).map((s) => [s, s])} />
      <Choice name="tag" label="Tag" chosen={filter.tag} choices={names(tags, filter.tag).map((t) => [t, t])} none="No tags yet" />
      <Choice name="updated" label="Updated" chosen={filter.updated} choices={Object.entries(spans).map(([k, s]) => [k, s.name])} />
      <Choice name="show" label="Show" chosen={filter.show} choices={Object.entries(shows)} any="active" />
      {!bound() && (
        <>
          <Choice name="sort" label="Sort" chosen={sorting.sort} choices={Object.entries(sorts).slice(1)} any="updated" />
          <Choice name="group" label="Group" chosen={sorting.group} choices={Object.entries(groups)} any="none" />
        </>
      )}
      {narrow(filter) && (
        <button type="button" class="button quiet" onClick={clearFilter}>
          Clear
        </button>
      )}
      <span class="filters-end">
        <CopyCLI small command={asCommand(filter)} />
      </span>
    </div>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  chosen: string;
  choices: [value: string, name: string][];
  any?: string;
  none?: string;
}

function Choice({ name, label, chosen, choices, any = "any", none }: ChoiceProps) {
  const shownValue = choices.find(([value]) => value === chosen)?.[1] ?? chosen;
  // Another field starts in its usual order.
  const set = (value: string) => setQuery({ [name]: value, ...(name === "sort" ? { order: "" } : {}) }, { push: true });
  const items = [
    { label: any, checked: chosen === "", run: () => set("") },
    ...choices.map(([value, text]) => ({ label: text, checked: value === chosen, run: () => set(value) })),
    ...(choices.length === 0 && none ? [{ label: none, disabled: true }] : []),
  ];
  return (
    <Menu label={chosen ? `${label}: ${shownValue}` : label} class={"button quiet choice" + (chosen ? " on" : "")} items={items}>
      {chosen ? (
        <>
          <span class="choice-label">{label}</span> {shownValue}
        </>
      ) : (
        label
      )}
      <Icon name="down" />
    </Menu>
  );
}
