// A search hit with its context.
import { count, moment, shell, shortId } from "../../format";
import { mayWrite } from "../../me";
import { toSession } from "../../router";
import { copy, Icon, Menu, Time } from "../../ui";
import type { Hit, HitItem } from "../../wire";
import { fork } from "../moves";
import { plainLine } from "../../plaintext";
import { pieces, type Piece } from "./matches";
import { plainPieces, plainSnippet } from "./plain";

const marks: Record<string, [name: string, title: string]> = {
  compacted: ["compacted", "Replaced by a summary in the window"],
  hidden: ["hidden", "Hidden"],
  "other-branch": ["other branch", "Not on the current branch"],
  archived: ["archived", "The session is archived"],
};

export function hitKey(h: Hit): string {
  return `${h.session}/${h.entry}`;
}

export function toHit(h: { session: string; entry: string }): string {
  return toSession(h.session, "", { at: h.entry });
}

// forkFrom forks the session at a hit.
export function forkFrom(h: Hit): Promise<void> {
  return fork(h.session, h.entry);
}

// bySession puts the hits of a session one after the other. Sessions are in the order of
// their first hits.
export function bySession(hits: Hit[]): Hit[] {
  const groups = new Map<string, Hit[]>();
  for (const h of hits) groups.set(h.session, [...(groups.get(h.session) ?? []), h]);
  return [...groups.values()].flat();
}

// HitView shows a hit. If it follows another hit of its session, the session is not named
// again.
export function HitView({ hit, follows }: { hit: Hit; follows?: boolean }) {
  return (
    <li class={follows ? "hit follows" : "hit"} data-row={hitKey(hit)}>
      <header class="hit-head">
        {follows ? (
          <a class="faint num" href={toHit(hit)}>
            #{hit.n}
          </a>
        ) : (
          <>
            <a class="hit-title" href={toHit(hit)}>
              {hit.title ? plainLine(hit.title) : shortId(hit.session)}
            </a>
            <span class="faint hit-where">{[hit.source === "firn" ? hit.agent : hit.source, hit.key?.replace(/^agent:/, "")].filter(Boolean).join(" · ")}</span>
          </>
        )}
        {hit.marks?.map((m) => (
          <span key={m} class="chip" title={marks[m]?.[1]}>
            {marks[m]?.[0] ?? m}
          </span>
        ))}
        <Copies hit={hit} />
        <span class="hit-end">
          <Time at={hit.time} class="faint num" />
          {mayWrite() && (
            <button type="button" class="icon-button" aria-label="Fork from here" title="Fork from here (f)" onClick={() => void forkFrom(hit)}>
              <Icon name="branch" />
            </button>
          )}
          <More hit={hit} />
        </span>
      </header>
      <div class="hit-window">
        {(hit.window ?? []).map((item) => (item.hit ? <MatchedItem key={item.entry} hit={hit} item={item} /> : <ContextItem key={item.entry} hit={hit} item={item} />))}
      </div>
    </li>
  );
}

function who(role: string, tools: string[] | undefined): string {
  return role === "tool" || (role === "assistant" && tools?.length) ? (tools ?? []).join(", ") || role : role;
}

// literal reports whether the text of a role is not Markdown: output of tools and programs.
function literal(role: string): boolean {
  return role === "tool" || role === "shell" || role === "system";
}

function shown(role: string, all: Piece[]): Piece[] {
  return literal(role) ? all : plainPieces(all);
}

function MatchedItem({ hit, item }: { hit: Hit; item: HitItem }) {
  return (
    <a class="hit-item itself" href={toHit(hit)} title={moment(new Date(item.time))}>
      <span class="hit-who">{who(hit.role, hit.tools)}</span>
      <span class="hit-text">
        {shown(hit.role, pieces(hit.snippet, hit.matches)).map((p, i) => (p.marked ? <mark key={i}>{p.text}</mark> : p.text))}
      </span>
    </a>
  );
}

function ContextItem({ hit, item }: { hit: Hit; item: HitItem }) {
  return (
    <a class="hit-item" href={toHit({ session: hit.session, entry: item.entry })} title={moment(new Date(item.time))}>
      <span class="hit-who">{who(item.role, item.tools)}</span>
      <span class="hit-text">{(literal(item.role) ? item.text : plainSnippet(item.text ?? "")) || "…"}</span>
    </a>
  );
}

function Copies({ hit }: { hit: Hit }) {
  const copies = hit.copies ?? [];
  if (copies.length === 0) return null;
  return (
    <Menu
      label={`+${count(copies.length)} ${copies.length === 1 ? "copy" : "copies"} of the same text elsewhere`}
      class="chip hit-copies"
      items={copies.map((c) => ({ label: <code>{`${shortId(c.session)}/${c.entry.slice(-6)}`}</code>, href: toHit(c) }))}
    >
      +{copies.length} {copies.length === 1 ? "copy" : "copies"}
    </Menu>
  );
}

function More({ hit }: { hit: Hit }) {
  const s = shell(hit.session);
  const e = shell(hit.entry);
  return (
    <Menu
      label={`Actions for hit in ${hit.title || shortId(hit.session)}`}
      class="icon-button"
      align="end"
      items={[
        { label: "Open", hint: "↵", cli: `firn cat ${s} --view disk --from ${e}`, href: toHit(hit) },
        mayWrite() && { label: "Fork from here", hint: "f", cli: `firn fork ${s} --at ${e}`, run: () => void forkFrom(hit) },
        { label: "Search in this session", href: `/search?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), session: hit.session })}` },
        "-",
        { label: "Copy link", run: () => void copy(location.origin + toHit(hit), "the link") },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
