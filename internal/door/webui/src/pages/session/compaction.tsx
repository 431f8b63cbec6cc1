// A compaction in the log: its summary, details and undo.
import { useState } from "preact/hooks";
import { bytes, plural, shell, tokens } from "../../format";
import { mayWrite } from "../../me";
import { CopyCLI, Icon } from "../../ui";
import { Clock, Masked, outClass, Whole } from "./parts";
import { EntryMenu } from "./entrymenu";
import { Html } from "../../html";
import type { Row } from "./rows";
import type { Talk } from "./talk";

export function Compacted({ row, talk, here }: { row: Row; talk: Talk; here: boolean }) {
  const [open, setOpen] = useState(false);
  const item = row.items[0]!;
  const card = item.card!;
  const c = card.compaction!;
  const undone = c.undone || card.hidden || item.out === "tombstoned";
  const size = !c.before ? "" : c.after ? `${tokens(c.before)} → ${tokens(c.after)} tokens` : `of ${tokens(c.before)} tokens`;
  return (
    <section
      class={`compaction${undone ? " undone" : ""}${undone ? "" : outClass(item.out)}${here ? " here" : ""}`}
      data-entry={row.key}
      tabIndex={-1}
      aria-label="Compaction"
    >
      <div class="compaction-line">
        <button type="button" class="fold-line" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "right"} />
          <span class="compaction-name">
            <span aria-hidden="true">◆</span> Compaction{c.count ? ` ${c.count}` : ""}
          </span>
          <span class="compaction-size num">{[size, undone ? "undone" : "", c.reason].filter(Boolean).join(" · ")}</span>
        </button>
        <span class="message-side">
          <Masked of={[card]} />
          <button type="button" class="button quiet small" onClick={() => (talk.asking.value = { what: "compaction", id: card.id })}>
            Diff
          </button>
          {mayWrite() && !talk.watch.live.value && (
            <>
              <button type="button" class="button quiet small" onClick={() => void (undone ? talk.redo(card.id) : talk.undo(card.id))}>
                {undone ? "Redo" : "Undo"}
              </button>
              <CopyCLI small command={`firn uncompact ${shell(talk.id)} ${shell(card.id)}${undone ? " --redo" : ""}`} />
            </>
          )}
          <Clock at={card.time} />
          <EntryMenu item={item} talk={talk} />
        </span>
      </div>
      {open && (
        <div class="compaction-body">
          {card.blocks?.map((b, i) => (
            <div key={i}>
              <Html class="prose" html={b.html ?? ""} />
              <Whole block={b} talk={talk} owner={card.id} />
            </div>
          ))}
          <p class="log-quiet">
            {[c.strategy, c.model, card.bytes ? bytes(card.bytes) : "", c.count ? plural(c.count, "compaction") + " so far" : ""].filter(Boolean).join(" · ")}
          </p>
        </div>
      )}
    </section>
  );
}
