// Scroll anchoring of the log. Visible entries keep their place when others are added or removed;
// at the end, the log follows new entries.
import { signal, type Signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

// Distance from an edge at which more is loaded, and from the end that counts as the end.
const near = 1600;
const far = 2 * near;
const atEnd = 32;

export interface Still {
  scroller: { current: HTMLDivElement | null };
  content: { current: HTMLDivElement | null };
  // end is set while the end is visible.
  end: Signal<boolean>;
  toEnd: () => void;
  // first returns the first visible entry.
  first: () => string | undefined;
  // hold restores the anchor's position after changes.
  hold: () => void;
  // reveal scrolls an entry into view and anchors it.
  reveal: (key: string, where: ScrollLogicalPosition) => boolean;
}

interface Anchor {
  el: HTMLElement;
  top: number;
}

// find returns an entry's element.
export function find(root: ParentNode | null, key: string): HTMLElement | null {
  return root?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(key)}"]`) ?? null;
}

// Edge is called near an edge, with the entry on the other side beyond which entries can be
// unloaded without bringing that edge near.
export type Edge = (where: "top" | "bottom", beyond: string) => void;

// useStill implements the scroll anchoring. The end of what is loaded counts as the end only if
// last returns true.
export function useStill(edge: Edge, last: () => boolean): Still {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const anchor = useRef<Anchor | null>(null);
  const onEdge = useRef(edge);
  onEdge.current = edge;
  const end = useMemo(() => signal(true), []);

  const self = useMemo(() => {
    const remember = () => {
      const s = scroller.current;
      if (!s) return;
      const line = s.getBoundingClientRect().top;
      // Binary search for the first visible entry.
      const all = content.current?.querySelectorAll<HTMLElement>("[data-entry]") ?? [];
      let low = 0;
      let high = all.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (all[middle]!.getBoundingClientRect().bottom > line + 1) high = middle;
        else low = middle + 1;
      }
      const el = all[low];
      if (el) anchor.current = { el, top: el.getBoundingClientRect().top - line };
    };
    // beyond returns the nearest entry far below or above the viewport.
    const beyond = (side: 1 | -1): string => {
      const box = scroller.current!.getBoundingClientRect();
      const all = [...(content.current?.querySelectorAll<HTMLElement>("[data-entry]") ?? [])];
      const el =
        side > 0
          ? all.find((e) => e.getBoundingClientRect().top > box.bottom + far)
          : all.findLast((e) => e.getBoundingClientRect().bottom < box.top - far);
      return el?.dataset["entry"] ?? "";
    };
    const edges = () => {
      const s = scroller.current;
      if (!s || !s.clientHeight) return;
      if (s.scrollTop < near) onEdge.current("top", beyond(1));
      if (s.scrollHeight - s.scrollTop - s.clientHeight < near) onEdge.current("bottom", beyond(-1));
    };
    // Only scrolling up leaves the end, not new entries below.
    let top = 0;
    const isEnd = (s: HTMLElement) => last() && s.scrollHeight - s.scrollTop - s.clientHeight <= atEnd;
    const onScroll = () => {
      const s = scroller.current!;
      const reached = isEnd(s);
      if (end.peek() && !reached && s.scrollTop >= top - 1) return hold();
      end.value = reached;
      top = s.scrollTop;
      remember();
      edges();
    };
    const hold = () => {
      const s = scroller.current;
      if (!s) return;
      const a = anchor.current;
      if (end.peek()) s.scrollTop = s.scrollHeight;
      else if (a?.el.isConnected) {
        const moved = a.el.getBoundingClientRect().top - s.getBoundingClientRect().top - a.top;
        if (Math.abs(moved) >= 0.5) s.scrollTop += moved;
      }
      top = s.scrollTop;
      if (isEnd(s)) end.value = true;
      remember();
      edges();
    };
    const toEnd = () => {
      end.value = true;
      hold();
    };
    const reveal = (key: string, where: ScrollLogicalPosition) => {
      const el = find(content.current, key);
      if (!el) return false;
      end.value = false;
      const s = scroller.current!;
      el.scrollIntoView({ block: el.offsetHeight > s.clientHeight ? "start" : where });
      top = s.scrollTop;
      anchor.current = { el, top: el.getBoundingClientRect().top - s.getBoundingClientRect().top };
      return true;
    };
    const first = () => (remember(), anchor.current?.el.dataset["entry"]);
    return { onScroll, hold, toEnd, reveal, first };
  }, []);

  useLayoutEffect(() => {
    const s = scroller.current!;
    const watch = new ResizeObserver(self.hold);
    watch.observe(s);
    watch.observe(content.current!);
    s.addEventListener("scroll", self.onScroll, { passive: true });
    return () => {
      watch.disconnect();
      s.removeEventListener("scroll", self.onScroll);
    };
  }, []);

  return useMemo(() => ({ scroller, content, end, toEnd: self.toEnd, first: self.first, hold: self.hold, reveal: self.reveal }), []);
}
