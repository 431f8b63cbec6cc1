// Finding is a search of the whole session on the server, also of what is not loaded.
import { signal } from "@preact/signals";
import { asProblem, get } from "../../api";
import { notifyError } from "../../ui";
import type { Found, Hit } from "../../wire";

// So many hits are found at most.
const most = 1000;

export class Finding {
  readonly open = signal(false);
  // hits are in the order of the log; at is the one that is shown.
  readonly hits = signal<readonly Hit[]>([]);
  readonly at = signal(0);
  readonly words = signal("");
  readonly more = signal(false);
  private asked = 0;

  constructor(private readonly session: string) {}

  async ask(words: string): Promise<void> {
    const mine = ++this.asked;
    this.words.value = words;
    if (!words) return this.clear();
    try {
      const hits: Hit[] = [];
      let cursor: string | undefined;
      do {
        const found: Found = await get("/v1/search", { q: words, session: this.session, in: "all", before: 0, after: 0, limit: 100, cursor });
        if (mine !== this.asked) return;
        hits.push(...(found.items ?? []).filter((h) => h.session === this.session));
        cursor = found.cursor;
      } while (cursor && hits.length < most);
      this.hits.value = hits.sort((a, b) => a.at - b.at);
      this.at.value = hits.length - 1;
      this.more.value = !!cursor;
    } catch (err) {
      if (mine !== this.asked) return;
      this.clear();
      notifyError(asProblem(err));
    }
  }

  private clear(): void {
    this.hits.value = [];
    this.at.value = 0;
    this.more.value = false;
  }

  close(): void {
    this.asked++;
    this.open.value = false;
    this.clear();
  }
}
