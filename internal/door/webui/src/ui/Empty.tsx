// Empty is an empty state: a title, a reason, and a command to run.
import type { ComponentChildren } from "preact";
import { CopyCLI } from "./CopyCLI";

interface Props {
  title: string;
  children?: ComponentChildren;
  // command is the suggested command.
  command?: string;
}

export function Empty({ title, children, command }: Props) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      {command && <CopyCLI command={command} />}
    </div>
  );
}
