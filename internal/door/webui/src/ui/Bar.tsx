// Bar shows how full something is: a window, a disk, a share of a whole.
import { percent, tokens } from "../format";
import type { Usage } from "../wire";

interface Props {
  part: number;
  of: number;
  label: string;
  // warn is the share above which the bar is shown as nearly full.
  warn?: number;
}

export function Bar({ part, of, label, warn = 0.85 }: Props) {
  const share = of > 0 ? Math.min(1, part / of) : 0;
  return (
    <span class={"bar" + (share >= warn ? " full" : "")} role="img" aria-label={label} title={label}>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-all" width="100" height="4" rx="2" />
        <rect class="bar-part" width={part > 0 ? Math.max(2, share * 100) : 0} height="4" rx="2" />
      </svg>
    </span>
  );
}

// WindowBar shows window usage as a bar and a number.
export function WindowBar({ usage }: { usage: Usage }) {
  const about = usage.estimated ? "~" : "";
  const label = `window ${about}${tokens(usage.tokens)} of ${tokens(usage.window)} tokens${usage.assumed ? " (assumed)" : ""}`;
  return (
    <span class="window-bar">
      <Bar part={usage.tokens} of={usage.window} label={label} />
      <span class="num" aria-hidden="true">
        {percent(usage.tokens, usage.window)}
      </span>
    </span>
  );
}
