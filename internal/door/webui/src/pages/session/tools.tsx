// Tool calls: a call with its result is an expandable line; consecutive calls are one line.
import { useEffect, useState } from "preact/hooks";
import { bytes, count, duration, plural } from "../../format";
import { Html } from "../../html";
import { Icon, Time } from "../../ui";
import type { Block, Card, Tool } from "../../wire";
import { EntryMenu } from "./entrymenu";
import { Masked, outClass, Picture, Whole, Why } from "./parts";
import type { Item } from "./entries";
import type { Result, Row } from "./rows";
import type { Talk } from "./talk";

interface ToolProps {
  call?: Block;
  result?: Result;
  running?: boolean;
  talk: Talk;
  // owner is the card with the call.
  owner?: Card;
  // chain are the messages of the sub-agent that the call started.
  chain?: readonly Item[];
  // folded is set if the line is closed at first whatever it is.
  folded?: boolean;
}

// Calls that are open at first: their content is what a reader looks for.
const shown = new Set(["edit", "todo"]);

// failed reports whether a result is an error. A command fails with its exit code.
export function failed(r: Block | undefined): boolean {
  return !!r && (!!r.failed || !!r.exit);
}

// elapsed returns how long a call took in milliseconds: as measured, or by the times of its entries.
export function elapsed(owner: Card | undefined, result: Result | undefined): number {
  const r = result?.block;
  if (r?.ms) return r.ms;
  const from = Date.parse(owner?.time ?? "");
  const to = Date.parse(result?.item.card?.time ?? "");
  const ms = to - from;
  return owner?.id !== result?.item.card?.id && ms > 0 && ms < 86_400_000 ? ms : 0;
}

// maskedIn returns the cards whose replaced secrets a line counts: the result's, and the call's if
// nothing else shows it. A card with several calls is counted with the first.
function maskedIn(owner: Card | undefined, call: Block | undefined, result: Result | undefined, folded: boolean | undefined): (Card | undefined)[] {
  const first = folded && call && owner?.blocks?.find((b) => b.kind === "call") === call;
  return [...new Set([first ? owner : undefined, call && result?.item.card === owner ? undefined : result?.item.card])];
}

// ToolLine is a call with its result, as an expandable line.
export function ToolLine({ call, result, running, talk, owner, chain, folded }: ToolProps) {
  const kind = call?.tool || result?.block.tool || "";
  const [open, setOpen] = useState(!folded && shown.has(kind));
  const r = result?.block;
  const name = call?.name || r?.name || "tool";
  const ms = elapsed(owner, result);
  return (
    <div class={"tool" + (kind ? " tool-" + kind : "") + (failed(r) ? " failed" : "") + outClass(result?.item.out)}>
      <button type="button" class="tool-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <span class="tool-name">{name}</span>
        <span class="tool-preview">{call?.preview ?? r?.preview}</span>
        <span class="tool-side num">
          {!!call?.added && <span class="diff-plus">+{count(call.added)}</span>}
          {!!call?.removed && <span class="diff-minus">−{count(call.removed)}</span>}
          <Masked of={maskedIn(owner, call, result, folded)} />
          {running && !r && <span class="tool-runs">running…</span>}
          {!running && !r && <span>no result</span>}
          {r?.exit !== undefined ? <span class={r.exit ? "tool-failed" : ""}>exit {r.exit}</span> : r?.failed && <span class="tool-failed">failed</span>}
          {ms > 0 && <span title={r?.ms ? undefined : "Between the entries of call and result"}>{duration(ms)}</span>}
          {r && <span>{bytes(r.bytes ?? 0)}</span>}
        </span>
      </button>
      {open && (
        <div class="tool-body">
          {call?.html && (
            <>
              <Html class={"tool-text" + (kind === "agent" ? " prose nested" : "")} html={call.html} />
              <Whole block={call} talk={talk} owner={owner?.id} />
            </>
          )}
          {chain && <Chain items={chain} talk={talk} />}
          {r && <ResultView kind={kind} result={result!} talk={talk} owner={owner} call={call} />}
        </div>
      )}
    </div>
  );
}

// Chain is the conversation of a sub-agent. Its first message is the prompt, which the call shows.
function Chain({ items, talk }: { items: readonly Item[]; talk: Talk }) {
  const [open, setOpen] = useState(false);
  const messages = items.slice(items[0]?.card?.sidechain === "user" ? 1 : 0);
  if (messages.length === 0) return null;
  return (
    <div class="chain">
      <button type="button" class="fold-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <span class="fold-name">Conversation of the sub-agent</span>
        <span class="fold-preview">{plural(messages.length, "message")}</span>
      </button>
      {open &&
        messages.map((i) => (
          <div key={i.key} class={"chain-message chain-" + i.card!.sidechain}>
            {(i.card!.blocks ?? []).map((b, n) =>
              b.kind === "call" ? (
                <ToolLine key={n} call={b} result={chainResult(messages, b)} talk={talk} owner={i.card} folded />
              ) : b.kind === "result" && hasCall(messages, b) ? null : (
                <div key={n}>
                  <Html class={b.kind === "text" ? "prose nested" : "tool-text"} html={b.html ?? ""} />
                  <Whole block={b} talk={talk} owner={i.card!.id} />
                </div>
              ),
            )}
          </div>
        ))}
    </div>
  );
}

function hasCall(messages: readonly Item[], result: Block): boolean {
  return messages.some((i) => i.card!.blocks?.some((b) => b.kind === "call" && b.call === result.call));
}

// chainResult returns the result of a call of a sub-agent.
function chainResult(messages: readonly Item[], call: Block): Result | undefined {
  for (const item of messages) {
    const block = item.card!.blocks?.find((b) => b.kind === "result" && b.call === call.call);
    if (block) return { block, item, more: [] };
  }
  return undefined;
}

// Results of these kinds are prose.
const prose = new Set(["agent", "fetch"]);

function ResultView({ kind, result, talk, owner, call }: { kind: string; result: Result; talk: Talk; owner?: Card; call?: Block }) {
  const { block: r, item } = result;
  return (
    <>
      <div class="tool-result-head">
        <span>{kind === "agent" ? "Answer of the sub-agent" : kind === "shell" ? "Output" : "Result"}</span>
        <Why out={item.out} />
        {call && <Time at={item.card?.time} class="faint" />}
        {call && item.card?.id !== owner?.id && <EntryMenu item={item} talk={talk} />}
      </div>
      {r.html ? <Html class={"tool-text" + (prose.has(kind) ? " prose nested" : "")} html={r.html} /> : <p class="log-quiet">No output.</p>}
      <Whole block={r} talk={talk} owner={item.card?.id} />
      {result.more.map((b, i) => (b.kind === "image" ? <Picture key={i} block={b} /> : <Html key={i} class="prose" html={b.html ?? ""} />))}
    </>
  );
}

// Nouns for the kinds of tools, in the counts of a group.
const nouns: Record<string, string> = { edit: "edit", write: "write", read: "read", shell: "command", search: "search", todo: "plan update", agent: "sub-agent", fetch: "page" };

// One is a call of a group.
export interface One {
  call: Block;
  result?: Result;
  owner: Card;
}

// callsIn returns the calls of rows in their order.
export function callsIn(rows: readonly Row[]): One[] {
  return rows.flatMap((row) => {
    const owner = row.items[0]!.card!;
    return (owner.blocks ?? []).filter((b) => b.kind === "call").map((call) => ({ call, owner, result: row.results?.get(call.call ?? "") }));
  });
}

// counted describes calls: "3 reads, 2 edits".
export function counted(calls: readonly One[]): string {
  const n = new Map<string, number>();
  for (const { call } of calls) {
    const noun = nouns[call.tool ?? ""] ?? "other call";
    n.set(noun, (n.get(noun) ?? 0) + 1);
  }
  return [...n].map(([noun, of]) => plural(of, noun)).join(", ");
}

// Group folds calls into one line. Failed and running calls stay visible below it.
export function Group({ calls, running, talk, here, children }: { calls: One[]; running: ReadonlyMap<string, Tool>; talk: Talk; here: boolean; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(here);
  useEffect(() => {
    if (here) setOpen(true);
  }, [here]);
  const ms = calls.reduce((sum, c) => sum + elapsed(c.owner, c.result), 0);
  const bad = calls.filter((c) => failed(c.result?.block)).length;
  const busy = (c: One) => !c.result && running.has(c.call.call ?? "");
  return (
    <div class="tool-group">
      <button type="button" class="tool-line group-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <span class="tool-name">{counted(calls)}</span>
        <span class="tool-preview">{!open && [...new Set(calls.map((c) => c.call.preview))].join(", ").slice(0, 200)}</span>
        <span class="tool-side num">
          {!open && <Masked of={[...new Set(calls.flatMap((c) => [c.owner, c.result?.item.card]))]} />}
          {bad > 0 && <span class="tool-failed">{bad} failed</span>}
          {ms > 0 && <span>{duration(ms)}</span>}
        </span>
      </button>
      {open
        ? children
        : calls
            .filter((c) => failed(c.result?.block) || busy(c))
            .map((c) => <ToolLine key={c.owner.id + c.call.call} call={c.call} result={c.result} running={busy(c)} talk={talk} owner={c.owner} folded />)}
    </div>
  );
}
