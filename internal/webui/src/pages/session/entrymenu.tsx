// EntryMenu is what can be done with an entry.
import { mayWrite } from "../../me";
import { Icon, Menu } from "../../ui";
import type { Item } from "./entries";
import type { Talk } from "./talk";

export function EntryMenu({ item, talk }: { item: Item; talk: Talk }) {
  const card = item.card;
  if (!card) return null;
  const id = card.id;
  const writes = mayWrite();
  const busy = talk.watch.live.value;
  return (
    <Menu
      label={`Entry ${item.n ? "#" + item.n : id}`}
      class="icon-button entry-menu"
      align="end"
      items={[
        { label: "Copy link", run: () => talk.link(id) },
        { label: "Copy as CLI…", run: () => (talk.asking.value = { what: "cli", entry: id }) },
        writes && "-",
        writes && { label: card.label ? "Change label…" : "Label…", run: () => (talk.asking.value = { what: "label", entry: id, label: card.label ?? "" }) },
        writes && { label: "Fork here", run: () => void talk.fork(id) },
        writes && { label: "Rewind here", disabled: busy, run: () => void talk.rewind(id) },
        writes && card.role === "user" && !!card.parent && { label: "Say this otherwise", disabled: busy, run: () => void talk.rewind(card.parent!) },
        writes &&
          (card.hidden || item.out === "tombstoned"
            ? { label: "Show to the model", run: () => void talk.show(id) }
            : { label: "Hide from the model", run: () => void talk.hide(id) }),
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
