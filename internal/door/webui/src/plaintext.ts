// Plain lines for titles and previews: without the tags that agents wrap around messages, colors of
// a terminal, and Markdown.

// Tags whose content was not written by a person. A cut text may lack the end.
const generated = /<(system-reminder|environment_context|user_instructions|local-command-caveat|local-command-stdout|local-command-stderr|command-message|ide_[a-z_]+)>[\s\S]*?(?:<\/\1>|$)/g;
// Other tags of agents have a hyphen or an underscore in their names; those of HTML have none.
const wrapper = /<\/?[a-z]+(?:[-_][a-z]+)+>/g;
const colors = /\u001b\[[0-9;?]*[A-Za-z]|\[(?:[0-9]{1,3};?){1,5}m/g;

// The line below the head of a table.
const tableRule = /\|\s*:?-{3,}:?\s*\|/;

// plainLine returns a text as a line to show; the text itself if nothing would be left.
export function plainLine(text: string): string {
  const line = (tableRule.test(text) ? text.replace(/\||:?-{3,}:?/g, " ") : text)
    .replace(colors, "")
    .replace(generated, " ")
    .replace(wrapper, " ")
    .replace(/\[([^\]]+)\]\([^)\s]*\)/g, "$1")
    .replace(/__(?=\S)(.+?)__/g, "$1")
    .replace(/`+|\*\*/g, "")
    .replace(/^\s*(?:#{1,6}|>)\s+/, "")
    .replace(/\s+/g, " ")
    .trim();
  return line || text.replace(wrapper, " ").replace(/\s+/g, " ").trim() || text;
}

const tools: [RegExp, string][] = [
  [/claude/i, "Claude Code"],
  [/codex/i, "Codex"],
  [/openclaw|clawdbot/i, "OpenClaw"],
  [/(^|[\\/.])pi([\\/-]|$)/i, "pi"],
];

// toolOf returns the program whose folder a source is, or an empty string.
export function toolOf(source: string): string {
  return tools.find(([pattern]) => pattern.test(source))?.[1] ?? "";
}
