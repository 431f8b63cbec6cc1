// VirtualList renders only the visible rows of a long list. Row heights may vary and change; the
// visible rows keep their place when rows above are resized, added or removed.
import type { ComponentChildren, Ref } from "preact";
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

export interface VirtualHandle {
  // reveal scrolls a row into view: as little as needed, or to an edge.
  reveal: (key: string, where?: "nearest" | "start" | "center" | "end") => void;
  toEnd: () => void;
  scroller: () => HTMLElement | null;
}

interface Props {
  // keys identify the rows, in order. A row keeps its key.
  keys: readonly string[];
  row: (key: string, index: number) => ComponentChildren;
  // estimate is the height of a row that was never rendered.
  estimate: number | ((key: string, index: number) => number);
  // seen is called with the rendered range whenever it changes.
  seen?: (first: number, last: number) => void;
  // stick keeps the list scrolled to its end while rows are added there.
  stick?: boolean;
  // start is the initial row; "end" starts at the end.
  start?: string | "end";
  before?: ComponentChildren;
  after?: ComponentChildren;
  label: string;
  // table makes the rows rows of a table, below one row of headers. The caller has the table.
  table?: boolean;
  class?: string;
  handle?: Ref<VirtualHandle>;
  // overscan is the number of pixels rendered beyond the viewport.
  overscan?: number;
}

// Heights computes row offsets lazily from measured and estimated heights.
class Heights {
  private measured = new Map<string, number>();
  private tops = new Float64Array(1);
  private good = 0; // tops are right up to here
  private keys: readonly string[] = [];
  private places = new Map<string, number>();

  constructor(private estimate: (key: string, i: number) => number) {}

  use(keys: readonly string[], estimate: (key: string, i: number) => number): void {
    this.estimate = estimate;
    if (keys === this.keys) return;
    let same = 0;
    while (same < keys.length && same < this.keys.length && keys[same] === this.keys[same]) same++;
    if (this.tops.length < keys.length + 1) {
      const more = new Float64Array(Math.ceil(keys.length * 1.5) + 64);
      more.set(this.tops.subarray(0, Math.min(same, this.good) + 1));
      this.tops = more;
    }
    if (same < this.keys.length) this.places = new Map();
    for (let i = this.places.size === same ? same : 0; i < keys.length; i++) this.places.set(keys[i]!, i);
    this.keys = keys;
    this.good = Math.min(this.good, same);
  }

  index(key: string): number {
    return this.places.get(key) ?? -1;
  }

  measure(key: string, height: number): boolean {
    const i = this.index(key);
    if (i < 0) return false;
    const before = this.height(i);
    this.measured.set(key, height);
    if (before === height) return false;
    this.good = Math.min(this.good, i);
    return true;
  }

  height(i: number): number {
    const key = this.keys[i]!;
    return this.measured.get(key) ?? this.estimate(key, i);
  }

  top(i: number): number {
    for (; this.good < i; this.good++) this.tops[this.good + 1] = this.tops[this.good]! + this.height(this.good);
    return this.tops[i]!;
  }

  total(): number {
    return this.top(this.keys.length);
  }

  // at returns the row at an offset from the top.
  at(y: number): number {
    this.total();
    let low = 0;
    let high = this.keys.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

interface Anchor {
  key: string;
  // offset is the distance from the row's top to the top of the viewport.
  offset: number;
  end: boolean;
}

export function VirtualList(p: Props) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const scroller = useRef<HTMLDivElement>(null);
  const lead = useRef<HTMLDivElement>(null);
  const anchor = useRef<Anchor | null>(null);
  const view = useRef({ top: 0, height: 800 });
  const estimate = useCallback(
    (key: string, i: number) => (typeof p.estimate === "number" ? p.estimate : p.estimate(key, i)),
    [p.estimate],
  );
  const heights = useMemo(() => new Heights(estimate), []);
  heights.use(p.keys, estimate);

  // Content before the rows takes space too.
  const leading = () => lead.current?.offsetHeight ?? 0;

  const measureView = useCallback(() => {
    const s = scroller.current;
    if (!s) return;
    view.current = { top: s.scrollTop - leading(), height: s.clientHeight };
  }, []);

  // remember stores the first visible row as the anchor.
  const remember = useCallback(() => {
    const s = scroller.current;
    if (!s || p.keys.length === 0) return;
    measureView();
    const i = heights.at(view.current.top);
    const end = s.scrollHeight - s.scrollTop - s.clientHeight < 24;
    anchor.current = { key: p.keys[i]!, offset: view.current.top - heights.top(i), end };
  }, [p.keys]);

  const scroll = (y: number) => {
    const s = scroller.current;
    if (!s || Math.abs(s.scrollTop - y) < 0.5) return;
    s.scrollTop = y;
    measureView();
  };

  const over = p.overscan ?? 400;
  const first = p.keys.length ? heights.at(Math.max(0, view.current.top - over)) : 0;
  const last = p.keys.length ? heights.at(view.current.top + view.current.height + over) : -1;

  // After each render, restore the anchor's position.
  useLayoutEffect(() => {
    const a = anchor.current;
    const s = scroller.current;
    if (!a || !s) return;
    if (a.end && p.stick) return scroll(s.scrollHeight);
    const i = heights.index(a.key);
    if (i >= 0 && (s.scrollTop > 0 || a.offset !== 0 || i > 0)) scroll(heights.top(i) + a.offset + leading());
  });

  useLayoutEffect(() => {
    if (anchor.current || p.keys.length === 0) return;
    if (p.start === "end") anchor.current = { key: p.keys.at(-1)!, offset: 0, end: true };
    else if (p.start && heights.index(p.start) >= 0) anchor.current = { key: p.start, offset: 0, end: false };
    else anchor.current = { key: p.keys[0]!, offset: 0, end: false };
    const s = scroller.current;
    if (s) scroll(p.start === "end" ? s.scrollHeight : heights.top(heights.index(anchor.current.key)));
    measureView();
    redraw(0);
  }, [p.keys.length > 0]);

  useEffect(() => {
    p.seen?.(first, last);
  }, [first, last, p.keys]);

  const observer = useMemo(
    () =>
      new ResizeObserver((changes) => {
        let changed = false;
        for (const c of changes) {
          const el = c.target as HTMLElement;
          if (el === scroller.current) changed = true;
          else if (el.isConnected) changed = heights.measure(el.dataset["key"]!, el.offsetHeight) || changed;
        }
        if (changed) {
          measureView();
          redraw(0);
        }
      }),
    [],
  );
  useLayoutEffect(() => {
    observer.observe(scroller.current!);
    measureView();
    return () => observer.disconnect();
  }, []);

  const onScroll = useCallback(() => {
    remember();
    redraw(0);
  }, [remember]);

  useImperativeHandle(
    p.handle ?? null,
    () => ({
      scroller: () => scroller.current,
      toEnd: () => {
        const s = scroller.current;
        if (!s || p.keys.length === 0) return;
        anchor.current = { key: p.keys.at(-1)!, offset: 0, end: true };
        scroll(s.scrollHeight);
        redraw(0);
      },
      reveal: (key, where = "nearest") => {
        const i = heights.index(key);
        const s = scroller.current;
        if (i < 0 || !s) return;
        measureView();
        const top = heights.top(i);
        const h = heights.height(i);
        const { top: from, height } = view.current;
        let y = from;
        if (where === "start") y = top - 8;
        else if (where === "center") y = top - Math.max(0, (height - h) / 2);
        else if (where === "end" || top + h > from + height) y = top + h - height + 8;
        else if (top < from) y = top - 8;
        if (where === "nearest" && top < from) y = top - 8;
        y = Math.max(-leading(), y);
        anchor.current = { key, offset: y - top, end: false };
        scroll(y + leading());
        redraw(0);
      },
    }),
    [p.keys],
  );

  const rows = [];
  for (let i = first; i <= last; i++) {
    const key = p.keys[i]!;
    rows.push(
      <Row key={key} id={key} index={i} of={p.keys.length} table={p.table} observer={observer}>
        {p.row(key, i)}
      </Row>,
    );
  }
  return (
    <div class={"vlist " + (p.class ?? "")} ref={scroller} onScroll={onScroll}>
      <div ref={lead}>{p.before}</div>
      <div class="vlist-space" style={{ height: heights.total() + "px" }}>
        <div class="vlist-rows" role={p.table ? "rowgroup" : "list"} aria-label={p.table ? undefined : p.label} style={{ transform: `translateY(${heights.top(first)}px)` }}>
          {rows}
        </div>
      </div>
      {p.after}
    </div>
  );
}

interface RowProps {
  id: string;
  index: number;
  of: number;
  table?: boolean;
  observer: ResizeObserver;
  children: ComponentChildren;
}

function Row(p: RowProps) {
  const el = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const e = el.current!;
    p.observer.observe(e);
    return () => p.observer.unobserve(e);
  }, []);
  const place = p.table
    ? { role: "row" as const, "aria-rowindex": p.index + 2 }
    : { role: "listitem" as const, "aria-posinset": p.index + 1, "aria-setsize": p.of };
  return (
    <div ref={el} data-key={p.id} class="vlist-row" {...place}>
      {p.children}
    </div>
  );
}
