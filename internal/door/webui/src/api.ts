// The API client: fetch with the X-Firn header, errors as Problem, paged lists. It only calls the
// gateway itself.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { lost } from "./lost";
import type { Problem as WireProblem, Page } from "./wire";

// Problem is an error response of the gateway.
export class Problem extends Error {
  readonly kind: string;
  readonly hint: string;
  readonly status: number;
  readonly request: string;

  constructor(status: number, p: { kind?: string; message?: string; hint?: string; request?: string }) {
    super(p.message || `the gateway returned status ${status}`);
    this.status = status;
    this.kind = p.kind || "internal";
    this.hint = p.hint || "";
    this.request = p.request || "";
  }
}

// asProblem converts any error to a Problem.
export function asProblem(err: unknown): Problem {
  if (err instanceof Problem) return err;
  return new Problem(0, {
    kind: "unreachable",
    message: "the gateway does not answer",
    hint: "Check with: firn status. Start it with: firn serve",
  });
}

// aborted reports whether the request was aborted.
export function aborted(err: unknown): boolean {
  return err instanceof DOMException && err.name === "AbortError";
}

export type Query = Record<string, string | number | boolean | undefined | null | string[]>;

// address returns a path with a query string, without empty parameters.
export function address(path: string, query?: Query): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) q.append(name, String(one));
  }
  const s = q.toString();
  return s ? `${path}?${s}` : path;
}

// unauthorized is called when the login is no longer valid.
let unauthorized: () => void = () => {};
export function onUnauthorized(f: () => void): void {
  unauthorized = f;
}

async function problemOf(reply: Response): Promise<Problem> {
  let body: { error?: WireProblem } = {};
  try {
    body = (await reply.json()) as { error?: WireProblem };
  } catch {
    // The body is not JSON; use the status.
  }
  return new Problem(reply.status, body.error ?? {});
}

interface Options {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

// request sends a request and returns the raw response.
export async function request(method: string, path: string, o: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { "X-Firn": "web", Accept: "application/json", ...o.headers };
  if (o.body !== undefined) headers["Content-Type"] = "application/json";
  const sent = fetch(address(path, o.query), {
    method,
    headers,
    body: o.body === undefined ? undefined : JSON.stringify(o.body),
    signal: o.signal,
    credentials: "same-origin",
    redirect: "error",
  });
  const reply = await sent.catch((err: unknown) => {
    if (!aborted(err)) lost.value = true;
    throw err;
  });
  if (reply.ok) return reply;
  const problem = await problemOf(reply);
  if (reply.status === 401 && path !== "/v1/login") unauthorized();
  throw problem;
}

async function json<T>(method: string, path: string, o: Options): Promise<T> {
  const reply = await request(method, path, o);
  if (reply.status === 204) return undefined as T;
  const text = await reply.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return json<T>("GET", path, { query, signal });
}
export function post<T>(path: string, body?: unknown, o: Options = {}): Promise<T> {
  return json<T>("POST", path, { ...o, body: body ?? {} });
}
export function put<T>(path: string, body: unknown, query?: Query): Promise<T> {
  return json<T>("PUT", path, { body, query });
}
export function patch<T>(path: string, body: unknown): Promise<T> {
  return json<T>("PATCH", path, { body });
}
export function del<T>(path: string, query?: Query): Promise<T> {
  return json<T>("DELETE", path, { query });
}

// sessionPath returns the API path of a session or of a resource below it.
export function sessionPath(id: string, ...rest: string[]): string {
  return ["/v1/sessions", id, ...rest].map((p, i) => (i === 0 ? p : encodeURIComponent(p))).join("/");
}

// all iterates over every item of a paged list.
export async function* all<T>(path: string, query: Query = {}, signal?: AbortSignal): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page: Page<T> = await get(path, { ...query, cursor }, signal);
    yield* page.items ?? [];
    cursor = page.cursor;
  } while (cursor);
}

// download saves a response as a file. It uses fetch instead of a link, so that an error is shown
// and not saved.
export async function download(path: string, query: Query, name: string): Promise<void> {
  const reply = await request("GET", path, { query, headers: { Accept: "*/*" } });
  saveAs(await reply.blob(), name);
}

export function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Loaded is the state of a fetched resource. The old data stays while it is fetched again.
export interface Loaded<T> {
  data: T | undefined;
  error: Problem | undefined;
  loading: boolean;
  reload: () => void;
  set: (change: (old: T | undefined) => T | undefined) => void;
}

// useLoad fetches when the key changes; an empty key fetches nothing. Late responses for an older
// key are dropped.
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: Problem; loading: boolean }>({ key: "", loading: key !== "" });
  const [again, setAgain] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!key) return;
    const abort = new AbortController();
    setState((s) => ({ ...s, loading: true }));
    latest.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, loading: false }),
      (err: unknown) =>
        !abort.signal.aborted &&
        setState((s) => ({ key, data: s.key === key ? s.data : undefined, error: asProblem(err), loading: false })),
    );
    return () => abort.abort();
  }, [key, again]);
  const reload = useCallback(() => setAgain((n) => n + 1), []);
  const set = useCallback(
    (change: (old: T | undefined) => T | undefined) => setState((s) => ({ ...s, data: change(s.data) })),
    [],
  );
  return { data: state.data, error: state.error, loading: state.loading, reload, set };
}

// useGet fetches a path and returns its state.
export function useGet<T>(path: string, query?: Query): Loaded<T> {
  const key = path && address(path, query);
  return useLoad<T>(key, (signal) => get<T>(key, undefined, signal));
}
