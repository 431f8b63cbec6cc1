// Search searches all sessions. Each hit is shown with its context and opens its session.
import { useEffect, useRef, useState } from "preact/hooks";
import { address, asProblem, get, useLoad, type Problem as Err } from "../../api";
import { count, plural } from "../../format";
import { mayWrite } from "../../me";
import { go, param, setQuery } from "../../router";
import { Bar, Empty, Problem, Skeleton } from "../../ui";
import type { Found, Hit, IndexState } from "../../wire";
import { Choice, rowAt, toBox, useEvery, useRows } from "../parts";
import { asCommand, asked, asQuery, currentFilter, Filters, isGrouped, type Filter } from "./filters";
import { Language, SearchStart } from "./help";
import { bySession, forkFrom, hitKey, HitView, toHit } from "./hit";

const arounds: [string, string][] = [
  ["0", "none"],
  ["1", "1 message"],
  ["2", "2 messages"],
  ["4", "4 messages"],
  ["7", "7 messages"],
];

// useHits loads search results page by page.
function useHits(f: Filter, around: number) {
  const query = asQuery(f, around);
  const key = asked(f) ? address("/v1/search", query) : "";
  const first = useLoad(key, (signal) => get<Found>(key, undefined, signal));
  const [more, setMore] = useState<{ key: string; pages: Found[]; loading: boolean; error?: Err }>({ key: "", pages: [], loading: false });
  const pages = first.data ? [first.data, ...(more.key === key ? more.pages : [])] : [];
  const cursor = pages.at(-1)?.cursor;
  const next = async () => {
    if (!cursor || more.loading) return;
    const before = more.key === key ? more.pages : [];
    setMore({ key, pages: before, loading: true });
    try {
      const page = await get<Found>("/v1/search", { ...query, cursor });
      setMore({ key, pages: [...before, page], loading: false });
    } catch (err) {
      setMore({ key, pages: before, loading: false, error: asProblem(err) });
    }
  };
  useEffect(() => setMore({ key, pages: [], loading: false }), [first.data]);
  const found = pages.flatMap((p) => p.items ?? []);
  const hits = isGrouped() ? bySession(found) : found;
  return { first, hits, cursor, next, loading: more.loading, problem: more.key === key ? more.error : undefined };
}

export function Search() {
  const filter = currentFilter();
  const around = arounds.some(([n]) => n === param("around")) ? Number(param("around")) : 2;
  const { first, hits, cursor, next, loading, problem } = useHits(filter, around);
  const box = useRef<HTMLInputElement>(null);
  const root = useRef<HTMLDivElement>(null);
  const here = () => hits.find((h) => hitKey(h) === rowAt());
  const index = first.data?.index;
  useRows("Search", root, [
    toBox(box),
    { key: "o", does: "Open", run: () => withHit(here(), (h) => go(toHit(h))) },
    { key: "f", does: "Fork from hit", run: () => withHit(here(), (h) => mayWrite() && void forkFrom(h)) },
    { key: "m", does: "More hits", run: () => void next() },
  ]);
  // While the index is being built, results are incomplete.
  useEvery(index?.building ? 2500 : 0, first.reload);
  return (
    <div class="page search" ref={root}>
      <h1 class="sr">Search</h1>
      <div role="search">
        <Filters filter={filter} box={box} />
      </div>
      {!asked(filter) && <SearchStart />}
      {first.error && (
        <>
          <Problem error={first.error} retry={first.reload} />
          <div class="page-body">
            <Language />
          </div>
        </>
      )}
      {asked(filter) && index && <Building index={index} />}
      {asked(filter) && !first.data && !first.error && <Skeleton />}
      {asked(filter) && first.data && !first.error && (
        <>
          {hits.length > 0 && (
            <p class="search-note faint" role="status">
              <span class="num">
                {plural(hits.length, "hit")}
                {cursor ? ", more available" : ""}
              </span>
              <Choice name="group" label="Group" any="none" chosen={isGrouped() ? "session" : ""} choices={[["session", "by session"]]} />
              <Choice name="around" label="Context" chosen={String(around)} choices={arounds} />
            </p>
          )}
          <ol class="hits" aria-label="Hits" aria-busy={first.loading || undefined}>
            {hits.map((h, i) => (
              <HitView key={hitKey(h)} hit={h} follows={isGrouped() && hits[i - 1]?.session === h.session} />
            ))}
          </ol>
          {problem && <Problem error={problem} retry={() => void next()} />}
          {cursor && !problem && (
            <p class="search-more">
              <button type="button" class="button" disabled={loading} onClick={() => void next()}>
                {loading ? "Searching…" : "More hits"}
              </button>
            </p>
          )}
          {hits.length === 0 && !first.loading && <None filter={filter} />}
        </>
      )}
    </div>
  );
}

function withHit(hit: Hit | undefined, run: (h: Hit) => void): void {
  if (hit) run(hit);
}

function Building({ index }: { index: IndexState }) {
  return (
    <p class="search-note" role="status">
      <Bar part={index.done} of={index.total} label="index progress" warn={2} />
      <span>
        The index is being {index.rebuilding ? "rebuilt" : "built"}: {count(index.done)} of {count(index.total)} sessions. There may be more hits.
        {index.failed && <span class="bad"> Last attempt failed: {index.failed}</span>}
      </span>
    </p>
  );
}

function None({ filter }: { filter: Filter }) {
  return (
    <Empty
      icon="search"
      title="No hits"
      action={filter.in === "" ? { label: "Search tool output too", run: () => setQuery({ in: "all" }, { push: true }) } : { label: "Clear filters", href: "/search?q=" + encodeURIComponent(filter.q) }}
      command={asCommand(filter)}
    >
      {filter.in === "" && "Tool output was not searched. "}Try fewer words, a prefix with *, or fewer filters.
    </Empty>
  );
}
