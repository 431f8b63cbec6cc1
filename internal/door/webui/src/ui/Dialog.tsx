// Dialog is a modal dialog. The browser traps the focus; Escape closes it.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";

interface Props {
  title: string;
  close: () => void;
  children: ComponentChildren;
  // actions are the buttons in the footer.
  actions?: ComponentChildren;
  // submit turns the dialog into a form.
  submit?: () => void;
  class?: string;
  // bare hides the title visually; screen readers still announce it.
  bare?: boolean;
}

export function Dialog(p: Props) {
  const el = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect, since others run after the page was drawn: the focus must not move back after
  // a key has moved it elsewhere.
  useLayoutEffect(() => {
    const d = el.current!;
    const before = document.activeElement as HTMLElement | null;
    const closed = () => p.close(); // a browser may close it without asking
    d.showModal();
    d.addEventListener("close", closed);
    return () => {
      d.removeEventListener("close", closed);
      // A browser that closed the dialog itself reports it later: a key pressed in between may
      // have moved the focus already.
      const now = document.activeElement;
      if (!d.open && now && now !== document.body && now !== before) return;
      d.close();
      // What opened the dialog may be gone.
      const back = before?.isConnected && before !== document.body ? before : document.getElementById("main");
      back?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={el}
      class={"dialog " + (p.class ?? "")}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        p.close();
      }}
      onMouseDown={(e) => e.target === el.current && p.close()}
    >
      <form
        method="dialog"
        class="dialog-form"
        onSubmit={(e) => {
          e.preventDefault();
          p.submit?.();
        }}
      >
        <header class={p.bare ? "sr" : "dialog-head"}>
          <h2 id={id}>{p.title}</h2>
          {!p.bare && (
            <button type="button" class="icon-button" aria-label="Close" onClick={p.close}>
              <Icon name="close" />
            </button>
          )}
        </header>
        <div class="dialog-body" tabIndex={p.actions || p.submit ? undefined : 0}>{p.children}</div>
        {p.actions && <footer class="dialog-foot">{p.actions}</footer>}
      </form>
    </dialog>
  );
}
