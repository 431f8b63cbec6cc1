// usePages loads a paged list until it has enough items; pages may be shorter than requested.
import { useRef, useState } from "preact/hooks";
import { address, get, useLoad, type Problem, type Query } from "../../api";
import type { Page } from "../../wire";

export interface Pages<T> {
  items: T[];
  // more loads as many again; undefined at the end.
  more?: () => void;
  loading: boolean;
  error?: Problem;
  reload: () => void;
}

interface Got<T> {
  key: string;
  items: T[];
  cursor?: string;
  begun: boolean;
}

// usePages fetches nothing without a path.
export function usePages<T>(path: string, query: Query, enough: number): Pages<T> {
  const key = path && address(path, query);
  const [want, setWant] = useState({ key, n: enough });
  const n = want.key === key ? want.n : enough;
  const got = useRef<Got<T>>({ key: "", items: [], begun: false });
  const loaded = useLoad<Got<T>>(key && `${n} ${key}`, async (signal) => {
    let now: Got<T> = got.current.key === key ? got.current : { key, items: [], begun: false };
    while (now.items.length < n && (!now.begun || now.cursor)) {
      const page = await get<Page<T>>(path, { ...query, limit: n - now.items.length, cursor: now.cursor }, signal);
      now = { key, items: [...now.items, ...(page.items ?? [])], cursor: page.cursor, begun: true };
      got.current = now;
    }
    return now;
  });
  const known = loaded.data ?? got.current;
  const now = known.key === key ? known : undefined;
  return {
    items: now?.items ?? [],
    more: now?.cursor ? () => setWant({ key, n: now.items.length + enough }) : undefined,
    loading: loaded.loading,
    error: loaded.error,
    reload: loaded.reload,
  };
}
