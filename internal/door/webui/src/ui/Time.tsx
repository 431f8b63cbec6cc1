// Time shows a relative time, with the exact time as a tooltip. All instances update together.
import { signal } from "@preact/signals";
import { ago, moment } from "../format";

const now = signal(new Date());
setInterval(() => {
  if (!document.hidden) now.value = new Date();
}, 20_000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = new Date();
});

export function Time({ at, class: name }: { at?: string; class?: string }) {
  if (!at) return null;
  const t = new Date(at);
  if (Number.isNaN(t.getTime())) return null;
  return (
    <time dateTime={at} title={moment(t)} class={name}>
      {ago(t, now.value)}
    </time>
  );
}
