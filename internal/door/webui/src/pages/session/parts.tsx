// Small components of entries.
import { useState } from "preact/hooks";
import { bytes, clock, moment, plural } from "../../format";
import { attempt } from "../../ui";
import type { Block, Card } from "../../wire";
import type { Talk } from "./talk";

// whyOut explains why an entry is not in the window.
export function whyOut(out: string | undefined): string {
  switch (out) {
    case undefined:
    case "":
      return "";
    case "compacted":
      return "replaced by a summary";
    case "pruned":
      return "shortened";
    case "over-budget":
      return "no room in the window";
    case "turn-limit":
      return "beyond the turn limit";
    case "tombstoned":
      return "hidden";
    case "other-branch":
      return "on another branch";
    case "hidden":
      return "not for the model";
    case "erased":
      return "erased";
  }
  return out;
}

// outClass dims entries that are not sent to the model.
export function outClass(out: string | undefined): string {
  return out && out !== "pruned" ? " out" : "";
}

export function Why({ out }: { out: string | undefined }) {
  if (!out) return null;
  return (
    <span class="why" title={out === "pruned" ? "Sent to the model in shortened form" : "Not sent to the model"}>
      {whyOut(out)}
    </span>
  );
}

// Masked counts the secrets that were replaced before entries were stored.
export function Masked({ of }: { of: readonly (Card | undefined)[] }) {
  const n = of.reduce((sum, c) => sum + (c?.masked ?? 0), 0);
  if (!n) return null;
  return (
    <span class="chip masked" title="Replaced with [secret] before they were stored">
      {plural(n, "secret")} replaced
    </span>
  );
}

export function Clock({ at }: { at?: string }) {
  if (!at) return null;
  const t = new Date(at);
  if (Number.isNaN(t.getTime())) return null;
  return (
    <time class="clock num" dateTime={at} title={moment(t)}>
      {clock(t)}
    </time>
  );
}

export function speakerOf(card: Card): string {
  switch (card.role) {
    case "user":
      return card.sender || "You";
    case "assistant":
    case "tool":
      return card.sender || card.model || "Assistant";
    case "shell":
      return "Shell";
    case "system":
      return "System";
  }
  return card.kind === "branch_summary" ? "Branch" : "";
}

// authorOf returns the author of a card shown alone; tool results belong to the tool.
export function authorOf(card: Card): string {
  if (card.role !== "tool") return speakerOf(card);
  const name = card.blocks?.find((b) => b.name)?.name;
  return name ? `Tool ${name}` : "Tool";
}

// Whole loads the rest of a truncated text.
export function Whole({ block, talk, owner }: { block: Block; talk: Talk; owner?: string }) {
  const [busy, setBusy] = useState(false);
  if (!block.cut || !owner) return null;
  return (
    <button
      type="button"
      class="button whole"
      disabled={busy}
      onClick={() => {
        setBusy(true);
        void attempt(() => talk.entries.whole(owner)).then(() => setBusy(false));
      }}
    >
      Show all {bytes(block.bytes ?? 0)}
    </button>
  );
}

export function Picture({ block }: { block: Block }) {
  if (!block.src) {
    return (
      <p class="log-quiet">
        {block.preview || "Image"} · {block.mimeType} · {bytes(block.bytes ?? 0)}
      </p>
    );
  }
  return (
    <a class="picture" href={block.src} target="_blank" rel="noopener">
      <img src={block.src} alt={`Image, ${block.mimeType ?? ""} ${bytes(block.bytes ?? 0)}`} loading="lazy" decoding="async" />
    </a>
  );
}

// plain strips tags from rendered HTML. The result is only used as text.
export function plain(html: string): string {
  return html
    .replace(/<[^>]*>/g, " ")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&#34;|&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();
}
