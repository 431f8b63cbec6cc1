// Menu is a button that opens a menu.
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { home } from "../me";
import { copyCommand } from "./CopyCLI";
import { Icon } from "./Icon";

export interface MenuItem {
  label: ComponentChildren;
  // run executes the item; href navigates instead.
  run?: () => void;
  href?: string;
  danger?: boolean;
  disabled?: boolean;
  // checked is set for choices.
  checked?: boolean;
  // toggle is set if the choice is on or off by itself.
  toggle?: boolean;
  hint?: string;
  // cli is the equivalent command, which can be copied.
  cli?: string;
}

type Items = (MenuItem | "-" | false | undefined | null)[];

interface Props {
  label: string;
  // items may be a function that is called when the menu opens.
  items: Items | (() => Items);
  // children is the button's content; label is its accessible name.
  children: ComponentChildren;
  class?: string;
  align?: "start" | "end";
  up?: boolean;
}

export function Menu(p: Props) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (back: boolean) => {
    setOpen(false);
    if (back) button.current?.focus({ preventScroll: true });
  };
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        class={p.class ?? "button quiet"}
        aria-label={p.label}
        title={p.label}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {p.children}
      </button>
      {open && <List menu={p} button={button} close={close} />}
    </div>
  );
}

interface ListProps {
  menu: Props;
  button: RefObject<HTMLButtonElement | null>;
  // close receives whether the focus returns to the button.
  close: (back: boolean) => void;
}

function List({ menu, button, close }: ListProps) {
  const list = useRef<HTMLDivElement>(null);

  // The list is a popover, so that no scroll container clips it.
  useLayoutEffect(() => {
    const l = list.current!;
    const b = button.current!.getBoundingClientRect();
    l.showPopover?.();
    const x = menu.align === "end" ? b.right - l.offsetWidth : b.left;
    const below = b.bottom + 4;
    const above = b.top - 4 - l.offsetHeight;
    const y = menu.up || (below + l.offsetHeight > innerHeight - 8 && above > 8) ? above : below;
    l.style.left = Math.max(8, Math.min(x, innerWidth - l.offsetWidth - 8)) + "px";
    l.style.top = Math.max(8, y) + "px";
  }, []);

  useLayoutEffect(() => {
    void home(); // which commands to copy may name
    const inside = (e: Event) => list.current?.contains(e.target as Node) || button.current?.contains(e.target as Node);
    const away = (e: Event) => !inside(e) && close(false);
    // Close only when a container of the button scrolls.
    const at = button.current!.getBoundingClientRect();
    const moved = () => {
      const now = button.current?.getBoundingClientRect();
      if (!now || Math.abs(now.top - at.top) > 2 || Math.abs(now.left - at.left) > 2) close(false);
    };
    list.current?.querySelector<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")?.focus({ preventScroll: true });
    document.addEventListener("pointerdown", away);
    document.addEventListener("scroll", moved, true);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("scroll", moved, true);
    };
  }, []);

  const move = (e: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const step = sideways(all, at, e.key);
    const to = step ?? { Home: 0, End: all.length - 1 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      all[(to + all.length) % all.length]?.focus();
    } else if (e.key === "Escape" || e.key === "Tab") {
      if (e.key === "Escape") e.preventDefault();
      close(true);
    }
    e.stopPropagation();
  };
  const items = typeof menu.items === "function" ? menu.items() : menu.items;
  return (
    <div ref={list} role="menu" popover="manual" aria-label={menu.label} class="menu-list" onKeyDown={move}>
      {items.map((item, i) =>
        !item ? null : item === "-" ? <hr key={i} role="separator" /> : <One key={i} item={item} close={() => close(true)} />,
      )}
    </div>
  );
}

// sideways returns the target of an arrow key: up and down between items, left and right between an
// item and its command.
function sideways(all: HTMLElement[], at: number, key: string): number | undefined {
  const command = (i: number) => !!all[i]?.classList.contains("menu-cli");
  if (key === "ArrowRight") return command(at + 1) ? at + 1 : undefined;
  if (key === "ArrowLeft") return command(at) ? at - 1 : undefined;
  const by = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
  if (!by) return undefined;
  let to = at;
  do to = (to + by + all.length) % all.length;
  while (command(to) && to !== at);
  return to;
}

function One({ item, close }: { item: MenuItem; close: () => void }) {
  if (!item.cli) return <Thing item={item} close={close} />;
  return (
    <div role="none" class="menu-row">
      <Thing item={item} close={close} />
      <button
        type="button"
        role="menuitem"
        tabIndex={-1}
        class="menu-item menu-cli"
        aria-label={`Copy as CLI: ${item.cli}`}
        title={item.cli}
        onClick={() => {
          close();
          void copyCommand(item.cli!);
        }}
      >
        <Icon name="terminal" />
      </button>
    </div>
  );
}

function Thing({ item, close }: { item: MenuItem; close: () => void }) {
  const common = {
    tabIndex: -1,
    role: item.checked === undefined ? ("menuitem" as const) : item.toggle ? ("menuitemcheckbox" as const) : ("menuitemradio" as const),
    "aria-checked": item.checked,
    "aria-disabled": item.disabled,
    class: "menu-item" + (item.danger ? " danger" : ""),
  };
  const inner = (
    <>
      <span class="menu-label">{item.label}</span>
      {item.checked && <span aria-hidden="true">✓</span>}
      {item.hint && <span class="menu-hint">{item.hint}</span>}
    </>
  );
  if (item.href) {
    return (
      <a {...common} href={item.href} onClick={close}>
        {inner}
      </a>
    );
  }
  return (
    <button
      {...common}
      type="button"
      onClick={() => {
        if (item.disabled) return;
        close();
        item.run?.();
      }}
    >
      {inner}
    </button>
  );
}
