// SourceBadge marks the program that a session is from, by color and shape.
import { toolOf } from "../plaintext";

// Shapes on a 10-pixel grid.
const marks: Record<string, { name: string; path: string }> = {
  "Claude Code": { name: "claude", path: "M5 .5 6.2 3.8 9.5 5 6.2 6.2 5 9.5 3.8 6.2.5 5l3.3-1.2z" },
  Codex: { name: "codex", path: "M5 .5 9 2.8v4.4L5 9.5 1 7.2V2.8z" },
  OpenClaw: { name: "openclaw", path: "M5 1 9.5 9h-9z" },
  pi: { name: "pi", path: "M1 1h8v8H1z" },
};
const other = { name: "other", path: "M5 .8 9.2 5 5 9.2.8 5z" };

export function SourceBadge({ source }: { source: string }) {
  const tool = toolOf(source);
  const mark = marks[tool] ?? other;
  return (
    <span class="source-mark" data-tool={mark.name} title={source}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" focusable="false">
        <path d={mark.path} />
      </svg>
      <span class="one-line">{tool || source}</span>
    </span>
  );
}
