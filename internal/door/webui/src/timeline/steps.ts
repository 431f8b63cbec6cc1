// The steps of a turn: answers of the model, calls of tools and waiting, with the times of their
// entries. Nothing is guessed: a step without times has none.
import type { Item } from "../pages/session/entries";
import { rowsOf, type Row } from "../pages/session/rows";
import type { Block, Card } from "../wire";

// Kind is what a step waits for. A gap is time in which no entry says what ran.
export type Kind = "model" | "tool" | "wait" | "gap";

export interface Step {
  kind: Kind;
  name: string;
  detail: string;
  // from and to are milliseconds since 1970, or undefined if they were not recorded.
  from?: number;
  to?: number;
  // entry is the entry of the step, session the session of its sub-agent.
  entry?: string;
  session?: string;
  depth: number;
  failed?: boolean;
  running?: boolean;
}

// Turn are the entries of a turn, and those of the sessions of its sub-agents.
export interface Turn {
  items: readonly Item[];
  children: ReadonlyMap<string, readonly Item[]>;
  // now is set while the turn runs.
  now?: number;
}

// Sub-agents below this depth are only links.
const deepest = 3;

export function timeOf(card: Card | undefined): number | undefined {
  const t = Date.parse(card?.time ?? "");
  return Number.isNaN(t) || t <= 0 ? undefined : t;
}

interface Approval {
  asked?: number;
  answered?: number;
}

// Reader collects the steps of a conversation.
class Reader {
  readonly steps: Step[] = [];
  // ready is when the model can begin.
  private ready: number | undefined;
  private readonly approvals = new Map<string, Approval>();
  private readonly spawned = new Map<string, Card>();

  constructor(
    private readonly turn: Turn,
    private readonly depth: number,
  ) {}

  read(items: readonly Item[]): Step[] {
    for (const i of items) this.note(i.card);
    const rows = rowsOf(items, true, "");
    for (const [i, row] of rows.entries()) {
      // Only the end of the conversation can be running.
      const last = i === rows.length - 1;
      for (const item of row.kind === "entry" ? row.items : []) this.entry(row, item.card!, last);
    }
    this.links(undefined);
    if (this.depth === 0 && this.turn.now && !this.steps.some((s) => s.running)) {
      this.add({ kind: "model", name: "Model", detail: "answering", from: this.ready, to: this.turn.now, running: true });
    }
    return this.steps;
  }

  private add(s: Omit<Step, "depth">, below = 0): void {
    const known = s.from !== undefined && s.to !== undefined && (s.to > s.from || s.kind === "wait");
    this.steps.push({ ...s, ...(known ? {} : { to: undefined }), depth: this.depth + below });
  }

  // note remembers what other steps refer to.
  private note(c: Card | undefined): void {
    const call = c?.blocks?.[0]?.call;
    if (c?.type === "firn.spawned" && c.session) this.spawned.set(c.session, c);
    if (!call || (c?.type !== "firn.approval.asked" && c?.type !== "firn.approval.answered")) return;
    const a = this.approvals.get(call) ?? {};
    if (c.type === "firn.approval.asked") a.asked ??= timeOf(c);
    else a.answered = timeOf(c);
    this.approvals.set(call, a);
  }

  private entry(row: Row, card: Card, last: boolean): void {
    const at = timeOf(card);
    if (card.compaction) this.add({ kind: "model", name: "Compaction", detail: "", from: this.ready, to: at, entry: card.id });
    else if (card.role === "assistant") return this.answer(row, card, last);
    else if (card.role === "tool" || card.role === "shell") {
      const b = card.blocks?.find((x) => x.kind === "result");
      const from = b?.ms && at ? at - b.ms : card.role === "tool" ? this.ready : undefined;
      this.add({ kind: "tool", name: b?.name || "tool", detail: b?.preview ?? "", from, to: at, entry: card.id, failed: bad(b) });
    } else if (card.role !== "user") return;
    this.ready = at;
  }

  private answer(row: Row, card: Card, last: boolean): void {
    const at = timeOf(card);
    const calls = (card.blocks ?? []).filter((b) => b.kind === "call");
    const content = card.blocks?.find((b) => b.kind === "text") ? "answer" : calls.length ? "" : "thinking";
    this.add({ kind: "model", name: card.model || "Model", detail: card.error || content, from: this.ready, to: at, entry: card.id, failed: !!card.error });
    this.ready = at;
    for (const call of calls) this.call(row, card, call, last);
  }

  private call(row: Row, card: Card, call: Block, last: boolean): void {
    const result = row.results?.get(call.call ?? "");
    const approval = this.approvals.get(call.call ?? "");
    const done = timeOf(result?.item.card);
    const at = timeOf(card);
    const running = !result && last && !!this.turn.now && this.depth === 0;
    const step = { kind: "tool" as const, name: call.name || "tool", detail: call.preview ?? "", entry: card.id, failed: bad(result?.block) };
    // Results are stored in the order of their calls: the measured time is the better one.
    const measured = result?.block.ms && at !== undefined ? at + result.block.ms : undefined;
    let to = measured !== undefined && done !== undefined ? Math.min(measured, done) : (measured ?? done);
    if (running) to = this.turn.now;
    let from = at;
    if (approval?.asked !== undefined) {
      const until = approval.answered ?? (running ? this.turn.now : done);
      this.add({ kind: "wait", name: "Approval", detail: step.name, from: approval.asked, to: until, entry: card.id, running: running && approval.answered === undefined });
      from = until;
      if (running && approval.answered === undefined) return;
    }
    this.add({ ...step, from, to, running, detail: result || running ? step.detail : `${step.detail} (no result)` });
    this.chain(row.chains?.get(call.call ?? ""));
    if (call.tool === "agent") this.links(result?.block);
    if (done !== undefined) this.ready = Math.max(this.ready ?? done, done);
  }

  // chain adds the steps of a sub-agent in the same file.
  private chain(items: readonly Item[] | undefined): void {
    if (!items || this.depth >= deepest) return;
    const own = items.map((i) => ({ ...i, card: { ...i.card!, sidechain: undefined, role: i.card!.sidechain === "user" && i.card!.blocks?.some((b) => b.kind === "result") ? "tool" : i.card!.sidechain } }));
    this.steps.push(...new Reader(this.turn, this.depth + 1).read(own));
  }

  // links adds the steps of the sub-agents that a result names, or of all that are left.
  private links(result: Block | undefined): void {
    const text = result ? (result.preview ?? "") + (result.html ?? "") : "";
    for (const [id, card] of this.spawned) {
      if (result && !text.includes(id)) continue;
      this.spawned.delete(id);
      const items = this.depth < deepest ? this.turn.children.get(id) : undefined;
      const steps = items ? new Reader(this.turn, this.depth + 2).read(items) : [];
      const ends = steps.flatMap((s) => s.to ?? []);
      this.add({ kind: "tool", name: "Sub-agent", detail: "", from: timeOf(card), to: ends.length ? Math.max(...ends) : undefined, session: id }, 1);
      this.steps.push(...steps);
    }
  }
}

function bad(b: Block | undefined): boolean {
  return !!b && (!!b.failed || !!b.exit);
}

export function stepsOf(turn: Turn): Step[] {
  return new Reader(turn, 0).read(turn.items);
}

// Shares is how the time of a turn divides.
export type Shares = Record<Kind, number> & { from: number; to: number; unknown: number };

// sharesOf divides the time between the first and the last step. Where steps overlap, the model
// counts before tools and tools before waiting, so that the sum is the time that passed.
export function sharesOf(steps: readonly Step[]): Shares | undefined {
  const known = steps.filter((s) => s.from !== undefined && s.to !== undefined);
  const unknown = steps.filter((s) => s.kind !== "wait" && s.to === undefined).length;
  if (known.length === 0) return undefined;
  const from = Math.min(...known.map((s) => s.from!));
  const to = Math.max(...known.map((s) => s.to!));
  const out: Shares = { model: 0, tool: 0, wait: 0, gap: 0, from, to, unknown };
  // Steps of sub-agents are within the calls that started them.
  const own = known.filter((s) => s.depth === 0);
  const ends = [...own.flatMap((s) => [{ at: s.from!, by: 1, kind: s.kind }, { at: s.to!, by: -1, kind: s.kind }]), { at: from, by: 0, kind: "gap" as Kind }, { at: to, by: 0, kind: "gap" as Kind }];
  ends.sort((a, b) => a.at - b.at);
  const open: Record<Kind, number> = { model: 0, tool: 0, wait: 0, gap: 0 };
  let before = from;
  for (const e of ends) {
    const kind = (["model", "tool", "wait"] as const).find((k) => open[k] > 0) ?? "gap";
    out[kind] += e.at - before;
    before = e.at;
    open[e.kind] += e.by;
  }
  return out;
}
