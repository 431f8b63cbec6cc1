// Talk is what the parts of the log share: the session, its entries, and what can
// be done with them.
import { signal } from "@preact/signals";
import { del, post, sessionPath } from "../../api";
import { Draft } from "../../drafts";
import { shell } from "../../format";
import { go, toSession } from "../../router";
import { attempt, copy, say } from "../../ui";
import type { Appended, Compaction } from "../../wire";
import { fork, rewind } from "../moves";
import { Entries } from "./entries";
import type { Watch } from "./watch";

export type Asking = { what: "label"; entry: string; label: string } | { what: "cli"; entry: string } | { what: "compaction"; id: string };

export class Talk {
  readonly id: string;
  readonly entries: Entries;
  // asking is the dialog that is open.
  readonly asking = signal<Asking | null>(null);
  // draft is what is in the composer; sending is what is on its way.
  readonly draft = signal("");
  private sending = "";
  private readonly kept: Draft;

  constructor(readonly watch: Watch) {
    this.id = watch.id;
    this.entries = new Entries(this.id);
    this.kept = new Draft(this.id);
    this.draft.value = this.kept.read();
  }

  // write changes what is in the composer. It outlives a reload of the page.
  write(text: string): void {
    this.draft.value = text;
    this.kept.keep(both(this.sending, text));
  }

  // send empties the composer for the next message, sent is told what came of it:
  // what was not sent is there again, before what was written meanwhile.
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
    say(name ? `Labeled “${name}”` : "Label removed", () => this.label(entry, before, name));
  }

  async hide(entry: string): Promise<void> {
    if (!(await attempt(() => this.post<Appended>("hide", { entry })))) return;
    void this.entries.refresh();
    say("Hidden from the model", () => this.show(entry));
  }

  async show(entry: string): Promise<void> {
    if (!(await attempt(() => this.post<Appended>("show", { entry })))) return;
    void this.entries.refresh();
    say("Unhidden");
  }

  // rewind goes on from an entry. What the user had said after it is put into
  // the composer, to be said otherwise.
  async rewind(to: string): Promise<void> {
    const moved = await rewind(this.id, to);
    if (!moved) return;
    if (moved.text && !this.draft.value) this.write(moved.text);
    this.home();
    const back = moved.from;
    say(
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
    say("Compaction undone", () => this.redo(id));
  }

  async redo(id: string): Promise<void> {
    if (!(await attempt(() => post<Compaction>(sessionPath(this.id, "compactions", id, "redo"))))) return;
    say("Compaction redone", () => this.undo(id));
  }

  // retry answers what was not answered.
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

  // cli are the commands that do the same on the command line.
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
