// Empty says that there is nothing, why, and what to do about it.
import type { ComponentChildren } from "preact";
import { CopyCLI } from "./CopyCLI";

interface Props {
  title: string;
  children?: ComponentChildren;
  // command is what would make something be there.
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
