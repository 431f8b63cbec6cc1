// Empty is an empty state: a picture, a title, a reason, and one action. Without an action of the
// page, the action is a command to run.
import type { ComponentChildren } from "preact";
import { CopyCLI } from "./CopyCLI";
import { Icon, type IconName } from "./Icon";

interface Props {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  // action is what a person would do now: a button, or a link.
  action?: false | { label: string; run?: () => void; href?: string };
  // command is the suggested command.
  command?: string;
}

export function Empty({ icon, title, children, action, command }: Props) {
  return (
    <div class="empty">
      <span class="empty-picture">
        <Icon name={icon} />
      </span>
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
      <div class="empty-act">
        {action && action.href && (
          <a class="button primary" href={action.href}>
            {action.label}
          </a>
        )}
        {action && !action.href && (
          <button type="button" class="button primary" onClick={action.run}>
            {action.label}
          </button>
        )}
        {command && <CopyCLI command={command} small={!!action} />}
      </div>
    </div>
  );
}
