// Raw shows the lines on disk.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, get, sessionPath, type Problem as Err } from "../../api";
import { bytes, plural, shell, shortPath } from "../../format";
import { param } from "../../router";
import { copy, CopyCLI, Icon, Problem, Skeleton } from "../../ui";
import type { Entry, Page, Session } from "../../wire";
import type { TabProps } from "./tab";

// Lines per page, and characters shown of a long line.
const page = 50;
const cut = 2000;

// joined prepends the newest page; older lines are dropped if there is a gap.
function joined(newest: Entry[], old: Entry[]): Entry[] {
  const end = newest.at(-1)?.at ?? 0;
  const rest = old.filter((l) => l.at < end);
  return rest.length < old.length ? [...newest, ...rest] : newest;
}

export function Raw({ session, watch }: TabProps) {
  const lines = useSignal<Entry[]>([]);
  const cursor = useSignal<string | undefined>(undefined);
  const error = useSignal<Err | undefined>(undefined);
  const busy = useSignal(false);
  const wrap = useSignal(true);
  const again = useRef(false);
  const at = param("at");

  const load = async (more: boolean) => {
    if (busy.value) return;
    busy.value = true;
    try {
      const got = await get<Page<Entry>>(sessionPath(session.id, "entries"), { view: "disk", as: "text", back: true, limit: page, cursor: more ? cursor.value : undefined });
      const items = got.items ?? [];
      const all = more ? [...lines.value, ...items] : joined(items, lines.value);
      // The cursor continues after the last shown line.
      if (more || all.length === items.length) cursor.value = got.cursor;
      lines.value = all;
      error.value = undefined;
    } catch (err) {
      error.value = asProblem(err);
    }
    busy.value = false;
    if (again.current) {
      again.current = false;
      void load(false);
    }
  };
  useEffect(() => void load(false), [session.id]);
  useEffect(
    () =>
      watch.subscribe((e) => {
        if (e.name === "gap") lines.value = []; // positions may have changed
        if (e.name !== "entry.appended" && e.name !== "head.moved" && e.name !== "gap") return;
        if (busy.value) again.current = true;
        else void load(false);
      }),
    [watch],
  );
  const wanted = useWanted(session, at);

  return (
    <div class="tab-body raw">
      <div class="raw-head">
        <p class="faint">
          {plural(session.parts, "file")}, {bytes(session.bytes)}, newest first:
          {(session.files ?? []).slice(0, 1).map((f) => (
            <span key={f} class="mono">
              {" "}
              {shortPath(f)}
            </span>
          ))}
        </p>
        <label class="check">
          <input type="checkbox" checked={wrap.value} onChange={() => (wrap.value = !wrap.value)} /> Wrap
        </label>
        <CopyCLI command={`firn cat ${shell(session.id)} --view disk --json`} small />
      </div>
      {error.value && <Problem error={error.value} retry={() => void load(false)} />}
      {busy.value && lines.value.length === 0 && !error.value && <Skeleton />}
      {wanted && <RawLine line={wanted} chosen />}
      <ol class={"raw-lines" + (wrap.value ? " wrap" : "")}>
        {lines.value.map((l) => (
          <li key={l.at}>
            <RawLine line={l} chosen={at !== "" && String(l.n) === at} />
          </li>
        ))}
      </ol>
      {cursor.value && (
        <button type="button" class="button" disabled={busy.value} onClick={() => void load(true)}>
          {busy.value ? "Loading…" : "Older lines"}
        </button>
      )}
    </div>
  );
}

// useWanted loads the line in the URL, which may be far away.
function useWanted(session: Session, at: string): Entry | undefined {
  const line = useSignal<Entry | undefined>(undefined);
  useEffect(() => {
    line.value = undefined;
    if (!/^[1-9][0-9]*$/.test(at)) return;
    const abort = new AbortController();
    get<Entry>(sessionPath(session.id, "entries", "#" + at), { as: "text" }, abort.signal).then(
      (e) => (line.value = e),
      () => {}, // It may be among the loaded lines.
    );
    return () => abort.abort();
  }, [session.id, at]);
  return line.value;
}

function RawLine({ line, chosen }: { line: Entry; chosen: boolean }) {
  const open = useSignal(false);
  const here = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen) here.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  if (line.gap) {
    return (
      <div class="raw-line bad">
        <span class="raw-n num">–</span>
        <span>{line.gap}</span>
      </div>
    );
  }
  const text = line.text ?? "";
  return (
    <div ref={here} class={"raw-line" + (chosen ? " chosen" : "")}>
      <span class="raw-n num" title={`position ${line.at}`}>
        {line.n || ""}
      </span>
      <code>{open.value ? pretty(text) : text.slice(0, cut) + (text.length > cut ? "…" : "")}</code>
      <span class="raw-do">
        <button type="button" class="icon-button" aria-expanded={open.value} aria-label={open.value ? "Compact" : "Indented"} title={bytes(new TextEncoder().encode(text).length)} onClick={() => (open.value = !open.value)}>
          <Icon name="more" />
        </button>
        <button type="button" class="icon-button" aria-label="Copy line" onClick={() => void copy(text, "the line")}>
          <Icon name="copy" />
        </button>
      </span>
    </div>
  );
}

// pretty indents a JSON line; other text is unchanged.
function pretty(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
