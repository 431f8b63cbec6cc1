// Talk is the shared state of the log: the session, its entries, and actions.
import { signal } from "@preact/signals";
import { del, get, patch, post, sessionPath } from "../../api";
import { Draft } from "../../drafts";
import { plural, shell } from "../../format";
import { go, toSession } from "../../router";
import { attempt, copy, endToasts, notify } from "../../ui";
import type { Appended, Card, Compaction, Entry, Session, Stopped, Tree, Unqueued } from "../../wire";
import { fork, rewind } from "../moves";
import { Entries } from "./entries";
import { Finding } from "./finding";
import { siblingsOf, type Siblings } from "./siblings";
import type { Watch } from "./watch";

export type Asking =
  | { what: "label"; entry: string; label: string }
  | { what: "cli"; entry: string }
  | { what: "compaction"; id: string }
  | { what: "agent" }
  | { what: "model" }
  // timeline shows the steps of the turn that an entry belongs to.
  | { what: "timeline"; entry: string }
  // files shows what a rewind does to files.
  | { what: "files"; entry: string }
  // retry chooses the model of the next answer to a message.
  | { what: "retry"; entry: string };

// root names the place before the first entry.
const root = "-";

export class Talk {
  readonly id: string;
  readonly entries: Entries;
  // asking is the open dialog.
  readonly asking = signal<Asking | null>(null);
  // draft is the text in the composer; sending is the message in flight.
  readonly draft = signal("");
  readonly finding: Finding;
  // agent is the agent that answers; empty means the session's own.
  readonly agent = signal("");
  // siblings are the messages with sibling branches.
  readonly siblings = signal<ReadonlyMap<string, Siblings>>(new Map());
  // focus moves the focus to the composer.
  focus: () => void = () => {};
  // giveBack puts messages that were removed from the queue into the composer.
  giveBack: (removed: readonly Unqueued[]) => void = () => {};
  private sending = "";
  private readonly kept: Draft;

  constructor(readonly watch: Watch) {
    this.id = watch.id;
    this.entries = new Entries(this.id);
    this.finding = new Finding(this.id);
    this.kept = new Draft(this.id);
    this.draft.value = this.kept.read();
  }

  // loadSiblings finds the branches among the latest entries, if there are any.
  async loadSiblings(): Promise<void> {
    if ((this.watch.session.peek()?.state?.branches ?? 1) < 2) return;
    try {
      const tree = await get<Tree>(sessionPath(this.id, "tree"), { limit: 4000 });
      this.siblings.value = siblingsOf(tree.nodes ?? []);
    } catch {
      // The log works without the arrows; the next event asks again.
    }
  }

  // timeline shows the turn of an entry, by default of the latest one.
  timeline(entry?: string): void {
    const items = this.entries.items.peek();
    const of = items.find((i) => i.key === entry) ?? items.findLast((i) => i.card?.role === "user" || i.card?.role === "assistant");
    if (of?.card) this.asking.value = { what: "timeline", entry: of.card.id };
  }

  // write sets the draft, which survives a reload.
  write(text: string): void {
    this.draft.value = text;
    this.kept.keep(both(this.sending, text));
  }

  // send clears the composer. sent receives the outcome: a failed message is put back before the
  // new draft.
  send(text: string): void {
    endToasts("rewind " + this.id); // an undo would leave the new message
    this.sending = text;
    this.write("");
  }

  sent(ok: boolean): void {
    const text = this.sending;
    this.sending = "";
    this.write(ok ? this.draft.peek() : both(text, this.draft.peek()));
  }

  private post<T>(verb: string, body: unknown): Promise<T> {
    return post<T>(sessionPath(this.id, verb), body);
  }

  async label(entry: string, name: string, before: string): Promise<void> {
    const done = await attempt(() => this.post<Appended>("label", { entry, name }));
    if (!done) return;
    void this.entries.refresh();
    notify(name ? `Labeled “${name}”` : "Label removed", () => this.label(entry, before, name));
  }

  async hide(entry: string): Promise<void> {
    if (!(await attempt(() => this.post<Appended>("hide", { entry })))) return;
    void this.entries.refresh();
    notify("Hidden from the model", () => this.show(entry));
  }

  async show(entry: string): Promise<void> {
    if (!(await attempt(() => this.post<Appended>("show", { entry })))) return;
    void this.entries.refresh();
    notify("Unhidden");
  }

  // rewind continues from an entry. The user's next message is put into the composer for editing.
  // files takes back what was done to files before, and note describes it. It returns whether the
  // head was moved.
  async rewind(to: string, by: { back?: number; files?: () => Promise<unknown>; note?: string } = {}): Promise<boolean> {
    const moved = await rewind(this.id, to, by.back);
    if (!moved) return false;
    if (moved.text && !this.draft.value) this.write(moved.text);
    this.home();
    this.focus();
    const back = moved.from;
    notify(
      (moved.left ? `Rewound to here; ${moved.left} entries left on a branch` : "Rewound to here") + (by.note ? "; " + by.note : ""),
      back ? async () => (await this.forward(back, moved.text ?? "")) && by.files?.() : undefined,
      "rewind " + this.id,
    );
    return true;
  }

  rewindBy(turns: number): Promise<boolean> {
    return this.rewind("", { back: turns });
  }

  // stepOver moves the head to the end of the shown branch, so that the next message continues it.
  async stepOver(): Promise<void> {
    const to = this.entries.branch();
    if (!to) return;
    await this.post("rewind", { to });
    this.home();
  }

  // edit puts a message of the user into the composer again, and continues before it.
  edit(card: Card): Promise<boolean> {
    return this.rewind(card.parent || root);
  }

  // asked returns the user's message that an entry answers, if it is loaded.
  asked(entry: string): string {
    const items = this.entries.items.peek();
    const at = items.findIndex((i) => i.card?.id === entry);
    return items.slice(0, at + 1).findLast((i) => i.card?.role === "user")?.card?.id ?? "";
  }

  // again answers a message once more, on another branch, with another model if one is given.
  async again(message: string, model?: string): Promise<void> {
    const moved = await rewind(this.id, message);
    if (!moved) return;
    this.home();
    this.watch.failed.value = undefined;
    await attempt(() => this.post("turns", { wait: false, agent: this.agent.peek() || undefined, terms: model ? { model } : undefined }));
    this.watch.soon();
  }

  // retryLast answers the last message again.
  async retryLast(): Promise<void> {
    const last = this.entries.items.peek().findLast((i) => i.card?.role === "user")?.card?.id;
    if (last) await this.again(last);
  }

  async pinLast(): Promise<void> {
    const last = this.entries.items.peek().findLast((i) => i.card?.role === "user")?.card;
    if (last) await this.label(last.id, "pin", last.label ?? "");
  }

  // copyText copies the text of a message as it was written.
  async copyText(entry: string): Promise<void> {
    const e = await attempt(() => get<Entry>(sessionPath(this.id, "entries", entry)));
    if (e) await copy(textOf(e.line), "the message");
  }

  async chooseModel(model: string): Promise<void> {
    const old = this.watch.session.peek()?.state;
    const before = old?.model ? `${old.provider}/${old.model}` : "default";
    const done = await attempt(() => patch<Session>(sessionPath(this.id), { model: model || "default" }));
    if (!done) return;
    this.watch.patched(done);
    this.watch.soon();
    notify(model ? `Model: ${model}` : "Model: the default", () => this.chooseModel(before));
  }

  // forward takes back a rewind, and returns whether the head was moved.
  private async forward(to: string, text: string): Promise<boolean> {
    if (!(await rewind(this.id, to))) return false;
    if (text && this.draft.value === text) this.write("");
    this.home();
    return true;
  }

  // home shows the end of the current branch.
  private home(): void {
    if (location.search) go(toSession(this.id), { replace: true });
    void this.entries.open("", "");
    this.watch.soon();
  }

  fork(at?: string): Promise<void> {
    return fork(this.id, at);
  }

  async undo(id: string): Promise<void> {
    if (!(await attempt(() => del<Compaction>(sessionPath(this.id, "compactions", id))))) return;
    notify("Compaction undone", () => this.redo(id));
  }

  async redo(id: string): Promise<void> {
    if (!(await attempt(() => post<Compaction>(sessionPath(this.id, "compactions", id, "redo"))))) return;
    notify("Compaction redone", () => this.undo(id));
  }

  // retry answers the unanswered message.
  async retry(): Promise<void> {
    this.watch.failed.value = undefined;
    await attempt(() => this.post("turns", { wait: false, agent: this.agent.peek() || undefined }));
    this.watch.soon();
  }

  // stop ends the turn. Queued messages return to the composer, except those that came from others
  // through a channel.
  async stop(): Promise<void> {
    const done = await attempt(() => this.post<Stopped>("kill", {}));
    this.watch.soon();
    const removed = done?.removed ?? [];
    if (removed.length === 0) return;
    const own = removed.filter((m) => !m.sender);
    const others = removed.length - own.length;
    if (own.length) this.giveBack(own);
    const sentences = ["Stopped."];
    if (own.length) sentences.push(`${plural(own.length, "queued message")} ${own.length === 1 ? "is" : "are"} back in the message box.`);
    if (others) sentences.push(`${plural(others, "message")} of others ${others === 1 ? "was" : "were"} removed from the queue.`);
    notify(sentences.join(" "));
  }

  link(entry: string): void {
    void copy(location.origin + toSession(this.id, "", { at: entry }), "the link");
  }

  // cli returns the equivalent commands.
  cli(entry: string): [what: string, command: string][] {
    const s = shell(this.id);
    const e = shell(entry);
    return [
      ["Print from here", `firn cat ${s} --from ${e}`],
      ["Label", `firn label ${s} ${e} NAME`],
      ["Fork here", `firn fork ${s} --at ${e}`],
      ["Rewind here", `firn rewind ${s} ${e}`],
      ["Show what a rewind does to files", `firn rewind ${s} ${e} --files --plan`],
      ["Hide", `firn rm ${s} --entry ${e}`],
      ["Unhide", `firn restore ${s} ${e}`],
    ];
  }
}

// textOf returns the text of a message's line.
function textOf(line: unknown): string {
  const content = (line as { message?: { content?: unknown } } | undefined)?.message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((p: { type?: string; text?: string }) => (p.type === "text" && p.text ? [p.text] : [])).join("\n\n");
}

function both(a: string, b: string): string {
  return a && b ? a + "\n\n" + b : a || b;
}
