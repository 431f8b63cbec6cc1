// Event streams. A tab has at most one stream, and none while hidden: browsers limit the
// connections per host, shared by all tabs.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, get, type Query } from "./api";
import { lost } from "./lost";
import type { Event, Me } from "./wire";

// connected is the state of the page's stream.
export const connected = signal<"open" | "waiting" | "none">("none");

// Event names; EventSource needs a listener for each.
const names = [
  "entry.appended", "head.moved", "delta.text", "delta.thinking", "delta.html", "turn.partial",
  "approval.requested", "approval.answered", "tool.started", "tool.progress", "tool.completed", "turn.started", "turn.completed", "turn.failed", "turn.queued",
  "window.usage", "compaction.started", "compaction.completed", "compaction.undone", "session.updated",
  "retry", "notice", "gap", "bye",
];

export interface Listener {
  event: (e: Event) => void;
  // opened is called each time the stream opens. again is true for a reconnect, after which a
  // stream without positions may have missed events.
  opened?: (again: boolean) => void;
}

// Stream is an event stream that reconnects from its last position until it is closed.
export class Stream {
  private source: EventSource | null = null;
  private timer = 0;
  private wait = 500;
  private before = false;
  private closed = false;
  private last = "";

  constructor(
    private readonly path: string,
    private readonly query: Query,
    private readonly listener: Listener,
  ) {
    this.last = query["after"] === undefined ? "" : String(query["after"]);
    document.addEventListener("visibilitychange", this.onVisibility);
    this.onVisibility();
  }

  close(): void {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.stop();
    connected.value = "none";
    lost.value = false; // the next page finds out
  }

  private readonly onVisibility = (): void => {
    if (document.hidden) this.stop();
    else if (!this.source) this.start();
  };

  private stop(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  private start(): void {
    this.stop();
    if (this.closed || document.hidden) return;
    connected.value = "waiting";
    const source = new EventSource(address(this.path, { ...this.query, after: this.last || undefined }));
    this.source = source;
    source.onopen = () => {
      connected.value = "open";
      lost.value = false;
      this.wait = 500;
      this.listener.opened?.(this.before);
      this.before = true;
    };
    // On any error, reconnect here instead of in the browser, to control the delay.
    source.onerror = () => this.again();
    for (const name of names) source.addEventListener(name, (e) => this.take(e as MessageEvent<string>));
  }

  private take(raw: MessageEvent<string>): void {
    if (raw.lastEventId) this.last = raw.lastEventId;
    let e: Event;
    try {
      e = JSON.parse(raw.data) as Event;
    } catch {
      return;
    }
    if (e.name === "gap" && (e.data as { anew?: boolean } | undefined)?.anew) this.last = "0";
    this.listener.event(e);
    if (e.name === "gap") this.again(0);
    if (e.name === "bye") this.again();
  }

  private again(wait = this.wait): void {
    this.stop();
    if (this.closed) return;
    connected.value = "waiting";
    if (wait > 0) lost.value = true;
    this.wait = Math.min(this.wait * 2, 15_000);
    this.timer = window.setTimeout(() => {
      // EventSource hides the status; this request shows the login page if the login ended.
      get<Me>("/v1/me").then(
        () => this.start(),
        () => this.again(),
      );
    }, wait);
  }
}

// useStream opens a stream while a component is mounted; an empty path opens none. The listener may
// change without reopening.
export function useStream(path: string, query: Query, listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  const key = path && address(path, query);
  useEffect(() => {
    if (!key) return;
    const stream = new Stream(path, query, {
      event: (e) => latest.current.event(e),
      opened: (again) => latest.current.opened?.(again),
    });
    return () => stream.close();
  }, [key]);
}

// useThrottled returns a function that runs another one after a burst of events: a second after the
// first, and then at most once in ten seconds.
export function useThrottled(run: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(-Infinity);
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(
      () => {
        timer.current = undefined;
        last.current = performance.now();
        latest.current();
      },
      Math.max(1_000, last.current + 10_000 - performance.now()),
    );
  };
}
