// Menu is a button that opens a list of things to do.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface MenuItem {
  label: ComponentChildren;
  // run does it; href goes there instead.
  run?: () => void;
  href?: string;
  danger?: boolean;
  disabled?: boolean;
  // checked is told of choices.
  checked?: boolean;
  hint?: string;
}

type Items = (MenuItem | "-" | false | undefined | null)[];

interface Props {
  label: string;
  // items may be told when they are needed.
  items: Items | (() => Items);
  // children is what the button shows; the label is said.
  children: ComponentChildren;
  class?: string;
  align?: "start" | "end";
  up?: boolean;
}

export function Menu(p: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  // The list lies over everything, so that no scrolling part cuts it off.
  useLayoutEffect(() => {
    const l = list.current;
    if (!open || !l || !button.current) return;
    l.showPopover?.();
    const b = button.current.getBoundingClientRect();
    const x = p.align === "end" ? b.right - l.offsetWidth : b.left;
    const below = b.bottom + 4;
    const above = b.top - 4 - l.offsetHeight;
    const y = p.up || (below + l.offsetHeight > innerHeight - 8 && above > 8) ? above : below;
    l.style.left = Math.max(8, Math.min(x, innerWidth - l.offsetWidth - 8)) + "px";
    l.style.top = Math.max(8, y) + "px";
  }, [open]);

  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>("[role^=menuitem]:not([aria-disabled=true])")?.focus({ preventScroll: true });
    const away = (e: Event) => !root.current?.contains(e.target as Node) && setOpen(false);
    const scrolled = (e: Event) => !list.current?.contains(e.target as Node) && setOpen(false);
    document.addEventListener("pointerdown", away);
    document.addEventListener("scroll", scrolled, true);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("scroll", scrolled, true);
    };
  }, [open]);

  const close = () => {
    setOpen(false);
    button.current?.focus({ preventScroll: true });
  };
  const move = (e: KeyboardEvent) => {
    const all = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      all[(to + all.length) % all.length]?.focus();
    } else if (e.key === "Escape" || e.key === "Tab") {
      if (e.key === "Escape") e.preventDefault();
      close();
    }
    e.stopPropagation();
  };

  return (
    <div class="menu" ref={root}>
      <button
        ref={button}
        type="button"
        class={p.class ?? "button quiet"}
        aria-label={p.label}
        title={p.label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {p.children}
      </button>
      {open && (
        <div ref={list} id={id} role="menu" popover="manual" aria-label={p.label} class="menu-list" onKeyDown={move}>
          {(typeof p.items === "function" ? p.items() : p.items).map((item, i) =>
            !item ? null : item === "-" ? <hr key={i} role="separator" /> : <One key={i} item={item} close={close} />,
          )}
        </div>
      )}
    </div>
  );
}

function One({ item, close }: { item: MenuItem; close: () => void }) {
  const common = {
    tabIndex: -1,
    role: item.checked === undefined ? ("menuitem" as const) : ("menuitemradio" as const),
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
