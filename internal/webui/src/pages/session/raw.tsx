// Raw shows the lines of the file, as they are on disk.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, sessionPath, text, type Problem as Err } from "../../api";
import { bytes, plural, shell, shortPath } from "../../format";
import { param } from "../../router";
import { copy, CopyCLI, Icon, Problem } from "../../ui";
import type { Session } from "../../wire";
import type { TabProps } from "./index";
import { linesOf, type Line } from "./lines";

// A page has so many lines; of a long line so many characters are shown at first.
const page = 50;
const cut = 2000;

export function Raw({ session, watch }: TabProps) {
  const lines = useSignal<Line[]>([]);
  const cursor = useSignal<string | undefined>(undefined);
  const error = useSignal<Err | undefined>(undefined);
  const busy = useSignal(false);
  const wrap = useSignal(true);
  const at = param("at");

  const load = async (more: boolean) => {
    if (busy.value) return;
    busy.value = true;
    try {
      const answer = await text(sessionPath(session.id, "entries"), { view: "disk", back: true, limit: page, cursor: more ? cursor.value : undefined });
      const got = linesOf(answer);
      lines.value = more ? [...lines.value, ...got.lines] : got.lines;
      cursor.value = got.cursor;
      error.value = undefined;
    } catch (err) {
      error.value = asProblem(err);
    }
    busy.value = false;
  };
  useEffect(() => void load(false), [session.id]);
  useEffect(() => watch.hear((e) => (e.name === "entry.appended" || e.name === "head.moved") && lines.value.length <= page && void load(false)), [watch]);
  const wanted = useWanted(session, at);

  return (
    <div class="tab-body raw">
      <div class="raw-head">
        <p class="faint">
          {plural(session.parts, "file")}, {bytes(session.bytes)}, newest first
          {(session.files ?? []).slice(0, 1).map((f) => (
            <span key={f} class="mono">
              {" "}
              · {shortPath(f)}
            </span>
          ))}
        </p>
        <label class="check">
          <input type="checkbox" checked={wrap.value} onChange={() => (wrap.value = !wrap.value)} /> Wrap
        </label>
        <CopyCLI command={`firn cat ${shell(session.id)} --view disk --json`} small />
      </div>
      {error.value && <Problem error={error.value} retry={() => void load(false)} />}
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
          {busy.value ? "Reading…" : "Older lines"}
        </button>
      )}
    </div>
  );
}

// useWanted is the line that the address asks for, which may be far away.
function useWanted(session: Session, at: string): Line | undefined {
  const line = useSignal<Line | undefined>(undefined);
  useEffect(() => {
    line.value = undefined;
    if (!/^[1-9][0-9]*$/.test(at)) return;
    const abort = new AbortController();
    text(sessionPath(session.id, "entries", "#" + at), {}, abort.signal).then(
      (answer) => (line.value = linesOf(`{"items":[${answer}]}`).lines[0]),
      () => {}, // It may be among those below.
    );
    return () => abort.abort();
  }, [session.id, at]);
  return line.value;
}

function RawLine({ line, chosen }: { line: Line; chosen: boolean }) {
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
  return (
    <div ref={here} class={"raw-line" + (chosen ? " chosen" : "")}>
      <span class="raw-n num" title={`position ${line.at}`}>
        {line.n || ""}
      </span>
      <code>{open.value ? pretty(line.text) : line.text.slice(0, cut) + (line.text.length > cut ? "…" : "")}</code>
      <span class="raw-do">
        <button type="button" class="icon-button" aria-expanded={open.value} aria-label={open.value ? "As one line" : "Indented"} title={`${bytes(line.text.length)}`} onClick={() => (open.value = !open.value)}>
          <Icon name="more" />
        </button>
        <button type="button" class="icon-button" aria-label="Copy the line" onClick={() => void copy(line.text, "the line")}>
          <Icon name="copy" />
        </button>
      </span>
    </div>
  );
}

// pretty is a line with its parts set apart; what is no JSON stays as it is.
function pretty(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
