// The live state of an open session: its metadata and the streaming answer. Shared by all tabs of
// the page.
import { batch, signal } from "@preact/signals";
import { asProblem, get, sessionPath, type Problem } from "../../api";
import { Stream } from "../../live";
import { noteRunning } from "../../running";
import type { Approval, ApprovalPage, Entry, Event, Growth, Notice, Problem as WireProblem, Session, Tool, Usage } from "../../wire";

// Streaming is a streaming answer.
export interface Streaming {
  // entry is the future ID of the answer.
  entry: string;
  thinking: readonly string[];
  text: readonly string[];
  // notice is a message of the gateway, such as a retry.
  notice: string;
}

const nothing: Streaming = { entry: "", thinking: [], text: [], notice: "" };

export type EventHandler = (e: Event) => void;

export class Watch {
  readonly session = signal<Session | undefined>(undefined);
  readonly error = signal<Problem | undefined>(undefined);
  // live is set while a turn runs; streaming is its answer so far.
  readonly live = signal(false);
  readonly streaming = signal<Streaming>(nothing);
  // calls are the running tools by call ID.
  readonly calls = signal<ReadonlyMap<string, Tool>>(new Map());
  // failed is the error of the last turn.
  readonly failed = signal<WireProblem | undefined>(undefined);
  readonly compacting = signal(false);
  // approvals are the tool calls that wait for a yes or no.
  readonly approvals = signal<readonly Approval[]>([]);

  private handlers = new Set<EventHandler>();
  private stream: Stream | undefined;
  private timer = 0;
  private closed = false;
  private asking: Promise<void> | undefined;
  private again = false;
  // turns counts turn events.
  private turns = 0;

  constructor(readonly id: string) {
    void this.load();
    void this.loadApprovals();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.stream?.close();
  }

  // subscribe subscribes to all events and returns the unsubscribe function.
  subscribe(f: EventHandler): () => void {
    this.handlers.add(f);
    return () => this.handlers.delete(f);
  }

  // load fetches the session. One request runs at a time, and one more for all events meanwhile.
  readonly load = (): Promise<void> => {
    if (this.asking) {
      this.again = true;
      return this.asking;
    }
    this.asking = this.ask().finally(() => {
      this.asking = undefined;
      if (this.again && !this.closed) {
        this.again = false;
        void this.load();
      }
    });
    return this.asking;
  };

  // loadApprovals fetches the calls that wait. If it fails, the next event asks again.
  async loadApprovals(): Promise<void> {
    try {
      const page = await get<ApprovalPage>(sessionPath(this.id, "approvals"));
      if (!this.closed) this.approvals.value = page.items ?? [];
    } catch {
      return;
    }
  }

  private async ask(): Promise<void> {
    try {
      const before = this.turns;
      const session = await get<Session>(sessionPath(this.id));
      if (!this.closed) this.take(session, before === this.turns);
    } catch (err) {
      if (!this.closed) this.error.value = asProblem(err);
    }
  }

  // soon is a debounced load.
  readonly soon = (): void => {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), 250);
  };

  // take stores a fetched session. If turn events arrived since the request, they decide whether a
  // turn runs.
  private take(session: Session, latest: boolean): void {
    batch(() => {
      this.session.value = session;
      this.error.value = undefined;
      if (!latest) return;
      this.live.value = !!session.live;
      if (!session.live) this.over();
      // The turn may have ended before the stream opened; poll until a turn event arrives.
      else if (this.turns === 0) this.soon();
    });
  }

  // listen opens the stream after a position: the end of the shown log, so that no event is missed
  // or repeated; by default the end of the session.
  async listen(after?: number): Promise<void> {
    if (this.stream || this.closed) return;
    if (after === undefined) {
      if (!this.session.value) await this.load();
      after = this.session.value?.end;
      if (this.stream || this.closed || after === undefined) return;
    }
    this.stream = new Stream(
      sessionPath(this.id, "events"),
      { as: "html", after: String(after) },
      {
        event: (e) => this.event(e),
        // After a reconnect, fetch the session for events outside the log.
        opened: (again) => {
          if (!again) return;
          this.soon();
          void this.loadApprovals();
        },
      },
    );
  }

  private over(): void {
    this.live.value = false;
    this.streaming.value = nothing;
    this.calls.value = new Map();
  }

  private event(e: Event): void {
    noteRunning(e);
    batch(() => {
      this.note(e);
      for (const f of this.handlers) f(e);
    });
  }

  private note(e: Event): void {
    if (e.name.startsWith("turn.") || e.name === "delta.html") this.turns++;
    switch (e.name) {
      case "turn.started":
        this.over();
        this.live.value = true;
        this.failed.value = undefined;
        return this.soon();
      case "approval.requested":
      case "approval.answered":
        void this.loadApprovals();
        return;
      case "turn.completed":
        this.over();
        this.approvals.value = [];
        return this.soon();
      case "turn.failed":
        this.over();
        void this.loadApprovals();
        this.failed.value = e.data as WireProblem;
        return this.soon();
      case "delta.html":
        this.live.value = true;
        return this.grow(e.data as Growth);
      case "entry.appended":
        return this.appended(e);
      case "tool.started":
      case "tool.completed":
        return this.tool(e.name, e.data as Tool);
      case "retry":
      case "notice":
        this.streaming.value = { ...this.streaming.value, notice: (e.data as Notice).text };
        return;
      case "window.usage":
        return this.usage(e.data as Usage);
      case "compaction.started":
        this.compacting.value = true;
        return;
      case "compaction.completed":
      case "compaction.undone":
        this.compacting.value = false;
        return this.soon();
      case "turn.queued":
      case "session.updated":
      case "head.moved":
      case "gap":
        return this.soon();
    }
  }

  // grow replaces the blocks from an index on.
  private grow(g: Growth): void {
    const kind = g.thinking ? "thinking" : "text";
    const entry = g.entry ?? "";
    const now = this.streaming.value.entry === entry ? this.streaming.value : { ...nothing, entry };
    this.streaming.value = { ...now, notice: "", [kind]: [...now[kind].slice(0, g.from), ...(g.blocks ?? [])] };
  }

  // Drop the streaming answer once it is in the log.
  private appended(e: Event): void {
    const card = (e.data as Entry | undefined)?.card;
    const entry = this.streaming.value.entry;
    if (card?.role === "assistant" && (!entry || entry === card.id)) this.streaming.value = nothing;
    else if (card?.kind !== "message") this.soon();
  }

  private tool(name: string, t: Tool): void {
    const calls = new Map(this.calls.value);
    if (name === "tool.started") calls.set(t.call, t);
    else calls.delete(t.call);
    this.calls.value = calls;
  }

  private usage(u: Usage): void {
    const s = this.session.value;
    if (s?.state) this.session.value = { ...s, state: { ...s.state, window: u } };
  }

  // patched applies a local change before its event arrives.
  patched(s: Session): void {
    const old = this.session.value;
    this.session.value = { ...old, ...s, state: s.state ?? old?.state };
  }
}

