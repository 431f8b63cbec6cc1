// Compare shows two branches side by side, from where they part.
import { get, sessionPath, useLoad } from "../../api";
import { plural, shell } from "../../format";
import { setQuery, toSession } from "../../router";
import { CopyCLI, Icon, Problem } from "../../ui";
import type { Card, Entry, Page, Session } from "../../wire";
import { Html } from "../../html";
import { parting, type Shape } from "./lanes";
import { speakerOf } from "./parts";

// At most so many entries of each branch are shown.
const most = 100;

interface Props {
  session: Session;
  shape: Shape;
  left: string;
  right: string;
}

export function Compare({ session, shape, left, right }: Props) {
  const at = parting(shape, left, right);
  return (
    <section class="compare" aria-label="Two branches side by side">
      <div class="compare-head">
        <p>
          {at ? (
            <>
              They part after <a href={toSession(session.id, "raw", { at: String(shape.rows.find((r) => r.node.id === at)?.node.n ?? "") })}>the same entry</a>.
            </>
          ) : (
            "They part before the entries that are loaded."
          )}
        </p>
        <CopyCLI command={`firn diff ${shell(session.id)} ${shell(left)} ${shell(right)}`} small />
        <button type="button" class="icon-button" aria-label="Close the comparison" onClick={() => setQuery({ compare: undefined })}>
          <Icon name="close" />
        </button>
      </div>
      <div class="compare-sides">
        <Side session={session} head={left} from={at} />
        <Side session={session} head={right} from={at} />
      </div>
    </section>
  );
}

function Side({ session, head, from }: { session: Session; head: string; from?: string }) {
  const page = useLoad<Page<Entry>>(head, (signal) =>
    get(sessionPath(session.id, "entries"), { view: "branch", head, as: "html", back: true, limit: most }, signal),
  );
  if (page.error) return <Problem error={page.error} retry={page.reload} />;
  const all = (page.data?.items ?? []).map((e) => e.card).filter((c): c is Card => !!c);
  const end = all.findIndex((c) => c.id === from);
  const own = (end >= 0 ? all.slice(0, end) : all).reverse();
  return (
    <div class="compare-side" aria-busy={page.loading}>
      <p class="faint">{plural(own.length, "entry")} of its own</p>
      {own
        .filter((c) => c.role || c.compaction)
        .map((c) => (
          <article key={c.id} class="compare-card">
            <h3>{c.compaction ? "compaction" : speakerOf(c)}</h3>
            {c.compaction && <p class="compare-text">{c.compaction.summary}</p>}
            {(c.blocks ?? []).map((b, i) =>
              b.kind === "text" && b.html ? (
                <Html key={i} html={b.html} class="prose" />
              ) : (
                <p key={i} class="mono faint one-line">
                  {b.name ? b.name + " " : ""}
                  {b.preview ?? b.kind}
                </p>
              ),
            )}
          </article>
        ))}
      {own.length === 0 && page.data && <p class="faint">It ends where the other goes on.</p>}
    </div>
  );
}
