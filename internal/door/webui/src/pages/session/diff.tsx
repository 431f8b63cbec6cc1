// CompactionDiff shows the entries a compaction replaced and its summary.
import { sessionPath, useGet } from "../../api";
import { count, percent, plural, shell, tokens } from "../../format";
import { toSession } from "../../router";
import { CopyCLI, Dialog, Problem } from "../../ui";
import type { Card, CompactionDetail, Entry, Run, WindowTotals } from "../../wire";
import { usePages } from "./pages";
import { authorOf, plain } from "./parts";
import type { Talk } from "./talk";

// Number of replaced entries listed at first and with each step.
const some = 200;

export function CompactionDiff({ talk, id, close }: { talk: Talk; id: string; close: () => void }) {
  const detail = useGet<CompactionDetail>(sessionPath(talk.id, "compactions", id));
  const c = detail.data;
  const stayed = (c?.stayed ?? []).reduce((n, run) => n + Math.max(0, run.count), 0);
  return (
    <Dialog
      title="Compaction details"
      close={close}
      class="diff-dialog"
      actions={
        <>
          <CopyCLI command={`firn uncompact ${shell(talk.id)} ${shell(id)}`} />
          <button type="button" class="button" onClick={close}>
            Close
          </button>
        </>
      }
    >
      {detail.error && <Problem error={detail.error} retry={detail.reload} />}
      {c && (
        <>
          <Sum detail={c} />
          {(c.replaced ?? []).map((run, i) => (
            <ReplacedRun key={i} talk={talk} run={run} close={close} />
          ))}
          <div class="diff-added">
            <p class="diff-what">Summary</p>
            <pre class="diff-text">{c.summary}</pre>
          </div>
          {stayed > 0 && <p class="diff-stayed">{plural(stayed, "entry")} unchanged.</p>}
        </>
      )}
    </Dialog>
  );
}

const parts: [name: keyof WindowTotals, what: string][] = [
  ["system", "System prompt"],
  ["specs", "Tools"],
  ["notes", "Notes"],
  ["summary", "Summary"],
  ["kept", "Messages"],
  ["tools", "Tool results"],
];

// Sum compares the window before and after, in tokens.
function Sum({ detail }: { detail: CompactionDetail }) {
  const { was, is } = detail;
  const before = parts.reduce((n, [name]) => n + was[name], 0);
  const after = parts.reduce((n, [name]) => n + is[name], 0);
  return (
    <table class="table diff-sum">
      <thead>
        <tr>
          <th>Window (tokens) {detail.undone && <span class="chip">undone</span>}</th>
          <th class="num">before</th>
          <th class="num">after</th>
        </tr>
      </thead>
      <tbody>
        {parts
          .filter(([name]) => was[name] !== is[name])
          .map(([name, what]) => (
            <tr key={name}>
              <td>{what}</td>
              <td class="num">{tokens(was[name])}</td>
              <td class="num">{tokens(is[name])}</td>
            </tr>
          ))}
        <tr>
          <td>
            Total{before > after && <span class="faint"> · {percent(before - after, before)} less</span>}
          </td>
          <td class="num">~{tokens(before)}</td>
          <td class="num">~{tokens(after)}</td>
        </tr>
      </tbody>
    </table>
  );
}

// ReplacedRun is a range of entries that the summary replaces.
function ReplacedRun({ talk, run, close }: { talk: Talk; run: Run; close: () => void }) {
  // Stop at the range's first entry: older ones were replaced earlier.
  const query = { view: "branch", as: "html", back: true, head: run.last ?? "" };
  const pages = usePages<Entry>(run.last ? sessionPath(talk.id, "entries") : "", query, run.count > 0 ? Math.min(some, run.count) : some);
  const first = pages.items.findIndex((e) => e.card?.id === run.first);
  const end = first >= 0 ? first + 1 : run.count > 0 ? run.count : pages.items.length;
  const mine = pages.items.slice(0, end);
  const cards = mine.map((e) => e.card).filter((card): card is Card => !!card?.role).reverse();
  const more = mine.length === pages.items.length && first < 0 ? pages.more : undefined;
  return (
    <div class="diff-gone" aria-busy={pages.loading}>
      <p class="diff-what">
        {run.count > 0 ? plural(run.count, "entry") : "Entries"} no longer sent
        {run.first && (
          <a href={toSession(talk.id, "", { at: run.first })} onClick={close}>
            Open
          </a>
        )}
      </p>
      {pages.error && <Problem error={pages.error} retry={pages.reload} />}
      {more && (
        <p class="log-quiet">
          Showing the last {plural(mine.length, "entry")}.{" "}
          <button type="button" class="button quiet small" disabled={pages.loading} onClick={more}>
            {run.count > mine.length ? `Show ${count(run.count - mine.length)} earlier` : "Show earlier"}
          </button>
        </p>
      )}
      <ul class="diff-lines">
        {cards.map((card, i) => (
          <li key={i}>
            <b>{authorOf(card)}</b> {previewOf(card)}
          </li>
        ))}
      </ul>
    </div>
  );
}

// previewOf returns a card's text on one line.
function previewOf(card: Card): string {
  for (const b of card.blocks ?? []) {
    if (b.kind === "text" && b.html) return plain(b.html.slice(0, 2000)).slice(0, 200);
    if (b.kind === "call") return `${b.name ?? "tool"} ${b.preview ?? ""}`;
    if (b.preview) return b.preview;
  }
  return card.note ?? "…";
}
