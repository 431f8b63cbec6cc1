// CopyCLI shows or copies the equivalent CLI command.
import { useState } from "preact/hooks";
import { shell } from "../format";
import { home } from "../me";
import { Icon } from "./Icon";
import { notify } from "./Toast";

// copy writes a text to the clipboard.
export async function copy(text: string, what = text): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard API needs TLS or localhost.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  notify(`Copied ${what}`);
}

// copyCommand copies commands, with --home added if this gateway's home is not the default.
export async function copyCommand(command: string): Promise<void> {
  const dir = await home();
  await copy(dir ? command.replace(/^firn (?!--home )/gm, () => `firn --home ${shell(dir)} `) : command, "the command");
}

interface Props {
  command: string;
  // small shows only a button, without the command.
  small?: boolean;
}

export function CopyCLI({ command, small }: Props) {
  const [done, setDone] = useState(false);
  const run = () => {
    void copyCommand(command);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  if (small) {
    return (
      <button type="button" class="icon-button" aria-label={`Copy as CLI: ${command}`} title={command} onPointerEnter={home} onFocus={home} onClick={run}>
        <Icon name={done ? "check" : "terminal"} />
      </button>
    );
  }
  return (
    <span class="cli">
      <code>{command}</code>
      <button type="button" class="icon-button" aria-label={`Copy as CLI: ${command}`} title="Copy as CLI" onPointerEnter={home} onFocus={home} onClick={run}>
        <Icon name={done ? "check" : "copy"} />
      </button>
    </span>
  );
}
