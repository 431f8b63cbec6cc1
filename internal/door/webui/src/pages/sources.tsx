// Sources lists the home and mirrored directories of other tools, with the limitations of their
// formats.
import { useRef } from "preact/hooks";
import { useGet } from "../api";
import { bytes, count, plural, shell, shortPath } from "../format";
import { CopyCLI, Empty, Problem, Skeleton, Time } from "../ui";
import type { Page, Source } from "../wire";
import { Figure, useRows } from "./parts";

export function Sources() {
  const list = useGet<Page<Source>>("/v1/sources");
  const root = useRef<HTMLDivElement>(null);
  useRows("Sources", root);
  const all = list.data?.items ?? [];
  const others = all.filter((s) => s.tool !== "firn");
  return (
    <div class="page" ref={root}>
      <header class="page-head">
        <h1>Sources</h1>
        <span class="faint num head-note">{others.length > 0 && plural(others.length, "mirrored directory")}</span>
        <CopyCLI small command="firn adopt" />
      </header>
      {list.error && <Problem error={list.error} retry={list.reload} />}
      {!list.data && !list.error && <Skeleton />}
      <div class="page-body">
        {all.map((s) => (
          <One key={s.name} source={s} />
        ))}
      </div>
      {list.data && others.length === 0 && (
        <Empty icon="sources" title="No mirrored directories" command="firn adopt">
          <p>
            firn finds the sessions of Claude Code, Codex, pi, OpenClaw and others on this machine. With <code>--yes</code> it mirrors
            them, so that you can list and search them here. The originals are never changed.
          </p>
        </Empty>
      )}
    </div>
  );
}

function One({ source: s }: { source: Source }) {
  const own = s.tool === "firn";
  return (
    <section class="source" data-row={s.name} aria-label={s.name}>
      <header class="source-head">
        <h2>
          <a href={`/sessions?source=${encodeURIComponent(s.name)}`}>{s.name}</a>
        </h2>
        <span class="mono muted source-dir" title={s.dir}>
          {shortPath(s.dir)}
        </span>
        {!own && <CopyCLI small command={`firn adopt ${shell(s.dir)} --yes`} />}
      </header>
      <dl class="figures">
        <Figure name="Sessions" value={count(s.sessions)} />
        <Figure name="Size" value={bytes(s.bytes)} />
        {!own && <Figure name="Last checked" value={s.checked ? <Time at={s.checked} /> : "never"} />}
        {!!s.taken && <Figure name="Continued here" value={count(s.taken)} title="These sessions are firn's own now; the mirror no longer changes them" />}
        {!own && <Figure name="Copy" value="byte for byte" title="The mirror loses nothing" />}
      </dl>
      {s.faults && s.faults.length > 0 && (
        <div class="source-list">
          <h3 class="bad">Unreadable</h3>
          <ul>
            {s.faults.map((f) => (
              <li key={f}>{f}</li>
            ))}
          </ul>
        </div>
      )}
      {s.limits && s.limits.length > 0 && (
        <details class="source-list">
          <summary>{plural(s.limits.length, "limitation")} when exporting to this format</summary>
          <ul>
            {s.limits.map((l) => (
              <li key={l}>{l}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
