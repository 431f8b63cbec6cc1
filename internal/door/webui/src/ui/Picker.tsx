// Picker is a dialog with a combobox: a text narrows a list, of which one item is chosen.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Dialog } from "./Dialog";

interface Props<T> {
  title: string;
  // label is the name of the text field, list that of the list.
  label: string;
  list: string;
  text: string;
  onText: (text: string) => void;
  items: readonly T[];
  id: (item: T) => string;
  // row is the content of an item.
  row: (item: T) => ComponentChildren;
  choose: (item: T) => void;
  close: () => void;
  // children come after the list, empty if there is no item.
  empty?: string;
  busy?: boolean;
  children?: ComponentChildren;
}

export function Picker<T>(p: Props<T>) {
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const here = Math.min(at, p.items.length - 1);
  useEffect(() => {
    list.current?.children[here]?.scrollIntoView({ block: "nearest" });
  }, [here]);
  const take = (item: T | undefined) => {
    if (!item) return;
    p.close();
    p.choose(item);
  };
  const press = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" || (e.ctrlKey && e.key === "n") ? 1 : e.key === "ArrowUp" || (e.ctrlKey && e.key === "p") ? -1 : 0;
    if (!step || p.items.length === 0) return;
    e.preventDefault();
    setAt((here + step + p.items.length) % p.items.length);
  };
  return (
    <Dialog title={p.title} bare close={p.close} class="palette" submit={() => take(p.items[here])}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label={p.label}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={p.items[here] ? `${id}-${here}` : undefined}
        placeholder={p.label}
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={p.text}
        onInput={(e) => {
          p.onText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div class="palette-list" role="listbox" aria-label={p.list} id={id} ref={list} aria-busy={p.busy}>
        {p.items.map((item, i) => (
          <div key={p.id(item)} id={`${id}-${i}`} role="option" aria-selected={i === here} class="palette-item" onMouseMove={() => i !== here && setAt(i)} onClick={() => take(item)}>
            {p.row(item)}
          </div>
        ))}
      </div>
      {p.items.length === 0 && p.empty && <p class="palette-none faint">{p.empty}</p>}
      {p.children}
    </Dialog>
  );
}
