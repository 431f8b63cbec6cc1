// The actions on an entry: buttons for the most frequent ones, arrows between branches, and a menu.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shell } from "../../format";
import { mayWrite } from "../../me";
import { go, toSession } from "../../router";
import { Icon, Menu, type IconName } from "../../ui";
import type { Item } from "./entries";
import type { Talk } from "./talk";

interface Props {
  item: Item;
  talk: Talk;
}

// EntryMenu is a plain button until it is clicked, because a log has many.
export function EntryMenu({ item, talk }: Props) {
  const [wanted, setWanted] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (wanted) place.current?.querySelector<HTMLElement>("button[aria-haspopup=menu]")?.click();
  }, [wanted]);
  const card = item.card;
  if (!card) return null;
  const message = (card.role === "user" || card.role === "assistant") && card.kind === "message";
  return (
    <span ref={place} class="entry-place">
      {message && <Arrows id={card.id} talk={talk} />}
      {message && <Acts item={item} talk={talk} />}
      {wanted ? (
        <RealMenu item={item} talk={talk} />
      ) : (
        <button type="button" class="icon-button entry-menu" aria-label={nameOf(item)} title={nameOf(item)} aria-haspopup="menu" aria-expanded={false} onClick={() => setWanted(true)}>
          <Icon name="more" />
        </button>
      )}
    </span>
  );
}

function nameOf(item: Item): string {
  return `Entry ${item.n ? "#" + item.n : item.card!.id}`;
}

function Act({ name, icon, run, disabled }: { name: string; icon: IconName; run: () => void; disabled?: boolean }) {
  return (
    <button type="button" class="icon-button entry-act" aria-label={name} title={name} disabled={disabled} onClick={run}>
      <Icon name={icon} />
    </button>
  );
}

function Acts({ item, talk }: Props) {
  const card = item.card!;
  const busy = talk.watch.live.value;
  const text = card.blocks?.some((b) => b.kind === "text");
  return (
    <>
      {text && <Act name="Copy message" icon="copy" run={() => void talk.copyText(card.id)} />}
      {mayWrite() && card.role === "user" && <Act name="Edit message" icon="edit" disabled={busy} run={() => void talk.edit(card)} />}
      {mayWrite() && card.role === "assistant" && (text || card.error) && talk.asked(card.id) && <Act name="Retry this answer" icon="retry" disabled={busy} run={() => void talk.again(talk.asked(card.id))} />}
    </>
  );
}

// Arrows lead to the other branches from the same place.
function Arrows({ id, talk }: { id: string; talk: Talk }) {
  const of = talk.siblings.value.get(id);
  if (!of) return null;
  const to = (at: number) => go(toSession(talk.id, "", { at: of.ends[at]! }));
  return (
    <span class="entry-arrows num" role="group" aria-label="Branches">
      <button type="button" class="icon-button" aria-label="Previous branch" title="Previous branch" disabled={of.at === 0} onClick={() => to(of.at - 1)}>
        <Icon name="left" />
      </button>
      {of.at + 1}/{of.ends.length}
      <button type="button" class="icon-button" aria-label="Next branch" title="Next branch" disabled={of.at === of.ends.length - 1} onClick={() => to(of.at + 1)}>
        <Icon name="right" />
      </button>
    </span>
  );
}

function RealMenu({ item, talk }: Props) {
  const card = item.card!;
  const id = card.id;
  const writes = mayWrite();
  const busy = talk.watch.live.value;
  const s = shell(talk.id);
  const e = shell(id);
  const asked = talk.asked(id);
  const pinned = card.label === "pin";
  const message = card.kind === "message" && card.role !== "system";
  return (
    <Menu
      label={nameOf(item)}
      class="icon-button entry-menu"
      align="end"
      items={[
        { label: "Copy link", run: () => talk.link(id) },
        message && { label: "Timeline", hint: "w", run: () => (talk.asking.value = { what: "timeline", entry: id }) },
        { label: "Copy as CLI…", run: () => (talk.asking.value = { what: "cli", entry: id }) },
        writes && "-",
        writes && asked !== "" && { label: "Retry", disabled: busy, run: () => void talk.again(asked) },
        writes && asked !== "" && { label: "Retry with another model…", disabled: busy, run: () => (talk.asking.value = { what: "retry", entry: asked }) },
        writes && card.role === "user" && { label: "Edit", cli: `firn rewind ${s} ${card.parent ? shell(card.parent) : "-"}`, disabled: busy, run: () => void talk.edit(card) },
        writes && { label: pinned ? "Unpin" : "Pin", cli: pinned ? undefined : `firn label ${s} ${e} pin`, run: () => void talk.label(id, pinned ? "" : "pin", card.label ?? "") },
        writes && { label: card.label ? "Change label…" : "Label…", run: () => (talk.asking.value = { what: "label", entry: id, label: card.label ?? "" }) },
        writes && { label: "Fork here", cli: `firn fork ${s} --at ${e}`, run: () => void talk.fork(id) },
        writes && { label: "Rewind here", cli: `firn rewind ${s} ${e}`, disabled: busy, run: () => void talk.rewind(id) },
        writes && { label: "Rewind files…", cli: `firn rewind ${s} ${e} --files`, disabled: busy, run: () => (talk.asking.value = { what: "files", entry: id }) },
        writes &&
          (card.hidden || item.out === "tombstoned"
            ? { label: "Unhide", cli: `firn restore ${s} ${e}`, run: () => void talk.show(id) }
            : { label: "Hide from the model", cli: `firn rm ${s} --entry ${e}`, run: () => void talk.hide(id) }),
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
