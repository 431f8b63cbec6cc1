// The menu of an entry.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shell } from "../../format";
import { mayWrite } from "../../me";
import { Icon, Menu } from "../../ui";
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
    if (wanted) place.current?.querySelector("button")?.click();
  }, [wanted]);
  if (!item.card) return null;
  return (
    <span ref={place} class="entry-place">
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

function RealMenu({ item, talk }: Props) {
  const card = item.card!;
  const id = card.id;
  const writes = mayWrite();
  const busy = talk.watch.live.value;
  const s = shell(talk.id);
  const e = shell(id);
  return (
    <Menu
      label={nameOf(item)}
      class="icon-button entry-menu"
      align="end"
      items={[
        { label: "Copy link", run: () => talk.link(id) },
        { label: "Copy as CLI…", run: () => (talk.asking.value = { what: "cli", entry: id }) },
        writes && "-",
        writes && { label: card.label ? "Change label…" : "Label…", run: () => (talk.asking.value = { what: "label", entry: id, label: card.label ?? "" }) },
        writes && { label: "Fork here", cli: `firn fork ${s} --at ${e}`, run: () => void talk.fork(id) },
        writes && { label: "Rewind here", cli: `firn rewind ${s} ${e}`, disabled: busy, run: () => void talk.rewind(id) },
        writes && card.role === "user" && !!card.parent && { label: "Edit", cli: `firn rewind ${s} ${shell(card.parent)}`, disabled: busy, run: () => void talk.rewind(card.parent!) },
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
