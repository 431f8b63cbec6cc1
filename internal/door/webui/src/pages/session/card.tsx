// Card is a row of the log.
import { Component, type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, cost, damageText, longDay, moment, shell, tokens } from "../../format";
import { toSession } from "../../router";
import { CopyCLI, Icon } from "../../ui";
import type { Block, Card as WireCard, Tool } from "../../wire";
import { Compacted } from "./compaction";
import { Html } from "../../html";
import type { Item } from "./entries";
import type { Row } from "./rows";
import { EntryMenu } from "./entrymenu";
import { Clock, Masked, outClass, Picture, speakerOf, Whole, Why } from "./parts";
import { holds } from "./rows";
import { callsIn, Group, ToolLine } from "./tools";
import type { Talk } from "./talk";

interface Props {
  row: Row;
  talk: Talk;
  // here is set if the URL selects the row.
  here: boolean;
  // calls are the running tools of this row.
  calls: ReadonlyMap<string, Tool>;
}

// RowView re-renders only if its data changed.
export class RowView extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const p = this.props;
    if (p.here !== next.here || p.talk !== next.talk || p.calls !== next.calls) return true;
    return !alike(p.row, next.row);
  }

  override render({ row, talk, here, calls }: Props) {
    return (
      <>
        {row.day && <Day day={row.day} />}
        {row.kind === "gap" ? (
          <Gap row={row} talk={talk} />
        ) : row.kind === "notes" ? (
          <Notes row={row} talk={talk} here={here} />
        ) : row.kind === "tools" ? (
          <Tools row={row} talk={talk} here={here} calls={calls} />
        ) : row.items[0]!.card!.compaction ? (
          <Compacted row={row} talk={talk} here={here} />
        ) : (
          <Message row={row} talk={talk} here={here} calls={calls} />
        )}
      </>
    );
  }
}

function alike(a: Row, b: Row): boolean {
  if (a.key !== b.key || a.day !== b.day || a.same !== b.same || a.items.length !== b.items.length) return false;
  if (a.items.some((item, i) => item !== b.items[i])) return false;
  if ((a.results?.size ?? 0) !== (b.results?.size ?? 0)) return false;
  for (const [call, r] of a.results ?? []) if (b.results?.get(call)?.item !== r.item) return false;
  if ((a.chains?.size ?? 0) !== (b.chains?.size ?? 0)) return false;
  for (const [call, items] of a.chains ?? []) if (b.chains?.get(call)?.length !== items.length) return false;
  return true;
}

function Day({ day }: { day: string }) {
  return <p class="log-day">{longDay(new Date(day))}</p>;
}

function Gap({ row, talk }: { row: Row; talk: Talk }) {
  const item = row.items[0]!;
  return (
    <div class="log-gap" role="note" data-entry={row.key} tabIndex={-1}>
      <p>
        <strong>Unreadable entry</strong>
      </p>
      <Damaged item={item} talk={talk} />
    </div>
  );
}

// Damaged describes the damage, with the command that shows more.
function Damaged({ item, talk }: { item: Item; talk: Talk }) {
  return (
    <>
      <p>⚠ {item.gap || damageText(item.damage!)}</p>
      {item.damage && <CopyCLI command={`firn verify ${shell(talk.id)}`} />}
    </>
  );
}

// Tools is a group of entries that only call tools.
function Tools({ row, talk, here, calls }: Props) {
  const item = row.items[0]!;
  const card = item.card!;
  const at = here ? talk.entries.at.value : "";
  return (
    <article class={`message assistant${row.same ? " same" : ""}${outClass(item.out)}`} data-entry={row.key} tabIndex={-1} aria-label={`${speakerOf(card)}, tools`}>
      <header class="message-head">
        <span class="message-author">{row.same ? "" : speakerOf(card)}</span>
        <Why out={item.out} />
        <span class="message-side">
          <Clock at={card.time} />
        </span>
      </header>
      <div class="message-body">
        <Group calls={callsIn(row.rows!)} running={calls} talk={talk} here={here}>
          {row.rows!.map((r) => (
            <Message key={r.key} row={{ ...r, same: true, key: r.key === row.key ? r.key + "@1" : r.key }} talk={talk} here={!!at && holds(r, at)} calls={calls} folded />
          ))}
        </Group>
      </div>
    </article>
  );
}

function Message({ row, talk, here, calls, folded }: Props & { folded?: boolean }) {
  const item = row.items[0]!;
  const card = item.card!;
  const role = card.role === "tool" ? "assistant" : card.role || "system";
  return (
    <article
      class={`message ${role}${row.same ? " same" : ""}${outClass(item.out)}${here ? " here" : ""}`}
      data-entry={row.key}
      tabIndex={-1}
      aria-label={`${speakerOf(card)}, ${card.time ? moment(new Date(card.time)) : ""}`}
    >
      <header class="message-head">
        <span class="message-author">{row.same ? "" : speakerOf(card)}</span>
        {card.note && <span class="message-note">{card.note}</span>}
        {card.label && <span class="chip label">{card.label}</span>}
        <Masked of={[card]} />
        <Why out={item.out} />
        <span class="message-side">
          <Figures card={card} />
          <Clock at={card.time} />
          <EntryMenu item={item} talk={talk} />
        </span>
      </header>
      <div class="message-body">
        {item.damage && (
          <div class="log-gap" role="note">
            <Damaged item={item} talk={talk} />
          </div>
        )}
        <Blocks card={card} row={row} talk={talk} calls={calls} folded={folded} />
        {card.error && <p class="message-error">{card.error}</p>}
        {card.stop && !card.error && <p class="message-stop">{stopped(card.stop)}</p>}
      </div>
    </article>
  );
}

function Figures({ card }: { card: WireCard }) {
  const u = card.usage;
  if (!u || !(u.output || u.input)) return null;
  const all = [`${tokens(u.input + u.cacheRead + u.cacheWrite)} in`, `${tokens(u.output)} out`];
  if (u.cost) all.push(cost(u.cost));
  return <span class="message-figures num">{all.join(" · ")}</span>;
}

function stopped(stop: string): string {
  switch (stop) {
    case "length":
    case "max_tokens":
      return "Truncated: the answer hit the output limit.";
    case "aborted":
    case "stopped":
      return "Stopped.";
    case "error":
      return "Ended with an error.";
  }
  return `Ended: ${stop}.`;
}

function Blocks({ card, row, talk, calls, folded }: { card: WireCard; row: Row; talk: Talk; calls: Props["calls"]; folded?: boolean }) {
  const blocks = card.blocks ?? [];
  const out: ComponentChildren[] = [];
  for (let i = 0; i < blocks.length; i++) {
    const b = blocks[i]!;
    const run = folded ? 0 : callsFrom(blocks, i);
    if (run > 1) {
      const of = { ...row, items: [{ ...row.items[0]!, card: { ...card, blocks: blocks.slice(i, i + run) } }] };
      out.push(
        <Group key={i} calls={callsIn([of])} running={calls} talk={talk} here={false}>
          <Blocks card={of.items[0]!.card} row={of} talk={talk} calls={calls} folded />
        </Group>,
      );
      i += run - 1;
      continue;
    }
    // A shell command is followed by its output.
    const next = blocks[i + 1];
    if (b.kind === "call" && !b.call && next?.kind === "result") {
      out.push(<ToolLine key={i} call={b} result={{ block: next, item: row.items[0]!, more: [] }} talk={talk} owner={card} />);
      i++;
      continue;
    }
    out.push(<BlockView key={i} block={b} card={card} row={row} talk={talk} calls={calls} folded={folded} />);
  }
  return <>{out}</>;
}

// callsFrom returns the number of consecutive calls from a block on.
function callsFrom(blocks: readonly Block[], from: number): number {
  let n = 0;
  while (blocks[from + n]?.kind === "call" && blocks[from + n]!.call) n++;
  return n;
}

interface BlockProps {
  block: Block;
  card: WireCard;
  row: Row;
  talk: Talk;
  calls: Props["calls"];
  folded?: boolean;
}

function BlockView({ block, card, row, talk, calls, folded }: BlockProps) {
  switch (block.kind) {
    case "call": {
      const id = block.call ?? "";
      return <ToolLine call={block} result={row.results?.get(id)} running={calls.has(id)} talk={talk} owner={card} chain={row.chains?.get(id)} folded={folded} />;
    }
    case "result":
      return <ToolLine result={{ block, item: row.items[0]!, more: [] }} talk={talk} owner={card} folded={folded} />;
    case "thinking":
      return <Fold class="thinking" name="Thinking" preview={block.preview} block={block} talk={talk} owner={card.id} />;
    case "image":
      return <Picture block={block} />;
    case "other":
      return <Fold class="other" name={block.name || "More"} preview={bytes(block.bytes ?? 0)} block={block} talk={talk} owner={card.id} />;
  }
  return (
    <>
      <Html class="prose" html={block.html ?? ""} />
      <Whole block={block} talk={talk} owner={card.id} />
    </>
  );
}

interface FoldProps {
  class: string;
  name: string;
  preview?: string;
  block: Block;
  talk: Talk;
  owner?: string;
}

// Fold is a collapsed text.
function Fold(p: FoldProps) {
  const [open, setOpen] = useState(false);
  return (
    <div class={"fold " + p.class}>
      <button type="button" class="fold-line" aria-expanded={open} disabled={!p.block.html} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <span class="fold-name">{p.name}</span>
        {!open && <span class="fold-preview">{p.preview}</span>}
      </button>
      {open && (
        <div class="fold-body">
          <Html class="prose" html={p.block.html ?? ""} />
          <Whole block={p.block} talk={p.talk} owner={p.owner} />
        </div>
      )}
    </div>
  );
}

// Notes are entries that are not messages.
function Notes({ row, talk, here }: { row: Row; talk: Talk; here: boolean }) {
  const many = row.items.length > 2;
  const [open, setOpen] = useState(here);
  if (many && !open) {
    return (
      <div class="log-notes" data-entry={row.key} tabIndex={-1}>
        <button type="button" class="fold-line" aria-expanded={false} onClick={() => setOpen(true)}>
          <Icon name="right" />
          <span class="fold-preview">
            {row.items.length} notes: {[...new Set(row.items.map((i) => noteOf(i.card!)))].join(", ")}
          </span>
        </button>
      </div>
    );
  }
  return (
    <div class={"log-notes" + (here ? " here" : "")} data-entry={row.key} tabIndex={-1}>
      {row.items.map((item) => (
        <div key={item.key} class="log-note">
          <span class="log-note-text" title={item.card!.kind}>
            {item.card!.session ? <a href={toSession(item.card!.session)}>{noteOf(item.card!)}</a> : noteOf(item.card!)}
          </span>
          <Masked of={[item.card]} />
          <span class="message-side">
            <Clock at={item.card!.time} />
            <EntryMenu item={item} talk={talk} />
          </span>
        </div>
      ))}
      {many && (
        <button type="button" class="fold-line" aria-expanded={true} onClick={() => setOpen(false)}>
          <Icon name="down" />
          <span class="fold-preview">Collapse</span>
        </button>
      )}
    </div>
  );
}

function noteOf(card: WireCard): string {
  return card.note || card.kind.replaceAll("_", " ");
}
