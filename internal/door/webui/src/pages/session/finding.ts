// Finding finds a text in the whole session on the server, also in what is not loaded.
import { batch, signal } from "@preact/signals";
import { asProblem, get, type Problem } from "../../api";
import type { Found, Hit } from "../../wire";

// So many hits are loaded at first, and whenever the oldest of them is reached.
const step = 1000;

export class Finding {
  readonly open = signal(false);
  // hits are the loaded ones in the order of the log; at is the one that is shown.
  readonly hits = signal<readonly Hit[]>([]);
  readonly at = signal(0);
  readonly text = signal("");
  // more is set if there are older hits.
  readonly more = signal(false);
  readonly busy = signal(false);
  readonly error = signal<Problem | undefined>(undefined);
  private asked = 0;
  private cursor: string | undefined;

  constructor(private readonly session: string) {}

  // ask finds another text.
  async ask(text: string): Promise<void> {
    this.asked++;
    this.text.value = text;
    if (!text) return this.clear();
    this.cursor = undefined;
    await this.load([]);
  }

  // older loads older hits and returns their number. It returns 0 if hits are being loaded, or if
  // another text is asked for meanwhile.
  async older(): Promise<number> {
    if (!this.more.peek() || this.busy.peek()) return 0;
    const mine = this.asked;
    const before = this.hits.peek().length;
    await this.load(this.hits.peek());
    return mine === this.asked ? this.hits.peek().length - before : 0;
  }

  private async load(after: readonly Hit[]): Promise<void> {
    const mine = this.asked;
    this.busy.value = true;
    try {
      const some: Hit[] = [];
      do {
        const found: Found = await get("/v1/search", { q: this.text.peek(), literal: true, session: this.session, in: "all", before: 0, after: 0, limit: 100, cursor: this.cursor });
        if (mine !== this.asked) return;
        some.push(...(found.items ?? []));
        this.cursor = found.cursor;
      } while (this.cursor && some.length < step);
      batch(() => {
        this.error.value = undefined;
        this.at.value = after.length ? this.at.peek() + some.length : some.length - 1;
        this.hits.value = [...some.reverse(), ...after];
        this.more.value = !!this.cursor;
      });
    } catch (err) {
      if (mine !== this.asked) return;
      if (!after.length) this.clear();
      this.error.value = asProblem(err);
    } finally {
      if (mine === this.asked) this.busy.value = false;
    }
  }

  private clear(): void {
    batch(() => {
      this.hits.value = [];
      this.at.value = 0;
      this.more.value = false;
      this.busy.value = false;
      this.error.value = undefined;
    });
  }

  close(): void {
    this.asked++;
    this.open.value = false;
    this.clear();
  }
}
