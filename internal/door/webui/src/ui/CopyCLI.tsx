// CopyCLI gives the command that does the same on the command line.
import { useState } from "preact/hooks";
import { shell } from "../format";
import { home } from "../me";
import { Icon } from "./Icon";
import { say } from "./Toast";

// copy puts a text on the clipboard.
export async function copy(text: string, what = text): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages that were not opened on this machine or over TLS have no clipboard.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied ${what}`);
}

// copyCommand copies commands so that they are about the sessions of this gateway,
// wherever those are kept.
export async function copyCommand(command: string): Promise<void> {
  const dir = await home();
  await copy(dir ? command.replace(/^firn (?!--home )/gm, () => `firn --home ${shell(dir)} `) : command, "the command");
}

interface Props {
  command: string;
  // small shows only a button; else the command is seen too.
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
