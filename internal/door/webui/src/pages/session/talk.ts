// Talk is the shared state of the log: the session, its entries, and actions.
import { signal } from "@preact/signals";
import { del, post, sessionPath } from "../../api";
import { Draft } from "../../drafts";
import { shell } from "../../format";
import { go, toSession } from "../../router";
import { attempt, copy, notify } from "../../ui";
import type { Appended, Compaction } from "../../wire";
import { fork, rewind } from "../moves";
import { Entries } from "./entries";
import type { Watch } from "./watch";

export type Asking = { what: "label"; entry: string; label: string } | { what: "cli"; entry: string } | { what: "compaction"; id: string };

export class Talk {
  readonly id: string;
  readonly entries: Entries;
  // asking is the open dialog.
  readonly asking = signal<Asking | null>(null);
  // draft is the text in the composer; sending is the message in flight.
  readonly draft = signal("");
  private sending = "";
  private readonly kept: Draft;

  constructor(readonly watch: Watch) {
    this.id = watch.id;
    this.entries = new Entries(this.id);
    this.kept = new Draft(this.id);
    this.draft.value = this.kept.read();
  }

  // write sets the draft, which survives a reload.
  write(text: string): void {
    this.draft.value = text;
    this.kept.keep(both(this.sending, text));
  }

  // send clears the composer. sent receives the outcome: a failed message is put back before the
  // new draft.
  send(text: string): void {
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
  async rewind(to: string): Promise<void> {
    const moved = await rewind(this.id, to);
    if (!moved) return;
    if (moved.text && !this.draft.value) this.write(moved.text);
    this.home();
    const back = moved.from;
    notify(
      moved.left ? `Rewound to here; ${moved.left} entries left on a branch` : "Rewound to here",
      back ? () => this.forward(back, moved.text ?? "") : undefined,
    );
  }

  private async forward(to: string, text: string): Promise<void> {
    if (!(await rewind(this.id, to))) return;
    if (text && this.draft.value === text) this.write("");
    this.home();
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
    await attempt(() => this.post("turns", { wait: false }));
    this.watch.soon();
  }

  async stop(): Promise<void> {
    await attempt(() => this.post("kill", {}));
    this.watch.soon();
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
      ["Hide", `firn rm ${s} --entry ${e}`],
      ["Unhide", `firn restore ${s} ${e}`],
    ];
  }
}

function both(a: string, b: string): string {
  return a && b ? a + "\n\n" + b : a || b;
}
