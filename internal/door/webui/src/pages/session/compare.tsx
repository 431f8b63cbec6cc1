// Compare shows two branches side by side from where they diverge.
import { get, sessionPath, useLoad } from "../../api";
import { count, plural, shell } from "../../format";
import { plainLine } from "../../plaintext";
import { setQuery, toSession } from "../../router";
import { CopyCLI, Icon, Problem } from "../../ui";
import type { Card, Entry, Node, Session, Tree } from "../../wire";
import { Html } from "../../html";
import { named, parting, type Parting } from "./lanes";
import { usePages } from "./pages";
import { authorOf } from "./parts";

// Entries of each branch shown at first and with each step.
const some = 100;
// Pages of older entries read to find the common entry.
const mostPages = 20;
const pageOfTree = 10_000;

interface Props {
  session: Session;
  tree: Tree;
  left: string;
  right: string;
}

// Found is the point where two branches diverge, with its entry.
interface Found extends Parting {
  node?: Node;
}

// find returns where two branches diverge, loading older entries if needed.
async function find({ session, tree, left, right }: Props, signal: AbortSignal): Promise<Found | undefined> {
  const nodes = new Map((tree.nodes ?? []).map((n) => [n.n, n]));
  let cursor = tree.cursor;
  for (let pages = 0; ; pages++) {
    const a = named(nodes, left);
    const b = named(nodes, right);
    const found = a && b && parting(nodes, a.n, b.n);
    if (found && (found.at === 0 || nodes.has(found.at))) return { ...found, node: nodes.get(found.at) };
    if (!cursor || pages === mostPages) return undefined;
    const page = await get<Tree>(sessionPath(session.id, "tree"), { cursor, limit: pageOfTree }, signal);
    for (const n of page.nodes ?? []) nodes.set(n.n, n);
    cursor = page.cursor;
  }
}

export function Compare(props: Props) {
  const { session, left, right } = props;
  const found = useLoad(`${session.id} ${left} ${right}`, async (signal) => ({ parting: await find(props, signal) }));
  const at = found.data?.parting;
  return (
    <section class="compare" aria-label="Branch comparison" aria-busy={found.loading}>
      <div class="compare-head">
        <p>{found.data && <Where session={session} at={at} />}</p>
        <CopyCLI command={`firn diff ${shell(session.id)} ${shell(left)} ${shell(right)}`} small />
        <button type="button" class="icon-button" aria-label="Close comparison" onClick={() => setQuery({ compare: undefined })}>
          <Icon name="close" />
        </button>
      </div>
      {found.error && <Problem error={found.error} retry={found.reload} />}
      {at && (
        <div class="compare-sides">
          <Side session={session} head={left} after={at.node?.at} own={at.left} />
          <Side session={session} head={right} after={at.node?.at} own={at.right} />
        </div>
      )}
    </section>
  );
}

// Where shows the last common entry.
function Where({ session, at }: { session: Session; at: Found | undefined }) {
  if (!at) return <>One branch is not available, or the branches diverged too long ago to compare.</>;
  if (!at.node) return <>The branches have nothing in common.</>;
  return (
    <>
      Diverged after <a href={toSession(session.id, "raw", { at: String(at.at) })}>#{at.at}</a>
      {at.node.preview && <span class="faint"> {plainLine(at.node.preview)}</span>}
    </>
  );
}

function Side({ session, head, after, own }: { session: Session; head: string; after?: number; own: number }) {
  const query = { view: "branch", head, as: "html", after: after === undefined ? undefined : after + 1 };
  const pages = usePages<Entry>(own ? sessionPath(session.id, "entries") : "", query, some);
  const cards = pages.items.map((e) => e.card).filter((c): c is Card => !!c && (!!c.role || !!c.compaction));
  return (
    <div class="compare-side" aria-busy={pages.loading}>
      <p class="faint">{plural(own, "entry")} only here</p>
      {cards.map((c, i) => (
        <article key={i} class="compare-card">
          <h3>{c.compaction ? "compaction" : authorOf(c)}</h3>
          {c.compaction && <p class="compare-text">{c.compaction.summary}</p>}
          {(c.blocks ?? []).map((b, j) =>
            b.kind === "text" && b.html ? (
              <Html key={j} html={b.html} class="prose" />
            ) : (
              <p key={j} class="mono faint one-line">
                {b.name ? b.name + " " : ""}
                {b.preview ? plainLine(b.preview) : b.kind}
              </p>
            ),
          )}
        </article>
      ))}
      {own === 0 && <p class="faint">Nothing more on this branch.</p>}
      {pages.error && <Problem error={pages.error} retry={pages.reload} />}
      {pages.more && (
        <button type="button" class="button" disabled={pages.loading} onClick={pages.more}>
          {pages.loading ? "Loading…" : `Show more (${count(own - pages.items.length)} left)`}
        </button>
      )}
    </div>
  );
}
